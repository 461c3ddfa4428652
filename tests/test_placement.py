# SPDX-License-Identifier: BSD-2-Clause
"""Where probes go, judged by another decoder: objdump's, over all functions of whole libraries; and jobs that run under such probes.

A breakpoint in the middle of an instruction, or one that a branch can reach past the function's start, crashes a job or counts
wrongly. So nothing here asks gaspbpf whether a place is good.
"""
import array
import bisect
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import gaspbpf
import truth

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
SEARCHED = 64  # bytes
GAP = 1 << 16  # bytes between functions that are disassembled in one go

REGISTERS = {
    "rdi": "rdi edi di dil", "rsi": "rsi esi si sil", "rdx": "rdx edx dx dl dh", "rcx": "rcx ecx cx cl ch",
    "r8": "r8 r8d r8w r8b", "r9": "r9 r9d r9w r9b", "rsp": "rsp esp sp spl",
}
WHOLE = {part: whole for whole, parts in REGISTERS.items() for part in parts.split()}
ARGUMENTS = set(REGISTERS) - {"rsp"}

LINE = re.compile(r"^\s*([0-9a-f]+):\t(?:((?:[0-9a-f]{2} )+)\s*)(?:\t(.*))?$")
BRANCH = re.compile(r"^(?:bnd |notrack |data16 )*(j[a-z]+|call|loop[a-z]*|xbegin)(?:,p[nt])?\s+([0-9a-f]+)\b")
INDIRECT = re.compile(r"^(?:bnd |notrack )*jmp\s+\*(.*)")
PLAIN_MEMORY = re.compile(r"^(?:0x[0-9a-f]+)?\(%\w+\)$")  # no index
LEA = re.compile(r"^lea .*# ([0-9a-f]+)")
EMULATED = re.compile(r"^(push\s+%r\w+$|nop$|xchg\s+%ax,%ax$|nopl\s+0x0\(%rax,%rax,1\)$|j[a-z]+\s+[0-9a-f]+\b)")
READS = re.compile(r"^(test|cmp|bt|u?comis[sd]|nop|endbr64)")
WRITES_LAST = re.compile(r"^(mov|lea|xor|and|or|add|sub|adc|sbb|not|neg|inc|dec|shl|sal|shr|sar|rol|ror|imul|cmov|set|bswap|bsf|bsr|"
                         r"tzcnt|lzcnt|popcnt|pxor|por|pcmpeqd|punpck|unpck|pshufd|shufps|cvt|cltq|cwtl|cs nopw|data16)")


def places(file, *options):
    result = gaspbpf.run("list", "--every-function", "--json", file, *options)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["files"][0]["functions"]


def is_fast(row):
    return row["class"] in ("nop5", "emulated")


def share(rows):
    rows = {row["offset"]: row for row in rows}.values()
    return 100 * sum(map(is_fast, rows)) / len(rows)


