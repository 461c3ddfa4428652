# SPDX-License-Identifier: BSD-2-Clause
"""libgaspbpf-starpu-perf: the document's example of StarPU's performance counters (section 6.2) prints what StarPU's
own statistics say."""
import os
import re
import subprocess

import pytest

import conformance
import gaspbpf
import truth

RUNTIME = "starpu-1.3.10"
LIBRARY = gaspbpf.TOP / "build" / "libgaspbpf-starpu-perf"
TASKS = 23

# The steps of section 6.2 as they stand there; the callback adds a line for each sample, the tasks are the test's.
APPLICATION = r"""
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static int id_w_total_executed, id_w_cumul_execution_time;

static void w_listener_cb(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample, void *context)
{
	int64_t total = starpu_perf_counter_sample_get_int64_value(sample, id_w_total_executed);
	double time = READ_TIME(sample, id_w_cumul_execution_time);

	printf("worker %d: %" PRId64 " tasks in %.3f us\n", gaspbpf_starpu_sample_worker(sample), total, (double)time);
}

static void c_listener_cb(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample, void *context)
{
	printf("codelet %s: %" PRId64 " submitted\n", gaspbpf_starpu_sample_codelet(sample),
	       starpu_perf_counter_sample_get_int64_value(sample, *(int *)context));
}

static void work(void *buffers[], void *argument)
{
}

static struct starpu_codelet codelet = { .cpu_funcs = { work }, .name = "example" };

int main(void)
{
	int ret = starpu_init(NULL);
	enum starpu_perf_counter_scope w_scope = starpu_perf_counter_scope_per_worker;
	enum starpu_perf_counter_scope c_scope = starpu_perf_counter_scope_name_to_id("per_codelet");
	struct starpu_perf_counter_set *w_set = starpu_perf_counter_set_alloc(w_scope), *c_set = starpu_perf_counter_set_alloc(c_scope);
	struct starpu_perf_counter_listener *w_listener, *c_listener;
	int id_c_total_submitted = starpu_perf_counter_name_to_id(c_scope, "starpu.task.c_total_submitted");

	if (ret)
		return 77;
	id_w_total_executed = starpu_perf_counter_name_to_id(w_scope, "starpu.task.w_total_executed");
	id_w_cumul_execution_time = starpu_perf_counter_name_to_id(w_scope, "starpu.task.w_cumul_execution_time");
	starpu_perf_counter_set_enable_id(w_set, id_w_total_executed);
	starpu_perf_counter_set_enable_id(w_set, id_w_cumul_execution_time);
	w_listener = starpu_perf_counter_listener_init(w_set, w_listener_cb, NULL);
	starpu_perf_counter_set_all_per_worker_listeners(w_listener);
	starpu_perf_counter_set_enable_id(c_set, id_c_total_submitted);
	c_listener = starpu_perf_counter_listener_init(c_set, c_listener_cb, &id_c_total_submitted);
	starpu_perf_counter_set_per_codelet_listener(&codelet, c_listener);
	for (int i = 0; i < TASKS; i++) {
		struct starpu_task *task = starpu_task_create();

		task->cl = &codelet;
		if (starpu_task_submit(task))
			abort();
	}
	starpu_task_wait_for_all();
	starpu_shutdown();
	return 0;
}
"""


def last_samples(output):
    """The last sample of each worker: {id: tasks}; counters never go back."""
    samples = re.findall(r"^worker (-?\d+): (\d+) tasks in ([\d.]+) us$", output, re.M)
    last = {}
    for worker, tasks, time in samples:
        before = last.get(int(worker), (0, 0.0))
        assert int(tasks) == before[0] + 1 and float(time) >= before[1]
        last[int(worker)] = (int(tasks), float(time))
    return {worker: tasks for worker, (tasks, _) in last.items()}


@pytest.fixture(scope="module")
def listener(tmp_path_factory):
    program = tmp_path_factory.mktemp("listener") / "listener"
    subprocess.run(["cc", "-Wall", "-Wextra", f"-I{gaspbpf.TOP / 'include' / 'starpu-perf'}", "-o", program,
                    gaspbpf.TOP / "examples" / "tools" / "counter_listener.c", f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}",
                    "-lgaspbpf-starpu-perf"],
                   check=True, timeout=gaspbpf.PATIENCE)
    return program


def test_over_a_recording(job, observe, tmp_path, listener):
    tasks = job([gaspbpf.WORKLOADS / "starpu_job", "--rounds", "5"], env=truth.ENVIRONMENT).wait_ready()
    truth.window(tasks, observe, options=["-o", tmp_path / "run.gasp"])
    result = subprocess.run([listener], env={**os.environ, "GASPBPF_SOURCE": str(tmp_path / "run.gasp")},
                            capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert result.returncode == 0, result.stderr
    executed = {worker["id"]: worker["executed"] for worker in tasks.truths()[0]["workers"] if worker["executed"]}
    assert last_samples(result.stdout) == executed != {}
    conformance.seen(RUNTIME, "starpu.task.w_total_executed", "starpu.task.w_cumul_execution_time")


def test_over_a_running_job(job, listener):
    tasks = job([gaspbpf.WORKLOADS / "starpu_job", "--rounds", "5"], env=truth.ENVIRONMENT).wait_ready()
    with subprocess.Popen([listener], env={**os.environ, "GASPBPF_SOURCE": f"pid:{tasks.process.pid}"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
        try:
            assert any("observing" in line for line in iter(watcher.stderr.readline, "")), "it never observes"
            tasks.work()
            assert tasks.end() == 0, tasks.output()
            out, errors = watcher.communicate(timeout=gaspbpf.PATIENCE)
        finally:
            watcher.kill()
    assert watcher.returncode == 0, errors
    total = sum(last_samples(out).values())
    assert total == sum(worker["executed"] for worker in tasks.truths()[0]["workers"]) > 0


def build_application(tmp_path, read_time):
    (tmp_path / "application.c").write_text(APPLICATION)
    starpu = subprocess.run(["pkg-config", "--cflags", "--libs", "starpu-1.3"], capture_output=True, text=True,
                            check=True).stdout.split()
    subprocess.run(["cc", f"-DTASKS={TASKS}", f"-DREAD_TIME={read_time}",
                    f"-I{gaspbpf.TOP / 'include' / 'starpu-perf'}", "-o", tmp_path / "application",
                    tmp_path / "application.c", f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lgaspbpf-starpu-perf",
                    *starpu], check=True,
                   timeout=gaspbpf.PATIENCE)
    environment = {**os.environ, **truth.ENVIRONMENT}
    environment.pop("GASPBPF_SOURCE", None)
    return subprocess.run([tmp_path / "application"], env=environment, capture_output=True, text=True,
                          timeout=gaspbpf.PATIENCE)


def test_in_the_application_itself(tmp_path):
    """A StarPU 1.3 program uses 1.4's interface on itself, and every task after that step is counted."""
    result = build_application(tmp_path, "starpu_perf_counter_sample_get_double_value")
    assert result.returncode == 0, result.stderr
    assert sum(last_samples(result.stdout).values()) == TASKS
    assert re.findall(r"codelet (\S+): (\d+) submitted", result.stdout)[-1] == ("example", str(TASKS))


def test_a_counter_of_another_type_is_a_mistake(tmp_path):
    result = build_application(tmp_path, "starpu_perf_counter_sample_get_float_value")
    assert result.returncode != 0
    assert ("starpu.task.w_cumul_execution_time is of type double: "
            "use starpu_perf_counter_sample_get_double_value()") in result.stderr
