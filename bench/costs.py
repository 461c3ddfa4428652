# SPDX-License-Identifier: BSD-2-Clause
"""What a call costs its thread: at each kind of site, and for malloc+free and lock+unlock, under each way to
observe."""
import collections
import pathlib
import tempfile

import observers
from measure import Absent, BUILD, Job, TOP, private_copy
from observers import Bpftrace, Empty, Gaspbpf, Nobody, PerfRecord, RUNGS
from tables import Table

ROUND_NS = 2_000_000  # a round is so short that many of them pass undisturbed
CALLS_MOST = 100_000

SITES = {"site_push": "push", "site_endbr": "endbr+push", "site_test": "test+je", "site_step": "stepped"}
SITE_MODEL = ["--model-file", TOP / "bench" / "sites.model", "-m", "site"]

PAIRS = {"malloc": ("malloc", "free"), "lock": ("pthread_mutex_lock", "pthread_mutex_unlock")}
PAIR_NAMES = {"malloc": "malloc+free", "lock": "lock+unlock"}
PAIR_MODELS = ["-m", "c,pthread"]
TARGETS = {"malloc": 4, "lock": 6}  # times cheaper than others

EMPTY_PAIRS = {"session": "session", "multi": "multi-pair", "perf": "uprobe-pair"}


def timed(job, loop, rounds, round_ns=ROUND_NS):
    """Rounds of about so many ns each."""
    once = job.loop(loop, 50, 3).best
    return job.loop(loop, max(50, min(CALLS_MOST, int(round_ns / once))), rounds)


def measure(table, job, label, observer, columns, functions, rounds, round_ns):
    """
    One row, once: all its loops under one observer. columns: {loop: column}; functions: {loop: what a turn of it
    calls}. A Launched tracer has a job of its own.
    """
    try:
        with observer:
            job = getattr(observer, "launched", job)
            before = job.calls.copy()
            took = {column: timed(job, loop, rounds, round_ns) for loop, column in columns.items()}
            observer.finish()
    except Absent as reason:
        table.absent(label, reason)
        return
    for column, times in took.items():
        table.add(label, column, times)
    trouble = observers.compare(observer, calls_made(job, before, functions))
    if trouble:
        table.note(f"{label}: {trouble}")
    if getattr(observer, "lost", 0):
        table.note(f"{label}: gaspbpf lost {observer.lost:,} of its events, and says so")


def calls_made(job, before, functions):
    """{function: calls} since then."""
    made = collections.Counter()
    for loop, names in functions.items():
        for name in names:
            made[name] += job.calls[loop] - before[loop]
    return made


def run_rows(table, job, rows, columns, functions, options, progress, passes=None, round_ns=ROUND_NS):
    """All rows, several times over, so that a slow minute of the machine hits none of them alone."""
    passes = passes or options.passes
    for turn in range(passes):
        for label, observer in rows.items():
            if isinstance(table.rows.get(label), str):
                continue
            progress(f"{table.title}: {label} ({turn + 1} of {passes})")
            if isinstance(observer, str):
                table.absent(label, observer)
            else:
                measure(table, job, label, observer(), columns, functions, options.rounds, round_ns)


def policies(rung, make):
    """gaspbpf on a rung with each return policy: `make(rung, option...)` observes so."""
    if not observers.has_returns_option():
        missing = {f"gaspbpf {rung}, {policy}": "this gaspbpf has no --returns" for policy in ("sites", "none")}
        return {f"gaspbpf {rung}": make(rung)} | (missing if rung == RUNGS[0] else {})
    return {f"gaspbpf {rung}, {policy}": make(rung, f"--returns={policy}")
            for policy in ("trampoline", "sites", "none")}


