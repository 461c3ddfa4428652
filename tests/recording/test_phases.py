# SPDX-License-Identifier: BSD-2-Clause
"""Iterations of recordings that a text makes: how many, how long, which are out of line, when they changed, exactly."""
import json

import pytest

import gaspbpf
from composed import call, compose, ranks

pytestmark = pytest.mark.files

MS = 1_000_000
LATE = 1_000_000_000_000  # compose.c: when a recording begins
KINDS = ("outlier_iterations", "slowdown", "starved")


def reported(tmp_path, text, *options):
    result = gaspbpf.run("report", *options, compose(tmp_path / "run.gasp", text))
    assert result.returncode == 0, result.stderr
    return result.stdout


def phases(tmp_path, text):
    whole = json.loads(reported(tmp_path, text, "--json"))
    return whole["phases"], [each for each in whole["findings"] if each["kind"] in KINDS]


def barrier(tid, start, end, symbol="MPI_Barrier"):
    return call(tid, start, end, symbol, **{"comm.id": 0, "comm.rank": tid - 1})


def rounds(works, start=100 * MS, wait=MS, also=lambda tid, at: ""):
    """Ranks that work and then meet: works has for each round what each rank works. They leave together."""
    text, at = "", start
    for work in works:
        end = at + max(work) + wait
        for rank, busy in enumerate(work):
            text += also(rank + 1, at) + barrier(rank + 1, at + busy, end)
        at = end
    return text, at


def in_order(text):
    """Calls of a thread come in the order of their ends."""
    lines = [line for line in text.splitlines() if line]
    calls = [line for line in lines if line.startswith("call")]
    return "\n".join([line for line in lines if not line.startswith("call")]
                     + sorted(calls, key=lambda line: int(line.split()[3]))) + "\n"


def job(works, after=50 * MS, **more):
    text, end = rounds(works, **more)
    count = len(works[0])
    finalize = "".join(call(rank + 1, end + after, end + after + 10 * MS, "MPI_Finalize") for rank in range(count))
    return in_order(ranks(count) + text + finalize), end


def test_each_iteration_is_a_step(tmp_path):
    """Of few of them each is one: when it ended, and how long it was, on average of all threads."""
    works = [((4 + turn % 3) * MS, 2 * MS) for turn in range(20)]
    text, _ = job(works)
    (found,), _ = phases(tmp_path, text)
    ends = LATE + 100 * MS
    at = []
    for work in works:
        ends += max(work) + MS
        at.append(ends)
    lasted = [max(work) + MS for work in works][1:]
    assert [(one["first"], one["iterations"], one["end_ns"], one["mean_ns"]) for one in found["steps"]] == \
        [(turn, 1, end, each) for turn, (end, each) in enumerate(zip(at[1:], lasted))]
    assert all(one["min_ns"] == one["mean_ns"] == one["max_ns"] and one["longest"] == one["first"] and
               one["longest_end_ns"] == one["end_ns"] for one in found["steps"])


@pytest.mark.parametrize("long, said", [(3000, True), (30, False)])
def test_what_is_hardly_an_iteration_is_called_that(tmp_path, long, said):
    """Three of a hundred are longer than all others by far."""
    text, _ = job([((long if turn % 33 == 17 else 2) * MS, MS) for turn in range(100)])
    line = " ".join(reported(tmp_path, text, "--section", "phases").split())
    assert ("so unlike that these are hardly the job's iterations" in line) == said
    assert ("mean (median 3.000 ms), " in line) == said


def test_of_two_phases_there_is_no_median(tmp_path):
    """From the middle on all are slower, so that none tells of all."""
    text, _ = job([((3000 if turn % 33 == 17 else 2 if turn < 100 else 12) * MS, MS) for turn in range(200)])
    (found,), _ = phases(tmp_path, text)
    assert len([part for part in found["phases"] if part["iterations"]]) == 2
    line = " ".join(reported(tmp_path, text, "--section", "phases").split())
    assert "hardly the job's iterations" in line and "(median" not in line.split("hardly")[0]


