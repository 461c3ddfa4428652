"""What reading a recording costs, by its size, threads and probes: report and Chrome export of recordings that generate.c makes."""
import contextlib
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from measure import Absent, BUILD, GASPBPF, PATIENCE, TOP, Times
from tables import Table

REPORT_RATE, EXPORT_RATE = 5e6, 2e6  # spans/s, at least
MEMORY_MB = 64
GROWTH_PERCENT = 20
SIZES = (1_000, 100_000, 1_000_000, 10_000_000, 50_000_000)
QUICK_SIZES = SIZES[:3]
ROUNDS = 5
LONG = 20_000_000        # from here on an export writes many GB: one round
CHECKED = 1_000_000      # up to here an export's events are counted
SHORT = 10_000           # up to here one run is too short to be timed alone
REPEATS = 20
JSON_BYTES = 320         # of a span, at most: is there room?
SHAPED = 1_000_000       # spans of the recordings with other numbers of threads and probes
SHAPES = {"8 threads, 9 probes": (8, 9), "1 thread": (1, 9), "50 threads": (50, 9), "200 threads": (200, 9), "1 probe": (8, 1),
          "200 probes": (8, 200), "2,000 probes": (8, 2000)}


def generate(folder, mix, spans, threads=8, probes=None):
    """(file, what generate.c says must be in it)."""
    file = pathlib.Path(folder) / f"{mix}-{spans}-{threads}-{probes or 0}.gasp"
    shape = [str(threads)] + ([str(probes)] if probes else [])
    out = subprocess.run([BUILD / "generate", mix, file, str(spans), *shape], capture_output=True, text=True, check=True, cwd=TOP)
    return file, json.loads(out.stdout)


class Measured:
    """A command's end: wall seconds, CPU seconds, peak memory in MB, standard output."""

    def __init__(self, *command):
        started = time.monotonic()
        with tempfile.TemporaryFile("w+", dir=BUILD) as out:
            process = subprocess.Popen([*map(str, command)], stdout=out, stderr=subprocess.PIPE, text=True)
            high = 0
            while True:
                with contextlib.suppress(OSError, StopIteration, IndexError):
                    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
                    high = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) or high
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.001 if time.monotonic() - started < 0.2 else 0.02)
            self.seconds = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            errors = process.stderr.read()
            process.stderr.close()
            if process.returncode:
                raise RuntimeError(f"{command[0]} {command[1]}: {errors.strip()}")
            out.seek(0)
            self.out = out.read()
        # A child's maximum cannot be told by the kernel where it is below its parent's: then the last look at it counts.
        own = int(next(line.split()[1] for line in pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
                       if line.startswith("VmHWM")))
        self.megabytes = (usage.ru_maxrss if usage.ru_maxrss > 1.05 * own else high) / 1024


def report(file, truth):
    """Checked: what it says is what was generated."""
    ran = Measured(GASPBPF, "report", "--json", file)
    said = json.loads(ran.out)
    calls = {row["name"]: row["calls"] for row in said["events"]}
    if calls != truth["events"] or said["loss"]["delivered"] != truth["spans"]:
        raise RuntimeError(f"{file.name}: the report does not say what was generated")
    return ran


def export(file, truth):
    target = file.with_suffix(".json")
    if shutil.disk_usage(file.parent).free < JSON_BYTES * truth["spans"] + 2e9:
        raise Absent("too little room on disk")
    try:
        ran = Measured(GASPBPF, "export", file, "-o", target)
        if truth["spans"] <= CHECKED:
            lines = subprocess.run(["grep", "-c", '"ph":"X"', target], capture_output=True, text=True, check=False, timeout=PATIENCE)
            if int(lines.stdout) != truth["spans"]:
                raise RuntimeError(f"{file.name}: exported {lines.stdout.strip()} of {truth['spans']} spans")
        return ran
    finally:
        target.unlink(missing_ok=True)


