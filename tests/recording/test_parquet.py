# SPDX-License-Identifier: BSD-2-Clause
"""Tables of calls as Parquet: valid by the letter of the format, with the report's counts and sums, and NULL for what
is not known."""
import collections
import json
import subprocess

import pytest

import ask_duckdb
import composed
import gaspbpf
from composed import call, compose
from parquet_file import Table
from peak_memory import most_memory
from strict_json import BY_NUMBER

WORLD, HALF = 0x1000, 0x2000


def exported(recording):
    path = recording.with_suffix(".parquet")
    result = gaspbpf.run("export", recording, "-o", path)
    assert (result.returncode, result.stderr) == (0, "")
    return Table(path)


def table_of(tmp_path, text):
    return exported(compose(tmp_path / "run.gasp", text))


def reported(recording):
    result = gaspbpf.run("report", "--json", "--histogram", recording)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def total(values):
    """None where none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def bucket(duration):
    return 1 << duration.bit_length() - 1 if duration > 1 else 0


def assert_as_reported(table, report):
    """Each event's calls, times, histogram and bytes."""
    rows = collections.defaultdict(list)
    for row in table:
        rows[row["event"]].append(row)
    assert set(rows) == {event["name"] for event in report["events"]}
    for event in report["events"]:
        of = rows[event["name"]]
        durations = [row["duration_ns"] for row in of if row["duration_ns"] is not None]
        assert (len(of), len(durations)) == (event["delivered"], event["timed"])
        assert (min(durations, default=None), max(durations, default=None)) == (event["min_ns"], event["max_ns"])
        for column, key in (("total_ns", "total_ns"), ("self_ns", "self_ns"), ("bytes", "bytes"),
                            ("sent", "bytes_sent"), ("received", "bytes_received")):
            assert total(row[column] for row in of) == event[key], (event["name"], column)
        assert sum(row["status"] == "detach" for row in of) == event["open"]
        if "histogram_ns" in event:
            columns = collections.Counter(map(bucket, durations))
            assert sorted(columns.items()) == list(map(tuple, event["histogram_ns"]))


def assert_as_listed(table, recording):
    """Each call of the list of events, at its times."""
    seen = collections.Counter()
    for row in table:
        start, took = row["start_ns"], row["duration_ns"]
        if took is None:
            seen[row["tid"], start, "ATOMIC", row["event"]] += 1
        else:
            seen[row["tid"], start, "START", row["event"]] += 1
            seen[row["tid"], start + took, "END", row["event"]] += 1
    listed = collections.Counter((tid, time, kind, event) for tid, lines in composed.lines(recording).items()
                                 for time, kind, event, *_ in lines if kind != "LOST")
    assert seen == listed


NESTED = ("process 7 -1\n" + call(7, 20, 30, "malloc", depth=1) + call(7, 40, 40, "malloc", depth=2) +
          call(7, 35, 60, "work", depth=1) + call(7, 10, 70, "work") + call(7, 70, 90, "malloc") +
          "atomic 7 95 other\ncall 7 96 100 work end=under_way\nend 100\n")

# What was lost was around the first, which so is not in the one that comes last.
LOST_BETWEEN = ("process 7 -1\n" + call(7, 20, 30, "malloc", depth=1) + "lost 7 1\n" +
                call(7, 40, 50, "free", depth=1) + call(7, 38, 70, "work"))


def world(count):
    members = " ".join(map(str, range(count)))
    return composed.ranks(count) + "".join(f"comm {rank + 1} {WORLD} 0 0 {members}\n" for rank in range(count))


def send(tid, start, end, dest, count, comm=WORLD, site="job.c:10"):
    return call(tid, start, end, "MPI_Send", dest=dest, tag=5, comm=comm, count=count, datatype=1, site=site,
                **{"comm.id": 0})


@pytest.mark.files
@pytest.mark.parametrize("text", (NESTED, composed.LATE_SENDER, world(3) + send(1, 100, 110, 1, 100) +
                                  send(3, 100, 110, 0, 0) + composed.receive(2, 100, 130, 0), LOST_BETWEEN),
                         ids=("nested", "late sender", "messages", "lost"))
def test_as_the_report_and_the_list_of_events(tmp_path, text):
    recording = compose(tmp_path / "run.gasp", text)
    table = exported(recording)
    assert_as_reported(table, reported(recording))
    assert_as_listed(table, recording)


