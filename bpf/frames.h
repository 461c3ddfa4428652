/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frames.h - the calls in progress of each thread, shared by observe.bpf.c and process.bpf.c.
 *
 * Problem: an entry probe and a return probe are two unrelated hits. To make one span of them, the entry
 * must leave behind what the return needs, for calls that nest, recurse, and sometimes
 * never return.
 *
 * Each thread has a stack of frames in its task storage: one lookup a hit, no hashing, no shared
 * cache line, freed by the kernel with the task. The entry pushes a frame with the stack pointer sp,
 * which at a function's first instruction points at the return address. When the return probe fires,
 * the return address has been popped, so sp less that word (arch_sp_before()) names the frame exactly.
 *
 * Frames left by longjmp or an exception get no return. They are recognised by the next hit on the
 * thread: the machine stack grows downwards, so a frame whose sp is below the current one
 * cannot be in progress any more. Equal sp happens for a tail call (the inner function has the
 * outer's return address) and for a fresh call from the same depth after a longjmp. In the tail
 * call the word at sp is the kernel's return trampoline, in the fresh call it is a real address: that
 * decides, at the cost of a read in this rare case only. Where the outer function has no return probe, its tail call to
 * another observed function has ended it already (user/probe/exits.c).
 *
 * A frame begins with the very bytes that are sent (struct gb_span), so finishing a call is one
 * bpf_ringbuf_output() of exactly the words in use.
 *
 * The call site is not read at the entry: at the return the instruction pointer is the
 * return address, for nothing. A call that does not return has no call site (caller 0), unless its probe asks
 * for it (GB_PROBE_CALLER).
 *
 * Functions that are not static are verified once, for whatever arguments, and not anew in each round of each
 * loop that calls them: that is the difference between 50 ms and more than a second until a job is joined.
 */
#ifndef GASPBPF_FRAMES_H
#define GASPBPF_FRAMES_H

#include "maps.h"
#include "sums.h"
#include "inner.h"

static __always_inline void cpu_time_read(const struct task_struct *task, struct cpu_time *time)
{
	time->user = task->utime;
	time->system = task->stime;
	time->run = task->se.sum_exec_runtime;
	time->queued = bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : GB_UNKNOWN;
	time->preempted = task->nivcsw;
}

/* A record of process life, to be filled in and submitted. NULL: it is lost, and counted. */
static __always_inline struct gb_life *life_reserve(__u32 kind, __u64 now)
{
	struct gb_life *life = bpf_ringbuf_reserve(&control, sizeof(*life), 0);
	struct gb_trouble *missed;

	if (!life) {
		missed = trouble_here();
		if (missed)
			missed->life_lost++;
		return 0;
	}
	__builtin_memset(life, 0, sizeof(*life));
	life->time = now;
	life->kind = kind;
	return life;
}

/* A call during which its process switched measurement off ends there. */
__noinline int frame_cut(struct frame *f)
{
	struct gb_control *c;
	__u32 pid;

	if (!f)
		return 0;
	pid = f->span.pid_tid >> 32;
	c = bpf_map_lookup_elem(&controls, &pid);
	if (!c)
		return 0;
	for (int i = 0; i < GB_OFFS; i++) {
		if (c->off[i] > f->span.start && c->off[i] < f->span.end) {
			f->span.end = c->off[i];
			f->span.reason = GB_END_OFF;
		}
	}
	return 0;
}

/* Sends a finished frame. The reader wakes by its own timer; a ring that fills up wakes it earlier. */
static __always_inline void frame_put(struct thread_state *t, struct frame *f)
{
	__u32 shard = bpf_get_smp_processor_id() & ring_mask;
	__u64 flags = BPF_RB_NO_WAKEUP, size;
	struct gb_trouble *missed;
	void *ring;

	if (some_off)
		frame_cut(f);
	if (f->span.depth || t->alone_sp)
		frame_inner(t, f);
	if (f->summed) {
		sum_add(t, f, false);
		if (!spans_too)
			return;
	}
	f->span.sequence = ++t->sequence;
	ring = bpf_map_lookup_elem(&rings, &shard);
	if (!ring)
		return;
	if (!(t->sequence & 63) && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	size = f->span.values;
	if (size > GB_SLOTS)
		size = GB_SLOTS;
	size = GB_SPAN_HEADER + size * 8;
	if (bpf_ringbuf_output(ring, &f->span, size, flags)) {
		t->lost++;
		missed = trouble_here();
		if (missed)
			missed->lost++;
		if (!f->summed)
			sum_add(t, f, true);
	}
}

__noinline int frame_send(struct thread_state *t, struct frame *f)
{
	if (t && f)
		frame_put(t, f);
	return 0;
}

/* Closes the topmost frame, for a reason other than its return. */
__noinline int frame_close(struct thread_state *t, __u64 now, __u32 reason)
{
	struct gb_probe *p;
	struct frame *f;
	__u32 depth, id;

	if (!t)
		return 0;
	depth = t->depth - 1;
	if (depth >= GB_DEPTH) {
		t->depth = 0;
		return 0;
	}
	f = &t->frames[depth];
	id = f->span.probe;
	p = reason == GB_END_RETURN || reason == GB_END_TAIL ? 0 : bpf_map_lookup_elem(&probes, &id);
	if (p && f->span.start < p->out_at && p->out_at < now) {
		/* It may have returned since, unseen. */
		now = p->out_at;
		reason = GB_END_DETACH;
	}
	f->span.end = now;
	f->span.reason = reason;
	t->depth = depth;
	return frame_send(t, f);
}

static __always_inline void frames_close_all(struct thread_state *t, __u64 now, __u32 reason)
{
	for (int i = 0; i < GB_DEPTH && t->depth; i++)
		frame_close(t, now, reason);
}

#endif
