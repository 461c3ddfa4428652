# SPDX-License-Identifier: BSD-2-Clause
"""One rank comes late to its calls: gaspbpf names it, what it did meanwhile, where, and who waited how long."""
import json
import signal
import time

import pytest

import gaspbpf
import pathologies
import truth

PROGRAM = gaspbpf.WORKLOADS / "pathology" / "mpi_openmpi"
RANKS, WHO, US = 4, 1, 4000
(BARRIER, ALLREDUCE, LATE_SENDER, LATE_RECEIVER, BROADCAST, REDUCE, CHAIN, WAITALL, HALO, HALO_AGAIN, PROBE, TEST,
 TEST_ALL, IPROBE, MPROBE) = range(15)


def run(job, observe, tmp_path, pattern, *options, us=US):
    return pathologies.observed(job, observe, ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, PROGRAM, "--pattern",
                                               pattern, "--who", WHO, "--us", us, *options], RANKS, tmp_path)


def others():
    return [rank for rank in range(RANKS) if rank != WHO]


@pytest.mark.parametrize("pattern, state, victims", [
    (BARRIER, "wait_at_barrier", others()), (ALLREDUCE, "wait_at_nxn", others()), (LATE_SENDER, "late_sender", [2]),
    (LATE_RECEIVER, "late_receiver", [2]), (BROADCAST, "late_broadcast", others()), (REDUCE, "early_reduce", [2]),
    (WAITALL, "late_sender", [2]), (HALO, "late_sender", [0, 2]), (HALO_AGAIN, "late_sender", [0, 2]),
    (PROBE, "late_sender", [2]), (TEST, "late_sender", [2]), (TEST_ALL, "late_sender", [2]),
    (IPROBE, "late_sender", [2]), (MPROBE, "late_sender", [2])],
    ids=["barrier", "allreduce", "late sender", "late receiver", "broadcast", "reduce", "waitall", "halo",
         "halo again", "probe", "test", "testall", "iprobe", "mprobe"])
def test_a_late_rank(job, observe, tmp_path, pattern, state, victims):
    seen = run(job, observe, tmp_path, pattern)
    all_meet = pattern in (BARRIER, ALLREDUCE, REDUCE)
    waited = {victim: seen.waited_for(victim, WHO, range(RANKS) if all_meet else [WHO, victim])
              for victim in victims}
    rows = [each for each in seen.causes() if each["does"] == "outside" and each["before"]
            and f"mpi.c:{seen.line(WHO)}" in each["before"]["place"]]
    cause = next(each for each in rows if each["rank"] == WHO)
    if seen.missed_most() < 0.3 * seen.planted(WHO):
        assert seen.causes()[0] == cause
    slack = 2_000_000 + seen.missed_most()  # what is waited for is then a processor
    for victim in victims:
        assert pathologies.near(cause["waiting"][victim], waited[victim], slack=slack)
        assert seen.state(state, victim, WHO) >= 0.9 * waited[victim]
    assert seen.alone() == 0
    if not seen.has_its_processor(WHO):
        return
    finding = seen.findings("delay")[0]
    assert seen.rank_of[finding["tid"]] == WHO
    assert f":{seen.line(WHO)}" in finding["text"] and f"rank {WHO}" in finding["text"]


def test_what_it_would_give(job, observe, tmp_path):
    """The gain that is simulated is what was planted, and on the healed twin nobody is named."""
    planted = [BARRIER, "--rounds", 12]
    sick = run(job, observe, tmp_path / "sick", *planted, us=40_000)
    finding = sick.findings("delay")[0]
    assert abs(finding["gain_ns"] - sick.planted(WHO)) <= 0.25 * sick.planted(WHO)
    assert "shorter" in finding["text"]
    healed = run(job, observe, tmp_path / "healed", *planted, us=0)
    assert healed.findings("delay", "slow_thread") == []


def test_the_report_at_the_end_has_it_too(job, observe):
    """Without a recording: the calls are kept in memory as long as it lasts."""
    command = ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, PROGRAM, "--pattern", BARRIER, "--who", WHO]
    work = job([*command, "--us", US], ranks=RANKS, env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(work, observe)
    rank_of = {thread["tid"]: thread["rank"] for thread in report["threads"]}
    assert rank_of[report["delays"]["causes"][0]["tid"]] == WHO
    finding, *_ = (finding for finding in report["findings"] if finding["kind"] == "delay")
    assert rank_of[finding["tid"]] == WHO and finding["gain_ns"] > 0


def test_who_does_not_want_to_wait_for_it(job, observe, tmp_path):
    """^C again while gaspbpf looks who waits for whom: the report has all the rest, and the recording all of it."""
    command = ["mpirun.openmpi", "--oversubscribe", "-n", RANKS, PROGRAM, "--pattern", BARRIER, "--who", WHO]
    work = job([*command, "--us", US], ranks=RANKS, env=truth.ENVIRONMENT).wait_ready()
    recording = tmp_path / "run.gasp"
    watcher = observe("-p", work.process.pid, "-o", recording)
    work.work()
    while watcher.process.poll() is None:
        watcher.process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    status, out, errors = watcher.finish()
    assert status == 0 and "failed" not in errors, errors
    assert work.end() == 0, work.output()
    words = " ".join(out.split())
    said = f"Interrupted: who waits for whom was not looked for. The recording has it: gaspbpf report {recording}"
    assert said in words and "is outside of calls" not in words and "Wait states" not in words
    told = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    barriers, = (event for event in told["events"] if event["name"] == "GASP_MPI_BARRIER")
    assert f"GASP_MPI_BARRIER {barriers['calls']:,} " in words
    rank_of = {thread["tid"]: thread["rank"] for thread in told["threads"]}
    assert rank_of[told["delays"]["causes"][0]["tid"]] == WHO
