# SPDX-License-Identifier: BSD-2-Clause
"""Traces of Paje, as PajeNG's own reader simulates them: calls and times are those of the report, messages those that
belong together."""
import collections
import csv
import gzip
import random
import re
import subprocess

import pytest

import gaspbpf
import truth
from composed import LATE_SENDER, call, compose, ranks, receive, send
from otf2_reading import reported
from peak_memory import most_memory

files = pytest.mark.files


def exported(recording, name="run.paje", *options):
    path = recording.with_name(name)
    result = gaspbpf.run("export", recording, "-o", path, *options)
    assert result.returncode == 0, result.stderr
    return path


def dumped(path):
    """[row] of all that the trace holds, at its end."""
    result = subprocess.run(["pj_dump", "-u", "-l", "9", path], capture_output=True, text=True, check=True)
    assert not result.stderr
    return list(csv.reader(result.stdout.splitlines(), skipinitialspace=True))


def ns(seconds):
    return round(float(seconds) * 1e9)


def states(rows):
    """[(container, start, end, event, place)]"""
    return [(row[1], ns(row[3]), ns(row[4]), row[7], row[8]) for row in rows if row[0] == "State"]


def links(rows):
    """[(from, to, start, end)]"""
    return [(row[7], row[8], ns(row[3]), ns(row[4])) for row in rows if row[0] == "Link"]


def totals(path):
    """{event: [calls, ns]}, out of the file itself; a call of an event inside of one of the same is in that one."""
    values, result, opened = {}, collections.defaultdict(lambda: [0, 0]), collections.defaultdict(list)
    for line in path.read_text().splitlines():
        number, *rest = line.split(" ")
        if number == "2":
            values[rest[0]] = re.match('2 v[0-9]+ S "([^"]*)"', line)[1]
        elif number == "5":
            opened[rest[2]].append((values[rest[3]], int(rest[0].replace(".", ""))))
        elif number == "6":
            event, start = opened[rest[2]].pop()
            result[event][0] += 1
            if event not in (name for name, _ in opened[rest[2]]):
                result[event][1] += int(rest[0].replace(".", "")) - start
    assert not any(opened.values())
    return dict(result)


def assert_as_reported(path, report):
    said = {}
    for event in report["events"]:
        for row, inner in ((event, ""), (event.get("inner") or {}, " (inner)")):
            if row.get("delivered", row.get("calls")):
                said[event["name"] + inner] = [row.get("delivered", row["calls"]), row["total_ns"] or 0]
    assert totals(path) == said


@files
def test_calls(tmp_path):
    """One inside the other, one that is a moment, each in its thread in its process on its node."""
    recording = compose(tmp_path / "run.gasp", "process 7 3\nthread 7 9\n"
                        "call 7 20 30 malloc depth=1 site=a.c:12\n" + call(7, 10, 70, "work") +
                        call(9, 15, 1_234_567_891, "work") + "atomic 7 95 other\n")
    path = exported(recording)
    rows = dumped(path)
    assert states(rows) == [
        ("rank 3 job (tid 9)", 15, 1_234_567_891, "GASP_PROGRAM_WORK", "?"),
        ("rank 3", 10, 70, "GASP_PROGRAM_WORK", "?"), ("rank 3", 20, 30, "GASP_C_MALLOC", "a.c:12"),
        ("rank 3", 95, 95, "GASP_PROGRAM_OTHER", "?")]
    assert {tuple(row[1:3]) + (row[-1],) for row in rows if row[0] == "Container" and row[2] != "0"} >= {
        ("host", "Process", "rank 3: ./job"), ("rank 3: ./job", "Thread", "rank 3")}
    assert_as_reported(path, reported(recording))


@files
def test_threads_are_in_the_order_in_which_they_are_listed(tmp_path):
    """Which is how a viewer has them below each other: not as they were met."""
    path = exported(compose(tmp_path / "run.gasp", "process 5 1\nprocess 1 0\nthread 1 3\nthread 1 2\nprocess 9 -1\n" +
                            "".join(call(tid, 10, 20, "work") for tid in (9, 5, 3, 2, 1))))
    made = [line.split(" ", 5)[3:] for line in path.read_text().splitlines() if line.startswith("3 ")]
    assert [name.strip('"') for kind, _, name in made if kind == "P"] == ["rank 0: ./job", "rank 1: ./job", "./job"]
    assert [name.strip('"') for kind, _, name in made if kind == "T"] == [
        "rank 0", "rank 0 job (tid 2)", "rank 0 job (tid 3)", "rank 1", "job (tid 9)"]


@files
def test_messages(tmp_path):
    """From the begin of the send to the end of the receive."""
    rows = dumped(exported(compose(tmp_path / "run.gasp", LATE_SENDER)))
    assert links(rows) == [("rank 0", "rank 1", 100, 130)]


@files
def test_messages_of_a_part(tmp_path):
    """The first call that sends is left out: the second message is still for the second call that receives."""
    text = ranks(2) + send(1, 100, 110, 1) + send(1, 120, 130, 1) + receive(2, 500, 510, 0) + receive(2, 600, 610, 0)
    recording = compose(tmp_path / "run.gasp", text)
    (_, _, start, end), = links(dumped(exported(recording, "part.paje", "--from", "0.000000115")))
    assert (start, end) == (120, 610)


