# SPDX-License-Identifier: BSD-2-Clause
"""Who takes longer, and had no processor, on recordings that say what the kernel has told: is it the work, or that?"""
import pytest

import pipelines
from waits import report

pytestmark = pytest.mark.files
MS = 1_000_000
KINDS = "delay", "load_imbalance", "starved"


def found(tmp_path, works, count, queued, run=None, cpus=(2,), preempted=(1000,)):
    """They meet after each of so many steps, of works(rank, step) ms. queued: of each, ms in each step."""
    def rank(me):
        for step in range(count):
            yield "work", int(works(me, step) * MS)
            yield "meet", 40
    played = pipelines.Played([rank(me) for me in range(len(queued))])
    scheduled = ""
    for me, each in enumerate(queued):
        lacked = int(each * count * MS)
        ran = played.ended - lacked if run is None else int(run * count * MS)
        scheduled += f"scheduled {me + 1} {played.ended} {ran} {lacked} {cpus[me % len(cpus)]} 0 " \
                     f"{preempted[me % len(preempted)]}\n"
    told = report(tmp_path, played.text + scheduled)["findings"]
    return [each for each in told if each["kind"] in KINDS]


def culprits(findings):
    return [(each["kind"], [one["rank"] for one in each["culprits"]]) for each in findings if each["kind"] != "starved"]


def noise(me, step):
    return (0.99, 1.01, 1.0)[(me + step) % 3]


# --- short work, all are held up now and then ------------------------------------------

def crowded(takes, held_up=9, by=10, others=3):
    """Rank 0 is held up in so many of ten steps, the others, who wait for it, in each second one."""
    def works(me, step):
        rest = by if me == 0 and step % 10 < held_up else others if me and (step + me) % 2 else 0
        return takes[me] * noise(me, step) + rest
    return works


QUEUED = 9, 10, 10  # ms in each step, of some 11


def test_work_that_is_never_as_quick_is_longer(tmp_path):
    """It computes three times as long, and was queued for nearly all that it takes longer."""
    delay, starved = findings = found(tmp_path, crowded((1.8, 0.6, 0.6)), 300, QUEUED)
    assert culprits(findings) == [("delay", [0])]
    assert ("; 99 times of 100 at least 1.769 ms, where others are through in 622.6 us 1 time in 4: no lack of a CPU "
            "explains that)," in delay["text"])
    assert starved["kind"] == "starved"
    assert starved["text"].endswith("not from the code. That does not explain 1, which takes longer with a CPU, too")


def test_what_it_does_comes_before_its_lack_of_a_processor(tmp_path):
    """Though that is more: all of them had none for much of the time."""
    work, starved = findings = found(tmp_path, crowded((1.8, 0.6, 0.6), by=6, others=5), 300, (6.5, 7, 7))
    assert culprits(findings) == [("delay", [0])] and starved["kind"] == "starved"
    assert work["gain_ns"] < starved["weight_ns"] / 3


@pytest.mark.parametrize("takes, held_up, count, more", [
    ((0.6, 0.6, 0.6), 9, 300, {}),                        # in each tenth step it is as quick as they are
    ((0.8, 0.6, 0.6), 9, 300, {}),                        # too little: it may share a processor with something else
    ((1.8, 0.6, 0.6), 9, 80, {}),                         # not often enough to say "never"
    ((4.0, 2.0, 2.0), 9, 300, {}),                        # so long that each time may be interrupted
    ((1.8, 0.6, 0.6), 9, 300, {"cpus": (1, 2, 2)}),       # it alone is bound to a processor
    ((1.8, 0.6, 0.6), 9, 300, {"cpus": (0, 0, 0)}),       # which they may use is not known
    ((1.8, 0.6, 0.6), 9, 300, {"preempted": (5000, 900, 900)}),  # it is interrupted more often than the others
], ids=["as quick", "hardly longer", "rarely", "long work", "bound", "not known", "interrupted"])
def test_it_may_be_the_processor(tmp_path, takes, held_up, count, more):
    findings = found(tmp_path, crowded(takes, held_up), count, QUEUED, **more)
    assert [each["kind"] for each in findings] == ["starved"]
    assert "That does not explain" not in findings[0]["text"]


def test_two_that_are_never_as_quick(tmp_path):
    def works(me, step):
        rest = 10 if me < 2 and (step + me) % 10 else 3 if (step + me) % 2 else 0
        return (1.8, 1.8, 0.6, 0.6)[me] * noise(me, step) + rest
    imbalance, _ = findings = found(tmp_path, works, 300, (9, 9, 10, 10))
    assert culprits(findings) == [("load_imbalance", [0, 1])]
    assert ("each time on average (99 times of 100 at least 1.769 ms, where others are through in 622.6 us 1 time in "
            "4: no lack of a CPU explains that), the others") in imbalance["text"]


# --- all that it was queued is subtracted ------------------------------------------------

@pytest.mark.parametrize("queued, told", [(3.5, True), (3.9, False)])
def test_what_is_longer_without_all_that_it_was_queued(tmp_path, queued, told):
    """It takes 5 ms in each step, the others 1 ms; so that it ran for 1.5 ms, or 1.1 ms, at least."""
    findings = found(tmp_path, lambda me, step: (5, 1, 1)[me] * noise(me, step), 50, (queued, 0, 0))
    assert culprits(findings) == [("delay", [0])] * told


# --- two that are as slow ----------------------------------------------------------------

@pytest.mark.parametrize("queued, told", [
    ((3.1, 3.1), [("load_imbalance", [1, 2])]),  # neither is by its processor
    ((3.3, 3.1), [("load_imbalance", [1, 2])]),  # one of them seems to be, and the other one, which takes as long, not
    ((3.1, 3.3), [("load_imbalance", [1, 2])]),
    ((4.4, 3.1), []),  # it had no processor for much longer; and while it is late, the other one gives nothing
    ((3.4, 3.4), []),                            # both are
])
def test_two_that_are_as_slow_are_both_to_blame(tmp_path, queued, told):
    findings = found(tmp_path, lambda me, step: (1, 5, 5, 1)[me] * noise(me, step), 60, (0, *queued, 0))
    assert culprits(findings) == told


def test_which_of_two_comes_last_does_not_matter(tmp_path):
    """Nobody ever waits for the one that is a little quicker."""
    findings = found(tmp_path, lambda me, step: (1, 5, 4.9, 1)[me] + noise(0, step) / 100, 60, (0, 3.3, 3.1, 0))
    assert culprits(findings) == [("load_imbalance", [1, 2])]


# --- a little longer, and no processor ---------------------------------------------------

@pytest.mark.parametrize("takes, queued, told", [
    (1.15, 0.8, []),               # all were queued as long; it may have been so in more of its work by chance
    (1.15, 0.05, [("delay", [0])]),  # not so long that this could be why
    (1.3, 0.8, [("delay", [0])]),  # that is no chance any more
])
def test_a_little_longer_is_as_it_happens(tmp_path, takes, queued, told):
    while_waiting = queued + takes - 1
    findings = found(tmp_path, lambda me, step: (takes, 1, 1)[me] * noise(me, step), 60,
                     (queued, while_waiting, while_waiting))
    assert culprits(findings) == told
