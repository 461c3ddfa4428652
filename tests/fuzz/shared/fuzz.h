/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - what the fuzz targets share (docs/fuzzing.md).
 *
 * A target is one file of tests/fuzz: LLVMFuzzerTestOneInput() hands the input to the code of user/ that reads such
 * things, in the way in which it comes there. What a target must not do: keep anything from one input to the next,
 * depend on the time, or touch other processes than its own.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* For what cannot be, were the target and its machine in order: ends the target, as a finding. */
#define must(condition)                     \
	do {                                \
		if (!(condition)) {         \
			perror(#condition); \
			abort();            \
		}                           \
	} while (0)

/* The input, taken from its beginning on. What is beyond its end is 0. */
struct input {
	const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

/* Copies so many bytes. */
static inline void input_take(struct input *in, void *to, size_t size)
{
	size_t some = size < input_left(in) ? size : input_left(in);

	memset(to, 0, size);
	memcpy(to, in->at, some);
	in->at += some;
}

static inline uint64_t input_number(struct input *in, size_t bytes)
{
	uint64_t number = 0;

	input_take(in, &number, bytes);
	return number;
}

/* Up to so many bytes where they are; *size: how many. */
static inline const uint8_t *input_piece(struct input *in, size_t most, size_t *size)
{
	const uint8_t *piece = in->at;

	*size = most < input_left(in) ? most : input_left(in);
	in->at += *size;
	return piece;
}

/* The bytes as a string, malloc'ed, so that what reads beyond its end is noticed. */
char *input_text(const uint8_t *bytes, size_t size);

/* The file that has the input: one of the target's own, which each call fills anew. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A descriptor of the same file, which stays this one's. */
int fuzz_file_fd(const uint8_t *data, size_t size);
/* A folder of the target's own, and a file in it. */
int fuzz_folder(void);
void fuzz_file_in_folder(const char *name, const uint8_t *data, size_t size);

/* The input as an image; NULL: it is none. */
struct image *fuzz_image(const uint8_t *data, size_t size);

/* Files that tests/fuzz/seeds.py has made. The path is good until the next call. */
const char *fuzz_data(const char *name);
/* The models of the repository. */
const struct model_set *fuzz_models(void);

/* This process, as gaspbpf looks at others. */
struct process *fuzz_own_process(void);

#endif
