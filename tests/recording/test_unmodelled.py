# SPDX-License-Identifier: BSD-2-Clause
"""Parallel runtimes that are not seen are named wherever it is said what was seen: libraries that no model describes,
and what is linked into programs without names. A report without findings is not one that saw all."""
import json
import os
import re
import shutil
import struct
import subprocess

import pytest

import gaspbpf

LIBRARY = "int abt_run(int n) { return n + 1; }"
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int abt_run(int);
int main(int count, char **words)
{
	for (int i = 0; count > 1 ? !access(words[1], F_OK) : i < 3; i++) {
		free(malloc(abt_run(i)));
		usleep(1000);
	}
	return 0;
}
"""
MODEL = """model mine
library libabt.so*
RUN task int abt_run(int n)
"""


def compile_c(text, *options):
    subprocess.run(["gcc", "-g", "-x", "c", "-", *map(str, options)], input=text, text=True, check=True)


@pytest.fixture
def program(tmp_path):
    """That maps libabt.so.1, as far as its name tells, and two of a runtime that do not count twice."""
    for name in "libabt.so.1", "libcuda.so.1", "libcudart.so.12":
        function = "abt_run" if name.startswith("libabt") else name.split(".")[0]
        compile_c(LIBRARY.replace("abt_run", function), "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o",
                  tmp_path / name)
    compile_c(PROGRAM, "-x", "none", "-Wl,--no-as-needed", tmp_path / "libabt.so.1", tmp_path / "libcuda.so.1",
              tmp_path / "libcudart.so.12", f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program")
    return tmp_path / "program"


def test_report_names_them(program, tmp_path):
    recording = tmp_path / "run.gasp"
    out = gaspbpf.run("-o", recording, "--", program)
    assert out.returncode == 0, out.stderr
    for text in out.stdout, gaspbpf.run("report", recording).stdout:
        _, findings = text.split("\nFindings\n")
        findings = " ".join(findings.split("\n\n")[0].split())
        assert "Nothing stands out:" not in findings
        assert "libabt.so.1 (Argobots) is in the program, and gaspbpf has no model for it" in findings
        assert findings.count("(CUDA)") == 1
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    assert {(each["library"], each["runtime"]) for each in report["not_observable"] if each["library"]} == {
        ("libabt.so.1", "Argobots"), ("libcuda.so.1", "CUDA"), ("libcudart.so.12", "CUDA")}
    assert [finding["kind"] for finding in report["findings"]].count("unmodelled") == 2


def test_list_and_top_name_them(program, tmp_path):
    out = gaspbpf.run("list", program)
    [_, listed] = out.stdout.split("\nno model, so nothing of it is seen:\n")
    assert re.search(r"(?m)^  libabt\.so\.1 +Argobots$", listed)
    listed = json.loads(gaspbpf.run("list", "--json", program).stdout)
    assert {"file": str(tmp_path / "libabt.so.1"), "runtime": "Argobots"} in listed["unmodelled"]
    runs = tmp_path / "runs"
    runs.touch()
    with subprocess.Popen([program, runs]) as job:
        try:
            gaspbpf.wait_for(lambda: "libabt" in open(f"/proc/{job.pid}/maps").read(), "the program to start")
            out = gaspbpf.run("top", "--once", "-d", "100ms", "-p", job.pid)
        finally:
            runs.unlink()
    [line] = [line for line in out.stdout.splitlines() if line.startswith("no model, not seen: ")]
    assert "libabt.so.1 (Argobots)" in line


def test_with_a_model_it_is_none(program, tmp_path):
    model = tmp_path / "mine.model"
    model.write_text(MODEL)
    out = gaspbpf.run("--model-file", model, "--", program)
    assert "Argobots" not in out.stdout and "GASP_MINE_RUN" in out.stdout, out.stdout + out.stderr
    assert "(CUDA)" in out.stdout


@pytest.mark.parametrize("name, named", [("hwloc_levelzero.so", False), ("libplugin.so", True)])
def test_what_only_plugins_of_others_need_is_none(tmp_path, name, named):
    """As a library that knows the machine asks Level Zero for its devices."""
    compile_c(LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libze_loader.so.1", "-o", tmp_path / "libze_loader.so.1")
    compile_c("int abt_run(int n); int run(int n) { return abt_run(n); }", "-x", "none", "-shared", "-fPIC", "-o",
              tmp_path / name, tmp_path / "libze_loader.so.1", f"-Wl,-rpath,{tmp_path}")
    compile_c("#include <stdio.h>\nint run(int n);\nint main(void) { return run(getchar()); }", "-x", "none",
              tmp_path / name, f"-Wl,-rpath-link,{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program")
    with subprocess.Popen([tmp_path / "program"], stdin=subprocess.PIPE) as job:
        gaspbpf.wait_for(lambda: "libze_loader" in open(f"/proc/{job.pid}/maps").read(), "the program to start")
        listed = json.loads(gaspbpf.run("list", "--json", "-p", job.pid).stdout)
    assert [each["runtime"] for each in listed["unmodelled"]] == ["Level Zero"] * named


def test_one_that_comes_later(tmp_path):
    """With a plug-in that the program loads when it has run for a while."""
    compile_c(LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libabt.so.1", "-o", tmp_path / "libabt.so.1")
    compile_c("int abt_run(int n); int run(int n) { return abt_run(n); }", "-x", "none", "-shared", "-fPIC", "-o",
              tmp_path / "plugin.so", tmp_path / "libabt.so.1", f"-Wl,-rpath,{tmp_path}")
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
    assert "libabt.so.1 (Argobots) is in the program" in out.stdout


def test_other_libraries_are_none():
    listed = json.loads(gaspbpf.run("list", "--json", "/bin/true").stdout)
    assert listed["unmodelled"] == [] and listed["inside"] == []


COARRAYS = """
program main
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c)
      import :: c_int
      integer(c_int), value :: us
    end function
  end interface
  integer :: there[*], i, unused
  character(1000) :: path
  logical :: exists
  call get_command_argument(1, path)
  i = 0
  do
    i = i + 1
    if (this_image() == 1) then ! it decides for all, or one would wait for others that are through
      inquire(file=path, exist=exists)
      there = merge(1, 0, merge(exists, i < 3, path /= ""))
    end if
    sync all
    if (there[1] == 0) exit
    sync all
    unused = usleep(1000)
  end do
