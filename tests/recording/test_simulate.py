# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf simulate: recordings whose answer is known by hand, random programs against a simulator of ten lines, a real
job, plug-ins."""
import json
import os
import random
import re
import signal
import subprocess

import pytest

import gaspbpf
import toolkit
import truth
from composed import LATE_SENDER, call, compose, lines, ranks, receive, send, simulate, times

# --- by hand ------------------------------------------------------------------


@pytest.mark.files
def test_ideal_network_by_hand(tmp_path):
    """Nothing in the library takes time; a receive ends when it is sent, a barrier when the last has come."""
    report, after = simulate(compose(tmp_path / "run.gasp", LATE_SENDER), "ideal")
    assert times(after) == {1: [(0, 0), (90, 90), (180, 240)], 2: [(0, 0), (40, 90), (240, 240)]}
    assert (report["messages"], report["collectives"], report["given_up"]) == (1, 1, 0)
    # Rank 0 works 90 + 90 ns and 10 after its last call, rank 1 40 + 150.
    assert report["before"]["time_ns"] == 310 and report["after"]["time_ns"] == 250
    assert report["before"]["useful_ns"] == 380 and report["before"]["largest_useful_ns"] == 190
    assert report["before"]["ideal_ns"] == 250
    assert report["before"]["load_balance"] == pytest.approx(1)
    assert report["before"]["communication"] == pytest.approx(190 / 310)
    assert report["before"]["serialisation"] == pytest.approx(190 / 250)
    assert report["before"]["transfer"] == pytest.approx(250 / 310)
    assert report["before"]["parallel"] == pytest.approx(190 / 310)
    assert report["after"]["transfer"] == pytest.approx(1)


@pytest.mark.files
def test_nothing_changes_where_nothing_is_changed(tmp_path):
    report, after = simulate(compose(tmp_path / "run.gasp", LATE_SENDER), "same")
    assert lines(after) == lines(tmp_path / "run.gasp")
    assert report["before"] == report["after"]


@pytest.mark.files
def test_machine_model_by_hand(tmp_path):
    """1000 bytes at 1 byte a ns and 50 ns of latency: eager, the sender goes on; beyond the threshold both meet."""
    text = ranks(2) + send(1, 100, 120, 1, count=1000) + receive(2, 60, 140, 0) + \
        send(2, 200, 300, 0, tag=1, count=10) + receive(1, 150, 320, 1, tag=1)
    machine = ["latency=50ns", "bandwidth=1000000000", "cpu=1"]
    _, after = simulate(compose(tmp_path / "run.gasp", text), "dimemas", *machine, "eager=1000")
    # Sent at 90; there at 90 + 50 + 1000; 60 ns later rank 1 sends, 10 bytes: 60 ns.
    assert times(after) == {1: [(0, 0), (90, 90), (120, 1260)], 2: [(0, 0), (50, 1140), (1200, 1200)]}
    _, after = simulate(tmp_path / "run.gasp", "dimemas", *machine, "eager=999")
    assert times(after) == {1: [(0, 0), (90, 1140), (1170, 1260)], 2: [(0, 0), (50, 1140), (1200, 1200)]}
    _, after = simulate(tmp_path / "run.gasp", "dimemas", *machine[:2], "cpu=0.5", "eager=1000")
    assert times(after) == {1: [(0, 0), (180, 180), (240, 1410)], 2: [(0, 0), (100, 1230), (1350, 1350)]}


@pytest.mark.files
def test_messages_wait_for_a_bus(tmp_path):
    """Two messages of 100 ns at the same time: with one bus the second comes 100 ns later."""
    text = ranks(4) + send(1, 20, 30, 2, count=100) + send(2, 20, 30, 3,
                                                           count=100) + receive(3, 20, 200, 0) + receive(4, 20, 200, 1)
    recording = compose(tmp_path / "run.gasp", text)
    ends = {}
    for buses in 0, 1, 2:
        _, after = simulate(recording, "dimemas", "latency=0", "bandwidth=1000000000", f"buses={buses}")
        ends[buses] = sorted(times(after)[tid][-1][1] for tid in (3, 4))
    assert ends == {0: [110, 110], 1: [110, 210], 2: [110, 110]}


@pytest.mark.files
def test_synchronous_send_and_late_receiver(tmp_path):
    text = ranks(2) + send(1, 20, 220, 1, symbol="MPI_Ssend") + receive(2, 200, 215, 0)
    _, after = simulate(compose(tmp_path / "run.gasp", text), "ideal")
    assert times(after) == {1: [(0, 0), (10, 190)], 2: [(0, 0), (190, 190)]}


@pytest.mark.files
def test_sendrecv_meets_sendrecv(tmp_path):
    def exchange(tid, start, end, other):
        return call(tid, start, end, "MPI_Sendrecv", dest=other, sendtag=3, source=other, recvtag=3, sendcount=1,
                    sendtype=1, **{"comm.id": 0, "status.source": other, "status.tag": 3})
    text = ranks(2) + exchange(1, 50, 150, 1) + exchange(2, 100, 160, 0)
    _, after = simulate(compose(tmp_path / "run.gasp", text), "ideal")
    assert times(after) == {1: [(0, 0), (40, 90)], 2: [(0, 0), (90, 90)]}


@pytest.mark.files
def test_requests_and_wildcards(tmp_path):
    """Irecv from anybody, told by the status of its wait; Waitall for two; one more Irecv for the third message of the
    same channel."""
    any_source = -1
    text = (ranks(3) + send(2, 100, 110, 0, tag=7) + send(3, 60, 70, 0, tag=7) + send(2, 300, 310, 0, tag=7)
            + call(1, 20, 25, "MPI_Irecv", source=any_source, tag=7, request=0x100, **{"comm.id": 0})
            + call(1, 30, 35, "MPI_Irecv", source=1, tag=7, request=0x200, **{"comm.id": 0})
            + call(1, 40, 80, "MPI_Wait", request=0x100, **{"status.source": 2, "status.tag": 7})
            + call(1, 90, 95, "MPI_Irecv", source=1, tag=7, request=0x300, **{"comm.id": 0})
            + call(1, 100, 320, "MPI_Waitall", count=2, **{"array_of_requests.0": 0x200, "array_of_requests.1": 0x300}))
    report, after = simulate(compose(tmp_path / "run.gasp", text), "ideal")
    assert report["messages"] == 3 and report["unmatched_receives"] == 0
    # Work of rank 0: 10, 5, 5, 10, 5 ns; rank 1 sends after 90 and 190 more, rank 2 after 50.
    assert times(after) == {1: [(0, 0), (10, 10), (15, 15), (20, 50), (60, 60), (65, 280)],
                            2: [(0, 0), (90, 90), (280, 280)], 3: [(0, 0), (50, 50)]}


@pytest.mark.files
def test_root_of_a_collective_operation(tmp_path):
    """A broadcast's root does not wait, and nobody waits for more than the root; a reduction's root waits for all."""
    def collective(symbol, spans, **values):
        return "".join(call(rank + 1, *span, symbol, root=1, **{"comm.id": 0, "comm.rank": rank}, **values)
                       for rank, span in enumerate(spans))
    text = ranks(3) + collective("MPI_Bcast", [(20, 120), (100, 110), (150, 160)]) + \
        collective("MPI_Reduce", [(200, 210), (220, 420), (400, 410)], op=1)
    _, after = simulate(compose(tmp_path / "run.gasp", text), "ideal")
    assert times(after) == {1: [(0, 0), (10, 90), (170, 170)], 2: [(0, 0), (90, 90), (200, 380)],
                            3: [(0, 0), (140, 140), (380, 380)]}


@pytest.mark.files
def test_locks(tmp_path):
    """Two threads and a lock: without it none waits; with less work before, the one who waits gets it as much
    earlier."""
    text = ("process 1 -1\nthread 1 2\n"
            + call(1, 100, 105, "pthread_mutex_lock", mutex=64) + call(1, 205, 210, "pthread_mutex_unlock", mutex=64)
            + call(2, 120, 215, "pthread_mutex_lock", mutex=64) + call(2, 230, 235, "pthread_mutex_unlock", mutex=64))
    recording = compose(tmp_path / "run.gasp", text)
    report, after = simulate(recording, "nolock")
    assert report["locks"] == 2
    assert times(after) == {1: [(100, 100), (200, 200)], 2: [(120, 120), (135, 135)]}
    _, after = simulate(recording, "same")
    assert lines(after) == lines(recording)
    _, after = simulate(recording, "ideal")
    assert times(after) == {1: [(100, 100), (200, 200)], 2: [(120, 200), (215, 215)]}


@pytest.mark.files
def test_one_function_faster(tmp_path):
    text = ("process 1 -1\n" + call(1, 100, 300, "work", step=1) + call(1, 400, 500, "other") +
            call(1, 600, 700, "work", step=2))
    _, after = simulate(compose(tmp_path / "run.gasp", text), "same", "cpu=2", "function=GASP_PROGRAM_WORK")
    assert times(after) == {1: [(100, 200), (300, 400), (500, 550)]}


@pytest.mark.files
def test_calls_inside_keep_their_place(tmp_path):
    """What an operation contains is scaled with it; what contains operations goes around them."""
    text = ranks(2) + (send(1, 110, 120, 1) + call(1, 100, 200, "work") + receive(2, 20, 320, 0)).replace("\n", "\n")
    _, after = simulate(compose(tmp_path / "run.gasp", text), "ideal")
    assert sorted(time for time, *_ in lines(after)[1]) == [0, 0, 90, 100, 100, 180]


# --- what does not fit --------------------------------------------------------------

@pytest.mark.files
def test_received_before_it_was_sent(tmp_path):
    """Both sides were seen from the start, so their clocks differ: the message is marked, and the run goes on."""
    text = ranks(2) + send(1, 100, 110, 1) + receive(2, 50, 60, 0)
    recording = compose(tmp_path / "run.gasp", text)
    report, after = simulate(recording, "same")
    assert (report["backwards"], report["messages"], report["unmatched_receives"]) == (1, 1, 0)
    assert lines(after) == lines(recording)
    told = gaspbpf.run("simulate", recording, "--plugin", toolkit.build(tmp_path, "cpf_facts.cc")).stdout
    assert "p2p 0->1 tag=0 size=1 backwards=1 send=100 recv=50-60" in told


@pytest.mark.files
def test_joined_late(tmp_path):
    """The first receive is of a message that was sent before anybody looked, the first barrier of rank 0 one that rank
    1 had left."""
    barrier = "MPI_Barrier"
    text = (ranks(2, init=False) + receive(2, 5, 20, 0) + send(1, 100, 110, 1) + receive(2, 50, 130, 0) +
            send(1, 150, 160, 1)
            + receive(2, 140, 170, 0)
            + call(1, 200, 210, barrier, **{"comm.id": 0, "comm.rank": 0})
            + call(1, 300, 320, barrier, **{"comm.id": 0, "comm.rank": 0}) +
            call(2, 310, 320, barrier, **{"comm.id": 0, "comm.rank": 1})
            + call(1, 400, 420, barrier, **{"comm.id": 0, "comm.rank": 0}) +
            call(2, 410, 420, barrier, **{"comm.id": 0, "comm.rank": 1}))
    recording = compose(tmp_path / "run.gasp", text)
    report, after = simulate(recording, "same")
    assert (report["messages"], report["unmatched_receives"], report["backwards"]) == (2, 1, 0)
    assert (report["collectives"], report["incomplete_collectives"]) == (2, 1)
    assert lines(after) == lines(recording)


@pytest.mark.parametrize("which", [0, 17, 39])
@pytest.mark.files
def test_a_barrier_whose_end_was_not_seen_is_one_all_the_same(tmp_path, which):
    """Else each one after it would be taken for the one before: nothing fits, or what does not belong together. Who is
    late changes each time."""
    text = "process 100 -1\nthread 100 101\n"
    for i in range(40):
        begin, late = 1000 * (i + 1), 100 + i % 2
        for tid in 100, 101:
            start = begin + (600 if tid == late else 100)
            text += f"atomic {tid} {start} GOMP_barrier\n" if (tid, i) == (100, which) \
                else call(tid, start, begin + 700, "GOMP_barrier")
    report, _ = simulate(compose(tmp_path / "run.gasp", text + "end 50000\n"), "ideal")
    assert (report["threads"], report["collectives"], report["incomplete_collectives"], report["collectives_apart"]) \
        == (2, 40, 1, 0)


def halves(rounds, told):
    """Three ranks split world again and again into {2, 0} and {1}: new communicators under an old number. told: (round,
    rank) that could tell members."""
    text = ranks(3)
    for i in range(rounds):
        for rank in range(3):
            start, handle = 100 + 1000 * i + 100 * rank, 64 + 16 * i
            members = [1] if rank == 1 else [2, 0]
            if (i, rank) in told:
                text += f"comm {rank + 1} {handle} {start} 4 {' '.join(map(str, members))}\n"
            # The two end together; rank 1 waits for nobody.
            text += call(rank + 1, start, start + 10 if rank == 1 else 1000 * i + 310, "MPI_Allreduce",
                         comm=handle, op=1, **{"comm.id": 4, "comm.rank": members.index(rank)})
    return text


@pytest.mark.parametrize("told", [[(1, 0)], [(2, 2)], [(1, 0), (3, 2)], [(0, 0), (1, 0), (1, 2), (3, 1)],
                                  [(r, k) for r in range(4) for k in range(3)]])
@pytest.mark.files
def test_communicators_that_only_some_could_tell(tmp_path, told):
    """Who is in a short-lived communicator is known of some of its rounds only: its operations are the same round's
    nevertheless."""
    recording = compose(tmp_path / "run.gasp", halves(4, told))
    report, after = simulate(recording, "same")
    assert lines(after) == lines(recording)
    assert (report["collectives"], report["incomplete_collectives"], report["given_up"]) == (4, 0, 0)
    # On the ideal network rank 0, the earlier one of a round, waits for rank 2 each time; rank 1 does not wait.
    _, after = simulate(recording, "ideal")
    ends = {tid: [end for _, end in calls[1:]] for tid, calls in times(after).items()}
    assert ends[1] == ends[3] and ends[2] == [start for start, _ in times(after)[2][1:]]


@pytest.mark.files
def test_communicators_that_nobody_could_tell(tmp_path):
    """Two ranks say that they are the first of number 4: whose operations are whose is not guessed."""
    recording = compose(tmp_path / "run.gasp", halves(4, []))
    report, after = simulate(recording, "same")
    assert lines(after) == lines(recording)
    assert (report["collectives"], report["incomplete_collectives"], report["given_up"]) == (0, 12, 0)


@pytest.mark.files
def test_members_that_are_not_in_the_recording(tmp_path):
    """Two of three ranks were recorded: their operation with the third is left as it was, whether its size is told or
    seen by their ranks."""
    for comms, second in (("comm 1 64 0 9 0 1 2\n", 1), ("", 2)):
        text = ranks(2) + comms + "".join(call(rank + 1, start, 300, "MPI_Allreduce", comm=64, op=1,
                                               **{"comm.id": 9, "comm.rank": number})
                                          for rank, start, number in ((0, 100, 0), (1, 200, second)))
        recording = compose(tmp_path / "run.gasp", text)
        report, after = simulate(recording, "ideal")
        assert (report["collectives"], report["incomplete_collectives"]) == (0, 2)
        assert times(after) == {1: [(0, 0), (90, 290)], 2: [(0, 0), (190, 290)]}


@pytest.mark.files
def test_partner_that_is_not_there(tmp_path):
    """A receive from a rank that was not recorded, and a send to it, are left as they are, also on the ideal
    network."""
    text = ranks(1) + receive(1, 50, 150, 5) + send(1, 200, 220, 5)
    report, after = simulate(compose(tmp_path / "run.gasp", text), "ideal")
    assert (report["unmatched_sends"], report["unmatched_receives"]) == (1, 1)
    assert times(after) == {1: [(0, 0), (40, 140), (190, 190)]}


# --- random programs -------------------------------------------------------------------

def random_program(generator, size, steps):
    """A list of what each rank does, in an order in which it can run; and a run of it, with waits and delays as they
    come."""
    program = {rank: [] for rank in range(size)}
    for _ in range(steps):
        kind = generator.choice(["message", "message", "message", "exchange", "later", "barrier", "reduce"])
        a, b = generator.sample(range(size), 2)
        tag = generator.randrange(3)
        if kind == "message":
            program[a].append(("send", b, tag))
            program[b].append(("recv", a, tag))
        elif kind == "exchange":
            program[a].append(("exchange", b, tag))
            program[b].append(("exchange", a, tag))
        elif kind == "later":
            program[b].append(("irecv", a, tag))
            program[a].append(("send", b, tag))
            program[b].append(("wait", a, tag))
        else:
            root = generator.randrange(size)
            for rank in range(size):
                program[rank].append((kind, root, 0))
    return program


def execute(program, work, cost):
    """When each call begins and ends: a simulator in its simplest form, again and again through all ranks until all are
    through.

    work[rank][i]: ns before call i. cost(rank, i, kind): ns that the call takes beyond what it waits for.
    """
    size = len(program)
    at = [0] * size
    clock = [10] * size
    spans = {rank: [] for rank in range(size)}
    sent = {}      # (from, to, tag) -> starts of sends, in order
    taken = {}     # and how many were received
    groups = {}    # number of the operation -> rank -> start
    counted = [0] * size
    posted = {}
    began = {}
    progress = True
    while progress:
        progress = False
        for rank in range(size):
            while at[rank] < len(program[rank]):
                i = at[rank]
                kind, other, tag = program[rank][i]
                if (rank, i) not in began:
                    began[rank, i] = start = clock[rank] + work[rank][i]
                    if kind in ("send", "exchange"):
                        sent.setdefault((rank, other, tag), []).append(start)
                    if kind in ("barrier", "reduce"):
                        groups.setdefault(counted[rank], {})[rank] = start
                        counted[rank] += 1
                    if kind in ("recv", "exchange", "irecv"):
                        number = taken.get((other, rank, tag), 0)
                        taken[other, rank, tag] = number + 1
                        posted.setdefault((rank, kind == "irecv"), []).append(number)
                    if kind == "wait":
                        posted[rank, "wait"] = posted[rank, True].pop(0)
                start = ready = began[rank, i]
                if kind in ("recv", "exchange", "wait"):
                    number = posted[rank, "wait"] if kind == "wait" else posted[rank, False][-1]
                    starts = sent.get((other, rank, tag), [])
                    if len(starts) <= number:
                        break
                    ready = max(start, starts[number])
                elif kind in ("barrier", "reduce"):
                    group = groups[counted[rank] - 1]
                    if kind == "barrier" or rank == other:
                        if len(group) < size:
                            break
                        ready = max(group.values())
                end = ready + cost(rank, i, kind)
                spans[rank].append((start, end))
                clock[rank] = end
                at[rank] += 1
                progress = True
    assert all(at[rank] == len(program[rank]) for rank in range(size))
    return spans


def written(program, spans):
    """The same as a text for compose."""
    text = ranks(len(program))
    for rank, calls in program.items():
        requests = []
        for i, (kind, other, tag) in enumerate(calls):
            tid, (start, end) = rank + 1, spans[rank][i]
            if kind == "send":
                text += send(tid, start, end, other, tag)
            elif kind == "recv":
                text += receive(tid, start, end, other, tag)
            elif kind == "exchange":
                text += call(tid, start, end, "MPI_Sendrecv", dest=other, sendtag=tag, source=other, recvtag=tag,
                             sendcount=1, sendtype=1, **{"comm.id": 0, "status.source": other, "status.tag": tag})
            elif kind == "irecv":
                requests.append(0x1000 + 16 * (i % 5))
                text += call(tid, start, end, "MPI_Irecv", source=other, tag=tag, request=requests[-1],
                             **{"comm.id": 0})
            elif kind == "wait":
                text += call(tid, start, end, "MPI_Wait", request=requests.pop(0),
                             **{"status.source": other, "status.tag": tag})
            elif kind == "barrier":
                text += call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": rank})
            else:
                text += call(tid, start, end, "MPI_Reduce", root=other, op=1, **{"comm.id": 0, "comm.rank": rank})
    return text


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.files
def test_random_programs(tmp_path, seed):
    """The ideal network, and a CPU twice as fast, of random programs: each time of each call as the simple simulator
    has it."""
    generator = random.Random(seed)
    program = random_program(generator, 2 + seed, 150)
    work = {rank: [2 * generator.randrange(500) for _ in calls] for rank, calls in program.items()}
    costs = {rank: [generator.randrange(1, 80) for _ in calls] for rank, calls in program.items()}
    spans = execute(program, work, lambda rank, i, kind: costs[rank][i])
    recording = compose(tmp_path / "run.gasp", written(program, spans))

    report, after = simulate(recording, "same")
    assert lines(after) == lines(recording)
    assert report["given_up"] == report["unmatched_receives"] == report["unmatched_sends"] \
        == report["incomplete_collectives"] == 0

    _, after = simulate(recording, "ideal")
    ideal = execute(program, work, lambda rank, i, kind: 0)
    # The runtime's beginning, 10 ns long, takes no time there.
    assert {tid - 1: [(start + 10, end + 10) for start, end in calls[1:]]
            for tid, calls in times(after).items()} == ideal

    _, after = simulate(recording, "same", "cpu=2")
    half = execute(program, {rank: [ns // 2 for ns in each] for rank, each in work.items()},
                   lambda rank, i, kind: costs[rank][i])
    assert {tid - 1: calls[1:] for tid, calls in times(after).items()} == half


# --- a real job ---------------------------------------------------------------------------

@pytest.fixture(scope="module")
def mpi_recording(tmp_path_factory):
    """A whole run of a job that uses MPI in all its ways."""
    recording = tmp_path_factory.mktemp("mpi") / "run.gasp"
    result = gaspbpf.run("-o", recording, "--", "mpirun.openmpi", "-n", "3", gaspbpf.WORKLOADS / "mpi_job_openmpi",
                         "--rounds", "3", "--warmup", "1", "--after", "1", env=truth.ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    return recording


def copied(recording, folder):
    path = folder / "run.gasp"
    path.write_bytes(recording.read_bytes())
    return path


def test_real_job_is_as_it_was(mpi_recording, tmp_path):
    """To the last bit: every time of every call."""
    recording = copied(mpi_recording, tmp_path)
    report, after = simulate(recording, "same")
    assert lines(after) == lines(recording)
    assert report["backwards"] == report["given_up"] == 0
    # Five rounds: 34 sends of the three, 25 operations on the world, and one of two ranks on a communicator too
    # short-lived to be sure of its members.
    assert (report["messages"], report["unmatched_sends"], report["unmatched_receives"]) == (5 * 34, 0, 0)
    assert (report["collectives"], report["incomplete_collectives"]) in ((5 * 25 + 1, 15), (5 * 26 + 1, 0))
    before, now = (json.loads(gaspbpf.run("report", path, "--json").stdout) for path in (recording, after))
    assert before["events"] == now["events"] and before["threads"] == now["threads"]


def test_real_job_on_the_ideal_network(mpi_recording, tmp_path):
    """It takes no longer than it did, nobody is faster than its own work, and every other command reads the result."""
    recording = copied(mpi_recording, tmp_path)
    report, after = simulate(recording, "ideal")
    assert report["after"]["largest_useful_ns"] <= report["after"]["time_ns"] <= report["before"]["time_ns"]
    assert report["after"]["time_ns"] == report["before"]["ideal_ns"]
    assert report["after"]["useful_ns"] == report["before"]["useful_ns"]
    assert {tid: len(calls) for tid, calls in lines(after).items()} == {tid: len(calls)
                                                                        for tid, calls in lines(recording).items()}
    trace = tmp_path / "after.json"
    assert gaspbpf.run("export", after, "-o", trace).returncode == 0
    json.loads(trace.read_text())


def test_example_on_a_real_job(mpi_recording, tmp_path):
    """examples/tools/what_if.c: it is told of all that was matched, but of the four begun operations of each round at
    their waits."""
    library = toolkit.build(tmp_path, "what_if.c")
    result = gaspbpf.run("simulate", copied(mpi_recording, tmp_path), "--plugin", library, "times=2", "latency=1500",
                         "gbs=12", "-o", tmp_path / "after.gasp")
    assert result.returncode == 0, result.stderr
    messages, collectives = map(int, re.search(r"what_if: (\d+) messages, (\d+) collective", result.stdout).groups())
    report, _ = simulate(tmp_path / "run.gasp", "same")
    # Those of one rank alone, five if known, are told, and match nothing.
    assert (messages, collectives) == (report["messages"],
                                       report["collectives"] - 5 * 4 + (0 if report["incomplete_collectives"] else 5))
    assert gaspbpf.run("report", tmp_path / "after.gasp").returncode == 0


# --- plug-ins -----------------------------------------------------------------------------

@pytest.mark.files
def test_cplusplus_class_is_told_everything(tmp_path):
    """The framework's own class: setup, tables, predicates, every callback with its times; and no privileges are
    left."""
    recording = compose(tmp_path / "run.gasp", LATE_SENDER)
    result = gaspbpf.run("simulate", recording, "--plugin", toolkit.build(tmp_path, "cpf_facts.cc"), "a=b")
    assert result.returncode == 0, result.stderr
    told = result.stdout.splitlines()
    assert told[0] \
        == f"setup threads=2 start=1000000000000 end=1000000000310 resolution=1e-09 path={tmp_path}/ parameters=1:a=b"
    for line in ("function APPLICATION tables=000", "function GASP_MPI_INIT single tables=100",
                 "function GASP_MPI_SEND p2p send tables=001",
                 "function GASP_MPI_RECV p2p recv tables=001", "function GASP_MPI_BARRIER collective all tables=010",
                 "local 0 GASP_MPI_INIT 0-10", "work 0 APPLICATION 10-100",
                 "send 0 GASP_MPI_SEND 100-110 to 1 tag=0 size=1",
                 "p2p 0->1 tag=0 size=1 backwards=0 send=100 recv=50-130 posted=0",
                 "collop GASP_MPI_BARRIER root=-1 index=-1 first=200 0:200-300 1:280-310",
                 "nontracing 0 NON_TRACING 300-310", "finalize"):
        assert line in told, line
    status = dict(re.match(r"status (\w+):\s*(\S+)", line).groups() for line in told if line.startswith("status"))
    assert status["NoNewPrivs"] == "1"
    assert {int(status[name], 16) for name in status if name.startswith("Cap")} == {0}


@pytest.mark.files
def test_simulator_by_the_document_alone(tmp_path):
    """The document's types, its create() and destroy(): compiled as they stand."""
    recording = compose(tmp_path / "run.gasp", LATE_SENDER)
    library = toolkit.build(tmp_path, "cpf_seed.cc")
    after = tmp_path / "after.gasp"
    result = gaspbpf.run("simulate", recording, "--plugin", library, "factor=0.5", "-o", after)
    assert result.returncode == 0, result.stderr
    # INIT, BARRIER, SEND and RECV are of one kind each; the message has one byte.
    assert result.stdout.splitlines()[0] \
        == "threads=2 span=310 resolution=1e-09 folder=1 world=communicator 0x0 kinds=4 barriers=1 sends=1 moved=1"
    # Half the work, and no time in a call but waiting: rank 0 works 45 ns, sends, 45 more; rank 1 20 and, after the
    # message, 75.
    assert times(after) == {1: [(0, 0), (45, 45), (90, 120)], 2: [(0, 0), (20, 45), (120, 120)]}


