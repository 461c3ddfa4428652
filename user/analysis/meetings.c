/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meetings.c - barriers and collective operations, instance by instance: how far apart the arrivals are, who comes
 * last, and whether it is always the same one.
 */
#include "analysis/analysis.h"
#include "analysis/chance.h"
#include "analysis/index.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

#define PLACES_MOST 65536
#define ROWS_SHOWN 6
#define MOST_WAITED 75 /* percent of what is waited: for whom it is so much is told, however often it comes last */

struct attendance {
	uint32_t thread;
	uint64_t came, last;
	uint64_t late;   /* ns: after the first that came, all together */
	uint64_t waited; /* ns: before the last that came, all together */
	uint64_t caused; /* ns: that the others waited for it */
};

/* All meetings of one group in one function. */
struct meeting_place {
	uint32_t probe;
	enum wait_state state;
	uint64_t meetings, spread, widest, lost; /* ns */
	struct attendance *members;
	size_t nmembers, room;
};

struct meetings {
	const struct definitions *d;
	struct meeting_place *places;
	size_t nplaces, places_room;
	struct index by_place; /* number of the group and probe -> places */
	uint64_t beyond;       /* meetings in places that are not kept */
};

static int begin(void **state, const struct definitions *d)
{
	struct meetings *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	return 0;
}

static struct meeting_place *place_of(struct meetings *s, const struct meeting *meeting)
{
	uint64_t key = index_key((uint32_t)meeting->group, meeting->probe);
	struct index_slot *slot = index_find(&s->by_place, key);

	if (!slot)
		return NULL;
	if (slot->value != INDEX_FREE)
		return &s->places[slot->value];
	if (array_one_more(&s->places, &s->places_room, s->nplaces, sizeof(*s->places)))
		return NULL;
	slot->value = s->nplaces;
	s->places[s->nplaces] = (struct meeting_place){ .probe = meeting->probe, .state = meeting->state };
	return &s->places[s->nplaces++];
}

/* The n-th member nearly always is the n-th call's. NULL: out of memory. */
static struct attendance *member_of(struct meeting_place *place, uint32_t thread, size_t n)
{
	if (n < place->nmembers && place->members[n].thread == thread)
		return &place->members[n];
	for (size_t i = 0; i < place->nmembers; i++)
		if (place->members[i].thread == thread)
			return &place->members[i];
	if (array_one_more(&place->members, &place->room, place->nmembers, sizeof(*place->members)))
		return NULL;
	place->members[place->nmembers] = (struct attendance){ .thread = thread };
	return &place->members[place->nmembers++];
}

/* How long this one was there before the one came whom it waits for; 0: it waits for nobody. ns */
static uint64_t waits(const struct meeting *m, unsigned i)
{
	const struct related_call *call = &m->calls[i];
	uint64_t last = m->calls[m->last].start;

	if (m->state == WAIT_LATE_BROADCAST)
		last = m->root >= 0 ? m->calls[m->root].start : call->start;
	if (m->state == WAIT_EARLY_REDUCE && i != m->root && call->end < last)
		return 0;
	return last > call->start ? last - call->start : 0;
}

/* Whom the others wait for. */
static unsigned awaited(const struct meeting *m)
{
	return m->state == WAIT_LATE_BROADCAST && m->root >= 0 ? (unsigned)m->root : m->last;
}

static int meeting(void *state, const struct meeting *m)
{
	struct meetings *s = state;
	uint64_t first = UINT64_MAX, last = m->calls[m->last].start, lost = 0;
	struct meeting_place *place;

	if (thread_is_left_out(s->d, m->calls[0].thread))
		return 0;
	if (s->nplaces == PLACES_MOST && !index_known(&s->by_place, index_key((uint32_t)m->group, m->probe))) {
		s->beyond++;
		return 0;
	}
	place = place_of(s, m);
	if (!place)
		return -ENOMEM;
	for (unsigned i = 0; i < m->ncalls; i++)
		if (m->calls[i].start < first)
			first = m->calls[i].start;
	for (unsigned i = 0; i < m->ncalls; i++) {
		struct attendance *member = member_of(place, m->calls[i].thread, i);

		if (!member)
			return -ENOMEM;
		member->came++;
		member->late += m->calls[i].start - first;
		member->waited += waits(m, i);
		lost += waits(m, i);
	}
	place->meetings++;
	place->spread += last - first;
	if (last - first > place->widest)
		place->widest = last - first;
	place->lost += lost;
	member_of(place, m->calls[m->last].thread, m->last)->last++;
	member_of(place, m->calls[awaited(m)].thread, awaited(m))->caused += lost;
	return 0;
}

static bool is_persistent(const struct meeting_place *place, const struct attendance *member)
{
	return is_persistently_last(member->last, member->came, place->nmembers);
}

