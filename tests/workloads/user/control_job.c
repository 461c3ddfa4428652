/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_job.c - a job that switches its own measurement off and on (GASP 1.4 sections 3.3 and 5.2).
 *
 * Its truth is what it has told while measurement was on. With --outside 1 it leaves that to others: then it tells all
 * that it does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../job.h"
#include "pupc.h"

static struct job job;
static struct counts counts;
static unsigned work, cut;
static long outside;
static bool on = true;

static void some_work(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		void *volatile memory;

		pupc_event_start(work, i);
		memory = malloc(100);
		free(memory);
		pupc_event_end(work, i);
		if (on) {
			count_call(&counts, "work", 0);
			count_call(&counts, "malloc", 100);
			count_call(&counts, "free", 0);
		}
	}
}

static int switch_to(bool to)
{
	int before = outside ? 1 : pupc_control(to);

	on = outside || to;
	return before;
}

static void *in_a_thread(void *argument)
{
	some_work(5);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct job_option more[] = { { "--outside", &outside }, { 0 } };
	pthread_t thread;
	int status;

	job.name = "control";
	job.rank = -1;
	job.rounds = 10;
	job_options(&job, argc, argv, more);
	work = pupc_create_event("work", "round=%ld");
	cut = pupc_create_event("cut", NULL);
	job_begin(&job);
	some_work(job.rounds);
	pupc_event_start(cut);
	count_call(&counts, "cut", 0);
	switch_to(false);
	pupc_event_end(cut);
	some_work(2 * job.rounds);
	pthread_create(&thread, NULL, in_a_thread, NULL);
	pthread_join(thread, NULL);
	if (!outside && !fork()) { /* a copy of its parent: it is off there, too */
		some_work(3);
		_exit(0);
	}
	wait(&status);
	if (!outside && (pupc_control(0) != 0 || pupc_control(1) != 0))
		return 3;
	on = true;
	some_work(3 * job.rounds);
	switch_to(false);
	some_work(1);
	job_finish(&job);
	return job_truth(&job, job.rounds, 0, &counts, NULL, 0);
}
