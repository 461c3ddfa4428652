# SPDX-License-Identifier: BSD-2-Clause
"""The fuzz targets at work (tests/fuzz, docs/fuzzing.md): for tests/fuzz/run.py, and for their test."""
import concurrent.futures
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
FUZZ = TOP / "build" / "fuzz"
TARGETS = sorted(source.stem for source in (TOP / "tests" / "fuzz").glob("*.c"))
LIMITS = ["-timeout=10"]  # seconds
RSS_LIMIT = 1024  # MiB
MALLOC_LIMIT = 256  # MiB at once
FREED_BY_THE_END = {"tool_pipe"}  # the process that it is of ends without freeing anything
PATIENCE = 60  # seconds, beyond the time that it was given


class Fuzzing:
    """One target at work."""

    def __init__(self, target, corpus, folder, seconds=None, runs=None, seed=None, limits=LIMITS):
        self.target, self.process, self.interrupted = target, None, False
        self.findings, self.log = folder / "findings", folder / "logs" / f"{target}.log"
        self.corpus, self.seconds, self.runs, self.seed, self.limits = corpus, seconds, runs, seed, limits
        for needed in (self.findings, self.log.parent, corpus):
            needed.mkdir(parents=True, exist_ok=True)
        self.before = set(self.findings.glob(f"{target}-*"))

    def rss_limit(self):
        """MiB. What this process has had at most counts: a process that it starts begins with that figure, and an exec
        keeps it."""
        return RSS_LIMIT + (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)

    def command(self):
        how = [f"-max_total_time={self.seconds}"] if self.runs is None else [f"-runs={self.runs}"]
        return [FUZZ / self.target, *how, *self.limits, f"-rss_limit_mb={self.rss_limit()}",
                f"-malloc_limit_mb={MALLOC_LIMIT}",
                f"-seed={self.seed or 0}", "-close_fd_mask=3", "-print_final_stats=1", "-report_slow_units=100000",
                f"-detect_leaks={int(self.target not in FREED_BY_THE_END)}",
                f"-artifact_prefix={self.findings}/{self.target}-", self.corpus, FUZZ / "seeds" / self.target]

    def run(self):
        if self.interrupted:
            return self
        with tempfile.TemporaryDirectory(prefix="gaspbpf-fuzz-") as own, open(self.log, "wb") as log:
            environment = {**os.environ, "TMPDIR": own, "ASAN_OPTIONS": "quarantine_size_mb=16",
                           "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=TOP, env=environment,
                                            start_new_session=True)
            try:
                self.process.wait(self.seconds + PATIENCE if self.seconds else None)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self

    def interrupt(self):
        self.interrupted = True
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    # --- what came of it

    def said(self):
        return self.log.read_text(errors="replace") if self.process else ""

    def number(self, pattern):
        found = re.findall(pattern, self.said())
        return int(found[-1]) if found else 0

    @property
    def inputs(self):
        return self.number(r"stat::number_of_executed_units: *(\d+)") or self.number(r"(?m)^#(\d+)")

    @property
    def edges(self):
        return self.number(r"cov: (\d+)")

    @property
    def new(self):
        """Files of findings; or the log, where the target has ended in a way that leaves none."""
        if self.process is None:
            return []
        files = sorted(set(self.findings.glob(f"{self.target}-*")) - self.before)
        return files or ([self.log] if self.process.returncode and not self.interrupted else [])

    def summary(self):
        found = re.findall(r"SUMMARY: (.*)|ERROR: libFuzzer: (.*)|(.*Assertion.*)", self.said())
        return "".join(found[0]) if found else "ended without a word"


def fuzz(targets, folder=FUZZ, seconds=None, runs=None, seed=None, limits=LIMITS, jobs=2, said=lambda f: None):
    """Runs them; the list of Fuzzing."""
    all_of_them = [Fuzzing(target, folder / "corpus" / target, folder, seconds, runs, seed, limits)
                   for target in targets]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(f.run) for f in all_of_them]
        try:
            for done in concurrent.futures.as_completed(waiting):
                said(done.result())
        except KeyboardInterrupt:
            for f in all_of_them:
                f.interrupt()
            until = time.monotonic() + 10
            while any(not done.done() for done in waiting) and time.monotonic() < until:
                time.sleep(0.1)
            for f in all_of_them:
                if f.process and f.process.poll() is None:
                    f.process.kill()
    return all_of_them
