# SPDX-License-Identifier: BSD-2-Clause
"""The critical path through regions of several threads: from who begins one to the shares of the others, and from the
last share to the region's end. Times are ns."""
import functools
import json
import random

import pytest

import gaspbpf
from composed import call, compose, of_llvm, ranks, receive, region, send, threads

pytestmark = pytest.mark.files


def report(tmp_path, text):
    result = gaspbpf.run("report", "--json", compose(tmp_path / "run.gasp", text))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def path_of(tmp_path, text):
    return report(tmp_path, text)["critical_path"]


def what(part):
    """share of a region, in a region outside of shares, overhead of a region, or code outside of all."""
    if part["does"] == "unknown":
        return "unknown"
    if part["does"] == "calls":
        return "overhead" if part["call"]["event"].endswith("PARALLEL") else part["call"]["event"]
    inside = part["inside"] or {}
    return "share" if "IMPLICIT_TASK" in str(inside) else "region" if inside else "serial"


def figures(path):
    """{(tid, what): ns on the path}"""
    found = {}
    for part in path["parts"]:
        for thread in part["threads"]:
            if thread["on_path_ns"]:
                key = (thread["tid"], what(part))
                found[key] = found.get(key, 0) + thread["on_path_ns"]
    return found


#: The worker is the last one, then who began the region, then the worker again.
TURNS = (((1000, 2000), [(1, 1010, 1300), (2, 1040, 1900)], 10), ((3000, 4000), [(1, 3010, 3950), (2, 3020, 3500)], 20),
         ((5000, 6000), [(1, 5010, 5300), (2, 5040, 5900)], 10))


@pytest.mark.parametrize("made", [region, of_llvm])
def test_the_last_share_of_each_region(tmp_path, made):
    path = path_of(tmp_path, threads(2) + "".join(made(*time, shares, line) for time, shares, line in TURNS))
    assert figures(path) == {(1, "unknown"): 1000, (2, "overhead"): 40 + 40, (2, "share"): 860 + 860,
                             (1, "overhead"): 100 + 100, (1, "serial"): 1000 + 1000, (1, "region"): 10 + 50,
                             (1, "share"): 940}
    assert (path["length_ns"], path["changes"], path["ends"]["tid"]) == (6000, 4, 1)


def test_where_the_parts_are(tmp_path):
    """Shares are told by the line of their region, code between regions by both."""
    path = path_of(tmp_path, threads(2) + "".join(region(*time, shares, line) for time, shares, line in TURNS))
    places = {(what(part), *(end and end["place"].partition(" ")[0][-2:] for end in (part["after"], part["before"])))
              for part in path["parts"] if part["does"] == "outside"}
    assert places == {("share", "10", None), ("share", "20", None), ("region", "20", None), ("serial", "10", "20"),
                      ("serial", "20", "10")}


def test_a_tenth_less_of_a_share(tmp_path):
    """The worker's share is the longest by far: all of what it is shorter by, the run is."""
    path = path_of(tmp_path, threads(2) + "".join(region(*time, shares, line) for time, shares, line in TURNS))
    part = path["parts"][0]
    assert (what(part), part["on_path_ns"], part["gain_at_most_ns"], part["gain_ns"]) == ("share", 1720, 172, 172)
    serial = [part["gain_ns"] for part in path["parts"] if what(part) == "serial"]
    assert serial == [100, 100]


def test_a_tenth_less_where_others_are_nearly_as_late(tmp_path):
    """100 ns less of the worker's 1,000, but the other one's share is over only 30 earlier."""
    path = path_of(tmp_path, threads(2) + region(1000, 2100, [(1, 1000, 1970), (2, 1000, 2000)])
                   + region(2100, 3200, [(1, 2100, 3070), (2, 2100, 3100)]))
    part = path["parts"][0]
    # Both have the same code: both get 10 % shorter.
    assert (part["on_path_ns"], part["gain_ns"]) == (2000, 200)
    path = path_of(tmp_path, threads(2) + region(1000, 2100, [(1, 1000, 1970), (2, 1000, 2000)],
                                                 inside=call(1, 1001, 1969, "GOMP_taskwait", depth=2)))
    part = next(part for part in path["parts"] if what(part) == "share")
    assert (part["on_path_ns"], part["gain_ns"]) == (1000, 30)


