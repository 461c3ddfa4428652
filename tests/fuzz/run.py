#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the fuzz targets (build/fuzz, see docs/fuzzing.md) and says what came of it.

    tests/fuzz/run.py [--seconds 60 | --runs 2000] [TARGET...]

Two at a time. What was learnt of inputs stays in build/fuzz/corpus, and the next run begins with it. A target ends at
its first finding; the input is then in build/fuzz/findings, all that was said in build/fuzz/logs, and this ends with
status 1. ^C ends all, and shows what there is.
"""
import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from fuzzing import TARGETS, TOP, fuzz  # noqa: E402

HEAD = f"{'target':12} {'inputs':>12} {'edges':>7} {'slowest':>8} {'memory':>8} findings"


def row(f):
    slowest, memory = f.number(r"stat::slowest_unit_time_sec: *(\d+)"), f.number(r"stat::peak_rss_mb: *(\d+)")
    return f"{f.target:12} {f.inputs:12,} {f.edges:7,} {slowest:6} s {memory:4} MiB {len(f.new):8}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="of each target (60)")
    parser.add_argument("--runs", type=int, help="inputs of each target, instead of seconds")
    parser.add_argument("--seed", type=int, help="the same numbers of chance each time")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=" ".join(TARGETS))
    options = parser.parse_args()
    for target in options.targets:
        if target not in TARGETS:
            parser.error(f"{target}: no such target")
    subprocess.run([TOP / "tests" / "fuzz" / "seeds.py"], check=True)

    def say(f):
        print(row(f), flush=True)
        for finding in f.new:
            print(f"  {finding.relative_to(TOP)}: {f.summary()}", flush=True)

    print(HEAD, flush=True)
    done = fuzz(options.targets or TARGETS, seconds=None if options.runs else options.seconds, runs=options.runs,
                seed=options.seed, said=say)
    interrupted = any(f.interrupted for f in done)
    if interrupted:
        print("interrupted; so far:")
        for f in done:
            if f.process:
                print(row(f))
    count = sum(len(f.new) for f in done)
    print(f"{sum(f.inputs for f in done):,} inputs, {count} finding{'s' * (count != 1)}")
    return 130 if interrupted else 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
