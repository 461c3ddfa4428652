# SPDX-License-Identifier: BSD-2-Clause
"""Profiles for speedscope: as the viewer's schema has it, a profile a thread, and the report's times in it."""
import collections
import gzip
import json
import os
import re

import pytest

import gaspbpf
from composed import call, compose, lines
from peak_memory import most_memory
from strict_json import BY_NUMBER, parse

WORK, OTHER = "GASP_PROGRAM_WORK", "GASP_PROGRAM_OTHER"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def check(data):
    """What the schema and the viewer demand of a file. Returns it."""
    file = parse(data)
    assert {"$schema", "shared", "profiles"} <= set(file) <= {"$schema", "shared", "profiles", "name", "exporter",
                                                               "activeProfileIndex"}
    assert file["$schema"] == SCHEMA
    assert all(isinstance(file[key], str) for key in ("name", "exporter"))
    assert set(file["shared"]) == {"frames"}
    for frame in file["shared"]["frames"]:
        assert {"name"} <= set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str) and isinstance(frame.get("file", ""), str)
        assert type(frame.get("line", 1)) is int
    if file["profiles"]:
        assert file["activeProfileIndex"] in range(len(file["profiles"]))
    for profile in file["profiles"]:
        check_profile(profile, len(file["shared"]["frames"]))
    return file


def check_profile(profile, frames):
    """Each close is that of the latest open, all are closed, and times do not go back."""
    assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "events"}
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("evented", "nanoseconds", 0)
    assert isinstance(profile["name"], str)
    opened, now = [], profile["startValue"]
    for event in profile["events"]:
        assert set(event) == {"type", "frame", "at"} and type(event["at"]) is int
        assert event["frame"] in range(frames)
        assert event["at"] >= now
        now = event["at"]
        if event["type"] == "O":
            opened.append(event["frame"])
        else:
            assert event["type"] == "C" and opened.pop() == event["frame"]
    assert not opened
    assert now <= profile["endValue"]


def exported(recording):
    path = recording.with_suffix(".speedscope.json")
    result = gaspbpf.run("export", recording, "-o", path)
    assert (result.returncode, result.stderr) == (0, "")
    return check(path.read_bytes())


def names(file):
    return [profile["name"] for profile in file["profiles"]]


def story(file, profile=0):
    """A profile's events in short: ("+", event, time)."""
    frames = [frame["name"] for frame in file["shared"]["frames"]]
    return [("+" if event["type"] == "O" else "-", frames[event["frame"]], event["at"])
            for event in file["profiles"][profile]["events"]]


def totals(file):
    """{event: (calls, ns)}; a call inside another of the same event counts, but not its time, as in the report."""
    calls, times = collections.Counter(), collections.Counter()
    for profile in range(len(file["profiles"])):
        opened = collections.defaultdict(list)
        for what, name, at in story(file, profile):
            if what == "+":
                calls[name] += 1
                opened[name].append(at)
            else:
                start = opened[name].pop()
                times[name] += 0 if opened[name] else at - start
    return {name: (calls[name], times[name]) for name in calls}


def reported(recording):
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def assert_as_reported(file, report):
    """Calls and times of each event, to the nanosecond."""
    assert totals(file) == {event["name"]: (event["delivered"], event["total_ns"] or 0) for event in report["events"]}


# --- by hand ------------------------------------------------------------------


