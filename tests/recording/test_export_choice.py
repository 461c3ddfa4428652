# SPDX-License-Identifier: BSD-2-Clause
"""A part of a recording, exported: of the same calls as all of it, those that were asked for and no other ones."""
import json
import subprocess

import pytest

import gaspbpf
from ctf_reading import Trace
from otf2_reading import Archive
from parquet_file import Table

SPANS = 80_000  # more than a chunk has: some are late


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("choice") / "all.gasp"
    subprocess.run([gaspbpf.TOP / "build" / "bench" / "generate", "mpi", path, str(SPANS), "8"], check=True,
                   capture_output=True, timeout=gaspbpf.PATIENCE)
    return path


def exported(recording, *options, status=0):
    to = recording.parent / "out.json"
    result = gaspbpf.run("export", recording, "-o", to, *options)
    assert result.returncode == status, result.stderr
    return json.loads(to.read_text()) if not status else None, result.stderr


def rows(trace):
    """What says which call it is, and when, in nanoseconds."""
    def ns(microseconds):
        return round(microseconds * 1000)
    return sorted((event["pid"], event["tid"], ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), event["name"])
                  for event in trace["traceEvents"] if event["ph"] == "X")


@pytest.fixture(scope="module")
def everything(made):
    trace, said = exported(made)
    assert not said and "notExported" not in trace
    assert len(rows(trace)) == SPANS
    return trace


def check(made, everything, options, wanted):
    trace, said = exported(made, *options)
    expected = [row for row in rows(everything) if wanted(*row)]
    assert 0 < len(expected) < SPANS
    assert rows(trace) == expected
    assert trace["notExported"] == SPANS - len(expected)
    assert said == f"gaspbpf: {len(expected):,} of {SPANS:,} calls are in it\n"
    return trace


@pytest.mark.parametrize("options, wanted", [
    (["--spans-over", "100us"], lambda start, end: end - start >= 100_000),
    (["--from", "40ms"], lambda start, end: end >= 40_000_000),
    (["--to", "40ms"], lambda start, end: start <= 40_000_000),
    (["--from", "20ms", "--to", "21ms", "--spans-over", "5us"],
     lambda start, end: end >= 20_000_000 and start <= 21_000_000 and end - start >= 5_000)])
def test_calls_by_time(made, everything, options, wanted):
    """Also those that enclose others and end much later."""
    check(made, everything, options, lambda pid, tid, start, end, name: wanted(start, end))


@pytest.mark.parametrize("ranks, pids", [("1", {1001}), ("0-1", {1000, 1001}), ("0,7", {1000}), ("1-999", {1001})])
def test_ranks(made, everything, ranks, pids):
    """Of the others there are not even empty tracks."""
    if len(pids) == 2:
        trace, said = exported(made, "--ranks", ranks)
        assert rows(trace) == rows(everything) and "notExported" not in trace
        assert said == f"gaspbpf: {SPANS:,} of {SPANS:,} calls are in it\n"
    else:
        trace = check(made, everything, ["--ranks", ranks], lambda pid, *_: pid in pids)
    assert {event["pid"] for event in trace["traceEvents"]} == pids


def test_other_formats_have_the_same_part(made, everything):
    """Also one that is written by another process."""
    to = {kind: made.parent / f"part.{kind}" for kind in ("events", "otf2", "ctf", "parquet", "paje")}
    outputs = [word for path in to.values() for word in ("-o", path)]
    assert gaspbpf.run("export", made, *outputs, "--ranks", "1", "--spans-over", "50us").returncode == 0
    expected = len([row for row in rows(everything) if row[0] == 1001 and row[3] - row[2] >= 50_000])
    assert len([line for line in to["events"].read_text().splitlines() if " START " in line]) == expected
    assert Archive(to["otf2"]).kinds()["Enter"] == expected
    assert len([event for event in Trace(to["ctf"]).events if event.kind == "entry"]) == expected
    assert len([line for line in to["paje"].read_text().splitlines() if line.startswith("5 ")]) == expected
    assert Table(to["parquet"]).rows == expected


@pytest.mark.parametrize("options, said", [
    (["--ranks", "7"], "has none of the ranks 7"),
    (["--from", "2h"], "is only "),
    (["--from", "20ms", "--to", "10ms"], "--from 20ms is later than --to 10ms"),
    (["--ranks", "3-1"], "--ranks 3-1: no list of ranks"),
    (["--ranks", "0,"], "--ranks 0,: no list of ranks"),
    (["--ranks", ""], "no list of ranks"),
    (["--spans-over", "long"], "--spans-over long: no time")])
def test_what_cannot_be(made, options, said):
    result = gaspbpf.run("export", made, "-o", made.parent / "none.json", *options)
    assert result.returncode != 0 and said in result.stderr
    assert not (made.parent / "none.json").exists()
