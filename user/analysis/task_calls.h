/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_calls.h - what the calls of a task runtime say of its tasks: which task, of what kind, on which worker. Private
 * to user/analysis.
 */
#ifndef GASPBPF_ANALYSIS_TASK_CALLS_H
#define GASPBPF_ANALYSIS_TASK_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

#define TASK_NAMES_MOST 8

/* Where a probe's calls say what: an index of its values. -1: they do not. */
struct task_call {
	bool looked_at;
	bool tells;         /* task_probe_tells() */
	bool has_done;      /* the model tells when a task is over */
	bool has_transfers; /* ... and what it moves by itself */
	bool sorts;         /* it can be told whose a task is; a call that does not tell it is the program's */
	int16_t task, kind, internal, worker, error, bytes;
	int16_t nodes[2]; /* where data comes from and goes to; one alone: where it goes to */
	int16_t names[TASK_NAMES_MOST];
	unsigned nnames, nnodes;
};

struct task_calls {
	const struct definitions *d;
	struct texts *texts;
	struct task_call *probes;
	size_t nprobes;
};

/* d stays the caller's, and must outlive it. 0 or -ENOMEM. */
int task_calls_open(struct task_calls *calls, const struct definitions *d);
void task_calls_close(struct task_calls *calls); /* also of zeros */
/* NULL: out of memory. Good until the next one is asked for. */
const struct task_call *task_calls_of(struct task_calls *calls, uint32_t probe);
/* The number that a value has in a call; false: there is none, or it was not known. */
bool task_call_number(const struct definitions *d, const struct span *span, int value, int64_t *number);
/*
 * The name of the task's kind: the first of the call's names that is known and not the task's own, which is the first
 * of all. NULL: not known. *address, where not NULL: the first of these that is an address at all; else as it was.
 */
const char *task_call_kind_name(const struct task_calls *calls, const struct task_call *call, const struct span *span,
				uint64_t *address);
/* Do the probe's calls say anything of tasks? In a run without such calls there is nothing to be looked for. */
bool task_probe_tells(const struct definitions *d, uint32_t probe);
/* Has this model an event of this role? */
bool task_model_has(const struct definitions *d, const char *model, enum role role);

#endif
