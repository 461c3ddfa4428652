/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_private.h - what reader.c has for reader_requests.c.
 */
#ifndef GASPBPF_TARGET_READER_PRIVATE_H
#define GASPBPF_TARGET_READER_PRIVATE_H

#include <stdbool.h>

#include "target/reader.h"

bool reader_possible(void); /* else this process reads by itself */
/* One request at a time: begin, ask, take the answer, finish. */
void reader_begin(void);
/* Bytes, or -errno; the bytes stand in reader_answer() until reader_finish(), which is told the same number. *opened: a
 * descriptor that came with them, or -1. */
int64_t reader_ask(const struct reader_request *request, size_t size, int folder, int *opened);
const char *reader_answer(void);
void reader_finish(int64_t size);
/* Asks what starts readers; without begin and finish. Its answer, or -errno; *came: a descriptor that came with it, or
 * -1. */
int64_t reader_ask_starter(struct starter_request request, int *came);

#endif
