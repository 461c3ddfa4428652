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
#include "export/formats.h"
#include "export/output.h"
#include "recording/communicators.h"
#include "timeline/arguments.h"
#include "util/buffer.h"
#include "util/log.h"

#define LINES_SIZE 65536

struct events {
	const struct definitions *d;
	struct output *out;
	struct site_texts sites;
	struct comm_index *comms;
	struct texts *texts;
	char **labels;       /* by thread: "rank:3 worker:12" */
	struct buffer lines; /* not yet written */
};

static void put_text(struct buffer *b, const char *text)
{
	buffer_put(b, text, strlen(text));
}

/* Text that a target may have made up. */
static void put_escaped(struct buffer *b, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		char hex[8];

		if (*at > ' ' && *at < 0x7f && *at != '\\') {
			buffer_put(b, at, 1);
			continue;
		}
		snprintf(hex, sizeof(hex), "\\x%02x", *at);
		put_text(b, hex);
	}
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
	put_escaped(&label, p && p->rank >= 0 ? (p->unit ? p->unit : "rank") : "pid");
	snprintf(number, sizeof(number), ":%ld ", p && p->rank >= 0 ? p->rank : p ? (long)p->pid : 0);
	put_text(&label, number);
	put_escaped(&label, t->name ? t->name : "?");
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

/* The event's own arguments, in their order. */
static void put_arguments(struct buffer *b, const struct definitions *d, const struct event *event)
{
	struct argument arguments[ARGUMENTS_AT_MOST];
	size_t count = event_arguments(d, event, arguments, ARGUMENTS_AT_MOST);

	for (size_t i = 0; i < count && i < ARGUMENTS_AT_MOST; i++) {
		char text[VALUE_TEXT];

		put_text(b, " ");
		put_escaped(b, arguments[i].name);
		put_text(b, "=");
		put_escaped(b, argument_text(&arguments[i], text, sizeof(text)));
	}
}

/* What else is known of the call; with an event without a list, all that is. */
static void put_values(struct events *e, const struct span *span, const struct def_probe *probe, bool at_end)
{
	uint32_t process = e->d->threads[span->thread].process;
	struct buffer *b = &e->lines;

	for (uint32_t i = 0; i < probe->nvalues; i++) {
		struct shown_value shown;
		const char *name;

		if (!value_is_shown(&probe->values[i]) || (probe->values[i].at_return && !at_end) ||
		    (probe->lists && value_is_argument(probe, i)))
			continue;
		call_value(span, &probe->values[i], &shown);
		put_text(b, " ");
		put_escaped(b, probe->values[i].name);
		put_text(b, "=");
		name = probe->values[i].meaning == MEANING_NAME && probe->values[i].form != FORM_TEXT &&
				       shown.kind != VALUE_UNKNOWN
			       ? texts_find(e->texts, process, (uint64_t)shown.number, span->start)
			       : NULL;
		put_escaped(b, name ?: shown_text(&shown));
	}
}

static const char *last_name(const struct value *v)
{
	const char *dot = v->name ? strrchr(v->name, '.') : NULL;

	return dot ? dot + 1 : v->name ?: "?";
}

/* Is there a value of the same parameter further on, that says more? That of a status does. */
static bool is_outdone(const struct span *span, const struct def_probe *probe, uint32_t value)
{
	struct shown_value shown;

	for (uint32_t i = value + 1; i < probe->nvalues; i++) {
		if (probe->values[i].meaning != probe->values[value].meaning ||
		    strcmp(last_name(&probe->values[i]), last_name(&probe->values[value])))
			continue;
		call_value(span, &probe->values[i], &shown);
		if (shown.kind == VALUE_SIGNED)
			return true;
	}
	return false;
}

/* The ranks in the whole job of those that the call names by their ranks in a communicator which is another one:
 * dest.world=7 */
static void put_world_ranks(struct events *e, const struct span *span, const struct def_probe *probe, bool at_end)
{
	const struct def_comm *comm = comm_of_span(e->comms, span);

	if (!comm || (comm->nruns == 1 && comm->runs[0].first == 0 && comm->runs[0].stride == 1))
		return;
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];
		struct shown_value shown;
		char text[40];

		if ((v->meaning != MEANING_PEER && v->meaning != MEANING_ROOT) || (v->at_return && !at_end) ||
		    (at_end && is_outdone(span, probe, i)))
			continue;
		call_value(span, v, &shown);
		if (shown.kind != VALUE_SIGNED || comm_world_rank(comm, shown.number) < 0)
			continue;
		put_text(&e->lines, " ");
		put_escaped(&e->lines, last_name(v));
		snprintf(text, sizeof(text), ".world=%" PRId64, comm_world_rank(comm, shown.number));
		put_text(&e->lines, text);
	}
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
	put_escaped(&e->lines, probe->event ? probe->event : "?");
	if (probe->lists)
		put_arguments(&e->lines, d, event);
	put_values(e, span, probe, event->type == EVENT_END);
	put_world_ranks(e, span, probe, event->type == EVENT_END);
	if (end && event->type == EVENT_END) {
		put_text(&e->lines, " end=");
		put_text(&e->lines, end);
	}
	if (site) {
		put_text(&e->lines, " @ ");
		put_escaped(&e->lines, site);
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
	put_escaped(&e->lines, control->who ? control->who : "?");
	put_text(&e->lines, "\n");
	return e->lines.size < LINES_SIZE ? 0 : flush_lines(e);
}

static int put_step(struct events *e, const struct def_step *step)
{
	const struct def_probe *probe = &e->d->probes[step->probe];
	char text[40];

	put_time(e, step->time);
	put_text(&e->lines, "all LEVEL ");
	put_escaped(&e->lines, probe->event ? probe->event : "?");
	put_text(&e->lines, " ");
	put_escaped(&e->lines, probe->symbol ? probe->symbol : "?");
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
	e.comms = comm_index_new(d);
	e.texts = texts_new(d);
	if (site_texts_open(&e.sites, d) && e.labels && e.comms && e.texts)
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
	comm_index_free(e.comms);
	texts_free(e.texts);
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
