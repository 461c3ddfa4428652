# SPDX-License-Identifier: BSD-2-Clause
"""Small messages that do not come alone: with each there is a receive, a wait, a flush. What the report says of them,
on jobs of which it is known how long they would run with one large message instead; and where it says nothing."""
import pytest

import composed
from composed import call
from waits import report

pytestmark = pytest.mark.files
US = 1000
TAKES = 2 * US
COMES = 20 * US  # from when a message is sent to the end of the wait for it
WORLD = {"comm": 32, "comm.id": 0}


def small(tmp_path, text):
    return [each for each in report(tmp_path, text)["findings"] if each["kind"] == "small_messages"]


def numbers(count):
    return {"count": count, "datatype": 1}


class Job:
    """Threads' calls, one after the other: each rank has its own time."""

    def __init__(self, ranks, gap=100):
        members = " ".join(map(str, range(ranks)))
        self.now, self.text, self.gap = [1000] * ranks, composed.ranks(ranks), gap
        self.text += "".join(f"comm {rank + 1} 32 0 0 {members}\n" for rank in range(ranks))

    def work(self, rank, ns):
        self.now[rank] += ns

    def call(self, who, symbol, lasts=TAKES, **values):
        begun = self.now[who] + self.gap
        self.now[who] = begun + lasts
        self.text += call(who + 1, begun, begun + lasts, symbol, **values)
        return begun

    def until(self, rank, time, symbol, **values):
        """A call that waits for this time."""
        self.call(rank, symbol, max(time - self.now[rank] - self.gap, TAKES), **values)

    def irecv(self, rank, source, count, request=7, line=24):
        self.call(rank, "MPI_Irecv", source=source, tag=5, request=request, site=f"tiny.c:{line}", **numbers(count),
                  **WORLD)

    def send(self, rank, to, count, line=25):
        return self.call(rank, "MPI_Send", dest=to, tag=5, site=f"tiny.c:{line}", **numbers(count), **WORLD)

    def ended(self):
        end = max(self.now)
        self.text += "".join(call(rank + 1, end + 10, end + 20, "MPI_Finalize") for rank in range(len(self.now)))
        self.text += f"end {end + 30}\n"
        return self.text, end


def ring(each, ranks=3, steps=20, count=32, between=0, works=None, asked=None, others=False):
    """In each of the steps all work, and then each gives its right neighbour what it has, in so many messages, and
    takes as much from its left one. In between it works for so long; works(rank): once a step."""
    job = Job(ranks)
    for _ in range(steps):
        for rank in range(ranks):
            job.work(rank, works(rank) if works else 400 * US)
        for _ in range(each):
            sent = []
            for rank in range(ranks):
                job.irecv(rank, (rank - 1) % ranks, asked or count)
                sent.append(job.send(rank, (rank + 1) % ranks, count))
                if others:
                    job.send(rank, (rank + 2) % ranks, count, line=27)
            for rank in range(ranks):
                job.until(rank, sent[rank - 1] + COMES, "MPI_Wait", request=7, site="tiny.c:26")
                job.work(rank, between)
    return job.ended()


def near(seen, really):
    return abs(seen - really) <= 0.25 * really


def test_a_ring_of_small_messages(tmp_path):
    text, end = ring(50)
    finding, = small(tmp_path, text)
    assert near(finding["gain_ns"], end - ring(1)[1])
    assert finding["confidence"]["gain"] == "simulated"
    assert ("3 processes: 3,000 small messages, of 32 B on average, one after the other at tiny.c:25 in work "
            "(GASP_MPI_SEND), with the calls that belong to them (mostly GASP_MPI_WAIT at tiny.c:26 in work)"
            ) in finding["text"]
    assert "where 60 of up to 64 KiB would do; were there no more than these, the " in finding["text"]
    assert not [each for each in report(tmp_path, text)["findings"] if each["kind"] == "hot_event"]
    assert "hot_event" in [each["kind"] for each in finding["seen_as"]], "the waits take most, and are part of it"
    told, = report(tmp_path, text)["communication"]["small_messages"]
    assert {each["place"]: each["calls"] for each in told["belonging"]} == {"tiny.c:26 in work": 3000,
                                                                          "tiny.c:24 in work": 3000 - 3}
    assert told["belonging_ns"] == sum(each["time_ns"] for each in told["belonging"]) and not told["brings_back"]


def test_who_asks_again_and_again_waits(tmp_path):
    """Each time as often as it takes: that is one wait."""
    job = Job(2)
    for _ in range(20):
        for rank in 0, 1:
            job.work(rank, 200 * US)
        for turn in range(30):
            for rank in 0, 1:
                job.irecv(rank, 1 - rank, 8)
                job.send(rank, 1 - rank, 8)
            for rank in 0, 1:
                for asks in range(3 + turn % 4):
                    job.call(rank, "MPI_Test", request=7, flag=int(asks == 2 + turn % 4), site="tiny.c:30")
    told, = report(tmp_path, job.ended()[0])["communication"]["small_messages"]
    assert told["messages"] == 1200 and "tiny.c:30 in work" in [each["place"] for each in told["belonging"]]


