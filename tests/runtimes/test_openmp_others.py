# SPDX-License-Identifier: BSD-2-Clause
"""OpenMP programs out of libraries that others wrote, compiled by Clang: ViennaCL's solvers and GCC's parallel sorts.
Calls against a counting library, and all of it against what LLVM's runtime itself tells an OpenMP tool."""
import json
import subprocess

import pytest

import conformance
import gaspbpf
import libomp
import truth

THREADS = 3
ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(THREADS)}


def observed(tmp_path, name, more):
    """The report, what the counting library has counted, and what the runtime told the tool."""
    program, environment = gaspbpf.WORKLOADS / name, {**ENVIRONMENT, **more}
    alone = subprocess.run([program], env=environment, capture_output=True, text=True, check=True,
                           timeout=gaspbpf.PATIENCE).stdout
    tool = [f"OMP_TOOL_LIBRARIES={gaspbpf.WORKLOADS / 'libompt_account.so'}", f"OMPT_FILE={tmp_path / 'told'}"]
    result = gaspbpf.run("-q", "--json", "-m", "openmp", "--all-symbols", "--",
                         *truth.counting("libcount_kmp.so", tmp_path), *tool, program, env=environment)
    assert result.returncode == 0, result.stderr
    printed, _, report = result.stdout.partition("\n")
    assert printed == alone.strip()
    counted, = [table for table in (json.loads(path.read_text())["whole"] for path in tmp_path.glob("count.kmp*"))
                if table]
    return json.loads(report), counted, json.loads((tmp_path / "told").read_text())


def of_program(row):
    """The calls that came from elsewhere than libomp's own file."""
    return sum(site["calls"] for site in row["sites"] if "libomp" not in site["image"])


def compare_counts(report, counted, told, version):
    assert report["loss"]["lost"] == 0
    table = truth.by_event([counted], libomp.event_of)
    for event, calls in libomp.inside([counted], libomp.BOUND).items():
        table[event]["calls"] += calls
    assert truth.differences_in_calls(report, table, "OMP", inner=True) == {}
    conformance.seen(version, *table)
    rows = {name.removeprefix("GASP_OMP_"): row for name, row in gaspbpf.events(report).items()}
    calls = {name: row["calls"] for name, row in rows.items()}
    # A region of one thread is a call of its own where the program knows that, else one within PARALLEL.
    alone = of_program(rows["SERIAL_START"]) if "SERIAL_START" in rows else 0
    shares = calls["IMPLICIT_TASK"]
    within = calls.get("SERIAL_START", 0) - alone
    assert told["counts"] == {
        "regions": calls["PARALLEL"] + alone, "shares": shares + alone,
        "barriers": calls.get("BARRIER", 0) + shares - within,
        "loops": calls.get("LOOP_START", 0) + calls.get("LOOP_STATIC_START", 0),
        "chosen": calls.get("SINGLE_END", 0), "not_chosen": calls.get("SINGLE", 0) - calls.get("SINGLE_END", 0),
        "criticals": 0, "locks": calls.get("LOCK", 0), "tasks": calls.get("TASK", 0)}


def compare_times(report, told):
    """Workers wait for no less than the runtime says, but for what comes behind their last share; and they work for no
    less than it sees them in loops."""
    threads = {thread["tid"]: thread for thread in report["threads"]}
    first = report["processes"][0]["pid"]
    assert len(told["threads"]) == THREADS and {thread["tid"] for thread in told["threads"]} <= set(threads)
    for thread in told["threads"]:
        seen = threads[thread["tid"]]
        group = seen["group_ns"]
        if thread["tid"] == first:
            continue
        assert group["outside"] == 0
        assert group["wait"] >= thread["wait_ns"] - thread["last_wait_ns"]
        assert seen["wall_ns"] - group["wait"] - group["not_seen"] >= thread["loop_ns"]


def test_solvers_of_viennacl(tmp_path):
    report, counted, told = observed(tmp_path, "openmp_solvers", {})
    assert told["counts"]["regions"] > 100 and all(thread["loop_ns"] for thread in told["threads"])
    compare_counts(report, counted, told, "libomp-14")
    compare_times(report, told)


@pytest.mark.parametrize("version", ("libomp-14", "libomp-19"))
def test_sorts_of_the_parallel_mode(tmp_path, version):
    """Its workers begin regions themselves, within their shares: each has one thread. They are workers all the same."""
    report, counted, told = observed(tmp_path, "openmp_sorts", libomp.of_19(tmp_path) if version == "libomp-19" else {})
    workers = {row["tid"] for row in report["by_thread"] if row["name"] == "GASP_OMP_PARALLEL"}
    assert len(workers) > 1
    compare_counts(report, counted, told, version)
    compare_times(report, told)
