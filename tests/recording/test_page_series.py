# SPDX-License-Identifier: BSD-2-Clause
"""What goes up and down in a page (`series`, docs/page.md): few points, the extremes of each slot. Times are ns."""
import json
import random

import pytest

import composed
import gaspbpf
from page import Page

pytestmark = pytest.mark.files
MOST = 500  # points of one


@pytest.fixture(scope="module", autouse=True)
def built_with_a_page():
    if "any browser (not in this build)" in " ".join(gaspbpf.run("export", "--help").stdout.split()):
        pytest.skip("this build has no page: make page, then make")


def exported(recording):
    to = recording.with_suffix(".html")
    assert gaspbpf.run("export", recording, "-o", to).returncode == 0
    return Page(to)


def blocks_of(seed, tid, end, symbols=("malloc", "free"), most=2000):
    """Allocations and what frees some of them, by one thread; and what is alive after each: [(time, bytes)]."""
    rng = random.Random(seed)
    (allocate, release), alive, live, at, text, truth = symbols, [], 0, 10, "", []
    names = {"malloc": "nbytes", "shmem_malloc": "size"}
    while len(truth) < most and at + 40 < end:
        if alive and rng.random() < 0.45:
            block, size = alive.pop(rng.randrange(len(alive)))
            text += composed.call(tid, at, at + 5, release, ptr=block)
            live -= size
            truth.append((at, live))
        else:
            block, size = 0x1000 * (len(truth) + 1), rng.choice([16, 100, 5000, rng.randrange(1, 10 ** 6)])
            text += composed.call(tid, at, at + 7, allocate, returnptr=block, **{names[allocate]: size})
            alive.append((block, size))
            live += size
            truth.append((at + 7, live))
        at += rng.choice([12, 50, 400, 3000])
    return text, truth


def check(points, truth, slot):
    """Each point was so; and of each slot the least, the largest and the last value are there, each as it was first."""
    assert len(points) <= MOST and points == sorted(points)
    assert set(points) <= set(truth)
    slots = {}
    for time, value in truth:
        slots.setdefault(time // slot, []).append(value)
    for number, values in slots.items():
        inside = [value for time, value in points if time // slot == number]
        before = [value for time, value in points if time // slot < number][-1:]
        assert {min(values), max(values), values[-1]} <= {*inside, *before}, number


def test_memory_of_each_rank(tmp_path):
    """Slots end in time with the run: 166 of them, with three points at most."""
    end = 2_000_000
    texts, truths = zip(*(blocks_of(rank, rank + 1, end) for rank in range(3)))
    page = exported(composed.compose(tmp_path / "run.gasp", composed.ranks(3, init=False) + "".join(texts) +
                                     f"end {end}\n"))
    report = json.loads(page.blocks["report"])
    found = json.loads(page.blocks["series"])
    assert found["left_out"] == 0 and [(one["what"], one["rank"], one["model"]) for one in found["series"]] == \
        [("memory", rank, "c") for rank in range(3)]
    for one, truth in zip(found["series"], truths):
        points = list(zip(one["at_ns"], one["values"]))
        assert 100 < len(points) < len(truth) and found["slot_ns"] == end // 166 + 1
        check(points, truth, found["slot_ns"])
        heap, = [heap for heap in report["memory"]["heaps"] if heap["rank"] == one["rank"]]
        assert max(one["values"]) == heap["high_water_bytes"] and one["values"][-1] == heap["live_bytes"]
        assert (heap["high_water_ns"] - page.facts["start_ns"], heap["high_water_bytes"]) in points


def test_few_changes_are_all_there(tmp_path):
    text, truth = blocks_of(7, 1, 10 ** 7, most=60)
    page = exported(composed.compose(tmp_path / "run.gasp", "process 1 0\n" + text + f"end {10 ** 9}\n"))
    slot = json.loads(page.blocks["series"])["slot_ns"]
    assert len({time // slot for time, _ in truth}) == 1, "all in one slot"
    page = exported(composed.compose(tmp_path / "run.gasp", "process 1 0\n" + text + f"end {truth[-1][0] + 1}\n"))
    found = json.loads(page.blocks["series"])
    check(list(zip(found["series"][0]["at_ns"], found["series"][0]["values"])), truth, found["slot_ns"])


def test_of_a_recording_that_was_cut(tmp_path):
    text, truth = blocks_of(3, 1, 10 ** 12, most=20000)
    whole = composed.compose(tmp_path / "whole.gasp", "process 1 0\n" + text)
    cut = tmp_path / "cut.gasp"
    cut.write_bytes(whole.read_bytes()[:-40])
    found = json.loads(exported(cut).blocks["series"])
    check(list(zip(found["series"][0]["at_ns"], found["series"][0]["values"])), truth, found["slot_ns"])


def test_a_forged_end(tmp_path):
    """What comes behind the end of the run takes no more room than what is before it."""
    text, _ = blocks_of(4, 1, 10 ** 12, most=20000)
    one, = json.loads(exported(composed.compose(tmp_path / "run.gasp", f"process 1 0\n{text}end 200000\n"))
                      .blocks["series"])["series"]
    assert len(one["values"]) <= MOST and one["at_ns"][-1] <= 200000


def test_a_heap_of_its_own_and_one_of_all(tmp_path):
    """The symmetric heap is another one than that of malloc; what all ranks have together is of no rank."""
    mine, truth = blocks_of(5, 1, 10 ** 6, ("shmem_malloc", "shmem_free"), most=40)
    shared = "".join(composed.call(1, 2 * 10 ** 6 + 100 * i, 2 * 10 ** 6 + 100 * i + 9, "_upcr_alloc", nbytes=8 * i,
                                   newshrd_ptr=0x10_0000_1000 + 64 * i) for i in (1, 2))
    page = exported(composed.compose(tmp_path / "run.gasp", composed.ranks(2, init=False) + mine + shared +
                                     f"end {3 * 10 ** 6}\n"))
    found = {(one["model"], one["rank"]): list(zip(one["at_ns"], one["values"]))
             for one in json.loads(page.blocks["series"])["series"]}
    check(found["shmem", 0], truth, 3 * 10 ** 6 // 166 + 1)
    (_, last), = [(key, one) for key, one in found.items() if key != ("shmem", 0)]
    assert [key[1] for key in found if key != ("shmem", 0)] == [None]
    assert last == [(2 * 10 ** 6 + 109, 8), (2 * 10 ** 6 + 209, 24)]


def test_nothing_goes_up_and_down(tmp_path):
    page = exported(composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER))
    assert "series" not in page.blocks
