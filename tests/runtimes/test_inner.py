# SPDX-License-Identifier: BSD-2-Clause
"""Calls that a runtime makes to itself are told apart from the program's, and callbacks of the program's stay its
own."""
import collections
import json
import os
import subprocess

import pytest

import gaspbpf
import truth

MODEL = """
model inside
library program libinside.so
needs inside_alloc
ALLOC  alloc      void *inside_alloc(size_t size @bytes)
LOCK   acquire    void inside_lock(int *lock @lock)
UNLOCK release    void inside_unlock(int *lock @lock)
REDUCE collective {callback}void inside_reduce(int *data, void (*op)(int *))
"""


def counts(report):
    return {row["name"]: (row["calls"], row["inner"]["calls"]) for row in report["events"]}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "inside.model"
    path.write_text(MODEL.replace("{callback}", "callback "))
    return path


@pytest.mark.parametrize("program", ("program", "program_shared"))
def test_a_lock_inside_an_allocation_is_the_runtimes(tmp_path, model, program, rung):
    """Linked into the program the call around it tells, in a library the return address. What the reduction calls back
    is the program's."""
    result = gaspbpf.run("--json", "--model-file", model, "-m", "inside", "--", gaspbpf.WORKLOADS / "inner" / program)
    assert counts(json.loads(result.stdout)) == {
        "GASP_INSIDE_ALLOC": (60, 0), "GASP_INSIDE_LOCK": (40, 60), "GASP_INSIDE_UNLOCK": (40, 60),
        "GASP_INSIDE_REDUCE": (27, 0)}


RUNTIMES = {
    # launcher; is MPI-IO made of MPI calls?
    "openmpi": (["mpirun.openmpi", "-n", "2"], False),
    "romio": (["mpirun.openmpi", "-n", "2", "--mca", "io", "romio321"], True),
    "mpich": (["mpirun.mpich", "-n", "2"], True),
}


def mpi(runtime, folder):
    """The command, and what reads the job's own account of its calls afterwards."""
    launcher, _ = RUNTIMES[runtime]
    program = gaspbpf.WORKLOADS / "inner" / ("mpi_mpich" if runtime == "mpich" else "mpi_openmpi")

    def account():
        calls = collections.Counter()
        for path in folder.glob("truth.*"):
            for line in path.read_text().splitlines():
                function, count = line.split()
                calls[f"GASP_{function.upper()}"] += int(count)
        assert calls["GASP_MPI_INIT"] == 2
        return calls

    return [*launcher, program, folder / "file"], {**truth.ENVIRONMENT, "INNER_TRUTH": str(folder / "truth")}, account


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_programs_mpi_calls_are_counted_and_those_of_mpi_io_beside_them(tmp_path, runtime):
    """A reduction and an error handler that call MPI are the program's, though they run inside of MPI. A plug-in of
    MPI's is MPI."""
    command, environment, account = mpi(runtime, tmp_path)
    result = gaspbpf.run("--json", "-m", "mpi", "--", *command, env=environment)
    report = json.loads(result.stdout[result.stdout.index("{"):])
    seen = counts(report)
    assert {name: calls for name, (calls, _) in seen.items() if calls} == account()
    inner = {name: calls for name, (_, calls) in seen.items() if calls}
    assert bool(inner) == RUNTIMES[runtime][1]
    assert not inner or inner["GASP_MPI_BCAST"] > 20 and "GASP_MPI_FILE_OPEN" not in inner
    # A write is not the less for what it is made of.
    write, = (row for row in report["events"] if row["name"] == "GASP_MPI_FILE_WRITE_AT_ALL")
    assert write["self_ns"] == write["total_ns"]
    assert sum(row["calls"] for row in report["inner_by_thread"]) == sum(inner.values())


@pytest.mark.alone  # everybody's calls of MPI
def test_a_monitor_tells_them_apart_too(tmp_path, monitors):
    """From the first call on, though nobody knows a process then: by the return address. And though it becomes known in
    the midst of its calls."""
    command, environment, account = mpi("mpich", tmp_path)
    monitor = monitors("--all", "-m", "mpi", "--max-overhead", "none")
    subprocess.run([*map(str, command)], env={**os.environ, **environment}, capture_output=True,
                   timeout=gaspbpf.PATIENCE, check=True)
    told = account()
    gaspbpf.wait_for(lambda: monitor.totals().get("GASP_MPI_FINALIZE", {"calls": 0})["calls"] == 2,
                     "the job to be counted")
    totals = monitor.totals()
    assert {name: event["calls"] for name, event in totals.items() if event["calls"]} == told
    assert totals["GASP_MPI_BCAST"]["inner"] > 20 and not totals["GASP_MPI_FILE_OPEN"].get("inner")


@pytest.mark.parametrize("runtime", ["romio", "mpich"])
def test_top_tells_them_apart_too(runtime, tmp_path):
    command, environment, account = mpi(runtime, tmp_path)
    result = gaspbpf.run("top", "--once", "-d", "10m", "--json", "-m", "mpi", "--", *command, env=environment)
    shown = json.loads(result.stdout[result.stdout.index("{"):])
    calls, inner = collections.Counter(), collections.Counter()
    for thread in shown["threads"]:
        calls.update({event["event"]: event["all"]["calls"] for event in thread["events"]})
        inner.update({event["event"]: event["all"]["calls"] for event in thread["inner_events"]})
    assert {name: count for name, count in calls.items() if count} == account()
    assert inner["GASP_MPI_BCAST"] > 20


# --- where calls come from

def test_one_instruction_is_one_row_whoever_runs_it(tmp_path):
    command, environment, account = mpi("openmpi", tmp_path)
    run = tmp_path / "run.gasp"
    gaspbpf.run("-m", "mpi", "-o", run, "--", *command, env=environment)
    report = json.loads(gaspbpf.run("report", "--json", run).stdout)
    for name in "GASP_MPI_ALLREDUCE", "GASP_MPI_FILE_CLOSE", "GASP_MPI_FINALIZE":
        row, = (row for row in report["events"] if row["name"] == name)
        assert [site["calls"] for site in row["sites"]] == [account()[name]]
    text = gaspbpf.run("report", "--sites", "--section", "sites", run).stdout
    lines = [tuple(line.split()[:4]) for line in text.splitlines() if "GASP_" in line]
    assert lines and len(lines) == len(set(lines))


LOADING = """
#include <dlfcn.h>
#include <pthread.h>
int main(void)
{
	static const char *const names[] = { "libm.so.6", "libz.so.1", "libzstd.so.1" };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < 30; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		if (i % 10 == 9 && !dlopen(names[i / 10], RTLD_NOW))
			return 1;
	}
	return 0;
}
"""


def test_one_instruction_is_one_row_while_libraries_come(tmp_path):
    """Whenever something is mapped, it is looked again at what lies at an address: here it is the same as before."""
    source = tmp_path / "loading.c"
    source.write_text(LOADING)
    gaspbpf.compile_c(source, tmp_path / "loading", "-g", "-O1", "-fno-unroll-loops")
    result = gaspbpf.run("--json", "-m", "pthread", "--", tmp_path / "loading")
    row, = (row for row in json.loads(result.stdout)["events"] if row["name"] == "GASP_PTHREAD_MUTEX_LOCK")
    mine = [site["calls"] for site in row["sites"] if site["function"] == "main"]
    assert mine == [30]
