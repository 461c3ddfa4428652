# SPDX-License-Identifier: BSD-2-Clause
"""Models that join alone (malloc, POSIX threads) do so until a process of the job loads a parallel runtime: then their
probes come out of the job, at once, and the report says until when they were seen.

latecomer (tests/workloads/follow) counts by its arguments: so many calls before it loads the runtime, so many after.
The runtime, and the library whose model joins alone, are the test's own, so that probes for everybody are in nobody
else's way.
"""
import json
import os
import signal
import subprocess

import pytest

import gaspbpf
import remains
from following import calls_by_process, json_of, runtime  # noqa: F401 (fixture)

BEFORE, AFTER, STEPS = 300, 500, 7
PLAIN = """
model    plain
language PLAIN
library  libplain.so*
join     alone
TAKE     function  leaf  void plain_take(int number)
HOLD     wait      leaf  void plain_hold(void *until)
"""
CALLS = """
model    calls
language CALLS
library  libcalls.so*
rank     env TEST_RANK
STEP     function  leaf  void calls_step(int number)
"""
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Latecomers:
    """Some of them, who wait for each other at each step."""

    def __init__(self, runtime, folder):  # noqa: F811
        self.folder = folder / "gate"
        self.folder.mkdir()
        self.env = {**runtime.env, "GATE": str(self.folder)}
        self.command = [str(runtime.path / "latecomer"), str(BEFORE), str(AFTER)]
        self.processes = []

    def start(self, rank=0, how=()):
        self.processes.append(subprocess.Popen([*self.command, *how], start_new_session=True,
                                               env={**os.environ, **self.env, "TEST_RANK": str(rank)}))
        self.wait_at(1, len(self.processes))
        return self.processes[-1].pid

    def at(self, step):
        return [path for path in self.folder.iterdir() if path.name.endswith(f".{step}") and path.name[0] != "g"]

    def wait_at(self, step, count):
        gaspbpf.wait_for(lambda: len(self.at(step)) == count, f"{count} of them to be at step {step}")

    def go(self, *steps):
        for step in steps:
            (self.folder / f"go.{step}").touch()

    def kill(self):
        for process in self.processes:
            gaspbpf.kill_group(process)


@pytest.fixture
def latecomers(runtime, tmp_path):  # noqa: F811
    made = Latecomers(runtime, tmp_path)
    yield made
    made.kill()


