# SPDX-License-Identifier: BSD-2-Clause
"""Regions of several threads in the report: recordings whose shares are known by hand."""
import json

import pytest

import gaspbpf
from composed import call, compose, of_llvm, region, threads

pytestmark = pytest.mark.files
KINDS = {"uneven_region", "short_regions", "serial_code"}
MS = 1_000_000


def report(tmp_path, text, kinds=frozenset(KINDS)):
    recording = compose(tmp_path / "run.gasp", text)
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    return told["regions"], [one for one in told["findings"] if one["kind"] in kinds]


def section(tmp_path):
    printed = gaspbpf.run("report", "--section", "regions", tmp_path / "run.gasp")
    assert printed.returncode == 0, printed.stderr
    return printed.stdout


def by_tid(one, figure):
    process, = one["processes"]
    return {row["tid"]: row[figure] for row in process["threads"]}


#: Nothing is seen of the first time; then 2 is done last, twice.
THREE = (threads(3) + call(1, 100, 1000, "GOMP_parallel", site="omp.c:10")
         + region(2000, 3000, [(1, 2010, 2500), (2, 2020, 2900), (3, 2050, 2300)])
         + region(4000, 5000, [(1, 4010, 4400), (2, 4020, 4960), (3, 4040, 4700)]) + "end 8000\n")


def test_shares_and_waits(tmp_path):
    told, _ = report(tmp_path, THREE)
    one, = told["regions"]
    assert one["site"].endswith("omp.c:10") and one["function"] == "fn"
    assert (one["times"], one["unseen"], one["judged"], one["incomplete"], one["alone"]) == (3, 1, 2, 0, 0)
    assert (one["time_ns"], one["lasted_ns"], one["least_threads"], one["most_threads"]) == (2900, 2000, 3, 3)
    assert one["shares_ns"] == one["work_ns"] == 490 + 880 + 250 + 390 + 940 + 660
    assert one["longest_shares_ns"] == one["most_work_ns"] == 880 + 940
    assert one["mean_shares_ns"] == one["mean_work_ns"] == 540 + 663
    assert one["imbalance_percent"] == pytest.approx(100 * (1 - 1203 / 1820))
    assert one["uneven_ns"] == 340 + 277 and one["overhead_ns"] == 120 + 60
    assert one["waited_at_end_ns"] == 400 + 600 + 560 + 260
    assert by_tid(one, "waited_at_end_ns") == {1: 960, 2: 0, 3: 860}
    assert by_tid(one, "shares_ns") == {1: 880, 2: 1820, 3: 910}
    assert by_tid(one, "last") == {1: 0, 2: 2, 3: 0}
    assert not any(by_tid(one, "persistent").values()), "twice may be chance"


def test_outside_of_regions(tmp_path):
    told, _ = report(tmp_path, THREE + call(1, 5100, 5200, "GOMP_barrier")
                     + region(6000, 6500, [(1, 6010, 6400), (2, 6020, 6450)], line=20))
    beginner, = told["beginners"]
    assert (beginner["tid"], beginner["regions"], beginner["from_first_to_last_ns"]) == (1, 4, 6400)
    assert (beginner["outside_ns"], beginner["outside_waits_ns"]) == (1000 + 1000 + 1000, 100)
    # Nobody is known to wait after the first; then two, then two, but for what the beginner waits itself.
    assert beginner["others_idle_ns"] == 2 * 1000 + 2 * (1000 - 100)
    assert [(row["after"][-2:], row["before"][-2:], row["times"], row["time_ns"], row["waits_ns"], row["longest_ns"])
            for row in told["outside"]] == [("10", "10", 2, 2000, 0, 1000), ("10", "20", 1, 1000, 100, 1000)]
    assert "omp.c:20" in section(tmp_path)


