/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inner.h - did the program call, or did the runtime call itself?
 *
 * A runtime is built from its own functions: the next iterations of an ordered loop are handed out with a call of the
 * function that waits for its turn, MPI-IO sends messages, a shared heap takes a lock. Such calls are counted apart, in
 * a sum of their own and with a mark on their span.
 *
 * A call at depth 0 is the program's, as far as the kernel can tell: for it nothing is done. Of any other one the call
 * directly around it, on the same thread, must be of the same runtime. Then the return address decides: where it lies
 * in the file that holds the called function itself, the runtime called. That file is as far below and above the probed
 * instruction in every process as it is in the file, so two numbers of the probe tell it. Code of the program that runs
 * inside a call (the body of a parallel region, a reduction, an error handler) returns elsewhere, and its calls are the
 * program's. Unless its call is its last act and a jump: then it has the return address of the code itself, which the
 * runtime called by a pointer. So the instruction before that address must be a call of something in the file, or by
 * its table of other files' functions.
 *
 * The return address decides nothing where program and runtime are one file (code_size 0), and it is not known of some
 * calls that never return. There the call around it does: what is called inside of one is the runtime's, unless that
 * one calls back.
 *
 * A runtime of several files, and calls around that were not followed: user/capture/inner.c.
 */
#ifndef GASPBPF_INNER_H
#define GASPBPF_INNER_H

#include "maps.h"

/* caller: the return address; 0: not known. ip: of the probed instruction. sp: of the call, and of the one around it.
 */
static __always_inline __u8 inner_call(const struct gb_probe *p, const struct gb_probe *around, __u64 caller, __u64 ip,
				       bool same_sp)
{
	if (!p->runtime || p->runtime != around->runtime || p->happens)
		return 0;
	if (same_sp) /* the runtime jumped there: the return address is that of its own call */
		return GB_INNER_NESTED | GB_INNER_SELF;
	if (p->code_size && caller) {
		__u64 code = ip - p->code_below;

		if (caller - code < p->code_size && arch_is_direct_call(caller, code, p->code_size))
			return GB_INNER_NESTED | GB_INNER_SELF;
		return around->calls_back ? GB_INNER_NESTED : GB_INNER_NESTED | GB_INNER_AROUND;
	}
	return around->calls_back ? GB_INNER_NESTED : GB_INNER_NESTED | GB_INNER_SELF;
}

/*
 * Of a call around which none is followed, but one may be in progress whose return was left alone. When that one ended
 * is not known, so only the return address can tell.
 */
static __always_inline __u8 inner_alone(struct thread_state *t, const struct gb_probe *p, __u64 sp, __u64 caller,
					__u64 ip)
{
	__u64 code = ip - p->code_below;

	if (t->alone_sp < sp)
		t->alone_sp = 0; /* it has ended */
	if (t->alone_sp <= sp || !p->runtime || p->happens || !p->code_size || caller - code >= p->code_size)
		return 0;
	return arch_is_direct_call(caller, code, p->code_size) ? GB_INNER_NESTED | GB_INNER_SELF : 0;
}

/* Of a finished frame: others are below it, or may be. */
__noinline int frame_inner(struct thread_state *t, struct frame *f)
{
	const struct gb_probe *p, *around;
	__u32 below, id;

	if (!t || !f)
		return 0;
	id = f->span.probe;
	p = bpf_map_lookup_elem(&probes, &id);
	below = f->span.depth - 1u;
	if (p && below >= GB_DEPTH)
		f->span.inner = inner_alone(t, p, f->sp, f->span.caller, f->ip);
	if (below >= GB_DEPTH)
		return 0;
	barrier_var(below);
	if (below >= GB_DEPTH)
		return 0;
	id = t->frames[below].span.probe;
	around = bpf_map_lookup_elem(&probes, &id);
	if (p && around)
		f->span.inner = inner_call(p, around, f->span.caller, f->ip, t->frames[below].sp == f->sp);
	return 0;
}

/* Of a call that is only counted, where others are in progress around it, or may be: GB_SUM_INNER or 0. */
__noinline __u32 skipped_inner(struct thread_state *t, __u32 probe, __u64 sp, __u64 ip)
{
	const struct gb_probe *p, *around;
	__u64 caller = 0;
	__u32 below, id;

	if (!t)
		return 0;
	p = bpf_map_lookup_elem(&probes, &probe);
	if (!p || !p->runtime)
		return 0;
	if (p->code_size)
		arch_return_address(sp, &caller);
	below = t->depth - 1;
	if (below >= GB_DEPTH)
		return inner_alone(t, p, sp, caller, ip) & GB_INNER_SELF ? GB_SUM_INNER : 0;
	barrier_var(below);
	if (below >= GB_DEPTH)
		return 0;
	id = t->frames[below].span.probe;
	around = bpf_map_lookup_elem(&probes, &id);
	if (!around || p->runtime != around->runtime)
		return 0;
	return inner_call(p, around, caller, ip, t->frames[below].sp == sp) & GB_INNER_SELF ? GB_SUM_INNER : 0;
}

#endif
