# SPDX-License-Identifier: BSD-2-Clause
"""report --by and --csv: all calls summed up by what one asks for, compared with the same sums made here."""
import collections
import csv
import io
import json
import subprocess

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

WORLD, MUTEX = 0x1000, 0x5000
RANKS = 3
MS = 1_000_000


def calls():
    """(tid, start, end, symbol, values): every rank sends to the next; rank 1 is slower."""
    made = []
    for tid in range(1, RANKS + 1):
        at = 1000
        for number in range(4):
            lasts = 100 * tid + number + (1000 if tid == 2 else 0)
            for symbol, line, values in (
                    ("MPI_Send", 10, {"dest": tid % RANKS, "tag": 0, "count": 50 * tid, "datatype": 1}),
                    ("MPI_Recv", 20, {"source": (tid + 1) % RANKS, "status.source": (tid + 1) % RANKS}),
                    ("MPI_Barrier", 30 if number else 31, {}),
                    ("pthread_mutex_lock", 40, {"mutex": MUTEX + 64 * (number % 2)})):
                if symbol.startswith("MPI"):
                    values = {**values, "comm": WORLD, "comm.id": 0}
                made.append((tid, at, at + lasts, symbol, {**values, "site": f"ring.c:{line}"}))
                at += lasts + 10
    return made


CALLS = calls()


def text_of(made, head="host node7\n"):
    members = " ".join(map(str, range(RANKS)))
    return head + composed.ranks(RANKS, init=False) + "".join(
        f"comm {tid} {WORLD} 0 0 {members}\n" for tid in range(1, RANKS + 1)) + "".join(
        composed.call(tid, start, end, symbol, **values) for tid, start, end, symbol, values in made) + "end 40000\n"


@pytest.fixture(scope="module", name="recording")
def made_recording(tmp_path_factory):
    return composed.compose(tmp_path_factory.mktemp("views") / "run.gasp", text_of(CALLS))


def report(*arguments, expect=0, **keywords):
    result = gaspbpf.run("report", *arguments, **keywords)
    assert result.returncode == expect, result.stderr
    return result


def by(recording, what, *more):
    return json.loads(report("--by", what, "--json", *more, recording).stdout)["by"]


def table(*arguments):
    """The CSV, by its own rules: the lines end with CR and LF, and each has as many fields as the first."""
    rows = list(csv.reader(io.StringIO(report("--csv", *arguments).stdout, newline=""), strict=True))
    assert rows and {len(row) for row in rows} == {len(rows[0])}
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def sums(key, made=None):
    """(calls, ns) by key(tid, symbol, values); None: not in the table."""
    result = collections.defaultdict(lambda: (0, 0))
    for tid, start, end, symbol, values in made or CALLS:
        at = key(tid, symbol, values)
        if at is not None:
            result[at] = result[at][0] + 1, result[at][1] + end - start
    return dict(result)


def line(values):
    return values["site"] + " in work"


def event(symbol):
    return "GASP_" + symbol.upper()


KEYS = {  # what --by names, how a row of the JSON tells it, and how the calls do
    "thread": (lambda row: row["tid"], lambda tid, symbol, values: tid),
    "rank": (lambda row: row["rank"], lambda tid, symbol, values: tid - 1),
    "node": (lambda row: row["node"], lambda tid, symbol, values: "node7"),
    "event": (lambda row: row["event"], lambda tid, symbol, values: event(symbol)),
    "line": (lambda row: row["line"], lambda tid, symbol, values: line(values)),
    "peer": (lambda row: row["peer_rank"],
             lambda tid, symbol, values: values.get("dest", values.get("status.source"))),
}


@pytest.mark.parametrize("what", [*KEYS, "rank,event", "event,thread", "peer,line", "node,rank,event,line"])
def test_what_it_adds_up(recording, what):
    parts = [KEYS[name] for name in what.split(",")]

    def expected_key(*call):
        keys = tuple(key(*call) for _, key in parts)
        return None if None in keys else keys

    told = by(recording, what)
    assert told["grouping"] == what.split(",")
    seen = {tuple(key(row) for key, _ in parts): (row["calls"], row["self_ns"]) for row in told["rows"]}
    assert seen == sums(expected_key) and len(told["rows"]) == len(seen)
    assert all(row["total_ns"] == row["self_ns"] for row in told["rows"]), "nothing is inside of another"
    assert told["calls_of_none"] == len(CALLS) - sum(count for count, _ in seen.values())


def test_locks_of_each_process(recording):
    """Three processes have a lock of each of these names."""
    told = by(recording, "lock")
    assert len(told["rows"]) == 2 * RANKS and told["calls_of_none"] == len(CALLS) * 3 // 4
    assert collections.Counter(row["lock"] for row in told["rows"]) == {
        f"lock {lock:#x} of GASP_PTHREAD_MUTEX_LOCK, rank {rank}": 1
        for lock in (MUTEX, MUTEX + 64) for rank in range(RANKS)}


