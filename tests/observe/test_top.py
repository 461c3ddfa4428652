# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf top: its figures are those of the job's own log."""
import json
import re

import pytest

import gaspbpf
from gaspbpf import MPI_ENVIRONMENT, WORKLOADS
from truth import by_name, calls_of

LATE = WORKLOADS / "late"
ROUNDS = 10


def once(job, observe, pids, *options):
    """What top says of the work between the job's marks."""
    watcher = observe("top", "-p", ",".join(map(str, pids)), "--once", "-d", "10m", "--json", *options)
    job.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    return json.loads(out)


@pytest.mark.parametrize("options", ([], ["-v"]))
def test_how_probes_are_put_in_is_for_who_asks(job, observe, options):
    work = job([WORKLOADS / "threads", "--rounds", 3]).wait_ready()
    watcher = observe("top", "-p", work.process.pid, "--once", "-d", "10m", "--json", "-m", "pthread", *options)
    work.work()
    status, _, errors = watcher.stop()
    assert status == 0 and "gaspbpf: observing 1 process; ^C to stop\n" in errors, errors
    assert bool(re.search(r"session|multi|perf", errors)) == bool(options)


def test_who_comes_last_and_who_waits_in_what(job, observe, rung):
    work = job([LATE, "--rounds", ROUNDS])
    work.wait_ready()
    top = once(work, observe, work.pids(), "-m", "pthread")
    threads = by_name(top)
    assert sorted(threads) == [f"team-{i}" for i in range(4)]
    # At the end of the work three wait for the one that is late, and their call counts up to now.
    for name, thread in threads.items():
        groups = thread["all"]["group_ns"]
        assert sum(groups.values()) == thread["all"]["observed_ns"]
        assert thread["interval"] == thread["all"], "there was one interval"
        if name == "team-2":
            assert thread["in"] is None
        else:
            assert thread["in"]["event"] == "GASP_PTHREAD_BARRIER_WAIT"
            assert groups["barrier"] >= top["now_ns"] - thread["in"]["since_ns"] > 0
        assert (thread["all"]["met"], thread["all"]["came_last"]) == (ROUNDS, ROUNDS if name == "team-2" else 0)
    barrier = [meeting for meeting in top["meetings"] if meeting["event"] == "GASP_PTHREAD_BARRIER_WAIT"]
    assert len(barrier) == 1
    barrier = barrier[0]
    assert (barrier["members"], barrier["all"]["met"], barrier["all"]["unknown"]) == (4, ROUNDS, 0)
    assert barrier["all"]["last"]["name"] == "team-2"
    assert barrier["all"]["last_times"] == ROUNDS
    assert 0 < barrier["all"]["last_late_ns"] == barrier["all"]["late_ns"] == threads["team-2"]["all"]["late_ns"]
    # Whoever came in time waited for the late one, each time, and then some: to wake up.
    assert barrier["all"]["late_ns"] <= min(threads[f"team-{i}"]["all"]["group_ns"]["barrier"] for i in (0, 1, 3))
    assert (barrier["waiting"], barrier["awaited"]["name"]) == (3, "team-2")
    assert len(top["locks"]) == 5 and all(lock["holder"] is None for lock in top["locks"]), "all were released"
    # The counts are the job's own: what is in progress is no call yet.
    assert work.end() == 0
    for thread in work.truths()[0]["threads"]:
        seen = threads[thread["name"]]
        events = {event["event"]: event["all"]["calls"] for event in seen["events"]}
        assert seen["tid"] == thread["tid"]
        assert events["GASP_PTHREAD_MUTEX_LOCK"] == thread["functions"]["pthread_mutex_lock"]["calls"]
        assert events["GASP_PTHREAD_BARRIER_WAIT"] == thread["functions"]["pthread_barrier_wait"]["calls"] - 1
        assert seen["all"]["calls"] == calls_of(thread) - 1
    assert top["processes"][0]["all"]["calls"] == sum(thread["all"]["calls"] for thread in threads.values())


def test_which_lock_is_waited_for_and_who_has_it(job, observe):
    work = job([LATE, "--rounds", ROUNDS, "--held", 1])
    work.wait_ready()
    top = once(work, observe, work.pids(), "-m", "pthread")
    threads = by_name(top)
    # Each thread has a lock of its own that nobody else wants; one lock all want.
    assert len(top["locks"]) == 5
    worst = top["locks"][0]
    assert worst["all"]["calls"] == 4 * ROUNDS + 1
    assert all(lock["all"]["calls"] == 3 * ROUNDS for lock in top["locks"][1:])
    assert (worst["waiting"], worst["holder"]["name"]) == (1, "team-2")
    assert worst["site"].startswith("late.c:")
    assert threads["team-0"]["in"]["event"] == "GASP_PTHREAD_MUTEX_LOCK"
    # Two wait in the barrier, and two have not come to it: no one is to blame alone.
    assert (top["meetings"][0]["waiting"], top["meetings"][0]["awaited"]) == (2, None)
    assert work.end() == 0


def test_a_first_call_that_lasts_is_seen(job, observe, rung):
    """Nothing has ended of these threads since gaspbpf came."""
    work = job([LATE, "--rounds", 0])
    work.wait_ready()
    top = once(work, observe, work.pids(), "-m", "pthread")
    threads = by_name(top)
    assert sorted(threads) == ["team-0", "team-1", "team-3"]
    for thread in threads.values():
        assert thread["in"]["event"] == "GASP_PTHREAD_BARRIER_WAIT"
        figures = thread["all"]
        assert figures["calls"] == 0
        assert figures["observed_ns"] == figures["group_ns"]["barrier"] == top["now_ns"] - thread["in"]["since_ns"]
    assert work.end() == 0