def test_what_is_inside_of_shares(tmp_path):
    """A block of one thread, a barrier, a critical section, pieces of a loop."""
    inside = (call(1, 1100, 1110, "GOMP_single_start", depth=2, chosen=1) + call(1, 1500, 1510, "GOMP_barrier", depth=2)
              + "".join(call(1, 2000 + i, 2001 + i, "GOMP_loop_dynamic_next", depth=2, more=int(i < 3))
                        for i in range(0, 8, 2))
              + call(2, 1100, 1120, "GOMP_single_start", depth=1, chosen=0)
              + call(2, 1121, 1512, "GOMP_barrier", depth=1) + call(2, 1600, 1700, "GOMP_critical_start", depth=1)
              + call(2, 1750, 1760, "GOMP_critical_end", depth=1)
              + call(2, 2000, 2001, "GOMP_loop_dynamic_start", depth=1, more=1))
    told, _ = report(tmp_path, threads(2) + region(1000, 3000, [(1, 1010, 2900), (2, 1020, 2800)], inside=inside))
    one, = told["regions"]
    assert by_tid(one, "single_ns") == {1: 390, 2: 0} and by_tid(one, "waits_inside_ns") == {1: 10, 2: 391}
    assert by_tid(one, "locks_inside_ns") == {1: 0, 2: 100} and by_tid(one, "chunks") == {1: 2, 2: 1}
    assert by_tid(one, "work_ns") == {1: 1880, 2: 1780 - 491}
    assert one["imbalance_percent"] == pytest.approx(100 * (1 - 1584 / 1880))
    # What is waited inside is no matter of the end: the shares themselves are nearly even.
    assert one["uneven_ns"] == 1890 - 1835
    assert "390 ns in blocks of one thread" in " ".join(section(tmp_path).split())


def test_a_block_of_one_thread_ends_where_the_runtime_says_so(tmp_path):
    inside = (call(1, 1100, 1110, "__kmpc_single", depth=2, chosen=1)
              + call(1, 1200, 1210, "__kmpc_end_single", depth=2) + call(1, 1500, 1510, "__kmpc_barrier", depth=2))
    told, _ = report(tmp_path, threads(2) + inside + of_llvm(1000, 3000, [(1, 1010, 2900), (2, 1020, 2800)]))
    assert by_tid(told["regions"][0], "single_ns") == {1: 90, 2: 0}


def test_two_teams_at_once(tmp_path):
    """A worker's share is of the region of whose function it is."""
    first = of_llvm(2000, 3000, [(1, 2010, 2800), (3, 2030, 2900)], line=10, fn=0x10)
    second = of_llvm(2005, 3010, [(2, 2015, 2500), (4, 2040, 2950)], line=20, fn=0x20)
    told, _ = report(tmp_path, threads(4) + first + second)
    found = {row["site"][-2:]: by_tid(row, "shares_ns") for row in told["regions"]}
    assert found == {"10": {1: 790, 3: 870}, "20": {2: 485, 4: 910}}


def test_two_teams_with_one_function_are_not_judged(tmp_path):
    first = of_llvm(2000, 3000, [(1, 2010, 2800), (3, 2030, 2900)], line=10)
    second = of_llvm(2005, 3010, [(2, 2015, 2500), (4, 2040, 2950)], line=20)
    told, findings = report(tmp_path, threads(4) + first + second)
    assert [(row["judged"], row["incomplete"]) for row in told["regions"]] == [(0, 1)] * 2
    assert told["shares_of_unknown_regions"] == 2 and not findings


def test_a_region_in_a_share(tmp_path):
    inner = call(2, 2110, 2190, "fn", depth=2) + call(2, 2100, 2200, "GOMP_parallel", depth=1, site="omp.c:30")
    told, _ = report(tmp_path, threads(2) + region(2000, 3000, [(1, 2010, 2800), (2, 2030, 2900)], inside=inner))
    found = {row["site"][-2:]: row for row in told["regions"]}
    assert (found["10"]["judged"], found["30"]["alone"]) == (1, 1)
    assert by_tid(found["10"], "shares_ns") == {1: 790, 2: 870} and len(told["beginners"]) == 1


