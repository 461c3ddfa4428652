# SPDX-License-Identifier: BSD-2-Clause
"""A StarPU that hides its internal functions, as 1.4 does: what is exported is seen, what is not is not known, and
never 0."""
import json
import os
import re
import subprocess

import conformance
import gaspbpf
import toolkit

RUNTIME = "starpu-1.4-layout"
TASKS = 30
PROGRAM = r"""
#include <stdlib.h>

int starpu_initialize(void *conf, int *argc, char ***argv);
int starpu_task_submit(void *task);
int starpu_task_wait_for_all(void);
void starpu_shutdown(void);

int main(void)
{
	static long tasks[TASKS][64];

	if (starpu_initialize(NULL, NULL, NULL))
		return 77;
	for (int i = 0; i < TASKS; i++)
		starpu_task_submit(tasks[i]);
	starpu_task_wait_for_all();
	starpu_shutdown();
	return 0;
}
"""


LISTENER = r"""
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>

static int id;

static void told(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample, void *scope)
{
	printf("%s %s %" PRId64 "\n", (const char *)scope, gaspbpf_starpu_sample_worker(sample) < 0 ? "?" : "known",
	       starpu_perf_counter_sample_get_int64_value(sample, id));
}

static struct starpu_perf_counter_listener *listen(enum starpu_perf_counter_scope scope, const char *name, char *word)
{
	struct starpu_perf_counter_set *set = starpu_perf_counter_set_alloc(scope);

	id = starpu_perf_counter_name_to_id(scope, name);
	starpu_perf_counter_set_enable_id(set, id);
	return starpu_perf_counter_listener_init(set, told, word);
}

int main(int argc, char **argv)
{
	if (argv[1][0] == 'a')
		starpu_perf_counter_set_all_per_worker_listeners(listen(starpu_perf_counter_scope_per_worker, "starpu.task.w_total_executed", "all"));
	if (argv[1][0] == 'o')
		starpu_perf_counter_set_per_worker_listener(0, listen(starpu_perf_counter_scope_per_worker, "starpu.task.w_total_executed", "one"));
	if (argv[1][0] == 'c')
		starpu_perf_counter_set_per_codelet_listener(gaspbpf_starpu_codelet("x"),
			listen(starpu_perf_counter_scope_per_codelet, "starpu.task.c_total_executed", "codelet"));
	if (argv[1][0] == 'g')
		starpu_perf_counter_set_global_listener(listen(starpu_perf_counter_scope_global, argv[2], "global"));
	return starpu_task_wait_for_all();
}
"""


def record(tmp_path, version="1.4"):
    """A run of the stand-in."""
    library = tmp_path / f"libstarpu-{version}.so.1"
    gaspbpf.compile_c(gaspbpf.TOP / "tests" / "workloads" / "starpu_hiding.c", library, "-D_GNU_SOURCE", "-O1",
                      "-shared", "-fPIC", f"-Wl,-soname,{library.name}")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", f"-DTASKS={TASKS}", "-o", tmp_path / "program", tmp_path / "program.c", library,
                    f"-Wl,-rpath,{tmp_path}"], check=True,
                   timeout=gaspbpf.PATIENCE)
    result = gaspbpf.run("-o", tmp_path / "run.gasp", "--", tmp_path / "program")
    assert result.returncode == 0, result.stderr
    return tmp_path / "run.gasp"


def test_what_a_library_that_hides_its_functions_shows(tmp_path):
    record(tmp_path)
    report = json.loads(gaspbpf.run("report", "--counters", "--json", tmp_path / "run.gasp").stdout)
    calls = {name.removeprefix("GASP_STARPU_"): row["calls"] for name, row in gaspbpf.events(report).items()}
    on_device = TASKS // 3
    assert calls == {"CPU_EXEC": TASKS - on_device, "GPU_EXEC": on_device, "INTERFACE_COPY": on_device,
                     "TASK_SUBMIT": TASKS, "TASK_WAIT_ALL": 1, "INIT": 1, "TERMINATE": 1}
    assert gaspbpf.events(report)["GASP_STARPU_INTERFACE_COPY"]["bytes"] == 1000 * on_device
    (whole,) = report["counters"]["global"]
    assert whole["total_executed"] == TASKS
    # Whose they are stands in a struct of which nothing is known: they are counted, but not as the program's.
    assert (whole["total_submitted"], whole["internal_submitted"], whole["submitted_at_most"]) == (None, None, TASKS)
    assert whole["peak_submitted"] is None and whole["peak_ready"] is None  # without its READY nobody knows
    (worker,) = report["counters"]["per_worker"]
    assert (worker["worker"], worker["name"], worker["total_executed"]) == (None, "CPU 0", TASKS)
    assert not report["counters"]["per_kind"]
    text = gaspbpf.run("report", "--counters", tmp_path / "run.gasp").stdout
    assert re.search(rf"^starpu +\d+ +<= {TASKS} +- +- +- +{TASKS} ", text, re.M), text
    assert "Codelets: not known" in text
    conformance.seen(RUNTIME, "GASP_STARPU_CPU_EXEC", "GASP_STARPU_GPU_EXEC", "GASP_STARPU_TASK_SUBMIT",
                     "GASP_STARPU_INIT", "GASP_STARPU_TERMINATE", "GASP_STARPU_INTERFACE_COPY")