def test_shares_and_bytes(recording):
    rows = {row["event"]: row for row in by(recording, "event")["rows"]}
    send = rows["GASP_MPI_SEND"]
    assert send["bytes"] == sum(values["count"] for *_, values in CALLS if "count" in values)
    assert send["self_percent"] == pytest.approx(100 * send["self_ns"] / (RANKS * 40000))
    assert rows["GASP_MPI_BARRIER"]["bytes"] is None and not rows["GASP_MPI_BARRIER"]["estimated"]


def test_rows_of_several_ranks_have_a_spread(recording):
    rows = {row["line"]: row for row in by(recording, "line")["rows"]}
    of = {tid: sum(end - start for t, start, end, _, values in CALLS if t == tid and values["site"] == "ring.c:10")
          for tid in range(1, RANKS + 1)}
    row = rows["ring.c:10 in work"]
    assert row["processes"] == RANKS
    assert (row["least_self_ns"], row["least_process"]) == (of[1], "rank 0")
    assert (row["most_self_ns"], row["most_process"]) == (of[2], "rank 1")
    text = report("--by", "line", recording).stdout
    assert "Self by rank" in text and "..4.806 us (rank 1)" in text
    assert "Self by rank" not in report("--by", "rank,line", recording).stdout


def test_the_largest_first_and_inside_it_likewise(recording):
    rows = by(recording, "rank,event")["rows"]
    assert [row["rank"] for row in rows] == [1] * 4 + [2] * 4 + [0] * 4
    for rank in range(RANKS):
        times = [row["self_ns"] for row in rows if row["rank"] == rank]
        assert times == sorted(times, reverse=True)
    again = by(recording, "rank,event")["rows"]
    assert again == rows
    text = report("--by", "rank,event", "--top", 3, recording).stdout
    assert text.count("rank 1") == 3 and "... and 9 more rows" in text and "By rank, event" in text


def test_one_call_inside_another(tmp_path):
    made = [(1, 200, 300, "MPI_Send", {"site": "a.c:5", "dest": 1, "depth": 1}),
            (1, 100, 500, "work", {"site": "a.c:5"}),
            (1, 600, 650, "MPI_Send", {"site": "a.c:5", "dest": 1})]
    recording = composed.compose(tmp_path / "run.gasp", text_of(made))
    row, = by(recording, "line")["rows"]
    assert (row["calls"], row["total_ns"], row["self_ns"]) == (3, 450, 450), "what is inside counts once"
    rows = {row["event"]: row for row in by(recording, "event")["rows"]}
    work = next(row for name, row in rows.items() if name != "GASP_MPI_SEND")
    assert (work["total_ns"], work["self_ns"]) == (400, 300)
    assert (rows["GASP_MPI_SEND"]["total_ns"], rows["GASP_MPI_SEND"]["self_ns"]) == (150, 150)
    assert {row["rank"]: row["total_ns"] for row in by(recording, "rank")["rows"]} == {0: 450}


def test_phases(tmp_path):
    text, at = composed.ranks(2), 1000
    for number in range(20):
        for tid in 1, 2:
            text += composed.call(tid, at + 500 * MS // 100, at + 6 * MS, "MPI_Barrier",
                                  **{"comm.id": 0, "comm.rank": tid - 1})
        at += 6 * MS
    for tid in 1, 2:
        text += composed.call(tid, at + MS, at + 2 * MS, "MPI_Finalize")
    told = by(composed.compose(tmp_path / "run.gasp", text), "phase,event")
    seen = [(row["phase"], row["event"], row["calls"]) for row in told["rows"]]
    assert sorted(seen[:2]) == [("before", "GASP_MPI_BARRIER", 2), ("before", "GASP_MPI_INIT", 2)]
    assert seen[2:] == [("iterations 1-19", "GASP_MPI_BARRIER", 38), ("after", "GASP_MPI_FINALIZE", 2)]
    none = by(composed.compose(tmp_path / "none.gasp", text_of(CALLS[:3])), "phase")
    assert [(row["phase"], row["calls"]) for row in none["rows"]] == [("(none)", 3)]


def test_calls_that_are_not_on_the_timeline(tmp_path):
    text = text_of(CALLS) + "sum 1 MPI_Barrier 5 0 0\n"
    recording = composed.compose(tmp_path / "run.gasp", text)
    barrier = next(row for row in by(recording, "rank,event")["rows"]
                   if (row["rank"], row["event"]) == (0, "GASP_MPI_BARRIER"))
    assert (barrier["calls"], barrier["estimated"]) == (9, True)
    told = by(recording, "line")
    assert told["calls_not_on_timeline"] == 5 and sum(row["calls"] for row in told["rows"]) == len(CALLS)
    assert "5 calls are not in the table" in report("--by", "line", recording).stdout
    assert "~" in report("--by", "event", recording).stdout


