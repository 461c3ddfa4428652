/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paje.c - a trace of Paje, for ViTE and PajeNG's tools.
 *
 * The file says first what its records look like. Machine, nodes, processes and threads are containers, a call is a
 * state that is pushed and popped, with its place in a field of its own. All this is in one order of time. Messages are
 * links between threads; which calls they join is found by another reading, so they come after it, in their own order.
 *
 * Times are seconds since the run began, with all nine decimals. A string has no way to say a quote or the end of a
 * line: these, and bytes that are no UTF-8, stand as \xNN.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "export/call.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/sorted.h"
#include "recording/labels.h"
#include "simulate/relations.h"
#include "timeline/timeline.h"
#include "util/buffer.h"
#include "util/utf8.h"

#define LINES_SIZE 65536
#define NAME_SIZE 1024

/* The numbers of the records, in the order of `head`. */
enum { TYPE, STATE_TYPE, VALUE, CREATE, DESTROY, PUSH, POP, LINK_TYPE, LINK_START, LINK_END, EVENT_TYPE, EVENT };

static const char head[] = "%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n"
			   "%EndEventDef\n%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n"
			   "% Name string\n%EndEventDef\n%EventDef PajeDefineEntityValue 2\n% Alias string\n"
			   "% Type string\n% Name string\n% Color color\n%EndEventDef\n"
			   "%EventDef PajeCreateContainer 3\n% Time date\n% Alias string\n% Type string\n"
			   "% Container string\n% Name string\n%EndEventDef\n%EventDef PajeDestroyContainer 4\n"
			   "% Time date\n% Type string\n% Name string\n%EndEventDef\n%EventDef PajePushState 5\n"
			   "% Time date\n% Type string\n% Container string\n% Value string\n% Place string\n"
			   "%EndEventDef\n%EventDef PajePopState 6\n% Time date\n% Type string\n"
			   "% Container string\n%EndEventDef\n%EventDef PajeDefineLinkType 7\n% Alias string\n"
			   "% Type string\n% StartContainerType string\n% EndContainerType string\n% Name string\n"
			   "%EndEventDef\n%EventDef PajeStartLink 8\n% Time date\n% Type string\n"
			   "% Container string\n% Value string\n% StartContainer string\n% Key string\n"
			   "%EndEventDef\n%EventDef PajeEndLink 9\n% Time date\n% Type string\n"
			   "% Container string\n% Value string\n% EndContainer string\n% Key string\n"
			   "%EndEventDef\n%EventDef PajeDefineEventType 10\n% Alias string\n% Type string\n"
			   "% Name string\n%EndEventDef\n%EventDef PajeNewEvent 11\n% Time date\n% Type string\n"
			   "% Container string\n% Value string\n%EndEventDef\n"
			   "0 M 0 Machine\n0 N M Node\n0 P N Process\n0 T P Thread\n1 S T Call\n"
			   "7 L M T T Message\n10 E T \"Not on the timeline\"\n";

static const char *const colours[GROUPS] = {
	[GROUP_BARRIER] = "0.85 0.20 0.20", [GROUP_WAIT] = "0.90 0.45 0.20",       [GROUP_LOCK] = "0.75 0.25 0.60",
	[GROUP_DATA] = "0.20 0.45 0.80",    [GROUP_COLLECTIVE] = "0.50 0.30 0.75", [GROUP_TASK] = "0.25 0.65 0.30",
	[GROUP_ALLOC] = "0.60 0.60 0.25",   [GROUP_IO] = "0.15 0.60 0.60",         [GROUP_OTHER] = "0.60 0.60 0.60",
};

struct paje {
	struct recording *recording; /* with what was chosen of it */
	const struct definitions *d;
	struct output *out;
	struct site_texts sites;
	struct event_names names;
	uint32_t *value_of; /* by probe */
	uint64_t *lanes;    /* by thread: bit i: lane i has a container */
	struct buffer lines;
	struct sorted *messages;
	uint64_t links;
	uint64_t last; /* ns: of all that was put; containers end then */
};

static int flush_lines(struct paje *p)
{
	int error = p->lines.failed ? -ENOMEM : output_write(p->out, (const char *)p->lines.data, p->lines.size);

	buffer_clear(&p->lines);
	return error;
}

static int end_line(struct paje *p)
{
	buffer_put(&p->lines, "\n", 1);
	return p->lines.size < LINES_SIZE ? 0 : flush_lines(p);
}

__attribute__((format(printf, 2, 3))) static void put(struct paje *p, const char *format, ...)
{
	char text[160];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	buffer_put(&p->lines, text, length > 0 ? (size_t)length : 0);
}

static void put_record(struct paje *p, unsigned record, uint64_t time)
{
	uint64_t ns = since_start(p->d, time);

	p->last = time > p->last ? time : p->last;
	put(p, "%u %" PRIu64 ".%09" PRIu64, record, ns / 1000000000, ns % 1000000000);
}

