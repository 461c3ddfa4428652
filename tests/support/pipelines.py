# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of messages, played step by step, so that how long they run is known, sick and healed.

A rank is a generator of steps: ("work", ns), ("send", to, tag, line), ("recv", source, tag, line), ("probe", line),
("irecv", source, tag, request, line), ("waitany", requests, line), ("meet", line). A receive and a probe wait for a
message; source None: whatever comes first, and the step's result is who sent it; that of a wait for any of several
requests is its place among these. A send is over at once; or, where the messages are `slow`, not before its receiver is
in any call of the runtime: so it is where a message goes through memory that both share, and the receiver takes it out.
Times are ns.
"""
import heapq

import composed
from composed import call, receive, send

TAKES = 2000  # a call that waits for nobody; and what is left of one when the other has come


class Played:
    def __init__(self, ranks, slow=False):
        self.text, self.slow, self.ended = composed.ranks(len(ranks)), slow, 0
        self.ranks, self.count = ranks, len(ranks)
        self.calls = [None] * self.count  # in which step each is, since when
        self.arrived = [[] for _ in ranks]  # (source, tag), in their order
        self.posted = [{} for _ in ranks]  # by request: (source, tag)
        self.met = []
        self.events = [(1000 + rank, rank, None) for rank in range(self.count)]
        while self.events:
            now, rank, result = heapq.heappop(self.events)
            self.calls[rank] = None
            try:
                step = ranks[rank].send(result)
            except StopIteration:
                step = ("end",)
            self.ended = max(self.ended, now)
            self.begin(now, rank, step)
        self.text += "".join(call(rank + 1, self.ended + 10, self.ended + 20, "MPI_Finalize")
                             for rank in range(self.count)) + f"end {self.ended + 30}\n"

    def begin(self, now, rank, step):
        if step[0] == "work":
            heapq.heappush(self.events, (now + step[1], rank, None))
            return
        self.calls[rank] = (step, now)
        for other, at in enumerate(self.calls):
            if at and at[0][:2] == ("send", rank):
                self.end(now, other)
        if step[0] == "send":
            _, to, tag, _ = step
            self.arrived[to].append((rank, tag))
            if self.calls[to] and self.calls[to][0][0] in ("recv", "probe", "waitany"):
                self.take(now, to)
            if not self.slow or self.calls[to]:
                self.end(now, rank)
        elif step[0] in ("recv", "probe", "waitany"):
            self.take(now, rank)
        elif step[0] == "irecv":
            self.posted[rank][step[3]] = step[1:3]
            self.end(now, rank)
        elif step[0] == "meet":
            self.met.append(rank)
            if len(self.met) == self.count:
                for member in self.met:
                    self.end(now, member)
                self.met = []

    def take(self, now, rank):
        """What a receive or a probe waits for may be there."""
        step, _ = self.calls[rank]
        if step[0] == "waitany":
            for message in self.arrived[rank]:
                for place, request in enumerate(step[1]):
                    if self.posted[rank].get(request) == message:
                        del self.posted[rank][request]
                        self.arrived[rank].remove(message)
                        self.end(now, rank, place)
                        return
            return
        wanted = step[1] if step[0] == "recv" else None
        for message in self.arrived[rank]:
            if wanted in (None, message[0]) and (step[0] == "probe" or step[2] in (None, message[1])):
                if step[0] == "recv":
                    self.arrived[rank].remove(message)
                self.end(now, rank, message)
                return

    def end(self, now, rank, message=None):
        if not self.calls[rank]:
            return
        step, start = self.calls[rank]
        end, site = now + TAKES, f"job.c:{step[-1]}"
        if step[0] == "send":
            self.text += send(rank + 1, start, end, step[1], step[2], count=256, site=site)
        elif step[0] == "recv":
            self.text += receive(rank + 1, start, end, *message, site=site)
        elif step[0] == "probe":
            self.text += call(rank + 1, start, end, "MPI_Probe", source=-1, tag=-1, site=site, **{
                "comm.id": 0, "status.source": message[0], "status.tag": message[1]})
        elif step[0] == "irecv":
            self.text += call(rank + 1, start, end, "MPI_Irecv", source=step[1], tag=step[2], request=step[3],
                              site=site, **{"comm.id": 0})
        elif step[0] == "waitany":
            self.text += call(rank + 1, start, end, "MPI_Waitany", count=len(step[1]), index=message, site=site, **{
                f"array_of_requests.{place}": request for place, request in enumerate(step[1])})
        else:
            self.text += call(rank + 1, start, end, "MPI_Barrier", site=site, **{"comm.id": 0, "comm.rank": rank})
        self.calls[rank] = (("over",), start)  # in it until its end
        heapq.heappush(self.events, (end, rank, message))


def sweep(slow, late, ranks=3, rounds=20, cells=20, base=1_000_000):
    """A wavefront goes up through all ranks and down again, by cells; rank 1 takes `late` times as long for each."""
    def rank(me):
        takes = base * (late if me == 1 else 1)
        for _ in range(rounds):
            for way, lines in ((1, (23, 25)), (-1, (28, 30))):
                for cell in range(cells):
                    if 0 <= me - way < ranks:
                        yield "recv", me - way, cell, lines[0]
                    yield "work", takes
                    if 0 <= me + way < ranks:
                        yield "send", me + way, cell, lines[1]
            yield "meet", 33
    return Played([rank(me) for me in range(ranks)], slow)


def server(slow, looks_up, clients=2, asks=150, works=5_000_000, quick=300_000):
    """Rank 0 answers what the others ask for; each fourth question of each takes it so long."""
    def serve():
        for _ in range(clients * asks):
            source, _ = yield "probe", 9
            _, tag = yield "recv", source, None, 10
            yield "work", looks_up if tag == 2 else quick
            yield "send", source, 7, 13

    def ask(me):
        for number in range(asks):
            yield "work", works
            yield "send", 0, 2 if number % 4 == me % 4 else 1, 14
            yield "recv", 0, 7, 15
    return Played([serve()] + [ask(me) for me in range(1, clients + 1)], slow)


def gathering(slow, late, ranks=4, rounds=60, works=3_000_000, uses=500_000):
    """Rank 0 uses what the others send in the order in which it comes; the last of them works for `late` times as
    long."""
    def gather():
        for _ in range(rounds):
            left = {}
            for other in range(1, ranks):
                left[other] = 0x700 + other
                yield "irecv", other, 0, left[other], 9
            for _ in range(1, ranks):
                requests = [left.get(other, 0x2c) for other in range(1, ranks)]
                place = yield "waitany", requests, 10
                del left[place + 1]
                yield "work", uses
            yield "meet", 12

    def give(me):
        for _ in range(rounds):
            yield "work", works * (late if me == ranks - 1 else 1) + 1000 * me
            yield "send", 0, 0, 11
            yield "meet", 12
    return Played([gather()] + [give(me) for me in range(1, ranks)], slow)
