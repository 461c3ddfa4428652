# SPDX-License-Identifier: BSD-2-Clause
"""Tools for StarPU's profiling interface on a StarPU that has none: each callback as often as StarPU's own statistics
and the job say."""
import json
import re
import subprocess

import pytest

import conformance
import gaspbpf
import toolkit
import truth

RUNTIME = "starpu-1.3.10"
OPENCL = {"STARPU_OPENCL_ON_CPUS": "1", "STARPU_OPENCL_ONLY_ON_CPUS": "1", "STARPU_NOPENCL": "1"}
PHASES = 7

PHASES_PROGRAM = r"""
#include <pupc.h>
#include <starpu.h>

static unsigned phase;

static void work(void *buffers[], void *argument)
{
	pupc_event_start(phase);
	pupc_event_end(phase);
}

static struct starpu_codelet codelet = { .cpu_funcs = { work }, .name = "work" };

int main(void)
{
	phase = pupc_create_event("phase", NULL);
	if (starpu_init(NULL))
		return 77;
	for (int i = 0; i < PHASES; i++) {
		struct starpu_task *task = starpu_task_create();

		task->cl = &codelet;
		if (starpu_task_submit(task))
			return 1;
	}
	starpu_task_wait_for_all();
	starpu_shutdown();
	return 0;
}
"""


def told(output):
    """What the example tool says: {event: count}, {(worker, function): runs}, {node: bytes}."""
    assert "without a start" not in output, output
    events = {name: int(count) for name, count in re.findall(r"^event (\S+) (\d+)$", output, re.M)}
    runs = {(int(worker), name): int(count)
            for worker, name, count in re.findall(r"^worker (-?\d+) ran (\S+) (\d+) times$", output, re.M)}
    moved = {int(node): int(count) for node, count in re.findall(r"^node (\d+) received (\d+) bytes$", output, re.M)}
    return events, runs, moved


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    library = tmp_path_factory.mktemp("tool") / "libstarpu_tool.so"
    gaspbpf.compile_c(gaspbpf.TOP / "examples" / "tools" / "starpu_tool.c", library, "-Wall", "-Wextra", "-Werror",
                      "-shared", "-fPIC", f"-I{gaspbpf.TOP / 'include'}")
    return library


def check(output, own):
    """The callbacks of the job's window."""
    events, runs, moved = told(output)
    ran = {"CPU": 0, "OpenCL": 0}
    for worker in own["workers"]:
        ran["CPU" if worker["type"] == "STARPU_CPU_WORKER" else "OpenCL"] += worker["executed"]
    transfers = sum(bus["count"] for bus in own["transfers"])
    assert transfers > 0 and ran["CPU"] > 0 and ran["OpenCL"] > 0
    assert events["start_cpu_exec"] == events["end_cpu_exec"] == ran["CPU"]
    assert events["start_gpu_exec"] == events["end_gpu_exec"] == ran["OpenCL"]
    assert events["start_transfer"] == events["end_transfer"] == transfers
    for worker in own["workers"]:
        assert sum(count for (number, _), count in runs.items() if number == worker["id"]) == worker["executed"]
    for name, kind in (("scale_on_opencl", "scale"), ("shift_on_cpu", "shift"), ("wait_on_cpu", "wait"),
                       ("nothing_on_cpu", "nothing")):
        assert sum(count for (_, function), count in runs.items() if function == name) == own["functions"][
            f"task {kind}"]["calls"]
    received = {}
    for bus in own["transfers"]:
        received[bus["to"]] = received.get(bus["to"], 0) + bus["bytes"]
    assert moved == {node: size for node, size in received.items() if size}


def check_information(output, own):
    """What callbacks say of themselves: the event twice, the version of the job's StarPU, the kind of the worker as
    StarPU has it."""
    kinds = {worker["id"]: worker["type"] for worker in own["workers"]}
    executions = {"9": "STARPU_CPU_WORKER", "10": "STARPU_CPU_WORKER", "11": "STARPU_OPENCL_WORKER",
                  "12": "STARPU_OPENCL_WORKER"}
    seen = set()
    for line in output.splitlines():
        event, again, worker, _, driver, version = (word.split("=")[-1] for word in line.split(" "))
        assert event == again and version == "1.3", line
        if event in executions:
            assert kinds[int(worker)] == executions[event], line
            assert driver == ("0" if executions[event] == "STARPU_CPU_WORKER" else "1"), line
            seen.add(event)
    assert seen == set(executions)


def test_a_tool_on_a_running_job_and_on_its_recording(job, observe, tmp_path, tool):
    tasks = job([gaspbpf.WORKLOADS / "starpu_job", "--rounds", "10", "--opencl", "1"],
                env={**truth.ENVIRONMENT, **OPENCL}).wait_ready()
    watcher = observe("-p", tasks.process.pid, "-o", tmp_path / "run.gasp", "--starpu-tool", tool)
    tasks.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert tasks.end() == 0, tasks.output()
    check(out, tasks.truths()[0])
    again = gaspbpf.run("replay", tmp_path / "run.gasp", "--starpu-tool", tool)
    assert again.returncode == 0, again.stderr
    check(again.stdout, tasks.truths()[0])
    check_information(gaspbpf.run("replay", tmp_path / "run.gasp", "--starpu-tool",
                                  toolkit.build(tmp_path, "starpu_log.c")).stdout, tasks.truths()[0])
    conformance.seen(RUNTIME, "GASP_STARPU_CPU_EXEC", "GASP_STARPU_TRANSFER", "GASP_STARPU_GPU_EXEC")


def test_a_tool_from_the_beginning_with_events_of_the_program(tmp_path, tool):
    (tmp_path / "phases.c").write_text(PHASES_PROGRAM)
    starpu = subprocess.run(["pkg-config", "--cflags", "--libs", "starpu-1.3"], capture_output=True, text=True,
                            check=True).stdout.split()
    subprocess.run(["cc", f"-DPHASES={PHASES}", f"-I{gaspbpf.TOP / 'include'}", "-o", tmp_path / "phases",
                    tmp_path / "phases.c",
                    gaspbpf.TOP / "build" / "libpupc" / "libpupc.a", *starpu], check=True, timeout=gaspbpf.PATIENCE)
    line = [*truth.counting("libcount_starpu.so", tmp_path), tmp_path / "phases"]
    result = gaspbpf.run("-o", tmp_path / "run.gasp", "--", *line, env=truth.ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    result = gaspbpf.run("replay", tmp_path / "run.gasp", "--starpu-tool", tool)
    assert result.returncode == 0, result.stderr
    events, _, _ = told(result.stdout)
    counted = json.loads((tmp_path / "count.starpu").read_text())
    workers = counted["whole"]["_starpu_cpu_driver_init"]["calls"]
    assert [events[name] for name in ("init", "init_begin", "init_end", "terminate")] == [1] * 4
    assert [events[name] for name in ("driver_init", "driver_init_start", "driver_init_end", "driver_deinit")] == [
        workers] * 4
    assert events["user_start"] == events["user_end"] == events["start_cpu_exec"] == events["end_cpu_exec"] == PHASES
    conformance.seen(RUNTIME, "GASP_STARPU_INIT", "GASP_STARPU_TERMINATE", "GASP_STARPU_DRIVER_INIT",
                     "GASP_STARPU_DRIVER_DEINIT", "GASP_STARPU_USER", "GASP_STARPU_CPU_EXEC")
