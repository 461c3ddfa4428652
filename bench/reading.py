# SPDX-License-Identifier: BSD-2-Clause
"""What reading a recording costs, by its size, threads and probes: report and Chrome export of recordings that
generate.c makes."""
import contextlib
import functools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from measure import Absent, BUILD, GASPBPF, PATIENCE, TOP, Times
from tables import Table

REPORT_RATE, EXPORT_RATE = 5e6, 2e6  # spans/s, at least
MEMORY_MB = 64
GROWTH_PERCENT = 20
SIZES = (1_000, 100_000, 1_000_000, 5_000_000, 50_000_000)
QUICK_SIZES = SIZES[:3]
ROUNDS = 5
LONG = 20_000_000        # from here on an export writes many GB: one round; a report reads for a minute: two
LONG_ROUNDS = {"report": 2, "export": 1}
CHECKED = 1_000_000      # up to here an export's events are counted
SHORT = 10_000           # up to here one run is too short to be timed alone
REPEATS = 60
JSON_BYTES = 320         # of a span, at most: is there room?
SHAPED = 1_000_000       # spans of the recordings with other numbers of threads and probes
SHAPES = {"1 thread": ("mpi", 1), "8 threads": ("mpi", 8), "50 threads": ("mpi", 50), "200 threads": ("mpi", 200),
          "1 probe": ("one", 8, 1), "20 probes": ("one", 8, 20), "200 probes": ("one", 8, 200),
          "2,000 probes": ("one", 8, 2000)}


def generate(folder, mix, spans, threads=8, probes=None):
    """(file, what generate.c says must be in it)."""
    file = pathlib.Path(folder) / f"{mix}-{spans}-{threads}-{probes or 0}.gasp"
    shape = [str(threads)] + ([str(probes)] if probes else [])
    out = subprocess.run([BUILD / "generate", mix, file, str(spans), *shape], capture_output=True, text=True,
                         check=True, cwd=TOP)
    return file, json.loads(out.stdout)


def smallest(threads, probes=1):
    """Spans of a recording in which each thread has some, and each probe."""
    return max(12 * threads, probes * threads)


class Measured:
    """A command's end: seconds of the clock and of CPU, peak memory in MB, standard output. watch: memory is wanted,
    and the clock looked at less often."""

    def __init__(self, *command, watch):
        with tempfile.TemporaryFile("w+", dir=BUILD) as out, tempfile.TemporaryFile("w+", dir=BUILD) as errors:
            started = time.monotonic()
            process = subprocess.Popen([*map(str, command)], stdout=out, stderr=errors)
            high = 0
            while watch and os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                high = high_water(process.pid) or high
                time.sleep(0.001 if time.monotonic() - started < 0.2 else 0.02)
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.monotonic() - started
            self.cpu = usage.ru_utime + usage.ru_stime
            process.returncode = os.waitstatus_to_exitcode(status)
            for stream in (out, errors):
                stream.seek(0)
            if process.returncode:
                raise RuntimeError(f"{command[0]} {command[1]}: {errors.read().strip()}")
            self.out = out.read()
        # Of a child the kernel tells no maximum below its parent's; then the last look counts.
        self.megabytes = (usage.ru_maxrss if usage.ru_maxrss > 1.05 * high_water("self") else high) / 1024


