/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printer.c - what the sections of the text report are printed with.
 */
#include "analysis/printer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/probe_cost.h"
#include "analysis/scheduling.h"

#define WIDE 100       /* columns from which on times have four digits */
#define TEXT_WIDTH 100 /* of a paragraph where the width is not limited */

/* "1.23 ms": at most seven characters below 11 days. */
static char *short_time(char *buffer, uint64_t ns)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {
		{ 1e3, "us" },
		{ 1e6, "ms" },
		{ 1e9, "s" },
	};
	size_t i = 0;

	if (ns < 1000) {
		snprintf(buffer, FORMAT_SIZE, "%u ns", (unsigned)ns);
		return buffer;
	}
	while (i < 2 && ns / units[i].unit >= 999.5)
		i++;
	double value = ns / units[i].unit;

	snprintf(buffer, FORMAT_SIZE, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i].name);
	return buffer;
}

bool printer_has_bars(const struct printer *p)
{
	return p->style->bars != BARS_NONE;
}

char *printer_bar(const struct printer *p, char *text, double percent)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	static const char full[] = "█";
	double share = percent < 0 ? 0 : percent > 100 ? 1 : percent / 100;
	unsigned part = (unsigned)(share * 8 * BAR_COLUMNS + 0.5);
	size_t length = 0;

	if (p->style->bars == BARS_ASCII) {
		length = (part + 4) / 8;
		memset(text, '#', length);
		text[length] = '\0';
		return text;
	}
	for (; part >= 8; part -= 8, length += sizeof(full) - 1)
		memcpy(text + length, full, sizeof(full) - 1);
	strcpy(text + length, eighths[part]);
	return text;
}

bool printer_is_narrow(const struct printer *p)
{
	return p->style->width && p->style->width < WIDE;
}

char *printer_time(const struct printer *p, char *buffer, uint64_t ns)
{
	if (printer_is_narrow(p))
		return short_time(buffer, ns);
	return format_time(buffer, ns);
}

char *printer_bytes(char *buffer, uint64_t bytes, uint64_t known, uint64_t unknown)
{
	if (!known) {
		snprintf(buffer, FORMAT_SIZE, "%s", unknown ? "unknown" : "-");
		return buffer;
	}
	format_bytes(buffer, bytes);
	if (unknown)
		strncat(buffer, "+", FORMAT_SIZE - strlen(buffer) - 1);
	return buffer;
}

size_t printer_rows(const struct printer *p, size_t count)
{
	return p->style->top && p->style->top < count ? p->style->top : count;
}

void printer_rest(const struct printer *p, size_t shown, size_t count, const char *what)
{
	if (count > shown)
		fprintf(p->out, "... and %zu more %s\n", count - shown, what);
}

static void print_warning(const struct printer *p, int (*warning)(const struct report *r, char *text, size_t room))
{
	char text[LABEL_ROOM + 300];
	int error = warning(p->r, text, sizeof(text));

	*p->error = *p->error ?: error;
	if (*text)
		printer_paragraph(p, "", text);
}

void printer_heading(const struct printer *p, const char *note)
{
	struct paragraph paragraph = { .out = p->out,
				       .width = p->style->width ? p->style->width : TEXT_WIDTH,
				       .at = strlen(p->title) + 1 };

	if (p->said)
		*p->said = true;
	fprintf(p->out, "\n%s%s%s%s", p->bold, p->title, p->plain, *note ? " " : "");
	paragraph_words(&paragraph, "%s", note);
	paragraph_end(&paragraph);
	if (p->warns)
		print_warning(p, scheduling_warning);
	if (p->warns_of_probes)
		print_warning(p, probe_cost_warning);
}

void printer_table(const struct printer *p, struct table *t)
{
	int error = table_print(t, p->out, p->style->width);

	if (!*p->error)
		*p->error = error;
	table_free(t);
}

void printer_heading_of(const struct printer *p, const char *note, const struct table *t)
{
	char legends[1000], text[1500] = "";

	table_legends(t, p->style->width, legends, sizeof(legends));
	if (*note || *legends)
		snprintf(text, sizeof(text), "  (%s%s%s)", note, *note && *legends ? "; " : "", legends);
	printer_heading(p, text);
}

void printer_titled_table(const struct printer *p, const char *note, struct table *t)
{
	printer_heading_of(p, note, t);
	printer_table(p, t);
}

struct paragraph printer_item(const struct printer *p, const char *before)
{
	struct paragraph paragraph = { .out = p->out,
				       .width = p->style->width ? p->style->width : TEXT_WIDTH,
				       .further = *before ? strlen(before) + 1 : 0 };

	if (*before)
		paragraph_piece(&paragraph, before, "");
	return paragraph;
}

void printer_paragraph(const struct printer *p, const char *before, const char *text)
{
	struct paragraph paragraph = printer_item(p, before);

	paragraph_words(&paragraph, "%s", text);
	paragraph_end(&paragraph);
}

static void print_line(const struct printer *p, unsigned indent, const char *format, va_list arguments)
{
	struct paragraph paragraph = {
		.out = p->out, .width = p->style->width, .indent = indent, .further = 2 * indent
	};
	char *text;

	if (vasprintf(&text, format, arguments) < 0) {
		*p->error = *p->error ?: -ENOMEM;
		return;
	}
	if (p->style->width) {
		paragraph_words(&paragraph, "%s", text);
		paragraph_end(&paragraph);
	} else {
		fprintf(p->out, "%*s%s\n", (int)indent, "", text);
	}
	free(text);
}

void printer_line(const struct printer *p, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line(p, 0, format, arguments);
	va_end(arguments);
}

void printer_indented(const struct printer *p, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line(p, 2, format, arguments);
	va_end(arguments);
}
