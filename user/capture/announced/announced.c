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
 *
 * Values: what an event carries is known from its format, or from its runtime's model. Integers and pointers come in
 * registers and on the stack, as the kernel sent them; text is read by the kernel at the call, once it knows which
 * value is one (struct gb_texts); before that only text in memory that nobody writes to is known. Floating point
 * numbers are in registers that no probe can see; of these libpupc stores the first ones where a probe can.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/announced/announced_private.h"
#include "util/array.h"
#include "util/log.h"

#define OPEN_MOST 4096 /* events in progress on a thread */
#define NO_WORD 255

/* --- values -------------------------------------------------------------------- */

/* Where the next argument of each kind is, as the ABI has it. */
struct walk {
	const struct telling *telling;
	const struct gb_span *raw;
	unsigned integers, reals, stack;
	unsigned texts; /* met so far */
};

static struct walk walk_new(const struct telling *telling, const struct gb_span *raw)
{
	struct walk w = { .telling = telling, .raw = raw, .integers = telling->rest };

	if (telling->list)
		w.integers = raw && LIST_USED < raw->values && !(raw->unread >> LIST_USED & 1)
				     ? (uint32_t)raw->value[LIST_USED] / 8
				     : GB_REGISTERS;
	return w;
}

static unsigned stack_word(const struct walk *w, unsigned at)
{
	if (w->telling->list)
		return at < LIST_END - LIST_WORDS ? LIST_WORDS + at : NO_WORD;
	return at < w->telling->nstack ? GB_REGISTERS + at : NO_WORD;
}

/* The slot of the item in the record; NO_WORD: nobody can see it. */
static unsigned walk_next(struct walk *w, const struct item *item)
{
	if (item->kind == ITEM_REAL) {
		unsigned at = w->reals++;

		if (at >= 8)
			return stack_word(w, w->stack++);
		return w->telling->reals && at < TELLING_REALS ? w->telling->reals + at : NO_WORD;
	}
	if (item->kind == ITEM_LONG_REAL) {
		w->stack = (w->stack + 1) / 2 * 2 + 2;
		return NO_WORD;
	}
	if (w->integers >= GB_REGISTERS)
		return stack_word(w, w->stack++);
	if (!w->telling->list)
		return w->integers++;
	w->integers++;
	return w->integers >= 2 ? LIST_REGISTERS + w->integers - 2 : NO_WORD;
}

#define TEXT_SLOT(i) (GB_SLOTS - (GB_TEXTS - (i)) * GB_TEXTS_WORDS)
#define FIRST_TEXT TEXT_SLOT(0)

/* Tells the kernel where this event's texts and pointers-to-shared are. */
void announced_tell_kernel(struct capture_session *s, struct announced_event *e, pid_t pid,
			   const struct telling *telling)
{
	struct gb_texts texts = { .slots = GB_REGISTERS, .text = { GB_NO_TEXT, GB_NO_TEXT } };

	if (telling->list || (e->told && e->rest == telling->rest))
		return;
	e->told = true;
	e->rest = telling->rest;
	for (int end = 0; end < 2; end++) {
		struct walk w = walk_new(telling, NULL);

		for (size_t i = 0, n = 0; i < e->items[end].count; i++) {
			const struct item *item = &e->items[end].item[i];
			unsigned slot = walk_next(&w, item);

			if (item->kind == ITEM_REAL)
				texts.slots = FIRST_TEXT; /* by a function that has stored them */
			if (slot == NO_WORD)
				continue;
			if (slot >= texts.slots)
				texts.slots = slot + 1;
			if ((item->kind != ITEM_TEXT && item->kind != ITEM_SHARED) || n == GB_TEXTS)
				continue;
			texts.raw |= (item->kind == ITEM_SHARED) << n;
			texts.text[n++] = slot;
		}
	}
	if (texts.text[0] != GB_NO_TEXT)
		texts.slots = GB_SLOTS;
	kernel_know_event(s->kernel, pid, e->key.id, &texts);
}

static bool was_read(const struct gb_span *raw, unsigned slot)
{
	return slot < raw->values && slot < GB_SLOTS && !(raw->unread >> slot & 1);
}

/* What lies behind a pointer, as the kernel read it, or, of a text, as it certainly still is. Into words, zeroed. */
static bool take_pointed(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
			 const struct item *item, unsigned slot, unsigned nth, uint64_t *words)
{
	if (raw->values == GB_SLOTS && nth < GB_TEXTS && slot < FIRST_TEXT && was_read(raw, TEXT_SLOT(nth))) {
		memcpy(words, &raw->value[TEXT_SLOT(nth)], item_words(item) * sizeof(*words));
		return true;
	}
	return item->kind == ITEM_TEXT && was_read(raw, slot) &&
	       announced_constant_text(s, session_process(s, t->pid), raw->value[slot], (char *)words, ANNOUNCED_TEXT);
}

