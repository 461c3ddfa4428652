/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wire.h - what bpf/ and user/ say to each other.
 *
 * The kernel side knows no runtime. It is handed, for each probe, a short
 * capture program: which words to fetch at the call and at the return. What it
 * sends back is one span for each finished call, with the fetched words in
 * value[], in the order of the probe's slots. What the words mean is known
 * only in user space (user/meaning).
 *
 * All times are ns of CLOCK_MONOTONIC. All process and thread ids are those of
 * the initial PID namespace.
 */
#ifndef GASPBPF_WIRE_H
#define GASPBPF_WIRE_H

#include "gaspbpf/arch.h"
#include "gaspbpf/types.h"
#include "gaspbpf/words.h"

/*
 * Calls in progress that are followed on a thread. One less than the kernel's own limit of nested return probes: a
 * thread that reaches that one, and leaves the calls by longjmp, gets no return probe any more, since the kernel
 * looks at the limit before it clears what was left behind.
 */
#define GB_DEPTH 63
#define GB_PROBES 8192 /* probes of one session */
#define GB_COMM 16     /* TASK_COMM_LEN */

/*
 * Where a call says whose part of the global address space it is about: a rank in some bits of an argument register.
 * `bits` 0: nothing is there.
 */
struct gb_near {
	gb_u8 reg; /* 0 to GB_REGISTERS - 1, in the order of arguments */
	gb_u8 shift;
	gb_u8 bits;
	gb_u8 zero;
};

#define GB_NEAR 2 /* an access copies between two parts at most */

/*
 * The capture program of one probe. At the call, the first slots receive the integer
 * argument registers as they are; then ops[0..entry_ops) run. At the
 * return ops[entry_ops..entry_ops+return_ops) run. Slots [0, slots) are sent.
 * A slot that could not be read has its bit in the span's `unread` mask.
 */
struct gb_probe {
	gb_u8 slots;
	gb_u8 entry_ops;
	gb_u8 return_ops;
	gb_u8 flags;         /* GB_PROBE_* */
	gb_u32 return_slots; /* bit i: slot i is filled at the return */
	gb_u32 opener;       /* GB_PROBE_CLOSES: the probe whose span ends here */
	gb_u32 pushed;       /* bytes that the function has pushed before the probed instruction */
	gb_u32 skip;    /* changes under way: a call is followed where no bit of a random number is in here, else only
			   counted; 0: all are */
	gb_u32 control; /* GB_CONTROL_* */
	gb_u8 wary;   /* its return probe may do harm in some process: where user space has not looked (GB_LOOKED) it is
			 left out */
	gb_u8 rounds; /* the function may jump back to where the probe is, so not each hit is a call (is_round(),
			 bpf/observe.bpf.c) */
	gb_u16 zero;
	gb_u16 runtime; /* whose function it is: a number that functions of one runtime share; 0: nobody's, and no call
			   of it is inner (bpf/inner.h) */
	gb_u8 calls_back;             /* it runs code of its caller's: what is called inside may be the program's */
	gb_u8 happens;                /* it tells what the runtime does by itself: no call of it is inner */
	gb_u32 code_below;            /* its file's code begins so far below the probed instruction ... */
	gb_u32 code_size;             /* ... and has so many bytes; 0: runtime and program share the file */
	struct gb_near near[GB_NEAR]; /* calls that are all about the caller's own part are no events; near[0].bits 0:
					 they are */
	gb_u64 out_at; /* changes under way: ns; when its probes were last taken out; calls that began before and did
			  not return since ended then */
	struct gb_op ops[GB_OPS];
};

/* gb_probe.control: 0: not seen while its process has switched measurement off; */
#define GB_CONTROL_ALWAYS 255 /* seen nevertheless; */
#define GB_CONTROL_SLOT \
	1 /* else slot + this: the call switches it off where that slot is 0 (as an int), else on; it is no span */