end program
"""


@pytest.fixture(scope="module")
def coarrays(tmp_path_factory):
    """A coarray program with its runtime inside, as `caf` links it: with the names of functions, and without."""
    folder = tmp_path_factory.mktemp("coarrays")
    (folder / "job.f90").write_text(COARRAYS)
    subprocess.run(["caf", "job.f90", "-o", "named"], cwd=folder, check=True)
    subprocess.run(["strip", "named", "-o", "stripped"], cwd=folder, check=True)
    return folder


def inside(program, **keywords):
    return [each["runtime"] for each in json.loads(gaspbpf.run("list", "--json", program, **keywords).stdout)["inside"]]


def caf_in(listed):
    return [site for site in listed["found"] if site["model"] == "caf"]


def test_runtime_in_a_stripped_program(coarrays):
    listed = json.loads(gaspbpf.run("list", "--json", coarrays / "stripped").stdout)
    [found] = listed["inside"]
    assert found["file"] == str(coarrays / "stripped") and found["runtime"] == "OpenCoarrays"
    assert caf_in(listed) == []
    out = gaspbpf.run("list", coarrays / "stripped")
    [_, text] = out.stdout.split("\ninside a program, and nothing of it is seen:\n")
    assert re.search(r"(?m)^  stripped +OpenCoarrays: ", text)


def test_with_names_it_is_observed(coarrays):
    listed = json.loads(gaspbpf.run("list", "--json", coarrays / "named").stdout)
    assert listed["inside"] == [] and caf_in(listed)
    assert "inside a program" not in gaspbpf.run("list", coarrays / "named").stdout


@pytest.mark.parametrize("name", ["stripped", "named"])
def test_report_names_what_is_inside(coarrays, tmp_path, name):
    recording = tmp_path / "run.gasp"
    out = gaspbpf.run("-o", recording, "--", "mpirun", "-n", "2", coarrays / name, env=gaspbpf.MPI_ENVIRONMENT)
    assert out.returncode == 0, out.stderr
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    told = [finding["text"] for finding in report["findings"] if finding["kind"] == "unmodelled"]
    missed = [(each["program"], each["library"], each["runtime"]) for each in report["not_observable"]
              if each["runtime"]]
    syncs = sum(event["calls"] for event in report["events"] if event["name"] == "GASP_CAF_SYNC_ALL")
    if name == "named":
        assert told == [] and missed == [] and syncs >= 6
        return
    [text] = told
    assert text.startswith("stripped has OpenCoarrays linked into it, and the program has no names for its functions")
    assert text.endswith(": what happens there is not seen, but for calls of other runtimes")
    assert missed == [("stripped", None, "OpenCoarrays")] and syncs == 0
    for text in out.stdout, gaspbpf.run("report", recording).stdout:
        assert text.count("stripped has OpenCoarrays linked into it") == 1
    assert report["events"], "MPI, below it, is observed"


def rank_below(launcher):
    """The process that the launcher has started, once its libraries are mapped; None: not yet."""
    for pid in open(f"/proc/{launcher}/task/{launcher}/children").read().split():
        try:
            if "/stripped" in (maps := open(f"/proc/{pid}/maps").read()) and "libmpi" in maps:
                return pid
        except OSError:  # it has just become another program
            continue
    return None


def test_top_names_what_is_inside(coarrays, tmp_path):
    runs = tmp_path / "runs"
    runs.touch()
    with subprocess.Popen(["mpirun", "-n", "2", coarrays / "stripped", runs],
                          env={**os.environ, **gaspbpf.MPI_ENVIRONMENT}) as job:
        try:
            rank = gaspbpf.wait_for(lambda: rank_below(job.pid), "the program to start")
            out = gaspbpf.run("top", "--once", "-d", "100ms", "-p", rank)
        finally:
            runs.unlink()
    assert "\ninside, not seen: stripped (OpenCoarrays)\n" in out.stdout, out.stdout + out.stderr
    assert "no model, not seen" not in out.stdout


MESSAGE = "mine: a message of the runtime"


def lines_of(tmp_path, *lines):
    """A folder of models with these lines, too."""
    folder = tmp_path / "models"
    if not folder.exists():
        shutil.copytree(gaspbpf.TOP / "models", folder)
    with open(folder / "unmodelled", "a") as file:
        file.writelines(f"{line}\n" for line in lines)
    return {"GASPBPF_MODELS": str(folder)}


@pytest.fixture
def talking(tmp_path):
    """A program, with names, that has a text."""
    compile_c(f'#include <stdio.h>\nint main(void) {{ return printf("%s of {MESSAGE}", "so"), 0; }}', "-o",
              tmp_path / "talking")
    return tmp_path / "talking"


@pytest.mark.parametrize("lines, runtimes", [
    ([f'inside "{MESSAGE}" "Mine"'], ["Mine"]),
    ([f'inside "{MESSAGE}s" "Mine"'], []),
    ([f'inside "{MESSAGE}" "Mine" mpi'], ["Mine"]),  # names, but none of that model's
    ([f'inside "{MESSAGE}" "Mine" pthread_of_nobody'], ["Mine"]),
    ([f'inside "{MESSAGE}" "Mine"', f'inside "{MESSAGE[6:]}" "Mine"'], ["Mine"]),  # once, whatever says it
    ([f'inside "{MESSAGE}" "Mine"', f'inside "{MESSAGE[6:]}" "Yours"'], ["Mine", "Yours"]),
])
def test_lines_tell_what_is_inside(talking, tmp_path, lines, runtimes):
    assert inside(talking, env=lines_of(tmp_path, *lines)) == runtimes


def test_libraries_are_not_searched(tmp_path):
    compile_c(f'const char *run(void) {{ return "{MESSAGE}"; }}', "-shared", "-fPIC", "-o", tmp_path / "libtalk.so")
    compile_c("const char *run(void); int main(void) { return !run(); }", "-x", "none", tmp_path / "libtalk.so",
              f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program")
    assert inside(tmp_path / "program", env=lines_of(tmp_path, f'inside "{MESSAGE}" "Mine"')) == []


def test_program_without_a_table_of_sections(talking, tmp_path):
    file = bytearray(talking.read_bytes())
    struct.pack_into("<Q", file, 40, 0)      # e_shoff
    struct.pack_into("<HH", file, 60, 0, 0)  # e_shnum, e_shstrndx
    talking.write_bytes(file)
    assert inside(talking, env=lines_of(tmp_path, f'inside "{MESSAGE}" "Mine"')) == ["Mine"]
    assert inside(talking, env=lines_of(tmp_path)) == ["Mine"]


def test_what_is_not_read_to_its_end_is_not_nothing(talking, tmp_path):
    """A small file with thousands of sections, each of which is all of it."""
    file = bytearray(talking.read_bytes())
    file += bytes(-len(file) % 8)
    table, size = len(file), len(file)
    file += bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 1, 2, 0, 0, size, 0, 0, 1, 0) * 9000
    struct.pack_into("<Q", file, 40, table)
    struct.pack_into("<HH", file, 60, 9001, 0)
    talking.write_bytes(file)
    out = gaspbpf.run("list", "--json", talking)
    [found] = json.loads(out.stdout)["inside"]
    assert found["runtime"] == "perhaps a runtime" and found["why"] == "its file was not read to its end"
    assert f"{talking}: takes too long to look through" in out.stderr


def test_models_of_the_lines_are_there():
    lines = re.findall(r'(?m)^inside ".*" "(.*)" *(\w*)$', (gaspbpf.TOP / "models/unmodelled").read_text())
    assert ("OpenCoarrays", "caf") in lines
    for _, model in lines:
        assert not model or (gaspbpf.TOP / f"models/{model}.model").exists()


@pytest.mark.parametrize("line, word", [("libx.so*", "expected a library and what it is"),
                                        ('inside "12345678"', "expected a text, what is in a program"),
                                        ('inside 12345678 "X"', "expected a text"),
                                        ('inside "12345678" ""', "expected a text"),
                                        ('inside "12345678" X', "expected a text"),
                                        ('inside "12345678" "X" mpi more', "expected a text"),
                                        ('inside "12345678" "X', "expected a text"),
                                        ('inside "1234567" "X"', "at least 8 characters"),
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
