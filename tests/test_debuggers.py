"""Debuggers beside an observation: gdb and ltrace work on an observed job as they do alone, and the job does, too."""
import json
import re
import subprocess

import pytest

import gaspbpf
from test_following import alone, runtime  # noqa: F401

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void calls_step(int number);
void *worker(void *nothing)
{
	usleep(500000); /* nobody holds what a debugger starts: its probes come late */
	for (int i = 0; i < 20; i++)
		calls_step(i);
	return nothing;
}
int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("ended");
	return 0;
}
"""
GDB = ["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off"]
# ltrace loses threads of its own accord, one in 60 runs of a program that nobody observes: what it traces are only those of main().
DEBUGGERS = {
    "gdb": [*GDB, "-ex", "break worker", "-ex", "run", "-ex", "delete", "-ex", "continue"],
    "ltrace": ["ltrace", "-e", "pthread_create+pthread_join", "-o", "/dev/stderr"],
}


def what_it_says(text):
    """Without numbers, in any order: threads come as they come. Only lines that are a debugger's or the program's."""
    text = re.sub(r"0x[0-9a-f]+|\d+|<no return \.\.\.>|<unfinished \.\.\.>|<\.\.\. (\w+) resumed>", "N", text)
    return {line.strip() for line in text.splitlines() if re.search(r"libthread_db|Breakpoint|exited|^ended|pthread_\w+\(", line) and "gaspbpf" not in line}


@pytest.mark.parametrize("debugger", DEBUGGERS)
def test_a_debugger_under_observation(runtime, debugger):  # noqa: F811
    """Its threads' calls are counted; their ends are not watched, which a tracer might take for its own breakpoints."""
    (runtime.path / "program.c").write_text(PROGRAM)
    gaspbpf.compile_c(runtime.path / "program.c", runtime.path / "program", "-g", "-pthread", "-Wl,--no-as-needed", runtime.path / "libcalls.so")
    command = [*DEBUGGERS[debugger], runtime.path / "program"]
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE, env=gaspbpf.os.environ | runtime.env)
    result = gaspbpf.run("-q", "--json", *runtime.options, "-m", "calls", "--", *command, env=runtime.env)
    assert result.returncode == run.returncode == 0, result.stderr
    told, _, report = result.stdout.partition("{\n")
    assert what_it_says(told + result.stderr) >= what_it_says(run.stdout + run.stderr)
    assert "ended" in what_it_says(told)
    assert gaspbpf.events(json.loads("{\n" + report)).get("GASP_CALLS_STEP", {"calls": 0})["calls"] <= 60


def test_a_debugger_that_joins_an_observed_job(runtime, job, observe):  # noqa: F811
    """It is told of the libraries that the job loads: the place where the linker tells debuggers is theirs alone."""
    target = job([runtime.path / "loader", "--first", 1, "--rounds", 3], env=runtime.env).wait_ready()
    watcher = observe(*runtime.options, "--json", "-m", "calls", "-p", target.process.pid)
    with subprocess.Popen([*GDB, "-p", str(target.process.pid), "-ex", "catch load libplugin", "-ex", "echo waits\\n", "-ex", "continue"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as gdb:
        for line in gdb.stdout:
            if line.startswith("waits"):
                break
        target.work()
        said = gdb.communicate(timeout=gaspbpf.PATIENCE)[0]
    assert "libplugin_a.so" in said, said
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert target.end() == 0
    assert gaspbpf.events(json.loads(out))["GASP_CALLS_STEP"]["calls"] == 3 * (3 + 5)
