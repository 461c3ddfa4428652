# SPDX-License-Identifier: BSD-2-Clause
"""Locks in the report: recordings whose waits and holds are known by hand."""
import json

import pytest

import gaspbpf
from composed import call, compose, ranks
from peak_memory import most_memory

pytestmark = pytest.mark.files
MUTEX = 0x5000
KINDS = "lock_contention", "lock_convoy", "failed_tries"


def threads(count):
    """A process without a rank, with the threads 1.."""
    return "process 1 -1\n" + "".join(f"thread 1 {tid}\n" for tid in range(2, count + 1))


def of(symbol, parameter):
    def made(tid, start, end, lock=MUTEX, line=None, **values):
        site = {"site": f"lock.c:{line}"} if line else {}
        return call(tid, start, end, symbol, **{parameter: lock}, **site, **values)
    return made


lock = of("pthread_mutex_lock", "mutex")
unlock = of("pthread_mutex_unlock", "mutex")
trylock = of("pthread_mutex_trylock", "mutex")
timedlock = of("pthread_mutex_timedlock", "mutex")
cond_wait = of("pthread_cond_wait", "mutex")
read_lock = of("pthread_rwlock_rdlock", "rwlock")
write_lock = of("pthread_rwlock_wrlock", "rwlock")
rw_unlock = of("pthread_rwlock_unlock", "rwlock")


def report(tmp_path, text, whole=False):
    recording = compose(tmp_path / "run.gasp", text)
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    printed = gaspbpf.run("report", "--section", "locks", recording)
    assert printed.returncode == 0, printed.stderr
    told = json.loads(result.stdout)
    findings = [one for one in told["findings"] if one["kind"] in KINDS]
    return (told["locks"], findings, printed.stdout) if whole else told["locks"]


def only(told):
    assert len(told["locks"]) == len(told["classes"]) == 1
    return told["locks"][0]


def pairs(one):
    return {(pair["holder"]["tid"], pair["waiter"]["tid"]): pair["wait_ns"] for pair in one["pairs"]}


def places(one, figure):
    return {(row["site"] or "?").rsplit("/", 1)[-1]: row[figure] for row in one["sites"] if row[figure]}


#: 2 waits for 1 from 120 on, 3 from 150 on; 1 has it until 200, then 2 until 300.
THREE = (threads(3) + lock(1, 100, 110, line=10) + unlock(1, 200, 210) + lock(2, 120, 215, line=20)
         + unlock(2, 300, 310) + lock(3, 150, 320, line=20) + unlock(3, 330, 340) + "end 1000\n")


def test_who_waits_for_whom(tmp_path):
    one = only(report(tmp_path, THREE))
    assert one["lock"] == hex(MUTEX) and one["pid"] == 1 and one["peer"] is None
    assert (one["acquired"], one["contended"], one["wait_ns"], one["wait_max_ns"]) == (3, 2, 95 + 170, 170)
    assert pairs(one) == {(1, 2): 80, (1, 3): 50, (2, 3): 85} and one["behind_ns"] == 215
    assert (one["holds"], one["hold_ns"], one["hold_max_ns"], one["hold_mean_ns"]) == (3, 90 + 85 + 10, 90, 61)
    # Held from 110 to 200, 215 to 300, 320 to 330; nobody wants it before 100 and after 330.
    assert (one["held_ns"], one["busy_ns"]) == (185, 230)
    assert one["serial_share"] == pytest.approx(185 / 1000) and one["busy_share"] == pytest.approx(0.23)
    assert (one["released"], one["handed_on"]) == (3, 2)
    assert (one["uncontended_ns"], one["uncontended_max_ns"]) == (10, 10)


def test_lines_of_both_sides(tmp_path):
    told, findings, text = report(tmp_path, THREE, whole=True)
    one = only(told)
    assert places(one, "wait_ns") == {"lock.c:20": 265}
    assert places(one, "blamed_ns") == {"lock.c:10": 130, "lock.c:20": 85}
    assert {(row["thread"]["tid"], row["wait_ns"], row["blamed_ns"]) for row in one["threads"]} == {
        (1, 0, 130), (2, 95, 85), (3, 170, 0)}
    pair = one["pairs"][0]
    assert pair["taken_at"].endswith("lock.c:20") and pair["waits_at"].endswith("lock.c:20")
    assert "waited 85 ns at lock.c:20 in work while" in " ".join(text.split())
    assert not findings, "two contended calls may be chance"