@pytest.mark.files
def test_calls_in_calls(tmp_path):
    """One inside the other, one inside itself, one after the other, one that takes no time."""
    recording = compose(tmp_path / "run.gasp", "process 7 -1\n" + call(7, 20, 30, "malloc", depth=1) +
                        call(7, 40, 40, "malloc", depth=2) + call(7, 35, 60, "work", depth=1) +
                        call(7, 10, 70, "work") + call(7, 70, 90, "malloc") + "atomic 7 95 other\nend 100\n")
    file = exported(recording)
    assert story(file) == [
        ("+", WORK, 10), ("+", "GASP_C_MALLOC", 20), ("-", "GASP_C_MALLOC", 30), ("+", WORK, 35),
        ("+", "GASP_C_MALLOC", 40), ("-", "GASP_C_MALLOC", 40), ("-", WORK, 60), ("-", WORK, 70),
        ("+", "GASP_C_MALLOC", 70), ("-", "GASP_C_MALLOC", 90), ("+", OTHER, 95), ("-", OTHER, 95)]
    assert file["profiles"][0]["endValue"] == 100
    assert (file["name"], names(file)) == ("./job", ["job (tid 7)"])
    assert_as_reported(file, reported(recording))


@pytest.mark.files
def test_calls_that_begin_or_end_together(tmp_path):
    """The clock ties: who is inside whom is known all the same."""
    recording = compose(tmp_path / "run.gasp", "process 7 -1\n" + call(7, 10, 20, "malloc", depth=1) +
                        call(7, 20, 30, "free", depth=1) + call(7, 10, 30, "work") + call(7, 30, 30, "other"))
    assert story(exported(recording)) == [
        ("+", WORK, 10), ("+", "GASP_C_MALLOC", 10), ("-", "GASP_C_MALLOC", 20), ("+", "GASP_C_FREE", 20),
        ("-", "GASP_C_FREE", 30), ("-", WORK, 30), ("+", OTHER, 30), ("-", OTHER, 30)]


@pytest.mark.files
def test_calls_under_way(tmp_path):
    """What began before the run begins with it; what had not ended at its end ends with it."""
    recording = compose(tmp_path / "run.gasp", "process 7 -1\n" + call(7, -50, 10, "malloc") +
                        "call 7 60 100 malloc depth=1 end=under_way\n"
                        "call 7 20 100 work end=under_way\nend 100\n")
    file = exported(recording)
    assert story(file) == [("+", "GASP_C_MALLOC", 0), ("-", "GASP_C_MALLOC", 10), ("+", WORK, 20),
                           ("+", "GASP_C_MALLOC", 60), ("-", "GASP_C_MALLOC", 100), ("-", WORK, 100)]


@pytest.mark.files
def test_ranks_come_in_order(tmp_path):
    """Rank 0's first thread first, whoever was met first; what has no rank last. Threads without calls are there, too,
    but not what is opened."""
    recording = compose(tmp_path / "run.gasp", "process 50 -1\nprocess 40 1\nprocess 60 0\nthread 60 63\n"
                        "thread 60 61\n" + call(40, 1, 2, "work") + call(63, 1, 2, "work") + call(50, 1, 2, "work"))
    file = exported(recording)
    assert names(file) == ["rank 0", "rank 0 job (tid 61)", "rank 0 job (tid 63)", "rank 1", "job (tid 50)"]
    assert [len(profile["events"]) for profile in file["profiles"]] == [0, 0, 2, 2, 2]
    assert file["activeProfileIndex"] == 2
    listed = [thread["tid"] for thread in reported(recording)["threads"]]
    assert listed == [63, 40, 50]


@pytest.mark.files
def test_what_is_lost_is_said_and_not_made_up(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 7 0\nprocess 8 1\nprocess 9 2\n" + call(7, 10, 20, "work") +
                        "lost 7 3\n" + call(7, 80, 90, "work") + "lost 8 1\n" + call(8, 1, 2, "work") +
                        call(9, 1, 2, "work"))
    file = exported(recording)
    assert names(file) == ["rank 0, without 3 calls", "rank 1, without 1 call", "rank 2"]
    assert story(file) == [("+", WORK, 10), ("-", WORK, 20), ("+", WORK, 80), ("-", WORK, 90)]