def test_of_many_iterations_a_step_has_several(tmp_path):
    """With the shortest and the longest of them, exactly."""
    lasts = [(3 + (turn * 7) % 5 + (30 if turn in (100, 777) else 0)) * MS for turn in range(1001)]
    (found,), _ = phases(tmp_path, job([(each - MS, MS) for each in lasts])[0])
    steps, lasts = found["steps"], lasts[1:]
    stride = steps[0]["iterations"]
    assert stride > 1 and 128 <= len(steps) <= 256 and sum(one["iterations"] for one in steps) == len(lasts)
    for turn, one in enumerate(steps):
        mine = lasts[turn * stride:(turn + 1) * stride]
        assert (one["first"], one["iterations"]) == (turn * stride, len(mine))
        assert (one["min_ns"], one["max_ns"], lasts[one["longest"]]) == (min(mine), max(mine), max(mine))
        assert one["mean_ns"] == sum(mine) // len(mine)
    assert [one["max_ns"] for one in steps if one["max_ns"] > 20 * MS] == [lasts[99], lasts[776]]


def test_all_alike(tmp_path):
    (found,), findings = phases(tmp_path, job([(4 * MS, 2 * MS)] * 20)[0])
    assert (found["name"], found["kind"], found["by_job"]) == ("GASP_MPI_BARRIER", "meeting", True)
    assert (found["iterations"], found["mean_ns"], found["min_ns"], found["max_ns"]) == (19, 5 * MS, 5 * MS, 5 * MS)
    assert found["variation"] == 0 and found["outliers"] == [] and findings == []
    before, steady, after = found["phases"]
    assert (before["phase"], steady["phase"], after["phase"]) == ("before", "iterations", "after")
    assert before["from_ns"] == LATE and before["to_ns"] == steady["from_ns"] == LATE + 105 * MS
    assert steady["to_ns"] == after["from_ns"] == LATE + 200 * MS
    assert steady["iterations"] == 19 and steady["group_ns"]["wait"] == 19 * (MS + 3 * MS)
    assert steady["group_ns"]["outside"] == 19 * 6 * MS
    assert after["to_ns"] == LATE + 260 * MS and after["group_ns"]["other"] == 2 * 10 * MS
    assert after["group_ns"]["wait"] == 0 and before["group_ns"]["wait"] == 4 * MS
    assert steady["load_balance"] == 0.75 and steady["communication"] == 0.8
    assert before["load_balance"] is None


def test_ranks_that_wait_for_one_that_has_no_iterations(tmp_path):
    """A third rank has been there, too: whether these two do alike says nothing of how the job's work is divided."""
    text, end = job([(4 * MS, 2 * MS)] * 20)
    (found,), _ = phases(tmp_path, in_order("process 3 2\n" + text + call(3, 0, 10, "MPI_Init")))
    assert [thread["tid"] for thread in found["threads"]] == [1, 2]
    steady = found["phases"][1]
    assert steady["load_balance"] is None and steady["communication"] is None


def test_one_is_out_of_line(tmp_path):
    works = [(4 * MS, 2 * MS, 3 * MS)] * 30
    works[12] = (4 * MS, 24 * MS, 3 * MS)
    text, _ = job(works)
    (found,), findings = phases(tmp_path, text)
    (outlier,) = found["outliers"]
    assert (outlier["number"], outlier["lasted_ns"], outlier["median_ns"]) == (11, 25 * MS, 5 * MS)
    assert outlier["start_ns"] == LATE + 160 * MS
    assert outlier["longer"]["group"] == "compute" and outlier["longer"]["ns"] == 22 * MS
    assert [each["tid"] for each in outlier["longer"]["threads"]] == [2]
    assert found["outliers_cost_ns"] == 20 * MS
    (finding,) = findings
    assert finding["kind"] == "outlier_iterations" and finding["tid"] == 2
    assert "number 12" in finding["text"] and "rank 1: +22" in finding["text"]
    assert "number 12 at 160.0 ms" in " ".join(reported(tmp_path, text).split())
    assert "12 160.0 ms 25.00 ms 5.000 ms rank 1: +22.00 ms outside of calls" in " ".join(
        reported(tmp_path, text, "--section", "phases").split())


