/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * passed.h - frames whose calls are over, as the stack pointer tells.
 */
#ifndef GASPBPF_PASSED_H
#define GASPBPF_PASSED_H

#include "frames.h"
#include "home.h"

/* Is the word on top of the stack the kernel's own return trampoline? At a function's start: it was called last by one
 * that has a return probe. */
__noinline int holds_trampoline(__u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	__u64 word = 0;

	if (!area || arch_return_address(sp, &word))
		return 0;
	return word == BPF_CORE_READ(area, vaddr);
}

/*
 * Where the thread is, for comparing it with its frames. What is compared in a loop is compared in functions of their
 * own, not inline and global: the verifier follows such a function once, what stands in the loop itself once for each
 * round and for all that earlier rounds may have found. That took most of the time that loading took.
 */
static __always_inline void place_here(struct thread_state *t, __u64 sp)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	bool disarmed = task->sas_ss_flags & SS_AUTODISARM; /* as on_signal_stack() has it */

	t->place.sp = sp;
	t->place.low = disarmed ? 0 : task->sas_ss_sp;
	t->place.size = disarmed ? ~0ULL : task->sas_ss_size;
}

/*
 * What a stack pointer says of a frame. Only pointers into one stack can be compared. A signal handler with a stack of
 * its own interrupts calls on the other one, so those go on; but once the thread is back there, nothing of the
 * handler's is left.
 */
__noinline int has_passed(struct thread_state *t, __u64 frame_sp)
{
	const struct place *here;
	bool handler;

	if (!t)
		return 0;
	here = &t->place;
	handler = here->sp - here->low < here->size;
	if ((frame_sp - here->low < here->size) != handler)
		return !handler;
	return frame_sp < here->sp;
}

/* The same of the topmost frame. A call at the very place of that frame: it is over, unless this is a tail call of its
 * function. */
__noinline int has_passed_top(struct thread_state *t, __u64 sp)
{
	const struct frame *f;
	__u32 top;

	if (!t)
		return 0;
	top = t->depth - 1;
	barrier_var(top); /* as in on_call() */
	if (top >= GB_DEPTH)
		return 0;
	f = &t->frames[top];
	return has_passed(t, f->sp) || (f->sp == sp && (f->exits || !holds_trampoline(sp)));
}

/* Closes the frames that the stack pointer has passed. */
__noinline int close_passed(struct thread_state *t, __u64 sp)
{
	__u64 now;

	if (!t || !t->depth)
		return 0;
	place_here(t, sp);
	now = bpf_ktime_get_ns();
	for (int i = 0; i < GB_DEPTH && has_passed_top(t, sp); i++)
		frame_close(t, now, GB_END_UNWOUND);
	return 0;
}

#endif
