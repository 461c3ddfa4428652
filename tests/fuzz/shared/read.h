/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read.h - inputs that are recordings: their checksums are mended, so that changes get to what is behind them.
 */
#ifndef TESTS_FUZZ_READ_H
#define TESTS_FUZZ_READ_H

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
/* For a target's LLVMFuzzerCustomMutator(): changes the input, and mends it nine times in ten. */
size_t recording_mutate(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
