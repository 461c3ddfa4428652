/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * in_step.c - when two threads met last.
 *
 * Either of them may be far ahead of the other, as the schedule lets each go as far as it can, and is asked for what
 * was before its own present. So meetings and messages are kept until all, or both, have left them behind; of those
 * that somebody is ahead of there may be so many only.
 */
#include "analysis/in_step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define MESSAGES_ROOM 4 /* of each two threads, at first: more where one of them is far ahead */
#define MESSAGES_MOST 4096
#define MEETINGS_BACK 32 /* of each thread, before a wait: so many are looked at */
#define MEETINGS_ROOM 64 /* of each thread, at first: likewise. Powers of two */
#define MEETINGS_MOST 8192

/* One that the thread took part in. */
struct attended {
	uint64_t number; /* the same for all who did; 0: none */
	uint64_t left;   /* ns: the end of its call */
	bool all;        /* each was in step with each; false: with `root` */
	uint32_t root;
};

struct attendance {
	struct attended *at; /* a ring: the n-th is at n & (room - 1) */
	uint64_t count;
	size_t room;
};

/* When two threads left their last messages behind. */
struct met {
	struct met_at {
		uint64_t low, high; /* ns: of the thread with the lower index, and of the other */
	} * at;
	size_t count, room;
};

int in_step_begin(struct in_step *s, size_t threads)
{
	*s = (struct in_step){ .count = threads };
	s->present = calloc(threads + 1, sizeof(*s->present));
	s->went = calloc(threads + 1, sizeof(*s->went));
	return s->present && s->went ? 0 : -ENOMEM;
}

void in_step_free(struct in_step *s)
{
	for (size_t i = 0; s->went && i < s->count; i++)
		free(s->went[i].at);
	for (size_t i = 0; i < s->nmet; i++)
		free(s->met[i].at);
	free(s->pairs.slots);
	free(s->met);
	free(s->went);
	free(s->present);
}

uint64_t in_step_needed(struct in_step *s)
{
	s->needed = UINT64_MAX;
	for (size_t i = 0; i < s->count; i++)
		if (s->present[i] && s->present[i] < s->needed)
			s->needed = s->present[i];
	return s->needed;
}

/* --- meetings --------------------------------------------------------------------- */

static struct attended *attended_at(const struct attendance *went, uint64_t n)
{
	return &went->at[n & (went->room - 1)];
}

/* May the oldest go? Nobody can ask for it any more, or there is no more room. */
static bool oldest_may_go(struct in_step *s, const struct attendance *went)
{
	uint64_t left = attended_at(went, went->count - went->room + MEETINGS_BACK)->left;

	return went->room == MEETINGS_MOST || left <= s->needed || left <= in_step_needed(s);
}

static int more_room(struct attendance *went)
{
	size_t room = went->room ? 2 * went->room : MEETINGS_ROOM;
	struct attended *larger = calloc(room, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	for (uint64_t n = went->count - went->room; n < went->count; n++)
		larger[n & (room - 1)] = *attended_at(went, n);
	free(went->at);
	went->at = larger;
	went->room = room;
	return 0;
}

/* The place of the next one. NULL: out of memory. */
static struct attended *attend(struct in_step *s, struct attendance *went)
{
	bool full = went->count >= went->room && !(went->room && oldest_may_go(s, went));

	return full && more_room(went) ? NULL : attended_at(went, went->count++);
}

int in_step_meeting(struct in_step *s, const struct meeting *meeting)
{
	bool all = meeting->state == WAIT_AT_BARRIER || meeting->state == WAIT_AT_NXN;

	if (meeting->in_halves || (!all && meeting->root < 0))
		return 0;
	s->meetings++;
	for (unsigned i = 0; i < meeting->ncalls; i++) {
		struct attended *attended = attend(s, &s->went[meeting->calls[i].thread]);

		if (!attended)
			return -ENOMEM;
		*attended = (struct attended){
			.number = s->meetings,
			.left = meeting->calls[i].end,
			.all = all,
			.root = all ? NO_INDEX : meeting->calls[meeting->root].thread,
		};
	}
	return 0;
}

/* --- messages --------------------------------------------------------------------- */

/* Where there is no room: of those that both have left behind only the latest of each can be asked for. They are told
 * in no order: either may be ahead. */
static void forget_messages(const struct in_step *s, struct met *met, uint32_t low, uint32_t high)
{
	uint64_t present = s->present[low] < s->present[high] ? s->present[low] : s->present[high];
	struct met_at latest = { 0 };
	size_t kept = 0;

	if (met->count < met->room)
		return;
	for (size_t i = 0; i < met->count; i++) {
		if (met->at[i].low > present || met->at[i].high > present)
			continue;
		latest.low = met->at[i].low > latest.low ? met->at[i].low : latest.low;
		latest.high = met->at[i].high > latest.high ? met->at[i].high : latest.high;
	}
	for (size_t i = 0; i < met->count; i++)
		if (met->at[i].low > present || met->at[i].high > present || met->at[i].low == latest.low ||
		    met->at[i].high == latest.high)
			met->at[kept++] = met->at[i];
	met->count = kept;
	if (kept < MESSAGES_MOST)
		return;
	met->count = kept / 2;
	memmove(met->at, met->at + met->count, met->count * sizeof(*met->at));
}

/* NULL: out of memory. */
static struct met *met_of(struct in_step *s, uint32_t low, uint32_t high)
{
	struct index_slot *slot = index_find(&s->pairs, index_key(low, high));

	if (!slot)
		return NULL;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&s->met, &s->met_room, s->nmet, sizeof(*s->met))) {
			s->pairs.used--;
			return NULL;
		}
		s->met[s->nmet] = (struct met){ 0 };
		slot->value = s->nmet++;
	}
	return &s->met[slot->value];
}

