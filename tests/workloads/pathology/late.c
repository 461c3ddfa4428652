/* SPDX-License-Identifier: BSD-2-Clause */
#include "late.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct late_plan late_plan = { .who = 1, .many = 1, .us = 3000, .base = 500, .to = LATE_ROUNDS, .every = 1 };

static int64_t used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

void late_work_us(long us)
{
	int64_t end = used() + us * 1000;

	if (!late_plan.spin)
		job_sleep_us(us);
	else
		while (used() < end)
			for (volatile int i = 0; i < 500; i++)
				;
}

/* ns that this thread could have run and had no processor, in all its life. */
static int64_t queued(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "r");
	long long ran, waited = 0;

	if (file && fscanf(file, "%lld %lld", &ran, &waited) != 2)
		waited = 0;
	if (file)
		fclose(file);
	return waited;
}

void late_come_by(struct late_member *member, bool late, long us, long base, long round)
{
	const struct late_plan *plan = &late_plan;
	int64_t before;

	if (!round)
		member->queued_before = queued();
	late_work_us(base);
	before = job_now();
	if (late && us && round >= plan->from && round < plan->to && (round - plan->from) % plan->every == 0)
		late_work_us(us);
	member->came[round] = job_now();
	member->planted[round] = member->came[round] - before;
	member->queued = queued() - member->queued_before;
}

void late_come(struct late_member *member, long me, long round)
{
	long who = late_plan.turns ? round % late_plan.turns : late_plan.who;

	late_come_by(member, me >= who && me < who + late_plan.many, late_plan.us, late_plan.base, round);
}

void late_left(struct late_member *member, long round)
{
	member->left[round] = job_now();
	member->tid = syscall(SYS_gettid);
}

static char *put_times(char *at, const char *name, const int64_t *times, long count)
{
	at += sprintf(at, ",\n \"%s\":[", name);
	for (long i = 0; i < count; i++)
		at += sprintf(at, "%s%lld", i ? "," : "", (long long)times[i]);
	return at + sprintf(at, "]");
}

char *late_put(char *at, const struct late_member *member, long rounds)
{
	at = put_times(at, "came", member->came, rounds);
	at = put_times(at, "left", member->left, rounds);
	at = put_times(at, "planted", member->planted, rounds);
	return at + sprintf(at, ",\n \"line\":%d, \"queued\":%lld", member->line, (long long)member->queued);
}

int late_team_truth(struct job *job, const struct late_member *team, long count)
{
	static char text[(LATE_TEAM + 1) * LATE_TEXT];
	char *at = text;

	at += sprintf(at, ",\n \"members\":[");
	for (long i = 0; i < count; i++) {
		at += sprintf(at, "%s{\"tid\":%ld", i ? ",\n " : "", team[i].tid);
		at = late_put(at, &team[i], job->rounds);
		at += sprintf(at, "}");
	}
	sprintf(at, "]");
	job->more_truth = text;
	return job_truth(job, job->rounds, 0, &(struct counts){ 0 }, NULL, 0);
}
