# SPDX-License-Identifier: BSD-2-Clause
"""malloc and pthread: counts and bytes against the job's own, attached late, on every rung."""
import json

import pytest

import gaspbpf
import naming


def unobserved_checksum(tmp_path, *arguments):
    import subprocess
    out = subprocess.run([gaspbpf.WORKLOADS / "threads", *arguments], capture_output=True, text=True, timeout=60,
                         check=True).stdout
    return [line for line in out.splitlines() if line.startswith("checksum")]


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_counts_between_two_marks(job, observe, tmp_path):
    """Work before and after is done while nobody looks, or must not be counted: exactly the window comes out."""
    arguments = ["--threads", "3", "--rounds", "50", "--warmup", "20", "--after", "20"]
    threads = job([gaspbpf.WORKLOADS / "threads", *arguments]).wait_ready()
    watcher = observe("-p", threads.pids()[0], "--json", "-o", tmp_path / "run.gasp")
    threads.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    report = json.loads(out)
    assert threads.end() == 0

    truth = threads.truths()[0]["functions"]
    seen = gaspbpf.events(report)
    assert report["loss"]["lost"] == 0
    for function, counted in truth.items():
        event = naming.THREADS.get(function)
        if not event or not counted["calls"]:
            continue
        assert seen[event]["calls"] == counted["calls"], function
        if counted["bytes"]:
            assert seen[event]["bytes"] == counted["bytes"], function
    assert unobserved_checksum(tmp_path, *arguments) == [line for line in threads.output().splitlines()
                                                        if line.startswith("checksum")]
    again = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    assert again["events"] == report["events"]


def test_a_function_of_the_program(job, observe, tmp_path):
    """-e: a prototype of the user's own, found in the program, with its arguments; an unknown one is told."""
    source = tmp_path / "steps.c"
    source.write_text("""
        #include <stdio.h>
        #include <unistd.h>
        __attribute__((noinline)) int step(int number, const char *name) { __asm__ volatile("" ::: "memory"); return number + name[0]; }
        int main(void)
        {
            int sum = 0;

            while (access("go", F_OK))
                usleep(10000);
            for (int i = -3; i < 40; i++)
                sum += step(i, "x");
            printf("%d\\n", sum);
            return 7;
        }
        """)
    program = tmp_path / "steps"
    gaspbpf.compile_c(source, program, "-O2", "-g")
    steps = job([program], gate=False)
    events = tmp_path / "run.events"
    watcher = observe("-p", steps.process.pid, "-e", "int step(int number, const char *name)", "--json", "-o", events)
    (steps.folder / "go").touch()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert steps.process.wait() == 7
    assert gaspbpf.events(json.loads(out))["GASP_USER_STEP"]["calls"] == 43
    starts = [line for line in events.read_text().splitlines() if " START GASP_USER_STEP" in line]
    assert [int(line.split("number=")[1].split()[0]) for line in starts] == list(range(-3, 40))
    other = job([program], gate=False)
    wrong = gaspbpf.run("-p", other.process.pid, "-e", "no_such_function")
    assert wrong.returncode == 1 and "-e no_such_function: not exported" in wrong.stderr


# PROGRAM PROCESSES THREADS HOW: each process is killed, or ends itself, while all its threads but one are in a call
# that does not return.
TOGETHER = r"""
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t never;
static void *enter(void *unused)
{
	pthread_barrier_wait(&never);
	return NULL;
}
static int asleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(tasks))) {
		char path[300], text[256] = "", *at;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
		file = *entry->d_name == '.' ? NULL : fopen(path, "r");
		if (file && fgets(text, sizeof(text), file) && (at = strrchr(text, ')')))
			count += at[2] == 'S';
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return count;
}
int main(int argc, char **argv)
{
	int processes = atoi(argv[1]), threads = atoi(argv[2]);

	for (int i = 0; i < processes; i++) {
		pid_t child = fork();

		if (!child) {
			pthread_t id;

			pthread_barrier_init(&never, NULL, threads + 1);
			for (int j = 0; j < threads; j++)
				if (pthread_create(&id, NULL, enter, NULL))
					abort();
			while (asleep() < threads)
				usleep(1000);
			if (*argv[3] == 'k')
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
"""


@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY)  # elsewhere each process waits for links of its own
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_threads_that_die_together(tmp_path, how, rung):
    """In any order: each one's call is there, ended with its thread, and belongs to that process."""
    processes, threads = 20, 200
    (tmp_path / "together.c").write_text(TOGETHER)
    gaspbpf.compile_c(tmp_path / "together.c", tmp_path / "together", "-O1", "-pthread")
    result = gaspbpf.run("-q", "--json", "-m", "pthread", "--", tmp_path / "together", processes, threads, how,
                         env={"GASPBPF_RUNG": rung})
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    row = gaspbpf.events(report)["GASP_PTHREAD_BARRIER_WAIT"]
    assert (row["calls"], row["ended"]) == (processes * threads, processes * threads)
    assert report["loss"]["lost"] == 0
    assert [process["status"] is not None for process in report["processes"]] == (processes + 1) * [True]
    assert len(report["threads"]) == processes * (threads + 1) + 1
