/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions_serial.c - what who begins regions does between them: meanwhile the others of its team wait.
 */
#include "analysis/regions.h"

#include <errno.h>

#include "util/array.h"

#define PAIRS_MOST 262144 /* of two regions, one after the other */

static int add_serial(struct regions *s, uint32_t after, uint32_t before, uint64_t time, uint64_t waits)
{
	uint64_t key = index_key(after, before);
	const struct index_slot *known = index_known(&s->by_serial, key);
	struct serial *serial;
	struct index_slot *slot;

	if (!known) {
		if (s->nserials == PAIRS_MOST)
			return 0;
		if (array_one_more(&s->serials, &s->serials_room, s->nserials, sizeof(*s->serials)))
			return -ENOMEM;
		slot = index_find(&s->by_serial, key);
		if (!slot)
			return -ENOMEM;
		s->serials[s->nserials] = (struct serial){ .after = after, .before = before };
		slot->value = s->nserials++;
		known = slot;
	}
	serial = &s->serials[known->value];
	serial->times++;
	serial->time += time;
	serial->waits += waits;
	if (time > serial->longest)
		serial->longest = time;
	return 0;
}

/* NULL: out of memory. */
static struct region_beginner *beginner_of(struct regions *s, uint32_t thread, uint64_t time)
{
	struct region_thread *t = &s->threads[thread];

	if (!t->beginner) {
		if (array_one_more(&s->beginners, &s->beginners_room, s->nbeginners, sizeof(*s->beginners)))
			return NULL;
		s->beginners[s->nbeginners] = (struct region_beginner){ .thread = thread, .first = time };
		t->beginner = ++s->nbeginners;
	}
	return &s->beginners[t->beginner - 1];
}

int region_serial_end(struct regions *s, uint32_t thread, uint32_t region, uint64_t time)
{
	struct region_thread *t = &s->threads[thread];
	const struct region_process *p = &s->processes[s->d->threads[thread].process];
	struct region_beginner *beginner = beginner_of(s, thread, time);
	uint64_t lasted = time - t->since, waits = t->waits < lasted ? t->waits : lasted;

	if (!beginner)
		return -ENOMEM;
	if (!beginner->times || time < t->since)
		return 0;
	if (p->off > t->since || p->lost > t->since) {
		beginner->unseen += lasted;
		return 0;
	}
	beginner->serial += lasted;
	beginner->waits += waits;
	if (beginner->threads > 1)
		beginner->idle += (lasted - waits) * (beginner->threads - 1);
	if (t->after == NO_INDEX || region == NO_INDEX)
		return 0;
	return add_serial(s, t->after, region, lasted, waits);
}

void region_serial_begin(struct regions *s, uint32_t thread, uint32_t region, size_t shares, uint64_t time)
{
	struct region_thread *t = &s->threads[thread];
	struct region_beginner *beginner = t->beginner ? &s->beginners[t->beginner - 1] : NULL;

	t->after = region;
	t->since = time;
	t->waits = 0;
	if (!beginner)
		return;
	beginner->times++;
	beginner->last = time;
	beginner->threads = shares ?: 1;
}