static int by_last(const void *a, const void *b)
{
	const struct attendance *x = a, *y = b;

	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_lost(const void *a, const void *b)
{
	const struct meeting_place *x = a, *y = b;

	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return x->probe < y->probe ? -1 : x->probe > y->probe;
}

static int end(void *state, struct report *r)
{
	struct meetings *s = state;

	for (size_t i = 0; i < s->nplaces; i++)
		qsort(s->places[i].members, s->places[i].nmembers, sizeof(*s->places[i].members), by_last);
	if (s->nplaces)
		qsort(s->places, s->nplaces, sizeof(*s->places), by_lost);
	return 0;
}

/* For whom the others waited longest, all together. NULL: for nobody. */
static const struct attendance *longest_awaited(const struct meeting_place *place)
{
	const struct attendance *found = NULL;

	for (size_t i = 0; i < place->nmembers; i++)
		if (place->members[i].caused > (found ? found->caused : 0))
			found = &place->members[i];
	return found;
}

/* "rank 0 (608 of 609 ms)": for whom so much of what is waited is waited. */
static void put_awaited(const struct meetings *s, const struct printer *p, const struct meeting_place *place,
			const struct attendance *member, char *text, size_t room)
{
	char label[LABEL_ROOM], part[FORMAT_SIZE], all[FORMAT_SIZE], *unit;

	printer_time(p, part, member->caused);
	printer_time(p, all, place->lost);
	unit = strchr(part, ' ');
	if (unit && strchr(all, ' ') && !strcmp(unit, strchr(all, ' ')))
		*unit = '\0';
	snprintf(text, room, "%s (%s of %s)", thread_label(s->d, member->thread, label, sizeof(label)), part, all);
}

/*
 * "rank 2 in 97%", "by turns". Who is last in most meetings may be so by a little, and another one once by far: where
 * it is another one for whom most is waited, that is told behind it ("by turns; 84% for rank 1"); of few meetings,
 * instead ("rank 0 (608 of 609 ms)").
 */
static void who_is_last(const struct meetings *s, const struct printer *p, const struct meeting_place *place,
			char *text, size_t room)
{
	const struct attendance *most = longest_awaited(place);
	struct people always = { 0 };
	char label[LABEL_ROOM];
	uint64_t last = 0;
	bool few = place->meetings < LEAST_MEETINGS;

	for (size_t i = 0; i < place->nmembers; i++)
		if (is_persistent(place, &place->members[i]) && !people_add(&always, place->members[i].thread))
			last += place->members[i].last;
	if (people_count(&always))
		snprintf(text, room, "%s in %.0f%%", people_label(s->d, &always, label, sizeof(label)),
			 percent(last, place->meetings));
	else if (few)
		snprintf(text, room, "%s", thread_label(s->d, place->members[0].thread, label, sizeof(label)));
	else
		snprintf(text, room, "by turns");
	if (most && few)
		put_awaited(s, p, place, most, text, room);
	else if (most && !people_has(&always, most->thread) && percent(most->caused, place->lost) >= MOST_WAITED) {
		size_t used = strlen(text);

		snprintf(text + used, room - used, "; %.0f%% for %s", percent(most->caused, place->lost),
			 thread_label(s->d, most->thread, label, sizeof(label)));
	}
	people_free(&always);
}

static void print(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "Members", .left = true, .drop = 2 },
		{ .title = "Meetings" },
		{ .title = "Spread", .legend = "spread: from the first to the last that comes, on average" },
		{ .title = "Widest", .drop = 1 },
		{ .title = "Others wait", .legend = "others wait: all of them, until the last comes" },
		{ .title = "Last comes", .left = true, .legend = "for: whom they wait for" },
	};
	const struct meetings *s = state;
	size_t shown = p->whole ? printer_rows(p, s->nplaces) : s->nplaces < ROWS_SHOWN ? s->nplaces : ROWS_SHOWN;
	char text[2 * LABEL_ROOM + 100];
	struct table t = { 0 };

	while (!p->whole && shown && s->places[shown - 1].lost < p->r->wall / 1000)
		shown--;
	if (!shown)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct meeting_place *place = &s->places[i];
		struct people members = { 0 };

		for (size_t k = 0; k < place->nmembers; k++)
			if (people_add(&members, place->members[k].thread))
				*p->error = *p->error ?: -ENOMEM;
		table_cell(&t, "%s", event_label(&s->d->probes[place->probe], false, text, sizeof(text)));
		table_cell(&t, "%s", people_label(s->d, &members, text, sizeof(text)));
		table_cell(&t, "%s", format_count(text, place->meetings));
		table_cell(&t, "%s", printer_time(p, text, place->meetings ? place->spread / place->meetings : 0));
		table_cell(&t, "%s", printer_time(p, text, place->widest));
		table_cell(&t, "%s", printer_time(p, text, place->lost));
		who_is_last(s, p, place, text, sizeof(text));
		table_cell(&t, "%s", text);
		people_free(&members);
	}
	printer_titled_table(p, "", &t);
	printer_rest(p, shown, s->nplaces, "meeting places");
}

static void put(void *state, const struct report *r, struct json *j)
{
	const struct meetings *s = state;

	json_array(j);
	for (size_t i = 0; i < s->nplaces; i++) {
		const struct meeting_place *place = &s->places[i];

		json_object(j);
		json_key_string(j, "event", s->d->probes[place->probe].event);
		json_key_uint(j, "meetings", place->meetings);
		json_key_uint(j, "spread_ns", place->spread);
		json_key_uint(j, "widest_ns", place->widest);
		json_key_uint(j, "others_wait_ns", place->lost);
		json_key(j, "members");
		json_array(j);
		for (size_t k = 0; k < place->nmembers; k++) {
			const struct attendance *member = &place->members[k];

			json_object(j);
			put_thread_ids(j, r, member->thread);
			json_key_uint(j, "meetings", member->came);
			json_key_uint(j, "last", member->last);
			json_key_uint(j, "late_ns", member->late);
			json_key_uint(j, "waits_ns", member->waited);
			json_key_uint(j, "others_wait_ns", member->caused);
			json_key_bool(j, "persistent", is_persistent(place, member));
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void meetings_free(void *state)
{
	struct meetings *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->nplaces; i++)
		free(s->places[i].members);
	free(s->places);
	free(s->by_place.slots);
	free(s);
}

static const struct relations_ops relations = { .meeting = meeting };

const struct analysis analysis_meetings = {
	.name = "meetings",
	.title = "Meetings",
	.of_calls = true,
	.of_waiting = true,
	.begin = begin,
	.relations = &relations,
	.end = end,
	.print = print,
	.json = put,
	.free = meetings_free,
};
