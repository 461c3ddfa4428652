/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.h - what observe.bpf.c and process.bpf.c keep between two hits: each thread's state, the maps, the switches.
 *
 * User space fills in `probes`, `targets`, `looked`, `ranks` and the switches, and reads the rest (user/probe). Maps of
 * one matter alone are defined with it: sums.h, shares.h, stacks.h, values.h.
 */
#ifndef GASPBPF_MAPS_H
#define GASPBPF_MAPS_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "arch.h"
#include "hash.h"
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
	__u64 queued;    /* it could have run, and waited for a processor; GB_UNKNOWN: the kernel does not keep it */
	__u64 preempted; /* times that it was taken from a processor */
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

/*
 * Threads with something to tell at their end, by pid. All that die together are counted out by the kernel before each
 * of them comes to our program, in any order: a process's end is told by who comes last.
 */
HASH(tellers, PROCESSES_MOST, __u32, __u32);

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
HASH(targets, PROCESSES_MOST, __u32, __u8);

/*
 * Processes that user space has looked at as they are now: GB_LOOKING and the like. An entry goes when the process
 * becomes another program or its objects change, and `doubts` counts that.
 */
HASH(looked, PROCESSES_MOST, __u32, __u8);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} doubts SEC(".maps");

/* Processes that have ever switched measurement off, by pid. */
HASH(controls, 16384, __u32, struct gb_control);

bool some_off; /* there may be one in `controls` */

/* The rank of each process, as @peer counts; only where `near` of some probe is used. */
HASH(ranks, PROCESSES_MOST, __u32, __u32);

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

#endif
