# SPDX-License-Identifier: BSD-2-Clause
"""Who asks again and again whether a message has come, or waits for one before it receives it, waits for its sender:
recordings in which each answer can be read off. Times are ns; thread n is rank n - 1."""
import json

import pytest

import gaspbpf
from composed import call, compose, ranks, receive, send, simulate, times
from waits import causes, report, states

pytestmark = pytest.mark.files

REQUEST, OTHER = 77, 78
SENT = 40_000


def irecv(start, source=0, request=REQUEST, tag=0):
    return call(2, start, start + 5, "MPI_Irecv", source=source, tag=tag, count=1, datatype=1, request=request,
                **{"comm.id": 0})


def mpi_test(start, end, flag, request=REQUEST):
    return call(2, start, end, "MPI_Test", request=request, flag=flag)


def probe(start, end, source=0, symbol="MPI_Probe", **more):
    came = {"status.source": 0, "status.tag": 0} if more.get("flag", 1) else {}
    return call(2, start, end, symbol, source=source, tag=0, **{"comm.id": 0}, **came, **more)


def asked(ask, begin, end, pause=100, long=500):
    """In vain, again and again."""
    return "".join(ask(start, start + long) for start in range(begin, end - long + 1, pause + long))


def in_vain(begin, end, **more):
    return asked(lambda start, end: mpi_test(start, end, 0), begin, end, **more)


def iprobed(begin, end, **more):
    return asked(lambda start, end: probe(start, end, symbol="MPI_Iprobe", flag=0), begin, end, **more)


def seen(tmp_path, text, sent=SENT):
    return report(tmp_path, ranks(2) + send(1, sent, sent + 10, 1) + text)


def late(ns):
    return {("late_sender", 2, 1): ns} if ns else {}


def test_it_asks_until_it_has_come(tmp_path):
    told = seen(tmp_path, irecv(1000) + in_vain(2000, SENT) + mpi_test(SENT + 200, SENT + 300, 1))
    assert states(told) == late(SENT - 2000)
    assert causes(told)[(1, "outside", ("INIT", "SEND"))] == (SENT - 2000, 0)


def test_it_was_there_when_it_asked(tmp_path):
    assert states(seen(tmp_path, irecv(1000) + mpi_test(SENT + 200, SENT + 300, 1))) == {}


def test_one_of_several(tmp_path):
    """It asks for two things in turn: who waits for the one does not care for the other."""
    vain = "".join(mpi_test(start, start + 400, 0, request=OTHER) + mpi_test(start + 500, start + 900, 0)
                   for start in range(2000, SENT, 1000))
    told = seen(tmp_path, irecv(1000) + vain + mpi_test(SENT + 200, SENT + 300, 1))
    assert states(told) == late(SENT - 2000)


@pytest.mark.parametrize("between, waited", [
    ("", SENT - 2000),
    (call(2, 20_250, 20_260, "pthread_mutex_lock", mutex=5), SENT - 20_600),
    (send(2, 20_250, 20_260, 0, tag=9), SENT - 20_600)])
def test_it_does_something_else_meanwhile(tmp_path, between, waited):
    told = seen(tmp_path, irecv(1000) + in_vain(2000, 20_000) + between + in_vain(20_600, SENT) +
                mpi_test(SENT + 200, SENT + 300, 1))
    assert states(told) == late(waited)


# tid, ns observed, on a processor, queued for one; two of these, the first
@pytest.mark.parametrize("kernel, waited", [
    ("", SENT + 15_000 - 35_000),                                          # nothing is known: it may have worked
    (f"scheduled 2 {10 * SENT} {10 * SENT} 0 2 0\n", SENT + 15_000 - 35_000),  # it ran all the time
    (f"scheduled 2 {10 * SENT} 1000 0 2 0\n", SENT + 15_000 - 2000),           # it slept
    (f"scheduled 2 {10 * SENT} {5 * SENT} 20000 2 0\n", SENT + 15_000 - 2000)])  # it had no processor
def test_a_pause(tmp_path, kernel, waited):
    """Of 15 us, before it asks again."""
    text = in_vain(2000, 20_000) + in_vain(35_000, SENT + 15_000) + mpi_test(SENT + 15_200, SENT + 15_300, 1)
    told = seen(tmp_path, kernel + irecv(1000) + text, sent=SENT + 15_000)
    assert states(told) == late(waited)


def test_what_it_does_when_one_has_come_is_no_pause(tmp_path):
    """It works for long then, and has no processor for a short pause while it asks."""
    text = mpi_test(2000, 2100, 1, request=OTHER) + in_vain(100_000, 120_000) + in_vain(135_000, 150_000) + \
        mpi_test(150_200, 150_300, 1)
    told = seen(tmp_path, "scheduled 2 200000 150000 20000 2 0\n" + irecv(1000) + irecv(1100, request=OTHER, tag=1) +
                text, sent=150_000)
    assert states(told) == late(50_000)


