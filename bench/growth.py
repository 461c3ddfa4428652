# SPDX-License-Identifier: BSD-2-Clause
"""What a hit costs as threads and probes become more, and how reading grows."""
import pathlib
import tempfile

import observers
import reading
from costs import EMPTY_PAIRS, SITE_MODEL, timed
from measure import Absent, BUILD, Job, Times
from observers import Empty, Gaspbpf, Nobody
from tables import Table

THREADS = (1, 8, 50, 200)
PROBES = (1, 20, 200, 2000)
CALLS = 40_000  # of all threads together


def named(count, what):
    return f"{count:,} {what}{'s' if count > 1 else ''}"


def growth(options, progress):
    """The tables of this part."""
    sizes = reading.by_size(options.quick, progress)
    shapes = reading.by_shape(options, progress)
    for what in ("report", "export"):
        labels = [label for label in sizes.rows if label.startswith("mpi")]
        reading.judge_flat(shapes, f"{what}, time for a span by size, {labels[0][4:]} to {labels[-1][4:]}",
                           {label: sizes.get(label, f"{what} ns") for label in labels})
    return [shapes, hits_by_threads(options, progress), hits_by_probes(options, progress)]


def hits_by_threads(options, progress):
    columns = [named(count, "thread") for count in THREADS]
    table = Table("Growth: a hit, by threads that are observed", columns, "ns of CPU for a call",
                  "So many threads at once, each "
                  f"with its share of {CALLS:,} calls of site_push; their CPU time, since they outnumber the CPUs. The "
                  "first call of each thread, at which the kernel makes room for it, is left out.", label=36)
    rung = options.rungs[0]
    with Job() as job:
        place, = observers.places_in(job, ["site_push"], *SITE_MODEL)
        rows = {"unobserved": lambda: Nobody(job, [place]),
                "empty pair": lambda: Empty(job, [place], EMPTY_PAIRS[rung]),
                "gaspbpf": lambda: Gaspbpf(job, [place], SITE_MODEL)}
        for turn in range(options.passes):
            for label, make in rows.items():
                progress(f"{table.title}: {label} ({turn + 1})")
                before = job.calls["site_push"]
                with make() as observer:
                    for column, count in zip(columns, THREADS):
                        took = [job.crowd(count, CALLS // count) for _ in range(2 if options.quick else 3)]
                        table.add(label, column, Times(took))
                trouble = observers.compare(observer, {"site_push": job.calls["site_push"] - before})
                if trouble:
                    table.note(f"{label}: {trouble}; lost {getattr(observer, 'lost', 0):,}")
    reading.judge_flat(table, "a hit under gaspbpf, 1 to 200 threads",
                       {column: table.get("gaspbpf", column) for column in columns})
    return table


def many_model(folder, count):
    model = pathlib.Path(folder) / f"many{count}.model"
    lines = [f"F{i} function leaf void site_many_{i}(long number)" for i in range(count)]
    model.write_text("\n".join(["model many", "language MANY", "library job", *lines, ""]), encoding="ascii")
    return ["--model-file", model, "-m", "many"]


def hits_by_probes(options, progress):
    columns = [named(count, "probe") for count in PROBES]
    table = Table("Growth: a hit, by functions that are observed", columns, "ns for a call",
                  "Functions like site_push. 'one': the same "
                  "function is called again and again; 'in turn': all of them, whose code, probes and counters then "
                  "take turns in the processor's caches, under an empty probe too.", label=36)
    rung = options.rungs[0]
    with Job() as job, tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for turn in range(options.passes):
            for column, count in zip(columns, PROBES):
                model = many_model(folder, count)
                places = observers.places_in(job, [f"site_many_{i}" for i in range(count)], *model)
                rows = {"unobserved": lambda: Nobody(job, places),
                        "empty pair": lambda: Empty(job, places, EMPTY_PAIRS[rung]),
                        "gaspbpf": lambda: Gaspbpf(job, places, model)}
                for label, make in rows.items():
                    progress(f"{table.title}: {label}, {count} ({turn + 1})")
                    try:
                        called(table, label, column, job, make(), count, options)
                    except Absent as reason:
                        table.absent(label, reason)
    for which in ("one", "in turn"):
        reading.judge_flat(table, f"a hit under gaspbpf, {which}, 1 to 2,000 probes",
                           {column: table.get(f"gaspbpf, {which}", column) for column in columns})
    return table


def called(table, label, column, job, observer, count, options):
    before = job.calls.copy()
    with observer:
        table.add(f"{label}, one", column, timed(job, "many1", options.rounds))
        table.add(f"{label}, in turn", column, timed(job, f"many{count}", options.rounds))
    made = sum((job.calls - before).values())
    seen = observer.seen and sum(observer.seen.values())
    if seen is not None and seen != made:
        table.note(f"{label}, {column}: saw {seen:,} of {made:,} calls; lost {observer.lost:,}")
