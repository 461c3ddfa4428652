# SPDX-License-Identifier: BSD-2-Clause
"""Children, other programs, libraries that come later: nothing is missed of a command, and of -p what is missed is
said.

Each process of the jobs in tests/workloads/follow appends what it has called to one file; the report must have exactly
that.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import gaspbpf
import remains
import truth
from following import FOLLOW, alone, calls_by_process, gated, json_of, runtime  # noqa: F401 (fixtures)


def exact(runtime, command, *options, expected=None):
    """Runs a command under observation; the report has each process's own count, and the job printed what it prints
    alone."""
    alone_out, alone_status = alone(command, runtime.env)
    runtime.truth_file.write_text("")
    result = gaspbpf.run("-q", "--json", *runtime.options, *options, "--", *command, env=runtime.env)
    assert result.returncode == alone_status, result.stderr
    assert result.stdout.startswith(alone_out)
    report = json_of(result)
    assert report["loss"]["lost"] == 0
    counted = runtime.counted()
    if expected:
        assert len(counted) == expected
    assert calls_by_process(report) == counted, result.stderr
    return report, result.stderr


# --- a command misses nothing ----------------------------------------------

@pytest.mark.guest
def test_a_script_that_runs_fifty_programs(runtime, rung):
    """Each lives for a millisecond and maps a library that nobody knows before the first of them maps it."""
    script = runtime.path / "script"
    script.write_text(f"#!/bin/sh\nfor i in $(seq 50); do {runtime.path}/step $i; done\nexit 5\n")
    script.chmod(0o755)
    report, errors = exact(runtime, [script], expected=50)
    assert "late" not in errors
    commands = {process["pid"]: process["command"] for process in report["processes"]}
    assert {pid: commands[pid] for pid in runtime.counted()} == {
        pid: f"{runtime.path}/step {calls - 1}" for pid, calls in runtime.counted().items()}


@pytest.mark.parametrize("how", ["fork", "spawn", "vfork", "clone", "silent", "daemon", "thread", "stop"])
@pytest.mark.parametrize("scope", ["file", "process"])
def test_every_way_to_start_a_program(runtime, how, scope):
    exact(runtime, [runtime.path / "tree", how, 3, runtime.path / "step", 20], "--scope", scope, "-m", "calls",
          expected=3)


@pytest.mark.parametrize("how", [pytest.param("vfork", marks=pytest.mark.guest),
                                 pytest.param("thread", marks=pytest.mark.guest_more)])
def test_links_of_its_own_for_each_process(runtime, how, rung):
    exact(runtime, [runtime.path / "tree", how, 2, runtime.path / "step", 20], "--scope", "process", "-m", "calls",
          expected=2)


@pytest.mark.parametrize("scope", ["file", "process"])
def test_ranks_that_fork(runtime, scope):
    """The forked ones map the same, and never exec."""
    exact(runtime, [runtime.path / "step", 10, 20], "--scope", scope, "-m", "calls", expected=21)


@pytest.mark.parametrize("how", ["itself", "thread"])
@pytest.mark.parametrize("scope", ["file", "process"])
def test_a_library_that_is_loaded_by_a_command(runtime, how, scope):
    """Nobody knew it, and the runtime that comes with it is called by its constructor. The job's own signals come as
    often as they do alone."""
    _, errors = exact(runtime, [runtime.path / "opener", how, 5], "--scope", scope, "-m", "calls", expected=5)
    assert "late" not in errors


def test_signals_sent_while_libraries_are_loaded(runtime):
    """The thread is made to stop by a signal at each of them: none of its own is lost for that."""
    result = gaspbpf.run("-q", "-o", runtime.path / "run.gasp", *runtime.options, "-m", "calls", "--",
                         runtime.path / "signalled", 40, env=runtime.env)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("0 of those sent are missing\n")


FLOODED = r"""
#include <signal.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
	struct itimerspec without_a_pause = { .it_value.tv_nsec = 1, .it_interval.tv_nsec = 1 };
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &without_a_pause, NULL))
		return 1;
	puts("got further");
	return 0;
}
"""


def test_signals_without_a_pause(runtime):
    """Alone it ignores them. Held it would stop for each, and never get any further: it is let go."""
    (runtime.path / "flooded.c").write_text(FLOODED)
    gaspbpf.compile_c(runtime.path / "flooded.c", runtime.path / "flooded")
    result = gaspbpf.run("-v", "-o", runtime.path / "run.gasp", *runtime.options, "-m", "calls", "--",
                         runtime.path / "flooded", env=runtime.env)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("got further\n")
    assert "so many signals come to it" in result.stderr


IMPORTS = """
from mpi4py import MPI
for _ in range(10):
    MPI.COMM_WORLD.Barrier()
