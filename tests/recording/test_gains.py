# SPDX-License-Identifier: BSD-2-Clause
"""What a finding says that the run would be shorter by, against the run without what the finding is about: both are
recordings made here. Times are ns.
"""
import heapq
import random

import pytest

import composed
import gaspbpf
from composed import call
from waits import report

pytestmark = pytest.mark.files
MS = 1_000_000


def gain(tmp_path, text, kind):
    finding, = (each for each in report(tmp_path, text)["findings"] if each["kind"] == kind)
    assert finding["gain_ns"] is not None
    assert "observed would be" in finding["text"] and "shorter" in finding["text"]
    return finding["gain_ns"]


def near(seen, really):
    return abs(seen - really) <= 0.25 * really


def team(members, rounds, shared=True, named=True):
    """Threads that work outside of a lock and then under it, again and again, by members' times: (text, end). A
    critical section without a name is one of the process, and its calls say nothing of it."""
    text, ends, free_at = "process 1 -1\n", [], {}
    text += "".join(f"thread 1 {tid}\n" for tid in range(2, len(members) + 2))
    numbers = {tid: random.Random(tid) for tid in range(2, len(members) + 2)}
    ready = [(outside, tid) for tid, (outside, _) in enumerate(members, 2)]
    left = {tid: rounds for _, tid in ready}
    heapq.heapify(ready)
    while ready:
        comes, tid = heapq.heappop(ready)
        outside, under = members[tid - 2]
        which = 0x5000 if shared else 0x5000 + 64 * tid
        takes, gives_back = ("pthread_mutex_lock", "pthread_mutex_unlock") if named else (
            "GOMP_critical_start", "GOMP_critical_end")
        name = {"mutex": which} if named else {}
        has = max(comes, free_at.get(which, 0)) + 100
        text += call(tid, comes, has, takes, **name, site="lock.c:10")
        text += call(tid, has + under, has + under + 50, gives_back, **name, site="lock.c:20")
        free_at[which] = has + under
        left[tid] -= 1
        ends.append(has + under + 50)
        if left[tid]:
            again = has + under + 50 + numbers[tid].randint(outside // 2, outside * 3 // 2)
            heapq.heappush(ready, (again, tid))
    # The first thread waits for the others' ends: nobody can tell for whom. Then it prints what came out.
    text += call(1, 100, max(ends) + 200, "pthread_join", thread=1)
    text += call(1, max(ends) + 210, max(ends) + 220, "pthread_mutex_lock", mutex=0x9000, site="stdio.c:1")
    text += call(1, max(ends) + 230, max(ends) + 240, "pthread_mutex_unlock", mutex=0x9000, site="stdio.c:2")
    return text + f"end {max(ends) + 300}\n", max(ends)


@pytest.mark.parametrize("members", [
    [(10_000, 50_000), (60_000, 1_000)], [(5_000, 20_000)] * 4, [(40_000, 10_000)] * 3],
    ids=["one holds it", "all hold it", "seldom"])
def test_a_lock(tmp_path, members):
    sick, ends = team(members, 40)
    _, healed_ends = team(members, 40, shared=False)
    assert near(gain(tmp_path, sick, "lock_contention"), ends - healed_ends)


def test_a_lock_without_a_name(tmp_path):
    sick, ends = team([(5_000, 20_000)] * 4, 40, named=False)
    _, healed_ends = team([(5_000, 20_000)] * 4, 40, shared=False)
    assert near(gain(tmp_path, sick, "lock_contention"), ends - healed_ends)


def job(works, lines=("job.c:1",)):
    """Ranks that work and then meet, again and again, by turns at these lines; works has for each round what each rank
    works: (text, end)."""
    text, at = composed.ranks(len(works[0])), 100 * MS
    for number, work in enumerate(works):
        end = at + max(work) + MS
        text += "".join(call(tid, at + busy, end, "MPI_Barrier", site=lines[number % len(lines)],
                             **{"comm.id": 0, "comm.rank": tid - 1}) for tid, busy in enumerate(work, 1))
        at = end
    for tid in range(1, len(works[0]) + 1):
        text += call(tid, at + 50 * MS, at + 60 * MS, "MPI_Finalize")
    return text, at


def test_iterations_out_of_line(tmp_path):
    works = [(4 * MS, 2 * MS, 3 * MS)] * 40
    healed = job(works)[1]
    works[12] = (4 * MS, 24 * MS, 3 * MS)
    works[21] = (34 * MS, 2 * MS, 33 * MS)
    text, end = job(works)
    assert near(gain(tmp_path, text, "outlier_iterations"), end - healed)


def together(tmp_path, recorded):
    """What the report says of all findings together, and its text: (gains, together, text)."""
    seen = report(tmp_path, recorded)
    text = gaspbpf.run("report", tmp_path / "run.gasp", "--section", "findings").stdout
    return [each["gain_ns"] for each in seen["findings"]], seen["gains"], " ".join(text.split())


def test_gains_that_add_up(tmp_path):
    """One is late before the one meeting, another before the next: as much earlier as the run without either."""
    works, lines = [(4 * MS, 20 * MS, 5 * MS), (4 * MS, 5 * MS, 24 * MS)] * 40, ("a.c:1", "b.c:2")
    healed = job([(4 * MS, 5 * MS, 5 * MS), (4 * MS, 5 * MS, 5 * MS)] * 40, lines)[1]
    gains, all_of_it, text = together(tmp_path, job(works, lines)[0])
    assert len(gains) == 2 and all_of_it["findings"] == [1, 2]
    assert all_of_it["sum_ns"] == sum(gains) and abs(all_of_it["together_ns"] - sum(gains)) < sum(gains) / 1000
    assert near(all_of_it["together_ns"], job(works, lines)[1] - healed)
    assert "1 and 2 together: the" in text and "shorter: what each gives adds up." in text
    assert all_of_it["text"] in text and "overlap" not in text


def test_gains_that_overlap(tmp_path):
    """One is always late, and twice for longer: whoever mends the one has most of the other."""
    works = [(4 * MS, 20 * MS, 5 * MS)] * 40
    healed = job([(4 * MS, 5 * MS, 5 * MS)] * 40)[1]
    works[12], works[21] = (4 * MS, 94 * MS, 5 * MS), (4 * MS, 120 * MS, 5 * MS)
    gains, all_of_it, text = together(tmp_path, job(works)[0])
    assert len(gains) == 2 and all_of_it["sum_ns"] == sum(gains)
    assert max(gains) <= all_of_it["together_ns"] < 0.9 * sum(gains)
    assert near(all_of_it["together_ns"], job(works)[1] - healed)
    assert "That is less than the sum of what each gives" in text and "they overlap." in text


def test_one_gain_has_nothing_to_add_up_with(tmp_path):
    _, all_of_it, text = together(tmp_path, job([(4 * MS, 20 * MS, 5 * MS)] * 40)[0])
    assert all_of_it is None and "together" not in text


def messages(small):
    """Rank 0 puts in each round what rank 1 then uses, in one go or bit by bit: (text, end)."""
    text, at = composed.ranks(2) + "".join(f"comm {tid} 32 0 0 0 1\n" for tid in (1, 2)), 1000
    for _ in range(20):
        begins = at
        for _ in range(64 if small else 1):
            text += call(1, at, at + 2000, "MPI_Put", target_rank=1, origin_count=32, origin_datatype=1, win=7,
                         site="put.c:10")
            at += 2200
        for tid in (1, 2):
            text += call(tid, at + 3000 if tid == 1 else begins + 100, at + 3100, "MPI_Barrier", comm=32,
                         **{"comm.id": 0, "comm.rank": tid - 1})
        at += 3200
    return text + f"end {at}\n", at


def test_many_small_messages(tmp_path):
    text, end = messages(True)
    assert near(gain(tmp_path, text, "small_messages"), end - messages(False)[1])


def churning(blocks):
    """Rank 1 works and uses short-lived blocks; then it meets rank 0, which waits for it: (text, end)."""
    text, at = composed.ranks(2), 1000
    for turn in range(2000):
        at += 6000
        if blocks:
            text += call(2, at, at + 1000, "malloc", nbytes=64, returnptr=0x1000, site="job.c:50")
            text += call(2, at + 1500, at + 2500, "free", ptr=0x1000, site="job.c:51")
            at += 2500
    for tid in (1, 2):
        text += call(tid, 5000 if tid == 1 else at, at + 100, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})
    return text + f"end {at + 200}\n", at


