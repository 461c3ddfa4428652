# SPDX-License-Identifier: BSD-2-Clause
"""One user takes all he can of what monitor has room for. What he is refused falls on him: the jobs of others are
counted to the call."""
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time

import pytest

import gaspbpf
import monitored
import monitoring
import rights

GREEDY_USER, HONEST = 61017, 61018  # of nobody else on the machine
ROOMS = {"sums": 1 << 18, "functions": 8189}  # docs/security-shares.md
NOTICED = "gaspbpf_noticed_processes_total" # they have their probes
SETTLED = 20     # seconds; what is given out is not older
LATENCY = 5      # seconds, of a scrape, however busy the machine
RSS = 1 << 30    # bytes of the monitor's own that no user makes it exceed

# PROGRAM THREADS ROUNDS LIBRARY...: THREADS threads at a time call each function of each library once and wait; so
# ROUNDS times, with other threads.
GREEDY = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "names.h"
#define COUNT (sizeof(names) / sizeof(*names))
static long (**calls)(long, long, long, long, long, long);
static size_t ncalls;
static pthread_barrier_t all, end;
static int stays;
static void *greedy(void *argument)
{
	for (size_t i = 0; i < ncalls; i++)
		calls[i](0, 0, 0, 0, 0, 0);
	pthread_barrier_wait(&all);
	if (stays)
		pthread_barrier_wait(&end);
	return argument;
}
int main(int argc, char **argv)
{
	long threads = atol(argv[1]), rounds = atol(argv[2]);
	pthread_t *ids = calloc(threads, sizeof(*ids));
	pthread_attr_t small;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
	calls = calloc((argc - 3) * COUNT, sizeof(*calls));
	for (int i = 3; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		for (size_t n = 0; library && n < COUNT; n++)
			if ((calls[ncalls] = dlsym(library, names[n])))
				ncalls++;
	}
	if (!getenv("END")) {
		puts("ready");
		fflush(stdout);
		getchar(); /* its probes come in */
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long r = 1; r <= rounds; r++) {
		stays = r == rounds;
		pthread_barrier_init(&all, NULL, threads + 1);
		pthread_barrier_init(&end, NULL, threads + 1);
		for (long i = 0; i < threads; i++)
			if (pthread_create(&ids[i], &small, greedy, NULL))
				return 1;
		pthread_barrier_wait(&all);
		for (long i = 0; !stays && i < threads; i++)
			pthread_join(ids[i], NULL);
	}
	if (getenv("END"))
		_exit(0);
	printf("%zu\n", ncalls * threads * rounds);
	fflush(stdout);
	pause();
	return 0;
}
"""


def names():
    """Functions of MPI's model, but the one that switches measurement off."""
    return sorted(set(re.findall(r"\bMPI_\w+(?=\()", (gaspbpf.TOP / "models" / "mpi.model").read_text())) -
                  {"MPI_Pcontrol"})


def build(folder):
    """The greedy program, and a library that poses as MPI's."""
    found = names()
    (folder / "names.h").write_text("static const char *const names[] = { "
                                    "%s };\n" % ", ".join(f'"{name}"' for name in found))
    (folder / "greedy.c").write_text(GREEDY)
    (folder / "library.c").write_text("".join(
        f'__attribute__((noinline)) long {name}(long a) {{ __asm__ volatile("nop # {number}"); return a + '
        f'{number}; }}\n'
        for number, name in enumerate(found)))
    gaspbpf.compile_c(folder / "greedy.c", folder / "greedy", "-O1", "-pthread", "-I", str(folder), "-ldl")
    gaspbpf.compile_c(folder / "library.c", folder / "libmpi.so.40", "-O1", "-shared", "-fPIC",
                      "-Wl,-soname,libmpi.so.40")


def copies(folder, count):
    """As many files of that library."""
    for number in range(count):
        (folder / str(number)).mkdir(exist_ok=True)
        shutil.copy(folder / "libmpi.so.40", folder / str(number))
    return [folder / str(number) / "libmpi.so.40" for number in range(count)]


def as_user(uid, *command):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *map(str, command)]