@pytest.mark.files
def test_calls_in_calls(tmp_path):
    """What is inside a call of the same event counts once; what an inner call has had is not the outer one's own."""
    rows = list(table_of(tmp_path, NESTED).each("event", "start_ns", "duration_ns", "total_ns", "self_ns", "depth",
                                                "status"))
    assert rows == [
        ("GASP_C_MALLOC", 20, 10, 10, 10, 1, "returned"), ("GASP_C_MALLOC", 40, 0, 0, 0, 2, "returned"),
        ("GASP_PROGRAM_WORK", 35, 25, 25, 25, 1, "returned"), ("GASP_PROGRAM_WORK", 10, 60, 35, 25, 0, "returned"),
        ("GASP_C_MALLOC", 70, 20, 20, 20, 0, "returned"), ("GASP_PROGRAM_OTHER", 95, None, None, None, 0, "atomic"),
        ("GASP_PROGRAM_WORK", 96, 4, 4, 4, 0, "detach")]


@pytest.mark.files
def test_a_row_has_all_that_is_known(tmp_path):
    table = table_of(tmp_path, world(2) + send(2, 100, 130, 0, 64, site="src/job.c:12,step") + "end 200\n")
    row = next(row for row in table if row["role"] == "send")
    assert row.pop("start") == int(table.notes["gaspbpf.start_unix_ns"]) + 100
    assert {key: value for key, value in row.items() if value is not None} == {
        "node": "host", "rank": 1, "pid": 2, "process": "job", "tid": 2, "thread": "job", "model": "mpi",
        "event": "GASP_MPI_SEND", "function": "MPI_Send", "role": "send", "activity": "data", "internal": False,
        "start_ns": 100, "duration_ns": 30, "total_ns": 30, "self_ns": 30, "depth": 0, "status": "returned", "peer": 0,
        "peer_rank": 0, "tag": 5, "comm_id": 0, "comm_first": 0, "bytes": 64, "sent": 64, "file": "src/job.c",
        "line": 12, "caller": "step", "site": "src/job.c:12"}
    assert table.types["start"] == "time" and table.types["internal"] == "truth"


@pytest.mark.files
def test_what_is_not_known_is_null_and_what_is_nothing_is_0(tmp_path):
    table = table_of(tmp_path, world(2) + send(1, 100, 110, 1, 0) + call(1, 120, 130, "MPI_Send") +
                     call(1, 140, 150, "MPI_Recv", source=-1, **{"comm": WORLD}))
    known, unknown, anybody = [row for row in table if row["role"] in ("send", "recv")]
    assert (known["bytes"], known["sent"], known["peer"], known["received"]) == (0, 0, 1, None)
    nothing_known = ("bytes", "sent", "peer", "peer_rank", "tag", "comm_id", "site", "line")
    assert {unknown[name] for name in nothing_known} == {None}
    assert (anybody["peer"], anybody["peer_rank"]) == (-1, None)


def put(tid, start, window):
    return call(tid, start, start + 5, "MPI_Put", target_rank=1, origin_count=1, origin_datatype=1, win=window)


@pytest.mark.files
def test_ranks_of_a_communicator_are_ranks_of_the_job(tmp_path):
    """Those of a window are its communicator's; of one that was made before, the job's, as in the report."""
    half = "".join(f"comm {rank + 1} {HALF} 0 3 1 3\n" for rank in (1, 3))
    table = table_of(tmp_path, world(4) + half + send(2, 100, 110, 1, 8, comm=HALF) + send(2, 120, 130, 1, 8) +
                     call(2, 132, 135, "MPI_Win_create", comm=HALF, win=0x77) + put(2, 140, 0x77) + put(2, 160, 0x78) +
                     call(2, 180, 185, "MPI_Win_create", comm=0x9999, win=0x79) + put(2, 190, 0x79))
    rows = [row for row in table if row["peer"] is not None]
    assert [(row["peer"], row["peer_rank"]) for row in rows] == [(1, 3), (1, 1), (1, 3), (1, 1), (1, None)]
    assert [(row["comm_id"], row["comm_first"]) for row in rows] == [(3, 1), (0, 0)] + [(None, None)] * 3


@pytest.mark.files
def test_rows_of_a_merged_recording_tell_their_node(tmp_path):
    parts = [compose(tmp_path / f"{node}.gasp", f"host {node}\nboot {node}\nprocess {rank + 1} {rank}\n" +
                     call(rank + 1, 10, 20 + rank, "MPI_Init")) for rank, node in enumerate(("n1", "n2"))]
    result = gaspbpf.run("merge", *parts, "-o", tmp_path / "run.gasp")
    assert result.returncode == 0, result.stderr
    table = exported(tmp_path / "run.gasp")
    assert sorted(table.each("node", "rank", "duration_ns")) == [("n1", 0, 10), ("n2", 1, 11)]
    assert table.notes["gaspbpf.nodes"] == "2"


