# SPDX-License-Identifier: BSD-2-Clause
"""OpenCL, on PoCL: the host program's calls and bytes against its own account, and a program nobody here wrote; who
only looks for devices is left alone."""
import json
import re
import subprocess

import pytest

import conformance
import gaspbpf
import truth

PROGRAM = gaspbpf.WORKLOADS / "opencl_job"
UNKNOWN_BYTES = {"READ_BUFFER_RECT", "WRITE_BUFFER_RECT", "COPY_BUFFER_RECT", "READ_IMAGE", "WRITE_IMAGE", "COPY_IMAGE",
                 "FILL_IMAGE", "UNMAP_MEM_OBJECT", "MIGRATE_MEM_OBJECTS", "SVM_UNMAP", "CREATE_IMAGE"}
NAMES = {"COPY_IMAGE_TO_BUFFER": "COPY_IMAGE", "COPY_BUFFER_TO_IMAGE": "COPY_IMAGE",
         "BARRIER_WITH_WAIT_LIST": "BARRIER", "MARKER_WITH_WAIT_LIST": "MARKER", "GET_EVENT_INFO": "EVENT_STATUS",
         "CREATE_PROGRAM_WITH_SOURCE": "CREATE_PROGRAM", "CREATE_CONTEXT_FROM_TYPE": "CREATE_CONTEXT"}


def event_of(function):
    """clEnqueueSVMMemFill -> GASP_OPENCL_SVM_MEM_FILL."""
    words = re.findall("NDRange|SVM|IDs|[A-Z][a-z]+", re.sub("^clEnqueue|^cl", "", function))
    name = "_".join(words).upper()
    return f"GASP_OPENCL_{NAMES.get(name, name)}"


def test_calls_and_bytes_are_the_jobs(job, observe, rung):
    running = job([PROGRAM, "--rounds", "3"]).wait_ready()
    report = truth.window(running, observe)
    counted = truth.by_event(truth.functions(running), event_of)
    assert len(counted) > 35
    assert truth.differences_in_calls(report, counted, "OPENCL") == {}
    rows = gaspbpf.events(report)
    for name, count in counted.items():
        unknown = count["calls"] if name.removeprefix("GASP_OPENCL_") in UNKNOWN_BYTES else 0
        assert (rows[name]["bytes"] or 0, rows[name]["calls_without_bytes"] or 0) == (count["bytes"], unknown), name
    conformance.seen("ocl-icd-2.3.1-pocl-3.1", *counted)
    assert {row["model"] for row in report["events"]} == {"opencl"}
    sites = {site["file"].rsplit("/", 1)[-1] for row in report["events"] for site in row["sites"]}
    assert sites == {"opencl_job.c"}
    truth.compare_with_alone(running, [PROGRAM, "--rounds", "3"])


def test_arguments_are_the_programs(job, observe, tmp_path):
    """Kernels and their names, sizes, what waits and what does not, and what an error is."""
    running = job([PROGRAM, "--rounds", "2"]).wait_ready()
    recording = tmp_path / "x.gasp"
    watcher = observe("-p", running.process.pid, "-o", recording)
    running.work()
    assert watcher.stop()[0] == 0 and running.end() == 0
    gaspbpf.run("export", recording, "-o", tmp_path / "x.events")
    lines = (tmp_path / "x.events").read_text().splitlines()

    def values(kind, event):
        """A call whose return was left alone, as that of a process that has just loaded a kernel, has one line."""
        return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in lines
                if re.search(rf" ({kind}) GASP_OPENCL_{event} ", f"{line} ")]

    begun = values("START|ATOMIC", "NDRANGE_KERNEL")
    assert [(row["work_dim"], row["global_x"], row["global_y"]) for row in begun] == [
        ("1", "1024", "unknown"), ("2", "32", "16"), ("2", "32", "16"), ("2", "32", "16")] * 2
    kernels = {row["kernel"] for row in values("END", "CREATE_KERNEL") if row["kernel"] != "unknown"}
    assert kernels and {row["kernel"] for row in values("END", "NDRANGE_KERNEL")} <= kernels
    reads = values("START|ATOMIC", "READ_BUFFER")
    assert [(row["blocking"], row["offset"], row["size"]) for row in reads] == [("1", "2048", "4096"),
                                                                                  ("1", "0", "4096")] * 2
    assert {row["result"] for row in values("END", "READ_BUFFER")} == {"0", "-36"}  # CL_INVALID_COMMAND_QUEUE
    written = [row["event"] for row in values("END", "WRITE_BUFFER")]
    assert written and "0x0" not in written
    assert {row["blocking"] for row in values("START|ATOMIC", "WRITE_BUFFER")} == {"0"}
    ran = {row["event"] for row in values("END", "NDRANGE_KERNEL")} - {"unknown"}
    assert ran and ran <= {row["first"] for row in values("START|ATOMIC", "WAIT_FOR_EVENTS")}
    assert {row["status"] for row in values("END", "EVENT_STATUS")} == {"0"}


def sites_of(listed, model="opencl"):
    return [site for site in listed["found"] if site["model"] == model]


LIBRARY = "int clFinish(void *queue) { return !queue; }"


@pytest.fixture
def small(tmp_path):
    """A library that is OpenCL by its name."""
    subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fPIC", "-Wl,-soname,libOpenCL.so.1", "-o",
                    tmp_path / "libOpenCL.so.1"], input=LIBRARY, text=True, check=True)
    return tmp_path


def compile_here(folder, text, *options):
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", *map(str, options), f"-Wl,-rpath,{folder}",
                    f"-Wl,-rpath-link,{folder}"], input=text, text=True, check=True)


