# SPDX-License-Identifier: BSD-2-Clause
"""What each thread had of the processors and waited for them, against what the kernel told the thread itself; and the
finding that says who was starved. Where several burn on one processor, they wait by construction, however busy the
machine is."""
import json
import os
import re

import pytest

import gaspbpf

CPU = min(os.sched_getaffinity(0))
TICKS = 60e6  # ns: the kernel brings its figures up to date once a tick (at most 10 ms); and what a thread does around


def observed(job, observe, tmp_path, *workers, bound=True):
    """The report, and for each worker what is told of it and what it knows."""
    start = ["taskset", "-c", CPU] if bound else []
    running = job([*start, gaspbpf.WORKLOADS / "scheduled", *workers], gate=False)
    gaspbpf.wait_for((running.folder / "ready").exists, "the threads to be there")
    watcher = observe("-p", running.process.pid, "-m", "pthread", "--json", "-o", tmp_path / "run.gasp")
    (running.folder / "go").touch()
    gaspbpf.wait_for((running.folder / "truth").exists, "the threads to do their work")
    status, out, errors = watcher.stop()
    assert status == 0, errors
    (running.folder / "end").touch()
    assert running.process.wait(timeout=gaspbpf.PATIENCE) == 0
    report = json.loads(out)
    told = {thread["tid"]: thread for thread in report["threads"]}
    truth = json.loads((running.folder / "truth").read_text())
    return report, [(told[true["tid"]], true) for true in truth]


def check(told, true):
    """The same within some ticks. It is observed for longer than its work: it waits for its end."""
    assert told["observed_ns"] >= true["wall_ns"] - TICKS
    if "ends-" in true["kind"]:
        assert told["observed_ns"] <= true["wall_ns"] + TICKS + true["run_queue_ns"]
    assert abs(told["cpu_ns"] - true["cpu_ns"]) < TICKS + true["cpu_ns"] / 10  # its end, too: slow where it is emulated
    assert abs(told["cpu_ns"] - true["user_and_system_ns"]) < TICKS
    # Whoever waits for its end wakes up now and then, and may have to queue for each.
    after = max(0, told["observed_ns"] - true["wall_ns"])
    assert true["run_queue_ns"] - TICKS < told["run_queue_ns"] < true["run_queue_ns"] * 1.2 + 4 * TICKS + after
    assert true["involuntary_switches"] <= told["involuntary_switches"] + 2
    assert told["cpu_ns"] + told["run_queue_ns"] < told["observed_ns"] + TICKS


def check_intervals(report, threads):
    """In their order, without overlap; together they are what the thread waited, but for what is below 1 %."""
    assert report["scheduling"]["looked_until_ns"] >= report["recording"]["end_ns"] - 100e6
    for told, _ in threads:
        mine = [row for row in report["scheduling"]["intervals"] if row["tid"] == told["tid"]]
        assert all(row["from_ns"] < row["to_ns"] and row["run_queue_ns"] * 100 >= row["to_ns"] - row["from_ns"] - 100
                   for row in mine)
        assert all(before["to_ns"] <= row["from_ns"] for before, row in zip(mine, mine[1:]))
        # After the last look a thread may go on for as long as it takes to remove the probes.
        missing = told["run_queue_ns"] - sum(row["run_queue_ns"] for row in mine)
        assert 0 <= missing < 0.01 * told["observed_ns"] + 2 * TICKS


def starved(report):
    return [finding for finding in report["findings"] if finding["kind"] == "starved"]


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_more_threads_than_processors(job, observe, tmp_path):
    """Three that burn and one that sleeps, on one processor."""
    workers = ["before-burn:500", "before-burn:500", "started-burn:500", "sleep:600"]
    report, threads = observed(job, observe, tmp_path, *workers)
    for told, true in threads:
        check(told, true)
        assert told["allowed_cpus"] == 1 and told["last_cpu"] == CPU
    burners, (sleeper, _) = threads[:3], threads[3]
    check_intervals(report, threads)
    assert len([row for row in report["scheduling"]["intervals"] if row["tid"] == burners[2][0]["tid"]]) >= 2
    assert sum(told["run_queue_ns"] for told, _ in burners) > 1300e6  # two wait while one runs: 500 + 500 + 500
    assert all(told["involuntary_switches"] > 5 for told, _ in burners)
    assert sleeper["cpu_ns"] < 250e6  # half of what each of the others has

    finding, = starved(report)
    # In the calls in which they wait for others they do not miss a processor.
    worst = max((told for told, _ in threads), key=lambda told: told["run_queue_lost_ns"])
    assert finding["tid"] == worst["tid"]
    assert abs(finding["percent"] - 100 * worst["run_queue_lost_ns"] / worst["observed_ns"]) < 0.1
    assert re.search(rf" bound to CPU {CPU}[.;]", finding["text"])
    assert {t["tid"] for t in report["scheduling"]["starved"]} >= {told["tid"] for told, _ in burners}
    bound, = report["scheduling"]["bound"]
    assert bound["cpu"] == CPU and {t["tid"] for t in bound["threads"]} >= {told["tid"] for told, _ in burners}

    again = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    assert again["threads"] == report["threads"] and again["scheduling"] == report["scheduling"]
    assert starved(again) == [finding]


def test_threads_that_sleep_are_not_starved(job, observe, tmp_path):
    """The same job, healed: as many threads on one processor, but they do not want it."""
    report, threads = observed(job, observe, tmp_path, "sleep:600", "sleep:600", "started-sleep:600")
    for told, true in threads:
        check(told, true)
        assert told["cpu_ns"] < 100e6
    check_intervals(report, threads)
    # Only where something else has kept them all from the processor, and they know it themselves.
    really = any(true["run_queue_ns"] > 400e6 for _, true in threads)
    assert not starved(report) or really
    assert not report["scheduling"]["bound"]


def test_a_thread_that_ends_is_told_up_to_its_end(job, observe, tmp_path):
    """Two end long before the observation, one of them is also born within it."""
    report, threads = observed(job, observe, tmp_path, "ends-burn:150", "started-ends-burn:150", "sleep:1200")
    for told, true in threads:
        check(told, true)
    check_intervals(report, threads)
    (first, _), (second, _), _ = threads
    # 300 ms in all: what they waited is a large share of their short lives, but not worth a word.
    assert not starved(report) or first["run_queue_ns"] > 500e6 or second["run_queue_ns"] > 500e6
