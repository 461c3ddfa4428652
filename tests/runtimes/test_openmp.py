# SPDX-License-Identifier: BSD-2-Clause
"""OpenMP on libgomp: calls against a counting library, what passes through them against the job's own figures."""
import collections
import json
import re
import subprocess

import pytest

import conformance
import event_lines
import gaspbpf
import truth

ENVIRONMENT = {"OMP_CANCELLATION": "true", "OMP_WAIT_POLICY": "passive"}
THREADS, ROUNDS = 3, 2
JOB = [gaspbpf.WORKLOADS / "openmp_job", "--threads", THREADS, "--rounds", ROUNDS, "--warmup", "1", "--after", "1"]

SHARE = "GASP_OMP_IMPLICIT_TASK"

# libgomp's functions whose event does not have their name.
NAMED = {
    "single_start": "SINGLE", "critical_name_start": "CRITICAL_START", "critical_name_end": "CRITICAL_END",
    "set_lock": "LOCK",
    "unset_lock": "UNLOCK", "test_lock": "LOCK_ATTEMPT", "init_lock": "LOCK_INIT", "destroy_lock": "LOCK_DESTROY",
    "parallel_reductions": "PARALLEL", "parallel_sections": "PARALLEL", "taskloop_ull": "TASKLOOP",
    "taskwait_depend": "TASKWAIT",
    "target_enter_exit_data": "TARGET_DATA", "teams_reg": "TEAMS", "teams4": "TEAMS",
    "sections2_start": "SECTIONS_START",
    "barrier_cancel": "BARRIER", "sections_end_cancel": "SECTIONS_END", "loop_end_cancel": "LOOP_END",
}

# Calls that libgomp 12 makes to itself, which no library in front of it sees: for each call of the functions on the
# right one of the event on the left, or one of the team's.
INSIDE = [
    ("PARALLEL_END", r"GOMP_parallel_(loop_\w+|sections)(?<!_start)", 1),
    ("LOOP_START", r"GOMP_loop_(ull_)?(ordered|doacross)_runtime_start", 1),
    ("LOOP_NEXT", r"GOMP_loop_(ull_)?(ordered_runtime_next|start)", 1),
    ("ORDERED_START", r"GOMP_loop_(ull_)?ordered_\w+_next", 1),
    ("TASKGROUP_START", r"GOMP_taskloop", 1),  # the job's other taskloop is nogroup
    ("TASKGROUP_END", r"GOMP_taskloop|GOMP_workshare_task_reduction_unregister", 1),
    ("TASK_REDUCTION", r"GOMP_loop_start|GOMP_sections2_start|GOMP_scope_start", THREADS),
    ("ALIGNED_ALLOC", r"omp_alloc", 1),
    ("ALIGNED_CALLOC", r"omp_calloc", 1),
]


def event_of(function):
    """GOMP_loop_ull_dynamic_next -> GASP_OMP_LOOP_NEXT; None for questions and settings."""
    name = re.sub(r"^(GOMP|omp)_", "", function).replace("nest_lock", "lock").replace("_ext", "")
    if re.match(r"get_|set_(?!lock)", name):
        return None
    if name in NAMED:
        name = NAMED[name]
    elif match := re.match(r"parallel_(?:loop_\w+?|sections)(_start)?$", name):
        name = "PARALLEL" + (match[1] or "")
    elif match := re.match(r"loop_(?:\w+_)?(start|next)$", name):
        name = "LOOP_" + match[1]
    elif "task" in name and "reduction" in name:
        name = "TASK_REDUCTION"
    return f"GASP_OMP_{re.sub('_ull', '', name).upper()}"


def calls_inside(tables):
    inside = collections.Counter()
    for event, functions, share in INSIDE:
        calls = sum(counts["calls"] for table in tables for name, counts in table.items()
                    if re.fullmatch(functions, name))
        assert calls and calls % share == 0, event
        inside[f"GASP_OMP_{event}"] += calls // share
    return inside


def test_calls_are_those_of_a_counting_library(job, observe, tmp_path, rung):
    """Without a word about models: a job that maps an OpenMP runtime is observed through that, and not through
    malloc."""
    team = job([*truth.counting("libcount_gomp.so", tmp_path), *JOB], env=ENVIRONMENT).wait_ready()
    report = truth.window(team, observe)
    tables = truth.windows(tmp_path, "gomp")
    assert len(tables) == 1 and len(tables[0]) > 120
    counted, inside = truth.by_event(tables, event_of), calls_inside(tables)
    # The team's shares of regions are no calls of the runtime, so no library in front of it sees them.
    shares = [row for row in report["events"] if row["name"] == SHARE]
    report["events"] = [row for row in report["events"] if row["name"] != SHARE]
    assert all(row["calls"] and not row["inner"]["calls"] for row in shares)
    assert truth.differences_in_calls(report, counted, "OMP") == {}
    assert {row["name"]: row["inner"]["calls"] for row in report["events"] if row["inner"]["calls"]} == inside
    conformance.seen("libgomp-12", *counted)
    assert {row["model"] for row in report["events"]} == {"openmp"}
    assert len([thread for thread in report["threads"] if thread["calls"]]) == THREADS
    truth.compare_with_alone(team, JOB, ENVIRONMENT)