def test_a_collective_operation(tmp_path):
    begun = "".join(call(tid, start, start + 10, "MPI_Ibarrier", request=REQUEST, **{
        "comm.id": 0, "comm.rank": tid - 1}) for tid, start in ((1, SENT), (2, 1000)))
    text = begun + in_vain(2000, SENT) + mpi_test(SENT + 200, SENT + 300, 1) + \
        call(1, SENT + 400, SENT + 500, "MPI_Wait", request=REQUEST)
    assert states(report(tmp_path, ranks(2) + text)) == {("wait_at_barrier", 2, 1): SENT - 2000}


@pytest.mark.parametrize("pause, price, waited", [
    (200, 0, SENT - 2000), (300, 0, 0), (900, 0, 0),
    (900, 1000, SENT - 2000),  # the probes take 600 of them, and 900 is what they may take
    (1200, 1000, 0)])
def test_who_asks_after_each_piece_of_work_works(tmp_path, pause, price, waited):
    """A call takes 500 ns."""
    text = f"floor 400\n{irecv(1000)}price MPI_Test {price}\n" if price else irecv(1000)
    last = SENT + 700
    told = seen(tmp_path, text + in_vain(2000, SENT, pause=pause) + mpi_test(last, last + 500, 1))
    assert states(told) == late(waited)


LONG = 150_000  # so long one asks that it is told what one does


@pytest.mark.parametrize("until, is_call", [(LONG, True), (SENT, False)])
def test_who_asks_for_what_was_there(tmp_path, until, is_call):
    """It asked for something else before, and that is no part of the call that found this."""
    told = seen(tmp_path, irecv(1000) + iprobed(2000, until) + mpi_test(until + 200, until + 300, 1), sent=1500)
    assert states(told) == {}
    parts = {part["call"]["event"]: part["on_path_ns"] for part in told["critical_path"]["parts"] if part["call"]}
    assert parts.get("GASP_MPI_IPROBE") == (until + 200 - 2000 if is_call else None)
    assert parts.get("GASP_MPI_TEST", 100) == 100


@pytest.mark.parametrize("pause, until, is_call", [(100, LONG, True), (400, LONG, False), (100, SENT, False)])
def test_who_asks_in_vain_is_in_these_calls(tmp_path, pause, until, is_call):
    """For long, and does not work meanwhile: else they are a part of that."""
    text = irecv(1000) + in_vain(2000, until, pause=pause) + call(2, until + 100, until + 110, "MPI_Finalize")
    path = report(tmp_path, ranks(2) + send(1, 1200, 1210, 1) + text)["critical_path"]
    told = sum(part["on_path_ns"] for part in path["parts"] if part["call"] and
               part["call"]["event"] == "GASP_MPI_TEST")
    assert until - 3000 < told < until - 2000 if is_call else told == 0


def test_what_it_did_between_other_calls_does_not_count(tmp_path):
    """It worked while it asked, then did something else; and now it waits."""
    worked = in_vain(2000, 10_000, pause=1000) + call(2, 10_000, 10_010, "pthread_mutex_lock", mutex=5)
    told = seen(tmp_path, irecv(1000) + worked + in_vain(11_000, 14_000) + mpi_test(14_200, 14_300, 1), sent=14_000)
    assert states(told) == late(3000)


def test_who_gives_up_has_not_waited(tmp_path):
    """It asks in vain, works, and waits."""
    text = irecv(1000) + in_vain(2000, 10_000) + call(2, 30_000, SENT + 50, "MPI_Wait", request=REQUEST)
    told = seen(tmp_path, text)
    assert states(told) == late(SENT - 30_000)


def test_what_never_came(tmp_path):
    told = report(tmp_path, ranks(2) + irecv(1000) + in_vain(2000, SENT))
    assert states(told) == {}


@pytest.mark.parametrize("asks", [
    lambda: probe(2000, SENT + 50), lambda: probe(2000, SENT + 50, source=-1),
    lambda: iprobed(2000, SENT) + probe(SENT + 20, SENT + 50, symbol="MPI_Iprobe", flag=1)])
def test_it_waits_and_then_receives(tmp_path, asks):
    """The message is the one that it receives then, and is told once."""
    told = seen(tmp_path, asks() + receive(2, SENT + 100, SENT + 150, 0))
    assert states(told) == late(SENT - 2000)
    assert told["wait_states"]["messages"] == 1 and told["wait_states"]["unmatched"] == 0


def test_each_message_of_several(tmp_path):
    """The second probe is for the second message, and looking twice at one is no second wait."""
    text = probe(2000, 3050) + probe(3060, 3070) + receive(2, 3100, 3110, 0) + probe(4000, 6050) + \
        receive(2, 6100, 6110, 0)
    told = report(tmp_path, ranks(2) + send(1, 3000, 3010, 1) + send(1, 6000, 6010, 1) + text)
    assert states(told) == late(1000 + 2000)
    assert told["wait_states"]["messages"] == 2


