/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.c - where the time of each thread goes, interval by interval.
 *
 * An interval ends while calls are in progress. So at its end they are looked at, and counted as if they ended there,
 * the innermost first; in the next interval only the rest of them counts, since each call is cut to the interval. For
 * that the look must have one moment for all threads. It is taken first; then the calls in progress are read from the
 * kernel; then the rings are drained. A call that was in progress at the moment is in one of the two, or in both, and
 * then it counts once. Spans that end after the moment are cut, too, and counted again in the next interval, in which
 * their rest lies.
 *
 * Calls that become no span are counted by the kernel (bpf/sums.h). Their time is estimated by that of the thread's
 * other calls of this function where it was not measured, and taken from the time in no call, since nobody knows what
 * they lay in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/private.h"
#include "util/array.h"
#include "util/clock.h"

#define DRAINS 2 /* the second tells what the first found out of order */

/* --- spans ----------------------------------------------------------------- */

/* Of the calls in progress that were read, this one has ended. */
static void strike_out(struct live *live, const struct span *span)
{
	struct live_state *s = span->thread < live->nstates ? live->states[span->thread] : NULL;

	for (size_t i = 0; s && i < s->ncalls; i++) {
		struct live_open *call = &live->calls[s->first_call + i];

		if (call->span.start == span->start && call->span.depth == span->depth)
			call->ended = true;
	}
}

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	struct live *live = context;
	int err = 0;

	if (span->thread >= d->nthreads || span->probe >= d->nprobes || span->end < span->start)
		return 0;
	if (live->until != UINT64_MAX) {
		strike_out(live, span);
		if (span->end > live->until) {
			err = array_one_more(&live->later, &live->later_room, live->nlater, sizeof(*live->later));
			if (!err)
				live->later[live->nlater++] = *span;
			live->err = live->err ?: err;
			return 0;
		}
	}
	err = live_account(live, span, true);
	if (!err)
		err = live_count(live, span);
	live->err = live->err ?: err;
	return 0;
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct live *live = context;

	if (gap->thread < live->nstates && live->states[gap->thread])
		nesting_gap(&live->states[gap->thread]->nesting);
	return 0;
}

/* --- calls in progress -------------------------------------------------- */

static void take_open(void *context, const struct span *span, bool silent)
{
	struct live *live = context;
	struct live_state *s;

	if (span->probe == NO_INDEX || span->start >= live->until)
		return;
	s = live_state_of(live, span->thread);
	if (!s || array_one_more(&live->calls, &live->calls_room, live->ncalls, sizeof(*live->calls))) {
		live->err = -ENOMEM;
		return;
	}
	live->calls[live->ncalls++] = (struct live_open){ .span = *span };
}

