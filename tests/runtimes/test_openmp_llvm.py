# SPDX-License-Identifier: BSD-2-Clause
"""OpenMP on LLVM's runtime (libomp): calls against a counting library, what passes through them against the job's own
figures; and programs of GCC's that run on it."""
import collections
import re

import pytest

import conformance
import debian
import gaspbpf
import truth

# Its queues of waiters (kmp_lock.cpp) stop the job at an assertion of their own now and then, observed or not.
ENVIRONMENT = {"OMP_CANCELLATION": "true", "OMP_WAIT_POLICY": "passive", "KMP_LOCK_KIND": "tas"}
# Two rounds in all: in the third libomp 14 waits for ever in the barrier behind the job's tasks, observed or not.
THREADS, ROUNDS = 3, 1
JOB = [gaspbpf.WORKLOADS / "openmp_job_llvm", "--threads", THREADS, "--rounds", ROUNDS, "--warmup", "1", "--after", "0"]

# What only libomp itself imports has a probe on each rung.
ALL = ["--all-symbols"]

# Names in which the event's does not stand; the first that matches counts.
EVENTS = [
    (r"__kmp_invoke_microtask", "IMPLICIT_TASK"),
    (r"__kmpc_fork_call\w*|GOMP_parallel(_reductions|_sections|_loop_\w+(?<!_start))?", "PARALLEL"),
    (r"__kmpc_fork_teams", "TEAMS"), (r"__kmpc_serialized_parallel", "SERIAL_START"),
    (r"__kmpc_end_serialized_parallel", "SERIAL_END"),
    (r"__kmpc_(dist_)?(for|team)_static_init_\w+", "LOOP_STATIC_START"), (r"__kmpc_for_static_fini", "LOOP_STATIC_END"),
    (r"__kmpc_(dist_)?dispatch_init_\w+|GOMP_loop_\w*start", "LOOP_START"),
    (r"__kmpc_dispatch_next_\w+|GOMP_loop_\w+_next", "LOOP_NEXT"),
    (r"__kmpc_dispatch_fini_\w+", "LOOP_ITERATION_END"), (r"__kmpc_ordered", "ORDERED_START"),
    (r"__kmpc_end_ordered", "ORDERED_END"),
    (r"__kmpc_doacross_init", "DOACROSS_START"), (r"__kmpc_doacross_fini", "DOACROSS_END"),
    (r"__kmpc_(master|masked)", "MASKED"), (r"__kmpc_end_(master|masked)", "MASKED_END"),
    (r"GOMP_single_start", "SINGLE"), (r"__kmpc_end_single", "SINGLE_END"),
    (r"__kmpc_(cancel_)?barrier", "BARRIER"),
    (r"__kmpc_reduce\w*", "REDUCE"), (r"__kmpc_end_reduce", "REDUCE_END"),
    (r"__kmpc_critical\w*|GOMP_critical_(name_)?start", "CRITICAL_START"),
    (r"__kmpc_end_critical|GOMP_critical_(name_)?end", "CRITICAL_END"),
    (r"(__kmpc|omp)_init_(nest_)?lock\w*", "LOCK_INIT"), (r"(__kmpc|omp)_destroy_(nest_)?lock", "LOCK_DESTROY"),
    (r"(__kmpc|omp)_set_(nest_)?lock", "LOCK"), (r"(__kmpc|omp)_unset_(nest_)?lock", "UNLOCK"),
    (r"(__kmpc|omp)_test_(nest_)?lock", "LOCK_ATTEMPT"),
    (r"__kmpc_atomic_fixed8_add", None),  # begins with a lock prefix: no probe can stand there, and `list` says so
    (r"__kmpc_atomic_\w+\d_?\w+", "ATOMIC"),
    (r"__kmpc_omp_task_alloc", "TASK_ALLOC"), (r"__kmpc_omp_task(_with_deps)?", "TASK"),
    (r"__kmpc_omp_task_begin_if0", "TASK_UNDEFERRED"),
    (r"__kmpc_omp_task_complete_if0", None),
    (r"__kmpc_omp_task(wait|yield)", lambda name: name.rpartition("_")[2].upper()),
    (r"__kmpc_omp_wait_deps", "TASKWAIT"), (r"__kmpc_taskgroup", "TASKGROUP_START"),
    (r"__kmpc_end_taskgroup|__kmpc_task_reduction_modifier_fini", "TASKGROUP_END"),
    (r"__kmpc_(task_reduction|taskred)_\w+", "TASK_REDUCTION"),
    (r"__kmpc_cancellationpoint", "CANCELLATION_POINT"),
    (r"(omp|__kmpc)_(global|get|in|is|task_allow)\w*|omp_set_\w+", None),
]


def event_of(function):
    """__kmpc_dispatch_next_4u -> GASP_OMP_LOOP_NEXT; None for questions and settings."""
    for pattern, event in EVENTS:
        if re.fullmatch(pattern, function):
            name = event(function) if callable(event) else event
            break
    else:
        name = re.sub(r"^(__kmpc|GOMP|omp)_", "", function).upper()
    return name and f"GASP_OMP_{name}"


# Calls that libomp 14 makes to itself: for each call of the functions on the right one of the event on the left. Of the
# first ones the counting library has both, of the others only the one on the right: the linker bound the rest.
PASSED_ON = [
    (event, rf"__kmpc_{name}_(nest_)?lock") for event, name in (
        ("LOCK_INIT", "init"), ("LOCK_DESTROY", "destroy"), ("LOCK", "set"), ("UNLOCK", "unset"),
        ("LOCK_ATTEMPT", "test"))] + [("BARRIER", r"__kmpc_cancel_barrier")]
BOUND = [("CRITICAL_START", r"__kmpc_critical"),
         ("TASKGROUP_START", r"__kmpc_(task_reduction|taskred)_modifier_init")]


def inside(tables, rules):
    """What these rules say, by event."""
    calls = collections.Counter()
    for event, functions in rules:
        calls[f"GASP_OMP_{event}"] += sum(counts["calls"] for table in tables for name, counts in table.items()
                                          if re.fullmatch(functions, name))
    return +calls


def compare_with_counted(job, observe, tmp_path, version, environment=ENVIRONMENT, more=()):
    """Without a word about models. What libomp calls of its own is counted apart: the sum is what the library has
    counted. more: what this version calls of its own besides."""
    team = job([*truth.counting("libcount_kmp.so", tmp_path), *JOB], env=environment).wait_ready()
    report = truth.window(team, observe, options=ALL)
    tables = truth.windows(tmp_path, "kmp")
    assert len(tables) == 1 and len(tables[0]) > 70
    counted = truth.by_event(tables, event_of)
    passed_on, bound = inside(tables, PASSED_ON), inside(tables, [*BOUND, *more])
    passed_on["GASP_OMP_BARRIER"] += ROUNDS  # the barrier that finds its loop cancelled is two inside
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
    compare_with_counted(job, observe, tmp_path, "libomp-14")


def test_libomp_19(job, observe, tmp_path):
    """The same job on a later runtime, where waiting for dependences is a call of a later function inside."""
    root = debian.package("libomp5-19")
    if not root:
        pytest.skip("the package libomp5-19 cannot be had here")
    (tmp_path / "libomp").mkdir()
    (tmp_path / "libomp" / "libomp.so.5").symlink_to(root / "usr/lib/llvm-19/lib/libomp.so.5")
    environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": str(tmp_path / "libomp")}
    compare_with_counted(job, observe, tmp_path, "libomp-19", environment, [("TASKWAIT", "__kmpc_omp_wait_deps")])