def test_long_is_not_contended(tmp_path):
    """Nobody had the lock: the time went elsewhere. And who comes when it has been given back has not waited."""
    told, _, text = report(tmp_path, threads(2) + lock(1, 100, 10100) + unlock(1, 10200, 10210)
                           + lock(2, 10200, 10300) + unlock(2, 10400, 10410), whole=True)
    one = only(told)
    assert "calls took 10.10 us in which nobody was seen to give the lock back" in " ".join(text.split())
    assert (one["contended"], one["wait_ns"], one["uncontended_ns"], one["handed_on"]) == (0, 0, 10100, 0)


def test_taken_again_by_its_holder(tmp_path):
    one = only(report(tmp_path, threads(2) + lock(1, 100, 110) + lock(1, 120, 130) + unlock(1, 140, 145)
                      + lock(2, 115, 210) + unlock(1, 200, 205) + unlock(2, 230, 235)))
    assert (one["acquired"], one["nested"], one["contended"], one["holds"]) == (3, 1, 1, 2)
    assert pairs(one) == {(1, 2): 85} and one["hold_max_ns"] == 90


def test_two_locks_one_in_the_other(tmp_path):
    told = report(tmp_path, threads(2) + lock(1, 100, 110) + lock(1, 120, 130, lock=0x6000) + lock(2, 125, 160, 0x6000)
                  + unlock(1, 150, 155, lock=0x6000) + unlock(1, 200, 205) + unlock(2, 180, 185, lock=0x6000))
    by_name = {one["lock"]: one for one in told["locks"]}
    assert pairs(by_name["0x6000"]) == {(1, 2): 20} and pairs(by_name[hex(MUTEX)]) == {}
    assert by_name[hex(MUTEX)]["hold_ns"] == 90 and by_name["0x6000"]["hold_ns"] == 20 + 20
    assert len(told["classes"]) == 2, "whose sites are not known are no class"


def test_a_wait_for_a_condition_gives_the_lock_back(tmp_path):
    one = only(report(tmp_path, threads(2) + lock(1, 100, 110) + lock(2, 130, 160) + unlock(2, 200, 205)
                      + cond_wait(1, 150, 250) + unlock(1, 300, 305)))
    assert (one["lent"], one["acquired"], one["contended"]) == (1, 2, 1)
    assert pairs(one) == {(1, 2): 20}, "until the other one begins to wait"
    assert (one["holds"], one["hold_ns"], one["held_ns"]) == (3, 40 + 40 + 50, 130)
    assert one["handed_on"] == 1


def test_readers_do_not_wait_for_each_other(tmp_path):
    """1 and 2 read; 3 wants to write from 140 on and waits for both: until 200 for 1, then until 260 for 2."""
    one = only(report(tmp_path, threads(3) + read_lock(1, 100, 110) + read_lock(2, 120, 130) + rw_unlock(1, 200, 205)
                      + rw_unlock(2, 260, 265) + write_lock(3, 140, 270) + rw_unlock(3, 300, 305)))
    assert (one["contended"], one["wait_ns"], one["holders_at_a_time"]) == (1, 130, 2)
    assert pairs(one) == {(1, 3): 60, (2, 3): 60}
    assert one["held_ns"] == 260 - 110 + 30 and one["released"] == 2


def test_failed_attempts(tmp_path):
    """Three that fail, one after the other, and one that does not; and one long after: that was no spinning."""
    spin = "".join(trylock(2, start, start + 10, result=16, line=30) for start in (120, 140, 160))
    text = (threads(3) + lock(1, 100, 110, line=10) + unlock(1, 200, 205) + spin + trylock(2, 210, 220, result=0)
            + unlock(2, 300, 305) + lock(1, 400, 410) + trylock(3, 420, 430, result=16) + unlock(1, 500, 505)
            + trylock(3, 5000000, 5000010, result=0) + unlock(3, 5000020, 5000030))
    one = only(report(tmp_path, text))
    assert (one["acquired"], one["failed"], one["failed_ns"], one["contended"]) == (4, 4, 40, 0)
    assert one["spin_ns"] == 210 - 120 + 10
    assert pairs(one) == {(1, 2): 30, (1, 3): 10} and places(one, "failed") == {"lock.c:30": 3, "?": 1}


