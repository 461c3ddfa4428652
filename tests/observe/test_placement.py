# SPDX-License-Identifier: BSD-2-Clause
"""Where probes go, judged by another decoder: objdump's, over all functions of whole libraries; and jobs that run under
such probes.

A breakpoint in the middle of an instruction, or one that a branch can reach past the function's start, crashes a job or
counts wrongly. So nothing here asks gaspbpf whether a place is good.
"""
import array
import bisect
import json
import os
import pathlib
import re
import subprocess

import pytest

import gaspbpf
import truth
from placing import (BRANCH, BUILDS, LIBRARIES, OWN, SOURCE, TRUTH, back_to_start, build, counts, disassemble, exported,
                     openmp_job, own_copy, pieces, places, write_model)  # noqa: F401 (a fixture)

SEARCHED = 64  # bytes

REGISTERS = {
    "rdi": "rdi edi di dil", "rsi": "rsi esi si sil", "rdx": "rdx edx dx dl dh", "rcx": "rcx ecx cx cl ch",
    "r8": "r8 r8d r8w r8b", "r9": "r9 r9d r9w r9b", "rsp": "rsp esp sp spl",
}
WHOLE = {part: whole for whole, parts in REGISTERS.items() for part in parts.split()}
ARGUMENTS = set(REGISTERS) - {"rsp"}

INDIRECT = re.compile(r"^(?:bnd |notrack )*jmp\s+\*(.*)")
PLAIN_MEMORY = re.compile(r"^(?:0x[0-9a-f]+)?\(%\w+\)$")  # no index
LEA = re.compile(r"^lea .*# ([0-9a-f]+)")
EMULATED = re.compile(r"^(push\s+%r\w+$|nop$|xchg\s+%ax,%ax$|nopl\s+0x0\(%rax,%rax,1\)$|j[a-z]+\s+[0-9a-f]+\b)")
READS = re.compile(r"^(test|cmp|bt|u?comis[sd]|nop|endbr64)")
WRITES_LAST = re.compile(
    r"^(mov|lea|xor|and|or|add|sub|adc|sbb|not|neg|inc|dec|shl|sal|shr|sar|rol|ror|imul|cmov|set|bswap|bsf|bsr|"
                         r"tzcnt|lzcnt|popcnt|pxor|por|pcmpeqd|punpck|unpck|pshufd|shufps|cvt|cltq|cwtl|cs "
    r"nopw|data16)")


def is_fast(row):
    return row["class"] in ("nop5", "emulated")


def share(rows):
    rows = {row["offset"]: row for row in rows}.values()
    return 100 * sum(map(is_fast, rows)) / len(rows)


def destination(text):
    """The operand that is written, in AT&T order: the last one."""
    operands = text.split(None, 1)[1] if " " in text else ""
    return re.split(r",(?![^(]*\))", operands)[-1].strip()


def harm(text, kept):
    """What an instruction that runs before the probe does that it must not; None: nothing."""
    if READS.match(text) or "nopw" in text:
        return None
    if not WRITES_LAST.match(text):
        return "not known to be harmless"
    operand = destination(text)
    if text.startswith(("cltq", "cwtl")):
        return None
    if not operand.startswith("%"):
        return f"writes {operand}"
    whole = WHOLE.get(operand[1:])
    if whole == "rsp" or whole in kept or operand[1:] in ("cs", "ds", "es", "fs", "gs", "ss"):
        return f"writes {operand}"
    return None