@pytest.mark.parametrize("fault, says", [
    ("crash", "killed by signal 11 (Segmentation fault) in ProcessFunctionEvent"),
    ("hang", "ProcessFunctionEvent has not come back for 500.0 ms"),
    ("exit", "ProcessFunctionEvent ended the process"),
    ("early", "ProcessFunctionEvent: it set an end before the start"),
    ("constant", "ProcessFunctionEvent: it changed what is constant"),
])
@pytest.mark.files
def test_faulty_plugin(tmp_path, fault, says):
    recording = compose(tmp_path / "run.gasp", LATE_SENDER)
    library = toolkit.build(tmp_path, "cpf_wrong.c")
    result = gaspbpf.run("simulate", recording, "--plugin", library, f"fault={fault}",
                         f"--patience={'500ms' if fault == 'hang' else '60s'}", "-o", tmp_path / "after.gasp")
    assert result.returncode == 1
    assert says in result.stderr
    assert not (tmp_path / "after.gasp").exists()


@pytest.mark.files
def test_interrupt_ends_a_plugin_that_hangs(tmp_path):
    recording = compose(tmp_path / "run.gasp", LATE_SENDER)
    library = toolkit.build(tmp_path, "cpf_wrong.c")
    process = subprocess.Popen([gaspbpf.PROGRAM, "simulate", recording, "--plugin", library, "fault=hang",
                                "--patience=0"],
                               stderr=subprocess.PIPE, text=True)
    try:
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        child = int(gaspbpf.wait_for(lambda: open(children).read().split(), "the plug-in's process")[0])
        gaspbpf.wait_for(lambda: "cpf_wrong" in open(f"/proc/{child}/maps").read(), "the plug-in")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=gaspbpf.PATIENCE) == 1
        assert "stopped in" in process.stderr.read()
        assert not os.path.exists(f"/proc/{child}")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("arguments, says", [
    (["--plugin", "nothing"], "no such plug-in"),
    (["--plugin", "./nothing.so"], "cannot be loaded"),
    (["--plugin", "ideal", "x=1"], "no such parameter"),
    (["--plugin", "dimemas", "latency=soon"], "latency=soon: not understood"),
    (["--plugin", "ideal", "--plugin", "nolock"], "one at a time"),
    (["--plugin", "ideal", "-o", "x.json"], "its name ends in .gasp"),
    ([], "--plugin ideal"),
])
@pytest.mark.files
def test_wrong_command_lines(tmp_path, arguments, says):
    recording = compose(tmp_path / "run.gasp", LATE_SENDER)
    result = gaspbpf.run("simulate", recording, *arguments, cwd=tmp_path)
    assert result.returncode in (1, 2)
    assert says in result.stderr


