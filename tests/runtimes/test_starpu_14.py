# SPDX-License-Identifier: BSD-2-Clause
"""StarPU 1.4 as Debian 13 has it: stripped, its internal functions hidden. What it still shows, against the job's own
counts and StarPU's statistics."""
import collections
import json
import os
import re
import subprocess

import pytest

import conformance
import debian
import gaspbpf
import toolkit
import truth

RUNTIME = "starpu-1.4.7"
ROUNDS = 6
ENVIRONMENT = {**truth.ENVIRONMENT, "STARPU_NCPU": "2"}


@pytest.fixture(scope="module")
def starpu():
    return debian.libraries_of("trixie", "libstarpu-1.4-6", ["libstarpu-dev", "libpapi-dev"])


@pytest.fixture(scope="module")
def program(starpu, tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "starpu_job"
    jobs = gaspbpf.TOP / "tests" / "workloads"
    debian.build_there(starpu, path, "-isystem", starpu / "usr/include/starpu/1.4", jobs / "starpu_job.c",
                       jobs / "job.c", "-l:libstarpu-1.4.so.6", "-l:libOpenCL.so.1", "-lm")
    return path


@pytest.fixture(scope="module")
def recorded(program, tmp_path_factory):
    """The job's work, observed while it waits before and after: (recording, the job's truth)."""
    folder = tmp_path_factory.mktemp("run")
    tasks = gaspbpf.Job([program, "--rounds", str(ROUNDS)], folder, env=ENVIRONMENT)
    watcher = None
    try:
        watcher = gaspbpf.Observation("-m", "starpu", "-p", tasks.wait_ready().process.pid, "-o", folder / "run.gasp")
        tasks.work()
        status, _, errors = watcher.stop()
        assert status == 0, errors
        assert tasks.end() == 0, tasks.output()
        return folder / "run.gasp", tasks.truths()[0]
    finally:
        tasks.kill()
        if watcher and watcher.process.poll() is None:
            watcher.process.kill()


def counters(recording):
    return json.loads(gaspbpf.run("report", "--counters", "--json", recording).stdout)


def ran(own):
    return {worker["id"]: worker["executed"] for worker in own["workers"] if worker["executed"]}


def test_its_counters(recorded):
    recording, own = recorded
    report = counters(recording)
    (whole,) = report["counters"]["global"]
    assert (whole["total_submitted"], whole["internal_submitted"]) == (own["functions"]["starpu_task_submit"]["calls"],
                                                                       0)
    assert {row["worker"]: row["total_executed"] for row in report["counters"]["per_worker"]} == ran(own)
    assert whole["peak_ready"] is None and whole["peak_submitted"] is None
    codelets = {row["name"]: row for row in report["counters"]["per_kind"]}
    for kind, name in (("scale", "scale"), ("shift", "shift"), ("wait", "wait"), ("nothing", "nothing_on_cpu")):
        calls = own["functions"][f"task {kind}"]["calls"]
        assert (codelets[name]["total_submitted"], codelets[name]["total_executed"]) == (calls, calls)
    conformance.seen(RUNTIME, "GASP_STARPU_TASK_SUBMIT", "GASP_STARPU_CPU_EXEC", "starpu.task.g_total_submitted",
                     "starpu.task.w_total_executed", "starpu.task.c_total_submitted", "starpu.task.c_total_executed")


def test_tasks_that_it_submits_to_itself(program, tmp_path):
    """Each acquisition of data is a task of StarPU's, which it submits as a program would: not the program's."""
    result = gaspbpf.run("-m", "starpu", "-o", tmp_path / "run.gasp", "--", program, "--rounds", ROUNDS, "--truth",
                         tmp_path / "truth", env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    report = counters(tmp_path / "run.gasp")
    (whole,) = report["counters"]["global"]
    submitted = json.loads((tmp_path / "truth").read_text())["functions"]["starpu_task_submit"]["calls"]
    acquired = 3 * 4  # the job fills its four vectors twice and reads them once
    events = gaspbpf.events(report)
    assert events["GASP_STARPU_TASK_SUBMIT"]["calls"] == submitted + acquired
    assert events["GASP_STARPU_DATA_ACQUIRE"]["calls"] == acquired
    assert (whole["total_submitted"], whole["internal_submitted"]) == (submitted, acquired)
    conformance.seen(RUNTIME, "GASP_STARPU_TASK_SUBMIT", "GASP_STARPU_DATA_ACQUIRE")


def test_a_tool_is_told_workers_devices_and_functions(recorded, tmp_path):
    recording, own = recorded
    result = gaspbpf.run("replay", recording, "--starpu-tool", toolkit.build(tmp_path, "starpu_tool.c"))
    assert result.returncode == 0, result.stderr
    runs = [(int(worker), name, int(count))
            for worker, name, count in re.findall(r"^worker (-?\d+) ran (\S+) (\d+) times$", result.stdout, re.M)]
    by_worker, by_function = collections.Counter(), collections.Counter()
    for worker, name, count in runs:
        by_worker[worker] += count
        by_function[name] += count
    assert by_worker == ran(own)
    assert by_function == {f"{kind}_on_cpu": own["functions"][f"task {kind}"]["calls"]
                           for kind in ("scale", "shift", "wait", "nothing")}
    said = gaspbpf.run("replay", recording, "--starpu-tool", toolkit.build(tmp_path, "starpu_log.c")).stdout
    executions = [line.split(" ") for line in said.splitlines() if line.startswith(("9 ", "10 "))]
    assert len(executions) == 2 * sum(ran(own).values())
    for _, _, worker, device, driver, version in executions:  # two CPU workers: their devices are numbered as they are
        assert worker.removeprefix("worker=") == device.removeprefix("device=") in ("0", "1")
        assert (driver, version) == ("driver=0", "starpu=1.4")
    conformance.seen(RUNTIME, "GASP_STARPU_CPU_EXEC")


def test_a_listener(recorded, tmp_path):
    recording, own = recorded
    perf = gaspbpf.TOP / "build" / "libgaspbpf-starpu-perf"
    subprocess.run(["cc", f"-I{gaspbpf.TOP / 'include' / 'starpu-perf'}", "-o", tmp_path / "listener",
                    gaspbpf.TOP / "examples/tools/counter_listener.c",
                    f"-L{perf}", f"-Wl,-rpath,{perf}", "-lgaspbpf-starpu-perf"], check=True, timeout=gaspbpf.PATIENCE)
    result = subprocess.run([tmp_path / "listener"], env={**os.environ, "GASPBPF_SOURCE": str(recording)},
                            capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert (result.returncode, result.stderr) == (0, "")
    heard = dict((int(worker), int(tasks)) for worker, tasks in re.findall(r"worker (\S+): (\d+) tasks", result.stdout))
    assert heard == ran(own)
    conformance.seen(RUNTIME, "starpu.task.w_total_executed")
