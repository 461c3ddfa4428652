# SPDX-License-Identifier: BSD-2-Clause
"""Traces of CTF, as babeltrace2 reads them: without a warning, in the order of time, with the report's calls and times,
a field for what is known and none for what is not, and what was lost told where it was."""
import collections
import struct
import subprocess

import pytest

import gaspbpf
import truth
from composed import call, compose, lines, ranks, receive, send
from ctf_reading import BEGIN, REALTIME, Trace, exported, printed
from otf2_reading import reported
from peak_memory import most_memory

files = pytest.mark.files
WORK, MALLOC, OTHER = "GASP_PROGRAM_WORK", "GASP_C_MALLOC", "GASP_PROGRAM_OTHER"
KINDS = {"START": "entry", "END": "exit", "ATOMIC": None}


def trace_of(tmp_path, text):
    return exported(compose(tmp_path / "run.gasp", text))


def assert_as_reported(trace, recording):
    """Each event's calls, ns and bytes; and each thread's events, as the list of events has them."""
    said, found, report = {}, collections.defaultdict(lambda: [0, 0]), reported(recording)["events"]
    for event in report:
        for row, inner in ((event, ""), (event.get("inner") or {}, " (inner)")):
            if row.get("delivered", row.get("calls")):
                said[event["name"] + inner] = [row.get("delivered", row["calls"]), row["total_ns"] or 0]
    for (_, name), (calls, time) in trace.calls().items():
        found[name][0] += calls
        found[name][1] += time
    assert dict(found) == said
    assert trace.moved() == {event["name"]: event["bytes"] for event in report if event["bytes"] is not None}
    for tid, listed in lines(recording).items():
        assert [event[:2] for event in trace.story(tid)] == [
            (time, KINDS[kind]) for time, kind, *_ in listed if kind in KINDS]


# --- calls -----------------------------------------------------------------------------


@files
def test_calls(tmp_path):
    """One inside the other, one that is a moment; in the order of time, though a stream has one thread's only."""
    recording = compose(tmp_path / "run.gasp", "process 7 3\nthread 7 9\nprocess 8 -1\n"
                        "call 7 20 30 malloc depth=1 site=a.c:12\n" + call(7, 10, 70, "work") +
                        call(9, 15, 1_234_567_891, "work") + "atomic 7 95 other\n" + call(8, 96, 97, "work"))
    trace = exported(recording)
    assert trace.story() == [
        (10, "entry", WORK), (15, "entry", WORK), (20, "entry", MALLOC), (30, "exit", MALLOC), (70, "exit", WORK),
        (95, None, OTHER), (96, "entry", WORK), (97, "exit", WORK), (1_234_567_891, "exit", WORK)]
    assert [event.who for event in trace.events[-4:]] == [
        {"rank": 3, "pid": 7, "tid": 7, "name": "job"}, {"pid": 8, "tid": 8, "name": "job"},
        {"pid": 8, "tid": 8, "name": "job"}, {"rank": 3, "pid": 7, "tid": 9, "name": "job"}]
    assert trace.events[2].fields == {"function": "malloc", "site": "a.c:12"}
    assert_as_reported(trace, recording)


@files
def test_when_it_was(tmp_path):
    """Readers add what the clock of the day was ahead."""
    trace = trace_of(tmp_path, "boot 01234567-89ab-4def-8123-456789abcdef\nprocess 7 0\n" + call(7, 10, 20, "work"))
    assert trace.clock.frequency == 10 ** 9 and str(trace.clock.uuid) == "01234567-89ab-4def-8123-456789abcdef"
    ahead = trace.clock.offset.seconds * 10 ** 9 + trace.clock.offset.cycles
    assert BEGIN + ahead == REALTIME
    assert trace.environment["tracer_name"] == "gaspbpf" and trace.environment["hostname"] == "host"
    lines_of_it, _ = printed(tmp_path / "run.ctf", "--clock-seconds")
    assert lines_of_it[0].startswith("[1700000000.000000010] ")