def test_a_message_that_an_earlier_receive_gets(tmp_path):
    """What was asked for before the probe is not what that one finds."""
    text = irecv(1000) + probe(2000, 6050) + receive(2, 6100, 6110, 0) + \
        call(2, 6200, 6210, "MPI_Wait", request=REQUEST)
    told = report(tmp_path, ranks(2) + send(1, 3000, 3010, 1) + send(1, 6000, 6010, 1) + text)
    assert states(told) == late(4000)


def test_a_message_that_is_taken(tmp_path):
    """MPI_Mprobe takes it; the call that receives it names only that."""
    text = probe(2000, SENT + 50, symbol="MPI_Mprobe", message=OTHER) + \
        call(2, SENT + 100, SENT + 150, "MPI_Mrecv", count=1, datatype=1, message=OTHER)
    told = seen(tmp_path, text)
    assert states(told) == late(SENT - 2000)
    assert told["wait_states"]["messages"] == 1 and told["wait_states"]["unmatched"] == 0


def test_a_receive_that_is_canceled(tmp_path):
    """It has no other side that could have been seen."""
    text = send(1, 100, 110, 1, 4) + receive(2, 90, 120, 0, 4) + irecv(1000) + \
        call(2, 2000, 2010, "MPI_Cancel", request=REQUEST) + call(2, 2100, 2110, "MPI_Wait", request=REQUEST)
    told = report(tmp_path, ranks(2) + text)
    assert told["wait_states"]["unmatched"] == 0 and told["wait_states"]["messages"] == 1


def test_a_probe_for_which_nothing_is_received(tmp_path):
    told = seen(tmp_path, probe(2000, SENT + 50))
    assert states(told) == late(SENT - 2000)


def test_a_message_of_who_is_not_there(tmp_path):
    """The receive has no other side that was seen; the probe is none."""
    told = report(tmp_path, ranks(2) + probe(2000, SENT + 50, source=7) + receive(2, SENT + 100, SENT + 150, 7))
    assert states(told) == {} and told["wait_states"]["unmatched"] == 1


def test_who_waits_for_one_who_waits(tmp_path):
    told = report(tmp_path, ranks(3) + send(3, SENT, SENT + 10, 0) + receive(1, 1000, SENT + 20, 2) +
                  send(1, SENT + 1000, SENT + 1010, 1) + probe(2000, SENT + 1050) +
                  receive(2, SENT + 1100, SENT + 1150, 0))
    assert states(told) == {("late_sender", 1, 3): SENT - 1000, ("late_sender", 2, 1): SENT + 1000 - 2000}


TEAM = "process 1 0\nprocess 2 1\nthread 2 3\n" + "".join(call(tid, 0, 10, "MPI_Init") for tid in (1, 2))


def test_two_threads_look_at_one_message(tmp_path):
    """One of them is told to wait for it."""
    told = report(tmp_path, TEAM + send(1, SENT, SENT + 10, 1) + probe(2000, SENT + 50) +
                  probe(3000, SENT + 60).replace("call 2", "call 3") + receive(2, SENT + 100, SENT + 150, 0))
    assert states(told) == late(SENT - 2000) and told["wait_states"]["unmatched"] == 0


def test_another_thread_gets_the_first(tmp_path):
    """It asked for it after the other one had begun to look, and before that one found something."""
    text = irecv(20_000).replace("call 2", "call 3") + iprobed(2000, SENT) + \
        probe(SENT + 20, SENT + 50, symbol="MPI_Iprobe", flag=1) + receive(2, SENT + 100, SENT + 150, 0)
    told = report(tmp_path, TEAM + send(1, 30_000, 30_010, 1) + send(1, SENT, SENT + 10, 1) + text)
    assert states(told) == late(SENT - 2000)


@pytest.mark.parametrize("pause", [0, 12_000])
def test_what_it_would_give(tmp_path, pause):
    """The sender is late by 40 us: without that all ends as much earlier. Where the other one has no processor for a
    while, it waits, too."""
    text = "".join(call(tid, SENT + 5000, SENT + 5100, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})
                   for tid in (1, 2))
    recording = compose(tmp_path / "run.gasp", ranks(2) + f"scheduled 2 50000 50000 {pause} 2 0\n" +
                        send(1, SENT, SENT + 10, 1) + irecv(1000) + in_vain(2000, 10_000) +
                        in_vain(10_000 + pause, SENT) + mpi_test(SENT + 200, SENT + 300, 1) + text)
    told = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    gain = next(each for each in told["findings"] if each["kind"] == "delay")["gain_ns"]
    assert abs(gain - (SENT - 2000)) < 1000


def test_a_simulator_is_told_of_each(tmp_path):
    """What asks in vain is a call like others to a plug-in."""
    recording = compose(tmp_path / "run.gasp", ranks(2) + send(1, SENT, SENT + 10, 1) + irecv(1000) +
                        in_vain(2000, SENT) + mpi_test(SENT + 200, SENT + 300, 1))
    _, after = simulate(recording, "same")
    assert len(times(after)[2]) == len(times(recording)[2]) > 60