def high_water(pid):
    """The peak of resident memory so far, KB; 0 where it is not known."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    return 0


def report(file, truth, watch=True):
    """Checked: what it says is what was generated."""
    ran = Measured(GASPBPF, "report", "--json", file, watch=watch)
    said = json.loads(ran.out)
    calls = {row["name"]: row["calls"] for row in said["events"]}
    if calls != truth["events"] or said["loss"]["delivered"] != truth["spans"]:
        raise RuntimeError(f"{file.name}: the report does not say what was generated")
    return ran


def export(file, truth, watch=True):
    target = file.with_suffix(".json")
    if shutil.disk_usage(file.parent).free < JSON_BYTES * truth["spans"] + 2e9:
        raise Absent("too little room on disk")
    try:
        ran = Measured(GASPBPF, "export", file, "-o", target, watch=watch)
        if truth["spans"] <= CHECKED:
            lines = subprocess.run(["grep", "-c", '"ph":"X"', target], capture_output=True, text=True, check=False,
                                   timeout=PATIENCE)
            if int(lines.stdout) != truth["spans"]:
                raise RuntimeError(f"{file.name}: exported {lines.stdout.strip()} of {truth['spans']} spans")
        return ran
    finally:
        target.unlink(missing_ok=True)


def read_once(table, label, what, run, file, truth, small):
    """
    A cell each of time and memory. small: a recording with as many threads and probes, and hardly more spans. It is
    read in turn with this one, again and again where that is short: what is left is a difference of milliseconds.
    """
    watched = max((run(file, truth) for _ in range(5 if truth["spans"] <= SHORT else 1)), key=lambda ran: ran.megabytes)
    if truth["spans"] <= SHORT:
        pairs = [(run(file, truth, False).seconds, run(*small, False).seconds) for _ in range(REPEATS)]
    else:
        pairs = [(watched.seconds, statistics.median(run(*small, False).seconds for _ in range(5)))]
    seconds = statistics.median(own for own, _ in pairs)
    more = statistics.median(own - start for own, start in pairs)
    table.add(label, f"{what} ns", Times([1e9 * more / (truth["spans"] - small[1]["spans"])]))
    table.add(label, f"{what} M/s", Times([truth["spans"] / seconds / 1e6]))
    table.add(label, f"{what} MB", Times([watched.megabytes]))


COLUMNS = [f"{what} {unit}" for what in ("report", "export") for unit in ("ns", "M/s", "MB")]


def read_all(table, rows, rounds, progress):
    """rows: {label: (file, truth, (small file, its truth))}"""
    for turn in range(rounds):
        for label, (file, truth, small) in rows.items():
            for what, run in (("report", report), ("export", export)):
                if truth["spans"] >= LONG and turn >= LONG_ROUNDS[what]:
                    continue
                progress(f"{table.title}: {what}, {label} ({turn + 1} of {rounds})")
                try:
                    read_once(table, label, what, run, file, truth, small)
                except Absent as reason:
                    table.note(f"{label}: {what}: not available: {reason}")


def millions(spans):
    return f"{spans // 1_000_000} M" if spans >= 1_000_000 else f"{spans // 1000} k"


@functools.lru_cache(maxsize=None)
def by_size(quick, progress):
    """Both parts look at it."""
    table = Table("Reading: report and Chrome export, by the size of the recording", COLUMNS, "",
                  "Recordings of generate.c: an MPI mix (nested calls, 7 to 20 words each) and a malloc mix, 8 "
                  "threads. ns: for a span more, start and definitions not included; M/s: million spans a second, all "
                  "included; MB: peak of resident memory. What the report says is compared with what was generated, "
                  "and so are the events of exports up to 1 M.", label=22)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        rows = {}
        for mix, sizes in (("mpi", QUICK_SIZES if quick else SIZES), ("malloc", (1_000_000,))):
            small = generate(folder, mix, smallest(8, 1))
            for spans in sizes:
                progress(f"{table.title}: generating {millions(spans)}")
                rows[f"{mix} {millions(spans)}"] = (*generate(folder, mix, spans), small)
        read_all(table, rows, 2 if quick else ROUNDS, progress)
    if not quick:
        table.note("the export of 50 M spans is one round: it writes 14 GB")
    return table


def exporting(options, progress):
    table = by_size(options.quick, progress)
    largest = [label for label in table.rows if label.startswith("mpi")][-1]
    judged = largest if options.quick else "mpi 5 M"
    for what, least in (("report", REPORT_RATE), ("export", EXPORT_RATE)):
        reached, most = table.get(judged, f"{what} M/s"), table.get(largest, f"{what} MB")
        table.target(f"{what}: at least {least / 1e6:.0f} M spans/s ({judged})",
                     f"{reached:.2f} M/s" if reached else "not available", reached >= least / 1e6 if reached else None)
        table.target(f"{what}: below {MEMORY_MB} MB at 50 M spans",
                     f"{most:.1f} MB at {largest}" if most else "not available",
                     most < MEMORY_MB if most and not options.quick else None)
    return table


# --- growth

def judge_flat(table, what, values):
    """values: {label: time of one, or None}: how far the dearest is above the first."""
    known = {label: value for label, value in values.items() if value}
    if len(known) < 2:
        table.target(f"{what}: flat within {GROWTH_PERCENT} %", "not available", None)
        return
    first, *others = known
    dearest = max(others, key=known.get)
    more = 100 * (known[dearest] / known[first] - 1)
    table.target(f"{what}: flat within {GROWTH_PERCENT} %",
                 f"{more:+.0f} % ({first}: {known[first]:,.0f} ns, {dearest}: {known[dearest]:,.0f} ns)",
                 more <= GROWTH_PERCENT)


def by_shape(options, progress):
    """Recordings of the same size, of more threads, of more probes."""
    table = Table("Growth: reading, by threads and probes", COLUMNS, "",
                  f"As above; {SHAPED:,} spans. Threads: of the MPI mix. Probes: "
                  "all spans are MPI_Sendrecv, under so many names, which take turns.", label=22)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        rows = {}
        for label, (mix, *shape) in SHAPES.items():
            rows[label] = (*generate(folder, mix, SHAPED, *shape), generate(folder, mix, smallest(*shape), *shape))
        read_all(table, rows, 2 if options.quick else ROUNDS, progress)
    for what in ("report", "export"):
        for which, labels in (("threads, 1 to 200", [label for label in SHAPES if "thread" in label]),
                              ("probes, 1 to 2,000", [label for label in SHAPES if "probe" in label])):
            judge_flat(table, f"{what}, time for a span by {which}",
                       {label: table.get(label, f"{what} ns") for label in labels})
    return table
