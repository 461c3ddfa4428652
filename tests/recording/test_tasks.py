# SPDX-License-Identifier: BSD-2-Clause
"""Tasks and workers, on recordings whose right answer can be worked out by hand; and on made-up schedules, of which the
parts of each worker's time must add up."""
import json
import random

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files
US = 1000
KINDS = {"task_overhead", "ready_tasks", "task_dependencies", "last_tasks", "late_submission", "task_data",
         "slow_worker"}
IDLE = ("runtime_ns", "idle_ready_ns", "idle_blocked_ns", "idle_last_ns", "idle_unsubmitted_ns")


class Job:
    """A process with a thread of the program (tid 1) and workers (tid 11, 12, ...). Times in microseconds."""

    def __init__(self, workers=2, known=True, pid=1):
        self.calls, self.more, self.pid = [], "", pid
        self.head = f"process {pid} -1\n" + "".join(f"thread {pid} {10 * pid + 1 + i}\n" for i in range(workers))
        if known:
            for i in range(workers):
                self.call(10 * pid + 1 + i, 1, 10, "_starpu_cpu_driver_init", **{"worker.id": i})

    def call(self, tid, start, end, symbol, **values):
        self.calls.append((tid, end, -start, composed.call(tid, int(start * US), int(end * US), symbol, **values)))

    def atomic(self, tid, time, symbol, **values):
        text = " ".join(f"{name}={value}" for name, value in values.items())
        self.calls.append((tid, time, -time, f"atomic {tid} {int(time * US)} {symbol} {text}\n"))

    def submit(self, start, end, task, kind=0x100, tid=None, **more):
        self.call(tid or self.pid, start, end, "starpu_task_submit",
                  **{"task": task, "task.kind": kind, "task.internal": 0, "result": 0, **more})

    def ready(self, tid, time, task, kind=0x100, depth=0):
        self.atomic(tid, time, "_starpu_push_task", depth=depth, **{"job.task": task, "job.kind": kind})

    def fetch(self, tid, start, end, task, depth=0):
        self.call(tid, start, end, "_starpu_fetch_task_input", task=task, depth=depth)

    def run(self, tid, start, end, task, kind=0x100, event="", **more):
        self.call(tid, start, end, event + "_starpu_driver_start_job",
                  **{"worker.id": tid % 10 - 1, "job.task": task, "job.kind": kind, **more})

    def done(self, tid, time, task, kind=0x100):
        self.atomic(tid, time, "_starpu_handle_job_termination", **{"job.task": task, "job.kind": kind})

    def wait(self, start, end):
        self.call(self.pid, start, end, "starpu_task_wait_for_all")

    def text(self):
        return self.head + self.more + "".join(text for *_, text in sorted(self.calls))


def recorded(tmp_path, *jobs, more=""):
    return composed.compose(tmp_path / "run.gasp", "".join(job.text() for job in jobs) + more)


def report(recording):
    result = gaspbpf.run("report", recording, "--json")
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    return seen["tasks"], [finding for finding in seen["findings"] if finding["kind"] in KINDS]


def runtime(tmp_path, *jobs, more=""):
    told, findings = report(recorded(tmp_path, *jobs, more=more))
    only, = told["runtimes"]
    return only, findings


def by_tid(rows):
    return {row["tid"]: row for row in rows}


def two_tasks(known=True):
    """The second one waits for the first, and runs on the other worker."""
    job = Job(known=known)
    job.submit(100, 110, 0xa)
    job.ready(1, 105, 0xa, depth=1)
    job.submit(110, 120, 0xb, kind=0x200)
    job.wait(120, 1000)
    job.fetch(11, 115, 118, 0xa)
    job.run(11, 120, 520, 0xa)
    job.done(11, 525, 0xa)
    job.ready(11, 530, 0xb, kind=0x200)
    job.fetch(12, 550, 560, 0xb)
    job.run(12, 570, 970, 0xb, kind=0x200)
    job.done(12, 980, 0xb, kind=0x200)
    return job


