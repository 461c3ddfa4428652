/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays_clear.c - who is waited for (delays.c) by more than chance, and by a fault of its own.
 *
 * Somebody is always last, and every wait has its cause; a finding is what is more than chance. Where others do the
 * same (between the same two calls), the thread must take longer for it than they do: by LONGER of their mean, and by
 * more than 3 standard errors of the difference of the two means; or, where it is slow only now and then, by LONGER,
 * and what others wait for it must be 4 times what they wait for each of the others there. Where nobody does the same,
 * one of them must wait for it 4 times as long as it waits for them there. And it must not be one single delay among
 * many: the waits must be worth at least 3 equal ones, by (sum)^2 / sum of squares, but for what is done a few times,
 * and by nobody else. What it took longer since it had no processor, or since its calls are observed, is not its fault:
 * delays_own.c.
 */
#include "analysis/delays.h"

#include <math.h>
#include <stdlib.h>

#define LONGER 1.05
#define ERRORS 3
#define BLAMED_FACTOR 4
#define EQUAL_WAITS 3
#define OFTEN 10           /* so rarely the same is done that each time of it counts, where nobody else does it */
#define AS_OFTEN 4         /* what is only alike is compared where it is done a quarter as often ... */
#define AS_LONG 10         /* ... and takes a tenth as long: else it is another work */
#define COMPARED_MOST 1000 /* rows, those that are waited for most */
#define WORTH "; the waiting is no single accident, and is not for want of a processor"

double delay_variance(double times, double lasted, double squares)
{
	double over = times > 1 ? (squares - lasted * lasted / times) / (times - 1) : 0;

	return over > 0 ? over : 0;
}

double delay_deviation(const struct delay *delay)
{
	return sqrt(delay_variance(delay->times, delay->lasted, delay->squares));
}

/* Of all other threads together. */
static struct others others_like(const struct delays *s, const struct delay *of, enum likeness how)
{
	double lasted = 0, squares = 0;
	struct others o = { 0 };

	for (size_t i = 0; i < s->room; i++) {
		const struct delay *delay = s->table[i];

		if (!delay || delay->deed.thread == of->deed.thread || !deed_is_like(&delay->deed, &of->deed, how))
			continue;
		o.threads++;
		o.times += delay->times;
		o.blame += delay_all(delay);
		o.taken += s->taken[delay->deed.thread];
		lasted += delay->lasted;
		squares += delay->squares;
	}
	if (o.times > 0) {
		o.mean = lasted / o.times;
		o.variance = delay_variance(o.times, lasted, squares);
		o.blame /= o.threads;
		o.taken /= o.threads;
	}
	return o;
}

static int by_mean(const void *a, const void *b)
{
	double x = delay_mean(*(struct delay *const *)a), y = delay_mean(*(struct delay *const *)b);

	return (x > y) - (x < y);
}

/* Half of the times of all these that are like it take no longer: whoever is late among them does not count. */
static double usual_of_alike(const struct delays *s, const struct delay *of, enum likeness how, double times)
{
	const struct delay **alike = calloc(s->room, sizeof(*alike));
	double passed = 0, usual = 0;
	size_t count = 0;

	for (size_t i = 0; i < s->room && alike; i++)
		if (s->table[i] && s->table[i]->deed.thread != of->deed.thread &&
		    deed_is_like(&s->table[i]->deed, &of->deed, how))
			alike[count++] = s->table[i];
	if (count)
		qsort(alike, count, sizeof(*alike), by_mean);
	for (size_t i = 0; i < count && passed < times / 2; i++) {
		passed += alike[i]->times;
		usual = delay_mean(alike[i]);
	}
	free(alike);
	return usual;
}

/* Where nobody does the same, it is compared with what the others do after the same call, or before it, whichever is
 * longer, where they do that about as often. */
struct others delay_others(const struct delays *s, const struct delay *of)
{
	struct others same = others_like(s, of, LIKE_ALL), best = { 0 };

