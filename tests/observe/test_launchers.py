# SPDX-License-Identifier: BSD-2-Clause
"""A launcher is not the job: shells, launchers of ranks, timeout and the like are in no figure; what they start is,
exactly."""
import json
import os
import pathlib
import sys

import pytest

import gaspbpf
import remains
import truth
from following import calls_by_process, gated, json_of, runtime  # noqa: F401 (fixtures)

THREADS = gaspbpf.WORKLOADS / "threads"
COUNTER = gaspbpf.WORKLOADS / "libcount_libc.so"


def models(report):
    return {row["model"] for row in report["events"]}


def left_out(report):
    """Names by reason."""
    names = {}
    for process in report["left_out"]:
        names.setdefault(process["why"], set()).add(os.path.basename(process["command"].split()[0]))
    return names


def pids(report, key="processes"):
    return {process["pid"] for process in report[key]}


def consistent(report):
    """Nothing of those that are left out is in any figure."""
    inside = pids(report)
    assert not inside & pids(report, "left_out")
    assert {thread["pid"] for thread in report["threads"]} <= inside
    calls = sum(row["calls"] for row in report["by_thread"])
    assert calls == sum(row["calls"] for row in report["events"])
    assert calls + sum(row["calls"] for row in report["inner_by_thread"]) == report["loss"]["calls"]
    return report


@pytest.mark.parametrize("implementation, launcher", [("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.hydra")])
def test_ranks_and_nothing_else(tmp_path, implementation, launcher):
    """Although memory and threads are asked for, only those of the ranks are there: in the report, the recording, and
    for viewers."""
    job, counter = gaspbpf.WORKLOADS / f"mpi_job_{implementation}", gaspbpf.WORKLOADS / \
        f"libcount_mpi_{implementation}.so"
    result = gaspbpf.run("-q", "--json", "-m", "+c,+pthread", "-o", tmp_path / "run.gasp", "-o", tmp_path / "run.json",
                         "--", launcher, "-n", 2, "env",
                         f"LD_PRELOAD={counter}", f"COUNT_FILE={tmp_path / 'count'}", job, "--rounds", 2,
                         env={**truth.ENVIRONMENT, **gaspbpf.MPI_ENVIRONMENT})
    assert result.returncode == 0, result.stderr
    report = consistent(json_of(result))
    assert sorted(process["rank"] for process in report["processes"]) == [0, 1]
    assert launcher in left_out(report)["launcher"]
    files = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("count.mpi*"))]
    assert len(files) == 2
    assert gaspbpf.events(report)["GASP_MPI_SEND"]["calls"] == sum(file["whole"]["MPI_Send"]["calls"] for file in files)
    assert gaspbpf.events(report)["GASP_C_MALLOC"]["calls"]
    trace = json.loads((tmp_path / "run.json").read_text())
    assert {event["pid"] for event in trace["traceEvents"] if "pid" in event} == pids(report)
    text = gaspbpf.run("report", tmp_path / "run.gasp").stdout
    assert f"left out: {launcher} (pid " in text and "--all-processes observes" in text


@pytest.fixture
def counting(tmp_path):
    return {"LD_PRELOAD": str(COUNTER), "COUNT_FILE": str(tmp_path / "count.%d")}


def counted(tmp_path, pid, function):
    return json.loads((tmp_path / f"count.{pid}.libc").read_text())["whole"][function]["calls"]


@pytest.mark.parametrize("wrapper", [
    ["timeout", "60"], ["env", "A=b", "nice", "-n", "1"], ["setsid", "-w"], ["sh", "-c", '"$@"; exit $?', "sh"],
    ["bash", "-c", 'timeout -s KILL 60 "$@"; exit $?', "bash"], ["stdbuf", "-oL"],
], ids=lambda wrapper: wrapper[0])
def test_the_program_under_a_wrapper(tmp_path, counting, wrapper):
    """There is no parallel runtime at all. The program is observed from its first call on, and it alone."""
    result = gaspbpf.run("-q", "--json", "--", *wrapper, THREADS, "--rounds", 3, env=counting)
    assert result.returncode == 0, result.stderr
    report = consistent(json_of(result))
    process, = report["processes"]
    assert "threads" in process["command"]
    for event, function in ("GASP_C_MALLOC", "malloc"), ("GASP_C_CALLOC", "calloc"), \
            ("GASP_PTHREAD_CREATE", "pthread_create"):
        assert gaspbpf.events(report)[event]["calls"] == counted(tmp_path, process["pid"], function), event


def test_all_processes_are_observed_where_that_is_asked_for(tmp_path):
    result = gaspbpf.run("-q", "--json", "--all-processes", "--", "timeout", "60", THREADS, "--rounds", 3)
    assert result.returncode == 0, result.stderr
    report = consistent(json_of(result))
    assert report["left_out"] == []
    assert sorted(os.path.basename(process["command"].split()[0]) for process in report["processes"]) == [
        "threads", "timeout"]


