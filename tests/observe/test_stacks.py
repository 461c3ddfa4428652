# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of calls that began before anybody watched, against what the program says it passed: right, or marked as
likely, or not told."""
import json
import re
import subprocess

import pytest

import gaspbpf

PROTOTYPE = "void stands(long a, int b, const void *c, unsigned long d)"
NAMES = ("a", "b", "c", "d")


@pytest.fixture
def standing():
    """Starts a program that says "ready" when its threads stand where they are to stand; returns the lines before
    that."""
    running = []

    def start(*command):
        running.append(subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True))
        lines = []
        for line in running[-1].stdout:
            if line == "ready\n":
                return running[-1], lines
            lines.append(line.split())
        raise AssertionError(f"{command} ended: {lines}")

    yield start
    for each in running:
        each.kill()
        each.wait()


def look(process, *options):
    out = gaspbpf.run("stuck", "-p", process.pid, "--no-probes", "-d", "0", "-e", PROTOTYPE, "--json", *options)
    assert out.returncode == 0, out.stderr
    return {thread["tid"]: thread for thread in json.loads(out.stdout)["threads"]}


def number(text):
    return 0 if text == "(nil)" else int(text, 0)


# How many of the 32 values must at least be told as certain: a reader of code that says nothing is never wrong, either.
LEAST = {"O0": 15, "O1": 12, "O2": 12, "O3": 12, "Os": 12}


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "Os"])
@pytest.mark.parametrize("compiler", ["", "clang_"])
def test_no_value_that_is_told_as_certain_is_wrong(standing, compiler, level):
    process, said = standing(gaspbpf.WORKLOADS / "stuck" / f"stands_{compiler}{level}")
    threads = look(process)
    assert len(said) == 8
    certain = 0
    for tid, *passed in said:
        call = threads[int(tid)]["call"]
        assert call["event"] == "GASP_USER_STANDS", threads[int(tid)]
        for name, text in zip(NAMES, passed):
            told = call["arguments"][name]
            if told is None or told["likely"]:
                continue
            certain += 1
            value = told["value"] if isinstance(told["value"], int) else int(told["value"], 16)
            assert value == number(text), (name, call, passed)
    assert certain >= LEAST[level]


def test_what_has_changed_in_memory_since_is_only_likely(standing):
    process, said = standing(gaspbpf.WORKLOADS / "stuck" / "stands_O0")
    threads = look(process)
    # the caller whose variables another thread has changed since
    (tid, *_), = [line for line in said if line[4] == "5"]
    arguments = threads[int(tid)]["call"]["arguments"]
    assert arguments["a"] == {"value": 666, "likely": True}
    assert arguments["d"] == {"value": 667, "likely": True}


def test_the_whole_stack_is_that_of_the_program(standing):
    process, said = standing(gaspbpf.WORKLOADS / "stuck" / "stands_O0")
    threads = look(process)
    callers = {"1": "constants", "-5": "parameters", "42": "computed", "99": "own_frame", "31": "leaks",
               "7": "branches", "13": "switched"}
    for tid, first, *_ in said:
        thread = threads[int(tid)]
        functions = [re.sub(r".* in ", "", frame["place"] or "") for frame in thread["stack"]]
        at = functions.index("stands")
        assert functions[at + 1] == callers.get(first, "parameters"), functions
        assert functions[at + 2] == "run", functions
        assert not any(frame["likely"] for frame in thread["stack"][:at + 3])
        assert thread["place"].endswith(" in " + functions[at + 1])


SPINS = r"""
#include <stdio.h>
#include <sys/resource.h>
__attribute__((noinline)) void stands(long a) { for (volatile long i = a; ; i++); }
int main(void)
{
	setpriority(PRIO_PROCESS, 0, -10); /* so that it mostly has its processor, whatever else runs */
	puts("ready"); fflush(stdout);
	stands(7);
	return 0;
}
"""


def test_a_thread_that_runs_is_caught_without_rights(standing, tmp_path):
    """It never sleeps, so only a sample tells where it is; root has given up the right to take one by then."""
    (tmp_path / "spins.c").write_text(SPINS)
    gaspbpf.compile_c(tmp_path / "spins.c", tmp_path / "spins", "-O0", "-g")
    process, _ = standing(tmp_path / "spins")
    out = gaspbpf.run("stuck", "-v", "-p", process.pid, "--no-probes", "-d", "0", "-e", "void stands(long a)", "--json")
    assert out.returncode == 0 and "all rights are given up" in out.stderr, out.stderr
    assert json.loads(out.stdout)["threads"][0]["call"]["event"] == "GASP_USER_STANDS", out.stdout