def parts(worker):
    return {key: worker[key] / US for key in ("runs_ns", "data_ns", *IDLE)}


def test_where_the_time_of_two_workers_goes(tmp_path):
    only, findings = runtime(tmp_path, two_tasks())
    workers = by_tid(only["workers"])
    assert (only["from_ns"], only["time_ns"], only["executed"]) == (100 * US, 880 * US, 2)
    # Until 105 one task is submitted and not ready, for two workers; from 525 to 530 the other one, and from then to
    # 550 it is ready: each worker has half of it.
    assert parts(workers[11]) == {"runs_ns": 400, "data_ns": 5, "runtime_ns": 5 + 5, "idle_ready_ns": 10,
                                  "idle_blocked_ns": 2.5 + 2.5 + 2.5, "idle_last_ns": 2.5 + 10 + 430,
                                  "idle_unsubmitted_ns": 2.5 + 2.5}
    assert parts(workers[12]) == {"runs_ns": 400, "data_ns": 20, "runtime_ns": 10 + 10, "idle_ready_ns": 5,
                                  "idle_blocked_ns": 2.5 + 2.5 + 410 + 2.5, "idle_last_ns": 2.5 + 10,
                                  "idle_unsubmitted_ns": 2.5 + 2.5}
    assert all(sum(parts(worker).values()) == 880 for worker in workers.values())
    assert {key: only[key] for key in IDLE} == {key: sum(w[key] for w in workers.values()) for key in IDLE}
    assert [workers[tid]["worker"] for tid in (11, 12)] == [0, 1]


def test_bounds_and_latencies(tmp_path):
    only, _ = runtime(tmp_path, two_tasks())
    assert only["area_bound_ns"] == 400 * US  # 800 by two workers
    assert (only["longest_chain_ns"], only["longest_chain_tasks"]) == (800 * US, 2)
    first, second = sorted(only["kinds"], key=lambda kind: kind["kind"])
    assert (first["submitted"], first["executed"], first["runs_ns"]) == (1, 1, 400 * US)
    for kind, blocked, queued in ((first, 5, 15), (second, 420, 40)):
        assert kind["submit_to_ready"] == {"tasks": 1, "sum_ns": blocked * US, "max_ns": blocked * US}
        assert kind["ready_to_start"] == {"tasks": 1, "sum_ns": queued * US, "max_ns": queued * US}
        assert kind["submit_to_start"]["sum_ns"] == (blocked + queued) * US


def test_workers_that_are_known_by_their_first_task_only(tmp_path):
    only, _ = runtime(tmp_path, two_tasks(known=False))
    assert sorted(by_tid(only["workers"])) == [11, 12]
    for worker in only["workers"]:
        assert sum(parts({**worker, "data_ns": worker["data_ns"] or 0}).values()) == 880


def test_each_task_is_followed_by_its_own_worker(tmp_path):
    """From one task to the next on one worker, each made ready by the one before: that is what the runtime takes."""
    job = Job(workers=1)
    for number in range(3):
        job.submit(100 + 10 * number, 108 + 10 * number, number + 1)
    job.ready(1, 104, 1, depth=1)
    job.wait(130, 2000)
    for number in range(3):
        start = 200 + 500 * number
        job.fetch(11, start - 10, start - 5, number + 1)
        job.run(11, start, start + 450, number + 1)
        job.done(11, start + 455, number + 1)
        if number < 2:
            job.ready(11, start + 460, number + 2)
    only, _ = runtime(tmp_path, job)
    worker, = only["workers"]
    # To the first one, from its being ready on; 5 to the end of each task; from there to the next.
    assert parts(worker) == {"runs_ns": 3 * 450, "data_ns": 30, "runtime_ns": 86 + 3 * 5 + 2 * (490 - 455),
                             "idle_ready_ns": 0, "idle_blocked_ns": 4, "idle_last_ns": 0, "idle_unsubmitted_ns": 0}
    assert (only["longest_chain_ns"], only["longest_chain_tasks"]) == (3 * 450 * US, 3)


