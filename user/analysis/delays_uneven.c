/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays_uneven.c - several threads take longer for the same work than the others: it is divided unevenly.
 *
 * Of one thread that is late delays_find.c tells; of several, each by itself gives little or nothing, since the next
 * one is as late. What is told is what it would give if each of them took as long as all do on average. It is a finding
 * where
 *   - two or more take longer for the same, between the same two calls, than all others that do it, by
 *     the test of delays_clear.c;
 *   - not since they had no processor, or since their calls are observed: delays_own.c;
 *   - what is waited for them is a fifth of all that is waited, and one in a hundred of the threads' time, and is worth
 *     three equal waits;
 *   - and evenly divided work would make the run 1 % shorter, and a quarter more than if the one that is waited for
 *     most took as long as the others.
 */
#include "analysis/delays.h"
#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 64    /* rows, those that are waited for most */
#define CHIEF_SHARE 5   /* one in so many of all that is waited */
#define WORTH_SHARE 100 /* one in so many of the threads' time; and of the run */
#define EQUAL_WAITS 3
#define MORE 1.25 /* times what the one gives that is waited for most */

struct uneven {
	struct same_work work;
	struct delay **longer; /* of its rows, those that take longer */
	size_t nlonger;
	struct delay *sum; /* of these */
};

static void uneven_free(struct uneven *u)
{
	same_work_free(&u->work);
	delay_free(u->sum);
	free(u->longer);
}

static int find_longer(const struct delays *s, struct uneven *u)
{
	u->longer = calloc(u->work.threads, sizeof(*u->longer));
	if (!u->longer)
		return -ENOMEM;
	u->nlonger = delays_longer(s, &u->work, u->longer);
	if (u->nlonger < 2)
		return 0;
	u->sum = delays_sum(s, u->longer, u->nlonger);
	return u->sum ? 0 : -ENOMEM;
}

static bool is_worth_it(const struct delays *s, const struct report *r, const struct delay *sum)
{
	double all = delay_all(sum);

	return all * CHIEF_SHARE >= suffered_sum(&s->all) && all * WORTH_SHARE >= r->wall && sum->nsuffered &&
	       all * all >= EQUAL_WAITS * sum->blamed * sum->nsuffered;
}

/* ns each time on average: of those that do not take longer. */
static double mean_of_others(const struct delay *all, const struct delay *longer)
{
	return (double)(all->lasted - longer->lasted) / (all->times - longer->times ?: 1);
}

/* What it would give if each took as long as all do on average, and whether that is clearly more than by one of them
 * alone. 0 or -ENOMEM. */
static int find_gain(const struct delays *s, struct report *r, const struct uneven *u, struct finding *finding,
		     bool *is_more)
{
	const struct delay *first = u->longer[0];
	double *less = calloc(s->d->nthreads, sizeof(*less)), all = delay_mean(u->work.sum);
	struct relief even = deed_relief(&first->deed, NO_INDEX, &s->sites),
		      one = deed_relief(&first->deed, first->deed.thread, &s->sites);
	uint64_t alone = 0;

	if (!less)
		return -ENOMEM;
	for (size_t i = 0; i < u->nlonger; i++)
		if (delay_mean(u->longer[i]) > all)
			less[u->longer[i]->deed.thread] = 1 - all / delay_mean(u->longer[i]);
	even.less_of = less;
	even.nthreads = s->d->nthreads;
	one.less = 1 - same_work_others(s, &u->work, first).mean / delay_mean(first);
	report_find_gain(r, &even, finding);
	if (finding->has_gain)
		report_relieve(r, &one, 1, &alone);
	*is_more = !finding->has_gain ||
		   (finding->gain * WORTH_SHARE >= r->end - r->start && (double)finding->gain >= MORE * alone);
	free(less);
	return 0;
}

/* " (99 times of 100 at least 1.8 ms ...)": of the quickest of those that had no processor, where all of
 * them are so; "" */
