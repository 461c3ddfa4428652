# SPDX-License-Identifier: BSD-2-Clause
"""record --callers: which lines of the program are behind the calls that a library, or an interpreter, makes for it."""
import json
import re
import subprocess

import pytest

import gaspbpf
import truth

LIBRARY = """
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static __attribute__((noinline)) void wait_for(int ms)
{
	volatile char room[3000];
	struct timespec end;

	room[ms] = 1;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += ms * 1000000L;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&never, &lock, &end);
	pthread_mutex_unlock(&lock);
	room[0] = 2;
}

void shared_wait(int ms)
{
	wait_for(ms);
}

void shared_jump(int ms)
{
	shared_wait(ms); /* by a jump */
}
"""

PROGRAM = """
#include <pthread.h>
#include <time.h>

void shared_wait(int ms), shared_jump(int ms);

static __attribute__((noinline)) void first(void)
{
	shared_wait(150); /* first */
	__asm__ volatile("");
}

static __attribute__((noinline)) void second(void)
{
	shared_jump(150); /* second */
	__asm__ volatile("");
}

static __attribute__((noinline)) void both(void)
{
	first(); /* to first */
	second(); /* to second */
	__asm__ volatile("");
}

int main(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec end;

	for (int i = 0; i < 12; i++)
		both(); /* to both */
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 2;
	pthread_mutex_lock(&own);
	pthread_cond_timedwait(&never, &own, &end); /* own */
	return 0;
}
"""


def line(text, mark):
    return next(i + 1 for i, one in enumerate(text.splitlines()) if mark in one)


def sites(report, event):
    return next(e["sites"] for e in report["events"] if e["name"] == event)


@pytest.fixture
def program(tmp_path):
    (tmp_path / "shared.c").write_text(LIBRARY)
    (tmp_path / "job.c").write_text(PROGRAM)
    gaspbpf.compile_c(tmp_path / "shared.c", tmp_path / "libshared.so", "-O2", "-fomit-frame-pointer", "-shared",
                      "-fPIC", "-s")
    gaspbpf.compile_c(tmp_path / "job.c", tmp_path / "job", "-O2", "-g", "-fomit-frame-pointer", "-pthread",
                      "-Wl,--no-as-needed", str(tmp_path / "libshared.so"))
    return tmp_path / "job"


@pytest.mark.parametrize("most", [1, 3])
def test_two_lines_behind_one_call_of_a_library(program, tmp_path, most):
    """The library has neither names nor lines nor frame pointers. Each look is of one line or of the other."""
    out = gaspbpf.run("-q", "--json", "--callers", most, "-m", "pthread", "-o", tmp_path / "run.gasp", "--", program)
    assert out.returncode == 0, out.stderr
    report = json.loads(out.stdout)
    chains = {name: " < ".join([f"job.c:{line(PROGRAM, f'/* {name} */')} in {name}",
                                f"job.c:{line(PROGRAM, f'/* to {name} */')} in both",
                                f"job.c:{line(PROGRAM, '/* to both */')} in main"][:most])
              for name in ("first", "second")}
    waits = sites(report, "GASP_PTHREAD_COND_TIMEDWAIT")
    shared, = [site for site in waits if site["image"].endswith("libshared.so")]
    assert shared["calls"] == 24 and shared["line"] is None
    assert {chain["places"] for chain in shared["callers"]} == set(chains.values())
    assert all(chain["looks"] for chain in shared["callers"])
    # Where the program calls by itself its own line says it all.
    own, = [site for site in waits if site["line"] == line(PROGRAM, "/* own */")]
    assert own["calls"] == 1 and own["callers"] == []
    again = gaspbpf.run("report", "--json", tmp_path / "run.gasp")
    assert sites(json.loads(again.stdout), "GASP_PTHREAD_COND_TIMEDWAIT") == waits
    text = gaspbpf.run("report", tmp_path / "run.gasp").stdout
    looks = sum(chain["looks"] for chain in shared["callers"])
    for chain in shared["callers"]:
        assert f"\n  < {chain['places']} " in text and f" in {chain['looks']} of {looks} looks" in text


def test_a_library_that_is_linked_in_is_passed_over_too(tmp_path):
    """As HDF5 is in what h5pcc makes: it has names in the program, but no lines."""
    (tmp_path / "shared.c").write_text(LIBRARY)
    (tmp_path / "job.c").write_text(PROGRAM)
    gaspbpf.compile_c(tmp_path / "shared.c", tmp_path / "shared.o", "-O2", "-c", "-fno-optimize-sibling-calls")
    gaspbpf.compile_c(tmp_path / "job.c", tmp_path / "job", "-O2", "-g", "-pthread", str(tmp_path / "shared.o"))
    out = gaspbpf.run("-q", "--json", "--callers", 1, "-m", "pthread", "--", tmp_path / "job")
    assert out.returncode == 0, out.stderr
    inside, = [site for site in sites(json.loads(out.stdout), "GASP_PTHREAD_COND_TIMEDWAIT") if site["line"] is None]
    assert inside["function"] == "wait_for"
    assert {chain["places"] for chain in inside["callers"]} == {
        f"job.c:{line(PROGRAM, f'/* {name} */')} in {name}" for name in ("first", "second")}


def test_nobody_looks_who_was_not_asked(program, tmp_path):
    out = gaspbpf.run("-q", "--json", "-m", "pthread", "--", program)
    assert [site["callers"] for site in sites(json.loads(out.stdout), "GASP_PTHREAD_COND_TIMEDWAIT")] == [[], []]


