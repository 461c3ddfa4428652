#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make bench: what observing costs, measured on this machine. See bench/README.md."""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import analysing  # noqa: E402
import costs  # noqa: E402
import figures  # noqa: E402
import formats  # noqa: E402
import growth  # noqa: E402
import joining  # noqa: E402
import live  # noqa: E402
import monitoring  # noqa: E402
import observers  # noqa: E402
import reading  # noqa: E402
import runtimes  # noqa: E402
import simulating  # noqa: E402
import volume  # noqa: E402
import watching  # noqa: E402
from measure import Absent, BUILD, GASPBPF, JOB, Job, TOP  # noqa: E402

PARTS = {
    "sites": costs.sites, "pairs": costs.pairs,
    "span": runtimes.span, "mpi": runtimes.mpi, "starpu": runtimes.starpu,
    "rate": volume.rate, "cpu": volume.cpu, "bytes": volume.bytes_on_disk,
    "export": reading.exporting, "growth": growth.growth, "simulate": simulating.simulating,
    "analyses": analysing.analysing, "formats": formats.formats,
    "start": joining.start, "attach": joining.attach_and_leave, "scope": joining.scope, "switches": joining.switches,
    "monitor": monitoring.monitoring, "flight": live.flight, "top": live.top, "watch": watching.watch,
}
RESULTS = BUILD / "bench.json"
VERSIONS = {"Open MPI": ("mpirun.openmpi", "--version"), "StarPU": ("pkg-config", "--modversion", "starpu-1.3"),
            "bpftrace": ("bpftrace", "--version"), "perf": ("perf", "--version"), "uftrace": ("uftrace", "--version"),
            "EZTrace": ("eztrace", "--version"), "LTTng": ("lttng", "--version")}


def arguments():
    parser = argparse.ArgumentParser(prog="bench",
                                     description="Measures what observing costs on this machine. Needs root.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {' '.join(PARTS)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--long", action="store_true", help="also what takes bpftrace and perf many minutes (attach)")
    parser.add_argument("--figures", action="store_true",
                        help="the parts whose figures stand in the documents: scripts/figures puts them there")
    parser.add_argument("--keep", action="store_true",
                        help="of the other parts, keep what an earlier run on this machine wrote down")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a measurement")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"{part}: no such part: use {' '.join(PARTS)}")
    if options.figures:
        options.parts += [part for part in PARTS if part in figures.parts() and part not in options.parts]
    options.rounds, options.passes = (8, 1) if options.quick else (9, 5)
    return options


def need_machine():
    """Root, the programs, and tracefs: where that is not mounted, in a mount namespace that ends with us."""
    if os.geteuid():
        sys.exit("bench: observing needs root: sudo make bench")
    if not all(path.exists() for path in (GASPBPF, JOB)):
        sys.exit("bench: build first: make bench does")
    if (observers.TRACEFS / "uprobe_events").exists() or not observers.TRACEFS.is_dir() \
            or "GASPBPF_BENCH_APART" in os.environ:
        return
    os.environ["GASPBPF_BENCH_APART"] = "1"
    mount = f"mount -t tracefs tracefs {observers.TRACEFS} 2>/dev/null; exec \"$@\""
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, *sys.argv])


def rungs_here():
    """Ways of attaching that work on this kernel, the best first."""
    found = []
    with Job() as job:
        for rung in observers.RUNGS:
            try:
                observers.gaspbpf_json("-p", job.pid, "-q", "-d", "1ms", "--json", *costs.SITE_MODEL,
                                       env={"GASPBPF_RUNG": rung})
            except Absent as reason:
                why = str(reason)
                continue
            found.append(rung)
    if not found:
        sys.exit(f"bench: gaspbpf observes nothing here: {why}")
    return found


def commit():
    """Of the checkout, or None where there is no git."""
    if not shutil.which("git"):
        return None
    out = subprocess.run(["git", "-c", f"safe.directory={TOP}", "-C", TOP, "describe", "--always", "--dirty"],
                         capture_output=True, text=True, check=False)
    return out.stdout.strip() or None


