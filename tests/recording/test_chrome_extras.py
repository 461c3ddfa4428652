# SPDX-License-Identifier: BSD-2-Clause
"""What a Chrome trace has where it is asked for: counters, findings, phases, colours, and the order of its tracks. The
truth is what the recordings are made from, or the report. Times are ns; thread n is rank n - 1."""
import collections
import json
import random

import pytest

import composed
import gaspbpf
from chrome_format import checked, counters, ns
from composed import call, ranks, send

pytestmark = pytest.mark.files
MS = 1_000_000


def exported(tmp_path, text, wanted="all", *options):
    recording, trace = composed.compose(tmp_path / "run.gasp", text), tmp_path / "run.json"
    result = gaspbpf.run("export", recording, "-o", trace, *(["--with", wanted] if wanted else []), *options)
    assert result.returncode == 0, result.stderr
    return checked(trace.read_bytes())


def reported(tmp_path):
    return json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout)


def in_order(text):
    """Calls of a thread come in the order of their ends."""
    lines = text.splitlines()
    calls = [line for line in lines if line.startswith(("call", "atomic"))]
    return "\n".join([line for line in lines if line not in calls] + sorted(
        calls, key=lambda line: int(line.split()[3 if line.startswith("call") else 2]))) + "\n"


def receive(tid, start, end, source, size):
    return call(tid, start, end, "MPI_Recv", **{"source": source, "tag": 0, "comm.id": 0, "status.source": source,
                                                "status.tag": 0, "status.bytes": size})


def steps(changes):
    """[(time, value)] of (time, change): what holds from each time on, where it is another than before."""
    at, found = 0, []
    by_time = collections.Counter()
    for time, change in changes:
        by_time[time] += change
    for time in sorted(by_time):
        at += by_time[time]
        if not found or found[-1][1] != at:
            found.append((time, at))
    return found


def shown(trace, pid, name):
    return counters(trace).get((pid, name))


# --- counters ---------------------------------------------------------------------