def test_attempts_at_two_locks_by_turns(tmp_path):
    """Each is tried once: that is no spinning."""
    told = report(tmp_path, threads(2) + lock(1, 0, 10) + lock(1, 20, 30, 0x6000) + trylock(2, 100, 110, result=16)
                  + trylock(2, 200, 210, 0x6000, result=16) + unlock(1, 300, 305) + unlock(1, 310, 315, 0x6000))
    assert [one["spin_ns"] for one in told["locks"]] == [10, 10]


def test_an_attempt_that_waits(tmp_path):
    """In vain, and then not."""
    one = only(report(tmp_path, threads(2) + lock(1, 100, 110) + timedlock(2, 120, 220, result=110)
                      + timedlock(2, 230, 310, result=0) + unlock(1, 300, 305) + unlock(2, 400, 410)))
    assert (one["failed"], one["failed_ns"], one["contended"], one["wait_ns"]) == (1, 100, 1, 80)
    assert pairs(one) == {(1, 2): 100 + 70}


def test_taken_before_anybody_looked(tmp_path):
    """Whose hold it was is known, not since when: the wait is known, the hold is not."""
    one = only(report(tmp_path, threads(2) + unlock(1, 200, 205) + lock(2, 120, 210) + unlock(2, 300, 310)))
    assert (one["contended"], one["wait_ns"], one["holds_without_start"]) == (1, 90, 1)
    assert pairs(one) == {(1, 2): 80} and one["pairs"][0]["taken_at"] is None
    assert (one["holds"], one["hold_ns"], one["handed_on"]) == (1, 90, 1)


def test_calls_were_lost(tmp_path):
    """Thread 1 may have given the lock back among the lost calls: nobody is said to have waited for it."""
    text = (threads(2) + lock(1, 100, 110) + "lost 1 5\n" + lock(2, 500, 600) + unlock(2, 700, 705) + lock(1, 800, 810)
            + unlock(1, 900, 905))
    one = only(report(tmp_path, text))
    assert (one["holds_without_end"], one["contended"], one["nested"]) == (1, 0, 0)
    assert (one["holds"], one["hold_ns"]) == (2, 100 + 90)


def test_measurement_was_off(tmp_path):
    """Thread 1 may have given the lock back meanwhile; it is held as long as that is known."""
    one = only(report(tmp_path, threads(2) + lock(1, 100, 110) + "control 1 200 0\ncontrol 1 400 1\n"
                      + lock(2, 500, 600) + unlock(2, 700, 705) + unlock(1, 800, 810)))
    assert (one["holds_without_end"], one["holds_without_start"], one["contended"]) == (1, 1, 0)
    assert (one["holds"], one["held_ns"]) == (1, 90 + 100)


def test_calls_were_only_counted(tmp_path):
    told, findings, text = report(tmp_path, THREE + "sum 1 pthread_mutex_unlock 0 0 40\n", whole=True)
    one = only(told)
    assert told["only_counted"] == 40 and not findings
    assert (one["acquired"], one["wait_ns"], one["contended"], one["hold_ns"], one["serial_share"]) == (
        3, None, None, None, None)
    assert one["pairs"] is None and {row["blamed_ns"] for row in one["sites"] + one["threads"]} == {None}
    assert "were counted only" in text and "while" not in text


def test_still_held_and_still_waiting_at_the_end(tmp_path):
    one = only(report(tmp_path, threads(2) + lock(1, 100, 110) + lock(2, 200, 1000)[:-1]
                      + " end=under_way\nend 1000\n"))
    assert (one["held_at_end"], one["unfinished"], one["acquired"]) == (1, 1, 1)
    assert (one["contended"], one["wait_ns"], one["held_ns"], one["holds"]) == (1, 800, 890, 0)
    assert pairs(one) == {(1, 2): 800}


