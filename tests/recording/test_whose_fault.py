# SPDX-License-Identifier: BSD-2-Clause
"""Somebody is late: by a fault of its own, or since it had no processor, or by chance; and a run that ends with a join
has something to gain, too."""
import json
import random

import pytest

import composed
import gaspbpf
from composed import call, ranks, receive, send

pytestmark = pytest.mark.files

MS, STEPS, LATE = 10**6, 30, 3
TEAM = 4


def findings(tmp_path, text, kind="delay"):
    recording = composed.compose(tmp_path / "run.gasp", text)
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    return [finding for finding in seen["findings"] if finding["kind"] == kind], seen


def steps(meet, base=MS, late=3 * MS):
    """(text, end): each step all work `base`, LATE longer, and meet."""
    text, now = "", 1000
    for _ in range(STEPS):
        comes = {tid: now + base + (late if tid == LATE else 1000 * tid) for tid in range(1, TEAM + 1)}
        now = max(comes.values()) + 10_000
        text += "".join(meet(tid, start, now) for tid, start in comes.items())
    return text, now


def mpi_barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})


@pytest.mark.parametrize("share, others, found", [
    (0, 0, True), (0.9, 0, False), (0.5, 0, True), (0.9, 1.2, True), (0.9, 0.9, False)])
def test_no_processor_is_no_fault(tmp_path, share, others, found):
    """As long as what it is late. Where the others had as little of the processors, that is not why it is late; but not
    where they were queued while they waited for it, and lost nothing (for 3 of 4 ms)."""
    text, end = steps(mpi_barrier)
    for tid in range(1, TEAM + 1):
        queued = int((share if tid == LATE else others) * 3 * MS * STEPS)
        text += f"scheduled {tid} {end} {end - queued} {queued} 2 0\n"
    told, _ = findings(tmp_path, ranks(TEAM) + text + f"end {end}\n")
    assert [finding["tid"] for finding in told] == [LATE] * found


