# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor: what it takes itself, what it takes from jobs, what it keeps of each process, and from which call on
it counts."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import observers
from costs import SITE_MODEL, timed
from measure import GASPBPF, JOB, Job, Times, wait_for
from observers import Gaspbpf
from tables import Table

RATES = (0, 10_000, 100_000, 1_000_000)  # calls a second, of all processes together
THREADS = 2
INTERVAL = "1s"    # how often somebody looks: as a scraper would
LIMITS = ("none", "1%")
TURNS = 3
CROWD = 64         # processes
BORN = 20          # processes that begin to call at once


class Monitor:
    """In the background; what it says last is what it knows."""

    def __init__(self, *options):
        self.out = tempfile.NamedTemporaryFile("w+", suffix=".jsonl")
        self.errors = tempfile.NamedTemporaryFile("w+", suffix=".err")
        command = [GASPBPF, "monitor", "--json", "--interval", INTERVAL, "--lazy", *SITE_MODEL, *options]
        self.process = subprocess.Popen([str(word) for word in command], stdout=self.out, stderr=self.errors)

    def __enter__(self):
        wait_for(lambda: "monitoring" in pathlib.Path(self.errors.name).read_text(encoding="utf-8"),
                 "the monitor to begin")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.out.close()
        self.errors.close()

    def last(self):
        lines = pathlib.Path(self.out.name).read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        return json.loads(whole[-1]) if whole else None

    def now(self):
        asked = time.time_ns()
        wait_for(lambda: (self.last() or {"time_ns": 0})["time_ns"] > asked, "the monitor's next line")
        return self.last()

    def knows(self, count):
        wait_for(lambda: len((self.last() or {"processes": ()})["processes"]) >= count,
                 f"{count} processes to be noticed")


def cpu_at(table, limit, rate, job, monitor, seconds):
    before = monitor.now()
    if rate:
        calls, took, _ = job.pace(THREADS, rate, int(1000 * seconds))
    else:
        time.sleep(seconds)
        calls, took = 0, seconds
    after = monitor.now()
    span = (after["time_ns"] - before["time_ns"]) / 1e9
    own = (after["monitor"]["own_cpu_ns"] - before["monitor"]["own_cpu_ns"]) / 1e9
    label = f"{rate:,} calls/s" + (", limit 1%" if limit != "none" else "")
    table.add(label, "gaspbpf, % CPU", Times([100 * own / span]))
    table.add(label, "calls/s made", Times([calls / took]))
    counted = sum(event["calls"] for event in after["events"]) - sum(event["calls"] for event in before["events"])
    table.add(label, "counted, %", Times([100 * counted / calls if calls else 100]))


def cpu(options):
    table = Table("Monitor: its own CPU", ["gaspbpf, % CPU", "calls/s made", "counted, %"],
                  "calls of one process, 2 threads",
                  "gaspbpf monitor, somebody looking at everything once a second. Counting is done in the kernel, in "
                  "the job's time. With the limit, what is called too often is counted and not timed, and then not "
                  "even counted for a while.", label=34)
    for limit in LIMITS * (1 if options.quick else TURNS):
        with Monitor("--comm", JOB.name, "--max-overhead", limit) as monitor, Job() as job:
            monitor.knows(1)
            for rate in RATES:
                cpu_at(table, limit, rate, job, monitor, 3 if options.quick else 10)
    return table


def call(options):
    """One call: nothing attached, a span of a recording, a sum of the monitor."""
    table = Table("Monitor: what a call costs the job", ["ns"], "a call of site_push",
                  "The same call into the kernel's sums instead of a ring.", label=34)
    with Job() as job:
        place, = observers.places_in(job, ["site_push"], *SITE_MODEL)
        for _ in range(options.passes):
            table.add("nobody", "ns", timed(job, "site_push", options.rounds))
            with Monitor("--comm", JOB.name, "--max-overhead", "none") as monitor:
                monitor.knows(1)
                table.add("as a sum", "ns", timed(job, "site_push", options.rounds))
            with Gaspbpf(job, [place], SITE_MODEL):
                table.add("as a span, report at the end", "ns", timed(job, "site_push", options.rounds))
    return table