def virtual():
    """Is this a virtual machine? They say so."""
    return re.search(r"^flags\s*:.*\bhypervisor\b", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"),
                     re.MULTILINE) is not None


def software():
    """{name: version} of what is observed and of what is compared with, as far as it is there."""
    found = {}
    for name, command in VERSIONS.items():
        if shutil.which(command[0]):
            out = subprocess.run(command, capture_output=True, text=True, check=False)
            number = re.search(r"\d+(\.\d+)+", out.stdout + out.stderr)
            found |= {name: number[0]} if number else {}
    return found


def machine(options):
    cpu = next((line.split(":", 1)[1].strip()
                for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
                if line.startswith("model name")), platform.machine())
    tools = {name: shutil.which(name)
             for name in ("bpftrace", "perf", "eztrace", "otf2-print", "uftrace", "lttng", "babeltrace")}
    return {"date": time.strftime("%Y-%m-%d"), "kernel": platform.release(), "cpu": cpu, "cpus": os.cpu_count(),
            "virtual": virtual(), "software": software(), "load": round(os.getloadavg()[0], 2),
            "rungs": options.rungs, "quick": options.quick, "commit": commit(),
            "absent": [name for name, path in tools.items() if not path]}


def print_machine(facts):
    print(f"Linux {facts['kernel']}, {facts['cpus']} CPUs: {facts['cpu']}, load {facts['load']}")
    print(f"rung: {facts['rungs'][0]}; those that work here: {', '.join(facts['rungs'])}")
    for name in facts["absent"]:
        print(f"absent: {name}: scripts/bench installs it")


def progress(text):
    """A line that is written over; nothing where nobody looks."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text[:99]}")
        sys.stderr.flush()


def earlier(facts, parts):
    """What a run on this machine wrote down of other parts; facts: says so."""
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else None
    same = ("kernel", "cpu", "cpus", "quick")
    if not before or any(before["machine"][fact] != facts[fact] for fact in same):
        sys.exit(f"bench: --keep: {os.path.relpath(RESULTS)} is of no such run")
    tables = {part: tables for part, tables in before["parts"].items() if part not in parts}
    was = before["machine"]
    of = was.get("kept", {})
    facts["kept"] = {part: of.get(part, {"date": was["date"], "commit": was["commit"]}) for part in tables}
    facts["seconds"] = {part: seconds for part, seconds in was["seconds"].items() if part in tables}
    return tables


def as_json(facts, parts, kept):
    tables = kept | {part: [table.as_json() for table in tables] for part, tables in parts.items()}
    return json.dumps({"machine": facts, "parts": tables},
                      separators=(",", ":")).replace('{"title"', '\n{"title"').replace(
        '{"row"', '\n {"row"') + "\n"


def main():
    options = arguments()
    need_machine()
    BUILD.mkdir(exist_ok=True)
    options.rungs = rungs_here()
    facts = machine(options)
    if not options.json:
        print_machine(facts)
    kept = earlier(facts, options.parts or PARTS) if options.keep else {}
    parts, seconds = {}, facts.setdefault("seconds", {})
    for part in options.parts or PARTS:
        started = time.monotonic()
        tables = PARTS[part](options, progress)
        seconds[part] = round(time.monotonic() - started)
        parts[part] = tables if isinstance(tables, list) else [tables]
        progress("")
        for table in parts[part]:
            if not options.json:
                table.print()
                sys.stdout.flush()
        RESULTS.write_text(as_json(facts, parts, kept), encoding="utf-8")  # after each part: a run may be broken off
    if options.json:
        print(as_json(facts, parts, kept), end="")
    judged = [met for tables in parts.values() for table in tables for _, _, met in table.targets]
    if not options.json:
        print("\nseconds: " + ", ".join(f"{part} {took}" for part, took in seconds.items()))
        print(f"all rounds of all rows: {os.path.relpath(RESULTS)}")
        print(f"missed: {judged.count(False)} of {len(judged)} targets; not judged: {judged.count(None)}")


if __name__ == "__main__":
    main()
