/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv.c - a table for other programs, as RFC 4180 has it, out of JSON.
 *
 * Each analysis says in JSON what it has found, with names and units of all that is in it. A table for a spreadsheet
 * has the same names and the same units, so it is made of that. The columns are known when all rows were seen: the text
 * is gone through twice.
 *
 * The JSON is our own writer's, so it is valid, and no deeper than JSON_DEPTH. What is not fails with -EINVAL.
 */
#include "util/csv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/buffer.h"
#include "util/log.h"

#define COLUMNS_MOST 512

struct columns {
	char **names;
	const char **cells; /* of the row at hand: where its value begins; NULL: it has none */
	size_t count, room;
	size_t at; /* behind the one that was looked for last: rows have their keys in one order */
};

/* --- JSON --------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* at: its first quote. Behind its last one. */
static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

/* Behind the value. */
static const char *skip_value(const char *at)
{
	unsigned depth = 0;

	do {
		at = skip_blanks(at);
		if (*at == '{' || *at == '[')
			depth++, at++;
		else if (*at == '}' || *at == ']')
			depth -= depth > 0, at++;
		else if (*at == '"')
			at = skip_string(at);
		else if (*at == ',' || *at == ':')
			at++;
		else
			at += strcspn(at, ",:]} \t\r\n");
	} while (*at && depth);
	return at;
}

/* The first element of the object or list, or NULL; at: its bracket. */
static const char *first(const char *at)
{
	at = skip_blanks(at + 1);
	return *at && *at != '}' && *at != ']' ? at : NULL;
}

/* The one behind this element, or NULL. */
static const char *next(const char *at)
{
	at = skip_blanks(at);
	return *at == ',' ? skip_blanks(at + 1) : NULL;
}

/* Of an element of an object: its value. */
static const char *value_of(const char *key)
{
	const char *at = skip_blanks(skip_string(key));

	return *at == ':' ? skip_blanks(at + 1) : at;
}

static bool is_scalar(const char *value)
{
	return *value != '{' && *value != '[';
}

/* A list of objects; of nothing, too. */
static bool is_table(const char *value)
{
	return *value == '[' && (!first(value) || *first(value) == '{');
}

/* --- text ------------------------------------------------------------------------ */

static unsigned hex(const char *at)
{
	char digits[5] = "";

	strncat(digits, at, 4);
	return strtoul(digits, NULL, 16);
}

/* A character of a JSON string that is no other one's part; *at goes behind it. */
static void put_character(struct buffer *to, const char **at)
{
	static const char names[] = "bfnrt", codes[] = "\b\f\n\r\t";
	const char *c = *at, *name;
	unsigned code = (unsigned char)*c;
	char text[8];

	*at += 1;
	if (*c == '\\' && c[1]) {
		*at += 1;
		name = strchr(names, c[1]);
		code = (unsigned char)c[1];
		if (name)
			code = (unsigned char)codes[name - names];
		if (c[1] == 'u') {
			code = hex(c + 2);
			*at += strnlen(c + 2, 4);
		}
	} else {
		buffer_put(to, c, 1);
		return;
	}
	if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		snprintf(text, sizeof(text), "\\x%02x", code);
		buffer_put(to, text, strlen(text));
	} else if (code < 0x80) {
		text[0] = (char)code;
		buffer_put(to, text, 1);
	} else { /* of two bytes: the writer makes no others */
		text[0] = (char)(0xc0 | (code >> 6 & 0x1f));
		text[1] = (char)(0x80 | (code & 0x3f));
		buffer_put(to, text, 2);
	}
}

static void put_scalar(struct buffer *to, const char *value)
{
	const char *end;

	if (*value != '"') {
		end = value + strcspn(value, ",:]} \t\r\n");
		if (strncmp(value, "null", 4))
			buffer_put(to, value, (size_t)(end - value));
		return;
	}
	end = skip_string(value) - 1;
	for (value++; value < end;)
		put_character(to, &value);
}