@pytest.mark.parametrize("plugin, takes_part", [("hwloc_opencl.so", False), ("libwork.so", True)])
def test_who_only_looks_for_devices_does_not_use_it(small, plugin, takes_part):
    """It takes part where a file imports its functions, those not counted that other runtimes bring to look for
    devices; or where it is asked for."""
    compile_here(small, "int clFinish(void *q); int run(int n) { return clFinish(n ? &n : 0); }", "-shared", "-fPIC",
                 small / "libOpenCL.so.1", "-o", small / plugin)
    compile_here(small, "#include <stdio.h>\nint run(int n);\nint main(void) { return run(getchar()); }",
                 small / plugin, "-o", small / "program")
    with subprocess.Popen([small / "program"], stdin=subprocess.PIPE) as process:
        gaspbpf.wait_for(lambda: "libOpenCL" in open(f"/proc/{process.pid}/maps").read(), "the program to start")
        listed = [json.loads(gaspbpf.run("list", "--json", *options, "-p", process.pid).stdout)
                  for options in ([], ["-m", "+opencl"])]
    assert [len(sites_of(each)) for each in listed] == [takes_part, 1]
    # Where it does not take part, it is no parallel runtime that keeps the C library's functions away.
    assert bool(sites_of(listed[0], "c")) != takes_part


def test_starpu_looks_for_devices_for_itself():
    """Its library imports OpenCL's functions, in each job; where the program does, too, it takes part."""
    for program, takes_part in ("starpu_every", False), ("starpu_job", True):
        listed = json.loads(gaspbpf.run("list", "--json", gaspbpf.WORKLOADS / program).stdout)
        assert sites_of(listed, "starpu") and bool(sites_of(listed)) == takes_part, program


def test_by_dlsym_it_is_to_be_asked_for(small):
    compile_here(small, f"""
#include <dlfcn.h>
int main(void)
{{
	void *library = dlopen("{small}/libOpenCL.so.1", RTLD_NOW);
	int (*finish)(void *) = (int (*)(void *))dlsym(library, "clFinish");

	for (int i = 0; i < 7; i++)
		finish(&i);
	return 0;
}}""", "-o", small / "program")
    for options, calls in ([], 0), (["-m", "opencl"], 7):
        out = gaspbpf.run("--json", *options, "--", small / "program")
        assert out.returncode == 0, out.stderr
        rows = gaspbpf.events(json.loads(out.stdout))
        assert sum(row["calls"] for name, row in rows.items() if name.startswith("GASP_OPENCL_")) == calls


def test_a_launcher_with_such_a_plugin_stays_one(small):
    """As mpirun with hwloc's plug-in: what is observed is the job that it starts."""
    compile_here(small, "int clFinish(void *q); int run(int n) { return clFinish(n ? &n : 0); }", "-shared", "-fPIC",
                 small / "libOpenCL.so.1", "-o", small / "hwloc_opencl.so")
    compile_here(small, """
#include <sys/wait.h>
#include <unistd.h>
int run(int n);
int main(int count, char **words)
{
	int status = count + run(1);

	if (!fork())
		return execv(words[1], words + 1);
	return wait(&status) < 0 || status;
}""", small / "hwloc_opencl.so", "-o", small / "mpirun")
    out = gaspbpf.run("--json", "-q", "--", small / "mpirun", gaspbpf.WORKLOADS / "threads", "--rounds", "2")
    assert out.returncode == 0, out.stderr
    report = json.loads(out.stdout[out.stdout.index("{\n"):])
    assert ["threads" in process["command"].split()[0] for process in report["processes"]] == [True]
    assert [each["why"] for each in report["left_out"]] == ["launcher"]


def test_open_mpi_does_not_bring_it(job):
    """hwloc's plug-in loads the real library into mpirun, or into each rank."""
    line = ["mpirun.openmpi", "--oversubscribe", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "1"]
    running = job(line, ranks=2, env=truth.ENVIRONMENT).wait_ready()
    assert "libOpenCL.so.1" in open(f"/proc/{running.process.pid}/maps").read()
    listed = json.loads(gaspbpf.run("list", "--json", "--all-processes", "-p", running.process.pid).stdout)
    assert sites_of(listed, "mpi") and not sites_of(listed) and len(listed["processes"]) == 3
    assert "OpenCL" not in json.dumps(listed["unmodelled"])
    running.work()
    assert running.end() == 0


# ltrace's breakpoints cost as much in these as in those that are compared, and they are more.
OFTEN_AND_NO_EVENT = ["clGetEventProfilingInfo", "clReleaseEvent"]


def test_clpeak(tmp_path):
    """A program that nobody here wrote, from its start: its calls are those that ltrace counts."""
    line = ["clpeak", "--kernel-latency"]
    traced = tmp_path / "ltrace"
    subprocess.run(["ltrace", "-e", "-".join(["cl*@MAIN", *OFTEN_AND_NO_EVENT]), "-o", traced, *line], check=True,
                   stdout=subprocess.DEVNULL)
    names = re.findall(r"(?m)\b(cl[A-Z]\w*)\(", traced.read_text())
    out = gaspbpf.run("--json", "--", *line, timeout=300)
    assert out.returncode == 0, out.stderr
    report = json.loads(out.stdout[out.stdout.index("{\n"):])
    rows = gaspbpf.events(report)
    left_out = re.compile("cl(Get(?!PlatformIDs|DeviceIDs)|Retain|SetKernelArg|"
                          "Release(?!MemObject|Context|CommandQueue))")
    assert all(left_out.match(name) for name in OFTEN_AND_NO_EVENT)
    expected = {}
    for name in names:
        if not left_out.match(name):
            expected[event_of(name)] = expected.get(event_of(name), 0) + 1
    seen = {name: row["calls"] for name, row in rows.items() if name.startswith("GASP_OPENCL_")}
    assert expected and seen == expected
