# SPDX-License-Identifier: BSD-2-Clause
"""Arrows of a Chrome trace: from the call that sends to the one that receives, from the last one that comes to those
who wait for it. Times are ns; thread n is rank n - 1."""
import json
import random

import pytest

import composed
import gaspbpf
from composed import call, ranks, receive, send

pytestmark = pytest.mark.files


def exported(tmp_path, text, *options, wanted=True):
    recording, trace = composed.compose(tmp_path / "run.gasp", text), tmp_path / "run.json"
    result = gaspbpf.run("export", recording, "-o", trace, *options, *(["--arrows"] if wanted else []))
    assert result.returncode == 0, result.stderr
    return json.loads(trace.read_text())["traceEvents"]


def ns(event):
    return round(event["ts"] * 1000)


def arrows(events):
    """(name, (thread, time) of its begin, the same of its end), and each of these in a call of that thread."""
    ends = {}
    for event in events:
        if event["ph"] in "sf":
            assert (event.get("bp") == "e") == (event["ph"] == "f")
            assert any(call["ph"] == "X" and (call["pid"], call["tid"]) == (event["pid"], event["tid"]) and
                       ns(call) <= ns(event) < ns(call) + max(round(call["dur"] * 1000), 1) for call in events), event
            assert (event["id"], event["ph"]) not in ends
            ends[event["id"], event["ph"]] = event
    numbers = {number for number, _ in ends}
    assert len(ends) == 2 * len(numbers)
    found = []
    for number in numbers:
        begin, end = ends[number, "s"], ends[number, "f"]
        assert begin["name"] == end["name"] and begin["cat"] == end["cat"]
        found.append((begin["name"], (begin["tid"], ns(begin)), (end["tid"], ns(end))))
    return sorted(found)


def barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})


def test_a_message(tmp_path):
    """It arrives when the sending call has ended, and not after the end of the receiving one."""
    events = exported(tmp_path, ranks(3) + send(1, 100, 110, 1) + receive(2, 50, 130, 0) + send(2, 200, 300, 2)
                      + receive(3, 150, 260, 1) + send(3, 400, 410, 0) + receive(1, 500, 510, 2))
    assert arrows(events) == [("message", (1, 100), (2, 110)), ("message", (2, 200), (3, 259)),
                              ("message", (3, 400), (1, 500))]


def test_a_send_that_waits_for_its_receiver(tmp_path):
    """It has an arrow from that one, too, at the time at which the receiver comes."""
    events = exported(tmp_path, ranks(2) + send(1, 100, 320, 1) + receive(2, 300, 310, 0) + send(1, 400, 410, 1)
                      + receive(2, 405, 430, 0) + send(1, 500, 510, 1) + receive(2, 600, 610, 0))
    assert arrows(events) == [("message", (1, 100), (2, 309)), ("message", (1, 400), (2, 410)),
                              ("message", (1, 500), (2, 600)), ("the receiver comes", (2, 300), (1, 300)),
                              ("the receiver comes", (2, 405), (1, 405))]


def test_the_last_one_comes(tmp_path):
    """Who comes last waits for nobody; the others wait for it alone."""
    events = exported(tmp_path, ranks(3) + barrier(1, 100, 410) + barrier(2, 400, 410) + barrier(3, 200, 410))
    assert arrows(events) == [("the last one comes", (2, 400), (1, 400)), ("the last one comes", (2, 400), (3, 400))]


def test_nobody_sends_to_itself(tmp_path):
    """No arrow leads to where it comes from."""
    assert not arrows(exported(tmp_path, ranks(2) + send(1, 100, 110, 0) + receive(1, 120, 130, 0)))


def test_none_are_wanted(tmp_path):
    text = ranks(2) + send(1, 100, 110, 1) + receive(2, 50, 130, 0)
    assert arrows(exported(tmp_path, text))
    assert not arrows(exported(tmp_path, text, wanted=False))


def many(count):
    """Messages one after the other between two ranks: the k-th of the one is for the k-th of the other."""
    rng, at, text, expected = random.Random(count), 100, ranks(2), []
    for _ in range(count):
        to = rng.choice((1, 2))
        text += send(3 - to, at, at + 10, to - 1) + receive(to, at + 20, at + 30 + 10 * rng.randrange(9), 2 - to)
        expected.append(("message", (3 - to, at), (to, at + 20)))
        at += 200
    return text, expected