def test_what_nothing_has(recording, tmp_path):
    alone = composed.compose(tmp_path / "alone.gasp", "process 1 -1\n" + composed.call(1, 0, 10, "work"))
    for what in "lock", "peer":
        told = report("--by", what, alone)
        assert "No call was observed that has one" in told.stdout and "1 calls name none" in told.stdout
    assert "no rows" in report("--by", "lock", "--csv", alone).stderr
    assert [row["line"] for row in by(alone, "line")["rows"]] == [None]


@pytest.mark.parametrize("what", ["", "ranks", "rank,", "rank,rank", ",rank", "rank,event,line,peer,lock",
                                  "rank event"])
def test_names_that_there_are_not(recording, what):
    assert "use thread, rank, node, event, line, lock, peer, phase" in report("--by", what, recording, expect=1).stderr


def test_beside_a_section(recording):
    both = report("--by", "event", "--section", "threads", recording).stdout
    assert both.index("By event") < both.index("Threads")
    assert "By event" in report("--section", "by", recording).stdout
    assert "By event" not in report(recording).stdout and "by" not in json.loads(report("--json", recording).stdout)


# --- CSV -----------------------------------------------------------------------------------------------------------

def as_field(value):
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return str(value)


def test_csv_is_what_the_json_says(recording):
    for arguments, rows in ((["--by", "rank,event"], by(recording, "rank,event")["rows"]),
                            ([], json.loads(report("--json", recording).stdout)["events"])):
        told = table(*arguments, recording)
        assert len(told) == len(rows)
        for field, row in zip(told, rows):
            for key, value in row.items():
                if not isinstance(value, (list, dict)):
                    assert field[key] == as_field(value) or float(field[key]) == value, key


def test_csv_lines_and_quotes(tmp_path):
    """Of names that a target chose: what a reader of CSV or a terminal would take for something else."""
    name = 'a "b", \x1b[31m;\u00e4\u4e2d'
    recording = composed.compose(tmp_path / "run.gasp", text_of(CALLS, f"host {name}\n"))
    out = report("--by", "node", "--csv", recording).stdout
    row, = csv.DictReader(io.StringIO(out, newline=""), strict=True)
    assert row["node"] == 'a "b", \\x1b[31m;\u00e4\u4e2d'
    raw = subprocess.run([gaspbpf.PROGRAM, "report", "--by", "node", "--csv", recording], capture_output=True,
                                 timeout=gaspbpf.PATIENCE, check=True).stdout
    assert raw.count(b"\r\n") == raw.count(b"\n") == 2 and b'"a ""b"", ' in raw


def test_csv_of_a_section(recording):
    threads = table("--section", "threads", recording)
    assert [row["tid"] for row in threads] == ["1", "2", "3"] and "group_ns.wait" in threads[0]
    pairs = table("--section", "communication.pairs", recording)
    assert {(row["from"], row["to"]) for row in pairs} == {("0", "1"), ("1", "2"), ("2", "0")}


def test_csv_says_what_it_cannot_do(recording):
    several = report("--csv", "--section", "communication", recording, expect=1)
    assert "several tables" in several.stderr and "pairs" in several.stderr and not several.stdout
    wrong = report("--csv", "--section", "communication.pears", recording, expect=1)
    assert "no table pears" in wrong.stderr and "pairs" in wrong.stderr
    assert "no table of its own" in report("--csv", "--section", "payload", recording, expect=1).stderr
    assert "no such section" in report("--csv", "--section", "x.y", recording, expect=1).stderr
    for arguments in (["--json"], ["--section", "events", "--section", "threads"], ["--explain", "1"],
                      ["--by", "rank", "--section", "events"]):
        report("--csv", *arguments, recording, expect=gaspbpf.run("report", "--nonsense").returncode)


def test_csv_of_all_sections(recording):
    """Each has a table, or says that it has none, or several, of which each is one."""
    for section in report("--section", "list").stdout.split():
        result = gaspbpf.run("report", "--csv", "--section", section, recording)
        if result.returncode:
            assert result.returncode == 1 and "--csv" in result.stderr and not result.stdout, section
            tables = result.stderr.split(".TABLE: ")[1].split() if ".TABLE: " in result.stderr else []
            for name in tables:
                name = f"{section}.{name.rstrip(',')}"
                again = report("--csv", "--section", name, recording)
                assert ("no rows" in again.stderr) != bool(again.stdout), name
        elif "no rows" not in result.stderr:
            table("--section", section, recording)