/* Text that a target may have made up. */
static void put_string(struct paje *p, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	buffer_put(&p->lines, " \"", 2);
	for (size_t left = strlen(text); left;) {
		unsigned length = utf8_length(at, left);

		if (length > 1 || (length && *at >= ' ' && *at != 0x7f && *at != '"' && *at != '\\'))
			buffer_put(&p->lines, at, length);
		else
			put(p, "\\x%02x", *at);
		at += length ?: 1;
		left -= length ?: 1;
	}
	buffer_put(&p->lines, "\"", 1);
}

/* --- what there is ------------------------------------------------------------------- */

/* Calls of one event are one value. */
static int put_values(struct paje *p)
{
	int error = 0;

	for (uint32_t i = 0; i < p->d->nprobes && !error; i++) {
		const struct def_probe *probe = &p->d->probes[i];
		bool inner = probe->marks & MARK_INNER;
		struct event_key key = event_key_of(probe, inner);
		uint32_t known = p->names.count;
		char label[LABEL_ROOM];

		p->value_of[i] = event_names_number(&p->names, &key);
		if (p->value_of[i] == NO_INDEX)
			return -ENOMEM;
		if (p->value_of[i] < known)
			continue;
		put(p, "%u v%u S", VALUE, p->value_of[i]);
		put_string(p, event_label(probe, inner, label, sizeof(label)));
		put_string(p, colours[group_of_role(probe->role)]);
		error = end_line(p);
	}
	return error;
}

static int create(struct paje *p, uint64_t time, const char *what, const char *in, const char *name)
{
	put_record(p, CREATE, time);
	put(p, " %s %s", what, in);
	put_string(p, name);
	return end_line(p);
}

static uint32_t nodes_of(const struct definitions *d)
{
	return d->nnodes ? (uint32_t)d->nnodes : 1;
}

static int put_nodes(struct paje *p)
{
	const struct definitions *d = p->d;
	int error = create(p, d->run.start, "m M", "0", d->run.host ?: "?");

	for (uint32_t i = 0; i < nodes_of(d) && !error; i++) {
		char alias[40];

		snprintf(alias, sizeof(alias), "n%u N", i + 1);
		error = create(p, d->run.start, alias, "m", (d->nnodes ? d->nodes[i].host : d->run.host) ?: "?");
	}
	return error;
}

static int put_process(struct paje *p, uint32_t i)
{
	const struct definitions *d = p->d;
	uint32_t node = d->processes[i].node && d->processes[i].node <= d->nnodes ? d->processes[i].node : 1;
	char alias[40], in[40], name[NAME_SIZE];

	if (d->processes[i].left_out)
		return 0;
	snprintf(alias, sizeof(alias), "p%u P", i);
	snprintf(in, sizeof(in), "n%u", node);
	process_text(d, i, name, sizeof(name));
	return create(p, d->run.start, alias, in, name);
}

/* A viewer keeps the order in which containers are made. */
static int put_processes(struct paje *p)
{
	uint32_t *order = processes_in_order(p->d);
	int error = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->d->nprocesses && !error; i++)
		error = put_process(p, order[i]);
	free(order);
	return error;
}

/* The container of a lane, which is made before its first use. */
static int need_lane(struct paje *p, uint32_t thread, unsigned lane, uint64_t time)
{
	struct who who = who_is_thread(p->d, thread);
	char alias[40], in[40], name[NAME_SIZE];

	if (p->lanes[thread] >> lane & 1)
		return 0;
	p->lanes[thread] |= 1ull << lane;
	lane_text(&who, lane, name, sizeof(name));
	snprintf(alias, sizeof(alias), "t%u.%u T", thread, lane);
	snprintf(in, sizeof(in), "p%u", p->d->threads[thread].process);
	return create(p, time, alias, in, name);
}

static int put_threads(struct paje *p)
{
	uint32_t *order = threads_in_order(p->d);
	int error = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->d->nthreads && !error; i++)
		if (thread_process(p->d, order[i]) && !thread_is_left_out(p->d, order[i]))
			error = need_lane(p, order[i], 0, p->d->run.start);
	free(order);
	return error;
}

/* --- what happened --------------------------------------------------------------------- */

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	struct paje *p = context;
	const struct span *span = event->span;
	const char *site = site_text(&p->sites, span->site);
	int error = 0;

	if (!thread_process(d, span->thread))
		return 0;
	if (event->type != EVENT_END) {
		if (!site && span->site < d->nsites)
			return -ENOMEM;
		error = need_lane(p, span->thread, event->lane, event->time);
		put_record(p, PUSH, event->time);
		put(p, " S t%u.%u v%u", span->thread, event->lane, p->value_of[span->probe]);
		put_string(p, site ?: "?");
		error = error ?: end_line(p);
	}
	if (!error && event->type != EVENT_START) {
		put_record(p, POP, event->time);
		put(p, " S t%u.%u", span->thread, event->lane);
		error = end_line(p);
	}
	return error;
}