	for (enum likeness how = LIKE_AFTER; how < LIKENESSES && !same.threads; how++) {
		struct others like = others_like(s, of, how);

		like.mean = like.threads ? usual_of_alike(s, of, how, like.times) : 0;
		if (like.threads && like.times * AS_OFTEN >= (double)of->times && like.mean >= best.mean &&
		    like.mean * AS_LONG >= delay_mean(of)) {
			best = like;
			best.only_alike = true;
		}
	}
	return same.threads ? same : best;
}

/* Other threads do the same, waited for or not. */
static bool is_usual(const struct delays *s, const struct delay *of)
{
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i] && s->table[i] != of && deed_is_same(&s->table[i]->deed, &of->deed))
			return true;
	return false;
}

/* What a thread waits for that; NULL: nothing. */
static const struct suffered *suffered_by(const struct delay *delay, uint32_t thread)
{
	const struct index_slot *slot = index_known(&delay->by_victim, thread);

	return slot ? &delay->suffered[slot->value] : NULL;
}

static bool same_call(const struct called *a, const struct called *b)
{
	return a->probe == b->probe && a->site == b->site;
}

/* Two wait for each other's deeds. Is that at one meeting, at which it is chance who is the first? The other one comes
 * to the call in which it waits for this one; or this one waits in the call that it comes to; or both wait in one call.
 */
static bool is_one_meeting(const struct delay *of, const struct delay *back)
{
	const struct suffered *other = suffered_by(of, back->deed.thread), *itself = suffered_by(back, of->deed.thread);

	return other && itself &&
	       (back->deed.before.probe == other->in.probe || same_call(&itself->in, &of->deed.before) ||
		same_call(&itself->in, &other->in));
}

/* How long this thread waits for those that wait for this of it, for what they do until both meet and nobody else
 * does either. */
static uint64_t waits_itself(const struct delays *s, const struct delay *of)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->nsorted && i < COMPARED_MOST; i++) {
		const struct delay *back = s->sorted[i];

		if (back->deed.doing == DOING_WORK && is_one_meeting(of, back) && !is_usual(s, back))
			all += suffered_sum(suffered_by(back, of->deed.thread));
	}
	return all;
}

/* What the one waits that waits most for it. */
static uint64_t suffered_most(const struct delay *delay)
{
	uint64_t most = 0;

	for (size_t i = 0; i < delay->nsuffered; i++)
		if (suffered_sum(&delay->suffered[i]) > most)
			most = suffered_sum(&delay->suffered[i]);
	return most;
}

bool delay_takes_more(const struct delay *delay, const struct others *others)
{
	return delay_mean(delay) > LONGER * others->mean;
}

bool delay_takes_longer(const struct delay *delay, const struct others *others)
{
	double error = sqrt(
		others->variance / others->times +
		(delay->times ? delay_variance(delay->times, delay->lasted, delay->squares) / delay->times : 0));

	return delay_takes_more(delay, others) && delay_mean(delay) - others->mean > ERRORS * error;
}

/* More than chance: see the top of this file. */
const char *delay_is_clear(const struct delays *s, const struct delay *delay, const struct others *others)
{
	static const char alone[] = "nobody else does the same, and one waits for it 4 times as long as it waits there "
				    "itself" WORTH,
			  blamed[] = "others wait for it 4 times as much as for each of those who do the same" WORTH,
			  longer[] =
				  "it takes 5 % and 3 standard errors longer for it than those who do the same" WORTH;
	bool same = others->threads && !others->only_alike;
	double all = delay_all(delay), waits = delay->blamed > 0 ? all * all / delay->blamed / delay->nsuffered : 0;

	if (waits < EQUAL_WAITS && (same || delay->times >= OFTEN))
		return NULL;
	if (others->threads && !delay_takes_more(delay, others))
		return NULL;
	if (!same)
		return suffered_most(delay) >= BLAMED_FACTOR * (double)waits_itself(s, delay) ? alone : NULL;
	if (all >= BLAMED_FACTOR * others->blame)
		return blamed;
	return delay_takes_longer(delay, others) ? longer : NULL;
}
