# SPDX-License-Identifier: BSD-2-Clause
"""What changes after a function got its return probe: it is exchanged in time; and each call is asked (bpf/home.h),
where nobody but that question keeps the job alive: user space has not looked yet, or another observer has set a return
probe elsewhere."""
import json
import os
import signal
import subprocess

import pytest

import gaspbpf

asks = pytest.mark.skipif("session" not in gaspbpf.RUNGS, reason="no call can be asked by itself")

LATE_PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
static void (*maybe_throw)(int);
static int (*attempt)(int (*)(int), int);
__attribute__((noipa)) int work(int n) { if (maybe_throw) maybe_throw(n); return n + 1; }
int main(int argc, char **argv)
{
	int caught = 0, c;

	while ((c = getchar()) != EOF) {
		if (c == 'c')
			for (int i = 0; i < 50; i++)
				work(i);
		if (c == 'd') {
			void *library = dlopen(argv[1], RTLD_NOW);

			maybe_throw = dlsym(library, "maybe_throw");
			attempt = dlsym(library, "attempt");
		}
		for (int i = 0; c == 't' && i <= 50; i++)
			caught += attempt(work, i) < 0;
		puts("done");
		fflush(stdout);
	}
	printf("caught %d\n", caught);
	return 0;
}
"""
LATE_LIBRARY = r"""
extern "C" void maybe_throw(int n) { if (n % 2) throw n; }
extern "C" int attempt(int (*function)(int), int n) { try { return function(n); } catch (int) { return -1; } }
"""


class Late:
    """The job, which takes letters one by one."""

    def __init__(self, folder):
        (folder / "late.c").write_text(LATE_PROGRAM)
        (folder / "library.cc").write_text(LATE_LIBRARY)
        subprocess.run(["gcc", "-O1", "-o", folder / "late", folder / "late.c"], check=True)
        subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", folder / "library.so", folder / "library.cc"],
                       check=True)
        self.process = subprocess.Popen([folder / "late", folder / "library.so"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def tell(self, letters):
        self.process.stdin.write(letters)
        self.process.stdin.flush()
        assert [self.process.stdout.readline() for _ in letters] == ["done\n"] * len(letters)

    def expect_end(self):
        self.process.stdin.close()
        assert self.process.stdout.read() == "caught 25\n"
        assert self.process.wait() == 0


@pytest.fixture
def late(tmp_path):
    job = Late(tmp_path)
    yield job
    job.process.kill()
    job.process.wait()


def test_a_library_that_makes_return_probes_dangerous(late, observe, rung):
    """A C program has a return probe on its function; then it loads a library that throws through it."""
    watcher = observe("-p", late.process.pid, "-v", "--json", "-m", "user", "-e", "int work(int n)")
    late.tell("cd")
    gaspbpf.wait_for(lambda: watcher.has_said(b"1 return probes have been exchanged"),
                     "the return probe to be exchanged")
    late.tell("t")
    status, out, errors = watcher.stop()
    assert status == 0, errors
    late.expect_end()
    row = gaspbpf.events(json.loads(out))["GASP_USER_WORK"]
    assert (row["calls"], row["unwound"], row["ended"], row["open"]) == (101, 25, 0, 0), row


@asks
def test_a_library_throws_before_anybody_has_looked_at_it(late, observe):
    """gaspbpf is stopped meanwhile."""
    watcher = observe("-p", late.process.pid, "--json", "-m", "user", "-e", "int work(int n) ->")
    late.tell("c")
    os.kill(watcher.process.pid, signal.SIGSTOP)
    try:
        late.tell("dt")
    finally:
        os.kill(watcher.process.pid, signal.SIGCONT)
    late.expect_end()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    row = gaspbpf.events(json.loads(out))["GASP_USER_WORK"]
    assert (row["calls"], row["alone"]) == (101, 51), row


# It sets a return probe on inside() itself, as another observer might, which is on another stack below this one while
# outside() is called.
OTHERS_PROBE = r"""
#define _GNU_SOURCE
#include <elf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#define STACK (256 << 10)
static ucontext_t home, fiber;
__attribute__((noipa)) long outside(long n) { return 2 * n; }
__attribute__((noipa)) long inside(long n)
{
	swapcontext(&fiber, &home);
	return n + 1;
}
static void run(void) { printf("inside %ld\n", inside(1)); }
static uint64_t file_offset(uint64_t address)
{
	const Elf64_Phdr *segment = (void *)getauxval(AT_PHDR);

	while (segment->p_type != PT_LOAD || address - segment->p_vaddr >= segment->p_filesz)
		segment++;
	return address - segment->p_vaddr + segment->p_offset;
}
static void watch_inside(void)
{
	struct perf_event_attr returns = { .size = sizeof(returns), .config = 1 };
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");

	if (!type || fscanf(type, "%u", &returns.type) != 1)
		exit(2);
	returns.uprobe_path = (uint64_t)"/proc/self/exe";
	returns.probe_offset = file_offset((uint64_t)inside);
	if (syscall(SYS_perf_event_open, &returns, 0, -1, -1, 0) < 0)
		exit(3);
}
int main(void)
{
	watch_inside();
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fiber.uc_stack.ss_size = STACK;
	fiber.uc_link = &home;
	makecontext(&fiber, run, 0);
	printf("outside %ld\n", outside(1));
	swapcontext(&home, &fiber);
	printf("outside %ld\n", outside(2));
	swapcontext(&home, &fiber);
	printf("outside %ld\n", outside(3));
	return 0;
}
"""


@asks
def test_anothers_return_probe_waits_on_another_stack(tmp_path):
    """A return probe of ours above it would throw it away, and the thread that returns to it would be killed."""
    (tmp_path / "others.c").write_text(OTHERS_PROBE)
    subprocess.run(["gcc", "-O1", "-no-pie", "-o", tmp_path / "others", tmp_path / "others.c"], check=True)
    result = gaspbpf.run("--json", "-m", "user", "-e", "long outside(long n) ->", "--returns=trampoline", "--",
                         tmp_path / "others")
    told, _, report = result.stdout.partition("{")
    assert (told, result.returncode) == ("outside 2\noutside 4\ninside 2\noutside 6\n", 0), result.stderr
    row = gaspbpf.events(json.loads("{" + report))["GASP_USER_OUTSIDE"]
    assert (row["calls"], row["alone"]) == (3, 1), row
