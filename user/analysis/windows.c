/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c - what the report says of times in which calls of a process were not seen: its probes were not in yet.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <string.h>

#include "util/files.h"
#include "util/json.h"
#include "util/log.h"

#define LINES_MOST 20

static void print_window(const struct printer *p, const struct def_window *w)
{
	uint64_t start = p->r->d->run.start;
	char at[FORMAT_SIZE], length[FORMAT_SIZE], label[LABEL_ROOM];

	fprintf(p->out, "  %s: %s, for %s", process_label(p->r->d, w->process, label, sizeof(label)),
		w->models ? log_safe(w->models) : "whatever it called", format_time(length, w->to - w->from));
	if (w->from >= start)
		fprintf(p->out, " from %s on", format_time(at, w->from - start));
	if (w->after)
		fprintf(p->out, ", after %s", log_safe(w->after));
	if (w->file)
		fprintf(p->out, " (%s)", log_safe(path_base(w->file)));
	if (w->after && !strcmp(w->after, WINDOW_FIRST_THREAD))
		fputs(", if another observer of the same functions left then", p->out);
	fputc('\n', p->out);
}

static void print_windows(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;
	size_t count = 0;

	for (size_t i = 0; i < d->nwindows; i++) {
		if (d->windows[i].runtime) /* withdrawn.c has those */
			continue;
		if (!count)
			printer_heading(p, "  (calls made then, while probes were not in, are in no figure)");
		if (count++ < LINES_MOST)
			print_window(p, &d->windows[i]);
	}
	if (count > LINES_MOST)
		fprintf(p->out, "  and %zu more: --json has all\n", count - LINES_MOST);
}

static void put_windows(void *state, const struct report *r, struct json *j)
{
	const struct definitions *d = r->d;

	json_array(j);
	for (size_t i = 0; i < d->nwindows; i++) {
		const struct def_window *w = &d->windows[i];

		if (w->runtime)
			continue;
		json_object(j);
		json_key_uint(j, "pid", d->processes[w->process].pid);
		if (d->processes[w->process].rank >= 0)
			json_key_int(j, "rank", d->processes[w->process].rank);
		json_key_uint(j, "from_ns", w->from);
		json_key_uint(j, "to_ns", w->to);
		json_key_string(j, "models", w->models);
		json_key_string(j, "file", w->file);
		json_key_string(j, "after", w->after);
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_windows = {
	.name = "blind_windows",
	.title = "Not seen yet",
	.print = print_windows,
	.json = put_windows,
};