@files
def test_what_is_not_known_has_no_field(tmp_path):
    """And what is 0 has one, as has what is negative."""
    text = ranks(2, init=False) + send(1, 10, 20, 0, tag=-3) + receive(2, 30, 40, 1)
    text += "call 2 50 60 MPI_Recv source=0\n"
    trace = trace_of(tmp_path, text)
    assert trace.fields("GASP_MPI_SEND") == [{"dest": 0, "tag": -3, "comm_id": 0, "count": 1, "datatype": 1}]
    assert trace.fields("GASP_MPI_RECV") == [
        {"source": 1, "tag": 0, "comm_id": 0, "status_source": 1, "status_tag": 0}, {"source": 0}]
    assert trace.fields("GASP_MPI_RECV", "entry") == [{"source": 1, "tag": 0, "comm_id": 0}, {"source": 0}]


@files
def test_addresses_are_printed_as_such(tmp_path):
    trace = trace_of(tmp_path, "process 7 0\ncall 7 30 40 malloc nbytes=9 returnptr=4096\n")
    assert trace.fields(MALLOC) == [{"nbytes": 9, "returnptr": 0x1000}]
    assert printed(tmp_path / "run.ctf")[0][-1].endswith("nbytes = 9, returnptr = 0x1000 }")


@files
def test_how_a_call_ended(tmp_path):
    trace = trace_of(tmp_path, "process 7 0\n" + call(7, 10, 20, "work") + "call 7 30 90 work end=under_way\nend 90\n")
    assert trace.fields(WORK) == [{}, {"end": "detach"}]


@files
def test_work_on_two_stacks(tmp_path):
    """Calls that overlap are told apart."""
    trace = trace_of(tmp_path, "process 7 0\n" + call(7, 10, 40, "work") + call(7, 20, 60, "other"))
    assert [(event.time, event.name, event.fields.get("stack")) for event in trace.events] == [
        (10, WORK, None), (20, OTHER, 2), (40, WORK, None), (60, OTHER, 2)]
    assert trace.calls() == {(7, WORK): [1, 30], (7, OTHER): [1, 40]}


@files
def test_more_kinds_of_one_event_than_there_are_classes(tmp_path):
    """Where every other call knows something else, the later ones have words. What they know is what they knew."""
    names, text = ["dest", "tag", "comm.id", "count", "datatype", "comm", "buf"], "process 7 0\n"
    sets = [[name for bit, name in enumerate(names) if i >> bit & 1] for i in range(128)]
    for i, known in enumerate(sets):
        text += call(7, 10 * i, 10 * i + 9, "MPI_Send", **{name: 3 for name in known})
    trace = trace_of(tmp_path, text)
    found = trace.fields("GASP_MPI_SEND")
    assert len(found) == 128 and sum("unknown" in fields.values() for fields in found) == 63
    for fields, known in zip(found, sets):
        assert {name for name, value in fields.items() if value in (3, "3", "0x3")} == {
            name.replace(".", "_") for name in known}
        assert set(map(str, fields.values())) <= {"3", "0x3", "unknown"}


@files
def test_a_part(tmp_path):
    recording = compose(tmp_path / "run.gasp", ranks(2, init=False) + send(1, 10, 20, 1) + receive(2, 30, 40, 0))
    assert exported(recording, "part.ctf", "--ranks", "1").story() == [
        (30, "entry", "GASP_MPI_RECV"), (40, "exit", "GASP_MPI_RECV")]


@files
def test_measurement_off_and_on(tmp_path):
    trace = trace_of(tmp_path, "process 7 0\n" + call(7, 10, 20, "work") + "control 7 50 0\ncontrol 7 60 1\n" +
                     call(7, 70, 80, "work"))
    assert trace.story()[2:4] == [(50, None, "measurement_off"), (60, None, "measurement_on")]


@files
def test_nodes_of_a_merged_recording(tmp_path):
    """Each event says where it was."""
    text = "host {0}\nboot {0}\nprocess {1} {1}\n" + call(1, 100, 200, "work").replace(" 1 ", " {1} ")
    parts = [compose(tmp_path / f"{name}.gasp", text.format(name, rank)) for rank, name in enumerate(("n1", "n2"), 1)]
    merged = tmp_path / "all.gasp"
    assert gaspbpf.run("merge", *parts, "-o", merged).returncode == 0
    trace = exported(merged)
    assert sorted((event.who["node"], event.who["rank"]) for event in trace.events if event.kind == "entry") == [
        ("n1", 1), ("n2", 2)]
    assert "hostname" not in trace.environment


