/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One of those who meet comes late: who, by how much and in which rounds is told by options; --us 0 is the healed twin.
 * What a job of any runtime needs for that: the work before each meeting, and the account of it.
 */
#ifndef WORKLOADS_LATE_H
#define WORKLOADS_LATE_H

#include "job.h"

#define LATE_ROUNDS 1000
#define LATE_TEXT (LATE_ROUNDS * 70 + 100) /* what one member's account takes */

/*
 * The late one, --who, works --us longer than the others, who work --base: in the rounds --from to --to, each --every.
 * --many N: they are so many, with those after it. --turns N: the late one is 0 in the first round, then 1, and so on up to N - 1, then 0 again.
 * --spin 1: work is processor time, else sleep.
 */
struct late_plan {
	long who, many, us, base, from, to, every, turns, spin;
};
extern struct late_plan late_plan;

/* In a table of struct job_option. */
#define LATE_OPTIONS                                                                                       \
	{ "--who", &late_plan.who }, { "--us", &late_plan.us }, { "--base", &late_plan.base },             \
		{ "--from", &late_plan.from }, { "--to", &late_plan.to }, { "--every", &late_plan.every }, \
		{ "--turns", &late_plan.turns }, { "--many", &late_plan.many },                            \
	{                                                                                                  \
		"--spin", &late_plan.spin                                                                  \
	}

/* What one of them notes: ns, of one clock. */
struct late_member {
	int64_t came[LATE_ROUNDS], left[LATE_ROUNDS], planted[LATE_ROUNDS];
	int64_t queued_before, queued; /* that it could have run and had no processor, up to its last meeting */
	long tid;
	int line; /* of the call that comes late */
};

/* Works, and notes when it came. `me`: compared with --who. */
void late_come(struct late_member *member, long me, long round);
/* The same for another one, by `us` only in those rounds. */
void late_come_by(struct late_member *member, bool late, long us, long base, long round);
void late_left(struct late_member *member, long round);
/* Processor time, or sleep. */
void late_work_us(long us);

/* Writes ,"came":[...],"left":[...],"planted":[...],"line":N to `at`; returns the end. */
char *late_put(char *at, const struct late_member *member, long rounds);

/* The truth of a job without ranks, whose members are these threads; as job_truth() returns. */
#define LATE_TEAM 16 /* at most */
int late_team_truth(struct job *job, const struct late_member *team, long count);

/* The first call that comes late, and the line where it stands. */
#define LATE_CALL(member, call)            \
	do {                               \
		(member)->line = __LINE__; \
		call;                      \
	} while (0)

#endif