def test_churn(tmp_path):
    text, end = churning(True)
    assert near(gain(tmp_path, text, "churn"), end - churning(False)[1])


def exchanges(late, how):
    """Each of three ranks works, and gives what it has to the next one: a call, or a wait, ends when both of its
    neighbours have come, of whom one is sent to, and takes it only then. Rank 2 works for longer, or does not: (text,
    end)."""
    text, at = composed.ranks(3), 100 * MS
    world = {"comm.id": 0}
    for _ in range(30):
        comes = [at + (20 if rank == 2 and late else 10) * MS + 10_000 * rank for rank in range(3)]
        for rank, begun in enumerate(comes):
            to, source = (rank + 1) % 3, (rank + 2) % 3
            end = max(begun, comes[to], comes[source]) + 200_000
            if how == "MPI_Sendrecv":
                text += call(rank + 1, begun, end, how, dest=to, sendtag=3, source=source, recvtag=3, sendcount=9999,
                             recvcount=9999, sendtype=1, recvtype=1, site="ring.c:10", **world)
                continue
            sent = max(begun, comes[to]) + 100_000
            text += call(rank + 1, begun, begun + 100, "MPI_Irecv", source=source, tag=3, request=7, site="ring.c:9",
                         **world)
            asked = {"request": 8} if how == "MPI_Isend" else {}
            text += call(rank + 1, begun + 200, begun + 300 if asked else sent, how, dest=to, tag=3, site="ring.c:10",
                         **asked, **world)
            if asked:
                text += call(rank + 1, begun + 400, sent, "MPI_Wait", request=8, site="ring.c:11")
            text += call(rank + 1, sent + 100, end, "MPI_Wait", request=7, site="ring.c:12")
        at = max(comes) + 200_000
    for tid in range(1, 4):
        text += call(tid, at + 5 * MS, at + 6 * MS, "MPI_Finalize")
    return text, at


