# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf job: nodes are started by the site's means, begin and end together, and whoever fails costs its own part. The
nodes are none here (tests/support/nodes.py); a real job on a real Slurm: tests/observe/test_cluster.py."""
import json
import os
import re
import signal
import time

import pytest

import gaspbpf
from nodes import Nodes

pytestmark = pytest.mark.files


def report(nodes):
    done = gaspbpf.run("report", "--json", nodes.output)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def hosts(nodes):
    return [node["host"] for node in report(nodes)["nodes"]]


def began_within(errors):
    """ms"""
    number, unit = re.search(r"the nodes began within ([\d.]+) (\w+) of each other", errors).groups()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000}[unit]


@pytest.mark.parametrize("by", ["ssh", "clush", "pdsh", "mpiexec"])
def test_each_means_passes_every_word_on_as_it_is(tmp_path, by):
    nodes = Nodes(tmp_path, "a1", "a2")
    touch = f"touch {tmp_path}/broken"
    words = ["--comm", "it's", "-e", f"x; {touch} $({touch}) `id` \"$HOME\" \\ *", "-m", "",
             "%h %n %u %% 100% %hosts"]
    done = nodes.run("--by", by, "-d", "200ms", more=words)
    assert done.returncode == 0, done.stderr
    for name in nodes.names:
        told = json.loads((tmp_path / f"words.{name}").read_text())
        folder = str(nodes.output) + ".nodes"
        assert told == ["record", "--part-of", folder, *(["--no-collect"] if by == "pdsh" else []), *words,
                        *(["--node", name] if by in ("ssh", "mpiexec") else [])]
    assert hosts(nodes) == ["a1", "a2"]
    assert not (tmp_path / "broken").exists() and not (tmp_path / "run.gasp.nodes").exists()


@pytest.mark.parametrize("name", ["-oProxyCommand=id", "a;id", "$(id)", "a b/c", "user@a"])
def test_what_is_no_name_starts_nothing(tmp_path, name):
    nodes = Nodes(tmp_path, "a1")
    done = gaspbpf.run("job", f"--hosts=a1,{name}", "--program", tmp_path / "part", "-o", nodes.output, "--", "--comm",
                       "x", env=nodes.environment)
    assert done.returncode == 1 and "not a host's name" in done.stderr
    assert not (tmp_path / "words.a1").exists() and not (tmp_path / "run.gasp.nodes").exists()


def test_all_begin_when_the_last_one_is_ready(tmp_path):
    """It is ready 2 s later."""
    nodes = Nodes(tmp_path, "a1", "slow")
    done = nodes.run("-d", "200ms")
    assert done.returncode == 0 and hosts(nodes) == ["a1", "slow"]
    assert began_within(done.stderr) < 1000


def test_clocks_that_are_minutes_apart_are_told(tmp_path):
    nodes = Nodes(tmp_path, "a1", "ahead", "behind")
    done = nodes.run("-d", "200ms")
    assert done.returncode == 0
    said = re.findall(r"^gaspbpf: (\w+): its clock is about (\d+)[.\d]* s (\w+)", done.stderr, re.MULTILINE)
    assert [(name, where) for name, _, where in said] == [("ahead", "ahead"), ("behind", "behind")]
    assert all(290 < int(seconds) < 310 for _, seconds, _ in said)


def test_who_is_not_ready_in_time_is_left_behind(tmp_path):
    nodes = Nodes(tmp_path, "a1", "mute")
    before = time.monotonic()
    done = nodes.run("-d", "200ms", "--patience", "1s")
    assert time.monotonic() - before < 50
    assert done.returncode == 0 and hosts(nodes) == ["a1"]
    assert re.search(r"going on without mute: not ready after \d s", done.stderr)
    assert "gaspbpf: mute: it is not in the result: it did not answer any more" in done.stderr


def test_nobody_waits_for_who_has_said_that_it_cannot(tmp_path):
    nodes = Nodes(tmp_path, "a1", "refuses")
    before = time.monotonic()
    done = nodes.run("-d", "200ms", "--patience", "100s")
    assert time.monotonic() - before < 50
    assert done.returncode == 0 and hosts(nodes) == ["a1"]
    assert "gaspbpf: refuses: it is not in the result: observing needs root: run it with sudo" in done.stderr


@pytest.mark.parametrize("by", ["ssh", "clush", "pdsh"])
def test_nor_for_who_cannot_be_reached(tmp_path, by):
    """Though what starts all of them runs on; why is said as ssh says it."""
    nodes = Nodes(tmp_path, "a1", "away", "bare")
    before = time.monotonic()
    done = nodes.run("--by", by, "-d", "200ms", "--patience", "100s")
    assert time.monotonic() - before < 50
    assert done.returncode == 0 and hosts(nodes) == ["a1"]
    lost = [line for line in done.stderr.splitlines() if "not in the result" in line]
    assert lost == ["gaspbpf: away: it is not in the result: ssh: connect to host away port 22: Connection refused",
                    "gaspbpf: bare: it is not in the result: sh: 1: /opt/gaspbpf: not found"]
    assert "\\x0d" not in done.stderr


@pytest.mark.parametrize("by, options", [("ssh", []), ("clush", []), ("pdsh", []), ("ssh", ["--collect"]),
                                         ("clush", ["--collect"])])
def test_a_node_that_calls_itself_otherwise_than_it_was_called(tmp_path, by, options):
    """An address, say, or an alias of ssh's. With ssh it is told what it is called."""
    nodes = Nodes(tmp_path, "a1", "killed")
    nodes.names = ["alias-a1", "alias-killed"]
    done = nodes.run("--by", by, "-d", "200ms", "--patience", "4s", *options)
    assert done.returncode == 0, done.stderr
    part = "it is not in the result" if options else "its recording is cut"
    assert f"alias-killed: {part}: " in done.stderr and "alias-a1: it" not in done.stderr, done.stderr
    assert hosts(nodes)[:1] == ["a1"]


