/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split_phase.c - a barrier in two halves is for what is done between them. Where the second half follows directly on
 * the first, it is a barrier like any other.
 */
#include "analysis/split_phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/index.h"
#include "util/array.h"
#include "util/format.h"
#include "util/json.h"

/* As for other waits that overlap nothing (docs/analyses/communication.md). */
#define IDLE_PERCENT 1 /* of the wait: so much was done between the halves at most */
#define IDLE_SHARE 50  /* percent of the waits, and of their time */
#define LEAST_WAITS 10
#define WORTH_SHARE 100 /* one in so many of the threads' time */

static bool same_model(const struct definitions *d, uint32_t a, uint32_t b)
{
	const char *x = d->probes[a].model, *y = d->probes[b].model;

	return x && y && !strcmp(x, y);
}

static int note(struct split_phase *s, uint32_t notify, const struct related_call *call, uint64_t between)
{
	struct index_slot *slot = index_find(&s->by_place, index_key(call->probe, call->site));
	uint64_t time = call->end - call->start;
	struct split_place *place;

	if (!slot)
		return -ENOMEM;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&s->places, &s->room, s->nplaces, sizeof(*s->places)))
			return -ENOMEM;
		slot->value = s->nplaces;
		s->places[s->nplaces++] = (struct split_place){ .notify = notify,
								.wait = call->probe,
								.site = call->site };
	}
	place = &s->places[slot->value];
	place->waits++;
	place->time += time;
	if (between <= time / 100 * IDLE_PERCENT) {
		place->idle++;
		place->idle_time += time;
	}
	return 0;
}

int split_call(struct split_phase *s, const struct definitions *d, const struct related_call *call)
{
	enum role role = d->probes[call->probe].role;
	struct split_thread *thread;
	size_t before = s->nthreads;
	int error = 0;

	if (role != ROLE_NOTIFY && call->thread >= s->nthreads)
		return 0;
	if (array_reach(&s->threads, &s->nthreads, call->thread + (size_t)1, sizeof(*s->threads)))
		return -ENOMEM;
	for (size_t i = before; i < s->nthreads; i++)
		s->threads[i].notify = NO_INDEX;
	thread = &s->threads[call->thread];
	if (role == ROLE_WAIT && thread->notify != NO_INDEX && same_model(d, thread->notify, call->probe))
		error = note(s, thread->notify, call, call->start - thread->ended);
	thread->notify = role == ROLE_NOTIFY ? call->probe : NO_INDEX;
	thread->ended = call->end;
	return error;
}

static int by_site(const void *a, const void *b)
{
	const struct split_place *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->wait < y->wait ? -1 : x->wait > y->wait;
}

static int by_idle_time(const void *a, const void *b)
{
	const struct split_place *x = a, *y = b;

	if (x->idle_time != y->idle_time)
		return x->idle_time > y->idle_time ? -1 : 1;
	return by_site(a, b);
}

static int find(const struct split_place *place, const struct definitions *d, struct report *r)
{
	struct finding finding = { .kind = "split_phase_wasted",
				   .event = profile_event(r->profile, d, place->wait),
				   .thread = NO_INDEX,
				   .has_site = place->site != NO_INDEX,
				   .site = place->site,
				   .weight = place->idle_time,
				   .section = "wait_states" };
	char where[LABEL_ROOM], wait[LABEL_ROOM], notify[LABEL_ROOM], count[FORMAT_SIZE], all[FORMAT_SIZE],
		time[FORMAT_SIZE];

	if (place->idle_time < r->wall / WORTH_SHARE || !place->idle_time || place->waits < LEAST_WAITS ||
	    place->idle * 100 < place->waits * IDLE_SHARE ||
	    (double)place->idle_time * 100 < (double)place->time * IDLE_SHARE)
		return 0;
	return report_add_finding(
		r, &finding,
		"%s of %s waits of barriers in two halves at %s (%s) follow directly on their first half (%s): nothing "
		"is overlapped; at most the %s in them could be hidden behind work",
		format_count(count, place->idle), format_count(all, place->waits),
		site_label(d, place->site, where, sizeof(where)),
		event_label(&d->probes[place->wait], false, wait, sizeof(wait)),
		event_label(&d->probes[place->notify], false, notify, sizeof(notify)),
		format_time(time, place->idle_time));
}

/* One place of all processes is one row. 0 or -ENOMEM. */
static int join_places(struct split_phase *s, const struct definitions *d)
{
	uint32_t *same = report_same_sites(d);
	size_t kept = 0;

	if (!same)
		return -ENOMEM;
	for (size_t i = 0; i < s->nplaces; i++)
		if (s->places[i].site < d->nsites)
			s->places[i].site = same[s->places[i].site];
	free(same);
	qsort(s->places, s->nplaces, sizeof(*s->places), by_site);
	for (size_t i = 0; i < s->nplaces; i++) {
		struct split_place *to = kept ? &s->places[kept - 1] : NULL;

		if (!to || to->site != s->places[i].site || to->site == NO_INDEX) {
			s->places[kept++] = s->places[i];
			continue;
		}
		to->waits += s->places[i].waits;
		to->idle += s->places[i].idle;
		to->time += s->places[i].time;
		to->idle_time += s->places[i].idle_time;
	}
	s->nplaces = kept;
	return 0;
}

int split_end(struct split_phase *s, struct report *r)
{
	int error = s->nplaces ? join_places(s, r->d) : 0;

	if (error)
		return error;
	if (s->nplaces)
		qsort(s->places, s->nplaces, sizeof(*s->places), by_idle_time);
	for (size_t i = 0; i < s->nplaces && !error; i++)
		error = find(&s->places[i], r->d, r);
	return error;
}

void split_put(const struct split_phase *s, const struct definitions *d, struct json *j)
{
	char where[LABEL_ROOM];

	json_array(j);
	for (size_t i = 0; i < s->nplaces; i++) {
		const struct split_place *place = &s->places[i];

		json_object(j);
		json_key_string(j, "event", d->probes[place->wait].event);
		json_key_string(j, "place", site_label(d, place->site, where, sizeof(where)));
		json_key_uint(j, "waits", place->waits);
		json_key_uint(j, "waits_ns", place->time);
		json_key_uint(j, "without_overlap", place->idle);
		json_key_uint(j, "hidden_at_most_ns", place->idle_time);
		json_end_object(j);
	}
	json_end_array(j);
}

void split_free(struct split_phase *s)
{
	free(s->threads);
	free(s->places);
	free(s->by_place.slots);
}
