# SPDX-License-Identifier: BSD-2-Clause
"""StarPU: executions against StarPU's own worker statistics, transfers against its bus statistics, submissions counted;
its performance counters out of them."""
import collections
import json
import os
import subprocess

import pytest

import conformance
import gaspbpf
import truth

EXAMPLES = "/usr/lib/x86_64-linux-gnu/starpu/examples/"
OPENCL = {"STARPU_OPENCL_ON_CPUS": "1", "STARPU_OPENCL_ONLY_ON_CPUS": "1", "STARPU_NOPENCL": "1"}

EVENTS = {
    "TASK_SUBMIT": "starpu_task_submit", "TASK_WAIT_ALL": "starpu_task_wait_for_all", "TASK_READY": "_starpu_push_task",
    "TASK_DONE": "_starpu_handle_job_termination", "FETCH_INPUT": "_starpu_fetch_task_input",
    "PUSH_OUTPUT": "_starpu_push_task_output",
    "DATA_COPY": "_starpu_driver_copy_data_1_to_1", "INTERFACE_COPY": "starpu_interface_data_copy",
    "DATA_ACQUIRE": "starpu_data_acquire_on_node",
    "DATA_RELEASE": "starpu_data_release_on_node", "DATA_REGISTER": "starpu_data_register",
}
RUNTIME = "starpu-1.3.10"
COUNTERS = [f"starpu.task.{name}" for name in (
    "g_total_submitted", "g_peak_submitted", "g_peak_ready", "w_total_executed", "w_cumul_execution_time",
    "c_total_submitted", "c_peak_submitted", "c_peak_ready", "c_total_executed", "c_cumul_execution_time")]
SPIN_NS = 100_000  # of the job's codelet `wait`


def executed(workers, kind):
    return sum(worker["executed"] for worker in workers if (worker["type"] == "STARPU_CPU_WORKER") == (kind == "CPU"))


def calls(report, name):
    """Those that StarPU makes to itself, too: the truth counts them all."""
    row = gaspbpf.events(report).get(f"GASP_STARPU_{name}")
    return truth.with_inner(row)["calls"] if row else 0


def counters(recording):
    """Those of the one process that ran tasks: global, by worker id, and those of the codelets."""
    result = gaspbpf.run("report", "--counters", "--json", recording)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)["counters"]
    assert found["missing_calls"] == 0
    (whole,) = found["global"]
    return (whole, {row["worker"]: row for row in found["per_worker"]}, found["per_kind"])


def check_against_starpu(recording, workers, submitted, internal):
    """The counters against StarPU's statistics of its workers and the submissions as counted in front of it."""
    whole, by_worker, codelets = counters(recording)
    ran = {worker["id"]: worker["executed"] for worker in workers if worker["executed"]}
    assert {number: row["total_executed"] for number, row in by_worker.items()} == ran
    assert (whole["total_submitted"], whole["internal_submitted"]) == (submitted - internal, internal)
    assert sum(row["total_submitted"] for row in codelets) == submitted - internal
    assert sum(row["total_executed"] for row in codelets) == whole["total_executed"] == sum(ran.values())
    assert 0 < whole["peak_ready"] <= submitted - internal >= whole["peak_submitted"]
    assert all(row["cumul_execution_ns"] > 0 for row in by_worker.values())
    assert sum(row["cumul_execution_ns"] for row in codelets) == sum(row["cumul_execution_ns"]
                                                                     for row in by_worker.values())
    return {row["name"]: row for row in codelets}


@pytest.mark.parametrize("opencl", [False, True], ids=["cpu", "opencl"])
def test_executions_and_transfers_are_starpus_own(job, observe, tmp_path, opencl):
    counting = truth.counting("libcount_starpu.so", tmp_path)
    arguments = [gaspbpf.WORKLOADS / "starpu_job", "--rounds", "20", "--warmup", "1", "--after", "1",
                 "--opencl", str(int(opencl))]
    environment = {**truth.ENVIRONMENT, **(OPENCL if opencl else {})}
    tasks = job([*counting, *arguments], env=environment).wait_ready()
    report = truth.window(tasks, observe, options=["-o", tmp_path / "run.gasp", "-o", tmp_path / "run.json"])
    own = tasks.truths()[0]
    (counted,) = truth.windows(tmp_path, "starpu")
    assert calls(report, "CPU_EXEC") == executed(own["workers"], "CPU")
    assert calls(report, "GPU_EXEC") == executed(own["workers"], "OpenCL") == (own["functions"]["task scale"]["calls"]
                                                                               if opencl else 0)
    assert calls(report, "TASK_SUBMIT") == own["functions"]["starpu_task_submit"]["calls"]
    assert calls(report, "TASK_WAIT_ALL") == own["functions"]["starpu_task_wait_for_all"]["calls"]
    assert calls(report, "TRANSFER") == sum(bus["count"] for bus in own["transfers"])
    for event, function in EVENTS.items():
        assert calls(report, event) == counted.get(function, {"calls": 0})["calls"], event
    for event in gaspbpf.events(report).values():  # also those that another function ends
        assert event["unwound"] == event["ended"] == event["alone"] == 0, event
    if opencl:
        assert gaspbpf.events(report)["GASP_STARPU_TRANSFER"]["bytes"] \
            == sum(bus["bytes"] for bus in own["transfers"]) > 0
        conformance.seen(RUNTIME, "GASP_STARPU_GPU_EXEC", "GASP_STARPU_TRANSFER", "GASP_STARPU_DATA_COPY")
    conformance.seen(RUNTIME, "GASP_STARPU_CPU_EXEC", "GASP_STARPU_TASK_SUBMIT", "GASP_STARPU_TASK_WAIT_ALL",
                     "GASP_STARPU_TASK_READY",
                     "GASP_STARPU_TASK_DONE", "GASP_STARPU_FETCH_INPUT", "GASP_STARPU_PUSH_OUTPUT")
    by_codelet = check_against_starpu(tmp_path / "run.gasp", own["workers"],
                                      own["functions"]["starpu_task_submit"]["calls"], 0)
    for kind, name in (("scale", "scale"), ("shift", "shift"), ("wait", "wait"), ("nothing", "nothing_on_cpu")):
        ran = own["functions"][f"task {kind}"]["calls"]
        assert (by_codelet[name]["total_submitted"], by_codelet[name]["total_executed"]) == (ran, ran)
    drawn = [event["args"] for event in json.loads((tmp_path / "run.json").read_text())["traceEvents"]
             if event["name"].endswith("U_EXEC")]
    assert collections.Counter(arguments["job.codelet"] or arguments["job.cpu_func"] for arguments in drawn) == {
        name: row["total_executed"] for name, row in by_codelet.items()}
    waits = by_codelet["wait"]
    assert waits["cumul_execution_ns"] >= SPIN_NS * waits["total_executed"] > 0
    truth.compare_with_alone(tasks, arguments, environment)


