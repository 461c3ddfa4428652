/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_fields.c - the lists of a probe in the file: its values, and its event's arguments.
 *
 * An argument refers to the probe's values by index, so that reading one needs no names; arguments_check() makes sure
 * of the indices when all fields of the probe have been read.
 */
#include <stdlib.h>
#include <string.h>

#include "meaning/value.h"
#include "recording/definitions.h"

#define VALUES_MOST 256    /* values of a probe */
#define ARGUMENTS_MOST 256 /* arguments of a probe, all types of event together */
#define FROM_MOST 16       /* places that an argument may come from */
#define TEXT_MOST 65535    /* bytes */

void field_put(struct buffer *out, uint8_t number, const void *bytes, size_t size)
{
	buffer_put_varint(out, number);
	buffer_put_varint(out, size);
	buffer_put(out, bytes, size);
}

/* --- values ------------------------------------------------------------ */

void values_free(struct def_probe *probe)
{
	uint32_t i;

	for (i = 0; i < probe->nvalues; i++)
		value_free(&probe->values[i]);
	free(probe->values);
	probe->values = NULL;
	probe->nvalues = 0;
}

void values_put(struct buffer *out, uint8_t number, const struct def_probe *probe)
{
	struct buffer bytes = { 0 };
	uint32_t i;

	for (i = 0; i < probe->nvalues && i < VALUES_MOST; i++) {
		buffer_clear(&bytes);
		value_encode(&bytes, &probe->values[i]);
		out->failed |= bytes.failed;
		field_put(out, number, bytes.data, bytes.size);
	}
	buffer_free(&bytes);
}

const char *values_take(struct cursor *bytes, struct def_probe *probe)
{
	uint32_t n = probe->nvalues;

	if (n == VALUES_MOST)
		return "a probe has too many values";
	if ((n & (n - 1)) == 0) {
		struct value *values = realloc(probe->values, (n ? 2 * n : 1) * sizeof(*values));

		if (!values)
			return "there is not enough memory to read it";
		probe->values = values;
	}
	memset(&probe->values[n], 0, sizeof(probe->values[n]));
	if (!value_decode(bytes, &probe->values[n]))
		return "a value of a probe is bad";
	probe->nvalues++;
	return NULL;
}

/* --- arguments --------------------------------------------------------- */

static void argument_free(struct def_argument *argument)
{
	for (uint32_t i = 0; i < argument->nfrom; i++)
		free(argument->from[i].text);
	free(argument->from);
	free(argument->name);
	free(argument->type);
}

void arguments_free(struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->narguments; i++)
		argument_free(&probe->arguments[i]);
	free(probe->arguments);
	probe->arguments = NULL;
	probe->narguments = 0;
}

static void argument_encode(struct buffer *out, const struct def_argument *argument)
{
	buffer_put_varint(out, argument->event);
	buffer_put_varint(out, argument->kind);
	buffer_put_varint(out, argument->size);
	buffer_put_string(out, argument->name);
	buffer_put_string(out, argument->type);
	buffer_put_varint(out, argument->nfrom);
	for (uint32_t i = 0; i < argument->nfrom; i++) {
		const struct def_from *from = &argument->from[i];

		buffer_put_varint(out, from->what);
		if (from->what == FROM_NUMBER)
			buffer_put_signed(out, from->number);
		else if (from->what == FROM_TEXT)
			buffer_put_string(out, from->text);
		else
			buffer_put_varint(out, from->value);
	}
}

void arguments_put(struct buffer *out, uint8_t number, const struct def_probe *probe)
{
	struct buffer bytes = { 0 };

	for (uint32_t i = 0; i < probe->narguments && i < ARGUMENTS_MOST; i++) {
		buffer_clear(&bytes);
		argument_encode(&bytes, &probe->arguments[i]);
		out->failed |= bytes.failed;
		field_put(out, number, bytes.data, bytes.size);
	}
	buffer_free(&bytes);
}

/* A number of at most `most`; anything else spoils the cursor. */
static uint64_t bounded(struct cursor *c, uint64_t most)
{
	uint64_t number = cursor_varint(c);

	c->failed |= number > most;
	return c->failed ? 0 : number;
}

static void from_decode(struct cursor *c, struct def_from *from)
{
	from->what = bounded(c, FROM_WHATS - 1);
	if (from->what == FROM_NUMBER)
		from->number = cursor_signed(c);
	else if (from->what == FROM_TEXT)
		from->text = cursor_string(c, TEXT_MOST);
	else
		from->value = bounded(c, VALUES_MOST);
}

static void argument_decode(struct cursor *c, struct def_argument *argument)
{
	uint32_t count;

	argument->event = bounded(c, EVENT_TYPES - 1);
	argument->kind = bounded(c, ARGUMENT_KINDS - 1);
	argument->size = bounded(c, 8);
	argument->name = cursor_string(c, TEXT_MOST);
	argument->type = cursor_string(c, TEXT_MOST);
	count = bounded(c, FROM_MOST);
	argument->from = calloc(count + 1, sizeof(*argument->from));
	c->failed |= !argument->name || !argument->type || !argument->from;
	for (; argument->from && argument->nfrom < count && !c->failed; argument->nfrom++)
		from_decode(c, &argument->from[argument->nfrom]);
}

const char *arguments_take(struct cursor *bytes, struct def_probe *probe)
{
	uint32_t n = probe->narguments;

	if (n == ARGUMENTS_MOST)
		return "an event has too many arguments";
	if ((n & (n - 1)) == 0) {
		struct def_argument *more = realloc(probe->arguments, (n ? 2 * n : 1) * sizeof(*more));

		if (!more)
			return "there is not enough memory to read it";
		probe->arguments = more;
	}
	memset(&probe->arguments[n], 0, sizeof(probe->arguments[n]));
	argument_decode(bytes, &probe->arguments[n]);
	probe->narguments++; /* freed with the probe, also where it is bad */
	return bytes->failed ? "an argument of an event is bad" : NULL;
}

const char *arguments_check(const struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->narguments; i++) {
		const struct def_argument *argument = &probe->arguments[i];

		for (uint32_t j = 0; j < argument->nfrom; j++)
			if (argument->from[j].what <= FROM_GIVEN && argument->from[j].value >= probe->nvalues)
				return "an argument of an event refers to no value";
	}
	return NULL;
}
