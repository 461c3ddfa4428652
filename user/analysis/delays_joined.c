/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays_joined.c - what one thread does before it comes late to one call is one trouble, whatever call came before.
 *
 * A loop that writes something in each eighth round begins its work after another call then: two deeds (deeds.h), of
 * which each has a part of what others wait, and seven of eight rounds would be told as all there is. Such deeds are
 * joined where they
 *   - are the same thread's work, in the same function, and end at the same call,
 *   - are done again and again: what is done once, after the start, says little of a loop,
 *   - take about as long each time: else it is another work,
 *   - and are compared with what others do, each of them longer than that; or are all compared with nobody.
 * What the others do instead is counted as often as the thread does each.
 */
#include "analysis/delays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define AS_LONG 1.5 /* times, at most: about as long */

static uint64_t mean_of(const struct delay *delay)
{
	return delay->times ? delay->lasted / delay->times : 0;
}

static bool end_at_one_call(const struct deed *a, const struct deed *b)
{
	return a->thread == b->thread && a->doing == DOING_WORK && b->doing == DOING_WORK && a->inside == b->inside &&
	       a->before.probe != NO_INDEX && a->before.probe == b->before.probe && a->before.site == b->before.site;
}

/* Both are late by it, or nobody knows how long it should take. */
static bool as_late(const struct delays *s, const struct delay *a, const struct delay *b)
{
	struct others x = delay_others(s, a), y = delay_others(s, b);

	if (!x.threads || !y.threads)
		return !x.threads && !y.threads;
	return delay_takes_more(a, &x) && delay_takes_more(b, &y);
}

static bool belong_together(const struct delays *s, const struct delay *a, const struct delay *b)
{
	uint64_t x = mean_of(a), y = mean_of(b);

	return end_at_one_call(&a->deed, &b->deed) && a->times > 1 && b->times > 1 &&
	       (double)x <= AS_LONG * (double)y && (double)y <= AS_LONG * (double)x && as_late(s, a, b);
}

/* --- adding up ----------------------------------------------------------------- */

static void add_instances(struct delay *to, const struct delay *from)
{
	for (unsigned i = 0; i < from->nworst; i++)
		delay_note_worst(to, &from->worst[i]);
}

static int add_suffered(struct delay *to, const struct delay *from, uint32_t nthreads)
{
	for (uint32_t thread = 0; thread < nthreads; thread++) {
		const struct index_slot *its = index_known(&from->by_victim, thread);
		struct suffered *suffered = its ? delay_suffered_by(to, thread) : NULL;

		if (!its)
			continue;
		if (!suffered)
			return -ENOMEM;
		suffered->direct += from->suffered[its->value].direct;
		suffered->passed_on += from->suffered[its->value].passed_on;
		if (suffered->in.probe == NO_INDEX)
			suffered->in = from->suffered[its->value].in;
	}
	return people_join(&to->waiting, &from->waiting);
}

static int add_delay(struct delay *to, const struct delay *from, uint32_t nthreads)
{
	int error = add_suffered(to, from, nthreads);

	to->times += from->times;
	to->lasted += from->lasted;
	to->squares += from->squares;
	to->blamed += from->blamed;
	to->all.direct += from->all.direct;
	to->all.passed_on += from->all.passed_on;
	to->waits += from->waits;
	to->in_group |= from->in_group;
	add_instances(to, from);
	for (size_t i = 0; i < from->nseen && !error; i++)
		error = delay_see(to, from->seen[i].probe, from->seen[i].ns);
	return error;
}

struct delay *delays_sum(const struct delays *s, struct delay *const *parts, size_t count)
{
	struct delay *joined = calloc(1, sizeof(*joined));
	int error = joined ? 0 : -ENOMEM;

	if (!error) {
		joined->deed = parts[0]->deed;
		joined->parts = calloc(count, sizeof(*joined->parts));
		error = joined->parts ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < count && !error; i++) {
		joined->parts[joined->nparts++] = parts[i];
		error = add_delay(joined, parts[i], s->d->nthreads);
	}
	if (!error)
		return joined;
	delay_free(joined);
	return NULL;
}

/* --- finding them --------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct delay *x = *(struct delay *const *)a, *y = *(struct delay *const *)b;
	uint32_t left[] = { x->deed.thread, x->deed.inside, x->deed.before.probe, x->deed.before.site },
		 right[] = { y->deed.thread, y->deed.inside, y->deed.before.probe, y->deed.before.site };

	for (int i = 0; i < 4; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return delays_by_time(a, b);
}

/* Of these, which all end at one call and are sorted by time, those that belong to the first go to `parts`, and out of
 * the list. How many. */
static size_t take_first(const struct delays *s, struct delay **list, size_t *count, struct delay **parts)
{
	size_t taken = 1, kept = 0;

	parts[0] = list[0];
	for (size_t i = 1; i < *count; i++) {
		if (belong_together(s, list[0], list[i]))
			parts[taken++] = list[i];
		else
			list[kept++ + 1] = list[i];
	}
	*count = kept;
	memmove(list, list + 1, kept * sizeof(*list));
	return taken;
}

int delays_join(struct delays *s)
{
	struct delay **list = calloc(2 * (s->nsorted + 1), sizeof(*list)),
		     **parts = list ? list + s->nsorted + 1 : NULL;
	int error = list ? 0 : -ENOMEM;

	s->told = calloc(s->nsorted + 1, sizeof(*s->told));
	if (!s->told)
		error = -ENOMEM;
	if (!error) {
		memcpy(list, s->sorted, s->nsorted * sizeof(*list));
		qsort(list, s->nsorted, sizeof(*list), by_end);
	}
	for (size_t first = 0, next; first < s->nsorted && !error; first = next) {
		size_t count;

		for (next = first + 1; next < s->nsorted && end_at_one_call(&list[first]->deed, &list[next]->deed);)
			next++;
		count = next - first;
		while (count && !error) {
			size_t taken = take_first(s, list + first, &count, parts);
			struct delay *one = taken == 1 ? parts[0] : delays_sum(s, parts, taken);

			if (one)
				s->told[s->ntold++] = one;
			else
				error = -ENOMEM;
		}
	}
	free(list);
	if (s->ntold)
		qsort(s->told, s->ntold, sizeof(*s->told), delays_by_time);
	return error;
}

/* --- the others ------------------------------------------------------------------ */

struct others delay_others_of_all(const struct delays *s, const struct delay *of)
{
	struct others all = { 0 };
	double lasted = 0, times = 0, error = 0; /* squared, of the mean */

	if (!of->nparts)
		return delay_others(s, of);
	for (size_t i = 0; i < of->nparts; i++) {
		struct others one = delay_others(s, of->parts[i]);
		double share = (double)of->parts[i]->times / of->times;

		if (!one.threads)
			continue;
		all.threads = one.threads > all.threads ? one.threads : all.threads;
		all.only_alike |= one.only_alike && !i;
		all.times += one.times;
		all.blame += one.blame;
		all.taken = one.taken;
		lasted += one.mean * of->parts[i]->times;
		times += of->parts[i]->times;
		error += share * share * one.variance / one.times;
	}
	if (times > 0) {
		all.mean = lasted / times;
		all.variance = error * all.times;
	}
	return all;
}
