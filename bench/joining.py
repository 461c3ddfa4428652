# SPDX-License-Identifier: BSD-2-Clause
"""Joining and leaving: how long it takes, whom it touches besides the observed, and what probes cost that are never
hit."""
import contextlib
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import threading
import time

import observers
from costs import SITE_MODEL, timed
from measure import Absent, BUILD, GASPBPF, Job, Times, is_patched, private_copy
from observers import Bpftrace, Empty, Gaspbpf, Nobody, PerfRecord, RUNGS
from tables import Table

SHMEM = "liboshmem.so.40"
FEW = 20           # functions, where each takes two perf events that are slow to remove
TURNS = 5
OTHERS_PATIENCE = 900
DEAR_TURNS = 2     # rounds of what takes many seconds to remove
MANY = 400         # functions that are never called
ATTACH_MS = 150    # at most, each way
START_TURNS = 9
START_MS = 300     # at most
# What earlier starts have measured is out of sight, for this command alone.
FORGETFUL = ("unshare", "--mount", "sh", "-c",
             "mount -t tmpfs -o mode=700 tmpfs /run/gaspbpf-calibration && exec \"$@\"", "sh")
SCOPES = (1, 8, 64)
SCOPE_FACTOR = 1.2
SWITCH_PERCENT = 5


