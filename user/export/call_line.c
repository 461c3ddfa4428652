/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_line.c - what is known of a call as NAME=VALUE, one after the other with blanks between.
 */
#include "export/call_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "export/call.h"

static void put_text(struct buffer *b, const char *text)
{
	buffer_put(b, text, strlen(text));
}

/* Text that a target may have made up. */
void call_line_escape(struct buffer *b, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		char hex[8];

		if (*at > ' ' && *at < 0x7f && *at != '\\') {
			buffer_put(b, at, 1);
			continue;
		}
		snprintf(hex, sizeof(hex), "\\x%02x", *at);
		put_text(b, hex);
	}
}

/* What a line that is to be short does without: what is not known, and addresses, but for a lock's, by which it is told
 * from others. */
static bool is_brief(const struct call_line *l, const struct span *span, const char *value)
{
	return strcmp(value, "unknown") &&
	       (strncmp(value, "0x", 2) || group_of_role(l->d->probes[span->probe].role) == GROUP_LOCK);
}

static void put_pair(const struct call_line *l, struct buffer *b, const struct span *span, const char *name,
		     const char *value)
{
	if (l->brief && !is_brief(l, span, value))
		return;
	put_text(b, " ");
	call_line_escape(b, name ?: "?");
	put_text(b, "=");
	call_line_escape(b, value);
}

static void put_fields(const struct call_line *l, struct buffer *b, const struct event *event)
{
	size_t count = event_fields(l->d, l->texts, event, l->fields);

	for (size_t i = 0; i < count; i++)
		put_pair(l, b, event->span, l->fields[i].name, field_text(&l->fields[i]));
}

static const char *last_name(const struct value *v)
{
	const char *dot = v->name ? strrchr(v->name, '.') : NULL;

	return dot ? dot + 1 : v->name ?: "?";
}

/* Is there a value of the same parameter further on, that says more? That of a status does. */
static bool is_outdone(const struct span *span, const struct def_probe *probe, uint32_t value)
{
	struct shown_value shown;

	for (uint32_t i = value + 1; i < probe->nvalues; i++) {
		if (probe->values[i].meaning != probe->values[value].meaning ||
		    strcmp(last_name(&probe->values[i]), last_name(&probe->values[value])))
			continue;
		call_value(span, &probe->values[i], &shown);
		if (shown.kind == VALUE_SIGNED)
			return true;
	}
	return false;
}

/* The ranks in the whole job of those that the call names by their ranks in a communicator which is another one:
 * dest.world=7 */
static void put_world_ranks(const struct call_line *l, struct buffer *b, const struct span *span,
			    const struct def_probe *probe, bool at_end)
{
	const struct def_comm *comm = comm_of_span(l->comms, span);

	if (!comm || (comm->nruns == 1 && comm->runs[0].first == 0 && comm->runs[0].stride == 1))
		return;
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];
		struct shown_value shown;
		char text[40];

		if ((v->meaning != MEANING_PEER && v->meaning != MEANING_ROOT) || (v->at_return && !at_end) ||
		    (at_end && is_outdone(span, probe, i)))
			continue;
		call_value(span, v, &shown);
		if (shown.kind != VALUE_SIGNED || comm_world_rank(comm, shown.number) < 0)
			continue;
		put_text(b, " ");
		call_line_escape(b, last_name(v));
		snprintf(text, sizeof(text), ".world=%" PRId64, comm_world_rank(comm, shown.number));
		put_text(b, text);
	}
}

void call_line_put(const struct call_line *l, struct buffer *b, const struct event *event)
{
	const struct def_probe *probe = &l->d->probes[event->span->probe];
	bool at_end = event->type == EVENT_END;

	put_fields(l, b, event);
	put_world_ranks(l, b, event->span, probe, at_end);
}

bool call_line_open(struct call_line *l, const struct definitions *d)
{
	l->d = d;
	l->comms = comm_index_new(d);
	l->texts = texts_new(d);
	l->fields = calloc(event_fields_most(d), sizeof(*l->fields));
	return l->comms && l->texts && l->fields;
}

void call_line_close(struct call_line *l)
{
	comm_index_free(l->comms);
	texts_free(l->texts);
	free(l->fields);
	l->comms = NULL;
	l->texts = NULL;
	l->fields = NULL;
}