def messages(count, gap=1000):
    """Two of three ranks are sent to by the third, now and then several at a time: (text, {rank: changes in bytes})."""
    rng, at, text = random.Random(count), 1000, ranks(3)
    bytes_of, number_of, waiting = collections.defaultdict(list), collections.defaultdict(list), [[], [], []]
    for _ in range(count):
        at += gap * rng.randrange(2, 9)
        to, size = rng.choice((0, 2)), rng.randrange(1, 1000)
        if len(waiting[to]) < 3:
            text += send(2, at, at + gap // 2, to, count=size)
            waiting[to].append((at, size))
        else:
            for start, size_of in waiting[to]:
                at += gap * rng.randrange(2, 9)
                text += receive(to + 1, at, at + gap, 1, size_of)
                for changes, much in ((bytes_of, size_of), (number_of, 1)):
                    changes[1] += [(start, much), (at + gap, -much)]
            waiting[to] = []
    return in_order(text), bytes_of, number_of


def test_bytes_in_flight(tmp_path):
    """From the begin of the sending call to the end of the receiving one; of the rank that sends."""
    text, sizes, numbers = messages(120)
    trace = exported(tmp_path, text, "counters")
    assert shown(trace, 2, "bytes in flight") == steps(sizes[1])
    assert shown(trace, 2, "messages in flight") == steps(numbers[1])
    assert {pid for pid, name in counters(trace) if "flight" in name} == {2}
    assert len(steps(sizes[1])) > 100


def test_a_message_on_its_way_through_a_part(tmp_path):
    """Neither of its calls is in it."""
    text = ranks(2) + send(1, 100, 110, 1, count=70) + receive(2, 900, 990, 0, 70) + call(1, 500, 510, "malloc")
    trace = exported(tmp_path, text, "counters", "--from", "0.000000400", "--to", "0.000000600")
    assert shown(trace, 1, "bytes in flight") == [(400, 70)]
    assert [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"] == ["GASP_C_MALLOC"]


def test_sizes_that_are_not_known(tmp_path):
    """Then there are messages, and no bytes."""
    text = ranks(2) + call(1, 100, 110, "MPI_Send", **{"dest": 1, "tag": 0, "comm.id": 0}) + \
        composed.receive(2, 50, 130, 0)
    assert counters(exported(tmp_path, text, "counters")) == {(1, "messages in flight"): [(100, 1), (130, 0)]}


def test_many_changes_are_few_points(tmp_path):
    """The largest value is there whenever it was, and the last one; every point is true."""
    text, sizes, _ = messages(9000, gap=10)
    truth = steps(sizes[1])
    points = shown(exported(tmp_path, text, "counters"), 2, "bytes in flight")
    assert set(points) <= set(truth) and points[-1] == truth[-1]
    assert max(value for _, value in points) == max(value for _, value in truth)
    assert len(truth) > 2 * len(points) and len(points) <= 3 * 1001
    # Between two points that follow each other nothing has been larger than both of a slot's.
    width = (truth[-1][0] + 100) // 1000 + 1
    for time, value in truth:
        assert any(near >= value for at, near in points if abs(at - time) <= width)


def blocks(count, pids):
    """(text, {pid: changes}): a block is there from the end of malloc() to the begin of free()."""
    rng, at, text, alive = random.Random(count), 1000, "", []
    changes = collections.defaultdict(list)
    for pid in pids:
        text += f"process {pid} {pid - 1}\n"
    for number in range(count):
        at += 100 * rng.randrange(2, 9)
        if len(alive) > 8 or (alive and rng.random() < 0.4):
            pid, address, size = alive.pop(rng.randrange(len(alive)))
            text += call(pid, at, at + 50, "free", ptr=address)
            changes[pid].append((at, -size))
        else:
            pid, size = rng.choice(pids), rng.randrange(1, 5000)
            address = 0x10000 * (number + 1)
            text += call(pid, at, at + 50, "malloc", nbytes=size, returnptr=address)
            changes[pid].append((at + 50, size))
            alive.append((pid, address, size))
    return text, changes


def test_memory(tmp_path):
    text, changes = blocks(150, (1, 2))
    trace = exported(tmp_path, text, "counters")
    for pid in (1, 2):
        assert shown(trace, pid, "memory in use (c)") == steps(changes[pid]) and len(changes[pid]) > 40
    heaps = {heap["pid"]: heap for heap in reported(tmp_path)["memory"]["heaps"]}
    for pid in (1, 2):
        points = shown(trace, pid, "memory in use (c)")
        assert points[-1][1] == heaps[pid]["live_bytes"]
        assert max(value for _, value in points) == heaps[pid]["high_water_bytes"]


def test_a_part_begins_with_what_there_was(tmp_path):
    text, changes = blocks(150, (1, 2))
    truth = steps(changes[2])
    begin, end = truth[10][0] + 1, truth[30][0] + 1
    trace = exported(tmp_path, text, "counters", "--ranks", "1", "--from", f"{begin / 1e9:.9f}", "--to",
                     f"{end / 1e9:.9f}")
    assert shown(trace, 2, "memory in use (c)") == [(begin, truth[10][1])] + truth[11:31]
    assert {pid for pid, _ in counters(trace)} == {2}


def test_tasks(tmp_path):
    """A task is not ready from its submission on, ready from when the runtime says so, and neither once it runs."""
    text, ready, blocked = "process 1 -1\nthread 1 11\n", [], []
    text += call(11, 1000, 2000, "_starpu_cpu_driver_init", **{"worker.id": 0})
    for number in range(1, 6):
        task, at = {"job.task": number, "job.kind": 0x100}, 10_000 + 100 * number
        text += call(1, at, at + 5, "starpu_task_submit", **{"task": number, "task.kind": 0x100, "task.internal": 0,
                                                            "result": 0})
        text += f"atomic 1 {20_000 + number * 100} _starpu_push_task job.task={number} job.kind=256\n"
        text += call(11, 30_000 + 1000 * number, 30_900 + 1000 * number, "_starpu_driver_start_job", **{"worker.id": 0},
                     **task)
        blocked += [(at, 1), (20_000 + number * 100, -1)]
        ready += [(20_000 + number * 100, 1), (30_000 + 1000 * number, -1)]
    trace = exported(tmp_path, in_order(text), "counters")
    assert shown(trace, 1, "tasks ready (starpu)") == steps(ready)
    assert shown(trace, 1, "tasks not ready (starpu)") == steps(blocked)


def test_losses(tmp_path):
    """By process: how many up to then, from where the last call was known."""
    text = "process 1 0\nthread 1 2\nprocess 3 1\n"
    text += call(1, 100, 200, "malloc") + "lost 1 5 400\n" + call(1, 450, 500, "malloc")
    text += call(2, 100, 300, "malloc") + "lost 2 7\n" + call(3, 100, 200, "malloc")
    trace = exported(tmp_path, text, "counters")
    assert shown(trace, 1, "calls lost") == [(200, 5), (300, 12)]
    assert shown(trace, 3, "calls lost") is None


def test_cost_of_the_probes(tmp_path):
    """Over the time it adds up to the price of each call, and is there where the calls are."""
    text = "process 1 0\n"
    calls = [(10 * MS + 1000 * i, "malloc") for i in range(500)] + [(80 * MS + 1000 * i, "free") for i in range(300)]
    text += "".join(call(1, at, at + 100, symbol) for at, symbol in calls) + f"end {100 * MS}\n"
    text += "price malloc 700\nprice free 300\n"
    points = shown(exported(tmp_path, text, "counters"), 1, "cost of the probes")
    spent = [(start, end, value / 100 * (end - start)) for (start, value), (end, _) in zip(points, points[1:])]
    assert points[-1][1] == 0
    assert sum(much for *_, much in spent) == pytest.approx(500 * 700 + 300 * 300)
    assert sum(much for start, *_, much in spent if start < 50 * MS) == pytest.approx(500 * 700)


# --- findings and phases --------------------------------------------------------------


def barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1, "site": "step.c:42"})


