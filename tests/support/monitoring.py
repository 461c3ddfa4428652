# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of gaspbpf monitor share: a runtime of a test's own, and reading what the monitor prints.

The library here poses as OpenSHMEM's. It belongs to one test alone, so no other process on the machine ever meets its
probes; and it counts its own calls.
"""
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import time

import gaspbpf
import rights

LIBRARY = r"""
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static long barriers, puts_, bytes;
__attribute__((noinline)) void shmem_init(void) { __asm__ volatile(""); }
__attribute__((noinline)) void shmem_finalize(void) { __asm__ volatile(""); }
__attribute__((noinline)) void shmem_barrier_all(void) { __asm__ volatile(""); barriers++; }
__attribute__((noinline)) void shmem_putmem(void *to, const void *from, size_t n, int pe) { memcpy(to, from, n); puts_++; bytes += n; }
"""

BARRIERS = "GASP_SHMEM_BARRIER_ALL"  # what the runtime's job calls first
# PROGRAM [--gate DIR] BARRIERS PUTS: makes so many calls, puts of 1, 2, 3 ... bytes; at the gate's marks if there is
# one.
PROGRAM_TEXT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
void shmem_init(void); void shmem_finalize(void); void shmem_barrier_all(void);
void shmem_putmem(void *, const void *, size_t, int);
static char from[65536], to[65536];
static void at_gate(const char *gate, const char *mark, const char *until)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	char path[4096];
	FILE *f;

	if (!gate)
		return;
	snprintf(path, sizeof(path), "%s/%s.%d", gate, mark, getpid());
	f = fopen(path, "w");
	fprintf(f, "%d", getpid());
	fclose(f);
	snprintf(path, sizeof(path), "%s/%s", gate, until);
	for (int i = 0; i < 60000 && access(path, F_OK); i++)
		nanosleep(&pause, NULL);
}
int main(int argc, char **argv)
{
	const char *gate = argc > 4 ? argv[2] : NULL;
	long barriers = atol(argv[argc - 2]), puts = atol(argv[argc - 1]);

	at_gate(gate, "ready", "go");
	for (long i = 0; i < barriers; i++)
		shmem_barrier_all();
	for (long i = 1; i <= puts; i++)
		shmem_putmem(to, from, i, 0);
	at_gate(gate, "done", "end");
	return 0;
}
"""


def unique(name, numbers=itertools.count()):
    """A name that no process of another test has, neither beside this one nor on the same machine elsewhere. At most 15
    characters: comm."""
    return f"{name[:5]}{os.getpid()}{next(numbers) % 1000}"[:15]


class Runtime:
    """A private library of this runtime, and a program on it of a name of its own; from other sources if those are
    given."""

    def __init__(self, folder, name, soname="liboshmem.so.40", library=LIBRARY, program=PROGRAM_TEXT):
        self.folder = pathlib.Path(folder)
        self.name = unique(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "library.c").write_text(library)
        (self.folder / "program.c").write_text(program)
        self.library = self.folder / soname
        self.program = self.folder / self.name
        gaspbpf.compile_c(self.folder / "library.c", self.library, "-O1", "-shared", "-fPIC", f"-Wl,-soname,{soname}")
        gaspbpf.compile_c(self.folder / "program.c", self.program, "-O1", "-Wl,--no-as-needed", str(self.library),
                          "-Wl,-rpath," + str(self.folder))
        self.running = []

    def start(self, barriers, puts, gate=None, env=None):
        arguments = ["--gate", str(gate)] if gate else []
        self.running.append(subprocess.Popen([str(self.program), *arguments, str(barriers), str(puts)],
                                             stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})}))
        return self.running[-1]

    def kill(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextlib.contextmanager
def two_programs(folder, *names):
    """Two programs on one library: one that is chosen, and a bystander."""
    chosen, other = [Runtime(folder / name, name) for name in names]
    other.library = chosen.library
    try:
        yield chosen, other
    finally:
        chosen.kill()
        other.kill()


class Gate:
    """Where programs wait: for their work, and for their end."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def __str__(self):
        return str(self.folder)

    def let_through(self, process):
        for mark in "go", "end":
            (self.folder / mark).touch()
        assert process.wait(timeout=gaspbpf.PATIENCE) == 0
        for mark in "go", "end":
            (self.folder / mark).unlink()


class Monitor:
    """gaspbpf monitor in the background; what it knows is its last line."""

    def __init__(self, folder, *arguments, env=None, as_service=False, number=[0]):
        """as_service: as nobody, with the unit's capabilities."""
        number[0] += 1
        self.path = pathlib.Path(folder) / f"monitor{number[0]}.jsonl"
        self.errors_path = pathlib.Path(folder) / f"monitor{number[0]}.err"
        words = ["monitor", "--json", "--interval", "200ms", *map(str, arguments)]
        with open(self.path, "wb") as out, open(self.errors_path, "wb") as errors, \
                open(gaspbpf.PROGRAM, "rb") as program:
            self.process = subprocess.Popen(rights.words(program.fileno(), words) if as_service
                                            else [str(gaspbpf.PROGRAM), *words], stdout=out, stderr=errors,
                                            env={**os.environ, "GASPBPF_MODELS": str(gaspbpf.TOP / "models"),
                                                 **(env or {})}, pass_fds=[program.fileno()])
        gaspbpf.wait_for(lambda: "monitoring" in self.errors() or self.process.poll() is not None,
                         "the monitor to begin")
        assert self.process.poll() is None, self.errors()

    def errors(self):
        return self.errors_path.read_text(errors="replace")

    def lines(self):
        text = self.path.read_text(errors="replace")
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def last(self):
        """The last line that is whole; nothing yet: None. Only the file's end is read: it grows."""
        with open(self.path, "rb") as f:
            f.seek(0, os.SEEK_END)
            size, room = f.tell(), 1 << 20
            while True:
                f.seek(max(0, size - room))
                text = f.read(min(room, size))
                end = text.rfind(b"\n")
                begin = text.rfind(b"\n", 0, max(end, 0))
                if end >= 0 and (begin >= 0 or room >= size):
                    return json.loads(text[begin + 1:end])
                if room >= size:
                    return None
                room *= 8

    def process_of(self, pid):
        return next((p for p in (self.last() or {"processes": []})["processes"] if p["pid"] == pid), None)

    def wait_for_processes(self, pids):
        gaspbpf.wait_for(lambda: all(self.process_of(pid) for pid in pids),
                         f"the monitor to notice {pids}: {self.errors()}")

    def now(self):
        """A line that knows everything that has happened until now."""
        called = time.time_ns()
        gaspbpf.wait_for(lambda: (self.last() or {"time_ns": 0})["time_ns"] > called, "the monitor's next line")
        return self.last()

    def totals(self):
        return events_of(self.now())

    def stop(self):
        self.process.terminate()
        status = self.process.wait(timeout=gaspbpf.PATIENCE)
        assert status == 0, self.errors()
        return self.last()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def events_of(process):
    return {event["name"]: event for event in process["events"]}


def by_powers_of_two(values):
    """Counts as a histogram of the monitor's: [[from, count], ...]."""
    buckets = {}
    for value in values:
        bucket = 0 if value < 2 else 1 << (value.bit_length() - 1)
        buckets[bucket] = buckets.get(bucket, 0) + 1
    return [[low, count] for low, count in sorted(buckets.items())]
