/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * told.c - what several nodes tell of their processes, as one.
 *
 * A look is its length and then what put_look() puts; nothing in it is trusted. Times of different machines are not
 * compared: of a call in progress it is told for how long it has been so.
 */
#include "top/told.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/labels.h"
#include "util/array.h"

#define VERSION 2
#define NOW (1ull << 62) /* ns; of all that is joined */
#define LOOK_MOST (64u << 20)
#define TEXT_MOST 4096
#define PROCESSES_MOST 65536 /* of a node */
#define EVENTS_MOST 65536    /* of a process */

enum { ENDED = 1, SEEN = 2, IN = 4, EARLIER = 8, LIKELY = 16 };
enum { INNER = 1, MOVES = 2 }; /* of an event */

/* --- one node ------------------------------------------------------------------------ */

static void put_figures(struct buffer *b, const struct live_figures *f)
{
	buffer_put_varint(b, f->wall);
	for (int g = 0; g < GROUPS; g++)
		buffer_put_varint(b, f->group[g]);
	buffer_put_varint(b, f->calls);
	buffer_put_varint(b, f->inner);
	buffer_put_varint(b, f->missing);
	buffer_put_varint(b, f->bytes);
	buffer_put_varint(b, f->moves);
	buffer_put_varint(b, f->cost);
}

static void put_event_figures(struct buffer *b, const struct live_event_figures *f)
{
	buffer_put_varint(b, f->calls);
	buffer_put_varint(b, f->missing);
	buffer_put_varint(b, f->time);
	buffer_put_varint(b, f->self);
	buffer_put_varint(b, f->full);
	buffer_put_varint(b, f->longest);
	buffer_put_varint(b, f->bytes);
}

static void put_events(struct buffer *b, const struct top *top, const struct top_row *row, bool once)
{
	size_t count;
	struct live_event *events = top_events(top, row, &count);
	char event[LABEL_ROOM];

	buffer_put_varint(b, count);
	for (size_t i = 0; i < count; i++) {
		const struct live_event *e = &events[i];

		event_label(&top->d->probes[e->probe], false, event, sizeof(event));
		buffer_put_string(b, event);
		buffer_put_varint(b, (top_is_inner(top, e->probe) ? INNER : 0) | (e->moves ? MOVES : 0));
		put_event_figures(b, once ? &e->all : &e->now);
		put_event_figures(b, &e->all);
	}
	free(events);
}

/* once: all is one interval. */
static void put_process(struct buffer *b, const struct top *top, const struct top_row *row, bool once)
{
	const struct def_process *p = &top->d->processes[row->process];
	const struct top_earlier *earlier = top_earlier_of(top, row);
	const struct live_figures *now = live_process(top->live, row->process, once);
	bool in = row->in.probe != NO_INDEX;
	char event[LABEL_ROOM];

	buffer_put_varint(b, (p->end ? ENDED : 0) | (row->figures && now ? SEEN : 0) | (in ? IN : 0) |
				     (earlier ? EARLIER : 0) | (earlier && earlier->likely ? LIKELY : 0));
	buffer_put_varint(b, p->pid);
	buffer_put_signed(b, p->rank);
	buffer_put_string(b, p->unit);
	buffer_put_string(b, p->name);
	buffer_put_string(b, p->command);
	if (row->figures && now) {
		put_figures(b, now);
		put_figures(b, row->figures);
		put_events(b, top, row, once);
	}
	if (in) {
		buffer_put_string(b, top_event_name(top, row->in.probe, event, sizeof(event)));
		buffer_put_varint(b, live_now(top->live) > row->in.start ? live_now(top->live) - row->in.start : 0);
	}
	if (earlier) {
		buffer_put_string(b, earlier->event);
		buffer_put_varint(b, earlier->tid);
		buffer_put_varint(b, earlier->at_least);
		buffer_put_string(b, earlier->place);
	}
}