def shmem_job():
    """A process that maps OpenSHMEM's library, a copy of its own, and never calls it."""
    for folder in map(pathlib.Path, ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")):
        if (folder / SHMEM).exists():
            return Job(LD_PRELOAD=str(private_copy(folder / SHMEM, SHMEM)))
    raise Absent(f"{SHMEM} is not installed: scripts/bench installs it")


def shmem_functions(job):
    """Those of the library itself; the model has the program's end, too, which is in another file."""
    found = observers.gaspbpf_json("list", "-p", job.pid, "-m", "shmem", "--json")["found"]
    return [row for row in found if pathlib.Path(row["file"]).name.startswith("liboshmem.so")]


def as_places(rows):
    return [observers.Place(row["file"], row["symbol"], row["event"], row["offset"], row["probe_offset"])
            for row in rows]


def some_functions(folder, rows, count):
    """Options for gaspbpf to observe the first `count` of these functions, whether anybody imports them or not."""
    model = pathlib.Path(folder) / f"some{count}.model"
    lines = [f"F{i} function leaf void {row['symbol']}(void)" for i, row in enumerate(rows[:count])]
    model.write_text("\n".join(["model some", "language SOME", "library liboshmem.so*", *lines, ""]), encoding="ascii")
    return ["--model-file", model, "-m", "some", "--all-symbols"]


def absent_table(title, unit, reason):
    table = Table(title, [""], unit, "", label=30)
    table.absent(title, reason)
    return table


# --- attach and leave

def links_held(pid):
    """Links on functions that a gaspbpf holds."""
    held = 0
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            text = info.read_text(encoding="ascii")
            held += bool(re.search(r"^link_type:\s*((uprobe|uretprobe)_multi|perf)", text, re.MULTILINE))
    return held


def milliseconds(pattern, text):
    return float(re.search(pattern, text)[1])


def join_and_leave(table, label, job, places, options, rung):
    """One row, once."""
    observer = Gaspbpf(job, places[:5] + places[-5:], options, rung)
    before = time.monotonic()
    with observer:
        started = time.monotonic()
        links = links_held(observer.process.pid)
        asked = time.monotonic()
        observer.stop()
        left = time.monotonic()
    table.add(label, "functions", int(milliseconds(r"process: (\d+) functions", observer.errors)))
    table.add(label, "links", links)
    table.add(label, "attach", Times([milliseconds(r"probes put in in ([\d.]+) ms", observer.errors)]))
    table.add(label, "detach", Times([milliseconds(r"taken out in ([\d.]+) ms", observer.errors)]))
    table.add(label, "to start", Times([1000 * (started - before)]))
    table.add(label, "to end", Times([1000 * (left - asked)]))


class BpftraceMany(Bpftrace):
    """Times of many functions, in one map."""

    patience = OTHERS_PATIENCE

    def script(self):
        for kind, action in (("uprobe", "@start[tid] = nsecs;"),
                             ("uretprobe", "@all = hist(nsecs - @start[tid]); delete(@start[tid]);")):
            yield ",\n".join(f"{kind}:{place.file}:{place.function}" for place in self.places) + f" {{ {action} }}\n"


class PerfMany(PerfRecord):
    patience = OTHERS_PATIENCE


def others_join_and_leave(table, label, observer):
    """One row of another tool, once."""
    before = time.monotonic()
    try:
        with observer:
            started = asked = time.monotonic()
            observer.stop()
    except Absent as reason:
        table.absent(label, reason)
        return
    table.add(label, "functions", len(observer.places))
    table.add(label, "to start", Times([1000 * (started - before)]))
    table.add(label, "to end", Times([1000 * (observer.left - asked)]))


def all_at_once(table, job, places, progress):
    """Both others with all functions: minutes, so it is one round, and side by side, since all they do is wait for the
    kernel."""
    progress(f"{table.title}: bpftrace and perf, {len(places)} functions: minutes")
    runs = [threading.Thread(target=others_join_and_leave, args=(table, f"{label}, all", kind(job, places)))
            for label, kind in OTHERS.items()]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    table.note(f"bpftrace and perf with all {len(places)} functions: one round, both at the same time; with "
               f"{FEW}: all rounds")


OTHERS = {"bpftrace": BpftraceMany, "perf record": PerfMany}


def attach_and_leave(options, progress):
    title = "Attach and leave: the functions of OpenSHMEM in a running process"
    try:
        job = shmem_job()
    except Absent as reason:
        return absent_table(title, "ms", reason)
    table = Table(title, ["functions", "links", "attach", "detach", "to start", "to end"], "ms",
                  "attach, detach: as gaspbpf -v says; to start: from the command to its first probes, all "
                  "included; to end: from ^C to its end, report included. Process scope; 'file' is for everybody who "
                  "maps the library. A perf event is a link for each end of each function. bpftrace and perf record: "
                  "an event for each call and each return; how long they themselves take to attach and detach they do "
                  "not say.", label=24)
    with job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        rows = shmem_functions(job)
        kinds = {f"{rung}{scope}": (rung, ["-m", "shmem", *more], rows) for rung in RUNGS[:2]
                 for scope, more in (("", ["--scope=process"]), (", file", ["--scope=file"]))}
        kinds["perf"] = ("perf", some_functions(folder, rows, FEW), rows[:FEW])
        unique = list({place.start: place for place in as_places(rows)}.values())
        for turn in range(2 if options.quick else TURNS):
            for label, kind in OTHERS.items():
                progress(f"{title}: {label} ({turn + 1})")
                others_join_and_leave(table, label, kind(job, unique[:FEW]))
            for label, (rung, more, wanted) in kinds.items():
                if rung == "perf" and turn >= DEAR_TURNS:
                    continue
                if rung not in options.rungs:
                    table.absent(label, "not on this kernel")
                    continue
                progress(f"{title}: {label} ({turn + 1})")
                join_and_leave(table, label, job, as_places(wanted), more, rung)
        if options.long:
            all_at_once(table, job, unique, progress)
        else:
            table.note(f"bpftrace and perf with all {len(unique)} functions: --long measures that, too; it takes "
                       "them minutes")
    for rung in RUNGS[:2]:
        for way in ("attach", "detach"):
            took = table.get(rung, way)
            table.target(f"{rung}: {way} in at most {ATTACH_MS} ms",
                         "not on this kernel" if took is None else f"{took:.0f} ms",
                         None if took is None else took <= ATTACH_MS)
    return table


# --- start

def observed_start(table, label, job):
    """An observation, to its first probe, and from ^C to its end."""
    observer = Gaspbpf(job, [], [])
    before = time.monotonic()
    with observer:
        started = time.monotonic()
        observer.stop()
    table.add(label, "to start", Times([1000 * (started - before)]))
    table.add(label, "to end", Times([1000 * (observer.left - started)]))


def whole_run(table, label, words, prefix=()):
    before, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*prefix, GASPBPF, *words], capture_output=True, check=True)
    table.add(label, "all", Times([1000 * (time.monotonic() - before)]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    table.add(label, "CPU", Times([1000 * (after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime)]))


def start(options, progress):
    title = "Start: the commands that look at one process of a few functions"
    table = Table(title, ["to start", "to end", "all", "CPU"], "ms",
                  "to start: from the command to its first probes; to end: from ^C to its end; all: from the command "
                  "to its end; CPU: user and system time of that. An earlier start has calibrated, but for 'doctor' "
                  "and where nothing is measured yet: there the folder of these measurements is an empty one.",
                  label=34)
    with Job() as job:
        commands = {"-- true": ["--", "true"], "list -p PID": ["list", "-p", str(job.pid)],
                    "top --once -p PID": ["top", "--once", "-p", str(job.pid)]}
        whole_run(table, "doctor", ["doctor"])
        for turn in range(2 if options.quick else START_TURNS):
            progress(f"{title} ({turn + 1})")
            observed_start(table, "-p PID", job)
            for label, words in commands.items():
                whole_run(table, label, words)
            whole_run(table, "-- true, nothing measured yet", ["--", "true"], FORGETFUL)
    took = table.get("-p PID", "to start")
    table.target(f"its first probes in at most {START_MS} ms", f"{took:.0f} ms", took <= START_MS)
    left = table.get("-p PID", "to end")
    table.target(f"its end in at most {START_MS} ms", f"{left:.0f} ms", left <= START_MS)
    return table


# --- scope

def scope(options, progress):
    columns = [f"{count} observed" for count in SCOPES]
    table = Table("Scope: one call while further processes are observed", columns, "ns for a call",
                  "One process calls, the others idle; all are observed. Under file scope one link serves all of them, "
                  "under process scope each has its own, and each hit visits all. The bystander maps the same "
                  "file and is not observed.", label=36)
    with contextlib.ExitStack() as stack:
        jobs = [stack.enter_context(Job()) for _ in range(max(SCOPES))]
        bystander = stack.enter_context(Job())
        place, = observers.places_in(jobs[0], ["site_push"], *SITE_MODEL)
        table.add("bystander, nobody observed", columns[0], timed(bystander, "site_push", options.rounds))
        for turn in range(options.passes):
            for rung in options.rungs:
                for which, count in ((which, count) for which in ("file", "process") for count in SCOPES):
                    dear = rung == "perf" and which == "process" and count > SCOPES[0]
                    if not dear or (turn < DEAR_TURNS - 1 and count <= SCOPES[-2]):
                        progress(f"{table.title}: {rung}, {which}, {count} ({turn + 1} of {options.passes})")
                        in_scope(table, (rung, which, count), jobs, bystander, place, options)
    for rung in options.rungs:
        one, all_of_them = (table.get(f"{rung}, file", columns[at]) for at in (0, -1))
        table.target(f"{rung}, file scope: {max(SCOPES)} processes at most {SCOPE_FACTOR} times one",
                     f"{all_of_them / one:.2f} times", all_of_them <= SCOPE_FACTOR * one)
        touched = [note for note in table.notes if note.startswith(f"{rung}, process scope: the bystander has")]
        table.target(f"{rung}, process scope: no breakpoint in a bystander", touched[0] if touched else "none",
                     not touched)
    return table


def in_scope(table, key, jobs, bystander, place, options):
    rung, which, count = key
    column = f"{count} observed"
    before = jobs[0].calls["site_push"]
    observer = Gaspbpf(jobs[0], [place], [*SITE_MODEL, f"--scope={which}"], rung, [job.pid for job in jobs[1:count]])
    with observer:
        table.add(f"{rung}, {which}", column, timed(jobs[0], "site_push", options.rounds))
        if is_patched(bystander.pid, place.file, place.probe) and which == "process":
            table.note(f"{rung}, process scope: the bystander has a breakpoint")
        table.add(f"bystander, {rung}, {which}", column, timed(bystander, "site_push", options.rounds))
    trouble = observers.compare(observer, {"site_push": jobs[0].calls["site_push"] - before})
    if trouble or observer.lost:
        table.note(f"{rung}, {which}, {count}: {trouble or f'lost {observer.lost} events'}")


# --- context switches

def switches(options, progress):
    title = "Context switches under probes that are never hit"
    try:
        job = shmem_job()
    except Absent as reason:
        return absent_table(title, "ns", reason)
    table = Table(title, ["round trip", "functions"], "ns for two switches",
                  "Two threads of a process on one CPU hand a byte to and fro through pipes. Observed are functions of "
                  "OpenSHMEM, which are mapped and never called. A perf event weighs on each switch of the process's "
                  "main thread; 'free': the process was allowed on all CPUs when the events were made, 'bound': only "
                  "on the one.", label=56)
    with job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        found = shmem_functions(job)
        places, many, few = as_places(found), some_functions(folder, found, MANY), some_functions(folder, found, FEW)
        rows = {"unobserved": (lambda: Nobody(job, []), 0)}
        for rung in RUNGS[:2]:
            rows[f"gaspbpf {rung}"] = (lambda rung=rung: Gaspbpf(job, places[:3], many, rung), MANY)
        for name in ("free", "bound"):
            rows[f"gaspbpf perf, {name}"] = (lambda: Gaspbpf(job, places[:3], few, "perf"), FEW)
        rows["empty entry+return, perf events of the usual kind"] = (lambda: Empty(job, places[:FEW], "uprobe-pair"),
                                                                     FEW)
        # many: these differ by less than a machine does from minute to minute
        for turn in range(max(4, 2 * options.passes)):
            for label, (observer, count) in rows.items():
                dear = "perf" in label
                if dear and turn >= DEAR_TURNS:
                    continue
                progress(f"{title}: {label} ({turn + 1})")
                round_trips(table, label, job, observer(), count, "bound" in label, options)
    judge_switches(table)
    return table


def round_trips(table, label, job, observer, count, bound, options):
    try:
        with bound_to_one(job) if bound else contextlib.nullcontext():
            observer.__enter__()
        try:
            with bound_to_one(job):
                table.add(label, "round trip", timed(job, "switch", 6 * options.rounds))
        finally:
            observer.__exit__(None, None, None)
        table.add(label, "functions", count)
    except Absent as reason:
        table.absent(label, reason)


@contextlib.contextmanager
def bound_to_one(job):
    """All threads of the job on one CPU for as long as this lasts."""
    threads = [int(entry.name) for entry in pathlib.Path(f"/proc/{job.pid}/task").iterdir()]
    before = os.sched_getaffinity(job.pid)
    for thread in threads:
        os.sched_setaffinity(thread, {max(before)})
    yield
    for thread in threads:
        os.sched_setaffinity(thread, before)


def judge_switches(table):
    alone = table.get("unobserved", "round trip")
    for rung in RUNGS[:2]:
        observed = table.get(f"gaspbpf {rung}", "round trip")
        more = observed and 100 * (observed / alone - 1)
        table.target(f"gaspbpf {rung}: a context switch at most {SWITCH_PERCENT} % dearer",
                     "not available" if more is None else f"{more:+.1f} %",
                     None if more is None else more <= SWITCH_PERCENT)
