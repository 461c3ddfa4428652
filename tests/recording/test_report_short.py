# SPDX-License-Identifier: BSD-2-Clause
"""What the report leaves out where it says nothing new, what many threads become, and what it warns of."""
import json

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

S = 10**9


def report(recording, *arguments):
    result = gaspbpf.run("report", *arguments, recording)
    assert result.returncode == 0, result.stderr
    return result.stdout


def compose(tmp_path, text):
    return composed.compose(tmp_path / "run.gasp", text)


def table_of(text, title):
    """The lines of a section."""
    return text.split(f"\n{title}")[1].split("\n\n")[0].splitlines()[1:] if f"\n{title}" in text else []


def test_payload_that_the_events_have_already(tmp_path):
    recording = compose(tmp_path, composed.ranks(2) + composed.send(1, 100, 110, 1, count=8)
                        + composed.receive(2, 50, 130, 0))
    assert "Payload" not in report(recording)
    assert "GASP_MPI_SEND" in report(recording, "--section", "payload")


def test_payload_of_both_directions(tmp_path):
    recording = compose(tmp_path, composed.ranks(2) + composed.call(
        1, 100, 200, "MPI_Sendrecv", sendcount=4, sendtype=1, dest=1, sendtag=0, recvcount=9, recvtype=1, source=1,
        recvtag=0, **{"comm.id": 0, "status.source": 1, "status.bytes": 9}))
    assert "GASP_MPI_SENDRECV" in "\n".join(table_of(report(recording), "Payload"))


def test_call_sites_that_take_no_time(tmp_path):
    recording = compose(tmp_path, composed.ranks(1) + composed.call(1, 100, 9000, "work", site="hot.c:1")
                        + composed.call(1, 9010, 9020, "other", site="cold.c:2") + "end 10000\n")
    sites = "\n".join(table_of(report(recording), "Call sites"))
    assert "hot.c:1" in sites and "cold.c:2" not in sites and "... and 1 more: --section sites" in sites
    assert "cold.c:2" in report(recording, "--section", "sites") and "cold.c:2" in report(recording, "--sites")


def job_of(count, waits, symbol="MPI_Barrier"):
    """Ranks of which each waits so many of 1000 ns."""
    return composed.ranks(count, init=False) + "".join(
        composed.call(rank + 1, 0, waits(rank), symbol, **{"comm.id": 0, "comm.rank": rank}) for rank in range(count)
    ) + "end 1000\n"


def test_many_ranks_are_one_row(tmp_path):
    recording = compose(tmp_path, job_of(20, lambda rank: 900 if rank == 7 else 100 + rank))
    threads = report(recording).split("\nThreads  (")[1]
    assert "ranks 0-19" in threads and "rank 12" not in threads.split("--section threads")[0]
    words = " ".join(threads.split())
    assert "wait from 10.0% (rank 0) to 90.0% (rank 7); outside from 10.0% (rank 7) to 90.0% (rank 0)" in words
    mean = (sum(100 + rank for rank in range(20)) - 107 + 900) / 200
    assert f" {mean:.1f}% " in threads
    each = report(recording, "--section", "threads")
    assert all(f"rank {rank} " in each for rank in range(20)) and "from 10.0%" not in each


def test_many_that_are_alike(tmp_path):
    assert "ranks 0-19: all much alike" in " ".join(report(compose(tmp_path, job_of(20, lambda rank: 500))).split())


def test_few_ranks_are_rows(tmp_path):
    threads = report(compose(tmp_path, job_of(16, lambda rank: 500))).split("\nThreads  (")[1]
    assert "rank 15" in threads and "ranks 0-15" not in threads.split("\n\n")[0]


WAITING = "Wait states", "Meetings", "Who is waited for", "Efficiency"


def waiting_job(tmp_path, queued):
    text = composed.ranks(2)
    for number in range(20):
        at = S // 10 + number * S // 4
        for rank, start in enumerate([at, at + S // 5]):
            text += composed.call(rank + 1, start, at + S // 5 + 1000, "MPI_Barrier",
                                  **{"comm.id": 0, "comm.rank": rank})
    return compose(tmp_path, text + f"scheduled 2 {10 * S} {S} {queued} 2 0\nend {10 * S}\n")


def test_waiting_of_threads_that_had_no_cpu(tmp_path):
    text = report(waiting_job(tmp_path, 4 * S))
    for title in WAITING:
        section = text.split(f"\n{title} ")[1].split("\n\n")[0]
        assert section.count("Beware: rank 1 had no CPU for 40 % of the time") == 1, title
    assert text.count("Beware") == len(WAITING)
    assert text.count("Beware") == report(waiting_job(tmp_path, 4 * S), "--section", "wait_states", "--section",
                                          "meetings", "--section", "delays", "--section", "efficiency").count("Beware")
    assert "Beware" not in report(waiting_job(tmp_path, 0))


# --- findings ------------------------------------------------------------------------------------------------------

def finding(recording, kind):
    return next(each for each in json.loads(report(recording, "--json"))["findings"] if each["kind"] == kind)


def test_what_a_finding_rests_on(tmp_path):
    recording = waiting_job(tmp_path, 0)
    delay = finding(recording, "delay")
    assert [who["rank"] for who in delay["culprits"]] == [1] and [who["rank"] for who in delay["victims"]] == [0]
    assert delay["severity_percent"] == pytest.approx(100 * delay["weight_ns"] / (20 * S))
    confidence = delay["confidence"]
    assert confidence["how"] == "statistical" and confidence["p"] == 0.0027 and confidence["gain"] == "simulated"
    assert confidence["not_seen"] == {"calls_not_on_timeline": 0, "windows": 0, "cut": False}
    evidence = delay["evidence"]
    assert evidence["times"] == evidence["of"] == 19 and evidence["section"] == "delays"
    assert evidence["mean_ns"] == S // 4 - 1000 and evidence["deviation_ns"] < 1000
    recording = waiting_job(tmp_path, 4 * S)
    kinds = [each["kind"] for each in json.loads(report(recording, "--json"))["findings"]]
    assert "delay" not in kinds, "who has no processor is not to blame"
    starved = finding(recording, "starved")
    assert starved["culprits"] == [] and [who["rank"] for who in starved["victims"]] == [1]
    assert (starved["confidence"]["how"], starved["confidence"]["p"]) == ("measured", None)
    assert starved["gain_ns"] is None and starved["gain_at_most_ns"] == 4 * S


def test_what_was_not_seen(tmp_path):
    recording = compose(tmp_path, composed.LATE_SENDER + "lost 1 7\n")
    unseen = json.loads(report(recording, "--json"))["findings"][0]["confidence"]["not_seen"]
    assert unseen["calls_not_on_timeline"] == 7


def test_how_regular_it_is(tmp_path):
    recording = waiting_job(tmp_path, 0)
    text = " ".join(report(recording, "--explain", 1).split())
    assert "How regular: 19 times that it does this, 250.0 ms on average, standard deviation" in text
    assert "How sure: statistical. It is told where this holds: " in text and "in at most 0.27 % of cases" in text
    finding, *_ = json.loads(report(recording, "--json"))["findings"]
    hot, = finding["seen_as"]
    evidence = hot["evidence"]
    assert hot["kind"] == "hot_event" and (evidence["times"], evidence["of"]) == (40, 40)
    assert [evidence[key] for key in ("mean_ns", "least_ns", "most_ns")] == [100_001_000, 1_000, 200_001_000]