def test_the_same_region_of_two_ranks(tmp_path):
    text = threads(2, 1, 0) + threads(2, 11, 1)
    text += region(1000, 2000, [(1, 1010, 1200), (2, 1020, 1900)], base=0x550000000000)
    text += region(1000, 2000, [(11, 1010, 1800), (12, 1020, 1400)], base=0x560000000000)
    told, _ = report(tmp_path, text)
    one, = told["regions"]
    assert [(process["rank"], process["waited_at_end_ns"]) for process in one["processes"]] == [(0, 700), (1, 400)]
    assert one["waited_at_end_ns"] == 1100 and one["times"] == 2


@pytest.mark.parametrize("what", ["lost 2 3 2900\n", "control 1 2500 0\ncontrol 1 2600 1\n"])
def test_what_was_not_all_seen_is_not_judged(tmp_path, what):
    before = call(2, 100, 110, "GOMP_barrier")
    told, _ = report(tmp_path, threads(2) + before + what + region(2000, 3000, [(1, 2010, 2500), (2, 2020, 2900)])
                     + region(4000, 5000, [(1, 4010, 4500), (2, 4020, 4900)]))
    one, = told["regions"]
    assert (one["times"], one["incomplete"], one["judged"]) == (2, 1, 1)
    beginner, = told["beginners"]
    assert (beginner["outside_ns"], beginner["outside_unknown_ns"]) == (1000, 0)


@pytest.mark.parametrize("what, judged", [("lost 2 3 3500\n", 1), ("control 1 3500 0\ncontrol 1 3600 1\n", 2)])
def test_between_regions_there_may_have_been_others(tmp_path, what, judged):
    """And those that were lost after the share of 2 may have been in the first region."""
    text = region(2000, 3000, [(1, 2010, 2500), (2, 2020, 2900)]) + what + call(2, 3400, 3500, "GOMP_barrier")
    told, _ = report(tmp_path, threads(2) + text + region(4000, 5000, [(1, 4010, 4500), (2, 4020, 4900)]))
    beginner, = told["beginners"]
    assert (beginner["outside_ns"], beginner["outside_unknown_ns"]) == (0, 1000) and not told["outside"]
    assert told["regions"][0]["judged"] == judged


def test_in_progress_at_the_end(tmp_path):
    text = threads(2) + "call 1 2010 3000 fn depth=1 end=under_way\n" + call(2, 2020, 2900, "fn")
    told, _ = report(tmp_path, text + "call 1 2000 3000 GOMP_parallel site=omp.c:10 end=under_way\n")
    one, = told["regions"]
    assert (one["incomplete"], one["judged"], one["waited_at_end_ns"]) == (1, 0, None)
    assert "?" in section(tmp_path)


# --- findings -------------------------------------------------------------------------

def rounds(count, share, ms=10, gap=0, line=10, team=(1, 2, 3)):
    """So many regions of so many ms, one after the other; share(thread, number): its end, in ms."""
    text, at = "", 0
    for number in range(count):
        shares = [(tid, at + 1000 + tid, at + 2000 + tid + int(share(tid, number) * MS)) for tid in team]
        text += region(at, at + ms * MS + 10_000, shares, line)
        at += ms * MS + 20_000 + int(gap * MS)
    return text + f"end {at}\n"


def always_2(tid, number):
    return 10 if tid == 2 else 5


def by_turns(tid, number):
    return 10 if tid == 1 + number % 3 else 5


def even(tid, number):
    return 10 if tid == 1 + number % 3 else 9.9


