# SPDX-License-Identifier: BSD-2-Clause
"""Tasks by worker in a page (docs/page.md): each that is drawn, with its history, and sums of the others. Times: ns."""
import collections
import json
import random

import pytest

import composed
import gaspbpf
from page import Bytes, Page

pytestmark = pytest.mark.files
COLUMNS = ["start", "duration", "level", "kind", "site", "words", "end", "submitted", "ready", "ready_by"]
Task = collections.namedtuple("Task", "start duration kind submitted ready ready_by site")


@pytest.fixture(scope="module", autouse=True)
def built_with_a_page():
    if "any browser (not in this build)" in " ".join(gaspbpf.run("export", "--help").stdout.split()):
        pytest.skip("this build has no page: make page, then make")


def exported(recording, *options):
    to = recording.with_suffix(".html")
    result = gaspbpf.run("export", recording, "-o", to, *options)
    assert result.returncode == 0, result.stderr
    return Page(to)


def job(workers, tasks, kinds=3, seed=1, spread=400_000, least=100, length=lambda rng: rng.randrange(200, 90_000)):
    """The text of a run of one process, and by worker what runs there. Thread 1 submits, workers are 11, 12, ..."""
    rng, calls, truth = random.Random(seed), [], collections.defaultdict(list)

    def add(tid, start, end, symbol, **values):
        line = composed.call(tid, start, end, symbol, **values)
        calls.append((end, start, line if end > start else line.replace(f"call {tid} {end} ", f"atomic {tid} ", 1)))

    free = {}
    for worker in range(workers):
        add(11 + worker, 10, 50, "_starpu_cpu_driver_init", **{"worker.id": worker})
        free[worker] = 1000 + worker
    for number in range(tasks):
        worker = rng.randrange(workers)
        submitted = 200 + 40 * number
        kind = 256 * (1 + rng.randrange(kinds))
        task, lasts = 0x100000 + 64 * number, length(rng)
        ready = submitted + 25
        start = max(free[worker], ready + rng.randrange(5, spread))
        free[worker] = start + lasts + least
        names = {"job.task": task, "job.kind": kind}
        add(1, submitted, submitted + 20, "starpu_task_submit",
            **{"task": task, "task.kind": kind, "task.internal": 0, "result": 0, "site": f"job.c:{1 + kind % 25600}"})
        add(1, ready, ready, "_starpu_push_task", **names)
        add(11 + worker, start, start + lasts, "_starpu_driver_start_job", **{"worker.id": worker, **names})
        add(11 + worker, start + lasts + 10, start + lasts + 10, "_starpu_handle_job_termination", **names)
        truth[worker].append(Task(start, lasts, hex(kind), submitted, ready, 1, f"job.c:{1 + kind % 25600} in work"))
    text = "process 1 -1\n" + "".join(f"thread 1 {11 + worker}\n" for worker in range(workers))
    end = max(free.values())
    return text + "".join(line for _, _, line in sorted(calls)) + f"end {end}\n", truth, end


class Tasks:
    def __init__(self, page):
        self.list = json.loads(page.blocks["tasks"])
        self.report = json.loads(page.blocks["report"])
        data = Bytes(page.blocks["task_calls"])
        columns = {name: data.column() for name in COLUMNS}
        self.drawn = {}
        for lane in self.list["lanes"]:
            start, found = 0, self.drawn.setdefault(lane["worker"], [])
            for _ in range(lane["calls"]):
                one = {name: column.varint() for name, column in columns.items()}
                start += one["start"]
                assert (one["level"], one["words"], one["end"]) == (0, 0, 0)
                found.append(Task(start, one["duration"], self.list["kinds"][one["kind"]]["name"],
                                  start - one["submitted"] + 1, start - one["ready"] + 1,
                                  self.report["threads"][one["ready_by"] - 1]["tid"],
                                  self.list["sites"][one["site"] - 1]))
        assert data.ended() and all(column.ended() for column in columns.values())
        data = Bytes(page.blocks["task_bins"])
        self.nbins, self.bins = data.u32(), {}
        for lane in self.list["lanes"]:
            at = data.varint()
            while at < self.nbins:
                count, kind = data.varint(), self.list["kinds"][data.varint()]["name"]
                self.bins[lane["worker"], at] = (count, kind,
                                                 {data.byte(): data.byte() for _ in range(data.byte())})
                at += 1 + data.varint()
        assert data.ended()


