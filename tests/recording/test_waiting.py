# SPDX-License-Identifier: BSD-2-Clause
"""Who waits for whom, how long, and what that one does meanwhile: recordings in which each answer can be read off.

Times are ns; thread n is rank n - 1.
"""
import itertools
import random
import re

import pytest

import composed
import gaspbpf
from composed import call, ranks, receive, send
from waits import causes, report, states

SECOND = 10**9

pytestmark = pytest.mark.files


def barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})


def test_a_late_sender_and_a_late_arrival(tmp_path):
    seen = report(tmp_path, composed.LATE_SENDER)
    assert states(seen) == {("late_sender", 2, 1): 50, ("wait_at_barrier", 1, 2): 80}
    assert causes(seen) == {(1, "outside", ("INIT", "SEND")): (50, 0), (2, "outside", ("RECV", "BARRIER")): (71, 0),
                            (2, "calls", "RECV"): (9, 0)}  # it left the receive 20 ns later: 20 of 170


def test_waiting_is_passed_on(tmp_path):
    """Rank 0 computes, rank 1 waits for it, rank 2 for rank 1: from 30 on for what rank 0 does, from 210 on for rank
    1's own work."""
    seen = report(tmp_path, ranks(3) + send(1, 200, 205, 1) + receive(2, 20, 210, 0) + send(2, 250, 255, 2)
                  + receive(3, 30, 260, 1))
    assert states(seen) == {("late_sender", 2, 1): 180, ("late_sender", 3, 2): 220}
    assert causes(seen) == {
        (1, "outside", ("INIT", "SEND")): (180, 170),  # 20 to 200 for rank 1, 30 to 200 for rank 2
        (2, "calls", "RECV"): (10, 0),                  # taking it in
        (2, "outside", ("RECV", "SEND")): (40, 0)}


def test_all_wait_for_the_last(tmp_path):
    comes = enumerate([100, 150, 400, 200], 1)
    seen = report(tmp_path, ranks(4) + "".join(barrier(tid, start, 410) for tid, start in comes))
    assert states(seen) == {("wait_at_barrier", 1, 3): 300, ("wait_at_barrier", 2, 3): 250,
                            ("wait_at_barrier", 4, 3): 200}
    assert causes(seen) == {(3, "outside", ("INIT", "BARRIER")): (750, 0)}
    place, = seen["meetings"]
    assert (place["meetings"], place["spread_ns"], place["others_wait_ns"]) == (1, 300, 750)
    assert [(each["tid"], each["last"]) for each in place["members"] if each["last"]] == [(3, 1)]


def test_nobody_waits_for_who_is_there(tmp_path):
    seen = report(tmp_path, ranks(2) + send(1, 100, 110, 1) + receive(2, 150, 160, 0) + barrier(1, 200, 210)
                  + barrier(2, 200, 210))
    assert states(seen) == {} and causes(seen) == {}


@pytest.mark.parametrize("third, sender, receiver", itertools.permutations((1, 2, 3)))
def test_a_send_that_waits_for_its_receive(tmp_path, third, sender, receiver):
    """The receiver is late because a third one is, whatever is read first."""
    seen = report(tmp_path, ranks(3) + send(third, 290, 292, receiver - 1) + send(sender, 100, 320, receiver - 1)
                  + receive(receiver, 50, 295, third - 1) + receive(receiver, 300, 310, sender - 1))
    assert states(seen) == {("late_receiver", sender, receiver): 200, ("late_sender", receiver, third): 240}
    assert causes(seen) == {(third, "outside", ("INIT", "SEND")): (240, 190), (receiver, "calls", "RECV"): (5, 0),
                            (receiver, "outside", ("RECV", "RECV")): (5, 0)}


def test_sends_of_a_long_recording_wait_for_their_receives(tmp_path):
    """It is gone through in parts, and nearly always somebody is in a send whose receive is in the next part."""
    rounds = 10_000
    calls = (send(1, start + 10, start + 100, 1) + receive(2, start + 90, start + 95, 0)
             for start in range(1000, 1000 + 100 * rounds, 100))
    seen = report(tmp_path, ranks(2) + "".join(calls), "wait_states")
    assert states(seen) == {("late_receiver", 1, 2): 80 * rounds}
    assert [pair["waits"] for pair in seen["wait_states"]["pairs"]] == [rounds]


