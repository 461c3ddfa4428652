/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ended_processes.c - what processes did that have ended.
 *
 * Whoever looks now and then has not seen what a process did after the last look before its end, and has seen nothing
 * at all of one that began and ended in between. So its figures stay for a while, as they were at its end. All else of
 * it goes at once. There is a limit: where processes end by the thousand, the oldest go first, of the user who has most
 * of them; in the events' totals all of them remain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/private.h"
#include "util/array.h"
#include "util/clock.h"

struct remains {
	struct monitor_process shown; /* its texts and events are those below */
	struct about about;
	char *comm;
	struct monitor_process_event *events;
};

static void free_one(struct remains *r)
{
	about_free(&r->about);
	free(r->comm);
	free(r->events);
}

/* The oldest of the user who has most of them: one whose processes end by the thousand pushes out nobody else's. */
static void drop_one(struct monitor *m)
{
	size_t chosen = 0, most = 0;

	for (size_t i = 0; i < m->nremains; i++) {
		size_t own = 0;

		for (size_t k = i; k < m->nremains; k++)
			own += m->remains[k].shown.uid == m->remains[i].shown.uid;
		if (own > most) { /* only of a user's first are all of his counted */
			most = own;
			chosen = i;
		}
	}
	free_one(&m->remains[chosen]);
	m->nremains--;
	memmove(m->remains + chosen, m->remains + chosen + 1, (m->nremains - chosen) * sizeof(*m->remains));
}

static void drop_oldest(struct monitor *m, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free_one(&m->remains[i]);
	m->nremains -= count;
	memmove(m->remains, m->remains + count, m->nremains * sizeof(*m->remains));
}

void remains_expire(struct monitor *m)
{
	uint64_t now = clock_monotonic();
	size_t old = 0;

	while (old < m->nremains && now - m->remains[old].shown.ended_ns > m->options.linger_ns)
		old++;
	drop_oldest(m, old);
}

void remains_keep(struct monitor *m, struct watched_process *w)
{
	const struct tallied_process *tallied = &w->tallied;
	struct remains r = { .comm = strdup(w->process->name ?: ""),
			     .events = calloc(tallied->ntallies + 1, sizeof(*r.events)) };

	if (!r.comm || !r.events || array_one_more(&m->remains, &m->remains_room, m->nremains, sizeof(r))) {
		free_one(&r);
		return; /* it is in the totals */
	}
	w->lost = shares_lost(m, w->share ? w->share->user : GB_USER_OTHERS) - w->lost_before;
	r.shown = monitor_describe(w);
	r.shown.ended_ns = m->looking ?: clock_monotonic(); /* as the look that shows it first, not later */
	r.shown.comm = r.comm;
	r.shown.nevents = tallied_events(tallied, m->book.reading, r.events);
	r.about = w->about; /* its texts are what `shown` points to */
	w->about = (struct about){ 0 };
	m->remains[m->nremains++] = r;
	if (m->nremains > MONITOR_ENDED)
		drop_one(m);
}

size_t remains_show(const struct monitor *m, struct monitor_process *shown)
{
	for (size_t i = 0; i < m->nremains; i++) {
		shown[i] = m->remains[i].shown;
		shown[i].events = m->remains[i].events;
	}
	return m->nremains;
}

void remains_free(struct monitor *m)
{
	drop_oldest(m, m->nremains);
	free(m->remains);
}
