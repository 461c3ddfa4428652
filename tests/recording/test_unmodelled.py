# SPDX-License-Identifier: BSD-2-Clause
"""Libraries of parallel runtimes that no model describes are named wherever it is said what was seen: a report without
findings is not one that saw all."""
import json
import re
import subprocess

import pytest

import gaspbpf

LIBRARY = "int tbb_run(int n) { return n + 1; }"
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int tbb_run(int);
int main(int count, char **words)
{
	for (int i = 0; count > 1 ? !access(words[1], F_OK) : i < 3; i++) {
		free(malloc(tbb_run(i)));
		usleep(1000);
	}
	return 0;
}
"""
MODEL = """model mine
library libtbb.so*
RUN task int tbb_run(int n)
"""


def compile_c(text, *options):
    subprocess.run(["gcc", "-g", "-x", "c", "-", *map(str, options)], input=text, text=True, check=True)


@pytest.fixture
def program(tmp_path):
    """That maps libtbb.so.12, as far as its name tells, and two of a runtime that do not count twice."""
    for name in "libtbb.so.12", "libcuda.so.1", "libcudart.so.12":
        function = "tbb_run" if name.startswith("libtbb") else name.split(".")[0]
        compile_c(LIBRARY.replace("tbb_run", function), "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o",
                  tmp_path / name)
    compile_c(PROGRAM, "-x", "none", "-Wl,--no-as-needed", tmp_path / "libtbb.so.12", tmp_path / "libcuda.so.1",
              tmp_path / "libcudart.so.12", f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program")
    return tmp_path / "program"


def test_report_names_them(program, tmp_path):
    recording = tmp_path / "run.gasp"
    out = gaspbpf.run("-o", recording, "--", program)
    assert out.returncode == 0, out.stderr
    for text in out.stdout, gaspbpf.run("report", recording).stdout:
        _, findings = text.split("\nFindings\n")
        findings = " ".join(findings.split("\n\n")[0].split())
        assert "Nothing stands out." not in findings
        assert "libtbb.so.12 (oneTBB) is in the program, and gaspbpf has no model for it" in findings
        assert findings.count("(CUDA)") == 1
        assert "\n- libtbb.so.12 (oneTBB): gaspbpf has no model for it\n" in text
        assert re.search(r"\n- (libcuda\.so\.1, libcudart\.so\.12|libcudart\.so\.12, libcuda\.so\.1) \(CUDA\): ", text)
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    assert {(each["library"], each["runtime"]) for each in report["not_observable"] if each["library"]} == {
        ("libtbb.so.12", "oneTBB"), ("libcuda.so.1", "CUDA"), ("libcudart.so.12", "CUDA")}
    assert [finding["kind"] for finding in report["findings"]].count("unmodelled") == 2


def test_list_and_top_name_them(program, tmp_path):
    out = gaspbpf.run("list", program)
    [_, listed] = out.stdout.split("\nno model, so nothing of it is seen:\n")
    assert re.search(r"(?m)^  libtbb\.so\.12 +oneTBB$", listed)
    listed = json.loads(gaspbpf.run("list", "--json", program).stdout)
    assert {"file": str(tmp_path / "libtbb.so.12"), "runtime": "oneTBB"} in listed["unmodelled"]
    runs = tmp_path / "runs"
    runs.touch()
    with subprocess.Popen([program, runs]) as job:
        try:
            gaspbpf.wait_for(lambda: "libtbb" in open(f"/proc/{job.pid}/maps").read(), "the program to start")
            out = gaspbpf.run("top", "--once", "-d", "100ms", "-p", job.pid)
        finally:
            runs.unlink()
    [line] = [line for line in out.stdout.splitlines() if line.startswith("no model, not seen: ")]
    assert "libtbb.so.12 (oneTBB)" in line


def test_with_a_model_it_is_none(program, tmp_path):
    model = tmp_path / "mine.model"
    model.write_text(MODEL)
    out = gaspbpf.run("--model-file", model, "--", program)
    assert "oneTBB" not in out.stdout and "GASP_MINE_RUN" in out.stdout, out.stdout + out.stderr
    assert "(CUDA)" in out.stdout


@pytest.mark.parametrize("name, named", [("hwloc_opencl.so", False), ("libplugin.so", True)])
def test_what_only_plugins_of_others_need_is_none(tmp_path, name, named):
    """As a library that knows the machine asks OpenCL for its devices."""
    compile_c(LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libOpenCL.so.1", "-o", tmp_path / "libOpenCL.so.1")
    compile_c("int tbb_run(int n); int run(int n) { return tbb_run(n); }", "-x", "none", "-shared", "-fPIC", "-o",
              tmp_path / name, tmp_path / "libOpenCL.so.1", f"-Wl,-rpath,{tmp_path}")
    compile_c("#include <stdio.h>\nint run(int n);\nint main(void) { return run(getchar()); }", "-x", "none",
              tmp_path / name, f"-Wl,-rpath-link,{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program")
    with subprocess.Popen([tmp_path / "program"], stdin=subprocess.PIPE) as job:
        gaspbpf.wait_for(lambda: "libOpenCL" in open(f"/proc/{job.pid}/maps").read(), "the program to start")
        listed = json.loads(gaspbpf.run("list", "--json", "-p", job.pid).stdout)
    assert [each["runtime"] for each in listed["unmodelled"]] == ["OpenCL"] * named


def test_one_that_comes_later(tmp_path):
    """With a plug-in that the program loads when it has run for a while."""
    compile_c(LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12", "-o", tmp_path / "libtbb.so.12")
    compile_c("int tbb_run(int n); int run(int n) { return tbb_run(n); }", "-x", "none", "-shared", "-fPIC", "-o",
              tmp_path / "plugin.so", tmp_path / "libtbb.so.12", f"-Wl,-rpath,{tmp_path}")
    compile_c(f"""
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{{
\tfor (int i = 0; i < 40; i++) {{
\t\tfree(malloc(i + 1));
\t\tusleep(20000);
\t\tif (i == 20 && !dlopen("{tmp_path}/plugin.so", RTLD_NOW))
\t\t\treturn 1;
\t}}
\treturn 0;
}}
""", "-o", tmp_path / "program")
    out = gaspbpf.run("--", tmp_path / "program")
    assert out.returncode == 0, out.stderr
    assert "libtbb.so.12 (oneTBB) is in the program" in out.stdout


def test_other_libraries_are_none():
    assert json.loads(gaspbpf.run("list", "--json", "/bin/true").stdout)["unmodelled"] == []


@pytest.mark.parametrize("line, word", [("libx.so*", "expected a library and what it is"),
                                        ('libx.so* ""', "expected a library"),
                                        ('libx.so* "X" more', "expected a library"),
                                        ('"X"', "expected a library"), ('libx.so* "X', "expected a library")])
def test_mistakes_in_the_file_are_said(tmp_path, line, word):
    folder = tmp_path / "models"
    subprocess.run(["cp", "-r", gaspbpf.TOP / "models", folder], check=True)
    with open(folder / "unmodelled", "a") as file:
        file.write(f"{line}\n")
    count = len((folder / "unmodelled").read_text().splitlines())
    out = gaspbpf.run("list", "/bin/true", env={"GASPBPF_MODELS": str(folder)})
    assert out.returncode != 0
    assert f"/unmodelled:{count}:" in out.stderr and word in out.stderr, out.stderr
    (folder / "unmodelled").unlink()
    assert gaspbpf.run("list", "/bin/true", env={"GASPBPF_MODELS": str(folder)}).returncode == 0
