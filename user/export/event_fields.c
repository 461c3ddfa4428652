/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_fields.c - what an event tells, one after the other.
 */
#include "export/event_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/digits.h"

size_t event_fields_most(const struct definitions *d)
{
	uint32_t most = 0;

	for (size_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].nvalues > most)
			most = d->probes[i].nvalues;
	return ARGUMENTS_AT_MOST + (size_t)most;
}

static void take_argument(const struct argument *a, struct event_field *field)
{
	field->name = a->name;
	field->word = a->word;
	field->text = NULL;
	if (!a->known) {
		field->kind = FIELD_UNKNOWN;
	} else if (a->text || (a->kind == ARGUMENT_SHARED && (a->decoded || a->high))) {
		field->kind = FIELD_TEXT;
		field->text = argument_text(a, field->room, sizeof(field->room));
	} else if (a->kind == ARGUMENT_POINTER || a->kind == ARGUMENT_TEXT || a->kind == ARGUMENT_SHARED) {
		field->kind = FIELD_ADDRESS;
	} else if (a->kind == ARGUMENT_DOUBLE) {
		field->kind = FIELD_REAL;
	} else {
		field->kind = a->kind == ARGUMENT_INT ? FIELD_SIGNED : FIELD_UNSIGNED;
	}
}

/* A value that is a word may stand for a number. */
static enum field_kind kind_of_word(const struct value *v, const char *word)
{
	if (v->form == FORM_REAL && strcmp(word, "none"))
		return FIELD_REAL;
	if (v->form == FORM_POINTER && word[0] == '0')
		return FIELD_ADDRESS;
	return FIELD_TEXT;
}

static void take_value(const struct span *span, const struct value *v, struct event_field *field)
{
	struct shown_value shown;

	call_value(span, v, &shown);
	field->name = v->name;
	field->word = (uint64_t)shown.number;
	field->text = NULL;
	switch (shown.kind) {
	case VALUE_UNKNOWN:
		field->kind = FIELD_UNKNOWN;
		return;
	case VALUE_SIGNED:
		field->kind = FIELD_SIGNED;
		return;
	case VALUE_UNSIGNED:
		field->kind = FIELD_UNSIGNED;
		return;
	case VALUE_TRUTH:
		field->kind = FIELD_TRUTH;
		return;
	case VALUE_WORD:
		field->kind = kind_of_word(v, shown.word);
	}
	if (field->kind == FIELD_TEXT) {
		memcpy(field->room, shown.word, sizeof(field->room));
		field->text = field->room;
	}
}

/* What stands behind it, where it is the name of something. */
static void take_name(const struct definitions *d, struct texts *texts, const struct span *span, const struct value *v,
		      struct event_field *field)
{
	const char *name;

	if (v->meaning != MEANING_NAME || v->form == FORM_TEXT || field->kind == FIELD_UNKNOWN)
		return;
	name = texts_find(texts, d->threads[span->thread].process, field->word, span->start);
	if (!name)
		return;
	field->kind = FIELD_TEXT;
	field->text = name;
}

size_t event_fields(const struct definitions *d, struct texts *texts, const struct event *event,
		    struct event_field *fields)
{
	const struct def_probe *probe = &d->probes[event->span->probe];
	struct argument arguments[ARGUMENTS_AT_MOST];
	size_t given = probe->lists ? event_arguments(d, event, arguments, ARGUMENTS_AT_MOST) : 0, count = 0;

	for (; count < given && count < ARGUMENTS_AT_MOST; count++)
		take_argument(&arguments[count], &fields[count]);
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];

		if (!value_is_shown(v) || (v->at_return && event->type != EVENT_END) ||
		    (probe->lists && value_is_argument(probe, i)))
			continue;
		take_value(event->span, v, &fields[count]);
		take_name(d, texts, event->span, v, &fields[count++]);
	}
	return count;
}

const char *field_text(struct event_field *field)
{
	switch (field->kind) {
	case FIELD_UNKNOWN:
		return "unknown";
	case FIELD_SIGNED:
		snprintf(field->room, sizeof(field->room), "%" PRId64, (int64_t)field->word);
		break;
	case FIELD_UNSIGNED:
		snprintf(field->room, sizeof(field->room), "%" PRIu64, field->word);
		break;
	case FIELD_TRUTH:
		return field->word ? "true" : "false";
	case FIELD_REAL:
		real_text(field->room, sizeof(field->room), field->word);
		break;
	case FIELD_ADDRESS:
		*digits_address(field->room, field->word) = '\0';
		break;
	case FIELD_TEXT:
		return field->text;
	}
	return field->room;
}
