/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look.h - what bpf/look.bpf.c tells of a thread: where it stands, and since when it has not run.
 */
#ifndef GASPBPF_LOOK_H
#define GASPBPF_LOOK_H

#include "gaspbpf/wire.h"

struct gb_look {
	gb_u32 pid, tid;
	gb_u64 registers[GB_LOOK_REGISTERS]; /* of its program, by DWARF's numbers; as of when it last came into the
					      * kernel */
	gb_u64 system_call;                  /* its number; negative: it is in none */
	gb_u64 switches;                     /* times that it left a processor */
	gb_u64 ran;                          /* ns of processor time */
	gb_u64 last, now; /* ns of its processor's own clock: when it last ran there, and now; `now` 0: this was read on
			     another one */
	gb_u32 state;     /* as in struct task_struct; 0: it runs, or would if it could */
	gb_u32 on_cpu;    /* it runs right now: registers are out of date */
	gb_u32 cpu;
	gb_u32 zero;
};

#define GB_RETURNS 64 /* as many as the kernel follows on a thread */

/* A return address that a return probe, anybody's, has replaced by the kernel's trampoline. */
struct gb_return {
	gb_u32 pid, tid;
	gb_u64 stack; /* where it stood */
	gb_u64 address;
};

#endif
