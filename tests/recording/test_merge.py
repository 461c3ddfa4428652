# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf merge: what several recordings say is what the merged one says, and nothing of it twice."""
import json
import re
import signal
import subprocess

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

SECOND = 10**9


def merge(path, *recordings, options=(), expect=0):
    result = gaspbpf.run("merge", *recordings, *options, "-o", path)
    assert result.returncode == expect, result.stderr
    return path if not expect else result.stderr


def report(path):
    result = gaspbpf.run("report", "--json", path)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def node(number, ranks, more="", boot=None, tids=100):
    """The pids are the same on each node."""
    text = f"host n{number}\nboot {boot or f'boot-{number}'}\n"
    text += "".join(f"process {tids + i} {rank}\n" for i, rank in enumerate(ranks))
    text += "".join(f"comm {tids + i} 0x77 0 0 0 1 2 3\n" for i in range(len(ranks)))
    for i, rank in enumerate(ranks):
        start = 100 * (rank + 1)
        text += composed.call(tids + i, start, start + 50 + rank, "MPI_Init", site=f"main.c:{10 + rank}@0x5000")
        text += composed.call(tids + i, 10000, 20000 + number, "MPI_Barrier", **{"comm.id": 0, "comm.rank": rank})
    return text + more + f"end {SECOND}\n"


def two_nodes(tmp_path, **same):
    first = composed.compose(tmp_path / "n1.gasp", node(1, [0, 1], "lost 100 3\n", **same))
    more = "realtime 7000000\nsum 101 MPI_Send 1 2 3 2 2000 900 1100 2 64\ncontrol 101 500 0\n" \
           "window 100 5 50 fork mpi\ntext 100 0x1234 a name\nscheduled 101 1000 600 50 2 1\n"
    second = composed.compose(tmp_path / "n2.gasp", node(2, [2, 3], more, **same))
    return first, second


def sums_of(reports, *keys):
    """By event: these, over all of the reports."""
    result = {}
    for one in reports:
        for event in one["events"]:
            row = result.setdefault(event["name"], dict.fromkeys(keys, 0))
            for key in keys:
                row[key] += event.get(key) or 0
    return result


def test_all_counts_are_the_sums(tmp_path):
    parts = two_nodes(tmp_path)
    whole = report(merge(tmp_path / "run.gasp", *parts))
    keys = "calls", "total_ns", "self_ns", "lost", "summed", "skipped", "bytes"
    reports = [report(part) for part in parts]
    assert sums_of([whole], *keys) == sums_of(reports, *keys)
    assert sums_of([whole], "calls")["GASP_MPI_BARRIER"]["calls"] == 4
    for key, value in whole["loss"].items():
        if isinstance(value, int):
            assert value == sum(one["loss"][key] for one in reports), key
    assert whole["loss"]["lost"] == 4
    for key in "processes", "threads":
        assert len(whole[key]) == sum(len(one[key]) for one in reports) == 4
    assert len(whole["blind_windows"]) == 1 and len(whole["controls"]) == 1


def test_same_numbers_stay_apart(tmp_path):
    whole = report(merge(tmp_path / "run.gasp", *two_nodes(tmp_path)))
    assert [(p["pid"], p["rank"]) for p in whole["processes"]] == [(100, 0), (101, 1), (100, 2), (101, 3)]
    assert len({event["name"] for event in whole["events"]}) == len(whole["events"])


@pytest.mark.parametrize("boot", ["the same", None], ids=["boot id", "host and realtime"])
def test_times_of_one_machine_are_untouched(tmp_path, boot):
    parts = two_nodes(tmp_path, boot="b")
    if boot is None:
        for part in parts:
            part.unlink()
        texts = [re.sub("boot .*", "", re.sub("host .*", "host n", node(number, ranks)))
                 for number, ranks in ((1, [0, 1]), (2, [2, 3]))]
        parts = [composed.compose(tmp_path / f"n{i}.gasp", text) for i, text in enumerate(texts)]
    events = "".join(sorted(exported(part) for part in parts))
    assert sorted(exported(merge(tmp_path / "run.gasp", *parts)).splitlines()) == sorted(events.splitlines())


def exported(path):
    listed = path.with_suffix(".events")
    result = gaspbpf.run("export", path, "-o", listed)
    assert result.returncode == 0, result.stderr
    return "".join(line + "\n" for line in listed.read_text().splitlines() if not line.startswith("#"))


def test_one_recording_is_itself(tmp_path):
    first, _ = two_nodes(tmp_path)
    again = merge(tmp_path / "run.gasp", first)
    assert exported(again) == exported(first)
    one, two = report(first), report(again)
    for key in one:
        if key not in ("recording", "nodes"):
            assert one[key] == two[key], key


def test_merged_ones_may_be_merged(tmp_path):
    parts = two_nodes(tmp_path)
    third = composed.compose(tmp_path / "n3.gasp", node(3, [4, 5]))
    at_once = merge(tmp_path / "once.gasp", *parts, third)
    in_turn = merge(tmp_path / "turn.gasp", merge(tmp_path / "two.gasp", *parts), third)
    assert exported(in_turn) == exported(at_once)


def test_two_of_one_machine_that_were_merged_before(tmp_path):
    parts = two_nodes(tmp_path, boot="b")
    third = composed.compose(tmp_path / "n3.gasp", node(3, [4, 5]))
    at_once = merge(tmp_path / "once.gasp", third, *parts)
    in_turn = merge(tmp_path / "turn.gasp", third, merge(tmp_path / "two.gasp", *parts))
    for path in at_once, in_turn:
        assert [node["clock"] for node in report(path)["nodes"]] == [0, 1, 1]


