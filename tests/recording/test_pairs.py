# SPDX-License-Identifier: BSD-2-Clause
"""Waits that name ranks which wait for the caller in their turn (`sync images`): recordings in which each answer can be
read off. Times are ns; thread n is image n.
"""
import pytest

from composed import call
from waits import report

pytestmark = pytest.mark.files

MS = 1_000_000


def images(count):
    return "".join(f"process {image} {image}\n" for image in range(1, count + 1))


def sync(tid, start, end, *with_whom):
    """`sync images(*)` where nobody is named."""
    some = {f"images.{number}": image for number, image in enumerate(with_whom[:8])}
    return call(tid, start, end, "_gfortran_caf_sync_images", count=len(with_whom) or -1, **some)


def sync_all(tid, start, end):
    return call(tid, start, end, "_gfortran_caf_sync_all")


def waits(seen):
    """{(who, for whom): ns}"""
    return {(pair["waiting"]["tid"], pair["for"]["tid"]): pair["waited_ns"] for pair in seen["wait_states"]["pairs"]}


def test_who_comes_first_waits(tmp_path):
    seen = report(tmp_path, images(3) + sync(1, 100, 310, 2) + sync(1, 400, 410, 2) + sync(2, 300, 305, 1)
                  + sync(2, 350, 405, 1) + sync(3, 100, 101, 3))
    assert waits(seen) == {(1, 2): 200, (2, 1): 50}
    assert {pair["state"] for pair in seen["wait_states"]["pairs"]} == {"wait_at_barrier"}
    assert not seen["meetings"] and not seen["communication"]["pairs"]


def test_the_last_of_those_that_are_named(tmp_path):
    """Image 2 meets 1 and 3. These do not meet: 1 goes on as soon as 2 has come."""
    seen = report(tmp_path, images(3) + sync(1, 100, 205, 2) + sync(2, 200, 410, 1, 3) + sync(3, 400, 405, 2))
    assert waits(seen) == {(1, 2): 100, (2, 3): 200}


def test_all_images(tmp_path):
    """`sync images(*)` of image 1 is what each of the others meets alone."""
    seen = report(tmp_path, images(3) + sync(1, 100, 510) + sync(2, 200, 210, 1) + sync(3, 500, 505, 1))
    assert waits(seen) == {(1, 3): 400}


def test_the_order_of_each_pair_counts(tmp_path):
    """The first of image 2 is for 3, the second for 1: calls are put together pair by pair."""
    seen = report(tmp_path, images(3) + sync(1, 100, 305, 2) + sync(2, 150, 205, 3) + sync(2, 300, 306, 1)
                  + sync(3, 200, 204, 2))
    assert waits(seen) == {(1, 2): 200, (2, 3): 50}


def test_who_is_seen_from_later_on(tmp_path):
    """Image 2 is joined after two of their meetings: what of image 1 was over by then met what nobody saw."""
    text = images(2) + sync(1, 100, 110, 2) + sync(1, 200, 210, 2)
    for at in (1000, 2000, 3000):
        text += sync(1, at, at + 110, 2) + sync(2, at + 100, at + 105, 1)
    text += sync(1, 4100, 4105, 2) + sync(2, 4000, 4110, 1)
    assert waits(report(tmp_path, text)) == {(1, 2): 300, (2, 1): 100}


def test_more_than_a_call_carries(tmp_path):
    """Image 1 has met 10 alone; then it names ten, of which eight are known; and after that it meets 10 again, with
    which it is in step all the same."""
    text = images(11) + sync(1, 10, 20, 10) + sync(10, 15, 21, 1) + sync(1, 100, 1110, *range(2, 12))
    text += "".join(sync(tid, 200 + tid * 100, 1105, 1) for tid in range(2, 10))
    text += sync(10, 50, 1108, 1) + sync(10, 2000, 2005, 1) + sync(11, 1100, 1109, 1)
    text += sync(1, 1500, 2010, 10)
    assert waits(report(tmp_path, text)) == {(1, 9): 1000, (1, 10): 505}


def test_what_a_chain_costs_is_known(tmp_path):
    """Three images work one after the other, 10 ms each, and two of them 1 ms more after that: all meet after 30 ms,
    and an ideal network makes nothing of it shorter."""
    text = images(3)
    for step in range(40):
        at = 1000 + step * 30 * MS
        text += sync(1, at + 10 * MS, at + 10 * MS + 10, 2) + sync(2, at, at + 10 * MS + 20, 1)
        text += sync(2, at + 20 * MS, at + 20 * MS + 10, 3) + sync(3, at, at + 20 * MS + 20, 2)
        text += "".join(sync_all(tid, at + since * MS, at + 30 * MS)
                        for tid, since in ((1, 11), (2, 21), (3, 30)))
    efficiency = report(tmp_path, text)["efficiency"]
    assert efficiency["serialisation"] == pytest.approx(11 / 30, abs=0.001)
    assert efficiency["transfer"] == pytest.approx(1, abs=0.001)


def test_both_know_that_they_have_met(tmp_path):
    """They met at 1 ms. What image 2 does from there on lets image 1 wait, not what it did before: 2 ms of the wait's
    4 ms fall into the first half of what 2 has done since then, and 2 ms into the second."""
    text = images(2) + sync(1, 999_900, MS, 2) + sync(2, 999_900, MS, 1)
    text += call(2, 5 * MS, 5 * MS + 10, "_gfortran_caf_sync_memory")
    text += sync(1, 5 * MS, 9 * MS + 100, 2) + sync(2, 9 * MS, 9 * MS + 50, 1)
    direct = {cause["after"]["event"]: cause["direct_ns"] for cause in report(tmp_path, text)["delays"]["causes"]
              if cause["does"] == "outside"}
    assert direct["GASP_CAF_SYNC_IMAGES"] == pytest.approx(2 * MS, rel=0.01)
    assert direct["GASP_CAF_SYNC_MEMORY"] == pytest.approx(2 * MS, rel=0.01)
