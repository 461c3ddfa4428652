# SPDX-License-Identifier: BSD-2-Clause
"""The clocks of merged recordings: a test sets each node's clock wrong, and the merge has to find back what it was."""
import json
import math
import random

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

SECOND = 10**9
US = 1000
LATENCY = 5 * US  # the least that a message takes
RANKS_A_NODE = 2


def rank_tid(rank):
    return 100 + rank % RANKS_A_NODE


class Job:
    """Ranks on several nodes, by the true time: a ring of messages, to and fro, and a barrier now and then."""

    def __init__(self, nodes, steps=200, seed=1, barriers=True, messages=True, init=True, span=10 * SECOND):
        self.lines = {rank: [] for rank in range(nodes * RANKS_A_NODE)}
        self.nodes, self.ranks, self.end = nodes, nodes * RANKS_A_NODE, span
        chance = random.Random(seed)
        now = dict.fromkeys(range(self.ranks), 1000)
        for rank in range(self.ranks if init else 0):
            self.call(rank, 0, 10, "MPI_Init")
            if rank % RANKS_A_NODE:  # a message inside of a node
                self.lines[rank].append(composed.receive(rank_tid(rank), 100, 200, rank - 1))
            else:
                self.lines[rank].append(composed.send(rank_tid(rank), 100, 101, rank + 1))
        for step in range(steps):
            for rank in now:
                now[rank] = span * step // (steps + 1) + 2000 + chance.randrange(50 * US)
            if messages:
                self.ring(now, chance, 1 if step % 2 else self.ranks - 1)
            if barriers:
                self.barrier(now, chance)

    def call(self, rank, start, end, symbol, **values):
        self.lines[rank].append(composed.call(rank_tid(rank), start, end, symbol, **values))

    def ring(self, now, chance, to):
        sent = {}
        for rank in now:
            sent[rank] = now[rank]
            self.lines[rank].append(composed.send(rank_tid(rank), now[rank], now[rank] + US, (rank + to) % self.ranks))
            now[rank] += 2 * US
        for rank in now:
            source = (rank - to) % self.ranks
            end = max(now[rank] + US, sent[source] + LATENCY + chance.choice([0, US, 20 * US]))
            self.lines[rank].append(composed.receive(rank_tid(rank), now[rank], end, source))
            now[rank] = end + chance.randrange(10 * US)

    def barrier(self, now, chance):
        last = max(now.values())
        for rank in now:
            end = last + LATENCY + chance.choice([0, US, 5 * US])
            self.call(rank, now[rank], end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": rank})
            now[rank] = end

    def compose(self, folder, clocks, realtime=None, boots=None):
        """clocks: of each node, what it is ahead at times [(time, ns), ...]; [] is right."""
        paths = []
        for node in range(self.nodes):
            ranks = range(node * RANKS_A_NODE, (node + 1) * RANKS_A_NODE)
            text = "".join(f"clock {time} {ahead}\n" for time, ahead in clocks[node])
            text += f"host n{node}\nboot {boots[node] if boots else node}\nrealtime {(realtime or {}).get(node, 0)}\n"
            text += "".join(f"process {rank_tid(rank)} {rank}\n" for rank in ranks)
            text += "".join("".join(self.lines[rank]) for rank in ranks) + f"end {self.end}\n"
            paths.append(composed.compose(folder / f"n{node}.gasp", text))
        return paths


def run(*words):
    result = gaspbpf.run(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def events(path):
    """The times of all events, by rank, in order."""
    listed = path.with_suffix(".events")
    run("export", path, "-o", listed)
    result = {}
    for line in listed.read_text().splitlines():
        time, rank, *_ = line.split(" ")
        seconds, ns = time.split(".")
        result.setdefault(rank, []).append(int(seconds) * SECOND + int(ns))
    return result


def merge(folder, job, clocks, realtime=None, options=()):
    paths = job.compose(folder, clocks, realtime)
    run("merge", *paths, *options, "-o", folder / "run.gasp")
    whole = folder / "true"
    whole.mkdir()
    run("merge", *job.compose(whole, [clocks[0]] * job.nodes, boots=["one"] * job.nodes), "-o", whole / "run.gasp")
    nodes = json.loads(run("report", "--json", folder / "run.gasp"))["nodes"]
    return events(folder / "run.gasp"), events(whole / "run.gasp"), nodes


def furthest(merged, true):
    """How far any event is from where it was, by the reference. Times count from a beginning that may be another."""
    assert merged.keys() == true.keys()
    shift = merged["rank:0"][0] - true["rank:0"][0]
    return max(abs(ours - shift - theirs) for rank, times in merged.items() for ours, theirs in zip(times, true[rank]))


def line(offset, ppm, span=10 * SECOND):
    return [(0, offset), (span, offset + int(ppm * span / 1e6))]


def wave(height, phase, span=10 * SECOND):
    """As a machine that gets warm and cold."""
    times = range(0, span + 1, span // 100)
    return [(time, int(height * math.sin(phase + 2 * math.pi * time / span))) for time in times]


CLOCKS = {
    "offset": [[], line(70 * US, 0), line(-300 * US, 0)],
    "drift": [[], line(70 * US, 30), line(-300 * US, -12)],
    "both drift": [line(0, 8), line(5 * 3600 * SECOND, 30), line(-300 * US, -40)],
    "bent": [[], wave(100 * US, 0), wave(-60 * US, 1)],
    "with corners": [[], [(0, 0), (3 * SECOND, 90 * US), (6 * SECOND, 60 * US), (10 * SECOND, -100 * US)],
             [(0, 900 * US), (5 * SECOND, 1000 * US), (10 * SECOND, 900 * US)]],
}


@pytest.mark.parametrize("what", ["both", "messages", "barriers"])
@pytest.mark.parametrize("name", CLOCKS)
def test_back_within_the_smallest_latency(tmp_path, name, what):
    """CLOCK_REALTIME is off by milliseconds, in another way on each node. Between two steps, which are 50 ms apart,
    nobody sees where a corner is."""
    clocks, corner = CLOCKS[name], US if name == "with corners" else 0
    job = Job(3, barriers=what != "messages", messages=what != "barriers")
    merged, true, nodes = merge(tmp_path, job, clocks, realtime={1: 3_000_000, 2: -2_000_000})
    assert furthest(merged, true) <= LATENCY + corner
    assert [node["clock_known_by"] for node in nodes] == ["reference", "bounds", "bounds"]
    assert [node["violated"] for node in nodes] == [0, 0, 0] and nodes[1]["bounds"] > 100
    assert all(node["clock_unsure_ns"] <= 4 * LATENCY for node in nodes[1:])


def test_a_job_that_was_joined_while_it_ran(tmp_path):
    """Then who is at which barrier is seen by times only: CLOCK_REALTIME is off by less than from one to the next."""
    merged, true, nodes = merge(tmp_path, Job(3, init=False), CLOCKS["drift"], realtime={1: 1_000_000, 2: -2_000_000})
    assert furthest(merged, true) <= LATENCY and [node["violated"] for node in nodes] == [0, 0, 0]


def test_no_clock_is_surer_than_it_says(tmp_path):
    merged, true, nodes = merge(tmp_path, Job(3), CLOCKS["drift"])
    assert furthest(merged, true) <= max(node["clock_unsure_ns"] for node in nodes[1:])


def test_what_bounds_nothing_is_set_by_realtime(tmp_path):
    """And no more is said than that."""
    _, _, nodes = merge(tmp_path, Job(2, barriers=False, messages=False), [[], line(3600 * SECOND, 0)])
    assert nodes[1]["clock_known_by"] == "realtime" and nodes[1]["clock_unsure_ns"] is None
    assert abs(nodes[1]["added_ns"] + 3600 * SECOND) < SECOND


def test_clocks_that_are_right_stay_in_order(tmp_path):
    merged, true, nodes = merge(tmp_path, Job(2), [[], []])
    assert furthest(merged, true) <= LATENCY and nodes[1]["pieces"] <= 1


def test_times_may_be_left_alone(tmp_path):
    job = Job(2, steps=5)
    merged, true, nodes = merge(tmp_path, job, [[], line(90 * US, 0)], options=["--keep-clocks"])
    assert furthest(merged, true) == 90 * US and nodes[1]["added_ns"] == 0


def test_the_report_shows_nodes_and_clocks(tmp_path):
    merge(tmp_path, Job(3), CLOCKS["drift"])
    text = run("report", tmp_path / "run.gasp", "--section", "nodes")
    rows = [row.split() for row in text.splitlines() if row.split() and row.split()[0] in ("n0", "n1", "n2")]
    assert [row[0] for row in rows] == ["n0", "n1", "n2"] and "the reference" in text and " to " in text


def test_what_cannot_be_is_counted(tmp_path):
    """A message that seems to be 1 ms under way backwards: that is wrong, and changes nothing for the others."""
    job = Job(2)
    tag = 7
    job.lines[0].append(composed.send(rank_tid(0), 10 * SECOND - 1_000_000, 10 * SECOND - 999_000, 2, tag))
    job.lines[2].append(composed.receive(rank_tid(2), 10 * SECOND - 2_100_000, 10 * SECOND - 2_000_000, 0, tag))
    merged, true, nodes = merge(tmp_path, job, [[], line(70 * US, 30)])
    assert furthest(merged, true) <= LATENCY
    assert nodes[1]["violated"] >= 1 and nodes[0]["violated"] >= 1
    assert "were received before they were sent" in " ".join(run("report", tmp_path / "run.gasp").split())
