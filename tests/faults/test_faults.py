# SPDX-License-Identifier: BSD-2-Clause
"""Faults on purpose: whatever fails, gaspbpf says so and ends, the job runs on as it was, and nothing is left
(tests/support/faults.py).

Here a call of each kind that few are made of, and a sample of the others; tests/faults/run.py lets every one fail.
"""
import json
import os
import random
import re
import resource
import signal
import subprocess
import time

import pytest

import faults
import gaspbpf
import remains
from composed import COMPOSE, LATE_SENDER, compose
from faults import SEED

READING = ["report", "report-json", "counters", "export-json", "export-gz", "export-speedscope", "export-events",
           "export-parquet", "export-folded", "export-pprof", "merge", "simulate", "events", "list-file"]
NODES = ["job", "job-sent"]
ATTACHING = ["record", "record-libc", "record-flight", "record-trace", "command", "top", "watch", "stuck", "monitor",
             "monitor-listen", "list", "doctor"]


def assert_holds(maker, scenario, points):
    """Lets one call after the other fail."""
    assert points
    for kind, at, error in points:
        found, result = maker.fail(scenario, kind, at, error)
        assert not found, f"{scenario.name}, {kind} {at}, {os.strerror(error)}: {found}\n{result.errors}"


# --- one call fails --------------------------------------------------------

@pytest.mark.parametrize("name", READING)
def test_reading_fails(maker, scenarios, name):
    """What reads files: each way to memory, and each other call."""
    scenario = scenarios[name]
    assert_holds(maker, scenario, list(faults.points(maker, scenario)))


@pytest.mark.parametrize("name", ["export-otf2", "export-ctf", "export-paje", "export-html", "export-with"])
def test_writing_for_others_fails(maker, scenarios, name):
    """The same, also of the process that writes an archive, and of the library that it uses: some of each."""
    scenario = scenarios[name]
    points = list(faults.points(maker, scenario))
    assert_holds(maker, scenario, random.Random(SEED).sample(points, 40))


@pytest.mark.parametrize("name", NODES)
def test_a_job_on_many_nodes_fails(maker, scenarios, name):
    """What starts gaspbpf on nodes, and joins their recordings: some ways to memory, and each other call."""
    scenario = scenarios[name]
    points = list(faults.points(maker, scenario))
    memory = [point for point in points if point[0] == "memory"]
    assert_holds(maker, scenario, random.Random(f"{SEED} {name}").sample(memory, 10) +
                 [point for point in points if point[0] != "memory"])


@pytest.mark.parametrize("name", ATTACHING)
def test_attaching_fails(maker, scenarios, target, name):
    """What puts probes in: some of all calls that can fail."""
    scenario = scenarios[name]
    assert_holds(maker, scenario, list(faults.some_points(maker, scenario, random.Random(f"{SEED} {name}"))))


def test_the_parts_of_the_kernel_side_do_not_come_together(maker, scenarios):
    """Memory that the kernel shares with us is refused, at the last places where it is asked for."""
    scenario = scenarios["list"]
    calls = maker.count(scenario).calls["mmap"]
    assert_holds(maker, scenario, [("mmap", at, 1) for at in range(calls - 2, calls + 1)])


def test_no_memory_from_some_call_on(maker, scenarios):
    """Whoever wants to say that there is none must do so without."""
    for name in ("report", "export-json", "record"):
        scenario = scenarios[name]
        calls = maker.count(scenario).calls["memory"]
        for at in random.Random(SEED).sample(range(1, calls), 3):
            result = maker.run(scenario, kind="memory", at=at, on=1, errno=12)
            assert not faults.wrong(scenario, result), f"{name}, memory from {at} on: {result.errors}"