/* top has a row for each process. */
static void put_look(struct buffer *b, const struct top *top, bool once)
{
	buffer_put_varint(b, VERSION);
	buffer_put_varint(b, once ? live_since(top->live) : live_interval(top->live));
	buffer_put_varint(b, live_since(top->live));
	buffer_put_varint(b, live_threads(top->live));
	buffer_put_varint(b, top->spans);
	buffer_put_varint(b, top->lost);
	buffer_put_varint(b, top->summed);
	buffer_put_varint(b, top->skipped);
	buffer_put_varint(b, (uint64_t)(top->own_cpu * 1000));
	buffer_put_varint(b, top->nrows);
	for (size_t i = 0; i < top->nrows; i++)
		put_process(b, top, &top->rows[i], once);
}

void told_hand_over(struct buffer *bytes, const struct top *top)
{
	struct top all = *top;
	struct buffer look = { 0 };

	all.view = (struct top_view){ .all = true };
	all.rows = NULL;
	all.nrows = all.rows_room = 0;
	look.failed = top_rows(&all);
	if (!look.failed)
		put_look(&look, &all, top->view.all);
	buffer_put_varint(bytes, look.size);
	buffer_put(bytes, look.data, look.size);
	bytes->failed |= look.failed;
	buffer_free(&look);
	top_free(&all);
}

/* --- all of them --------------------------------------------------------------------- */

bool told_take(struct told_node *node, struct buffer *handed)
{
	struct cursor c = { handed->data, handed->data + handed->size, false };
	const uint8_t *from = c.at;
	bool some = false;

	while (c.at < c.end) {
		uint64_t size = cursor_varint(&c);

		if (c.failed || size > LOOK_MOST || size > (uint64_t)(c.end - c.at))
			break; /* not whole yet, or never */
		buffer_clear(&node->look);
		buffer_put(&node->look, c.at, size);
		c.at += size;
		from = c.at;
		node->looks++;
		some = true;
	}
	if (some) {
		handed->size -= from - handed->data;
		memmove(handed->data, from, handed->size);
	}
	return some;
}

static void take_figures(struct cursor *c, struct live_figures *f)
{
	f->wall = cursor_varint(c);
	for (int g = 0; g < GROUPS; g++)
		f->group[g] = cursor_varint(c);
	f->calls = cursor_varint(c);
	f->inner = cursor_varint(c);
	f->missing = cursor_varint(c);
	f->bytes = cursor_varint(c);
	f->moves = cursor_varint(c);
	f->cost = cursor_varint(c);
}

/* A probe that stands for an event of this name; NO_INDEX: no memory. It takes the text. */
static uint32_t probe_of(struct top_told *told, char *event, bool inner)
{
	const struct event_key key = { .event = event, .inner = inner };
	uint32_t number = event ? event_names_number(&told->names, &key) : NO_INDEX;

	if (number == NO_INDEX || number < told->d.nprobes || definitions_add_probe(&told->d) == NO_INDEX) {
		free(event);
		return number < told->d.nprobes ? number : NO_INDEX;
	}
	told->d.probes[number].event = event;
	told->d.probes[number].marks = inner ? MARK_INNER : 0;
	return number;
}

static void free_earlier(struct top_earlier *earlier)
{
	free((char *)earlier->event);
	free(earlier->place);
}

/* 0 or -ENOMEM. */
static int take_call(struct top_told *told, struct told_process *p, struct cursor *c)
{
	char *name = cursor_string(c, TEXT_MOST);
	uint64_t since = cursor_varint(c);

	p->in.probe = probe_of(told, name, false);
	p->in.site = NO_INDEX;
	p->in.start = NOW - (since < NOW ? since : NOW);
	return name && p->in.probe == NO_INDEX ? -ENOMEM : 0;
}

static void take_event_figures(struct cursor *c, struct live_event_figures *f)
{
	f->calls = cursor_varint(c);
	f->missing = cursor_varint(c);
	f->time = cursor_varint(c);
	f->self = cursor_varint(c);
	f->full = cursor_varint(c);
	f->longest = cursor_varint(c);
	f->bytes = cursor_varint(c);
	if (f->missing > f->calls)
		c->failed = true;
}

