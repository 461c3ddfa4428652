/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - a table of text that fits a terminal.
 */
#include "util/table.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/utf8.h"

#define LEAST_CELL 20 /* columns left of a cell that shrinks */
#define TWO_HALVES 40 /* columns in which two places have room side by side */
#define TINY_CELL 8   /* the same where even that is too wide */

void table_column(struct table *t, const struct column *column)
{
	if (t->ncolumns < TABLE_COLUMNS)
		t->columns[t->ncolumns++] = *column;
}

void table_cell(struct table *t, const char *format, ...)
{
	va_list arguments;

	if (t->failed)
		return;
	if (array_one_more(&t->cells, &t->room, t->ncells, sizeof(*t->cells))) {
		t->failed = true;
		return;
	}
	va_start(arguments, format);
	if (vasprintf(&t->cells[t->ncells], format, arguments) < 0)
		t->failed = true;
	else
		t->ncells++;
	va_end(arguments);
}

/* Where the character that stands `count` characters further begins. */
static const char *skip(const char *text, size_t count)
{
	for (; *text && count; count--) {
		do
			text++;
		while ((*text & 0xc0) == 0x80);
	}
	return text;
}

static void measure(const struct table *t, size_t *widths)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		widths[i] = utf8_columns(t->columns[i].title);
	for (size_t i = 0; i < t->ncells; i++) {
		size_t width = utf8_columns(t->cells[i]), *most = &widths[i % t->ncolumns];

		if (width > *most)
			*most = width;
	}
}

