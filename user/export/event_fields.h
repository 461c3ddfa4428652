/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_fields.h - what an event tells, one after the other: its arguments, in their order, and what else is known of
 * the call; at END that of the return, too. With an event without a list, all that is known. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_EVENT_FIELDS_H
#define GASPBPF_EXPORT_EVENT_FIELDS_H

#include "export/call.h"

enum field_kind {
	FIELD_UNKNOWN,
	FIELD_SIGNED,
	FIELD_UNSIGNED,
	FIELD_TRUTH,
	FIELD_REAL, /* the bits of a double */
	FIELD_ADDRESS,
	FIELD_TEXT
};

struct event_field {
	const char *name;
	enum field_kind kind;
	uint64_t word;         /* not of FIELD_UNKNOWN and FIELD_TEXT */
	const char *text;      /* FIELD_TEXT: any bytes; as long as the recording and this are there */
	char room[VALUE_TEXT]; /* for text */
};

/* No event has more of them. */
size_t event_fields_most(const struct definitions *d);
/* Stores them, and returns how many there are. */
size_t event_fields(const struct definitions *d, struct texts *texts, const struct event *event,
		    struct event_field *fields);
/* As a word: a number, "true", "unknown" ...; good as long as the field. */
const char *field_text(struct event_field *field);

#endif