def test_a_thread_that_is_always_last(tmp_path):
    told, findings = report(tmp_path, threads(3) + rounds(20, always_2))
    finding, = findings
    assert (finding["kind"], finding["tid"]) == ("uneven_region", 2)
    assert finding["gain_ns"] == told["regions"][0]["uneven_ns"] == pytest.approx(20 * (10 - 20 / 3) * MS, rel=0.001)
    assert finding["weight_ns"] == pytest.approx(20 * 10 * MS, rel=0.001)
    assert "omp.c:10" in finding["text"] and "is the last in 100 %" in finding["text"]
    assert max(one["end_ns"] - one["start_ns"] for one in finding["instances"]) == pytest.approx(5 * MS, rel=0.001)


def test_one_after_the_other_is_last(tmp_path):
    _, (finding,) = report(tmp_path, threads(3) + rounds(21, by_turns))
    assert finding["kind"] == "uneven_region" and "tid" not in finding and "goes by turns" in finding["text"]
    assert finding["evidence"]["what"] is None, "the event has other regions, too"


@pytest.mark.parametrize("count, last, team, words", [
    (5, lambda number: 2, (1, 2), "is the last in 100 %, which may be chance"),
    (400, lambda number: 2 if number % 20 < 9 else 1 + number % 2 * 2, (1, 2, 3), "goes by turns"),
    (200, lambda number: 2 if number % 20 < 15 else 1, (1, 2, 3), "is the last in 75 %;")])
def test_last_by_chance(tmp_path, count, last, team, words):
    """Five times of two may be chance; 45 % of three threads are more than chance, but less than twice its share."""
    text = rounds(count, lambda tid, number: 10 if tid == last(number) else 5, team=team)
    told, (finding,) = report(tmp_path, threads(3) + text)
    assert words in finding["text"]
    assert any(by_tid(told["regions"][0], "persistent").values()) == (words[-1] == ";")


def test_even_shares_are_no_finding(tmp_path):
    told, findings = report(tmp_path, threads(3) + rounds(20, even))
    assert told["regions"][0]["judged"] == 20 and not findings


def queued(*ms):
    return "".join(f"scheduled {tid} {200 * MS} {150 * MS} {one * MS} 2 0\n" for tid, one in enumerate(ms, 1))


def test_who_had_no_processor_is_late_too(tmp_path):
    """33 ms would be gained; but the threads were kept waiting for longer than that while they worked."""
    assert not report(tmp_path, threads(3) + rounds(10, by_turns) + queued(40, 40, 40))[1]
    assert report(tmp_path, threads(3) + rounds(10, by_turns) + queued(4, 4, 4))[1]
    # One works more than the others even so, and is always the last; or it is the one that has to wait.
    assert report(tmp_path, threads(3) + rounds(10, always_2) + queued(40, 40, 40))[1]
    assert not report(tmp_path, threads(3) + rounds(10, always_2) + queued(1, 100, 1))[1]


@pytest.mark.parametrize("ran, words", [(40, "asleep for at least 80 % of its shares"), (120, "")])
def test_a_late_thread_that_sleeps(tmp_path, ran, words):
    """Its shares take 200 ms, and in all of its life it was so long on a CPU: it waits for what nobody saw."""
    _, (finding,) = report(tmp_path, threads(3) + rounds(20, always_2) + f"scheduled 2 {250 * MS} {ran * MS} 0 2 0\n")
    assert words in finding["text"] and ("asleep" in finding["text"]) == bool(words)


def test_a_condition(tmp_path):
    """Of the longest shares, 10 ms, a third is more than the mean ones have."""
    recording = compose(tmp_path / "run.gasp", threads(3) + rounds(20, always_2))
    for limit, status in ((33, 3), (34, 0)):
        assert gaspbpf.run("report", "--fail-on", f"regions>{limit}", recording).returncode == status


