# SPDX-License-Identifier: BSD-2-Clause
"""Recordings that have only sums, as `gaspbpf monitor -o` writes them: what report and compare make of them."""
import json
import re

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

MS = 1_000_000
CALLS = 100
SECOND = 1000 * MS
BARRIER = "GASP_MPI_BARRIER"


def barriers(tid, mean, calls=CALLS, skipped=0):
    return f"sum {tid} MPI_Barrier 0 {calls - skipped} {skipped} {calls - skipped} {mean * (calls - skipped)} " \
           f"{mean // 2} {2 * mean}\n"


def machine(waits, end=SECOND, more="", calls=CALLS):
    """waits: {launch: {rank: mean wait}}; processes have pids 100, 101 ... in this order."""
    ranks = [(launch, rank, wait) for launch, job in waits.items() for rank, wait in job.items()]
    text = "".join(f"process {100 + i} {rank}\n" for i, (_, rank, _) in enumerate(ranks)) + "only_sums\n"
    text += "".join(f"launch {100 + i} {launch}\n" for i, (launch, *_) in enumerate(ranks) if launch)
    text += "".join(barriers(100 + i, wait, calls) for i, (*_, wait) in enumerate(ranks))
    return text + more + f"end {end}\n"


def report(path, *options):
    result = gaspbpf.run("report", *options, path)
    assert result.returncode == 0, result.stderr
    return result.stdout


def findings(path, *kinds):
    return [finding for finding in json.loads(report(path, "--json"))["findings"] if finding["kind"] in kinds]