@pytest.mark.parametrize("share, found", [(0.4, True), (0.6, False)])
def test_what_is_left_without_that(tmp_path, share, found):
    """It is a tenth longer than the others; without what it was queued it must be a twentieth."""
    text, end = steps(mpi_barrier, late=MS // 10)
    for tid in range(1, TEAM + 1):
        queued = int(share * MS // 10 * STEPS) if tid == LATE else 0
        text += f"scheduled {tid} {2 * end} {end - queued} {queued} 2 0\n"
    told, _ = findings(tmp_path, ranks(TEAM) + text + f"end {2 * end}\n")
    assert [finding["tid"] for finding in told] == [LATE] * found


def test_a_run_that_ends_with_a_join(tmp_path):
    """The thread that waits for all others to end is in that call for as long as they run."""
    def meet(tid, start, end):
        return call(tid, start, end, "pthread_barrier_wait", barrier="0x10")
    text, end = steps(meet)
    team = "process 9 -1\n" + "".join(f"thread 9 {tid}\n" for tid in range(1, TEAM + 1))
    joins = call(9, 500, end + 5000, "pthread_join", thread="0x20")
    told, _ = findings(tmp_path, team + text + joins + f"end {end + 5000}\n")
    assert [finding["tid"] for finding in told] == [LATE]
    assert 0.9 * 3 * MS * STEPS <= told[0]["gain_ns"] <= 3.1 * MS * STEPS
    assert not findings(tmp_path, team + text + joins + f"end {end + 5000}\n", "critical_path")[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("late", [0, 3 * MS])
def test_both_come_late_to_one_meeting(tmp_path, seed, late):
    """A send that waits for its receive: nobody else does the same as either of the two, and it is chance who is first,
    unless one of them is late."""
    numbers, text, now = random.Random(seed), ranks(2), 1000
    for _ in range(STEPS):
        sends, receives = (now + numbers.randint(MS // 2, MS) + more for more in (0, late))
        now = max(sends, receives) + 5000
        text += send(1, sends, now, 1, symbol="MPI_Ssend") + receive(2, receives, now, 0)
    told, _ = findings(tmp_path, text + f"end {now}\n")
    assert [finding["tid"] for finding in told] == ([2] if late else [])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("late", [0, 3 * MS, "once"])
@pytest.mark.parametrize("way", ["variable", "locks", "locks and others"])
def test_who_is_first_is_chance_also_where_both_do_something_else(tmp_path, way, late, seed):
    """Each does what the other does not, and then they meet. Where one of them waits for a variable that the other one
    sets, it waits there; else in the barrier, which both come to from a call of their own; and more may wait for the
    last of them, too."""
    numbers, count, now = random.Random(seed), 8 if way == "locks and others" else 2, 1000
    text = ranks(count)
    for step in range(STEPS):
        start = now + (MS * 7 // 10 if count > 2 else 0)
        waits, sets = (now + numbers.randint(MS // 2, MS) + more
                       for more in (40 * MS * (step == 9) if late == "once" else late, 0))
        now = max(waits, sets, start) + 20_000
        if way == "variable":
            text += call(1, waits, now - 14_000, "shmem_long_wait_until", ivar=0x1048, cmp=0)
            text += call(2, sets, sets + 500, "shmem_long_p", dest=0x1048, value=1, pe=0)
        else:
            for tid, at in ((1, waits), (2, sets)):
                text += call(tid, at, at + 500, "MPI_Win_lock", rank=tid - 1, win=7, site=f"own.c:{tid}")
                text += call(tid, at + 600, at + 700, "MPI_Win_unlock", rank=tid - 1, win=7, site=f"own.c:{tid}0")
        starts = now - 13_900 if way == "variable" else waits + 800, sets + 800, *[start] * (count - 2)
        text += "".join(call(tid, start, now, "MPI_Barrier", site="job.c:9", **{"comm.id": 0, "comm.rank": tid - 1})
                        for tid, start in enumerate(starts, 1))
    told, _ = findings(tmp_path, text + f"end {now}\n")
    assert [finding["tid"] for finding in told] == ([1] if late and late != "once" else [])


def test_two_are_late_to_barriers_of_one_line(tmp_path):
    """Rank 2 as all others are not; rank 0 by something that it does alone. Both wait for each other in the barrier."""
    text, now = "", 1000
    for _ in range(STEPS):
        text += call(1, now + 2 * MS, now + 2 * MS + 500, "MPI_Win_lock", rank=0, win=7, site="own.c:1")
        for late in 1, LATE:
            ends = now + 3 * MS
            text += "".join(call(tid, ends - 10_000 if tid == late else now + 10 * tid + (MS // 2 if tid != 1 else 0),
                                 ends, "MPI_Barrier", site="job.c:9", **{"comm.id": 0, "comm.rank": tid - 1})
                            for tid in range(1, TEAM + 1))
            now = ends
    told, _ = findings(tmp_path, ranks(TEAM) + text + f"end {now}\n")
    assert {finding["tid"] for finding in told} == {1, LATE}


def test_a_reduction_without_a_root(tmp_path):
    """Its result goes to all images, so all wait for the last."""
    def meet(tid, start, end):
        return call(tid, start, end, "_gfortran_caf_co_sum", result_image=0)
    text, end = steps(meet)
    told, seen = findings(tmp_path, ranks(TEAM, init=False) + text + f"end {end}\n")
    assert [finding["tid"] for finding in told] == [LATE]
    assert {pair["state"] for pair in seen["wait_states"]["pairs"]} == {"wait_at_nxn"}


def test_calls_are_lost(tmp_path):
    """What the late one does is not known, since calls of it are lost there; that it is late is."""
    def meet(tid, start, end):
        return f"lost {tid} 5\n" + mpi_barrier(tid, start, end)
    text, end = steps(meet)
    told, seen = findings(tmp_path, ranks(TEAM) + text + f"end {end}\n", "slow_thread")
    assert [finding["tid"] for finding in told] == [LATE]
    assert not [finding for finding in seen["findings"] if finding["kind"] == "delay"]


def stepping(late, other=False):
    """(text, end): 120 steps of work and a meeting; after each eighth of them all write something, and begin the next
    step after that. Rank 2 takes longer for each, or for none; or for the others than for those after the file."""
    text, now = "", 1000
    for step in range(120):
        wrote = step and step % 8 == 0
        if wrote:
            text += "".join(call(tid, now, now + 20_000, "MPI_File_write_at", fh=7, site="job.c:60")
                            for tid in range(1, TEAM + 1))
            now += 20_000
        more = late * (1 if not wrote or not other else 3)
        comes = {tid: now + 5 * MS + (more if tid == LATE else 1000 * tid) for tid in range(1, TEAM + 1)}
        now = max(comes.values()) + 10_000
        text += "".join(call(tid, start, now, "MPI_Allreduce", site="job.c:40", **{"comm.id": 0}, count=1, datatype=1)
                        for tid, start in comes.items())
    return ranks(TEAM) + text + f"end {now}\n", now


def test_one_trouble_is_told_once(tmp_path):
    """Whatever came before: it is the same work, and the same that waits for it."""
    text, end = stepping(5 * MS)
    told, seen = findings(tmp_path, text)
    finding, = told
    assert finding["evidence"]["times"] == 119  # 105 after a meeting, 14 after the file
    all_waits = sum(pair["waited_ns"] for pair in seen["wait_states"]["pairs"] if pair["for"]["tid"] == LATE)
    assert 118.5 / 120 * all_waits < finding["weight_ns"] < 119.5 / 120 * all_waits
    assert "after GASP_MPI_ALLREDUCE at job.c:40 or job.c:60, before GASP_MPI_ALLREDUCE at job.c:40" in finding["text"]
    healed, _ = stepping(0)
    assert abs(finding["gain_ns"] - (end - stepping(0)[1])) < 0.02 * end
    cause, first = [each for each in seen["delays"]["causes"] if each["tid"] == LATE]
    assert [each["event"] for each in cause["also_after"]] == ["GASP_MPI_FILE_WRITE_AT"]
    assert (first["times"], first["also_after"]) == (1, [])
    assert not findings(tmp_path, healed)[0]


def test_other_work_before_the_same_meeting_is_told_apart(tmp_path):
    """It takes far longer after each eighth step: what it does there is something else."""
    told, _ = findings(tmp_path, stepping(5 * MS, other=True)[0])
    assert [finding["evidence"]["times"] for finding in told] == [105, 14]


GRID_STEPS = 3000


def grid(late, every):
    """Two rows of two ranks: each step they meet in their row, now and then in their column. Rank 3 takes longer."""
    text, now = ranks(TEAM), [1000] * TEAM
    for step in range(GRID_STEPS):
        for rank in range(TEAM):
            now[rank] += 5 * MS + (late if rank == 3 else 0)
        groups = [((0, 1), 5, 7), ((2, 3), 6, 7)] + [((0, 2), 8, 8), ((1, 3), 9, 8)] * (step % every == every - 1)
        for members, comm, line in groups:
            end = max(now[rank] for rank in members) + 1000
            for place, rank in enumerate(members):
                text += call(rank + 1, now[rank], end, "MPI_Allreduce", site=f"rows.c:{line}", count=1, datatype=1,
                             **{"comm.id": comm, "comm.rank": place, "comm": 0x500 + comm})
                now[rank] = end
    comms = "".join(f"comm {rank + 1} {0x500 + comm} 0 {comm} {' '.join(map(str, members))}\n"
                    for members, comm in (((0, 1), 5), ((2, 3), 6), ((0, 2), 8), ((1, 3), 9)) for rank in members)
    return text + comms + f"end {max(now)}\n"


@pytest.mark.parametrize("every", [20, 28])
def test_who_was_in_step_long_ago(tmp_path, every):
    """One row is told far ahead of the other, and both were in step that many meetings ago: all waiting is for rank
    3."""
    told, seen = findings(tmp_path, grid(3 * MS, every))
    waited = sum(pair["waited_ns"] for pair in seen["wait_states"]["pairs"])
    assert waited >= (GRID_STEPS + 2 * (GRID_STEPS - every)) * 3 * MS
    assert {finding["tid"] for finding in told} == {4}
    causes = {}
    for cause in seen["delays"]["causes"]:
        causes[cause["tid"]] = causes.get(cause["tid"], 0) + cause["direct_ns"] + cause["passed_on_ns"]
    assert causes[4] >= waited - every * 3 * MS  # of the first one in the columns: there was none before
    assert not findings(tmp_path, grid(0, every))[0]