def test_one_that_dies_and_one_that_hangs_cost_their_parts(tmp_path):
    nodes = Nodes(tmp_path, "a1", "killed", "hangs")
    done = nodes.run("-d", "200ms", "--patience", "4s")
    assert done.returncode == 0 and hosts(nodes) == ["a1", "killed", "hangs"]
    assert "gaspbpf: killed: its recording is cut: " in done.stderr
    assert "gaspbpf: hangs: its recording is cut: it did not answer any more" in done.stderr
    assert "a1: it" not in done.stderr


@pytest.mark.parametrize("by", ["ssh", "clush", "mpiexec"])
def test_recordings_are_sent_where_no_folder_is_shared(tmp_path, by):
    """Orders come on standard input then. A copy of each node's own recording arrives."""
    nodes = Nodes(tmp_path, "a1", "a2")
    done = nodes.run("--by", by, "-d", "200ms", "--collect", "--keep")
    assert done.returncode == 0 and hosts(nodes) == ["a1", "a2"], done.stderr
    for name in nodes.names:
        sent = tmp_path / "run.gasp.nodes" / f"{name}.gasp"
        assert sent.read_bytes() == (tmp_path / f"{name}.gasp").read_bytes()
    assert "recording is cut" not in done.stderr and began_within(done.stderr) < 1000


def test_a_recording_that_is_not_sent_whole_is_named(tmp_path):
    """Of one that dies meanwhile there is what had come; of one that is changed on the way, what is whole of it."""
    nodes = Nodes(tmp_path, "a1", "cuts", "alters")
    done = nodes.run("-d", "200ms", "--collect", "--patience", "4s")
    size = (tmp_path / "cuts.gasp").stat().st_size
    assert done.returncode == 0 and "a1: its" not in done.stderr, done.stderr
    assert f"gaspbpf: cuts: its recording is cut: {size - 20} bytes of it came over" in done.stderr
    assert re.search(r"gaspbpf: alters: its recording has changed on the way: (\d+) of \1 bytes came", done.stderr)
    assert "a1" in hosts(nodes) and "cuts" in hosts(nodes)


