/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.h - calls of variadic functions whose arguments are known at run time only.
 */
#ifndef GASPBPF_TOOLHOST_CALL_H
#define GASPBPF_TOOLHOST_CALL_H

#include <ffi.h>

#include "timeline/arguments.h"

#define CALL_MOST (8 + ARGUMENTS_AT_MOST)

union call_word {
	int32_t s32;
	uint32_t u32;
	int64_t s64;
	uint64_t u64;
	const void *pointer;
	double real;
};

struct call {
	unsigned count, fixed; /* fixed: of them, those before the dots */
	ffi_type *types[CALL_MOST];
	void *values[CALL_MOST];
	union call_word words[CALL_MOST];
	uint64_t shared[CALL_MOST][2];        /* what pointers to pointers-to-shared point to */
	const struct argument *of[CALL_MOST]; /* and whose they are; the caller's */
};

void call_int(struct call *c, int value);
void call_unsigned(struct call *c, unsigned value);
void call_pointer(struct call *c, const void *value);
/* What follows stands behind the dots. */
void call_dots(struct call *c);
/*
 * As the C type says, promoted as C does it. An argument that is not known is NULL, the least int or long, the largest
 * unsigned or size_t, or NaN; of a pointer-to-shared what is known of it, else a null pointer-to-shared
 * (docs/tools.md). `argument` lives until the call.
 */
void call_argument(struct call *c, const struct argument *argument);
/* Calls it; it returns nothing. False: libffi cannot. */
bool call_make(struct call *c, void (*function)(void));
/* In that function: the argument that this pointer to a pointer-to-shared is; NULL: it is none of them. */
const struct argument *call_shared(const void *pts);

#endif
