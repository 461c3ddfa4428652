#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What gaspbpf merge takes for many nodes: time and memory. By hand: bench/merge.py [NODES...] (docs/merge.md)

Each node has 64 ranks that exchange messages with both neighbours and meet in a barrier, again and again; its clock has
an offset and a drift of its own. tests/support/compose.c makes the recordings.
"""
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
COMPOSE = TOP / "build" / "tests" / "compose"
RANKS = 64
STEPS = 10
STEP = 10_000_000  # ns
LATENCY = 5000


def node_text(node, nodes):
    chance = random.Random(node)
    drift = chance.randrange(-20, 20) * STEPS * STEP // 1_000_000
    offset = chance.randrange(1_000_000)
    lines = [f"clock 0 {offset}", f"clock {STEPS * STEP} {offset + drift}", f"host n{node}", f"boot {node}"]
    ranks = range(RANKS * node, RANKS * (node + 1))
    lines += [f"process {1000 + rank % RANKS} {rank}" for rank in ranks]
    everybody = RANKS * nodes
    for rank in ranks:
        tid = 1000 + rank % RANKS
        lines.append(f"call {tid} 0 10 MPI_Init")
        for step in range(STEPS):
            at = 1000 + step * STEP
            for side in 1, -1:
                to, source = (rank + side) % everybody, (rank - side) % everybody
                lines.append(f"call {tid} {at} {at + 500} MPI_Send dest={to} tag={side + 1} comm.id=0 count=1 "
                             "datatype=1")
                lines.append(f"call {tid} {at + 600} {at + LATENCY + 600} MPI_Recv source={source} tag={side + 1} "
                             f"comm.id=0 status.source={source} status.tag={side + 1}")
                at += 10_000
            lines.append(f"call {tid} {at} {at + 20_000} MPI_Barrier comm.id=0 comm.rank={rank}")
    return "\n".join(lines) + f"\nend {STEPS * STEP}\n"


def measured(*words):
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(["/usr/bin/env", "time", "-f", "%M", *words], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begin, cpu, int(process.stderr.splitlines()[-1]) / 1024, process.stdout


def main():
    print("nodes  calls      files MiB  merge s (CPU)     MiB   report s     MiB  clocks to us  violated")
    for nodes in map(int, sys.argv[1:] or ["100", "1000"]):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"n{node:04}.gasp" for node in range(nodes)]
            for node, path in enumerate(paths):
                subprocess.run([COMPOSE, path, TOP / "models"], input=node_text(node, nodes), text=True, check=True)
            size = sum(path.stat().st_size for path in paths) / 2**20
            whole = pathlib.Path(folder) / "run.gasp"
            merge, cpu, memory, _ = measured(str(TOP / "gaspbpf"), "merge", *map(str, paths), "-o", str(whole))
            report, _, report_memory, text = measured(str(TOP / "gaspbpf"), "report", "--json", "--section", "nodes",
                                                      str(whole))
            told = json.loads(text)["nodes"]
            unsure = max(node["clock_unsure_ns"] or 0 for node in told) / 1000
            calls = nodes * RANKS * (STEPS * 5 + 1)
            print(f"{nodes:5}  {calls:9,}  {size:9.1f}  {merge:7.1f} ({cpu:5.1f})  {memory:6.0f}"
                  f"  {report:9.1f}  {report_memory:6.0f}  {unsure:12.1f}  {sum(node['violated'] for node in told):8}")


if __name__ == "__main__":
    main()