def test_each_task_with_its_history(tmp_path):
    text, truth, _ = job(4, 300)
    tasks = Tasks(exported(composed.compose(tmp_path / "run.gasp", text)))
    assert tasks.list["all"] == tasks.list["drawn"] == 300 and tasks.list["shorter_than_ns"] == 0
    assert [lane["worker"] for lane in tasks.list["lanes"]] == [0, 1, 2, 3] and not tasks.bins
    assert tasks.drawn == truth
    times = collections.Counter()
    for one in sum(truth.values(), []):
        times[one.kind] += one.duration
    assert [(kind["name"], kind["time_ns"]) for kind in tasks.list["kinds"]] == times.most_common()


def test_the_longest_are_drawn(tmp_path):
    """The others are in sums: how many, and how long of which kind, in each part of the time."""
    text, truth, end = job(3, 4000, spread=500, length=lambda rng: rng.randrange(200, 5000))
    tasks = Tasks(exported(composed.compose(tmp_path / "run.gasp", text), "--html-size", "160000"))
    everything = sorted((one.duration for one in sum(truth.values(), [])), reverse=True)
    assert (tasks.list["all"], tasks.list["drawn"]) == (4000, 1000)
    least = tasks.list["shorter_than_ns"]
    assert least == everything[1000] + 1 or everything[999] == everything[1000]
    order = [kind["name"] for kind in tasks.list["kinds"]]
    counts, times = collections.Counter(), collections.defaultdict(collections.Counter)
    for worker, all_of_it in truth.items():
        drawn = set(tasks.drawn[worker])
        assert {one for one in all_of_it if one.duration >= least} <= drawn <= set(all_of_it)
        for one in all_of_it:
            if one in drawn:
                continue
            at = one.start
            counts[worker, at * tasks.nbins // end] += 1
            while at < one.start + one.duration:
                number = at * tasks.nbins // end
                upto = min(one.start + one.duration, -(-(number + 1) * end // tasks.nbins))
                times[worker, number][order.index(one.kind)] += upto - at
                at = upto
    assert tasks.nbins == 1024 and {key: count for key, (count, _, _) in tasks.bins.items()} == \
        {key: counts[key] for key in times}
    width = end // tasks.nbins
    for key, (_, kind, shares) in tasks.bins.items():
        assert set(shares) == set(times[key])
        assert all(abs(share - max(1, min(255, times[key][group] * 255 // width))) <= 1
                   for group, share in shares.items())
        assert times[key][order.index(kind)] == max(times[key].values())


def test_too_many_sums(tmp_path):
    """Then two parts of the time become one, and nothing is lost."""
    count = 140_000
    text, truth, _ = job(2, count, kinds=3000, spread=6, least=12, length=lambda rng: rng.randrange(20, 40))
    tasks = Tasks(exported(composed.compose(tmp_path / "run.gasp", text), "--html-size", "1"))
    assert tasks.list["drawn"] == 0 and tasks.nbins < 1024
    assert sum(number for number, _, _ in tasks.bins.values()) == count == sum(map(len, truth.values()))


def test_a_part(tmp_path):
    text, truth, end = job(2, 200)
    tasks = Tasks(exported(composed.compose(tmp_path / "run.gasp", text), "--from", f"{end // 2}ns"))
    chosen = {worker: [one for one in all_of_it if one.start + one.duration >= end // 2]
              for worker, all_of_it in truth.items()}
    assert 0 < tasks.list["all"] < 200 and tasks.drawn == chosen


def test_no_tasks(tmp_path):
    page = exported(composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER))
    assert not {"tasks", "task_calls", "task_bins"} & set(page.blocks)
