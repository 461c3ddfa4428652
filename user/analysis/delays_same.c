/* SPDX-License-Identifier: BSD-2-Clause */
/* delays_same.c - what several threads do at one place, all that do the same: for findings that are about them all. */
#include "analysis/delays.h"

#include <errno.h>
#include <stdlib.h>

/* Is that of one that is waited for more the same? */
static bool was_looked_at(const struct delays *s, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (deed_is_same(&s->sorted[i]->deed, &s->sorted[number]->deed))
			return true;
	return false;
}

int same_work_of(const struct delays *s, size_t number, struct same_work *work)
{
	struct delay *first = s->sorted[number];

	*work = (struct same_work){ 0 };
	if (first->deed.doing != DOING_WORK || was_looked_at(s, number))
		return 0;
	work->rows = calloc(s->room, sizeof(*work->rows));
	if (!work->rows)
		return -ENOMEM;
	work->rows[work->threads++] = first;
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i] && s->table[i] != first && deed_is_same(&s->table[i]->deed, &first->deed) &&
		    !thread_is_left_out(s->d, s->table[i]->deed.thread))
			work->rows[work->threads++] = s->table[i];
	for (size_t i = 0; i < work->threads; i++)
		work->taken += s->taken[work->rows[i]->deed.thread];
	work->sum = delays_sum(s, work->rows, work->threads);
	return work->sum ? 0 : -ENOMEM;
}

void same_work_free(struct same_work *work)
{
	free(work->rows);
	delay_free(work->sum);
}

struct others same_work_others(const struct delays *s, const struct same_work *work, const struct delay *row)
{
	double times = work->sum->times - row->times, lasted = work->sum->lasted - row->lasted;
	struct others o = { .threads = work->threads - 1, .times = times };

	if (times > 0) {
		o.mean = lasted / times;
		o.variance = delay_variance(times, lasted, work->sum->squares - row->squares);
		o.blame = (double)(delay_all(work->sum) - delay_all(row)) / o.threads;
		o.taken = (work->taken - s->taken[row->deed.thread]) / o.threads;
	}
	return o;
}

int delays_add_group(struct delays *s, struct delay **sum, struct delay_group **group)
{
	const struct delay *of = *sum;

	*group = &s->groups[s->ngroups++];
	(*group)->sum = *sum;
	*sum = NULL;
	for (size_t i = 0; i < of->nparts; i++) {
		of->parts[i]->in_group = true;
		if (people_add(&(*group)->who, of->parts[i]->deed.thread))
			return -ENOMEM;
	}
	return 0;
}
