# SPDX-License-Identifier: BSD-2-Clause
"""Some iterations of a job are longer than the others, or all are from some time on: gaspbpf says which, how long, and
who did what longer; the healed twin has the same iterations, and nothing is said of them."""
import statistics

import gaspbpf
import pathologies

PROGRAM = gaspbpf.WORKLOADS / "pathology" / "mpi_openmpi"
RANKS, WHO, BASE = 4, 1, 10_000
ALLREDUCE = 1
FACTOR = 2  # docs/analyses/phases.md


def run(job, observe, tmp_path, *options):
    seen = pathologies.observed(job, observe, [
        "mpirun.openmpi", "--oversubscribe", "-n", RANKS, PROGRAM, "--pattern", ALLREDUCE, "--who", WHO, "--base", BASE,
        *options], RANKS, tmp_path)
    (seen.found,) = [each for each in seen.report["phases"] if each["by_job"]]
    return seen


def measured(seen):
    """How long each iteration took by the job's own clock: from one return of the call to the next, mean of all."""
    left = [rank["left"] for rank in seen.ranks]
    return [statistics.mean(each[turn + 1] - each[turn] for each in left) for turn in range(len(left[0]) - 1)]


def is_the_loop(seen):
    found, times = seen.found, measured(seen)
    assert found["name"] == "GASP_MPI_ALLREDUCE" and f"mpi.c:{seen.line(WHO)}" in found["place"]
    assert found["iterations"] == len(times) and len(found["threads"]) == RANKS
    assert pathologies.near(found["mean_ns"], statistics.mean(times))
    return times


def may_be_told(times):
    """On a busy machine any iteration may be longer; the job has measured that, too."""
    return {number for number, time in enumerate(times) if time > 0.9 * FACTOR * statistics.median(times)}


def test_some_are_longer(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--rounds", 50, "--from", 15, "--every", 12, "--us", 60_000)
    times = is_the_loop(seen)
    told = {each["number"]: each for each in seen.found["outliers"]}
    planted = {14, 26, 38}
    assert planted <= set(told) <= may_be_told(times)
    for number in planted:
        outlier = told[number]
        assert pathologies.near(outlier["lasted_ns"], times[number])
        assert outlier["longer"]["group"] == "compute"
        assert [seen.rank_of[each["tid"]] for each in outlier["longer"]["threads"]] == [WHO]
        assert pathologies.near(outlier["longer"]["ns"], seen.ranks[WHO]["planted"][number + 1], 0.03)
    (finding,) = seen.findings("outlier_iterations")
    assert seen.rank_of[finding["tid"]] == WHO and f":{seen.line(WHO)}" in finding["text"]


def test_slower_from_a_round_on(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--rounds", 60, "--from", 30, "--us", 10_000)
    times = is_the_loop(seen)
    before, after = seen.found["phases"][1:-1]
    assert abs(after["first"] - 29) <= 1
    assert pathologies.near(before["median_ns"], statistics.median(times[:29]))
    assert pathologies.near(after["median_ns"], statistics.median(times[29:]))
    assert [seen.rank_of[each["tid"]] for each in after["longer"]["threads"]] == [WHO]
    (finding,) = seen.findings("slowdown")
    assert seen.rank_of[finding["tid"]] == WHO


def test_the_healed_twin(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--rounds", 50, "--us", 0)
    times = is_the_loop(seen)
    assert {each["number"] for each in seen.found["outliers"]} <= may_be_told(times)
    if not may_be_told(times):
        assert seen.findings("outlier_iterations") == []
    assert seen.findings("slowdown") == []
