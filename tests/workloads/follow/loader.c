/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits at its gate; then loads and unloads two plugins in turn, --rounds times, and calls each: 3 times the first, 5
 * times the second. Says how often the second one came to lie where the first had been. --pause-us: after each loading.
 * --first 1: loads the runtime before the gate.
 */
#include "job.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static struct job job = { .name = "loader", .rank = -1, .rounds = 10 };
static long pause_us, first = 1;
static struct counts counts;

static void *use(const char *name, int calls)
{
	void *plugin = dlopen(name, RTLD_NOW);
	void (*work)(int) = plugin ? dlsym(plugin, "plugin_work") : NULL;

	if (!work) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	if (pause_us)
		job_sleep_us(pause_us);
	work(calls);
	for (int i = 0; i < calls; i++)
		count_call(&counts, name, 0);
	if (pause_us)
		job_sleep_us(pause_us);
	dlclose(plugin);
	return work;
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--pause-us", &pause_us }, { "--first", &first }, { NULL, NULL } };
	long same = 0, done = 0;

	job_options(&job, argc, argv, more);
	if (first && !dlopen("libcalls.so", RTLD_NOW))
		return 1;
	job_begin(&job);
	for (; job_more(&job, done); done++)
		same += use("libplugin_a.so", 3) == use("libplugin_b.so", 5);
	job_finish(&job);
	fprintf(stderr, "same place %ld of %ld\n", same, done);
	printf("checksum %016lx rounds %ld\n", done, done);
	return job_truth(&job, done, done, &counts, NULL, 0);
}