def test_waits_inside_are_told_elsewhere(tmp_path):
    """1 and 3 work less and wait at a barrier; all shares end at about the same time."""
    inside, at = "", 0
    for number in range(20):
        inside += "".join(call(tid, at + 3 * MS + tid, at + 9 * MS + tid, "GOMP_barrier", depth=1 + (tid == 1))
                          for tid in (1, 3))
        shares = [(tid, at + 1000 + tid, at + 10 * MS + tid) for tid in (1, 2, 3)]
        inside += region(at, at + 10 * MS + 10_000, shares)
        at += 10 * MS + 20_000
    told, findings = report(tmp_path, threads(3) + inside)
    assert told["regions"][0]["imbalance_percent"] == pytest.approx(100 * (1 - (4 + 10 + 4) / 30), abs=0.1)
    assert not findings


def test_waits_for_a_lock_are_told_elsewhere(tmp_path):
    """All work as much; 2 is the last, as it waits for a lock meanwhile."""
    text, at = "", 0
    for _ in range(20):
        text += call(2, at + 2 * MS, at + 7 * MS, "GOMP_critical_start", depth=1)
        text += region(at, at + 10 * MS + 10_000, [(1, at + 1000, at + 5 * MS), (2, at + 1002, at + 10 * MS)])
        at += 10 * MS + 20_000
    told, findings = report(tmp_path, threads(2) + text)
    assert told["regions"][0]["waited_at_end_ns"] == 20 * 5 * MS and not findings
    assert told["regions"][0]["uneven_ns"] < MS


def test_serial_code_between_regions(tmp_path):
    told, findings = report(tmp_path, threads(3) + rounds(20, even, gap=10))
    finding, = findings
    assert (finding["kind"], finding["tid"]) == ("serial_code", 1)
    assert finding["weight_ns"] == told["beginners"][0]["others_idle_ns"] == pytest.approx(19 * 2 * 10 * MS, rel=0.01)
    assert finding["gain_ns"] == pytest.approx(19 * 10 * MS * 2 / 3, rel=0.01) and "omp.c:10" in finding["text"]


def test_waiting_for_others_is_no_serial_code(tmp_path):
    text, at = "", 0
    for number in range(20):
        shares = [(tid, at + 1000 + tid, at + 2000 + tid + int(even(tid, number) * MS)) for tid in (1, 2, 3)]
        text += region(at, at + 10 * MS + 10_000, shares)
        text += call(1, at + 10 * MS + 20_000, at + 19 * MS, "MPI_Barrier", **{"comm.id": 0})
        at += 19 * MS + 10_000
    told, findings = report(tmp_path, threads(3) + text)
    assert told["beginners"][0]["outside_waits_ns"] == pytest.approx(19 * 9 * MS, rel=0.01)
    assert not [one for one in findings if one["kind"] == "serial_code"]


def test_regions_that_are_too_short(tmp_path):
    def short(longest):
        text, at = "", 0
        for _ in range(200):
            text += region(at, at + 100_000, [(tid, at + 1000 * tid, at + longest + tid) for tid in (1, 2, 3)])
            at += 101_000
        return threads(3) + text
    told, (finding,) = report(tmp_path, short(20_000))
    assert finding["kind"] == "short_regions" and finding["gain_ns"] == told["regions"][0]["overhead_ns"]
    assert not report(tmp_path, short(90_000))[1]
    assert report(tmp_path, short(20_000) + queued(1, 1, 1))[1]
    assert not report(tmp_path, short(20_000) + queued(1, 1, 30))[1]  # it is the scheduler that takes the rest


def test_only_counted(tmp_path):
    told, findings = report(tmp_path, threads(3) + rounds(20, always_2) + "sum 2 fn 0 0 100\n")
    assert told["only_counted"] == 100 and not [one for one in findings if one["kind"] == "uneven_region"]
    assert "100 calls that tell of regions were counted only" in section(tmp_path)


def test_nothing_is_told_twice(tmp_path):
    """The finding on all waiting of teams is made only where a tenth of the time is not told of by these."""
    kinds = KINDS | {"team_wait"}
    _, findings = report(tmp_path, threads(3) + rounds(20, always_2, gap=10), kinds)
    assert {one["kind"] for one in findings} == {"uneven_region", "serial_code"}
    _, findings = report(tmp_path, threads(3) + rounds(20, always_2, gap=10) + "sum 2 fn 0 0 100\n", kinds)
    assert {one["kind"] for one in findings} == {"team_wait"}


