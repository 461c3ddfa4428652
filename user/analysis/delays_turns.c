/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays_turns.c - in each step another one is late: all do the same work as long on average, and each time one of them
 * for longer.
 *
 * Nobody is to blame then by delays_clear.c, since nobody takes longer than the others; and yet all wait as long as if
 * one were late in each step. It is a finding where
 *   - at least two threads do the same between the same two calls, ten times each or more, and none of them is waited
 *     for by more than twice its share (of two: three of four parts);
 *   - how long it takes differs by a quarter of its mean, as a standard deviation: what the system and the machine do
 *     to a thread is less. Where its threads lack a processor, that may be why, and it is not told;
 *   - the waits are of many steps: worth a quarter of them, by (sum)^2 / sum of squares;
 *   - and even work in each step would make the run 5 % shorter.
 */
#include "analysis/delays.h"
#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LOOKED_AT 64       /* rows, those that are waited for most */
#define LEAST_TIMES 10     /* of each thread */
#define LEAST_VARIATION 25 /* percent: standard deviation of the mean */
#define GAIN_SHARE 20      /* one in so many of the run */
#define CHIEF_SHARE 5      /* and it is one in so many of all that is waited */
#define STEPS_SHARE 4      /* one in so many of the steps */
#define EXPLAINED 0.8      /* of what one is longer than the mean, by a lack of processors */

struct turns {
	struct same_work work;
	uint64_t most; /* ns that others wait for the one that is waited for most */
	uint64_t least_times;
	uint64_t lost;  /* ns without a processor */
	size_t victims; /* of one of them, at most */
	bool in_group;  /* one of them is told of */
};

static void look_at_all(const struct delays *s, const struct report *r, struct turns *t)
{
	t->most = delay_all(t->work.rows[0]);
	t->least_times = UINT64_MAX;
	for (size_t i = 0; i < t->work.threads; i++) {
		const struct delay *one = t->work.rows[i];

		t->least_times = one->times < t->least_times ? one->times : t->least_times;
		t->victims = one->nsuffered > t->victims ? one->nsuffered : t->victims;
		t->in_group |= one->in_group;
		if (scheduling_queue_is_known(&s->d->threads[one->deed.thread]))
			t->lost += scheduling_lost(r, one->deed.thread);
	}
}

/* So many waits, if they were equal, in steps of as many threads. */
static bool is_in_many_steps(const struct turns *t)
{
	const struct delay *sum = t->work.sum;
	double all = delay_all(sum), waits = sum->blamed > 0 ? all * all / sum->blamed : 0;

	return t->victims && waits / t->victims * t->work.threads * STEPS_SHARE >= (double)sum->times;
}

/* Half of what differs is longer than the mean. */
static bool may_lack_processors(const struct turns *t)
{
	return (double)t->lost >= EXPLAINED * delay_deviation(t->work.sum) * t->work.sum->times / 2;
}

static bool is_by_turns(const struct delays *s, const struct turns *t)
{
	const struct delay *sum = t->work.sum;
	double threads = t->work.threads, share = fmin(2 / threads, (1 + 1 / threads) / 2);

	return t->work.threads > 1 && !t->in_group && t->least_times >= LEAST_TIMES &&
	       delay_all(sum) * CHIEF_SHARE >= suffered_sum(&s->all) && (double)t->most < share * delay_all(sum) &&
	       delay_deviation(sum) * 100 >= LEAST_VARIATION * delay_mean(sum) && is_in_many_steps(t) &&
	       !may_lack_processors(t);
}

static int tell(struct delays *s, struct report *r, struct turns *t)
{
	const struct delay *sum = t->work.sum;
	struct relief relief = deed_relief(&sum->deed, NO_INDEX, &s->sites);
	struct delay_group *group;
	char who[LABEL_ROOM], what[LABEL_ROOM], where[2 * LABEL_ROOM], mean[FORMAT_SIZE], deviation[FORMAT_SIZE],
		time[FORMAT_SIZE], gives[200];
	struct finding finding = delay_finding(sum, "changing_imbalance", "times that one of them does this");

	relief.most = delay_mean(sum);
	report_find_gain(r, &relief, &finding);
	if (!finding.has_gain || finding.gain < (r->end - r->start) / GAIN_SHARE)
		return 0;
	if (delays_add_group(s, &t->work.sum, &group))
		return -ENOMEM;
	finding.culprits = &group->who;
	deed_text(s->d, &sum->deed, sum->lasted / t->work.threads, what, sizeof(what));
	deed_place(s->d, &sum->deed, NULL, 0, IN_SENTENCE, where, sizeof(where));
	gain_text(r, &finding, "were the work of each step divided evenly", "", gives, sizeof(gives));
	return report_add_finding(
		r, &finding,
		"in each step another of %s is late by turns: it %s (%s), %s each time on average, standard deviation "
		"%s, and nobody longer than the others in all; the others wait for whoever it is: %s in all, %.1f %% "
		"of all threads' time%s",
		people_label(s->d, &group->who, who, sizeof(who)), what, where, format_time(mean, delay_mean(sum)),
		format_time(deviation, delay_deviation(sum)), format_time(time, delay_all(sum)),
		percent(delay_all(sum), r->wall), gives);
}

/* One, of what is waited for most. */
int delays_find_turns(struct delays *s, struct report *r)
{
	size_t groups = s->ngroups;
	int error = 0;

	for (size_t i = 0; i < s->nsorted && i < LOOKED_AT && !error && s->ngroups == groups && groups < GROUPS_MOST;
	     i++) {
		struct turns t = { 0 };

		error = same_work_of(s, i, &t.work);
		if (!error && t.work.threads) {
			look_at_all(s, r, &t);
			if (is_by_turns(s, &t))
				error = tell(s, r, &t);
		}
		same_work_free(&t.work);
	}
	return error;
}
