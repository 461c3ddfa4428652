/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c - GASP events as lines of text, for grep, awk and diff.
 *
 *     TIME PROCESS THREAD TYPE EVENT [NAME=VALUE...] [end=REASON] [@ WHERE]
 *
 * TIME is seconds since the run began. PROCESS is the rank ("rank:3") or the pid ("pid:1234"), THREAD is "name:tid".
 * Where measurement was switched off or on there is CONTROL. Where calls were lost there is LOST N, with until=TIME
 * where a call is known after them. START and END have the arguments that the event's table gives each of them, and
 * after these the other values that are known: at END those of the return, too. The lines of one thread are in order of
 * time; threads come in turns. No field but the last has a blank in it: blanks and other bytes that do not print stand
 * as \xNN.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/call_line.h"
#include "export/formats.h"
#include "export/output.h"
#include "util/buffer.h"
#include "util/log.h"

#define LINES_SIZE 65536

struct events {
	const struct definitions *d;
	struct output *out;
	struct site_texts sites;
	struct call_line line;
	char **labels;       /* by thread: "rank:3 worker:12" */
	struct buffer lines; /* not yet written */
};

static void put_text(struct buffer *b, const char *text)
{
	buffer_put(b, text, strlen(text));
}

/* Made once a thread. NULL: out of memory. */
static const char *label_of(struct events *e, uint32_t thread)
{
	const struct def_thread *t = &e->d->threads[thread];
	const struct def_process *p = thread_process(e->d, thread);
	struct buffer label = { 0 };
	char number[32];

	if (e->labels[thread])
		return e->labels[thread];
	call_line_escape(&label, p && p->rank >= 0 ? (p->unit ? p->unit : "rank") : "pid");
	snprintf(number, sizeof(number), ":%ld ", p && p->rank >= 0 ? p->rank : p ? (long)p->pid : 0);
	put_text(&label, number);
	call_line_escape(&label, t->name ? t->name : "?");
	snprintf(number, sizeof(number), ":%u", t->tid);
	put_text(&label, number);
	buffer_put(&label, "", 1);
	if (label.failed) {
		buffer_free(&label);
		return NULL;
	}
	e->labels[thread] = (char *)label.data;
	return e->labels[thread];
}

static int flush_lines(struct events *e)
{
	int error = e->lines.failed ? -ENOMEM : output_write(e->out, (const char *)e->lines.data, e->lines.size);

	buffer_clear(&e->lines);
	return error;
}

static void put_seconds(struct events *e, uint64_t time)
{
	uint64_t ns = since_start(e->d, time);
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	put_text(&e->lines, text);
}

static void put_time(struct events *e, uint64_t time)
{
	put_seconds(e, time);
	put_text(&e->lines, " ");
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	static const char *const types[] = {
		[EVENT_START] = "START ", [EVENT_END] = "END ", [EVENT_ATOMIC] = "ATOMIC "
	};
	struct events *e = context;
	const struct span *span = event->span;
	const struct def_probe *probe = &d->probes[span->probe];
	const char *label = label_of(e, span->thread), *site = site_text(&e->sites, span->site);
	const char *end = event->type == EVENT_START ? NULL : call_end(span);

	if (!label || (!site && span->site < d->nsites))
		return -ENOMEM;
	put_time(e, event->time);
	put_text(&e->lines, label);
	put_text(&e->lines, " ");
	put_text(&e->lines, types[event->type]);
	call_line_escape(&e->lines, probe->event ? probe->event : "?");
	call_line_put(&e->line, &e->lines, event);
	if (end && event->type == EVENT_END) {
		put_text(&e->lines, " end=");
		put_text(&e->lines, end);
	}
	if (site) {
		put_text(&e->lines, " @ ");
		call_line_escape(&e->lines, site);
	}
	put_text(&e->lines, "\n");
	return e->lines.size < LINES_SIZE ? 0 : flush_lines(e);
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct events *e = context;
	const char *label = label_of(e, gap->thread);
	char text[64];

	if (!label)
		return -ENOMEM;
	put_time(e, gap->after);
	put_text(&e->lines, label);
	snprintf(text, sizeof(text), " LOST %" PRIu64, gap->count);
	put_text(&e->lines, text);
	if (gap->before) { /* else up to the end */
		put_text(&e->lines, " until=");
		put_seconds(e, gap->before);
	}
	put_text(&e->lines, "\n");
	return 0;
}

static int put_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	struct events *e = context;
	const char *label = label_of(e, thread);

	if (!label)
		return -ENOMEM;
	put_time(e, control->time);
	put_text(&e->lines, label);
	put_text(&e->lines, control->value ? " CONTROL on by=" : " CONTROL off by=");
	call_line_escape(&e->lines, control->who ? control->who : "?");
	put_text(&e->lines, "\n");
	return e->lines.size < LINES_SIZE ? 0 : flush_lines(e);
}

static int put_step(struct events *e, const struct def_step *step)
{
	const struct def_probe *probe = &e->d->probes[step->probe];
	char text[40];

	put_time(e, step->time);
	put_text(&e->lines, "all LEVEL ");
	call_line_escape(&e->lines, probe->event ? probe->event : "?");
	put_text(&e->lines, " ");
	call_line_escape(&e->lines, probe->symbol ? probe->symbol : "?");
	put_text(&e->lines, ": ");
	put_text(&e->lines, step_text(step, text, sizeof(text)));
	put_text(&e->lines, "\n");
	return e->lines.size < LINES_SIZE ? 0 : flush_lines(e);
}

/* What was done to keep the cost low: for all threads, so these lines come first. */
static int put_steps(struct events *e)
{
	int error = 0;

	for (size_t i = 0; i < e->d->nsteps && !error; i++)
		error = put_step(e, &e->d->steps[i]);
	return error;
}

static void put_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct events *)context)->out, done, all);
}

static int events_write(struct recording *recording, int fd, int spare, const char *name)
{
	const struct definitions *d = recording_definitions(recording);
	struct events e = { .d = d };
	struct timeline_ops ops = {
		.event = put_event, .gap = put_gap, .control = put_control, .progress = put_progress, .context = &e
	};
	int error = -ENOMEM, ended = 0;

	e.labels = calloc(d->nthreads + 1, sizeof(*e.labels));
	if (call_line_open(&e.line, d) && site_texts_open(&e.sites, d) && e.labels)
		e.out = output_open(fd, name);
	if (e.out) {
		error = put_steps(&e);
		if (!error)
			error = timeline_read(recording, &ops);
		if (!error)
			error = flush_lines(&e);
		ended = output_close(e.out);
	}
	for (size_t i = 0; e.labels && i < d->nthreads; i++)
		free(e.labels[i]);
	free(e.labels);
	call_line_close(&e.line);
	site_texts_close(&e.sites);
	buffer_free(&e.lines);
	return error ? error : ended;
}

const struct exporter exporter_events = {
	.name = "events",
	.suffixes = ".events",
	.help = "GASP events as lines of text",
	.write = events_write,
};
