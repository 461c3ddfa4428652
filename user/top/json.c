/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - all that is known at one look, as JSON; times in ns. What is not known is null.
 */
#include <errno.h>
#include <stdlib.h>

#include "recording/labels.h"
#include "top/told.h"
#include "top/top.h"
#include "util/json.h"

/* known: who came last to where all meet */
static void put_figures(struct json *j, const struct live_figures *f, bool known)
{
	json_key_uint(j, "observed_ns", f->wall);
	json_key(j, "group_ns");
	json_object(j);
	for (int g = 0; g < GROUPS; g++)
		json_key_uint(j, group_name(g), f->group[g]);
	json_end_object(j);
	json_key_bool(j, "estimated", f->missing);
	json_key_uint(j, "calls", f->calls);
	json_key_uint(j, "inner", f->inner);
	json_key_uint(j, "missing", f->missing);
	json_key_uint_known(j, "bytes", f->bytes, f->moves);
	json_key_uint(j, "cost_ns", f->cost);
	json_key_uint_known(j, "met", f->met, known);
	json_key_uint_known(j, "came_last", f->last, known);
	json_key_uint_known(j, "late_ns", f->late, known);
}

static void put_both(struct json *j, const struct top *top, const struct live_figures *now,
		     const struct live_figures *all)
{
	json_key(j, "interval");
	if (now) {
		json_object(j);
		put_figures(j, now, !top->told);
		json_end_object(j);
	} else {
		json_null(j);
	}
	json_key(j, "all");
	if (all) {
		json_object(j);
		put_figures(j, all, !top->told);
		json_end_object(j);
	} else {
		json_null(j);
	}
}

static void put_process(struct json *j, const struct top *top, uint32_t process)
{
	const struct def_process *p = process < top->d->nprocesses ? &top->d->processes[process] : NULL;

	json_key_uint_known(j, "pid", p ? p->pid : 0, p);
	json_key_int_known(j, "rank", p ? p->rank : 0, p && p->rank >= 0);
	if (top->told)
		json_key_string(j, "node", process_node(top->d, process));
}

static void put_thread(struct json *j, const struct top *top, const char *key, uint32_t thread)
{
	json_key(j, key);
	if (thread >= top->d->nthreads) {
		json_null(j);
		return;
	}
	json_object(j);
	put_process(j, top, top->d->threads[thread].process);
	json_key_uint(j, "tid", top->d->threads[thread].tid);
	json_key_string(j, "name", top->d->threads[thread].name);
	json_end_object(j);
}

static void put_site(struct json *j, const struct top *top, uint32_t site)
{
	char text[400];

	json_key(j, "site");
	if (*top_site_name(top, site, text, sizeof(text)))
		json_string(j, text);
	else
		json_null(j);
}

static void put_event_name(struct json *j, const struct top *top, uint32_t probe)
{
	json_key_string(j, "event", probe < top->d->nprobes ? top->d->probes[probe].event : NULL);
	json_key_string(j, "model", probe < top->d->nprobes ? top->d->probes[probe].model : NULL);
}

static void put_event_figures(struct json *j, const char *key, const struct live_event_figures *f, bool moves)
{
	json_key(j, key);
	json_object(j);
	json_key_uint(j, "calls", f->calls);
	json_key_uint(j, "missing", f->missing);
	json_key_uint(j, "time_ns", f->time);
	json_key_uint(j, "self_ns", f->self);
	json_key_uint(j, "full_ns", f->full);
	json_key_uint(j, "longest_ns", f->longest);
	json_key_uint_known(j, "bytes", f->bytes, moves);
	json_end_object(j);
}

struct events {
	struct live_event *list;
	size_t count;
};

