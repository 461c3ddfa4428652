# SPDX-License-Identifier: BSD-2-Clause
"""Where functions end, judged by objdump; and jobs all of whose returns are seen that way (--returns=sites).

A return that was overlooked leaves its call open until the frame is found to be gone: it shows as `unwound`. A probe
that is not on an instruction crashes the job.
"""
import json
import re
import subprocess

import pytest

import gaspbpf
from placing import (BRANCH, BUILDS, LIBRARIES, OWN, SOURCE, TRUTH, back_to_start, build, counts, disassemble,
                     openmp_job, own_copy, pieces, places, write_model)  # noqa: F401 (a fixture)

RETURN = re.compile(r"^(?:bnd |repz |rep |repnz )*ret")
FOLLOWED = 4096  # bytes, from where a jump leads to a return
INDIRECT = re.compile(r"^(?:bnd )*jmp\s+\*")


class Judge:
    """The code of a file's functions, and of where they jump, as objdump sees it: which instruction is where."""

    def __init__(self, file, rows):
        self.rows = [row for row in rows if row["size"]]
        self.text = {}
        self.by_offset = {}
        self.look(file, [(row["address"], row["address"] + row["size"]) for row in self.rows])
        led_to = {self.address(row, end) for row in self.rows for end in row["exits"]}
        led_to.update(int(match[2], 16) for match in map(BRANCH.match, self.text.values())
                      if match and match[1].startswith("j"))
        self.look(file, [(address, address + FOLLOWED) for address in led_to if address not in self.text])
        self.shifts = sorted((row["offset"], row["address"] - row["offset"]) for row in self.rows)

    def look(self, file, ranges):
        for start, end in pieces(ranges):
            for address, _, text in disassemble(file, start, end):
                self.text.setdefault(address, text.split("#")[0].strip())

    def address(self, row, end):
        return end["offset"] + row["address"] - row["offset"]

    def faults(self):
        for row in self.rows:
            if not row["no_exits"]:
                yield from (f"{row['symbol']}: {fault}" for fault in self.faults_of(row))

    def faults_of(self, row):
        ends = {self.address(row, end): end["kind"] for end in row["exits"]}
        inside = range(row["address"], row["address"] + row["size"])
        for address, kind in ends.items():
            text = self.text.get(address)
            if text is None:
                if address in inside:
                    yield f"{address:#x} is not the start of an instruction"
            elif kind == "ret" and not RETURN.match(text):
                yield f"{text} at {address:#x} is no return"
            elif kind == "jump" and not (INDIRECT.match(text) or re.match(r"(bnd )?jmp ", text)):
                yield f"{text} at {address:#x} is no jump"
            elif kind == "jump if" and not re.match(r"(bnd )?j(?!mp)\w+ ", text):
                yield f"{text} at {address:#x} is no conditional jump"
        for address in inside:
            text = self.text.get(address)
            if text is None:
                continue
            if RETURN.match(text) and address not in ends:
                yield f"the return at {address:#x} was overlooked"
            match = BRANCH.match(text)
            if match and match[1].startswith("j") and address not in ends:
                yield from self.left_by(row, int(match[2], 16), ends)

    def left_by(self, row, target, ends):
        """A jump out that is no end must lead to code whose returns are among the ends, or from where there is a way
        back."""
        if row["address"] <= target < row["address"] + row["size"] or target not in self.text:
            return
        for address in range(target, target + FOLLOWED):
            text = self.text.get(address)
            if text is None:
                continue
            if RETURN.match(text):
                if address not in ends:
                    yield f"the return at {address:#x}, after a jump to {target:#x}, was overlooked"
                return
            if re.match(r"(bnd |notrack )*jmp|ud2|hlt", text):
                return


@pytest.mark.parametrize("name, least", [
    ("libc.so.6", 90), ("libgomp.so.1", 80), ("libmpi.so.40", 95), ("liboshmem.so.40", 95), ("libstarpu-1.3.so.9", 90),
    ("libcaf_openmpi.so.3", 80), ("libmpich.so.12", 90), ("libstdc++.so.6", 90)])
def test_every_function_of_a_library(name, least):
    file = LIBRARIES / name
    if not file.exists():
        pytest.skip(f"no {file}")
    rows = places(file)
    faults = list(Judge(file, rows).faults())
    assert not faults, "\n".join(faults[:20])
    told = 100 * sum(not row["no_exits"] for row in rows) / len(rows)
    print(f"{name}: the ends of {told:.1f} % of {len(rows)} functions are known")
    assert told >= least


def test_the_judge_sees_an_overlooked_return():
    file = LIBRARIES / "libgomp.so.1"
    rows = places(file)
    several = [row for row in rows if sum(end["kind"] == "ret" for end in row["exits"]) > 1]
    for row in several:
        row["exits"].remove(next(end for end in row["exits"] if end["kind"] == "ret"))
    accused = {fault.split(":")[0] for fault in Judge(file, rows).faults()}
    assert len(accused) >= 0.9 * len(several) > 10


