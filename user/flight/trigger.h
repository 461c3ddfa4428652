/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trigger.h - private to user/flight: which calls are too long.
 */
#ifndef GASPBPF_FLIGHT_TRIGGER_H
#define GASPBPF_FLIGHT_TRIGGER_H

#include <stdbool.h>

#include "flight/flight.h"

struct trigger {
	const char *text; /* "barrier>5s" */
	uint64_t limit;   /* ns */
	uint64_t roles;   /* bit i: role i */
	char *events;     /* a pattern of their names instead; NULL: none */
};

#define NO_LIMIT UINT64_MAX

/* "barrier>5s", "wait=500ms", "GASP_MPI_WAIT*>2s". NULL, or what is wrong, in words. trigger_free() after either. */
const char *trigger_parse(struct trigger *trigger, const char *text);
void trigger_free(struct trigger *trigger);
/* The smallest limit that holds for calls of this probe; NO_LIMIT: none. *which: whose. */
uint64_t trigger_limit(const struct flight_options *options, const struct def_probe *probe,
		       const struct trigger **which);

#endif