int in_step_message(struct in_step *s, const struct related_call *sends, const struct related_call *receives)
{
	bool ordered = sends->thread < receives->thread;
	const struct related_call *low = ordered ? sends : receives, *high = ordered ? receives : sends;
	struct met *met = met_of(s, low->thread, high->thread);

	if (!met)
		return -ENOMEM;
	forget_messages(s, met, low->thread, high->thread);
	if (met->count == met->room) {
		size_t room = met->room ? 2 * met->room : MESSAGES_ROOM;
		struct met_at *larger = realloc(met->at, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		met->at = larger;
		met->room = room;
	}
	met->at[met->count++] = (struct met_at){ low->end, high->end };
	return 0;
}

/* --- the last one ----------------------------------------------------------------- */

static void take_later(struct step *step, const struct wait *wait, uint64_t waiting, uint64_t late)
{
	if (waiting > wait->since || late > wait->until || !waiting || !late)
		return; /* this one */
	if (!step->known || waiting > step->waiting || (waiting == step->waiting && late > step->late))
		*step = (struct step){ true, waiting, late };
}

static void look_at_messages(const struct in_step *s, const struct wait *wait, struct step *step)
{
	bool ordered = wait->waiting < wait->late;
	const struct index_slot *slot = index_known(&s->pairs, ordered ? index_key(wait->waiting, wait->late)
								       : index_key(wait->late, wait->waiting));

	for (size_t i = 0; slot && i < s->met[slot->value].count; i++) {
		const struct met_at *at = &s->met[slot->value].at[i];

		take_later(step, wait, ordered ? at->low : at->high, ordered ? at->high : at->low);
	}
}

static uint64_t first_kept(const struct attendance *went)
{
	return went->count > went->room ? went->count - went->room : 0;
}

/* How many of its meetings it had left at that time: it may be ahead. */
static uint64_t attended_until(const struct attendance *went, uint64_t time)
{
	uint64_t low = first_kept(went), high = went->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (attended_at(went, middle)->left <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of so many, the first that is looked at. */
static uint64_t first_looked_at(const struct attendance *went, uint64_t count)
{
	uint64_t first = first_kept(went);

	return count > first + MEETINGS_BACK ? count - MEETINGS_BACK : first;
}

/* The latest that both took part in, before this wait. */
static void look_at_meetings(const struct in_step *s, const struct wait *wait, struct step *step)
{
	const struct attendance *a = &s->went[wait->waiting], *b = &s->went[wait->late];
	uint64_t i = attended_until(a, wait->since), k = attended_until(b, wait->until);
	uint64_t first = first_looked_at(a, i), its_first = first_looked_at(b, k);

	while (i > first && k > its_first) {
		const struct attended *mine = attended_at(a, i - 1), *its = attended_at(b, k - 1);

		if (mine->number > its->number) {
			i--;
		} else if (mine->number < its->number) {
			k--;
		} else if (mine->all || mine->root == wait->waiting || mine->root == wait->late) {
			take_later(step, wait, mine->left, its->left);
			return;
		} else {
			i--;
			k--;
		}
	}
}

struct step in_step_last(const struct in_step *s, const struct wait *wait)
{
	struct step step = { 0 };

	look_at_messages(s, wait, &step);
	look_at_meetings(s, wait, &step);
	return step;
}