LATE = {"launcher 7": {0: 4 * MS, 1: 4 * MS, 2: MS // 10, 3: 4 * MS}}
EVEN = {"launcher 8": {0: MS, 1: MS, 2: MS, 3: MS}}


def test_the_late_rank_of_one_job(tmp_path):
    """Beside a job in which all wait alike, and less than those of the other: each is looked at by itself."""
    path = composed.compose(tmp_path / "node.gasp", machine(EVEN | LATE))
    late, = findings(path, "slow_thread")
    assert late["pid"] == 100 + 4 + 2 and "rank 2 (launcher 7): the others wait for it" in late["text"]
    assert late["weight_ns"] == CALLS * 3 * (4 * MS - MS // 10)


@pytest.mark.parametrize("waits", [
    EVEN, EVEN | {"launcher 9": {4: 10 * MS, 5: 10 * MS}},  # who waits least is not one of them
    {"launcher 9": {0: 4 * MS, 2: 4 * MS}, "launcher 7": {1: MS // 10}},
    {None: LATE["launcher 7"]}], ids=["even", "two", "one that is alone", "not known whose"])
def test_nobody_of_another_job_is_late(tmp_path, waits):
    path = composed.compose(tmp_path / "node.gasp", machine(waits))
    assert findings(path, "slow_thread") == []
    assert all("launcher" not in finding["text"] for finding in findings(path, "hot_event"))


def test_ranks_of_one_name_are_told_apart(tmp_path):
    path = composed.compose(tmp_path / "node.gasp", machine({None: {0: MS}, "launcher 9": {1: MS}}))
    threads = report(path, "--section", "threads")
    assert re.search(r"rank 0 \(pid 100\) +100 ", threads) and re.search(r"rank 1 \(launcher 9\) +101 ", threads)


def test_an_event_that_is_uneven_in_one_job(tmp_path):
    """Of two jobs the one waits and the other does not: that is nothing uneven. In the second it is."""
    even = composed.compose(tmp_path / "even.gasp", machine(
        {"launcher 7": {0: 9 * MS, 1: 9 * MS}, "launcher 8": {0: MS, 1: MS}}))
    assert not findings(even, "hot_event")[0].get("most")
    path = composed.compose(tmp_path / "node.gasp", machine(
        {"launcher 7": {0: 9 * MS, 1: 9 * MS}, "launcher 8": {0: MS, 1: 5 * MS}}))
    hot, = findings(path, "hot_event")
    assert (hot["most"]["pid"], hot["least"]["pid"]) == (103, 102)
    assert (round(hot["most"]["percent"]), round(hot["least"]["percent"])) == (50, 10)
    assert "of the processes' time" in hot["text"]


def test_what_needs_single_calls_says_so(tmp_path):
    path = composed.compose(tmp_path / "node.gasp", machine(EVEN))
    text = report(path)
    assert len(re.findall("only sums", text)) == 1
    assert not re.search("summed up|lost [1-9]|timeline|No call was observed", text), text
    assert f"lost 0 of {4 * CALLS} calls" in text
    lacking = re.search(r"need single calls.*?: ([a-z_, ]*)\.", " ".join(text.split()))[1].split(", ")
    whole = json.loads(report(path, "--json"))
    assert whole["recording"]["only_sums"] is True
    for name in "sites", "files", "locks", "communication", "phases", "wait_states", "meetings", "delays", \
            "critical_path", "efficiency", "memory", "scheduling":
        assert name in lacking, name
        assert whole.get(name, None) is None
        only = report(path, "--section", name)
        assert "needs single calls" in " ".join(only.split()) and only.split()[-1] == f"{name}.", only
    assert whole["locks"] is None and whole["communication"] is None
    assert "single calls" not in report(path, "--section", "events")


def test_figures_are_the_sums(tmp_path):
    more = f"sum 100 MPI_Send 0 10 0 10 {10 * MS} {MS} {MS} 8 800\n" \
           f"sum 101 MPI_Recv 0 10 0 10 {10 * MS} {MS} {MS} 10 1000\nprocess 200 -1\nothers 200\nonly_sums\n" \
           + barriers(200, MS, 1000) + "out MPI_Recv 250000000\nended 101 500000000\n"
    path = composed.compose(tmp_path / "node.gasp", machine({"launcher 7": {0: MS, 1: MS}}, more=more))
    whole = json.loads(report(path, "--json"))
    events = {event["name"]: event for event in whole["events"]}
    barrier, send, recv = events[BARRIER], events["GASP_MPI_SEND"], events["GASP_MPI_RECV"]
    assert (barrier["calls"], barrier["summed"], barrier["total_ns"]) == (1200, 1200, 1200 * MS)
    assert (send["bytes"], send["bytes_sent"], send["calls_without_bytes"]) == (800, 800, 2)
    assert (recv["bytes_received"], recv["calls_without_bytes"], recv["out_ns"]) == (1000, 0, 250 * MS)
    assert barrier["histogram_ns"] == [[1 << 19, 1200]]
    walls = {thread["pid"]: thread["wall_ns"] for thread in whole["threads"]}
    assert walls == {100: SECOND, 101: SECOND // 2, 200: 0}
    processes = {process["pid"]: process for process in whole["processes"]}
    assert (processes[100]["job"], processes[101]["has_ended"], processes[200]["others"]) == ("launcher 7", True, True)
    text = report(path)
    assert "MPI_RECV was out for 250.0 ms" in text and "(has ended)" in text
    assert re.search(r"job \(pid 200\): those that ended too long ago", text)


def test_the_governor_only_counted_some(tmp_path):
    path = composed.compose(tmp_path / "node.gasp",
                            "process 100 0\nonly_sums\nlaunch 100 launcher 7\n" + barriers(100, MS, 1000, 900)
                            + f"end {SECOND}\n")
    event, = json.loads(report(path, "--json"))["events"]
    assert (event["calls"], event["skipped"], event["timed"], event["estimated_total_ns"]) == (1000, 900, 100, SECOND)
    assert "900 calls were only counted, to keep the cost low" in report(path)


def test_two_days(tmp_path):
    """The second is half as long, with half of the calls: as many a second, and the same share. Launchers differ."""
    monday, tuesday, wednesday = (
        composed.compose(tmp_path / f"{end}.gasp", machine({f"launcher {end}": LATE["launcher 7"]}, end * SECOND,
                                                           calls=end * CALLS)) for end in (2, 1, 4))
    result = gaspbpf.run("compare", monday, tuesday)
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "shares of the threads' time and rates, not totals" in text and "only sums" in text
    assert "not on its timeline" not in text
    both = json.loads(gaspbpf.run("compare", "--json", monday, tuesday).stdout)
    row, = [row for row in both["events"] if row["event"] == BARRIER]
    before, after = row["figures_before"], row["figures_after"]
    assert before["calls_per_second"] == after["calls_per_second"] == 4 * CALLS, row
    assert before["percent"] == pytest.approx(after["percent"]) and before["self_ns"] == 2 * after["self_ns"]
    assert [finding for finding in both["findings"] if finding["kind"] == "slow_thread"][0]["state"] == "both"
    series = gaspbpf.run("compare", "--scaling", monday, tuesday, wednesday)
    assert series.returncode == 1 and "sums of a machine" in series.stderr


@pytest.mark.parametrize("command", [["export", "{}", "-o", "{}.json"], ["replay", "{}", "--tool", "{}.so"],
                                     ["simulate", "{}", "--plugin", "ideal"]], ids=lambda words: words[0])
def test_no_calls_to_hand_on(tmp_path, command):
    path = composed.compose(tmp_path / "node.gasp", machine(EVEN))
    result = gaspbpf.run(*[word.format(path) for word in command])
    assert result.returncode == 1 and "has only sums" in result.stderr, result.stderr
    assert [found.name for found in tmp_path.iterdir()] == ["node.gasp"]