def test_given_back_by_another(tmp_path):
    one = only(report(tmp_path, threads(3) + lock(1, 100, 110) + unlock(2, 200, 205) + lock(3, 150, 210)
                      + unlock(3, 300, 305)))
    assert (one["given_back_by_another"], one["holds"], one["hold_ns"]) == (1, 2, 90 + 90)
    assert pairs(one) == {(1, 3): 50}


def test_many_locks_of_one_line(tmp_path):
    text = threads(2)
    for number in range(10):
        at, name = 1000 * number, 0x7000 + 64 * number
        text += lock(1, at + 100, at + 110, name, 40) + unlock(1, at + 200, at + 210, name)
        text += lock(2, at + 150, at + 215, name, 40) + unlock(2, at + 220, at + 230, name)
    told, _, printed = report(tmp_path, text, whole=True)
    assert len(told["locks"]) == 10 and {one["class"] for one in told["locks"]} == {0}
    (group,) = told["classes"]
    assert (group["locks"], group["acquired"], group["contended"], group["wait_ns"]) == (10, 20, 10, 650)
    assert pairs(group) == {(1, 2): 500}
    assert group["held_ns"] == 950 and group["serial_share"] == pytest.approx(95 / 9230, rel=1e-3)
    assert "10 locks of GASP_PTHREAD_MUTEX_LOCK" in printed


def test_more_locks_than_are_told_apart(tmp_path):
    """Of those beyond only calls are known."""
    text = threads(2) + "".join(lock(1, at, at + 1, 0x10000 + at, 50) + unlock(1, at + 2, at + 3, 0x10000 + at)
                                for at in range(0, 10 * 65536, 10))
    at = 10 * 65536
    text += lock(1, at, at + 5, 0x10, 60) + unlock(1, at + 100, at + 105, 0x10)
    text += lock(2, at + 50, at + 110, 0x10, 60) + unlock(2, at + 200, at + 205, 0x10)
    told, findings, printed = report(tmp_path, text, whole=True)
    assert told["not_told_apart"] == 4
    by_line = {group["sites"][0]["site"].rsplit("/", 1)[-1]: group for group in told["classes"]}
    assert (by_line["lock.c:50"]["locks"], by_line["lock.c:50"]["acquired"]) == (65536, 65536)
    beyond = by_line["lock.c:60"]
    assert (beyond["acquired"], beyond["contended"], beyond["hold_ns"], beyond["uncontended_ns"]) == (
        2, None, None, None)
    assert "than can be told apart" in printed


def test_one_of_an_array_of_locks(tmp_path):
    def of_image(tid, start, end, what, index):
        return call(tid, start, end, f"_gfortran_caf_{what}", token=0x9000, index=index, image=1)
    text = ranks(2, init=False) + of_image(1, 100, 110, "lock", 0) + of_image(1, 200, 210, "unlock", 0)
    text += of_image(2, 150, 160, "lock", 1) + of_image(2, 170, 180, "unlock", 1)
    text += of_image(2, 190, 215, "lock", 0) + of_image(2, 220, 225, "unlock", 0)
    text += call(2, 400, 410, "_gfortran_caf_get", image=1)
    told = report(tmp_path, text)
    assert {(one["acquired"], one["contended"]) for one in told["locks"]} == {(2, 1), (1, 0)}


def test_one_lock_in_all_ranks(tmp_path):
    text = ranks(2, init=False)
    text += call(1, 100, 110, "shmem_set_lock", lock=0xff0000) + call(1, 200, 210, "shmem_clear_lock", lock=0xff0000)
    text += call(2, 150, 220, "shmem_set_lock", lock=0xff0000) + call(2, 300, 310, "shmem_clear_lock", lock=0xff0000)
    text += call(2, 400, 410, "shmem_getmem", pe=0)
    one = only(report(tmp_path, text))
    assert one["pid"] is None and pairs(one) == {(1, 2): 50}


