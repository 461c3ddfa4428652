# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf --flight and gaspbpf top: what keeping the last calls, and looking all the time, cost."""
import fcntl
import os
import pathlib
import pty
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

from costs import SITE_MODEL, timed
from measure import GASPBPF, JOB, Job, Times, wait_for
from tables import Table

THREADS = 2
RATES = (100_000, 1_000_000)  # calls a second, of all processes together
CROWD = 64         # ranks
FLIGHT = "1h,256m"
WAYS = {"report at the end": (), "--flight": ("--flight", FLIGHT),
        "--flight, a trigger": ("--flight", FLIGHT, "--trigger", "any>10s")}
TURNS = 3
LOOKS = 600        # of 2 s each
WIDTH, HEIGHT = 120, 80
TICK = os.sysconf("SC_CLK_TCK")


def own_cpu(pid):
    """s; user and system time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid):
    """MiB that are the process's own."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024


# --- the flight recorder ---------------------------------------------------


class Flight:
    """gaspbpf on a job, in the background; without options no flight recorder."""

    def __init__(self, job, folder, *options):
        self.job = job
        self.errors = tempfile.NamedTemporaryFile("w+", suffix=".err")
        command = [GASPBPF, "-p", job.pid, "-q", *(("-o", folder) if options else ()), *SITE_MODEL, *options]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=self.errors)
        self.pid = self.process.pid

    def __enter__(self):
        wait_for(lambda: self.process.poll() is not None or self.can_be_asked(), "gaspbpf to begin")
        if self.process.poll() is not None:
            raise RuntimeError(pathlib.Path(self.errors.name).read_text(encoding="utf-8"))
        return self

    def can_be_asked(self):
        return subprocess.run([GASPBPF, "control", "-p", str(self.job.pid), "on"], capture_output=True,
                              check=False).returncode == 0

    def dump(self):
        """(s until it was written, the file)"""
        started = time.monotonic()
        done = subprocess.run([GASPBPF, "control", "-p", str(self.job.pid), "dump"], capture_output=True, text=True,
                              check=True)
        return time.monotonic() - started, pathlib.Path(done.stdout.strip())

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.errors.close()


def flight_calls(options, folder):
    table = Table("Flight recorder: what a call costs the job", ["ns"], "a call of site_push",
                  "Observed, its spans kept in memory; with a trigger it is also "
                  "noted where each call came from, and the calls in progress are looked at.", label=44)
    with Job() as job:
        for _ in range(options.passes):
            table.add("nobody", "ns", timed(job, "site_push", options.rounds))
            for label, more in WAYS.items():
                with Flight(job, folder, *more):
                    table.add(label, "ns", timed(job, "site_push", options.rounds))
    return table


def flight_cpu(options, folder):
    table = Table("Flight recorder: its own CPU", ["% CPU", "ns a call", "calls/s made"], "calls of one process, "
                  f"{THREADS} threads", "User and system time of gaspbpf while the job keeps its pace; the "
                  "calls that it made are counted by the job.", label=44)
    for label, more in WAYS.items():
        for rate in RATES:
            with Job() as job, Flight(job, folder, *more) as recorder:
                before = own_cpu(recorder.pid)
                calls, took, _ = job.pace(THREADS, rate, 3000 if options.quick else 10_000)
                own = own_cpu(recorder.pid) - before
            row = f"{label}, {rate:,} calls/s"
            table.add(row, "% CPU", Times([100 * own / took]))
            table.add(row, "ns a call", Times([1e9 * own / calls]))
            table.add(row, "calls/s made", Times([calls / took]))
    return table


def fill(job, recorder, megabytes):
    """Until it takes no more, whatever else the machine does. Did it come near to that size?"""
    looks, still = 0, 0
    while still < 4 and looks < LOOKS:
        before = resident(recorder.pid)
        job.pace(THREADS, 0, 2000)
        still = still + 1 if resident(recorder.pid) < before + 0.1 else 0
        looks += 1
    return resident(recorder.pid) > 0.9 * megabytes


