/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_at_calls.c - a look at stacks between two lists of calls in progress.
 */
#include "cli/look_at_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/clock.h"

#define OPENS_MOST (1u << 20)

static void take_open(void *context, const struct span *span, bool silent)
{
	struct open_list *opens = context;
	const struct definitions *d = opens->d;
	const struct def_thread *thread = &d->threads[span->thread];
	struct stuck_open *open;

	if (span->probe == NO_INDEX || opens->count == OPENS_MOST)
		return;
	if (array_one_more(&opens->list, &opens->room, opens->count, sizeof(*open))) {
		opens->failed = true;
		return;
	}
	open = &opens->list[opens->count++];
	*open = (struct stuck_open){ .pid = d->processes[thread->process].pid,
				     .tid = thread->tid,
				     .symbol = d->probes[span->probe].symbol,
				     .event = d->probes[span->probe].event,
				     .start = span->start,
				     .nwords = span->nwords,
				     .unread = span->unread,
				     .caller = span->site != NO_INDEX ? d->sites[span->site].address : 0 };
	memcpy(open->words, span->words, span->nwords * sizeof(span->words[0]));
}

static bool has_open(const struct open_list *opens, const struct stuck_open *open)
{
	for (size_t i = 0; i < opens->count; i++) {
		const struct stuck_open *other = &opens->list[i];

		if (other->tid == open->tid && other->start == open->start && !strcmp(other->symbol, open->symbol))
			return true;
	}
	return false;
}

/* Those that both lists have, alike, were in progress all the time in between. The others have begun or ended there. */
static int keep_common(struct stuck *stuck, struct open_list *opens, const struct open_list *later)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < later->count && !err; i++)
		if (!has_open(opens, &later->list[i]))
			err = stuck_note_passing(stuck, &later->list[i]);
	for (size_t i = 0; i < opens->count && !err; i++) {
		if (has_open(later, &opens->list[i]))
			opens->list[kept++] = opens->list[i];
		else
			err = stuck_note_passing(stuck, &opens->list[i]);
	}
	opens->count = kept;
	return err;
}

int look_at_calls(struct capture_session *capture, struct definitions *d, struct stuck *stuck, struct open_list *opens)
{
	struct open_list later = { .d = d };
	int err;

	opens->d = d;
	stuck->look_began = clock_monotonic();
	capture_drain(capture);
	err = capture_visit_open(capture, take_open, opens);
	if (!err)
		err = stuck_look(stuck, true);
	capture_drain(capture);
	if (!err)
		err = capture_visit_open(capture, take_open, &later);
	stuck->look_ended = clock_monotonic();
	if (!err)
		err = keep_common(stuck, opens, &later);
	free(later.list);
	return opens->failed || later.failed ? -ENOMEM : err;
}
