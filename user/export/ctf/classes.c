/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classes.c - the classes of a CTF trace's events.
 */
#include "export/ctf/classes.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES_MOST 64 /* of one function, kind and stream; what comes later has texts */
#define NAME_ROOM 200   /* of a field's name */

struct class
{
	struct class *next;
	uint32_t number;
	size_t count;
	uint8_t kinds[]; /* enum field_kind of its fields */
};

struct classes {
	const struct definitions *d;
	uint32_t count;
	struct buffer text;
	char (*names)[NAME_ROOM]; /* of the fields of the class that is being told */
	struct class *lists[];    /* by probe, stream and kind: the latest first */
};

static size_t nlists(const struct definitions *d)
{
	return (d->nprobes + 1) * STREAM_CLASSES * EVENT_KINDS;
}

struct classes *classes_new(const struct definitions *d)
{
	struct classes *c = calloc(1, sizeof(*c) + nlists(d) * sizeof(c->lists[0]));

	if (!c)
		return NULL;
	c->d = d;
	c->names = calloc(event_fields_most(d) + OWN_FIELDS, sizeof(*c->names));
	if (!c->names) {
		free(c);
		return NULL;
	}
	return c;
}

void classes_free(struct classes *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < nlists(c->d); i++)
		while (c->lists[i]) {
			struct class *class = c->lists[i];

			c->lists[i] = class->next;
			free(class);
		}
	buffer_free(&c->text);
	free(c->names);
	free(c);
}

/* --- as metadata --------------------------------------------------------------------- */

void put_metadata(struct buffer *b, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	buffer_put(b, text, strlen(text));
}

void put_quoted(struct buffer *b, const char *text)
{
	struct buffer valid = { 0 };

	buffer_put_utf8(&valid, text);
	buffer_put(b, "\"", 1);
	for (size_t i = 0; i < valid.size; i++) {
		uint8_t byte = valid.data[i];

		if (byte < ' ' || byte == 0x7f || byte == '"' || byte == '\\')
			put_metadata(b, "\\%03o", byte);
		else
			buffer_put(b, &byte, 1);
	}
	buffer_put(b, "\"", 1);
	b->failed |= valid.failed;
	buffer_free(&valid);
}

static bool is_taken(char (*names)[NAME_ROOM], size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Letters, digits and underscores; none of the class twice. */
static void name_field(char (*names)[NAME_ROOM], size_t at, const char *name)
{
	char *to = names[at], plain[NAME_ROOM - 12];
	size_t length = 0;

	for (; name && name[length] && length < sizeof(plain) - 1; length++)
		plain[length] = isalnum((unsigned char)name[length]) ? name[length] : '_';
	plain[length] = '\0';
	snprintf(to, NAME_ROOM, "%s", length ? plain : "value");
	for (unsigned i = 2; is_taken(names, at, to); i++)
		snprintf(to, NAME_ROOM, "%s_%u", length ? plain : "value", i);
}

static void put_field(struct buffer *b, enum field_kind kind, const char *name)
{
	static const char *const types[] = {
		[FIELD_SIGNED] = "int64", [FIELD_UNSIGNED] = "uint64",   [FIELD_TRUTH] = "uint8",
		[FIELD_REAL] = "real",    [FIELD_ADDRESS] = "address64", [FIELD_TEXT] = "string",
	};

	/* Readers take away the underscore; without it a name might be a word of the language's own. */
	if (kind != FIELD_UNKNOWN)
		put_metadata(b, "\t\t%s _%s;\n", types[kind], name);
}

static void put_name(const struct classes *c, struct buffer *b, enum event_kind kind, uint32_t probe)
{
	static const char *const ends[EVENT_KINDS] = {
		[KIND_ENTRY] = "_entry",        [KIND_EXIT] = "_exit",        [KIND_MOMENT] = "",
		[KIND_OFF] = "measurement_off", [KIND_ON] = "measurement_on",
	};
	const char *event = kind == KIND_OFF || kind == KIND_ON ? "" : c->d->probes[probe].event ?: "unknown";
	struct buffer name = { 0 };

	buffer_put(&name, event, strlen(event));
	buffer_put(&name, ends[kind], strlen(ends[kind]) + 1);
	if (!name.failed)
		put_quoted(b, (char *)name.data);
	b->failed |= name.failed;
	buffer_free(&name);
}

static int tell(struct classes *c, const struct class *class, enum stream_class stream, enum event_kind kind,
		uint32_t probe, const struct event_field *fields)
{
	struct buffer *b = &c->text;

	put_metadata(b, "\nevent {\n\tname = ");
	put_name(c, b, kind, probe);
	put_metadata(b, ";\n\tid = %u;\n\tstream_id = %u;\n\tfields := struct {\n", class->number, stream);
	for (size_t i = 0; i < class->count; i++) {
		name_field(c->names, i, fields[i].name);
		put_field(b, class->kinds[i], c->names[i]);
	}
	put_metadata(b, "\t};\n};\n");
	return b->failed ? -ENOMEM : 0;
}

int classes_put(const struct classes *c, struct buffer *metadata)
{
	buffer_put(metadata, c->text.data, c->text.size);
	return metadata->failed ? -ENOMEM : 0;
}

/* --- which it is --------------------------------------------------------------------- */

static bool fits(const struct class *class, const struct event_field *fields, size_t count)
{
	if (class->count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (class->kinds[i] != fields[i].kind)
			return false;
	return true;
}

static void make_texts(struct event_field *fields, size_t count)
{
	for (size_t i = OWN_FIELDS; i < count; i++) {
		fields[i].text = field_text(&fields[i]);
		fields[i].kind = FIELD_TEXT;
	}
}

static int add(struct classes *c, struct class **list, const struct event_field *fields, size_t count,
	       struct class **added)
{
	struct class *class = calloc(1, sizeof(*class) + count);

	if (!class)
		return -ENOMEM;
	class->number = c->count++;
	class->count = count;
	for (size_t i = 0; i < count; i++)
		class->kinds[i] = fields[i].kind;
	class->next = *list;
	*list = *added = class;
	return 0;
}

/* NULL: there is none; *some: how many others. */
static struct class *look_for(struct class *list, const struct event_field *fields, size_t count, unsigned *some)
{
	*some = 0;
	for (; list; list = list->next, (*some)++)
		if (fits(list, fields, count))
			return list;
	return NULL;
}

int classes_find(struct classes *c, enum stream_class stream, enum event_kind kind, uint32_t probe,
		 struct event_field *fields, size_t count, uint32_t *number)
{
	struct class **list = &c->lists[(probe * STREAM_CLASSES + stream) * EVENT_KINDS + kind];
	unsigned some;
	struct class *class = look_for(*list, fields, count, &some);
	int error = 0;

	if (!class && some >= CLASSES_MOST) {
		make_texts(fields, count);
		class = look_for(*list, fields, count, &some);
	}
	if (!class)
		error = add(c, list, fields, count, &class) ?: tell(c, class, stream, kind, probe, fields);
	if (!error)
		*number = class->number;
	return error;
}