@pytest.mark.parametrize("waits", [False, True])
def test_each_twelfth_is_longer(tmp_path, waits):
    """That is how the program is made. And who waits then is not to blame."""
    def receive(tid, at):
        turn = turns[tid] = turns[tid] + 1
        return call(tid, at, at + 20 * MS, "MPI_Recv", source=0, tag=0, **{"comm.id": 0}) \
            if waits and tid == 2 and turn % 12 == 5 else ""

    turns = [0, 0, 0]
    works = [(4 * MS, 24 * MS if turn % 12 == 4 else 2 * MS) for turn in range(120)]
    text, _ = job(works, also=receive)
    (found,), findings = phases(tmp_path, text)
    assert len(found["outliers"]) == 10 and found["outliers_period"] == 12
    (finding,) = findings
    assert "10 of 119 iterations" in finding["text"] and "10 of them every 12 iterations, as if" in finding["text"]
    assert finding["culprits"] == ([] if waits else [{**finding["culprits"][0], "tid": 2}]), finding
    works[40], works[41] = works[41], works[40]
    (found,), _ = phases(tmp_path, job(works)[0])
    assert found["outliers_period"] == 12, "nearly all of them"
    (found,), _ = phases(tmp_path, job([(4 * MS, 24 * MS if turn in (7, 15, 40, 41, 60, 77, 91) else 2 * MS)
                                        for turn in range(120)])[0])
    assert len(found["outliers"]) == 7 and found["outliers_period"] is None


@pytest.mark.parametrize("queued, kind", [(0, "outlier_iterations"), (10, "outlier_iterations"), (18, "starved")])
def test_no_processor_in_a_burst(tmp_path, queued, kind):
    """Too little of its life to be starved, and all of what the one iteration is longer."""
    works = [(4 * MS, 2 * MS, 3 * MS)] * 50
    works[12] = (4 * MS, 24 * MS, 3 * MS)
    text, _ = job(works)
    text += f"queue 2 {100 * MS} {250 * MS} {queued * MS} {50 * MS}\n"
    text += f"queue 2 {250 * MS} {300 * MS} {30 * MS} {50 * MS}\n"
    _, findings = phases(tmp_path, text)
    assert [finding["kind"] for finding in findings] == [kind]
    if kind == "starved":
        finding, = findings
        assert [victim["rank"] for victim in finding["victims"]] == [1] and not finding["culprits"]
        assert "while rank 1 could run and had no CPU, in bursts: number 12" in finding["text"]


@pytest.mark.parametrize("queued, kind", [((18, 0, 0), "outlier_iterations"), ((18, 16, 20), "starved")])
def test_where_all_work_longer_all_must_have_had_no_processor(tmp_path, queued, kind):
    works = [(4 * MS, 2 * MS, 3 * MS)] * 50
    works[12] = (24 * MS, 22 * MS, 23 * MS)
    text, _ = job(works)
    text += "".join(f"queue {tid} {100 * MS} {250 * MS} {each * MS} {50 * MS}\n" for tid, each in enumerate(queued, 1))
    _, findings = phases(tmp_path, text)
    assert [finding["kind"] for finding in findings] == [kind]


def test_slower_from_some_time_on(tmp_path):
    works = [(4 * MS, 4 * MS)] * 30 + [(4 * MS, 9 * MS)] * 30
    (found,), findings = phases(tmp_path, job(works)[0])
    _, quick, slow, _ = found["phases"]
    assert (quick["iterations"], quick["mean_ns"], slow["iterations"], slow["mean_ns"]) == (29, 5 * MS, 30, 10 * MS)
    assert slow["first"] == 29 and slow["from_ns"] == LATE + 250 * MS and slow["chance"] < 1e-3
    assert (slow["longer"]["group"], slow["longer"]["ns"]) == ("compute", 5 * MS)
    assert [each["tid"] for each in slow["longer"]["threads"]] == [2]
    assert [finding["kind"] for finding in findings] == ["slowdown"] and findings[0]["tid"] == 2
    assert found["outliers"] == []