def test_calls_and_bytes_are_the_jobs_own(job, observe):
    work = job([WORKLOADS / "threads", "--threads", "3", "--rounds", "15"])
    work.wait_ready()
    top = once(work, observe, work.pids(), "-m", "c,pthread")
    assert work.end() == 0
    assert top["loss"] == {"delivered": calls_of(work.truths()[0]), "lost": 0, "summed": 0, "skipped": 0}
    threads = by_name(top)
    for thread in work.truths()[0]["threads"]:
        figures = threads[thread["name"]]["all"]
        assert figures["calls"] == calls_of(thread)
        assert figures["bytes"] == sum(function["bytes"] for function in thread["functions"].values())
        events = {event["event"]: event for event in threads[thread["name"]]["events"]}
        assert events["GASP_C_MALLOC"]["all"]["bytes"] == thread["functions"]["malloc"]["bytes"]
        assert events["GASP_PTHREAD_MUTEX_LOCK"]["all"]["bytes"] is None, "a lock moves nothing"


def test_ranks_meet_across_processes(job, observe):
    work = job(["mpirun", "-n", "3", WORKLOADS / "mpi_job_openmpi", "--rounds", 6], ranks=3, env=MPI_ENVIRONMENT)
    work.wait_ready()
    top = once(work, observe, [work.process.pid], "-m", "mpi")
    assert work.end() == 0
    processes = {process["rank"]: process for process in top["processes"]}
    assert sorted(processes) == [0, 1, 2] and all(process["unit"] == "rank" for process in processes.values())
    barrier = next(meeting for meeting in top["meetings"] if meeting["event"] == "GASP_MPI_BARRIER")
    for truth in work.truths():
        assert processes[truth["rank"]]["all"]["calls"] == sum(
            function["calls"] for name, function in truth["functions"].items() if name.startswith("MPI_"))
        assert barrier["all"]["met"] == truth["functions"]["MPI_Barrier"]["calls"]
    assert (barrier["members"], barrier["all"]["unknown"]) == (3, 0)


def test_ranks_that_have_not_called_have_no_figures(job, observe):
    work = job(["mpirun", "-n", "2", WORKLOADS / "mpi_job_openmpi"], ranks=2, env=MPI_ENVIRONMENT)
    work.wait_ready()
    watcher = observe("top", "-p", work.process.pid, "--once", "-d", "10m", "--json")
    status, out, _ = watcher.stop()
    top = json.loads(out)
    assert status == 0 and [process["all"] for process in top["processes"]] == [None, None]
    watcher = observe("top", "-p", work.process.pid, "--once", "-d", "10m")
    status, out, _ = watcher.stop()
    rows = [line for line in out.splitlines() if line.startswith("rank ")]
    assert status == 0 and len(rows) == 2 and all(row.split()[2] == "?" and row.endswith("no call seen yet")
                                                  for row in rows)


def test_calls_that_are_only_counted_are_told(job, observe):
    """Rings for a handful of spans: most are lost, and their number is known all the same."""
    work = job([WORKLOADS / "threads", "--threads", "2", "--rounds", "200"])
    work.wait_ready()
    top = once(work, observe, work.pids(), "-m", "c", "--ring-size", "8k")
    assert work.end() == 0
    counted = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free"}
    threads = by_name(top)
    missing = 0
    for thread in work.truths()[0]["threads"]:
        figures = threads[thread["name"]]["all"]
        assert figures["calls"] == sum(function["calls"] for name, function in thread["functions"].items()
                                       if name in counted)
        assert figures["estimated"] == (figures["missing"] > 0)
        assert sum(figures["group_ns"].values()) == figures["observed_ns"]
        missing += figures["missing"]
    assert missing == top["loss"]["lost"]


def test_a_command_from_its_first_call_to_its_end(tmp_path, observe):
    truth = tmp_path / "truth"
    watcher = observe("top", "-m", "pthread", "--once", "-d", "10m", "--json", "--", WORKLOADS / "threads", "--threads",
                      "2", "--rounds", "5", "--alloc", "0", "--truth", truth)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    top = json.loads(out[out.index("\n{") + 1:])
    own = json.loads(truth.read_text())
    assert all(process["ended"] for process in top["processes"])
    events = {event["event"]: event["all"]["calls"] for thread in top["threads"] for event in thread["events"]}
    assert events
    barrier = next(meeting for meeting in top["meetings"] if meeting["event"] == "GASP_PTHREAD_BARRIER_WAIT")
    assert barrier["all"]["met"] == own["functions"]["pthread_barrier_wait"]["calls"] / 2


def test_the_text_says_what_has_ended(observe):
    watcher = observe("top", "-m", "pthread", "--once", "-d", "10m", "--", WORKLOADS / "threads", "--threads", "2",
                      "--rounds", "5", "--alloc", "0")
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert "\n1 process (1 ended), " in out


@pytest.mark.parametrize("arguments, said", [
    (["-p", "1"], "--once"),
    (["-p", "1", "--once", "-i", "never"], "not a time"),
    (["-p", "1", "--once", "--sort", "beauty"], "no such column"),
    (["-p", "1", "--json"], "--once"),
    ([], "nothing to observe"),
])
def test_wrong_use_is_told(arguments, said):
    done = gaspbpf.run("top", *arguments)
    assert done.returncode == 2 and said in done.stderr
