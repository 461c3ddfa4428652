/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.c - a model's list of an event's arguments, for one function: names become indices of its values.
 *
 * What the function has no value for stays without a place to come from: it is unknown, and nobody need look again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"

static bool find_value(const struct def_probe *def, const char *name, uint32_t *index)
{
	for (*index = 0; *index < def->nvalues; ++*index)
		if (!strcmp(def->values[*index].name, name))
			return true;
	return false;
}

/* Bytes of an element of what the function moves; 0: not stated. */
static uint32_t element_of(const struct def_probe *def)
{
	for (uint32_t i = 0; i < def->nvalues; i++)
		if (def->values[i].meaning == MEANING_COUNT && def->values[i].element)
			return def->values[i].element;
	return 0;
}

/* A text that every call of the function has. NULL: no such name. */
static const char *fixed_text(const struct def_probe *def, const struct function *f, const char *name)
{
	for (size_t i = 0; i < f->nconstants; i++)
		if (!strcmp(f->constants[i].name, name))
			return f->constants[i].text;
	return !strcmp(name, "prototype") ? def->prototype ?: f->prototype : !strcmp(name, "symbol") ? f->symbol : NULL;
}

/* 1: it is one; 0: the function has no such thing; or -ENOMEM. */
static int define_from(const struct def_probe *def, const struct function *f, const struct argument_from *rule,
		       struct def_from *from)
{
	const char *text;
	char *end;

	if (!rule->name) {
		*from = (struct def_from){ .what = FROM_NUMBER, .number = rule->number };
		return 1;
	}
	if (find_value(def, rule->name, &from->value)) {
		from->what = rule->given ? FROM_GIVEN : FROM_VALUE;
		return 1;
	}
	text = fixed_text(def, f, rule->name);
	if (!text && !strcmp(rule->name, "element") && element_of(def)) {
		*from = (struct def_from){ .what = FROM_NUMBER, .number = element_of(def) };
		return 1;
	}
	if (!text)
		return 0;
	errno = 0;
	from->number = strtoll(text, &end, 0);
	from->what = *text && !*end && !errno ? FROM_NUMBER : FROM_TEXT;
	from->text = from->what == FROM_TEXT ? strdup(text) : NULL;
	return from->what == FROM_TEXT && !from->text ? -ENOMEM : 1;
}

static int define_argument(const struct def_probe *def, const struct function *f, const struct event_argument *rule,
			   struct def_argument *argument)
{
	argument->kind = rule->kind;
	argument->size = rule->size;
	argument->name = strdup(rule->name);
	argument->type = strdup(rule->type);
	argument->from = calloc(rule->nfrom + 1, sizeof(*argument->from));
	if (!argument->name || !argument->type || !argument->from)
		return -ENOMEM;
	for (size_t i = 0; i < rule->nfrom; i++) {
		int found = define_from(def, f, &rule->from[i], &argument->from[argument->nfrom]);

		if (found < 0)
			return found;
		argument->nfrom += found;
	}
	return 0;
}

int define_arguments(struct def_probe *def, const struct function *f)
{
	const struct model_event *event = f->of;
	size_t count = 0;

	for (int type = 0; event && type < EVENT_TYPES; type++) {
		count += event->lists[type].count;
		def->lists |= event->lists[type].stated ? 1u << type : 0;
	}
	if (!count)
		return 0;
	def->arguments = calloc(count, sizeof(*def->arguments));
	if (!def->arguments)
		return -ENOMEM;
	for (int type = 0; type < EVENT_TYPES; type++)
		for (size_t i = 0; i < event->lists[type].count; i++) {
			struct def_argument *argument = &def->arguments[def->narguments++];
			int error = define_argument(def, f, &event->lists[type].arguments[i], argument);

			argument->event = type;
			if (error)
				return error;
		}
	return 0;
}
