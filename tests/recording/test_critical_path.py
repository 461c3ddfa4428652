# SPDX-License-Identifier: BSD-2-Clause
"""What a run is as long as: recordings in which the critical path can be read off.

Times are ns; thread n is rank n - 1.
"""
import json

import pytest

import composed
import gaspbpf
from composed import call, ranks, receive, send

pytestmark = pytest.mark.files
COLLECTIVES = ["Barrier", "Allreduce", "Allgather", "Alltoall", "Allgatherv", "Alltoallv", "Scan"]


def meet(tid, start, end, symbol="MPI_Barrier", **more):
    return call(tid, start, end, symbol, **{"comm.id": 0, "comm.rank": tid - 1}, **more)


def report(tmp_path, text):
    recording = composed.compose(tmp_path / "run.gasp", text)
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def path_of(tmp_path, text):
    return report(tmp_path, text)["critical_path"]


def name(part):
    def event(called):
        return called and called["event"].removeprefix("GASP_MPI_").removeprefix("GASP_PTHREAD_")
    return event(part["call"]) or (event(part["after"]), event(part["before"]))


def deeds(path):
    """{(who, the call or after and before): ns on the path}"""
    return {(thread["tid"], name(part)): thread["on_path_ns"] for part in path["parts"] for thread in part["threads"]
            if thread["on_path_ns"]}


def gains(path):
    return {name(part): (part["gain_at_most_ns"], part["gain_ns"]) for part in path["parts"]}


def threads(path):
    return {thread["tid"]: thread["on_path_ns"] for thread in path["threads"]}


CHAIN = (ranks(3) + send(1, 200, 205, 1) + receive(2, 20, 210, 0) + send(2, 250, 255, 2) + receive(3, 30, 260, 1))


def test_a_chain_of_three_ranks(tmp_path):
    path = path_of(tmp_path, CHAIN)
    assert deeds(path) == {(1, "INIT"): 10, (1, ("INIT", "SEND")): 190, (2, "RECV"): 10, (2, ("RECV", "SEND")): 40,
                           (3, "RECV"): 10}
    assert (path["length_ns"], path["unknown_ns"], path["changes"], path["ends"]["tid"]) == (260, 0, 2, 3)
    assert threads(path) == {1: 200, 2: 50, 3: 10}
    assert [(event["name"], event["on_path_ns"]) for event in path["events"]] == [
        (None, 230), ("GASP_MPI_RECV", 20), ("GASP_MPI_INIT", 10)]


def test_each_part_a_tenth_shorter(tmp_path):
    """All three are simulated, and each gives what it can, as nothing else is as long."""
    seen = gains(path_of(tmp_path, CHAIN))
    assert seen == {("INIT", "SEND"): (19, 19), ("RECV", "SEND"): (4, 4), "RECV": (2, 2), "INIT": (1, None)}


def test_who_is_last_at_each_barrier(tmp_path):
    """Rank 1, then rank 0, then rank 2; each but the last round it is somebody else who ends."""
    rounds = [(100, 200, 150, 210), (400, 300, 250, 410), (450, 420, 500, 510)]
    text = ranks(3) + "".join(meet(tid, start[tid - 1], start[3]) for start in rounds for tid in (1, 2, 3))
    path = path_of(tmp_path, text + meet(2, 600, 610) + meet(1, 550, 612) + meet(3, 560, 608))
    between, first = ("BARRIER", "BARRIER"), ("INIT", "BARRIER")
    assert deeds(path) == {(2, "INIT"): 10, (2, first): 190, (1, "BARRIER"): 10 + 12, (1, between): 190,
                           (3, "BARRIER"): 10, (3, between): 90, (2, "BARRIER"): 10, (2, between): 90}
    assert path["length_ns"] == 612 and path["changes"] == 4 and path["ends"]["tid"] == 1


def test_a_lock_that_is_handed_over(tmp_path):
    """The second thread works a little, waits for the lock that the first one has, and ends last."""
    def lock(tid, start, end, symbol):
        return call(tid, start, end, f"pthread_mutex_{symbol}", mutex=0x1000)
    text = "process 1 -1\nthread 1 2\n" + lock(1, 10, 12, "lock") + lock(2, 50, 303, "lock")
    path = path_of(tmp_path, text + lock(1, 300, 302, "unlock") + lock(2, 400, 405, "unlock"))
    calls = [part for part in path["parts"] if part["does"] == "calls"]
    assert path["changes"] == 1 and path["ends"]["tid"] == 2
    assert threads(path) == {1: 300 - 10 + (path["length_ns"] - 395), 2: 105}
    assert sum(part["on_path_ns"] for part in calls) == 2 + 3 + 5


