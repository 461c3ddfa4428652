# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share: starting jobs, observing them, reading what came out.

A job waits at its gate (tests/workloads/README.md), so a test can attach to it late, let it do a known amount of work,
and compare gaspbpf's figures with the job's own.
"""
import errno
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GASPBPF_BUILD", TOP / "build"))  # another one: with sanitizers (make check SAN=1)
PROGRAM = TOP / "gaspbpf" if BUILD == TOP / "build" else BUILD / "gaspbpf"
WORKLOADS = BUILD / "workloads"
# seconds; far more than anything takes (the emulated machine sets its own)
PATIENCE = int(os.environ.get("PATIENCE", 180))

MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def rungs():
    """The rungs of the attach ladder that this kernel has, best first.

    Told by its version and not by gaspbpf, so that a rung which gaspbpf has lost fails tests instead of being left out.
    GASPBPF_RUNGS: so many of them.
    """
    version = tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups()))
    # multi: 6.6, but 6.10 has its filter of processes right
    since = {"session": (6, 13), "multi": (6, 10), "perf": (5, 15)}
    there = [rung for rung, first in since.items() if version >= first]
    return there[:int(os.environ.get("GASPBPF_RUNGS", len(there)))]


RUNGS = rungs()
RUNGS_OF_MANY = [rung for rung in RUNGS if rung != "perf"]  # fit for a thousand probes


def runs_32_bits():
    """Not each kernel starts such programs."""
    try:
        subprocess.Popen([WORKLOADS / "elf32"], stdout=subprocess.PIPE).kill()
    except OSError as error:
        return error.errno != errno.ENOEXEC
    return True


def wait_for(condition, what, seconds=PATIENCE):
    """Waits until condition() is true and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


def run(*arguments, env=None, timeout=PATIENCE, **keywords):
    """Runs gaspbpf to its end."""
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=timeout, env={**os.environ, **(env or {})}, **keywords)


def environment_from(script):
    """The variables that a shell script exports."""
    out = subprocess.run(["bash", "-c", f". {script} >/dev/null 2>&1; env -0"], capture_output=True, check=True).stdout
    return dict(item.split("=", 1) for item in out.decode(errors="replace").split("\0") if "=" in item)


class Observation:
    """gaspbpf on running processes, in the background."""

    def __init__(self, *arguments, env=None, ready="observing", before=()):
        """before: words in front of the command line."""
        self.process = subprocess.Popen([*before, str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        os.set_blocking(self.process.stderr.fileno(), False)
        self.errors = b""
        try:
            if ready:
                wait_for(lambda: self.has_said(ready.encode()), f"gaspbpf to say '{ready}'")
        except AssertionError:  # nobody has it yet who would end it
            self.process.kill()
            self.process.wait()
            raise

    def has_said(self, text):
        self.errors += self.process.stderr.read() or b""
        if text in self.errors:
            return True
        assert self.process.poll() is None, f"gaspbpf ended: {self.errors.decode(errors='replace')}"
        return False

    def stop(self, how=signal.SIGINT):
        """Ends the observation; returns (exit status, stdout, stderr)."""
        self.process.send_signal(how)
        return self.finish()

    def finish(self):
        os.set_blocking(self.process.stderr.fileno(), True)
        try:
            out, errors = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.errors += errors
        return self.process.returncode, out.decode(errors="replace"), self.errors.decode(errors="replace")


def pids():
    """Of all processes that there are."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def kill_group(process):
    """Ends a process that leads a session of its own, with all that it started there."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Job:
    """A job under test at its gate."""

    def __init__(self, command, folder, ranks=1, env=None, gate=True):
        self.folder = pathlib.Path(folder)
        self.ranks = ranks
        self.gate = self.folder / "gate"
        self.gate.mkdir(exist_ok=True)
        self.log = open(self.folder / "job.log", "w+b")
        arguments = ["--gate", str(self.gate), "--truth", str(self.folder / "truth")] if gate else []
        self.process = subprocess.Popen([*map(str, command), *arguments], stdout=self.log, stderr=subprocess.STDOUT,
                                        env={**os.environ, **(env or {})}, start_new_session=True, cwd=self.folder)

    def _all(self, name):
        def there():
            if self.process.poll() is not None:
                raise AssertionError(f"the job ended with {self.process.returncode}: {self.output()}")
            marks = [self.gate / f"{name}.{rank}" for rank in range(self.ranks)]
            # a pid comes just after its file
            return all(mark.exists() and (name != "ready" or mark.stat().st_size) for mark in marks)
        return there

    def wait_ready(self):
        wait_for(self._all("ready"), "the job to reach its gate")
        return self

    def pids(self):
        """The ranks' pids, by rank."""
        return [int((self.gate / f"ready.{rank}").read_text()) for rank in range(self.ranks)]

    def work(self):
        """Lets it do its counted work, and waits for the end of it."""
        (self.gate / "go").touch()
        wait_for(self._all("done"), "the job to do its work")

    def end(self):
        """Lets it end; returns its exit status."""
        (self.gate / "end").touch()
        return self.process.wait(timeout=PATIENCE)

    def output(self):
        self.log.flush()
        return (self.folder / "job.log").read_text(errors="replace")

    def truths(self):
        """What the job says of itself: one object a process."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("truth*"))]

    def kill(self):
        kill_group(self.process)
        self.log.close()


def breakpoints(pid):
    """Is uprobes' own page mapped in the process: has it ever run over a breakpoint?"""
    return "[uprobes]" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def events(report):
    """The event table of a JSON report, by name."""
    return {row["name"]: row for row in report["events"]}


def compile_c(source, program, *options):
    """Builds a small program that a test has written."""
    subprocess.run(["cc", *options, "-o", str(program), str(source)], check=True, timeout=PATIENCE)
