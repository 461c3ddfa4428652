# SPDX-License-Identifier: BSD-2-Clause
"""The flight recorder: what a dump says of the last calls is what the job's own log says, also of those who were
killed."""
import json
import os
import pathlib
import signal
import stat
import subprocess
import tempfile

import pytest

import flying
import gaspbpf
import remains

LAST = {"threads": "GASP_PTHREAD_BARRIER_WAIT", "openmpi": "GASP_MPI_BARRIER", "shmem": "GASP_SHMEM_BARRIER_ALL"}
WAITERS = {"threads": 3, "openmpi": 1, "shmem": 1}
RUNS = [*(("threads", rung) for rung in gaspbpf.RUNGS), *((kind, gaspbpf.RUNGS[0]) for kind in ("openmpi", "shmem"))]
HOUR = ["--flight", "1h,8m", "--dump-pause", "0"]


def observed(job, observe, kind, tmp_path, *options, env=None, program=()):
    """A job at its gate with a flight recorder on it, whose dumps go to tmp_path."""
    running, models = flying.start(job, kind, *program, env=env)
    watcher = observe("-p", running.process.pid, *models, "-o", tmp_path / "dump-%w.gasp", *options)
    return running, watcher


def go(running):
    (running.gate / "go").touch()


def expected(running, reason):
    """The job's log as a dump is to say it; reason: of calls that have not come back."""
    return {tid: [call if call.end == "" else call._replace(end=reason) for call in calls]
            for (_, tid), calls in flying.log(running).items() if calls}


@pytest.mark.parametrize("kind, rung", RUNS, indirect=["rung"])
def test_a_barrier_that_somebody_does_not_reach(job, observe, tmp_path, kind, rung):
    """While they wait, the dump shows who waits where, and all that each had done. Then the job goes on as if nothing
    had been."""
    running, watcher = observed(job, observe, kind, tmp_path, *HOUR, "--trigger", "barrier>300ms",
                                "--trigger", "lock=1h")
    go(running)
    flying.wait_until_waiting(running, LAST[kind], WAITERS[kind])
    name, why = flying.wait_for_dump(watcher)
    assert name == str(tmp_path / "dump-wait-1.gasp")
    assert f"{LAST[kind]} has lasted" in why and "(barrier>300ms)" in why
    assert flying.dumped(tmp_path / "dump-wait-1.gasp", kind, tmp_path) == expected(running, "detach")
    (running.gate / "late").touch()
    gaspbpf.wait_for(running._all("done"), "the job to go on")
    assert running.end() == 0, running.output()
    status, out, errors = watcher.finish()
    assert status == 0 and "Observed for" in out, errors
    assert "Flight recording: what led up to this" in gaspbpf.run("report", tmp_path / "dump-wait-1.gasp").stdout


def test_a_call_that_is_kept_by_stack(tmp_path):
    """In a program that could make fibers, too, one that does not come back is noticed while it lasts, and is in the
    dump."""
    source, program = tmp_path / "fibers.c", tmp_path / "fibers"
    source.write_text("#include <ucontext.h>\n#include <unistd.h>\nstatic ucontext_t a, b;\n"
                      "__attribute__((noinline)) int hold(int n) { sleep(n); return n + 1; }\n"
                      "int main(int c, char **v) { if (c > 1) swapcontext(&a, &b); return hold(3) != 4; }\n")
    subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=True, timeout=gaspbpf.PATIENCE)
    out = gaspbpf.run("--flight", "1h", "--trigger", "any>300ms", "-o", tmp_path / "dump-%w.gasp", "-e",
                      "int hold(int n)", "--", program)
    assert out.returncode == 0 and "hold has lasted" in out.stderr.lower(), out.stderr
    dumped = json.loads(gaspbpf.run("report", "--json", tmp_path / "dump-wait-1.gasp").stdout)
    assert [(row["name"], row["calls"]) for row in dumped["events"]] == [("GASP_USER_HOLD", 1)]


DEATHS = [("threads", signal.SIGKILL), ("threads", signal.SIGSEGV), ("openmpi", signal.SIGTERM),
          ("shmem", signal.SIGKILL)]


