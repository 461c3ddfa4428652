# SPDX-License-Identifier: BSD-2-Clause
"""Many events: how many a second go through without loss, what gaspbpf's own CPU takes of them, what they weigh on
disk."""
import os
import pathlib
import resource
import tempfile
import time

import observers
from costs import EMPTY_PAIRS, PAIR_MODELS, SITE_MODEL, calls_made, private_libc
from launched import Eztrace, Lttng, Uftrace
from measure import Absent, BUILD, JOB, Job, Times
from observers import Empty, Gaspbpf, PerfRecord
from runtimes import MPI_ENVIRONMENT, MPI_JOB, private_mpi
from tables import Table

THREADS = 2
RATES = (500_000, 1_000_000, 1_250_000, 0)  # calls a second that are offered; 0: as many as possible
RATE_TARGET = 1_000_000
CPU_RATE = 600_000
CPU_NS = 150
BYTES = 12
ROUNDS = 5

HEAP = ("malloc", "calloc", "realloc", "free", "free")  # what a turn of the loop calls
MIX = ("MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Sendrecv", "MPI_Allreduce")


# --- rate

def offered(rate):
    return f"{rate / 1e6:.1f} M/s offered" if rate else "as many as possible"


def paced(table, label, job, place, rate, seconds):
    """One row, once; True where nothing was lost and the offered rate was kept."""
    before = job.calls["site_push"]
    with Gaspbpf(job, [place], SITE_MODEL) as observer:
        calls, took, _ = job.pace(THREADS, rate, int(1000 * seconds))
    delivered = observer.report["loss"]["delivered"]
    made = job.calls["site_push"] - before
    if delivered + observer.lost != made:
        table.note(f"{label}: delivered {delivered:,} and lost {observer.lost:,} of {made:,} calls: these "
                   "do not add up")
    for column, value in (("calls/s", calls / took), ("spans/s", delivered / took), ("lost", observer.lost)):
        table.add(label, column, Times([value]))
    return observer.lost == 0, delivered / took


def rate(options, progress):
    table = Table("Rate: events a second without loss, default rings", ["calls/s", "spans/s", "lost"],
                  "a second; lost: calls",
                  f"{THREADS} threads call a function at a pace; gaspbpf observes and reports. Calls that cannot be "
                  "made in time are made later, so 'calls/s' is below what is offered where two traps a call leave no "
                  "more. The longest run is at the highest pace at which no round lost anything.", label=40)
    long, short = (10, 1) if options.quick else (60, 1)
    lossless = {}
    with Job() as job:
        place, = observers.places_in(job, ["site_push"], *SITE_MODEL)
        for turn in range(2 if options.quick else ROUNDS):
            with Empty(job, [place], EMPTY_PAIRS[options.rungs[0]]):
                calls, took, _ = job.pace(THREADS, 0, 1000 * short)
            table.add("empty pair, as many as possible", "calls/s", Times([calls / took]))
            for each in RATES:
                progress(f"{table.title}: {offered(each)} ({turn + 1})")
                whole, reached = paced(table, offered(each), job, place, each, short)
                lossless[each] = min(lossless.get(each, reached), reached) if whole and lossless.get(each) != 0 else 0
        best = max(RATES, key=lambda each: lossless[each])
        progress(f"{table.title}: {long} s")
        label = f"{long} s, {offered(best)}"
        whole, reached = paced(table, label, job, place, best, long)
    table.target(f"{long} s without loss at no less than {RATE_TARGET / 1e6:.0f} M spans/s",
                 f"{reached:,.0f} spans/s, lost {table.get(label, 'lost'):,.0f}", whole and reached >= RATE_TARGET)
    return table


# --- cpu

def own_cpu():
    """CPU seconds of all that has been started here and has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_so_far(pid):
    """CPU seconds of a process that lives."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu(options, progress):
    table = Table("gaspbpf's own CPU", ["CPU s", "spans", "ns a span"], "",
                  f"User and system time of gaspbpf from its first probes to its "
                  f"end, while {THREADS} threads make {CPU_RATE / 1e6:.1f} M calls/s. 'ns a span' is that less what it "
                  "takes to observe the idle job for as long (waiting, report, end), by the spans delivered.", label=40)
    seconds = 1 if options.quick else 3
    with Job() as job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        place, = observers.places_in(job, ["site_push"], *SITE_MODEL)
        rows = {"nothing is called": (0, []), "live": (CPU_RATE, []),
                "with a recording (-o)": (CPU_RATE, ["-o", f"{folder}/run.gasp"])}
        for turn in range(2 if options.quick else ROUNDS):
            idle = 0
            for label, (pace, more) in rows.items():
                progress(f"{table.title}: {label} ({turn + 1})")
                before = own_cpu()
                with Gaspbpf(job, [place], [*SITE_MODEL, *more]) as observer:
                    before += cpu_so_far(observer.process.pid)
                    if pace:
                        job.pace(THREADS, pace, 1000 * seconds)
                    else:
                        time.sleep(seconds)
                took, spans = own_cpu() - before, observer.report["loss"]["delivered"]
                table.add(label, "CPU s", Times([took]))
                table.add(label, "spans", Times([spans]))
                if pace:
                    table.add(label, "ns a span", Times([1e9 * (took - idle) / spans]))
                    if observer.lost:
                        table.note(f"{label}: lost {observer.lost:,} calls")
                else:
                    idle = took
    for label in list(rows)[1:]:
        value = table.get(label, "ns a span")
        table.target(f"{label}: at most {CPU_NS} ns of CPU a span", f"{value:.0f} ns", value <= CPU_NS)
    return table