def test_a_variable_of_the_program_in_all_ranks(tmp_path):
    """The program is mapped elsewhere in each rank, and its lock with it."""
    text = ranks(2, init=False)
    for tid, base, times in (1, 0x555500000000, (100, 110, 200, 210)), (2, 0x561200000000, (150, 220, 300, 310)):
        text += call(tid, *times[:2], "shmem_set_lock", lock=base + 0x4070, site=f"job.c:8@{base:#x}")
        text += call(tid, *times[2:], "shmem_clear_lock", lock=base + 0x4070, site=f"job.c:9@{base:#x}")
    text += call(2, 400, 410, "shmem_getmem", pe=0)
    one = only(report(tmp_path, text))
    assert one["lock"] == "0x4070" and pairs(one) == {(1, 2): 50}


def test_a_mutex_of_each_process(tmp_path):
    text = ranks(2, init=False) + lock(1, 100, 110) + unlock(1, 200, 210) + lock(2, 150, 160) + unlock(2, 170, 180)
    told = report(tmp_path, text)
    assert {one["pid"] for one in told["locks"]} == {1, 2} and not any(one["contended"] for one in told["locks"])


@pytest.mark.parametrize("enter, leave, values", [
    ("GOMP_critical_name_start", "GOMP_critical_name_end", {"name": 0x342f480}),
    ("GOMP_critical_start", "GOMP_critical_end", {})])
def test_a_critical_section_of_each_process(tmp_path, enter, leave, values):
    """A program that is mapped at the same place in all ranks, and whose runtime copies to devices, too."""
    text = ranks(2, init=False) + call(1, 100, 110, enter, **values) + call(1, 200, 210, leave, **values)
    text += call(2, 150, 220, enter, **values) + call(2, 300, 310, leave, **values)
    text += call(2, 400, 410, "omp_target_memcpy", length=8)
    told = report(tmp_path, text)
    assert {one["pid"] for one in told["locks"]} == {1, 2} and not any(one["contended"] for one in told["locks"])


def test_a_critical_section_without_a_name(tmp_path):
    text = threads(2) + call(1, 100, 110, "GOMP_critical_start") + call(1, 200, 205, "GOMP_critical_end")
    text += call(2, 150, 210, "GOMP_critical_start") + call(2, 300, 305, "GOMP_critical_end")
    text += call(1, 400, 405, "GOMP_atomic_start") + call(1, 420, 425, "GOMP_atomic_end")
    told = report(tmp_path, text)
    assert [(one["event"], one["lock"], one["acquired"]) for one in told["locks"]] == [
        ("GASP_OMP_CRITICAL_START", None, 2), ("GASP_OMP_ATOMIC_START", None, 1)]
    assert pairs(told["locks"][0]) == {(1, 2): 50}


def rounds(count, hold, gap=0):
    """Thread 1 takes the lock at line 10 and holds it; thread 2 comes 10 ns after it, at line 20, and has it for 10."""
    text, at = threads(2), 0
    for _ in range(count):
        text += lock(1, at, at + 5, line=10) + unlock(1, at + 5 + hold, at + 10 + hold)
        text += lock(2, at + 10, at + 20 + hold + gap, line=20) + unlock(2, at + 30 + hold + gap, at + 35 + hold + gap)
        at += 40 + hold + gap
    return text


def test_finding(tmp_path):
    told, findings, _ = report(tmp_path, rounds(20, 1000), whole=True)
    (finding,) = findings
    assert finding["kind"] == "lock_contention"
    text = finding["text"]
    assert "lock.c:20" in text and "lock.c:10" in text and "20 contended calls" in text and "tid 1" in text, text
    assert finding["tid"] == 1 and finding["event"] == "GASP_PTHREAD_MUTEX_LOCK", finding
    assert only(told)["wait_ns"] == 20 * 1010


def test_no_finding_without_contention(tmp_path):
    """A lock that one thread holds all the time, and nobody else wants."""
    text = threads(2) + "".join(lock(1, at, at + 5) + unlock(1, at + 990, at + 995) for at in range(0, 50000, 1000))
    _, findings, _ = report(tmp_path, text + call(2, 0, 50000, "pthread_barrier_wait"), whole=True)
    assert not findings


