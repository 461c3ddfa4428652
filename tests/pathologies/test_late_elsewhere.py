# SPDX-License-Identifier: BSD-2-Clause
"""Somebody comes late, on other runtimes than MPI; two at once; on many ranks; and nobody's code is late, but there is
no processor for it. scripts/matrix has many more of these."""
import os
import time

import pytest

import gaspbpf
import matrix
import matrix_cases
import pathologies
import truth

PATHOLOGY = gaspbpf.WORKLOADS / "pathology"
TEAM, WHO, LATE = 4, 1, ["--us", 8000]
MPIRUN = ["mpirun.openmpi", "--oversubscribe", "-n"]


def delays(seen):
    """(rank, what is said) of each finding."""
    return [(seen.rank_of[finding["tid"]], finding["text"]) for finding in seen.findings("delay")]


@pytest.mark.parametrize("command, ranks, source", [
    (["oshrun", "--oversubscribe", "-n", TEAM, PATHOLOGY / "shmem", *LATE], TEAM, "shmem.c"),
    ([*MPIRUN, TEAM, PATHOLOGY / "caf", *LATE], TEAM, "caf.F90"),
    ([PATHOLOGY / "upc", "-n", TEAM, *LATE], TEAM, "upc.c"), ([PATHOLOGY / "openmp", *LATE], 1, "threads.c")],
    ids=["shmem", "caf", "upc", "openmp"])
def test_late_to_a_barrier(job, observe, tmp_path, command, ranks, source):
    seen = pathologies.observed(job, observe, command, ranks, tmp_path)
    cause, place = seen.causes()[0], f"{source}:{seen.line(WHO)}"
    assert cause["rank"] == WHO and cause["does"] == "outside" and place in cause["before"]["place"]
    for victim in set(range(TEAM)) - {WHO}:
        waited = seen.waited_for(victim, WHO, range(TEAM))
        assert pathologies.near(cause["waiting"][victim], waited)
        assert seen.state("wait_at_barrier", victim, WHO) >= 0.9 * waited
    if not seen.has_its_processor(WHO):
        return
    (rank, text), *_ = delays(seen)
    assert rank == WHO and place in text


def test_late_to_its_neighbours(job, observe, tmp_path):
    """Images on a ring meet their neighbours only, by `sync images`: both of those wait for the late one."""
    seen = pathologies.observed(job, observe, [*MPIRUN, TEAM, PATHOLOGY / "caf", "--pattern", 2, *LATE], TEAM, tmp_path)
    place = f"caf.F90:{seen.line(WHO)}"
    for neighbour in (WHO - 1, WHO + 1):
        waited = seen.waited_for(neighbour, WHO, range(TEAM))
        assert pathologies.near(seen.state("wait_at_barrier", neighbour, WHO), waited)
    if not seen.has_its_processor(WHO):
        return
    (rank, text), *_ = delays(seen)
    assert rank == WHO and place in text


def test_two_at_once(job, observe, tmp_path):
    """One comes late to a barrier, another one to a reduction: both are named, each with its line."""
    command = [*MPIRUN, TEAM, PATHOLOGY / "mpi_openmpi", "--pattern", 0, *LATE, "--also-pattern", 1, "--also-who", 2,
               "--also-us", 8000]
    seen = pathologies.observed(job, observe, command, TEAM, tmp_path)
    told = dict(delays(seen))
    if not (seen.has_its_processor(1) and seen.has_its_processor(2)):
        return
    assert set(told) == {1, 2}
    assert f"mpi.c:{seen.line(1)}" in told[1] and f"mpi.c:{seen.ranks[2]['also']['line']}" in told[2]


@pytest.mark.parametrize("us", [6000, 0], ids=["sick", "healed"])
def test_many_ranks_on_few_processors(job, observe, tmp_path, us):
    """That they have no processor is said as that; the one that computes longer is late nevertheless."""
    ranks = 8
    command = [*MPIRUN, ranks, PATHOLOGY / "mpi_openmpi", "--spin", 1, "--base", 3000, "--rounds", 60, "--us", us]
    seen = pathologies.observed(job, observe, command, ranks, tmp_path)
    if os.cpu_count() < ranks / 2:
        assert seen.findings("starved")
    assert {rank for rank, _ in delays(seen)} == ({WHO} if us else set())


def test_another_program_has_the_processor(job, observe, tmp_path):
    command = [*MPIRUN, 2, PATHOLOGY / "mpi_openmpi", "--spin", 1, "--base", 5000, "--rounds", 150, "--us", 0]
    work = job(command, ranks=2, env=truth.ENVIRONMENT).wait_ready()
    pids = work.pids()
    os.sched_setaffinity(pids[WHO], {max(os.sched_getaffinity(0))})
    burner = matrix.burn(max(os.sched_getaffinity(0)))
    try:
        report = truth.window(work, observe)
    finally:
        gaspbpf.kill_group(burner)
    assert pids[WHO] in [each["tid"] for each in report["scheduling"]["starved"]]
    assert "starved" in [finding["kind"] for finding in report["findings"]]
    other, own = (next(each["queued"] for each in work.truths() if (each["rank"] == WHO) == who)
                  for who in (False, True))
    if other < 0.1 * own:  # else others had its processor, too
        assert pids[WHO] not in [finding["tid"] for finding in report["findings"] if finding["kind"] == "delay"]


def test_joined_late(job, observe):
    command = [*MPIRUN, TEAM, PATHOLOGY / "mpi_openmpi", "--pattern", 0, *LATE, "--rounds", 400]
    work = job(command, ranks=TEAM, env=truth.ENVIRONMENT).wait_ready()
    (work.gate / "go").touch()
    time.sleep(0.3)
    report = truth.window(work, observe)
    rank_of = {thread["tid"]: thread["rank"] for thread in report["threads"]}
    late = next(each for each in work.truths() if each["rank"] == WHO)
    assert max(report["delays"]["causes"], key=lambda cause: cause["direct_ns"])["tid"] == late["pid"]
    if late["queued"] >= 0.3 * sum(late["planted"]):
        return
    finding, *_ = (finding for finding in report["findings"] if finding["kind"] == "delay")
    assert rank_of[finding["tid"]] == WHO and f"mpi.c:{late['line']}" in finding["text"]


@pytest.mark.parametrize("case", [case for case in matrix_cases.observed_badly() if case.loses],
                         ids=lambda case: case.name)
def test_with_losses(case, tmp_path):
    """It names the late one by what is left, says that calls are lost, and blames nobody of the healed twin."""
    one, _ = matrix.run(case, tmp_path / "run")
    assert one["lost"] > 0 and not one["unsaid"]
    kinds = set(one["found"]) & {"delay", "slow_thread"}
    assert bool(kinds) == bool(case.wanted)
