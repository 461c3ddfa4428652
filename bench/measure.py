"""The observed program under control, times and their spread, and where breakpoints are."""
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
    """What a thing took, again and again. The best is what it costs; what is above it came from elsewhere."""

    def __init__(self, values=()):
        self.values = list(values)

    def add(self, more):
        self.values += more.values
        return self

    @property
    def best(self):
        return min(self.values)

    @property
    def spread(self):
        """How far the median is above the best, as a share of it."""
        return statistics.median(self.values) / self.best - 1

    def as_json(self):
        return {"best": self.best, "median": statistics.median(self.values), "worst": max(self.values),
                "rounds": len(self.values)}


class Job:
    """build/bench/job, idle until told what to do."""

    def __init__(self, **environment):
        self.calls = collections.Counter()  # what was called, by loop
        self.process = subprocess.Popen([JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{JOB} did not start")

    @property
    def pid(self):
        return self.process.pid

    def loop(self, name, calls, rounds):
        """ns for one call, in each round."""
        self.process.stdin.write(f"loop {name} {calls} {rounds}\n")
        self.process.stdin.flush()
        took = [int(ns) / calls for ns in self.process.stdout.readline().split()]
        if len(took) != rounds:
            raise RuntimeError(f"{JOB}: the loop {name} broke off")
        self.calls[name] += calls * rounds
        return Times(took)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def private_copy(library, name):
    """A copy is another file to the kernel: probes on it meet nobody but our own processes, and ours meet nobody else's."""
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
