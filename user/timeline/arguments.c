/* SPDX-License-Identifier: BSD-2-Clause */
/* arguments.c - from the words of a call to the arguments of its events. */
#include "timeline/arguments.h"

#include <string.h>

#include "meaning/value.h"

/* A call, with what reading its values needs. */
struct call {
	const struct def_probe *probe;
	const struct span *span;
	bool at_end; /* what the return gave is known */
	bool returned;
};

static struct value_reading read(const struct call *call, const struct value *v)
{
	const struct span *span = call->span;

	if (v->at_return && !call->at_end)
		return (struct value_reading){ .known = false };
	return value_read(v, span->words, span->nwords, span->unread, call->returned);
}

/* The other half of a pointer-to-shared of 16 bytes: the value NAME.high. */
static uint64_t high_word(const struct call *call, const struct value *v)
{
	size_t length = strlen(v->name);

	for (uint32_t i = 0; i < call->probe->nvalues; i++) {
		const struct value *other = &call->probe->values[i];

		if (strncmp(other->name, v->name, length) || strcmp(other->name + length, ".high"))
			continue;
		struct value_reading r = read(call, other);

		return r.known ? r.raw : 0;
	}
	return 0;
}

static bool take_value(const struct call *call, const struct def_from *from, struct argument *a)
{
	const struct value *v = &call->probe->values[from->value];
	struct value_reading r;

	if (v->form == FORM_TEXT && from->what == FROM_VALUE) {
		const struct span *span = call->span;

		a->text = v->at_return && !call->at_end
				  ? NULL
				  : value_text(v, span->words, span->nwords, span->unread, call->returned);
		return a->text;
	}
	r = read(call, v);
	if (!r.known)
		return false;
	if (from->what == FROM_GIVEN) {
		a->word = !r.none;
		return true;
	}
	if (r.none)
		return false;
	a->word = (uint64_t)r.number;
	if (a->kind == ARGUMENT_SHARED) {
		a->word = r.raw;
		a->high = r.has_high ? r.high : high_word(call, v);
	}
	a->decoded = r.decoded;
	a->thread = r.thread;
	a->phase = r.phase;
	a->address = r.address;
	return true;
}

static bool take(const struct call *call, const struct def_from *from, struct argument *a)
{
	switch (from->what) {
	case FROM_NUMBER:
		a->word = (uint64_t)from->number;
		return true;
	case FROM_TEXT:
		a->text = from->text;
		return a->text;
	default:
		return from->value < call->probe->nvalues && take_value(call, from, a);
	}
}

static void read_argument(const struct call *call, const struct def_argument *def, struct argument *a)
{
	*a = (struct argument){ .name = def->name, .type = def->type, .kind = def->kind, .size = def->size };
	for (uint32_t i = 0; i < def->nfrom && !a->known; i++)
		a->known = take(call, &def->from[i], a);
}

/* An event without a list: the value itself, with the C type that comes nearest. */
static void read_plain(const struct call *call, uint32_t index, struct argument *a)
{
	static const struct {
		enum argument_kind kind;
		const char *type;
	} forms[FORMS] = {
		[FORM_INT] = { ARGUMENT_INT, "int64_t" },          [FORM_UINT] = { ARGUMENT_UINT, "uint64_t" },
		[FORM_POINTER] = { ARGUMENT_POINTER, "void *" },   [FORM_BOOL] = { ARGUMENT_INT, "bool" },
		[FORM_STRING] = { ARGUMENT_TEXT, "const char *" }, [FORM_TEXT] = { ARGUMENT_TEXT, "const char *" },
		[FORM_REAL] = { ARGUMENT_DOUBLE, "double" }
	};
	const struct value *v = &call->probe->values[index];
	const struct def_from from = { .what = FROM_VALUE, .value = index };

	*a = (struct argument){ .name = v->name, .type = forms[v->form].type, .kind = forms[v->form].kind, .size = 8 };
	a->known = take_value(call, &from, a);
}

/* Which list an event of this type has: its own, or the one that tells what is known. NO_INDEX: none is stated. */
static uint32_t list_of(const struct def_probe *probe, enum event_type type)
{
	static const enum event_type order[EVENT_TYPES][EVENT_TYPES] = {
		[EVENT_START] = { EVENT_START, EVENT_ATOMIC, EVENT_END },
		[EVENT_END] = { EVENT_END, EVENT_ATOMIC, EVENT_START },
		[EVENT_ATOMIC] = { EVENT_ATOMIC, EVENT_START, EVENT_END },
	};

	for (int i = 0; i < EVENT_TYPES; i++)
		if (probe->lists >> order[type][i] & 1)
			return order[type][i];
	return NO_INDEX;
}

size_t event_arguments(const struct definitions *d, const struct event *event, struct argument *arguments, size_t room)
{
	const struct def_probe *probe = &d->probes[event->span->probe];
	struct call call = { .probe = probe, .span = event->span, .at_end = event->type == EVENT_END };
	uint32_t list = list_of(probe, event->type);
	size_t count = 0;

	call.returned = event->span->reason == GB_END_RETURN || event->span->reason == GB_END_TAIL;
	if (list == NO_INDEX) {
		for (uint32_t i = 0; i < probe->nvalues; i++) {
			if (!value_is_shown(&probe->values[i]) || (probe->values[i].at_return && !call.at_end))
				continue;
			if (count++ < room)
				read_plain(&call, i, &arguments[count - 1]);
		}
		return count;
	}
	for (uint32_t i = 0; i < probe->narguments; i++)
		if (probe->arguments[i].event == (enum event_type)list && count++ < room)
			read_argument(&call, &probe->arguments[i], &arguments[count - 1]);
	return count;
}

bool value_is_argument(const struct def_probe *probe, uint32_t value)
{
	for (uint32_t i = 0; i < probe->narguments; i++)
		for (uint32_t j = 0; j < probe->arguments[i].nfrom; j++)
			if (probe->arguments[i].from[j].what == FROM_VALUE &&
			    probe->arguments[i].from[j].value == value)
				return true;
	return false;
}
