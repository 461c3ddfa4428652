# SPDX-License-Identifier: BSD-2-Clause
"""Tracers that work inside the process: they must start the job themselves, and cannot join one that runs.

    with Uftrace(program) as tracer:            starts the job under it
        tracer.launched.loop(...) tracer.finish()                         the job ends, and what the tracer wrote is
        read tracer.seen, tracer.size                {function: calls}; bytes of what is data, without copies of symbol
        tables

Each counts with its own reader what it has recorded.
"""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from measure import Absent, BUILD, Job, PATIENCE


def output_of(*command, env=None):
    out = subprocess.run([*map(str, command)], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                         check=False, env=env)
    if out.returncode:
        raise Absent(f"{command[0]}: {(out.stderr.strip().splitlines() or ['failed'])[-1]}")
    return out.stdout


def bytes_in(folder, pattern):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob(pattern) if path.is_file())


class Launched:
    """A tracer and its job. Subclasses say how to start it, and read what it has left in self.folder."""

    needs = ()  # programs

    def __init__(self, program, **environment):
        self.program, self.environment = program, environment
        self.launched, self.seen, self.size = None, None, None

    def command(self):
        return []

    def prepare(self):
        """Whatever must be there before the job; environment that the job gets."""
        return {}

    def read(self):
        """Fills self.seen and self.size."""

    def __enter__(self):
        for need in self.needs:
            if not shutil.which(need):
                raise Absent(f"{need} is not installed")
        self.stack = contextlib.ExitStack()
        try:
            self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(dir=BUILD)))
            environment = {**self.environment, **self.prepare()}
            self.launched = Job(self.program, self.command(), self.folder, **environment)
        except BaseException:
            self.stack.close()
            raise
        return self

    def finish(self):
        self.launched.end()
        self.read()

    def __exit__(self, *_):
        with self.stack:
            self.launched.end()


class Uftrace(Launched):
    """Calls through the program's PLT, times of entry and return; no arguments, as asked for. --force: not built for
    it."""

    needs = ("uftrace",)

    def command(self):
        return ["uftrace", "record", "--force", "--no-event", "-d", self.folder / "data"]

    def read(self):
        self.size = bytes_in(self.folder, "*.dat")
        self.seen = collections.Counter()
        for line in output_of("uftrace", "report", "--no-pager", "-d", self.folder / "data", "-f", "call").splitlines():
            row = re.match(r"\s*(\d+)\s+(\w+)\s*$", line)
            if row:
                self.seen[row[2]] += int(row[1])


class Eztrace(Launched):
    """One of EZTrace's modules, preloaded."""

    needs = ("eztrace",)

    def __init__(self, program, module, **environment):
        super().__init__(program, **environment)
        self.module = module

    def command(self):
        return ["eztrace", "-t", self.module, "-o", self.folder / "data"]

    def read(self):
        self.size = bytes_in(self.folder, "*.evt")
        trace = next((self.folder / "data").rglob("*.otf2"), None)
        if not trace:
            raise Absent("eztrace has left no trace")
        if not shutil.which("otf2-print"):
            return  # its figures stay, unchecked
        self.seen = collections.Counter()
        with subprocess.Popen(["otf2-print", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as reader:
            for line in reader.stdout:
                if line.startswith("ENTER"):
                    name = re.search(r'Region: "(\w+)"', line)
                    self.seen[name[1] if name else ""] += 1


class Lttng(Launched):
    """LTTng-UST with one of its preloaded libraries (a glob). A session daemon is started and ended, unless one is
    there."""

    needs = ("lttng", "lttng-sessiond", "babeltrace")

    def __init__(self, program, library, events, **environment):
        super().__init__(program, **environment)
        self.library, self.events = library, events

    def lttng(self, *arguments):
        return output_of("lttng", "-q", "--no-sessiond", *arguments, env=self.daemon_environment)

    def start_daemon(self):
        self.daemon_environment = {**os.environ, "LTTNG_HOME": str(self.folder)}
        with contextlib.suppress(Absent):
            self.lttng("list")
            return
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.daemon_environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(daemon.wait, PATIENCE)
        self.stack.callback(daemon.send_signal, signal.SIGTERM)
        for _ in range(100):
            with contextlib.suppress(Absent):
                self.lttng("list")
                return
            if daemon.poll() is not None:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(0.1)
        raise Absent("lttng-sessiond does not start")

    def prepare(self):
        found = [path for place in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
                 for path in pathlib.Path(place).glob(self.library)]
        if not found:
            raise Absent(f"{self.library} is not installed")
        self.start_daemon()
        self.session = f"gaspbpf-bench-{os.getpid()}"
        self.lttng("create", self.session, f"--output={self.folder / 'data'}")
        self.stack.callback(self.forget)
        self.lttng("enable-channel", "-u", "-s", self.session, "--subbuf-size=4M", "--num-subbuf=8", "all")
        self.lttng("enable-event", "-u", "-s", self.session, "-c", "all", self.events)
        self.lttng("start", self.session)
        return {"LD_PRELOAD": str(found[0]), "LTTNG_HOME": str(self.folder)}

    def forget(self):
        with contextlib.suppress(Absent):
            self.lttng("destroy", self.session)

    def read(self):
        self.lttng("stop", self.session)
        self.forget()
        self.size = bytes_in(self.folder / "data", "all_*")
        self.seen = collections.Counter()
        with subprocess.Popen(["babeltrace", self.folder / "data"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as reader:
            for line in reader.stdout:
                event = re.search(r" lttng_ust_\w+:(\w+):", line)
                self.seen[event[1] if event else ""] += 1
