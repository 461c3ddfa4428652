# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf list FILE of a program: with the libraries that the dynamic linker would map. Which those are ldd says, and
for a program that runs, the process."""
import json
import os
import re
import subprocess

import pytest

import gaspbpf
from gaspbpf import MPI_ENVIRONMENT, WORKLOADS


def linked(program, **environment):
    """What ldd says: the files that would be mapped."""
    out = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True, timeout=gaspbpf.PATIENCE,
                         env={**os.environ, **environment}).stdout
    return {os.path.realpath(path) for path in re.findall(r"(/\S+) \(0x", out)}


def found(program, *options, **environment):
    """(symbol, file) of each function that is listed, and what was said."""
    out = gaspbpf.run("list", "--json", program, *options, env={**os.environ, **environment})
    assert out.returncode == 0, out.stderr
    rows = json.loads(out.stdout)["found"]
    return {(row["symbol"], os.path.realpath(row["file"])) for row in rows}, out.stderr


def build(folder, name, needs, *options, shared=True):
    path = folder / (f"lib{name}.so" if shared else name)
    path.parent.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}.c"
    calls = " + ".join(f"{each}()" for each in needs) or "1"
    declared = "".join(f"int {each}(void); " for each in needs)
    source.write_text(f"{declared}int {name if shared else 'main'}(void) {{ return {calls}; }}\n")
    gaspbpf.compile_c(source, path, "-Wl,--no-as-needed", *(["-shared", "-fPIC"] if shared else []), *options)
    return path


@pytest.mark.parametrize("tag", ["--enable-new-dtags", "--disable-new-dtags"])  # DT_RUNPATH, DT_RPATH
def test_beside_the_program(tmp_path, tag):
    two = build(tmp_path / "b", "two", [])
    one = build(tmp_path / "a", "one", ["two"], two, f"-Wl,{tag},-rpath,$ORIGIN/../b", "-Wl,-soname,libone.so")
    program = build(tmp_path, "program", ["one"], one, f"-Wl,{tag},-rpath,/nowhere:${{ORIGIN}}/a",
                    f"-Wl,-rpath-link,{tmp_path}/b", shared=False)
    libraries = {str(path) for path in (one, two)}
    assert libraries <= linked(program)
    listed, said = found(program, "-F", "lib*.so:one", "-F", "lib*.so:two")
    assert {("one", str(one)), ("two", str(two))} <= listed and "not found" not in said
    assert not {file for _, file in listed} - linked(program) - {str(program)}
    alone, _ = found(program, "-F", "main", "--no-libraries")
    assert {file for _, file in alone} == {str(program)}


def test_the_user_says_where(tmp_path):
    """LD_LIBRARY_PATH comes before DT_RUNPATH; and what is nowhere is said."""
    own = build(tmp_path / "own", "one", [], "-Wl,-soname,libone.so")
    told = build(tmp_path / "told", "one", [], "-Wl,-soname,libone.so")
    program = build(tmp_path, "program", ["one"], own, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/own", shared=False)
    for environment, file in (({}, own), ({"LD_LIBRARY_PATH": str(told.parent)}, told)):
        assert str(file) in linked(program, **environment)
        assert ("one", str(file)) in found(program, "-F", "libone.so:one", **environment)[0]
    own.unlink()
    _, said = found(program)
    assert "program: needs libone.so, which is not found here" in said


def test_what_would_be_observed_is_observed(job):
    """The functions of a program that uses MPI: those of its process."""
    run = job(["mpirun", "-n", "2", WORKLOADS / "mpi_job_openmpi"], ranks=2, env=MPI_ENVIRONMENT).wait_ready()
    runs = json.loads(gaspbpf.run("list", "--json", "-p", run.pids()[0], "-m", "mpi").stdout)["found"]
    listed, _ = found(WORKLOADS / "mpi_job_openmpi", "-m", "mpi")
    assert len(runs) > 100 and listed == {(row["symbol"], row["file"]) for row in runs}
