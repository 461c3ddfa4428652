# SPDX-License-Identifier: BSD-2-Clause
"""Work that is divided unevenly among several, and those who are late in the same steps at different places, so that
each alone gives nothing: against the same job played without the trouble."""
import random
import re

import pytest

import pipelines
from waits import report

pytestmark = pytest.mark.files
MS = 1_000_000
KINDS = "delay", "load_imbalance", "changing_imbalance"


def steps(works, ranks=4, count=60):
    """They meet after each step."""
    def rank(me):
        for step in range(count):
            yield "work", int(works(me, step) * MS)
            yield "meet", 40
    return pipelines.Played([rank(me) for me in range(ranks)])


def two_parts(first, second):
    """They meet after each of two parts of a step."""
    def rank(me):
        for step in range(60):
            yield "work", int(first[me] * noise(me, step) * MS)
            yield "meet", 40
            yield "work", int(second[me] * noise(me, step) * MS)
            yield "meet", 50
    return pipelines.Played([rank(me) for me in range(4)])


def found(tmp_path, played, more=""):
    told = report(tmp_path, played.text + more)["findings"]
    return [each for each in told if each["kind"] in KINDS]


def near(seen, really):
    return abs(seen - really) <= 0.05 * really


def noise(me, step):
    return (0.99, 1.01, 1.0)[(me + step) % 3]


@pytest.mark.parametrize("takes, longer", [
    ((1, 5, 5, 1), (1, 2)), ((1, 5, 4.5, 1), (1, 2)), ((1, 5, 5, 5), (1, 2, 3)), ((1, 2, 3, 4), (2, 3)),
    ((2, 2, 2, 2, 2, 2, 3, 3), (6, 7)),
])
def test_several_have_more_of_the_same_work(tmp_path, takes, longer):
    even, ranks = sum(takes) / len(takes), len(takes)
    sick = steps(lambda me, step: takes[me] * noise(me, step), ranks)
    healed = steps(lambda me, step: even * noise(me, step), ranks)
    finding, = found(tmp_path, sick)
    assert finding["kind"] == "load_imbalance" and finding["places"] == ["job.c:40"]
    assert {one["rank"] for one in finding["culprits"]} == set(longer)
    assert set(range(ranks)) - set(longer) <= {one["rank"] for one in finding["victims"]}
    assert near(finding["gain_ns"], sick.ended - healed.ended)
    others = [each for me, each in enumerate(takes) if me not in longer]
    least, most, rest = re.search(r": (\S+) (?:ms to (\S+) )?ms each time on average, the others? (\S+) ms; others "
                                  "wait for whichever of them is the last", finding["text"]).groups()
    told = float(least), float(most or least), float(rest)
    really = min(takes[me] for me in longer), max(takes[me] for me in longer), sum(others) / len(others)
    assert all(near(*pair) for pair in zip(told, really)), told
    assert f"for longer than the {len(others)} other" in finding["text"]
    assert not found(tmp_path, healed)


@pytest.mark.parametrize("works", [
    noise,                                                                 # it is even
    lambda me, step: noise(me, step) * (1, 1.03, 1.03, 1)[me],             # hardly uneven
    lambda me, step: (50 if me in (1, 2) and step < 2 else 5 * noise(me, step)),  # twice, both
], ids=["even", "hardly uneven", "at first only"])
def test_where_it_is_even_nothing_is_told(tmp_path, works):
    assert not uneven(tmp_path, steps(works))


def uneven(tmp_path, played, more=""):
    return [each for each in found(tmp_path, played, more) if each["kind"] == "load_imbalance"]


def test_chance_is_no_uneven_work(tmp_path):
    """Eight steps, whose work differs by chance alone: so do the means."""
    for seed in range(12):
        chance = random.Random(seed)
        takes = [[chance.uniform(0.5, 1.5) for _ in range(8)] for _ in range(4)]
        assert not uneven(tmp_path, steps(lambda me, step, takes=takes: takes[me][step], count=8))


@pytest.mark.parametrize("count, times", [(3, 0), (12, 1)])
def test_what_is_done_twice_says_little(tmp_path, count, times):
    assert len(uneven(tmp_path, steps(lambda me, step: (1, 5, 5, 1)[me], count=count))) == times


@pytest.mark.parametrize("late, times", [(0, 1), (40, 0)])
def test_what_is_a_small_part_of_all_waiting_is_not_told(tmp_path, late, times):
    """Rank 3 is late at another meeting in each step."""
    assert len(uneven(tmp_path, two_parts((10, 13, 13, 10), (1, 1, 1, 1 + late)))) == times


@pytest.mark.parametrize("long, times", [(1, 1), (40, 0)])
def test_what_gives_next_to_nothing_is_not_told(tmp_path, long, times):
    """All do a long work in each step, too."""
    assert len(uneven(tmp_path, two_parts((1, 1.3, 1.3, 1), (long,) * 4))) == times


def test_after_either_of_two_calls(tmp_path):
    """What is told of several is not told of one of them again."""
    def rank(me):
        for step in range(60):
            yield "work", int((1, 5, 4.5, 1)[me] * noise(me, step) * MS)
            yield "meet", 40
            if step % 3 == 0:
                yield "meet", 60
    told = found(tmp_path, pipelines.Played([rank(me) for me in range(4)]))
    assert {each["kind"] for each in told} == {"load_imbalance"}


