/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced.c - events that a program tells of itself.
 *
 * Some functions do nothing but say that something begins, ends, or has happened: user events (pupc_event_start), and
 * what a compiler puts in for each construct of the language (gasp_event_notify). A model says which functions they are
 * (docs/models.md). Each call is a record without duration; here START and END become the span that they mean, under
 * the name of the event.
 *
 * Pairing: an END belongs to the latest START of the same number on its thread. So events may overlap without nesting.
 * The span is delivered at its END, in the place of that record. What a START without an END was cut off by is the
 * span's reason; an END without a START is counted and said.
 *
 * Depth: the kernel does not know that an announced event is in progress. Calls inside it are one deeper than it has
 * them, which is corrected as they are delivered: between START and END all records of the thread come in order.
 *
 * Echoes: pupc_event_start() may be a wrapper of gasp_event_notify(). The same announcement by another function right
 * after the first, on the same thread, is an echo of it. And where a compiler announced an event, the runtime's own
 * function, which is observed too, is the same event again: the compiler's counts, for it knows the place in the source
 * and all arguments. A thread's end is announced as a whole before the function runs that ends it.
 */
#include <string.h>

#include "capture/announced/announced_private.h"
#include "util/array.h"
#include "util/log.h"

#define OPEN_MOST 4096 /* events in progress on a thread */

/* --- START, END, ATOMIC ---------------------------------------------------------- */

/* The place that the program names, else that of the call. */
static uint32_t site_of(struct capture_session *s, struct captured_thread *t, const struct telling *telling,
			const struct gb_span *raw)
{
	struct captured_process *p = session_process(s, t->pid);
	char file[1024];

	if (telling->file != SLOT_NOWHERE && announced_was_read(raw, telling->file) && raw->value[telling->file] && p &&
	    announced_constant_text(s, p, raw->value[telling->file], file, sizeof(file)))
		return session_named_site(s, p->index, raw->value[telling->file], file,
					  telling->line == SLOT_NOWHERE ? 0 : (uint32_t)raw->value[telling->line],
					  telling->column == SLOT_NOWHERE ? 0 : (uint32_t)raw->value[telling->column]);
	return raw->caller ? session_site(s, t, raw->caller, raw->end) : NO_INDEX;
}

static struct span span_of(const struct captured_thread *t, const struct open_event *o)
{
	struct span span = {
		.start = o->start,
		.end = UINT64_MAX,
		.thread = t->index,
		.probe = o->probe,
		.site = o->site,
		.unread = o->unread,
		.depth = o->depth,
		.reason = GB_END_RETURN,
		.nwords = o->nwords,
	};

	memcpy(span.words, o->words, o->nwords * sizeof(span.words[0]));
	return span;
}

static void emit(struct capture_session *s, struct captured_thread *t, const struct open_event *o, uint64_t end,
		 uint32_t sequence, enum gb_end reason)
{
	struct span span = span_of(t, o);

	span.end = end;
	span.sequence = sequence;
	span.reason = reason;
	session_check_shared(s, t, &span);
	session_deliver(s, &span);
}

unsigned session_announced_below(const struct captured_thread *t, uint64_t start)
{
	unsigned below = 0;

	while (below < t->announced.nopen && t->announced.open[below].start <= start)
		below++;
	return below;
}

void session_visit_announced(struct capture_session *s,
			     void (*visit)(void *context, const struct span *span, bool silent), void *context)
{
	for (const struct captured_thread *t = s->threads.live; t; t = t->next_live)
		for (size_t i = 0; i < t->announced.nopen; i++) {
			struct span span = span_of(t, &t->announced.open[i]);

			visit(context, &span, false);
		}
}

static void forget(struct captured_thread *t, size_t at)
{
	memmove(&t->announced.open[at], &t->announced.open[at + 1],
		(--t->announced.nopen - at) * sizeof(*t->announced.open));
}

static void cut(struct capture_session *s, struct captured_thread *t, size_t at, uint64_t time)
{
	t->announced.open[at].event->unended++;
	emit(s, t, &t->announced.open[at], time, t->next - 1, GB_END_OFF);
	forget(t, at);
}

