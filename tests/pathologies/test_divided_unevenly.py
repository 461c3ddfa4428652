# SPDX-License-Identifier: BSD-2-Clause
"""Work that is divided unevenly among several ranks, or among the steps, and a loop that is handed out in too small
pieces: who, at which line, and what it would give, by the clock of the job and of its healed twin."""
import pathologies

import gaspbpf

FOLDER = gaspbpf.WORKLOADS / "pathology"
MPI = ["mpirun.openmpi", "--oversubscribe", "-n"]
ROUNDS = [FOLDER / "mpi_openmpi", "--pattern", 0, "--rounds", 30]
LOOP = [FOLDER / "regions", "--base-us", 0, "--more-us", 0, "--between-us", 0, "--pieces", 20000]
BASE, US = 10_000, 40_000
KINDS = "load_imbalance", "changing_imbalance", "delay", "slow_thread"


def ranks(job, observe, folder, count, us, base, *options):
    command = [*MPI, count, *ROUNDS, "--us", us, "--base", base, *options]
    return pathologies.observed(job, observe, command, count, folder)


def lasted(seen):
    """ns, from the first round's end to the last one's."""
    return max(rank["left"][-1] for rank in seen.ranks) - min(rank["left"][0] for rank in seen.ranks)


def check(seen, healed, kind, culprits, waited):
    """Where they had to wait for processors, that is what is told, or nothing."""
    planted = max(seen.planted(rank) for rank in culprits) / 5  # much less than what each of them is late
    if not all(run.has_its_processor(rank, planted) for run in (seen, healed) for rank in culprits):
        return
    finding, *others = seen.findings(*KINDS)
    assert finding["kind"] == kind and not others
    assert {seen.rank_of[one["tid"]] for one in finding["culprits"]} == culprits
    assert f"mpi.c:{seen.line(0)}" in finding["text"]
    assert pathologies.near(finding["weight_ns"], waited)
    real = lasted(seen) - lasted(healed)
    assert abs(finding["gain_ns"] - real) <= 0.25 * real, (finding["gain_ns"], real)
    assert not healed.findings(*KINDS)


def waited(seen):
    """What all together are at the barrier before the last one comes. The first round follows nothing that all do."""
    turns = list(zip(*(seen.came(rank) for rank in range(len(seen.ranks)))))
    return sum(max(turn) - came for turn in turns[1:] for came in turn)


def test_two_of_three_have_more_to_do(job, observe, tmp_path):
    seen = ranks(job, observe, tmp_path / "sick", 3, US, BASE, "--many", 2)
    healed = ranks(job, observe, tmp_path / "healed", 3, 0, BASE + US * 2 // 3)
    check(seen, healed, "load_imbalance", {1, 2}, waited(seen))


def test_another_one_in_each_step(job, observe, tmp_path):
    seen = ranks(job, observe, tmp_path / "sick", 2, US, BASE, "--turns", 2)
    healed = ranks(job, observe, tmp_path / "healed", 2, 0, BASE + US // 2)
    check(seen, healed, "changing_imbalance", {0, 1}, waited(seen))


def loop(job, observe, folder, *options):
    return pathologies.recorded(job, observe, [*LOOP, *options], 1, folder, env={"OMP_WAIT_POLICY": "passive"})[2]


def test_a_loop_in_too_small_pieces(job, observe, tmp_path):
    seen = loop(job, observe, tmp_path / "sick")
    finding, = (one for one in seen["findings"] if one["kind"] == "small_chunks")
    source = (gaspbpf.TOP / "tests" / "workloads" / "pathology" / "regions.c").read_text().splitlines()
    line, = (number for number, text in enumerate(source, 1) if "/* region */" in text)
    assert f"regions.c:{line}" in finding["text"]
    healed = loop(job, observe, tmp_path / "healed", "--healed", 1)
    assert not [one for one in healed["findings"] if one["kind"] == "small_chunks"]