TEAMS = """
#include <pthread.h>
#include <unistd.h>
static void *team(void *us)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 20; i++) {
		usleep((long)us);
#pragma omp barrier
	}
	return 0;
}
int main(void)
{
	pthread_t other;
	pthread_create(&other, 0, team, (void *)9000L);
	team((void *)3000L);
	return pthread_join(other, 0);
}
"""


def test_teams_at_the_same_time_have_nothing_to_do_with_each_other(tmp_path):
    """Two threads of a process, each with a team of its own: 20 barriers of two threads each, and what is ideal is not
    slower than what was."""
    source = tmp_path / "teams.c"
    source.write_text(TEAMS)
    gaspbpf.compile_c(source, tmp_path / "teams", "-g", "-O1", "-fopenmp", "-pthread")
    run = tmp_path / "run.gasp"
    assert gaspbpf.run("-m", "openmp", "-o", run, "--", tmp_path / "teams",
                       env={"OMP_WAIT_POLICY": "passive"}).returncode == 0
    report, _ = simulate(run, "ideal")
    assert (report["threads"], report["collectives"]) == (4, 2 * 20)
    assert report["incomplete_collectives"] == report["collectives_apart"] == 0
    for side in report["before"], report["after"]:
        assert side["ideal_ns"] <= side["time_ns"]
        assert all(0 < side[name] <= 1
                   for name in ("parallel", "load_balance", "communication", "serialisation", "transfer"))
