/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classes.h - the classes of a CTF trace's events: which fields they have. Private to user/export/ctf.
 *
 * An event has a field for each thing that is known, and none for what is not: of calls of one function there may be
 * several classes, all with one name.
 */
#ifndef GASPBPF_EXPORT_CTF_CLASSES_H
#define GASPBPF_EXPORT_CTF_CLASSES_H

#include "export/event_fields.h"
#include "timeline/timeline.h"

/* The classes of streams: what is known of whose events they are. */
enum stream_class { STREAM_OF_THREAD, STREAM_OF_PROCESS, STREAM_OF_RANK, STREAM_CLASSES };

/* More kinds of events than calls have. */
enum event_kind { KIND_ENTRY, KIND_EXIT, KIND_MOMENT, KIND_OFF, KIND_ON, EVENT_KINDS };

/* Fields that stand before what the event itself tells. */
enum own_field { OWN_FUNCTION, OWN_SITE, OWN_END, OWN_STACK, OWN_INNER, OWN_BYTES, OWN_FIELDS };

struct classes;

/* NULL: out of memory. */
struct classes *classes_new(const struct definitions *d);
void classes_free(struct classes *classes);
/*
 * The number of the class of an event with these fields, of which those of FIELD_UNKNOWN are none. Where there would be
 * too many classes, what the event tells becomes texts. probe: index; nothing of KIND_OFF and KIND_ON. 0 or -ENOMEM.
 */
int classes_find(struct classes *classes, enum stream_class stream, enum event_kind kind, uint32_t probe,
		 struct event_field *fields, size_t count, uint32_t *number);
/* All of them as metadata. 0 or -ENOMEM. */
int classes_put(const struct classes *classes, struct buffer *metadata);

/* A string of the metadata, in quotes. */
void put_quoted(struct buffer *metadata, const char *text);
void put_metadata(struct buffer *metadata, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
