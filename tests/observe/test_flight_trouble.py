# SPDX-License-Identifier: BSD-2-Clause
"""The flight recorder where it is hard: two who ask at once, a full disk, a folder that nobody may write to, processes
that come and go while the memory is full."""
import contextlib
import json
import os
import subprocess
import tempfile

import pytest

import flying
import gaspbpf
import monitoring
from gaspbpf import PATIENCE, PROGRAM, WORKLOADS, wait_for


def observed(job, observe, folder, *options, program=(), env=None):
    running, models = flying.start(job, "threads", *program)
    watcher = observe("-p", running.process.pid, *models, "--flight", "1h,8m", *options, "-o", folder, env=env)
    (running.gate / "late").touch()
    running.work()
    return running, watcher


def told_by(running):
    return {tid: calls for (_, tid), calls in flying.log(running).items() if calls}


def dump(running):
    return gaspbpf.run("control", "-p", running.process.pid, "dump")


def test_many_ask_at_once(job, observe, tmp_path):
    """Each is answered, with a file that was whole by then; nobody gets one that was written before the wish."""
    running, watcher = observed(job, observe, tmp_path / "dump.gasp")
    asking = [subprocess.Popen([PROGRAM, "control", "-p", str(running.process.pid), "dump"], stdout=subprocess.PIPE,
                               text=True) for _ in range(6)]
    answers = [each.communicate(timeout=PATIENCE)[0].strip() for each in asking]
    assert [each.returncode for each in asking] == [0] * 6
    written = {str(path) for path in tmp_path.glob("*.gasp")}
    assert written == set(answers) and 1 <= len(written) <= 6
    for path in map(tmp_path.joinpath, written):
        assert flying.dumped(path, "threads", tmp_path) == told_by(running)
    assert running.end() == 0
    assert watcher.finish()[0] == 0


def test_what_a_dump_is_good_for(job, observe, tmp_path):
    """It is a recording like any other: reported, exported, and simulated."""
    running, watcher = observed(job, observe, tmp_path / "dump.gasp")
    assert dump(running).returncode == 0
    assert running.end() == 0
    assert watcher.finish()[0] == 0
    told = told_by(running)
    path, trace = tmp_path / "dump-1.gasp", tmp_path / "trace.json"
    locks = sum(call.event == "GASP_PTHREAD_MUTEX_LOCK" for calls in told.values() for call in calls)
    # the C library has some of its own
    assert locks and gaspbpf.events(flying.report(path))["GASP_PTHREAD_MUTEX_LOCK"]["calls"] >= locks
    assert gaspbpf.run("export", path, "-o", trace).returncode == 0
    slices = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("ph") in ("X", "B")
              and event["name"] == "GASP_PTHREAD_BARRIER_WAIT"]
    assert len(slices) == sum(call.event == "GASP_PTHREAD_BARRIER_WAIT" for calls in told.values() for call in calls)
    simulated = gaspbpf.run("simulate", path, "--plugin", "ideal")
    assert simulated.returncode == 0, simulated.stderr


@contextlib.contextmanager
def small_disk():
    """A file system that has room for a few pages."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", folder], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def test_the_disk_is_full(job, observe):
    """It is said, to who asked, too; the observation goes on, and when there is room again the next dump has all of
    it."""
    with small_disk() as folder:
        running, watcher = observed(job, observe, f"{folder}/dump.gasp", program=["--rounds", "3000"])
        answer = dump(running)
        assert answer.returncode == 1 and "dump" in answer.stderr, answer.stdout
        wait_for(lambda: watcher.has_said(b"is not whole"), "gaspbpf to say so")
        subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
        answer = dump(running)
        assert answer.returncode == 0, answer.stderr
        loss = flying.report(answer.stdout.strip())["loss"]
        assert loss["lost"] == 0
        assert loss["delivered"] >= sum(map(len, told_by(running).values()))
        assert running.end() == 0
        status, out, errors = watcher.finish()
        assert status == 1 and "No space left" in errors and "Observed for" in out


def test_nobody_may_write_there(job, observe):
    """Not as root where somebody called sudo; the reason is told, to who asked, too."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        running, watcher = observed(job, observe, f"{folder}/dump.gasp", env={"SUDO_UID": "65534", "SUDO_GID": "65534"})
        answer = dump(running)
        assert answer.returncode == 1 and "Permission denied" in answer.stderr, answer.stderr
        assert not os.listdir(folder)
        os.chmod(folder, 0o777)
        answer = dump(running)
        assert answer.returncode == 0 and os.stat(answer.stdout.strip()).st_uid == 65534, answer.stderr
        assert running.end() == 0
        assert watcher.finish()[0] == 1


def own_memory(pid):
    """KiB that a process keeps for itself."""
    return sum(int(line.split()[1]) for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith("Private_Dirty"))


