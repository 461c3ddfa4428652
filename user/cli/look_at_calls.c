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
#define ENDED_MOST (1u << 16) /* of a look; others are not known to have lasted */

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
				     .stacked = d->probes[span->probe].marks & MARK_STACKED,
				     .nwords = span->nwords,
				     .unread = span->unread,
				     .caller = span->site != NO_INDEX ? d->sites[span->site].address : 0 };
	memcpy(open->words, span->words, span->nwords * sizeof(span->words[0]));
}

/* By thread, from the outermost on. */
static int by_thread_and_start(const void *left, const void *right)
{
	const struct stuck_open *a = left, *b = right;

	if (a->pid != b->pid || a->tid != b->tid)
		return a->pid != b->pid ? (a->pid < b->pid ? -1 : 1) : a->tid < b->tid ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int visit_all(struct capture_session *capture, struct open_list *opens)
{
	int err = capture_visit_open(capture, take_open, opens);
	size_t nested = opens->count;

	if (!err)
		err = capture_visit_stacked(capture, take_open, opens);
	if (!err && opens->count > nested)
		qsort(opens->list, opens->count, sizeof(*opens->list), by_thread_and_start);
	return err;
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

int note_ended(void *context, const struct definitions *d, const struct span *span)
{
	struct ended_list *ended = context;

	if (!ended->wanted || span->probe == NO_INDEX || ended->count == ENDED_MOST ||
	    array_one_more(&ended->list, &ended->room, ended->count, sizeof(*ended->list)))
		return 0;
	ended->list[ended->count++] = (struct ended_call){ span->thread, span->probe, span->start, span->end };
	return 0;
}

/* Was its thread's script read before it ended? */
static bool ended_later(const struct stuck *stuck, const struct definitions *d, const struct ended_list *ended,
			const struct stuck_open *open)
{
	uint64_t until = stuck_script_until(stuck, open->pid, open->tid);

	for (size_t i = 0; until && ended && i < ended->count; i++) {
		const struct ended_call *call = &ended->list[i];

		if (d->threads[call->thread].tid == (uint32_t)open->tid && call->start == open->start &&
		    !strcmp(d->probes[call->probe].symbol, open->symbol))
			return call->end > until;
	}
	return false;
}

/* Those that both lists have, alike, were in progress all the time in between. The others have begun or ended there. */
static int keep_common(struct stuck *stuck, struct open_list *opens, const struct open_list *later,
		       const struct ended_list *ended)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < later->count && !err; i++)
		if (!has_open(opens, &later->list[i]))
			err = stuck_note_passing(stuck, &later->list[i]);
	for (size_t i = 0; i < opens->count && !err; i++) {
		if (has_open(later, &opens->list[i]) || ended_later(stuck, opens->d, ended, &opens->list[i]))
			opens->list[kept++] = opens->list[i];
		else
			err = stuck_note_passing(stuck, &opens->list[i]);
	}
	opens->count = kept;
	return err;
}

int look_at_calls(struct capture_session *capture, struct definitions *d, struct stuck *stuck, struct open_list *opens,
		  struct ended_list *ended)
{
	struct ended_list nobody = { .count = 0 };
	struct open_list later = { .d = d };
	int err;

	opens->d = d;
	stuck->look_began = clock_monotonic();
	capture_drain(capture);
	ended = ended ?: &nobody;
	ended->count = 0;
	ended->wanted = true;
	err = visit_all(capture, opens);
	if (!err)
		err = stuck_look(stuck, true);
	capture_drain(capture);
	if (!err)
		err = visit_all(capture, &later);
	ended->wanted = false;
	stuck->look_ended = clock_monotonic();
	if (!err)
		err = keep_common(stuck, opens, &later, ended);
	free(later.list);
	return opens->failed || later.failed ? -ENOMEM : err;
}