#define GB_PROBE_NO_RETURN 0x01 /* only the call is observed: an ATOMIC event */
#define GB_PROBE_OPENS 0x02     /* the span lasts until a closing probe is hit on the same thread */
#define GB_PROBE_CLOSES 0x04    /* ends the span of probe `opener`; no span of its own */
#define GB_PROBE_CALLER 0x08    /* read the return address at the call: this function may never return */
#define GB_PROBE_EXITS \
	0x10 /* the end of a call is told by probes on the function's last instructions, not by a return probe */
#define GB_PROBE_STACKS 0x20 /* with EXITS: a thread may change stacks within a call, and a stack its thread */

#define GB_PROBE_SAMPLED 0x40 /* `skip` has been used: a return may be of a call that was only counted */
#define GB_PROBE_SUMMED 0x80  /* its calls become no spans: struct gb_sum has them */

#define GB_SKIP_ALL 0xffffffffu /* gb_probe.skip: every call is only counted */

/*
 * What a probe on a last instruction has in the upper half of its cookie, above the number of the function's
 * probe: a return, a jump to another function, or such a jump under a condition, numbered as the processor does
 * (instruction_condition()).
 */
#define GB_EXIT_RETURN 1
#define GB_EXIT_JUMP 2
#define GB_EXIT_CONDITION 16

/* Why a span ended. */
enum gb_end {
	GB_END_RETURN = 0, /* the function returned */
	GB_END_UNWOUND,    /* longjmp or an exception left the function */
	GB_END_EXIT,       /* the thread ended inside */
	GB_END_EXEC,       /* the process became another program inside */
	GB_END_DEPTH,      /* nested too deep: the call is counted, its end was not observed */
	GB_END_DETACH,     /* still in progress when observation ended */
	GB_END_ATOMIC,     /* only the call is observed: start == end */
	GB_END_TAIL,       /* its last act was a jump to another function, and what that did is not part of the span */
	GB_END_OFF,        /* measurement was switched off inside; that is the end */
	GB_END_ALONE,      /* the call is counted; its return was left alone, since to watch it might have done harm
			      (bpf/home.h) */
	GB_ENDS
};

/* One finished call, as it comes out of a ring: the header, then `values` words. */
struct gb_span {
	gb_u64 start;   /* ns */
	gb_u64 end;     /* ns */
	gb_u64 caller;  /* return address: the call site is the instruction before it */
	gb_u64 pid_tid; /* pid << 32 | tid */
	gb_u32 probe;
	gb_u32 sequence; /* low half of the thread's count of calls, from 1; lost spans count too */
	gb_u32 unread;   /* bit i: value[i] could not be read */
	gb_u8 depth;     /* probed calls in progress on this thread below this one */
	gb_u8 inner;     /* GB_INNER_*, as far as the kernel can tell */
	gb_u8 reason;    /* enum gb_end */
	gb_u8 values;
	gb_u64 value[GB_SLOTS];
};

/* gb_span.inner: who called (bpf/inner.h). */
#define GB_INNER_NESTED 1 /* the call directly around it, on this thread, is of the same runtime */
#define GB_INNER_SELF 2   /* and it is that runtime that called */
#define GB_INNER_AROUND 4 /* nothing but the call around says who it was, and that one does not call back */

#define GB_SPAN_HEADER 48 /* bytes before value[] */

/* A call in progress, as the iterator show_frames writes it: this, then a whole struct gb_span whose end is not known.
 */
struct gb_open {
	gb_u64 pid_tid;
	gb_u32 depth;  /* calls in progress below it */
	gb_u32 silent; /* it will become no span */
};

/*
 * Calls that became no span, by thread and probe. Together with the spans that were delivered it is all calls:
 * calls = spans + lost + summed + skipped.
 */
struct gb_sum_place {
	gb_u64 born; /* ns; when the thread's first call was seen: tids are used again */
	gb_u32 tid;
	gb_u32 probe; /* with GB_SUM_INNER: of its calls with GB_INNER_SELF, which have a sum of their own */
};

#define GB_SUM_INNER 0x80000000u

#define GB_SIZES \
	40 /* payloads: [i] of 2^i bytes up to twice that; 0 is in [0]; the last one, from 512 GiB, has no end */
#define GB_BUCKETS \
	40 /* durations: [i] of 2^i ns up to twice that; 0 ns is in [0]; the last one, from 9.2 minutes, has no end */