def test_a_listener_hears_what_is_known_and_is_told_what_is_not(tmp_path):
    """Neither silence nor a 0: workers without a number go to who listens to all of them, and what is not known is -1;
    both are said."""
    recording = record(tmp_path)
    perf = gaspbpf.TOP / "build" / "libgaspbpf-starpu-perf"
    (tmp_path / "listener.c").write_text(LISTENER)
    subprocess.run(["cc", f"-I{gaspbpf.TOP / 'include' / 'starpu-perf'}", "-o", tmp_path / "listener",
                    tmp_path / "listener.c", f"-L{perf}", f"-Wl,-rpath,{perf}",
                    "-lgaspbpf-starpu-perf"], check=True, timeout=gaspbpf.PATIENCE)

    def listen(*arguments):
        result = subprocess.run([tmp_path / "listener", *arguments],
                                env={**os.environ, "GASPBPF_SOURCE": str(recording)}, capture_output=True, text=True,
                                timeout=gaspbpf.PATIENCE)
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines(), result.stderr

    assert listen("all") == ([f"all ? {n}" for n in range(1, TASKS + 1)], "")
    out, errors = listen("one")
    assert not out and f"{TASKS} samples of workers were given to nobody" in errors
    out, errors = listen("codelet")
    assert not out and "no listener of a codelet was told anything" in errors
    for counter in ("g_total_submitted", "g_peak_submitted", "g_peak_ready"):
        out, errors = listen("global", f"starpu.task.{counter}")
        assert out and set(out) == {"global ? -1"}
        assert errors.count("\n") == 1 \
            and f"starpu.task.{counter} is not known with the job's build of StarPU" in errors


def test_the_struct_of_the_headers_that_a_tool_was_compiled_with(tmp_path):
    """StarPU 1.5 has two texts more in the middle of what a callback gets: a tool of one reads nonsense from the struct
    of the other."""
    (tmp_path / "old").mkdir()
    old, new = record(tmp_path / "old"), record(tmp_path, "1.5")
    later = toolkit.build(tmp_path, "starpu_log_1_5.c")
    linked = toolkit.build(tmp_path, "starpu_log_1_5.c", "-Wl,--no-as-needed", str(tmp_path / "libstarpu-1.5.so.1"),
                           f"-Wl,-rpath,{tmp_path}", name="linked.so")
    before = toolkit.build(tmp_path, "starpu_log.c")
    on_device = TASKS // 3

    def told(recording, tool, *options):
        result = gaspbpf.run("replay", recording, "--starpu-tool", tool, *options)
        assert result.returncode == 0, result.stderr
        return [line for line in result.stdout.splitlines() if line.split()[0] in ("9", "11")]

    # The job's StarPU is taken, if nothing says otherwise; the library it was linked with, the header, or the user may.
    for recording, version, tool, options in ((new, 5, later, ()), (old, 4, linked, ()),
                                              (old, 4, later, ("--starpu-headers=1.5",))):
        lines = told(recording, tool, *options)
        assert sorted(lines) == sorted(
            [f"9 worker=-1 device=-1 driver=0 starpu=1.{version} task= model=(0) function=0"] * (TASKS - on_device) +
                                       [f"11 worker=-1 device=-1 driver=1 starpu=1.{version} task= model=(0) "
                                        "function=0"] * on_device)
    for recording, version in ((old, 4), (new, 5)):
        lines = told(recording, before)
        assert sorted(lines) == sorted([f"9 9 worker=-1 device=-1 driver=0 starpu=1.{version}"] * (TASKS - on_device) +
                                       [f"11 11 worker=-1 device=-1 driver=1 starpu=1.{version}"] * on_device)
    result = gaspbpf.run("replay", old, "--starpu-tool", later)
    assert result.returncode == 1 and "crashed" in result.stderr and "--starpu-headers=1.4 or 1.5 says" in result.stderr