def test_a_task_that_was_ready_all_the_time_is_begun_late(tmp_path):
    """It is the runtime's time for the worker that takes it; the other one has its half of a ready task."""
    job = Job()
    for number in (1, 2, 3):
        job.submit(90 + 10 * number, 95 + 10 * number, number)
        job.ready(1, 91 + 10 * number, number, depth=1)
    job.wait(130, 600)
    job.run(11, 130, 330, 1)
    job.done(11, 331, 1)
    job.run(12, 131, 331, 2)
    job.done(12, 332, 2)
    job.run(11, 371, 571, 3)
    job.done(11, 572, 3)
    workers = by_tid(runtime(tmp_path, job)[0]["workers"])
    # Until 111 half of a ready task for each, then a whole one; and two ends.
    assert workers[11]["runtime_ns"] == (5 + 19 + 40 + 2) * US and workers[11]["idle_ready_ns"] == 0
    assert workers[12]["idle_ready_ns"] == (5 + 19.5) * US and workers[12]["idle_last_ns"] == (19.5 + 201) * US


def test_data_that_is_fetched_while_another_task_runs(tmp_path):
    job = Job(workers=1)
    for number in (1, 2):
        job.submit(100 * number, 100 * number + 5, number)
        job.ready(1, 100 * number + 1, number, depth=1)
    job.run(11, 210, 610, 1)
    job.fetch(11, 300, 305, 2, depth=1)
    job.done(11, 620, 1)
    job.run(11, 700, 800, 2)
    job.done(11, 801, 2)
    only, _ = runtime(tmp_path, job)
    worker, = only["workers"]
    assert (worker["runs_ns"], worker["data_ns"]) == (500 * US, 80 * US)


def test_a_task_that_two_workers_run_together(tmp_path):
    job = Job()
    job.submit(100, 105, 1)
    job.ready(1, 101, 1, depth=1)
    job.run(11, 110, 210, 1)
    job.run(12, 120, 205, 1)
    job.done(11, 211, 1)
    only, _ = runtime(tmp_path, job)
    kind, = only["kinds"]
    assert (only["executed"], kind["runs_ns"]) == (2, 185 * US)
    assert kind["ready_to_start"] == {"tasks": 1, "sum_ns": 9 * US, "max_ns": 9 * US}
    assert only["not_seen_submitted"] == 0


def test_a_chain_through_the_program(tmp_path):
    """It waits for the first task, and then submits the second; a third one is submitted by a task."""
    job = Job(workers=2)
    job.submit(100, 102, 1)
    job.ready(1, 101, 1, depth=1)
    job.wait(102, 250)
    job.run(11, 110, 210, 1)
    job.done(11, 211, 1)
    job.submit(260, 262, 2)
    job.ready(1, 261, 2, depth=1)
    job.submit(320, 322, 3, tid=12, depth=1)
    job.ready(12, 321, 3, depth=2)
    job.run(12, 270, 470, 2)
    job.done(12, 471, 2)
    job.run(11, 330, 630, 3)
    job.done(11, 631, 3)
    job.wait(262, 626)
    job.submit(627, 629, 4)  # what ends last is not in the longest one
    job.ready(1, 628, 4, depth=1)
    job.run(12, 640, 641, 4)
    job.done(12, 642, 4)
    only, _ = runtime(tmp_path, job)
    # 100, and 51 of the second up to where the third one was made ready, and the third.
    assert (only["longest_chain_ns"], only["longest_chain_tasks"]) == (451 * US, 3)


