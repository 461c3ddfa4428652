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

/* The same work of all threads. */
struct turns {
	struct delay **rows;
	size_t threads;
	struct delay *sum; /* of the rows; its deed is that of the one that is waited for most */
	uint64_t most;     /* ns that others wait for that one */
	uint64_t least_times;
	uint64_t lost;  /* ns without a processor */
	size_t victims; /* of one of them, at most */
};

static int add_up(const struct delays *s, const struct report *r, struct delay *first, struct turns *t)
{
	*t = (struct turns){ .rows = calloc(s->room, sizeof(*t->rows)),
			     .least_times = UINT64_MAX,
			     .most = delay_all(first) };
	if (!t->rows)
		return -ENOMEM;
	t->rows[t->threads++] = first;
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i] && s->table[i] != first && deed_is_same(&s->table[i]->deed, &first->deed) &&
		    !thread_is_left_out(s->d, s->table[i]->deed.thread))
			t->rows[t->threads++] = s->table[i];
	for (size_t i = 0; i < t->threads; i++) {
		const struct delay *one = t->rows[i];

		t->least_times = one->times < t->least_times ? one->times : t->least_times;
		t->victims = one->nsuffered > t->victims ? one->nsuffered : t->victims;
		if (scheduling_queue_is_known(&s->d->threads[one->deed.thread]))
			t->lost += scheduling_lost(r, one->deed.thread);
	}
	t->sum = delays_sum(s, t->rows, t->threads);
	return t->sum ? 0 : -ENOMEM;
}

static double mean_of(const struct turns *t)
{
	return t->sum->times ? (double)t->sum->lasted / t->sum->times : 0;
}

static double deviation_of(const struct turns *t)
{
	return sqrt(delay_variance(t->sum->times, t->sum->lasted, t->sum->squares));
}

/* So many waits, if they were equal, in steps of as many threads. */
static bool is_in_many_steps(const struct turns *t)
{
	double all = delay_all(t->sum), waits = t->sum->blamed > 0 ? all * all / t->sum->blamed : 0;

	return t->victims && waits / t->victims * t->threads * STEPS_SHARE >= (double)t->sum->times;
}

/* Half of what differs is longer than the mean. */
static bool may_lack_processors(const struct turns *t)
{
	return (double)t->lost >= EXPLAINED * deviation_of(t) * t->sum->times / 2;
}

static bool is_by_turns(const struct delays *s, const struct turns *t)
{
	double share = t->threads ? fmin(2.0 / t->threads, (1 + 1.0 / t->threads) / 2) : 0;

	return t->threads > 1 && t->least_times >= LEAST_TIMES &&
	       delay_all(t->sum) * CHIEF_SHARE >= suffered_sum(&s->all) &&
	       (double)t->most < share * delay_all(t->sum) && deviation_of(t) * 100 >= LEAST_VARIATION * mean_of(t) &&
	       is_in_many_steps(t) && !may_lack_processors(t);
}

static int tell(struct delays *s, struct report *r, const struct turns *t)
{
	const struct delay *sum = t->sum;
	struct relief relief = deed_relief(&sum->deed, NO_INDEX, &s->sites);
	char who[LABEL_ROOM], what[LABEL_ROOM], where[2 * LABEL_ROOM], mean[FORMAT_SIZE], deviation[FORMAT_SIZE],
		time[FORMAT_SIZE], gives[200];
	struct finding finding = { .kind = "changing_imbalance",
				   .event = NO_INDEX,
				   .thread = NO_INDEX,
				   .site = sum->deed.before.site,
				   .has_site = sum->deed.before.site != NO_INDEX,
				   .weight = delay_all(sum),
				   .instances = sum->worst,
				   .ninstances = sum->nworst,
				   .culprits = &s->by_turns,
				   .victims = &sum->waiting,
				   .regularity = { .what = "times that one of them does this",
						   .times = sum->times,
						   .of = sum->times,
						   .mean = mean_of(t),
						   .deviation = deviation_of(t) },
				   .seen = sum->seen,
				   .nseen = sum->nseen,
				   .section = "delays" };

	relief.most = mean_of(t);
	report_find_gain(r, &relief, &finding);
	if (!finding.has_gain || finding.gain < (r->end - r->start) / GAIN_SHARE)
		return 0;
	for (size_t i = 0; i < t->threads; i++)
		if (people_add(&s->by_turns, t->rows[i]->deed.thread))
			return -ENOMEM;
	deed_text(s->d, &sum->deed, sum->lasted / t->threads, what, sizeof(what));
	deed_place(s->d, &sum->deed, NULL, 0, where, sizeof(where));
	gain_text(r, &finding, "were the work of each step divided evenly", "", gives, sizeof(gives));
	return report_add_finding(
		r, &finding,
		"in each step another of %s is late by turns: it %s (%s), %s each time on average, standard deviation "
		"%s, and nobody longer than the others in all; the others wait for whoever it is: %s in all, %.1f %% "
		"of all threads' time%s",
		people_label(s->d, &s->by_turns, who, sizeof(who)), what, where, format_time(mean, mean_of(t)),
		format_time(deviation, deviation_of(t)), format_time(time, delay_all(sum)),
		percent(delay_all(sum), r->wall), gives);
}

/* Has a row that is waited for more told of the same? */
static bool was_looked_at(const struct delays *s, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (deed_is_same(&s->sorted[i]->deed, &s->sorted[number]->deed))
			return true;
	return false;
}

/* One, of what is waited for most. */
int delays_find_turns(struct delays *s, struct report *r)
{
	int error = 0;

	for (size_t i = 0; i < s->nsorted && i < LOOKED_AT && !error && !people_count(&s->by_turns); i++) {
		struct turns t;

		if (s->sorted[i]->deed.doing != DOING_WORK || was_looked_at(s, i))
			continue;
		error = add_up(s, r, s->sorted[i], &t);
		if (!error && is_by_turns(s, &t))
			error = tell(s, r, &t);
		free(t.rows);
		if (people_count(&s->by_turns))
			s->turns = t.sum;
		else
			delay_free(t.sum);
	}
	return error;
}