@pytest.mark.files
def test_what_the_kernel_summed_is_missing_too(tmp_path):
    """Lost calls are told by gaps and by sums, and are the same calls."""
    recording = compose(tmp_path / "run.gasp", "process 7 0\nprocess 8 1\nlost 7 3\n" + call(7, 10, 20, "work") +
                        "sum 7 work 3 20 100\nsum 8 work 4 0 0\nsum 8 other 1 0 0\n")
    assert names(exported(recording)) == ["rank 0, without 123 calls", "rank 1, without 5 calls"]


@pytest.mark.files
@pytest.mark.parametrize("text, profiles", (("", []), ("process 7 0\n", ["rank 0"])))
def test_a_recording_of_nothing(tmp_path, text, profiles):
    file = exported(compose(tmp_path / "run.gasp", text))
    assert names(file) == profiles
    assert not any(profile["events"] for profile in file["profiles"])


def many(calls):
    """Two threads that take turns, one of them deep in a call."""
    text = ["process 7 0\nthread 7 8\n"]
    for i in range(calls // 2):
        text.append(f"call 7 {i * 1000 + 10} {i * 1000 + 500 + i % 7} malloc\n"
                    f"call 8 {i * 1000 + 20} {i * 1000 + 600} {('work', 'free')[i % 2]} depth=1\n")
    return "".join(text) + f"call 8 5 {calls * 1000} other\n"


@pytest.mark.files
def test_long_profiles_are_whole(tmp_path):
    """They wait in a file; in it nothing is mixed up, or missing. The list of events knows the same calls."""
    recording = compose(tmp_path / "run.gasp", many(30_000))
    file = exported(recording)
    frames = {"GASP_C_MALLOC", "GASP_C_FREE", WORK, OTHER}
    assert {frame["name"] for frame in file["shared"]["frames"]} == frames
    for profile, (tid, events) in enumerate(sorted(lines(recording).items())):
        assert story(file, profile) == [({"START": "+", "END": "-"}[kind], name, at) for at, kind, name, *_ in events]
    assert_as_reported(file, reported(recording))
    assert gaspbpf.run("export", recording, "-o", tmp_path / "x.speedscope.json.gz").returncode == 0
    assert gzip.decompress((tmp_path / "x.speedscope.json.gz").read_bytes()) == \
        (tmp_path / "run.speedscope.json").read_bytes()


@pytest.mark.files
@pytest.mark.skipif(gaspbpf.BUILD != gaspbpf.TOP / "build", reason="sanitizers keep memory")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    """No more than for the Chrome trace of it, which waits for nothing."""
    recording = compose(tmp_path / "run.gasp", many(1_500_000))
    chrome = most_memory("export", recording, "-o", tmp_path / "run.json")
    assert most_memory("export", recording, "-o", tmp_path / "run.speedscope.json") < chrome + 2048


@pytest.mark.files
def test_no_room_for_what_waits(tmp_path):
    recording = compose(tmp_path / "run.gasp", many(1000))
    result = gaspbpf.run("export", recording, "-o", tmp_path / "run.speedscope.json",
                         env={**os.environ, "TMPDIR": str(tmp_path / "nowhere")})
    assert result.returncode == 1
    assert "no temporary file" in result.stderr and "set TMPDIR" in result.stderr


# --- jobs ---------------------------------------------------------------------


def test_a_job_of_threads(job, observe, tmp_path):
    """As many calls as the job counted, and the times of the report; from the run itself as from the recording."""
    team = job([gaspbpf.WORKLOADS / "threads", "--threads", 3, "--rounds", 50]).wait_ready()
    watcher = observe("-p", team.pids()[0], "-o", tmp_path / "run.gasp", "-o", tmp_path / "live.speedscope.json")
    team.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    assert team.end() == 0
    file = exported(tmp_path / "run.gasp")
    assert file == check((tmp_path / "live.speedscope.json").read_bytes())
    assert_as_reported(file, reported(tmp_path / "run.gasp"))
    truth = team.truths()[0]
    for thread in truth["threads"]:
        profile = next(i for i, name in enumerate(names(file)) if name.endswith(f"(tid {thread['tid']})"))
        seen = collections.Counter(name for what, name, _ in story(file, profile) if what == "+")
        assert seen["GASP_C_MALLOC"] == thread["functions"]["malloc"]["calls"]
        assert seen["GASP_PTHREAD_MUTEX_LOCK"] == thread["functions"]["pthread_mutex_lock"]["calls"]
    libraries = {frame["name"]: frame["file"] for frame in file["shared"]["frames"]}
    assert os.path.samefile(libraries["GASP_C_MALLOC"], "/lib/x86_64-linux-gnu/libc.so.6")


def test_rings_that_overflow(job, observe, tmp_path):
    """Each thread says how many of its calls are missing: by the job's own count."""
    team = job([gaspbpf.WORKLOADS / "threads", "--threads", 2, "--rounds", 400]).wait_ready()
    watcher = observe("-p", team.pids()[0], "--ring-size", "4k", "-o", tmp_path / "run.gasp")
    team.work()
    assert watcher.stop()[0] == 0
    assert team.end() == 0
    file = exported(tmp_path / "run.gasp")
    missing = 0
    for thread in team.truths()[0]["threads"]:
        index, name = next((i, name) for i, name in enumerate(names(file)) if f"(tid {thread['tid']})" in name)
        shown = sum(what == "+" for what, *_ in story(file, index))
        told = int((re.search(r", without (\d+) calls?$", name) or [0, 0])[1])
        assert shown + told == sum(row["calls"] for row in thread["functions"].values())
        missing += told
    assert missing > 0


def test_while_the_job_runs(job, observe, tmp_path):
    """Calls under way at the end are closed there."""
    target = job([gaspbpf.WORKLOADS / "threads", "--seconds", 60, "--slow", 0, "--slow-us", 20000], gate=False)
    gaspbpf.wait_for(lambda: "ready" in target.output(), "the job to work")
    watcher = observe("-p", target.process.pid, "-m", "pthread", "-o", tmp_path / "run.gasp", "-d", "1s")
    assert watcher.finish()[0] == 0
    file = exported(tmp_path / "run.gasp")
    report = reported(tmp_path / "run.gasp")
    assert_as_reported(file, report)
    under_way = sum(event["open"] for event in report["events"])
    last = max(profile["events"][-1]["at"] for profile in file["profiles"] if profile["events"])
    closed = sum(event["type"] == "C" and event["at"] == last
                 for profile in file["profiles"] for event in profile["events"])
    assert closed >= under_way > 0


def test_hostile_names(job, observe, tmp_path):
    """Quotes, newlines, control characters, bytes that are no UTF-8: as they are, and no harm to the JSON."""
    target = job([gaspbpf.WORKLOADS / "names"]).wait_ready()
    watcher = observe("-p", target.process.pid, "-o", tmp_path / "run.gasp", "-m", "pthread")
    target.work()
    assert watcher.stop()[0] == 0
    assert target.end() == 0
    shown = names(exported(tmp_path / "run.gasp"))
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", (tmp_path / "run.speedscope.json").read_bytes())
    for tid, name in target.truths()[0]["names"].items():
        assert f"{bytes.fromhex(name).decode(errors=BY_NUMBER)} (tid {tid})" in shown


@pytest.mark.files
def test_work_on_two_stacks(tmp_path):
    """A profile for each stack of a thread, for calls on different stacks do not nest."""
    recording = compose(tmp_path / "run.gasp", "process 7 0\n" + call(7, 10, 30, "work") + call(7, 20, 40, "other"))
    file = exported(recording)
    assert names(file) == ["rank 0", "rank 0 stack 2"]
    assert story(file, 0) == [("+", WORK, 10), ("-", WORK, 30)]
    assert story(file, 1) == [("+", OTHER, 20), ("-", OTHER, 40)]