def test_a_part_has_the_arrows_of_all(tmp_path):
    """Which messages belong together is known of the whole recording, also where only a part of it is shown."""
    text, expected = many(60)
    assert arrows(exported(tmp_path, text)) == sorted(expected)
    # Begins within the first message of the part: its sending call is not shown, nor is an arrow from it.
    seen = arrows(exported(tmp_path, text, "--from", "0.000006115"))
    assert seen == sorted(arrow for arrow in expected if arrow[1][1] + 10 >= 6115)
    assert 25 < len(seen) < 35


def test_ranks_that_are_not_shown_have_no_arrows(tmp_path):
    text = ranks(3) + send(1, 100, 110, 1) + receive(2, 50, 130, 0) + send(2, 200, 300, 2) + receive(3, 150, 360, 1)
    assert arrows(exported(tmp_path, text, "--ranks", "0-1")) == [("message", (1, 100), (2, 110))]


def test_a_part_begins_between_two_messages_on_their_way(tmp_path):
    """The second message is still the second call's that receives."""
    text = ranks(2) + send(1, 100, 110, 1) + send(1, 120, 130, 1) + receive(2, 500, 510, 0) + receive(2, 600, 610, 0)
    assert arrows(exported(tmp_path, text, "--from", "0.000000115")) == [("message", (1, 120), (2, 600))]


def test_who_asks_for_a_message(tmp_path):
    """It arrives in the last of the calls that ask; where it is found and then received, in what receives it."""
    def ask(start, flag):
        return call(2, start, start + 10, "MPI_Iprobe", source=0, tag=0, flag=flag, **{"comm.id": 0}, **(
            {"status.source": 0, "status.tag": 0} if flag else {}))
    begun = call(2, 20, 25, "MPI_Irecv", source=0, tag=0, count=1, datatype=1, request=5, **{"comm.id": 0})
    asked = ranks(2) + begun + send(1, 100, 110, 1) + "".join(
        call(2, start, start + 10, "MPI_Test", request=5, flag=int(start == 120)) for start in range(40, 121, 20))
    assert arrows(exported(tmp_path, asked)) == [("message", (1, 100), (2, 120))]
    found = ranks(2) + send(1, 100, 110, 1) + ask(80, 0) + ask(120, 1) + receive(2, 140, 150, 0)
    assert arrows(exported(tmp_path, found)) == [("message", (1, 100), (2, 140))]


def test_a_lock(tmp_path):
    def lock(tid, start, end, symbol):
        return call(tid, start, end, symbol, mutex=4096)
    text = "process 1 -1\nthread 1 2\n" + lock(1, 100, 110, "pthread_mutex_lock") + \
        lock(2, 150, 320, "pthread_mutex_lock") + lock(1, 300, 310, "pthread_mutex_unlock") + \
        lock(2, 400, 410, "pthread_mutex_unlock")
    arrow, = arrows(exported(tmp_path, text))
    assert arrow[0] == "lock is handed over" and arrow[1] == (1, 300) and arrow[2][0] == 2 and 300 <= arrow[2][1] < 320


def test_a_thread_on_several_tracks(tmp_path):
    """Calls of it that overlap are on tracks of their own: an arrow to one of them could lead to another."""
    text = ranks(2) + send(1, 100, 110, 1) + receive(2, 50, 130, 0)
    both = ranks(2) + send(1, 20, 30, 1, 7) + send(1, 100, 110, 1) + receive(2, 40, 90, 0, 7) + \
        receive(2, 50, 130, 0)
    assert len(arrows(exported(tmp_path, text))) == 1
    events = exported(tmp_path, both)
    assert len({event["tid"] for event in events if event["ph"] == "X" and event["pid"] == 2}) == 2
    assert not arrows(events)


def test_the_last_one_comes_to_some_who_are_shown(tmp_path):
    """Also where not all of the barrier's are."""
    text = ranks(3) + barrier(1, 100, 410) + barrier(2, 400, 410) + barrier(3, 200, 410)
    assert arrows(exported(tmp_path, text, "--ranks", "1-2")) == [("the last one comes", (2, 400), (3, 400))]
    assert not arrows(exported(tmp_path, text, "--ranks", "0,2"))