NAMES = """
void shared_wait(int ms);

void shared_passes(int ms)
{
	shared_wait(ms);
	__asm__ volatile("");
}

void shared_begins(int ms)
{
	shared_passes(ms);
	__asm__ volatile("");
}
"""

NAMELESS = """
#include <pthread.h>
#include <time.h>

void shared_begins(int ms);

static __attribute__((noinline)) void step(void)
{
	shared_begins(150);
	__asm__ volatile("");
}

static __attribute__((noinline)) void steps(void)
{
	step();
	__asm__ volatile("");
}

int main(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec end;

	for (int i = 0; i < 10; i++)
		steps();
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1;
	pthread_mutex_lock(&own);
	pthread_cond_timedwait(&never, &own, &end);
	return 0;
}
"""


@pytest.mark.parametrize("stripped, most, behind", [
    (True, 1, ["shared_wait"]), (True, 4, ["shared_wait", "shared_passes", "shared_begins"]),
    (False, 4, ["step", "steps"])])
def test_without_any_line_functions_with_a_name_are_told(tmp_path, stripped, most, behind):
    """Those of the program; where it has none, as Debian's LAMMPS, those that the library exports."""
    (tmp_path / "shared.c").write_text(LIBRARY + NAMES)
    (tmp_path / "job.c").write_text(NAMELESS)
    gaspbpf.compile_c(tmp_path / "shared.c", tmp_path / "libshared.so", "-O2", "-fno-optimize-sibling-calls", "-shared",
                      "-fPIC", "-s")
    gaspbpf.compile_c(tmp_path / "job.c", tmp_path / "job", "-O2", *(["-s"] if stripped else []), "-pthread",
                      "-Wl,--no-as-needed", str(tmp_path / "libshared.so"))
    out = gaspbpf.run("-q", "--json", "--callers", most, "-m", "pthread", "--", tmp_path / "job")
    assert out.returncode == 0, out.stderr
    waits = sites(json.loads(out.stdout), "GASP_PTHREAD_COND_TIMEDWAIT")
    shared, = [site for site in waits if site["image"].endswith("libshared.so")]
    chain, = shared["callers"]
    names = [re.fullmatch(r"(\w+)\+0x[0-9a-f]+( in libshared.so)?", place).groups()
             for place in chain["places"].split(" < ")]
    assert names == [(name, " in libshared.so" if stripped else None) for name in behind]
    # Who has called main() is nobody's line.
    own, = [site for site in waits if site["image"].endswith("job")]
    assert own["calls"] == 1 and own["callers"] == []


SCRIPT = """
import sys
import time
from mpi4py import MPI


def first():
    MPI.COMM_WORLD.Barrier()


def second():
    MPI.COMM_WORLD.Barrier()


for turn in range(6):
    for meet in first, second:
        if MPI.COMM_WORLD.rank:
            time.sleep(float(sys.argv[1]))
        meet()
"""


def places_of_script(folder, pause):
    out = gaspbpf.run("-q", "--json", "--callers", 2, "-m", "mpi", "--", "mpirun.openmpi", "-n", 2, "/usr/bin/python3",
                      folder / "job.py", pause, env=truth.ENVIRONMENT)
    assert out.returncode == 0, out.stderr
    site, = sites(json.loads(out.stdout), "GASP_MPI_BARRIER")
    assert site["calls"] == 24
    return {chain["places"] for chain in site["callers"]} - {None}


def test_lines_of_a_script(tmp_path):
    """The rank that waits polls in MPI. What is told are lines of the script, and both where there is time to look."""
    (tmp_path / "job.py").write_text(SCRIPT)
    lines = [number + 1 for number, text in enumerate(SCRIPT.splitlines()) if "Barrier" in text]
    expected = {f"job.py:{lines[0]} in first < job.py:{line(SCRIPT, 'meet()')} in <module>",
                f"job.py:{lines[1]} in second < job.py:{line(SCRIPT, 'meet()')} in <module>"}
    for pause in 0.3, 1, 5:  # the busier the machine is, the longer a look takes
        known = places_of_script(tmp_path, pause)
        assert known <= expected
        if known == expected:
            break
    assert known == expected


@pytest.mark.parametrize("wrong", ["0", "17", "x", ""])
def test_a_number_that_is_none(wrong):
    out = gaspbpf.run(f"--callers={wrong}", "--", "true")
    assert out.returncode == 2 and "not a number from 1 to 16" in out.stderr


def test_a_call_that_is_kept_by_stack_is_seen(tmp_path):
    """In a program that could make fibers, calls in progress are known from the probes, too: since when."""
    source, program, go = tmp_path / "fibers.c", tmp_path / "fibers", tmp_path / "go"
    source.write_text("#include <ucontext.h>\n#include <unistd.h>\nstatic ucontext_t a, b;\n"
                      "__attribute__((noinline)) int hold(int n) { usleep(n); return n + 1; }\n"
                      "int main(int c, char **v) { if (c > 2) swapcontext(&a, &b);\n"
                      "while (access(v[1], F_OK)) hold(1000); return hold(600000000); }\n")
    gaspbpf.compile_c(source, program, "-g", "-O1")
    with subprocess.Popen([program, go]) as job:
        try:
            looker = subprocess.Popen([gaspbpf.PROGRAM, "stuck", "-p", str(job.pid), "-d", "3s", "--json", "-e",
                                       "int hold(int n)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while "watching" not in looker.stderr.readline():
                assert looker.poll() is None
            go.touch()
            out, errors = looker.communicate(timeout=gaspbpf.PATIENCE)
        finally:
            job.kill()
    thread, = json.loads(out)["threads"]
    assert thread["call"]["entered"] == "seen" and "600000000" in json.dumps(thread["call"]), out + errors