def test_another_path_is_nearly_as_long(tmp_path):
    """A tenth of rank 0's 100 ns would be 10; but rank 1 is only 4 ns earlier."""
    text = ranks(2) + send(1, 12, 20, 1) + receive(2, 15, 22, 0) + meet(1, 120, 130) + meet(2, 116, 130)
    path = path_of(tmp_path, text)
    assert deeds(path)[(1, ("SEND", "BARRIER"))] == 100
    assert gains(path)[("SEND", "BARRIER")] == (10, 4)


def test_what_is_uneven(tmp_path):
    """The same code by both, 190 and 90 ns: 50 ns of it are beyond the mean."""
    path = path_of(tmp_path, ranks(2) + meet(1, 200, 210) + meet(2, 100, 210))
    part = path["parts"][0]
    assert (part["on_path_ns"], part["lasted_ns"], part["imbalance_ns"]) == (190, 280, 50)


def test_of_a_process_with_lost_calls_nothing_is_put_together(tmp_path):
    path = path_of(tmp_path, ranks(2) + "lost 1 3\n" + send(1, 100, 140, 1) + receive(2, 50, 130, 0))
    assert path["changes"] == 0 and path["ends"]["tid"] == 1
    assert (path["length_ns"], path["unknown_ns"]) == (140, 90)
    assert [part["gain_at_most_ns"] for part in path["parts"] if part["does"] == "unknown"] == [None]


def test_threads_that_have_nothing_to_do_with_each_other(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", ranks(2) + meet(1, 100, 110))
    result = gaspbpf.run("report", recording)
    assert result.returncode == 0 and "Critical path" not in result.stdout


def serial(busy_until):
    """Rank 0 works 380 ns at a place of its own while the other is busy with something else, and then it works again
    and again, each time somewhere else, while the other waits. Both come to the first meeting from different lines."""
    text = ranks(2) + send(1, 12, 20, 1) + receive(2, 14, 22, 0)
    for turn, symbol in enumerate(COLLECTIVES):
        begins = 400 + 100 * turn
        text += meet(1, begins, begins + 2, f"MPI_{symbol}", site=f"master.c:{turn + 1}")
        text += meet(2, begins - 97 if turn else busy_until, begins + 2, f"MPI_{symbol}", site=f"other.c:{turn + 1}")
    return text


def findings(seen, kind):
    return [finding for finding in seen["findings"] if finding["kind"] == kind]


def test_serial_code_is_a_finding(tmp_path):
    seen = report(tmp_path, serial(350))
    finding, = findings(seen, "critical_path")
    assert not findings(seen, "delay")
    assert finding["tid"] == 1 and finding["gain_ns"] == 38
    assert ("rank 0 is outside of calls (after GASP_MPI_SEND, before GASP_MPI_BARRIER at master.c:1 in work)" in
            finding["text"])


def test_none_where_it_would_give_little(tmp_path):
    """The other one is busy for nearly as long: 12 ns of 38 that a tenth could be."""
    seen = report(tmp_path, serial(388))
    assert gains(seen["critical_path"])[("SEND", "BARRIER")] == (38, 12)
    assert not findings(seen, "critical_path")


def test_none_where_it_is_told_as_a_delay(tmp_path):
    seen = report(tmp_path, CHAIN)
    assert findings(seen, "delay") and not findings(seen, "critical_path")


def test_none_where_all_do_the_same(tmp_path):
    text = ranks(2) + "".join(meet(tid, 1000 * turn + tid, 1000 * turn + 10) for tid in (1, 2) for turn in range(1, 9))
    assert not findings(report(tmp_path, text), "critical_path")


def sends_and_receives(work, unit=1):
    """Rank 0 works so long before each of its sends; rank 1 begins later, and works 1,000 ns before each receive."""
    return ranks(2) + "".join(
        send(1, 10 + unit * work * turn, 15 + unit * work * turn, 1) +
        receive(2, unit * (600 + 1000 * turn), unit * (600 + 1000 * turn) + 5, 0) for turn in range(1, 9))


def test_none_where_another_works_as_long(tmp_path):
    """If between other calls."""
    assert findings(report(tmp_path, sends_and_receives(500)), "critical_path")
    assert not findings(report(tmp_path, sends_and_receives(1000)), "critical_path")


def test_none_where_it_had_no_processor(tmp_path):
    for queued, told in ((30_000_000, True), (40_000_000, False)):
        kernel = f"scheduled 2 86000000 40000000 {queued} 2 0\n"
        assert bool(findings(report(tmp_path, sends_and_receives(500, 10_000) + kernel), "critical_path")) == told


def test_the_text_is_short(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", serial(350))
    text = gaspbpf.run("report", recording).stdout
    section = text[text.index("Critical path"):].split("\n\n")[0].splitlines()
    assert len(section) <= 8 and max(map(len, section)) <= 100
    whole = gaspbpf.run("report", "-S", "critical_path", recording).stdout
    assert len(whole.splitlines()) > len(section)
