/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * asking.h - private to user/simulate: what the files share that ask plug-ins for ends.
 */
#ifndef GASPBPF_SIMULATE_ASKING_H
#define GASPBPF_SIMULATE_ASKING_H

#include "simulate/parts.h"

extern const char plugin_changed[];

/* Says so, and gives -EPROTO. end_times.c */
int plugin_broke(struct sim *sim, enum callback in, const char *what, uint32_t thread, uint64_t start, uint64_t end);

/* Around each call of a plug-in: who watches over it knows where it is. */
static inline void plugin_enter(struct sim *sim, enum scenario s, enum callback in)
{
	if (s != AS_TOLD || !sim->foreign)
		return;
	sim->progress->calls++;
	sim->progress->in = in;
}

static inline void plugin_leave(struct sim *sim, enum scenario s)
{
	if (s == AS_TOLD && sim->foreign)
		sim->progress->in = IN_NOTHING;
}

/* 0 or -EPROTO, said. */
static inline int plugin_check_end(struct sim *sim, enum callback in, uint32_t thread, uint64_t start, uint64_t end)
{
	if (end < start)
		return plugin_broke(sim, in, "it set an end before the start", thread, start, end);
	if (end > INT64_MAX)
		return plugin_broke(sim, in, "it set an end beyond all time", thread, start, end);
	return 0;
}

static inline struct cpf_func_event plugin_event(uint32_t thread, uint32_t func, int64_t sent, int64_t received,
						 uint64_t start, uint64_t end)
{
	return (struct cpf_func_event){
		thread, func, sent > 0 ? (uint64_t)sent : 0, received > 0 ? (uint64_t)received : 0, start, end
	};
}

/* The end of what waited for a time on another thread: as long after the last start as in the recording. */
static inline uint64_t usual_end(uint64_t start, uint64_t other, uint64_t end, uint64_t new_start, uint64_t new_other)
{
	uint64_t last = start > other ? start : other, new_last = new_start > new_other ? new_start : new_other;

	return end >= last ? new_last + (end - last) : new_start + (end > start ? end - start : 0);
}

/* The same for a wait, for any number of things: each ends as long after its start as the wait after the last of them
 * all. */
static inline uint64_t usual_wait_end(const struct op *op, uint64_t other, uint64_t new_start, uint64_t new_other)
{
	return (other <= op->end && new_other > new_start ? new_other : new_start) + (op->end - op->last);
}

#endif