/* The values of START (or ATOMIC), or of END, into the words of the span to be. */
static void take_values(struct capture_session *s, const struct captured_thread *t, struct open_event *o,
			const struct telling *telling, const struct gb_span *raw, bool at_end)
{
	const struct items *items = &o->event->items[at_end];
	struct walk w = walk_new(telling, raw);
	unsigned to = 0, nth = 0;

	for (size_t i = 0; at_end && i < o->event->items[0].count; i++) {
		unsigned words = item_words(&o->event->items[0].item[i]);

		to += to + words <= GB_SLOTS ? words : 0;
	}
	for (size_t i = 0; i < items->count; i++) {
		const struct item *item = &items->item[i];
		unsigned slot = walk_next(&w, item), words = item_words(item);
		bool pointed = item->kind == ITEM_TEXT || item->kind == ITEM_SHARED;

		if (!words || to + words > GB_SLOTS) {
			nth += pointed;
			continue;
		}
		memset(&o->words[to], 0, words * sizeof(o->words[0]));
		if (slot == NO_WORD || !was_read(raw, slot) ||
		    (pointed && !take_pointed(s, t, raw, item, slot, nth, &o->words[to])))
			o->unread |= 1u << to;
		else if (!pointed)
			o->words[to] = o->fixed && !strcmp(o->fixed, item->name) ? (uint64_t)o->fixed_number
										 : raw->value[slot];
		nth += pointed;
		to += words;
	}
	o->nwords = to;
}

/* --- START, END, ATOMIC ---------------------------------------------------------- */

/* The place that the program names, else that of the call. */
static uint32_t site_of(struct capture_session *s, struct captured_thread *t, const struct telling *telling,
			const struct gb_span *raw)
{
	struct captured_process *p = session_process(s, t->pid);
	char file[1024];

	if (telling->file != SLOT_NOWHERE && was_read(raw, telling->file) && raw->value[telling->file] && p &&
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

void announced_cut(struct capture_session *s, struct captured_thread *t, size_t at, uint64_t time)
{
	t->announced.open[at].event->unended++;
	emit(s, t, &t->announced.open[at], time, t->next - 1, GB_END_OFF);
	forget(t, at);
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
		take_values(s, t, o, telling, raw, true);
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
	take_values(s, t, &now, telling, raw, false);
	if (kind == EVENT_START)
		start(s, t, &now);
	else
		emit(s, t, &now, raw->start, raw->sequence, GB_END_ATOMIC);
	return kind == EVENT_ATOMIC;
}

/* --- creation -------------------------------------------------------------------- */

static bool take_text(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
		      uint8_t slot, uint8_t at, char *text)
{
	size_t room = TELLING_TEXT * sizeof(raw->value[0]);

	text[0] = '\0';
	if (slot == SLOT_NOWHERE)
		return false;
	if (slot + TELLING_TEXT <= raw->values && was_read(raw, slot)) {
		memcpy(text, &raw->value[slot], room);
		text[room - 1] = '\0';
		return true;
	}
	return was_read(raw, at) && raw->value[at] &&
	       announced_constant_text(s, session_process(s, t->pid), raw->value[at], text, room);
}

static void create(struct capture_session *s, struct captured_thread *t, const struct site *site,
		   const struct gb_span *raw)
{
	const struct telling *telling = &site->captures[0].telling;
	char name[TELLING_TEXT * 8], format[TELLING_TEXT * 8];
	bool known = take_text(s, t, raw, telling->name, telling->name_at, name);

	if (raw->reason != GB_END_RETURN || !was_read(raw, telling->id) || !known)
		return;
	known = take_text(s, t, raw, telling->format, telling->format_at, format);
	announced_name(s, s->d->threads[t->index].process, t->pid, raw->value[telling->id], name,
		       known && *format ? format : NULL);
	if (strlen(format) == sizeof(format) - 1 && session_process(s, t->pid))
		announced_read_table_again(s, session_process(s, t->pid)); /* it may be longer */
}

static void show_creation(void *context, const void *record, size_t size)
{
	struct capture_session *s = context;
	const struct gb_span *raw = record;
	struct gb_span whole = { 0 };
	struct captured_thread *t;

	if (size < GB_SPAN_HEADER || raw->probe >= s->probes.count ||
	    !(s->plan->sites[raw->probe].function->marks & MARK_CREATES))
		return;
	memcpy(&whole, raw, size < sizeof(whole) ? size : sizeof(whole));
	t = session_thread(s, raw->pid_tid >> 32, (uint32_t)raw->pid_tid, raw->end);
	if (t)
		create(s, t, &s->plan->sites[raw->probe], &whole);
}

void announced_look_ahead(struct capture_session *s)
{
	if (s->announced.looked_ahead == s->pass.number)
		return; /* what is delivered in this pass was in the rings then */
	s->announced.looked_ahead = s->pass.number;
	for (unsigned i = 0; i < s->rings.count; i++)
		ring_peek(&s->rings.list[i], show_creation, s);
	for (const struct captured_thread *t = s->threads.waiting; t; t = t->next_waiting)
		for (size_t i = 0; i < t->early.count; i++)
			show_creation(s, t->early.heap[i].span, sizeof(struct gb_span));
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
		session_cut_announced(s, t, raw->start);
	if (site->function->marks & MARK_CREATES)
		create(s, t, site, raw);
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

	session_cut_announced(s, t, span->start);
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
	session_cut_announced(s, t, time);
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
	struct announced_event *e, *next;

	HASH_ITER (hh, s->announced.events, e, next) {
		HASH_DEL(s->announced.events, e);
		free(e->name);
		free(e->format);
		free(e);
	}
	announced_free_meanings(s);
	free(s->announced.numbers);
}
