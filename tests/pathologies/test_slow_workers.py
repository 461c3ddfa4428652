# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on StarPU's workers: how many of which kind ran where, and how long they took, is what the tasks measured
themselves; a slow worker and tasks that only one may run are found; of the healed twin nothing is said."""
import json

import gaspbpf
import truth

PROGRAM = gaspbpf.WORKLOADS / "pathology" / "tasks"
KINDS = {"task_overhead", "ready_tasks", "task_dependencies", "last_tasks", "late_submission", "task_data",
         "slow_worker"}


def observed(job, observe, tmp_path, *options):
    """(what is told of the runtime, its findings, the job's own account)"""
    recording = tmp_path / "run.gasp"
    tasks = job([PROGRAM, *options], env={**truth.ENVIRONMENT, "STARPU_NCPU": "2"}).wait_ready()
    watcher = observe("-p", tasks.process.pid, "-m", "starpu", "-o", recording, "--json")
    tasks.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert tasks.end() == 0, tasks.output()
    live, report = json.loads(out), json.loads(gaspbpf.run("report", "--json", recording).stdout)
    only, = report["tasks"]["runtimes"]
    assert live["tasks"] == report["tasks"]  # the calls are kept in memory as long as it lasts
    return only, [finding for finding in report["findings"] if finding["kind"] in KINDS], tasks.truths()[0]


def cells(only):
    return {(cell["worker"], cell["name"]): cell for cell in only["by_worker_and_kind"]}


def check_against_the_tasks_own_clock(only, own):
    expected = {(worker, kind): ran for worker, kinds in enumerate(own["ran"]) for kind, ran in kinds.items() if ran[0]}
    assert {key: cell["tasks"] for key, cell in cells(only).items()} == {key: ran[0] for key, ran in expected.items()}
    for key, (tasks, ns) in expected.items():
        assert ns <= cells(only)[key]["runs_ns"] <= 1.1 * ns + tasks * 1_000_000
    for worker in only["workers"]:
        parts = [worker[key] or 0 for key in ("runs_ns", "data_ns", "runtime_ns", "idle_ready_ns", "idle_blocked_ns",
                                              "idle_last_ns", "idle_unsubmitted_ns")]
        assert abs(sum(parts) - only["time_ns"]) <= 10
    assert only["not_seen_submitted"] == only["missing_calls"] == 0
    assert only["longest_chain_ns"] <= only["time_ns"] and only["area_bound_ns"] <= only["time_ns"]
    # Each task waits, by the program, for the one that ended last in the round before.
    assert only["longest_chain_tasks"] <= own["rounds"]
    assert only["longest_chain_ns"] >= own["rounds"] * min(cell["min_ns"] for cell in only["by_worker_and_kind"])


def test_a_slow_worker(job, observe, tmp_path):
    only, findings, own = observed(job, observe, tmp_path, "--slow", 12_000, "--bound", 2, "--rounds", 2)
    check_against_the_tasks_own_clock(only, own)
    finding, = (finding for finding in findings if finding["kind"] == "slow_worker")
    slow = cells(only)[1, "work"]
    assert finding["tid"] == slow["tid"] and "work" in finding["text"]
    assert "it is asleep for at least" in finding["text"]  # as these tasks work by sleeping
    (tasks, ns), (others, theirs) = own["ran"][1]["work"], own["ran"][0]["work"]
    planted = ns - tasks * theirs / others
    assert abs(finding["weight_ns"] - planted) <= 0.1 * planted + 10_000_000  # on a busy machine


def test_tasks_that_one_worker_may_run_only(job, observe, tmp_path):
    only, findings, own = observed(job, observe, tmp_path, "--bound", 1, "--rounds", 1, "--many", 90)
    assert cells(only).keys() == {(0, "work"), (1, "small")}
    check_against_the_tasks_own_clock(only, own)
    finding, = (finding for finding in findings if finding["kind"] == "ready_tasks")
    # The worker 1 is done with its tasks while the others of the round wait for the worker 0.
    idle = {worker["worker"]: worker["idle_ready_ns"] for worker in only["workers"]}
    expected = own["ran"][0]["work"][1] - own["ran"][1]["small"][1]
    assert abs(idle[1] - expected) <= 0.2 * expected and idle[0] <= 0.1 * idle[1]
    assert "work" in finding["text"] and f"tasks.c:{own['line']}" in finding["text"]


def test_the_healed_twin_is_silent(job, observe, tmp_path):
    only, findings, own = observed(job, observe, tmp_path, "--rounds", 1, "--many", 120)
    check_against_the_tasks_own_clock(only, own)
    assert findings == []
    place = next(kind for kind in only["kinds"] if kind["name"] == "work")["submitted_at"]
    assert f"/tasks.c:{own['line']}:" in place