@pytest.mark.parametrize("compiler", BUILDS, ids=" ".join)
def test_own_program(tmp_path, compiler):
    """Every call of every function is counted once, and each that was seen to begin is seen to end. Not where rounds
    look like calls."""
    program = build(compiler, tmp_path, SOURCE)
    if not program:
        pytest.skip("cannot be built here")
    rows = {row["symbol"]: row for row in places(program)}
    plain = subprocess.run([program], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()
    model = write_model(tmp_path, "program", OWN)
    seen = gaspbpf.run("--model-file", model, "-m", "every", "-q", "--json", "--returns=sites", "--", program,
                       cwd=tmp_path)
    assert seen.returncode == 0, seen.stderr
    printed, report = seen.stdout.split("\n", 1)
    assert printed == plain
    events = {OWN[int(name.rpartition("F")[2])]: row for name, row in gaspbpf.events(json.loads(report)).items()}
    again = back_to_start(program, rows.values())
    for name in OWN:
        row = events.get(name, {"calls": 0, "unwound": 0, "open": 0, "ended": 0})
        if compiler[0] == "gcc":
            assert row["calls"] == (0 if name in again else TRUTH[name]) \
                or (name == "gcd" and row["calls"] > TRUTH[name]), name
        assert (row["unwound"], row["open"], row["ended"]) == (0, 0, 0), name
    if compiler[0] != "gcc":
        default = counts(program, tmp_path)
        assert (printed, {name: events[name]["calls"] if name in events else 0 for name in OWN}) == default
    unknown = [name for name in OWN if "where its call is observed" not in (rows.get(name, {}).get("no_exits")
                                                                            or "where its call is observed")]
    assert set(unknown) <= {"machine", "through"}  # where their jumps lead only the registers know


@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY, indirect=True)
def test_openmp_under_probes_on_all_ends_of_libgomp(tmp_path, own_copy, rung):
    program, plain, model, folder = openmp_job(tmp_path, own_copy)
    environment = {"LD_LIBRARY_PATH": str(folder)}
    observed = gaspbpf.run("--model-file", model, "-m", "every", "-q", "--json", "--returns=sites", "--", program,
                           env=environment)
    assert observed.returncode == 0, observed.stderr
    assert observed.stdout.startswith(plain)
    report = json.loads(observed.stdout[len(plain):])
    assert report["loss"]["lost"] == 0
    assert len(report["events"]) >= 15
    assert sum(row["unwound"] for row in gaspbpf.events(report).values()) == 0


CONDITIONAL = r"""
# long even(long n) and long odd(long n): each ends in a conditional jump to the other. Every kind of condition is met in turn.
	.text
	.globl pick
	.type pick, @function
pick:
	push %rbx
	pop %rbx
	cmp %rsi, %rdi
	j{condition} taken
	mov $1, %eax
	ret
	.size pick, .-pick
	.globl taken
	.type taken, @function
taken:
	mov $2, %eax
	ret
	.size taken, .-taken
"""

CONDITIONAL_MAIN = r"""
#include <stdio.h>
long pick(long a, long b);
int main(void) {
	static const long numbers[] = { -9223372036854775807L, -5, -1, 0, 1, 2, 3, 255, 256, 9223372036854775807L };
	long taken = 0, n = sizeof(numbers) / sizeof(*numbers);
	for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) taken += pick(numbers[i], numbers[j]) == 2;
	printf("%ld\n", taken);
	return 0;
}
"""


@pytest.mark.parametrize("condition", "o no b ae e ne be a s ns p np l ge le g".split())
def test_a_conditional_last_jump(tmp_path, condition):
    """What the processor does with the flags, gaspbpf works out: as many calls end in the jump as the program says."""
    (tmp_path / "pick.s").write_text(CONDITIONAL.replace("{condition}", condition))
    (tmp_path / "main.c").write_text(CONDITIONAL_MAIN)
    program = tmp_path / "program"
    subprocess.run(["gcc", "-o", program, tmp_path / "main.c", tmp_path / "pick.s", "-Wl,-z,noexecstack"], check=True)
    seen = gaspbpf.run("-m", "user", "-e", "long pick(long a, long b)", "-q", "--json", "--returns=sites",
                       "-o", tmp_path / "run.gasp", "--", program)
    assert seen.returncode == 0, seen.stderr
    taken, report = seen.stdout.split("\n", 1)
    row = gaspbpf.events(json.loads(report))["GASP_USER_PICK"]
    assert (row["calls"], row["tails"], row["unwound"]) == (100, int(taken), 0)
    words = re.findall(r"\n(\d+) calls? ended by handing over to another function \(a tail call\)",
                       gaspbpf.run("report", tmp_path / "run.gasp").stdout)
    assert words == ([taken] if int(taken) else [])


