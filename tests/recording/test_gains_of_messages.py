# SPDX-License-Identifier: BSD-2-Clause
"""What findings on jobs of messages say that the run would be shorter by, against the same job played without the
trouble: a wavefront, a server, one that takes what comes first. And the twins are silent."""
import pytest

import pipelines
from waits import report

pytestmark = pytest.mark.files
MS = 1_000_000
SLOW = pytest.mark.parametrize("slow", [False, True], ids=["at once", "when the receiver is in a call"])


def delays(tmp_path, played, tid=None):
    return [each for each in report(tmp_path, played.text)["findings"]
            if each["kind"] == "delay" and tid in (None, each["tid"])]


def near(seen, really):
    return abs(seen - really) <= 0.25 * really


@SLOW
def test_a_wavefront(tmp_path, slow):
    """Rank 1 is slow on both ways, up and down: two lines, and together they are what it would give."""
    sick, healed = pipelines.sweep(slow, 2), pipelines.sweep(slow, 1)
    found = delays(tmp_path, sick)
    assert [each["tid"] for each in found] == [2, 2]
    assert {line for each in found for line in (23, 28) if f" at job.c:{line}, before" in each["text"]} == {23, 28}
    assert near(sum(each["gain_ns"] for each in found), sick.ended - healed.ended)
    assert not delays(tmp_path, healed)


@SLOW
def test_a_server(tmp_path, slow):
    """Some of its answers take long. Nobody does the like, so it is told what it would give if they took no time."""
    sick, healed = pipelines.server(slow, 12 * MS), pipelines.server(slow, 300_000)
    found, = delays(tmp_path, sick)
    assert found["tid"] == 1 and near(found["gain_ns"], sick.ended - healed.ended)
    assert not delays(tmp_path, pipelines.server(slow, 30_000, quick=30_000))


@SLOW
def test_who_takes_what_comes_first(tmp_path, slow):
    sick, healed = pipelines.gathering(slow, 3), pipelines.gathering(slow, 1)
    found, = delays(tmp_path, sick, tid=4)
    assert near(found["gain_ns"], sick.ended - healed.ended)
    assert not delays(tmp_path, healed, tid=4)


def by_turns(tmp_path, works, **more):
    """Four ranks meet after each of 60 steps: (findings, the time)."""
    def rank(me):
        for step in range(60):
            yield "work", works(me, step)
            yield "meet", 40
    played = pipelines.Played([rank(me) for me in range(4)])
    told = report(tmp_path, played.text)["findings"]
    return [each for each in told if each["kind"] in ("delay", "changing_imbalance")], played.ended


def test_another_one_is_late_in_each_step(tmp_path):
    """All have the same to do, but never at the same time."""
    (found,), sick = by_turns(tmp_path, lambda me, step: (7 if step % 4 == me else 3) * MS)
    none, healed = by_turns(tmp_path, lambda me, step: 4 * MS)
    assert not none and found["kind"] == "changing_imbalance"
    assert {one["rank"] for one in found["culprits"]} == {0, 1, 2, 3} == {one["rank"] for one in found["victims"]}
    assert near(found["gain_ns"], sick - healed)
    assert found["places"] == ["job.c:40"]


@pytest.mark.parametrize("works", [
    lambda me, step: (400 + (me * 7 + step * 13) % 80) * MS // 100,           # a tenth more or less: as machines are
    lambda me, step: (60 if (me, step) in ((1, 9), (2, 33)) else 4) * MS,     # two accidents
    lambda me, step: (60 if step == 9 + 12 * me else 4) * MS,                 # an accident of each, in four steps of 60
    lambda me, step: (7 if me == 2 or step % 40 == me else 3) * MS,           # it is nearly always the same one
], ids=["noise", "accidents", "an accident of each", "one of them"])
def test_nobody_is_late_by_turns(tmp_path, works):
    assert not [each for each in by_turns(tmp_path, works)[0] if each["kind"] == "changing_imbalance"]
