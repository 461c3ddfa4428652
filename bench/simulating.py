# SPDX-License-Identifier: BSD-2-Clause
"""What a simulation costs: of recordings that generate.c makes, with the result written."""
import json
import os
import subprocess
import sys
import tempfile

from measure import BUILD, GASPBPF, Times
from reading import generate
from tables import Table

RATE = 0.5e6             # calls/s, at least
GROWTH_MB = 16           # from the smaller recording to the larger, at most
SIZES = (1_000_000, 10_000_000)
# Runs a command and tells what it took, together with the processes that it waited for. A process of its own does this,
# since to the kernel a child has had as much memory as its parent had, and the measurements have much.
ASIDE = """
import resource, subprocess, sys
said = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
print(said)
"""


def simulate(folder, file):
    """(seconds of CPU, MB): what it takes of one CPU, and the most memory that its processes had."""
    ran = subprocess.run([sys.executable, "-c", ASIDE, GASPBPF, "simulate", file, "--plugin", "ideal", "-o",
                          os.path.join(folder, "after.gasp"), "--json"],
                         capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{file.name}: gaspbpf simulate failed")
    took, _, said = ran.stdout.partition("\n")
    said = json.loads(said)
    if said["unmatched_sends"] > said["messages"] / 100:
        raise RuntimeError(f"{file.name}: {said['unmatched_sends']:,} messages that nobody receives: no job does that")
    seconds, kilobytes = map(float, took.split())
    return seconds, kilobytes / 1024


def simulating(options, progress):
    table = Table("Simulation: the ideal network", ["M/s", "MB"], "", "The MPI mix of 8 threads; two readings, three "
                  "scenarios, and the result is written. Rates are by CPU time.")
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for spans in SIZES[:1] if options.quick else SIZES:
            label = f"mpi {spans // 1_000_000} M"
            progress(f"{table.title}: {label}")
            seconds, megabytes = simulate(folder, generate(folder, "mpi", spans)[0])
            table.add(label, "M/s", Times([spans / seconds / 1e6]))
            table.add(label, "MB", Times([megabytes]))
    least = min(table.get(label, "M/s") for label in table.rows)
    table.target(f"at least {RATE / 1e6:.1f} M calls/s", f"{least:.2f} M/s", least >= RATE / 1e6)
    if len(table.rows) > 1:
        small, large = (table.get(label, "MB") for label in table.rows)
        table.target(f"memory does not grow with calls: at most {GROWTH_MB} MB", f"{large - small:+.1f} MB",
                     large - small <= GROWTH_MB)
    return table