def iterations(count=40, slow=(17,)):
    """Two ranks in step; the second works longer, and much longer in some iterations."""
    text, at = ranks(2), 100 * MS
    for number in range(count):
        work = 60 * MS if number in slow else 6 * MS
        text += barrier(1, at + 2 * MS, at + work + MS) + barrier(2, at + work, at + work + MS)
        at += work + MS
    return in_order(text + "".join(call(rank, at + MS, at + 2 * MS, "MPI_Finalize") for rank in (1, 2)))


def of_category(trace, category):
    return [event for event in trace["traceEvents"] if event.get("cat") == category]


def test_findings(tmp_path):
    """Each of the report's, at each time that it names and on the thread that it hit."""
    trace, report = exported(tmp_path, iterations(), "findings"), None
    report = reported(tmp_path)
    start = report["recording"]["start_ns"]
    marks = of_category(trace, "finding")
    for number, finding in enumerate(report["findings"], 1):
        mine = [mark for mark in marks if mark["name"] == f"finding {number}: {finding['text']}"]
        assert {(mark["tid"], ns(mark["ts"]), mark["args"]["lasted_ns"]) for mark in mine if mark["s"] == "t"
                and finding["instances"]} == {(one["tid"], one["start_ns"] - start, one["end_ns"] - one["start_ns"])
                                              for one in finding["instances"]}
        assert mine and all(mark["args"]["kind"] == finding["kind"] and mark["args"]["finding"] == finding["text"] and
                            mark["args"].get("gain_ns") == finding["gain_ns"] and
                            [mark["args"][key] for key in ("place",) if key in mark["args"]] == finding["places"]
                            for mark in mine)
    assert len({mark["name"] for mark in marks}) == len(report["findings"]) > 1
    assert any(mark["s"] == "t" for mark in marks) and any(finding["instances"] for finding in report["findings"])
    assert any(mark["args"].get("gain_ns") for mark in marks)


def test_findings_of_a_part(tmp_path):
    """They are those of the whole run, where they are of this time and these ranks."""
    whole = of_category(exported(tmp_path, iterations(), "findings"), "finding")
    part = of_category(exported(tmp_path, iterations(), "findings", "--from", "0.2", "--to", "0.3"), "finding")
    timed = [mark for mark in whole if "lasted_ns" in mark["args"]]
    inside = [mark for mark in timed
              if ns(mark["ts"]) + mark["args"]["lasted_ns"] >= 200 * MS and ns(mark["ts"]) <= 300 * MS]
    assert 0 < len(inside) < len(timed)
    assert sorted(mark["args"]["lasted_ns"] for mark in part if "lasted_ns" in mark["args"]) == \
        sorted(mark["args"]["lasted_ns"] for mark in inside)
    assert all(200 * MS <= ns(mark["ts"]) <= 300 * MS for mark in part)
    other = exported(tmp_path, iterations(), "findings", "--ranks", "1")
    assert not [mark for mark in of_category(other, "finding") if mark["s"] == "t" and mark["pid"] != 2]