/* A field, in quotes where it needs them. */
static void print_field(const struct buffer *text, FILE *out)
{
	const char *data = (const char *)text->data;
	bool quoted = false;

	for (size_t i = 0; i < text->size; i++)
		quoted |= strchr(",\"\r\n", data[i]) != NULL;
	quoted |= text->size && (data[0] == ' ' || data[text->size - 1] == ' ');
	if (quoted)
		fputc('"', out);
	for (size_t i = 0; i < text->size; i++) {
		if (data[i] == '"')
			fputc('"', out);
		fputc(data[i], out);
	}
	if (quoted)
		fputc('"', out);
}

static void put_value(struct buffer *to, const char *value)
{
	if (is_scalar(value)) {
		put_scalar(to, value);
		return;
	}
	for (const char *at = first(value); at; at = next(skip_value(at))) {
		if (to->size)
			buffer_put(to, " ", 1);
		put_scalar(to, at);
	}
}

/* --- columns ---------------------------------------------------------------------- */

static bool is_list_of_scalars(const char *value)
{
	const char *at = first(value);

	return *value == '[' && at && is_scalar(at);
}

/* Its index, or that of a new one; NO_COLUMN: there is no memory, or no room. */
#define NO_COLUMN ((size_t)-1)
static size_t column_of(struct columns *c, const char *name, bool add)
{
	char *copy;

	for (size_t i = 0; i < c->count; i++) {
		size_t index = (c->at + i) % c->count;

		if (strcmp(c->names[index], name))
			continue;
		c->at = index + 1;
		return index;
	}
	if (!add || c->count == COLUMNS_MOST || array_one_more(&c->names, &c->room, c->count, sizeof(*c->names)))
		return NO_COLUMN;
	copy = strdup(name);
	if (!copy)
		return NO_COLUMN;
	c->names[c->count] = copy;
	return c->count++;
}

/* A null where others have an object, whose columns are there. */
static bool is_unknown_object(const struct columns *c, const char *name, const char *value)
{
	size_t length = strlen(name);

	if (strncmp(value, "null", 4))
		return false;
	for (size_t i = 0; i < c->count; i++)
		if (!strncmp(c->names[i], name, length) && c->names[i][length] == '.')
			return true;
	return false;
}

/* Goes over the keys of a row: learns the columns, or notes the cells. before: "outer." 0 or -ENOMEM. */
static int take_object(struct columns *c, const char *object, const char *before, bool learn)
{
	int error = 0;

	for (const char *key = first(object); key && !error; key = next(skip_value(value_of(key)))) {
		const char *value = value_of(key);
		struct buffer name = { 0 };
		size_t column;

		buffer_put(&name, before, strlen(before));
		put_scalar(&name, key);
		buffer_put(&name, *value == '{' ? "." : "", 1 + (*value == '{'));
		error = name.failed ? -ENOMEM : 0;
		if (!error && *value == '{') {
			error = take_object(c, value, (char *)name.data, learn);
		} else if (!error && (is_scalar(value) || is_list_of_scalars(value)) &&
			   !is_unknown_object(c, (char *)name.data, value)) {
			column = column_of(c, (char *)name.data, learn);
			if (column == NO_COLUMN)
				error = learn && c->count < COLUMNS_MOST ? -ENOMEM : 0;
			else if (!learn)
				c->cells[column] = value;
		}
		buffer_free(&name);
	}
	return error;
}

static int print_row(const struct columns *c, FILE *out, bool titles)
{
	struct buffer text = { 0 };
	bool failed;

	for (size_t i = 0; i < c->count; i++) {
		buffer_clear(&text);
		if (titles)
			buffer_put(&text, c->names[i], strlen(c->names[i]));
		else if (c->cells[i])
			put_value(&text, c->cells[i]);
		if (i)
			fputc(',', out);
		print_field(&text, out);
	}
	fputs("\r\n", out);
	failed = text.failed;
	buffer_free(&text);
	return failed ? -ENOMEM : 0;
}

/* The object, or all of a list. */
static int take_all(struct columns *c, const char *value, FILE *out)
{
	const char *row = *value == '[' ? first(value) : value;
	bool learn = !out;
	int error = 0;

	for (; row && !error; row = *value == '[' ? next(skip_value(row)) : NULL) {
		if (!learn)
			memset(c->cells, 0, c->count * sizeof(*c->cells));
		error = take_object(c, row, "", learn);
		if (!error && !learn)
			error = print_row(c, out, false);
	}
	return error;
}

