/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printer.h - what the files that print the profile as a text share. Private to user/analysis.
 */
#ifndef GASPBPF_PRINTER_H
#define GASPBPF_PRINTER_H

#include "analysis/profile_data.h"
#include "util/format.h"
#include "util/table.h"

struct printer {
	const struct report *r;
	const struct profile_style *style;
	FILE *out;
	const char *bold, *plain;
	int *error; /* the first; what was printed is not whole then */
};

/* A time as it fits the width. Into buffer[FORMAT_SIZE], which is returned. */
char *printer_time(const struct printer *printer, char *buffer, uint64_t ns);
/* Of so many rows, those that are wanted. */
size_t printer_rows(const struct printer *printer, size_t count);
void printer_heading(const struct printer *printer, const char *text, const char *note);
/* Prints and frees it. */
void printer_table(const struct printer *printer, struct table *table);

/* print_loss.c: what is not on the timeline, by event; and the last lines, on all that was not seen. */
void print_missing(const struct printer *printer);
void print_loss(const struct printer *printer);

/* not_observable.c: events that could not be seen. */
void print_not_observable(const struct printer *printer);

/* windows.c: when which process was not seen yet. */
void print_windows(const struct printer *printer);

/* controls.c: how long measurement of which process was off. */
void print_controls(const struct printer *printer);

/* left_out.c: which processes are no part of the job, and why. */
void print_left_out(const struct printer *printer);

/* steps.c: what was done to keep the cost low, and when. */
void print_steps(const struct printer *printer);

/* print_histogram.c: how long the calls of each event took. */
void print_histogram(const struct printer *printer);

#endif