def test_a_barrier_in_the_shares(tmp_path):
    """The worker is the last that comes to it; what it did before lies in its share, and before that is the other."""
    text = threads(2)
    for at in (0, 10_000, 20_000):
        shares = [(1, 1010 + at, 1900 + at), (2, 1040 + at, 1600 + at)]
        text += region(1000 + at, 2000 + at, shares, inside="".join(
            call(tid, start + at, end + at, "GOMP_barrier", depth=depth)
            for tid, start, end, depth in ((1, 1200, 1510, 2), (2, 1500, 1505, 1))))
    path = path_of(tmp_path, text)
    assert figures(path) == {
        (1, "unknown"): 1000, (2, "overhead"): 3 * 40, (2, "share"): 3 * 460, (1, "GASP_OMP_BARRIER"): 3 * 10,
        (1, "share"): 3 * 390, (1, "region"): 3 * 100, (1, "serial"): 2 * 9000}
    assert path["unknown_ns"] == 1000


def test_ranks_with_teams(tmp_path):
    """Rank 0's worker makes its message late, and rank 1 begins its region with it."""
    text = ranks(2) + "thread 1 3\nthread 2 4\n"
    text += region(100, 1000, [(1, 110, 300), (3, 120, 950)]) + send(1, 1050, 1060, 1)
    text += receive(2, 50, 1070, 0) + region(1200, 2000, [(2, 1210, 1950), (4, 1220, 1600)])
    path = path_of(tmp_path, text)
    assert figures(path) == {
        (1, "GASP_MPI_INIT"): 10, (1, "serial"): 90 + 50, (3, "overhead"): 20, (3, "share"): 830, (1, "overhead"): 50,
        (2, "GASP_MPI_RECV"): 20, (2, "serial"): 130, (2, "region"): 10 + 50, (2, "share"): 740}
    assert (path["unknown_ns"], path["ends"]["tid"]) == (0, 2)


def test_a_share_of_an_unknown_region_goes_on_by_itself(tmp_path):
    """Two threads of the process are in regions at the time: which one's share it is nobody knows."""
    first = region(2000, 3010, [(1, 2010, 2800), (3, 2030, 2900)])
    second = region(2005, 3000, [(2, 2015, 2500), (4, 2040, 2950)], line=20)
    path = path_of(tmp_path, threads(4) + first + second)
    assert path["changes"] == 0 and path["ends"]["tid"] == 1


LATER = 5_000_000


@functools.cache
def filler():
    """Of a thread that has nothing to do with the others: a recording of several chunks."""
    return "".join(call(9, at, at + 1, "work") for at in range(3000, LATER, 20))


def test_a_region_that_comes_long_after_a_share_of_it(tmp_path):
    """The worker gives back a lock at the end of its share, for which another thread waits; the region lasts on."""
    def lock(tid, start, end, symbol, depth=0):
        return call(tid, start, end, f"pthread_mutex_{symbol}", mutex=0x1000, depth=depth)
    text = (threads(9) + lock(2, 1100, 1105, "lock", 1) + lock(2, 2000, 2005, "unlock", 1) + call(2, 1050, 2010, "fn")
            + filler() + lock(3, 1200, LATER + 10, "lock") + lock(3, LATER + 50, LATER + 60, "unlock")
            + call(1, 1010, LATER, "fn", depth=1) + call(1, 1000, LATER + 5, "GOMP_parallel", site="omp.c:10"))
    found = figures(path_of(tmp_path, text))
    assert found[2, "overhead"] == 50 and found[2, "share"] == 2000 - 1050 - 5 and found[1, "unknown"] == 1000


