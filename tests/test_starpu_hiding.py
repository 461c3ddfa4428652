"""A StarPU that hides its internal functions, as 1.4 does: what is exported is seen, what is not is not known, and never 0."""
import json
import subprocess

import conformance
import gaspbpf

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


def test_what_a_library_that_hides_its_functions_shows(tmp_path):
    library = tmp_path / "libstarpu-1.4.so.1"
    gaspbpf.compile_c(gaspbpf.TOP / "tests" / "workloads" / "starpu_hiding.c", library, "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-Wl,-soname,libstarpu-1.4.so.1")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", f"-DTASKS={TASKS}", "-o", tmp_path / "program", tmp_path / "program.c", library, f"-Wl,-rpath,{tmp_path}"], check=True,
                   timeout=gaspbpf.PATIENCE)
    result = gaspbpf.run("-o", tmp_path / "run.gasp", "--", tmp_path / "program")
    assert result.returncode == 0, result.stderr
    report = json.loads(gaspbpf.run("report", "--counters", "--json", tmp_path / "run.gasp").stdout)
    calls = {name.removeprefix("GASP_STARPU_"): row["calls"] for name, row in gaspbpf.events(report).items()}
    on_device = TASKS // 3
    assert calls == {"CPU_EXEC": TASKS - on_device, "GPU_EXEC": on_device, "INTERFACE_COPY": on_device, "TASK_SUBMIT": TASKS, "TASK_WAIT_ALL": 1, "INIT": 1,
                     "TERMINATE": 1}
    assert gaspbpf.events(report)["GASP_STARPU_INTERFACE_COPY"]["bytes"] == 1000 * on_device
    (whole,) = report["counters"]["global"]
    assert (whole["total_submitted"], whole["total_executed"]) == (TASKS, TASKS)
    assert whole["peak_submitted"] is None and whole["peak_ready"] is None  # without its READY nobody knows
    (worker,) = report["counters"]["per_worker"]
    assert (worker["worker"], worker["name"], worker["total_executed"]) == (None, "CPU 0", TASKS)
    assert not report["counters"]["per_kind"]
    conformance.seen(RUNTIME, "GASP_STARPU_CPU_EXEC", "GASP_STARPU_GPU_EXEC", "GASP_STARPU_TASK_SUBMIT", "GASP_STARPU_INIT", "GASP_STARPU_TERMINATE",
                     "GASP_STARPU_INTERFACE_COPY")