/* 0 or -ENOMEM. */
static int take_events(struct top_told *told, struct told_process *p, struct cursor *c)
{
	uint64_t count = cursor_varint(c);
	size_t room = 0;

	if (count > EVENTS_MOST)
		c->failed = true;
	for (uint64_t i = 0; i < count && !c->failed; i++) {
		char *name = cursor_string(c, TEXT_MOST);
		uint64_t flags = cursor_varint(c);
		struct live_event *e;

		if (!name || array_one_more(&p->events, &room, p->nevents, sizeof(*p->events))) {
			c->failed |= !name;
			free(name);
			return c->failed ? 0 : -ENOMEM;
		}
		e = &p->events[p->nevents++];
		*e = (struct live_event){ .event = i, .site = NO_INDEX, .moves = flags & MOVES };
		e->probe = probe_of(told, name, flags & INNER);
		take_event_figures(c, &e->now);
		take_event_figures(c, &e->all);
		if (e->probe == NO_INDEX)
			return -ENOMEM;
	}
	return 0;
}

static void take_earlier(struct told_process *p, uint64_t flags, struct cursor *c)
{
	p->has_earlier = true;
	p->earlier = (struct top_earlier){ .event = cursor_string(c, TEXT_MOST), .likely = flags & LIKELY };
	p->earlier.tid = cursor_varint(c);
	p->earlier.at_least = cursor_varint(c);
	p->earlier.place = cursor_string(c, TEXT_MOST);
	if (!p->earlier.event)
		c->failed = true;
}