@pytest.mark.files
def test_a_place_without_source(tmp_path):
    table = table_of(tmp_path, "process 1 0\n" + call(1, 10, 20, "work", site="+main") + call(1, 30, 40, "work"))
    assert list(table.each("file", "line", "caller", "site")) == [(None, None, "main", "main+0x10"), (None,) * 4]


@pytest.mark.files
def test_locks_and_names(tmp_path):
    table = table_of(tmp_path, "process 1 0\ntext 1 4096 a file\n" +
                     call(1, 10, 20, "pthread_mutex_lock", mutex=0x1234) +
                     call(1, 30, 40, "H5Fopen", filename=4096) + call(1, 50, 60, "H5Fopen", filename=8192))
    assert list(table.each("lock", "name", "rank")) == [("0x1234", None, 0), (None, "a file", 0), (None, None, 0)]


@pytest.mark.files
def test_what_is_lost_is_told_beside_the_table(tmp_path):
    table = table_of(tmp_path, "process 7 0\nprocess 8 1\nlost 7 3\n" + call(7, 10, 20, "work") +
                     "sum 7 work 3 20 100\nsum 8 other 0 1 0\ncommand gaspbpf -p 7\n")
    assert table.rows == 1
    assert [table.notes[f"gaspbpf.{what}"] for what in ("lost", "summed", "skipped")] == ["3", "21", "100"]
    assert (table.notes["gaspbpf.host"], table.notes["gaspbpf.command"]) == ("host", "gaspbpf -p 7")
    assert table.notes["gaspbpf.cut"] == "false"
    gaps = table_of(tmp_path, "process 7 0\n" + call(7, 10, 20, "work") + "lost 7 5\n")
    assert gaps.notes["gaspbpf.lost"] == "5"


@pytest.mark.files
@pytest.mark.parametrize("text", ("", "process 7 0\n"))
def test_a_recording_of_nothing(tmp_path, text):
    table = table_of(tmp_path, text)
    assert (table.rows, table.groups) == (0, [])
    assert len(table.columns) > 30


HOSTILE = b"a\"b'c\\;\x1b[31m\xff\xc3\xa9<&>\xc2\x85\xe2\x80\xae"


@pytest.mark.files
def test_hostile_names(tmp_path):
    """Whatever bytes: as they are, and what is no UTF-8 by its number."""
    text = (b"process 7 0\nhost " + HOSTILE + b"\ncommand " + HOSTILE +
            b"\ncall 7 10 20 work site=" + HOSTILE + b":7," + HOSTILE + b"\n")
    recording = tmp_path / "run.gasp"
    subprocess.run([composed.COMPOSE, recording, gaspbpf.TOP / "models"], input=text, check=True)
    table, shown = exported(recording), HOSTILE.decode(errors=BY_NUMBER)
    assert list(table.each("node", "file", "caller", "site", "line")) == [(shown, shown, shown, f"{shown}:7", 7)]
    assert table.notes["gaspbpf.command"] == shown