/* The last time (ns) before this one at which the process was switched off; 0: never. */
static uint64_t off_before(const struct capture_session *s, const struct captured_thread *t, uint64_t start,
			   uint64_t time)
{
	uint32_t process = s->d->threads[t->index].process;

	for (size_t i = 0; i < s->d->ncontrols; i++) {
		const struct def_control *c = &s->d->controls[i];

		if (c->process == process && !c->value && c->time > start && c->time < time)
			return c->time;
	}
	return 0;
}

static void cut_off(struct capture_session *s, struct captured_thread *t, uint64_t time)
{
	const struct captured_process *p = session_process(s, t->pid);

	if (!p || !p->announced.off)
		return;
	for (size_t i = t->announced.nopen; i--;) {
		uint64_t off = off_before(s, t, t->announced.open[i].start, time);

		if (off)
			cut(s, t, i, off);
	}
}

static void start(struct capture_session *s, struct captured_thread *t, const struct open_event *o)
{
	struct open_event *larger = t->announced.open;

	if (t->announced.nopen == OPEN_MOST ||
	    array_one_more(&larger, &t->announced.open_room, t->announced.nopen, sizeof(*larger))) {
		o->event->unended++;
		return;
	}
	t->announced.open = larger;
	t->announced.open[t->announced.nopen++] = *o;
}

static void end(struct capture_session *s, struct captured_thread *t, struct announced_event *e,
		const struct telling *telling, const struct gb_span *raw)
{
	for (size_t i = t->announced.nopen; i--;) {
		struct open_event *o = &t->announced.open[i];

		if (o->event != e)
			continue;
		announced_take_values(s, t, o, telling, raw, true);
		emit(s, t, o, raw->start, raw->sequence, GB_END_RETURN);
		if (e->key.runtime && s->d->probes[e->probe].role == ROLE_EXIT)
			t->announced.told_exit = e->name;
		forget(t, i);
		return;
	}
	e->unmatched_ends++;
}

/* Only the general functions are called by others; pupc_event_start() does not call pupc_event_start_reals(). */
static bool is_echo(struct captured_thread *t, const struct site *site, const struct gb_span *raw, uint32_t id,
		    enum event_type kind)
{
	bool echo = t->announced.told.fresh && t->announced.told.site != raw->probe && t->announced.told.id == id &&
		    t->announced.told.kind == kind && site->function->marks & MARK_NOTIFIES;

	t->announced.told.fresh = !echo;
	t->announced.told.id = id;
	t->announced.told.kind = kind;
	if (!echo)
		t->announced.told.site = raw->probe;
	return echo;
}

/* GASP 1.4 section 3.2: GASP_START, GASP_END, GASP_ATOMIC are 0, 1, 2. -1: none of them. */
static int kind_of(const struct site *site, const struct telling *telling, const struct gb_span *raw)
{
	unsigned marks = site->function->marks;

	if (!(marks & MARK_NOTIFIES))
		return marks & MARK_STARTS ? EVENT_START : marks & MARK_ENDS ? EVENT_END : EVENT_ATOMIC;
	return (uint32_t)raw->value[telling->kind] < EVENT_TYPES ? (int)raw->value[telling->kind] & 3 : -1;
}

/* True where the record has been delivered, as a span. */
static bool announce(struct capture_session *s, struct captured_thread *t, const struct site *site,
		     const struct gb_span *raw)
{
	const struct telling *telling = &site->captures[0].telling;
	uint32_t id = raw->value[telling->id];
	int kind = kind_of(site, telling, raw);
	struct announced_event *e;
	struct open_event now;

	if (kind < 0 || is_echo(t, site, raw, id, kind))
		return false;
	e = announced_event(s, t, id, site, s->probes.first[raw->probe]);
	if (!e || e->unwanted)
		return false;
	announced_tell_kernel(s, e, t->pid, telling);
	if (kind == EVENT_END) {
		uint64_t before = s->totals.spans;

		end(s, t, e, telling, raw);
		return s->totals.spans > before;
	}
	now = (struct open_event){ .event = e,
				   .probe = e->probe,
				   .start = raw->start,
				   .site = site_of(s, t, telling, raw),
				   .depth = raw->depth + t->announced.nopen };
	announced_take_values(s, t, &now, telling, raw, false);
	if (kind == EVENT_START)
		start(s, t, &now);
	else
		emit(s, t, &now, raw->start, raw->sequence, GB_END_ATOMIC);
	return kind == EVENT_ATOMIC;
}

