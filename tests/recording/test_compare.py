# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf compare: recordings of which each difference can be worked out by hand."""
import json
import os
import pty
import struct
import subprocess
import termios

import fcntl
import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files
MS = 10**6
INIT = 10  # ns: composed.ranks()


def job(path, ranks=2, work=MS, barrier=100_000, calls=4, whole=True, init=True, more="", symbol="MPI_Barrier"):
    """Ranks that work and meet, `calls` times; whole: they end with the last one."""
    text = composed.ranks(ranks, init)
    for rank in range(ranks):
        time = INIT
        for _ in range(calls):
            time += work + barrier
            text += composed.call(rank + 1, time - barrier, time, symbol, **{"comm.id": 0, "comm.rank": rank})
        if whole:
            text += f"ended {rank + 1} {time}\n"
    return composed.compose(path, text + more)


def compare(*arguments, expect=0):
    result = gaspbpf.run("compare", *arguments)
    assert result.returncode == expect, result.stderr
    return result.stderr if expect else result.stdout


def told(*arguments):
    return json.loads(compare("--json", *arguments))


def event(comparison, name):
    found, = (row for row in comparison["events"] if row["event"] == name)
    return found


def text(output):
    """Without where its lines end."""
    return " ".join(output.split())


@pytest.fixture
def pair(tmp_path):
    return job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", barrier=500_000)


# --- two runs -------------------------------------------------------------

def test_totals_of_whole_runs(pair):
    both = told(*pair)
    assert both["compared"] == "totals"
    assert (both["time"]["before"]["mean"], both["time"]["after"]["mean"]) == (4_400_010, 6_000_010)
    assert both["time"]["difference"] == 1_600_000
    row = both["events"][0]
    assert (row["event"], row["model"], row["role"], row["state"]) == ("GASP_MPI_BARRIER", "mpi", "barrier", "both")
    assert row["figures_before"] == {"calls": 8, "self_per_call_ns": 100_000, "self_ns": 800_000,
                                     "percent": pytest.approx(100 * 800_000 / 8_800_020)}
    assert row["figures_after"]["self_ns"] == row["after"]["mean"] == 4_000_000
    assert row["difference"] == 3_200_000 and row["ratio"] == 5
    wait, = (share for share in both["threads_time"] if share["name"] == "wait")
    assert wait["difference"] == pytest.approx(100 * 4_000_000 / 12_000_020 - 100 * 800_000 / 8_800_020)


def test_the_text(pair):
    output = compare(*pair)
    row, = (line for line in output.splitlines() if line.startswith("GASP_MPI_BARRIER"))
    assert row.split() == ("GASP_MPI_BARRIER 8 100.0 us -> 500.0 us 9.1% -> 33.3% 800.0 us 4.000 ms +3.200 ms "
                           "x5.00").split()
    assert "Run time: 4.400 ms -> 6.000 ms, x1.36." in output
    assert "One run each" in output and "chance:" not in output
    assert "shares" not in output


def test_one_run_each_says_nothing_of_chance(pair):
    both = told(*pair)
    rows = [both["time"], *both["events"], *both["threads_time"]]
    assert {(row["chance"], row["more_than_chance"], row["before"]["deviation"]) for row in rows} == {(None,) * 3}


def test_a_run_with_itself(pair):
    """Is what does not differ at all."""
    both = told(pair[0], pair[0])
    assert {row["difference"] for row in both["events"]} == {0}
    assert both["findings"] == []
    assert "Neither side has any." in compare(pair[0], pair[0])


def test_the_largest_difference_comes_first(tmp_path):
    more = composed.send(1, 5 * MS, 5 * MS + 300, 1) + "ended 1 5000300\n"
    files = [job(tmp_path / "a.gasp", more=more),
             job(tmp_path / "b.gasp", barrier=100_100, more=more.replace("300", "5300"))]
    names = [row["event"] for row in told(*files)["events"]]
    assert names == ["GASP_MPI_SEND", "GASP_MPI_BARRIER", "GASP_MPI_INIT"], "5000 ns, 8 x 100 ns, nothing"
    assert "... and 2 more events" in compare("--top", 1, *files)


# --- apples and pears --------------------------------------------------------