def test_only_sums(tmp_path):
    def sums(number, ranks):
        text = f"host n{number}\nboot b{number}\n"
        text += "".join(f"process {100 + i} {rank}\n" for i, rank in enumerate(ranks))
        text += "only_sums\n" + "".join(f"launch {100 + i} job 4711\n" for i in range(len(ranks)))
        text += "".join(f"sum {100 + i} MPI_Barrier 0 {10 + rank} {rank} {10 + rank} {(10 + rank) * 1000 * number} 500 "
                        f"{9000 + rank}\n" for i, rank in enumerate(ranks))
        return composed.compose(tmp_path / f"n{number}.gasp", text + f"end {SECOND}\n")

    parts = [sums(1, [0, 1]), sums(2, [2, 3])]
    whole = report(merge(tmp_path / "run.gasp", *parts))
    keys = "calls", "total_ns", "summed", "skipped", "timed", "estimated_total_ns"
    assert sums_of([whole], *keys[:-1]) == sums_of([report(part) for part in parts], *keys[:-1])
    event, = whole["events"]
    assert event["calls"] == 10 + 11 + 12 + 13 + 6 and event["total_ns"] == (10 + 11) * 1000 + (12 + 13) * 2000
    assert event["max_ns"] == 9003 and sum(count for _, count in event["histogram_ns"]) == 46
    assert whole["recording"]["only_sums"] is True
    (tmp_path / "calls").mkdir()
    calls, _ = two_nodes(tmp_path / "calls")
    assert "only sums" in merge(tmp_path / "no.gasp", calls, parts[1], expect=1)
    assert not (tmp_path / "no.gasp").exists()


@pytest.mark.parametrize("launches, jobs", [
    (["job 4711, launcher 7", "job 4711, launcher 9"], ["job 4711", "job 4711"]),
    (["launcher 7", "launcher 7"], ["launcher 7 on n1", "launcher 7 on n2"])], ids=["of a name", "of none"])
def test_jobs_of_several_nodes(tmp_path, launches, jobs):
    """A launcher's pid says nothing on another node."""
    parts = [composed.compose(tmp_path / f"n{i + 1}.gasp", f"host n{i + 1}\nboot {i}\nprocess 100 {i}\nonly_sums\n"
                              f"launch 100 {launch}\nsum 100 MPI_Barrier 0 1 0\nend {SECOND}\n")
             for i, launch in enumerate(launches)]
    whole = report(merge(tmp_path / "run.gasp", *parts))
    assert [process["job"] for process in whole["processes"]] == jobs
    assert [process["job"] for process in report(merge(tmp_path / "one.gasp", parts[0]))["processes"]] == launches[:1]


def test_what_it_refuses(tmp_path):
    first, second = two_nodes(tmp_path)
    before = second.read_bytes()
    assert "twice" in merge(tmp_path / "run.gasp", first, first, expect=1)
    assert "where the result would go" in merge(second, first, second, expect=1)
    assert second.read_bytes() == before
    (tmp_path / "text.gasp").write_text("no recording")
    assert "not a gaspbpf recording" in merge(tmp_path / "run.gasp", first, tmp_path / "text.gasp", expect=1)
    assert "No such file" in merge(tmp_path / "run.gasp", first, tmp_path / "none.gasp", expect=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n1.gasp", "n2.gasp", "text.gasp"]
    assert gaspbpf.run("merge", first).returncode == gaspbpf.run("merge", "-o", "x.gasp").returncode == 2


def test_times_before_the_boot_of_the_reference(tmp_path):
    """There are none: 3 hours before is before the reference's clock began."""
    first, second = two_nodes(tmp_path)
    old = composed.compose(tmp_path / "old.gasp", f"host old\nrealtime {-3 * 3600 * SECOND}\nprocess 1 0\nend 10\n")
    assert "name the earliest first" in merge(tmp_path / "run.gasp", first, second, old, expect=1)
    assert len(report(merge(tmp_path / "run.gasp", old, first, second))["processes"]) == 5


def test_a_cut_one_is_merged_as_far_as_it_goes(tmp_path):
    first, second = two_nodes(tmp_path)
    second.write_bytes(second.read_bytes()[:-300])
    result = gaspbpf.run("merge", first, second, "-o", tmp_path / "run.gasp")
    assert result.returncode == 0 and "damaged" in result.stderr
    whole, parts = report(tmp_path / "run.gasp"), [report(first), report(second)]
    assert sums_of([whole], "calls") == sums_of(parts, "calls")


def test_more_than_there_may_be_open_files(tmp_path):
    parts = [composed.compose(tmp_path / f"n{i}.gasp", node(i, [i])) for i in range(40)]
    result = subprocess.run(f"ulimit -n 16; {gaspbpf.PROGRAM} merge {tmp_path}/n*.gasp -o {tmp_path}/run.gasp",
                            shell=True, capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert result.returncode == 0, result.stderr
    assert len(report(tmp_path / "run.gasp")["processes"]) == len(parts)


def test_interrupted_it_leaves_nothing(tmp_path):
    """^C comes before anything is read: the signal waits while the command begins."""
    first, second = two_nodes(tmp_path)
    (tmp_path / "run.gasp").write_text("as it was")
    process = subprocess.Popen([gaspbpf.PROGRAM, "merge", first, second, "-o", tmp_path / "run.gasp"],
                               stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: (signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]),
                                                   signal.raise_signal(signal.SIGINT)))
    _, said = process.communicate(timeout=gaspbpf.PATIENCE)
    assert process.returncode == 130 and "interrupted" in said
    assert (tmp_path / "run.gasp").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n1.gasp", "n2.gasp", "run.gasp"]