@pytest.mark.parametrize("on_cpu_only, bound", [(True, 50), (False, 36)])
def test_the_best_division_between_two_classes_of_workers(tmp_path, on_cpu_only, bound):
    """Two tasks of a kind take 90 on a processor, two take 10 on a device; maybe one more, 50, on the processor."""
    job = Job(workers=2)
    at = {11: 100, 12: 100}
    runs = [(11, 90, 0x100), (11, 90, 0x100), (12, 10, 0x100), (12, 10, 0x100)]
    for number, (tid, lasts, kind) in enumerate(runs + on_cpu_only * [(11, 50, 0x200)], 1):
        job.run(tid, at[tid], at[tid] + lasts, number, kind, event="GPU_EXEC:" if tid == 12 else "")
        at[tid] += lasts + 1
    only, _ = runtime(tmp_path, job)
    assert {worker["event"] for worker in only["workers"]} == {"GASP_STARPU_CPU_EXEC", "GASP_STARPU_GPU_EXEC"}
    assert only["area_bound_ns"] == bound * US
    # Nobody saw them being submitted.
    assert only["not_seen_submitted"] == 4 + on_cpu_only and only["longest_chain_ns"] is None
    assert all(only[key] is None for key in IDLE)


def transfers(job, both=True):
    for number, (source, to, size) in enumerate([(0, 1, 1000), (0, 1, 3000), (1, 0, 500)]):
        start = 300 + 20 * number
        if both:
            job.atomic(11, start + 1, "_starpu_bus_update_profiling_info", depth=1, src_node=source, dst_node=to,
                       size=size)
        for part in (1, 2):
            job.atomic(11, start + 1 + part, "starpu_interface_data_copy", depth=1, src_node=source, dst_node=to,
                       size=size // 2)
        job.call(11, start, start + 10, "_starpu_driver_copy_data_1_to_1", handle=1)
    job.submit(400, 402, 1)
    job.ready(1, 401, 1, depth=1)
    job.run(11, 410, 420, 1)
    job.done(11, 421, 1)
    return job


@pytest.mark.parametrize("both, source, count", [(True, 0, 1), (False, None, 2)])
def test_transfers_between_memory_nodes(tmp_path, both, source, count):
    """Where transfers are not seen, the parts of them are, and of these it is not known where they come from."""
    only, _ = runtime(tmp_path, transfers(Job(), both))
    there, back = sorted(only["transfers"], key=lambda pair: -pair["bytes"])
    assert (there["from"], there["to"], there["transfers"], there["bytes"]) == (source, 1, 2 * count, 4000)
    assert (back["from"], back["to"], back["transfers"], back["bytes"]) == (1 if both else None, 0, count, 500)
    assert there["in_copies_ns"] == 20 * US and there["timed_bytes"] == 4000
    assert back["in_copies_ns"] == 10 * US and back["unknown_bytes"] == 0


def test_what_is_missing_is_said(tmp_path):
    recording = recorded(tmp_path, two_tasks(), more="sum 11 _starpu_driver_start_job 3 0 0\nlost 11 3\n")
    told, findings = report(recording)
    only, = told["runtimes"]
    assert only["missing_calls"] == 3 and only["executed"] == 2 and not findings
    assert only["area_bound_ns"] is None and only["longest_chain_ns"] is None
    assert all(only[key] is None for key in IDLE)
    assert "3 calls are missing here" in gaspbpf.run("report", recording).stdout


def test_measurement_that_was_off(tmp_path):
    only, findings = runtime(tmp_path, two_tasks(), more="control 1 600000 0\ncontrol 1 610000 1\n")
    assert only["interrupted"] and not findings and only["idle_ready_ns"] is None


def test_a_submission_that_failed_is_none(tmp_path):
    job = two_tasks()
    job.submit(1010, 1020, 0xc, kind=0x300, result=-19)
    only, _ = runtime(tmp_path, job)
    assert sum(kind["submitted"] for kind in only["kinds"]) == 2


def test_tasks_without_code(tmp_path):
    """They are submitted, ready and over, and run nowhere: one kind."""
    job = two_tasks()
    for number in (3, 4):
        job.submit(1100 + 10 * number, 1105 + 10 * number, number, kind=0)
        job.ready(1, 1101 + 10 * number, number, kind=0, depth=1)
        job.done(1, 1102 + 10 * number, number, kind=0)
    recording = recorded(tmp_path, job)
    only, = report(recording)[0]["runtimes"]
    empty, = (kind for kind in only["kinds"] if kind["kind"] is None)
    assert (empty["submitted"], empty["executed"], empty["event"]) == (2, 0, None)
    assert empty["submit_to_ready"]["tasks"] == 2 and empty["ready_to_start"]["tasks"] == 0
    assert "(no code)" in gaspbpf.run("report", "--section", "tasks", recording).stdout


def test_other_runtimes_have_no_workers(tmp_path):
    """Tasks that are submitted, and are run where nobody sees it: of their time nothing is said."""
    spawn = "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE"
    text = "process 1 -1\n" + "".join(composed.call(1, 100 * i, 100 * i + 10, spawn, task=i) for i in range(1, 9)) + \
        composed.call(1, 2000, 3000, "_ZN3tbb6detail2r120isolate_within_arenaERNS0_2d113delegate_baseEl")
    recording = composed.compose(tmp_path / "run.gasp", text)
    told, findings = report(recording)
    only, = told["runtimes"]
    assert not only["workers"] and not findings and only["area_bound_ns"] is None
    kinds = {kind["event"]: kind for kind in only["kinds"]}
    assert kinds["GASP_TBB_SPAWN"]["submitted"] == 8 and kinds["GASP_TBB_SPAWN"]["executed"] is None
    assert kinds["GASP_TBB_ISOLATE"]["executed"] == 1
    assert "Tasks and workers" not in gaspbpf.run("report", recording).stdout
    assert "not observable" in gaspbpf.run("report", "--section", "tasks", recording).stdout


@pytest.mark.parametrize("symbol", ["GOMP_parallel", "GOMP_loop_end_nowait", "pthread_create"])
def test_what_is_no_task(tmp_path, symbol):
    """Regions that threads share, what deals out their iterations, and threads."""
    text = "process 1 -1\n" + "".join(composed.call(1, 100 * i, 100 * i + 50, symbol) for i in range(1, 5))
    told, findings = report(composed.compose(tmp_path / "run.gasp", text))
    assert told["runtimes"] == [] and not findings


def test_a_job_without_tasks(tmp_path):
    told, findings = report(composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER))
    assert told["runtimes"] == [] and not findings