def test_what_brings_no_orders_sends_no_recordings(tmp_path):
    """Each node is told so; asked for, it is refused."""
    nodes = Nodes(tmp_path, "a1")
    done = nodes.run("--by", "pdsh", "-d", "200ms", "--collect")
    assert done.returncode == 1 and "--by clush" in done.stderr and not (tmp_path / "words.a1").exists()
    assert nodes.run("--by", "pdsh", "-d", "200ms").returncode == 0
    assert "--no-collect" in json.loads((tmp_path / "words.a1").read_text())


def test_where_all_fail_there_is_no_result(tmp_path):
    nodes = Nodes(tmp_path, "refuses1", "refuses2")
    done = nodes.run()
    assert done.returncode == 1 and not nodes.output.exists() and not (tmp_path / "run.gasp.nodes").exists()
    assert "nothing was observed on any node" in done.stderr
    assert "said 2 times by nodes: observing needs root" in done.stderr


def test_an_interrupt_ends_all_of_them_and_they_are_merged(tmp_path):
    nodes = Nodes(tmp_path, "a1", "a2")
    observation = gaspbpf.Observation(*nodes.arguments(), env=nodes.environment)
    gaspbpf.wait_for(lambda: all((tmp_path / "run.gasp.nodes" / f"{name}.gasp").exists() for name in nodes.names),
                     "the nodes to begin")
    status, _, errors = observation.stop(signal.SIGINT)
    assert status == 0 and hosts(nodes) == ["a1", "a2"] and "recording is cut" not in errors


def test_it_ends_by_itself_where_the_job_does(tmp_path):
    nodes = Nodes(tmp_path, "short1", "short2")
    assert nodes.run().returncode == 0 and hosts(nodes) == ["short1", "short2"]


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    nodes = Nodes(tmp_path, "a1")
    theirs = tmp_path / "run.gasp.nodes" / "a1.gasp"
    theirs.parent.mkdir()
    theirs.write_text("mine")
    done = nodes.run()
    assert done.returncode == 1 and "is there already" in done.stderr
    assert theirs.read_text() == "mine" and not (tmp_path / "words.a1").exists()


def test_what_is_said_while_it_lasts(tmp_path, terminal):
    """A line on a terminal: how many nodes, what they have seen, who is late."""
    nodes = Nodes(tmp_path, "a1", "a2", "hangs")
    command = [f"PATH={nodes.environment['PATH']}", gaspbpf.PROGRAM, *nodes.arguments()]
    screen = terminal(" ".join(map(str, command)), width=150)
    screen.wait("3 of 3 nodes observing  3 processes  21 events  lost 0  cost 0.00%  waiting for hangs")


def launched(tmp_path, queue):
    """gaspbpf job of this process as a launcher, where squeue says this."""
    (tmp_path / "squeue").write_text(f"#!/bin/sh\n{queue}\n")
    (tmp_path / "squeue").chmod(0o755)
    output = tmp_path / "run.gasp"
    done = gaspbpf.run("job", "-p", os.getpid(), "-o", output, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == 1 and not output.exists()
    return done.stderr


@pytest.mark.skipif("SLURM_JOB_ID" in os.environ, reason="is in a job of Slurm")
@pytest.mark.parametrize("queue", ["echo no controller >&2; exit 1", "echo 4711 1"], ids=["no Slurm", "another's job"])
def test_a_launcher_that_no_manager_knows(tmp_path, queue):
    """It has reached its nodes by ssh, perhaps: what to do then is said."""
    errors = launched(tmp_path, queue)
    assert "--hosts n[1-16] -- --comm solver" in errors and f"gaspbpf -p {os.getpid()}" in errors


@pytest.mark.skipif("SLURM_JOB_ID" in os.environ, reason="is in a job of Slurm")
def test_the_job_that_is_taken_for_a_launchers_is_named(tmp_path):
    """Found by the terminal only: it may be another one's."""
    errors = launched(tmp_path, f'case "$*" in *Format=*SID*) echo 4711 {os.getsid(0)};; *) exit 1;; esac')
    assert "taken as the launcher of job 4711" in errors
