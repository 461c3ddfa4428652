# SPDX-License-Identifier: BSD-2-Clause
"""Which rank's work a run is as long as: one comes late to each barrier, and what it does until then is on the
critical path, by its own clock."""
import gaspbpf
import pathologies

PROGRAM = gaspbpf.WORKLOADS / "pathology" / "mpi_openmpi"
RANKS, WHO, US, BARRIER, ROUNDS = 4, 2, 20_000, 0, 20


def work_before_the_barriers(seen):
    """Of each rank, ns: from when it left the barrier before to when it came; of the first barrier nothing is said."""
    return [sum(came - left for came, left in zip(rank["came"][1:], rank["left"])) for rank in seen.ranks]


def test_the_late_rank_is_the_path(job, observe, tmp_path):
    seen = pathologies.observed(job, observe, ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, PROGRAM, "--pattern",
                                               BARRIER, "--who", WHO, "--us", US, "--rounds", ROUNDS], RANKS, tmp_path)
    path = seen.report["critical_path"]
    part = max(path["parts"], key=lambda part: part["on_path_ns"])
    on_path = {seen.rank_of[thread["tid"]]: thread["on_path_ns"] for thread in part["threads"]}
    assert part["does"] == "outside" and f"mpi.c:{seen.line(WHO)}" in part["before"]["place"]
    assert pathologies.near(on_path[WHO], work_before_the_barriers(seen)[WHO])
    assert on_path[WHO] >= 0.9 * seen.planted(WHO) * (ROUNDS - 1) / ROUNDS
    assert 0.5 * part["gain_at_most_ns"] <= part["gain_ns"] <= part["gain_at_most_ns"]
    assert not seen.findings("critical_path")  # the delay is told