def disassemble(file, start, end):
    """(address, bytes, text) of all code in start..end, as objdump sees it."""
    command = ["objdump", "-d", "-w", f"--start-address={start:#x}", f"--stop-address={end:#x}", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            match = LINE.match(line)
            if match:
                yield int(match[1], 16), match[2].count(" "), (match[3] or "").strip()
    assert process.returncode == 0


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
        self.moved = sorted((row for row in rows if row["probe_offset"] != row["offset"]), key=lambda row: row["address"])
        self.starts = [row["address"] for row in self.moved]
        self.skipped = {row["address"] + i for row in self.moved for i in range(1, row["probe_offset"] - row["offset"] + 1)}
        self.head = {row["address"]: {} for row in self.moved}
        self.indirect = {}  # start of a function: its jumps through pointers look like that (True) or like tables (False)
        self.branches = []  # (from, to)
        self.pointers = set()

    def ranges(self):
        """Pieces of code that hold all moved functions."""
        pieces = []
        for row in self.moved:
            start, end = row["address"], row["address"] + max(row["size"], SEARCHED + 16)
            if pieces and start - pieces[-1][1] < GAP:
                pieces[-1][1] = max(end, pieces[-1][1])
            else:
                pieces.append([start, end])
        return pieces

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
            yield from (f"{row['symbol']}+{row['probe_offset'] - row['offset']}: {fault}" for fault in self.faults_of(row))
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


# Each thing that makes a function's start interesting: loops, jump tables, computed gotos, tail calls, cold parts.
SOURCE = r"""
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
struct object { long x; int (*f)(int); };
struct list { struct list *next; long value; };
int table[64];
APART long sum_list(struct list *l) { long s = 0; while (l) { s += l->value; l = l->next; } return s; }
APART size_t length(const char *s) { size_t n = 0; while (*s++) n++; return n; }
APART long spin(long n) { do { n = n * 3 + 1; } while (n & 8); return n; }
APART int first_of(const int *p, int x) { for (;; p++) if (*p == x) return 1; else if (!*p) return 0; }
APART int choose(int n, int a) {
	switch (n) {
	case 0: return a + 1; case 1: return a * 7; case 2: return a - 5; case 3: return a / 3; case 4: return puts("4");
	case 5: return a << 3; case 6: return ~a; case 7: return a ^ 99; case 8: return abs(a); case 9: return a & 3;
	}
	return 0;
}
APART int machine(const unsigned char *p) {
	static const void *const labels[] = { &&stop, &&up, &&down, &&twice };
	int a = 1;
	goto *labels[*p++ & 3];
up: a++; goto *labels[*p++ & 3];
down: a -= 3; goto *labels[*p++ & 3];
twice: a *= 2; goto *labels[*p++ & 3];
stop: return a;
}
APART int leaf_switch(int n, unsigned char *p) {
	for (;;) switch (*p++) { case 0: return n; case 1: n++; break; case 2: n--; break; case 3: n *= 2; break; case 4: n ^= 5; break;
		case 5: n += p[0]; break; case 6: n |= 1; break; case 7: n = -n; break; }
}
APART int helper(int a, int b) { return table[a & 63] + b; }
APART int tail(int a) { return helper(a, 3); }
APART int through(int (*f)(int, int), int a) { return f(a, 1); }
APART int through_member(struct object *o, int a) { return o->f(a); }
APART __attribute__((cold)) void complain(const char *s) { fputs(s, stderr); abort(); }
APART int checked(int *p) { if (__builtin_expect(!p, 0)) complain("no"); return *p + 1; }
APART int guarded(int *p, int n) { if (n < 0) return -1; for (int i = 0; i < n; i++) p[i] += n; return p[0]; }
APART double mean(const double *v, int n) { double s = 0; for (int i = 0; i < n; i++) s += v[i]; return s / n; }
APART void copy(char *to, const char *from, size_t n) { while (n--) *to++ = *from++; }
APART int six(int a, int b, int c, int d, int e, int f) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f; }
APART long large(long n) { char buffer[5000]; memset(buffer, (int)n, sizeof(buffer)); return buffer[n & 4095]; }
APART long variable(long n) { char buffer[n]; memset(buffer, 1, n); return buffer[n / 2]; }
APART int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }
APART int collatz(unsigned long n) { int k = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; k++; } return k; }
int main(int argc, char **argv) {
	struct list b = { NULL, 5 }, a = { &b, argc };
	unsigned char code[] = { 1, 3, 2, 1, 0 }, bytes[] = { 1, 3, 6, 7, 0 };
	int numbers[] = { 4, 3, 2, 1, 0 };
	double v[] = { 1, 2, 3 };
	char text[16];
	struct object o = { 0, tail };
	long s = 0;
	for (int i = 0; i < 2000; i++) {
		copy(text, "some text", 10);
		s += sum_list(&a) + length(text) + spin(i) + first_of(numbers, i & 3) + choose(i % 10 == 4 ? 5 : i % 10, i) + machine(code);
		s += leaf_switch(i, bytes) + tail(i) + through(helper, i) + checked(numbers) + guarded(numbers, 2) % 7 + (long)mean(v, 3);
		s += through_member(&o, i) + six(i, 2, 3, 4, 5, 6) + large(i) + variable(i + 1) + gcd(i, 36) + collatz(i + 1);
	}
	printf("%ld\n", s);
	return 0;
}
"""

BUILDS = [
    ["gcc", "-O0"], ["gcc", "-O1"], ["gcc", "-O2"], ["gcc", "-O3"], ["gcc", "-Os"], ["gcc", "-O2", "-fcf-protection=full"],
    ["gcc", "-O0", "-fcf-protection=full"], ["gcc", "-O3", "-march=haswell"], ["gcc", "-O2", "-fpatchable-function-entry=5"],
    ["gcc", "-O2", "-fno-plt", "-fPIE", "-pie"], ["gcc", "-O2", "-no-pie", "-fno-pie"], ["gcc", "-O2", "-pg"], ["gcc", "-O2", "-static"],
    ["clang", "-O0"], ["clang", "-O2"], ["clang", "-O3", "-fcf-protection=full"], ["clang", "-Os"],
    ["clang", "-O2", "-fpatchable-function-entry=5"],
]


def build(compiler, folder, source, name="program"):
    """A program, or None where the compiler cannot make it."""
    if not shutil.which(compiler[0]):
        return None
    (folder / f"{name}.c").write_text(source)
    made = subprocess.run([*compiler, "-g", "-w", "-o", folder / name, folder / f"{name}.c"], capture_output=True, text=True)
    return folder / name if made.returncode == 0 else None


def write_model(folder, library, names):
    """A model that observes each function, with its duration and without arguments."""
    model = folder / "every.model"
    model.write_text(f"model every\nlanguage EVERY\nlibrary {library}\n" +
                     "".join(f"F{i} function leaf void {name}(void)\n" for i, name in enumerate(names)))
    return model


OWN = sorted(set(re.findall(r"^APART (?:__attribute__\(\(cold\)\) )?\w+ (\w+)\(", SOURCE, re.MULTILINE)))
ROUNDS = 2000
TRUTH = {**{name: ROUNDS for name in OWN}, "helper": 3 * ROUNDS, "tail": 2 * ROUNDS, "complain": 0}


def counts(program, folder, *options):
    """What the program printed, and how often gaspbpf saw each function."""
    model = write_model(folder, "program", OWN)
    seen = gaspbpf.run("--model-file", model, "-m", "every", "-q", "--json", *options, "--", program, cwd=folder)
    assert seen.returncode == 0, seen.stderr
    printed, report = seen.stdout.split("\n", 1)
    report = json.loads(report)
    assert report["loss"]["lost"] == 0
    calls = {name: row["calls"] for name, row in gaspbpf.events(report).items()}
    return printed, {name: calls.get(f"GASP_EVERY_F{i}", 0) for i, name in enumerate(OWN)}


def back_to_start(program, rows):
    """Functions that jump back to their first instruction: wherever a probe is, it is hit each time."""
    found = set()
    for row in rows:
        if row["symbol"] in OWN:
            for _, _, text in disassemble(program, row["address"], row["address"] + row["size"]):
                match = BRANCH.match(text)
                if match and match[1] != "call" and int(match[2], 16) == row["address"]:
                    found.add(row["symbol"])
    return found


@pytest.mark.parametrize("compiler", BUILDS, ids=" ".join)
def test_own_program(tmp_path, compiler):
    """Whatever a compiler makes of it: every function is safely placed, and with probes on all of them at once the program
    prints the same, and each call is seen once."""
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
        assert {name: calls[name] for name in OWN if name not in again} == {name: TRUTH[name] for name in OWN if name not in again}
        assert all(calls[name] >= TRUTH[name] for name in again)
    else:
        assert (printed, calls) == counts(program, tmp_path, "--placement=entry")


# --- a job under probes on all functions of a library

OPENMP = r"""
#include <omp.h>
#include <stdio.h>
static long fib(int n) {
	long a, b;
	if (n < 2) return n;
#pragma omp task shared(a) if (n > 12)
	a = fib(n - 1);
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}
int main(void) {
	static long v[5000];
	long sum = 0, ordered = 0, critical = 0, locked = 0, nested = 0, parts[2] = { 0 }, grid = 0, f = 0;
	omp_lock_t lock;
	omp_nest_lock_t nest;
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
	omp_set_num_threads(3);
	for (int round = 0; round < 20; round++) {
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : sum)
		for (int i = 0; i < 5000; i++) { v[i] += i * round; sum += v[i] % 13; }
#pragma omp parallel for schedule(guided) ordered
		for (int i = 0; i < 200; i++) {
#pragma omp ordered
			ordered = ordered * 31 % 1000003 + i;
		}
#pragma omp parallel
		{
#pragma omp single
			f += fib(16);
#pragma omp critical
			critical += omp_get_thread_num() + omp_get_num_threads();
#pragma omp barrier
			omp_set_lock(&lock);
			locked++;
			omp_unset_lock(&lock);
			omp_set_nest_lock(&nest);
			omp_set_nest_lock(&nest);
			nested += 2;
			omp_unset_nest_lock(&nest);
			omp_unset_nest_lock(&nest);
#pragma omp sections
			{
#pragma omp section
				parts[0] += 5;
#pragma omp section
				parts[1] += 7;
			}
#pragma omp for schedule(static, 3) collapse(2) nowait
			for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) {
#pragma omp atomic
				grid += i * j;
			}
		}
	}
	omp_destroy_lock(&lock);
	printf("%ld %ld %ld %ld %ld %ld %ld %ld %ld\n", sum, ordered, critical, locked, nested, parts[0], parts[1], grid, f);
	return omp_get_max_threads() == 3 ? 0 : 1;
}
"""


def exported(file):
    """Functions that a library exports, once for each place."""
    out = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        address, kind, name = line.split()[:3]
        if kind in "TW" and re.fullmatch(r"[A-Za-z_]\w*@@?\w.*|[A-Za-z_]\w*", name):
            found.setdefault(address, name.split("@")[0])
    return sorted(set(found.values()))


@pytest.fixture
def own_copy(tmp_path):
    """A library of the system, copied: probes in the copy are in nobody else's way."""
    def copy(name):
        folder = tmp_path / "lib"
        folder.mkdir(exist_ok=True)
        shutil.copy(LIBRARIES / name, folder / name)
        return folder
    return copy


def openmp_job(tmp_path, own_copy):
    """The program, what it prints alone, a model with each function of libgomp, and the folder with a copy of that for its environment."""
    program = build(["gcc", "-O2", "-fopenmp"], tmp_path, OPENMP)
    assert program
    folder = own_copy("libgomp.so.1")
    model = write_model(tmp_path, "libgomp.so*", exported(folder / "libgomp.so.1"))
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return program, plain, model, folder


@pytest.mark.guest_more
def test_openmp_under_probes_on_all_of_libgomp(tmp_path, own_copy, rung):
    program, plain, model, folder = openmp_job(tmp_path, own_copy)
    environment = {"LD_LIBRARY_PATH": str(folder)}
    listed = json.loads(gaspbpf.run("list", "--model-file", model, "-m", "every", "--json", folder / "libgomp.so.1").stdout)["found"]
    assert share(listed) >= 80  # ten of 429 call something of another file last, which may be dlopen(): they keep off the cheap places
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
    """A thousand functions at once, from MPI_Send to what Open MPI's parts call of each other; the job's own counts hold."""
    folder = own_copy("libmpi.so.40")
    names = exported(folder / "libmpi.so.40")
    line = ["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "5", "--warmup", "1", "--after", "1"]
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
    seen = {names[int(name.rpartition("F")[2])].removeprefix("P"): row["calls"] for name, row in gaspbpf.events(report).items()}
    counted = {name: row["calls"] for name, row in truth.by_event(truth.functions(ring), lambda name: name).items()
               if name in ("MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Bcast", "MPI_Put", "MPI_Wait")}
    assert len(counted) > 4
    assert {name: seen.get(name, 0) for name in counted} == counted
    alone = subprocess.run([*map(str, line)], capture_output=True, text=True, env=truth.ENVIRONMENT, timeout=gaspbpf.PATIENCE,
                           check=True)
    assert truth.checksum(alone.stdout) == truth.checksum(ring.output())


# --- shares, list, and the judge himself


@pytest.mark.parametrize("models, name, least", [
    ("mpi", "libmpi.so.40", 96), ("shmem", "liboshmem.so.40", 98), ("c,pthread", "libc.so.6", 65)])
def test_share_of_cheap_places(models, name, least):
    """Of the functions that models know, with the arguments that they capture."""
    if not (LIBRARIES / name).exists():
        pytest.skip(f"no {name}")
    rows = json.loads(gaspbpf.run("list", "-m", models, "--json", LIBRARIES / name).stdout)["found"]
    before = json.loads(gaspbpf.run("list", "-m", models, "--json", "--placement=entry", LIBRARIES / name).stdout)["found"]
    print(f"{name}: {share(before):.1f} % fast before, {share(rows):.1f} % after")
    assert share(rows) >= least
    assert all(row["probe_offset"] == row["offset"] for row in before)
    sizes = {row["offset"]: row for row in places(LIBRARIES / name)}
    assert_safe(LIBRARIES / name, [{**sizes[row["offset"]], **row} for row in {row["offset"]: row for row in rows}.values()])


def test_list_explains(tmp_path):
    rows = json.loads(gaspbpf.run("list", "-m", "c,pthread", "--json", LIBRARIES / "libc.so.6").stdout)["found"]
    for row in rows:
        assert row["instruction"] and (row["class"] == "stepped") == bool(row["why_here"])
        assert row["expected_ns"] > 50
    text = gaspbpf.run("list", "-m", "c,pthread", LIBRARIES / "libc.so.6").stdout
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