# --- schedules -----------------------------------------------------------------------------------------------------


def scheduled(tasks, workers=2, gap=2, every=3, pause=0, rounds=1, known=True, **more):
    """Tasks as (how long on each worker, after which other one, on which worker, waiting for data, kind), by a
    scheduler that gives each to the first worker that is free."""
    job = Job(workers, known, **more)
    free, at, last, number = [50.0] * workers, 100.0, 0.0, 0
    for _ in range(rounds):
        over, by = {}, {}
        begun = at
        for index, (lasts, after, where, data, kind) in enumerate(tasks):
            number += 1
            submit, task = begun + every * index, 16 * number
            job.submit(submit, submit + 2, task, kind=kind, site="solve.c:10,solve")
            if after is None or over[after] + 1 < submit:
                ready = submit + 1
                job.ready(job.pid, ready, task, kind, depth=1)
            else:
                ready = over[after] + 1
                job.ready(by[after], ready, task, kind)
            chosen = free.index(min(free)) if where is None else where
            tid = 10 * job.pid + 1 + chosen
            start = max(free[chosen], ready) + gap
            length = lasts[chosen] if isinstance(lasts, list) else lasts
            job.fetch(tid, start, start + data, task)
            job.run(tid, start + data, start + data + length, task, kind)
            over[index], by[index] = start + data + length + 1, tid
            job.done(tid, over[index], task, kind)
            free[chosen] = over[index] + 1.5
            last = max(last, over[index])
        job.wait(begun + every * len(tasks), last + 3)
        at = last + 4 + pause
    return job


def task(lasts, after=None, where=None, data=1, kind=0x100):
    return lasts, after, where, data, kind