"""


def test_ranks_that_import_their_runtime(tmp_path):
    """Python loads MPI when it imports mpi4py, and the import calls MPI_Init_thread: each rank's is seen."""
    (tmp_path / "job.py").write_text(IMPORTS)
    result = gaspbpf.run("-q", "--json", "-o", tmp_path / "run.gasp", "--", "mpirun", "--oversubscribe", "-n", 3,
                         "/usr/bin/python3", tmp_path / "job.py",
                         env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    calls = {event["name"]: event["calls"] for event in report["events"] if event["model"] == "mpi"}
    assert (calls["GASP_MPI_INIT_THREAD"], calls["GASP_MPI_BARRIER"], calls["GASP_MPI_FINALIZE"]) == (3, 30, 3), \
        result.stderr
    assert not [window for window in report["blind_windows"] if "mpi" in (window["models"] or "")]
    assert json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout)["blind_windows"] == report[
        "blind_windows"]


@pytest.mark.guest
def test_malloc_of_children_that_fork_without_exec(rung):
    """Each child has links of its own, however many there have been."""
    children = {"session": 200, "multi": 30, "perf": 3}[rung]
    result = gaspbpf.run("-q", "--json", "-m", "c", "--", gaspbpf.WORKLOADS / "brief", children)
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    calls = calls_by_process(report, "GASP_C_MALLOC")
    assert len(calls) == children and set(calls.values()) == {100}
    assert report["loss"]["lost"] == 0


def test_two_hundred_threads_and_a_child(tmp_path):
    result = gaspbpf.run("-q", "--json", "-m", "c", "--", FOLLOW / "crowd", 200)
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    own = [row["calls"] for row in report["by_thread"] if row["name"] == "GASP_C_MALLOC"]
    assert own.count(10) >= 200, own
    tids = {row["tid"] for row in report["by_thread"]}
    assert len(tids) >= 201


def test_ranks_run_without_a_tracer(runtime):
    """What maps the runtime is let go; what starts it stays held."""
    script = f"{runtime.path}/tree fork 1 /bin/sh -c 'grep TracerPid /proc/self/status; exit 0'; " \
             f"LD_PRELOAD=libcalls.so grep TracerPid /proc/self/status"
    result = gaspbpf.run("-q", *runtime.options, "-m", "calls", "--", "sh", "-c", script, env=runtime.env)
    assert result.returncode == 0, result.stderr
    tracers = [int(number) for number in re.findall(r"^TracerPid:\s*(\d+)$", result.stdout, re.MULTILINE)]
    assert len(tracers) == 2 and tracers[0] and not tracers[1], result.stdout


def test_a_job_that_traces_its_own_child(runtime):
    """A debugger in the job can do its work: everything is let go before it runs, which is said. What was known by then
    is still seen."""
    _, errors = exact(runtime, ["sh", "-c", f"{runtime.path}/step 10; {runtime.path}/tracer {runtime.path}/step 10"],
                      "-m", "calls", expected=2)
    assert "may trace other processes" in errors


def test_no_hold_says_what_it_missed(runtime):
    result = gaspbpf.run("-q", "--json", "--no-hold", *runtime.options, "--", runtime.path / "tree", "fork", 20,
                         runtime.path / "step", 20000, env=runtime.env)
    assert result.returncode == 0, result.stderr
    counted, seen = runtime.counted(), calls_by_process(json_of(result))
    assert sum(counted.values()) == 20 * 20001
    assert all(seen[pid] <= counted[pid] for pid in seen)
    if sum(seen.values()) != sum(counted.values()):
        assert "20 processes were forked meanwhile" in result.stderr
        assert re.search(r"probes came late \d+ times?.*the longest was [\d.]+ [mu]?s|\d+ times? a process had ended",
                         result.stderr)