@pytest.mark.parametrize("how", ["MPI_Sendrecv", "MPI_Send", "MPI_Isend"])
def test_who_is_sent_to_comes_late(tmp_path, how):
    """Large messages go when the receiver is there: who sends waits for it, too."""
    text, end = exchanges(True, how)
    assert near(gain(tmp_path, text, "delay"), end - exchanges(False, how)[1])


def lock_beside(works, late):
    """Two threads take one lock at the same time in each of 40 rounds, and hold it so long; then they meet a third one,
    which comes as late: (text, end)."""
    text, at = composed.threads(3), 1000
    for _ in range(40):
        first, second = at + 100 + works, at + 200 + 2 * works
        text += call(1, at, at + 100, "pthread_mutex_lock", mutex=0x5000, site="lock.c:10")
        text += call(1, first, first + 10, "pthread_mutex_unlock", mutex=0x5000, site="lock.c:20")
        text += call(2, at + 10, first + 100, "pthread_mutex_lock", mutex=0x5000, site="lock.c:10")
        text += call(2, second, second + 10, "pthread_mutex_unlock", mutex=0x5000, site="lock.c:20")
        end = max(second + 1000, at + late) + 100
        for tid, comes in (1, first + 100), (2, second + 100), (3, at + late):
            text += call(tid, comes, end, "pthread_barrier_wait", barrier=0x10, site="lock.c:30")
        at = end + 100
    return text + f"end {at}\n", at


@pytest.mark.parametrize("works, late, found", [
    (MS // 2, 10 * MS, False),   # 2 % of all threads' time, and the third thread makes the round as long
    (MS // 2, MS // 10, True),   # the same waits, and nobody else is waited for
    (4 * MS, 10 * MS, True),     # it gains nothing, but is much
])
def test_a_lock_that_costs_the_run_nothing(tmp_path, works, late, found):
    told = [each for each in report(tmp_path, lock_beside(works, late)[0])["findings"]
            if each["kind"].startswith("lock_")]
    assert len(told) == found
    free = late > 2 * works
    for finding in told:
        assert (finding["gain_ns"] < MS) == free
        why = "would hardly be shorter: who waits for it would else wait for other threads"
        assert (why in finding["text"]) == free
