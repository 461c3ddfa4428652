# SPDX-License-Identifier: BSD-2-Clause
"""A runtime that is built upon another one: its calls of that come from a place in a library. What the program itself
has called there is told beside it.
"""
import pytest

from composed import call
from waits import report

pytestmark = pytest.mark.files

MS = 1_000_000
STEPS = 40
INSIDE = "inside of GASP_CAF_SYNC_ALL"


def hot(tmp_path, text):
    seen = report(tmp_path, "process 1 1\nprocess 2 2\n" + text)
    finding = next(one for one in seen["findings"] if one["kind"] == "hot_event")
    assert finding["event"] == "GASP_MPI_BARRIER"
    return finding["text"]


def barrier(tid, start, end, depth, site="caf.c:7"):
    return call(tid, start, end, "MPI_Barrier", depth=depth, site=site, **{"comm.id": 0, "comm.rank": tid - 1})


def sync_all(tid, start, line, around="_gfortran_caf_sync_all"):
    """Of 5 ms, nearly all of it in a barrier of MPI, in the library that has coarrays."""
    return barrier(tid, start + 1000, start + 5 * MS, 1) + call(tid, start, start + 5 * MS + 1000, around,
                                                              site=f"a.f90:{line}")


def steps(*lines, **other):
    return "".join(sync_all(tid, 1000 + step * 10 * MS, lines[step % len(lines)], **other)
                   for step in range(STEPS) for tid in (1, 2))


def test_the_line_of_the_program(tmp_path):
    assert f"called from caf.c:7 in work, {INSIDE} (a.f90:10 in work)" in hot(tmp_path, steps(10))


def test_most_of_them_at_one_line(tmp_path):
    text = steps(10) + "".join(sync_all(tid, 1000 + STEPS * 10 * MS, 20) for tid in (1, 2))
    assert f"{INSIDE} (most at a.f90:10 in work)" in hot(tmp_path, text)


def test_at_several_lines(tmp_path):
    text = hot(tmp_path, steps(10, 20))
    assert INSIDE in text and "a.f90" not in text


def test_one_that_the_program_makes_itself(tmp_path):
    """From the same place, as far as anybody can see: then it is not always inside."""
    text = steps(10) + "".join(barrier(tid, 1000 + STEPS * 10 * MS, 2000 + STEPS * 10 * MS, 0) for tid in (1, 2))
    assert "inside of" not in hot(tmp_path, text)


def test_a_function_of_the_programs_is_no_runtime(tmp_path):
    assert "inside of" not in hot(tmp_path, steps(10, around="work"))


def test_iterations_are_named_by_the_program(tmp_path):
    seen = report(tmp_path, "process 1 1\nprocess 2 2\n" + steps(*[10] * 30, 10, 10) + "".join(
        sync_all(tid, 2000 * MS + step * 40 * MS, 10) for step in range(STEPS) for tid in (1, 2)))
    slower = next(one for one in seen["findings"] if one["kind"] == "slowdown")
    assert "GASP_CAF_SYNC_ALL at a.f90:10 in work" in slower["text"]


def test_it_is_seen_of_who_is_late(tmp_path):
    """Image 2 computes for 8 ms, 1 for 1 ms: 1 waits for it, in a barrier that the library makes."""
    text = "process 1 1\nprocess 2 2\n"
    for step in range(STEPS):
        at = 1000 + step * 10 * MS
        for tid, since in ((1, 1), (2, 8)):
            text += barrier(tid, at + since * MS + 100, at + 9 * MS, 1)
            text += call(tid, at + since * MS, at + 9 * MS + 100, "_gfortran_caf_sync_all", site="a.f90:10")
    first, *others = report(tmp_path, text)["findings"]
    assert first["kind"] == "delay" and first["tid"] == 2
    assert [one["event"] for one in first["seen_as"]] == ["GASP_MPI_BARRIER"]
    assert "hot_event" not in [one["kind"] for one in others]