@pytest.mark.parametrize("example", [
    "cholesky_implicit -size 480 -nblocks 4", "vector_scal", "fblock", "tasks_overhead -i 2000", "hello_world",
    "variable", "callback",
    "dot_product", "task_end_dep_add", "pipeline", "minmax_reduction", "nf_vector", "prologue", "add_vectors",
    "cholesky_tag -size 480 -nblocks 4"])
def test_debians_examples_from_their_first_call(tmp_path, example):
    """Started by gaspbpf and held until the probes are in, so that nothing is missed."""
    line = [*truth.counting("libcount_starpu.so", tmp_path), *(EXAMPLES + example).split()]
    result = gaspbpf.run("-m", "starpu", "-o", tmp_path / "run.gasp", "--", *line, env=truth.ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    report = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    assert report["loss"]["lost"] == 0
    counted = json.loads((tmp_path / "count.starpu").read_text())
    whole = counted["whole"]

    def count(function):
        return whole.get(function, {"calls": 0})["calls"]

    assert calls(report, "CPU_EXEC") == executed(counted["workers"], "CPU") == count("_starpu_driver_start_job") > 0
    assert calls(report, "SUBMIT_INTERNAL") == count("_starpu_task_submit_internally")
    for event, function in EVENTS.items():
        assert calls(report, event) == count(function), event
    assert calls(report, "INIT") == calls(report, "TERMINATE") == 1
    check_against_starpu(tmp_path / "run.gasp", counted["workers"], count("starpu_task_submit"),
                         count("_starpu_task_submit_internally"))
    conformance.seen(RUNTIME, "GASP_STARPU_CPU_EXEC", "GASP_STARPU_TASK_SUBMIT", "GASP_STARPU_INIT",
                     "GASP_STARPU_TERMINATE")


def test_the_peaks_of_a_job_in_which_they_are_known(observe, tmp_path):
    """One worker is held while tasks are submitted: so many are ready, so many wait for the one before them."""
    program = tmp_path / "peaks"
    options = subprocess.run(["pkg-config", "--cflags", "--libs", "starpu-1.3"], capture_output=True, text=True,
                             check=True).stdout.split()
    subprocess.run(["cc", "-o", program, gaspbpf.TOP / "tests" / "workloads" / "starpu_peaks.c", *options], check=True,
                   timeout=gaspbpf.PATIENCE)
    free, chained = 9, 5
    with subprocess.Popen([program, str(free), str(chained)],
                          env={**os.environ, **truth.ENVIRONMENT, "STARPU_NCPU": "1"}, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tasks:
        try:
            assert tasks.stdout.readline() == "ready\n"
            watcher = observe("-p", tasks.pid, "-o", tmp_path / "run.gasp")
            tasks.stdin.write("go\n")
            tasks.stdin.flush()
            assert tasks.stdout.readline() == "done\n"
            status, _, errors = watcher.stop()
            assert status == 0, errors
            tasks.communicate(timeout=gaspbpf.PATIENCE)
        finally:
            tasks.kill()
    whole, by_worker, codelets = counters(tmp_path / "run.gasp")
    by_codelet = {row["name"]: row for row in codelets}
    assert (whole["total_submitted"], whole["total_executed"]) == (1 + free + chained, 1 + free + chained)
    assert (whole["peak_ready"], whole["peak_submitted"]) == (free + 1, chained - 1)
    assert {number: row["total_executed"] for number, row in by_worker.items()} == {0: 1 + free + chained}
    expected = {"gate": (1, 1, 1, 1), "free": (free, 1, free, free), "chained": (chained, chained - 1, 1, chained)}
    for name, numbers in expected.items():
        row = by_codelet[name]
        assert (row["total_submitted"], row["peak_submitted"], row["peak_ready"], row["total_executed"]) == numbers, \
            name
    exported = gaspbpf.run("export", tmp_path / "run.gasp", "-o", tmp_path / "run.events")
    assert exported.returncode == 0, exported.stderr
    started = [line for line in (tmp_path / "run.events").read_text().splitlines()
               if " START GASP_STARPU_CPU_EXEC " in line]
    assert [len([line for line in started if f".codelet={name} " in line]) for name in ("gate", "free", "chained")] == [
        1, free, chained]
    conformance.seen(RUNTIME, *COUNTERS)
