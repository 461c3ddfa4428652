# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf simulate: random programs with requests, wildcards, rooted and synchronous operations against a simulator of
a page."""
import random

import pytest

from composed import call, compose, lines, ranks, simulate, times

pytestmark = pytest.mark.files

ANY = -1
MACHINE = {"latency": 70, "eager": 900}  # ns, bytes; 1 byte a ns


def random_program(generator, size, steps):
    """{rank: [(kind, ...)]}, in an order in which it can run.

    send, ssend, isend, issend: (kind, to, tag, bytes[, request]); recv: (kind, from, tag, how it asks); irecv: and
    request; wait: (kind, [requests]); barrier, allreduce, bcast, reduce, ibarrier: (kind, root, bytes[, request]).
    """
    program = {rank: [] for rank in range(size)}
    open_requests = {rank: [] for rank in range(size)}
    count = 0

    def wait(rank, number):
        requests = open_requests[rank][:]
        generator.shuffle(requests)
        chosen = requests[:number]
        if chosen:
            open_requests[rank] = [request for request in open_requests[rank] if request not in chosen]
            program[rank].append(("wait", chosen))

    def begun(rank):
        nonlocal count
        count += 1
        open_requests[rank].append(count)
        return count

    for _ in range(steps):
        kind = generator.choice(["send", "send", "ssend", "isend", "issend", "wait", "waitall", "barrier", "allreduce",
                                 "bcast", "reduce", "ibarrier"])
        a, b = generator.sample(range(size), 2)
        tag, length = generator.randrange(3), generator.choice([1, 100, 900, 901, 5000])
        if kind in ("send", "ssend", "isend", "issend"):
            later = generator.random() < 0.5 or kind == "ssend"
            how = generator.choice(["exact", "exact", "any source", "any tag", "anything"])
            if later:
                # Whoever does not say what he waits for may be waited for alone only: then the status tells.
                program[b].append(("irecv", a, tag, "exact", begun(b)))
            program[a].append((kind, b, tag, length) + ((begun(a),) if kind[0] == "i" else ()))
            if not later:
                program[b].append(("recv", a, tag, how))
            elif generator.random() < 0.5:
                wait(b, 1)
            if kind == "ssend" or kind == "issend":
                wait(b, 8)
        elif kind in ("wait", "waitall"):
            wait(a, 1 if kind == "wait" else 8)
        else:
            root = generator.randrange(size)
            for rank in range(size):
                program[rank].append((kind, root, length) + ((begun(rank),) if kind == "ibarrier" else ()))
    for rank in range(size):
        while open_requests[rank]:
            wait(rank, 8)
    return program


class Simulator:
    """When each call begins and ends. A machine has latency, eager and a byte a ns; without one calls take cost()
    beyond what they wait for."""

    def __init__(self, program, work, cost, machine=None):
        self.program, self.work, self.cost, self.machine = program, work, cost, machine
        self.sends, self.receives = {}, {}  # channel -> halves in order: [start, bytes, synchronous]
        self.groups, self.counted = {}, {rank: 0 for rank in program}
        self.requests = {}  # number -> what it waits for
        self.clock = {rank: 10 for rank in program}
        self.spans = {rank: [] for rank in program}
        self.state = {}

    def run(self):
        progress = True
        while progress:
            progress = False
            for rank, calls in self.program.items():
                while len(self.spans[rank]) < len(calls) and self.step(rank, len(self.spans[rank])):
                    progress = True
        assert all(len(self.spans[rank]) == len(calls) for rank, calls in self.program.items())
        return self.spans

    def step(self, rank, i):
        call_ = self.program[rank][i]
        kind = call_[0]
        if (rank, i) not in self.state:
            start = self.clock[rank] + self.work[rank][i]
            self.state[rank, i] = start, self.begin(rank, call_, start)
        start, waits = self.state[rank, i]
        if kind == "wait":
            waits = [each for request in call_[1] for each in self.requests[request]]
        elif kind[0] == "i":
            waits = []
        end = start
        for each in waits:
            ready = self.ready(each, start)
            if ready is None:
                return False
            end = max(end, ready)
        end += 0 if self.machine else self.cost(rank, i)
        self.spans[rank].append((start, end))
        self.clock[rank] = end
        return True

    def begin(self, rank, call_, start):
        """Notes it. What a call, or the wait for it, has to wait for."""
        kind = call_[0]
        waits = []
        if kind in ("send", "ssend", "isend", "issend"):
            synchronous = "ss" in kind or (self.machine is not None and call_[3] > self.machine["eager"])
            queue = self.sends.setdefault((rank, call_[1], call_[2]), [])
            if synchronous:
                waits.append(("send", (rank, call_[1], call_[2]), len(queue)))
            queue.append((start, call_[3], synchronous))
        elif kind in ("recv", "irecv"):
            queue = self.receives.setdefault((call_[1], rank, call_[2]), [])
            waits.append(("recv", (call_[1], rank, call_[2]), len(queue)))
            queue.append((start,))
        elif kind != "wait":
            number = self.counted[rank]
            self.counted[rank] += 1
            self.groups.setdefault(number, {})[rank] = start
            if kind == "bcast" and rank != call_[1]:
                waits.append(("root", number, call_))
            elif kind in ("barrier", "allreduce", "ibarrier") or (kind == "reduce" and rank == call_[1]):
                waits.append(("all", number, call_))
        if kind[0] == "i":
            self.requests[call_[-1]] = waits
        return waits

    def ready(self, what, start):
        kind, key, number = what
        if kind in ("send", "recv"):
            sends, receives = self.sends.get(key, []), self.receives.get(key, [])
            if len(sends) <= number or len(receives) <= number:
                return None
            (sent, length, synchronous), (posted,) = sends[number], receives[number]
            begins = max(sent, posted) if kind == "send" or (synchronous and self.machine) else sent
            return begins + (self.machine["latency"] + length if self.machine else 0)
        group = self.groups[key]
        steps = (len(self.program) - 1).bit_length()
        name, root, length = number[:3]
        if kind == "root":
            took = steps * (self.machine["latency"] + length) if self.machine else 0
            return group[root] + took if root in group else None
        took = 0
        if self.machine:
            took = steps * self.machine["latency"] + \
                ({"reduce": steps * length, "allreduce": 2 * steps * length + steps * self.machine["latency"]}
                 .get(name, 0))
        return max(group.values()) + took if len(group) == len(self.program) else None


def written(program, spans):
    text = ranks(len(program))
    symbols = {"send": "MPI_Send", "ssend": "MPI_Ssend", "isend": "MPI_Isend", "issend": "MPI_Issend",
               "bcast": "MPI_Bcast", "reduce": "MPI_Reduce",
               "barrier": "MPI_Barrier", "allreduce": "MPI_Allreduce", "ibarrier": "MPI_Ibarrier"}
    for rank, calls in program.items():
        for i, (kind, *rest) in enumerate(calls):
            tid, (start, end) = rank + 1, spans[rank][i]
            values = {"comm.id": 0}
            if kind in ("send", "ssend", "isend", "issend"):
                values.update(dest=rest[0], tag=rest[1], count=rest[2], datatype=1)
                symbol = symbols[kind]
            elif kind == "recv":
                values.update({"source": ANY if rest[2] in ("any source", "anything") else rest[0],
                               "tag": ANY if rest[2] in ("any tag", "anything") else rest[1],
                               "status.source": rest[0], "status.tag": rest[1]})
                symbol = "MPI_Recv"
            elif kind == "irecv":
                values.update(source=rest[0], tag=rest[1])
                symbol = "MPI_Irecv"
            elif kind == "wait":
                values = {"count": len(rest[0]),
                          **{f"array_of_requests.{n}": 16 * request for n, request in enumerate(rest[0])}}
                symbol = "MPI_Waitall"
            else:
                values["comm.rank"] = rank
                if kind in ("bcast", "reduce"):
                    values["root"] = rest[0]
                if kind in ("bcast", "reduce", "allreduce"):
                    values.update(count=rest[1], datatype=1)
                if kind in ("reduce", "allreduce"):
                    values["op"] = 1
                symbol = symbols[kind]
            if kind[0] == "i":
                values["request"] = 16 * rest[-1]
            text += call(tid, start, end, symbol, **values)
    return text


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(tmp_path, seed):
    generator = random.Random(seed)
    program = random_program(generator, 2 + seed % 5, 120)
    work = {rank: [2 * generator.randrange(500) for _ in calls] for rank, calls in program.items()}
    costs = {rank: [generator.randrange(1, 80) for _ in calls] for rank, calls in program.items()}
    spans = Simulator(program, work, lambda rank, i: costs[rank][i]).run()
    recording = compose(tmp_path / "run.gasp", written(program, spans))

    report, after = simulate(recording, "same")
    assert lines(after) == lines(recording)
    sent = sum(call_[0] in ("send", "ssend", "isend", "issend") for calls in program.values() for call_ in calls)
    assert (report["messages"], report["unmatched_sends"], report["unmatched_receives"], report["given_up"]) == (
        sent, 0, 0, 0)

    def after_init(recording, shift):
        return {tid - 1: [(start + shift, end + shift) for start, end in calls[1:]]
                for tid, calls in times(recording).items()}

    _, after = simulate(recording, "ideal")
    assert after_init(after, 10) == Simulator(program, work, lambda rank, i: 0).run()
    _, after = simulate(recording, "same", "cpu=2")
    half = {rank: [ns // 2 for ns in each] for rank, each in work.items()}
    assert after_init(after, 0) == Simulator(program, half, lambda rank, i: costs[rank][i]).run()
    _, after = simulate(recording, "dimemas", f"latency={MACHINE['latency']}ns", "bandwidth=1000000000",
                        f"eager={MACHINE['eager']}")
    assert after_init(after, 10) == Simulator(program, work, None, MACHINE).run()


def test_wait_ends_with_the_last_of_several(tmp_path):
    """The wait ends 20 ns after the later send, whichever that is with a CPU twice as fast."""
    text = (ranks(3) + call(1, 10, 10, "MPI_Irecv", source=1, tag=0, request=16, **{"comm.id": 0})
            + call(1, 10, 10, "MPI_Irecv", source=2, tag=0, request=32, **{"comm.id": 0})
            + call(1, 10, 430, "MPI_Waitall", count=2, **{"array_of_requests.0": 16, "array_of_requests.1": 32})
            + call(2, 110, 110, "MPI_Send", dest=0, tag=0, count=1, datatype=1, **{"comm.id": 0})
            + call(3, 410, 410, "MPI_Send", dest=0, tag=0, count=1, datatype=1, **{"comm.id": 0}))
    _, after = simulate(compose(tmp_path / "run.gasp", text), "same", "cpu=2")
    assert times(after)[1][-1] == (10, 230)
