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
 * Where the thread is, for comparing it with its frames. It stands in a map and is read anew each time: what
 * comparisons in a loop say of a local variable the verifier keeps, and finds each round another one; that took most of
 * the time that loading took.
 */
static __always_inline const volatile struct place *place_here(struct thread_state *t, __u64 sp)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	bool disarmed = task->sas_ss_flags & SS_AUTODISARM; /* as on_signal_stack() has it */

	t->place.sp = sp;
	t->place.low = disarmed ? 0 : task->sas_ss_sp;
	t->place.size = disarmed ? ~0ULL : task->sas_ss_size;
	return &t->place;
}

/*
 * What a stack pointer says of a frame. Only pointers into one stack can be compared. A signal handler with a stack of
 * its own interrupts calls on the other one, so those go on; but once the thread is back there, nothing of the
 * handler's is left.
 */
static __always_inline bool has_passed(const volatile struct place *here, __u64 frame_sp)
{
	bool handler = here->sp - here->low < here->size;

	if ((frame_sp - here->low < here->size) != handler)
		return !handler;
	return frame_sp < here->sp;
}

/* Closes the frames that the stack pointer has passed. */
__noinline int close_passed(struct thread_state *t, __u64 sp)
{
	const volatile struct place *here;
	__u64 now;

	if (!t || !t->depth)
		return 0;
	here = place_here(t, sp);
	now = bpf_ktime_get_ns();
	for (int i = 0; i < GB_DEPTH; i++) {
		__u32 top = t->depth - 1;

		if (top >= GB_DEPTH)
			break;
		if (!has_passed(here, t->frames[top].sp) &&
		    (t->frames[top].sp != sp || (!t->frames[top].exits && holds_trampoline(sp))))
			break;
		frame_close(t, now, GB_END_UNWOUND);
	}
	return 0;
}

#endif
