# SPDX-License-Identifier: BSD-2-Clause
"""Each call is counted once: whoever else maps the library before or after, whatever changes about its probes
meanwhile.

A library has probes from the first program that maps it on. The next program may call functions that the first did not
import, or make return probes dangerous, so that other probes go in. The jobs here print what they have called.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess

import pytest

import gaspbpf
import monitoring
import truth

PLAIN = r"""
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }
"""
THROWS = r"""
#include <mpi.h>
#include <cstdio>
#include <unistd.h>
extern "C" void handle(MPI_Comm *, int *code, ...) { throw *code; }
int main(int argc, char **argv)
{
	int one = 1, got = 0, caught = 0;
	MPI_Errhandler handler;

	MPI_Init(&argc, &argv);
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
	for (int i = 0; i < 6; i++) {
		MPI_Request request;

		if (i % 2) {
			try { MPI_Send(&one, 1, MPI_INT, 99, 0, MPI_COMM_SELF); } catch (int) { caught++; }
			continue;
		}
		MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
		MPI_Send(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	std::printf("called SEND=6 IRECV=3 WAIT=3\n");
	MPI_Finalize();
	return caught != 3;
}
"""
TEAM = r"""
#include <stdio.h>
int main(void)
{
	int entered = 0;

	for (int i = 0; i < 10; i++) {
#pragma omp parallel
		{
#pragma omp critical
			entered++;
#pragma omp barrier
		}
	}
	printf("called PARALLEL=10 BARRIER=%d CRITICAL_START=%d CRITICAL_END=%d\n", entered, entered, entered);
	return 0;
}
"""
PUTS = r"""
#include <shmem.h>
#include "shmem_leave.h"
int main(void)
{
	static long there;

	shmem_init();
	for (int i = 0; i < 55; i++) {
		shmem_long_p(&there, i, (shmem_my_pe() + 1) % shmem_n_pes());
		shmem_quiet();
	}
	shmem_barrier_all();
	printf("called P=55 BARRIER_ALL=1\n");
	fflush(stdout);
	leave_in_order();
}
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name, value in truth.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def build(folder, name, text, compiler, *options):
    source = folder / f"{name}.{'cc' if 'cxx' in compiler or '++' in compiler else 'c'}"
    source.write_text(text)
    subprocess.run([compiler, "-O1", "-o", folder / name, source, *options], check=True, timeout=gaspbpf.PATIENCE)
    return folder / name


def script(folder, *commands):
    path = folder / "commands.sh"
    path.write_text("#!/bin/sh\nset -e\n" + "\n".join(" ".join(map(str, command)) for command in commands) + "\n")
    path.chmod(0o755)
    return path


def called(output):
    """What the jobs say that they have called, added up."""
    total = {}
    for line in re.findall(r"^called (.*)", output, re.M):
        for word in line.split():
            name, number = word.split("=")
            total[name] = total.get(name, 0) + int(number)
    assert total, output
    return total


def expect_once(language, command, env=None):
    """Runs the command under observation: each event has the calls that the jobs say."""
    result = gaspbpf.run("--json", "--", *command, env=env)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout[result.stdout.index("{\n"):])
    rows = gaspbpf.events(report)
    told = called(result.stdout)
    assert {name: rows.get(f"GASP_{language}_{name}", {"calls": 0})["calls"] for name in told} == told, result.stderr
    assert report["loss"]["lost"] == 0 and "fault of gaspbpf" not in result.stderr, result.stderr
    return rows


def own_library(folder, program):
    """The environment in which it has MPI's library for itself: other tests' return probes are in everybody's, and
    would be in the way of exceptions."""
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    path = next(match[1] for match in re.finditer(r"=> (\S*/libmpi(?:ch)?\.so\S*)", loaded))
    (folder / "lib").mkdir()
    shutil.copy(path, folder / "lib")
    return {"LD_LIBRARY_PATH": str(folder / "lib")}


@pytest.mark.parametrize("mpi, launcher", [("openmpi", ["mpirun", "-n", "1"]), ("mpich", [])], ids=["openmpi", "mpich"])
def test_a_plain_job_and_then_two_that_throw(tmp_path, mpi, launcher):
    """The first one imports few functions; the others more, and what they throw makes return probes dangerous."""
    launcher = [f"{launcher[0]}.{mpi}", *launcher[1:]] if launcher else []
    plain = build(tmp_path, "plain", PLAIN, f"mpicc.{mpi}")
    throws = build(tmp_path, "throws", THROWS, f"mpicxx.{mpi}")
    rows = expect_once("MPI", [script(tmp_path, [*launcher, plain], [*launcher, throws], [*launcher, throws])],
                       own_library(tmp_path, plain))
    assert rows["GASP_MPI_SEND"]["unwound"] == 6


def test_the_same_under_monitor(tmp_path, monitors):
    plain = build(tmp_path, "plain", PLAIN, "mpicc.openmpi")
    throws = build(tmp_path, monitoring.unique("throws"), THROWS, "mpicxx.openmpi")
    stays = build(tmp_path, "stays",
                  PLAIN.replace("MPI_Finalize", "getchar(); MPI_Finalize").replace(
                      "#include <mpi.h>", "#include <mpi.h>\n#include <stdio.h>"),
                  "mpicc.openmpi")
    monitor = monitors("--comm", throws.name, "--comm", plain.name, "--comm", stays.name, "--lazy",
                       "--max-overhead", "none")
    env = {**os.environ, **own_library(tmp_path, plain)}
    with subprocess.Popen([stays], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env) as first:
        monitor.wait_for_processes([first.pid])
        jobs = [subprocess.run([throws], capture_output=True, text=True, timeout=gaspbpf.PATIENCE, env=env)
                for _ in range(2)]
        monitor.now()
        seen = {}
        for line in monitor.lines():
            for process in line["processes"]:
                if process["ended"] and process["comm"] == throws.name:
                    seen[process["pid"]] = monitoring.events_of(process)
        first.communicate(b"\n", timeout=gaspbpf.PATIENCE)
    assert jobs[-1].returncode == 0
    last = max(seen)
    told = called(jobs[-1].stdout)
    assert {name: seen[last][f"GASP_MPI_{name}"]["calls"] for name in told} == {name: told[name] for name in told}


@pytest.mark.parametrize("wrapper", ["env", "launched"])
def test_a_wrapper_that_maps_the_runtime_and_then_runs_the_program(tmp_path, wrapper):
    """A shell has the library by preload, so the library has its probes, before anybody is there who calls it."""
    team = build(tmp_path, "team", TEAM, "gcc", "-fopenmp")
    throws = build(tmp_path, "throws", THROWS, "mpicxx.openmpi")
    if wrapper == "env":
        expect_once("OMP", ["env", "LD_PRELOAD=libgomp.so.1", "OMP_NUM_THREADS=2", "bash", "-c", f"exec {team}"])
    else:
        expect_once("MPI",
                    ["mpirun.openmpi", "-n", "2", "env", "LD_PRELOAD=libmpi.so.40", "bash", "-c", f"exec {throws}"])


def test_two_pes_of_openshmem(tmp_path):
    puts = build(tmp_path, "puts", PUTS, "oshcc", f"-I{gaspbpf.TOP / 'tests' / 'workloads'}", "-ldl")
    rows = expect_once("SHMEM", ["oshrun", "-n", "2", puts])
    assert 110 <= rows["GASP_SHMEM_QUIET"]["calls"] < 120  # the library calls it, too, as it ends


# --- one file under two names --------------------------------------------------

@contextlib.contextmanager
def layered(folder, lower, count):
    """So many overlays that share a layer, as containers do."""
    mounted = []
    try:
        for i in range(count):
            parts = {name: folder / f"{name}{i}" for name in ("upper", "work", "merged")}
            for part in parts.values():
                part.mkdir()
            done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                                   f"lowerdir={lower},upperdir={parts['upper']},workdir={parts['work']}",
                                   parts["merged"]])
            if done.returncode:
                pytest.skip("no overlays here")
            mounted.append(parts["merged"])
        yield mounted
    finally:
        for place in mounted:
            subprocess.run(["umount", "-l", place], check=True)


def test_containers_that_share_a_layer(tmp_path):
    """Each has the library under a name, and a device, of its own; the kernel's probes are in the file below."""
    lower = tmp_path / "lower"
    lower.mkdir()
    library = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True,
                             check=True).stdout.strip()
    shutil.copy(library if "/" in library else "/usr/lib/x86_64-linux-gnu/libgomp.so.1", lower / "libgomp.so.1")
    team = build(tmp_path, "team", TEAM, "gcc", "-fopenmp")
    with layered(tmp_path, lower, 2) as places:
        runs = [[f"LD_LIBRARY_PATH={place}", "OMP_NUM_THREADS=2", team] for place in places]
        expect_once("OMP", [script(tmp_path, *runs, runs[0])])