static int put_note(struct paje *p, uint64_t time, uint32_t thread, const char *text)
{
	if (!thread_process(p->d, thread))
		return 0;
	put_record(p, EVENT, time);
	put(p, " E t%u.0", thread);
	put_string(p, text);
	return end_line(p);
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	char text[80];

	snprintf(text, sizeof(text), "%" PRIu64 " %s lost here", gap->count, gap->count == 1 ? "call" : "calls");
	return put_note(context, gap->after, gap->thread, text);
}

static int put_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	return put_note(context, control->time, thread, control->value ? "measurement on" : "measurement off");
}

static void put_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct paje *)context)->out, done, 2 * all);
}

static bool is_chosen(const struct paje *p, const struct related_call *call)
{
	return recording_has_chosen(p->recording, call->thread, call->start, call->end);
}

/* Two records of a message: where it begins, and where it ends. */
static int note_message(void *context, const struct related_call *sends, const struct related_call *receives,
			uint64_t bytes)
{
	struct paje *p = context;
	int error;

	if (receives->end < sends->start || !thread_process(p->d, sends->thread) ||
	    !thread_process(p->d, receives->thread) || !is_chosen(p, sends) || !is_chosen(p, receives))
		return 0;
	error = sorted_put(p->messages, &(struct sorted_record){ .time = sends->start,
								 .number = 2 * p->links,
								 .of = sends->thread,
								 .what = LINK_START });
	return error
		       ?: sorted_put(p->messages, &(struct sorted_record){ .time = receives->end,
									   .number = 2 * p->links++ + 1,
									   .of = receives->thread,
									   .what = LINK_END });
}

static int put_message(void *context, const struct sorted_record *record)
{
	struct paje *p = context;

	put_record(p, record->what, record->time);
	put(p, " L m message t%u.0 k%" PRIu64, record->of, record->number / 2);
	return end_line(p);
}

static int put_messages(struct paje *p, struct recording *recording)
{
	struct relations_ops ops = { .message = note_message, .context = p };
	struct relations *relations;
	struct recording *whole;
	int error = -ENOMEM;

	if (!relations_possible(p->d))
		return 0;
	p->recording = recording;
	whole = recording_whole(recording);
	relations = whole ? relations_new(whole) : NULL;
	if (relations)
		error = relations_read(relations, &ops, NULL, NULL);
	relations_free(relations);
	recording_close(whole);
	return error ?: sorted_read(p->messages, put_message, p);
}

static int destroy(struct paje *p, char type, const char *alias)
{
	put_record(p, DESTROY, p->d->run.end > p->last ? p->d->run.end : p->last);
	put(p, " %c %s", type, alias);
	return end_line(p);
}

static int put_ends(struct paje *p)
{
	char alias[40];
	int error = 0;

	for (uint32_t i = 0; i < p->d->nthreads && !error; i++)
		for (unsigned lane = 0; lane < TIMELINE_LANES && !error; lane++) {
			snprintf(alias, sizeof(alias), "t%u.%u", i, lane);
			if (p->lanes[i] >> lane & 1)
				error = destroy(p, 'T', alias);
		}
	for (uint32_t i = 0; i < p->d->nprocesses && !error; i++) {
		snprintf(alias, sizeof(alias), "p%u", i);
		if (!p->d->processes[i].left_out)
			error = destroy(p, 'P', alias);
	}
	for (uint32_t i = 0; i < nodes_of(p->d) && !error; i++) {
		snprintf(alias, sizeof(alias), "n%u", i + 1);
		error = destroy(p, 'N', alias);
	}
	return error ?: destroy(p, 'M', "m");
}

static int put_all(struct paje *p, struct recording *recording)
{
	struct timeline_ops ops = {
		.event = put_event, .gap = put_gap, .control = put_control, .progress = put_progress, .context = p
	};
	int error;

	buffer_put(&p->lines, head, sizeof(head) - 1);
	error = put_values(p) ?: put_nodes(p) ?: put_processes(p) ?: put_threads(p);
	if (!error)
		error = timeline_read_merged(recording, &ops);
	if (!error)
		error = put_messages(p, recording);
	return error ?: put_ends(p) ?: flush_lines(p);
}

static int paje_write(struct recording *recording, int fd, int spare, const char *name)
{
	const struct definitions *d = recording_definitions(recording);
	struct paje p = { .d = d };
	int error = -ENOMEM, ended = 0;

	p.value_of = calloc(d->nprobes + 1, sizeof(*p.value_of));
	p.lanes = calloc(d->nthreads + 1, sizeof(*p.lanes));
	p.messages = sorted_new(spare);
	if (site_texts_open(&p.sites, d) && p.value_of && p.lanes && p.messages)
		p.out = output_open(fd, name);
	if (p.out) {
		error = put_all(&p, recording);
		ended = output_close(p.out);
	}
	event_names_free(&p.names);
	site_texts_close(&p.sites);
	buffer_free(&p.lines);
	sorted_free(p.messages);
	free(p.value_of);
	free(p.lanes);
	return error ? error : ended;
}

const struct exporter exporter_paje = {
	.name = "paje",
	.suffixes = ".paje .trace .paje.gz .trace.gz",
	.help = "Paje, for ViTE and PajeNG",
	.needs_spare = true,
	.write = paje_write,
};