/* Adds a process. 0 or -ENOMEM. */
static int take_process(struct top_told *told, struct cursor *c, uint32_t node, bool fresh)
{
	uint32_t index = definitions_add_process(&told->d);
	struct def_process *def;
	struct told_process *p;
	uint64_t flags;
	int err = 0;

	if (index == NO_INDEX ||
	    array_reach(&told->processes, &told->room, told->d.nprocesses, sizeof(*told->processes)))
		return -ENOMEM;
	def = &told->d.processes[index];
	p = &told->processes[index];
	*p = (struct told_process){ .fresh = fresh, .in.probe = NO_INDEX };
	flags = cursor_varint(c);
	def->pid = cursor_varint(c);
	def->rank = cursor_signed(c);
	def->ranks = -1;
	def->unit = cursor_string(c, TEXT_MOST);
	def->name = cursor_string(c, TEXT_MOST);
	def->command = cursor_string(c, TEXT_MOST);
	def->end = flags & ENDED ? NOW : 0;
	def->node = node + 1;
	p->seen = flags & SEEN;
	if (p->seen) {
		take_figures(c, &p->now);
		take_figures(c, &p->all);
		err = take_events(told, p, c);
	}
	if (flags & IN)
		err = err ?: take_call(told, p, c);
	if (flags & EARLIER)
		take_earlier(p, flags, c);
	p->in.probe = fresh ? p->in.probe : NO_INDEX;
	told->alive += !def->end && fresh;
	return err;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int take_look(struct top_told *told, uint32_t node)
{
	struct told_node *n = &told->nodes[node];
	struct cursor c = { n->look.data, n->look.data + n->look.size, false };
	bool right = cursor_varint(&c) == VERSION;
	uint64_t count;
	int err = 0;

	told->interval = larger(told->interval, cursor_varint(&c));
	told->since = larger(told->since, cursor_varint(&c));
	told->threads += cursor_varint(&c);
	told->spans += cursor_varint(&c);
	told->lost += cursor_varint(&c);
	told->summed += cursor_varint(&c);
	told->skipped += cursor_varint(&c);
	told->cpu += cursor_varint(&c);
	count = cursor_varint(&c);
	c.failed |= count > PROCESSES_MOST;
	for (uint64_t i = 0; right && i < count && !c.failed && !err; i++)
		err = take_process(told, &c, node, !n->trouble);
	if (!err && (!right || c.failed || c.at != c.end))
		n->trouble = right ? "what it says is not whole" : "it has another version of gaspbpf";
	return err;
}

static void forget(struct top_told *told)
{
	for (size_t i = 0; i < told->d.nprocesses && i < told->room; i++) {
		if (told->processes[i].has_earlier)
			free_earlier(&told->processes[i].earlier);
		free(told->processes[i].events);
	}
	event_names_free(&told->names);
	definitions_free(&told->d);
	told->d = (struct definitions){ 0 };
	told->interval = told->since = told->threads = told->alive = 0;
	told->spans = told->lost = told->summed = told->skipped = told->cpu = 0;
}

int told_join(struct top_told *told)
{
	int err = 0;

	forget(told);
	told->now = NOW;
	for (uint32_t i = 0; i < told->nnodes && !err; i++) {
		uint32_t node = definitions_add_node(&told->d);

		if (node == NO_INDEX)
			return -ENOMEM;
		told->d.nodes[node].host = strdup(told->nodes[i].name);
		err = !told->d.nodes[node].host ? -ENOMEM : told->nodes[i].look.size ? take_look(told, i) : 0;
	}
	return err;
}

static void tell_cost(struct top *top, const struct top_told *told)
{
	uint64_t cost = 0, wall = 0;

	for (size_t i = 0; i < told->d.nprocesses; i++) {
		const struct live_figures *f = top_process(top, i, top->view.all);

		cost += f ? f->cost : 0;
		wall += f ? f->wall : 0;
	}
	snprintf(top->cost, sizeof(top->cost),
		 "cost: probes %.2f%% of the threads' time, gaspbpf %.2f CPUs on %zu node%s",
		 wall ? 100.0 * cost / wall : 0, told->cpu / 1000.0, told->nnodes, told->nnodes == 1 ? "" : "s");
}

void told_show(struct top *top, const struct top_told *told)
{
	top->told = told;
	top->d = &told->d;
	top->spans = told->spans;
	top->lost = told->lost;
	top->summed = told->summed;
	top->skipped = told->skipped;
	top->own_cpu = told->cpu / 1000.0;
	top->alive = told->alive;
	tell_cost(top, told);
}

void told_free(struct top_told *told)
{
	forget(told);
	for (size_t i = 0; told->nodes && i < told->nnodes; i++)
		buffer_free(&told->nodes[i].look);
	free(told->nodes);
	free(told->processes);
}

/* --- what is shown, live or told ------------------------------------------------------- */

uint64_t top_interval(const struct top *top)
{
	return top->told ? top->told->interval : live_interval(top->live);
}

uint64_t top_since(const struct top *top)
{
	return top->told ? top->told->since : live_since(top->live);
}

uint64_t top_now(const struct top *top)
{
	return top->told ? top->told->now : live_now(top->live);
}

size_t top_threads(const struct top *top)
{
	return top->told ? top->told->threads : live_threads(top->live);
}

const struct live_figures *top_process(const struct top *top, uint32_t process, bool all)
{
	const struct told_process *p = top->told ? &top->told->processes[process] : NULL;

	if (!p)
		return live_process(top->live, process, all);
	return !p->seen || (!all && !p->fresh) ? NULL : all ? &p->all : &p->now;
}

const struct live_event *top_told_events(const struct top *top, uint32_t process, size_t *count)
{
	*count = top->told->processes[process].nevents;
	return top->told->processes[process].events;
}

struct live_call top_told_call(const struct top *top, uint32_t process)
{
	return top->told->processes[process].in;
}

const struct top_earlier *top_told_earlier(const struct top *top, uint32_t process)
{
	const struct told_process *p = &top->told->processes[process];

	return p->has_earlier && p->fresh ? &p->earlier : NULL;
}

const char *top_line_nodes(const struct top *top, char *text, size_t room)
{
	const struct top_told *told = top->told;
	size_t used = 0, well = 0;

	*text = '\0';
	for (size_t i = 0; told && i < told->nnodes; i++)
		well += !told->nodes[i].trouble;
	if (!told || well == told->nnodes)
		return text;
	used = snprintf(text, room, "%zu of %zu answer", well, told->nnodes);
	for (size_t i = 0; i < told->nnodes && used < room; i++)
		if (told->nodes[i].trouble)
			used += snprintf(text + used, room - used, "; %s: %s", told->nodes[i].name,
					 told->nodes[i].trouble);
	return text;
}