@pytest.mark.parametrize("implementation", ["openmpi", "mpich"])
def test_ranks_under_a_launcher_with_a_private_library(tmp_path, implementation):
    """libmpi is known by LD_LIBRARY_PATH alone; the job is over in a moment, MPI_Init is the first that it calls."""
    job = gaspbpf.WORKLOADS / f"mpi_job_{implementation}"
    name = "libmpi.so.40" if implementation == "openmpi" else "libmpich.so.12"
    loaded = subprocess.run(["ldd", job], capture_output=True, text=True, check=True).stdout
    library, = re.findall(rf"{re.escape(name)} => (\S+)", loaded)
    shutil.copy(os.path.realpath(library), tmp_path / name)
    counter = gaspbpf.WORKLOADS / f"libcount_mpi_{implementation}.so"
    result = gaspbpf.run("-q", "--json", "--", f"mpirun.{implementation}", "-n", 2, "env",
                         f"LD_LIBRARY_PATH={tmp_path}",
                         f"LD_PRELOAD={counter}", f"COUNT_FILE={tmp_path / 'count'}", job, "--rounds", 2,
                         env={**truth.ENVIRONMENT, **gaspbpf.MPI_ENVIRONMENT})
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    files = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("count.mpi*"))]
    assert len(files) == 2
    seen = gaspbpf.events(report)
    for function in ("MPI_Init", "MPI_Init_thread", "MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Bcast", "MPI_Finalize"):
        counted = sum(file["whole"].get(function, {"calls": 0})["calls"] for file in files)
        row = seen.get(f"GASP_{function.upper()}", {"calls": 0})
        assert row["calls"] == counted, function
    assert {process["rank"] for process in report["processes"] if process["rank"] is not None
            and process["rank"] >= 0} == {0, 1}


# --- and harms nothing -----------------------------------------------------

