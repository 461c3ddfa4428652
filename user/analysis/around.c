/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * around.c - see around.h.
 *
 * It is looked at the last call in each call around it. That costs little, and a place in a library that now and then
 * is the last one is there in each.
 */
#include "analysis/around.h"

#include <stdio.h>
#include <string.h>

#define MOSTLY 0.8 /* more votes for one than for all others, of all: then it has nine tenths of them */

/* The same place in the program: in two processes it is two sites. */
static bool same_place(const struct report *r, uint32_t a, uint32_t b)
{
	char here[LABEL_ROOM], there[LABEL_ROOM];

	return a == b || (a != NO_INDEX && b != NO_INDEX &&
			  !strcmp(site_label(r->d, a, here, sizeof(here)), site_label(r->d, b, there, sizeof(there))));
}

void around_vote(const struct profile *p, struct site_row *inside, uint32_t row, bool nests)
{
	if (row == NO_INDEX || nests || (inside->around && p->sites[inside->around - 1].event != p->sites[row].event)) {
		inside->apart = true;
		return;
	}
	inside->seen++;
	if (!inside->votes)
		inside->around = row + 1;
	inside->votes += inside->around == row + 1 ? 1 : -1;
}

/* What is around a row's calls becomes part of what is around all of them. False: it does not fit. */
static bool add(const struct report *r, const struct site_row *row, struct around *around, bool *any)
{
	const struct site_row *outer = row->around ? &r->profile->sites[row->around - 1] : NULL;

	if (!outer || row->apart || outer->event == row->event || (*any && outer->event != around->event))
		return false;
	if (!*any)
		*around = (struct around){ outer->event, outer->site, true };
	if (row->votes < MOSTLY * row->seen || !same_place(r, around->site, outer->site))
		around->site = NO_INDEX;
	around->all &= row->votes == row->seen;
	*any = true;
	return true;
}

bool around_calls(const struct report *r, uint32_t event, uint32_t site, struct around *around)
{
	bool any = false;

	for (size_t i = 0; i < r->profile->nsites; i++) {
		const struct site_row *row = &r->profile->sites[i];

		if (row->event == event && (site == NO_INDEX || same_place(r, site, row->site)) &&
		    !add(r, row, around, &any))
			return false;
	}
	return any;
}

const char *around_text(const struct report *r, uint32_t event, uint32_t site, char *text, size_t room)
{
	char label[LABEL_ROOM], place[LABEL_ROOM];
	struct around around;

	*text = '\0';
	if (!around_calls(r, event, site, &around))
		return text;
	report_event_label(r, around.event, label, sizeof(label));
	if (around.site == NO_INDEX)
		snprintf(text, room, ", inside of %s", label);
	else
		snprintf(text, room, ", inside of %s (%s%s)", label, around.all ? "" : "most at ",
			 site_label(r->d, around.site, place, sizeof(place)));
	return text;
}