ALIKE = [task(400)] * 60
SICK = {
    "task_overhead": dict(tasks=[task(8)] * 200, gap=6),
    "ready_tasks": dict(tasks=[task(400, where=0)] * 30 + [task(400, where=1)]),
    "task_dependencies": dict(tasks=[task(400)] * 2 + [task(400, after=i + 1 if i else None) for i in range(20)]),
    "last_tasks": dict(tasks=[task(400)] * 3, rounds=8),
    "late_submission": dict(tasks=[task(400)] * 30, every=400),
    "task_data": dict(tasks=[task(400, data=300)] * 30),
    "slow_worker": dict(tasks=[task([400 + i % 5, 700 + i % 5]) for i in range(60)]),
}


@pytest.mark.parametrize("kind", SICK)
def test_what_is_wrong_is_found(tmp_path, kind):
    only, findings = runtime(tmp_path, scheduled(**SICK[kind]))
    assert [finding["kind"] for finding in findings] == [kind]
    finding, = findings
    workers, time = len(only["workers"]), only["time_ns"]
    expected = {"task_overhead": only["runtime_ns"], "ready_tasks": only["idle_ready_ns"],
                "task_dependencies": only["idle_blocked_ns"], "last_tasks": only["idle_last_ns"],
                "late_submission": only["idle_unsubmitted_ns"], "task_data": only["data_ns"]}
    assert finding["section"] == "tasks"
    # What it gives is no more than is lost, and leaves the time that no schedule can spare.
    most = time if kind == "slow_worker" else time - only["area_bound_ns"]
    assert abs(finding["gain_at_most_ns"] - min(finding["weight_ns"], most)) <= 1
    assert "observed would be at most" in finding["text"]
    if kind == "slow_worker":
        slow = next(cell for cell in only["by_worker_and_kind"] if cell["tid"] == 12)
        assert finding["tid"] == 12 and finding["weight_ns"] == pytest.approx(300 * US * slow["tasks"], rel=0.01)
        return
    assert abs(finding["weight_ns"] - expected[kind]) <= 1
    assert finding["percent"] == pytest.approx(100 * expected[kind] / time / workers, abs=0.01)
    assert "solve.c:10" in finding["text"]
    if kind == "late_submission":
        assert finding["tid"] == 1


def test_and_where_nothing_is_wrong_nothing(tmp_path):
    only, findings = runtime(tmp_path, scheduled(ALIKE))
    assert findings == []
    assert only["runs_ns"] > 0.95 * 2 * only["time_ns"]


def test_of_few_tasks_it_does_not_matter_that_they_are_small(tmp_path):
    only, findings = runtime(tmp_path, scheduled([task(8)] * 90, gap=6))
    assert findings == [] and only["runtime_ns"] > 0.4 * only["runs_ns"]


@pytest.mark.parametrize("lasts", [
    [400, 470],                                     # less than a fifth more
    [[400, 2000][i % 10 == 9] for i in range(400)],  # large tasks, all on one of them
], ids=["little", "sizes"])
def test_who_is_not_slow(tmp_path, lasts):
    tasks = [task(lasts)] * 60 if len(lasts) == 2 else [task(each, where=1 if each == 2000 else None) for each in lasts]
    _, findings = runtime(tmp_path, scheduled(tasks))
    assert "slow_worker" not in {finding["kind"] for finding in findings}


def test_a_worker_that_was_held_up_now_and_then_is_not_slow(tmp_path):
    tasks = [task([400, 400 if i % 4 else 2000]) for i in range(80)]
    _, findings = runtime(tmp_path, scheduled(tasks))
    assert "slow_worker" not in {finding["kind"] for finding in findings}


