/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wants.h - the first half of capture.c's work: which values a call carries, and the way to each.
 */
#ifndef GASPBPF_MODEL_WANTS_H
#define GASPBPF_MODEL_WANTS_H

#include "model/parts.h"

#define WANTS_MOST ((PARAMETERS_MOST + 1) * (2 * ANNOTATIONS_MOST + 4 + GB_SLOTS)) /* a value may take two */
#define LOADS_MOST (3 * STEPS_MOST)

enum origin { FROM_NOWHERE, FROM_REGISTER, FROM_STACK, FROM_RESULT };

/* Where a parameter or the result arrives: one or two words. */
struct place {
	enum origin origin;
	unsigned index; /* register; bytes on the stack; 0 or 1 of the result */
};

struct want {
	struct value value;
	struct place place;
	unsigned nloads;
	struct step loads[LOADS_MOST];
	uint8_t kernel_decoder;
	bool is_path;          /* it takes GB_PATH_WORDS slots */
	bool keep_handle;      /* null_slot is where it starts from */
	const char *condition; /* the value of this name must be at least value.least; NULL: nothing must */
	unsigned condition_at; /* its index in items */
	bool is_only;          /* what @only looks at: no value of the span */
	bool is_high;          /* the second word of the want before it: no value of its own */
};

struct wants {
	const struct function *function;
	const struct parsed_model *parsed;
	const struct bound *bound;
	const char *soname;
	unsigned count;
	bool failed;                   /* out of memory */
	struct want items[WANTS_MOST]; /* each is cleared as it is taken: all of them are a megabyte, a few are used */
};

/* Fills items, in the order of the parameters, the result last. The values' names are from malloc. */
void wants_find(struct wants *wants);

#endif
