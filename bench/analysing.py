# SPDX-License-Identifier: BSD-2-Clause
"""What the analyses of a report cost: each by itself, all together, and how that grows with the recording."""
import statistics
import tempfile

import reading
from measure import BUILD, GASPBPF, Times
from reading import Measured, generate, millions, smallest
from tables import Table

RATE = 2e6               # spans/s, at least, all analyses together
MEMORY_MB = 64           # at most, at 50 M spans
MIXES = ("mpi", "malloc")
SPANS = 2_000_000        # of the recordings that each is made for
SIZES = (2_000_000, 10_000_000, 50_000_000)
SIMULATED = 5_000_000    # what findings would give is simulated up to so many calls, besides the analyses
QUICK_SPANS, QUICK_SIZES = 200_000, (200_000, 2_000_000)
THREADS = 8
BASE = "recording"       # a section that needs no analysis: what it takes to read, and to count by event and thread
ROUNDS = 3


def sections(file):
    out = Measured(GASPBPF, "report", "--section", "list", file, watch=False).out
    return [line.split()[0] for line in out.splitlines() if line.strip()]


def made(folder, mix, spans):
    """(recording, its spans, one of the same shape with hardly any)"""
    file, truth = generate(folder, mix, spans, THREADS)
    small, _ = generate(folder, mix, smallest(THREADS, 9), THREADS)
    return file, truth["spans"], small


def measure(recording, *options):
    """(ns of CPU for a span more, wall seconds, MB)"""
    file, spans, small = recording
    ran = Measured(GASPBPF, "report", "--json", *options, file, watch=True)
    start = statistics.median(Measured(GASPBPF, "report", "--json", *options, small, watch=False).cpu
                              for _ in range(3))
    return 1e9 * (ran.cpu - start) / spans, ran.seconds, ran.megabytes


def each(options, progress):
    spans = QUICK_SPANS if options.quick else SPANS
    columns = [f"{mix} {unit}" for mix in MIXES for unit in ("ns", "MB")]
    table = Table("Analyses: each by itself, and all", columns, "",
                  f"report --json of recordings of generate.c, {millions(spans)} spans, {THREADS} threads: with one "
                  "section only, and whole. ns: of CPU for a span more than in a recording with hardly any. "
                  f"'{BASE}' is reading and counting, which is in each of the others; who asks what happened "
                  "elsewhere meanwhile, or who waited for whom, has further readings; findings has all of that, "
                  "with the simulations of what they would give.", label=26)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        recordings = {}
        for mix in MIXES:
            progress(f"{table.title}: generating {mix}")
            recordings[mix] = made(folder, mix, spans)
        names = sections(recordings[MIXES[0]][0])
        rows = {BASE: ["--section", BASE], **{name: ["--section", name] for name in names}, "all": []}
        for turn in range(1 if options.quick else ROUNDS):
            for label, chosen in rows.items():
                for mix in MIXES:
                    progress(f"{table.title}: {label}, {mix} ({turn + 1})")
                    took, _, megabytes = measure(recordings[mix], *chosen)
                    table.add(label, f"{mix} ns", Times([took]))
                    table.add(label, f"{mix} MB", Times([megabytes]))
    return table


def growing(options, progress):
    """All together, by the size of the recording."""
    table = Table("Analyses: all together, by the size of the recording", ["ns", "M/s", "MB"], "",
                  f"The whole report --json of the MPI mix, {THREADS} threads. ns: as above; M/s: million spans a "
                  "second, all included; MB: peak of resident memory. What findings would give is simulated up to "
                  f"{millions(SIMULATED)} calls: those rows are marked, and have some readings more.", label=26)
    sizes = QUICK_SIZES if options.quick else SIZES
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for spans in sizes:
            label = f"mpi {millions(spans)}" + (", with gains" if spans <= SIMULATED else "")
            progress(f"{table.title}: {label}")
            recording = made(folder, "mpi", spans)
            for _ in range(1 if spans > SIZES[0] else 2):
                took, seconds, megabytes = measure(recording)
                table.add(label, "ns", Times([took]))
                table.add(label, "M/s", Times([spans / seconds / 1e6]))
                table.add(label, "MB", Times([megabytes]))
            recording[0].unlink()
    rates = {label: table.get(label, "M/s") for label in table.rows}
    analyses = {label: rate for label, rate in rates.items() if "gains" not in label}
    told = [f"{min(rates.values()):.2f} M/s with the gains of findings"] if len(rates) > len(analyses) else []
    if analyses:
        told.insert(0, f"{min(analyses.values()):.2f} M/s")
    table.target(f"all analyses together: at least {RATE / 1e6:.0f} M spans/s", "; ".join(told),
                 min(analyses.values()) >= RATE / 1e6 if analyses else None)
    largest = list(table.rows)[-1]
    most = table.get(largest, "MB")
    table.target(f"all analyses together: at most {MEMORY_MB} MB at 50 M spans", f"{most:.1f} MB at {largest}",
                 most <= MEMORY_MB if not options.quick else None)
    reading.judge_flat(table, "time for a span, all analyses together",
                       {label: table.get(label, "ns") for label in (analyses or rates)})
    return table


def analysing(options, progress):
    """The tables of this part."""
    return [each(options, progress), growing(options, progress)]
