/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacks.h - calls in progress where a thread has many stacks.
 *
 * Programs with user-level threads (ucontext, fibers, coroutines) change stacks inside a function, and go on with
 * another call of the same function there; they may even finish a call on another thread than the one that began it. A
 * stack of frames for each thread would be wrong then. But the place of a call's return address is its own, in the
 * whole process, for as long as the call is in progress. So calls of such functions are kept in one map by process and
 * stack pointer. When one is found in the place of a new call, it has been left without a return.
 *
 * When a process ends, those of its calls that did not are looked for in the whole map. Only where it has ever had one:
 * its number is in `stacked` then.
 *
 * The span goes to the thread that finishes the call. It has depth 0: what contains what cannot be told.
 */
#ifndef GASPBPF_STACKS_H
#define GASPBPF_STACKS_H

#include "frames.h"

struct stack_place {
	__u64 sp;
	__u32 pid;
	__u32 zero;
};

HASH(stacks, PROCESSES_MOST, struct stack_place, struct frame);

/* Processes that have had an entry there. */
HASH(stacked, PROCESSES_MOST, __u32, __u8);

/* The thread is about to make an entry. False: nobody would find it at the process's end. */
static __always_inline bool note_stacked(struct thread_state *t)
{
	__u32 pid = t->pid;
	__u8 yes = 1;

	if (!t->stacked)
		t->stacked = !bpf_map_update_elem(&stacked, &pid, &yes, BPF_ANY);
	return t->stacked;
}

static __always_inline void stack_forget(const struct stack_place *place, const struct frame *f)
{
	__u32 user = f->user;

	if (!bpf_map_delete_elem(&stacks, place) && monitoring)
		room_give(user, GB_ROOM_STACKS);
}

/* Sends a call that is over, as the current thread's. The frame's memory is of the map, or of the thread's own. */
static __always_inline void stack_finish(struct thread_state *t, struct frame *f, __u64 now, __u32 reason)
{
	f->span.end = now;
	f->span.reason = reason;
	f->span.pid_tid = t->pid_tid;
	frame_send(t, f);
}

/* Calls of a process that end with it. */
struct stacks_end {
	struct thread_state *t; /* whose they become */
	__u64 now;
	__u32 pid, reason;
};

static long end_one(void *map, const struct stack_place *place, struct frame *f, struct stacks_end *end)
{
	if (place->pid == end->pid && end->t) {
		stack_finish(end->t, f, end->now, end->reason);
		stack_forget(place, f);
	}
	return 0;
}

static __always_inline void stacks_end_all(struct thread_state *t, __u32 pid, __u64 now, __u32 reason)
{
	struct stacks_end end = { .t = t, .now = now, .pid = pid, .reason = reason };

	bpf_for_each_map_elem(&stacks, end_one, &end, 0);
}

#endif
