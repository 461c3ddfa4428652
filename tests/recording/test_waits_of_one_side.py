# SPDX-License-Identifier: BSD-2-Clause
"""Who waits for whom where transfers are one-sided, and where one thread tells another to go on: recordings in which
each answer can be read off. Times are ns; thread n is rank n - 1.
"""
import pytest

import composed
from composed import call, ranks
from waits import causes, report, states

pytestmark = pytest.mark.files


def post(tid, start, end, win=7):
    return call(tid, start, end, "MPI_Win_post", win=win)


def start(tid, begin, end, win=7):
    return call(tid, begin, end, "MPI_Win_start", win=win)


def put(tid, start, end, target, win=7):
    return call(tid, start, end, "MPI_Put", target_rank=target, win=win, origin_count=1, origin_datatype=1)


def complete(tid, start, end, win=7):
    return call(tid, start, end, "MPI_Win_complete", win=win)


def wait(tid, start, end, win=7):
    return call(tid, start, end, "MPI_Win_wait", win=win)


def barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})


def test_a_late_post_and_a_late_complete(tmp_path):
    """Rank 0 waits in its start until rank 1 posts; rank 1 in its wait for the put, and after that for the complete."""
    seen = report(tmp_path, ranks(2) + start(1, 100, 310) + put(1, 340, 350, 1) + complete(1, 380, 390)
                  + post(2, 300, 305) + wait(2, 320, 395))
    assert states(seen) == {("late_post", 1, 2): 200, ("early_wait", 2, 1): 30, ("late_complete", 2, 1): 30}
    assert causes(seen)[2, "outside", ("INIT", "WIN_POST")] == (200, 0)
    # Both were in step at the post, which 1 left at 305: 0 has done 75 ns since then, and 1 waits for 60 of them.
    assert causes(seen)[1, "outside", ("PUT", "WIN_COMPLETE")] == (30 * 60 // 75, 0)
    assert causes(seen)[1, "outside", ("WIN_START", "PUT")] == (30 * 60 // 75, 0)
    assert seen["wait_states"]["untold"] == 0


def test_who_is_waited_for_is_no_victim(tmp_path):
    """Rank 1 posts late, rank 0 is late at the barrier for that, and rank 1 waits there: for itself, in the end."""
    text = ranks(2)
    for at in range(0, 40 * 1_000_000, 1_000_000):
        text += start(1, at + 100, at + 600_310) + put(1, at + 600_340, at + 600_350, 1)
        text += complete(1, at + 600_380, at + 600_390) + barrier(1, at + 700_000, at + 900_000)
        text += post(2, at + 600_300, at + 600_305) + wait(2, at + 600_320, at + 600_395)
        text += barrier(2, at + 600_400, at + 900_000)
    seen = report(tmp_path, text)
    finding = next(one for one in seen["findings"] if one["kind"] == "delay" and one["tid"] == 2)
    assert [one["tid"] for one in finding["victims"]] == [1] and "while rank 0 waits for it" in finding["text"]


@pytest.mark.parametrize("began, transferred, completed", [
    ((100, 105), (110, 115), (120, 310)), ((100, 105), (120, 310), (320, 325))], ids=["complete", "put"])
def test_whichever_call_waits_for_the_post(tmp_path, began, transferred, completed):
    seen = report(tmp_path, ranks(2) + start(1, *began) + put(1, *transferred, 1) + complete(1, *completed)
                  + post(2, 300, 305) + wait(2, 330, 335))
    assert states(seen) == {("late_post", 1, 2): 180}


def test_the_last_of_several(tmp_path):
    """Rank 0 accesses two ranks: it waits for the later post. Rank 1 waits for both who access it."""
    seen = report(tmp_path, ranks(3) + start(1, 100, 210) + put(1, 220, 222, 1) + put(1, 223, 225, 2)
                  + complete(1, 230, 235) + post(2, 150, 155) + wait(2, 160, 410) + post(3, 200, 205)
                  + start(3, 206, 208) + put(3, 210, 400, 1) + complete(3, 400, 405) + wait(3, 406, 408))
    assert states(seen) == {("late_post", 1, 3): 100, ("early_wait", 2, 3): 240}


def test_nobody_waits_for_what_is_open(tmp_path):
    seen = report(tmp_path, ranks(2) + post(2, 50, 55) + start(1, 100, 105) + put(1, 110, 115, 1)
                  + complete(1, 120, 125) + wait(2, 200, 205))
    assert states(seen) == {} and seen["wait_states"]["untold"] == 0


def test_an_epoch_without_accesses_tells_nothing(tmp_path):
    seen = report(tmp_path, ranks(2) + start(1, 100, 310) + complete(1, 320, 325) + post(2, 300, 305)
                  + wait(2, 310, 330))
    assert states(seen) == {} and seen["wait_states"]["untold"] == 3


def make(tid, start, end, comm, number, win):
    return call(tid, start, end, "MPI_Win_create", comm=comm, win=win, **{"comm.id": number})


def test_which_window_it_is(tmp_path):
    """Handles mean something in their process only: here rank 1's are the other way round, and one window is of two
    ranks, with numbers of their own."""
    text = ranks(3) + "comm 2 64 0 7 1 2\ncomm 3 64 0 7 1 2\n" + \
        "".join(f"comm {tid} 32 0 0 0 1 2\n" for tid in (1, 2, 3))
    text += make(1, 20, 25, 32, 0, 7) + make(2, 20, 25, 32, 0, 8) + make(3, 20, 25, 32, 0, 7)
    text += make(2, 30, 35, 64, 7, 7) + make(3, 30, 35, 64, 7, 9)
    text += make(1, 40, 45, 32, 0, 6) + make(2, 40, 45, 32, 0, 5) + make(3, 40, 45, 32, 0, 4)
    text += start(1, 100, 410) + put(1, 420, 425, 1) + complete(1, 430, 435)  # of the first, to rank 1
    text += post(2, 150, 155, 7) + post(2, 400, 404, 8) + post(2, 405, 406, 5)  # the last is of the third
    text += start(3, 110, 160, 9) + put(3, 170, 175, 0, 9) + complete(3, 500, 505, 9)  # of the second, to its rank 0
    text += wait(2, 450, 510, 7) + wait(2, 520, 525, 8)
    assert states(report(tmp_path, text)) == {("late_post", 1, 2): 300, ("late_post", 3, 2): 40,
                                              ("late_complete", 2, 3): 50}


def test_several_windows_that_were_there_already(tmp_path):
    """Which is which cannot be told: nothing is put together, and that is said."""
    text = ranks(2, init=False) + start(1, 100, 310) + put(1, 320, 325, 1) + complete(1, 330, 335)
    seen = report(tmp_path, text + post(2, 250, 255, 8) + post(2, 300, 305) + wait(2, 310, 340) + wait(2, 350, 355, 8))
    assert states(seen) == {} and seen["wait_states"]["untold"] == 7


def test_a_fence(tmp_path):
    seen = report(tmp_path, ranks(2) + call(1, 100, 310, "MPI_Win_fence", win=7)
                  + call(2, 300, 310, "MPI_Win_fence", win=7))
    assert states(seen) == {("wait_at_fence", 1, 2): 200}


def lock(tid, start, end, target, win=7):
    return call(tid, start, end, "MPI_Win_lock", rank=target, win=win)


def unlock(tid, start, end, target, win=7):
    return call(tid, start, end, "MPI_Win_unlock", rank=target, win=win)


@pytest.mark.parametrize("waits", ["lock", "put", "unlock"])
def test_a_window_that_somebody_else_has_locked(tmp_path, waits):
    ends = {"lock": (505, 520, 525), "put": (205, 505, 525), "unlock": (205, 215, 505)}[waits]
    begins = {"lock": (200, 510, 522), "put": (200, 210, 522), "unlock": (200, 210, 220)}[waits]
    seen = report(tmp_path, ranks(3) + lock(1, 100, 110, 1) + put(1, 120, 130, 1) + unlock(1, 500, 502, 1)
                  + lock(3, begins[0], ends[0], 1) + put(3, begins[1], ends[1], 1) + unlock(3, begins[2], ends[2], 1))
    assert states(seen) == {("wait_for_lock", 3, 1): 500 - begins[("lock", "put", "unlock").index(waits)]}
    assert causes(seen)[1, "outside", ("PUT", "WIN_UNLOCK")][0] > 0


def test_the_lock_of_another_rank_is_another_one(tmp_path):
    seen = report(tmp_path, ranks(3) + lock(1, 100, 110, 1) + unlock(1, 500, 502, 1) + lock(3, 200, 505, 0)
                  + unlock(3, 510, 511, 0))
    assert states(seen) == {}


def test_a_notify_that_comes_late(tmp_path):
    text = ("process 1 0\nprocess 2 1\n" + call(1, 100, 110, "__upc_notify", expr=1)
            + call(1, 150, 330, "__upc_wait", expr=1) + call(2, 300, 320, "__upc_notify", expr=1)
            + call(2, 400, 405, "__upc_wait", expr=1))
    assert states(report(tmp_path, text)) == {("late_notify", 1, 2): 150}


def test_an_event_that_is_posted_late(tmp_path):
    """Of two posts the last one lets it go on; those to others are not for it."""
    def event_post(tid, start, end, image):
        return call(tid, start, end, "_gfortran_caf_event_post", token=0x40 + tid, index=0, image=image)
    text = "".join(f"process {image} {image}\n" for image in (1, 2, 3))
    text += call(1, 100, 310, "_gfortran_caf_event_wait", token=0x77, index=0, until_count=2)
    text += event_post(2, 200, 205, 1) + event_post(3, 300, 305, 1) + event_post(2, 306, 308, 3)
    assert states(report(tmp_path, text)) == {("late_notify", 1, 3): 200}


@pytest.mark.parametrize("stored, waits", [(0x7f0000001048, True), (0x550000003048, True), (0x7f0000001050, False)],
                         ids=["there", "mapped elsewhere", "next to it"])
def test_a_variable_that_is_set_late(tmp_path, stored, waits):
    text = "process 1 0\nprocess 2 1\n" + call(1, 100, 310, "shmem_long_wait_until", ivar=0x7f0000001048, cmp=0)
    text += call(2, 300, 305, "shmem_long_p", dest=stored, value=1, pe=0)
    seen = report(tmp_path, text)
    assert states(seen) == ({("late_notify", 1, 2): 200} if waits else {})
    assert seen["wait_states"]["untold"] == (0 if waits else 1)


@pytest.mark.parametrize("gap, waited", [(100, 200_000), (20_000, 0)], ids=["at once", "between other things"])
def test_a_variable_that_one_looks_at(tmp_path, gap, waited):
    """Again and again, until it is set."""
    looks = "".join(call(1, time, time + 400, "shmem_long_test", ivar=0x7f0000001048, cmp=0, result=0)
                    for time in range(100_000, 300_000, 400 + gap))
    text = "process 1 0\nprocess 2 1\n" + looks + \
        call(1, 300_200, 300_300, "shmem_long_test", ivar=0x7f0000001048, cmp=0, result=1) + \
        call(2, 300_000, 300_050, "shmem_long_p", dest=0x7f0000001048, value=1, pe=0)
    seen = states(report(tmp_path, text))
    assert seen == {("late_notify", 1, 2): waited} if waited else sum(seen.values()) < 20_000


def test_a_barrier_in_halves_that_one_looks_at(tmp_path):
    """bupc_try_wait() until all are there."""
    text = "process 1 0\nprocess 2 1\n" + call(1, 100, 110, "_upcr_notify", expr=1) + "".join(
        call(1, time, time + 150, "_upcr_try_wait", expr=1, result=0) for time in range(200, 30_000, 200)) + \
        call(1, 30_200, 30_250, "_upcr_try_wait", expr=1, result=1) + \
        call(2, 30_000, 30_020, "_upcr_notify", expr=1) + call(2, 30_300, 30_310, "_upcr_wait", expr=1)
    assert states(report(tmp_path, text)) == {("late_notify", 1, 2): 30_000 - 200}


def test_lost_calls(tmp_path):
    text = ranks(2) + "sum 2 MPI_Win_post 3 0 0\n" + start(1, 100, 310) + put(1, 340, 350, 1) + complete(1, 380, 390)
    seen = report(tmp_path, text + post(2, 300, 305) + wait(2, 320, 395))
    assert states(seen) == {} and seen["wait_states"]["untold"] > 0


def accesses(tmp_path, *access, call_at=300_000, took=40, target=1):
    """Rank 0 accesses rank 1's memory, which is at work from 1,000 to its next call; before that, calls end at 500."""
    text = ranks(2) + call(2, 400, 500, "MPI_Iprobe", **{"comm.id": 0}) + put(1, *access, target)
    return report(tmp_path, text + call(2, call_at, call_at + took, "MPI_Iprobe", **{"comm.id": 0}))


def test_an_access_to_somebody_who_is_busy(tmp_path):
    assert states(accesses(tmp_path, 100_000, 310_000)) == {("wait_for_progress", 1, 2): 200_000}


@pytest.mark.parametrize("access, more", [
    ((100_000, 290_000), {}), ((100_000, 400_000), {}), ((450, 310_000), {}), ((299_000, 310_000), {}),
    ((305_000, 400_000), {"took": 200_000}), ((100_000, 310_000), {"target": 0})],
    ids=["over before", "long after", "begun in a call", "short", "in a call", "its own"])
def test_an_access_that_waits_for_nobody(tmp_path, access, more):
    assert states(accesses(tmp_path, *access, **more)) == {}


def asks(begin, end):
    """Rank 1, in vain, at once again and again."""
    return "".join(call(2, time, time + 600, "MPI_Iprobe", flag=0, **{"comm.id": 0})
                   for time in range(begin, end, 1000))


def test_an_access_to_somebody_who_asks(tmp_path):
    """It is in a call while it asks."""
    text = ranks(2) + call(2, 400, 500, "MPI_Iprobe", **{"comm.id": 0}) + put(1, 100_000, 310_000, 1)
    assert states(report(tmp_path, text + asks(300_000, 400_000))) == {("wait_for_progress", 1, 2): 200_000}
    assert states(report(tmp_path, text + asks(50_000, 400_000))) == {}
    # It asked when the access began, then worked.
    assert states(report(tmp_path, text + asks(50_000, 150_000) + asks(300_000, 301_000))) == {}


def late_posts(rounds, late, usual=100):
    """Rank 1 posts late in each round; rank 2 has nothing to do with it."""
    text, now, waited = ranks(3), 1000, 0
    for _ in range(rounds):
        text += start(1, now + usual, now + late + 10) + put(1, now + late + 20, now + late + 30, 1)
        text += complete(1, now + late + 31, now + late + 40)
        text += post(2, now + late, now + late + 5) + wait(2, now + late + 50, now + late + 55)
        text += call(3, now + 10, now + 20, "MPI_Iprobe", **{"comm.id": 0})
        waited += late - usual
        now += late + 60
    return text + f"end {now}\n", waited


def test_more_than_is_read_in_one_go(tmp_path):
    """Each round is put together, and none with another one; also an epoch that begins with the first and ends with the
    last: what its first call waited for is known when its access has been read."""
    text, now, waited = ranks(5) + start(4, 100, 310) + post(5, 300, 305), 1000, 0
    for _ in range(4000):  # some 250,000 calls: four times as many as a recording has in one piece
        text += start(1, now + 100, now + 410) + post(2, now + 400, now + 405) + put(1, now + 420, now + 430, 1)
        text += complete(1, now + 431, now + 440) + wait(2, now + 450, now + 455)
        text += "".join(f"call 3 {now + 5 * i} {now + 5 * i + 2} MPI_Iprobe\n" for i in range(57))
        waited += 300
        now += 460
    text += put(4, now, now + 5, 4) + complete(4, now + 10, now + 15) + wait(5, now + 20, now + 25)
    seen = report(tmp_path, text, "wait_states")
    assert states(seen) == {("late_post", 1, 2): waited, ("late_post", 4, 5): 200}
    assert seen["wait_states"]["untold"] == 0


def test_what_an_earlier_post_would_give(tmp_path):
    text, waited = late_posts(10, 4000)
    finding, = (each for each in report(tmp_path, text)["findings"] if each["kind"] == "delay")
    assert finding["tid"] == 2 and "while rank 0 waits" in finding["text"]
    assert "rank 1 is outside of calls" in finding["text"]
    assert abs(finding["gain_ns"] - waited) <= 0.25 * waited
    text, _ = late_posts(10, 100)
    assert not [each for each in report(tmp_path, text)["findings"] if each["kind"] == "delay"]
