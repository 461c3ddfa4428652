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


def out_of_line(times):
    """By the job's own clock: on a busy machine there may be others than those planted."""
    return {number for number, time in enumerate(times) if time > 0.8 * FACTOR * statistics.median(times)}


def is_even(times):
    """Nowhere slower for long, as far as the job has measured."""
    fifths = [statistics.median(times[start:start + 10]) for start in range(0, len(times) - 9, 5)]
    return max(fifths) < 1.1 * min(fifths)


def culprits(seen, thing):
    return [seen.rank_of[each["tid"]] for each in thing["longer"]["threads"]]


def test_some_are_longer(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--rounds", 50, "--from", 15, "--every", 12, "--us", 60_000)
    times = is_the_loop(seen)
    told = {each["number"]: each for each in seen.found["outliers"]}
    planted = {14, 26, 38}
    if len(out_of_line(times)) > 4:
        return  # one in ten: they are no outliers
    assert planted <= set(told)
    for number, outlier in told.items():
        assert pathologies.near(outlier["lasted_ns"], times[number])
        assert times[number] > 0.9 * FACTOR * outlier["median_ns"]
    for number in planted:
        assert told[number]["longer"]["group"] == "compute" and culprits(seen, told[number]) == [WHO]
        assert pathologies.near(told[number]["longer"]["ns"], seen.ranks[WHO]["planted"][number + 1])
    (finding,) = seen.findings("outlier_iterations")
    assert seen.rank_of[finding["tid"]] == WHO and f":{seen.line(WHO)}" in finding["text"]


def test_slower_from_a_round_on(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--rounds", 60, "--from", 30, "--us", 10_000)
    times = is_the_loop(seen)
    steady = seen.found["phases"][1:-1]
    if seen.missed_most() > 0.1 * seen.planted(WHO):  # a busy machine makes changes of its own
        return
    (slower,) = [part for part in steady[1:] if abs(part["first"] - 29) <= 2]
    for part in steady:
        assert pathologies.near(part["median_ns"], statistics.median(times[part["first"]:][:part["iterations"]]))
    assert slower["longer"]["group"] == "compute" and culprits(seen, slower) == [WHO]
    assert WHO in [seen.rank_of[finding["tid"]] for finding in seen.findings("slowdown") if finding["tid"]]


def test_the_healed_twin(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--rounds", 50, "--us", 0)
    times = is_the_loop(seen)
    for outlier in seen.found["outliers"]:
        assert pathologies.near(outlier["lasted_ns"], times[outlier["number"]])
    if not out_of_line(times):
        assert seen.findings("outlier_iterations") == []
    if is_even(times):
        assert seen.findings("slowdown") == []
