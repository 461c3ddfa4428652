# SPDX-License-Identifier: BSD-2-Clause
"""Folded stacks and pprof profiles: valid by the letter, and the report's calls and times in them."""
import collections
import gzip
import json
import re
import shutil
import subprocess

import pytest

import composed
import gaspbpf
from composed import call, compose
from peak_memory import most_memory
from strict_json import BY_NUMBER

pytestmark = pytest.mark.files
WORK, OTHER, MALLOC = "GASP_PROGRAM_WORK", "GASP_PROGRAM_OTHER", "GASP_C_MALLOC"


def export(recording, suffix):
    path = recording.with_suffix(suffix)
    result = gaspbpf.run("export", recording, "-o", path)
    assert (result.returncode, result.stderr) == (0, "")
    return path.read_bytes()


def reported(recording):
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def folded(recording):
    """[(frames, ns)]"""
    text = export(recording, ".folded").decode("utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    found = [re.fullmatch(r"(.+) (\d+)", line) for line in text.splitlines()]
    assert text.count("\n") == len(found) and all(found)
    stacks = [(tuple(line[1].split(";")), int(line[2])) for line in found]
    assert all(all(frames) for frames, _ in stacks)
    return stacks


def totals(stacks):
    """{frame: ns of all stacks with it}"""
    times = collections.Counter()
    for frames, ns in stacks:
        for frame in set(frames):
            times[frame] += ns
    return times


# --- pprof: the wire format of Protocol Buffers, and profile.proto ------------------

def fields(data):
    """[(number, value)] of a message: numbers and bytes only."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            assert key & 7 == 2
            size = varint()
            found.append((key >> 3, bytes(data[at:at + size])))
            at += size
            assert at <= len(data)
    return found


def numbers(data):
    """Of a packed field."""
    each = re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data)
    assert b"".join(each) == data
    return [value for _, value in fields(b"".join(b"\x08" + one for one in each))]


class Profile:
    """samples: [(stack of (function, file, line), the called one first; (calls, ns); labels)]"""

    def __init__(self, packed):
        self.parts = collections.defaultdict(list)
        for number, value in fields(gzip.decompress(packed)):
            self.parts[number].append(value)
        self.strings = [text.decode("utf-8") for text in self.parts[6]]
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        assert [[self.strings[value] for _, value in fields(kind)] for kind in self.parts[1]] == [
            ["calls", "count"], ["time", "nanoseconds"]]
        assert [self.strings[index] for index in self.parts[14]] == ["time"]
        self.comments = [self.strings[index] for index in self.parts[13]]
        (mapping,) = self.by_id(3, {1, 5, 7, 8, 9}).values()
        assert [mapping[known] for known in (7, 8, 9)] == [1, 1, 1]
        self.program = self.strings[mapping[5]]
        functions = self.by_id(5, {1, 2, 3, 4})
        self.places = {}
        for number, location in self.by_id(4, {1, 2, 4}).items():
            assert location[2] == mapping[1]
            line = dict(fields(location[4]))
            function = functions[line[1]]
            self.places[number] = (self.strings[function[2]], self.strings[function.get(4, 0)], line.get(2, 0))
        self.samples = [self.sample(data) for data in self.parts[2]]
        used = {place for stack, _, _ in self.samples for place in stack}
        assert used == set(self.places.values()) and len(set(self.places.values())) == len(self.places)

    def by_id(self, number, known):
        found = {}
        for data in self.parts[number]:
            message = dict(fields(data))
            assert set(message) <= known and message[1] and message[1] not in found
            found[message[1]] = message
        return found

    def sample(self, data):
        stack, values, labels = [], [], {}
        for number, value in fields(data):
            if number == 1:
                stack += [self.places[place] for place in numbers(value)]
            elif number == 2:
                values += numbers(value)
            else:
                label = dict(fields(value))
                labels[self.strings[label[1]]] = self.strings[label.get(2, 0)]
        assert stack and len(values) == 2
        return stack, values, labels

    def events(self):
        """{event: [calls, ns with all that is inside, ns without]}; the events are every stack's first places, and
        others' too."""
        leaves = {stack[0][0] for stack, _, _ in self.samples}
        found = {event: [0, 0, 0] for event in leaves}
        for stack, (calls, ns), _ in self.samples:
            found[stack[0][0]][0] += calls
            found[stack[0][0]][2] += ns
            for event in {name for name, *_ in stack} & leaves:
                found[event][1] += ns
        return found


def by_report(report):
    return {event["name"]: [event["delivered"], event["total_ns"] or 0, event["self_ns"] or 0]
            for event in report["events"]}


NESTED = ("process 7 3\n" + call(7, 20, 30, "malloc", depth=1, site="a.c:2,inner") +
          call(7, 40, 40, "malloc", depth=2, site="a.c:3,deep") + call(7, 35, 60, "work", depth=1, site="a.c:4,inner") +
          call(7, 10, 70, "work", site="main.c:1,main") + call(7, 70, 90, "malloc") + "atomic 7 95 other\n"
          "call 7 96 100 work end=under_way\nend 100\n")
TWO_STACKS = "process 7 0\n" + call(7, 10, 30, "work") + call(7, 20, 40, "other")


@pytest.mark.parametrize("text", (NESTED, TWO_STACKS, composed.LATE_SENDER), ids=("nested", "two stacks", "ranks"))
def test_calls_and_times_are_the_reports(tmp_path, text):
    recording = compose(tmp_path / "run.gasp", text)
    report = by_report(reported(recording))
    stacks = folded(recording)
    assert {event: ns for event, ns in totals(stacks).items() if event in report} == {
        event: total for event, (_, total, _) in report.items() if total}
    assert sum(ns for _, ns in stacks) == sum(own for _, _, own in report.values())
    assert Profile(export(recording, ".pb.gz")).events() == report


def test_stacks_by_hand(tmp_path):
    recording = compose(tmp_path / "run.gasp", NESTED)
    top = ("rank 3", "job (tid 7)")
    outer = (*top, "main.c:1 in main", WORK)
    assert sorted(folded(recording)) == sorted([
        ((*outer, "a.c:2 in inner", MALLOC), 10), ((*outer, "a.c:4 in inner", WORK), 25), (outer, 25),
        ((*top, MALLOC), 20), ((*top, WORK), 4)])
    samples = Profile(export(recording, ".pb.gz")).samples
    deepest = next(stack for stack, _, _ in samples if len(stack) == 6)
    assert [place for place in deepest if not place[0].startswith("GASP_")] == [
        ("deep", "a.c", 3), ("inner", "a.c", 4), ("main", "main.c", 1)]
    assert [(name, line) for name, _, line in deepest if name.startswith("GASP_")] == [
        (MALLOC, 0), (WORK, 0), (WORK, 0)]
    assert all(labels == {"node": "host", "rank": "3", "thread": "rank 3"} for _, _, labels in samples)


def test_each_thread_has_stacks_of_its_own(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 1 0\nprocess 2 1\nthread 2 22\n" + "".join(
        call(tid, 10, 20 + tid, "work") for tid in (1, 2, 22)))
    assert folded(recording) == [(("rank 0", "job (tid 1)", WORK), 11), (("rank 1", "job (tid 2)", WORK), 12),
                                 (("rank 1", "job (tid 22)", WORK), 32)]
    profile = Profile(export(recording, ".pb.gz"))
    assert [(values, labels["rank"], labels["thread"]) for _, values, labels in profile.samples] == [
        ([1, 11], "0", "rank 0"), ([1, 12], "1", "rank 1"), ([1, 32], "1", "rank 1 job (tid 22)")]


