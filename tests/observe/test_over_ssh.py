# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf job over a real ssh: each node is an sshd of the test's own (tests/support/sshd.py), which share a kernel."""
import json
import os
import re
import signal

import pytest

import gaspbpf
import nodes
import sshd
from launching import LAUNCHERS, Launches, told

NAMES = ["s1", "s2", "s3"]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    there = sshd.Hosts(tmp_path_factory.mktemp("hosts") / "all", *NAMES)
    yield there
    there.close()


@pytest.fixture
def jobs(job):
    return nodes.jobs_on(job, NAMES)


def start(observe, hosts, output, *options):
    """On all nodes, from the moment on at which each has begun to write."""
    observer = observe("job", "-o", output, *options, "--", "--comm", nodes.THREADS, "-m", "pthread",
                       env=hosts.environment)
    gaspbpf.wait_for(lambda: len(recordings(hosts, output)) == len(NAMES), "all to begin")
    return observer


def recordings(hosts, output):
    """What nodes have begun to write, to the folder of all or to their own ones."""
    places = [*output.with_name("run.gasp.nodes").glob("s?.gasp"), *hosts.own.glob("*/s?.gasp")]
    return [path for path in places if path.stat().st_size]


def calls_of(job):
    assert job.end() == 0
    functions = job.truths()[0]["functions"].items()
    return sum(function["calls"] for name, function in functions if name.startswith("pthread_"))


def report_of(recording):
    return json.loads(gaspbpf.run("report", "--json", recording).stdout)


def calls_by_node(report):
    node_of = {process["pid"]: process["node"] for process in report["processes"]}
    calls = dict.fromkeys(node_of.values(), 0)
    for thread in report["threads"]:
        calls[node_of[thread["pid"]]] += thread["calls"]
    return calls


@pytest.mark.parametrize("by, options", [("ssh", []), ("clush", []), ("pdsh", []), ("ssh", ["--collect"]),
                                         ("clush", ["--collect"])])
def test_every_call_of_each_node(hosts, jobs, observe, tmp_path, by, options):
    output, listed = tmp_path / "run.gasp", tmp_path / "hosts"
    listed.write_text("s1 slots=4\ns2:4 # the second one\ns3\n")
    which = ["--hostfile", listed] if options else ["--hosts", "s[1-3]"]
    observer = start(observe, hosts, output, *which, "--by", by, *options)
    for each in jobs.values():
        each.work()
    status, _, errors = observer.stop()
    assert status == 0 and "recording is cut" not in errors, errors
    report = report_of(output)
    assert [node["host"] for node in report["nodes"]] == NAMES
    assert calls_by_node(report) == {name: calls_of(each) for name, each in jobs.items()}
    assert list(hosts.own.iterdir()) == [] and not output.with_name("run.gasp.nodes").exists()


def part_on(hosts, name):
    """The gaspbpf there."""
    found = [pid for pid, line in hosts.processes(SLURMD_NODENAME=name).items()
             if line.startswith(f"{gaspbpf.PROGRAM} record --part-of")]
    return min(found)


@pytest.mark.parametrize("by", ["ssh", "clush", "pdsh"])
def test_a_connection_that_breaks_costs_its_node_alone(hosts, jobs, observe, tmp_path, by):
    """What was to be sent or ordered comes no more. There gaspbpf ends by itself, as nobody listens."""
    output = tmp_path / "run.gasp"
    observer = start(observe, hosts, output, "--hosts", "s[1-3]", "--by", by, "--patience", "5s")
    (connection,) = hosts.connections("s2")
    os.kill(connection, signal.SIGKILL)
    gaspbpf.wait_for(lambda: not hosts.processes(SLURMD_NODENAME="s2"), "gaspbpf there to end")
    for each in jobs.values():
        each.work()
    status, _, errors = observer.stop()
    assert status == 0, errors
    assert re.search("^gaspbpf: s2: its recording is cut: .*(closed|exit)", errors, re.MULTILINE), errors
    # What a shell there says when it starts is shown, too, and is no part of this.
    assert not re.search("^gaspbpf: s[13]: its recording", errors, re.MULTILINE)
    truth = {name: calls_of(each) for name, each in jobs.items()}
    assert calls_by_node(report_of(output)) == {**truth, "s2": 0}


def test_a_node_that_hangs_costs_its_own_part(hosts, jobs, observe, tmp_path):
    """It is waited for, and what it had written is there."""
    output = tmp_path / "run.gasp"
    observer = start(observe, hosts, output, "--hosts", "s[1-3]", "--by", "ssh", "--patience", "3s")
    part = part_on(hosts, "s2")
    os.kill(part, signal.SIGSTOP)
    for each in jobs.values():
        each.work()
    status, _, errors = observer.stop()
    os.kill(part, signal.SIGKILL)
    assert status == 0 and "gaspbpf: s2: its recording is cut: it did not answer any more" in errors, errors
    truth = {name: calls_of(each) for name, each in jobs.items()}
    calls = calls_by_node(report_of(output))
    assert (calls["s1"], calls["s3"]) == (truth["s1"], truth["s3"])


@pytest.mark.parametrize("implementation", LAUNCHERS)
def test_a_launcher_that_has_come_by_ssh(hosts, tmp_path, implementation):
    """Only its ranks, on its nodes, each once."""
    launches = Launches(tmp_path, hosts.environment, str(hosts.folder))
    try:
        launcher, output = launches.start(implementation, ["s1", "s3"], 2), tmp_path / "run.gasp"
        launches.start(implementation, ["s3", "s1"], 1)
        done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=hosts.environment)
        assert done.returncode == 0, done.stderr
        report, ranks = report_of(output), launches.ranks_of(2)
    finally:
        launches.close()
    assert told(report["processes"]) == ranks and {node for _, node, _ in ranks} == {"s1", "s3"}
    assert all(thread["calls"] > 0 for thread in report["threads"]) and report["left_out"] == []


def test_who_cannot_be_reached_or_trusted(hosts, tmp_path):
    """What ssh says of them is what is said; nobody is asked for anything, nor waited for."""
    with hosts.without_key():
        done = gaspbpf.run("job", "--hosts", "s[1-2],n9", "--by", "ssh", "-o", tmp_path / "run.gasp", "--", "--comm",
                           "x", env=hosts.environment)
    assert done.returncode == 1 and not (tmp_path / "run.gasp").exists()
    lost = dict(re.findall(r"^gaspbpf: ([ns]\d): it is not in the result: (.*)", done.stderr, re.MULTILINE))
    assert "Permission denied (publickey)" in lost["s1"] and "Permission denied (publickey)" in lost["s2"]
    assert "not resolve hostname" in lost["n9"] and "\\x0d" not in done.stderr
