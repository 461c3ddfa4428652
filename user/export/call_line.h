/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_line.h - what is known of a call as NAME=VALUE, one after the other with blanks between. Private to user/export.
 *
 * Bytes that do not print, blanks and backslashes stand as \xNN, so that a blank ends a value.
 */
#ifndef GASPBPF_EXPORT_CALL_LINE_H
#define GASPBPF_EXPORT_CALL_LINE_H

#include "export/event_fields.h"
#include "recording/communicators.h"
#include "timeline/timeline.h"
#include "util/buffer.h"

struct call_line {
	const struct definitions *d;
	struct comm_index *comms;
	struct texts *texts;
	struct event_field *fields;
	bool brief; /* without what is not known, and without addresses but those of locks */
};

/* False: out of memory; call_line_close() after either. d must outlive it. */
bool call_line_open(struct call_line *line, const struct definitions *d);
/*
 * The arguments that the event's table gives for its type, and after these the other values that are known: at END
 * those of the return, too. A blank stands before each.
 */
void call_line_put(const struct call_line *line, struct buffer *b, const struct event *event);
/* Text that a target may have made up. */
void call_line_escape(struct buffer *b, const char *text);
void call_line_close(struct call_line *line);

#endif