# --- what is lost ----------------------------------------------------------------------


@files
def test_what_was_lost_and_when(tmp_path):
    """Between the events around it; a call is two of them."""
    trace = trace_of(tmp_path, "process 7 0\nprocess 8 1\n" + call(7, 10, 20, "work") + "lost 7 3 90\n" +
                     call(7, 80, 90, "work") + call(8, 15, 95, "work") + "lost 8 5\nend 1000\n")
    assert [loss[:3] for loss in trace.losses] == [(6, 20, 80), (10, 95, 1000)]
    assert len({loss.stream for loss in trace.losses}) == 2
    assert trace.environment["calls_lost"] == 8


@files
def test_what_was_lost_before_all_others(tmp_path):
    trace = trace_of(tmp_path, "process 7 0\nlost 7 2 90\n" + call(7, 80, 90, "work"))
    assert [(loss.events, loss.until) for loss in trace.losses] == [(4, 80)]
    said = subprocess.run(["babeltrace2", tmp_path / "run.ctf"], capture_output=True, text=True, check=True).stderr
    assert "Tracer discarded 4 events between [22:13:20.000000000] and [22:13:20.000000080]" in said


@files
def test_what_was_lost_without_a_place(tmp_path):
    """The sums know of more calls than the gaps: of a recording that was cut."""
    trace = trace_of(tmp_path, "process 7 0\n" + call(7, 10, 20, "work") + "lost 7 2 90\n" + call(7, 80, 90, "work") +
                     "sum 7 work 5 0 0\nend 1000\n")
    assert [loss[:3] for loss in trace.losses] == [(4, 20, 80), (6, 90, 1000)]
    assert trace.environment["calls_lost"] == 5


@files
def test_calls_that_were_only_counted(tmp_path):
    """They are left out by intention: nothing was discarded, but it is said."""
    trace = trace_of(tmp_path, "process 7 0\n" + call(7, 10, 20, "work") + "sum 7 work 0 40 2\n")
    assert not trace.losses
    assert (trace.environment["calls_summed"], trace.environment["calls_skipped"]) == (40, 2)


# --- files -----------------------------------------------------------------------------


@files
def test_packets_of_streams(tmp_path):
    """Many events of two threads: several packets of each, all in the order of time."""
    text = "process 7 0\nthread 7 8\n" + "".join(
        call(7 + i % 2, i * 7, i * 7 + 20 - i % 3, "work") for i in range(0, 4000, 2))
    text += "".join(call(8, i * 7 + 3, i * 7 + 9, "work") for i in range(0, 4000, 2))
    text += send(7, 28_100, 28_110, 0, count=4) + send(7, 28_110, 28_120, 0, count=0)
    recording = compose(tmp_path / "run.gasp", text)
    trace = exported(recording)
    assert_as_reported(trace, recording)
    assert [event.fields.get("payload_bytes") for event in trace.events[-4:]] == [None, 4, None, 0]
    streams = sorted((tmp_path / "run.ctf").glob("stream_*"))
    assert len(streams) == 2
    for stream in streams:
        assert stream.read_bytes().count(struct.pack("<I", 0xc1fc1fc1)) > 2


@files
@pytest.mark.parametrize("processes, threads", [(3, 250), (600, 1)])
def test_more_threads_than_a_reader_has_files(tmp_path, processes, threads):
    """Those of a process share a stream, then processes do. Losses are still told."""
    text, tids = "", []
    for pid in range(1000, 1000 * (processes + 1), 1000):
        text += f"process {pid} {pid // 1000}\n" + "".join(f"thread {pid} {pid + i}\n" for i in range(1, threads))
        tids += range(pid, pid + threads)
    calls = [(i * 13 % len(tids), i * 10, i * 10 + 5000) for i in range(1500)]
    text += "".join(call(tids[tid], start, end, "work") for tid, start, end in calls) + f"lost {tids[-1]} 2\n"
    recording = compose(tmp_path / "run.gasp", text)
    trace = exported(recording)
    assert_as_reported(trace, recording)
    assert len(list((tmp_path / "run.ctf").glob("stream_*"))) <= 512
    assert [loss.events for loss in trace.losses] == [4]


