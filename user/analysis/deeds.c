/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deeds.c - what a thread does for some time.
 */
#include "analysis/deeds.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/labels.h"
#include "util/array.h"
#include "util/json.h"
#include "util/log.h"

#define FIRST_SLOTS 256

_Static_assert(sizeof(struct deed) == 9 * sizeof(uint32_t), "a key has no padding");

static const struct called nothing = { NO_INDEX, NO_INDEX };

static struct called same(const struct same_sites *sites, struct called called)
{
	if (called.site < sites->count)
		called.site = sites->same[called.site];
	return called;
}

struct deed deed_unknown(uint32_t thread)
{
	return (struct deed){ thread, DOING_UNKNOWN, NO_INDEX, nothing, nothing, nothing };
}

struct deed deed_of_work(const struct same_sites *sites, const struct related_work *work)
{
	if (!work->known)
		return deed_unknown(work->thread);
	return (struct deed){
		work->thread, DOING_WORK, work->inside, nothing, same(sites, work->after), same(sites, work->before)
	};
}

struct deed deed_of_call(const struct same_sites *sites, const struct related_call *call)
{
	const struct called called = same(sites, (struct called){ call->probe, call->site });

	return (struct deed){ call->thread, DOING_CALL, NO_INDEX, called, nothing, nothing };
}

int deed_order(const struct deed *a, const struct deed *b)
{
	return memcmp(&a->doing, &b->doing, sizeof(*a) - offsetof(struct deed, doing));
}

bool deed_is_same(const struct deed *a, const struct deed *b)
{
	return !deed_order(a, b);
}

static bool same_called(struct called a, struct called b)
{
	return a.probe == b.probe && a.site == b.site;
}

bool deed_is_like(const struct deed *a, const struct deed *b, enum likeness how)
{
	if (how == LIKE_ALL)
		return deed_is_same(a, b);
	if (a->doing != DOING_WORK || b->doing != DOING_WORK || a->inside != b->inside)
		return false;
	if (how == LIKE_AFTER)
		return a->after.probe != NO_INDEX && same_called(a->after, b->after);
	return a->before.probe != NO_INDEX && same_called(a->before, b->before);
}

struct relief deed_relief(const struct deed *deed, uint32_t thread, const struct same_sites *sites)
{
	bool call = deed->doing == DOING_CALL;

	return (struct relief){ .thread = thread,
				.what = call ? RELIEVE_CALL : RELIEVE_WORK,
				.inside = deed->inside,
				.after = call ? deed->call : deed->after,
				.before = deed->before,
				.most = UINT64_MAX,
				.same_site = sites->same };
}

/* --- words ------------------------------------------------------------------ */

/* A function that was cut out of the program for the shares of a region has a name of its own. */
static const char *inside_label(const struct def_probe *probe, char *text, size_t room)
{
	if (probe->marks & MARK_POINTED && probe->symbol) {
		snprintf(text, room, "%s", log_safe(probe->symbol));
		return text;
	}
	return event_label(probe, false, text, room);
}

/* outside: what it is called where it may sleep, too. */
static void deed_say(const struct definitions *d, const struct deed *deed, uint64_t ns, const char *outside, char *text,
		     size_t room)
{
	bool inside = deed->doing == DOING_WORK && deed->inside != NO_INDEX;
	char label[LABEL_ROOM];

	switch (deed->doing) {
	case DOING_WORK:
		snprintf(text, room, "%s%s%s",
			 scheduling_was_awake(&d->threads[deed->thread], ns) ? "computes" : outside,
			 inside ? " in " : "",
			 inside ? inside_label(&d->probes[deed->inside], label, sizeof(label)) : "");
		return;
	case DOING_CALL:
	case DOING_WAIT:
		snprintf(text, room, "is in %s",
			 event_label(&d->probes[deed->call.probe], false, label, sizeof(label)));
		return;
	default:
		snprintf(text, room, "unknown");
	}
}