@pytest.mark.parametrize("takes, ranks", [((1, 5, 1, 1), [1]), ((1, 5, 1.4, 1), [1]), ((1, 5, 2.85, 1), [1])])
def test_of_one_that_is_late_itself_is_told(tmp_path, takes, ranks):
    """Also where another one is a little longer than the others."""
    finding, = found(tmp_path, steps(lambda me, step: takes[me] * noise(me, step)))
    assert finding["kind"] == "delay" and [one["rank"] for one in finding["culprits"]] == ranks


def scheduled(tid, queued, ended):
    return f"scheduled {tid} {ended} {ended // 2} {queued} 2 0\n"


@pytest.mark.parametrize("queued", [0, 1])
def test_who_had_no_processor_has_not_more_work(tmp_path, queued):
    sick = steps(lambda me, step: (1, 5, 5, 1)[me] * noise(me, step))
    more = "".join(scheduled(me + 1, queued * (60 * 4 * MS if me in (1, 2) else 0), sick.ended) for me in range(4))
    assert [each["kind"] for each in found(tmp_path, sick, more)] == ["load_imbalance"] * (not queued)


@pytest.mark.parametrize("dear, told", [((), 1), ((2, 3), 0), ((1, 2, 3, 4), 1)], ids=["none", "theirs", "all"])
def test_whose_probes_take_it_has_not_more_work(tmp_path, dear, told):
    sick = steps(lambda me, step: (1, 5, 5, 1)[me] * noise(me, step))
    more = "".join(f"cost {tid} {60 * 4 * MS} {sick.ended}\n" for tid in dear)
    assert [each["kind"] for each in found(tmp_path, sick, more)] == ["load_imbalance"] * told


def test_several_places(tmp_path):
    """Two uneven parts in each step, and of each what it would give by itself."""
    sick = two_parts((1, 5, 5, 1), (3, 1, 1, 3))
    one, other = found(tmp_path, sick)
    assert {one["kind"], other["kind"]} == {"load_imbalance"}
    assert (one["places"], other["places"]) == (["job.c:40"], ["job.c:50"])
    assert near(one["gain_ns"], sick.ended - two_parts((3, 3, 3, 3), (3, 1, 1, 3)).ended)
    assert near(other["gain_ns"], sick.ended - two_parts((1, 5, 5, 1), (2, 2, 2, 2)).ended)


# --- each alone gives nothing -------------------------------------------------------

def pairs(late, later, base=1):
    """In each step rank 0 makes rank 1 wait, and rank 2 rank 3; then all meet."""
    def rank(me):
        for step in range(60):
            takes = (late, base, later, base)[me]
            yield "work", int(takes * MS)
            if me % 2:
                yield "recv", me - 1, 7, 20 + me
            else:
                yield "send", me + 1, 7, 20 + me
            yield "meet", 33
    return pipelines.Played([rank(me) for me in range(4)])


@pytest.mark.parametrize("late, later", [(5, 5), (6, 5)])
def test_who_is_hidden_by_another_one(tmp_path, late, later):
    """Nobody else does what they do, so that what is told is a bound: that it took no time at all."""
    sick = pairs(late, later)
    told = found(tmp_path, sick)
    assert {one["culprits"][0]["rank"] for one in told} == {0, 2} and {one["kind"] for one in told} == {"delay"}
    hidden = [one for one in told if "since others are as late; where that is mended, too, this gives" in one["text"]]
    assert 2 in {one["culprits"][0]["rank"] for one in hidden} and (late > later or len(hidden) == 2)
    assert not found(tmp_path, pairs(1, 1))


def test_what_is_hidden_by_what_nobody_can_mend_is_not_told(tmp_path):
    """Rank 0 has no processor when it is late, and so is not to be blamed; rank 2 would give nothing, nevertheless."""
    sick = pairs(7, 5)
    assert {one["culprits"][0]["rank"] for one in found(tmp_path, sick)} == {0, 2}
    assert not found(tmp_path, sick, scheduled(1, 60 * 6 * MS, sick.ended))


def test_who_is_not_late_enough_is_not_told(tmp_path):
    """What rank 2 takes longer is over before rank 0 is done, even if that took no time at all."""
    assert [one["culprits"][0]["rank"] for one in found(tmp_path, pairs(9, 1.05))] == [0]


def test_what_both_give_is_of_all_that_they_do(tmp_path):
    """Rank 1 is late after either of two calls, rank 2 at another meeting: nothing of it is forgotten."""
    def job(first, second):
        def rank(me):
            for step in range(60):
                yield "work", (first if me == 1 else 1) * MS
                yield "meet", 40
                yield "work", (second if me == 2 else 1) * MS
                yield "meet", 50
                if step % 3 == 0:
                    yield "meet", 60
        return pipelines.Played([rank(me) for me in range(4)])
    sick, healed = job(5, 4), job(1, 1)
    told = report(tmp_path, sick.text)
    first, second = (each for each in told["findings"] if each["kind"] == "delay")
    assert "(after GASP_MPI_BARRIER at job.c:50 or job.c:60, before GASP_MPI_BARRIER at job.c:40" in first["text"]
    assert told["gains"]["together_ns"] == first["gain_ns"] + second["gain_ns"]
    assert near(told["gains"]["together_ns"], sick.ended - healed.ended)
