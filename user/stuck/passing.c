/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * passing.c - calls of which nobody can say whether the last look has met them.
 *
 * The looks at the stacks and the probes' lists of calls in progress are made one after the other, and the job runs on
 * meanwhile. A call that stands on a stack and in neither list may be one that began before the probes, or one that
 * began after the first list and ended before the second. The probes tell of the second kind when it ends, as they tell
 * of every end: a function that has had such a call on the same thread is noted here, and nothing is concluded from its
 * calls on the stack. Where calls were lost, it may have been any function of the thread.
 */
#include <errno.h>
#include <string.h>

#include "stuck/private.h"
#include "util/array.h"

static bool is_same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_noted(const struct stuck *stuck, const struct stuck_open *open)
{
	for (size_t i = 0; i < stuck->npassing; i++) {
		const struct stuck_passing *p = &stuck->passing[i];

		if (p->pid == open->pid && p->tid == open->tid && is_same_name(p->symbol, open->symbol) &&
		    is_same_name(p->event, open->event))
			return true;
	}
	return false;
}

int stuck_note_passing(struct stuck *stuck, const struct stuck_open *open)
{
	if (is_noted(stuck, open))
		return 0;
	if (array_one_more(&stuck->passing, &stuck->passing_room, stuck->npassing, sizeof(*stuck->passing)))
		return -ENOMEM;
	stuck->passing[stuck->npassing++] = (struct stuck_passing){ open->pid, open->tid, open->symbol, open->event };
	return 0;
}

/* Is its end known? Else it may still be in progress. */
static bool is_whole(const struct span *span)
{
	return span->reason == GB_END_RETURN || span->reason == GB_END_UNWOUND || span->reason == GB_END_TAIL;
}

int passing_take_span(struct stuck *stuck, const struct definitions *d, const struct span *span)
{
	const struct def_probe *probe = span->probe != NO_INDEX ? &d->probes[span->probe] : NULL;
	const struct def_thread *thread = &d->threads[span->thread];
	struct stuck_open open = { .pid = d->processes[thread->process].pid, .tid = thread->tid };

	if (!probe || span->reason == GB_END_DETACH || (stuck->look_ended && span->start > stuck->look_ended))
		return 0;
	if (is_whole(span) && (!stuck->look_began || span->end < stuck->look_began))
		return 0;
	open.symbol = probe->symbol;
	open.event = probe->event;
	return stuck_note_passing(stuck, &open);
}

int passing_take_gap(struct stuck *stuck, const struct definitions *d, const struct gap *gap)
{
	const struct def_thread *thread = &d->threads[gap->thread];
	struct stuck_open any = { .pid = d->processes[thread->process].pid, .tid = thread->tid };

	return !gap->before || (stuck->look_began && gap->before >= stuck->look_began) ? stuck_note_passing(stuck, &any)
										       : 0;
}

bool is_passing(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call)
{
	for (size_t i = 0; i < stuck->npassing; i++) {
		const struct stuck_passing *p = &stuck->passing[i];

		if (p->pid == t->pid && p->tid == t->tid &&
		    (!p->symbol || !strcmp(p->symbol, call->function->symbol) ||
		     !strcmp(p->event, call->function->event)))
			return true;
	}
	return false;
}
