# SPDX-License-Identifier: BSD-2-Clause
"""Locks that threads wait for: who waits, for whom, at which lines and for how long is what the job itself measured; of
its healed twins nothing is said."""
import json

import pytest

import gaspbpf

SOURCE = (gaspbpf.TOP / "tests" / "workloads" / "contention.c").read_text().splitlines()
KINDS = {"lock_contention", "lock_convoy", "failed_tries"}


def line_of(mark):
    number, = (number for number, line in enumerate(SOURCE, 1) if f"/* {mark} */" in line)
    return f"contention.c:{number}"


def observed(job, observe, tmp_path, *options, program="contention", model="pthread"):
    """(the analysis, its findings, what the job says of itself)"""
    recording = tmp_path / f"{len(list(tmp_path.iterdir()))}.gasp"
    team = job([gaspbpf.WORKLOADS / program, *options]).wait_ready()
    watcher = observe("record", "-p", team.process.pid, "-m", model, "-o", recording)
    team.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    assert team.end() == 0, team.output()
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["loss"]["lost"] == 0
    truth, = team.truths()
    truth["queued_ns"] = sum(thread["run_queue_ns"] or 0 for thread in report["threads"])
    return report["locks"], [one for one in report["findings"] if one["kind"] in KINDS], truth


def total(truth, what):
    return sum(member[what] for member in truth["members"])


def near(measured, told):
    return abs(measured - told) <= 0.1 * told


def by_thread(one, figure):
    return {row["thread"]["tid"]: row[figure] for row in one["threads"]}


@pytest.mark.parametrize("program, model, waits, holds", [
    ("contention", "pthread", "waits", "holds"), ("contention_omp", "openmp", "omp", "omp")])
def test_a_lock_that_one_thread_holds_for_long(job, observe, tmp_path, program, model, waits, holds):
    told, findings, truth = observed(job, observe, tmp_path, program=program, model=model)
    one = told["classes"][0]
    finding, = findings
    assert finding["kind"] == "lock_contention" and finding["tid"] == truth["holder"]
    assert line_of(waits) in finding["text"] and line_of(holds) in finding["text"]
    assert one["acquired"] == truth["rounds"] * len(truth["members"]) and one["failed"] == 0
    # All that others waited, and who waited how long: of a member's own time, not of all.
    assert near(one["wait_ns"], total(truth, "wait_ns"))
    for member in truth["members"]:
        assert by_thread(one, "wait_ns").get(member["tid"], 0) <= 1.1 * member["wait_ns"] + 1e6
    assert near(one["wait_max_ns"], max(member["wait_max_ns"] for member in truth["members"]))
    assert near(one["hold_ns"], total(truth, "hold_ns")) and near(one["held_ns"], one["hold_ns"])
    assert max(by_thread(one, "blamed_ns").items(), key=lambda row: row[1])[0] == truth["holder"]
    # The holder gave it back while others waited: they have waited for that.
    behind = sum(pair["wait_ns"] for pair in one["pairs"] if pair["holder"]["tid"] == truth["holder"])
    assert behind >= 0.8 * one["behind_ns"] and near(sum(p["wait_ns"] for p in one["pairs"]), one["behind_ns"])


def test_attempts_again_and_again(job, observe, tmp_path):
    told, findings, truth = observed(job, observe, tmp_path, "--what", "1")
    one = told["classes"][0]
    assert one["failed"] == total(truth, "failed")
    # An attempt more than 1 ms after the last one is no spinning: on a busy machine there are some, and where a thread
    # loses its processor between its own look at the clock and the call, it has counted that.
    assert 0.9 * total(truth, "spin_ns") - truth["queued_ns"] <= one["spin_ns"] <= 1.1 * total(truth, "spin_ns")
    finding, = (one for one in findings if one["kind"] == "failed_tries")
    assert line_of("tries") in finding["text"] and line_of("holds") in finding["text"]


@pytest.mark.parametrize("healed", ["1", "2"])
def test_the_healed_twins_are_silent(job, observe, tmp_path, healed):
    """The work is done before the lock is taken; or each thread has a lock of its own."""
    told, findings, truth = observed(job, observe, tmp_path, "--healed", healed)
    assert not findings
    own = [row for group in told["classes"] for row in group["sites"] if row["site"] and "contention.c" in row["site"]]
    assert sum(row["acquired"] for row in own) == truth["rounds"] * len(truth["members"])
    assert sum(row["wait_ns"] for row in own) <= 1.1 * total(truth, "wait_ns")