def test_waiting_for_a_processor_is_not_the_runtimes(tmp_path):
    """All that the runtime seems to take is time in which the workers had no processor."""
    second = 10**9
    sick = scheduled([task(80_000)] * 120, gap=60_000)
    only, findings = runtime(tmp_path, sick)
    assert "task_overhead" in {finding["kind"] for finding in findings}
    queued = "".join(f"scheduled {tid} {8 * second} {5 * second} {4 * second} 2 0\n" for tid in (11, 12))
    (tmp_path / "queued").mkdir()
    _, findings = runtime(tmp_path / "queued", sick, more=queued)
    assert "task_overhead" not in {finding["kind"] for finding in findings}


@pytest.mark.parametrize("queued, alike, told", [(0, False, True), (0.6, False, False), (0.6, True, True)])
def test_idle_workers_wait_for_one_without_a_processor(tmp_path, queued, alike, told):
    """Each round's last task takes longer than the others of its kind, since its worker had no processor. Where all of
    them take as long, that is not why."""
    kind = 0x200 if alike else 0x100
    sick = scheduled([task(2000)] * 3 + [task(6000, kind=kind)], rounds=12)
    only, _ = runtime(tmp_path, sick)
    time = only["time_ns"]
    rows = "".join(f"scheduled {tid} {time} {time - int(queued * time)} {int(queued * time)} 2 0\n" for tid in (11, 12))
    (tmp_path / "queued").mkdir()
    _, findings = runtime(tmp_path / "queued", sick, more=rows if queued else "")
    assert ("last_tasks" in {finding["kind"] for finding in findings}) == told