def test_a_region_that_is_over_long_before_it_is_known_that_it_is_the_only_one(tmp_path):
    """Another thread begins regions, too, and it is not heard of for long."""
    text = threads(9) + region(100, 200, [(5, 110, 190)]) + region(1000, 2000, [(1, 1010, 1200), (2, 1050, 1900)])
    path = path_of(tmp_path, text + filler() + region(LATER, LATER + 10, [(5, LATER + 1, LATER + 9)])
                   + call(1, LATER + 20, LATER + 30, "GOMP_taskwait"))
    found = figures(path)
    assert found[2, "overhead"] == 50 and found[2, "share"] == 850 and found[1, "overhead"] == 100


def test_where_shares_are_missing_nothing_is_put_together(tmp_path):
    text = region(1000, 2000, [(1, 1010, 1300), (2, 1040, 1900)]) + "lost 2 3 2500\n" + call(2, 2400, 2500, "fn")
    path = path_of(tmp_path, threads(2) + "sum 2 fn 1 0 0\n" + text)
    assert path["changes"] == 0


def test_a_region_that_has_not_ended(tmp_path):
    text = threads(2) + "call 1 2010 3000 fn depth=1 end=under_way\n" + call(2, 2020, 2900, "fn")
    path = path_of(tmp_path, text + "call 1 2000 3000 GOMP_parallel site=omp.c:10 end=under_way\n")
    assert path["ends"]["tid"] == 1 and path["length_ns"] == 3000


def team_of_three(count, share, gap):
    """So many regions; the share of 2 lasts so long, those of the others 1,000; between regions the first one works."""
    text, at = threads(3), 1000
    for _ in range(count):
        ended = at + max(share, 1000) + 20
        text += region(at, ended, [(tid, at + 10, at + 10 + (share if tid == 2 else 1000)) for tid in (1, 2, 3)])
        at = ended + gap
    return text


@pytest.mark.parametrize("share, gap, told", [(5000, 10, "uneven_region"), (1000, 5000, "serial_code")])
def test_nothing_is_told_twice(tmp_path, share, gap, told):
    kinds = {finding["kind"] for finding in report(tmp_path, team_of_three(50, share, gap))["findings"]}
    assert told in kinds and "critical_path" not in kinds


def test_what_a_region_waits_for_is_no_finding(tmp_path):
    """Its threads are woken late, for all that is known."""
    text, at = threads(2), 1000
    for _ in range(50):
        text += region(at, at + 10_000, [(1, at + 10, at + 500), (2, at + 9000, at + 9600)])
        at += 10_020
    seen = report(tmp_path, text)
    part = seen["critical_path"]["parts"][0]
    assert figures(seen["critical_path"])[2, "overhead"] == 50 * 9000 and what(part) == "overhead"
    assert part["gain_ns"] == part["gain_at_most_ns"] == part["on_path_ns"] // 10
    assert "critical_path" not in {finding["kind"] for finding in seen["findings"]}


def many(count, rnd, team):
    """So many regions, and what is on the path: text, figures."""
    text, want, at, ended = [threads(team)], {}, 1000, None

    def put(tid, name, time):
        want[tid, name] = want.get((tid, name), 0) + time

    for number in range(count):
        shares = [(tid, at + rnd.randint(1, 60), at + rnd.randint(100, 2000)) for tid in range(1, team + 1)]
        tid, start, end = max(shares, key=lambda share: share[2])
        put(1, *("serial", at - ended) if ended else ("unknown", at))
        ended = end + rnd.randint(1, 50)
        put(tid, "region" if tid == 1 else "overhead", start - at)
        put(tid, "share", end - start)
        put(1, "region" if tid == 1 else "overhead", ended - end)
        text.append(region(at, ended, shares, line=10 + number % 2))
        at = ended + rnd.randint(10, 500)
    return "".join(text), want


@pytest.mark.parametrize("count, team", [(400, 5), (20_000, 3)])
def test_many_regions(tmp_path, count, team):
    """Over several chunks of a recording, whoever is late."""
    rnd = random.Random(count)
    text, want = many(count, rnd, team)
    path = path_of(tmp_path, text)
    assert figures(path) == want and (path["waits_not_kept"], path["not_kept_ns"]) == (0, 0)
