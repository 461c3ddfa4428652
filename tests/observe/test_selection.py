# SPDX-License-Identifier: BSD-2-Clause
"""Which events are wanted: functions of the program (-F), GASP's and PUPC's files of names, and accesses to the
caller's own part of the global address space. The jobs count for themselves."""
import json
import os
import re
import textwrap

import pytest

import conformance
import gaspbpf
import remains
import truth
from selecting import observed, start  # noqa: F401 (a fixture)

SOLVER = textwrap.dedent("""
    #include <stdio.h>
    struct grid { double *points; };
    enum kind { ROW, COLUMN };
    typedef unsigned long step_t;
    static volatile long sum;
    __attribute__((noipa)) int solve(double *grid, int n) { return sum += n + (grid != 0); }
    __attribute__((noipa)) void solve_all(const struct grid *restrict g, int (*solver)(double *, int), char *name[3], ...) { solver(g->points, 2); }
    __attribute__((noipa)) static const char *solve_kind(enum kind kind, step_t step, float tolerance) { return sum += kind + step, "x"; }
    __attribute__((noipa)) void other(void) { sum++; }
    int main(void)
    {
        struct grid grid = { 0 };

        puts("ready");
        fflush(stdout);
        getchar();
        for (int i = 0; i < 100; i++) {
            solve(0, i);
            if (i % 2)
                solve_all(&grid, solve, 0);
            solve_kind(ROW, i, 2);
            other();
        }
        puts("done");
        fflush(stdout);
        getchar();
        return 0;
    }
    """)

PUT = re.compile(r"shmem_(ctx_)?((char|int|long|double)_put|put(mem|8|16|32|64|128))")
CALLS = {"solve": 150, "solve_all": 50, "solve_kind": 100, "other": 100}
SIGNATURES = {
    "solve": "int solve(double *grid, int n)",
    "solve_all": "void solve_all(const struct grid *restrict g, int (*solver)(double *, int), char **name, ...)",
    "solve_kind": "const char *solve_kind(enum kind kind, step_t step, float tolerance)",
}


