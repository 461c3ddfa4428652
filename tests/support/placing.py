# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of places share: where gaspbpf puts probes, objdump's view of the code, and programs all of whose
functions have them."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

import apart
import gaspbpf

LIBRARIES = apart.FOLDER
LINE = re.compile(r"^\s*([0-9a-f]+):\t(?:((?:[0-9a-f]{2} )+)\s*)(?:\t(.*))?$")
BRANCH = re.compile(r"^(?:bnd |notrack |data16 )*(j[a-z]+|call|loop[a-z]*|xbegin)(?:,p[nt])?\s+([0-9a-f]+)\b")


def places(file, *options):
    result = gaspbpf.run("list", "--every-function", "--json", file, *options)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["files"][0]["functions"]


def disassemble(file, start, end):
    """(address, bytes, text) of all code in start..end, as objdump sees it."""
    command = ["objdump", "-d", "-w", f"--start-address={start:#x}", f"--stop-address={end:#x}", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            match = LINE.match(line)
            if match:
                yield int(match[1], 16), match[2].count(" "), (match[3] or "").strip()
    assert process.returncode == 0


def pieces(ranges, gap=1 << 16):
    """These ranges of addresses, as fewer that hold all of them: what lies nearer to each other is disassembled in one
    go."""
    found = []
    for start, end in sorted(ranges):
        if found and start - found[-1][1] < gap:
            found[-1][1] = max(end, found[-1][1])
        else:
            found.append([start, end])
    return found


ROUNDS = 400
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
	for (int i = 0; i < ROUNDS; i++) {
		copy(text, "some text", 10);
		s += sum_list(&a) + length(text) + spin(i) + first_of(numbers, i & 3) + choose(i % 10 == 4 ? 5 : i % 10, i) + machine(code);
		s += leaf_switch(i, bytes) + tail(i) + through(helper, i) + checked(numbers) + guarded(numbers, 2) % 7 + (long)mean(v, 3);
		s += through_member(&o, i) + six(i, 2, 3, 4, 5, 6) + large(i) + variable(i + 1) + gcd(i, 36) + collatz(i + 1);
	}
	printf("%ld\n", s);
	return 0;
}
""".replace("ROUNDS", str(ROUNDS))
BUILDS = [
    ["gcc", "-O0"], ["gcc", "-O1"], ["gcc", "-O2"], ["gcc", "-O3"], ["gcc", "-Os"],
    ["gcc", "-O2", "-fcf-protection=full"],
    ["gcc", "-O0", "-fcf-protection=full"], ["gcc", "-O3", "-march=haswell"],
    ["gcc", "-O2", "-fpatchable-function-entry=5"],
    ["gcc", "-O2", "-fno-plt", "-fPIE", "-pie"], ["gcc", "-O2", "-no-pie", "-fno-pie"], ["gcc", "-O2", "-pg"],
    ["gcc", "-O2", "-static"],
    ["clang", "-O0"], ["clang", "-O2"], ["clang", "-O3", "-fcf-protection=full"], ["clang", "-Os"],
    ["clang", "-O2", "-fpatchable-function-entry=5"],
]


def build(compiler, folder, source, name="program"):
    """A program, or None where the compiler cannot make it."""
    if not shutil.which(compiler[0]):
        return None
    (folder / f"{name}.c").write_text(source)
    made = subprocess.run([*compiler, "-g", "-w", "-o", folder / name, folder / f"{name}.c"],
                          capture_output=True, text=True)
    return folder / name if made.returncode == 0 else None


def write_model(folder, library, names):
    """A model that observes each function, with its duration and without arguments."""
    model = folder / "every.model"
    model.write_text(f"model every\nlanguage EVERY\nlibrary {library}\n" +
                     "".join(f"F{i} function leaf void {name}(void)\n" for i, name in enumerate(names)))
    return model


OWN = sorted(set(re.findall(r"^APART (?:__attribute__\(\(cold\)\) )?\w+ (\w+)\(", SOURCE, re.MULTILINE)))
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
    """The program, what it prints alone, a model with each function of libgomp, and the folder with a copy of that for
    its environment."""
    program = build(["gcc", "-O2", "-fopenmp"], tmp_path, OPENMP)
    assert program
    folder = own_copy("libgomp.so.1")
    model = write_model(tmp_path, "libgomp.so*", exported(folder / "libgomp.so.1"))
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return program, plain, model, folder
