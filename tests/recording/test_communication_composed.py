# SPDX-License-Identifier: BSD-2-Clause
"""The report's communication, on recordings of which each number can be worked out by hand."""
import json

import pytest

import gaspbpf
import composed

WORLD, HALF = 0x1000, 0x2000
WORK = 10**6  # ns


def ranks(count, size=None):
    members = " ".join(map(str, range(size or count)))
    return composed.ranks(count) + "".join(f"comm {rank + 1} {WORLD} 0 0 {members}\n" for rank in range(count))


def send(tid, start, end, dest, count, comm=WORLD, symbol="MPI_Send", **more):
    return composed.call(tid, start, end, symbol, dest=dest, tag=0, comm=comm, count=count, datatype=1,
                         **{"comm.id": 0}, **more)


def put(tid, start, end, target, count, win=0x77, **more):
    return composed.call(tid, start, end, "MPI_Put", target_rank=target, origin_count=count, origin_datatype=1, win=win,
                         **more)


def report(tmp_path, text):
    result = gaspbpf.run("report", composed.compose(tmp_path / "c.gasp", text), "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def communication(tmp_path, text):
    return report(tmp_path, text)["communication"]


def matrix(told):
    return {(pair["from"], pair["to"]): (pair["operations"], pair["bytes"]) for pair in told["pairs"]}


def kinds(told):
    return [finding["kind"] for finding in told["findings"]
            if finding["kind"] in ("small_messages", "no_overlap", "hot_target")]


def of_rank(told, rank):
    return next(row for row in told["ranks"] if row["rank"] == rank)


def test_messages_count_where_they_are_sent(tmp_path):
    told = communication(tmp_path, ranks(3) + send(1, 100, 110, 1, 100) + send(1, 120, 150, 1, 300) +
                         send(3, 100, 110, 0, 0) + composed.receive(2, 100, 130, 0))
    assert matrix(told) == {(0, 1): (2, 400), (2, 0): (1, 0)}
    pair = next(pair for pair in told["pairs"] if pair["from"] == 0)
    assert (pair["mean_bytes"], pair["time_ns"], pair["sent"]["operations"]) == (200, 40, 2)
    assert of_rank(told, 0)["out"]["bytes"] == of_rank(told, 1)["in"]["bytes"] == 400
    assert of_rank(told, 1)["received"]["operations"] == 1
    assert told["sizes"] == [[0, 1, 0], [64, 1, 100], [256, 1, 300]]
    assert told["job_ranks"] == 3


def test_ranks_of_a_communicator_are_ranks_of_the_job(tmp_path):
    """What a handle means may change: each call is resolved by what it meant then."""
    text = ranks(4) + f"comm 2 {HALF} 0 7 3 1\ncomm 2 {HALF} 1000 8 1 2\n"
    told = communication(tmp_path, text + send(2, 100, 110, 0, 64, comm=HALF) + send(2, 1100, 1110, 1, 5, comm=HALF))
    assert matrix(told) == {(1, 3): (1, 64), (1, 2): (1, 5)}


def test_who_is_not_known_is_not_guessed(tmp_path):
    """A communicator that could not be read, a rank beyond its members, a rank that could not be read; and nobody."""
    unread = composed.call(1, 180, 190, "MPI_Send", tag=0, comm=WORLD, count=7, datatype=1)
    told = communication(tmp_path, ranks(2) + send(1, 100, 110, 0, 10, comm=0x9999) + send(1, 120, 130, 7, 20) +
                         unread + send(1, 200, 210, -2, 50))
    assert told["pairs"] == []
    assert of_rank(told, 0)["to_unknown"] == {"operations": 3, "bytes": 37, "operations_without_bytes": 0}
    assert of_rank(told, 0)["to_nobody"] == 1


def test_receives_from_anybody(tmp_path):
    anybody = composed.call(1, 100, 110, "MPI_Irecv", source=-1, tag=0, comm=WORLD, request=5)
    told = communication(tmp_path, ranks(2) + anybody + composed.receive(1, 120, 130, 1))
    assert of_rank(told, 0)["received"]["operations"] == 2
    assert of_rank(told, 0)["received_from_unknown"] == 1


def test_a_rank_that_is_not_in_the_recording(tmp_path):
    told = communication(tmp_path, ranks(2, size=9) + send(1, 100, 110, 8, 10))
    assert matrix(told) == {(0, 8): (1, 10)}
    assert told["pairs"][0]["to_pid"] is None


def test_a_window_has_the_ranks_of_its_communicator(tmp_path):
    text = ranks(4) + f"comm 2 {HALF} 0 7 3 1\n" + \
        composed.call(2, 50, 60, "MPI_Win_create", comm=HALF, win=0x77, **{"comm.id": 7})
    told = communication(tmp_path, text + put(2, 100, 110, 0, 40) + put(2, 120, 130, 1, 2) +
                         put(2, 140, 150, 0, 3, win=0x88))
    assert matrix(told) == {(1, 3): (1, 40), (1, 1): (1, 2), (1, 0): (1, 3)}
    assert of_rank(told, 1)["own_part"]["bytes"] == 2
    assert of_rank(told, 1)["others_parts"] == {"operations": 2, "bytes": 43, "operations_without_bytes": 0}


def test_what_is_inside_of_other_communication_counts_once(tmp_path):
    """A put of one runtime is built from those of another; a function of the program around a put is none."""
    layered = put(1, 110, 120, 1, 8, depth=1) + put(1, 130, 140, 1, 8, depth=1) + \
        composed.call(1, 100, 150, "_gfortran_caf_send", image=1)
    inside = put(1, 210, 220, 1, 5, depth=1) + composed.call(1, 200, 250, "work", step=1)
    told = communication(tmp_path, ranks(2) + layered + inside)
    pair, = told["pairs"]
    assert pair["put"]["operations"] == 2 and pair["put"]["operations_without_bytes"] == 1
    assert pair["bytes"] == 5 and pair["time_ns"] == 60
    assert told["sizes"] == [[4, 1, 5]]


def test_collectives_are_apart(tmp_path):
    told = communication(tmp_path, ranks(2) + composed.call(1, 100, 110, "MPI_Bcast", count=100, datatype=1, root=0,
                                                            comm=WORLD))
    assert told["pairs"] == [] and told["collectives"]["operations"] == 1


def test_two_runs_of_small_messages(tmp_path):
    """A wait between, another rank, a large one and lost calls end a run; less than four are none."""
    text, time = ranks(3), 100

    def sends(number, dest=1, count=100, length=10):
        nonlocal text, time
        for _ in range(number):
            text += send(1, time, time + length, dest, count)
            time += 20
    sends(5)
    text += composed.receive(1, time, time + 10, 1)
    time += 20
    sends(3)
    sends(4, dest=2, length=7)
    sends(1, count=2000)
    sends(3)
    text += "lost 1 2\n"
    sends(3)
    small, = communication(tmp_path, text)["small_messages"]
    assert (small["runs"], small["messages"], small["bytes"], small["messages_that_would_do"]) == (2, 9, 900, 2)
    assert (small["time_ns"], small["shortest_ns"], small["saves_ns"]) == (78, 7, 49)
    assert small["to"] is None


def test_calls_inside_of_a_message_do_not_end_a_run(tmp_path):
    text = ranks(2)
    for i in range(6):
        text += composed.call(1, 110 + 100 * i, 120 + 100 * i, "MPI_Barrier", depth=1) + \
            send(1, 100 + 100 * i, 150 + 100 * i, 1, 8)
    small, = communication(tmp_path, text)["small_messages"]
    assert small["messages"] == 6


def test_calls_between_messages_end_a_run_however_deep(tmp_path):
    text = ranks(2)
    for i in range(6):
        text += send(1, 100 + 100 * i, 150 + 100 * i, 1, 8) + \
            composed.call(1, 160 + 100 * i, 170 + 100 * i, "MPI_Barrier", depth=1)
    assert communication(tmp_path, text)["small_messages"] == []


def exchanges(count, own, wait, between=0):
    """Each asks for a message, sends one in `between` ns, does so much of its own, waits, and works."""
    text, time = ranks(2), 100
    for _ in range(count):
        text += composed.call(1, time, time + 10, "MPI_Irecv", source=1, tag=0, comm=WORLD, request=5)
        time += 10
        if between:
            text += send(1, time, time + between, 1, 4000)
        time += between + own
        text += composed.call(1, time, time + wait, "MPI_Wait", request=5)
        time += wait + WORK
    return text


def test_a_wait_right_after_what_began_it_overlaps_nothing(tmp_path):
    told = report(tmp_path, exchanges(10, own=4000, wait=100000))
    idle, = told["communication"]["no_overlap"]
    assert (idle["waits"], idle["without_overlap"]) == (10, 10)
    assert idle["wait_ns"] == idle["hidden_at_most_ns"] == 10**6
    assert idle["begun_by"] == "GASP_MPI_IRECV"
    assert kinds(told) == ["no_overlap"]


def test_other_communication_is_no_work_of_its_own(tmp_path):
    idle, = communication(tmp_path, exchanges(10, own=4000, wait=100000, between=50000))["no_overlap"]
    assert idle["without_overlap"] == 10


def test_a_wait_after_work_overlaps_it(tmp_path):
    told = report(tmp_path, exchanges(10, own=6000, wait=100000))
    assert told["communication"]["no_overlap"] == [] and kinds(told) == []


def test_a_wait_for_something_that_nobody_saw_begin(tmp_path):
    told = communication(tmp_path, ranks(2) + composed.call(1, 100, 200, "MPI_Wait", request=5))
    assert told["no_overlap"] == [] and told["waits_for_unknown"] == 1


def test_of_several_that_are_waited_for_the_most_work_counts(tmp_path):
    first = composed.call(1, 100, 110, "MPI_Irecv", source=1, tag=0, comm=WORLD, request=5)
    second = send(1, 5000, 5010, 1, 4000, symbol="MPI_Isend", request=6)
    both = composed.call(1, 5010, 15010, "MPI_Waitall", **{"count": 2, "array_of_requests.0": 5,
                                                           "array_of_requests.1": 6})
    assert communication(tmp_path, ranks(2) + first + second + both)["no_overlap"] == []
    idle, = communication(tmp_path, ranks(2) + second + both)["no_overlap"]
    assert idle["begun_by"] == "GASP_MPI_ISEND"


def test_habits_are_no_findings_where_calls_are_missing(tmp_path):
    told = report(tmp_path, exchanges(10, own=0, wait=100000) + "sum 1 MPI_Send 0 0 50\n")
    assert told["communication"]["calls_not_on_timeline"] == 50
    assert told["communication"]["no_overlap"] and kinds(told) == []


def hot(slow, others):
    """Calls that name rank 0 take so long, and those that name others so long."""
    text = ranks(5)
    for i in range(60):
        for tid in range(2, 6):
            text += send(tid, 1000 * i + 100, 1000 * i + 100 + slow, 0, 4000)
            if i % 10 == 0:
                text += send(tid, 1000 * i + 650, 1000 * i + 650 + others, tid % 5, 4000)
    return text


def test_a_hot_target_is_a_finding_where_calls_to_it_are_slow(tmp_path):
    told = report(tmp_path, hot(slow=500, others=10))
    # of 264 operations 240 name it, and the last rank's others
    assert told["communication"]["hot_target"] == {"rank": 0, "operations": 246}
    assert kinds(told) == ["hot_target"]
    for slow, others in (500, 300), (10, 1):
        told = report(tmp_path, hot(slow, others))
        assert told["communication"]["hot_target"]["rank"] == 0 and kinds(told) == []


def test_text(tmp_path):
    result = gaspbpf.run("report", composed.compose(tmp_path / "c.gasp", ranks(3) + send(1, 100, 110, 1, 100) +
                                                    send(3, 100, 110, 0, 2048)), "--section", "communication")
    lines = result.stdout.splitlines()
    assert lines[2].split() == "Bytes from to 0 to 1 to 2 Operations".split()
    assert lines[3].split() == "rank 0 - 100 B - 1".split()
    assert lines[5].split() == "rank 2 2.00 KiB - - 1".split()
    assert "Sizes: mean 1.05 KiB, 50% from 64 B to 1 KiB, 50% from 1 KiB to 64 KiB" in lines


def test_one_process_has_nothing_to_say(tmp_path):
    path = composed.compose(tmp_path / "c.gasp", "process 1 -1\n" + composed.call(1, 0, 10, "work", step=1))
    assert "Communication" not in gaspbpf.run("report", path).stdout


def steps_of_small(symbol, calls, work=100_000, between=100, each=2000, count=8):
    """Two ranks that work, and then make so many small calls together, one after the other: (text, end)."""
    text, now = ranks(2), 1000
    for _ in range(30):
        now += work
        for number in range(calls):
            ends = now + each + 1500 * (number % 3)
            for tid in (1, 2):
                values = {"comm": WORLD, "comm.id": 0, "site": "solve.c:8"}
                if symbol == "MPI_Sendrecv":
                    values |= {"sendcount": count, "sendtype": 1, "dest": 2 - tid, "sendtag": 0, "recvcount": count,
                               "recvtype": 1, "source": 2 - tid, "recvtag": 0}
                else:
                    values |= {"count": count, "datatype": 1, "comm.rank": tid - 1}
                text += composed.call(tid, now, ends, symbol, **values)
            now = ends + between
    return text + "".join(composed.call(tid, now + 10, now + 20, "MPI_Finalize") for tid in (1, 2)), now


@pytest.mark.parametrize("symbol, words", [
    ("MPI_Allreduce", "600 small collective operations, of 8 B on average, one after the other at solve.c:8"),
    ("MPI_Sendrecv", "600 small exchanges, of 8 B on average, one after the other at solve.c:8")])
def test_small_calls_that_all_wait_in(tmp_path, symbol, words):
    sick, end = steps_of_small(symbol, calls=10)
    _, healed_end = steps_of_small(symbol, calls=1)
    told = report(tmp_path, sick)
    finding, = (each for each in told["findings"] if each["kind"] == "small_messages")
    assert words in finding["text"] and "60 of up to 64 KiB would do" in finding["text"]
    assert abs(finding["gain_ns"] - (end - healed_end)) <= 0.1 * (end - healed_end)
    assert not [each for each in told["findings"] if each["kind"] == "hot_event"], "it is what the finding is about"


@pytest.mark.parametrize("how", [
    {"calls": 1}, {"calls": 3}, {"calls": 10, "between": 50_000}, {"calls": 10, "count": 4096}])
@pytest.mark.parametrize("symbol", ["MPI_Allreduce", "MPI_Sendrecv"])
def test_who_works_between_does_not_meet_too_often(tmp_path, symbol, how):
    """Nor does one who has little to do together, or much to send."""
    assert not kinds(report(tmp_path, steps_of_small(symbol, **how)[0]))