@pytest.fixture(scope="module", params=["-g", "-g0"])
def solver(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("solver")
    (folder / "solver.c").write_text(SOLVER)
    gaspbpf.compile_c(folder / "solver.c", folder / "solver", "-O1", request.param)
    return folder / "solver", request.param == "-g"


def functions(report):
    return {row["function"]: row["calls"] for row in report["events"] if row["name"] == "GASP_C_FUNC"}


def test_functions_by_pattern(solver, start, observe, tmp_path):
    program, has_dwarf = solver
    run = tmp_path / "run.events"
    report, _, _ = observed(start(program), observe, "-F", "solve*", "-o", run)
    assert functions(report) == {name: calls for name, calls in CALLS.items() if name.startswith("solve")}
    told = {line.split("funcsig=")[1].split(" @")[0].replace("\\x20", " ") for line in run.read_text().splitlines()
            if "GASP_C_FUNC" in line}
    assert told == (set(SIGNATURES.values()) if has_dwarf else set(SIGNATURES))
    conformance.seen("a-program-with-dwarf" if has_dwarf else "a-program-with-symbols", "GASP_C_FUNC")


def test_every_function_and_some_not(solver, start, observe, tmp_path):
    """'*' means those of the program's author: with DWARF, nothing that the compiler has put there."""
    program, has_dwarf = solver
    (tmp_path / "not").write_text("solve_*\n\n# comments are no names\n  other  \n")
    report, _, _ = observed(start(program), observe, "-F", "*", "--exclude-functions", tmp_path / "not")
    assert functions(report) == {"solve": 150}
    listed = json.loads(gaspbpf.run("list", "--json", program, "-F", "*").stdout)["found"]
    of_compiler = set() if has_dwarf else {"deregister_tm_clones", "register_tm_clones", "frame_dummy"}
    assert {row["symbol"] for row in listed if row["model"] == "functions"} == {*CALLS, "main", *of_compiler}


def test_a_function_that_is_not_there(solver, start):
    target = start(solver[0])
    result = gaspbpf.run("-p", target.pid, "-F", "sovle*")
    assert result.returncode == 1
    assert "-F sovle*: no function of the program has such a name" in result.stderr


def test_only_some_events(solver, start, observe, tmp_path):
    """Names of GASP and of PUPC, and a '*'; unknown ones are told and ignored. What is not wanted has no probe."""
    (tmp_path / "gasp").write_text("GASP_C_FUNC\nGASP_NO_SUCH\r\n")
    (tmp_path / "pupc").write_text("PUPC_USERFN\nPUPC_NOTHING\n")
    target = start(solver[0])
    assert len(remains.places(target.pid)) > 3
    assert len(remains.places(target.pid, "-F", "solve*", "--profile-only", tmp_path / "gasp")) == 3
    report, errors, _ = observed(target, observe, "-F", "solve*", "--profile-only", tmp_path / "gasp")
    assert {row["name"] for row in report["events"]} == {"GASP_C_FUNC"}
    assert "gasp:2: GASP_NO_SUCH: no model knows such an event: ignored" in errors and "gasp:1" not in errors
    report, errors, _ = observed(start(solver[0]), observe, "-F", "solve*", "--profile-partial", tmp_path / "pupc")
    assert {row["name"] for row in report["events"]} == {"GASP_C_FUNC"}
    assert "pupc:2: PUPC_NOTHING: no model knows" in errors and "pupc:1" not in errors


@pytest.mark.parametrize("name, prefix",
                         [("PUPC_STRICT_GET", "__gets"), ("PUPC_RELAXED_PUT", "__put"), ("PUPC_*_PUT", "__put")])
def test_strict_and_relaxed_accesses(tmp_path, name, prefix):
    """Two events of PUPC are one of GASP, which the functions' names tell apart."""
    (tmp_path / "names").write_text(name + "\n")
    listed = gaspbpf.run("list", "--json", "-m", "upc", "--profile-partial", tmp_path / "names",
                         gaspbpf.WORKLOADS / "upc_job")
    found = {row["symbol"] for row in json.loads(listed.stdout)["found"]}
    assert {"__upc_exit", "upc_global_exit"} < found  # PUPC 1.1 section 3.4.1: the end is told whatever the file has
    found -= {"__upc_exit", "upc_global_exit"}
    strict = {symbol for symbol in found if re.match(r"__(get|put)s(?!f\d|i\d)", symbol)}
    assert found and all(symbol.startswith(prefix) for symbol in found)
    assert len(strict) == {"PUPC_STRICT_GET": len(found), "PUPC_RELAXED_PUT": 0}.get(name, len(found) / 2)


def test_names_with_a_star(job, observe, tmp_path):
    (tmp_path / "names").write_text("GASP_C_*ALLOC\n")
    target = job([gaspbpf.WORKLOADS / "threads", "--rounds", 5]).wait_ready()
    watcher = observe("-p", target.process.pid, "--profile-only", tmp_path / "names", "--json")
    target.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    seen = gaspbpf.events(json.loads(out))
    assert seen["GASP_C_MALLOC"]["calls"] and all(name.endswith("ALLOC") for name in seen)
    assert target.end() == 0


@pytest.mark.parametrize("options", [["--profile", "--profile-local"], ["--profile", "--profile-partial", "/dev/null"],
                                     ["--profile-only", "/no/such/file"]])
def test_what_does_not_go_together(options):
    result = gaspbpf.run("-p", os.getpid(), *options)
    assert result.returncode == 2 and result.stderr


# --- accesses to the caller's own part of the global address space

SPACE = textwrap.dedent("""
    #include <stdio.h>
    __attribute__((noipa)) void space_put(void *dst, long n, int pe) { }
    __attribute__((noipa)) void space_copy(long n, unsigned long dst, unsigned long src) { }
    int main(void)
    {
        puts("ready");
        fflush(stdout);
        getchar();
        for (int i = 0; i < 60; i++) {
            space_put(0, i, i % 3);
            for (int from = 0; from < 3; from++)
                space_copy(i, (unsigned long)(i % 3) << 20 | 0xfffff, (unsigned long)from << 20 | 7);
        }
        puts("done");
        fflush(stdout);
        getchar();
        return 0;
    }
    """)

MODEL = textwrap.dedent("""
    model space
    library program
    needs space_put
    rank env SPACE_RANK
    affinity rank
    PUT  put  void space_put(void *dst, long n @bytes, int pe @peer)
    COPY copy void space_copy(long n @bytes, unsigned long dst @peer:send(bits 20..29), unsigned long src @peer:recv(bits 20..29))
    """)


def test_accesses_to_ones_own_part(start, observe, tmp_path, rung):
    (tmp_path / "space.c").write_text(SPACE)
    (tmp_path / "space.model").write_text(MODEL)
    gaspbpf.compile_c(tmp_path / "space.c", tmp_path / "space", "-O1")
    options = ["-m", "space", "--model-file", tmp_path / "space.model"]
    for choice, puts, copies, left in (("--profile", 40, 160, 40), ("--profile-local", 60, 180, 0)):
        target = start(tmp_path / "space", env={"SPACE_RANK": "1"})
        report, _, _ = observed(target, observe, *options, choice)
        seen = gaspbpf.events(report)
        assert (seen["GASP_SPACE_PUT"]["calls"], seen["GASP_SPACE_COPY"]["calls"]) == (puts, copies)
        assert report["loss"]["near"] == left
    target = start(tmp_path / "space")
    report, _, _ = observed(target, observe, *options, "--profile")
    assert gaspbpf.events(report)["GASP_SPACE_PUT"]["calls"] == 60, "whose rank is not known has no part of its own"


def test_accesses_of_openshmem(job, observe, tmp_path):
    """In a ring of two, no put is about the PE's own part."""
    (tmp_path / "puts").write_text("GASP_SHMEM_PUT\n")
    ring = job(["oshrun", "-n", "2", gaspbpf.WORKLOADS / "shmem_job", "--rounds", "5"], ranks=2,
               env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(ring, observe, options=["--profile", "--profile-only", tmp_path / "puts"])
    puts = sum(table[name]["calls"] for table in truth.functions(ring) for name in table if PUT.fullmatch(name))
    assert puts and {row["name"]: row["calls"] for row in report["events"]} == {"GASP_SHMEM_PUT": puts}
    assert report["loss"]["near"] == 0