def all_gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_gaspbpf_is_killed_while_children_are_held(runtime):
    """At any moment: all of the job runs on to its end, as if nobody had been there."""
    for delay in range(12):
        runtime.truth_file.write_text("")
        watcher = subprocess.Popen([gaspbpf.PROGRAM, "-q", *map(str, runtime.options), "-m", "+c,+calls", "--",
                                    runtime.path / "tree", "fork", "30",
                                    runtime.path / "step", "10"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   start_new_session=True, env={**os.environ, **runtime.env}, text=True)
        try:
            gaspbpf.wait_for(lambda: runtime.truth_file.read_text().count("\n") >= 2 * delay + 1
                             or watcher.poll() is not None, "the job to be under way")
            watcher.kill()
            out, _ = watcher.communicate(timeout=gaspbpf.PATIENCE)
            gaspbpf.wait_for(lambda: all_gone(watcher.pid), "the job to end", 30)
        finally:
            watcher.kill()
            watcher.wait()
        assert "exit 3\n" * 30 + "checksum 30 rounds 30" in out
        assert set(runtime.counted().values()) == {11} and len(runtime.counted()) == 30
    remains.assert_no_orphans()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_leaving_while_children_are_held(runtime, how):
    """gaspbpf leaves with its report; the job, which the signal was not sent to, goes on."""
    watcher = subprocess.Popen([gaspbpf.PROGRAM, "-q", *map(str, runtime.options), "-m", "+c,+calls", "--",
                                runtime.path / "tree", "fork", "40",
                                runtime.path / "step", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, env={**os.environ, **runtime.env}, text=True)
    try:
        gaspbpf.wait_for(lambda: runtime.truth_file.exists() and runtime.truth_file.read_text().count("\n") >= 5,
                         "the job to be under way")
        watcher.send_signal(how)
        out, errors = watcher.communicate(timeout=gaspbpf.PATIENCE)
        gaspbpf.wait_for(lambda: all_gone(watcher.pid), "the job to end", 30)
    finally:
        watcher.kill()
        watcher.wait()
    assert watcher.returncode == 0, errors
    assert "Observed for" in out and "GASP_CALLS_STEP" in out
    assert out.count("exit 3\n") == 40
    assert len(runtime.counted()) == 40


def test_interrupted_at_the_terminal(runtime):
    """^C goes to all: the job ends of it, and gaspbpf reports."""
    watcher = subprocess.Popen([gaspbpf.PROGRAM, "-q", *map(str, runtime.options), "-m", "+c,+calls", "--",
                                runtime.path / "tree", "fork", "100000",
                                runtime.path / "step", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, env={**os.environ, **runtime.env}, text=True)
    try:
        gaspbpf.wait_for(lambda: runtime.truth_file.exists() and runtime.truth_file.read_text().count("\n") >= 5,
                         "the job to be under way")
        os.killpg(watcher.pid, signal.SIGINT)
        out, errors = watcher.communicate(timeout=gaspbpf.PATIENCE)
        gaspbpf.wait_for(lambda: all_gone(watcher.pid), "the job to end", 30)
    finally:
        watcher.kill()
        watcher.wait()
    assert watcher.returncode in (0, 128 + signal.SIGINT), errors
    assert "GASP_CALLS_STEP" in out


def test_job_control(runtime):
    """A held job is stopped and continued as any other."""
    watcher = subprocess.Popen([gaspbpf.PROGRAM, "-q", "-m", "c", "--", gaspbpf.WORKLOADS / "ending",
                                "--seconds", "0.5"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True)
    try:
        def command():
            """Not one of the children that gaspbpf tries something with."""
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for task in pathlib.Path(f"/proc/{watcher.pid}/task").iterdir():
                    for pid in (task / "children").read_text().split():
                        if "ending" in pathlib.Path(f"/proc/{pid}/comm").read_text():
                            return int(pid)
        pid = gaspbpf.wait_for(command, "the exec")
        os.kill(pid, signal.SIGSTOP)
        state = lambda: re.search(r"^State:\s*(\w)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1]
        gaspbpf.wait_for(lambda: state() in "tT", "it to stop")
        time.sleep(1)
        assert state() in "tT" and watcher.poll() is None
        os.kill(pid, signal.SIGCONT)
        out, errors = watcher.communicate(timeout=gaspbpf.PATIENCE)
    finally:
        watcher.kill()
        watcher.wait()
    assert watcher.returncode == 0, errors


def test_a_setuid_program_stays_one(tmp_path):
    """Held by root, who may: it gets the rights that it would have had."""
    folder = pathlib.Path("/tmp") / f"gaspbpf-setuid.{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        shutil.copy("/usr/bin/id", folder / "id")
        os.chmod(folder / "id", 0o4755)
        result = gaspbpf.run("-q", "--", "sh", "-c", f"{folder}/id -u; id -u",
                             env={"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"})
    finally:
        shutil.rmtree(folder)
    assert result.stdout.splitlines()[:2] == ["0", "65534"], result.stdout + result.stderr


# --- processes that run already --------------------------------------------


def joined(runtime, observe, target, pid, *options):
    """Joins a job at its gate, lets it do its work, leaves: the report, and what was said."""
    watcher = observe(*runtime.options, "--json", "-p", pid, *options)
    target.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert target.end() == 3
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    return report, errors


@pytest.mark.parametrize("scope", ["file", "process"])
def test_children_forked_while_joined(runtime, gated, observe, scope):
    """One probe for all sees all of them; with links of their own they are seen late, and how late is said."""
    target = gated([runtime.path / "step", 1000, 20])
    report, errors = joined(runtime, observe, target, target.process.pid, "--scope", scope, "-m", "calls")
    counted, seen = runtime.counted(), calls_by_process(report)
    assert len(counted) == 21
    assert {process["pid"] for process in report["processes"]} == set(counted)
    assert seen[target.process.pid] == 1000
    if scope == "file":
        assert seen == counted
        assert "20 processes were forked meanwhile and observed from the first instruction" in errors
    else:
        assert all(calls <= counted[pid] for pid, calls in seen.items())
        assert "20 processes were forked meanwhile" in errors
        assert re.search(r"probes came late \d+ times?.*the longest was [\d.]+ [mu]?s, all together|ended before it "
                         r"could be looked at", errors)


# --- libraries that come and go --------------------------------------------

def sites(report, event="GASP_CALLS_STEP"):
    """Calls by source line."""
    lines = {}
    for site in gaspbpf.events(report)[event]["sites"]:
        line = f"{os.path.basename(site['file'])}:{site['line']}" if site.get("file") else None
        lines[line] = lines.get(line, 0) + site["calls"]
    return lines


def loaded(runtime, job, observe, *arguments, recording=None):
    target = job([runtime.path / "loader", *arguments], env=runtime.env).wait_ready()
    output = ["-o", recording] if recording else []
    watcher = observe(*runtime.options, "--json", *output, "-m", "calls", "-e", "job_more", "-p", target.process.pid)
    target.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert target.end() == 0
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    return target, report, errors


@pytest.mark.guest
def test_a_library_that_is_loaded_later(runtime, job, observe, rung):
    """Nobody knew it. The job pauses after each loading: where the blind window, which is told, was shorter, nothing
    was missed."""
    target, report, errors = loaded(runtime, job, observe, "--first", 0, "--rounds", 3, "--pause-us", 700000)
    window = re.search(r"probes came late 1 time.*the longest was ([\d.]+) ([mu]?s)", errors)
    assert window, errors
    assert "same place 3 of 3" in target.output()
    blind, = report["blind_windows"]
    assert (blind["pid"], blind["models"], blind["after"]) == (target.process.pid, "calls", "dlopen") \
        and blind["file"].endswith("/libcalls.so")
    assert float(window[1]) * {"s": 1e9, "ms": 1e6,
                               "us": 1e3}[window[2]] == pytest.approx(blind["to_ns"] - blind["from_ns"], rel=0.01)
    if float(window[1]) * {"s": 1, "ms": 1e-3, "us": 1e-6}[window[2]] > 0.7:
        assert gaspbpf.events(report)["GASP_CALLS_STEP"]["calls"] < 3 * (3 + 5)
        return
    assert gaspbpf.events(report)["GASP_CALLS_STEP"]["calls"] == 3 * (3 + 5)
    assert sites(report) == {"plugin.c:11": 9, "plugin.c:20": 15}


def test_libraries_that_take_each_others_place(runtime, job, observe):
    """In a tight loop: every call is seen; what cannot be placed for sure is not placed."""
    target, report, errors = loaded(runtime, job, observe, "--first", 1, "--rounds", 500)
    assert gaspbpf.events(report)["GASP_CALLS_STEP"]["calls"] == 500 * (3 + 5)
    assert "late" not in errors
    assert "same place 500 of 500" in target.output()
    assert set(sites(report)) <= {None, "plugin.c:11", "plugin.c:20"}


def test_no_call_is_placed_in_the_library_that_came_after(runtime, job, observe, tmp_path):
    """The job's calls are told by their order: in each round three of the one library, then five of the other, from the
    same address."""
    loaded(runtime, job, observe, "--first", 1, "--rounds", 500, recording=tmp_path / "run.gasp")
    assert gaspbpf.run("export", tmp_path / "run.gasp", "-o", tmp_path / "run.events").returncode == 0
    steps = [line for line in (tmp_path / "run.events").read_text().splitlines() if "GASP_CALLS_STEP" in line
             and "START" in line]
    assert len(steps) == 500 * (3 + 5)
    wrong = [line for i, line in enumerate(steps) if ("plugin.c:20" if i % 8 < 3 else "plugin.c:11") in line]
    assert not wrong, f"{len(wrong)} of {len(steps)}: {wrong[:5]}"


# --- other namespaces, other files, other processes ------------------------

PRIVATE = "mount --bind {folder}/other/libcalls.so {folder}/libcalls.so && "


def other_copy(runtime):
    (runtime.path / "other").mkdir()
    shutil.copy(runtime.path / "libcalls.so", runtime.path / "other")
    return PRIVATE.format(folder=runtime.path)


@pytest.mark.parametrize("namespaces", ["-m", "-mpf", "-mnpf"])
def test_a_command_in_other_namespaces(runtime, namespaces):
    """Its library is not the one that the same path leads to out here."""
    script = other_copy(runtime) + f"for i in 1 2 3; do {runtime.path}/step 7; done; exit 0"
    alone_out, status = alone(["unshare", namespaces, "sh", "-c", script], runtime.env)
    assert status == 0, alone_out
    runtime.truth_file.write_text("")
    result = gaspbpf.run("-q", "--json", *runtime.options, "--", "unshare", namespaces, "sh", "-c", script,
                         env=runtime.env)
    assert result.returncode == 0, result.stderr
    calls = calls_by_process(json_of(result))
    assert list(calls.values()) == [8, 8, 8]
    if "p" not in namespaces:
        assert calls == runtime.counted()


@pytest.mark.parametrize("namespaces", ["-m", "-mpf"])
def test_joining_in_other_namespaces(runtime, gated, observe, namespaces):
    script = other_copy(runtime) + f"{runtime.path}/step 50"
    target = gated(["unshare", namespaces, "sh", "-c", script + "; exit 3"])
    pid, = [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/exe")
            if os.path.realpath(path) == str(runtime.path / "step")]
    report, _ = joined(runtime, observe, target, pid, "-m", "calls")
    assert calls_by_process(report) == {pid: 50}


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_files_that_are_gone(runtime, gated, observe, change):
    """Program and library have been deleted, or others have taken their names, while the job runs."""
    target = gated([runtime.path / "step", 50])
    for name in ("libcalls.so", "step"):
        if change == "removed":
            (runtime.path / name).unlink()
        else:
            shutil.copy("/bin/true", runtime.path / "new")
            os.replace(runtime.path / "new", runtime.path / name)
    report, _ = joined(runtime, observe, target, target.process.pid, "-m", "calls")
    assert calls_by_process(report) == {target.process.pid: 50}


OTHER = """
long calls_other(long n);
long calls_other(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 31 + i; return s; }
void calls_step(int number);
void calls_step(int number) { static volatile long sum; sum += calls_other(number + 40); }
"""


@pytest.mark.parametrize("scope", ["file", "process"])
def test_a_library_that_is_written_over_between_two_runs(runtime, tmp_path, scope):
    """The same file, other contents: probes for the old ones would break the new one."""
    (tmp_path / "other.c").write_text(OTHER)
    gaspbpf.compile_c(tmp_path / "other.c", runtime.path / "next.so", "-O2", "-fPIC", "-shared",
                      "-Wl,-soname,libcalls.so")
    script = (f"{runtime.path}/step 5; cat {runtime.path}/next.so > {runtime.path}/libcalls.so; {runtime.path}/step 6; "
              f"{runtime.path}/step 7; exit 0")
    result = gaspbpf.run("-q", "--json", *runtime.options, "--scope", scope, "-m", "calls", "--", "sh", "-c", script,
                         env=runtime.env)
    assert result.returncode == 0, result.stderr
    assert sorted(runtime.counted().values()) == [6, 7, 8]
    assert calls_by_process(json_of(result)) == runtime.counted()
    assert "libcalls.so: was written over" in result.stderr


def test_a_pid_that_is_used_again(runtime):
    """Three processes with one number in their own namespace: three processes."""
    script = f"for i in 1 2 3; do echo 300 > /proc/sys/kernel/ns_last_pid; {runtime.path}/step 7$i; done; exit 0"
    result = gaspbpf.run("-q", "--json", *runtime.options, "--", "unshare", "-pf", "--mount-proc", "sh", "-c", script,
                         env=runtime.env)
    assert result.returncode == 0, result.stderr
    assert runtime.counted() == {301: 72 + 73 + 74}
    assert sorted(calls_by_process(json_of(result)).values()) == [72, 73, 74]


UNTRACED = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" : : : "memory"); return n + 1; }
int main(void)
{
	for (int i = 0; i < 3; i++) {
		long child = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);

		if (!child) {
			usleep(700000);
			for (int j = 0; j < 100; j++)
				work(j);
			_exit(0);
		}
		waitpid(child, 0, 0);
	}
	return 0;
}
"""


def test_children_that_nobody_may_hold(tmp_path):
    """Made with CLONE_UNTRACED. Each pauses first: where the blind window, which is told, was shorter, nothing was
    missed."""
    (tmp_path / "untraced.c").write_text(UNTRACED)
    gaspbpf.compile_c(tmp_path / "untraced.c", tmp_path / "untraced", "-O1")
    result = gaspbpf.run("-q", "--json", "-F", "work", "--", tmp_path / "untraced")
    assert result.returncode == 0, result.stderr
    report = json_of(result)
    windows = {window["pid"]: window["to_ns"] - window["from_ns"] for window in report["blind_windows"]
               if window["after"] == "fork"}
    assert len(windows) == 3 and len(report["processes"]) == 4
    calls = calls_by_process(report, "GASP_C_FUNC")
    for pid, blind in windows.items():
        assert blind > 700e6 or calls[pid] == 100
    assert "probes came late" in result.stderr
