/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks and execs: each child does the counted work, and every second one does it again after it has replaced itself by
 * this program anew. Each process writes a truth of its own, so --truth needs a %d (the pid); one that execs writes
 * FILE.before first.
 */
#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct job job = { .name = "family", .rank = -1, .rounds = 20 };
static long children = 4, after_exec;
static struct counts counts;

static void work(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (long i = 0; i < job.rounds; i++) {
		volatile char *block = malloc(100 + i);

		count_call(&counts, "malloc", 100 + i);
		pthread_mutex_lock(&mutex);
		count_call(&counts, "pthread_mutex_lock", 0);
		block[0] = 1;
		pthread_mutex_unlock(&mutex);
		count_call(&counts, "pthread_mutex_unlock", 0);
		free((void *)block);
		count_call(&counts, "free", 0);
	}
}

static int run_child(long index)
{
	char rounds[32], pattern[4096];

	work();
	if (index % 2 == 0)
		return job_truth(&job, job.rounds, 0, &counts, NULL, 0);
	snprintf(rounds, sizeof(rounds), "%ld", job.rounds);
	snprintf(pattern, sizeof(pattern), "%s", job.truth ? job.truth : "/dev/null");
	if (job.truth) {
		char before[4096 + 8];

		snprintf(before, sizeof(before), "%s.before", job.truth);
		job.truth = before;
		if (job_truth(&job, job.rounds, 0, &counts, NULL, 0))
			return 1;
	}
	execl("/proc/self/exe", "family", "--after-exec", "1", "--rounds", rounds, "--truth", pattern, (char *)NULL);
	return 1;
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--children", &children },
					   { "--after-exec", &after_exec },
					   { NULL, NULL } };
	int status = 0, how;

	job_options(&job, argc, argv, more);
	if (after_exec) {
		work();
		return job_truth(&job, job.rounds, 0, &counts, NULL, 0);
	}
	job_begin(&job);
	fflush(stdout);
	for (long i = 0; i < children; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(run_child(i));
		if (child < 0)
			return 1;
	}
	while (wait(&how) > 0)
		if (!WIFEXITED(how) || WEXITSTATUS(how))
			status = 1;
	work();
	job_finish(&job);
	printf("checksum %016x rounds %ld\n", status, job.rounds);
	return job_truth(&job, job.rounds, 0, &counts, NULL, 0) || status;
}