def test_slower_for_a_while(tmp_path):
    works = [(4 * MS, 2 * MS)] * 30 + [(8 * MS, 2 * MS)] * 20 + [(4 * MS, 2 * MS)] * 30
    (found,), findings = phases(tmp_path, job(works)[0])
    assert [part["iterations"] for part in found["phases"][1:-1]] == [29, 20, 30]
    assert [finding["kind"] for finding in findings] == ["slowdown"] and findings[0]["tid"] == 1


def test_faster(tmp_path):
    """A change, but nothing is wrong."""
    (found,), findings = phases(tmp_path, job([(9 * MS, 9 * MS)] * 20 + [(4 * MS, 4 * MS)] * 30)[0])
    assert [part["iterations"] for part in found["phases"][1:-1]] == [19, 30] and findings == []


def test_a_little_faster(tmp_path):
    """Certainly, but not worth a word."""
    (found,), _ = phases(tmp_path, job([(5_000_000, MS)] * 40 + [(5_400_000, MS)] * 40)[0])
    assert [part["iterations"] for part in found["phases"][1:-1]] == [79]


def chances(count):
    state = 1
    for _ in range(count):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        yield (state >> 33) % 1000 / 1000


def test_times_that_vary_much(tmp_path):
    """What is twice the median is not out of line where times differ by as much."""
    works = [(10 * MS if k % 13 == 7 else int((2 + 4 * chance) * MS), MS) for k, chance in enumerate(chances(200))]
    (found,), findings = phases(tmp_path, job(works)[0])
    assert found["outliers"] == [] and found["max_ns"] > 2 * found["phases"][1]["median_ns"] and findings == []


def test_times_that_vary(tmp_path):
    """By chance, and evenly: no outlier, no change."""
    works = [(int((4 + 3 * chance) * MS), 2 * MS) for chance in chances(200)]
    (found,), findings = phases(tmp_path, job(works)[0])
    assert found["iterations"] == 199 and found["outliers"] == [] and findings == []
    assert len(found["phases"]) == 3 and 0.05 < found["variation"] < 0.3


def test_without_iterations(tmp_path):
    text = in_order(ranks(2) + "".join(
        barrier(tid, 100 * MS + k * k * 7 * MS, 101 * MS + k * k * 7 * MS, symbol) for tid in (1, 2)
        for k, symbol in enumerate(["MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Barrier", "MPI_Alltoall"])))
    assert phases(tmp_path, text) == ([], [])
    assert "no iterations found" in reported(tmp_path, text, "--section", "phases")
    assert "Phases" not in reported(tmp_path, text)


def test_functions_of_the_program(tmp_path):
    """What the program tells goes before meetings, and the outermost of it."""
    text = ranks(1)
    for step in range(12):
        at = 100 * MS + step * 20 * MS
        for k in range(3):
            text += call(1, at + k * 5 * MS, at + k * 5 * MS + 2 * MS, "other", depth=1)
        text += barrier(1, at + 16 * MS, at + 17 * MS).strip() + " depth=1\n" + call(1, at, at + 18 * MS, "work")
    (found,), _ = phases(tmp_path, text)
    assert (found["name"], found["kind"], found["iterations"]) == ("GASP_PROGRAM_WORK", "program", 12)
    assert found["max_ns"] == 20 * MS and found["min_ns"] == 18 * MS
    before, steady, _ = found["phases"]
    assert before["to_ns"] == LATE + 100 * MS and steady["to_ns"] == LATE + 338 * MS
    assert steady["group_ns"]["wait"] == 12 * MS and before["group_ns"]["other"] == 10


def test_an_inner_loop(tmp_path):
    """The solver's reductions come more often, but not all of what is between them is alike."""
    text = ranks(2)
    for step in range(10):
        for tid in (1, 2):
            at = 100 * MS + step * 50 * MS
            for k in range(8):
                text += barrier(tid, at + k * 5 * MS, at + k * 5 * MS + MS, "MPI_Allreduce")
            text += barrier(tid, at + 48 * MS, at + 49 * MS)
    (found,), _ = phases(tmp_path, in_order(text))
    assert (found["name"], found["iterations"], found["mean_ns"]) == ("GASP_MPI_BARRIER", 9, 50 * MS)


