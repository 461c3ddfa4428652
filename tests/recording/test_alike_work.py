# SPDX-License-Identifier: BSD-2-Clause
"""Who is at a border calls something else after the same work: the first and the last of a pipeline, the root of a
reduction. Its work is compared with that of the others, all the same. Times are ns."""
import random

import pytest

import composed
import gaspbpf
from composed import call, ranks, receive, send
from waits import report

pytestmark = pytest.mark.files
MS, STEPS = 10**6, 40


def of_kind(seen, kind):
    return [finding for finding in seen["findings"] if finding["kind"] == kind]


def pipeline(slow=2 * MS, uneven=0):
    """Stage 0 works and sends, 1 receives, works and sends, 2 receives and works: 2 ms each, the last one `slow`.
    (text, end)"""
    text, free, numbers = ranks(3), [1000, 1000, 1000], random.Random(1)
    for _ in range(STEPS):
        busy = [each + numbers.randint(-uneven, uneven) for each in (2 * MS, 2 * MS + 60_000, slow)]
        ready = free[0] + busy[0]
        meets = max(ready, free[1]) + 5000
        text += send(1, ready, meets, 1, symbol="MPI_Ssend", site="ring.c:26") + receive(2, free[1], meets, 0)
        done = meets + busy[1]
        passes = max(done, free[2]) + 5000
        text += send(2, done, passes, 2, symbol="MPI_Ssend", site="ring.c:26") + receive(3, free[2], passes, 1)
        free = [meets, passes, passes + busy[2]]
    text += "".join(call(tid, max(free) + 10, max(free) + 20, "MPI_Finalize") for tid in (1, 2, 3))
    return text, max(free) + 20


def test_two_calls_of_one_line_are_told_apart(tmp_path):
    """What is between a call and another one of the same line is not "from one to the next"."""
    text = composed.ranks(2)
    for at in range(0, 40_000_000, 1_000_000):
        for tid, works in (1, 100_000), (2, 700_000):
            text += composed.call(tid, at + 10, at + 1000, "MPI_Allreduce", site="job.c:9",
                                  **{"comm.id": 0, "comm.rank": tid - 1})
            text += composed.call(tid, at + 1000 + works, at + 701_500, "MPI_Barrier", site="job.c:9",
                                  **{"comm.id": 0, "comm.rank": tid - 1})
    recording = composed.compose(tmp_path / "run.gasp", text)
    said = " ".join(gaspbpf.run("report", recording).stdout.split())
    assert "(from GASP_MPI_ALLREDUCE to GASP_MPI_BARRIER at job.c:9 in work), 700.0 us each time" in said


def test_the_last_stage_is_slow(tmp_path):
    sick, end = pipeline(6 * MS)
    _, healed_end = pipeline()
    finding, = of_kind(report(tmp_path, sick), "delay")
    assert finding["tid"] == 3
    assert "6.000 ms each time on average (what the other one does instead: 2.060 ms)" in finding["text"]
    assert abs(finding["gain_ns"] - (end - healed_end)) <= 0.1 * (end - healed_end)


@pytest.mark.parametrize("uneven", [0, MS])
def test_all_stages_are_alike(tmp_path, uneven):
    seen = report(tmp_path, pipeline(uneven=uneven)[0])
    assert not of_kind(seen, "delay") and not of_kind(seen, "critical_path")


def test_who_is_waited_for_first_is_not_slow(tmp_path):
    """Rank 0 takes from 1 and then from 2, which has sent by then: all waiting is for 1, which is quicker than 2."""
    text, now, numbers = ranks(3), 1000, random.Random(1)
    for _ in range(STEPS):
        first = now + numbers.randint(MS // 2, MS * 3 // 2)
        second = first + MS // 16
        text += send(2, first, first + 1000, 0) + send(3, second, second + 1000, 0)
        text += receive(1, now + 1000, first + 2000, 1) + receive(1, first + MS // 8, first + MS // 8 + 1000, 2)
        now = first + MS // 8 + 3000
        text += "".join(call(tid, came, now, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})
                        for tid, came in ((1, now - 1000), (2, first + 2000), (3, second + 2000)))
    assert not of_kind(report(tmp_path, text), "delay")


def test_who_has_no_other_to_be_compared_with(tmp_path):
    """A master that all wait for does what nobody does: how quick it could be is not known."""
    text, now = ranks(3), 1000
    for _ in range(STEPS):
        text += "".join(receive(1, now + 3000 * tid, now + 3000 * tid + 1000, tid, site="master.c:6") for tid in (1, 2))
        answers = now + 3 * MS
        for tid in (2, 3):
            text += send(tid, now - 500, now, 0, site="worker.c:9")
            text += receive(tid, now + 500, answers + 5000, 0, tag=1, site="worker.c:10")
            text += send(1, answers + 1000 * tid, answers + 1000 * tid + 500, tid - 1, tag=1, site="master.c:8")
        now = answers + MS
    finding, *_ = of_kind(report(tmp_path, text), "delay")
    assert finding["tid"] == 1 and "did that take no time at all, the " in finding["text"]
    assert "others" not in finding["text"].split(";")[-1]


def test_a_chain_of_notifications(tmp_path):
    """PE 0 waits for a variable that 1 sets, which has waited for one that 2 sets: 2 alone works longer, so each wait
    is for its work, whoever sets the variable."""
    text, now, addresses = "".join(f"process {tid} {tid - 1}\n" for tid in (1, 2, 3)), 1000, (0x1000, 0x2000, 0x3000)
    for step in range(1, STEPS + 1):
        late = now + 3 * MS
        passes, ends = late + 2 * MS, late + 4 * MS
        # 2 works for 3 ms and tells 1, which has waited since 1 ms; it works 2 ms more and tells 0.
        text += call(3, late, late + 500, "shmem_long_p", dest=addresses[1], value=step, pe=1)
        text += call(2, now + MS, late + 1000, "shmem_long_wait_until", ivar=addresses[1], cmp=0)
        text += call(2, passes, passes + 500, "shmem_long_p", dest=addresses[0], value=step, pe=0)
        text += call(1, now + 3 * MS, passes + 1000, "shmem_long_wait_until", ivar=addresses[0], cmp=0)
        # and 0 tells 2, which waits for that.
        text += call(1, ends, ends + 500, "shmem_long_p", dest=addresses[2], value=step, pe=2)
        text += call(3, late + 3 * MS, ends + 1000, "shmem_long_wait_until", ivar=addresses[2], cmp=0)
        now = ends + 1000
    causes = report(tmp_path, text)["delays"]["causes"]
    assert sum(cause["passed_on_ns"] for cause in causes if cause["tid"] == 3) > STEPS * MS // 2


@pytest.mark.parametrize("part, told", [(0.95, True), (0.8, True), (0.6, False), (0.5, False)])
def test_the_last_of_two(tmp_path, part, told):
    """Of two members one that is last in three of four meetings is persistent; in 3 of 5 it may be chance."""
    text, now, rounds = ranks(2), 1000, 100
    for turn in range(rounds):
        late = 1 if turn < part * rounds else 2
        now += MS
        text += "".join(call(tid, now - (0 if tid == late else MS // 2), now + 1000, "MPI_Barrier",
                             **{"comm.id": 0, "comm.rank": tid - 1}) for tid in (1, 2))
    place, = report(tmp_path, text)["meetings"]
    assert [member["persistent"] for member in place["members"] if member["last"] == part * rounds][0] == told