/* --- for the rest of user/capture ---------------------------------------------- */

bool session_announced(struct capture_session *s, struct captured_thread *t, const struct gb_span *raw)
{
	const struct site *site = &s->plan->sites[raw->probe];
	bool span = false;

	if (!(site->function->marks & MARKS_TELL))
		return false;
	if (site->function->marks & MARK_CONTROLS && site->function->of && site->function->of->listed)
		return false; /* the runtime's model says that it is an event as well (MPI_Pcontrol) */
	if (t->announced.nopen)
		cut_off(s, t, raw->start);
	if (site->function->marks & MARK_CREATES)
		announced_create(s, t, site, raw);
	else if (site->function->marks & MARKS_ANNOUNCE)
		span = announce(s, t, site, raw);
	t->merged += !span;
	return true;
}

/* A number that stands in the name of the runtime's function (a strict access) is better evidence than what a compiler
 * passes. */
static void take_fixed(struct open_event *o, const struct def_probe *inner)
{
	unsigned at = 0;

	for (size_t i = 0; i < o->event->items[0].count; i++) {
		const struct item *item = &o->event->items[0].item[i];

		for (uint32_t k = 0; item->kind == ITEM_WORD && k < inner->narguments; k++) {
			const struct def_argument *a = &inner->arguments[k];

			if (a->event != EVENT_START || !a->nfrom || a->from[0].what != FROM_NUMBER ||
			    strcmp(a->name, item->name))
				continue;
			o->fixed = item->name;
			o->fixed_number = a->from[0].number;
			if (at < o->nwords && !(o->unread >> at & 1))
				o->words[at] = (uint64_t)o->fixed_number;
		}
		at += item_words(item);
	}
}

bool session_inside_announced(struct capture_session *s, struct captured_thread *t, struct span *span)
{
	const char *event = s->d->probes[span->probe].event;
	unsigned below = 0;

	cut_off(s, t, span->start);
	/* A thread ends once: what comes after the announcement of it is its execution. */
	if (t->announced.told_exit && event && !strcmp(event, t->announced.told_exit)) {
		s->announced.doubles++;
		t->merged++;
		return false;
	}
	for (size_t i = 0; i < t->announced.nopen; i++) {
		struct open_event *o = &t->announced.open[i];

		if (o->start > span->start)
			break;
		below++;
		if (o->event->key.runtime && event && !strcmp(event, o->event->name)) {
			take_fixed(o, &s->d->probes[span->probe]);
			s->announced.doubles++;
			t->merged++;
			return false;
		}
	}
	span->depth += below;
	return true;
}

void session_end_announced(struct capture_session *s, struct captured_thread *t, uint64_t time, enum gb_end reason)
{
	cut_off(s, t, time);
	while (t->announced.nopen) {
		struct open_event *o = &t->announced.open[t->announced.nopen - 1];

		o->event->unended++;
		emit(s, t, o, time, t->next - 1, reason);
		forget(t, t->announced.nopen - 1);
	}
}

void session_read_told(struct capture_session *s, struct captured_process *p)
{
	if (!p->process)
		return;
	announced_read_table(s, p);
	announced_foretell(s, p);
}

void session_say_announced(struct capture_session *s)
{
	for (const struct announced_event *e = s->announced.events; e; e = e->hh.next)
		if (e->unmatched_ends)
			log_warn("%s of process %u ended %llu time%s without having started: before it was observed, "
				 "on another thread, or while "
				 "measurement was off",
				 log_safe(e->name ?: "an event without a name"), s->d->processes[e->key.process].pid,
				 (unsigned long long)e->unmatched_ends, e->unmatched_ends == 1 ? "" : "s");
	if (s->announced.doubles)
		log_info("%llu calls are left out, since the program's own instrumentation tells the same events",
			 (unsigned long long)s->announced.doubles);
}

void session_free_announced(struct capture_session *s)
{
	announced_free_meanings(s);
	announced_free_events(s);
}
