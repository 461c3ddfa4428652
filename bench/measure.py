# SPDX-License-Identifier: BSD-2-Clause
"""The observed programs under control, times and their spread, and where breakpoints are."""
import collections
import os
import pathlib
import shutil
import statistics
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "build" / "bench"
JOB = BUILD / "job"
GASPBPF = TOP / "gaspbpf"
PATIENCE = 120  # seconds


class Absent(Exception):
    """Something is not on this machine, or not in this kernel: said in place of its figures."""


def wait_for(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise RuntimeError(f"waited {seconds} s for {what}")


class Times:
    """What a thing took, again and again: the values of each turn. The median is what is judged."""

    def __init__(self, values=()):
        self.turns = [list(values)]

    def add(self, more):
        self.turns += more.turns
        return self

    @property
    def values(self):
        return [value for turn in self.turns for value in turn]

    @property
    def best(self):
        return min(self.values)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def spread(self):
        """How far the best is below the median, as a share of it."""
        return 1 - self.best / self.median if self.median else 0.0

    def as_json(self):
        return {"median": self.median, "best": self.best, "worst": max(self.values),
                "rounds": [[round(value, 4) for value in turn] for turn in self.turns]}


class Job:
    """A program of bench/ that obeys loops.h, idle until told what to do. prefix: a command that starts it."""

    def __init__(self, program=JOB, prefix=(), folder=None, **environment):
        self.calls = collections.Counter()  # what was called, by loop
        self.program = program
        if not program.exists():
            raise Absent(f"{program.name} could not be built: its runtime is not installed")
        self.process = subprocess.Popen([*prefix, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        cwd=folder,
                                        stderr=subprocess.DEVNULL if prefix else None,
                                        env={**os.environ, **environment})
        words = self.process.stdout.readline().split()
        if words[:1] != ["ready"]:
            self.process.kill()
            self.process.wait()
            raise Absent(f"{program.name} does not start{f' under {prefix[0]}' if prefix else ''}")
        self.pid = int(words[1])
        # a tracer that breaks the job which it starts is no use; else it is our fault
        self.trouble = Absent if prefix else RuntimeError

    def ask(self, command):
        """The numbers that it answers a line with."""
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.trouble(f"{self.program.name} has ended") from None
        return [int(number) for number in self.process.stdout.readline().split()]

    def loop(self, name, calls, rounds):
        """ns for one call, in each round."""
        took = [ns / calls for ns in self.ask(f"loop {name} {calls} {rounds}")]
        if len(took) != rounds:
            raise self.trouble(f"{self.program.name}: the loop {name} broke off")
        self.calls[name] += calls * rounds
        return Times(took)

    def pace(self, threads, rate, milliseconds):
        """Calls of site_push by several threads, `rate` a second in all (0: as fast as they can): (calls, seconds, CPU
        seconds)."""
        calls, took, cpu = self.ask(f"pace {threads} {rate} {milliseconds}")
        self.calls["site_push"] += calls
        return calls, took / 1e9, cpu / 1e9

    def crowd(self, threads, calls):
        """ns of CPU time for one call of site_push, with so many threads that make `calls` each."""
        cpu, = self.ask(f"crowd {threads} {calls}")
        self.calls["site_push"] += threads * calls
        return cpu / (threads * calls)

    def end(self):
        """May be called again."""
        if self.process.returncode is not None:
            return
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def private_copy(library, name):
    """A copy is another file to the kernel: probes on it meet nobody but our own processes, and ours meet nobody
    else's."""
    folder = BUILD / "private"
    folder.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    shutil.copy(library, folder / name)
    return folder / name


def text_of(pid, file, offset, length):
    """Code of a file as a process has it, and as the file has it."""
    with open(file, "rb") as f:
        f.seek(offset)
        expected = f.read(length)
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        area, rights, start, _, _, *path = line.split(maxsplit=5)
        low, high = (int(number, 16) for number in area.split("-"))
        start = int(start, 16)
        if path == [str(file)] and "x" in rights and start <= offset < start + high - low:
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                memory.seek(low + offset - start)
                return memory.read(length), expected
    raise RuntimeError(f"{file} is not mapped in {pid}")


def is_patched(pid, file, offset):
    """Is there a breakpoint, or what the kernel made of one?"""
    there, expected = text_of(pid, file, offset, 5)
    return there != expected
