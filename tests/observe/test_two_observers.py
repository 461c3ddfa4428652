# SPDX-License-Identifier: BSD-2-Clause
"""Two observers at the same time, of different programs: a third program, which nobody observes, is left unharmed, and
each sees all of its own.

The kernel sets a return probe's trampoline in every process that has a breakpoint on its instruction, also where it is
meant for another one.
"""
import json
import subprocess

import pytest

import gaspbpf
import monitoring

LIBRARY = r"""
#include <signal.h>
static volatile long there;
__attribute__((noinline)) long meet_add(long a, long b) { there += a; return there > b ? a : b; }
__attribute__((noinline)) void meet_barrier(void) { there = meet_add(there, 1) & 7; }
__attribute__((noinline)) void meet_wait(int signal) { there = meet_add(1, signal); if (signal) raise(signal); there &= 7; }
"""
MODEL = """
model    meet
language MEET
library  libmeet.so*
BARRIER  barrier  void meet_barrier(void)
WAIT     wait     void meet_wait(int signal)
"""
# Prints "ready", works until its input ends, prints its calls. With SIGNALS: its handler, on a stack above the thread's
# own, makes a call while one waits below. Without, nothing in it speaks against return probes.
PROGRAM = r"""
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
void meet_barrier(void);
void meet_wait(int signal);
#define STACK (256 << 10)
static volatile long calls;
#ifdef SIGNALS
static void on_signal(int signal) { meet_barrier(); calls++; }
#endif
static void *work(void *above)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct pollfd input = { .fd = 0, .events = POLLIN };
#ifdef SIGNALS
	stack_t stack = { .ss_sp = above, .ss_size = STACK };

	sigaltstack(&stack, NULL);
#else
	enum { SIGNALS };
#endif
	while (poll(&input, 1, 0) <= 0) {
		meet_wait(SIGNALS);
		meet_barrier();
		calls++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	char *area = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

#ifdef SIGNALS
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	sigaction(SIGNALS, &action, NULL);
#endif
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, area, STACK);
	pthread_create(&thread, &attributes, work, area + STACK);
	puts("ready");
	fflush(stdout);
	pthread_join(thread, NULL);
	printf("barriers %ld\n", calls);
	return 0;
}
"""


@pytest.fixture(autouse=True)
def mind_others(monkeypatch):
    """The other tests run several at a time on the same libraries, whose programs bear return probes, and are told to
    ignore each other."""
    monkeypatch.delenv("GASPBPF_OTHERS")


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def end(self):
        """How it ended, and how many barriers it called."""
        out, _ = self.process.communicate("\n", timeout=gaspbpf.PATIENCE)
        return self.process.returncode, int(out.split()[1]) if out else None


@pytest.fixture
def programs(tmp_path):
    """Starts programs on a library of the test's own; with "signals": another program."""
    (tmp_path / "meet.model").write_text(MODEL)
    made = monitoring.Runtime(tmp_path / "meet", "meets", soname="libmeet.so.1", library=LIBRARY, program=PROGRAM)
    started = []
    (made.folder / "signals.c").write_text("#define SIGNALS SIGUSR1\n" + PROGRAM)
    gaspbpf.compile_c(made.folder / "signals.c", made.folder / "signals", "-O1", "-Wl,--no-as-needed",
                      str(made.library), f"-Wl,-rpath,{made.folder}")

    def start(name=None):
        started.append(Program(made.folder / name if name else made.program))
        return started[-1]

    start.options = ["--model-file", tmp_path / "meet.model", "-m", "meet"]
    yield start
    for each in started:
        each.process.kill()
        each.process.wait()



def barriers(out):
    return gaspbpf.events(json.loads(out))["GASP_MEET_BARRIER"]["calls"]


@pytest.mark.parametrize("first", ["process", "file", "monitor"])
def test_a_program_that_nobody_observes(observe, monitors, programs, first):
    """One observer has probes in one process alone, with return probes; the other in the file, for everybody who maps
    it."""
    one, other, nobody = programs(), programs(), programs("signals")

    def watch(how):
        if how == "monitor":
            monitor = monitors("-p", other.pid, *programs.options, "--max-overhead", "none")
            monitor.wait_for_processes([other.pid])
            return monitor
        return observe("-p", {"process": one, "file": other}[how].pid, "--scope", how, "--json", *programs.options)

    watchers = {first: watch(first)}
    second = "file" if first == "process" else "process"
    watchers[second] = watch(second)
    # Each of the three goes on for a while with both observers there.
    third = programs()
    barriers_seen = observe("-p", third.pid, "--scope", "process", "--json", "-d", "500ms", *programs.options)
    assert barriers_seen.finish()[0] == 0
    status, called = nobody.end()
    assert status == 0 and called > 0
    statuses = {how: watcher.stop() for how, watcher in watchers.items() if how != "monitor"}
    for how, (status, out, errors) in statuses.items():
        assert status == 0, errors
        assert barriers(out) > 0, how
    assert one.end()[0] == other.end()[0] == third.end()[0] == 0


@pytest.mark.parametrize("scope", ["process", "file"])
def test_where_ends_are_seen_does_not_depend_on_the_first_guess(observe, programs, scope):
    """With probes for everybody a signal's handler is no doubt, and return probes go where the return address is; with
    its own they do not go in."""
    one = programs("signals")
    watcher = observe("-p", one.pid, "--scope", scope, "--json", "-d", "300ms", *programs.options)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    ended, called = one.end()
    assert ended == 0 and called > 0
    row = gaspbpf.events(json.loads(out))["GASP_MEET_BARRIER"]
    assert row["calls"] > row["alone"] and row["total_ns"] > 0


def test_each_sees_all_of_its_own(observe, programs):
    """The second one's probes are elsewhere in the functions: what it counts is what the program called."""
    one, other = programs(), programs()
    first = observe("-p", one.pid, "--scope", "process", "--json", *programs.options)
    second = observe("-p", other.pid, "--scope", "file", "--json", *programs.options)

    status, called = other.end()
    assert status == 0
    _, out, errors = second.finish()
    row = gaspbpf.events(json.loads(out))
    # It worked for a moment before it was observed: one wait for each barrier tells whether some were missed since.
    assert 0 < row["GASP_MEET_BARRIER"]["calls"] <= called
    assert abs(row["GASP_MEET_BARRIER"]["calls"] - row["GASP_MEET_WAIT"]["calls"]) <= 1, errors
    assert row["GASP_MEET_WAIT"]["ended"] == 0
    first.stop()