def test_messages_alone(tmp_path):
    text = ranks(2)
    for step in range(10):
        at = 100 * MS + step * 10 * MS
        text += call(1, at + 3 * MS, at + 4 * MS, "MPI_Recv", source=1, tag=0, **{"comm.id": 0})
        text += call(2, at, at + MS, "MPI_Send", dest=0, tag=0, **{"comm.id": 0})
    (found,), _ = phases(tmp_path, in_order(text))
    assert (found["kind"], found["iterations"], len(found["threads"])) == ("message", 9, 1)


def test_what_comes_before(tmp_path):
    """The same meeting long before the loop, and long after it: no iterations, and not in their time."""
    text, end = rounds([(4 * MS, 2 * MS)] * 20)
    more = "".join(barrier(tid, 20 * MS, 21 * MS) + barrier(tid, 40 * MS, 41 * MS, "MPI_Allgather")
                   + barrier(tid, end + 80 * MS, end + 81 * MS, "MPI_Allgather")
                   + barrier(tid, end + 90 * MS, end + 91 * MS) for tid in (1, 2))
    (found,), findings = phases(tmp_path, in_order(ranks(2) + text + more))
    assert (found["iterations"], found["max_ns"]) == (19, 5 * MS) and findings == []
    assert found["phases"][1]["from_ns"] == LATE + 105 * MS and found["phases"][1]["to_ns"] == LATE + 200 * MS


def test_joined_in_the_middle(tmp_path):
    """One rank's first meeting was not seen: the iterations of all are numbered from the first that all have."""
    works = [(4 * MS, 2 * MS)] * 20
    works[7] = (4 * MS, 44 * MS)
    text, _ = rounds(works)
    lines = text.splitlines(keepends=True)
    first = next(line for line in lines if line.startswith("call 2 "))
    (found,), _ = phases(tmp_path, in_order(ranks(2, init=False) + "".join(line for line in lines if line != first)))
    assert found["by_job"] and found["iterations"] == 18
    assert [(each["tid"], each["skipped"]) for each in found["threads"]] == [(1, 1), (2, 0)]
    (outlier,) = found["outliers"]
    assert (outlier["number"], outlier["lasted_ns"], outlier["longer"]["ns"]) == (5, 45 * MS, 42 * MS)


def test_lost_calls(tmp_path):
    """Iterations with lost calls are not counted, nothing is out of line for that, and it is said."""
    text, _ = rounds([(4 * MS, 4 * MS)] * 40)
    lines = in_order(ranks(2) + text).splitlines(keepends=True)
    of_two = [k for k, line in enumerate(lines) if line.startswith("call 2 ")]
    lines[of_two[20]] = "lost 2 1\n"
    found, findings = phases(tmp_path, "".join(lines))
    assert all(not each["by_job"] and not each["outliers"] for each in found) and findings == []
    assert {each["threads"][0]["tid"]: (each["iterations"], each["broken"]) for each in found} == {
        1: (39, 0), 2: (37, 1)}
    said = " ".join(reported(tmp_path, "".join(lines), "--section", "phases").split())
    assert "calls were lost: iterations with them are not counted" in said


def test_more_iterations_than_are_kept(tmp_path):
    """Of thousands, figures are exact, and the longest are found."""
    works = [(40_000, 20_000)] * 3000
    works[1701] = (40_000, 9 * MS)
    (found,), findings = phases(tmp_path, job(works, wait=10_000, start=MS, after=0)[0])
    assert (found["iterations"], found["min_ns"], found["max_ns"]) == (2999, 50_000, 9 * MS + 10_000)
    (outlier,) = found["outliers"]
    assert (outlier["number"], outlier["lasted_ns"]) == (1700, 9 * MS + 10_000)
    assert [each["tid"] for each in outlier["longer"]["threads"]] == [2]
    assert [finding["kind"] for finding in findings] == ["outlier_iterations"]


