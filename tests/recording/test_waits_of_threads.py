# SPDX-License-Identifier: BSD-2-Clause
"""Who lets go on whom within a process, by a condition variable or a semaphore: recordings in which each answer can be
read off. Times are ns; the process is 1, and so is its first thread."""
import pytest

from composed import call, threads
from waits import report, states

pytestmark = pytest.mark.files

LAST = 10_000  # all are there until then, so that nobody is asleep all his life
THERE = "".join(call(tid, LAST, LAST + 1, "pthread_mutex_lock", mutex=tid) for tid in (1, 2, 3))


def wait(tid, start, end, cond=7, **more):
    return call(tid, start, end, "pthread_cond_wait", cond=cond, mutex=8, **more)


def timed(tid, start, end, result):
    return call(tid, start, end, "pthread_cond_timedwait", cond=7, mutex=8, result=result)


def signal(tid, start, cond=7, symbol="pthread_cond_signal"):
    return call(tid, start, start + 5, symbol, cond=cond)


def down(tid, start, end, sem=7):
    return call(tid, start, end, "sem_wait", sem=sem)


def up(tid, start, sem=7):
    return call(tid, start, start + 5, "sem_post", sem=sem)


def seen(tmp_path, text, count=3, there=THERE):
    return report(tmp_path, threads(count) + text + there)


def test_a_signal_ends_a_wait(tmp_path):
    assert states(seen(tmp_path, signal(1, 300) + wait(2, 100, 310))) == {("late_notify", 2, 1): 200}


def test_a_broadcast_ends_that_of_all(tmp_path):
    text = signal(1, 300, symbol="pthread_cond_broadcast") + wait(2, 100, 310) + wait(3, 200, 320)
    assert states(seen(tmp_path, text)) == {("late_notify", 2, 1): 200, ("late_notify", 3, 1): 100}


def test_a_post_ends_a_wait(tmp_path):
    assert states(seen(tmp_path, up(1, 300) + down(2, 100, 310))) == {("late_notify", 2, 1): 200}


def test_the_latest_before_its_end(tmp_path):
    text = up(1, 200) + up(1, 300) + up(1, 500) + down(2, 100, 310)
    assert states(seen(tmp_path, text)) == {("late_notify", 2, 1): 200}


@pytest.mark.parametrize("text", [
    up(1, 50) + down(2, 100, 310),                          # there was one already: it waits for nothing that is known
    up(1, 300, sem=9) + down(2, 100, 310),                  # another one
    signal(1, 300) + down(2, 100, 310, sem=9),
    up(1, 320) + down(2, 100, 310),                         # too late
    up(2, 50) + down(2, 100, 310),                          # its own
    signal(1, 300) + timed(2, 100, 310, 110),               # its time was over (ETIMEDOUT)
], ids=["earlier", "elsewhere", "another kind", "later", "own", "its time was over"])
def test_nobody_was_waited_for(tmp_path, text):
    assert states(seen(tmp_path, text)) == {}


def test_a_timed_wait_that_was_let_go_on(tmp_path):
    assert states(seen(tmp_path, signal(1, 300) + timed(2, 100, 310, 0))) == {("late_notify", 2, 1): 200}


def test_another_process_has_other_memory(tmp_path):
    text = "process 1 -1\nprocess 2 -1\n" + up(1, 300) + down(2, 100, 310)
    assert states(report(tmp_path, text + "".join(THERE.splitlines(True)[:2]))) == {}


@pytest.mark.parametrize("works, told", [(400, {}), (600, {("late_notify", 2, 1): 9_300})])
def test_who_sleeps_all_the_time_serves_others(tmp_path, works, told):
    """Thread 2 waits from 100 on, and works after that for less, or more, than a twentieth of its time."""
    text = call(2, 99, 100, "pthread_mutex_lock", mutex=2) + signal(1, 9_400) + wait(2, 100, 9_410) + \
        call(2, 9_410 + works, 9_411 + works, "pthread_mutex_lock", mutex=2)
    assert states(seen(tmp_path, text, 2, call(1, LAST, LAST + 1, "pthread_mutex_lock", mutex=1))) == told
