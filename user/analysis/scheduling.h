/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scheduling.h - what each thread had of the processors, and waited for them. Private to user/analysis.
 *
 * The kernel's own figures, taken at the thread's first call and at its end. It brings them up to date at least once a
 * tick (1 to 10 ms): of a shorter time they say nothing.
 */
#ifndef GASPBPF_SCHEDULING_H
#define GASPBPF_SCHEDULING_H

#include "recording/recording.h"

struct report;

#define SCHEDULING_LEAST_NS 50000000ULL

/* Are its figures there, and of a time that is long enough? */
static inline bool scheduling_is_known(const struct def_thread *thread)
{
	return thread->observed >= SCHEDULING_LEAST_NS;
}

static inline bool scheduling_queue_is_known(const struct def_thread *thread)
{
	return scheduling_is_known(thread) && thread->queue_known;
}

/* ns, both: never more than the time that they are of, whatever a recording says. */
static inline uint64_t scheduling_ran(const struct def_thread *thread)
{
	return thread->run < thread->observed ? thread->run : thread->observed;
}

static inline uint64_t scheduling_queued(const struct def_thread *thread)
{
	return thread->queued < thread->observed ? thread->queued : thread->observed;
}

#define SCHEDULING_MUCH 10 /* percent of its time: a thread that waits so long for a processor lacks one */

/* scheduling.c: ns of what it was queued by which it lost something, at least (queued.c): beyond what it waited for
 * others in calls. Where that is not known: all. */
uint64_t scheduling_lost(const struct report *r, uint32_t thread);
/* The same of definitions.queues[number]. */
uint64_t scheduling_lost_in(const struct report *r, size_t number);
/* Processors of all machines together; 0: not known. */
unsigned scheduling_cpus(const struct definitions *d);
/* Does it lack a processor by that? */
bool scheduling_is_held_up(const struct report *r, uint32_t thread);

static inline bool scheduling_lacks_processor(const struct def_thread *thread)
{
	return scheduling_queue_is_known(thread) &&
	       100.0 * scheduling_queued(thread) >= (double)SCHEDULING_MUCH * thread->observed;
}

/*
 * scheduling.c: "asleep for at least 62 % of its shares", of what takes a thread so many ns and seems to be work: where
 * that cannot be for half of them, since in all of its life it was no longer on a CPU, or waiting for one; else "".
 */
const char *scheduling_asleep(const struct def_thread *thread, uint64_t ns, const char *what, char *text, size_t room);

/* scheduling.c: was it awake for nine tenths of these ns, at least, whenever in its life it slept? */
bool scheduling_was_awake(const struct def_thread *thread, uint64_t ns);

/*
 * scheduling.c: that threads waited for a CPU, by too little for a finding, in a sentence; "": they did not, or there
 * is a finding. Into text. 0 or -ENOMEM.
 */
int scheduling_note(const struct report *r, char *text, size_t room);

/*
 * scheduling.c: that some threads had no CPU for much of their time, so that their waiting is partly for one, in a
 * sentence; "": there are none. Into text. 0 or -ENOMEM.
 */
int scheduling_warning(const struct report *r, char *text, size_t room);

#endif
