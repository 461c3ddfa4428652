/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - which rows there are, what they are called, and in what order they stand.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "recording/labels.h"
#include "top/top.h"
#include "util/array.h"

const char *top_sort_name(int sort)
{
	switch (sort) {
	case TOP_BY_NAME:
		return "name";
	case TOP_BY_CALLS:
		return "calls";
	case TOP_BY_BYTES:
		return "bytes";
	case TOP_BY_LATE:
		return "late";
	case TOP_BY_COST:
		return "cost";
	default:
		return group_name(sort - TOP_BY_GROUP);
	}
}

int top_sort_find(const char *name)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (!strcasecmp(name, top_sort_name(i)))
			return i;
	return -1;
}

/* --- names -------------------------------------------------------------- */

/* For a table: the number stands behind the name, without more. */
static void name_row(const struct top *top, struct top_row *row)
{
	struct who who = row->thread == NO_INDEX ? who_is_process(top->d, row->process)
						 : who_is_thread(top->d, row->thread);
	const char *node = process_node(top->d, row->process); /* letters and digits: nodes/part.h */
	uint32_t number = who.tid ?: who.pid;
	size_t used;

	label_without_tid(&who, row->name, sizeof(row->name));
	used = strlen(row->name);
	if (who.rank < 0 || (who.tid && who.tid != who.pid))
		used += snprintf(row->name + used, sizeof(row->name) - used, " %u", number);
	if (node && used < sizeof(row->name))
		snprintf(row->name + used, sizeof(row->name) - used, " on %s", node);
}

const char *top_event_name(const struct top *top, uint32_t probe, char *text, size_t room)
{
	return probe < top->d->nprobes
		       ? event_label(&top->d->probes[probe], top->d->probes[probe].marks & MARK_INNER, text, room)
		       : "?";
}

bool top_is_inner(const struct top *top, uint32_t probe)
{
	return probe < top->d->nprobes && top->d->probes[probe].marks & MARK_INNER;
}

const char *top_site_name(const struct top *top, uint32_t site, char *text, size_t room)
{
	*text = '\0';
	if (site >= top->d->nsites)
		return text;
	if (!top->d->sites[site].located && top->locate)
		top->locate(top->locate_context, site);
	return site_label(top->d, site, text, room);
}

const struct top_earlier *top_earlier_of(const struct top *top, const struct top_row *row)
{
	if (top->told)
		return row->figures ? NULL : top_told_earlier(top, row->process);
	for (size_t i = 0; !row->figures && row->process < top->d->nprocesses && i < top->nearlier; i++)
		if ((uint32_t)top->earlier[i].pid == top->d->processes[row->process].pid)
			return &top->earlier[i];
	return NULL;
}

/* --- filter --------------------------------------------------------------- */

