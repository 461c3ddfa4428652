/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h - what words_test.c hands to words.bpf.c, and what it gets back.
 */
#ifndef TESTS_UNIT_WORDS_H
#define TESTS_UNIT_WORDS_H

#include "gaspbpf/wire.h"

struct words_case {
	struct gb_probe program;
	gb_u64 sp, result, result2;
	gb_u32 at_return, zero;
	struct gb_span span; /* in: as it is before the program runs; out: after it */
};

struct numbers_case {
	struct gb_amounts amounts;
	struct gb_span span;
	gb_u64 number; /* out: the first of `amounts` */
	gb_s32 known;  /* out: it is */
	gb_u32 sized;  /* out: the payload is known */
	gb_u64 bytes;  /* out: the payload */
};

#endif