@pytest.mark.parametrize("kind, how", DEATHS)
def test_the_last_calls_of_the_dead(job, observe, tmp_path, kind, how):
    """All that the process had called, with the call it died in, and the source lines of them."""
    running, watcher = observed(job, observe, kind, tmp_path, *HOUR)
    go(running)
    flying.wait_until_waiting(running, LAST[kind], WAITERS[kind])
    dead = running.pids()[-1]
    os.kill(dead, how)
    name, why = flying.wait_for_dump(watcher)
    assert name == str(tmp_path / "dump-death-1.gasp")
    assert f"pid {dead}" in why and f"was killed by signal {how.value}" in why
    status, out, errors = watcher.finish()
    assert status == 0, errors
    told = expected(running, "exit")
    theirs = {tid: calls for (number, tid), calls in flying.log(running).items() if kind == "threads" or number == 1}
    seen = flying.dumped(tmp_path / "dump-death-1.gasp", kind, tmp_path)
    assert theirs
    for tid in theirs:
        assert seen[tid] == told[tid], (tid, out, errors)
    assert f"killed by signal {how.value}" in gaspbpf.run("report", tmp_path / "dump-death-1.gasp").stdout


@pytest.mark.parametrize("status, options, written", ((0, [], 0), (3, [], 1), (3, ["--trigger", "no-death"], 0)))
def test_the_status_that_a_process_ends_with(job, observe, tmp_path, status, options, written):
    running, watcher = observed(job, observe, "threads", tmp_path, *HOUR, *options, env={"FLIGHT_STATUS": str(status)})
    (running.gate / "late").touch()
    running.work()
    assert running.end() == status
    assert watcher.finish()[0] == 0
    said = flying.dumps(watcher)
    assert len(said) == written == len(list(tmp_path.glob("*.gasp")))
    if written:
        assert f"ended with status {status}" in said[0][1]
        seen = flying.dumped(tmp_path / "dump-death-1.gasp", "threads", tmp_path)
        assert {tid: calls for tid, calls in seen.items() if calls} == expected(running, "")


@pytest.fixture
def shared():
    """A folder that any user can get at, and that belongs to one without privileges."""
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, 65534, 65534)
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