def test_parts_of_runs_are_compared_by_shares_and_rates(tmp_path):
    """Nothing differs but how long it was looked at."""
    files = job(tmp_path / "a.gasp", whole=False), job(tmp_path / "b.gasp", calls=12, whole=False)
    both = told(*files)
    assert both["compared"] == "shares"
    row = event(both, "GASP_MPI_BARRIER")
    assert row["figures_before"]["calls_per_second"] == pytest.approx(8 / 4.40001e-3)
    assert row["ratio"] == pytest.approx(1, abs=1e-5) and abs(row["difference"]) < 1e-4
    assert both["time"]["chance"] is None
    output = text(compare(*files))
    assert "not totals: not all runs were observed from start to end, and not for as long." in output
    assert "Run time" not in output and "Rate" in output


@pytest.mark.parametrize("what, seen", [({"init": False}, "not its start"), ({"whole": False}, "not its end"),
                                        ({"init": False, "whole": False}, "a part")])
def test_what_was_seen_of_a_run(tmp_path, what, seen):
    output = compare(job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", **what))
    line, = (line for line in output.splitlines() if line.startswith("Seen"))
    assert text(line) == f"Seen whole run {seen}"
    assert "not totals" in output


def test_a_job_that_gaspbpf_started(tmp_path):
    """Was seen from its start, whether or not its runtime tells when it begins."""
    files = job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", init=False, more="command gaspbpf -o b.gasp -- ./job\n")
    assert "Seen whole run whole run" in text(compare(*files))


def test_a_recording_that_was_cut(tmp_path, pair):
    (tmp_path / "cut.gasp").write_bytes(pair[1].read_bytes()[:-20])
    assert "Seen whole run cut" in text(compare(pair[0], tmp_path / "cut.gasp"))
    assert told(pair[0], tmp_path / "cut.gasp")["compared"] == "shares"


def test_other_numbers_of_ranks(tmp_path):
    files = job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", ranks=4)
    output = text(compare(*files))
    assert told(*files)["compared"] == "shares"
    assert "not totals: their numbers of ranks differ." in output
    assert "Ranks 2 4" in output and "Run time: 4.400 ms -> 4.400 ms" in output


def test_another_host(tmp_path):
    files = job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", more="host other\n")
    assert "not on the same host" in compare(*files)
    assert "not on the same host" not in compare(files[0], files[0])


def test_lost_calls_are_told_and_estimated(tmp_path):
    files = job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", more="sum 1 MPI_Barrier 0 0 8\n")
    output = compare(*files)
    assert "Up to 44.4 % of a run's calls are not on its timeline" in text(output)
    assert "~100.0 us" in output
    row = event(told(*files), "GASP_MPI_BARRIER")
    assert row["estimated"] and row["figures_after"]["calls"] == 16
    assert row["figures_after"]["self_ns"] == 1_600_000


def test_an_event_that_only_one_has(tmp_path):
    sends = composed.send(1, 5 * MS, 5 * MS + 2000, 1) + "ended 1 5002000\n"
    files = job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", more=sends)
    new, gone = event(told(*files), "GASP_MPI_SEND"), event(told(*files[::-1]), "GASP_MPI_SEND")
    assert (new["state"], new["difference"], new["before"]["mean"]) == ("new", 2000, 0)
    assert (gone["state"], gone["difference"]) == ("gone", -2000)


def test_a_runtime_that_only_one_was_observed_for(tmp_path):
    """Nobody knows whether the other one made no such calls."""
    lock = composed.call(1, 5 * MS, 5 * MS + 2000, "pthread_mutex_lock") + "ended 1 5002000\n"
    files = job(tmp_path / "a.gasp"), job(tmp_path / "b.gasp", more=lock)
    row, = (row for row in told(*files)["events"] if row["model"] == "pthread")
    assert row["before"]["mean"] is None and row["difference"] is None and row["after"]["mean"] == 2000
    assert "One side alone has calls of pthread (after)" in text(compare(*files))


# --- repeats -------------------------------------------------------------------

NOISE = 0, 1000, -2000, 500


def repeats(tmp_path, name, barrier, sign=1):
    return [job(tmp_path / f"{name}{i}.gasp", barrier=barrier + sign * noise) for i, noise in enumerate(NOISE)]


def test_a_true_difference(tmp_path):
    before, after = repeats(tmp_path, "a", 100_000), repeats(tmp_path, "b", 110_000)
    row = event(both := told(*before, "vs", *after), "GASP_MPI_BARRIER")
    assert row["difference"] == pytest.approx(8 * 10_000)
    mean = sum(NOISE) / 4
    deviation = 8 * (sum((noise - mean) ** 2 for noise in NOISE) / 3) ** 0.5
    assert row["before"]["deviation"] == pytest.approx(deviation)
    assert row["before"]["mean"] == pytest.approx(8 * (100_000 + mean))
    # t = 80000 / (deviation / sqrt(2)), 6 degrees of freedom, in closed form
    t = 80_000 / (deviation / 2 ** 0.5)
    s = t / (6 + t * t) ** 0.5
    assert row["chance"] == pytest.approx(1 - s * (1 + (1 - s * s) / 2 + 3 * (1 - s * s) ** 2 / 8))
    assert row["more_than_chance"] is True and both["time"]["more_than_chance"] is True
    assert event(both, "GASP_MPI_INIT")["more_than_chance"] is False
    output = compare(*before, "vs", *after)
    marked = [line.split()[0] for line in output.splitlines() if line.endswith("*")]
    assert "GASP_MPI_BARRIER" in marked and "GASP_MPI_INIT" not in marked
    assert "more than chance (chance: <0.1%)" in output


def test_no_true_difference(tmp_path):
    before, after = repeats(tmp_path, "a", 100_000), repeats(tmp_path, "b", 100_000, sign=-1)
    both = told(*before, "vs", *after)
    rows = [both["time"], *both["events"], *both["threads_time"]]
    assert not any(row["more_than_chance"] for row in rows)
    assert event(both, "GASP_MPI_BARRIER")["chance"] > 0.5
    output = compare(*before, "vs", *after)
    assert "No event differs by more than chance does." in output and "no more than chance does" in output
    assert not [line for line in output.splitlines() if line.endswith("*")]


def test_of_many_rows_some_differ_by_chance(tmp_path):
    """What would be more than chance by itself is not, where two were looked at."""
    before, after = repeats(tmp_path, "a", 100_000), repeats(tmp_path, "b", 102_500)
    row = event(told(*before, "vs", *after), "GASP_MPI_BARRIER")
    assert 0.025 < row["chance"] < 0.05 and row["more_than_chance"] is False


def test_repeats_of_one_side_alone(tmp_path):
    before = repeats(tmp_path, "a", 100_000)
    both = told(*before, "vs", job(tmp_path / "b.gasp"))
    assert both["time"]["before"]["runs"] == 4 and both["time"]["chance"] is None
    assert "One run on one side" in compare(*before, "vs", tmp_path / "b.gasp")


# --- findings ---------------------------------------------------------------------

def test_findings_that_are_new_gone_and_still_there(tmp_path):
    files = job(tmp_path / "a.gasp", barrier=100_000), job(tmp_path / "b.gasp", barrier=MS)
    for order, state in (files, "new"), (files[::-1], "gone"), ((files[1], files[1]), "both"):
        found, = told(*order)["findings"]
        assert (found["state"], found["kind"]) == (state, "hot_event")
        weights = [found[side]["weight_ns"] for side in ("before", "after")]
        assert weights == {"new": [0, 8 * MS], "gone": [8 * MS, 0], "both": [8 * MS, 8 * MS]}[state]
    assert "- new (50.0 % of the threads' time): GASP_MPI_BARRIER takes 50 %" in text(compare(*files))
    assert "- gone (it was 50.0 % of the threads' time): " in text(compare(*files[::-1]))
    assert "- in both (50.0 % -> 50.0 % of the threads' time): " in text(compare(files[1], files[1]))


def late(path, line, who=0, function="work"):
    """One rank comes late to each barrier, which is called from there."""
    content, time = composed.ranks(4), INIT
    for _ in range(6):
        for rank in range(4):
            start = time + (3 * MS if rank == who else 1000)
            content += composed.call(rank + 1, start, time + 3 * MS + 1000, "MPI_Barrier",
                                     site=f"job.c:{line},{function}", **{"comm.id": 0, "comm.rank": rank})
        time += 3 * MS + 1000
    return composed.compose(path, content)


def test_a_finding_stays_the_same_where_its_line_has_moved(tmp_path):
    """And is another one where somebody else is late, or elsewhere."""
    first, moved = late(tmp_path / "a.gasp", 10), late(tmp_path / "b.gasp", 12)
    other = late(tmp_path / "c.gasp", 10, who=2)
    elsewhere = late(tmp_path / "d.gasp", 10, function="solve")
    for after, states in (moved, {"both"}), (other, {"new", "gone"}), (elsewhere, {"new", "gone"}):
        found = told(first, after)["findings"]
        assert {row["state"] for row in found if row["kind"] == "delay"} == states


def test_findings_of_some_repeats(tmp_path):
    before = [job(tmp_path / f"a{i}.gasp", barrier=barrier) for i, barrier in enumerate((100_000, MS, MS))]
    found, = told(*before, "vs", *repeats(tmp_path, "b", 100_000))["findings"]
    assert (found["state"], found["before"]["runs"], found["after"]["runs"]) == ("gone", 2, 0)
    assert "(it was 33.3 % of the threads' time, in 2 of 3 runs)" in text(compare(*before, "vs", tmp_path / "b0.gasp"))


# --- scaling ----------------------------------------------------------------------

def series(tmp_path, **more):
    """4 ms of work by 1, 2 and 4 ranks; barriers that take longer the more they are. In no order."""
    return [job(tmp_path / f"s{n}.gasp", ranks=n, work=4 * MS // n, barrier=100_000 * n, **more) for n in (2, 4, 1)]


def test_strong_scaling(tmp_path):
    files = series(tmp_path)
    scaling = told("--scaling", *files)
    assert (scaling["scaling"], scaling["by"]) == ("strong", "ranks")
    assert [size["ranks"] for size in scaling["sizes"]] == [1, 2, 4]
    assert [size["time_ns"] for size in scaling["sizes"]] == [16_400_010, 8_800_010, 5_600_010]
    four = scaling["sizes"][2]
    assert four["speed_up"] == pytest.approx(16_400_010 / 5_600_010)
    assert four["efficiency"] == pytest.approx(16_400_010 / 5_600_010 / 4)
    assert scaling["grows_most"] == "GASP_MPI_BARRIER"
    assert scaling["events"][0]["growth"] == pytest.approx(100 * 1_600_000 / 5_600_010 - 100 * 400_000 / 16_400_010)
    output = text(compare("--scaling", *files))
    assert "On 4 ranks the job is 2.93 times as fast as on 1, 73 % of what that many could give." in output
    assert "GASP_MPI_BARRIER grows most: from 2.4 % of the threads' time on 1 rank to 28.6 % on 4." in output


def test_weak_scaling(tmp_path):
    files = [job(tmp_path / f"w{n}.gasp", ranks=n, barrier=100_000 * n) for n in (1, 2, 4)]
    four = told("--scaling=weak", *files)["sizes"][2]
    assert four["efficiency"] == pytest.approx(4_400_010 / 5_600_010)
    assert four["speed_up"] == pytest.approx(4 * 4_400_010 / 5_600_010)
    assert "takes 1.27 times as long as on 1: an efficiency of 79 %" in text(compare("--scaling=weak", *files))


def test_perfect_scaling_grows_nothing(tmp_path):
    files = [job(tmp_path / f"p{n}.gasp", ranks=n, work=4 * MS // n, barrier=400_000 // n) for n in (1, 2, 4)]
    scaling = told("--scaling", *files)
    assert scaling["sizes"][2]["efficiency"] == pytest.approx(1, abs=1e-5)
    assert scaling["grows_most"] is None
    assert "No event's share of the threads' time grows" in text(compare("--scaling", *files))


def test_repeats_in_a_series_are_one_size(tmp_path):
    files = series(tmp_path) + [job(tmp_path / "again.gasp", ranks=1, work=4 * MS, barrier=120_000)]
    scaling = told("--scaling", *files)
    assert [size["runs"] for size in scaling["sizes"]] == [2, 1, 1]
    assert scaling["sizes"][0]["time_ns"] == (16_400_010 + 16_480_010) / 2


def test_parts_of_runs_have_no_speed_up(tmp_path):
    files = series(tmp_path, whole=False)
    assert {size["speed_up"] for size in told("--scaling", *files)["sizes"]} == {None}
    assert "they have no speed-up" in text(compare("--scaling", *files))
    assert "times as fast" not in compare("--scaling", *files)


def test_a_series_by_threads(tmp_path):
    files = []
    for count in 1, 2, 4:
        content = "process 10 -1\n" + "".join(f"thread 10 {20 + i}\n" for i in range(count - 1))
        for i in range(count):
            content += composed.call(19 + i if i else 10, 0, MS // count, "work", step=1)
        files.append(composed.compose(tmp_path / f"t{count}.gasp", content))
    scaling = told("--scaling", *files)
    assert (scaling["by"], [size["threads"] for size in scaling["sizes"]]) == ("threads", [1, 2, 4])


# --- what cannot be compared --------------------------------------------------------

@pytest.mark.parametrize("arguments, word", [
    (["a"], "give two files"), (["a", "b", "a"], "vs"), (["a", "b", "vs"], "stands between"),
    (["vs", "a", "b"], "stands between"), (["a", "vs", "b", "vs", "a"], "stands once"),
    (["--scaling", "a", "b"], "three recordings"), (["--scaling", "a", "vs", "b"], "leave out"),
    (["--scaling=odd", "a", "b", "a"], "weak or strong"), (["--top", "x", "a", "b"], "not a number"),
    (["a"] * 70 + ["vs", "b"], "at most 64")])
def test_mistakes(pair, arguments, word):
    files = {"a": pair[0], "b": pair[1]}
    assert word in compare(*(files.get(argument, argument) for argument in arguments), expect=2)


def test_a_file_is_no_repeat_of_itself(pair, tmp_path):
    (tmp_path / "link.gasp").symlink_to(pair[0])
    assert "given twice" in compare(pair[0], tmp_path / "link.gasp", "vs", pair[1], expect=1)


def test_no_series(tmp_path):
    assert "no scaling series" in compare("--scaling", *repeats(tmp_path, "a", 100_000), expect=1)


def test_files_that_are_no_recordings(pair, tmp_path):
    (tmp_path / "text.gasp").write_text("hello\n")
    assert "not a gaspbpf recording" in compare(pair[0], tmp_path / "text.gasp", expect=1)
    assert "No such file" in compare(pair[0], tmp_path / "none.gasp", expect=1)
    whole = pair[1].read_bytes()
    (tmp_path / "cut.gasp").write_bytes(whole[:300])
    assert "holds no calls" in compare(pair[0], tmp_path / "cut.gasp", expect=1)


def test_damaged_recordings(pair, tmp_path):
    """Each byte in turn: refused, or compared up to the damage; and said either way."""
    whole = pair[1].read_bytes()
    for at in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[at] ^= 0xff
        (tmp_path / "damaged.gasp").write_bytes(damaged)
        result = gaspbpf.run("compare", pair[0], tmp_path / "damaged.gasp")
        assert result.returncode in (0, 1) and result.stderr.startswith("gaspbpf: "), (at, result)


def on_terminal(*arguments, columns=80):
    """What is printed on a terminal that is so wide."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([str(gaspbpf.PROGRAM), *map(str, arguments)], stdout=follower) as process:
        os.close(follower)
        output = b""
        try:
            while block := os.read(leader, 65536):
                output += block
        except OSError:  # nobody has it any more
            pass
        os.close(leader)
        assert process.wait(gaspbpf.PATIENCE) == 0
    return output.decode().replace("\r", "").replace("\033[1m", "").replace("\033[0m", "")


def test_eighty_columns(pair, tmp_path):
    for arguments in (pair, [*repeats(tmp_path, "a", 100_000), "vs", *repeats(tmp_path, "b", 900_000)],
                      ["--scaling", *series(tmp_path)]):
        output = on_terminal("compare", *arguments)
        assert [line for line in output.splitlines() if len(line) > 80] == []
        assert "GASP_MPI_BARRIER" in output