@pytest.fixture
def own_models(tmp_path, monkeypatch):
    """There are no other models."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "plain.model").write_text(PLAIN)
    (folder / "calls.model").write_text(CALLS)
    monkeypatch.setenv("GASPBPF_MODELS", str(folder))


def events(report):
    return {row["name"]: row["calls"] for row in report["events"] if row["calls"]}


def is_told(report, pids, loader):
    """Of each process, and of each event that its count is not whole."""
    told = report["withdrawn"]
    assert sorted(row["pid"] for row in told) == sorted(pids)
    assert {row["runtime"] for row in told} == {"libcalls.so"} and {row["loader_pid"] for row in told} == {loader}
    for event in report["events"]:
        assert bool(event["out_ns"]) == (event["model"] in told[0]["models"].split(", ")), event["name"]
    assert not [window for window in report["blind_windows"] if window["models"] == told[0]["models"]]


@pytest.mark.guest
@pytest.mark.parametrize("scope", ["process", "file"])
def test_a_command_that_loads_it(runtime, own_models, tmp_path, rung, scope):  # noqa: F811
    """It stands still at that moment, so the count is exact."""
    result = gaspbpf.run("--json", "-o", tmp_path / "run.gasp", "--scope", scope, "--", runtime.path / "latecomer",
                         BEFORE, AFTER, env=runtime.env)
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    assert events(report) == {"GASP_PLAIN_TAKE": BEFORE, "GASP_CALLS_STEP": STEPS}
    process, = report["processes"]
    is_told(report, [process["pid"]], process["pid"])
    assert "plain: no more observed from here on: process" in result.stderr
    recorded = gaspbpf.run("report", "--json", tmp_path / "run.gasp")
    assert all(json.loads(recorded.stdout)[key] == report[key] for key in ("withdrawn", "events", "blind_windows"))
    text = " ".join(gaspbpf.run("report", tmp_path / "run.gasp").stdout.split())
    assert "Not seen to the end - plain: seen only until " in text and "loaded a parallel runtime (libcalls.so)" in text
    assert f"GASP_PLAIN_TAKE {BEFORE}+" in text and f"GASP_CALLS_STEP {STEPS} " in text


@pytest.mark.guest
@pytest.mark.parametrize("scope", ["process", "file"])
def test_a_thread_that_calls_meanwhile(runtime, own_models, rung, scope):  # noqa: F811
    """There is one moment from which on nothing is counted any more, and what was before it is counted whole."""
    result = gaspbpf.run("-q", "--json", "--scope", scope, "--", runtime.path / "latecomer", BEFORE, AFTER,
                         "busy", env=runtime.env)
    assert result.returncode == 0, result.stderr
    report, taken = json_of(result), int(result.stdout.split("taken ")[1].split()[0])
    process, = report["processes"]
    is_told(report, [process["pid"]], process["pid"])
    loss = report["loss"]
    assert (loss["skipped"], loss["summed"], loss["no_entry"]) == (0, 0, 0), loss
    assert BEFORE + 1000 <= events(report)["GASP_PLAIN_TAKE"] < taken - 100000


@pytest.mark.parametrize("scope", ["process", "file"])
@pytest.mark.parametrize("wish", [["-m", "+plain"], ["-m", "plain,calls"]], ids=["besides", "only"])
def test_who_asks_for_it_has_it_to_the_end(runtime, own_models, scope, wish):  # noqa: F811
    result = gaspbpf.run("-q", "--json", "--scope", scope, *wish, "--", runtime.path / "latecomer", BEFORE, AFTER,
                         env=runtime.env)
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    assert events(report) == {"GASP_PLAIN_TAKE": BEFORE + AFTER, "GASP_CALLS_STEP": STEPS}
    assert report["withdrawn"] == []
    assert not any(event["out_ns"] for event in report["events"])


@pytest.mark.guest
@pytest.mark.parametrize("options", [["--scope", "process"], ["--scope", "file"], ["--max-overhead", "90%"]],
                         ids=["process", "file", "limited"])
def test_processes_that_are_joined(latecomers, own_models, observe, tmp_path, rung, options):
    """One of two loads the runtime. That ends it for both: a job that has a runtime is observed by that. The other one
    has no breakpoint, either, when it goes on."""
    if rung == "perf" and options[-1] == "90%":
        pytest.skip("the same links as without a limit")
    first, second = latecomers.start(0), latecomers.start(1)
    places = remains.places(first)
    watcher = observe(*options, "--json", "-p", f"{first},{second}")
    assert remains.patched(first, places) == remains.patched(second, places) == places
    latecomers.go(1)
    latecomers.wait_at(2, 2)
    os.kill(second, signal.SIGSTOP)
    latecomers.go(2)
    latecomers.wait_at(3, 1)
    gaspbpf.wait_for(lambda: watcher.has_said(b"no more observed"), "gaspbpf to say so")
    for pid in first, second:
        gaspbpf.wait_for(lambda: not remains.patched(pid, places), "the breakpoints to go")  # noqa: B023
    os.kill(second, signal.SIGCONT)
    latecomers.wait_at(3, 2)
    gaspbpf.wait_for(lambda: all(remains.patched(pid, runtime_places(pid)) for pid in (first, second)),
                     "the runtime's probes to be in")
    latecomers.go(3)
    latecomers.wait_at(4, 2)
    status, out, errors = watcher.stop()
    assert status == 0, errors
    report = json.loads(out)
    assert events(report) == {"GASP_PLAIN_TAKE": 2 * BEFORE, "GASP_CALLS_STEP": 2 * STEPS}
    is_told(report, [first, second], first)
    assert {row["loader_rank"] for row in report["withdrawn"]} == {0}


def in_call(out):
    """Who is in which call."""
    return [thread["in"]["event"] for thread in json.loads(out)["threads"] if thread.get("in")]


@pytest.mark.parametrize("loads", [False, True], ids=["before", "after"])
def test_a_call_whose_end_was_not_seen(latecomers, own_models, observe, loads):
    """It was in progress when its probes came out. Whether it goes on is not known then, and not claimed."""
    pid = latecomers.start(how=["held"])
    watcher = observe("top", "-p", pid, "--once", "-d", "10m", "--json")
    latecomers.go(1)
    latecomers.wait_at(2, 1)
    if loads:
        latecomers.go(2)
        latecomers.wait_at(3, 1)
        gaspbpf.wait_for(lambda: watcher.has_said(b"no more observed"), "gaspbpf to say so")
        latecomers.go(3)
        latecomers.wait_at(4, 1)
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert in_call(out) == ([] if loads else ["GASP_PLAIN_HOLD"])


def runtime_places(pid):
    return {place for place in remains.places(pid) if "libcalls.so" in place[0]}


@pytest.mark.parametrize("scope", ["auto", "process"])
def test_ranks_one_after_the_other(latecomers, runtime, own_models, observe, scope):  # noqa: F811
    """When the first one loads the runtime the others map none: yet they are ranks, and not beside the job."""
    script = "for i in 0 1 2; do TEST_RANK=$i " + " ".join(latecomers.command) + " & done; wait; exit 0"
    watcher = observe("--json", "--scope", scope, "--", "sh", "-c", script, env=latecomers.env)
    try:
        latecomers.wait_at(1, 3)
        pids = sorted(int(path.name.split(".")[0]) for path in latecomers.at(1))
        latecomers.go(1)
        latecomers.wait_at(2, 3)
        for pid in pids[1:]:
            os.kill(pid, signal.SIGSTOP)
        latecomers.go(2)
        latecomers.wait_at(3, 1)
        latecomers.go(3)
        latecomers.wait_at(4, 1)
        for pid in pids[1:]:
            os.kill(pid, signal.SIGCONT)
        latecomers.wait_at(4, 3)
    finally:
        latecomers.go(1, 2, 3, 4)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    report = json.loads(out[out.index("{\n"):])
    assert sorted(process["rank"] for process in report["processes"]) == [0, 1, 2]
    assert calls_by_process(report) == {pid: STEPS for pid in pids}
    assert calls_by_process(report, "GASP_PLAIN_TAKE") == {pid: BEFORE for pid in pids}
    is_told(report, pids, pids[0])


def sites(report, event):
    """Calls by the job's own functions."""
    return {site["function"]: site["calls"] for site in gaspbpf.events(report)[event]["sites"]
            if site["function"] in ("early", "later")}