def test_only_the_root_of_a_reduction_waits_unless_others_stay(tmp_path):
    def reduce(tid, start, end):
        return call(tid, start, end, "MPI_Reduce", **{"comm.id": 0, "comm.rank": tid - 1, "root": 0})
    seen = report(tmp_path, ranks(4) + reduce(1, 100, 520) + reduce(2, 100, 105) + reduce(3, 100, 510)
                  + reduce(4, 500, 505))
    assert states(seen) == {("early_reduce", 1, 4): 400, ("early_reduce", 3, 4): 400}
    assert seen["meetings"][0]["others_wait_ns"] == 800


def test_a_broadcast_waits_for_its_root(tmp_path):
    def broadcast(tid, start, end):
        return call(tid, start, end, "MPI_Bcast", **{"comm.id": 0, "comm.rank": tid - 1, "root": 1})
    seen = report(tmp_path, ranks(3) + broadcast(1, 100, 310) + broadcast(2, 300, 305) + broadcast(3, 400, 405))
    assert states(seen) == {("late_broadcast", 1, 2): 200}
    assert {each["tid"]: (each["last"], each["others_wait_ns"]) for each in seen["meetings"][0]["members"]} == {
        1: (0, 0), 2: (0, 200), 3: (1, 0)}


@pytest.mark.parametrize("symbol, said", [
    ("MPI_Bcast", "0 ns rank 2"),                       # who comes after the root waits for nobody
    ("MPI_Reduce", "400 ns rank 2 (400 of 400 ns)"),    # the root waits for who comes last
])
def test_a_root_that_comes_first(tmp_path, symbol, said):
    text = ranks(3) + "".join(
        call(tid, start, end, symbol, **{"comm.id": 0, "comm.rank": tid - 1, "root": 0})
        for tid, start, end in ((1, 100, 510), (2, 300, 310), (3, 500, 510)))
    recording = composed.compose(tmp_path / "run.gasp", text)
    out = gaspbpf.run("report", recording, "--section", "meetings", env={"COLUMNS": "99"}).stdout
    assert out.splitlines()[-1].endswith(said)


@pytest.mark.parametrize("late, said", [
    ([(2, 1), (2, 1), (1, 608)], "rank 0 (608 of 610 ms)"),             # two of three, by next to nothing
    ([(2, 400), (1, 700)], "rank 0 (700 ms of 1.10 s)"),
    ([(2, 1)] * 20 + [(1, 608)], "rank 1 in 95%; 97% for rank 0"),
    ([(2, 1), (1, 1)] * 10 + [(1, 608)], "by turns; 98% for rank 0"),
    ([(2, 1), (1, 1)] * 10, "by turns"),
    ([(2, 1)] * 20, "rank 1 in 100%"),
])
def test_who_is_named_is_who_is_waited_for(tmp_path, late, said):
    """At each meeting one of two comes late by so many ms."""
    text, at = ranks(2), 10**6
    for tid, ms in late:
        end = at + ms * 10**6 + 1000
        text += barrier(3 - tid, at, end) + barrier(tid, end - 1000, end)
        at = end + 10**6
    recording = composed.compose(tmp_path / "run.gasp", text)
    out = gaspbpf.run("report", recording, "--section", "meetings", env={"COLUMNS": "99"}).stdout
    assert out.splitlines()[-1].endswith("s " + said)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_wait_for_several_is_for_the_last_of_them(tmp_path, order):
    text = ranks(3) + send(2, 200, 205, 0) + send(3, 300, 305, 0)
    text += "".join(call(1, 20 + 10 * i, 25 + 10 * i, "MPI_Irecv", source=source, tag=0, request=i, **{"comm.id": 0})
                    for i, source in enumerate(order))
    text += call(1, 100, 310, "MPI_Waitall", count=2, **{"array_of_requests.0": 0, "array_of_requests.1": 1})
    seen = report(tmp_path, text)
    assert states(seen) == {("late_sender", 1, 3): 200}


