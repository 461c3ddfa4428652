#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every fault: lets each call of each kind fail, one run of gaspbpf after the other, and tells which promise was
broken.

    tests/faults/run.py [--kinds memory,write,...] [--ways] [--from N] [--every N] [SCENARIO...]
    tests/faults/run.py --dies [--kinds fork,bpf,...] [--ways] [--from N] [--every N] [SCENARIO...]
    tests/faults/run.py --kills N [--seed N] [--at-once N] [SCENARIO...]

As root. What reads files takes minutes, what puts probes in hours; --ways tries one call of memory, and one file, for
each way that leads there. --dies ends it by SIGKILL at each of these calls instead, --kills at so many moments of its
run. With --at-once N so many commands are tried side by side, each on a job and with libraries of its own.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import apart  # noqa: E402
import faults  # noqa: E402

os.environ["GASPBPF_OTHERS"] = "ignore"  # as in tests/conftest.py


def chosen(maker, scenario, options):
    """The points to try: (kind, number, error)."""
    calls = maker.count(scenario).calls
    for kind in options.kinds.split(","):
        numbers = maker.ways(scenario, kind) if options.ways and kind in ("memory", "open") \
            else range(1, calls[kind] + 1)
        for at in list(numbers)[::options.every]:
            if at >= options.first:
                yield kind, at, faults.ERRORS[kind][at % len(faults.ERRORS[kind])]


def run(maker, scenario, options):
    """How many points were tried, and how many were wrong."""
    points = list(chosen(maker, scenario, options))
    begin, bad = time.monotonic(), 0
    for number, (kind, at, error) in enumerate(points, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{scenario.name}: {number} of {len(points)}: {kind} {at}", end="", file=sys.stderr,
                  flush=True)
        trace = maker.folder / "trace"
        trace.unlink(missing_ok=True)
        found, result = maker.die(scenario, kind, at) if options.dies \
            else maker.fail(scenario, kind, at, error, trace=trace)
        if found:
            bad += 1
            print(f"\r{scenario.name}: {kind} {at}, {'killed' if options.dies else os.strerror(error)}: "
                  f"{'; '.join(found)}\n  "
                  f"{result.errors.strip()}", flush=True)
            print("  " + (trace.read_text().replace("\n", "\n  ") if trace.exists() else ""), flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(f"{scenario.name}: {len(points)} points in {time.monotonic() - begin:.0f} s, {bad} wrong", flush=True)
    return len(points), bad


def run_killed(maker, scenario, options):
    """The same for moments at which it is killed: any of the time that it takes, and a little after."""
    begin, bad, killed = time.monotonic(), 0, 0
    maker.run(scenario)
    whole, moments = time.monotonic() - begin, random.Random(f"{options.seed} {scenario.name}")
    for number in range(1, options.kills + 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{scenario.name}: {number} of {options.kills}", end="", file=sys.stderr, flush=True)
        seconds = 1.05 * whole * moments.random()
        found, result = maker.kill_after(scenario, seconds)
        killed += result.status == -signal.SIGKILL
        if found:
            bad += 1
            print(f"\r{scenario.name}: killed after {seconds:.4f} s: {'; '.join(found)}\n  {result.errors.strip()}",
                  flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(f"{scenario.name}: {options.kills} moments of {whole:.2f} s, killed at {killed} of them, in "
          f"{time.monotonic() - begin:.0f} s, {bad} wrong", flush=True)
    return options.kills, bad


def run_apart(folder, name, options):
    """One scenario, by another process of this program."""
    words = [sys.executable, __file__, "--kinds", options.kinds, *["--ways"] * options.ways, *["--dies"] * options.dies,
             "--from", options.first, "--every", options.every, "--kills", options.kills, "--seed", options.seed, name]
    result = subprocess.run(apart.command(pathlib.Path(folder) / name, words), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    print(result.stdout, end="", flush=True)
    return result.returncode


def run_side_by_side(folder, names, options):
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as workers:
        return any(list(workers.map(lambda name: run_apart(folder, name, options), names)))


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="report, record, monitor ... (default: all)")
    parser.add_argument("--kinds", default=",".join(faults.KINDS))
    parser.add_argument("--ways", action="store_true",
                        help="of memory and files one call for each way that leads there")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="N", help="begin with the N-th call")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th")
    parser.add_argument("--dies", action="store_true", help="no faults: SIGKILL at each call; with a fork, after it")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="no faults: SIGKILL at N moments of each")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of these moments (default: 1)")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="commands tried side by side (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = faults.Target(pathlib.Path(folder))
        try:
            scenarios = faults.scenarios(target, folder)
            unknown = set(options.scenarios) - set(scenarios)
            if unknown:
                parser.error(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(scenarios)}")
            if options.at_once > 1:
                return run_side_by_side(folder, options.scenarios or scenarios, options)
            maker = faults.Faults(folder)
            one = run_killed if options.kills else run
            results = [one(maker, scenarios[name], options) for name in options.scenarios or scenarios]
            out, status = target.end()
        finally:
            target.kill()
    print(f"{sum(points for points, _ in results)} points, {sum(bad for _, bad in results)} wrong; the job: "
          f"{out.strip()}, {status}")
    return any(bad for _, bad in results) or (out, status) != ("all was right\n", 7)


if __name__ == "__main__":
    sys.exit(main())