def test_asked_for(job, observe, tmp_path, shared):
    """By a signal and by 'control dump', which waits for the file and names it. A file that is there is never written
    to, nor what a link leads to."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (shared / "dump-1.gasp").symlink_to(victim)
    (shared / "dump-2.gasp").write_text("theirs")
    (shared / "dump-4.gasp").symlink_to(shared / "nowhere")
    running, models = flying.start(job, "threads")
    watcher = observe("-p", running.process.pid, *models, "-o", shared / "dump.gasp", *HOUR,
                      env={"SUDO_UID": "65534", "SUDO_GID": "65534"})
    (running.gate / "late").touch()
    running.work()
    watcher.process.send_signal(signal.SIGUSR1)
    assert flying.wait_for_dump(watcher)[0] == str(shared / "dump-3.gasp")
    for number in 5, 6:
        result = gaspbpf.run("control", "-p", running.process.pid, "dump")
        assert (result.returncode, result.stdout) == (0, f"{shared}/dump-{number}.gasp\n"), result.stderr
    for number in 3, 5, 6:
        path = shared / f"dump-{number}.gasp"
        assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (65534, 65534, 0o644)
        assert flying.dumped(path, "threads", tmp_path) == expected(running, "")
    assert victim.read_text() == "mine" and (shared / "dump-2.gasp").read_text() == "theirs" \
        and not (shared / "nowhere").exists()
    assert running.end() == 0
    assert watcher.finish()[0] == 0


def test_names(job, observe, tmp_path):
    """A folder gets files of its own names; %t, %w and %n stand for themselves no more."""
    running, models = flying.start(job, "threads")
    watcher = observe("-p", running.process.pid, *models, "-o", tmp_path, *HOUR)
    result = gaspbpf.run("control", "-p", running.process.pid, "dump")
    assert result.returncode == 0
    assert [path.match("flight-2*T*Z-1.gasp") for path in tmp_path.glob("*.gasp")] == [True]
    assert watcher.stop()[0] == 0
    watcher = observe("-p", running.process.pid, *models, "-o", tmp_path / "%%a%n-%w-%n.gasp", *HOUR)
    assert gaspbpf.run("control", "-p", running.process.pid, "dump").returncode == 0
    assert (tmp_path / "%a1-asked-1.gasp").exists()
    watcher.stop()


def is_tail(calls, whole):
    return calls == whole[len(whole) - len(calls):]


def test_memory_is_bounded(job, observe, tmp_path):
    """Of more calls than there is room for the last ones are kept: of each thread a piece without a hole, up to its
    last call."""
    running, watcher = observed(job, observe, "threads", tmp_path, "--flight", "1h,256k", "--ring-size", "64m",
                                program=["--rounds", "6000"])
    (running.gate / "late").touch()
    running.work()
    result = gaspbpf.run("control", "-p", running.process.pid, "dump")
    assert result.returncode == 0, result.stderr
    path = tmp_path / "dump-asked-1.gasp"
    assert flying.report(path)["loss"]["lost"] == 0
    seen, told = flying.dumped(path, "threads", tmp_path), expected(running, "")
    assert 1000 < sum(map(len, seen.values())) < sum(map(len, told.values()))
    for tid, calls in seen.items():
        assert is_tail(calls, told[tid])
    running.end()
    status, out, errors = watcher.finish()
    assert status == 0, errors


def test_what_is_old_goes(job, observe, tmp_path):
    running, watcher = observed(job, observe, "threads", tmp_path, "--flight", "500ms", "--dumps", "1000")
    (running.gate / "late").touch()
    running.work()

    def gone():
        result = gaspbpf.run("control", "-p", running.process.pid, "dump")
        assert result.returncode == 0, result.stderr
        return not flying.report(result.stdout.strip())["loss"]["calls"]
    gaspbpf.wait_for(gone, "the work to be forgotten")
    assert running.end() == 0
    status, out, errors = watcher.finish()
    assert status == 0 and "GASP_C_MALLOC" in out, errors  # the report at the end is of everything


def test_a_distance_between_dumps(job, observe, tmp_path):
    """Each call is a trigger: one dump at once, and one at the end for all that came since. Then there were as many as
    allowed."""
    running, watcher = observed(job, observe, "threads", tmp_path, "--flight", "1h,8m", "--trigger",
                                "GASP_PTHREAD_MUTEX_*>1ns", "--dump-pause", "1h", "--dumps", "2")
    (running.gate / "late").touch()
    running.work()
    flying.wait_for_dump(watcher)
    result = gaspbpf.run("control", "-p", running.process.pid, "dump")  # by hand there is no distance
    assert result.returncode == 0 and result.stdout == f"{tmp_path}/dump-asked-2.gasp\n"
    result = gaspbpf.run("control", "-p", running.process.pid, "dump")
    assert result.returncode == 1 and "--dumps" in result.stderr
    assert running.end() == 0
    status, out, errors = watcher.finish()
    assert status == 0 and "2 dumps have been written, and no more are" in errors
    assert sorted(path.name for path in tmp_path.glob("*.gasp")) == ["dump-asked-2.gasp", "dump-wait-1.gasp"]


def high_water(pid):
    """KiB that the process took at most."""
    status = open(f"/proc/{pid}/status").read()
    return int(status.split("VmHWM:")[1].split()[0])


def test_dumps_while_spans_flood(job, observe, tmp_path):
    """Dump after dump in a storm: each can be read, memory stays within what was said, the job computes what it should
    and no call is forgotten in the end."""
    storm = job([gaspbpf.WORKLOADS / "storm", "--storm-ms", "4000"]).wait_ready()
    watcher = observe("-p", storm.process.pid, "-m", "c,pthread", "-o", tmp_path, "--flight", "1h,4m", "--ring-size",
                      "512k", "--json")
    before = high_water(watcher.process.pid)
    (storm.gate / "go").touch()
    written = []
    while len(written) < 3:
        result = gaspbpf.run("control", "-p", storm.process.pid, "dump")
        assert result.returncode == 0, result.stderr
        written.append(result.stdout.strip())
    gaspbpf.wait_for(lambda: (storm.gate / "done.0").exists(), "the storm to be over")
    grown = high_water(watcher.process.pid) - before
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert storm.end() == 0
    for path in written:
        kept = flying.report(path)
        assert kept["recording"]["finished"] and kept["loss"]["delivered"] > 0 and os.path.getsize(path) < 8 << 20
    # What is kept, and room for full rings' spans while they are put in order, and for what the report needs.
    assert grown < (4 + 8 + 12) << 10, f"{grown} KiB"
    whole, pairs = json.loads(out), storm.truths()[0]["pairs"]
    for event in "GASP_C_MALLOC", "GASP_C_FREE":
        assert pairs <= gaspbpf.events(whole)[event]["calls"] < pairs + 100  # it sorts its times, which allocates, too


@pytest.mark.parametrize("options, what", ((["--ring-size", "16k"], "lost"), (["--max-overhead", "30%"], "delivered")))
def test_calls_that_are_no_spans(job, observe, tmp_path, options, what):
    """Lost for want of room, or only counted to keep the cost low: a dump that reaches back to the beginning has all of
    them, a later one none."""
    storm = job([gaspbpf.WORKLOADS / "storm", "--storm-ms", "500"]).wait_ready()
    watcher = observe("-p", storm.process.pid, "-m", "c,pthread", "-o", tmp_path, "--flight", "1h,64m", *options)
    storm.work()
    result = gaspbpf.run("control", "-p", storm.process.pid, "dump")
    assert result.returncode == 0, result.stderr
    dump = flying.report(result.stdout.strip())
    assert storm.end() == 0
    status, out, errors = watcher.finish()
    assert status == 0, errors
    pairs, loss = storm.truths()[0]["pairs"], dump["loss"]
    assert loss[what] > 0
    assert loss["calls"] == loss["delivered"] + loss["lost"] + loss["summed"] + loss["skipped"]
    if not any(row.get("out_ns") for row in dump["events"]):  # else the governor took probes out for a while
        for event in "GASP_C_MALLOC", "GASP_C_FREE":
            assert pairs <= gaspbpf.events(dump)[event]["calls"] < pairs + 100


def test_killed_in_mid_flight(job, observe, tmp_path):
    """SIGKILL of the recorder while it flies and writes: no probe remains, and the job ends as it should."""
    running, models = flying.start(job, "threads", "--rounds", "20000")
    pid = running.process.pid
    probed = remains.places(pid, *models)
    watcher = observe("-p", pid, *models, "-o", tmp_path, "--flight", "1h,4m")
    held = remains.held_by(watcher.process.pid)
    (running.gate / "late").touch()
    go(running)
    gaspbpf.wait_for(lambda: gaspbpf.breakpoints(pid), "the job to run over a breakpoint")
    watcher.process.send_signal(signal.SIGUSR1)
    gaspbpf.wait_for(lambda: list(tmp_path.glob("*.gasp")), "a dump to begin")
    watcher.stop(signal.SIGKILL)
    remains.assert_gone(held)
    gaspbpf.wait_for(lambda: not remains.patched(pid, probed), "the job's text to be whole")
    gaspbpf.wait_for(running._all("done"), "the job to do its work")
    assert running.end() == 0
    assert len(expected(running, "")) == 4


@pytest.mark.alone  # everybody's MPI library has probes
def test_under_monitor(job, observe, tmp_path):
    """The same of all processes that the monitor watches: a barrier that lasts, somebody's wish, a death; and the
    monitor's counts are as without."""
    running, _ = flying.start(job, "openmpi")
    watcher = observe("monitor", "-p", running.process.pid, "-m", "mpi", "--lazy", "--json", "--interval", "1h", "-o",
                      tmp_path / "dump-%w.gasp", *HOUR, "--trigger", "barrier>300ms", ready="monitoring")
    go(running)
    flying.wait_until_waiting(running, LAST["openmpi"], 1)
    name, why = flying.wait_for_dump(watcher)
    assert name == str(tmp_path / "dump-wait-1.gasp") and "GASP_MPI_BARRIER has lasted" in why
    assert flying.dumped(tmp_path / "dump-wait-1.gasp", "openmpi", tmp_path) == expected(running, "detach")
    result = gaspbpf.run("control", "-p", running.pids()[0], "dump")
    assert (result.returncode, result.stdout) == (0, f"{tmp_path}/dump-asked-2.gasp\n"), result.stderr
    os.kill(running.pids()[1], signal.SIGKILL)
    name, why = flying.wait_for_dump(watcher, 3)
    assert f"pid {running.pids()[1]}" in why and "was killed by signal 9" in why
    told = expected(running, "exit")
    theirs = [tid for (rank, tid) in flying.log(running) if rank == 1]
    seen = flying.dumped(tmp_path / "dump-death-3.gasp", "openmpi", tmp_path)
    assert [seen[tid] for tid in theirs] == [told[tid] for tid in theirs]
    status, out, errors = watcher.stop()
    assert status == 0, errors
    calls = {row["name"]: row["calls"] for row in json.loads(out.splitlines()[-1])["events"]}
    logged = [call for calls_of_one in flying.log(running).values() for call in calls_of_one]
    for event in "GASP_MPI_SEND", "GASP_MPI_RECV":
        assert calls[event] == sum(call.event == event for call in logged)


@pytest.mark.parametrize("options, message", (
    (["--flight", "soon"], "not a time"),
    (["--flight", "10s,1k"], "not a size between"),
    (["--trigger", "barrier>1s"], "goes with --flight"),
    (["--flight", "10s", "--trigger", "barrier"], "use 'barrier>5s'"),
    (["--flight", "10s", "--trigger", "nonsense>1s"], "no such kind of call"),
    (["--flight", "10s", "--trigger", "barrier>never"], "not a time behind the sign"),
    (["--flight", "10s", "--dumps", "0"], "not a number from 1 on"),
    (["--flight", "10s", "-o", "x.json"], "a dump is a recording"),
    (["--flight", "10s", "-o", "x.gasp", "-o", "y.gasp"], "there is one"),
))
def test_mistakes_are_told(options, message):
    result = gaspbpf.run("-p", str(os.getpid()), *options)
    assert result.returncode == 2 and message in result.stderr, result.stderr