@files
@pytest.mark.parametrize("text", ("", "process 7 0\n"))
def test_a_recording_of_nothing(tmp_path, text):
    """There is no stream in it, which babeltrace2 takes for a trace."""
    assert not trace_of(tmp_path, text).events


@files
def test_hostile_names(tmp_path):
    """Quotes, backslashes, ends of lines and bytes that are no UTF-8."""
    text = b'host a"\\\xff\xc3\xa9\x01b*/\nprocess 7 -1\n' + call(7, 10, 20, "work").encode()
    recording = tmp_path / "run.gasp"
    subprocess.run([gaspbpf.BUILD / "tests" / "compose", recording, gaspbpf.TOP / "models"], input=text, check=True)
    assert exported(recording).environment["hostname"] == 'a"\\\u00ffé\u0001b*/'


@files
def test_a_trace_takes_the_place_of_an_earlier_one(tmp_path):
    first, second = (compose(tmp_path / name, f"process 7 0\n{call(7, 10, end, 'work')}")
                     for name, end in (("first.gasp", 20), ("second.gasp", 30)))
    exported(first, "both.ctf")
    assert exported(second, "both.ctf").story()[-1][0] == 30
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["both.ctf", "first.gasp", "second.gasp"]


@files
@pytest.mark.parametrize("suffix, mine", [("ctf", "mine"), ("ctf", "metadata"), ("otf2", "mine")])
def test_nobody_elses_folder_is_touched(tmp_path, suffix, mine):
    """One of that name that is no earlier trace; nor an earlier one into which somebody has put a file."""
    recording = compose(tmp_path / "run.gasp", "process 7 0\n" + call(7, 10, 20, "work"))
    folder = tmp_path / f"run.{suffix}"
    folder.mkdir()
    (folder / mine).write_text("mine")
    result = gaspbpf.run("export", recording, "-o", folder)
    assert result.returncode == 1 and f"there is a folder run.{suffix}" in result.stderr
    assert (folder / mine).read_text() == "mine"
    assert {entry.name for entry in tmp_path.iterdir()} == {"run.gasp", folder.name}


@files
def test_a_file_of_somebody_elses_in_an_earlier_trace(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 7 0\n" + call(7, 10, 20, "work"))
    exported(recording)
    (tmp_path / "run.ctf" / "notes").touch()
    assert gaspbpf.run("export", recording, "-o", tmp_path / "run.ctf").returncode == 1
    assert Trace(tmp_path / "run.ctf").events and (tmp_path / "run.ctf" / "notes").exists()


@files
@pytest.mark.skipif(gaspbpf.BUILD != gaspbpf.TOP / "build", reason="sanitizers keep memory")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    used = []
    for calls in (100_000, 250_000):
        text = "".join(call(7 + i % 2, i * 10, i * 10 + 9, "work") for i in range(calls))
        recording = compose(tmp_path / f"{calls}.gasp", "process 7 0\nthread 7 8\n" + text)
        used.append(most_memory("export", recording, "-o", tmp_path / f"{calls}.ctf"))
    assert used[1] < used[0] + 4096


# --- a job -----------------------------------------------------------------------------


def test_an_mpi_job(job, observe, tmp_path):
    """Calls and times by event and thread, arguments with names and kinds."""
    ring = job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "5", "--warmup", "1",
                "--after", "1"], ranks=2, env=truth.ENVIRONMENT).wait_ready()
    watcher = observe("-p", ring.process.pid, "-o", tmp_path / "run.gasp", "-o", tmp_path / "at_once.ctf")
    ring.work()
    assert watcher.stop()[0] == 0
    assert ring.end() == 0
    first = min(events[0][0] for events in lines(tmp_path / "run.gasp").values())
    exported(tmp_path / "run.gasp")
    begin = Trace(tmp_path / "run.ctf", 0).events[0].time - first
    trace = Trace(tmp_path / "run.ctf", begin)
    assert_as_reported(trace, tmp_path / "run.gasp")
    assert Trace(tmp_path / "at_once.ctf", begin).events == trace.events
    assert all(fields["dest"] in (0, 1) and fields["count"] > 0 for fields in trace.fields("GASP_MPI_SEND"))
