/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.h - definitions on their way to another process, as they are in a recording. Part of user/recording's door.
 */
#ifndef GASPBPF_TRANSFER_H
#define GASPBPF_TRANSFER_H

#include "recording/recording.h"
#include "util/buffer.h"

#define TRANSFER_KINDS 16 /* at least as many as there are kinds of definitions */

/* Appends all entries from sent[kind] on, which then counts them. Sums and steps are not sent: no span refers to them.
 */
void definitions_put_new(struct buffer *out, const struct definitions *d, size_t sent[TRANSFER_KINDS]);
/* Appends the processes again, or one of them: what is known of them grows. */
void definitions_put_processes(struct buffer *out, const struct definitions *d);
void definitions_put_process(struct buffer *out, const struct definitions *d, uint32_t index);
/* Takes what was put; an entry that is there already is replaced. NULL, or what is wrong. */
const char *definitions_take(struct cursor *in, struct definitions *d);

void run_put(struct buffer *out, const struct def_run *run);
/* What *run held is freed. NULL, or what is wrong; then it is as it was. */
const char *run_take(struct cursor *in, struct def_run *run);

#endif
