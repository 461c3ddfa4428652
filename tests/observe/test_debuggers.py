# SPDX-License-Identifier: BSD-2-Clause
"""Debuggers beside an observation: gdb and ltrace work on an observed job as they do alone, and the job does, too."""
import json
import re
import subprocess

import pytest

import gaspbpf
from following import alone, runtime  # noqa: F401 (a fixture)

PROGRAM = r"""
#include <pthread.h>
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
	return 0; /* and says nothing, which would get in between what its debugger says */
}
"""
GDB = ["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off"]
# ltrace loses threads of its own accord, one in 60 runs of a program that nobody observes: what it traces are only
# those of main().
DEBUGGERS = {
    "gdb": [*GDB, "-ex", "break worker", "-ex", "run", "-ex", "delete", "-ex", "continue"],
    "ltrace": ["ltrace", "-e", "pthread_create+pthread_join", "-o", "/dev/stderr"],
}


def what_it_says(text):
    """Without numbers, in any order: threads come as they come. Only lines that are a debugger's or the program's."""
    text = re.sub(r"0x[0-9a-f]+|\d+|<no return \.\.\.>|<unfinished \.\.\.>|<\.\.\. (\w+) resumed>", "N", text)
    return {line.strip() for line in text.splitlines()
            if re.search(r"libthread_db|Breakpoint|exited|pthread_\w+\(", line) and "gaspbpf" not in line}


@pytest.mark.parametrize("debugger", DEBUGGERS)
def test_a_debugger_under_observation(runtime, debugger):  # noqa: F811
    """Its threads' calls are counted; their ends are not watched, which a tracer might take for its own breakpoints."""
    (runtime.path / "program.c").write_text(PROGRAM)
    gaspbpf.compile_c(runtime.path / "program.c", runtime.path / "program", "-g", "-pthread", "-Wl,--no-as-needed",
                      runtime.path / "libcalls.so")
    command = [*DEBUGGERS[debugger], runtime.path / "program"]
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE,
                         env=gaspbpf.os.environ | runtime.env)
    result = gaspbpf.run("-q", "--json", *runtime.options, "-m", "calls", "--", *command, env=runtime.env)
    assert result.returncode == run.returncode == 0, result.stderr
    told, _, report = result.stdout.partition("{\n")
    assert what_it_says(told + result.stderr) >= what_it_says(run.stdout + run.stderr)
    assert any("exited" in line for line in what_it_says(told + result.stderr))
    assert gaspbpf.events(json.loads("{\n" + report)).get("GASP_CALLS_STEP", {"calls": 0})["calls"] <= 60


def test_a_debugger_that_joins_an_observed_job(runtime, job, observe):  # noqa: F811
    """It is told of the libraries that the job loads: the place where the linker tells debuggers is theirs alone."""
    target = job([runtime.path / "loader", "--first", 1, "--rounds", 3], env=runtime.env).wait_ready()
    watcher = observe(*runtime.options, "--json", "-m", "calls", "-p", target.process.pid)
    with subprocess.Popen([*GDB, "-p", str(target.process.pid), "-ex", "catch load libplugin", "-ex", "echo waits\\n",
                           "-ex", "continue"],
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


# Each waits in a system call that a stop would end early, until the signal comes that ends it all.
WAITS = r"""
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <unistd.h>
static int semaphores, events, bell;
static void *at_semaphore(void *nothing)
{
	if (semop(semaphores, &(struct sembuf){ .sem_op = -1 }, 1))
		printf("semop: %d\n", errno);
	return nothing;
}
static void *at_epoll(void *nothing)
{
	if (epoll_wait(events, &(struct epoll_event){ 0 }, 1, -1) != 1)
		printf("epoll_wait: %d\n", errno);
	return nothing;
}
int main(void)
{
	pthread_t threads[2];
	sigset_t end;
	sigemptyset(&end);
	sigaddset(&end, SIGUSR1);
	sigprocmask(SIG_BLOCK, &end, NULL);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	events = epoll_create1(0);
	bell = eventfd(0, 0);
	epoll_ctl(events, EPOLL_CTL_ADD, bell, &(struct epoll_event){ .events = EPOLLIN });
	pthread_create(&threads[0], NULL, at_semaphore, NULL);
	pthread_create(&threads[1], NULL, at_epoll, NULL);
	if (sigwaitinfo(&end, NULL) != SIGUSR1)
		printf("sigwaitinfo: %d\n", errno);
	semop(semaphores, &(struct sembuf){ .sem_op = 1 }, 1);
	eventfd_write(bell, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	semctl(semaphores, 0, IPC_RMID);
	puts("ended");
	return 0;
}
"""
# Until all three of its threads sleep; then the debugger, and the end.
BESIDE = """./waits >said & waits=$!
for thread in 1 2 3; do until cat /proc/$waits/task/*/stat 2>/dev/null | sed -n "${thread}p" | grep -q ') S '; do sleep 0.01; done; done
DEBUGGER
kill -USR1 $waits; wait $waits; cat said"""


def beside_a_debugger(runtime, debugger):
    (runtime.path / "waits.c").write_text(WAITS)
    gaspbpf.compile_c(runtime.path / "waits.c", runtime.path / "waits", "-pthread")
    result = gaspbpf.run("-q", "-o", runtime.path / "run.gasp", *runtime.options, "-m", "calls", "--", "sh", "-c",
                         BESIDE.replace("DEBUGGER", debugger), cwd=runtime.path, env=runtime.env)
    assert result.returncode == 0, result.stderr
    assert "may trace other processes" in result.stderr
    return result.stdout.partition("Observed for")[0]


def test_a_debugger_ends_no_wait_of_others(runtime):  # noqa: F811
    """All that is held is let go for its sake, and none of it is made to stop for that: EINTR would be what they
    see."""
    assert beside_a_debugger(runtime, "ltrace -o /dev/null true").strip() == "ended"


def test_a_debugger_may_trace_others_at_once(runtime):  # noqa: F811
    """What was held a moment ago is nobody's when the debugger begins."""
    said = beside_a_debugger(runtime, " ".join([*GDB[:-2], "-p $waits 2>&1"]))
    assert re.search(r"Inferior 1 \(process \d+\) detached", said) and "not permitted" not in said, said


def test_an_observer_by_perf_events_takes_no_breakpoint_of_others(runtime):  # noqa: F811
    """Were it to probe the very place where a debugger has its breakpoint, it would be hit in place of it in each
    process that has some probe."""
    first = subprocess.Popen(
        [*map(str, [gaspbpf.PROGRAM, "-q", "-o", runtime.path / "first.gasp", "-m", "mpi", "--scope=process", "--",
                    "cat"])], env=gaspbpf.os.environ | {"GASPBPF_RUNG": "perf"}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        first.stdin.write("it runs\n")
        first.stdin.flush()
        assert first.stdout.readline() == "it runs\n"
        test_a_debugger_under_observation(runtime, "gdb")
    finally:
        first.communicate(timeout=gaspbpf.PATIENCE)