static bool has(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool is_wanted(const struct top *top, const struct top_row *row)
{
	const struct def_process *p = &top->d->processes[row->process];
	const struct top_earlier *earlier = top_earlier_of(top, row);
	char event[LABEL_ROOM];

	if (!*top->view.filter)
		return true;
	return has(row->name, top->view.filter) || has(p->command, top->view.filter) ||
	       has(p->name, top->view.filter) || (earlier && has(earlier->event, top->view.filter)) ||
	       (row->in.probe != NO_INDEX &&
		has(top_event_name(top, row->in.probe, event, sizeof(event)), top->view.filter));
}

/* --- rows ----------------------------------------------------------------- */

static int add_row(struct top *top, struct top_row *row)
{
	name_row(top, row);
	if (!is_wanted(top, row))
		return 0;
	if (array_one_more(&top->rows, &top->rows_room, top->nrows, sizeof(*top->rows)))
		return -ENOMEM;
	top->rows[top->nrows++] = *row;
	return 0;
}

static bool is_first_thread(const struct top *top, const struct live_thread *t)
{
	return t->process < top->d->nprocesses && top->d->threads[t->thread].tid == top->d->processes[t->process].pid;
}

/* What a process is in is what its first thread is in, else one of the others. */
static struct live_call process_is_in(const struct top *top, uint32_t process)
{
	struct live_call in = { .probe = NO_INDEX };

	if (top->told)
		return top_told_call(top, process);
	for (size_t i = 0; i < live_threads(top->live); i++) {
		const struct live_thread *t = live_thread(top->live, i);

		if (t->process != process || t->ended)
			continue;
		if (is_first_thread(top, t) && t->seen)
			return t->in;
		if (in.probe == NO_INDEX)
			in = t->in;
	}
	return in;
}

/* Processes as a whole; and where there are rows for threads, those of which no thread has made a call yet. */
static int add_processes(struct top *top)
{
	int err = 0;

	for (uint32_t i = 0; i < top->d->nprocesses && !err; i++) {
		struct top_row row = { .process = i,
				       .thread = NO_INDEX,
				       .figures = top_process(top, i, top->view.all) };

		if ((top->view.threads && !top->told && row.figures) || (top->d->processes[i].end && !top->view.all) ||
		    top->d->processes[i].left_out)
			continue;
		row.in = process_is_in(top, i);
		err = add_row(top, &row);
	}
	return err;
}

static int add_threads(struct top *top)
{
	int err = 0;

	for (size_t i = 0; i < live_threads(top->live) && !err; i++) {
		const struct live_thread *t = live_thread(top->live, i);
		struct top_row row = {
			.process = t->process,
			.thread = t->thread,
			.in = t->in,
			.figures = t->seen ? top->view.all ? &t->all : &t->now : NULL,
		};

		if (t->process < top->d->nprocesses && !top->d->processes[t->process].left_out)
			err = add_row(top, &row);
	}
	return err;
}

static double key_of(const struct top_row *row, int sort)
{
	const struct live_figures *f = row->figures;

	if (!f)
		return -1;
	switch (sort) {
	case TOP_BY_CALLS:
		return f->calls;
	case TOP_BY_BYTES:
		return f->bytes;
	case TOP_BY_LATE:
		return f->late;
	case TOP_BY_COST:
		return f->wall ? (double)f->cost / f->wall : 0;
	default:
		return f->wall ? (double)f->group[sort - TOP_BY_GROUP] / f->wall : 0;
	}
}

static int by_place(const struct top *top, const struct top_row *x, const struct top_row *y)
{
	const struct def_process *p = &top->d->processes[x->process], *q = &top->d->processes[y->process];

	if (p->rank != q->rank)
		return p->rank < q->rank ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	if (x->thread == NO_INDEX || y->thread == NO_INDEX)
		return 0;
	return top->d->threads[x->thread].tid < top->d->threads[y->thread].tid ? -1 : 1;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct top *top = context;
	const struct top_row *x = a, *y = b;
	int order = 0;

	if (top->view.sort != TOP_BY_NAME) {
		double left = key_of(x, top->view.sort), right = key_of(y, top->view.sort);

		order = left > right ? -1 : left < right;
	}
	if (!order)
		order = by_place(top, x, y);
	return top->view.reverse ? -order : order;
}

int top_rows(struct top *top)
{
	int err;

	top->nrows = 0;
	err = top->view.threads && !top->told ? add_threads(top) : 0;
	if (!err)
		err = add_processes(top);
	if (top->nrows)
		qsort_r(top->rows, top->nrows, sizeof(*top->rows), compare, top);
	return err;
}

void top_free(struct top *top)
{
	free(top->rows);
	top->rows = NULL;
	top->nrows = top->rows_room = 0;
}

/* --- a row's events --------------------------------------------------------- */

static int by_self(const void *a, const void *b, void *context)
{
	const struct top *top = context;
	const struct live_event *x = a, *y = b;
	uint64_t left = top->view.all ? x->all.self : x->now.self, right = top->view.all ? y->all.self : y->now.self;
	char one[LABEL_ROOM], other[LABEL_ROOM];

	if (left != right)
		return left > right ? -1 : 1;
	left = top->view.all ? x->all.calls : x->now.calls;
	right = top->view.all ? y->all.calls : y->now.calls;
	if (left != right)
		return left > right ? -1 : 1;
	return strcmp(top_event_name(top, x->probe, one, sizeof(one)),
		      top_event_name(top, y->probe, other, sizeof(other)));
}

struct events {
	struct live_event *list;
	size_t count, room;
};

/* It is left out where there is no memory. */
static void add_event(struct events *events, const struct live_event *event)
{
	size_t at = 0;

	while (at < events->count && events->list[at].event != event->event)
		at++;
	if (at < events->count)
		live_event_add(&events->list[at], event);
	else if (!array_one_more(&events->list, &events->room, at, sizeof(*event)))
		events->list[events->count++] = *event;
}

static void add_ended(struct events *events, const struct top *top, uint32_t process)
{
	for (size_t i = 0; i < live_ended_events(top->live, process); i++)
		add_event(events, live_ended_event(top->live, process, i));
}

/* Each is there once. */
static void copy_told(struct events *events, const struct top *top, uint32_t process)
{
	size_t count;
	const struct live_event *told = top_told_events(top, process, &count);

	events->list = count ? calloc(count, sizeof(*told)) : NULL;
	if (!events->list)
		return;
	memcpy(events->list, told, count * sizeof(*told));
	events->count = count;
}

static struct live_event *sort_events(const struct top *top, struct events *events, size_t *count)
{
	if (events->count)
		qsort_r(events->list, events->count, sizeof(*events->list), by_self, (void *)top);
	*count = events->count;
	return events->list;
}

struct live_event *top_events(const struct top *top, const struct top_row *row, size_t *count)
{
	struct events events = { 0 };

	if (top->told)
		copy_told(&events, top, row->process);
	for (size_t i = 0; !top->told && i < live_threads(top->live); i++) {
		const struct live_thread *t = live_thread(top->live, i);

		if (row->thread == NO_INDEX ? t->process == row->process : t->thread == row->thread)
			for (size_t k = 0; k < t->nevents; k++)
				add_event(&events, &t->events[k]);
	}
	if (!top->told && row->thread == NO_INDEX)
		add_ended(&events, top, row->process);
	return sort_events(top, &events, count);
}

struct live_event *top_ended_events(const struct top *top, uint32_t process, size_t *count)
{
	struct events events = { 0 };

	if (!top->told)
		add_ended(&events, top, process);
	return sort_events(top, &events, count);
}
