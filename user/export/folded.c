/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded.c - stacks as lines of text, for FlameGraph, speedscope, inferno and awk.
 *
 *     FRAME;FRAME;...;FRAME NS
 *
 * A line for each stack: the process, the thread, and for each observed call, the outermost first, the place where it
 * was made and its event. The number is the time that it had in all, without that of calls inside: ns. What takes no
 * time has no line. Frames have no ';', no end of line and no byte that is no UTF-8; what gaspbpf --callers found out
 * about the callers further out stands before the place, where all looks found the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/call_tree.h"
#include "export/formats.h"
#include "recording/labels.h"
#include "util/array.h"
#include "util/buffer.h"
#include "util/digits.h"
#include "util/utf8.h"

#define BETWEEN " < "

struct folded {
	const struct definitions *d;
	struct call_tree *tree;
	struct output *out;
	struct buffer line;
};

/* One frame, of so many bytes. */
static void put_frame(struct buffer *line, const char *text, size_t size)
{
	const uint8_t *at = (const uint8_t *)text;

	if (line->size)
		buffer_put(line, ";", 1);
	while (size) {
		unsigned length = utf8_length(at, size);

		if (length > 1)
			buffer_put(line, at, length);
		else if (!length || *at < ' ' || *at == 0x7f)
			buffer_put(line, "?", 1);
		else
			buffer_put(line, *at == ';' ? "," : (const char *)at, 1);
		length = length ?: 1;
		at += length;
		size -= length;
	}
}

/* The outermost first, which stands last. */
static void put_callers(struct buffer *line, const char *places)
{
	size_t size = strlen(places);

	while (size) {
		size_t start = size;

		while (start && !(start >= strlen(BETWEEN) &&
				  !strncmp(places + start - strlen(BETWEEN), BETWEEN, strlen(BETWEEN))))
			start--;
		put_frame(line, places + start, size - start);
		size = start ? start - strlen(BETWEEN) : 0;
	}
}

/* The thread says how many of its calls are in no line. */
static void put_thread(struct folded *f, uint32_t thread)
{
	uint64_t missing = call_tree_missing(f->tree)[thread];
	struct who process = who_is_process(f->d, f->d->threads[thread].process), who = who_is_thread(f->d, thread);
	char label[LABEL_ROOM];

	label_of_process(&process, label, sizeof(label));
	put_frame(&f->line, label, strlen(label));
	who.rank = -1; /* the process has it */
	label_of_thread(&who, label, sizeof(label) - 64);
	if (missing)
		snprintf(label + strlen(label), 64, ", without %" PRIu64 " %s", missing,
			 missing == 1 ? "call" : "calls");
	put_frame(&f->line, label, strlen(label));
}

static void put_call(struct folded *f, const struct tree_call *call)
{
	const struct def_probe *probe = call_tree_probe(f->tree, call->event);
	const char *callers = call_tree_callers(f->tree, call);
	char label[LABEL_ROOM];

	if (callers)
		put_callers(&f->line, callers);
	if (call->site != NO_INDEX) {
		site_label(f->d, call->site, label, sizeof(label));
		put_frame(&f->line, label, strlen(label));
	}
	event_label(probe, probe->marks & MARK_INNER, label, sizeof(label));
	put_frame(&f->line, label, strlen(label));
}

/* Those around it, then itself. Calls are not nested deeper than the timeline has levels. */
static void put_stack(struct folded *f, const struct tree_call *calls, uint32_t index, uint32_t **path, size_t *room,
		      int *error)
{
	size_t depth = 0;

	for (uint32_t at = index; at != NO_INDEX && !*error; at = calls[at].parent) {
		*error = array_one_more(path, room, depth, sizeof(**path));
		if (!*error)
			(*path)[depth++] = at;
	}
	put_thread(f, calls[index].thread);
	while (depth && !*error)
		put_call(f, &calls[(*path)[--depth]]);
}

static int put_lines(struct folded *f)
{
	uint32_t count, *path = NULL, *order = call_tree_order(f->tree);
	const struct tree_call *calls = call_tree_calls(f->tree, &count);
	size_t room = 0;
	int error = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !error; i++) {
		uint64_t self = calls[order[i]].self;
		char number[DIGITS_ROOM];

		if (!self)
			continue;
		buffer_clear(&f->line);
		put_stack(f, calls, order[i], &path, &room, &error);
		buffer_put(&f->line, " ", 1);
		buffer_put(&f->line, number, digits_uint(number, self) - number);
		buffer_put(&f->line, "\n", 1);
		if (!error)
			error = f->line.failed ? -ENOMEM
					       : output_write(f->out, (const char *)f->line.data, f->line.size);
		output_progress(f->out, (size_t)count + i + 1, 2 * (size_t)count);
	}
	free(order);
	free(path);
	return error;
}

static int folded_write(struct recording *recording, int fd, int spare, const char *name)
{
	struct folded f = { .d = recording_definitions(recording) };
	int error = -ENOMEM, ended = 0;

	f.tree = call_tree_new(f.d);
	if (f.tree)
		f.out = output_open(fd, name);
	if (f.out) {
		error = call_tree_read(f.tree, recording, f.out);
		if (!error)
			error = put_lines(&f);
		ended = output_close(f.out);
	}
	call_tree_free(f.tree);
	buffer_free(&f.line);
	return error ? error : ended;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.suffixes = ".folded .folded.gz",
	.help = "stacks and times, for flame graphs",
	.write = folded_write,
};