def slices(trace, category, start):
    """What touches another one is shown 1 ns shorter, what is within it 2."""
    return [(event["name"], start + ns(event["ts"]), start + ns(event["ts"]) + ns(event["dur"]) +
             (2 if event["name"].startswith("iteration ") else 1)) for event in of_category(trace, category)]


def test_phases(tmp_path):
    """The parts of the run, the iterations in them, those out of line: the report's."""
    trace = exported(tmp_path, iterations(slow=(17, 30)), "phases")
    report = reported(tmp_path)
    found, = report["phases"]
    start = report["recording"]["start_ns"]
    seen = slices(trace, "phases", start)
    parts = [one for one in seen if not one[0].startswith("iteration ")]
    assert [(name.split()[0], *times) for name, *times in parts] == \
        [(part["phase"], part["from_ns"], part["to_ns"]) for part in found["phases"]]
    single = [one for one in seen if one[0].startswith("iteration ")]
    assert [name for name, *_ in single] == [f"iteration {number}" for number in range(found["iterations"])]
    # An iteration ends when the barrier does: known from how the job was made.
    ends, at = [], start + 100 * MS
    for number in range(40):
        at += (60 if number in (17, 30) else 6) * MS + MS
        ends.append(at)
    assert [end for *_, end in single] == ends[1:] and [begin for _, begin, _ in single] == ends[:-1]
    assert sorted(slices(trace, "outlier", start)) == sorted(
        (f"iteration {one['number']}, out of line", one["start_ns"], one["end_ns"] + 1) for one in found["outliers"])
    assert len(found["outliers"]) == 2
    names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"]
    assert any(name.startswith("iterations of ranks 0, 1: GASP_MPI_BARRIER at step.c:42") for name in names)


def test_many_iterations(tmp_path):
    """Several are one piece of the track; all of them are there, one after the other."""
    trace = exported(tmp_path, iterations(count=700, slow=()), "phases")
    found, = reported(tmp_path)["phases"]
    pieces = [(event["args"]["iterations"], event["name"].split()) for event in of_category(trace, "phases")
              if event["name"].split()[0] == "iterations" and event["args"]["iterations"] < 600]
    assert 1 < len(pieces) < 300
    at = 0
    for count, name in pieces:
        numbers = [int(word) for word in name if word.isdigit()]
        assert (numbers[0], numbers[-1]) == (at, at + count - 1)
        at += count
    assert at == found["iterations"] == 699


def test_phases_of_a_part(tmp_path):
    seen = slices(exported(tmp_path, iterations(), "phases", "--from", "0.2", "--to", "0.3"), "phases", 0)
    assert seen and min(one[1] for one in seen) == 200 * MS and max(one[2] for one in seen) == 300 * MS


# --- the rest --------------------------------------------------------------------------


def order(trace, what):
    """Names of processes or threads, as they stand."""
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace["traceEvents"]
             if event["name"] == f"{what}_name"}
    places = {(event["pid"], event["tid"]): event["args"]["sort_index"] for event in trace["traceEvents"]
              if event["name"] == f"{what}_sort_index"}
    return [names[key] for key in sorted(names, key=lambda key: (key[0] if what == "thread" else 0, places[key]))]


def test_order(tmp_path):
    """Ranks by number, then processes without one; of each the main thread first, then by tid."""
    text = "process 70 -1\nprocess 50 10\nprocess 60 2\nprocess 30 1\nthread 60 59\nthread 60 63\nthread 60 61\n" + \
        "".join(call(tid, 100, 200, "malloc") for tid in (70, 50, 60, 30, 59, 63, 61))
    trace = exported(tmp_path, text, None)
    assert [name.split(":")[0].split()[:2] for name in order(trace, "process")][:3] == \
        [["rank", "1"], ["rank", "2"], ["rank", "10"]]
    assert len(order(trace, "process")) == 4
    tids = [int(name.split("tid ")[-1].rstrip(")")) for name in order(trace, "thread")]
    assert [tid for tid in tids if tid in (59, 60, 61, 63)] == [60, 59, 61, 63]
    everything = exported(tmp_path, iterations(), "all")
    assert order(everything, "process")[0] == "the job"


