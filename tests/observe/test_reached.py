# SPDX-License-Identifier: BSD-2-Clause
"""A launcher of ranks that has reached its nodes by ssh: gaspbpf finds these, and there this job's ranks, none of
another one's. The nodes are none (tests/support/nodes.py), the launchers are real."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import pytest

import gaspbpf
import nodes
from launching import LAUNCHERS, Launches, told

@pytest.fixture
def environment(tmp_path):
    """In which `ssh` is ours."""
    (tmp_path / "ssh").write_text(nodes.FAR_SSH)
    (tmp_path / "ssh").chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GASPBPF_OTHERS": "ignore", "REACHED": str(tmp_path)}


@pytest.fixture
def launches(environment, tmp_path):
    there = Launches(tmp_path, environment)
    yield there
    there.close()


@pytest.mark.parametrize("implementation", LAUNCHERS)
def test_only_this_jobs_ranks_on_its_nodes(launches, environment, tmp_path, implementation):
    """Of two jobs of one user on the same nodes."""
    launcher, output = launches.start(implementation, ["n1", "n2"], 2), tmp_path / "run.gasp"
    launches.start(implementation, ["n1", "n2"], 1)
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(gaspbpf.run("report", "--json", output).stdout)
    assert told(report["processes"]) == launches.ranks_of(2)
    assert all(thread["calls"] > 0 for thread in report["threads"]) and report["left_out"] == []
    for command in (["top", "--once"], ["stuck", "--no-probes"]):
        done = gaspbpf.run(*command, "--launcher", launcher, "--by", "ssh", "--json", "-d", "1", env=environment)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        processes = said.get("processes") or [thread for thread in said["threads"] if thread["pid"] == thread["tid"]]
        assert told(processes) == launches.ranks_of(2), command


def test_daemons_that_daemons_have_started(launches, environment, tmp_path):
    """As those of large jobs are: here each node is reached from the one before."""
    launcher = launches.start("openmpi", ["n1", "n2", "n3", "n4"], 2, "--mca", "routed_radix", "1")
    output = tmp_path / "run.gasp"
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=environment)
    assert done.returncode == 0 and "has reached 4 nodes\n" in done.stderr, done.stderr
    report = json.loads(gaspbpf.run("report", "--json", output).stdout)
    assert told(report["processes"]) == launches.ranks_of(2)
    assert {node for _, node, _ in launches.ranks_of(2)} == {"n1", "n2", "n3", "n4"}


def test_ranks_beside_the_launcher_too(launches, environment, tmp_path):
    """On this machine nothing is needed to start gaspbpf."""
    launcher, output = launches.start("openmpi", ["localhost", "n2"], 2), tmp_path / "run.gasp"
    launches.start("openmpi", ["localhost", "n2"], 1)
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=environment)
    assert done.returncode == 0 and "has reached 1 node, and has ranks here" in done.stderr, done.stderr
    report = json.loads(gaspbpf.run("report", "--json", output).stdout)
    assert told(report["processes"]) == launches.ranks_of(2)
    assert {node for _, node, _ in launches.ranks_of(2)} == {"n2", socket.gethostname()}


# --- command lines that mean harm -----------------------------------------------

# Listens, and has children with these command lines, which wait for their input to end.
PRETENDER = """
import socket, subprocess, sys
listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
ports = [str(listener.getsockname()[1]) for listener in listeners]
children = [subprocess.Popen([sys.argv[1], *words.replace("PORT", ports[0]).replace("OTHER", ports[1]).split("|")],
                             stdin=subprocess.PIPE) for words in sys.argv[2:]]
print("there", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def pretend(tmp_path):
    """Starts a launcher with children of these command lines; their words between bars."""
    theirs = tempfile.TemporaryDirectory()  # others may reach it
    os.chmod(theirs.name, 0o755)
    shell = pathlib.Path(theirs.name) / "ssh"
    shell.write_text("#!/bin/sh\nread line\n")
    shell.chmod(0o755)
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho \"$@\" >>{tmp_path}/asked\n")  # gaspbpf's
    (tmp_path / "ssh").chmod(0o755)
    started = []

    def start(*lines, user=None):
        started.append(subprocess.Popen([sys.executable, "-c", PRETENDER, shell, *lines], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, user=user))
        assert started[-1].stdout.readline() == "there\n"
        return started[-1].pid

    yield start
    for each in started:
        each.communicate()
    theirs.cleanup()


def observe_it(tmp_path, launcher):
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-o", tmp_path / "run.gasp", env=path)
    assert done.returncode == 1 and not (tmp_path / "run.gasp").exists()
    asked = tmp_path / "asked"
    return done.stderr, asked.read_text() if asked.exists() else ""


@pytest.mark.parametrize("host", ["me@n1", "n1;id", "$(id)", "a b", "n[1-9]", "n1,n2", "n1/../x", "\x1b[31mn1"])
def test_what_is_no_hosts_name_is_not_asked(pretend, tmp_path, host):
    errors, asked = observe_it(tmp_path, pretend("n1|daemon|a:PORT", f"{host}|daemon|a:PORT"))
    assert "not a host's name" in errors and "\x1b" not in errors and asked == ""


def test_nor_is_who_is_no_daemon_of_the_launchers(pretend, tmp_path):
    """A tunnel, a shell; one that is told of a port at which nobody below the launcher listens. And what is told of
    where to answer reaches the nodes as it is."""
    errors, asked = observe_it(tmp_path, pretend("-N|-L|PORT:a:PORT|n9", "n8|sleep|10", "n7|daemon|a:1",
                                                   "n1|d|x;a:PORT"))
    assert "has reached 1 node\n" in errors
    hosts = {line.split(" -- ")[1].split()[0] for line in asked.splitlines()}
    assert hosts == {"n1"} and "'--launched-from' 'a:" in asked


def test_two_launchers_below_one_number(pretend, tmp_path):
    errors, asked = observe_it(tmp_path, pretend("n1|daemon|a:PORT", "n2|daemon|a:OTHER"))
    assert "several launchers are below it" in errors and asked == ""


def test_another_users_launcher(pretend, tmp_path):
    """Nothing is started at his word; what would be is said."""
    errors, asked = observe_it(tmp_path, pretend("n1|daemon|a:PORT", "n2|daemon|a:PORT", user="nobody"))
    assert "is another user's" in errors and "--hosts n1,n2 -- --launched-from a:" in errors and asked == ""