struct gb_sum {
	gb_u32 pid;
	gb_u32 user;     /* whose share it is of (struct gb_user) */
	gb_u64 lost;     /* their spans found no room in the ring; these count in the thread's sequence */
	gb_u64 summed;   /* by intention: GB_PROBE_SUMMED */
	gb_u64 skipped;  /* only counted: gb_probe.skip */
	gb_u64 timed;    /* of those lost or summed: whose duration is known, and in what follows */
	gb_u64 total;    /* ns */
	gb_u64 min, max; /* ns; valid where timed is not 0 */
	gb_u64 bucket[GB_BUCKETS];
	gb_u64 sized; /* of those lost or summed: whose payload is known, and in what follows (struct gb_amounts) */
	gb_u64 bytes;
	gb_u64 size[GB_SIZES];
};

/*
 * How many bytes a call moves, by its words: user/meaning/payload.c. For each side the first known number of [bytes,
 * counts) is it; else the first of [counts, sizes) is multiplied by the first of [sizes, end), or by its own `element`
 * where that range is empty. Of two sides both must be known.
 */
#define GB_NUMBERS 16

struct gb_amounts {
	gb_u8 sides; /* 0: calls of this probe have no payload, or nothing tells it */
	gb_u8 zero[3];
	struct {
		gb_u8 bytes, counts, sizes, end;
	} side[2];
	gb_u32 zero2;
	struct gb_number number[GB_NUMBERS];
};

/*
 * Processes, where a whole machine is looked at: a process that is not in `targets` is counted nevertheless, until
 * user space has had a look at it.
 */
#define GB_TARGET_NO 0
#define GB_TARGET_YES 1
#define GB_TARGET_TREE 2 /* with all that it starts, other programs included */

/* What user space knows of a process: it is just looking at what it maps; it has looked, and return probes of `wary`
 * functions do no harm. */
#define GB_LOOKING 1
#define GB_LOOKED 2
#define GB_LOOKED_HELD                                                                                               \
	3 /* the same, while it stood still after its linker had mapped all objects: that the linker says so then is \
	     no news */

/* Process life, on the control ring. */
enum gb_life_kind {
	GB_LIFE_FORK = 1, /* pid is the new child of parent; exit_code 1: it is held from its birth on */
	GB_LIFE_EXEC,     /* pid runs a new program; tid is the thread that asked for it */
	GB_LIFE_THREAD,   /* tid of pid ended; sequence and lost are its final counts */
	GB_LIFE_EXIT,     /* pid ended */
	GB_LIFE_OPEN,     /* at detach: final counts of a thread that lives on */
	GB_LIFE_LINKER, /* the dynamic linker of pid has mapped or unmapped objects; exit_code 1: tid stands still until
			   they were looked at */
	GB_LIFE_STRANGER, /* pid, which nobody observes, runs a new program */
	GB_LIFE_CONTROL,  /* tid has switched measurement of pid off or on: exit_code is what it said, `changing` the
			     probe */
};

/*
 * By this signal a thread that is held (user/target/hold.c) stops where its dynamic linker has mapped something. Its
 * tracer takes it away; were the tracer killed in just that moment, it would mean nothing: SIGWINCH's default is to be
 * ignored. Of the four that are so it is the one that nobody sends to a single thread, and only such a one can meet
 * ours: two of a kind that wait for one thread become one. (SIGURG is how Go's runtime preempts its threads; SIGCHLD
 * and SIGCONT do more than come.)
 */
#define GB_HOLD_SIGNAL 28

#define GB_UNKNOWN (~0ULL) /* gb_life.queued: the kernel does not keep it (CONFIG_SCHED_INFO) */