class Machine:
    """A monitor, and programs of two users beside each other."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        self.programs = []
        with open(folder / "errors", "wb") as errors:
            self.monitor = subprocess.Popen([str(gaspbpf.PROGRAM), "monitor", "--listen", "127.0.0.1:0", "--user",
                                             str(GREEDY_USER), "--user", str(HONEST),
                                             "--max-overhead", "none", "--lazy", *arguments], stderr=errors)
        gaspbpf.wait_for(lambda: "/metrics\n" in self.errors() or self.monitor.poll() is not None,
                         "the monitor to answer")
        assert self.monitor.poll() is None, self.errors()
        self.url = re.search(r"http://\S+/metrics", self.errors())[0]
        self.latencies, self.over = [], threading.Event()
        self.scraper = threading.Thread(target=self._scrape)
        self.scraper.start()

    def errors(self):
        return (self.folder / "errors").read_text(errors="replace")

    def start(self, uid, *command, **keywords):
        self.programs.append(subprocess.Popen(as_user(uid, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                              text=True, start_new_session=True, **keywords))
        return self.programs[-1]

    def calls_of(self, pid):
        return {name: int(value) for name, value in
                monitored.total(monitored.scrape_anew(self.url), "gaspbpf_process_calls_total", "event",
                                pid=str(pid)).items()}

    def settled(self, count, wanted=None):
        """A figure after all that is read by now, and maybe some seconds later: when it is as wanted, or has stayed for
        so long that it will not become so."""
        was, since = count(), time.monotonic()
        while was != wanted and time.monotonic() - since < SETTLED:
            now = count()
            if now != was:
                was, since = now, time.monotonic()
        return was

    def refused(self, uid):
        """What was: {reason: how often}."""
        return monitored.total(monitored.scrape_anew(self.url), "gaspbpf_refused_total", "reason", uid=str(uid))

    def settled_calls_of(self, pid, made):
        """Those that were counted, once all that its process made are counted or refused (see settled)."""
        def told():
            counted = sum(self.calls_of(pid).values())
            return counted, counted + self.refused(GREEDY_USER).get("sums", 0)
        self.settled(lambda: told()[1], made)
        return told()[0]

    def own(self, name):
        return monitored.scrape_anew(self.url)[name][0][1]

    def figures(self):
        """What it says of itself, for who wants to know why something is not as it should be."""
        return {name: values[0][1] for name, values in monitored.scrape_anew(self.url).items() if len(values) == 1
                and values[0][1]}

    def start_greedy(self, threads, rounds, libraries, functions):
        """It goes on when so many functions have probes. It has done all it does when it returns: (the process, the
        calls it made)."""
        before = self.own(NOTICED)
        greedy = self.start(GREEDY_USER, self.folder / "greedy", threads, rounds, *libraries)
        assert greedy.stdout.readline() == "ready\n"
        gaspbpf.wait_for(lambda: self.own("gaspbpf_sites") >= functions or "functions" in self.refused(GREEDY_USER),
                         f"its probes: {self.errors()}")
        gaspbpf.wait_for(lambda: self.own(NOTICED) > before,
                         "the monitor to have done with it: else this one would be taken for the next")
        greedy.stdin.write("\n")
        greedy.stdin.flush()
        return greedy, int(greedy.stdout.readline())

    def rss(self):
        return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{self.monitor.pid}/status").read())[1]) << 10

    def _scrape(self):
        while not self.over.wait(0.1):
            called = time.monotonic()
            monitored.get(self.url, monitored.OPENMETRICS)
            self.latencies.append(time.monotonic() - called)

    def assert_all_was_well(self):
        """All scrapes were answered soon, memory is bounded, and SIGTERM ends it soon. A busy machine has its share of
        the times."""
        self.over.set()
        self.scraper.join()
        print("scrapes:", len(self.latencies), "median", statistics.median(self.latencies), "longest",
              max(self.latencies))
        assert max(self.latencies) < LATENCY
        assert self.rss() < RSS
        called = time.monotonic()
        self.monitor.terminate()
        assert self.monitor.wait(timeout=gaspbpf.PATIENCE) == 0, self.errors()
        print("end:", time.monotonic() - called)

    def kill(self):
        self.over.set()
        self.scraper.join()
        for program in self.programs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        if self.monitor.poll() is None:
            self.monitor.kill()
        self.monitor.wait()


@pytest.fixture(name="folder", scope="module")
def built():
    with rights.folder() as folder:
        build(folder)
        yield folder


@pytest.fixture(name="machine")
def started(folder):
    machines = []

    def start(*arguments):
        machines.append(Machine(folder, *arguments))
        return machines[-1]
    yield start
    for machine in machines:
        machine.kill()


BARRIERS, PUTS = 137, 59


def an_honest_job_is_exact(machine, folder):
    """It begins when the greedy one has all he gets, and its rows say what it did."""
    place = folder / monitoring.unique("job")
    runtime = monitoring.Runtime(place, "honest")
    gate = place / "gate"
    gate.mkdir()
    for path in (place, gate):
        os.chmod(path, 0o777)
    before = machine.own(NOTICED)
    job = machine.start(HONEST, runtime.program, "--gate", gate, BARRIERS, PUTS)
    gaspbpf.wait_for(lambda: list(gate.glob("ready.*")), "the honest job to begin")
    gaspbpf.wait_for(lambda: machine.own(NOTICED) > before, f"the monitor to notice the honest job: {machine.errors()}")
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: list(gate.glob("done.*")), "the honest job to do its work")
    made = {"GASP_SHMEM_BARRIER_ALL": BARRIERS, "GASP_SHMEM_PUT": PUTS}
    counted = machine.settled(lambda: machine.calls_of(job.pid), made)
    (gate / "end").touch()
    assert job.wait(timeout=gaspbpf.PATIENCE) == 0
    assert counted == made, (machine.errors(), machine.figures())
    assert not machine.refused(HONEST)
    return job.pid, made


def test_many_threads_of_one_user(machine, folder):
    m = machine()
    greedy, made = m.start_greedy(800, 1, copies(folder, 2), 2 * len(names()))
    assert made > ROOMS["sums"]
    an_honest_job_is_exact(m, folder)
    counted = m.settled_calls_of(greedy.pid, made)
    assert 0 < counted < made
    assert "has used up the share of sums" in m.errors()
    assert counted + m.refused(GREEDY_USER)["sums"] == made
    assert monitored.total(monitored.scrape_anew(m.url), "gaspbpf_process_lost_calls_total", "pid") == {
        str(greedy.pid): made - counted}
    m.assert_all_was_well()


def test_many_copies_of_a_library(machine, folder):
    m = machine()
    many = ROOMS["functions"] // len(names()) + 2
    m.start_greedy(1, 1, copies(folder, many), ROOMS["functions"] - len(names()))
    an_honest_job_is_exact(m, folder)
    assert m.refused(GREEDY_USER)["functions"]
    assert "has used up the share of functions" in m.errors()
    m.assert_all_was_well()


def test_threads_that_come_and_go(machine, folder):
    """What ended threads had is given back: their user gets it again."""
    m = machine()
    rounds = 12
    greedy, made = m.start_greedy(100, rounds, copies(folder, 1), len(names()))
    assert made == rounds * 100 * len(names()) > ROOMS["sums"]
    an_honest_job_is_exact(m, folder)
    counted = m.settled_calls_of(greedy.pid, made)
    assert counted + m.refused(GREEDY_USER).get("sums", 0) == made
    gaspbpf.wait_for(lambda: m.own("gaspbpf_sums") < 200 * len(names()), "sums of ended threads to go")
    greedy, made = m.start_greedy(100, 1, copies(folder, 1), len(names()))
    assert m.settled(lambda: sum(m.calls_of(greedy.pid).values()), made) == made
    m.assert_all_was_well()


STORM = 700 # processes; of the last 512 that have ended rows are shown


def test_a_storm_of_processes(machine, folder):
    """Rows of a job that has ended stay for as long as they should, and so do those of one that comes in the midst of
    the storm."""
    m = machine("--linger", "1h")
    m.start_greedy(1, 1, copies(folder, 1), len(names()))
    ended, made = an_honest_job_is_exact(m, folder)
    storm = m.start(GREEDY_USER, "sh", "-c", f"i=0; while [ $i -lt {STORM} ]; do END=1 {folder}/greedy 1 1 "
                    f"{folder}/0/libmpi.so.40 & i=$((i + 1)); "
                                              "[ $((i % 16)) = 0 ] && wait; done; wait; echo done")
    an_honest_job_is_exact(m, folder)
    assert storm.stdout.readline() == "done\n"
    assert m.settled(lambda: m.calls_of(ended), made) == made
    m.assert_all_was_well()