def flight_memory(options, folder):
    table = Table("Flight recorder: memory, and a dump", ["MiB", "s", "MiB written"], "",
                  "Dirty pages of gaspbpf's own: after the start, when so many calls have been kept, and after "
                  "a dump was written; a dump's time is from the wish to the file, its size that of the file.",
                  label=44)
    for size in ("4m",) if options.quick else ("4m", "64m", "256m"):
        with Job() as job, Flight(job, folder, "--flight", f"1h,{size}") as recorder:
            table.add(f"{size}: before the first call", "MiB", Times([resident(recorder.pid)]))
            if not fill(job, recorder, int(size[:-1])):
                for row in "full", "after a dump":
                    table.absent(f"{size}: {row}", f"it has not filled: {resident(recorder.pid):.0f} MiB")
                continue
            table.add(f"{size}: full", "MiB", Times([resident(recorder.pid)]))
            took, path = recorder.dump()
            table.add(f"{size}: after a dump", "MiB", Times([resident(recorder.pid)]))
            table.add(f"{size}: after a dump", "s", Times([took]))
            table.add(f"{size}: after a dump", "MiB written", Times([path.stat().st_size / (1 << 20)]))
            path.unlink()
    return table


def flight(options, progress):
    tables = []
    with tempfile.TemporaryDirectory(dir=JOB.parent) as folder:
        for part in flight_calls, flight_cpu, flight_memory:
            progress("flight")
            tables.append(part(options, folder))
    return tables


# --- top ---------------------------------------------------------------------


class Top:
    """gaspbpf top on a terminal of its own, which somebody reads."""

    def __init__(self, jobs, *options):
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        command = [GASPBPF, "top", "-p", ",".join(str(job.pid) for job in jobs), *SITE_MODEL, *options]
        self.process = subprocess.Popen([str(word) for word in command], stdin=inner, stdout=inner, stderr=inner,
                                        env={**os.environ, "TERM": "xterm"}, start_new_session=True)
        os.close(inner)
        self.seen = b""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while True:
            try:
                some = os.read(self.terminal, 1 << 16)
            except OSError:  # nobody has the other end any more
                return
            if not some:
                return
            self.seen = self.seen[-(1 << 16):] + some

    def __enter__(self):
        wait_for(lambda: self.process.poll() is not None or b"q quit" in self.seen, "the screen")
        if self.process.poll() is not None:
            raise RuntimeError(self.seen.decode(errors="replace"))
        return self

    def cpu(self):
        """s; of the one that measures and the one that guards the terminal."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(
            encoding="ascii").split()
        return own_cpu(self.process.pid) + sum(own_cpu(child) for child in children)

    def __exit__(self, *_):
        os.write(self.terminal, b"q")
        self.process.wait()
        self.reader.join()
        os.close(self.terminal)


def top_row(table, label, screen, made):
    """made: a function that makes calls, and returns how many and how long it took."""
    before = screen.cpu()
    calls, took = made()
    own = screen.cpu() - before
    table.add(label, "% CPU", Times([100 * own / took]))
    if calls:
        table.add(label, "ns a call", Times([1e9 * own / calls]))
        table.add(label, "calls/s made", Times([calls / took]))


def idle(seconds):
    time.sleep(seconds)
    return 0, seconds


def crowd_pace(jobs, rate, milliseconds):
    """All at once, each its part of the pace."""
    answers = []
    threads = [threading.Thread(
        target=lambda job=job: answers.append(job.pace(1, max(rate // len(jobs), 1), milliseconds))) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(calls for calls, _, _ in answers), max(took for _, took, _ in answers)


def top(options, progress):
    progress("top")
    seconds = 3 if options.quick else 10
    table = Table("Top: its own CPU", ["% CPU", "ns a call", "calls/s made"], "", "gaspbpf top on a terminal of "
                  f"{WIDTH}x{HEIGHT}, a look each second: user and system time of both of its processes. The calls are "
                  "counted by the jobs.", label=44)
    for _ in range(1 if options.quick else TURNS):
        top_rows(table, seconds)
    return table


def top_rows(table, seconds):
    with Job() as job, Top([job]) as screen:
        top_row(table, "1 process, idle", screen, lambda: idle(seconds))
        for rate in RATES:
            top_row(table, f"1 process, {rate:,} calls/s", screen,
                    lambda rate=rate: job.pace(THREADS, rate, 1000 * seconds)[:2])
    jobs = [Job() for _ in range(CROWD)]
    try:
        with Top(jobs) as screen:
            top_row(table, f"{CROWD} processes, idle", screen, lambda: idle(seconds))
            top_row(table, f"{CROWD} processes, {RATES[0]:,} calls/s", screen,
                    lambda: crowd_pace(jobs, RATES[0], 1000 * seconds))
    finally:
        for job in jobs:
            job.end()