static const char *quickest_text(const struct delays *s, const struct report *r, const struct uneven *u, char *text,
				 size_t room)
{
	struct delay_quickest all = { .its = UINT64_MAX }, one;
	char says[QUICKEST_ROOM];
	bool lacks = false;

	*text = '\0';
	for (size_t i = 0; i < u->nlonger; i++) {
		if (!delay_is_never_as_quick(s, u->longer[i], &one))
			return text;
		lacks |= scheduling_is_held_up(r, u->longer[i]->deed.thread);
		all.its = one.its < all.its ? one.its : all.its;
		all.others = one.others > all.others ? one.others : all.others;
	}
	if (lacks)
		snprintf(text, room, " (%s)", delay_quickest_text(&all, says, sizeof(says)));
	return text;
}

/* "4.507 ms to 4.987 ms": how long each of them takes, on average. Into text, which is returned. */
static const char *means_text(const struct uneven *u, char *text, size_t room)
{
	double least = delay_mean(u->longer[0]), most = least;
	char from[FORMAT_SIZE], to[FORMAT_SIZE];

	for (size_t i = 1; i < u->nlonger; i++) {
		least = fmin(least, delay_mean(u->longer[i]));
		most = fmax(most, delay_mean(u->longer[i]));
	}
	format_time(from, least);
	format_time(to, most);
	snprintf(text, room, "%s%s%s", from, strcmp(from, to) ? " to " : "", strcmp(from, to) ? to : "");
	return text;
}

static int tell(struct delays *s, struct report *r, struct uneven *u)
{
	const struct delay *sum = u->sum;
	struct finding finding = delay_finding(sum, "load_imbalance", "times that one of them does this");
	char who[LABEL_ROOM], what[LABEL_ROOM], where[2 * LABEL_ROOM], longer[2 * FORMAT_SIZE + 4], others[FORMAT_SIZE],
		time[FORMAT_SIZE], gives[200], quickest[QUICKEST_ROOM + 4];
	size_t rest = u->work.threads - u->nlonger;
	struct delay_group *group;
	bool is_more;

	if (find_gain(s, r, u, &finding, &is_more))
		return -ENOMEM;
	if (!is_more)
		return 0;
	if (delays_add_group(s, &u->sum, &group))
		return -ENOMEM;
	finding.culprits = &group->who;
	deed_text(s->d, &sum->deed, sum->lasted / u->nlonger, what, sizeof(what));
	deed_place(s->d, &sum->deed, NULL, 0, IN_SENTENCE, where, sizeof(where));
	gain_text(r, &finding, "were it divided evenly", "", gives, sizeof(gives));
	return report_add_finding(
		r, &finding,
		"each of %s %s (%s) for longer than the %zu other%s: %s each time on average%s, the other%s %s; others "
		"wait for whichever of them is the last: %s in all, %.1f %% of all threads' time%s",
		people_label(s->d, &group->who, who, sizeof(who)), what, where, rest, plural(rest),
		means_text(u, longer, sizeof(longer)), quickest_text(s, r, u, quickest, sizeof(quickest)), plural(rest),
		format_time(others, mean_of_others(u->work.sum, sum)), format_time(time, delay_all(sum)),
		percent(delay_all(sum), r->wall), gives);
}

int delays_find_uneven(struct delays *s, struct report *r)
{
	int error = 0;

	/* The last one is for delays_turns.c. */
	for (size_t i = 0; i < s->nsorted && i < LOOKED_AT && !error && s->ngroups < GROUPS_MOST - 1; i++) {
		struct uneven u = { 0 };

		error = same_work_of(s, i, &u.work);
		if (!error && u.work.threads > 2)
			error = find_longer(s, &u);
		if (!error && u.sum && is_worth_it(s, r, u.sum))
			error = tell(s, r, &u);
		uneven_free(&u);
	}
	return error;
}