static size_t total_width(const struct table *t, const size_t *widths, const bool *shown)
{
	size_t sum = 0;

	for (size_t i = 0; i < t->ncolumns; i++)
		sum += shown[i] ? widths[i] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* Leaves out the column that can best be spared. False: all that is left is needed. */
static bool drop_one(const struct table *t, bool *shown)
{
	size_t worst = t->ncolumns;

	for (size_t i = 0; i < t->ncolumns; i++) {
		if (shown[i] && t->columns[i].drop &&
		    (worst == t->ncolumns || t->columns[i].drop > t->columns[worst].drop))
			worst = i;
	}
	if (worst == t->ncolumns)
		return false;
	shown[worst] = false;
	return true;
}

/* The widest of those that may shrink, always, until all fits or none is wider than `least`. */
static void squeeze(const struct table *t, size_t *widths, const bool *shown, size_t width, size_t least)
{
	size_t widest;

	do {
		widest = t->ncolumns;
		for (size_t i = 0; i < t->ncolumns && total_width(t, widths, shown) > width; i++)
			if (shown[i] && t->columns[i].shrinks && widths[i] > least &&
			    (widest == t->ncolumns || widths[i] > widths[widest]))
				widest = i;
		if (widest < t->ncolumns)
			widths[widest]--;
	} while (widest < t->ncolumns);
}

static void fit(const struct table *t, size_t *widths, bool *shown, size_t width)
{
	size_t full[TABLE_COLUMNS];

	memcpy(full, widths, sizeof(full));
	do {
		memcpy(widths, full, sizeof(full));
		if (width)
			squeeze(t, widths, shown, width, LEAST_CELL);
	} while (width && total_width(t, widths, shown) > width && drop_one(t, shown));
	if (width)
		squeeze(t, widths, shown, width, TINY_CELL);
}

static void print_spaces(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

/* How many bytes of what counts most end here, as those of ":12", "+0x74a9df", "97%"; 0: none. */
static size_t mark_at(const char *text)
{
	size_t digits = strspn(text + 1, "0123456789");

	if (*text == ':' && digits)
		return 1 + digits;
	if (!strncmp(text, "+0x", 3) && isxdigit((unsigned char)text[3]))
		return 3 + strspn(text + 3, "0123456789abcdefABCDEF");
	return isdigit((unsigned char)*text) && text[1 + digits] == '%' ? 2 + digits : 0;
}

/* Columns up to the end of the first of these; 0: there is none. */
static size_t columns_to_mark(const char *text)
{
	for (size_t columns = 0; *text; text = skip(text, 1), columns++)
		if (mark_at(text))
			return columns + mark_at(text);
	return 0;
}

/* So many columns of the text, the middle left out. */
static void print_ends(FILE *out, const char *text, size_t length, size_t room)
{
	const char *tail = skip(text, length - (room - room / 2));

	fprintf(out, "%.*s..%.*s", (int)(skip(text, room / 2) - text), text, (int)(skip(tail, room - room / 2) - tail),
		tail);
}

/* The same, if there is not room for all of it. */
static void print_part(FILE *out, const char *text, size_t length, size_t room)
{
	if (length <= room)
		fprintf(out, "%.*s", (int)(skip(text, length) - text), text);
	else
		print_ends(out, text, length, room - 2);
}

/* The columns up to here, and that something is behind them. How many columns that makes. */
static size_t print_up_to(FILE *out, const char *text, size_t end, size_t width)
{
	print_part(out, text, end, width);
	if (end >= width)
		return width;
	fprintf(out, "%.*s", (int)(width - end), "..");
	return end + 2 < width ? end + 2 : width;
}

/* Of a text with addresses, as "after main+0x12, before libc.so+0x3f0": of its two halves the middle is left out; where
 * there is no room for both, of the first, up to the address. How many columns that makes. */
static size_t print_addresses(FILE *out, const char *text, size_t length, size_t width)
{
	const char *half = strstr(text, ", ");
	size_t first = half ? length - utf8_columns(half) : length, mark = columns_to_mark(text);
	size_t room = (width - 2) / 2;

	if (!half || width < TWO_HALVES)
		return print_up_to(out, text, mark ? mark : length, width);
	if (first < room)
		room = first;
	else if (length - first - 2 < width - 2 - room)
		room = width - (length - first);
	print_part(out, text, first, room);
	fputs(", ", out);
	print_part(out, half + 2, length - first - 2, width - 2 - room);
	return width;
}

/* The middle is left out; if a line's number or a share would go, what is behind it goes, else what is before. How many
 * columns that makes: no more than the width. */
static size_t print_shortened(FILE *out, const char *text, size_t length, size_t width)
{
	size_t room = width - 2, mark = columns_to_mark(text);
	const char *from = skip(text, mark > room ? mark - room : 0);

	if (strstr(text, "+0x"))
		return print_addresses(out, text, length, width);
	if (mark > room)
		fprintf(out, "..%.*s", (int)(skip(from, room) - from), from);
	else if (mark > room / 2)
		fprintf(out, "%.*s..", (int)(skip(text, room) - text), text);
	else
		print_ends(out, text, length, room);
	return width;
}

#define PLAIN "\033[0m"

/* painted: as its column says. */
static void print_cell(FILE *out, const struct column *column, const char *text, size_t width, bool last, bool painted)
{
	size_t length = utf8_columns(text);

	painted &= column->paint != NULL && *text;
	if (painted)
		fputs(column->paint, out);

	if (length > width) {
		length = print_shortened(out, text, length, width);
	} else if (column->left) {
		fputs(text, out);
	} else {
		print_spaces(out, width - length);
		fputs(text, out);
		length = width;
	}
	if (painted)
		fputs(PLAIN, out);
	if (!last)
		print_spaces(out, width - length + 1);
}

/* One line: the titles, or a row of cells. */
static void print_line(const struct table *t, FILE *out, char **cells, const size_t *widths, const bool *shown,
		       size_t last)
{
	for (size_t i = 0; i <= last; i++) {
		if (shown[i])
			print_cell(out, &t->columns[i], cells ? cells[i] : t->columns[i].title, widths[i], i == last,
				   cells);
	}
	fputc('\n', out);
}

static bool says(const char *text, const char *legend)
{
	size_t length = strlen(legend);

	for (const char *at = text; (at = strstr(at, legend)); at++)
		if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ';'))
			return true;
	return false;
}

char *table_legends(const struct table *t, unsigned width, char *text, size_t room)
{
	size_t widths[TABLE_COLUMNS] = { 0 }, at = 0;
	bool shown[TABLE_COLUMNS];

	*text = '\0';
	memset(shown, true, sizeof(shown));
	measure(t, widths);
	fit(t, widths, shown, width);
	for (size_t i = 0; i < t->ncolumns && at < room; i++)
		if (shown[i] && t->columns[i].legend && !says(text, t->columns[i].legend))
			at += snprintf(text + at, room - at, "%s%s", at ? "; " : "", t->columns[i].legend);
	return text;
}

int table_print(const struct table *t, FILE *out, unsigned width)
{
	size_t widths[TABLE_COLUMNS] = { 0 }, last = 0;
	bool shown[TABLE_COLUMNS];

	if (!t->ncolumns)
		return 0;
	memset(shown, true, sizeof(shown));
	measure(t, widths);
	fit(t, widths, shown, width);
	for (size_t i = 0; i < t->ncolumns; i++) {
		if (shown[i])
			last = i;
	}
	print_line(t, out, NULL, widths, shown, last);
	for (size_t i = 0; i + t->ncolumns <= t->ncells; i += t->ncolumns)
		print_line(t, out, t->cells + i, widths, shown, last);
	return t->failed ? -ENOMEM : 0;
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		free(t->cells[i]);
	free(t->cells);
	memset(t, 0, sizeof(*t));
}
