/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runs.h - small numbers as runs and packed bits: Parquet's hybrid encoding. Private to user/export/parquet.
 */
#ifndef GASPBPF_EXPORT_PARQUET_RUNS_H
#define GASPBPF_EXPORT_PARQUET_RUNS_H

#include "util/buffer.h"

/* Bits that numbers up to this one need; at least 1. */
static inline unsigned bits_for(uint32_t most)
{
	return most ? 32 - (unsigned)__builtin_clz(most) : 1;
}

/* Appends them, `bits` of each. */
void put_runs(struct buffer *to, const uint32_t *numbers, uint32_t count, unsigned bits);

#endif