class Judge:
    """Collects what objdump says of the functions whose probe is not on the first instruction."""

    def __init__(self, rows):
        self.moved = sorted((row for row in rows if row["probe_offset"] != row["offset"]),
                            key=lambda row: row["address"])
        self.starts = [row["address"] for row in self.moved]
        self.skipped = {row["address"] + i for row in self.moved
                        for i in range(1, row["probe_offset"] - row["offset"] + 1)}
        self.head = {row["address"]: {} for row in self.moved}
        # start of a function: its jumps through pointers look like that (True) or like tables (False)
        self.indirect = {}
        self.branches = []  # (from, to)
        self.pointers = set()

    def ranges(self):
        """Pieces of code that hold all moved functions."""
        return pieces((row["address"], row["address"] + max(row["size"], SEARCHED + 16)) for row in self.moved)

    def look(self, file):
        data = file.read_bytes()
        for offset in range(8):
            words = array.array("Q")
            words.frombytes(data[offset:offset + (len(data) - offset) // 8 * 8])
            self.pointers.update(self.skipped.intersection(words))
        for start, end in self.ranges():
            before = []
            for address, length, full in disassemble(file, start, end):
                text = full.split("#")[0].strip()
                if LEA.match(full):
                    self.pointers.update(self.skipped.intersection([int(LEA.match(full)[1], 16)]))
                at = bisect.bisect_right(self.starts, address) - 1
                if at >= 0:
                    row = self.moved[at]
                    distance = address - row["address"]
                    if distance <= SEARCHED:
                        self.head[row["address"]][distance] = (length, text)
                    if distance < row["size"] and INDIRECT.match(text):
                        start = row["address"]
                        self.indirect[start] = self.indirect.get(start, True) and self.goes_by_pointer(text, before)
                before = [*before[-15:], text]
                match = BRANCH.match(text)
                if match:
                    self.branches.append((address, int(match[2], 16)))

    @staticmethod
    def goes_by_pointer(text, before):
        operand = INDIRECT.match(text)[1]
        for text in reversed(before):
            if not operand.startswith("%") or text.startswith("j"):
                break
            if destination(text) == operand:
                operand = text.split(None, 1)[1].rsplit(",", 1)[0] if text.startswith("mov ") else "?"
        return bool(PLAIN_MEMORY.match(operand))

    def faults(self):
        for row in self.moved:
            yield from (f"{row['symbol']}+{row['probe_offset'] - row['offset']}: {fault}"
                        for fault in self.faults_of(row))
        for source, target in self.branches:
            at = bisect.bisect_left(self.starts, target) - 1
            if at >= 0:
                row = self.moved[at]
                if row["address"] < target <= row["address"] + row["probe_offset"] - row["offset"]:
                    yield f"{row['symbol']}: a branch at {source:#x} leads to {target:#x}"

    def faults_of(self, row):
        head, probe = self.head[row["address"]], row["probe_offset"] - row["offset"]
        if not 0 < probe <= SEARCHED:
            yield "too far"
        if probe not in head:
            yield "not the start of an instruction"
            return
        if not EMULATED.match(head[probe][1]):
            yield f"{head[probe][1]} is not emulated"
        if row["class"] == "nop5" and (head[probe][0] != 5 or (row["address"] + probe) % 4096 > 4091):
            yield "is no nop of 5 bytes in one page"
        skipped, at = [], 0
        while at < probe:
            if at not in head:
                yield f"no instruction at +{at}"
                return
            skipped.append(head[at][1])
            at += head[at][0]
        kept = set(row.get("registers", ARGUMENTS))
        yield from (f"{text}: {harm(text, kept)}" for text in skipped if harm(text, kept))
        if row["address"] in self.indirect or not row["size"]:
            yield from (f"{pointer:#x} is pointed to" for pointer in self.pointers
                        if row["address"] < pointer <= row["address"] + probe)
        if skipped == ["endbr64"]:
            return
        if not row["size"]:
            yield f"has no size, and skips {skipped}"
        if not self.indirect.get(row["address"], True):
            yield f"has a jump table, and skips {skipped}"


def assert_safe(file, rows):
    judge = Judge(rows)
    judge.look(pathlib.Path(file))
    faults = list(judge.faults())
    assert not faults, "\n".join(faults[:20])
    return len(judge.moved)


# --- whole libraries


@pytest.mark.parametrize("name", ["libc.so.6", "libgomp.so.1", "libmpi.so.40", "liboshmem.so.40", "libstarpu-1.3.so.9",
                                  "libcaf_openmpi.so.3", "libmpich.so.12", "libm.so.6", "libstdc++.so.6"])
def test_every_function_of_a_library(name):
    file = LIBRARIES / name
    if not file.exists():
        pytest.skip(f"no {file}")
    rows = places(file)
    assert len(rows) > 40
    moved = assert_safe(file, rows)
    before = share(places(file, "--placement=entry"))
    print(f"{name}: {len(rows)} functions, {moved} moved: {before:.0f} % fast before, {share(rows):.0f} % after")


PROGRAMS = ["/usr/bin/bash", "/usr/bin/gdb", "/usr/bin/python3", "/usr/bin/git", "/usr/bin/perl"]


def test_every_function_of_programs():
    for program in [*filter(os.path.exists, PROGRAMS), gaspbpf.PROGRAM]:
        assert_safe(program, places(program))


@pytest.mark.parametrize("compiler", BUILDS, ids=" ".join)
def test_own_program(tmp_path, compiler):
    """Whatever a compiler makes of it: every function is safely placed, and with probes on all of them at once the
    program prints the same, and each call is seen once."""
    program = build(compiler, tmp_path, SOURCE)
    if not program:
        pytest.skip("cannot be built here")
    rows = places(program)
    assert_safe(program, rows)
    plain = subprocess.run([program], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()
    printed, calls = counts(program, tmp_path)
    assert printed == plain
    if compiler[0] == "gcc":
        again = {"gcd", *back_to_start(program, rows)}
        assert {name: calls[name] for name in OWN if name not in again} == {name: TRUTH[name] for name in OWN
                                                                            if name not in again}
        assert all(calls[name] >= TRUTH[name] for name in again)
    else:
        assert (printed, calls) == counts(program, tmp_path, "--placement=entry")


# --- a job under probes on all functions of a library


@pytest.mark.guest_more
def test_openmp_under_probes_on_all_of_libgomp(tmp_path, own_copy, rung):
    program, plain, model, folder = openmp_job(tmp_path, own_copy)
    environment = {"LD_LIBRARY_PATH": str(folder)}
    listed = json.loads(gaspbpf.run("list", "--model-file", model, "-m", "every", "--json",
                                    folder / "libgomp.so.1").stdout)["found"]
    # ten of 429 call something of another file last, which may be dlopen(): they keep off the cheap places
    assert share(listed) >= 80
    # There the kernel takes a minute to remove 800 probes: functions that the program does not import are left out.
    every = ["--all-symbols"] if rung != "perf" else []
    observed = gaspbpf.run("--model-file", model, "-m", "every", "-q", "--json", *every, "--", program, env=environment)
    assert observed.returncode == 0, observed.stderr
    assert observed.stdout.startswith(plain)
    report = json.loads(observed.stdout[len(plain):])
    assert len(report["events"]) >= 15
    assert report["loss"]["lost"] == 0


@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY, indirect=True)
def test_mpi_under_probes_on_all_of_libmpi(job, observe, tmp_path, own_copy, rung):
    """A thousand functions at once, from MPI_Send to what Open MPI's parts call of each other; the job's own counts
    hold."""
    folder = own_copy("libmpi.so.40")
    names = exported(folder / "libmpi.so.40")
    line = ["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "5", "--warmup", "1",
            "--after", "1"]
    environment = {**truth.ENVIRONMENT, "LD_LIBRARY_PATH": str(folder)}
    ring = job(line, ranks=2, env=environment).wait_ready()
    watcher = observe("--model-file", write_model(tmp_path, "libmpi.so*", names), "-m", "every", "--json",
                      "-p", ",".join(map(str, ring.pids())))
    ring.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert ring.end() == 0, ring.output()
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    seen = {names[int(name.rpartition("F")[2])].removeprefix("P"): row["calls"]
            for name, row in gaspbpf.events(report).items()}
    counted = {name: row["calls"] for name, row in truth.by_event(truth.functions(ring), lambda name: name).items()
               if name in ("MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Bcast", "MPI_Put", "MPI_Wait")}
    assert len(counted) > 4
    assert {name: seen.get(name, 0) for name in counted} == counted
    truth.compare_with_alone(ring, line, truth.ENVIRONMENT)


# --- shares, list, and the judge himself


@pytest.mark.parametrize("models, name, least", [
    ("mpi", "libmpi.so.40", 96), ("shmem", "liboshmem.so.40", 98), ("c,pthread", "libc.so.6", 65)])
def test_share_of_cheap_places(models, name, least):
    """Of the functions that models know, with the arguments that they capture."""
    if not (LIBRARIES / name).exists():
        pytest.skip(f"no {name}")
    rows = json.loads(gaspbpf.run("list", "-m", models, "--json", LIBRARIES / name).stdout)["found"]
    before = json.loads(gaspbpf.run("list", "-m", models, "--json", "--placement=entry",
                                    LIBRARIES / name).stdout)["found"]
    print(f"{name}: {share(before):.1f} % fast before, {share(rows):.1f} % after")
    assert share(rows) >= least
    assert all(row["probe_offset"] == row["offset"] for row in before)
    sizes = {row["offset"]: row for row in places(LIBRARIES / name)}
    assert_safe(LIBRARIES / name,
                [{**sizes[row["offset"]], **row} for row in {row["offset"]: row for row in rows}.values()])


def test_list_explains(tmp_path):
    rows = json.loads(gaspbpf.run("list", "-m", "c,pthread", "--json", LIBRARIES / "libc.so.6").stdout)["found"]
    for row in rows:
        assert row["instruction"] and (row["class"] == "stepped") == bool(row["why_here"])
        assert row["expected_ns"] > 50
    text = gaspbpf.run("list", "-v", "-m", "c,pthread", LIBRARIES / "libc.so.6").stdout
    assert re.search(r"GASP_PTHREAD_MUTEX_LOCK .* 0x[0-9a-f]+ +\+\d+ +emulated +\d+ ns +j\w+ 0x", text)
    result = gaspbpf.run("list", "--placement=middle", LIBRARIES / "libc.so.6")
    assert result.returncode == 2 and "use fast or entry" in result.stderr


@pytest.mark.parametrize("shift", [1, -1, 7])
def test_the_judge_sees_a_wrong_place(shift):
    rows = places(LIBRARIES / "libgomp.so.1")
    judge = Judge([{**row, "probe_offset": row["probe_offset"] + shift} for row in rows])
    judge.look(LIBRARIES / "libgomp.so.1")
    accused = {fault.split(":")[0].split("+")[0] for fault in judge.faults()}
    assert len(accused) > 0.9 * len(judge.moved)