# --- what the calls say

def total(calls, event, value=lambda arguments: 1, **wanted):
    return sum(value(call.arguments) for call in calls if call.event == event
               and all(call.arguments.get(key) == text for key, text in wanted.items()))


def test_arguments_are_what_the_job_did(job, observe, tmp_path):
    team = job(JOB, env=ENVIRONMENT).wait_ready()
    report = truth.window(team, observe, options=["-o", tmp_path / "run.events"])
    own, = team.truths()
    calls = list(event_lines.calls(tmp_path / "run.events", "OMP"))
    # All iterations of all loops that are shared out by libgomp come in chunks. A loop that calls another one's
    # function has the same chunk.
    asked = [call for call in calls if call.event in ("LOOP_START", "LOOP_NEXT")]
    chunks = [abs(int(call.arguments["iend"]) - int(call.arguments["istart"])) for call in asked
              if call.around not in ("LOOP_START", "LOOP_NEXT") and call.arguments["more"] == "1"]
    assert {call.arguments["istart"] for call in asked if call.arguments["more"] == "0"} == {"unknown"}
    assert sum(chunks) == own["iterations"] + own["iterations_ull"] + own["posted"]
    given = sum(total(calls, event) - total(calls, event, section="0") for event in ("SECTIONS_START", "SECTIONS_NEXT"))
    assert given == own["sections"]
    assert total(calls, "SINGLE", chosen="1") + total(calls, "SINGLE_COPY_END") == own["singles"]
    assert total(calls, "ORDERED_END") == own["ordered"]
    assert total(calls, "DOACROSS_POST") == own["posted"]
    assert total(calls, "TASK") == own["tasks"]
    assert total(calls, "PARALLEL") == own["regions"]
    assert total(calls, "PARALLEL", schedule="guided") == ROUNDS and total(calls, "PARALLEL", count="2") == ROUNDS
    assert total(calls, "BARRIER", cancelled="unknown") == 0
    assert total(calls, "CANCEL", which="1", cancelled="1") == ROUNDS
    assert total(calls, "ATOMIC_START") == own["updated"]
    # Locks by their addresses, critical sections by those of their names.
    lock, nest = hex(own["lock"]), hex(own["nest"])
    assert total(calls, "LOCK", lock=lock) == THREADS * ROUNDS \
        and total(calls, "LOCK") == own["locked"] + own["nested"] * 2 // 3
    assert total(calls, "LOCK_ATTEMPT", lock=lock, result="1") == own["tried"]
    assert total(calls, "LOCK", lock=nest) + total(calls, "LOCK_ATTEMPT", lock=nest) == own["nested"]
    assert total(calls, "UNLOCK", lock=nest) == own["nested"]
    sections = collections.Counter(call.arguments["name"] for call in calls if call.event == "CRITICAL_START")
    assert sections.pop("unknown") == own["unnamed"]
    assert len(sections) == 2 and set(sections.values()) == {own["named"] // 2}
    # Memory
    seen = gaspbpf.events(report)
    aligned = seen["GASP_OMP_ALIGNED_ALLOC"]
    assert aligned["bytes"] + aligned["inner"]["bytes"] == own["allocated"] \
        and seen["GASP_OMP_ALLOC"]["bytes"] == own["allocated"] // 2
    aligned = seen["GASP_OMP_ALIGNED_CALLOC"]
    assert aligned["bytes"] + aligned["inner"]["bytes"] == own["zeroed"] \
        and seen["GASP_OMP_CALLOC"]["bytes"] == 5 * 16 * ROUNDS
    assert seen["GASP_OMP_REALLOC"]["bytes"] == own["resized"]
    assert seen["GASP_OMP_TARGET_MEMCPY"]["bytes"] == 64 * ROUNDS


# --- what the model knows, and who takes part

def listed(*arguments):
    return json.loads(gaspbpf.run("list", "--json", *arguments).stdout)["found"]


# Questions, settings, and what compilers call at the start of a program that uses devices: no event.
LEFT_OUT = re.compile(
    r"""omp_(get|in|is)_\w+ | omp_set_(?!(nest_)?lock)\w+ | omp_(capture|display)_\w+ | omp_pause_resource\w* |
    omp_(init|destroy)_allocator | omp_target_(is_present|(dis)?associate_ptr) | GOMP_(error|warning) |
    GOMP_offload_(un)?register(_ver)? | GOMP_PLUGIN_\w+ | GOACC_\w+ | acc_\w+ | goacc_\w+ | omp_\w+_ """, re.VERBOSE)


def test_model_has_all_functions_of_the_library():
    """Functions at one place are one probe, so it is their places that must be known."""
    library = subprocess.run(["gcc", "-print-file-name=libgomp.so"], capture_output=True, text=True,
                             check=True).stdout.strip()
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                             check=True).stdout.splitlines()
    place = {name.partition("@@")[0]: address for address, kind, name in map(str.split, symbols) if kind == "T"
             and "@@" in name}
    wanted = {name for name in place if not LEFT_OUT.fullmatch(name)}
    assert len(wanted) > 130
    known = {place[row["symbol"]] for row in listed("-m", "openmp", library)}
    assert {name for name in wanted if place[name] not in known} == set()


