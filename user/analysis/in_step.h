/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * in_step.h - when two threads met last: at a message from one to the other, at a barrier, in a collective operation.
 * Private to past.c.
 */
#ifndef GASPBPF_ANALYSIS_IN_STEP_H
#define GASPBPF_ANALYSIS_IN_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/index.h"
#include "simulate/relations.h"

struct in_step {
	size_t count;
	uint64_t *present;       /* by thread, ns: what it did until then is known; 0: nothing is */
	uint64_t needed;         /* ns: nobody's present is before that, as of when it was looked for last */
	struct attendance *went; /* by thread: where it took part */
	uint64_t meetings;
	struct index pairs; /* of threads -> place in met */
	struct met *met;
	size_t nmet, met_room;
};

/* The call's thread waited for the other one. */
struct wait {
	uint32_t waiting, late;
	uint64_t since, until; /* ns */
};

/* When each of them left where they met. */
struct step {
	bool known;
	uint64_t waiting, late; /* ns */
};

/* 0 or -ENOMEM; then, too, it is to be freed. */
int in_step_begin(struct in_step *s, size_t threads);
void in_step_free(struct in_step *s);

/* 0 or -ENOMEM, both. */
int in_step_meeting(struct in_step *s, const struct meeting *meeting);
int in_step_message(struct in_step *s, const struct related_call *sends, const struct related_call *receives);

/* ns: what all threads did until then is known. UINT64_MAX: nothing is known of any. */
uint64_t in_step_needed(struct in_step *s);
/* Before this wait. */
struct step in_step_last(const struct in_step *s, const struct wait *wait);

#endif