/* Those of "a,b,...". 0 or -ENOMEM. */
static int add_columns(struct columns *c, const char *list)
{
	char *names = strdup(list), *rest = NULL;
	int error = names ? 0 : -ENOMEM;

	for (char *name = names ? strtok_r(names, ",", &rest) : NULL; name && !error; name = strtok_r(NULL, ",", &rest))
		if (column_of(c, name, true) == NO_COLUMN)
			error = -ENOMEM;
	free(names);
	return error;
}

static int print_table(const char *value, const char *columns, FILE *out)
{
	struct columns c = { 0 };
	int error = add_columns(&c, columns) ?: take_all(&c, value, NULL);

	c.cells = calloc(c.count + 1, sizeof(*c.cells));
	if (!c.cells)
		error = -ENOMEM;
	if (!error && c.count)
		error = print_row(&c, out, true);
	if (!error && c.count)
		error = take_all(&c, value, out);
	if (!error && !c.count)
		log_warn("--csv: the table has no rows: nothing is printed");
	for (size_t i = 0; i < c.count; i++)
		free(c.names[i]);
	free(c.names);
	free(c.cells);
	return error;
}

/* --- which ------------------------------------------------------------------------- */

struct tables {
	const char *wanted; /* a path; NULL: the only one */
	const char *found;
	unsigned count;      /* of all; of those that are wanted */
	struct buffer names; /* "pairs, small" */
};

static int find_tables(struct tables *t, const char *object, const char *before)
{
	int error = 0;

	for (const char *key = first(object); key && !error; key = next(skip_value(value_of(key)))) {
		const char *value = value_of(key);
		struct buffer path = { 0 };

		buffer_put(&path, before, strlen(before));
		put_scalar(&path, key);
		buffer_put(&path, *value == '{' ? "." : "", 1 + (*value == '{'));
		error = path.failed ? -ENOMEM : 0;
		if (!error && *value == '{') {
			error = find_tables(t, value, (char *)path.data);
		} else if (!error && is_table(value)) {
			buffer_put(&t->names, ", ", t->names.size ? 2 : 0);
			buffer_put(&t->names, path.data, strlen((char *)path.data));
			if (!t->wanted || !strcmp(t->wanted, (char *)path.data)) {
				t->count++;
				t->found = value;
			}
		}
		buffer_free(&path);
	}
	return error;
}

static int refuse(struct tables *t, const char *name)
{
	buffer_put(&t->names, "", 1);
	if (t->names.failed)
		return -ENOMEM;
	if (t->wanted)
		log_error("--csv: the section %s has no table %s%s%s", name, log_safe(t->wanted),
			  *t->names.data ? ": it has " : "", (char *)t->names.data);
	else
		log_error("--csv: the section %s has several tables: take one, as --section %s.TABLE: %s", name, name,
			  (char *)t->names.data);
	return -EINVAL;
}

/* Of the table that was found at this path of keys; NULL: the value itself is one. 0 or -errno. */
static int print_found(const char *value, const char *name, const char *path, csv_columns_of *columns, FILE *out)
{
	char *full = NULL;
	int error;

	if (asprintf(&full, "%s%s%s", name, path ? "." : "", path ?: "") < 0)
		return -ENOMEM;
	error = print_table(value, columns ? columns(full) : "", out);
	free(full);
	return error;
}

int csv_print(const char *json, const char *name, const char *table, csv_columns_of *columns, FILE *out)
{
	struct tables t = { .wanted = table };
	const char *value = skip_blanks(json);
	int error;

	if (*value == '[' && !table)
		return print_found(value, name, NULL, columns, out);
	error = *value == '{' ? find_tables(&t, value, "") : 0;
	if (!error && t.count == 1 && !table) {
		buffer_put(&t.names, "", 1); /* there is one name */
		error = t.names.failed ? -ENOMEM : print_found(t.found, name, (char *)t.names.data, columns, out);
	} else if (!error && t.count == 1) {
		error = print_found(t.found, name, table, columns, out);
	} else if (!error && !t.names.size && !table && *value == '{') {
		error = print_found(value, name, NULL, columns, out);
	} else if (!error) {
		error = refuse(&t, name);
	}
	buffer_free(&t.names);
	return error;
}
