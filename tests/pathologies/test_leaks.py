# SPDX-License-Identifier: BSD-2-Clause
"""A rank that leaks, one that allocates and frees small blocks all the time: who, where, how much; and their twin."""
import gaspbpf
import pathologies

WORKLOADS = gaspbpf.WORKLOADS / "pathology"
RANKS, WHO = 2, 1


def run(job, observe, tmp_path, *options, preload=None):
    more = ["-x", f"LD_PRELOAD={preload}"] if preload else []
    return pathologies.observed(job, observe, ["mpirun.openmpi", "--oversubscribe", *more, "-n", RANKS,
                                               WORKLOADS / "memory_openmpi", "--who", WHO, *options], RANKS, tmp_path,
                                options=["-m", "+c"])


def heap(seen, rank):
    one, = [heap for heap in seen.report["memory"]["heaps"] if (heap["rank"], heap["heap"]) == (rank, "c")]
    return one


def places(seen, line):
    return [site for site in seen.report["memory"]["sites"] if site["place"] and f"memory.c:{line}" in site["place"]]


def test_a_leak(job, observe, tmp_path):
    seen = run(job, observe, tmp_path, "--leak", 5000)
    for rank in range(RANKS):
        truth = seen.ranks[rank]
        assert heap(seen, rank)["exact"]
        # what is in use has a few bytes more for each block; and what was there before was freed by nobody
        assert abs(heap(seen, rank)["live_bytes"] - truth["in_use"]) <= 0.02 * truth["in_use"]
        assert heap(seen, rank)["grows"] == (rank == WHO)
    site, = places(seen, seen.ranks[WHO]["leak_line"])
    assert (site["rank"], site["leak"], site["live_bytes"]) == (WHO, "suspected", seen.ranks[WHO]["leaked"])
    assert abs(site["live_bytes_per_s"] - 1e9 * site["live_bytes"] / seen.ranks[WHO]["window_ns"]) \
        <= 0.2 * site["live_bytes_per_s"]
    finding, = seen.findings("leak")
    assert f"memory.c:{seen.ranks[WHO]['leak_line']}" in finding["text"] and f"rank {WHO}:" in finding["text"]
    assert {site["leak"] for site in seen.report["memory"]["sites"]} == {"suspected", "none"}


def test_small_blocks_that_hardly_live(job, observe, tmp_path):
    """With an allocator that takes 3 us for each call, by the processor's time, and says so."""
    seen = run(job, observe, tmp_path, "--pairs", 1000, "--us", 0, "--rounds", 20, "--slow", 3000,
               preload=WORKLOADS / "libtcmalloc_slow.so")
    site, = places(seen, seen.ranks[WHO]["churn_line"])
    pairs, took = seen.ranks[WHO]["pairs"], seen.ranks[WHO]["slow_ns"]
    assert site["rank"] == WHO and 0.95 * pairs <= site["short_lived_blocks"] <= pairs == site["blocks"]
    assert 0.7 * took <= site["short_lived_ns"] <= 1.3 * took
    finding, = seen.findings("churn")
    assert f"memory.c:{seen.ranks[WHO]['churn_line']}" in finding["text"] and f"rank {WHO}:" in finding["text"]
    assert seen.findings("leak") == []


def test_the_healed_twin(job, observe, tmp_path):
    """It has short-lived small blocks, too: the probes take far more than the allocator, and that is not its own."""
    seen = run(job, observe, tmp_path, "--pairs", 100)
    assert seen.findings("leak", "churn") == []
    assert not any(heap["grows"] for heap in seen.report["memory"]["heaps"])
    assert {site["leak"] for site in seen.report["memory"]["sites"]} == {"none"}


def test_a_symmetric_heap(job, observe, tmp_path):
    """What each PE has allocated, changed in size, and freed there, to the byte; what the library does inside such a
    call does not count."""
    command = ["oshrun", "--oversubscribe", "-n", RANKS, gaspbpf.WORKLOADS / "shmem_job", "--rounds", 20]
    seen = pathologies.observed(job, observe, command, RANKS, tmp_path)
    heaps = {heap["rank"]: heap for heap in seen.report["memory"]["heaps"]}
    for rank in range(RANKS):
        given = [seen.ranks[rank]["functions"][f"shmem_{name}"] for name in ("malloc", "calloc", "align", "realloc")]
        largest = 64 + 8 * 4  # shmem_job.c, symmetric_heap()
        assert heaps[rank]["heap"] == "shmem" and heaps[rank]["exact"]
        assert heaps[rank]["blocks"] == heaps[rank]["freed"] == sum(each["calls"] for each in given)
        assert heaps[rank]["bytes"] == sum(each["bytes"] for each in given)
        assert (heaps[rank]["live_bytes"], heaps[rank]["high_water_bytes"]) == (0, 2 * largest + 4 * 8 + 128)
    assert seen.findings("leak", "churn") == []
