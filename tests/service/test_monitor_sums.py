# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor -o node.gasp: what it has counted, as a recording that has only sums."""
import json
import re
import signal
import subprocess

import pytest

import gaspbpf
import monitoring
import pathologies
import truth

RANKS, WHO, US, ROUNDS = 4, 1, 20_000, 25
LATE = gaspbpf.WORKLOADS / "pathology" / "mpi_openmpi"


def report(path):
    result = gaspbpf.run("report", "--json", path)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def figures(event):
    """What both forms have."""
    names = ["calls", "timed", "skipped", "bytes", "histogram_ns"]
    names += ["total_ns", "min_ns", "max_ns"] if event["timed"] else []
    return {name: event[name] for name in names if event[name] is not None}


def by_process(whole):
    """{pid: {event: figures}}"""
    found = {}
    for row in whole["by_thread"]:
        found.setdefault(row["pid"], {})[row["name"]] = figures(row)
    return found


def start(job, us):
    command = ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, LATE, "--pattern", 0, "--who", WHO, "--us", us,
               "--rounds", ROUNDS]
    return job([*map(str, command)], ranks=RANKS,
               env=truth.ENVIRONMENT).wait_ready()


@pytest.mark.alone
def test_two_jobs_at_once(job, monitors, tmp_path):
    """One has a late rank, the other is its healed twin. The file has the same figures as the last line of JSON."""
    node = tmp_path / "node.gasp"
    sick, healed = start(job, US), start(job, 0)
    monitor = monitors("-p", sick.process.pid, "-p", healed.process.pid, "--lazy", "--max-overhead", "none",
                       "-m", "mpi", "-o", node)
    monitor.wait_for_processes(sick.pids() + healed.pids())
    sick.work(), healed.work()
    assert sick.end() == 0 and healed.end() == 0, sick.output() + healed.output()
    last = monitor.stop()
    whole = report(node)
    assert {event["name"]: figures(event) for event in whole["events"]} == \
        {event["name"]: figures(event) for event in last["events"] if event["calls"]}
    jobs = {process["pid"]: process["job"] for process in whole["processes"]}
    assert sorted(jobs) == sorted(sick.pids() + healed.pids())
    for one in sick, healed:
        assert {jobs[pid] for pid in one.pids()} == {f"launcher {one.process.pid}"}
        for pid, own in zip(one.pids(), sorted(one.truths(), key=lambda own: own["rank"])):
            barrier = by_process(whole)[pid]["GASP_MPI_BARRIER"]
            waited = sum(left - came for came, left in zip(own["came"], own["left"]))
            assert barrier["calls"] == barrier["timed"] == ROUNDS
            assert pathologies.near(barrier["total_ns"], waited)
    late, = [finding for finding in whole["findings"] if finding["kind"] == "slow_thread"]
    assert late["pid"] == sick.pids()[WHO] and f"rank {WHO} (launcher {sick.process.pid})" in late["text"]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", folder]).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_it_is_there_whatever_happens(runtime, monitors, small_disk, tmp_path):
    """While the monitor runs; when the disk is full; when the monitor is killed. And what another one left half
    written is in nobody's way."""
    node, gate = small_disk / "node.gasp", monitoring.Gate(tmp_path / "gate")
    (small_disk / "node.gasp.new.gasp").write_text("left by one that was killed")
    own = runtime("sums")
    first, second = (own.start(count, 3, gate) for count in (11, 22))
    monitor = monitors("--comm", own.name, "--lazy", "--max-overhead", "none", "-o", node)
    monitor.wait_for_processes([first.pid, second.pid])
    for mark in "go", "end":
        (gate.folder / mark).touch()
    assert first.wait(timeout=gaspbpf.PATIENCE) == second.wait(timeout=gaspbpf.PATIENCE) == 0

    def calls():
        return {pid: events[monitoring.BARRIERS]["calls"] for pid, events in by_process(report(node)).items()}
    gaspbpf.wait_for(lambda: calls() == {first.pid: 11, second.pid: 22}, "the calls in the file")
    assert [found.name for found in small_disk.iterdir() if "new" not in found.name] == [node.name]
    written = node.stat().st_ino
    gaspbpf.wait_for(lambda: node.stat().st_ino != written, "it to be written again")
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError:
            pass
    gaspbpf.wait_for(lambda: "cannot be written: No space left" in monitor.errors(), "the full disk to be told")
    assert calls() == {first.pid: 11, second.pid: 22}
    filler.unlink()
    gaspbpf.wait_for(lambda: "is written again" in monitor.errors(), "room to be found")
    assert len(re.findall("cannot be written", monitor.errors())) == 1
    monitor.kill()
    assert calls() == {first.pid: 11, second.pid: 22}


def test_asked_for_by_a_signal(runtime, observe, tmp_path):
    """Between two intervals that are hours apart; after the end of the process, which stays in it."""
    node, gate = tmp_path / "node.gasp", monitoring.Gate(tmp_path / "gate")
    own = runtime("sums")
    process = own.start(7, 2, gate)
    monitor = observe("monitor", "--comm", own.name, "--lazy", "--max-overhead", "none", "--interval", "9h", "-o", node,
                      ready="monitoring")
    gate.let_through(process)
    assert node.stat().st_size == 0  # made, to see that it can be, and not written yet

    def has_ended():
        monitor.process.send_signal(signal.SIGUSR1)
        return node.stat().st_size and report(node)["processes"][0]["has_ended"]
    gaspbpf.wait_for(has_ended, "the file, with the end of the process")
    assert by_process(report(node))[process.pid]["GASP_SHMEM_PUT"]["bytes"] == 1 + 2
    assert monitor.stop()[0] == 0


def test_a_name_that_is_no_recording(tmp_path):
    result = gaspbpf.run("monitor", "--all", "-o", tmp_path / "node.json")
    assert result.returncode == 2 and "its name ends in .gasp" in result.stderr
    missing = gaspbpf.run("monitor", "--all", "-o", tmp_path / "nowhere" / "node.gasp")
    assert missing.returncode and "the folder does not exist" in missing.stderr
