# SPDX-License-Identifier: BSD-2-Clause
"""Findings come first and are numbered; --explain has the evidence of one, --fail-on a status for scripts."""
import json

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

LATE = ("rank 1 is outside of calls (after GASP_MPI_RECV, before GASP_MPI_BARRIER), 150 ns each time on average (what "
        "the other one does instead: 90 ns), while rank 0 waits for it: 71 ns in all, 11.5 % of all threads' time; "
        "were it as quick as that, the 310 ns observed would be 60 ns (19.4 %) shorter")


@pytest.fixture
def recording(tmp_path):
    return composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER)


def report(*arguments, expect=0):
    result = gaspbpf.run("report", *arguments)
    assert result.returncode == expect, result.stderr
    return result


def words(text):
    return " ".join(text.split())


def test_they_come_first_and_are_numbered(recording):
    text = report(recording).stdout
    assert text.index("Findings") < text.index("Events by self time")
    assert f"1. {LATE} seen as: GASP_MPI_BARRIER takes 21 % of the threads' time: 130 ns in 2 calls " \
           "2. rank 0 is outside of calls" in words(text)


def test_the_evidence_of_one(recording):
    text = words(report("--explain", 1, recording).stdout)
    assert text.startswith(f"1. {LATE}") and "200 ns rank 0 waits 71 ns" in text and "--section delays" in text
    assert "rank 0 is outside of calls" in report("--explain", 2, recording).stdout
    assert "no finding of that number" in report("--explain", 4, recording, expect=1).stderr
    finding = json.loads(report("--json", recording).stdout)["findings"][0]
    instance, = finding["instances"]
    assert (instance["tid"], instance["end_ns"] - instance["start_ns"]) == (1, 71)
    assert (finding["section"], finding["weight_ns"]) == ("delays", 71)


@pytest.mark.parametrize("condition, status", [
    ("waiting>20%", 3), ("waiting > 21", 0), ("waiting>20.9", 3), ("imbalance>0", 0),
    ("inefficiency>36", 3), ("inefficiency>37", 0), ("communication>39", 0), ("serialisation>23", 3),
    ("transfer>20", 0), ("gain>19", 3), ("gain>20", 0), ("lost>0", 0), ("waitin>20", 1), ("waiting", 1),
    ("waiting>x", 1), ("waiting>20%!", 1)])
def test_a_condition(recording, condition, status):
    report("--fail-on", condition, recording, expect=status)
    report("--section", "events", "--fail-on", condition, recording, expect=status)


def test_several_conditions(recording):
    told = report("--fail-on", "lost>0", "--fail-on", "waiting>20", recording, expect=3)
    assert "waiting is 21.0 %: above 20 %" in told.stderr and "Findings" in told.stdout


def test_what_is_not_known_is_no_success(tmp_path):
    alone = composed.compose(tmp_path / "alone.gasp", "process 1 -1\n" + composed.call(1, 0, 10, "work"))
    assert "not known" in report("--fail-on", "imbalance>20", alone, expect=1).stderr


def chain(late=(1000,) * 20):
    """Rank 2 waits for rank 1, which waits for rank 0."""
    text, at = composed.ranks(3), 1000
    for until in late:
        sent = at + until
        text += composed.send(1, sent, sent + 10, 1) + composed.receive(2, at + 10, sent + 15, 0)
        text += composed.send(2, sent + 20, sent + 25, 2) + composed.receive(3, at + 15, sent + 30, 1)
        text += "".join(composed.call(tid, sent + 40 + tid, sent + 60, "MPI_Barrier",
                                      **{"comm.id": 0, "comm.rank": tid - 1}) for tid in (1, 2, 3))
        at = sent + 1000
    return text


def test_what_is_passed_on_is_said(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", chain())
    told = json.loads(report("--json", recording).stdout)
    part, = (part for part in told["delays"]["causes"] if part["passed_on_ns"] > 1000)
    direct, passed_on = (part[key] for key in ("direct_ns", "passed_on_ns"))
    assert passed_on > 0.9 * direct
    text = words(told["findings"][0]["text"])
    of_which = f"of which {passed_on / 1000:.2f} us by waiting for others who wait for it"
    assert f"{(direct + passed_on) / 1000:.2f} us in all, {of_which}" in text


@pytest.mark.parametrize("text, test", [
    (chain(), "nobody else does the same"), (composed.LATE_SENDER, "nobody else does the same"),
    ("".join([composed.ranks(3), *(composed.call(
        tid, 1000 * turn + (700 if tid == 2 else 300 + tid + turn % 7), 1000 * turn + 720, "MPI_Barrier",
        **{"comm.id": 0, "comm.rank": tid - 1}) for turn in range(1, 30) for tid in (1, 2, 3))]),
     "others wait for it 4 times as much as for each of those who do the same")])
def test_only_the_test_that_it_has_passed(tmp_path, text, test):
    recording = composed.compose(tmp_path / "run.gasp", text)
    said = words(report("--explain", 1, recording).stdout)
    assert f"How sure: statistical. It is told where this holds: {test}" in said
    others = {"nobody else does", "others wait for it 4 times", "it takes 5 %"} - {test[:len("nobody else does")]}
    assert sum(other in said for other in others) <= 1
    assert json.loads(report("--json", recording).stdout)["findings"][0]["confidence"]["test"].startswith(test)


@pytest.mark.parametrize("elsewhere, said", [(50, "all"), (500, "most")])
def test_how_much_of_it_is_called_from_one_place(tmp_path, elsewhere, said):
    """A call that is in progress at the end, or one of a thousandth of the time, is no second place to look for."""
    text = composed.ranks(2) + "".join(
        composed.call(1, 2000 * at, 2000 * at + 1000, "MPI_Probe", site="job.c:9") for at in range(1, 101))
    text += composed.call(1, 300_000, 300_000 + elsewhere, "MPI_Probe", site="job.c:10")
    told = json.loads(report("--json", composed.compose(tmp_path / "run.gasp", text)).stdout)
    hot, = (finding for finding in told["findings"] if finding["kind"] == "hot_event")
    assert f", {said} of it called from job.c:9" in hot["text"]