static int by_thread(const void *a, const void *b)
{
	const struct span *x = &((const struct live_open *)a)->span, *y = &((const struct live_open *)b)->span;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Those of each thread stand together, the outermost first. */
static void sort_open(struct live *live)
{
	for (size_t i = 0; i < live->nstates; i++)
		if (live->states[i])
			live->states[i]->ncalls = 0;
	if (live->ncalls)
		qsort(live->calls, live->ncalls, sizeof(*live->calls), by_thread);
	for (size_t i = 0; i < live->ncalls; i++) {
		struct live_state *s = live->states[live->calls[i].span.thread];

		if (!s->ncalls)
			s->first_call = i;
		s->ncalls++;
	}
}

/* One call inside another began after it; else it was read while it was being written. */
static void strike_out_odd(struct live *live, struct live_state *s)
{
	uint64_t outer = 0;

	for (size_t i = 0; i < s->ncalls; i++) {
		struct live_open *call = &live->calls[s->first_call + i];

		if (call->ended)
			continue;
		if (call->span.start < outer)
			call->ended = true;
		else if (call->span.depth)
			outer = call->span.start;
	}
}

/* Which of the calls in progress says what the thread is at. */
static void choose_call(struct live *live, struct live_state *s)
{
	s->is.in = (struct live_call){ .probe = NO_INDEX, .site = NO_INDEX };
	for (size_t i = 0; i < s->ncalls; i++) {
		const struct live_open *call = &live->calls[s->first_call + i];

		if (call->ended)
			continue;
		s->is.in = (struct live_call){ call->span.probe, call->span.site, call->span.start };
		if (live_learn(live, call->span.probe) && live->probes[call->span.probe].is.opaque)
			return;
	}
}

static int account_open(struct live *live, struct live_state *s)
{
	int err = 0;

	strike_out_odd(live, s);
	choose_call(live, s);
	for (size_t i = s->ncalls; i-- > 0 && !err;) {
		const struct live_open *call = &live->calls[s->first_call + i];
		const struct live_probe *p = live_learn(live, call->span.probe);

		if (call->ended)
			continue;
		err = live_account(live, &call->span, false);
		if (!err && p && p->meets)
			err = teams_take(live, p, &call->span, false);
	}
	return err;
}

/* --- calls that became no span ------------------------------------------ */

static uint64_t mean_of(const struct live_event *row, const struct def_sum *sum)
{
	uint64_t calls = row->open.calls - row->open.missing;

	if (calls)
		return row->open.full / calls;
	calls = row->all.calls - row->all.missing;
	if (calls)
		return row->all.full / calls;
	return sum->timed ? sum->total / sum->timed : 0;
}

static int add_sum(struct live *live, const struct def_sum *sum, struct def_sum *before)
{
	uint64_t missing = sum->lost + sum->summed + sum->skipped - before->lost - before->summed - before->skipped;
	uint64_t timed = sum->timed - before->timed, time = sum->total - before->total;
	const struct live_probe *p = missing ? live_learn(live, sum->probe) : NULL;
	struct live_state *s = p ? live_state_of(live, sum->thread) : NULL;
	struct live_event *row = s ? live_event_row(s, p->is.event, sum->probe) : NULL;

	if (!missing)
		return 0;
	if (!row)
		return -ENOMEM;
	live_see(live, s, live->start);
	if (missing > timed && p->is.group != GROUP_OTHER)
		time += (missing - timed) * mean_of(row, sum);
	row->open.calls += missing;
	row->open.missing += missing;
	row->open.time += time;
	row->open.self += time;
	if (p->is.inner) { /* its time is that of the call around it */
		s->open.inner += missing;
	} else {
		s->open.calls += missing;
		s->open.missing += missing;
		s->missing[p->is.group] += time;
	}
	*before = *sum;
	return 0;
}

static int add_sums(struct live *live)
{
	int err = array_reach(&live->sums, &live->sums_room, live->d->nsums, sizeof(*live->sums));

	for (size_t i = 0; i < live->d->nsums && !err; i++)
		err = add_sum(live, &live->d->sums[i], &live->sums[i]);
	return err;
}

/* --- closing an interval ------------------------------------------------- */

static void note_alive(void *context, const struct capture_thread *thread)
{
	struct live *live = context;
	struct live_state *s = live_state_of(live, thread->thread);

	if (!s)
		return;
	s->alive = true;
	s->open.cost = thread->cost - s->cost;
	s->cost = thread->cost;
}

static void add_figures(struct live_figures *to, const struct live_figures *from)
{
	to->wall += from->wall;
	add_groups(to->group, from->group);
	to->calls += from->calls;
	to->inner += from->inner;
	to->missing += from->missing;
	to->bytes += from->bytes;
	to->moves |= from->moves;
	to->cost += from->cost;
	to->met += from->met;
	to->last += from->last;
	to->late += from->late;
}

/* The interval that is open becomes the one that is told of. */
static void close_thread(struct live *live, struct live_state *s)
{
	struct live_figures *f = &s->open;
	uint64_t from = s->since > live->start ? s->since : live->start, group[GROUPS] = { 0 }, inside = 0;

	add_groups(group, s->missing);
	nesting_groups(&s->nesting, group); /* also of calls whose own call was lost */
	f->wall = s->is.seen && live->until > from ? live->until - from : 0;
	for (int i = 0; i < GROUPS; i++)
		inside += group[i];
	/* More than there is: estimates are estimates. */
	for (int i = 0; i < GROUPS; i++)
		f->group[i] = inside > f->wall ? (unsigned __int128)group[i] * f->wall / inside : group[i];
	f->group[GROUP_COMPUTE] = f->wall;
	for (int i = GROUP_COMPUTE + 1; i < GROUPS; i++)
		f->group[GROUP_COMPUTE] -= f->group[i];
	if (s->shares && !s->begins) { /* a runtime's own thread waits between its shares of regions */
		f->group[GROUP_WAIT] += f->group[GROUP_COMPUTE];
		f->group[GROUP_COMPUTE] = 0;
	}
	memset(s->missing, 0, sizeof(s->missing));
	nesting_restart(&s->nesting);
}

static void add_event_figures(struct live_event_figures *to, const struct live_event_figures *more)
{
	to->calls += more->calls;
	to->missing += more->missing;
	to->time += more->time;
	to->self += more->self;
	to->full += more->full;
	to->bytes += more->bytes;
	if (more->longest > to->longest)
		to->longest = more->longest;
}

void live_event_add(struct live_event *to, const struct live_event *more)
{
	add_event_figures(&to->now, &more->now);
	add_event_figures(&to->all, &more->all);
	to->moves |= more->moves;
	if (to->site == NO_INDEX)
		to->site = more->site;
}

static void add_events(struct live_state *s)
{
	for (size_t i = 0; i < s->is.nevents; i++) {
		struct live_event *row = &s->is.events[i];

		row->now = row->open;
		memset(&row->open, 0, sizeof(row->open));
		add_event_figures(&row->all, &row->now);
	}
}

static int keep_event(struct live_process *p, const struct live_event *event)
{
	size_t at = 0;

	while (at < p->nevents && p->events[at].event != event->event)
		at++;
	if (at < p->nevents)
		return live_event_add(&p->events[at], event), 0;
	if (array_one_more(&p->events, &p->events_room, p->nevents, sizeof(*p->events)))
		return -ENOMEM;
	p->events[p->nevents++] = *event;
	return 0;
}

/* Its process goes on to tell of it. */
static int keep_events(struct live *live, const struct live_thread *t)
{
	int err = 0;

	for (size_t i = 0; i < t->nevents && t->process < live->nprocesses && !err; i++) {
		struct live_event event = t->events[i];

		memset(&event.now, 0, sizeof(event.now));
		err = keep_event(&live->processes[t->process], &event);
	}
	return err;
}

/* What was told of the last interval is over. 0 or -ENOMEM. */
static int forget_interval(struct live *live)
{
	int err = 0;

	for (size_t i = 0; i < live->nshown; i++) {
		struct live_state *s = live->shown[i];

		if (!s->is.ended)
			continue;
		err = keep_events(live, &s->is) ?: err;
		live->states[s->is.thread] = NULL;
		live_free_state(s);
	}
	live->nshown = 0;
	return err;
}

static int tell(struct live *live)
{
	int err = array_reach(&live->processes, &live->processes_room, live->d->nprocesses, sizeof(*live->processes));

	if (err)
		return err;
	live->nprocesses = live->d->nprocesses;
	for (size_t i = 0; i < live->nprocesses; i++) {
		memset(&live->processes[i].now, 0, sizeof(live->processes[i].now));
		live->processes[i].all = live->processes[i].ended;
	}
	for (size_t i = 0; i < live->nstates && !err; i++) {
		struct live_state *s = live->states[i];
		struct live_process *p;

		if (!s)
			continue;
		s->is.now = s->open;
		memset(&s->open, 0, sizeof(s->open));
		add_figures(&s->is.all, &s->is.now);
		s->is.ended = !s->alive && !s->rest;
		add_events(s);
		err = array_one_more(&live->shown, &live->shown_room, live->nshown, sizeof(*live->shown));
		if (!err)
			live->shown[live->nshown++] = s;
		if (s->is.process >= live->nprocesses)
			continue;
		p = &live->processes[s->is.process];
		p->seen |= s->is.seen;
		add_figures(&p->now, &s->is.now);
		add_figures(&p->all, &s->is.all);
		if (s->is.ended)
			add_figures(&p->ended, &s->is.all);
	}
	return err;
}

/* Those that end after the moment of the look are in progress at it. */
static int account_later(struct live *live)
{
	int err = 0;

	for (size_t i = 0; i < live->nlater && !err; i++) {
		const struct span *span = &live->later[i];
		const struct live_probe *p = live_learn(live, span->probe);
		struct live_state *s = p ? live_state_of(live, span->thread) : NULL;

		if (!s)
			return -ENOMEM;
		s->rest = true;
		if (span->start >= live->until)
			continue;
		err = live_account(live, span, false);
		if (!err && p->meets)
			err = teams_take(live, p, span, false);
	}
	return err;
}

/* The rest of them is of the next interval. */
static void take_later(struct live *live)
{
	size_t count = live->nlater;

	live->nlater = 0;
	for (size_t i = 0; i < count; i++) {
		if (live->states[live->later[i].thread])
			live->states[live->later[i].thread]->rest = false;
		take_span(live, live->d, &live->later[i]);
	}
}

static void find_alive(struct live *live)
{
	for (size_t i = 0; i < live->nstates; i++)
		if (live->states[i])
			live->states[i]->alive = false;
	capture_visit_threads(live->capture, note_alive, live);
}

static int close_interval(struct live *live, bool last)
{
	int err = account_later(live);

	for (size_t i = 0; i < live->nstates && !err; i++)
		if (live->states[i])
			err = account_open(live, live->states[i]);
	if (!err)
		err = add_sums(live);
	for (size_t i = 0; i < live->nstates; i++)
		if (live->states[i])
			close_thread(live, live->states[i]);
	if (!err)
		err = teams_end_look(live, last);
	if (!err)
		err = locks_end_look(live);
	err = forget_interval(live) ?: err;
	return tell(live) ?: err;
}

int live_look(struct live *live, bool last)
{
	int err;

	capture_drain(live->capture); /* threads and processes up to here are known */
	live->until = clock_monotonic();
	live->ncalls = 0;
	err = capture_visit_open(live->capture, take_open, live);
	sort_open(live);
	for (int i = 0; i < DRAINS; i++)
		capture_drain(live->capture);
	err = capture_read_sums(live->capture) ?: err;
	find_alive(live);
	teams_begin_look(live);
	locks_begin_look(live);
	live->err = close_interval(live, last) ?: live->err;
	live->from = live->start;
	live->start = live->now = live->until;
	live->until = UINT64_MAX;
	take_later(live);
	return err ?: live->err;
}

/* --- the door ------------------------------------------------------------ */

struct live *live_new(struct capture_session *capture, const struct definitions *d, const struct model_set *models)
{
	struct live *live = calloc(1, sizeof(*live));
	struct span_sink sink = { .span = take_span, .gap = take_gap, .context = live };

	if (!live)
		return NULL;
	live->capture = capture;
	live->d = d;
	live->models = models;
	live->until = UINT64_MAX;
	capture_add_sink(capture, &sink);
	return live;
}

void live_begin(struct live *live, uint64_t now)
{
	live->began = live->start = live->from = live->now = now;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	for (size_t i = 0; i < live->nstates; i++)
		live_free_state(live->states[i]);
	for (size_t i = 0; i < live->nprobes; i++)
		accounted_probe_free(&live->probes[i].is);
	teams_free(live);
	locks_free(live);
	free(live->states);
	free(live->shown);
	for (size_t i = 0; i < live->nprocesses; i++)
		free(live->processes[i].events);
	free(live->processes);
	free(live->probes);
	event_names_free(&live->events);
	free(live->calls);
	free(live->later);
	free(live->sums);
	free(live);
}

uint64_t live_interval(const struct live *live)
{
	return live->now - live->from;
}

uint64_t live_since(const struct live *live)
{
	return live->now - live->began;
}

uint64_t live_now(const struct live *live)
{
	return live->now;
}

size_t live_threads(const struct live *live)
{
	return live->nshown;
}

const struct live_thread *live_thread(const struct live *live, size_t index)
{
	return &live->shown[index]->is;
}

const struct live_figures *live_process(const struct live *live, uint32_t process, bool all)
{
	if (process >= live->nprocesses || !live->processes[process].seen)
		return NULL;
	return all ? &live->processes[process].all : &live->processes[process].now;
}

size_t live_ended_events(const struct live *live, uint32_t process)
{
	return process < live->nprocesses ? live->processes[process].nevents : 0;
}

const struct live_event *live_ended_event(const struct live *live, uint32_t process, size_t index)
{
	return &live->processes[process].events[index];
}