KEEPER = r"""
# long keeper(long n): saves registers, uses them, and restores them. check() says in bits which of them came back wrong.
	.text
	.globl keeper
	.type keeper, @function
keeper:
	push %r13
	push %r12
	push %rbx
	mov $0x5555, %r12d
	mov $0x6666, %ebx
	mov $0x7777, %r13d
	lea 1(%rdi), %rax
	pop %rbx
	pop %r12
	pop %r13
	ret
	.size keeper, .-keeper
	.globl check
	.type check, @function
check:
	push %rbx
	push %r12
	push %r13
	mov $0x11, %ebx
	mov $0x22, %r12d
	mov $0x33, %r13d
	call keeper
	xor %eax, %eax
	cmp $0x11, %rbx
	setne %al
	cmp $0x22, %r12
	je 1f
	or $2, %eax
1:	cmp $0x33, %r13
	je 2f
	or $4, %eax
2:	pop %r13
	pop %r12
	pop %rbx
	ret
	.size check, .-check
"""

KEEPER_MAIN = r"""
#include <stdio.h>
#include <unistd.h>
int check(void);
/* Calls until its standard input ends; then says how often, and how often a register was lost. */
int main(void) {
	long calls = 0, lost = 0;
	char end;
	printf("ready\n");
	fflush(stdout);
	while (read(0, &end, 1) == 1) { for (int i = 0; i < 50; i++, calls++) lost += check() != 0; printf("done\n"); fflush(stdout); }
	printf("%ld %ld\n", calls, lost);
	return 0;
}
"""


class Keeper:
    """A process that calls keeper() 50 times whenever it is asked."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def call(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        calls, lost = map(int, self.process.stdout.readline().split())
        assert self.process.wait() == 0
        return calls, lost


@pytest.fixture
def keepers(tmp_path):
    (tmp_path / "keeper.s").write_text(KEEPER)
    (tmp_path / "main.c").write_text(KEEPER_MAIN)
    program = tmp_path / "keeper"
    subprocess.run(["gcc", "-o", program, tmp_path / "main.c", tmp_path / "keeper.s", "-Wl,-z,noexecstack"], check=True)
    started = [Keeper(program) for _ in range(3)]
    yield started
    for keeper in started:
        keeper.process.kill()
        keeper.process.wait()


def keep(observe, returns, rung, *processes):
    return observe("-p", ",".join(str(each.process.pid) for each in processes), "-m", "user", "-e",
                   "long keeper(long n)", "--json",
                   f"--returns={returns}", "--scope=process", env={"GASPBPF_RUNG": rung})


@pytest.mark.parametrize("returns", [pytest.param("trampoline", marks=pytest.mark.guest),
                                     *(pytest.param(way, marks=pytest.mark.guest_more) for way in ("sites", "none"))])
def test_processes_that_are_observed_together_lose_nothing(keepers, observe, returns, rung):
    """A link for one process is visited by the hits of all others. What it does there must do no harm."""
    watcher = keep(observe, returns, rung, *keepers)
    for _ in range(4):
        for keeper in keepers:
            keeper.call()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    row = gaspbpf.events(json.loads(out))["GASP_USER_KEEPER"]
    assert (row["calls"], row["unwound"]) == (600, 0)
    assert [keeper.end() for keeper in keepers] == [(200, 0)] * 3


@pytest.mark.parametrize("careful", [pytest.param("sites", marks=pytest.mark.guest_more),
                                     pytest.param("none", marks=pytest.mark.guest)])
def test_another_observer_with_return_probes(keepers, observe, careful, rung):
    """One observer puts return probes into one process, the other one spares the other process that: neither meets the
    other's."""
    first = keep(observe, "trampoline", rung, keepers[0])
    second = keep(observe, careful, rung, keepers[1])
    for _ in range(4):
        for keeper in keepers:
            keeper.call()
    status, out, errors = second.stop()
    assert status == 0, errors
    assert gaspbpf.events(json.loads(out))["GASP_USER_KEEPER"]["calls"] == 200
    assert "another tracer" not in errors
    status, out, errors = first.stop()
    assert status == 0, errors
    row = gaspbpf.events(json.loads(out))["GASP_USER_KEEPER"]
    assert (row["calls"], row["unwound"]) == (200, 0)
    assert [keeper.end() for keeper in keepers] == [(200, 0)] * 3


def test_another_observer_at_the_same_instruction_is_told(keepers, observe, tmp_path):
    """Placed at the very first instruction, both are at the same one: the job is not harmed by that, but it is said."""
    options = ["-m", "user", "-e", "long keeper(long n)", "--json", "--scope=process", "--placement=entry"]
    first = observe("-p", str(keepers[0].process.pid), *options, "--returns=trampoline")
    second = observe("-p", str(keepers[1].process.pid), *options, "--returns=sites")
    keepers[1].call()
    status, out, errors = second.stop()
    assert status == 0 and gaspbpf.events(json.loads(out))["GASP_USER_KEEPER"]["calls"] == 50
    assert "another tracer's return probes" in errors and "50 calls" in errors
    assert first.stop()[0] == 0
    assert [keeper.end() for keeper in keepers] == [(0, 0), (50, 0), (0, 0)]
