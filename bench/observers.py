# SPDX-License-Identifier: BSD-2-Clause
"""The ways to observe: each is a context around the calls, and knows afterwards how many of them it saw.

    with Gaspbpf(job, places, ...) as observer:
        job.loop(...)
    observer.seen      {function: calls}, or None where nothing counts

`places` are the functions to observe: Place(file, function, event, offset of its start, offset of gaspbpf's probe).
Each observer is limited to the job's own process, and is in when its context begins: breakpoints are looked for, and
the observer's own word is waited for where it gives one.
"""
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from measure import Absent, BUILD, GASPBPF, PATIENCE, is_patched, wait_for

Place = collections.namedtuple("Place", "file function event start probe")

RUNGS = ("session", "multi", "perf")
TRACEFS = pathlib.Path("/sys/kernel/tracing")


def gaspbpf_json(*arguments, env=None):
    out = subprocess.run([GASPBPF, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, check=False,
                         env={**os.environ, **(env or {})})
    if out.returncode:
        raise Absent(out.stderr.strip().splitlines()[-1].removeprefix("gaspbpf: ") if out.stderr.strip()
                     else "gaspbpf failed")
    return json.loads(out.stdout)


def has_returns_option():
    out = subprocess.run([GASPBPF, "record", "--help"], capture_output=True, text=True, check=True)
    return "--returns" in out.stdout


def places_in(job, functions, *options):
    """Where gaspbpf puts its probes in the job, by function."""
    found = {}
    for row in gaspbpf_json("list", "-p", job.pid, "--json", *options)["found"]:
        for name in {row["symbol"], *(row.get("aliases") or "").split()} & set(functions):
            found[name] = Place(row["file"], name, row["event"], row["offset"], row["probe_offset"])
    if set(found) != set(functions):
        raise RuntimeError(f"gaspbpf list does not know {set(functions) - set(found)}")
    return [found[name] for name in functions]


class Observer:
    """A program that observes. Subclasses start it, wait for it, and read what it left."""

    seen = None
    left = None         # when it had ended, CLOCK_MONOTONIC
    patience = PATIENCE # seconds that it may take to leave

    def __init__(self, job, places):
        self.job, self.places = job, places
        self.process = None

    def start(self):
        """Starts self.process."""

    def stop(self):
        """Ends it and fills self.seen."""

    def offsets(self):
        """Where its breakpoints must be, in the order of places."""
        return [place.start for place in self.places]

    def wait_in(self):
        def there():
            self.check()
            return all(is_patched(self.job.pid, place.file, offset)
                       for place, offset in zip(self.places, self.offsets()))
        wait_for(there, f"the breakpoints of {type(self).__name__}")

    def check(self):
        if self.process and self.process.poll() is not None:
            errors = self.process.stderr.read().strip() if self.process.stderr else ""
            raise Absent(errors.splitlines()[-1] if errors else f"ended with {self.process.returncode}")

    def __enter__(self):
        try:
            self.start()
            self.wait_in()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.stop()
        except subprocess.TimeoutExpired as reason:
            raise Absent(f"did not end within {reason.timeout:.0f} s when it was asked to") from reason
        finally:
            self.kill()

    def finish(self):
        """The calls are over. What can only be read when a job has ended is read here."""

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Nobody(Observer):
    def wait_in(self):
        pass


class Empty(Observer):
    """Programs that return at once, at gaspbpf's places or at the functions' starts."""

    def __init__(self, job, places, kind, at_start=False):
        super().__init__(job, places)
        self.kind, self.at_start = kind, at_start

    def offsets(self):
        return [place.start if self.at_start else place.probe for place in self.places]

    def start(self):
        files = {place.file for place in self.places}
        assert len(files) == 1
        self.process = subprocess.Popen([BUILD / "empty", self.kind, str(self.job.pid), *files,
                                         *map(str, self.offsets())],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            if self.process.wait() == 3:
                raise Absent("not in this kernel")
            self.check()

    def stop(self):
        self.process.communicate(timeout=PATIENCE)


class Gaspbpf(Observer):
    """gaspbpf itself. `pids`: further processes."""

    def __init__(self, job, places, options, rung=None, pids=()):
        super().__init__(job, places)
        self.options, self.pids = options, [job.pid, *pids]
        self.environment = {**os.environ, **({"GASPBPF_RUNG": rung} if rung else {})}
        self.lost = 0
        self.report = None
        self.errors = ""

    def wait_in(self):
        """It has said that it observes; and its places depend on its options."""

    def start(self):
        self.process = subprocess.Popen([GASPBPF, "record", "-p", ",".join(map(str, self.pids)), "--json", "-v",
                                         *self.options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        for line in self.process.stderr:
            self.errors += line
            if "observing" in line:
                return
        self.process.wait()
        raise Absent(self.errors.strip().splitlines()[-1].removeprefix("gaspbpf: ") if self.errors
                     else "it did not start")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=PATIENCE)
        self.left = time.monotonic()
        self.errors += errors
        if self.process.returncode:
            raise RuntimeError(f"gaspbpf: {self.errors}")
        self.report = json.loads(out)
        self.lost = self.report["loss"]["lost"]
        calls = {row["name"]: row["calls"] for row in self.report["events"]}
        self.seen = {place.function: calls.get(place.event, 0) for place in self.places}


class Bpftrace(Observer):
    """The usual latency script: the time of a call in a map, its duration into a histogram."""

    @staticmethod
    def latency(place):
        return (f"uprobe:{place.file}:{place.function} {{ @start_{place.function}[tid] = nsecs; }}\n"
                f"uretprobe:{place.file}:{place.function} /@start_{place.function}[tid]/ {{\n"
                f"  @{place.function} = hist(nsecs - @start_{place.function}[tid]);\n"
                f"  delete(@start_{place.function}[tid]); }}\n")

    def script(self):
        return map(self.latency, self.places)

    def start(self):
        if not shutil.which("bpftrace"):
            raise Absent("bpftrace is not installed")
        # too long for a command line where functions are many
        with tempfile.NamedTemporaryFile("w", dir=BUILD, suffix=".bt") as file:
            file.write('BEGIN { printf("ready\\n"); }\n' + "".join(self.script()))
            file.flush()
            self.process = subprocess.Popen(["bpftrace", "-f", "json", "-p", str(self.job.pid), file.name],
                                            stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True,
                                            env={**os.environ, "BPFTRACE_MAX_PROBES": "4096"})
            self.await_ready()

    def await_ready(self):
        for line in self.process.stdout:
            if "ready" in line:
                return
        self.process.wait()
        self.check()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=self.patience)
        self.left = time.monotonic()
        self.seen = collections.Counter()
        for line in out.splitlines():
            record = json.loads(line) if line.startswith("{") else {}
            if record.get("type") == "hist":
                for name, buckets in record["data"].items():
                    self.seen[name.removeprefix("@")] += sum(bucket["count"] for bucket in buckets)


class PerfRecord(Observer):
    """perf record of a probe on each call and each return."""

    GROUP = f"gaspbpf_bench_{os.getpid()}"  # of this benchmark: another one may run

    def __init__(self, job, places):
        super().__init__(job, places)
        self.folder = contextlib.ExitStack()

    def define(self):
        """Uprobe events, as `perf probe` makes them."""
        lines = [f"{kind}:{self.GROUP}/{place.function}{end} {place.file}:{offset:#x}" for place, offset in
                 zip(self.places, self.offsets()) for kind, end in (("p", "_call"), ("r", "_return"))]
        self.forget_dead()
        self.folder.callback(self.forget)
        for line in lines:
            self.tell(line)
        return [f"{self.GROUP}:{place.function}{end}" for place in self.places for end in ("_call", "_return")]

    @staticmethod
    def tell(line):
        """One line a write, behind what others have defined."""
        events = os.open(TRACEFS / "uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(events, line.encode() + b"\n")
        finally:
            os.close(events)

    def forget(self, group=GROUP):
        with contextlib.suppress(OSError):  # none were defined
            self.tell(f"-:{group}/")

    def forget_dead(self):
        """What killed benchmarks left."""
        defined = (TRACEFS / "uprobe_events").read_text(encoding="utf-8")
        for group, pid in set(re.findall(r"^.:(gaspbpf_bench_(\d+))/", defined, re.MULTILINE)):
            if int(pid) == os.getpid() or not os.path.exists(f"/proc/{pid}"):
                self.forget(group)

    def start(self):
        if not shutil.which("perf"):
            raise Absent("perf is not installed")
        if not (TRACEFS / "uprobe_events").exists():
            raise Absent("tracefs is not mounted, or has no uprobe_events")
        folder = pathlib.Path(self.folder.enter_context(tempfile.TemporaryDirectory(dir=BUILD)))
        self.data = folder / "perf.data"
        events = self.define()
        command, answer = os.pipe(), os.pipe()
        self.process = subprocess.Popen(
            ["perf", "record", "-q", "-o", self.data, "-p", str(self.job.pid), "-e", ",".join(events), "-m", "8M",
             "--delay=-1", f"--control=fd:{command[0]},{answer[1]}"], pass_fds=(command[0], answer[1]),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        os.close(command[0])
        os.close(answer[1])
        self.folder.callback(os.close, command[1])
        self.folder.callback(os.close, answer[0])
        os.write(command[1], b"enable\n")
        if not os.read(answer[0], 16).startswith(b"ack"):
            self.process.wait()
            self.check()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=self.patience)
        self.left = time.monotonic()
        self.size = self.data.stat().st_size
        counts = subprocess.run(["perf", "report", "--stats", "-i", self.data], capture_output=True, text=True,
                                check=True, timeout=PATIENCE).stdout
        self.seen = collections.Counter()
        event = ""
        for line in counts.splitlines():
            title = re.match(rf"\s*{self.GROUP}:(\w+) stats", line)
            event = title[1] if title else event
            samples = re.match(r"\s*SAMPLE events:\s+(\d+)", line)
            if event.endswith("_return") and samples:
                self.seen[event.removesuffix("_return")] += int(samples[1])

    def kill(self):
        super().kill()
        self.folder.close()


def compare(observer, expected):
    """In words, where an observer saw other calls than were made; None: it saw all."""
    if observer.seen is None:
        return None
    seen = sum(observer.seen.get(name, 0) for name in expected)
    made = sum(expected.values())
    if seen == made:
        return None
    return f"saw {seen:,} of {made:,} calls ({100 * (seen - made) / made:+.2f} %)"