struct gb_life {
	gb_u64 time; /* ns */
	gb_u32 kind; /* enum gb_life_kind */
	gb_u32 pid;
	gb_u32 tid;
	gb_u32 parent;
	gb_u64 sequence;  /* calls seen on this thread */
	gb_u64 lost;      /* of those, spans that found no room in the ring */
	gb_s32 exit_code; /* as wait(2) gives it; GB_LIFE_EXIT only */
	gb_u32 changing;  /* GB_LIFE_LINKER: the change is about to begin; 0: it is over, or that is not known */
	gb_u64 born;      /* ns; of the thread, as in gb_sum_place; 0: none is meant */
	gb_u64 sums;      /* probes of which it has a sum */
	gb_u64 observed;  /* ns from the thread's first call to now: what the next four are of; 0: they are not known */
	gb_u64 run;       /* ns that it was on a processor ... */
	gb_u64 system;    /* ... and of these in the kernel, probes included */
	gb_u64 queued;    /* ns that it could have run, and waited for a processor; GB_UNKNOWN */
	gb_u64 preempted; /* times that it was taken from a processor */
	gb_u32 cpus;      /* processors that it may use */
	gb_u32 cpu;       /* the one that it was on last */
	char comm[GB_COMM]; /* of the thread; GB_LIFE_EXIT and GB_LIFE_OPEN only */
};

/* The threads of a process that have made no observed call. */
struct gb_quiet {
	gb_u64 born; /* of the process's first thread, as the kernel keeps it: whose number it is */
	gb_u64 run;  /* ns that they were on a processor while they were observed */
	gb_u64 threads;
};

/* A thread that has made calls, and lives. */
struct gb_queue {
	gb_u32 pid, tid;
	gb_u64 born;        /* ns; as in gb_life */
	gb_u64 time;        /* ns; now */
	gb_u64 run, queued; /* ns, since its first call, as in gb_life */
};

#define GB_OFFS 4

/* A process that has ever switched its measurement off. */
struct gb_control {
	gb_u64 off[GB_OFFS]; /* ns; when it did so the last times */
	gb_u32 next;         /* the place of the next one */
	gb_s32 value;        /* what it said last; 0: off */
	gb_u32 user;         /* whose share it is of ... */
	gb_u32 charged;      /* ... where this is not 0 */
	gb_u32 heard; /* the program itself has said so while it was observed; else user space has found it in its
			 memory, or was told by others */
	gb_u32 zero;
};

/* What users of a machine share while it is monitored (bpf/shares.h), each with a limit. */
enum gb_rooms {
	GB_ROOM_SUMS = 0, /* struct gb_sum, by thread and function */
	GB_ROOM_THREADS,  /* threads that call, with their calls in progress */
	GB_ROOM_STACKS,   /* calls in progress that are kept by stack */
	GB_ROOM_CONTROLS, /* processes that have switched measurement off */
	GB_ROOMS
};

/* gb_user.refused: by room, and: */
#define GB_REFUSED_MEMORY GB_ROOMS /* there was room, but the kernel had no memory */
#define GB_REFUSALS (GB_ROOMS + 1)

struct gb_room {
	gb_u64 size;
	gb_u64 taken;
};

/* Entries that a user has taken, and what he was refused: calls that are in no figure, or, of GB_ROOM_CONTROLS, not
 * taken out of any. */
struct gb_user {
	gb_u64 taken[GB_ROOMS];
	gb_u64 refused[GB_REFUSALS];
};

#define GB_USERS 16384
#define GB_USER_OTHERS 0xfffffffeu /* all further ones together: no user has this number, nor the next one */
#define GB_USER_ALL 0xffffffffu

/* What went wrong, whole run; one per CPU. */
struct gb_trouble {
	gb_u64 lost;      /* spans that found no room in the ring */
	gb_u64 no_memory; /* calls not seen: no memory for the thread's state */
	gb_u64 no_sum;    /* calls that are in no span and, for want of memory, in no sum */
	gb_u64 no_entry;  /* returns whose call was not seen (fork inside a call) */
	gb_u64 life_lost; /* control records that found no room */
	gb_u64 near;      /* accesses to the caller's own part: no events by intention */
	gb_u64 summed; /* calls that went into a sum, of probes that a monitor has; to see at a glance whether there is
			  something to do */
	gb_u64 trampolines; /* calls whose return address somebody else's return probe had replaced */
	gb_u64 rounds; /* hits of gb_probe.rounds that are a call or one more round, nobody knows: in no other number */
};

#endif