def read_once(table, label, what, run, file, truth, start):
    """A cell each of time and memory. start: seconds that an empty recording takes."""
    times = REPEATS if truth["spans"] <= SHORT else 1
    ran = [run(file, truth) for _ in range(times)]
    seconds = sorted(each.seconds for each in ran)[times // 2]
    table.add(label, f"{what} ns", Times([1e9 * (seconds - start) / truth["spans"]]))
    table.add(label, f"{what} spans/s", Times([truth["spans"] / seconds]))
    table.add(label, f"{what} MB", Times([max(each.megabytes for each in ran)]))


COLUMNS = [f"{what} {unit}" for what in ("report", "export") for unit in ("ns", "spans/s", "MB")]


def read_all(table, rows, rounds, progress):
    """rows: {label: (file, truth, file of one span, its truth)}"""
    for turn in range(rounds):
        for label, (file, truth, empty) in rows.items():
            for what, run in (("report", report), ("export", export)):
                if turn and what == "export" and truth["spans"] >= LONG:
                    continue
                progress(f"{table.title}: {what}, {label} ({turn + 1} of {rounds})")
                try:
                    start = sorted(run(*empty).seconds for _ in range(REPEATS if truth["spans"] <= SHORT else 5))
                    read_once(table, label, what, run, file, truth, start[len(start) // 2])
                except Absent as reason:
                    table.note(f"{label}: {what}: not available: {reason}")


def millions(spans):
    return f"{spans // 1_000_000} M" if spans >= 1_000_000 else f"{spans // 1000} k"


@functools.lru_cache(maxsize=None)
def by_size(quick, progress):
    """Both parts look at it."""
    table = Table("Reading: report and Chrome export, by the size of the recording", COLUMNS, "",
                  "Recordings of generate.c: an MPI mix (nested calls, 7 to 20 words each) and a malloc mix, 8 threads. ns: for a span, "
                  "less what a recording of one span takes; spans/s: all included; MB: peak of resident memory. What the report says "
                  "is compared with what was generated, and so are the events of exports up to 1 M.", label=22)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        rows = {}
        for mix, sizes in (("mpi", QUICK_SIZES if quick else SIZES), ("malloc", (1_000_000,))):
            empty = generate(folder, mix, 1)
            for spans in sizes:
                progress(f"{table.title}: generating {millions(spans)}")
                rows[f"{mix} {millions(spans)}"] = (*generate(folder, mix, spans), empty)
        read_all(table, rows, 2 if quick else ROUNDS, progress)
    if not quick:
        table.note("the export of 50 M spans is one round: it writes 14 GB")
    return table


def exporting(options, progress):
    table = by_size(options.quick, progress)
    largest = [label for label in table.rows if label.startswith("mpi")][-1]
    judged = largest if options.quick else "mpi 10 M"
    for what, least in (("report", REPORT_RATE), ("export", EXPORT_RATE)):
        reached, most = table.get(judged, f"{what} spans/s"), table.get(largest, f"{what} MB")
        table.target(f"{what}: at least {least / 1e6:.0f} M spans/s ({judged})", f"{reached / 1e6:.2f} M/s" if reached else "not available",
                     reached >= least if reached else None)
        table.target(f"{what}: below {MEMORY_MB} MB at 50 M spans", f"{most:.1f} MB at {largest}" if most else "not available",
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
    table.target(f"{what}: flat within {GROWTH_PERCENT} %", f"{more:+.0f} % ({first}: {known[first]:,.0f} ns, {dearest}: {known[dearest]:,.0f} ns)",
                 more <= GROWTH_PERCENT)


def by_shape(options, progress):
    """Recordings of the same size, of more threads, of more probes."""
    table = Table("Growth: reading, by threads and probes", COLUMNS, "", f"As above; {SHAPED:,} spans of the MPI mix. 1 probe: all are "
                  "calls of the simplest kind, without arguments, at any depth.", label=22)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        rows = {}
        for label, (threads, probes) in SHAPES.items():
            rows[label] = (*generate(folder, "mpi", SHAPED, threads, probes), generate(folder, "mpi", 1, threads, probes))
        read_all(table, rows, 2 if options.quick else ROUNDS, progress)
    for what in ("report", "export"):
        for which, labels in (("threads, 1 to 200", [label for label in SHAPES if "thread" in label and "probe" not in label]),
                              ("probes, 1 to 2,000", [label for label in SHAPES if "probe" in label and "thread" not in label])):
            judge_flat(table, f"{what}, time for a span by {which}", {label: table.get(label, f"{what} ns") for label in labels})
    return table