def test_a_script_with_several_commands(runtime, tmp_path):  # noqa: F811
    """What comes before the job maps no runtime: that there is one shows only later, and then it is nothing any more,
    neither live nor in the recording."""
    script = (f"cp {runtime.path}/step {tmp_path}/copy; {THREADS} --rounds 2 >/dev/null; {runtime.path}/step 7; ls / "
              f">/dev/null; {runtime.path}/step 8; exit 0")
    result = gaspbpf.run("-q", "--json", "-o", tmp_path / "run.gasp", "-o", tmp_path / "run.json", *runtime.options,
                         "--", "sh", "-c", script, env=runtime.env)
    assert result.returncode == 0, result.stderr
    live = consistent(json_of(result))
    recorded = json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout)
    for report in live, recorded:
        assert calls_by_process(report) == runtime.counted() and len(runtime.counted()) == 2
        assert pids(report) == set(runtime.counted())
        assert models(report) == {"calls"}
        assert left_out(report) == {"launcher": {"sh"}, "beside": {"cp", "threads", "ls"}}
    assert recorded == live
    trace = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert {event["pid"] for event in trace if "pid" in event} == set(runtime.counted())
    assert sum(event.get("name") == "GASP_CALLS_STEP" for event in trace) == 17


DRIVER = """
import subprocess, sys
subprocess.run(sys.argv[1:], check=False)
"""


@pytest.mark.parametrize("models_wish", [[], ["-m", "+c"]], ids=["default", "c"])
def test_what_turns_out_to_be_a_launcher(runtime, tmp_path, models_wish):  # noqa: F811
    """A program like any other, until something that it has started maps a runtime where it maps none."""
    (tmp_path / "driver.py").write_text(DRIVER)
    result = gaspbpf.run("-q", "--json", "-o", tmp_path / "run.gasp", *runtime.options, *models_wish, "--",
                         sys.executable, tmp_path / "driver.py", runtime.path / "step", 7, env=runtime.env)
    assert result.returncode == 0, result.stderr
    report = consistent(json_of(result))
    assert calls_by_process(report) == runtime.counted()
    assert pids(report) == set(runtime.counted())
    assert len(left_out(report)["launcher"]) == 1
    assert json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout) == report


def test_joining_a_wrapper_looks_at_its_child(job, observe, tmp_path):
    """And at nobody else who maps the same library. (It is a copy, so that no other test's probes are in it.)"""
    library = remains.copy_of("libc.so.6", tmp_path)
    own = {"LD_LIBRARY_PATH": str(tmp_path)}
    target = job(["timeout", "600", THREADS], env=own).wait_ready()
    bystander = job([THREADS], env=own).wait_ready()
    watcher = observe("-p", target.process.pid, "--json")
    target.work()
    bystander.work()
    assert remains.changed_text(target.pids()[0], library)
    assert not remains.changed_text(bystander.process.pid, library)
    status, out, errors = watcher.stop()
    assert status == 0, errors
    report = consistent(json.loads(out))
    assert [each.end() for each in (target, bystander)] == [0, 0]
    assert pids(report) == set(target.pids()) and left_out(report) == {"launcher": {"timeout"}}
    assert gaspbpf.events(report)["GASP_C_MALLOC"]["calls"] == truth.functions(target)[0]["malloc"]["calls"]


def test_joining_a_script_goes_on_with_its_later_jobs(runtime, gated, observe, tmp_path):  # noqa: F811
    """It ends with the script, not with the first of its jobs."""
    gates = [tmp_path / f"gate{i}" for i in range(3)]
    script = tmp_path / "script"
    script.write_text("".join(f"FOLLOW_GATE={gate} {runtime.path}/step {100 + i}\n" for i, gate in enumerate(gates)) +
                      "exit 3\n")
    target = gated(["sh", script], folder=gates[0])
    watcher = observe(*runtime.options, "--json", "-p", target.process.pid)
    for gate in gates:
        gaspbpf.wait_for(pathlib.Path(f"{gate}.ready").exists, "the next job")
        pid = runtime_pid(runtime, gate)
        gaspbpf.wait_for(lambda: remains.patched(pid, remains.places(pid, *runtime.options, "-m", "calls")),
                         "it to have its probes")
        for what in "go", "end":
            pathlib.Path(f"{gate}.{what}").touch()
    assert target.process.wait(timeout=gaspbpf.PATIENCE) == 3
    status, out, errors = watcher.finish()
    assert status == 0, errors
    report = consistent(json.loads(out))
    # One call comes before the gate: those that were seen from their start made one more.
    assert [calls - (calls > 100 + i) for i, calls in enumerate(sorted(calls_by_process(report).values()))] == [
        100, 101, 102]
    assert models(report) == {"calls"} and left_out(report)["launcher"] == {"sh"}


def runtime_pid(runtime, gate):  # noqa: F811
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if os.readlink(path.parent / "exe") == str(runtime.path / "step") \
                    and f"FOLLOW_GATE={gate}\0" in path.read_text(errors="replace"):
                return int(path.parent.name)
        except OSError:
            pass
    raise AssertionError(f"nobody is at {gate}")
