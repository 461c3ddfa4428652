# SPDX-License-Identifier: BSD-2-Clause
"""Ranks that have as much to do as each other, and do it one after the other: made-up recordings. Times are ns; thread
n is rank n - 1.
"""
import pytest

from composed import call, ranks, receive, send
from waits import report

pytestmark = pytest.mark.files

MS = 1_000_000
STEPS = 40


def barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1, "site": "wave.c:30"})


def wave(at, works, late=0):
    """Three ranks work one after the other, `works` ms each, and hand on at wave.c:20; then all meet. With `late`, they
    begin so many ms after each other, and no later."""
    text, length = "", (3 * works if not late else works + 2 * late)
    for tid in (1, 2, 3):
        begins = at + (tid - 1) * (late or works) * MS
        if tid > 1:
            text += receive(tid, at, begins + 20, tid - 2, site="wave.c:20")
        done = begins + (late or works) * MS
        text += send(tid, done + 10, done + 15, tid if tid < 3 else -2)  # MPI_PROC_NULL
        text += barrier(tid, begins + works * MS + 30, at + length * MS + 50)
    return text


def serial(seen):
    return [finding for finding in seen["findings"] if finding["kind"] == "serialisation"]


def waves(works=10, late=0, cpus=""):
    length = (3 * works if not late else works + 2 * late) * MS + 1000
    return cpus + ranks(3) + "".join(wave(1000 + step * length, works, late) for step in range(STEPS))


def test_one_after_the_other(tmp_path):
    seen = report(tmp_path, waves())
    finding, *others = serial(seen)
    assert not others and finding == seen["findings"][0]
    assert {one["rank"] for one in finding["victims"]} == {0, 1, 2} == {one["rank"] for one in finding["culprits"]}
    assert finding["places"] == ["wave.c:20"]
    assert "ranks 0-2 " in finding["text"] and "on average 1.0 of 3 work at the same time" in finding["text"]
    assert "1.200 s of it for their turn in GASP_MPI_RECV (wave.c:20 in work)" in finding["text"]
    assert "CPU" not in finding["text"]
    # Ranks 1 and 2 wait 10 and 20 ms for their turn, ranks 0 and 1 as long at the end.
    assert finding["weight_ns"] == pytest.approx(60 * MS * STEPS, rel=0.001)
    assert finding["gain_ns"] is None and finding["gain_at_most_ns"] == pytest.approx(20 * MS * STEPS, rel=0.001)
    # What that looks like is told below it.
    assert {one["event"] for one in finding["seen_as"]} <= {"GASP_MPI_RECV", "GASP_MPI_BARRIER"}
    assert not [one for one in seen["findings"] if one["kind"] == "hot_event"]


def test_all_work_needs_its_processors(tmp_path):
    """On two processors 30 ms of work take 15 ms at least."""
    finding, = serial(report(tmp_path, waves(cpus="cpus 2\n")))
    assert finding["gain_at_most_ns"] == pytest.approx(15 * MS * STEPS, rel=0.001)
    assert "at the same time on 2 CPUs, the " in finding["text"]


def test_a_wave_that_is_pipelined(tmp_path):
    """Who begins 2 ms after the other works at the same time for 8 ms of 10."""
    seen = report(tmp_path, waves(late=2))
    assert seen["efficiency"]["serialisation"] == pytest.approx(10 / 14, abs=0.01)
    assert not serial(seen)


def test_uneven_work_is_another_thing(tmp_path):
    """Rank 0 works nine times as long as the others: they wait for it, and that is told as its delay."""
    text = ranks(3)
    for step in range(STEPS):
        at = 1000 + step * 10 * MS
        text += send(1, at + 9 * MS, at + 9 * MS + 5, 1) + receive(2, at, at + 9 * MS + 20, 0)
        text += send(2, at + 9 * MS + 30, at + 9 * MS + 40, 2) + receive(3, at, at + 9 * MS + 60, 1)
        text += "".join(barrier(tid, at + 9 * MS + 1000 * tid, at + 10 * MS - 1000) for tid in (1, 2, 3))
    seen = report(tmp_path, text)
    assert not serial(seen) and seen["findings"][0]["kind"] == "delay"


def test_a_chain_of_two_is_told_as_what_each_does(tmp_path):
    """Each of them alone gives more than half of what there is to be had."""
    text = ranks(2)
    for step in range(STEPS):
        at = 1000 + step * 22 * MS
        text += send(1, at + 11 * MS, at + 11 * MS + 10, 1)
        text += receive(2, at, at + 11 * MS + 20, 0, site="wave.c:20")
        text += "".join(barrier(tid, at + since * MS, at + 22 * MS - 500) for tid, since in ((1, 12), (2, 21)))
    seen = report(tmp_path, text)
    assert not serial(seen)
    assert {finding["tid"] for finding in seen["findings"] if finding["kind"] == "delay"} == {1, 2}


def test_who_is_late_by_turns_in_meetings(tmp_path):
    """In each step another one works 20 ms, the others 1 ms: it is even in all, and no chain, though a message is
    waited for each time, for a millisecond."""
    text = ranks(3)
    for step in range(3 * STEPS):
        at = 1000 + step * 23 * MS
        text += send(1, at + MS, at + MS + 10, 1) + receive(2, at, at + MS + 20, 0, site="wave.c:20")
        text += "".join(barrier(tid, at + (21 if tid == 1 + step % 3 else 2) * MS, at + 21 * MS + 100)
                        for tid in (1, 2, 3))
    seen = report(tmp_path, text)
    assert seen["efficiency"]["serialisation"] < 0.6 and seen["efficiency"]["load_balance"] > 0.9
    assert not serial(seen)


def test_who_is_late_by_turns_in_messages(tmp_path):
    """Two ranks do different things for 10 ms at the same time, and one of them for 160 ms more, by turns: half of all
    receives wait."""
    text = ranks(2)
    for step in range(STEPS):
        at = 1000 + step * 180 * MS
        late = 1 + step % 2
        for tid in (1, 2):
            done = at + (170 if tid == late else 10) * MS
            text += send(tid, done, done + 10, 2 - tid, site=f"wave.c:{tid}")
            text += receive(tid, done + 20, max(done + 40, at + 170 * MS + 50), 2 - tid,
                            site="wave.c:20")
    seen = report(tmp_path, text)
    assert seen["efficiency"]["serialisation"] < 0.6 and not serial(seen)


@pytest.mark.parametrize("queued, told", [(100, False), (90, True)])
def test_for_lack_of_processors(tmp_path, queued, told):
    """All of their work may have been waiting for a processor; or 3 ms of 10 in each turn were not: it is a chain."""
    text = waves()
    end = STEPS * (30 * MS + 1000) + 1000
    text += "".join(f"scheduled {tid} {end} {end * (100 - queued) // 100} {end * queued // 100} 3 0\n"
                    for tid in (1, 2, 3))
    assert bool(serial(report(tmp_path, text))) == told