def test_the_worst_of_several_processes_is_told(tmp_path):
    quiet, sick, worse = scheduled(ALIKE), scheduled(**SICK["task_data"], pid=2), \
        scheduled([task(400, data=500)] * 40, pid=3)
    told, findings = report(recorded(tmp_path, quiet, sick, worse))
    assert len(told["runtimes"]) == 3
    finding, = (finding for finding in findings if finding["kind"] == "task_data")
    assert "pid 3" in finding["text"] and "So it is in 1 other process" in finding["text"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("known", [True, False])
def test_parts_of_time_add_up(tmp_path, seed, known):
    chance = random.Random(seed)
    tasks = [task(chance.randrange(20, 900), chance.choice([None, chance.randrange(i)]) if i else None,
                  chance.choice([None, None, chance.randrange(3)]), chance.randrange(1, 30),
                  chance.choice([0x100, 0x200, 0x300])) for i in range(40)]
    job = scheduled(tasks, workers=3, gap=chance.randrange(1, 9), every=chance.randrange(3, 200), rounds=3,
                    known=known)
    only, _ = runtime(tmp_path, job)
    for worker in only["workers"]:
        assert sum(worker[key] for key in ("runs_ns", "data_ns", *IDLE)) == pytest.approx(only["time_ns"], abs=4)
    assert only["longest_chain_ns"] <= only["time_ns"] and only["area_bound_ns"] <= only["time_ns"]
    assert only["executed"] == 120 == sum(cell["tasks"] for cell in only["by_worker_and_kind"])
    cells = only["by_worker_and_kind"]
    for key in ("tasks", "runs_ns"):
        assert all(sum(part[key] for part in cell["history"]) == cell[key] for cell in cells)
    assert only["runs_ns"] == sum(cell["runs_ns"] for cell in cells) == sum(w["runs_ns"] for w in only["workers"])
    assert sum(kind["submit_to_start"]["tasks"] for kind in only["kinds"]) == 120


def test_mean_deviation_and_history_of_a_worker(tmp_path):
    """Tasks take 100 in the first half of the time, and 300 later."""
    job = Job(workers=1)
    lasts = [100] * 30 + [300] * 10
    at = 1000
    for number, length in enumerate(lasts, 1):
        job.submit(at - 8, at - 6, number)
        job.ready(1, at - 7, number, depth=1)
        job.run(11, at, at + length, number)
        job.done(11, at + length + 1, number)
        at += length + 10
    only, _ = runtime(tmp_path, job)
    cell, = only["by_worker_and_kind"]
    mean = sum(lasts) / 40
    assert (cell["tasks"], cell["mean_ns"]) == (40, pytest.approx(mean * US))
    assert cell["deviation_ns"] == pytest.approx(US * (sum((x - mean)**2 for x in lasts) / 39)**0.5)
    assert (cell["min_ns"], cell["max_ns"]) == (100 * US, 300 * US)
    used = [part for part in cell["history"] if part["tasks"]]
    assert used[0]["runs_ns"] == used[0]["tasks"] * 100 * US and used[-1]["runs_ns"] == used[-1]["tasks"] * 300 * US
    assert len(cell["history"]) == 8 and 5 <= len(used)


def test_the_history_of_a_worker_that_does_nothing_for_long(tmp_path):
    job = Job(workers=2)
    runs = [(12, 100 + 10 * i, 5) for i in range(8)] + [(11, 1000 * 2**i, 900) for i in range(8)] + [(12, 140_000, 9)]
    for number, (tid, at, length) in enumerate(sorted(runs, key=lambda run: run[1]), 1):
        job.submit(at - 3, at - 1, number)
        job.ready(1, at - 2, number, depth=1)
        job.run(tid, at, at + length, number)
        job.done(tid, at + length + 1, number)
    only, _ = runtime(tmp_path, job)
    cell = by_tid(only["by_worker_and_kind"])[12]
    assert cell["history"][0] == {"tasks": 8, "runs_ns": 40 * US} and sum(p["tasks"] for p in cell["history"]) == 9


def test_kinds_have_names_in_the_text(tmp_path):
    job = two_tasks()
    job.more = "text 1 0x5000 potrf\n"
    for index, call in enumerate(job.calls):
        if "start_job" in call[3] and "job.kind=256" in call[3]:
            job.calls[index] = (*call[:3], call[3][:-1] + " job.codelet=0x5000\n")
    recording = recorded(tmp_path, job)
    text = gaspbpf.run("report", "--section", "tasks", recording).stdout
    assert "potrf" in text and "0x200" in text
    short = gaspbpf.run("report", recording).stdout
    assert "area bound" in short and "potrf" not in short


@pytest.mark.parametrize("seed", range(8))
def test_nonsense(tmp_path, seed):
    """Any calls in any order: an answer, and no figure out of bounds."""
    chance = random.Random(seed)
    lines, at = [], {tid: 0 for tid in (1, 11, 12)}
    symbols = ["starpu_task_submit", "_starpu_fetch_task_input", "_starpu_driver_start_job",
               "GPU_EXEC:_starpu_driver_start_job", "starpu_task_wait_for_all", "_starpu_driver_copy_data_1_to_1"]
    atomic = ["_starpu_push_task", "_starpu_handle_job_termination", "_starpu_bus_update_profiling_info"]
    names = {"starpu_task_submit": ("task", "task.kind"), "_starpu_fetch_task_input": ("task",),
             "_starpu_bus_update_profiling_info": ("src_node", "dst_node", "size"), "starpu_task_wait_for_all": (),
             "_starpu_driver_copy_data_1_to_1": ("handle",)}
    for _ in range(400):
        tid, symbol = chance.choice(list(at)), chance.choice(symbols + atomic)
        start = at[tid] + chance.randrange(3)
        at[tid] = start + (0 if symbol in atomic else chance.randrange(50))
        values = {name: chance.choice([0, 1, 2, 3, -5, 2**62]) for name in names.get(symbol, ("job.task", "job.kind"))}
        text = " ".join(f"{name}={value}" for name, value in values.items())
        lines.append(f"atomic {tid} {start} {symbol} {text}\n" if symbol in atomic else
                     f"call {tid} {start} {at[tid]} {symbol} {text}\n")
    recording = composed.compose(tmp_path / "run.gasp", "process 1 -1\nthread 1 11\nthread 1 12\n" + "".join(lines))
    told, _ = report(recording)
    only, = told["runtimes"]
    assert all(worker["runs_ns"] <= only["time_ns"] for worker in only["workers"])
    assert gaspbpf.run("report", "--section", "tasks", recording).returncode == 0
