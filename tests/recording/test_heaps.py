# SPDX-License-Identifier: BSD-2-Clause
"""Heaps, block by block: what is alive, the high-water mark, who leaks, what lives shortly, what cannot be known."""
import json

import pytest

import composed
import gaspbpf

MS = 1_000_000
RUN = 100 * MS  # of the longer recordings
LONG = RUN // 12


def malloc(tid, time, block, size, took=10, **more):
    return composed.call(tid, time, time + took, "malloc", nbytes=size, returnptr=block, **more)


def free(tid, time, block, took=10, **more):
    return composed.call(tid, time, time + took, "free", ptr=block, **more)


def realloc(tid, start, end, old, size, new, **more):
    return composed.call(tid, start, end, "realloc", ptr=old, size=size, returnptr=new, **more)


class Memory:
    def __init__(self, tmp_path, text):
        self.recording = composed.compose(tmp_path / "run.gasp", text)
        result = gaspbpf.run("report", "--json", self.recording)
        assert result.returncode == 0, result.stderr
        self.report = report = json.loads(result.stdout)
        self.heaps, self.sites = report["memory"]["heaps"], report["memory"]["sites"]
        self.start = report["recording"]["start_ns"]
        self.found = [(finding["kind"], finding["text"]) for finding in report["findings"]
                      if finding["kind"] in ("leak", "churn")]

    def heap(self, *keys):
        assert len(self.heaps) == 1
        return tuple(self.heaps[0][key] for key in keys)

    def site(self, line):
        one, = [site for site in self.sites if site["place"] and f":{line}" in site["place"]]
        return one

    def text(self, *options):
        return gaspbpf.run("report", *options, self.recording).stdout


def test_what_is_alive(tmp_path):
    memory = Memory(tmp_path, "process 1 -1\nthread 1 2\n" + malloc(1, 100, 0x1000, 64) + malloc(1, 200, 0x2000, 100) +
                    free(2, 300, 0x1000) + malloc(2, 400, 0x3000, 10) + composed.call(1, 500, 510, "calloc", nmemb=3,
                                                                                   size=7, returnptr=0x4000))
    assert memory.heap("live_bytes", "live_blocks", "blocks", "bytes", "freed") == (131, 3, 4, 195, 1)
    assert memory.heap("high_water_bytes") == (164,) and memory.heap("high_water_ns") == (memory.start + 210,)
    assert memory.heap("exact", "freed_from_before", "given_while_alive") == (True, 0, 0)
    assert memory.found == []


def test_an_address_that_is_given_out_again_while_it_is_freed(tmp_path):
    """The other thread gets it before free() is over: the block that is alive is the other's."""
    memory = Memory(tmp_path, "process 1 -1\nthread 1 2\n" + malloc(1, 100, 0x1000, 64) + malloc(2, 205, 0x1000, 32) +
                    free(1, 200, 0x1000, took=50))
    assert memory.heap("live_bytes", "live_blocks", "given_while_alive") == (32, 1, 0)


def test_realloc(tmp_path):
    """One moves and its old address is somebody's before it is over; one grows in place; one fails; one frees."""
    memory = Memory(tmp_path, "process 1 -1\nthread 1 2\n" + malloc(1, 100, 0x1000, 10) +
                    malloc(2, 220, 0x1000, 5) + realloc(1, 200, 300, 0x1000, 20, 0x2000) +
                    realloc(1, 400, 410, 0x2000, 40, 0x2000) + realloc(1, 500, 510, 0x2000, 1 << 40, 0) +
                    realloc(2, 600, 610, 0, 7, 0x3000) + realloc(2, 700, 710, 0x3000, 0, 0))
    assert memory.heap("live_bytes", "live_blocks", "failed", "freed_from_before", "given_while_alive") == \
        (45, 2, 1, 0, 0)
    assert memory.heap("high_water_bytes") == (52,)


def test_a_realloc_that_is_under_way_at_the_end(tmp_path):
    memory = Memory(tmp_path, "process 1 -1\n" + malloc(1, 100, 0x1000, 10) +
                    "call 1 200 300 realloc ptr=0x1000 size=20 end=under_way\n")
    assert memory.heap("live_bytes", "calls_of_unknown_block") == (10, 1)