def memory():
    table = Table("Monitor: memory", ["KiB"], "", f"{CROWD} processes that call one function, against none.", label=44)
    with Monitor("--comm", JOB.name, "--max-overhead", "none") as monitor:
        with Job() as first:
            monitor.knows(1)
            first.pace(1, 1000, 100)
            before = monitor.now()["monitor"]
            jobs = [Job() for _ in range(CROWD)]
            monitor.knows(CROWD + 1)
            for job in jobs:
                job.pace(1, 1000, 100)
            after = monitor.now()["monitor"]
            for job in jobs:
                job.end()
        table.add("gaspbpf with one process", "KiB", Times([before["own_bytes"] / 1024]))
        table.add("more for each process with one event", "KiB",
                  Times([(after["own_bytes"] - before["own_bytes"]) / 1024 / CROWD]))
        table.add("kernel, for each thread and function called", "KiB", Times([sums_bytes(monitor.process.pid) / 1024]))
    return table


def sums_bytes(pid):
    """A value of the map of sums, as the kernel tells."""
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(line.split(":", 1) for line in info.read_text(encoding="ascii").splitlines() if ":" in line)
        if "value_size" in fields and int(fields["key_size"]) == 16 and int(fields["max_entries"]) == 1 << 18:
            return int(fields["value_size"])
    return 0


def first_call():
    table = Table("Monitor: from mapping a runtime to the first counted call", ["blind, ms", "calls missed"], "",
                  "A program whose file nobody has met before (its calls are missed until its "
                  "probes are in), and the same program again: what it calls from its first instruction on is compared "
                  "with what was counted.", label=44)
    with Monitor("--comm", JOB.name, "--max-overhead", "none") as monitor:
        with Job():
            monitor.knows(1)
            table.add("a file that is new", "blind, ms", Times([monitor.now()["monitor"]["late_longest_ns"] / 1e6]))
        before = sum(event["calls"] for event in monitor.now()["events"])
        made = 0
        for _ in range(BORN):
            with Job() as job:
                made += job.pace(1, 1000, 5)[0]
        counted = sum(event["calls"] for event in monitor.now()["events"]) - before
    table.add("a file that is known", "calls missed", made - counted)
    table.note(f"{BORN} processes of a known file made {made:,} calls, {counted:,} were counted")
    return table


def cycles(options):
    """Attached and let go: does anything stay?"""
    count = 1000 if options.quick else 10_000
    table = Table("Monitor: attached and let go", ["before", "after"], "",
                  f"{count:,} processes that begin, call and end.", label=34)
    table.add("processes", "after", count)
    with Monitor("--comm", JOB.name) as monitor:
        churn(500)
        table_row(table, "before", monitor)
        churn(count)
        table_row(table, "after", monitor)
    return table


def churn(count):
    script = (f'i=0; while [ $i -lt {count} ]; do echo "pace 1 1000 1" | "{JOB}" >/dev/null & i=$((i+1)); [ $((i % 8)) '
              '= 0 ] && wait; done; wait')
    subprocess.run(["bash", "-c", script], check=True)


def table_row(table, column, monitor):
    wait_for(lambda: not monitor.now()["processes"], "all to be let go")
    table.add("resident, KiB", column, Times([monitor.now()["monitor"]["own_bytes"] / 1024]))
    table.add("descriptors", column, Times([len(os.listdir(f"/proc/{monitor.process.pid}/fd"))]))
    table.add("entries in the kernel", column, Times([monitor.now()["monitor"]["sums"]]))


def monitoring(options, progress):
    tables = []
    for part in (lambda: cpu(options), lambda: call(options), memory, first_call, lambda: cycles(options)):
        progress("monitor")
        tables.append(part())
    return tables