def test_order_across_nodes(tmp_path):
    """Ranks 0 and 2 were on one node, 1 and 3 on another, with the same numbers of processes."""
    parts = []
    for node, numbers in (("a", (0, 2)), ("b", (1, 3))):
        text = f"host {node}\nboot {node * 8}\n" + "".join(f"process {7 + i} {rank}\n"
                                                          for i, rank in enumerate(numbers))
        text += "".join(call(7 + i, 100, 200, "malloc") for i in range(2))
        parts.append(composed.compose(tmp_path / f"{node}.gasp", text))
    merged = gaspbpf.run("merge", *parts, "-o", tmp_path / "run.gasp")
    assert merged.returncode == 0, merged.stderr
    assert gaspbpf.run("export", tmp_path / "run.gasp", "-o", tmp_path / "run.json").returncode == 0
    names = order(checked((tmp_path / "run.json").read_bytes()), "process")
    assert [name.split(":")[0].split()[1] for name in names] == ["0", "1", "2", "3"]


def test_colours(tmp_path):
    """By what a call is for, and only where they are asked for."""
    text = ranks(2) + send(1, 100, 110, 1) + composed.receive(2, 50, 130, 0) + call(1, 200, 210, "malloc") + \
        call(1, 220, 230, "free") + call(1, 300, 310, "pthread_mutex_lock")
    colour = {}
    for event in exported(tmp_path, text, "colours")["traceEvents"]:
        if event["ph"] == "X":
            colour.setdefault(event["name"], set()).add(event["cname"])
    assert colour["GASP_C_MALLOC"] == colour["GASP_C_FREE"] and colour["GASP_MPI_SEND"] == colour["GASP_MPI_RECV"]
    assert len({frozenset(colour[name]) for name in ("GASP_C_MALLOC", "GASP_MPI_SEND", "GASP_PTHREAD_MUTEX_LOCK")}) == 3
    assert not any("cname" in event for event in exported(tmp_path, text, "arrows,counters")["traceEvents"])


def test_all_of_it_adds_and_changes_nothing(tmp_path):
    """What a trace has without any of this it has with all of it."""
    plain = exported(tmp_path, iterations(), None)["traceEvents"]
    everything = exported(tmp_path, iterations(), "arrows,counters,findings,phases")["traceEvents"]
    assert not [event for event in plain if event not in everything]
    assert {event["ph"] for event in plain} == {"M", "X"} and {event["ph"] for event in everything} == set("MXisf")


def test_what_there_is_not(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", ranks(1))
    for wrong in ("arows", "", "arrows,", "all,what"):
        result = gaspbpf.run("export", recording, "-o", tmp_path / "x.json", "--with", wrong)
        assert result.returncode and "There are arrows, counters, findings, phases, colours and all" in result.stderr
    assert not (tmp_path / "x.json").exists()


def test_calls_that_did_not_return(tmp_path):
    """All end at one moment; whoever adds up begin and length in binary finds each within the one around it."""
    rng, text = random.Random(5), ""
    for pid in range(1, 30):
        text += f"process {pid} {pid - 1}\n"
        starts = sorted(rng.randrange(1000, 10**9) for _ in range(4))
        for depth, symbol in ((3, "malloc"), (2, "MPI_Barrier"), (1, "work"), (0, "other")):
            text += f"call {pid} {starts[depth]} {10**9 + 5000} {symbol} depth={depth} end=under_way\n"
    ends = collections.Counter(10**9 + 5000 - ns(event["ts"]) - ns(event["dur"])
                               for event in exported(tmp_path, text, None)["traceEvents"] if event["ph"] == "X")
    assert ends == {0: 29, 1: 29, 2: 29, 3: 29}


def test_a_recording_without_anything(tmp_path):
    trace = exported(tmp_path, "process 1 0\n")
    assert {event["ph"] for event in trace["traceEvents"]} == {"M"}
