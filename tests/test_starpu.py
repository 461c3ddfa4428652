"""StarPU: executions against StarPU's own worker statistics, transfers against its bus statistics, submissions counted."""
import json
import subprocess

import pytest

import gaspbpf
import truth

EXAMPLES = "/usr/lib/x86_64-linux-gnu/starpu/examples/"
OPENCL = {"STARPU_OPENCL_ON_CPUS": "1", "STARPU_OPENCL_ONLY_ON_CPUS": "1", "STARPU_NOPENCL": "1"}


def executed(workers, kind):
    return sum(worker["executed"] for worker in workers if (worker["type"] == "STARPU_CPU_WORKER") == (kind == "CPU"))


def calls(report, name):
    row = gaspbpf.events(report).get(f"GASP_STARPU_{name}")
    return row["calls"] if row else 0


@pytest.mark.parametrize("opencl", [False, True], ids=["cpu", "opencl"])
def test_executions_and_transfers_are_starpus_own(job, observe, opencl):
    arguments = [gaspbpf.WORKLOADS / "starpu_job", "--rounds", "20", "--warmup", "1", "--after", "1",
                 "--opencl", str(int(opencl))]
    environment = {**truth.ENVIRONMENT, **(OPENCL if opencl else {})}
    tasks = job(arguments, env=environment).wait_ready()
    report = truth.window(tasks, observe)
    own = tasks.truths()[0]
    assert calls(report, "CPU_EXEC") == executed(own["workers"], "CPU")
    assert calls(report, "GPU_EXEC") == executed(own["workers"], "OpenCL") == (own["functions"]["task scale"]["calls"] if opencl else 0)
    assert calls(report, "TASK_SUBMIT") == own["functions"]["starpu_task_submit"]["calls"]
    assert calls(report, "TASK_WAIT_ALL") == own["functions"]["starpu_task_wait_for_all"]["calls"]
    assert calls(report, "TRANSFER") == sum(bus["count"] for bus in own["transfers"])
    if opencl:
        assert gaspbpf.events(report)["GASP_STARPU_TRANSFER"]["bytes"] == sum(bus["bytes"] for bus in own["transfers"]) > 0
    alone = subprocess.run([*map(str, arguments)], capture_output=True, text=True, env=environment, timeout=gaspbpf.PATIENCE,
                           check=True)
    assert truth.checksum(alone.stdout) == truth.checksum(tasks.output())


@pytest.mark.parametrize("example", ["cholesky_implicit", "vector_scal", "fblock", "tasks_overhead -i 2000"])
def test_debians_examples_from_their_first_call(tmp_path, example):
    """Started by gaspbpf and held until the probes are in, so that nothing is missed."""
    line = [*truth.counting("libcount_starpu.so", tmp_path), *(EXAMPLES + example).split()]
    result = gaspbpf.run("-o", tmp_path / "run.gasp", "--", *line, env=truth.ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    report = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    assert report["loss"]["lost"] == 0
    counted = json.loads((tmp_path / "count.starpu").read_text())
    whole = counted["whole"]

    def count(function):
        return whole.get(function, {"calls": 0})["calls"]

    assert calls(report, "CPU_EXEC") == executed(counted["workers"], "CPU") == count("_starpu_driver_start_job") > 0
    assert calls(report, "TASK_SUBMIT") == count("starpu_task_submit") > 0
    assert calls(report, "SUBMIT_INTERNAL") == count("_starpu_task_submit_internally")
    assert calls(report, "TASK_WAIT_ALL") == count("starpu_task_wait_for_all")
    assert calls(report, "INIT") == calls(report, "TERMINATE") == 1
