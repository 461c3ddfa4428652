# SPDX-License-Identifier: BSD-2-Clause
"""MPI on Open MPI and on MPICH: calls against a counting library in the same run, payload against the job's own."""

import pytest

import gaspbpf
import naming
import truth

LIBRARIES = {
    # launcher, ranks, rounds: MPICH's ranks poll without yielding, so few rounds
    "openmpi": (["mpirun.openmpi", "-n", "3"], 3, "20"),
    "mpich": (["mpirun.mpich", "-n", "2"], 2, "3"),
}


# Open MPI on each rung, MPICH on the best
def mpi_and_rung(mark):
    return pytest.mark.parametrize("mpi, rung", [*(pytest.param("openmpi", rung, marks=mark) for rung in gaspbpf.RUNGS),
                                                 ("mpich", gaspbpf.RUNGS[0])], indirect=["rung"])


def command(mpi, *between):
    launcher, ranks, rounds = LIBRARIES[mpi]
    return [*launcher, *between, gaspbpf.WORKLOADS / f"mpi_job_{mpi}", "--rounds", rounds, "--warmup", "1", "--after",
            "1"], ranks


@mpi_and_rung(pytest.mark.guest_more)
def test_calls_are_those_of_a_counting_library(job, observe, tmp_path, mpi, rung):
    """Attached late to the ranks' pids; the library counts MPI_x and PMPI_x alike, whoever calls them."""
    line, ranks = command(mpi, *truth.counting(f"libcount_mpi_{mpi}.so", tmp_path))
    ring = job(line, ranks=ranks, env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(ring, observe, ring.pids(), truth.sparing(rung))
    assert sorted(thread["rank"] for thread in report["threads"] if thread["calls"]) == list(range(ranks))
    tables = truth.windows(tmp_path, "mpi")
    assert len(tables) == ranks
    assert truth.differences_in_calls(report, truth.by_event(tables, naming.mpi), "MPI") == {}


@mpi_and_rung(pytest.mark.guest)
def test_payload_is_the_jobs_own(job, observe, mpi, rung):
    """Attached to the launcher, which means its ranks; the job computes the same as when nobody looks."""
    line, ranks = command(mpi)
    ring = job(line, ranks=ranks, env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(ring, observe, options=truth.sparing(rung))
    seen = gaspbpf.events(report)
    counted = truth.by_event(truth.functions(ring), naming.mpi)
    apart = truth.by_event(truth.functions(ring), lambda function: function if " " in function else None)
    assert truth.differences_in_calls(report, counted, "MPI") == {}

    # A receive is what its status says, or what was posted where the job ignores the status.
    without = apart["receives without a status"]
    received = counted.pop("GASP_MPI_RECV")["received"]
    assert seen["GASP_MPI_RECV"]["bytes_received"] == received - without["received"] + without["bytes"]
    # A derived type's size is nowhere to be read in MPICH: such calls are counted as unknown, not as nothing.
    if mpi == "mpich":
        for event, kind in ("GASP_MPI_SEND", "sends of a derived type"), \
                ("GASP_MPI_IRECV", "receives of a derived type"):
            assert seen[event]["calls_without_bytes"] == apart[kind]["calls"]
            assert seen[event]["bytes"] == counted.pop(event)["bytes"] - apart[kind]["bytes"]
    # Counts given by arrays are not read.
    for event in ("ALLTOALLV", "ALLTOALLW", "REDUCE_SCATTER"):
        assert seen[f"GASP_MPI_{event}"]["bytes"] is None
    assert truth.differences_in_bytes(report, counted) == {}

    truth.compare_with_alone(ring, line, truth.ENVIRONMENT)
