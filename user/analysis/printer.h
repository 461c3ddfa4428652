/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printer.h - what the sections of the text report are printed with. Private to user/analysis.
 */
#ifndef GASPBPF_PRINTER_H
#define GASPBPF_PRINTER_H

#include "analysis/profile_data.h"
#include "analysis/report.h"
#include "util/format.h"
#include "util/paragraph.h"
#include "util/table.h"

#define BAR_COLUMNS 10
#define BAR_ROOM (3 * BAR_COLUMNS + 1) /* bytes */

struct printer {
	const struct report *r;
	const struct report_style *style;
	const char *title;    /* of the analysis whose turn it is */
	bool whole;           /* it was chosen: nothing but style->top limits its lines */
	bool warns;           /* its heading says if threads had no CPU, */
	bool warns_of_probes; /* or if the probes took much of their time */
	FILE *out;
	const char *bold, *plain; /* "" where there are no colours, */
	const char *bar_paint;    /* then NULL: the colour of bars */
	bool *said;               /* it has had its heading; NULL: nobody asks */
	int *error;               /* the first; what was printed is not whole then */
};

/* The title, and what is to be said beside it. */
void printer_heading(const struct printer *printer, const char *note);
/* Prints and frees it. */
void printer_table(const struct printer *printer, struct table *table);
/* "Title (note; legends of the columns that are shown)". note: without brackets; "" is none. */
void printer_heading_of(const struct printer *printer, const char *note, const struct table *table);
/* That, and the table. */
void printer_titled_table(const struct printer *printer, const char *note, struct table *table);
/* Of so many rows, those that are wanted. */
size_t printer_rows(const struct printer *printer, size_t count);
/* A line on those that are not shown. */
void printer_rest(const struct printer *printer, size_t shown, size_t count, const char *what);
/* Begins a paragraph with "-" or the like, or nothing, that goes on below its own beginning. */
struct paragraph printer_item(const struct printer *printer, const char *before);
/* A whole one. */
void printer_paragraph(const struct printer *printer, const char *before, const char *text);
/* A paragraph that is one line where the width is not limited. */
void printer_line(const struct printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, two columns further right, and four where it goes on. */
void printer_indented(const struct printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Are there pictures in the tables? */
bool printer_has_bars(const struct printer *printer);
/* So many percent as a bar. Into text[BAR_ROOM], which is returned. */
char *printer_bar(const struct printer *printer, char *text, double percent);

/* The terminal has no room for long tables. */
bool printer_is_narrow(const struct printer *printer);
/* Both into buffer[FORMAT_SIZE], which is returned. A time as it fits the width. */
char *printer_time(const struct printer *printer, char *buffer, uint64_t ns);
/* "12.5 MiB", with a + where some calls moved an unknown amount. */
char *printer_bytes(char *buffer, uint64_t bytes, uint64_t known, uint64_t unknown);

static inline double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

#endif
