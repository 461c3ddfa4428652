/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_processor.c - what a part of a thread's time was on a processor.
 *
 * The kernel's figures are of all of the thread's time, and when it was what is not in them. So a part of it has
 * bounds: all that it was not on a processor may have been in that part, or all of what it waited for one.
 */
#include "analysis/on_processor.h"

#include <stdio.h>

#include "analysis/printer.h"
#include "analysis/scheduling.h"

#define WORTH 2   /* said of one in so many of the ns */
#define QUEUED 10 /* one in so many of them in which it may have waited for a processor */

/* What of the ns is at least a part of these, of all of the thread's time: where all others were in the ns. */
static uint64_t at_least(const struct def_thread *thread, uint64_t of, uint64_t ns)
{
	uint64_t others = thread->observed - of;

	return others < ns ? ns - others : 0;
}

const char *on_processor(const struct def_thread *thread, uint64_t ns, char *text, size_t room)
{
	uint64_t ran, queued = scheduling_queued(thread);
	size_t at;

	if (*scheduling_asleep(thread, ns, "that", text, room) || !scheduling_is_known(thread) || !ns)
		return text;
	ran = at_least(thread, scheduling_ran(thread), ns);
	if (thread->queue_known && at_least(thread, queued, ns) >= ns / WORTH)
		snprintf(text, room, "waiting for a CPU for at least %.0f %% of that",
			 percent(at_least(thread, queued, ns), ns));
	if (ran < ns / WORTH)
		return text;
	at = snprintf(text, room, "on a CPU for at least %.0f %% of that", percent(ran, ns));
	queued = queued < ns - ran ? queued : ns - ran;
	if (thread->queue_known && queued >= ns / QUEUED && at < room)
		snprintf(text + at, room - at, " and waiting for one for at most %.0f %%", percent(queued, ns));
	return text;
}
