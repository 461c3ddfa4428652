# SPDX-License-Identifier: BSD-2-Clause
"""Global Arrays, linked into the program: its calls by the names of C and of Fortran against the job's own account."""
import collections
import json
import re
import shutil
import subprocess

import pytest

import conformance
import gaspbpf
import truth

PROGRAM = gaspbpf.WORKLOADS / "ga_job"
JOB = [PROGRAM, "--rounds", "3"]
NAMES = {"NBGET": "NB_GET_INIT", "NBPUT": "NB_PUT_INIT", "NBACC": "NB_ACC_INIT", "NBWAIT": "NB_SYNC",
         "NBTEST": "NB_TRYSYNC", "CREATE_MUTEXES": "MUTEXES_CREATE", "DESTROY_MUTEXES": "MUTEXES_DESTROY",
         "STRIDED_GET": "GET", "DDOT": "DOT", "DGEMM": "GEMM", "DGOP": "GOP", "IGOP": "GOP", "LGOP": "GOP",
         "PGROUP_DGOP": "PGROUP_GOP"}


def event_of(function):
    """NGA_NbGet -> GASP_GA_NB_GET_INIT, nga_get_ -> GASP_GA_GET."""
    name = re.sub(r"^n?ga_", "", function, flags=re.I).rstrip("_").upper()
    return f"GASP_GA_{NAMES.get(name, name)}"


def team(job, program=JOB, ranks=2):
    line = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), *program]
    return job(line, ranks=ranks, env=truth.ENVIRONMENT).wait_ready()


# Not on the rung where each of some 500 probes takes its time to remove.
@pytest.mark.parametrize("rung", gaspbpf.RUNGS[:2], indirect=True)
def test_calls_and_bytes_are_the_jobs(job, observe, rung):
    running = team(job)
    report = truth.window(running, observe)
    counted = truth.by_event(truth.functions(running), event_of)
    assert len(counted) > 35
    assert truth.differences_in_calls(report, counted, "GA", inner=True) == {}
    assert not [row for row in report["events"] if row["model"] == "ga" and row["inner"]["calls"]]
    rows = gaspbpf.events(report)
    for name in "GASP_GA_BRDCST", "GASP_GA_GOP", "GASP_GA_PGROUP_GOP":
        assert (rows[name]["bytes"], rows[name]["calls_without_bytes"]) == (counted[name]["bytes"], 0)
    # Each from a line of the program.
    sites = collections.Counter()
    for row in report["events"]:
        if row["model"] == "ga":
            for site in row["sites"]:
                assert site["file"].endswith("ga_job.c")
                sites[row["name"]] += site["calls"]
    assert sites == {name: count["calls"] for name, count in counted.items()}
    conformance.seen("libga-5.8.2", *counted)
    assert {thread["rank"] for thread in report["threads"] if thread["calls"]} == {0, 1}
    assert {row["model"] for row in report["events"]} == {"ga", "armci", "mpi"}  # and what is below


def test_arguments_are_the_programs(job, observe, tmp_path):
    """Handles, numbers and results, of both languages."""
    running = team(job, [PROGRAM, "--rounds", "1"], ranks=1)
    recording = tmp_path / "x.gasp"
    watcher = observe("-p", running.process.pid, "-m", "ga", "-o", recording)
    running.work()
    assert watcher.stop()[0] == 0 and running.end() == 0
    gaspbpf.run("export", recording, "-o", tmp_path / "x.events")
    lines = (tmp_path / "x.events").read_text().splitlines()

    def values(kind, event):
        return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in lines if f" {kind} GASP_GA_{event} " in f"{line} "]

    created = [row["g_a"] for row in values("END", "CREATE")]
    copies = [row["g_b"] for row in values("END", "DUPLICATE")]
    assert len(created) == 3 and len(copies) == 2 and len({*created, *copies}) >= 3
    assert [row["ndim"] for row in values("START", "CREATE")] == ["2", "1", "2"]
    assert {row["g_a"] for row in values("START", "GET")} <= {*created}
    assert [row["g_a"] for row in values("START", "DUPLICATE")] == [created[0], created[2]]
    assert [row["result"] for row in values("END", "READ_INC")] == ["0", "1", "2", "3"]
    assert [row["inc"] for row in values("START", "READ_INC")] == ["1", "1", "1", "0"]
    assert {(row["m"], row["n"], row["k"]) for row in values("START", "GEMM")} == {("24", "24", "24")}
    assert [row["nbytes"] for row in values("START", "BRDCST")] == ["32", "32"]
    assert [row["n"] for row in values("START", "GOP")] == ["4", "3", "2", "4"]
    assert {row["mutex"] for row in values("START", "LOCK")} == {"0"}


def test_a_stripped_program_is_named(job, observe, tmp_path):
    """No names, no calls: the report says what is inside, instead of that nothing was called."""
    stripped = tmp_path / "ga_stripped"
    shutil.copy(PROGRAM, stripped)
    subprocess.run(["strip", stripped], check=True)
    running = team(job, [stripped, "--rounds", "1"])
    report = truth.window(running, observe)
    assert not [name for name in gaspbpf.events(report) if "GASP_GA_" in name]
    assert "Global Arrays" in json.dumps(report["not_observable"])
    whole = gaspbpf.run("list", "--json", PROGRAM)
    assert json.loads(whole.stdout)["inside"] == []
