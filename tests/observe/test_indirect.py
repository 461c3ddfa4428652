# SPDX-License-Identifier: BSD-2-Clause
"""Functions of which there are several (target_clones, ifunc): calls of all implementations are calls of the function,
and resolvers are none. What cannot be observed is said, of programs that start later, too. The job's own loops say how
many calls there are."""
import json
import subprocess
import textwrap

import pytest

import gaspbpf
from selecting import observed, start  # noqa: F401 (a fixture)

COMMON = """
    static volatile long sum;
    #define IMPLEMENTATION(name, by) __attribute__((noinline)) KIND int name(int n) { return sum += n * by; }
    """
PROGRAM = COMMON + """
    #include <stdio.h>
    #define KIND static
    __attribute__((target_clones("avx2", "sse4.2", "default"))) int solve(int n) { return sum += n; }
    IMPLEMENTATION(fast, 2)
    IMPLEMENTATION(slow, 3)
    static int (*choose(void))(int) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2") ? fast : slow; }
    __attribute__((ifunc("choose"))) int solve_chosen(int n);
    int calc(int n);
    int main(void)
    {
        puts("ready");
        fflush(stdout);
        getchar();
        for (int i = 0; i < 100; i++) {
            solve(i);
            if (i % 2)
                solve_chosen(i);
            if (i % 4 == 0)
                calc(i);
        }
        puts("done");
        fflush(stdout);
        getchar();
        return 0;
    }
    """
# One that other files could replace is named by a word that the linker fills in.
LIBRARY = COMMON + """
    #define KIND
    IMPLEMENTATION(calc_wide, 2)
    IMPLEMENTATION(calc_plain, 3)
    static int (*choose(void))(int) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2") ? calc_wide : calc_plain; }
    __attribute__((ifunc("choose"))) int calc(int n);
    """
# The choice by a table: nothing in the resolver names a function.
TABLE = COMMON + """
    #define KIND static
    IMPLEMENTATION(calc_wide, 2)
    IMPLEMENTATION(calc_plain, 3)
    static int (*const table[])(int) = { calc_plain, calc_wide };
    static int (*choose(void))(int) { __builtin_cpu_init(); return table[!!__builtin_cpu_supports("sse2")]; }
    __attribute__((ifunc("choose"))) int calc(int n);
    """
CALLS = {"solve": 100, "solve_chosen": 50, "calc": 25}
BUILDS = [("gcc", "-O2", "-g"), ("gcc", "-O2", "-g0"), ("gcc", "-O0", "-g"),
          ("gcc", "-O2", "-g", "-no-pie", "-fno-pie"), ("clang", "-O2", "-g"), ("clang", "-O0", "-g0")]


def build(folder, compiler="gcc", *options, library=LIBRARY, strip=False):
    (folder / "calc.c").write_text(textwrap.dedent(library))
    (folder / "job.c").write_text(textwrap.dedent(PROGRAM))
    shared = ["-Wl,-s"] if strip else []
    subprocess.run([compiler, "-shared", "-fPIC", *[o for o in options if "pie" not in o], *shared, "-o",
                    folder / "libcalc.so", folder / "calc.c"],
                           check=True)
    subprocess.run([compiler, *options, "-o", folder / "job", folder / "job.c", folder / "libcalc.so",
                    f"-Wl,-rpath,{folder}"], check=True)
    return folder / "job"


@pytest.fixture(params=BUILDS, ids=lambda build: "".join(build))
def job(request, tmp_path):
    return build(tmp_path, *request.param)


def calls(report):
    counts = {}
    for row in report["events"]:
        if row["name"] == "GASP_C_FUNC" or row["name"].startswith("GASP_USER_"):
            name = row.get("function") or row["name"].removeprefix("GASP_USER_").lower()
            assert name not in counts, "one row for all implementations"
            counts[name] = row["calls"]
    return counts


def started(job, *options):
    result = gaspbpf.run("--json", *options, "--", job, input="\n\n")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout[result.stdout.index("{"):]), result.stderr


@pytest.mark.parametrize("options", [("-F", "solve*", "-F", "libcalc.so:calc"),
                                     ("-e", "solve", "-e", "solve_chosen", "-e", "int calc(int n)")],
                         ids=["pattern", "names"])
def test_all_implementations_are_the_function(job, options):
    report, errors = started(job, *options)
    assert calls(report) == CALLS
    assert "IFUNC" not in errors and "no function" not in errors


def test_of_a_job_that_runs(job, start, observe):
    report, _, _ = observed(start(job), observe, "-F", "solve*", "-e", "calc")
    assert calls(report) == CALLS


def test_of_a_stripped_library(tmp_path):
    report, errors = started(build(tmp_path, "gcc", "-O2", "-g0", strip=True), "-e", "calc")
    assert calls(report) == {"calc": 25}
    assert "IFUNC" not in errors


def test_signatures_are_the_functions_own(tmp_path):
    found = json.loads(gaspbpf.run("list", "--json", build(tmp_path, "gcc", "-O2", "-g"), "-F",
                                   "solve*").stdout)["found"]
    asked = sorted((row["symbol"], row["prototype"]) for row in found if row["model"] == "functions")
    assert asked == 3 * [("solve", "int solve(int n)")] + 2 * [("solve_chosen", "int solve_chosen(int n)")]


def test_an_implementation_that_is_asked_for_keeps_its_name(tmp_path):
    report, _ = started(build(tmp_path, "gcc", "-O2", "-g"), "-F", "*")
    assert calls(report) == {"main": 1, "solve": 100, "fast": 50, "choose": 1}


@pytest.mark.parametrize("option", [("-e", "calc"), ("-F", "libcalc.so:calc")], ids=["-e", "-F"])
def test_what_cannot_be_observed_is_said(option, tmp_path):
    report, errors = started(build(tmp_path, "gcc", "-O2", "-g", library=TABLE), *option)
    assert not calls(report)
    assert "calc: an indirect function (IFUNC), and which functions its resolver chooses from cannot be told" in errors


@pytest.mark.parametrize("option,said", [(("-F", "sovle*"), "-F sovle*: no function of the program has such a name"),
                                         (("-e", "sovle"), "-e sovle: not exported: the file has no function of "
                                          "this name")], ids=["-F", "-e"])
def test_a_name_that_no_started_program_has(option, said, tmp_path):
    _, errors = started(build(tmp_path, "gcc", "-O2", "-g"), *option)
    assert said in errors
