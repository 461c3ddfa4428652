# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf top on several nodes, which are none: an ssh that runs commands here, and jobs that have a node's name, as a
resource manager would give it to them. (A real Slurm: test_cluster.py.)"""
import json
import os
import re
import signal

import pytest

import clusters
import faults
import gaspbpf
import nodes

NAMES = ["one", "two", "three"]


@pytest.fixture
def running(job, tmp_path):
    return nodes.threads_on(job, tmp_path, NAMES)


def top(observe, environment, hosts, *options):
    return observe("top", "--hosts", hosts, "--by", "ssh", "--once", "-d", "10m", "-i", "200ms", *options,
                   "--", "--comm", nodes.THREADS, "-m", "pthread", env=environment)


def part_of(node):
    """The gaspbpf that is on this node; it has helpers."""
    found = [pid for pid, line in clusters.processes(SLURMD_NODENAME=node).items()
             if line.startswith(f"{gaspbpf.PROGRAM} top --hand-over")]
    parents = {pid: parent for pid, _, _, parent, _ in faults.processes()}
    return next(pid for pid in found if parents[pid] not in found)


def calls_of(job):
    assert job.end() == 0
    functions = job.truths()[0]["functions"].items()
    return sum(function["calls"] for name, function in functions if name.startswith("pthread_"))


def test_each_node_tells_of_its_own(running, observe):
    """All calls of each job, once, on its node; what only one node would know is not said. One has no such job."""
    jobs, environment = running
    watcher = top(observe, environment, "one,two,four", "--json")
    for work in jobs.values():
        work.work()
    status, out, errors = watcher.stop()
    assert status == 0 and "gaspbpf: observing 2 processes on 2 of 3 nodes" in errors, errors
    said = json.loads(out)
    rows = {process["node"]: process for process in said["processes"]}
    assert [process["node"] for process in said["processes"]] == sorted(
        ["one", "two"], key=lambda name: jobs[name].process.pid)
    calls = {name: calls_of(jobs[name]) for name in ("one", "two")}
    for name, of_job in calls.items():
        assert rows[name]["pid"] == jobs[name].process.pid
        assert rows[name]["all"]["calls"] == of_job
        assert rows[name]["interval"] == rows[name]["all"], "with --once there is one interval"
        assert sum(rows[name]["all"]["group_ns"].values()) == rows[name]["all"]["observed_ns"]
        assert rows[name]["all"]["came_last"] is None
        functions = jobs[name].truths()[0]["functions"]
        events = {event["event"]: event["all"]["calls"] for event in rows[name]["events"]}
        assert sum(events.values()) == of_job and rows[name]["inner_events"] == []
        assert events["GASP_PTHREAD_MUTEX_LOCK"] == functions["pthread_mutex_lock"]["calls"]
    assert said["loss"]["delivered"] == sum(calls.values()) and calls["one"] != calls["two"]
    assert [(node["node"], node["answered"]) for node in said["nodes"]] == [
        ("one", True), ("two", True), ("four", False)]
    assert "no process here that is so" in said["nodes"][2]["why"]
    assert "threads" not in said and "meetings" not in said


def test_a_dead_node_and_a_late_one(running, observe):
    """They are named, and what they had told is there. The third goes on."""
    jobs, environment = running
    watcher = top(observe, environment, ",".join(NAMES))
    late = part_of("three")
    os.kill(part_of("one"), signal.SIGKILL)
    os.kill(late, signal.SIGSTOP)
    try:
        jobs["two"].work()
        status, out, errors = watcher.stop()
    finally:
        os.kill(late, signal.SIGKILL)
    assert status == 0, errors
    said = re.search(r"^nodes: 1 of 3 answer; one: (.*); three: it is late$", out, re.MULTILINE)
    assert said and said[1], out
    rows = {line.split()[3]: line.split() for line in out.splitlines() if line.startswith(f"{nodes.THREADS} ")}
    assert sorted(rows) == sorted(NAMES)
    assert [rows[name][1] for name in NAMES] == [str(jobs[name].process.pid) for name in NAMES]
    assert str(calls_of(jobs["two"])) in rows["two"]


def test_the_events_of_a_chosen_process(running, terminal):
    """On the screen, as of one machine. Another node's rows come and go meanwhile."""
    jobs, environment = running
    command = [*(f"{name}={value}" for name, value in environment.items()), gaspbpf.PROGRAM, "top", "--hosts",
               "one,two,four", "--by", "ssh", "-i", "200ms", "--", "--comm", nodes.THREADS, "-m", "pthread"]
    screen = terminal(" ".join(map(str, command)), width=120)
    screen.wait(" on one", " on two", "2 of 3 answer")
    for each in jobs.values():
        each.work()
    rows = [line for line in screen.lines() if line.startswith(f"{nodes.THREADS} ")]
    _, pid, _, name, *_ = rows[1].split()
    screen.keys("a", "Down", "Enter")
    screen.wait("CALLED FROM", f"(pid {pid}) on {name}", "GASP_PTHREAD_MUTEX_LOCK")
    assert jobs[name].end() == 0
    calls = jobs[name].truths()[0]["functions"]["pthread_mutex_lock"]["calls"]

    def shown():
        line = next(line for line in screen.lines() if line.startswith("GASP_PTHREAD_MUTEX_LOCK"))
        return int(line.split()[2])

    gaspbpf.wait_for(lambda: shown() == calls, "the calls")
    screen.keys("q")


@pytest.mark.parametrize("options, said", [
    (["--slurm", "1", "-p", "1"], "options behind --"),
    (["--hosts", "a"], "which processes on these hosts?"),
    (["--slurm", "1", "-t"], "rows for processes only"),
    (["--node", "a", "-p", "1"], "--node goes with --hand-over")])
def test_what_does_not_go_together(options, said):
    result = gaspbpf.run("top", "--once", *options)
    assert result.returncode != 0 and said in result.stderr