def test_an_error(tmp_path):
    """posix_memalign() tells it by its result, and what stands where the address would be means nothing then."""
    align = dict(alignment=64, size=128)
    memory = Memory(tmp_path, "process 1 -1\n" +
                    composed.call(1, 100, 110, "posix_memalign", **align, returnptr=0x1000, error=0) +
                    composed.call(1, 200, 210, "posix_memalign", **align, returnptr=0x2000, error=12))
    assert memory.heap("live_bytes", "live_blocks", "failed") == (128, 1, 1)


def test_blocks_from_before(tmp_path):
    memory = Memory(tmp_path, "process 1 -1\n" + free(1, 100, 0x9000) + realloc(1, 200, 210, 0x8000, 30, 0x1000) +
                    free(1, 300, 0))
    assert memory.heap("live_bytes", "freed_from_before", "exact") == (30, 2, True)


def test_processes_and_heaps_are_apart(tmp_path):
    """The same address in two ranks, and in two heaps of one; a call within a call of the same heap does not count."""
    memory = Memory(tmp_path, composed.ranks(2, init=False) + malloc(1, 100, 0x1000, 10) + malloc(2, 100, 0x1000, 20) +
                    composed.call(1, 310, 320, "shmem_malloc", size=8, returnptr=0x5000, depth=1) +
                    composed.call(1, 330, 340, "malloc", nbytes=99, returnptr=0x6000, depth=1) +
                    composed.call(1, 300, 400, "shmem_calloc", count=4, size=2, returnptr=0x1000))
    assert [(heap["rank"], heap["heap"], heap["live_bytes"]) for heap in memory.heaps] == \
        [(0, "c", 109), (0, "shmem", 8), (1, "c", 20)]


def test_a_space_of_all_ranks(tmp_path):
    """All allocate a block together, one frees it: pointers with a thread in them."""
    block = {"newshrd_ptr": 0x10_0000_1000}
    memory = Memory(tmp_path, composed.ranks(2, init=False) +
                    "".join(composed.call(tid, 100, 200 + tid, "_upcr_all_alloc", nblocks=4, nbytes=8, **block)
                            for tid in (1, 2)) +
                    composed.call(2, 300, 310, "_upcr_alloc", nbytes=100, newshrd_ptr=0x10_0000_2000) +
                    composed.call(1, 400, 410, "_upcr_free", shrd_ptr=0x10_0000_2000))
    assert memory.heap("pid", "heap", "live_bytes", "blocks", "freed_from_before") == (None, "bupc", 32, 2, 0)


def test_another_program(tmp_path):
    memory = Memory(tmp_path, "process 1 -1\n" + malloc(1, 100, 0x1000, 64) + "window 1 200 250 exec\n" +
                    malloc(1, 300, 0x2000, 8))
    assert memory.heap("live_bytes", "live_blocks", "high_water_bytes") == (8, 1, 64)


def leak(turns=range(200), line=40, kept=lambda turn: True, base=0x100000, later=0, lives=100):
    """(time, call) of blocks of 1000 bytes, one in each 200th of the run: these are kept, others live so many ns."""
    for turn in turns:
        time, block = (turn + 1) * RUN // 202 + later, base + turn * 0x10000
        yield time, malloc(1, time, block, 1000, site=f"job.c:{line}")
        if not kept(turn):
            yield time + lives, free(1, time + lives, block, site=f"job.c:{line + 1}")


def others():
    """Another place that allocates all the time, and frees."""
    return leak(line=60, kept=lambda turn: False, base=0x9000000, later=30)


def told(*streams, start="process 1 3\n"):
    return start + "".join(call for _, call in sorted(call for stream in streams for call in stream)) + f"end {RUN}\n"


def at_start(count, line):
    times = range(10, 10 + 20 * count, 20)
    return [(time, malloc(1, time, 0x7000000 + time * 0x1000, 4000, site=f"job.c:{line}")) for time in times]