def test_convoy(tmp_path):
    """What is done under the lock is quick; handing it on is not."""
    told, findings, _ = report(tmp_path, handed_on(200, hold=5, gap=20), whole=True)
    assert [one["kind"] for one in findings] == ["lock_convoy"] and "a convoy" in findings[0]["text"]
    assert only(told)["handed_on_share"] > 0.95
    _, findings, _ = report(tmp_path, handed_on(200, hold=50, gap=20), whole=True)
    assert [one["kind"] for one in findings] == ["lock_contention"]


def handed_on(count, hold, gap):
    """Three threads in turns; who gives the lock back asks for it again at once."""
    text, comes, at = threads(3), [0, 0, 0], 0
    for turn in range(count):
        tid = turn % 3 + 1
        text += lock(tid, comes[tid - 1], at + gap, line=20) + unlock(tid, at + gap + hold, at + gap + hold + 1)
        at += gap + hold
        comes[tid - 1] = at + 2
    return text


def test_spinning_on_attempts(tmp_path):
    text = threads(2) + lock(1, 0, 10, line=10) + "".join(
        trylock(2, at, at + 10, result=16, line=30) for at in range(20, 4020, 20)) + unlock(1, 5000, 5010)
    told, findings, _ = report(tmp_path, text, whole=True)
    (finding,) = findings
    assert finding["kind"] == "failed_tries" and only(told)["spin_ns"] == 3990
    assert "200 attempts" in finding["text"] and "lock.c:30" in finding["text"] and "lock.c:10" in finding["text"]


def held_by(holds, takers=3):
    """In each round another one is the first, the others wait, and the lock goes from one to the next."""
    text, now = threads(takers), 0
    for turn in range(40):
        free = now
        for place in range(takers):
            tid = 1 + (turn + place) % takers
            ends = free + 10 + holds[tid - 1]
            text += lock(tid, now + place, free + 10, line=10) + unlock(tid, ends, ends + 5)
            free = ends
        now = free + 1000
    return text


@pytest.mark.parametrize("holds, tid, words", [
    ((9000, 100, 100), 1, "held for 9.000 us each time on average, by the others for 100 ns"),
    ((500, 500, 500, 500), None, "all hold it alike"), ((20, 20, 20), None, "nobody held it: it was on its way")])
def test_who_keeps_the_others_out(tmp_path, holds, tid, words):
    """Where all hold it for as long, nobody is named."""
    recording = compose(tmp_path / "run.gasp", held_by(holds, len(holds)))
    seen = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    finding, = (each for each in seen["findings"] if each["kind"] in ("lock_contention", "lock_convoy"))
    assert finding.get("tid") == tid and words in finding["text"]


def lock_heavy(rounds, locks=300, team=12):
    """In each round each of many locks goes through two hands, of twelve pairs: who takes it keeps the next out."""
    parts, now = [threads(team)], 0
    for number in range(rounds):
        for which in range(locks):
            first = 1 + (number + which) % team
            second = 1 + (number + which + 5) % team
            parts.append(f"call {first} {now} {now + 5} pthread_mutex_lock mutex={0x1000 + 64 * which} site=lock.c:10\n"
                         f"call {first} {now + 50} {now + 52} pthread_mutex_unlock mutex={0x1000 + 64 * which} "
                         f"site=lock.c:11\n"
                         f"call {second} {now + 10} {now + 60} pthread_mutex_lock mutex={0x1000 + 64 * which} "
                         f"site=lock.c:20\n"
                         f"call {second} {now + 70} {now + 72} pthread_mutex_unlock mutex={0x1000 + 64 * which} "
                         f"site=lock.c:21\n")
            now += 80
    return "".join(parts) + f"end {now}\n"


def test_memory_grows_with_locks_and_not_with_calls(tmp_path):
    few = most_memory("report", "-S", "locks", compose(tmp_path / "few.gasp", lock_heavy(100)))
    many = most_memory("report", "-S", "locks", compose(tmp_path / "many.gasp", lock_heavy(300)))
    assert many - few < 4096, (few, many)  # KiB, of 240,000 calls more