@pytest.mark.files
def test_a_simulation_fails(maker, tmp_path):
    """What a finding would give is not known then: the report comes without that, and says so."""
    scenario = faults.Scenario("gains", ["report", compose(tmp_path / "late.gasp", LATE_SENDER)])
    maker.count(scenario)
    ways = maker.ways(scenario, "memory")
    results = (maker.run(scenario, kind="memory", at=at, errno=12) for at in ways[len(ways) // 2:])
    result = next(result for result in results if "a simulation failed" in result.errors)
    assert result.status == 0 and "rank 1 is outside of calls (after GASP_MPI_RECV" in result.out
    assert "What some of these would give is not known" in result.out and "\nThreads" in result.out


# --- a full disk -----------------------------------------------------------

def test_a_recording_on_a_disk_that_is_full_at_some_byte(maker, tmp_path):
    """The writer keeps what is whole; a reader reads that, or says that there is nothing."""
    whole = compose(tmp_path / "whole.gasp", LATE_SENDER)
    size = whole.stat().st_size
    for room in faults.rooms(size, 40, SEED):
        recording = tmp_path / "full.gasp"
        recording.unlink(missing_ok=True)
        result = subprocess.run([COMPOSE, recording, gaspbpf.TOP / "models"], input=LATE_SENDER, capture_output=True,
                                text=True, timeout=gaspbpf.PATIENCE,
                                env=maker.environment(kind="write", room=room, errno=28))
        assert result.returncode == 1, f"{room} of {size} bytes: {result.stderr}"
        assert "No space left" in result.stderr
        assert not faults.readable(recording), room


def test_the_disk_fills_up_while_a_job_is_observed(maker, scenarios, tmp_path):
    """It is said, the report at the end is whole, and what fits is a recording."""
    scenario = scenarios["record"]
    written = maker.count(scenario).written
    for room in (0, written // 3, written // 2):  # each run writes about as much as another
        result = maker.run(scenario, kind="write", room=room, errno=28)
        assert not faults.wrong(scenario, result)
        assert result.status == 1 and "No space left" in result.errors, f"{room} of {written} bytes: {result.errors}"


@pytest.mark.parametrize("name", ["export-json", "export-gz", "export-speedscope", "export-events", "export-otf2",
                                  "export-ctf", "export-parquet", "export-paje", "export-html"])
def test_the_disk_fills_up_while_a_recording_is_exported(maker, scenarios, name):
    scenario = scenarios[name]
    written = maker.count(scenario).written
    for room in faults.rooms(written, 10, SEED):
        result = maker.run(scenario, kind="write", room=room, errno=28)
        assert not faults.wrong(scenario, result)
        assert result.status == 1 and "No space left" in result.errors, f"{room} of {written} bytes: {result.errors}"


def test_a_limit_on_the_size_of_files(scenarios, tmp_path):
    """It comes with a signal, which would end a program that does not know it."""
    arguments = [str(word) for word in scenarios["record"].arguments[:-1]] + [str(tmp_path / "limited.gasp")]
    result = gaspbpf.run(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)))
    assert result.returncode == 1 and "File too large" in result.stderr, result.stderr
    assert not faults.readable(tmp_path / "limited.gasp")


@pytest.mark.parametrize("name",
                         ["report", "report-json", "counters", "simulate", "events", "list-file", "top", "stuck",
                          "monitor", "doctor", "record"])
def test_standard_output_is_full(maker, scenarios, name):
    with open("/dev/full", "w") as full:
        process = subprocess.run([str(gaspbpf.PROGRAM), *map(str, scenarios[name].arguments)], stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=gaspbpf.PATIENCE)
    assert process.returncode == 1, process.stderr
    assert "No space left" in process.stderr and faults.is_clear(process.stderr), process.stderr


# --- killed, stopped -------------------------------------------------------

@pytest.mark.parametrize("name", ["record", "record-libc", "top", "stuck", "monitor", "list", "job", "job-sent"])
def test_killed_at_some_moment(maker, scenarios, target, name):
    """The kernel takes everything back; what was recorded can be read."""
    scenario = scenarios[name]
    for i in range(2):
        seconds = 2 * random.Random(f"{SEED} {name} {i}").random()
        found, result = maker.kill_after(scenario, seconds)
        assert not found, f"after {seconds} s"


@pytest.mark.parametrize("name", ["record", "record-trace", "command", "top", "watch", "stuck", "monitor",
                                  "doctor", "job"])
def test_killed_when_it_has_made_a_process(maker, scenarios, name):
    """What it has made ends with it, also what waits for a word that it will never say: right after a fork, and before
    some of the calls that put something into the kernel. doctor measures anew what probes cost, and what a
    seccomp filter makes of one."""
    scenario = scenarios[name]
    calls = maker.count(scenario).calls
    chance = random.Random(f"{SEED} {name}")
    points = [("fork", at) for at in range(1, calls["fork"] + 1)]
    assert points
    for kind in ("bpf", "thread") if scenario.attaches else ():
        points += [(kind, at) for at in chance.sample(range(1, calls[kind] + 1), min(calls[kind], 3))]
    for kind, at in points:
        found, result = maker.die(scenario, kind, at)
        assert not found, f"{kind} {at}: {found}"


def test_the_reader_is_killed_at_some_moment(maker, scenarios, target):
    """The process that reads the job's memory ends: another one is started, or it is said what is not known."""
    scenario = scenarios["stuck"]
    for i in range(3):
        process = maker.start(scenario.arguments)
        reader = gaspbpf.wait_for(lambda: faults.children(process.pid, "gaspbpf-reader") or process.poll() is not None,
                                  "a reader")
        if reader is not True:
            time.sleep(random.Random(f"{SEED} {i}").random() * 0.3)
            faults.kill_quietly(reader[0])
        result = maker.finish(process)
        assert not faults.wrong(scenario, result), result.errors


def test_stopped_for_a_while(maker, scenarios, target, tmp_path):
    """gaspbpf is stopped and the ring full: the job runs on, and the calls that found no room are counted, and what
    they cost, too: they hold the job up like the others."""
    recording = tmp_path / "stopped.gasp"
    process = maker.start(["-p", target.pid, "-m", "c,pthread", "--ring-size", "64k", "-o", recording])
    probed = remains.places(target.pid, "-m", "c,pthread")
    gaspbpf.wait_for(lambda: remains.patched(target.pid, probed) == probed, "probes to be in")
    process.send_signal(signal.SIGSTOP)
    before = target.progress()
    gaspbpf.wait_for(lambda: target.progress() > before + 6000, "the job to run on")
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGINT)
    result = maker.finish(process)
    assert result.status == 0, result.errors
    assert not target.wrong()
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    loss, cheapest = report["loss"], min(report["recording"]["call_ns"].values())
    assert loss["lost"] > 0, loss
    assert loss["calls"] == loss["delivered"] + loss["lost"], loss
    cost_ms = float(re.search(r"probes took about ([\d.]+) ms", result.errors)[1])
    assert cost_ms * 1e6 > loss["calls"] * cheapest / 2, (loss, result.errors)
    assert not faults.readable(recording)


# --- the job ----------------------------------------------------------------

def test_the_job_is_as_it_was(target):
    """After all that, it ends as it does alone, with its own sums right."""
    assert not target.wrong()
    assert target.end() == ("all was right\n", 7)
