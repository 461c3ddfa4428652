/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Storms of malloc and free, with calm between them, and what they cost the job.
 *
 * In a storm pairs of calls follow each other without a pause. They are timed in batches by the thread's own processor
 * time, so that other programs on the machine do not matter. Other machines on the same processors would: what they
 * take is in the thread's time, too. But that is a gap here and there, while probes slow down each call: so a batch has
 * parts, and took as often its median part's time. A batch that took more than three times as long as the median one
 * was slowed down by somebody: what it took above the median is lost time; late: in what of the storms came --late-ms
 * after the first one's start or later. In the calm there are --rate pairs a second.
 */
#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARTS 5             /* of a batch */
#define PART 200            /* pairs; some microseconds alone */
#define BATCHES_MOST 4000000

static long cycles = 1, storm_ms = 1000, calm_ms, rate = 100, late_ms;
static uint32_t *batches;   /* ns */
static size_t nbatches;
static size_t first_late; /* batch */
static int64_t late_from;
static uint64_t pairs;

static uint64_t own_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The median of PARTS; qsort() would allocate. */
static uint32_t middle_of(const uint32_t *took)
{
	for (int i = 0; i < PARTS; i++) {
		int below = 0, above = 0;

		for (int j = 0; j < PARTS; j++) {
			below += took[j] < took[i];
			above += took[j] > took[i];
		}
		if (below <= PARTS / 2 && above <= PARTS / 2)
			return took[i];
	}
	return 0;
}

static uint32_t time_batch(void)
{
	uint64_t parts[PARTS + 1];
	uint32_t took[PARTS];

	parts[0] = own_time();
	for (int i = 0; i < PARTS; i++) {
		for (int j = 0; j < PART; j++)
			free(malloc(64));
		parts[i + 1] = own_time();
	}
	for (int i = 0; i < PARTS; i++) {
		uint64_t ns = parts[i + 1] - parts[i];

		took[i] = ns < UINT32_MAX / PARTS ? ns : UINT32_MAX / PARTS;
	}
	pairs += PARTS * PART;
	return PARTS * middle_of(took);
}

static void storm(void)
{
	int64_t end = job_now() + storm_ms * 1000000;

	while (job_now() < end && nbatches < BATCHES_MOST) {
		if (job_now() < late_from)
			first_late = nbatches + 1;
		batches[nbatches++] = time_batch();
	}
}

/* Pairs at a steady rate, without sleeping between near ones. */
static void calm(void)
{
	int64_t start = job_now(), end = start + calm_ms * 1000000, next = start;

	while (rate && next < end) {
		if (next > job_now() + 200000)
			job_sleep_us((next - job_now()) / 1000 - 100);
		while (job_now() < next)
			;
		free(malloc(64));
		pairs++;
		next += 1000000000 / rate;
	}
	while (job_now() < end)
		job_sleep_us(1000);
}

static int by_time(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* GATE/rate has the last word: a test may know only while the job waits what rate it wants. */
static void read_rate(const struct job *job)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/rate", job->gate ? job->gate : "");
	f = job->gate ? fopen(path, "r") : NULL;
	if (!f)
		return;
	if (fscanf(f, "%ld", &rate) != 1)
		rate = 0;
	fclose(f);
}

int main(int argc, char **argv)
{
	const struct job_option options[] = {
		{ "--cycles", &cycles }, { "--storm-ms", &storm_ms }, { "--calm-ms", &calm_ms }, { "--rate", &rate },
		{ "--late-ms", &late_ms }, { 0 },
	};
	static struct counts counts;
	static char truth[256];
	struct job job = { .name = "storm", .rank = -1, .rounds = 1 };
	uint64_t all = 0, late = 0, lost = 0, lost_late = 0, median = 0;
	uint32_t *sorted;

	job_options(&job, argc, argv, options);
	batches = calloc(BATCHES_MOST, sizeof(*batches));
	if (!batches)
		return 1;
	job_begin(&job);
	read_rate(&job);
	late_from = job_now() + late_ms * 1000000;
	for (long i = 0; i < cycles; i++) {
		storm();
		calm();
	}
	sorted = calloc(nbatches + 1, sizeof(*sorted)); /* not counted: the calls are compared with >= */
	if (!sorted)
		return 1;
	memcpy(sorted, batches, nbatches * sizeof(*sorted));
	qsort(sorted, nbatches, sizeof(*sorted), by_time);
	if (nbatches)
		median = sorted[nbatches / 2];
	for (size_t i = 0; i < nbatches; i++) {
		uint64_t above = batches[i] > 3 * median ? batches[i] - median : 0;

		all += batches[i];
		lost += above;
		if (i < first_late)
			continue;
		late += batches[i];
		lost_late += above;
	}
	free(sorted);
	snprintf(
		truth, sizeof(truth),
		",\n \"pairs\":%llu,\n \"storm_ns\":%llu,\n \"lost_ns\":%llu,\n \"late_ns\":%llu,\n \"lost_late_ns\":%llu",
		(unsigned long long)pairs, (unsigned long long)all, (unsigned long long)lost, (unsigned long long)late,
		(unsigned long long)lost_late);
	job.more_truth = truth;
	job_finish(&job);
	return job_truth(&job, cycles, pairs, &counts, NULL, 0);
}
