/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetch.h - fetches the words of a call from outside, by its capture program: part of user/meaning's door.
 */
#ifndef GASPBPF_MEANING_FETCH_H
#define GASPBPF_MEANING_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"

/* The memory of the process that made the call. */
struct fetch_memory {
	/* False: not all of these bytes can be read. */
	bool (*read)(void *context, uint64_t address, void *bytes, size_t size);
	/* What is known of an event that the process announces; NULL: nothing. May be NULL itself: nothing of any. */
	const struct gb_texts *(*texts)(void *context, const struct gb_event_place *place);
	void *context;
};

/* A call, and what has been fetched of it: span.value, .unread, .values. span.pid_tid: whose events it announces. */
struct fetched_call {
	struct gb_span span;
	uint64_t sp; /* at the function's first instruction: where the return address is; 0: not known */
	uint64_t result, result2;
};

/*
 * Runs the program of the call, or of its return, as the kernel would: before, the argument registers are in the first
 * slots, those that are not known as 0 and unread. Of slots that no step fills nothing is said.
 */
void fetch_words(struct fetched_call *call, const struct gb_probe *program, bool at_return,
		 const struct fetch_memory *memory);

#endif
