# SPDX-License-Identifier: BSD-2-Clause
"""Barriers in two halves: what is done between them is overlapped; where nothing is, that is said."""
import pytest

from composed import call
from waits import report

pytestmark = pytest.mark.files


def rounds(between, count=20, late=3000):
    """Two UPC threads; the second comes late to each first half; the first one works so long between its own two."""
    text, at = "process 1 0\nprocess 2 1\n", 1000
    for _ in range(count):
        end = at + late + 100
        text += call(1, at, at + 10, "__upc_notify", expr=1, site="split.c:10")
        text += call(1, at + 10 + between, max(end, at + 10 + between) + 5, "__upc_wait", expr=1, site="split.c:12")
        text += call(2, at + late, at + late + 10, "__upc_notify", expr=1, site="split.c:10")
        text += call(2, at + late + 20, end, "__upc_wait", expr=1, site="split.c:12")
        at = end + 200 + between
    return text + f"end {at}\n"


def wasted(seen):
    return [finding for finding in seen["findings"] if finding["kind"] == "split_phase_wasted"]


def test_nothing_between(tmp_path):
    seen = report(tmp_path, rounds(0))
    place, = seen["wait_states"]["split_phase"]
    assert "split.c:12" in place["place"] and place["event"] == "GASP_UPC_WAIT"
    assert (place["waits"], place["without_overlap"]) == (40, 20)
    assert place["waits_ns"] == 20 * (3095 + 80) and place["hidden_at_most_ns"] == 20 * 3095
    finding, = wasted(seen)
    assert "20 of 40 waits" in finding["text"] and "split.c:12" in finding["text"] and "at most" in finding["text"]


@pytest.mark.parametrize("between", [100, 3000])
def test_something_between(tmp_path, between):
    seen = report(tmp_path, rounds(between))
    assert wasted(seen) == [] and seen["wait_states"]["split_phase"][0]["without_overlap"] == 0
