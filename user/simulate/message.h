/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h - private to match.c and message.c: halves of messages, and the queues that they wait in.
 */
#ifndef GASPBPF_SIMULATE_MESSAGE_H
#define GASPBPF_SIMULATE_MESSAGE_H

#include "simulate/parts.h"

/* A queue. All zero: empty. */
struct halves {
	struct half *first, *last;
};

/* NULL: no memory. half_leave() gives it back. */
struct half *half_new(struct sim *sim, const struct op *op, bool is_send);
/* Frees those that were given back. */
void halves_forget(struct sim *sim);

/* In the order of time, after those of the same time; most belong at the end. */
void halves_insert(struct halves *queue, struct half *half);
/* At the end, whatever its time. */
void halves_append(struct halves *queue, struct half *half);
void halves_take_out(struct halves *queue, struct half *half);
/* Takes the first one out. */
void halves_pop(struct halves *queue);
/* Frees the halves in it. */
void halves_free(struct halves *queue);

#endif