def sites(options, progress):
    table = Table("Sites: one call", list(SITES.values()), "ns for a call",
                  "A function that does nothing, by the instruction its probe meets; gaspbpf moves its probe behind "
                  "endbr64 and test, and the empty ones are there, too; +0 is the first instruction. trampoline, "
                  "sites, none: how gaspbpf sees the return (--returns). Median, and how far the best round is "
                  "below it.", label=38)
    with Job() as job:
        places = observers.places_in(job, SITES, *SITE_MODEL)
        table.note("gaspbpf's places: " +
                   ", ".join(f"{SITES[place.function]} +{place.probe - place.start}" for place in places))

        def empty(kind, at_start=False):
            return lambda: Empty(job, places, kind, at_start)

        def gaspbpf(rung, *more):
            return lambda: Gaspbpf(job, places, [*SITE_MODEL, *more], rung)

        rows = {
            "unobserved": lambda: Nobody(job, places),
            "empty entry, perf event": empty("uprobe"),
            "empty entry, uprobe_multi": empty("multi"),
            "empty entry+return, perf events": empty("uprobe-pair"),
            "empty entry+return, uprobe_multi": empty("multi-pair"),
            "empty session": empty("session"),
            "empty session at +0": empty("session", True),
        }
        for rung in RUNGS:
            rows |= policies(rung, gaspbpf) if rung == options.rungs[0] else {f"gaspbpf {rung}": gaspbpf(rung)}
        rows["gaspbpf --placement=entry"] = gaspbpf(None, "--placement=entry")
        rows["bpftrace uprobe+uretprobe at +0"] = lambda: Bpftrace(job, places)
        rows["perf record at +0"] = lambda: PerfRecord(job, places)
        run_rows(table, job, rows, SITES, {name: [name] for name in SITES}, options, progress)
    return table


def private_library(job, name):
    """The folder of a copy of a library that the job maps."""
    lines = pathlib.Path(f"/proc/{job.pid}/maps").read_text(encoding="utf-8").splitlines()
    stem = f"/{name.partition('.so')[0]}"
    mapped = next(line.split(maxsplit=5)[5] for line in lines if f"{stem}.so" in line or f"{stem}-2" in line)
    return private_copy(mapped, name).parent


def private_libc():
    """The folder of a copy of the libc that programs here use."""
    with Job() as job:
        return private_library(job, "libc.so.6")


def pairs(options, progress):
    table = Table("malloc+free, lock+unlock: a pair of calls", list(PAIR_NAMES.values()), "ns for two calls",
                  "The functions of libc, of a copy of it that only this process maps. bpftrace: start time in a map, "
                  "duration into a histogram; perf record: an event for each call and each return, into a file.",
                  label=50)
    with Job(LD_LIBRARY_PATH=str(private_libc())) as job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        places = observers.places_in(job, [name for names in PAIRS.values() for name in names], *PAIR_MODELS)
        if any(not place.file.startswith(str(BUILD)) for place in places):
            raise RuntimeError(f"{places[0].file}: the job was to map a copy of libc")
        table.note("gaspbpf's places: " +
                   ", ".join(f"{place.function} +{place.probe - place.start}" for place in places))

        def gaspbpf(rung=None, *more):
            return lambda: Gaspbpf(job, places, [*PAIR_MODELS, *more], rung)

        def empty(kind, at_start=False):
            return lambda: Empty(job, places, kind, at_start)

        rung = options.rungs[0]
        rows = {
            "unobserved": lambda: Nobody(job, places),
            f"empty entry+return ({rung})": empty(EMPTY_PAIRS[rung]),
            f"empty entry+return ({rung}) at +0": empty(EMPTY_PAIRS[rung], True),
            "gaspbpf": gaspbpf(),
            "gaspbpf, with a recording (-o)": gaspbpf(None, "-o", f"{folder}/run.gasp"),
            "gaspbpf --placement=entry": gaspbpf(None, "--placement=entry"),
        }
        rows |= {f"gaspbpf, {lower}": gaspbpf(lower) for lower in RUNGS[1:]}
        rows |= {f"gaspbpf --returns={policy}": gaspbpf(None, f"--returns={policy}")
                 if observers.has_returns_option() else
                 "this gaspbpf has no --returns" for policy in ("sites", "none")}
        rows["bpftrace uprobe+uretprobe at +0"] = lambda: Bpftrace(job, places)
        rows["perf record at +0"] = lambda: PerfRecord(job, places)
        run_rows(table, job, rows, PAIR_NAMES, PAIRS, options, progress)
    judge_pairs(table)
    return table


def judge_pairs(table):
    for loop, times in TARGETS.items():
        own = table.get("gaspbpf", PAIR_NAMES[loop])
        for other in ("bpftrace uprobe+uretprobe at +0", "perf record at +0"):
            theirs = table.get(other, PAIR_NAMES[loop])
            what = f"{PAIR_NAMES[loop]} under gaspbpf at most 1/{times} of {other.split(' at')[0]}"
            if own is None or theirs is None:
                table.target(what, "one of them is not available", None)
            else:
                table.target(what, f"1/{theirs / own:.1f} ({own:,.0f} ns, {theirs:,.0f} ns)", own * times <= theirs)