def test_what_the_size_means(job, observe, tmp_path):
    """Of a storm that has many more calls than there is room for gaspbpf keeps that size, in memory and so in the file,
    and not more."""
    storm = job([WORKLOADS / "storm", "--storm-ms", "3000"]).wait_ready()
    watcher = observe("-p", storm.process.pid, "-m", "c,pthread", "-o", tmp_path, "--flight", "1h,256k",
                      "--ring-size", "1m")
    before = own_memory(watcher.process.pid)
    storm.work()
    grown = own_memory(watcher.process.pid) - before
    answer = dump(storm)
    assert answer.returncode == 0, answer.stderr
    assert storm.end() == 0
    assert watcher.finish()[0] == 0
    path = answer.stdout.strip()
    assert 0 < flying.report(path)["loss"]["delivered"] < 2 * storm.truths()[0]["pairs"]
    assert os.path.getsize(path) < 384 << 10
    # its calls would take ten times as much; on a busy machine they wait for a while to be put in order
    assert grown < 12 << 10, f"{grown} KiB"


@pytest.mark.alone  # everybody's MPI library has probes
def test_a_monitor_while_processes_come_and_go(job, observe, tmp_path):
    """The memory is full and jobs come and go, so that probes are renewed: each dump can be read, and the last job's
    calls are in it."""
    watcher = observe("monitor", "--comm", "threads", "-m", "pthread", "--lazy", "--interval", "1h", "--max-overhead",
                      "none", "-o", tmp_path / "dump-%w.gasp", "--flight", "1h,256k",
                      "--dumps", "100", "--dump-pause", "0", ready="monitoring")
    for number in range(1, 5):
        running, _ = flying.start(job, "threads", "--rounds", "800")
        wait_for(lambda: dump(running).returncode == 0, "the monitor to know the job")
        (running.gate / "late").touch()
        running.work()
        answer = dump(running)
        assert answer.returncode == 0, answer.stderr
        seen, told = flying.dumped(tmp_path / os.path.basename(answer.stdout.strip()), "threads",
                                   tmp_path), told_by(running)
        # not what the first thread does before: GASP_PTHREAD_CREATE
        logged = {call.event for calls in told.values() for call in calls}
        mine = {tid: [call for call in seen.get(tid, []) if call.event in logged] for tid in told}
        mine = {tid: calls for tid, calls in mine.items() if calls}
        assert mine, number
        told = {tid: [call for call in calls if call.event.startswith("GASP_PTHREAD")] for tid, calls in told.items()}
        for tid, calls in mine.items():
            assert len(calls) > 10 and calls == told[tid][len(told[tid]) - len(calls):], (number, tid)
        assert running.end() == 0
    assert watcher.stop()[0] == 0


def next_number(number):
    """The next process that is made gets it, where nobody is quicker."""
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(number - 1))


def test_a_number_that_comes_to_another_process(runtime, observe, tmp_path):
    """Under a monitor numbers come round. Each process keeps its own name, calls and end."""
    first, second = runtime("first"), runtime("second")
    watcher = observe("monitor", "--comm", first.name[:15], "--comm", second.name[:15], "-m", "shmem", "--interval",
                      "1h", "--linger", "1s", "--flight", "1h,8m", "--dumps", "100",
                      "--dump-pause", "0", "-o", tmp_path / "dump-%w.gasp", ready="monitoring")
    gate = monitoring.Gate(tmp_path / "gate")

    def start(own, *calls, number=None):
        for _ in range(200):
            if number:
                next_number(number)
            process = own.start(*calls, gate)
            if number in (None, process.pid):
                wait_for(lambda: (gate.folder / f"ready.{process.pid}").exists(), "the program at its gate")
                wait_for(lambda: gaspbpf.run("control", "-p", process.pid, "dump").returncode == 0,
                         "the monitor to know it")
                return process
            process.kill()
            process.wait()
        raise AssertionError(f"number {number} cannot be had")

    before = start(first, 11, 5)
    gate.let_through(before)
    (gate.folder / f"ready.{before.pid}").unlink()
    after = start(second, 23, 7, number=before.pid)
    (gate.folder / "go").touch()
    wait_for(lambda: (gate.folder / f"done.{after.pid}").exists(), "its work")
    answer = gaspbpf.run("control", "-p", after.pid, "dump")
    assert answer.returncode == 0, answer.stderr
    gate.let_through(after)
    report = flying.report(tmp_path / os.path.basename(answer.stdout.strip()))
    assert [process["name"] for process in report["processes"]] == [first.name[:15], second.name[:15]]
    assert [process["status"] for process in report["processes"]] == [0, None]
    assert {thread["name"]: thread["calls"] for thread in report["threads"]} == {first.name[:15]: 11 + 5,
                                                                                 second.name[:15]: 23 + 7}
    assert watcher.stop()[0] == 0