@files
def test_many_messages(tmp_path):
    """More than are sorted at once, and received in another order than they are sent: the reader wants their begins in
    the order of time, and their ends."""
    count, text = 9_000, ranks(2)
    order = [*range(1, count, 2), *range(0, count, 2)]
    text += "".join(send(1, 100 + 10 * i, 105 + 10 * i, 1, tag=i % 2) for i in range(count))
    text += "".join(receive(2, 100_000 + 10 * at, 100_005 + 10 * at, 0, tag=i % 2) for at, i in enumerate(order))
    path = exported(compose(tmp_path / "run.gasp", text))
    times = [float(line.split(" ")[1]) for line in path.read_text().splitlines() if re.match("[89] ", line)]
    assert times == sorted(times)
    found, ends = links(dumped(path)), {i: 100_005 + 10 * at for at, i in enumerate(order)}
    assert sorted(found, key=lambda link: link[2]) == [
        ("rank 0", "rank 1", 100 + 10 * i, ends[i]) for i in range(count)]


@files
def test_what_is_missing_is_an_event(tmp_path):
    rows = dumped(exported(compose(tmp_path / "run.gasp", "process 7 0\n" + call(7, 10, 20, "work") + "lost 7 3 90\n" +
                                   call(7, 80, 90, "work") + "control 7 95 0\n")))
    assert [(ns(row[3]), row[4]) for row in rows if row[0] == "Event"] == [
        (20, "3 calls lost here"), (95, "measurement off")]


@files
def test_in_one_order_of_time(tmp_path):
    """Up to the messages."""
    text = ranks(2, init=False) + "".join(call(1 + i % 2, i * 7, i * 7 + 20 - i % 3, "work") for i in range(0, 400, 2))
    text += "".join(call(2, i * 7 + 3, i * 7 + 9, "work") for i in range(0, 400, 2))
    path = exported(compose(tmp_path / "run.gasp", text))
    times = [line.split(" ")[1] for line in path.read_text().splitlines() if re.match("[56] ", line)]
    assert len(times) == 800 and times == sorted(times, key=float)


@files
def test_each_thread_keeps_its_order(tmp_path):
    """Of a recording of many pieces, each of which is told in several parts: losses and calls that last for long stand
    where the list of events, which is not merged, has them."""
    any_of, names = random.Random(1), ("buf", "datatype", "comm", "comm.id", "count", "tag", "dest")
    count, text = 21_000, "process 1 0\n" + "".join(f"thread 1 {tid}\n" for tid in range(2, 6))
    for i in range(count):
        at, large = i * 100, {name: any_of.getrandbits(62) for name in names}
        text += call(1, at, at + 90, "MPI_Send", **large) + call(2, at + 7, at + 50, "other", depth=1)
        if i % 500 == 499:
            text += f"lost 3 {i}\n" + call(3, at - 40_000, at + 9, "work")
        if i % 3000 == 2999:
            text += call(2, at - 290_000, at + 60, "work") + "lost 4 1\n" + call(4, at, at + 1, "work")
    text += "".join(call(5, i * 100 + 3, i * 100 + 4, "work") for i in range(0, count, 3))  # written later
    recording = compose(tmp_path / "run.gasp", text)
    listed = tmp_path / "run.events"
    assert gaspbpf.run("export", recording, "-o", listed).returncode == 0
    kinds = {"START": "5", "END": "6", "LOST": "11"}
    expected, found, times = collections.defaultdict(list), collections.defaultdict(list), []
    for line in listed.read_text().splitlines():
        time, _, thread, kind, *_ = line.split(" ")
        expected[int(thread.split(":")[1]) - 1].append((kinds[kind], time))
    for line in exported(recording).read_text().splitlines():
        kind, time, _, lane, *_ = (line + "   ").split(" ")
        if kind in kinds.values():
            found[int(lane[1:].split(".")[0])].append((kind, time))
            times.append(float(time))
    assert found == expected and times == sorted(times)


@files
def test_hostile_names(tmp_path):
    text = b'process 7 -1\nhost a"\\\xff\xc3\xa9b\n' + call(7, 10, 20, "work").encode()
    recording = tmp_path / "run.gasp"
    subprocess.run([gaspbpf.BUILD / "tests" / "compose", recording, gaspbpf.TOP / "models"], input=text, check=True)
    assert r'a\x22\x5c\xff' + "éb" in [row[-1] for row in dumped(exported(recording))]


@files
def test_compressed(tmp_path):
    recording = compose(tmp_path / "run.gasp", LATE_SENDER)
    assert gzip.decompress(exported(recording, "x.trace.gz").read_bytes()) == exported(recording).read_bytes()


@files
@pytest.mark.skipif(gaspbpf.BUILD != gaspbpf.TOP / "build", reason="sanitizers keep memory")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    used = []
    for calls in (100_000, 250_000):
        text = "".join(call(7 + i % 2, i * 10, i * 10 + 9, "work") for i in range(calls))
        recording = compose(tmp_path / f"{calls}.gasp", "process 7 0\nthread 7 8\n" + text)
        used.append(most_memory("export", recording, "-o", tmp_path / f"{calls}.paje"))
    assert used[1] < used[0] + 4096


def test_an_mpi_job(job, observe, tmp_path):
    """Calls and times of each event, and as many messages as are sent."""
    ring = job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "5", "--warmup", "1",
                "--after", "1"], ranks=2, env=truth.ENVIRONMENT).wait_ready()
    watcher = observe("-p", ring.process.pid, "-o", tmp_path / "run.gasp")
    ring.work()
    assert watcher.stop()[0] == 0
    assert ring.end() == 0
    path, report = exported(tmp_path / "run.gasp"), reported(tmp_path / "run.gasp")
    assert_as_reported(path, report)
    assert links(dumped(path))
