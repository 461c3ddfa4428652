# SPDX-License-Identifier: BSD-2-Clause
"""Threads that make no observed call are in no table: how many there are, and what they ran, is said of their
process."""
import json
import signal
import subprocess

import pytest

import gaspbpf

THREADS = 3
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3

static volatile int ready, go, leave;
static long before[THREADS], begun[THREADS], ended[THREADS];

static long used(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void burn(long ns)
{
	for (long end = used(CLOCK_THREAD_CPUTIME_ID) + ns; used(CLOCK_THREAD_CPUTIME_ID) < end;)
		;
}

static void *quiet(void *argument)
{
	long i = (long)argument;

	burn(60000000);
	before[i] = used(CLOCK_THREAD_CPUTIME_ID);
	__sync_fetch_and_add(&ready, 1);
	while (!go)
		usleep(1000);
	begun[i] = used(CLOCK_THREAD_CPUTIME_ID);
	burn(20000000);
	ended[i] = used(CLOCK_THREAD_CPUTIME_ID);
	__sync_fetch_and_add(&ready, 1);
	while (!leave)
		usleep(1000);
	return NULL;
}

static void wait_for(int count)
{
	while (ready < count)
		usleep(1000);
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	long least = 0, early = 0;

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, quiet, (void *)i))
			return 1;
	wait_for(THREADS);
	puts("ready");
	fflush(stdout);
	getchar();
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	go = 1;
	wait_for(2 * THREADS);
	puts("done");
	fflush(stdout);
	getchar();
	leave = 1;
	for (long i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		least += ended[i] - begun[i];
		early += before[i];
	}
	printf("{\"least\": %ld, \"before\": %ld, \"all\": %ld}\n", least, early, used(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "quiet.c").write_text(PROGRAM)
    gaspbpf.compile_c(folder / "quiet.c", folder / "quiet", "-O1", "-pthread")
    return folder / "quiet"


def step(running, said):
    running.stdin.write("\n")
    running.stdin.flush()
    if said:
        assert running.stdout.readline() == said


def told(recording):
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    process, = report["processes"]
    end = process["end_ns"] or report["recording"]["end_ns"]
    assert {thread["wall_ns"] for thread in report["threads"]} == {end - process["start_ns"]}
    process["observed_ns"] = report["recording"]["end_ns"] - report["recording"]["start_ns"]
    return process, gaspbpf.run("report", "--section", "processes", recording).stdout


@pytest.mark.parametrize("end", [True, False], ids=["they end", "they live on"])
def test_joined_later(program, observe, tmp_path, rung, end):
    """What they had run before is not told of, and what they run afterwards is."""
    recording = tmp_path / "run.gasp"
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        watcher = observe("-m", "pthread", "-p", running.pid, "-o", recording)
        step(running, "done\n")
        if not end:
            assert watcher.stop(signal.SIGINT)[0] == 0
        step(running, None)
        truth = json.loads(running.stdout.readline())
    assert running.returncode == 0
    if end:
        assert watcher.finish()[0] == 0
    process, shown = told(recording)
    assert process["quiet_threads"] == THREADS
    assert truth["least"] <= process["quiet_run_ns"] <= truth["all"] - truth["before"]
    if process["quiet_run_ns"] > process["observed_ns"] / 50:
        assert ", 1 thread, and 3 more that made no observed call and ran " in shown


def test_from_the_start(program, observe, tmp_path):
    recording = tmp_path / "run.gasp"
    result = gaspbpf.run("-m", "pthread", "-o", recording, "--", "sh", "-c", f"printf '\\n\\n' | exec {program}")
    assert result.returncode == 0, result.stderr
    said = next(line for line in result.stdout.splitlines() if line.startswith('{"least"'))
    truth = json.loads(said)
    process, _ = told(recording)
    assert process["quiet_threads"] == THREADS
    assert truth["least"] + truth["before"] <= process["quiet_run_ns"] <= truth["all"]


def test_who_makes_calls_is_not_among_them(job, observe, tmp_path):
    running = job([gaspbpf.WORKLOADS / "threads", "--rounds", "3"]).wait_ready()
    recording = tmp_path / "run.gasp"
    watcher = observe("-m", "pthread", "-p", running.pids()[0], "-o", recording)
    running.work()
    assert watcher.stop()[0] == 0 and running.end() == 0
    assert told(recording)[0]["quiet_threads"] == 1, "its first one only waits for the others"