void deed_text(const struct definitions *d, const struct deed *deed, uint64_t ns, char *text, size_t room)
{
	deed_say(d, deed, ns, "is outside of calls", text, room);
}

void deed_word(const struct definitions *d, const struct deed *deed, uint64_t ns, char *text, size_t room)
{
	deed_say(d, deed, ns, "outside", text, room);
}

static const char *called_label(const struct definitions *d, const struct called *called, char *text, size_t room)
{
	if (called->site != NO_INDEX)
		return site_label(d, called->site, text, room);
	if (called->probe != NO_INDEX)
		return event_label(&d->probes[called->probe], false, text, room);
	return "?";
}

/* " or b.c:20": the lines only. */
static const char *or_after(const struct definitions *d, const struct called *also, size_t nalso, char *text,
			    size_t room)
{
	char label[LABEL_ROOM];
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < nalso && at < room; i++) {
		const char *place = called_label(d, &also[i], label, sizeof(label));

		at += snprintf(text + at, room - at, " or %.*s", (int)strcspn(place, " "), place);
	}
	return text;
}

/* "GASP_MPI_SEND at ": what is called at the place. */
static const char *at_event(const struct definitions *d, const struct called *called, enum place_in in, char *text,
			    size_t room)
{
	char label[LABEL_ROOM];

	*text = '\0';
	if (in == IN_SENTENCE && called->site != NO_INDEX && called->probe != NO_INDEX)
		snprintf(text, room, "%s at ", event_label(&d->probes[called->probe], false, label, sizeof(label)));
	return text;
}

/* Where both are called at one line. */
static bool is_same_event(const struct definitions *d, const struct called *a, const struct called *b)
{
	return a->site == NO_INDEX || b->site == NO_INDEX ||
	       !strcmp(d->probes[a->probe].event ?: "", d->probes[b->probe].event ?: "");
}

void deed_place(const struct definitions *d, const struct deed *deed, const struct called *also, size_t nalso,
		enum place_in in, char *text, size_t room)
{
	char from[LABEL_ROOM], to[LABEL_ROOM], or [2 * LABEL_ROOM], left[LABEL_ROOM], entered[LABEL_ROOM];
	const char *after, *before, *nowhere = in == IN_TABLE ? "-" : "";

	if (deed->doing != DOING_WORK) {
		snprintf(text, room, "%s",
			 deed->doing == DOING_CALL ? called_label(d, &deed->call, to, sizeof(to)) : nowhere);
		return;
	}
	after = called_label(d, &deed->after, from, sizeof(from));
	before = called_label(d, &deed->before, to, sizeof(to));
	or_after(d, also, nalso, or, sizeof(or));
	at_event(d, &deed->after, in, left, sizeof(left));
	at_event(d, &deed->before, in, entered, sizeof(entered));
	if (deed->after.probe == NO_INDEX && deed->before.probe == NO_INDEX)
		snprintf(text, room, "%s", nowhere);
	else if (deed->after.probe == NO_INDEX)
		snprintf(text, room, "before %s%s", entered, before);
	else if (deed->before.probe == NO_INDEX)
		snprintf(text, room, "after %s%s", left, after);
	else if (!strcmp(after, before) && !nalso && !is_same_event(d, &deed->after, &deed->before))
		snprintf(text, room, "from %s to %s at %s",
			 event_label(&d->probes[deed->after.probe], false, left, sizeof(left)),
			 event_label(&d->probes[deed->before.probe], false, entered, sizeof(entered)), before);
	else if (!strcmp(after, before) && !nalso)
		snprintf(text, room, "from one %s%s to the next", entered, before);
	else
		snprintf(text, room, "after %s%.*s%s, before %s%s", left, (int)strcspn(after, " "), after, or, entered,
			 before);
}

void put_called(struct json *j, const struct definitions *d, const struct called *called)
{
	if (called->probe == NO_INDEX) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_string(j, "event", d->probes[called->probe].event);
	put_call_site(j, "place", d, called->site);
	json_end_object(j);
}