def test_who_was_joined_late_is_not_known(tmp_path):
    """What rank 0 did before it was observed, nobody can say: no more than that is told of it."""
    late = "process 1 0\nprocess 2 1\n" + call(1, 190, 195, "MPI_Iprobe", **{"comm.id": 0}) + call(2, 0, 10, "MPI_Init")
    seen = report(tmp_path, late + barrier(1, 200, 210) + barrier(2, 50, 210), "delays")
    assert causes(seen) == {(1, "unknown", (None, None)): (140, 0), (1, "outside", (None, "BARRIER")): (10, 0)}


def test_lost_calls(tmp_path):
    """Of a process with a gap nothing is put together, and that is said."""
    text = ranks(2) + "sum 1 MPI_Send 3 0 0\n" + send(1, 100, 110, 1) + receive(2, 50, 130, 0)
    seen = report(tmp_path, text)
    assert seen["wait_states"]["lossy_processes"] == 1 and states(seen) == {}


def late_steps(late, usual, steps=8, who=3, ranks_=4, only=()):
    """Steps of all ranks from one barrier to the next; rank `who` - 1 takes longer (only in some of them)."""
    text, now = ranks(ranks_), 1000
    for step in range(steps):
        ends = now + (late if not only or step in only else usual)
        for tid in range(1, ranks_ + 1):
            text += barrier(tid, ends if tid == who else now + usual, ends + 5)
        now = ends + 5
    return text + f"end {now}\n"


def findings(seen):
    return [finding for finding in seen["findings"] if finding["kind"] in ("delay", "slow_thread")]


def test_what_it_would_give(tmp_path):
    """The late one as quick as the others: each step is shorter by the difference. (The first is no step between two
    barriers.)"""
    seen = report(tmp_path, late_steps(400, 100))
    finding, = findings(seen)
    assert (finding["tid"], finding["gain_ns"]) == (3, 7 * 300)
    assert ("rank 2 is outside of calls (from one GASP_MPI_BARRIER to the next), 400 ns each time on average "
            "(the others: 100 ns), while ranks 0, 1, 3 wait for it" in finding["text"])


def test_late_only_now_and_then(tmp_path):
    seen = report(tmp_path, late_steps(2000, 100, steps=40, only=(10, 20, 30, 35)))
    finding, = findings(seen)
    assert finding["tid"] == 3


def by_turns(seed, accident=0):
    """60 steps in which it is chance who comes last; in one of them rank 1 has an accident."""
    numbers = random.Random(seed)
    text, now = ranks(4), 1000
    for step in range(60):
        comes = [now + numbers.randint(100, 200) for _ in range(4)]
        comes[1] += accident if step == 30 else 0
        text += "".join(barrier(tid, time, max(comes) + 5) for tid, time in enumerate(comes, 1))
        now = max(comes) + 5
    return text + f"end {now}\n"


@pytest.mark.parametrize("seed", range(6))
def test_chance_is_no_cause(tmp_path, seed):
    """Somebody is last in every step: nobody is named."""
    assert findings(report(tmp_path, by_turns(seed))) == []


def test_one_accident_is_no_habit(tmp_path):
    seen = report(tmp_path, by_turns(1, accident=20000))
    assert findings(seen) == [] and seen["delays"]["causes"][0]["tid"] == 2


@pytest.mark.parametrize("run, queued, said", [(100, 1000, True), (100, 1500, False), (2000, 0, False)])
def test_who_is_asleep_does_not_compute(tmp_path, run, queued, said):
    """Rank 2 is 7 times 400 ns between two barriers, and all in all so long on a processor, or waiting for one."""
    seen = report(tmp_path, late_steps(400, 100) + f"scheduled 3 3240 {run} {queued} 2 1\n")
    finding, = findings(seen)
    assert ("asleep for at least 61 % of that" in finding["text"]) == said


