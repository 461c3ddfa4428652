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

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "arch.h"
#include "gaspbpf/wire.h"

struct frame {
	struct gb_span span;
	__u64 sp;    /* at the function's first instruction; ~0: closed by another probe, not by a return */
	__u64 ip;    /* of the probed instruction */
	bool exits;  /* its end is told by the function's last instructions: no trampoline is at sp */
	bool summed; /* it becomes no span (sums.h) */
	__u32 user;  /* kept by stack, `monitoring`: whose share that is of */
};

/* A piece of the target's memory, as it was read last (values.h). */
struct gb_memory {
	__u64 start; /* its address; 0: nothing has been read */
	__u64 words[8];
};

/* A thread's processor time so far, as the kernel keeps it. ns. */
struct cpu_time {
	__u64 user, system; /* by ticks, on most kernels: only their ratio is exact */
	__u64 run;
};

/* Where a thread is: its stack pointer, and the stack for its signal handlers. */
struct place {
	__u64 sp, low, size;
};

struct thread_state {
	__u64 sequence; /* of the last span, sent or lost */
	__u64 lost;
	__u64 born;  /* ns; of its first call */
	__u64 sums;  /* entries of this thread in `sums` */
	__u32 depth; /* frames in use */
	union {
		struct {
			__u32 tid, pid;
		};
		__u64 pid_tid; /* as in struct gb_span */
	};
	bool ended;
	bool counted;          /* in its user's share */
	bool told;             /* in `tellers` */
	bool stacked;          /* its process is in `stacked` (stacks.h) */
	__u32 user;            /* whose share its entries are of (shares.h) */
	__u64 result, result2; /* of the return that is being looked at */
	struct place place;
	__u64 stack_low, stack_size; /* the stack that the thread was born with, as far as it is known (home.h) */
	__u32 trusted; /* the count of doubts when the process was last found to be known (home.h), and one; 0: never */
	__u64 alone_sp; /* of a call whose return was left alone, and that may be in progress: the outermost one; 0:
			   none */
	struct cpu_time began; /* at its first call */
	struct gb_memory window;
	struct frame frames[GB_DEPTH + 1]; /* the last one is for calls too deep to follow */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

static __always_inline void cpu_time_read(const struct task_struct *task, struct cpu_time *time)
{
	time->user = task->utime;
	time->system = task->stime;
	time->run = task->se.sum_exec_runtime;
}

/*
 * Threads with something to tell at their end, by pid. All that die together are counted out by the kernel before each
 * of them comes to our program, in any order: a process's end is told by who comes last.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} tellers SEC(".maps");

/* The capture programs, by probe. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_PROBES);
	__type(key, __u32);
	__type(value, struct gb_probe);
} probes SEC(".maps");

/* Spans: one ring for each group of CPUs; the rings are made and sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, 4096);
		});
} rings SEC(".maps");

/* Process life, apart from the spans so that a flood of them cannot drown it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gb_trouble);
} trouble SEC(".maps");

/* Observed processes, by pid; used where a link is not limited to one process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

/*
 * Processes that user space has looked at as they are now: GB_LOOKING and the like. An entry goes when the process
 * becomes another program or its objects change, and `doubts` counts that.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u8);
} looked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} doubts SEC(".maps");

/* Processes that have ever switched measurement off, by pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct gb_control);
} controls SEC(".maps");

bool some_off; /* there may be one in `controls` */
/* The rank of each process, as @peer counts; only where `near` of some probe is used. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} ranks SEC(".maps");

/*
 * A whole machine is looked at (user/monitor): every call is summed, with its payload; processes are counted until they
 * are known to be unwanted; nobody is told of their life. Constant, so that where it is false nothing of it is left in
 * the programs.
 */
const volatile bool monitoring;
const volatile bool spans_too; /* with that: calls are sent, and life is told, as if nobody monitored */

const volatile __u32 ring_mask;    /* number of rings - 1; a power of two less one */
const volatile __u32 wakeup_bytes; /* wake the reader when a ring holds more than this */

static __always_inline struct gb_trouble *trouble_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&trouble, &zero);
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

#include "shares.h"
#include "sums.h"
#include "inner.h"

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