void put_deed(struct json *j, const struct definitions *d, const struct deed *deed)
{
	static const char *const doings[DOINGS] = { "outside", "calls", "waits", "unknown" };

	json_key_string(j, "does", doings[deed->doing]);
	json_key_string(j, "inside", deed->inside == NO_INDEX ? NULL : d->probes[deed->inside].event);
	json_key(j, "call");
	put_called(j, d, &deed->call);
	json_key(j, "after");
	put_called(j, d, &deed->after);
	json_key(j, "before");
	put_called(j, d, &deed->before);
}

/* --- numbers ------------------------------------------------------------------ */

static uint64_t hash_of_called(struct called called)
{
	return called.probe * 0x9e3779b97f4a7c15ull + called.site * 0xc2b2ae3d27d4eb4full;
}

/* Asked several times for each call. So: products that need not wait for each other, of words as they were written just
 * before. To read two of them at once takes longer: until both have left for the cache. */
static uint64_t hash_of(const struct deed *deed)
{
	uint64_t hash = deed->thread * 0x165667b19e3779f9ull + deed->doing * 0xd6e8feb86659fd93ull +
			deed->inside * 0xa0761d6478bd642full + hash_of_called(deed->call) +
			hash_of_called(deed->after) * 0x2545f4914f6cdd1dull +
			hash_of_called(deed->before) * 0x9fb21c651e98df25ull;

	return hash ^ hash >> 32;
}

static bool is_equal(const struct deed *a, const struct deed *b)
{
	return a->thread == b->thread && a->doing == b->doing && a->inside == b->inside &&
	       same_called(a->call, b->call) && same_called(a->after, b->after) && same_called(a->before, b->before);
}

/* Where it stands, or could. */
static uint32_t *slot_of(const struct deeds *deeds, const struct deed *deed)
{
	for (size_t at = hash_of(deed) & deeds->mask;; at = (at + 1) & deeds->mask) {
		uint32_t *slot = &deeds->slots[at];

		if (!*slot || is_equal(&deeds->all[*slot - 1], deed))
			return slot;
	}
}

static int more_slots(struct deeds *deeds)
{
	size_t count = deeds->mask ? 2 * (deeds->mask + 1) : FIRST_SLOTS;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(deeds->slots);
	deeds->slots = slots;
	deeds->mask = count - 1;
	for (size_t i = 0; i < deeds->count; i++)
		*slot_of(deeds, &deeds->all[i]) = i + 1;
	return 0;
}

static uint32_t look_up(struct deeds *deeds, const struct deed *deed)
{
	uint32_t *slot;

	if (2 * deeds->count >= deeds->mask && more_slots(deeds))
		return NO_INDEX;
	slot = slot_of(deeds, deed);
	if (*slot)
		return *slot - 1;
	if (deeds->count >= DEEDS_MOST && deed->doing != DOING_UNKNOWN) {
		const struct deed beyond = deed_unknown(deed->thread);

		deeds->full = true;
		return look_up(deeds, &beyond);
	}
	if (array_one_more(&deeds->all, &deeds->room, deeds->count, sizeof(*deeds->all)) ||
	    array_reach(&deeds->then, &deeds->then_room, deeds->count + 1, sizeof(*deeds->then)))
		return NO_INDEX;
	deeds->all[deeds->count++] = *deed;
	*slot = deeds->count;
	return deeds->count - 1;
}

uint32_t deeds_number(struct deeds *deeds, const struct deed *deed)
{
	uint32_t number = deeds->count ? deeds->then[deeds->last] : NO_INDEX;

	if (number != NO_INDEX && is_equal(&deeds->all[number], deed)) {
		deeds->last = number;
		return number;
	}
	number = look_up(deeds, deed);
	if (number == NO_INDEX)
		return NO_INDEX;
	deeds->then[deeds->last] = number;
	deeds->last = number;
	return number;
}

void deeds_free(struct deeds *deeds)
{
	free(deeds->all);
	free(deeds->slots);
	free(deeds->then);
	*deeds = (struct deeds){ 0 };
}