def scheduled_alike(tmp_path, observed, run, queued):
    text = late_steps(SECOND * 2 // 5, SECOND // 10)
    return report(tmp_path, text + "".join(f"scheduled {tid} {observed} {run} {queued} 2 1\n" for tid in (1, 2, 3, 4)))


def test_who_never_had_a_processor_is_not_blamed(tmp_path):
    """All four were queued nearly all of their lives: for the others most of that lay in their waits."""
    assert not findings(scheduled_alike(tmp_path, 4 * SECOND, SECOND // 10, 38 * SECOND // 10))


@pytest.mark.parametrize("observed, run, queued, said", [
    (4 * SECOND, 4 * SECOND, 0, " on a CPU for at least 100 % of that,"),
    (4 * SECOND, 3 * SECOND, SECOND // 10, " on a CPU for at least 64 % of that,"),
    (4 * SECOND, 3 * SECOND, SECOND, " on a CPU for at least 64 % of that and waiting for one for at most 36 %,"),
    (4 * SECOND, SECOND // 10, 27 * SECOND // 10, " waiting for a CPU for at least 54 % of that,"),
    (4 * SECOND, 3 * SECOND, -1, " on a CPU for at least 64 % of that,"),
    (4 * SECOND, 5 * SECOND // 2, SECOND // 10, ""), (0, 0, 0, "")])
def test_who_is_late_computes(tmp_path, observed, run, queued, said):
    """Rank 2 is 7 times 0.4 s between two barriers, of a life of 4 s: what it did not run may all have been there. The
    others have no more of the processors."""
    finding, = findings(scheduled_alike(tmp_path, observed, run, queued))
    assert said in finding["text"] and ("CPU" in finding["text"]) == bool(said)


@pytest.mark.parametrize("count, who, named", [(5, 5, "ranks 0-3"), (8, 4, "ranks 0-2, 4-7"), (3, 1, "ranks 1, 2"),
                                               (2, 1, "rank 1")])
def test_ranks_are_named_by_ranges(tmp_path, count, who, named):
    finding, = findings(report(tmp_path, late_steps(400, 100, who=who, ranks_=count)))
    assert f"while {named} wait" in finding["text"]


def test_ranks_of_two_jobs_are_no_ranges(tmp_path):
    """Two have the same number: they are told as threads are."""
    text = late_steps(400, 100, ranks_=4).replace("process 4 3\n", "process 4 1\n")
    seen = report(tmp_path, text)
    assert all("ranks 0, 1, 1" not in finding["text"] for finding in findings(seen))


def test_who_has_most_of_it(tmp_path):
    """All do the same; the one that had the accident has most of what others waited for, without it nobody has."""
    for accident, who in (20000, r"rank 1: 9\d%, ranks 0-3"), (0, "ranks 0-3"):
        recording = composed.compose(tmp_path / f"{accident}.gasp", by_turns(1, accident=accident))
        text = gaspbpf.run("report", "-S", "delays", recording).stdout
        assert re.search(rf"^{who} +outside", text, re.MULTILINE)


# --- in step, and then? -----------------------------------------------------


def ring(steps, late, who=2, ranks_=4, work=10_000):
    """Each rank computes and sends to the next one, then receives from the one before. Rank `who` - 1 takes `late` ns
    more, but for the first step. A call takes 2 ns for itself."""
    now, text = [1000] * ranks_, ranks(ranks_)
    for step in range(steps):
        sends = [time + work + (late if tid == who - 1 and step else 0) for tid, time in enumerate(now)]
        text += "".join(send(tid + 1, time, time + 2, (tid + 1) % ranks_) for tid, time in enumerate(sends))
        comes = [time + 10 for time in sends]
        now = [max(comes[tid], sends[tid - 1] + 1) + 2 for tid in range(ranks_)]
        text += "".join(receive(tid + 1, comes[tid], now[tid], (tid - 1) % ranks_) for tid in range(ranks_))
    return text + f"end {max(now)}\n"


def blamed(seen):
    """ns by who is to blame."""
    sums = {}
    for cause in seen["delays"]["causes"]:
        sums[cause["tid"]] = sums.get(cause["tid"], 0) + cause["direct_ns"] + cause["passed_on_ns"]
    return sums


@pytest.mark.parametrize("who", [1, 2, 4])
def test_normal_work_in_a_chain_is_no_cause(tmp_path, who):
    """One is late in each step, and the others wait for each other: it is the cause of all of it. (What those in
    between do *while* they are waited for is their normal work.)"""
    seen = report(tmp_path, ring(20, 4000, who))
    waited = sum(states(seen).values())
    assert waited > 20 * 4000 and blamed(seen)[who] >= 0.99 * waited
    assert sum(cause["passed_on_ns"] for cause in seen["delays"]["causes"]) > waited / 4
    assert sum(blamed(seen).values()) == waited
    finding, = findings(seen)
    assert finding["tid"] == who


def test_what_a_wait_is_divided_by(tmp_path):
    """Since the barrier rank 0 has computed 30 ns more than rank 1 in one place and 10 more in another, and as long in
    a third, which is all that it did while rank 1 waited."""
    text = ranks(3) + "".join(barrier(tid, 1000, 1010) for tid in (1, 2, 3))
    text += send(3, 1011, 1012, 0) + send(3, 1013, 1014, 1)
    text += receive(3, 1150, 1152, 0) + receive(3, 1153, 1155, 1) + barrier(3, 1160, 1270)
    text += send(1, 1140, 1145, 2) + receive(1, 1205, 1210, 2) + barrier(1, 1260, 1270)
    text += send(2, 1110, 1115, 2) + receive(2, 1165, 1170, 2) + barrier(2, 1220, 1270)
    seen = report(tmp_path, text)
    assert states(seen)["wait_at_barrier", 2, 1] == 40
    assert {(cause["does"], cause["after"]["event"], victim["direct_ns"]) for cause in seen["delays"]["causes"]
            for victim in cause["waiting"] if victim["tid"] == 2} == {
        ("outside", "GASP_MPI_BARRIER", 30), ("outside", "GASP_MPI_SEND", 10)}


def test_who_left_the_place_later(tmp_path):
    """Rank 1 has sent, and goes on from 102; it computes for 48 ns. Rank 0 receives that at 300 only: what it did from
    102 on is why it is late."""
    text = ranks(2) + send(2, 100, 102, 0) + receive(1, 300, 302, 1) + send(1, 400, 402, 1) + receive(2, 150, 405, 0)
    seen = report(tmp_path, text)
    assert states(seen) == {("late_sender", 2, 1): 250}
    computes, receives, again = 198, 2, 98
    assert sum(blamed(seen).values()) == 250
    assert {key[2]: direct for key, (direct, _) in causes(seen).items()} == {
        place: pytest.approx(250 * ns / (computes + receives + again), abs=1)
        for place, ns in ((("INIT", "RECV"), computes), ("RECV", receives), (("RECV", "SEND"), again))}


def test_setting_up_and_ending_are_apart(tmp_path):
    """All that counts is from 1000, when the first one has set up its runtime, to 1450: each computes for 200 ns."""
    text = ranks(2, init=False) + call(1, 0, 1000, "MPI_Init") + call(2, 0, 1010, "MPI_Init")
    text += barrier(1, 1200, 1250) + barrier(2, 1210, 1250)
    text += call(1, 1250, 9000, "MPI_Finalize") + call(2, 1250, 9000, "MPI_Finalize")
    seen = report(tmp_path, text)["efficiency"]
    assert (seen["time_ns"], seen["load_balance"], seen["communication"]) == (250, 1, 0.8)


def test_a_lock_in_a_long_recording(tmp_path):
    """Threads 2 and 3 have a lock by turns, 3,000 times; thread 1 wants it from the 500th time on, and has it behind
    the 2,500th. A recording of that length is told in parts, and that wait is in all of them."""
    def has(tid, wanted, taken, given):
        return (call(tid, wanted, taken, "pthread_mutex_lock", mutex=64)
                + call(tid, given, given + 20, "pthread_mutex_unlock", mutex=64))

    turns = {number: has(2 + number % 2, 1000 * number + 100, 1000 * number + 150, 1000 * number + 900)
             for number in range(1, 3001)}
    turns[2500] += has(1, 500_300, 2_500_940, 2_500_960)
    seen = report(tmp_path, composed.threads(3, rank=0) + "".join(turns.values()))
    assert states(seen) == {("wait_for_lock", 1, 2): 2_500_900 - 500_300}