def test_who_takes_part(job):
    """An OpenMP job: its runtime alone; malloc and threads only where asked for."""
    team = job(JOB, env=ENVIRONMENT).wait_ready()
    pid = team.process.pid
    assert {row["model"] for row in listed("-p", pid)} == {"openmp"}
    assert {row["model"] for row in listed("-p", pid, "-m", "+c,+pthread")} == {"openmp", "c", "pthread"}
    assert team.process.poll() is None


FORTRAN = """
program turns
  use omp_lib
  implicit none
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer :: i, total, turns_taken
  total = 0
  turns_taken = 0
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  !$omp parallel do schedule(dynamic, 3) num_threads(2)
  do i = 1, 30
    call omp_set_lock(lock)
    total = total + i
    call omp_unset_lock(lock)
    !$omp critical
    turns_taken = turns_taken + 1
    !$omp end critical
  end do
  !$omp end parallel do
  call omp_set_nest_lock(nest)
  call omp_set_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  print *, total + turns_taken
end program
"""


def test_fortran(tmp_path):
    """Its directives are the same calls, and its own names of the locks lead to those of C."""
    source = tmp_path / "turns.f90"
    source.write_text(FORTRAN)
    subprocess.run(["gfortran", "-fopenmp", "-O1", f"-J{tmp_path}", "-o", tmp_path / "turns", source], check=True,
                   timeout=gaspbpf.PATIENCE)
    # On the rung where that is costly, functions that nobody imports have no probe: all are asked for.
    result = gaspbpf.run("--all-symbols", "--json", "-o", tmp_path / "run.gasp", "--", tmp_path / "turns",
                         env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[0].split() == [str(sum(range(31)) + 30)]
    report = json.loads(result.stdout.split("\n", 1)[1])
    seen = {name.removeprefix("GASP_OMP_"): row["calls"] for name, row in gaspbpf.events(report).items()}
    assert seen["LOCK"] == seen["UNLOCK"] == 30 + 2
    assert seen["CRITICAL_START"] == seen["CRITICAL_END"] == 30
    assert seen["LOCK_INIT"] == 2 and seen["PARALLEL"] == 1 and seen["PARALLEL_END"] == 1 \
        and seen["LOOP_NEXT"] == 10 + 2


REGION = """
#include <stdio.h>
int main(void)
{
	int count = 0;
	for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(3)
		__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
	}
	printf("%d\\n", count);
	return 0;
}
"""


def test_the_share_of_each_thread_has_a_name(tmp_path):
    """The region as the compiler cut it out: libgomp calls it by a pointer, on each thread of the team."""
    source = tmp_path / "region.c"
    source.write_text(REGION)
    gaspbpf.compile_c(source, tmp_path / "region", "-O1", "-fopenmp")
    result = gaspbpf.run("-e", "main._omp_fn.0", "--json", "--", tmp_path / "region", env=ENVIRONMENT)
    printed, _, report = result.stdout.partition("\n")
    seen = gaspbpf.events(json.loads(report))
    assert seen["GASP_OMP_PARALLEL"]["calls"] == 5
    assert seen["GASP_USER_MAIN__OMP_FN_0"]["calls"] == int(printed) == 15


HYBRID = """
#include <mpi.h>
int main(int argc, char **argv)
{
	int level, mine = 1, sum;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	for (int i = 0; i < 4; i++) {
#pragma omp parallel num_threads(2)
		{
#pragma omp barrier
#pragma omp critical
			mine++;
		}
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return sum == 2 * 9 ? 0 : 1;
}
"""


def test_both_layers_of_a_hybrid_job(tmp_path):
    """MPI between processes, OpenMP inside each: both take part without a word, and threads have their process's
    rank."""
    source = tmp_path / "hybrid.c"
    source.write_text(HYBRID)
    subprocess.run(["mpicc.openmpi", "-O1", "-fopenmp", "-o", tmp_path / "hybrid", source], check=True,
                   timeout=gaspbpf.PATIENCE)
    result = gaspbpf.run("-q", "--json", "--", "mpirun.openmpi", "-n", "2", tmp_path / "hybrid",
                         env={**truth.ENVIRONMENT, **ENVIRONMENT})
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    seen = gaspbpf.events(report)
    assert {row["model"] for row in report["events"]} == {"mpi", "openmp"}
    assert {name: seen[name]["calls"] for name in ("GASP_MPI_ALLREDUCE", "GASP_OMP_PARALLEL", "GASP_OMP_BARRIER",
                                                   "GASP_OMP_CRITICAL_START")} == {
        "GASP_MPI_ALLREDUCE": 8, "GASP_OMP_PARALLEL": 8, "GASP_OMP_BARRIER": 16, "GASP_OMP_CRITICAL_START": 16}
    ranks = collections.Counter(thread["rank"] for thread in report["threads"] if thread["calls"])
    assert ranks == {0: 2, 1: 2}
