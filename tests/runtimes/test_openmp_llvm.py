# SPDX-License-Identifier: BSD-2-Clause
"""OpenMP on LLVM's runtime (libomp): calls against a counting library, what passes through them against the job's own
figures; and programs of GCC's that run on it."""
import conformance
import gaspbpf
import libomp
import truth

# Its queues of waiters (kmp_lock.cpp) stop the job at an assertion of their own now and then, observed or not.
ENVIRONMENT = {"OMP_CANCELLATION": "true", "OMP_WAIT_POLICY": "passive", "KMP_LOCK_KIND": "tas"}
# Two rounds in all: in the third libomp 14 waits for ever in the barrier behind the job's tasks, observed or not.
THREADS, ROUNDS = 3, 1
JOB = [gaspbpf.WORKLOADS / "openmp_job_llvm", "--threads", THREADS, "--rounds", ROUNDS, "--warmup", "1", "--after", "0"]

# What only libomp itself imports has a probe on each rung but perf, where hundreds of them take minutes to remove.
ALL = ["--all-symbols"]


def compare_own_calls(report, counted, passed_on):
    """Where the runtime's own have no probes: what the program calls, to the call. (Its shares of regions nobody
    imports.)"""
    seen = {row["name"]: row["calls"] for row in report["events"]}
    own = {event: counts["calls"] - passed_on[event] for event, counts in counted.items()}
    assert own.pop("GASP_OMP_IMPLICIT_TASK") and all(own.values()) and seen == own


def compare_with_counted(job, observe, tmp_path, version, environment=ENVIRONMENT, more=(), own=False):
    """Without a word about models. What libomp calls of its own is counted apart: the sum is what the library has
    counted. more: what this version calls of its own besides. own: its own calls have no probes."""
    team = job([*truth.counting("libcount_kmp.so", tmp_path), *JOB], env=environment).wait_ready()
    report = truth.window(team, observe, options=[] if own else ALL)
    tables = truth.windows(tmp_path, "kmp")
    assert len(tables) == 1 and len(tables[0]) > 70
    counted = truth.by_event(tables, libomp.event_of)
    passed_on, bound = libomp.inside(tables, libomp.PASSED_ON), libomp.inside(tables, [*libomp.BOUND, *more])
    passed_on["GASP_OMP_BARRIER"] += ROUNDS  # the barrier that finds its loop cancelled is two inside
    if own:
        compare_own_calls(report, counted, passed_on)
    else:
        assert {row["name"]: row["inner"]["calls"] for row in report["events"] if row["inner"]["calls"]} == \
            passed_on + bound
        for event, calls in bound.items():
            counted[event]["calls"] += calls
        assert truth.differences_in_calls(report, counted, "OMP", inner=True) == {}
    conformance.seen(version, *counted)
    assert {row["model"] for row in report["events"]} == {"openmp"}
    assert len([thread for thread in report["threads"] if thread["calls"]]) == THREADS
    truth.compare_with_alone(team, JOB, environment)


def test_calls_are_those_of_a_counting_library(job, observe, tmp_path, rung):
    compare_with_counted(job, observe, tmp_path, "libomp-14", own=rung == "perf")


def test_libomp_19(job, observe, tmp_path):
    """The same job on a later runtime, where waiting for dependences is a call of a later function inside."""
    environment = {**ENVIRONMENT, **libomp.of_19(tmp_path)}
    compare_with_counted(job, observe, tmp_path, "libomp-19", environment, [("TASKWAIT", "__kmpc_omp_wait_deps")])