# --- bytes

class Recorded(Gaspbpf):
    """gaspbpf, and the size of its recording."""

    def __init__(self, job, places, options, folder):
        self.file = pathlib.Path(folder) / "run.gasp"
        super().__init__(job, places, [*options, "-o", self.file])

    @property
    def size(self):
        return self.file.stat().st_size


def by_events(job, names, options):
    """Places by name; each event counts once, under the first of its names."""
    return observers.places_in(job, sorted(set(names)), *options)


def weigh(table, label, column, tracer, job, loop, names, turns):
    """Bytes for one call, of those that were recorded."""
    try:
        with tracer:
            job = getattr(tracer, "launched", job)
            before = job.calls.copy()
            job.loop(loop, turns, 5)
            tracer.finish()
    except Absent as reason:
        table.note(f"{label}, {column}: not available: {reason}")
        return
    expected = calls_made(job, before, {loop: names})
    if label.startswith("LTTng") and tracer.seen and "func_entry" in tracer.seen:
        tracer.seen = {names[0]: min(tracer.seen["func_entry"], tracer.seen["func_exit"])}
    trouble = observers.compare(tracer, expected)
    if trouble:
        table.note(f"{label}, {column}: {trouble}")
    spans = sum(tracer.seen.get(name, 0) for name in expected) if tracer.seen else sum(expected.values())
    table.add(label, column, Times([tracer.size / spans]))


def bytes_on_disk(options, progress):
    table = Table("Bytes a call on disk", ["MPI mix", "malloc mix"], "bytes",
                  "MPI mix: Irecv, Isend, Waitall, Sendrecv, Allreduce; "
                  "malloc mix: malloc, calloc, realloc and two frees. What of a call is in the file: gaspbpf start, "
                  "end, call site, arguments, result, counts; uftrace start and end; perf.data an event each for call "
                  "and return; EZTrace enter, leave and arguments of messages; LTTng-UST for malloc one event with "
                  "arguments, no duration (libc-wrapper), for MPI entry and exit of instrumented functions "
                  "(cyg-profile-fast). Symbol tables are not counted.", label=40)
    turns = 5_000 if options.quick else 10_000
    libc = {"LD_LIBRARY_PATH": str(private_libc())}
    with tempfile.TemporaryDirectory(dir=BUILD) as folder, Job(**libc) as heap:
        mixes = [("malloc mix", heap, "heap", HEAP, PAIR_MODELS, {
            "uftrace": lambda: Uftrace(JOB), "EZTrace": lambda: Eztrace(JOB, "memory"),
            "LTTng-UST": lambda: Lttng(JOB, "liblttng-ust-libc-wrapper.so*", "lttng_ust_libc:*")})]
        try:
            environment = private_mpi()
            instrumented = BUILD / "mpi_job_instrumented"
            mixes.append(("MPI mix", Job(MPI_JOB, **environment), "mix", MIX, ["-m", "mpi"], {
                "uftrace": lambda: Uftrace(MPI_JOB, **MPI_ENVIRONMENT),
                "EZTrace": lambda: Eztrace(MPI_JOB, "openmpi", **MPI_ENVIRONMENT),
                "LTTng-UST": lambda: Lttng(instrumented, "liblttng-ust-cyg-profile-fast.so*",
                                           "lttng_ust_cyg_profile_fast:*", **MPI_ENVIRONMENT)}))
        except Absent as reason:
            table.note(f"MPI mix: not available: {reason}")
        for turn in range(2 if options.quick else ROUNDS):
            for column, job, loop, names, models, others in mixes:
                places = by_events(job, names, models)
                tracers = {"gaspbpf": lambda: Recorded(job, places, models, folder),
                           "perf record": lambda: PerfRecord(job, places), **others}
                for label, make in tracers.items():
                    progress(f"{table.title}: {label}, {column} ({turn + 1})")
                    weigh(table, label, column, make(), job, loop, names, turns)
        for _, job, *_ in mixes:
            job.end()
    judge_bytes(table)
    return table


def judge_bytes(table):
    for column in table.columns:
        own = table.get("gaspbpf", column)
        others = {label: table.get(label, column) for label in table.rows if label != "gaspbpf"
                  and table.get(label, column)}
        if own is None:
            table.target(f"{column}: at most {BYTES} bytes a span", "not available", None)
            continue
        table.target(f"{column}: at most {BYTES} bytes a span", f"{own:.1f}", own <= BYTES)
        smallest = min(others, key=others.get, default=None)
        table.target(f"{column}: the smallest", f"{own:.1f}; next: {smallest} {others[smallest]:.1f}" if smallest
                     else "nothing to compare with",
                     own < others[smallest] if smallest else None)
