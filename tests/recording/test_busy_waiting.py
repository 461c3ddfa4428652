# SPDX-License-Identifier: BSD-2-Clause
"""Calls that ask whether something has come: where they take much of the time, it is told how many found nothing."""
import json

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files


def finding(path, symbol, flags):
    """Rank 0 asks once each 100 ns, which takes half of that. None: what it got is not known."""
    text = composed.ranks(2) + "".join(composed.call(1, 1000 + 100 * at, 1050 + 100 * at, symbol, **(
        {} if flag is None else {"flag": flag})) for at, flag in enumerate(flags))
    report = json.loads(gaspbpf.run("report", "--json", composed.compose(path, text)).stdout)
    one, = (each for each in report["findings"] if each["kind"] == "hot_event")
    return one["text"]


@pytest.mark.parametrize("symbol", ["MPI_Iprobe", "MPI_Test", "MPI_Testall"])
@pytest.mark.parametrize("flags, said", [
    ([0, 0, 1] * 40, "80 of 120"), ([0, 1] * 50, "50 of 100"), ([1] * 100, None), ([0] + [1] * 99, None),
    ([0] * 30 + [None] * 70, "30 of 30"), ([None] * 100, None)])
def test_how_many_found_nothing(tmp_path, symbol, flags, said):
    text = finding(tmp_path / "run.gasp", symbol, flags)
    assert (f"; {said} calls found nothing: that is waiting, by asking again and again" in text) == bool(said)
    assert ("found nothing" in text) == bool(said)


def test_a_call_that_does_not_ask_finds_nothing_either(tmp_path):
    assert "found nothing" not in finding(tmp_path / "run.gasp", "MPI_Barrier", [None] * 100)