def test_a_leak(tmp_path):
    memory = Memory(tmp_path, told(at_start(50, 10), leak()))
    assert memory.site(40)["leak"] == "suspected" and memory.site(10)["leak"] == "none"
    assert memory.site(40)["live_bytes"] == 200_000 and memory.site(40)["live_blocks"] == 200
    assert memory.site(40)["live_bytes_per_s"] == pytest.approx(2e6, rel=0.02)
    assert memory.heap("grows") == (True,) and memory.heap("trend_bytes_per_s")[0] == pytest.approx(2e6, rel=0.05)
    (kind, text), = memory.found
    assert kind == "leak" and "rank 3: blocks of job.c:40 in work pile up, 195 KiB in 200 that" in text
    finding, = (one for one in memory.report["findings"] if one["kind"] == "leak")
    assert "job.c:40" in finding["places"][0] and finding["evidence"]["mean_ns"] is None, "it is not about time"
    assert "leak suspected: job.c:40 in work, rank 3: 195 KiB in 200 blocks" in " ".join(memory.text().split())


def test_a_leak_is_told_before_a_small_loss(tmp_path):
    """Of a lock that 1 % of the time is waited for, say, or a thread that is late for as much."""
    barrier = [(at, "".join(composed.call(tid, at - (0 if tid == 1 else late), at + 100, "pthread_barrier_wait",
                                          barrier=0x10, site="job.c:90") for tid in (1, 2)))
               for turn in range(1, 40) for at, late in [(turn * RUN // 40 + 7, RUN // 40 // 66)]]
    memory = Memory(tmp_path, told(leak(), barrier, start="process 1 3\nthread 1 2\n"))
    kinds = [finding["kind"] for finding in memory.report["findings"]]
    assert kinds[0] == "leak" and kinds[1] in ("delay", "slow_thread")


def test_blocks_from_before_that_are_freed_at_the_end(tmp_path):
    """As the program does at its end, and its runtime as it begins."""
    times = (*range(10, 2000, 20), *range(RUN - 2000, RUN, 20))
    before = [(time, free(1, time, 0x50000000 + time * 16)) for time in times]
    memory = Memory(tmp_path, told(leak(), before))
    assert memory.site(40)["leak"] == "suspected"


@pytest.mark.parametrize("kept", [lambda turn: turn % 2, lambda turn: turn % 5 == 0])
def test_a_leak_of_some(tmp_path, kept):
    """The others are freed at once: on one of several ways out of a function nobody does."""
    memory = Memory(tmp_path, told(at_start(50, 10), leak(range(400), kept=kept)))
    assert memory.site(40)["leak"] == "suspected"
    (kind, text), = memory.found
    assert kind == "leak" and "job.c:40 in work pile up" in text


@pytest.mark.parametrize("turns", [range(100), range(100, 200), range(50, 150)], ids=str)
def test_a_leak_in_a_part_of_the_time(tmp_path, turns):
    """Of an observation that begins or ends in idle time; and after a while, with others before."""
    memory = Memory(tmp_path, told(leak(turns)))
    assert memory.site(40)["leak"] == "suspected" and len(memory.found) == 1
    assert memory.site(40)["live_bytes_per_s"] == pytest.approx(2e6, rel=0.05)
    memory = Memory(tmp_path, told(leak(turns), others()))
    assert memory.site(40)["leak"] == ("suspected" if turns[-1] == 199 else "none")


@pytest.mark.parametrize("streams", [
    [leak(kept=lambda turn: turn < 20)], [leak(kept=lambda turn: turn % 5, lives=LONG)],
    [leak(kept=lambda turn: turn >= 150)], [leak(kept=lambda turn: False)],
    [leak(kept=lambda turn: not 80 <= turn < 95, lives=LONG)], [at_start(50, 40)],
    [at_start(250, 40), leak()], [leak(range(150, 200)), others()]],
    ids=["at the start", "some are freed", "at the end", "all are freed", "those of one time are freed", "once",
         "most once", "a last phase"])
def test_no_leak(tmp_path, streams):
    memory = Memory(tmp_path, told(*streams))
    assert memory.found == [] and {site["leak"] for site in memory.sites} == {"none"}


@pytest.mark.parametrize("trouble", ["lost 1 3\n", "sum 1 free 0 0 5\n", "sum 1 malloc 0 5 0\n",
                                     "window 1 50000000 60000000 dlopen\n",
                                     "window 1 50000000 60000000 dlopen mpi, c"])
def test_a_leak_is_not_claimed_where_calls_are_missing(tmp_path, trouble):
    memory = Memory(tmp_path, told(leak()) + trouble)
    assert memory.found == [] and memory.site(40)["leak"] == "unknown" and memory.heap("exact") == (False,)
    assert "no leak is claimed" in " ".join(memory.text().split())


@pytest.mark.parametrize("window", ["1 0 5 fork", "1 50000000 60000000 dlopen mpi, caf"])
def test_a_time_without_other_calls_does_no_harm(tmp_path, window):
    """Before the first one: what was allocated then is freed from before, if it is; or of other models."""
    memory = Memory(tmp_path, told(leak()) + f"window {window}")
    assert [kind for kind, _ in memory.found] == ["leak"]


def test_lost_calls_of_other_functions_do_no_harm(tmp_path):
    memory = Memory(tmp_path, told(leak()) + "lost 1 3\nsum 1 sem_post 3 0 0\n")
    assert [kind for kind, _ in memory.found] == ["leak"] and memory.heap("exact", "missing_calls") == (True, 0)


def test_blocks_that_live_longer_than_the_observation(tmp_path):
    """As many are freed from before: what is not freed yet may be freed as well."""
    before = [(time + 50, free(1, time + 50, 0x50000000 + time * 16)) for time, _ in leak()]
    memory = Memory(tmp_path, told(leak(), before))
    assert memory.found == [] and memory.site(40)["leak"] == "unknown"


def short_lived(size=64, lives=50_000, frees=1, took=4000, floor=0):
    text = f"process 1 3\nthread 1 2\nfloor {floor}\n"
    for turn in range(1000):
        time = turn * MS // 10 + 1000
        text += malloc(1, time, 0x1000, size, took=took, site="job.c:50")
        text += free(frees, time + took + lives, 0x1000, took=took, site="job.c:51")
    return text + f"end {RUN}\n"


def test_churn(tmp_path):
    memory = Memory(tmp_path, short_lived())
    assert memory.site(50)["short_lived_blocks"] == 1000
    # of each call the 50 ns that a calibration may be off are not counted
    assert memory.site(50)["short_lived_ns"] == 1000 * 2 * (4000 - 50)
    (kind, text), = memory.found
    assert kind == "churn" and "rank 3: at least 8 % of the time" in text
    assert "(10.0 k/s)" in text and "job.c:50" in text


def test_a_thread_that_was_descheduled(tmp_path):
    """The time is not the allocator's: of a call 10 us count at most."""
    memory = Memory(tmp_path, short_lived(took=20_000))
    assert memory.site(50)["short_lived_ns"] == 1000 * 2 * (10_000 - 50)


@pytest.mark.parametrize("took, own", [(2000, 0), (2500, 0), (6000, 6000 - 2550)])
def test_what_the_probes_add_is_not_the_allocators(tmp_path, took, own):
    """By the calibration it is 2 us, and up to a quarter and 50 ns more where no call is faster."""
    memory = Memory(tmp_path, short_lived(took=took, floor=2000))
    assert memory.site(50)["short_lived_ns"] == 1000 * 2 * own and len(memory.found) == (own > 0)


@pytest.mark.parametrize("different", [{"size": 257}, {"frees": 2}, {"took": 2000}], ids=str)
def test_no_churn(tmp_path, different):
    """Large blocks; another thread frees them; it takes too little of the time."""
    assert Memory(tmp_path, short_lived(**different)).found == []


def test_nothing_where_nothing_is_allocated(tmp_path):
    memory = Memory(tmp_path, composed.LATE_SENDER)
    assert memory.heaps == memory.sites == [] and "Memory" not in memory.text()
    assert "Memory: this recording has nothing of it." in memory.text("--section", "memory")
