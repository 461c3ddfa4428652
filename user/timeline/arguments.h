/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - the arguments of an event, as its definition lists them: what a GASP tool gets, and what is printed.
 */
#ifndef GASPBPF_ARGUMENTS_H
#define GASPBPF_ARGUMENTS_H

#include "timeline/timeline.h"

#define ARGUMENTS_AT_MOST 32 /* room that is enough for any event of a model */

struct argument {
	const char *name; /* "nbytes" */
	const char *type; /* C: "size_t", "gasp_upc_PTS_t *" */
	enum argument_kind kind;
	uint8_t size;  /* bytes of the C type */
	bool known;    /* false: what follows is 0, and that is no measurement */
	bool decoded;  /* ARGUMENT_SHARED: thread, phase and address are known */
	uint64_t word; /* the value, by kind; signed ones extended; of a pointer-to-shared its first word */
	uint64_t high; /* ARGUMENT_SHARED of 16 bytes: the second */
	uint64_t thread, phase, address;
	const char *text; /* ARGUMENT_TEXT: NULL where only the address is known (in word); else where a number has a
			     name */
};

/*
 * The arguments of this event, in their order; the names live as long as the definitions. An event without a list has
 * the values of its call. Returns how many there are, of which at most `room` are stored.
 */
size_t event_arguments(const struct definitions *d, const struct event *event, struct argument *arguments, size_t room);

/* Does an argument of any type of the probe's event come from this value? */
bool value_is_argument(const struct def_probe *probe, uint32_t value);

#endif
