# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf job on a real Slurm of four nodes: an MPI job with a rank on each of them, observed from the login node."""
import json
import os
import re
import signal

import pytest

import clusters
import gaspbpf

NODES = ["n1", "n2", "n3", "n4"]
LATE = gaspbpf.TOP / "tests" / "workloads" / "pathology" / "mpi.c"


@pytest.fixture(scope="module")
def cluster():
    there = clusters.Cluster()
    yield there
    there.stop()


def line_of(text):
    """Where the job's source has it."""
    return next(at for at, line in enumerate(LATE.read_text().splitlines(), 1) if text in line)


def wait_for_calls(output):
    """Until each node has written some of its calls, which come after what it says of itself at the beginning."""
    parts = [output.with_name(output.name + ".nodes") / f"{node}.gasp" for node in NODES]
    gaspbpf.wait_for(lambda: all(part.exists() and part.stat().st_size for part in parts), "recordings")
    began = [part.stat().st_size for part in parts]
    gaspbpf.wait_for(lambda: all(part.stat().st_size > size for part, size in zip(parts, began)), "calls in them")


def report_of(recording):
    done = gaspbpf.run("report", "--json", recording)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("how", [[], ["--collect"]], ids=["a shared folder", "none"])
def test_one_command_names_the_slow_rank_its_node_and_the_line(cluster, tmp_path, how):
    number, output = cluster.job(), tmp_path / "run.gasp"
    where = rf"from one GASP_MPI_BARRIER at mpi\.c:{line_of('MPI_Barrier')} in meet to the next"
    for seconds in (2, 5, 10):  # on a busy machine it takes more rounds until it is clear who is slow
        done = gaspbpf.run("job", "--slurm", number, "-d", seconds, "-o", output, *how, env=cluster.environment)
        assert done.returncode == 0, done.stderr
        findings = " ".join(done.stdout.partition("Findings\n")[2].partition("\n\n")[0].split())
        named = re.search(rf"rank 2 on n3 (?:computes|is outside of calls) \({where}\)", findings)
        if named:
            break
    cluster.end_job(number)
    assert named, findings
    report = report_of(output)
    # each node has its own rank, and no other's
    where = {process["rank"]: process["node"] for process in report["processes"]}
    assert where == dict(enumerate(NODES))
    assert [node["host"] for node in report["nodes"]] == NODES
    assert not any(node["cut"] for node in report["nodes"])
    assert sorted(tmp_path.iterdir()) == [output]  # the nodes' own are gone


def test_a_killed_node_costs_its_own_part(cluster, observe, tmp_path):
    """After ^C the others are there as a whole; of that one, what it had written. The job is told by its launcher."""
    number, output = cluster.job(), tmp_path / "run.gasp"
    observation = observe("job", "-p", cluster.launcher(number), "-o", output, env=cluster.environment)
    wait_for_calls(output)
    parts = cluster.parts()
    assert sorted(parts) == NODES
    os.kill(parts["n2"], signal.SIGKILL)
    status, out, errors = observation.stop()
    cluster.end_job(number)
    assert status == 0, errors
    assert re.search(r"^gaspbpf: n2: its recording is cut: .*Killed", errors, re.MULTILINE)
    assert not re.search(r"^gaspbpf: n[134]: its recording", errors, re.MULTILINE)
    report = report_of(output)
    assert {node["host"]: node["cut"] for node in report["nodes"]} == {node: node == "n2" for node in NODES}
    assert all(thread["calls"] > 0 for thread in report["threads"]) and len(report["threads"]) == 4
    assert clusters.processes(SLURM_CONF=cluster.environment["SLURM_CONF"], SLURM_STEP_ID="1") == {}


def test_top_has_the_ranks_of_all_nodes(cluster):
    """The one that the others wait for computes; they are in barriers."""
    number, shares = cluster.job(), {}
    for seconds in (1, 4, 10):  # on a busy machine it takes more rounds until it is clear who is slow
        done = gaspbpf.run("top", "--slurm", number, "--once", "--json", "-d", seconds, env=cluster.environment)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert {process["rank"]: process["node"] for process in said["processes"]} == dict(enumerate(NODES))
        assert all(node["answered"] for node in said["nodes"])
        shares = {process["rank"]: process["all"]["group_ns"]["barrier"] / process["all"]["observed_ns"]
                  for process in said["processes"] if process["all"]}
        if len(shares) == 4 and shares[2] < min(shares[rank] for rank in (0, 1, 3)):
            break
    text = gaspbpf.run("top", "--slurm", number, "--once", "-d", 5, env=cluster.environment).stdout
    cluster.end_job(number)
    assert shares[2] < min(shares[rank] for rank in (0, 1, 3)), shares
    assert re.search(r"^last: rank 2 on n3 waits least where all meet, \d+% of its time; the 3 others \d+%", text,
                     re.MULTILINE), text


def test_stuck_names_the_rank_on_another_node(cluster, tmp_path):
    """All but the last rank are at a barrier; that one, on n4, waits at the gate."""
    number = cluster.job(gaspbpf.WORKLOADS / "stuck" / "mpi_mpich", "barrier", "--gate", tmp_path)
    gaspbpf.wait_for(lambda: all((tmp_path / f"enters.{rank}").exists() for rank in range(3)) and
                     (tmp_path / "ready.3").exists(), "the ranks to be where they wait")
    found = []
    while not found:  # between saying so and being there is a moment
        done = gaspbpf.run("stuck", "--slurm", number, "--no-probes", "--json", "-d", "1s", env=cluster.environment)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        found = [finding for finding in report["findings"] if len(finding["waiting"]) == 3]
    cluster.end_job(number)
    assert [finding["kind"] for finding in found] == ["absent"]
    assert [(each["rank"], each["node"]) for each in found[0]["waiting"]] == [(0, "n1"), (1, "n2"), (2, "n3")]
    assert [(each["rank"], each["node"]) for each in found[0]["others"]] == [(3, "n4")]
    assert "1 of 4 has not come: rank 3 on n4 is in no known call" in found[0]["text"]
    assert all(node["answered"] for node in report["nodes"])
