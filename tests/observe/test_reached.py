# SPDX-License-Identifier: BSD-2-Clause
"""A launcher of ranks that has reached its nodes by ssh: gaspbpf finds these, and there this job's ranks, none of
another one's. The nodes are none (tests/support/nodes.py), the launchers are real."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

import clusters
import gaspbpf
import nodes

LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--mca", "btl", "self,tcp", "-np", "4", "--host"],
             "mpich": ["mpiexec.mpich", "-launcher", "ssh", "-n", "4", "-hosts"]}


@pytest.fixture
def environment(tmp_path):
    """In which `ssh` is ours."""
    (tmp_path / "ssh").write_text(nodes.FAR_SSH)
    (tmp_path / "ssh").chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GASPBPF_OTHERS": "ignore", "REACHED": str(tmp_path)}


@pytest.fixture
def launch(environment, tmp_path):
    """Starts jobs whose ranks come to barriers, and waits until they do."""
    started = []

    def start(implementation, hosts, who, *options):
        program = gaspbpf.WORKLOADS / "pathology" / f"mpi_{implementation}"
        output = tmp_path / f"out{len(started)}"
        slots = f":{4 // len(hosts)}" if implementation == "openmpi" else ""
        listed = ",".join(host + slots for host in hosts)
        with open(output, "w") as file:
            started.append(subprocess.Popen(
                [LAUNCHERS[implementation][0], *options, *LAUNCHERS[implementation][1:], listed, program, "--pattern",
                 "0", "--who", str(who), "--us", "20000", "--rounds", "1000"],
                stdout=file, stderr=file, start_new_session=True,
                env={**os.environ, **gaspbpf.MPI_ENVIRONMENT, **environment}))
        gaspbpf.wait_for(lambda: output.read_text().count("ready") == 4, "ranks")
        return started[-1].pid

    yield start
    for launcher in started:
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()
    for pid in clusters.processes(REACHED=str(tmp_path)):  # on the nodes
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def ranks_of(tmp_path, who):
    """{(rank, node, pid)} of the job whose late rank is this one, as their environment says."""
    found = set()
    for pid, line in clusters.processes(REACHED=str(tmp_path)).items():
        if not line.startswith(f"{gaspbpf.WORKLOADS}/pathology/mpi_") or f"--who {who} " not in line:
            continue
        with open(f"/proc/{pid}/environ") as file:
            variables = dict(item.split("=", 1) for item in file.read().split("\0") if "=" in item)
        rank = variables.get("OMPI_COMM_WORLD_RANK") or variables["PMI_RANK"]
        found.add((int(rank), variables.get("SLURMD_NODENAME", socket.gethostname()), pid))
    assert len(found) == 4
    return found


def told(processes):
    return {(process["rank"], process["node"], process["pid"]) for process in processes}


@pytest.mark.parametrize("implementation", LAUNCHERS)
def test_only_this_jobs_ranks_on_its_nodes(launch, environment, tmp_path, implementation):
    """Of two jobs of one user on the same nodes."""
    launcher, output = launch(implementation, ["n1", "n2"], 2), tmp_path / "run.gasp"
    launch(implementation, ["n1", "n2"], 1)
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(gaspbpf.run("report", "--json", output).stdout)
    assert told(report["processes"]) == ranks_of(tmp_path, 2)
    assert all(thread["calls"] > 0 for thread in report["threads"]) and report["left_out"] == []
    for command in (["top", "--once"], ["stuck", "--no-probes"]):
        done = gaspbpf.run(*command, "--launcher", launcher, "--by", "ssh", "--json", "-d", "1", env=environment)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        processes = said.get("processes") or [thread for thread in said["threads"] if thread["pid"] == thread["tid"]]
        assert told(processes) == ranks_of(tmp_path, 2), command


def test_daemons_that_daemons_have_started(launch, environment, tmp_path):
    """As those of large jobs are: here each node is reached from the one before."""
    launcher = launch("openmpi", ["n1", "n2", "n3", "n4"], 2, "--mca", "routed_radix", "1")
    output = tmp_path / "run.gasp"
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=environment)
    assert done.returncode == 0 and "has reached 4 nodes\n" in done.stderr, done.stderr
    report = json.loads(gaspbpf.run("report", "--json", output).stdout)
    assert told(report["processes"]) == ranks_of(tmp_path, 2)
    assert {node for _, node, _ in ranks_of(tmp_path, 2)} == {"n1", "n2", "n3", "n4"}


def test_ranks_beside_the_launcher_too(launch, environment, tmp_path):
    """On this machine nothing is needed to start gaspbpf."""
    launcher, output = launch("openmpi", ["localhost", "n2"], 2), tmp_path / "run.gasp"
    launch("openmpi", ["localhost", "n2"], 1)
    done = gaspbpf.run("job", "-p", launcher, "--by", "ssh", "-d", "1", "-q", "-o", output, env=environment)
    assert done.returncode == 0 and "has reached 1 node, and has ranks here" in done.stderr, done.stderr
    report = json.loads(gaspbpf.run("report", "--json", output).stdout)
    assert told(report["processes"]) == ranks_of(tmp_path, 2)
    assert {node for _, node, _ in ranks_of(tmp_path, 2)} == {"n2", socket.gethostname()}


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