def test_a_viewer_that_keeps_the_order_draws_each_frame_once(tmp_path):
    """Threads are told as they are listed, not as they were met, and what is inside of a call at once below it: though
    the work has called first something, then something else, then the first again from where it was not so far."""
    recording = compose(tmp_path / "run.gasp", "process 5 1\nprocess 1 0\nthread 1 3\nthread 1 2\n" + "".join(
        call(tid, 30 * i + 12, 30 * i + 15, "malloc", depth=2) + call(tid, 30 * i + 10, 30 * i + 20, inside, depth=1)
        + call(tid, 30 * i + 5, 30 * i + 25, "work")
        for tid in (5, 3, 2, 1) for i, inside in enumerate(("other", "free", "other"))))
    stacks = [frames for frames, _ in folded(recording)]
    assert list(dict.fromkeys(frames[:2] for frames in stacks)) == [
        ("rank 0", "job (tid 1)"), ("rank 0", "job (tid 2)"), ("rank 0", "job (tid 3)"), ("rank 1", "job (tid 5)")]
    assert [frames[2:] for frames in stacks[:5]] == [
        (WORK,), (WORK, OTHER), (WORK, OTHER, MALLOC), (WORK, "GASP_C_FREE"), (WORK, "GASP_C_FREE", MALLOC)]
    threads = [labels["thread"] for _, _, labels in Profile(export(recording, ".pb.gz")).samples]
    assert list(dict.fromkeys(threads)) == ["rank 0", "rank 0 job (tid 2)", "rank 0 job (tid 3)", "rank 1"]


def test_a_place_is_one_wherever_it_is_mapped(tmp_path):
    """A recording has it twice where its file was mapped again; calls from there are one stack, also where it is known
    what has called further out."""
    recording, chain = tmp_path / "run.gasp", "chain GASP_C_MALLOC 47 3 main.c:9 in main\n"
    calls = "process 1 -1\n" + "".join(f"call 1 {at} {at + 5} malloc site=step.c:47@{base:#x},meet\n"
                                       for at, base in ((10, 0x10000), (20, 0x50000), (30, 0x10000)))
    for text, around in ((calls, ()), (calls + chain, ("main.c:9 in main",))):
        compose(recording, text)
        assert [(frames[2:], ns) for frames, ns in folded(recording)] == [((*around, "step.c:47 in meet", MALLOC), 15)]
        (stack, values, _), = Profile(export(recording, ".pb.gz")).samples
        assert (len(stack), values) == (2 + len(around), [3, 15])