def test_a_wait_for_what_was_begun_before_is_none_of_theirs(tmp_path):
    """Rank 0 has asked for large ones, and answers each when it has come."""
    job = Job(2)
    for _ in range(20):
        for rank in 0, 1:
            job.work(rank, 400 * US)
        for turn in range(30):
            job.irecv(0, 1, 100_000, request=turn)
        for turn in range(30):
            sent = job.send(1, 0, 100_000, line=40)
            job.until(0, sent + COMES, "MPI_Wait", request=turn, site="tiny.c:26")
            answered = job.send(0, 1, 8)
            job.until(1, answered + COMES, "MPI_Recv", source=0, tag=5, site="tiny.c:41", **WORLD,
                      **{"status.source": 0, "status.tag": 5})
    assert report(tmp_path, job.ended()[0])["communication"]["small_messages"] == []


def test_messages_to_two_neighbours_are_told_once(tmp_path):
    finding, = small(tmp_path, ring(50, others=True)[0])
    assert "at tiny.c:25 in work (GASP_MPI_SEND), with the calls that belong to them" in finding["text"]


@pytest.mark.parametrize("healthy", [
    {"each": 1, "count": 1024}, {"each": 3},          # few
    {"each": 50, "count": 4096},                      # large
    {"each": 50, "asked": 4096},                      # to wait for a large one
    {"each": 50, "between": 60 * US},                 # who works in between
], ids=lambda how: " ".join(f"{name}={value}" for name, value in how.items()))
def test_a_ring_of_others(tmp_path, healthy):
    assert not small(tmp_path, ring(**healthy)[0])


@pytest.mark.parametrize("works", [40, 300])
def test_a_wait_for_somebody_who_computes_is_no_cost_of_messages(tmp_path, works):
    """Rank 0 asks rank 1, which computes the answer for so many us; rank 0 has nothing to do but wait."""
    job = Job(2)
    for _ in range(400):
        job.irecv(0, 1, 8)
        asked = job.send(0, 1, 8)
        job.until(1, asked + 1 * US, "MPI_Recv", source=0, tag=5, site="server.c:9", **WORLD,
                  **{"status.source": 0, "status.tag": 5})
        job.work(1, works * US)
        answered = job.send(1, 0, 8, line=50)
        job.until(0, answered + 2 * US, "MPI_Wait", request=7, site="tiny.c:26")
    assert not small(tmp_path, job.ended()[0])


def queue(items, chunk, ranks=3, flush=6 * US, item=2 * US, spread=1, symbol="MPI_Fetch_and_op"):
    """Each takes the next items from a counter of rank 0, until there are none; for rank 0 that is quicker."""
    job, taken = Job(ranks, gap=0), 0
    while taken < items:
        rank = min(range(ranks), key=lambda rank: job.now[rank])
        job.call(rank, symbol, 1 * US, target_rank=0, datatype=8, win=0x77, site="queue.c:17")
        job.call(rank, "MPI_Win_flush", flush if rank else flush // spread, rank=0, win=0x77, site="queue.c:18")
        job.work(rank, item * min(chunk, items - taken))
        taken += chunk
    return job.ended()


@pytest.mark.parametrize("how", [{}, {"spread": 6}, {"flush": 300 * US}])
def test_a_work_queue_of_one_item_at_a_time(tmp_path, how):
    text, end = queue(6000, 1, **how)
    really = end - queue(6000, 100, **how)[1]
    finding, = small(tmp_path, text)
    assert finding["gain_ns"] is None and finding["confidence"]["gain"] == "bounded"
    assert really <= finding["gain_at_most_ns"] <= 1.25 * really
    assert ("3 processes to rank 0: 6,000 small atomic operations, of 8 B on average, one after the other at "
            "queue.c:17 in work (GASP_MPI_FETCH_AND_OP), with the calls that belong to them (GASP_MPI_WIN_FLUSH at "
            "queue.c:18 in work)") in finding["text"]
    assert "(busy waiting)" in finding["text"] and "(aggregation), the " in finding["text"]
    assert "KiB would do" not in finding["text"]
    told, = report(tmp_path, text)["communication"]["small_messages"]
    assert told["brings_back"] and told["to"] is None and told["messages"] == 6000


def test_a_work_queue_of_many_items_at_a_time(tmp_path):
    for chunk, flush in (100, 6 * US), (40, 1000 * US):
        assert not small(tmp_path, queue(600 * chunk, chunk, flush=flush)[0])
