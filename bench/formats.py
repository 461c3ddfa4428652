# SPDX-License-Identifier: BSD-2-Clause
"""What each format costs that a recording can be written in: those that `gaspbpf export --help` names."""
import pathlib
import re
import shutil
import subprocess
import tempfile

from measure import Absent, BUILD, GASPBPF, Times
from reading import Measured, generate, millions
from tables import Table

SIZES, QUICK_SIZE = (1_000_000, 5_000_000), 200_000
GROWTH_PERCENT = 20
SPAN_BYTES = 600  # of the largest format, at most: is there room?


def suffixes():
    """Each that an export may have."""
    told = subprocess.run([GASPBPF, "export", "--help"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^  (\.\w[\w.]*(?: \.[\w.]+)*) {2,}", told.split("Formats:")[1], re.MULTILINE)
    return [suffix for row in rows for suffix in row.split()]


def made(path):
    """What was written: an archive is several files, and a folder, of one name."""
    return [path.with_suffix(""), *path.parent.glob(f"{path.stem}.*")]


def weight(path):
    """Bytes of all of it."""
    files = {file for one in made(path) for file in [one, *one.rglob("*")] if file.is_file()}
    return sum(file.stat().st_size for file in files)


def remove(path):
    for one in made(path):
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink(missing_ok=True)


def write_once(table, label, file, spans, suffix):
    target = file.with_name(f"out{suffix}")
    if shutil.disk_usage(file.parent).free < SPAN_BYTES * spans + 2e9:
        raise Absent("too little room on disk")
    try:
        ran = Measured(GASPBPF, "export", file, "-o", target, watch=True)
        table.add(label, "M/s", Times([spans / ran.seconds / 1e6]))
        table.add(label, "CPU ns", Times([1e9 * ran.cpu / spans]))
        table.add(label, "MB", Times([ran.megabytes]))
        table.add(label, "bytes", Times([weight(target) / spans]))
    finally:
        remove(target)


def formats(options, progress):
    sizes = (QUICK_SIZE,) if options.quick else SIZES
    table = Table("Formats: export by what it is written as", ["M/s", "CPU ns", "MB", "bytes"], "",
                  "Recordings of generate.c, an MPI mix (nested calls, 7 to 20 words each), 8 threads. M/s: million "
                  "spans a second, all included; CPU ns: user and system time for a span; MB: peak of resident memory; "
                  "bytes: of the result, for a span.", label=26)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        files = {spans: generate(pathlib.Path(folder), "mpi", spans)[0] for spans in sizes}
        for turn in range(1 if options.quick else 3):
            for suffix in suffixes():
                for spans, file in files.items():
                    progress(f"{table.title}: {suffix}, {millions(spans)} ({turn + 1})")
                    write_once(table, f"{suffix} {millions(spans)}", file, spans, suffix)
    for suffix in [] if options.quick else suffixes():
        small, large = (table.get(f"{suffix} {millions(spans)}", "MB") for spans in SIZES)
        table.target(f"{suffix}: memory flat within {GROWTH_PERCENT} % from 1 M to 5 M spans",
                     f"{small:.1f} MB, {large:.1f} MB", large <= small * (1 + GROWTH_PERCENT / 100))
    return table