def test_a_long_start_and_end(tmp_path):
    """A short loop between a long MPI_Init and a long MPI_Finalize."""
    text, end = rounds([(4 * MS, 2 * MS)] * 20, start=910 * MS)
    around = "".join(f"process {rank + 1} {rank}\n" + call(rank + 1, 0, 900 * MS, "MPI_Init")
                     + call(rank + 1, end + MS, end + 801 * MS, "MPI_Finalize") for rank in range(2))
    (found,), _ = phases(tmp_path, in_order(around + text))
    before, steady, after = found["phases"]
    assert found["iterations"] == 19 and found["beginning_seen"] and found["end_seen"]
    assert [part["group_ns"]["other"] for part in (before, steady, after)] == [1800 * MS, 0, 1600 * MS]


def test_noise(tmp_path):
    """Outliers of a few milliseconds may be the system's: they are told, but are no finding."""
    works = [(400_000, 200_000)] * 60
    works[20] = works[40] = (400_000, 4 * MS)
    (found,), findings = phases(tmp_path, job(works)[0])
    assert [each["number"] for each in found["outliers"]] == [19, 39] and findings == []


def test_nested_functions(tmp_path):
    """The outer one, though both come once in each iteration, and a meeting is in some only, behind the inner one."""
    text = ranks(1)
    for step in range(20):
        at = 100 * MS + step * 20 * MS
        text += call(1, at + MS, at + 2 * MS, "other", depth=1)
        if step % 4 == 3:
            text += barrier(1, at + 3 * MS, at + 15 * MS).strip() + " depth=1\n"
        text += call(1, at, at + 16 * MS, "work")
    (found,), _ = phases(tmp_path, text)
    assert (found["name"], found["iterations"], found["other_calls"]) == ("GASP_PROGRAM_WORK", 19, 4)
    assert found["min_ns"] == found["max_ns"] == 20 * MS


def test_nested_functions_joined_in_the_middle(tmp_path):
    """One more of the inner one was seen, since the first outer one had begun before."""
    text = ranks(1) + call(1, 81 * MS, 82 * MS, "other", depth=1)
    for step in range(400):
        at = 100 * MS + step * 20 * MS
        text += call(1, at + MS, at + 2 * MS, "other", depth=1) + call(1, at, at + 16 * MS, "work")
    (found,), _ = phases(tmp_path, text)
    assert found["name"] == "GASP_PROGRAM_WORK" and found["iterations"] >= 398


def test_whose_fault_it_is_not(tmp_path):
    """Nobody worked longer: what has grown is told, whatever it is."""
    text, _ = rounds([(4 * MS, 4 * MS)] * 12)
    more, _ = rounds([(4 * MS, 4 * MS)] * 12, start=100 * MS + 12 * 5 * MS + 30 * MS)
    held = barrier(1, 164 * MS, 190 * MS) + barrier(2, 164 * MS, 190 * MS)
    (found,), _ = phases(tmp_path, in_order(ranks(2) + text + held + more))
    (outlier,) = found["outliers"]
    assert outlier["lasted_ns"] == 30 * MS
    assert (outlier["longer"]["group"], outlier["longer"]["ns"]) == ("barrier", 25 * MS)
    assert len(outlier["longer"]["threads"]) == 2


def test_iterations_that_overlap(tmp_path):
    """As a program's with several stacks in one thread: no moment of theirs is saved twice, and each is saved once."""
    text = ranks(2)
    for start in (100, 400):
        text += "".join(call(1, (start + 4 * k) * MS, (start + 4 * k + 4) * MS - 1, "work") for k in range(20))
    nested = (180, 380), (190, 220), (230, 260), (270, 300)
    text += "".join(call(1, start * MS, end * MS, "work") for start, end in nested)
    text += barrier(1, 490 * MS, 500 * MS) + barrier(2, MS, 500 * MS)
    (found,), (finding,) = phases(tmp_path, in_order(text))
    assert [((each["start_ns"] - LATE) // MS, each["lasted_ns"] // MS) for each in found["outliers"]] \
        == [(180, 220), (190, 40), (230, 40), (176, 14)]
    # The one that began first has its 14 ms, of which 10 are too long; of the next 210 it is 216 of 220.
    assert abs(finding["gain_ns"] - (10 + 210 * 216 / 220) * MS) <= 10