def test_instructions_of_a_line_are_one_place(tmp_path):
    """Unless it is known what has called further out: of one of them, here."""
    recording, line = tmp_path / "run.gasp", ("step.c:47 in meet", MALLOC)
    calls = "process 1 -1\ncall 1 10 15 malloc site=step.c:47,meet\ncall 1 20 27 malloc site=step.c:47@0x10000,meet\n"
    compose(recording, calls)
    assert [(frames[2:], ns) for frames, ns in folded(recording)] == [(line, 12)]
    compose(recording, calls + "chain GASP_C_MALLOC 47 1 main.c:9 in main\n")
    assert [(frames[2:], ns) for frames, ns in folded(recording)] == [(line, 5), (("main.c:9 in main", *line), 7)]


def test_callers_where_all_looks_found_the_same(tmp_path):
    at = "site=step.c:{}@0x10000,meet"
    recording = compose(tmp_path / "run.gasp", "process 1 -1\n"
                        f"call 1 10 20 malloc {at.format(47)}\ncall 1 30 35 malloc {at.format(50)}\n"
                        "chain GASP_C_MALLOC 47 3 step.c:80 in turn < main.c:9\t in main\n"
                        "chain GASP_C_MALLOC 50 1 step.c:80 in turn\nchain GASP_C_MALLOC 50 2 step.c:90 in other\n")
    assert [frames[2:] for frames, _ in folded(recording)] == [
        ("main.c:9? in main", "step.c:80 in turn", "step.c:47 in meet", MALLOC), ("step.c:50 in meet", MALLOC)]
    assert [[name for name, *_ in stack] for stack, _, _ in Profile(export(recording, ".pb.gz")).samples] == [
        [MALLOC, "meet", "step.c:80 in turn", "main.c:9\t in main"], [MALLOC, "meet"]]


def test_what_is_missing_is_said(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 7 0\n" + call(7, 10, 20, "work") +
                        "lost 7 3\nsum 7 work 3 20 0\n")
    assert folded(recording) == [(("rank 0", "job (tid 7), without 23 calls", WORK), 10)]
    assert Profile(export(recording, ".pb.gz")).comments[1:] == ["without 23 calls that are not on the timeline"]


HOSTILE = b"a\"b'c\\;\x1b[31m\xff\xc3\xa9<&>;d"


def test_hostile_names(tmp_path):
    """A frame stays one, whatever it is called."""
    recording = tmp_path / "run.gasp"
    subprocess.run([composed.COMPOSE, recording, gaspbpf.TOP / "models"], check=True,
                   input=b"process 7 0\nhost " + HOSTILE + b"\ncall 7 10 20 work site=" + HOSTILE + b":7," + HOSTILE +
                   b"\n")
    (frames, ns), = folded(recording)
    assert (len(frames), ns, frames[3]) == (4, 10, WORK) and "é<&>" in frames[2]
    (stack, values, labels), = Profile(export(recording, ".pb.gz")).samples
    shown = HOSTILE.decode(errors=BY_NUMBER)
    assert stack[1] == (shown, shown, 7) and values == [1, 10]
    assert labels["node"] == shown


def test_a_recording_of_nothing(tmp_path):
    recording = compose(tmp_path / "run.gasp", "")
    assert folded(recording) == [] and Profile(export(recording, ".pb.gz")).samples == []


def many(calls):
    return "process 7 0\nthread 7 8\n" + "".join(
        f"call 7 {i * 1000 + 10} {i * 1000 + 500 + i % 7} malloc site=a.c:{i % 9 + 1}\n"
        f"call 8 {i * 1000 + 20} {i * 1000 + 600} {('work', 'free')[i % 2]} depth=1\n"
        for i in range(calls // 2)) + f"call 8 5 {calls * 1000} other\n"


@pytest.mark.skipif(gaspbpf.BUILD != gaspbpf.TOP / "build", reason="sanitizers keep memory")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    short, long = (compose(tmp_path / f"{calls}.gasp", many(calls)) for calls in (100_000, 300_000))
    for suffix in ("folded", "pb.gz"):
        less, more = (most_memory("export", recording, "-o", tmp_path / f"x.{suffix}") for recording in (short, long))
        assert more < less + 2048
    assert len(folded(long)) == 12


def test_go_reads_the_profile(tmp_path):
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    recording = compose(tmp_path / "run.gasp", NESTED)
    export(recording, ".pb.gz")
    result = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ns", "-nodefraction=0", tmp_path / "run.pb.gz"],
                            capture_output=True, text=True, timeout=gaspbpf.PATIENCE, check=True,
                            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert result.stdout.startswith("File: job\n") and not result.stderr  # it misses nothing
    rows = re.findall(r"^\s*(\d+)(?:ns)?\s+\S+\s+\S+\s+(\d+)(?:ns)?\s+\S+\s+(GASP\w+)", result.stdout, re.MULTILINE)
    assert {name: (int(own), int(total)) for own, total, name in rows} == {
        name: (own, total) for name, (_, total, own) in by_report(reported(recording)).items() if total}