static void put_events(struct json *j, const struct top *top, const struct events *events, const char *key, bool inner)
{
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; i < events->count; i++) {
		const struct live_event *event = &events->list[i];

		if (top_is_inner(top, event->probe) != inner)
			continue;
		json_object(j);
		put_event_name(j, top, event->probe);
		put_event_figures(j, "interval", &event->now, event->moves);
		put_event_figures(j, "all", &event->all, event->moves);
		put_site(j, top, event->site);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_row_events(struct json *j, const struct top *top, const struct top_row *row)
{
	struct events events;

	events.list = top_events(top, row, &events.count);
	put_events(j, top, &events, "events", false);
	put_events(j, top, &events, "inner_events", true);
	free(events.list);
}

static void put_ended_events(struct json *j, const struct top *top, uint32_t process)
{
	struct events events;

	events.list = top_ended_events(top, process, &events.count);
	put_events(j, top, &events, "ended_events", false);
	put_events(j, top, &events, "ended_inner_events", true);
	free(events.list);
}

static void put_in(struct json *j, const struct top *top, const struct live_call *in)
{
	json_key(j, "in");
	if (in->probe == NO_INDEX) {
		json_null(j);
		return;
	}
	json_object(j);
	put_event_name(j, top, in->probe);
	json_key_uint(j, "since_ns", in->start);
	json_end_object(j);
}

static void put_earlier(struct json *j, const struct top *top, uint32_t process)
{
	const struct top_row row = { .process = process, .figures = top_process(top, process, true) };
	const struct top_earlier *earlier = top_earlier_of(top, &row);

	json_key(j, "in_before");
	if (!earlier) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_string(j, "event", earlier->event);
	json_key_string(j, "model", earlier->model);
	json_key_int(j, "tid", earlier->tid);
	json_key_uint_known(j, "at_least_ns", earlier->at_least, earlier->at_least);
	json_key_bool(j, "likely", earlier->likely);
	json_key_string(j, "called_from", earlier->place);
	json_end_object(j);
}

static void put_processes(struct json *j, const struct top *top)
{
	json_key(j, "processes");
	json_array(j);
	for (uint32_t i = 0; i < top->d->nprocesses; i++) {
		if (top->d->processes[i].left_out)
			continue;
		json_object(j);
		put_process(j, top, i);
		json_key_string(j, "unit", top->d->processes[i].rank >= 0 ? top->d->processes[i].unit : NULL);
		json_key_string(j, "name", top->d->processes[i].name);
		json_key_bool(j, "ended", top->d->processes[i].end);
		put_both(j, top, top_process(top, i, false), top_process(top, i, true));
		put_earlier(j, top, i);
		if (top->told)
			put_row_events(j, top, &(struct top_row){ .process = i, .thread = NO_INDEX });
		else
			put_ended_events(j, top, i);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_threads(struct json *j, const struct top *top)
{
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < live_threads(top->live); i++) {
		const struct live_thread *t = live_thread(top->live, i);
		const struct top_row row = { .process = t->process, .thread = t->thread };

		if (thread_is_left_out(top->d, t->thread))
			continue;
		json_object(j);
		put_process(j, top, t->process);
		json_key_uint(j, "tid", top->d->threads[t->thread].tid);
		json_key_string(j, "name", top->d->threads[t->thread].name);
		json_key_bool(j, "ended", t->ended);
		put_both(j, top, t->seen ? &t->now : NULL, t->seen ? &t->all : NULL);
		put_in(j, top, &t->in);
		put_row_events(j, top, &row);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_meeting_figures(struct json *j, const struct top *top, const char *key,
				const struct live_meeting_figures *f)
{
	json_key(j, key);
	json_object(j);
	json_key_uint(j, "met", f->met);
	json_key_uint(j, "unknown", f->unknown);
	json_key_uint(j, "late_ns", f->late);
	json_key_uint(j, "longest_ns", f->longest);
	put_thread(j, top, "last", f->last);
	if (f->last != NO_INDEX) {
		json_key_uint(j, "last_times", f->last_times);
		json_key_uint(j, "last_late_ns", f->last_late);
	}
	json_end_object(j);
}

static void put_meetings(struct json *j, const struct top *top)
{
	json_key(j, "meetings");
	json_array(j);
	for (size_t i = 0; i < live_meetings(top->live); i++) {
		const struct live_meeting *m = live_meeting(top->live, i);

		json_object(j);
		put_event_name(j, top, m->probe);
		json_key_uint_known(j, "object", m->object, m->has_object);
		json_key_uint(j, "members", m->members);
		put_meeting_figures(j, top, "interval", &m->now);
		put_meeting_figures(j, top, "all", &m->all);
		json_key_uint(j, "waiting", m->waiting);
		if (m->waiting)
			json_key_uint(j, "waiting_since_ns", m->waiting_since);
		put_thread(j, top, "awaited", m->awaited);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_lock_figures(struct json *j, const char *key, const struct live_lock_figures *f)
{
	json_key(j, key);
	json_object(j);
	json_key_uint(j, "calls", f->calls);
	json_key_uint(j, "wait_ns", f->wait);
	json_end_object(j);
}

static void put_locks(struct json *j, const struct top *top)
{
	json_key(j, "locks");
	json_array(j);
	for (size_t i = 0; i < live_locks(top->live); i++) {
		const struct live_lock *lock = live_lock(top->live, i);

		json_object(j);
		put_event_name(j, top, lock->probe);
		json_key_uint(j, "lock", lock->lock);
		put_lock_figures(j, "interval", &lock->now);
		put_lock_figures(j, "all", &lock->all);
		json_key_uint(j, "waiting", lock->waiting);
		put_thread(j, top, "holder", lock->holder);
		put_site(j, top, lock->site);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_nodes(struct json *j, const struct top_told *told)
{
	json_key(j, "nodes");
	json_array(j);
	for (size_t i = 0; i < told->nnodes; i++) {
		json_object(j);
		json_key_string(j, "node", told->nodes[i].name);
		json_key_bool(j, "answered", !told->nodes[i].trouble);
		json_key_string(j, "why", told->nodes[i].trouble);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_all(struct json *j, const struct top *top)
{
	json_object(j);
	json_key_uint_known(j, "now_ns", top_now(top), !top->told);
	json_key_uint(j, "interval_ns", top_interval(top));
	json_key_uint(j, "since_start_ns", top_since(top));
	json_key_bool(j, "ended", top->ended);
	json_key(j, "loss");
	json_object(j);
	json_key_uint(j, "delivered", top->spans);
	json_key_uint(j, "lost", top->lost);
	json_key_uint(j, "summed", top->summed);
	json_key_uint(j, "skipped", top->skipped);
	json_end_object(j);
	json_key(j, "own_cpu");
	json_double(j, top->own_cpu);
	json_key_string(j, "cost", top->cost);
	if (top->told)
		put_nodes(j, top->told);
	put_processes(j, top);
	if (!top->told) {
		put_threads(j, top);
		put_meetings(j, top);
		put_locks(j, top);
	}
	json_end_object(j);
}

int top_write_json(const struct top *top, json_write_fn write, void *context)
{
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init(j, write, context, false);
	put_all(j, top);
	err = json_finish(j);
	free(j);
	return err;
}

int top_print_json(const struct top *top, FILE *out)
{
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init_file(j, out, true);
	put_all(j, top);
	err = json_finish(j);
	free(j);
	if (!err && (fputc('\n', out) == EOF || fflush(out)))
		err = -EIO;
	return err;
}