def test_malloc(runtime, tmp_path):  # noqa: F811
    """What everything calls: dlopen does so itself, before and after the runtime is mapped."""
    (tmp_path / "calls.model").write_text(CALLS)
    result = gaspbpf.run("--json", *runtime.options, "--", runtime.path / "latecomer", BEFORE, AFTER, env=runtime.env)
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    assert sites(report, "GASP_C_MALLOC") == sites(report, "GASP_C_FREE") == {"early": BEFORE}
    assert gaspbpf.events(report)["GASP_CALLS_STEP"]["calls"] == STEPS
    process, = report["processes"]
    is_told(report, [process["pid"]], process["pid"])
    for wish, gone in ("+c,+pthread", []), ("+c", ["pthread"]):
        asked = gaspbpf.run("-q", "--json", *runtime.options, "-m", wish, "--", runtime.path / "latecomer", BEFORE,
                            AFTER, env=runtime.env)
        report = json_of(asked)
        assert sites(report, "GASP_C_MALLOC") == {"early": BEFORE, "later": AFTER}, asked.stderr
        assert [row["models"] for row in report["withdrawn"]] == gone


IMPORTS = f"""
import ctypes, os, pathlib, sys, time
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def some(count):
    for _ in range(count):
        libc.free(libc.malloc(123))
some({BEFORE})
folder = pathlib.Path(sys.argv[1])
(folder / f"{{os.getpid()}}.early").touch()
while len(list(folder.glob("*.early"))) < 2:
    time.sleep(0.01)
from mpi4py import MPI
some({AFTER})
for _ in range(10):
    MPI.COMM_WORLD.Barrier()
"""


def test_ranks_that_import_mpi4py(tmp_path):
    """What each has called before it is there; what the import and all after it calls is not, on neither rank."""
    (tmp_path / "job.py").write_text(IMPORTS)
    (tmp_path / "early").mkdir()
    result = gaspbpf.run("-q", "--json", "-o", tmp_path / "run.gasp", "--", "mpirun.openmpi", "--oversubscribe", "-n",
                         2, "/usr/bin/python3", tmp_path / "job.py", tmp_path / "early", env=MPI)
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    assert sorted(process["rank"] for process in report["processes"]) == [0, 1]
    assert calls_by_process(report, "GASP_MPI_BARRIER") == {process["pid"]: 10 for process in report["processes"]}
    by_ctypes = [site["calls"] for site in gaspbpf.events(report)["GASP_C_MALLOC"]["sites"]
                 if "libffi" in (site["image"] or "")]
    assert sum(by_ctypes) == 2 * BEFORE
    assert sorted(row["rank"] for row in report["withdrawn"]) == [0, 1]
    for row in report["withdrawn"]:
        assert row["models"] == "c, pthread" and row["runtime"].startswith("libmpi.so")
    until, = {row["until_ns"] for row in report["withdrawn"]}
    assert until > 0
