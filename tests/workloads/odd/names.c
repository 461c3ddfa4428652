/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads whose names are made to break whoever prints them: quotes, backslashes, newlines, control characters, bytes
 * that are no UTF-8, markup, format strings, nothing at all. The truth says which thread has which name, in
 * hexadecimal.
 */
#include "job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {
	"say \"hello\"",
	"back\\slash\\",
	"two\nlines\r",
	"\x01\x02\x1b[31m\x7f",
	"\xff\xfe\xc0\xaf",
	"cut \xe2\x82",
	"\xed\xa0\x80 surrogate",
	"</script><b>",
	"%s%n%d%x",
	"",
	"\t",
	"'; DROP",
	"fünf µs €",
	"\xe2\x80\xa8\xe2\x80\xa9",
	"a,b;c|d",
};
#define NAMES ((int)(sizeof(names) / sizeof(*names)))

static struct job job = { .name = "names", .rank = -1, .rounds = 10 };
static struct job_thread team[sizeof(names) / sizeof(*names)];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int phase, arrived;
static char more_truth[4096];

static void *worker(void *argument)
{
	struct job_thread *me = argument;

	me->tid = (int)syscall(SYS_gettid);
	prctl(PR_SET_NAME, names[me - team]);
	arrived++;
	while (phase < 1)
		job_sleep_us(500);
	for (long i = 0; i < job.rounds; i++) {
		pthread_mutex_lock(&mutex);
		count_call(&me->counts, "pthread_mutex_lock", 0);
		pthread_mutex_unlock(&mutex);
		count_call(&me->counts, "pthread_mutex_unlock", 0);
	}
	arrived++;
	while (phase < 2)
		job_sleep_us(500);
	return NULL;
}

static void tell_names(void)
{
	int at = snprintf(more_truth, sizeof(more_truth), ",\n \"names\":{");

	for (int i = 0; i < NAMES; i++) {
		at += snprintf(more_truth + at, sizeof(more_truth) - at, "%s\"%d\":\"", i ? "," : "", team[i].tid);
		for (const char *c = names[i]; *c && c - names[i] < 15; c++)
			at += snprintf(more_truth + at, sizeof(more_truth) - at, "%02x", (unsigned char)*c);
		at += snprintf(more_truth + at, sizeof(more_truth) - at, "\"");
	}
	snprintf(more_truth + at, sizeof(more_truth) - at, "}");
	job.more_truth = more_truth;
}

int main(int argc, char **argv)
{
	pthread_t threads[sizeof(names) / sizeof(*names)];

	job_options(&job, argc, argv, NULL);
	for (int i = 0; i < NAMES; i++) {
		snprintf(team[i].name, sizeof(team[i].name), "name-%d", i);
		if (pthread_create(&threads[i], NULL, worker, &team[i]))
			return 1;
	}
	while (arrived < NAMES)
		job_sleep_us(500);
	job_begin(&job);
	phase = 1;
	while (arrived < 2 * NAMES)
		job_sleep_us(500);
	job_finish(&job);
	phase = 2;
	for (int i = 0; i < NAMES; i++)
		pthread_join(threads[i], NULL);
	tell_names();
	printf("checksum %016x rounds %ld\n", 0, job.rounds);
	return job_truth(&job, job.rounds, 0, NULL, team, NAMES);
}