def many(calls):
    """Two threads that take turns, at many places."""
    return "process 7 0\nthread 7 8\n" + "".join(
        f"call 7 {i * 1000 + 10} {i * 1000 + 500 + i % 7} malloc nbytes={i % 5000}"
        f"{'' if i % 3 else f' site=a.c:{i // 4 % 900 + 1}'}\n"
        f"call 8 {i * 1000 + 20} {i * 1000 + 600} {('work', 'free')[i % 2]} depth=1\n" for i in range(calls // 2))


CALLS = 140_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """(file, what the reader finds in it)"""
    recording = compose(tmp_path_factory.mktemp("large") / "run.gasp", many(CALLS))
    return recording.with_suffix(".parquet"), exported(recording)


@pytest.mark.files
def test_many_rows_are_several_row_groups(large):
    """Each with dictionaries and bounds of its own."""
    table = large[1]
    assert table.groups == [131072, CALLS - 131072]
    rows = collections.Counter(table.each("tid", "event", "start_ns", "duration_ns", "bytes", "line"))
    assert rows == collections.Counter(
        row for i in range(CALLS // 2) for row in (
            (7, "GASP_C_MALLOC", i * 1000 + 10, 490 + i % 7, i % 5000, None if i % 3 else i // 4 % 900 + 1),
            (8, ("GASP_PROGRAM_WORK", "GASP_C_FREE")[i % 2], i * 1000 + 20, 580, None, None)))


@pytest.mark.files
@pytest.mark.skipif(gaspbpf.BUILD != gaspbpf.TOP / "build", reason="sanitizers keep memory")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    short, long = (most_memory("export", compose(tmp_path / f"{calls}.gasp", many(calls)), "-o",
                               tmp_path / f"{calls}.parquet") for calls in (200_000, 500_000))
    assert long < short + 2048


def duckdb(folder, *statements):
    there, why = ask_duckdb.modules()
    if not there:
        pytest.skip(why)
    return ask_duckdb.ask(folder, *statements)


@pytest.mark.files
def test_duckdb_reads_the_same(tmp_path):
    """Of a time in UTC it has microseconds."""
    table = table_of(tmp_path, NESTED)
    names = [name for name in table.columns if name != "start"]
    listed, = duckdb(tmp_path, f"SELECT {', '.join(names)}, epoch_us(start) FROM 'run.parquet'")
    assert listed == [(*row, start // 1000) for *row, start in table.each(*names, "start")]


@pytest.mark.files
def test_duckdb_reads_several_row_groups(large):
    """It believes their bounds, too, and leaves out what cannot be asked for."""
    path, table = large
    sums, none, some = duckdb(
        path.parent, "SELECT count(*), sum(start_ns), sum(duration_ns), sum(bytes), count(line), max(tid), min(file) "
        "FROM 'run.parquet'", "SELECT count(*) FROM 'run.parquet' WHERE start_ns < 0 OR event < 'GASP_C'",
        "SELECT count(*) FROM 'run.parquet' WHERE start_ns = 69999020 AND event = 'GASP_C_FREE'")
    column = table.columns
    assert sums == [(CALLS, sum(column["start_ns"]), sum(column["duration_ns"]), total(column["bytes"]),
                     (CALLS // 2 + 2) // 3, 8, "a.c")]
    assert (none, some) == ([(0,)], [(1,)])


@pytest.mark.files
def test_duckdb_reads_an_empty_table_and_hostile_names(tmp_path):
    table_of(tmp_path, "")
    subprocess.run([composed.COMPOSE, tmp_path / "names.gasp", gaspbpf.TOP / "models"], check=True,
                   input=b"process 7 0\nhost " + HOSTILE + b"\ncall 7 10 20 work\n")
    exported(tmp_path / "names.gasp")
    assert duckdb(tmp_path, "SELECT count(*), sum(bytes) FROM 'run.parquet'", "SELECT node FROM 'names.parquet'") == [
        [(0, None)], [(HOSTILE.decode(errors=BY_NUMBER),)]]


def test_a_job_of_threads(job, observe, tmp_path):
    """As many calls as the job counted, and the report's sums; from the run itself as from the recording."""
    team = job([gaspbpf.WORKLOADS / "threads", "--threads", 3, "--rounds", 50]).wait_ready()
    watcher = observe("-p", team.pids()[0], "-o", tmp_path / "run.gasp", "-o", tmp_path / "live.parquet")
    team.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    assert team.end() == 0
    table, truth = exported(tmp_path / "run.gasp"), team.truths()[0]
    assert (tmp_path / "run.parquet").read_bytes() == (tmp_path / "live.parquet").read_bytes()
    assert_as_reported(table, reported(tmp_path / "run.gasp"))
    seen = collections.Counter(table.each("tid", "function"))
    for thread in truth["threads"]:
        for function in ("malloc", "pthread_mutex_lock"):
            assert seen[thread["tid"], function] == thread["functions"][function]["calls"]
    assert None not in table.columns["site"]


def test_hostile_names_of_threads(job, observe, tmp_path):
    target = job([gaspbpf.WORKLOADS / "names"]).wait_ready()
    watcher = observe("-p", target.process.pid, "-o", tmp_path / "run.gasp", "-m", "pthread")
    target.work()
    assert watcher.stop()[0] == 0
    assert target.end() == 0
    shown = set(exported(tmp_path / "run.gasp").each("tid", "thread"))
    assert shown >= {(int(tid), bytes.fromhex(name).decode(errors=BY_NUMBER))
                     for tid, name in target.truths()[0]["names"].items()}