def test_nonsense(tmp_path):
    """Shares of no region, regions that are over before their shares, a thread twice in one."""
    text = threads(3) + call(2, 10, 20, "fn") + call(1, 100, 200, "GOMP_parallel", site="omp.c:10")
    text += call(2, 150, 400, "fn") + call(3, 160, 170, "fn") + call(3, 180, 190, "fn")
    told, findings = report(tmp_path, text + call(1, 300, 350, "GOMP_parallel", site="omp.c:10"))
    one, = told["regions"]
    assert (one["times"], one["judged"], one["incomplete"], one["unseen"]) == (2, 0, 1, 1) and not findings
    assert told["shares_of_unknown_regions"] == 2


def test_a_job_without_regions_has_no_such_section(tmp_path):
    recording = compose(tmp_path / "run.gasp", threads(2) + call(1, 0, 10, "pthread_mutex_lock", mutex=1))
    result = gaspbpf.run("report", "--json", recording)
    assert "regions" not in json.loads(result.stdout)
    assert "Regions" not in gaspbpf.run("report", recording).stdout
    asked = gaspbpf.run("report", "--section", "regions", recording)
    assert asked.returncode == 0 and "Regions of several threads: this recording has nothing of it." in asked.stdout


def dynamic(pieces, iterations=1200, takes=200, asks=400, floor=0):
    """Two threads share the iterations of a loop, ten times; to ask for a piece takes them so long: (text, end)."""
    text, at = f"floor {floor}\n" * bool(floor) + threads(2), 1000
    for _ in range(10):
        inside, ends, begun = "", {}, at
        for tid in (1, 2):
            now = begun + 20 * tid
            for piece in range(pieces // 2 + 1):
                more = piece < pieces // 2
                inside += call(tid, now, now + asks, "GOMP_loop_dynamic_next", depth=3 - tid, more=int(more))
                now += asks + (takes * iterations // pieces if more else 0)
            ends[tid] = now + 10
        at = max(ends.values()) + 50
        text += region(begun, at, [(tid, begun + 10 * tid, ends[tid]) for tid in (1, 2)], inside=inside)
        at += 1000
    return text + f"end {at}\n", at


def test_pieces_of_a_loop_that_are_too_small(tmp_path):
    sick, healed = dynamic(1200), dynamic(12)
    _, (found,) = report(tmp_path, sick[0], {"small_chunks"})
    assert found["event"] == "GASP_OMP_LOOP_NEXT" and found["places"] == ["omp.c:10"]
    assert abs(found["gain_ns"] - (sick[1] - healed[1])) < 0.25 * (sick[1] - healed[1])
    assert "12,000 of them, with 200 ns of work each on average, and to ask for one takes 400 ns" in found["text"]
    _, (found,) = report(tmp_path, dynamic(1200, takes=0)[0], {"small_chunks"})
    assert "12,000 of them, with too little work in each to measure, and to ask" in found["text"]
    out = gaspbpf.run("report", tmp_path / "run.gasp", "--explain", "1").stdout
    assert "too small pieces" in out and "How regular: 12,000 pieces" not in out, "of nothing there is no mean"
    # As far as it is known what the probes take: of 1,000 ns that they take beyond the call, 100 are doubtful.
    price = "price GOMP_loop_dynamic_next 1000\n"
    assert report(tmp_path, dynamic(1200, takes=1880)[0] + price, {"small_chunks"})[1]
    assert not report(tmp_path, dynamic(1200, takes=2000)[0] + price, {"small_chunks"})[1]
    for twin in (healed[0], dynamic(1200, takes=2000, iterations=1200)[0], dynamic(1200, floor=390)[0]):
        assert not report(tmp_path, twin, {"small_chunks"})[1]
