/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally.c - the kernel's sums by thread and function become figures by process and event.
 *
 * Problem: the kernel has an entry for each thread and function, so that nothing in it is written by two at a time.
 * Threads end by the thousand, and their entries must go, while no figure of a process or of an event may ever become
 * less.
 *
 * So each figure has two parts. `ended` is what threads did that are no more: it only grows, once for each thread, when
 * its end has been told before the reading began; then its entries are removed. `all` is that and what the entries of
 * living threads hold, made anew with each reading. An entry's own figures only grow, so `all` does, too.
 *
 * An entry of a process that nobody has looked at yet stays where it is. If the thread has ended by then, it counts in
 * the totals where everything is chosen, and is nobody's otherwise.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meaning/value.h"
#include "monitor/tally.h"
#include "util/array.h"
#include "util/breath.h"
#include "util/clock.h"

#define FORGOTTEN_AT_ONCE 256 /* entries, between two breaths */

/* --- events ------------------------------------------------------------ */

static void free_values(struct value *values, uint32_t count)
{
	for (uint32_t i = 0; values && i < count; i++)
		value_free(&values[i]);
	free(values);
}

/* "A|B" where the function is one of several events, and its arguments tell which. */
static char *event_name(const struct site *site)
{
	char *text = strdup(site->function->event), *longer;

	for (size_t k = 1; text && k < site->nfunctions; k++) {
		bool there = false;

		for (size_t i = 0; i < k; i++)
			there |= !strcmp(site->function[i].event, site->function[k].event);
		if (there)
			continue;
		if (asprintf(&longer, "%s|%s", text, site->function[k].event) < 0)
			longer = NULL;
		free(text);
		text = longer;
	}
	return text;
}

static bool has_payload(const struct site *site)
{
	struct gb_amounts amounts;

	payload_amounts(site->function->role, site->captures[0].values, site->captures[0].nvalues, &amounts);
	return amounts.sides;
}

/* What the plan has goes with the plan. NULL: no memory. */
static struct value *copy_values(const struct value *values, uint32_t count)
{
	struct value *copies = calloc(count + 1, sizeof(*copies));
	bool whole = copies;

	for (uint32_t i = 0; i < count && whole; i++) {
		copies[i] = values[i];
		copies[i].name = values[i].name ? strdup(values[i].name) : NULL;
		copies[i].decoder = values[i].decoder ? strdup(values[i].decoder) : NULL;
		whole = (copies[i].name || !values[i].name) && (copies[i].decoder || !values[i].decoder);
	}
	if (whole)
		return copies;
	free_values(copies, count);
	return NULL;
}

static void set_values(struct tally_event *event, const struct site *site)
{
	const struct capture *capture = &site->captures[0];

	event->values = copy_values(capture->values, capture->nvalues);
	event->shown.values = event->values;
	event->shown.nvalues = event->values ? capture->nvalues : 0;
}

static int define_site(struct tally_book *book, const struct site *site)
{
	struct event_key key = { .model = site->function->model->name };
	char *name;
	uint32_t event;

	book->event_of[site->id] = NO_EVENT;
	if (site->no_span || site->function->marks & MARKS_TELL)
		return 0;
	key.event = name = event_name(site);
	if (!name || array_one_more(&book->events, &book->events_room, book->nevents, sizeof(*book->events))) {
		free(name);
		return -ENOMEM;
	}
	event = event_names_number(&book->names, &key);
	if (event == book->nevents) {
		book->events[book->nevents++] = (struct tally_event){
			.shown = { .name = name,
				   .model = site->function->model->name,
				   .role = site->function->role,
				   .number = site->function->number,
				   .marks = site->function->marks,
				   .every = 1 },
			.name = name,
		};
		set_values(&book->events[event], site);
	} else {
		free(name);
	}
	if (event == NO_INDEX || !book->events[event].values)
		return -ENOMEM;
	book->events[event].shown.moves |= has_payload(site);
	book->event_of[site->id] = event;
	return 0;
}

int tally_define(struct tally_book *book)
{
	int err = array_reach(&book->event_of, &book->sites_room, book->plan->nsites + 1, sizeof(*book->event_of))
			  ?: array_reach(&book->bills, &book->nbills, book->plan->nsites + 1, sizeof(*book->bills));

	for (; !err && book->nsites < book->plan->nsites; book->nsites++)
		err = define_site(book, &book->plan->sites[book->nsites]);
	return err;
}

/* --- figures ----------------------------------------------------------- */

/* inner: of calls that the runtime made to itself, which are beside all others. */
static void add(struct monitor_amounts *a, const struct gb_sum *sum, bool inner)
{
	if (inner) {
		a->inner += sum->lost + sum->summed + sum->skipped;
		a->inner_ns += sum->total;
		return;
	}
	a->calls += sum->lost + sum->summed + sum->skipped;
	if (sum->timed && (!a->timed || sum->min < a->min))
		a->min = sum->min;
	if (sum->timed && sum->max > a->max)
		a->max = sum->max;
	a->timed += sum->timed;
	a->ns += sum->total;
	a->sized += sum->sized;
	a->bytes += sum->bytes;
	a->skipped += sum->skipped;
	for (int i = 0; i < GB_BUCKETS; i++)
		a->duration[i] += sum->bucket[i];
	for (int i = 0; i < GB_SIZES; i++)
		a->size[i] += sum->size[i];
}

/* The entry is a part of this figure; ended: for good. */
static void tally_add(struct figure *t, uint64_t reading, const struct gb_sum *sum, bool inner, bool ended)
{
	if (t->reading != reading) {
		t->reading = reading;
		t->all = t->ended;
	}
	add(&t->all, sum, inner);
	if (ended)
		add(&t->ended, sum, inner);
}

static struct figure *tally_of(struct tallied_process *p, uint32_t event)
{
	for (size_t i = 0; i < p->ntallies; i++)
		if (p->tallies[i].event == event)
			return &p->tallies[i];
	if (array_one_more(&p->tallies, &p->room, p->ntallies, sizeof(*p->tallies)))
		return NULL;
	p->tallies[p->ntallies] = (struct figure){ .event = event };
	return &p->tallies[p->ntallies++];
}

size_t tallied_events(const struct tallied_process *p, uint64_t reading, struct monitor_process_event *events)
{
	size_t count = 0;

	for (size_t i = 0; i < p->ntallies; i++) {
		const struct figure *t = &p->tallies[i];
		const struct monitor_amounts *amounts = t->reading == reading ? &t->all : &t->ended;

		if (amounts->calls || amounts->inner)
			events[count++] = (struct monitor_process_event){ t->event, *amounts };
	}
	return count;
}

void tally_free_process(struct tallied_process *p)
{
	free(p->tallies);
	*p = (struct tallied_process){ 0 };
}

/* --- threads ----------------------------------------------------------- */

int tally_end_thread(struct tally_book *book, uint32_t tid, uint64_t time)
{
	struct ended_thread *ended;

	HASH_FIND_INT(book->ended, &tid, ended);
	if (!ended) {
		ended = calloc(1, sizeof(*ended));
		if (!ended)
			return -ENOMEM;
		ended->tid = tid;
		HASH_ADD_INT(book->ended, tid, ended);
		if (!ended->hh.tbl) {
			free(ended);
			return -ENOMEM;
		}
	}
	if (time > ended->time)
		ended->time = time;
	return 0;
}

static void forget_ended(struct ended_thread **threads)
{
	struct ended_thread *ended, *next;

	HASH_ITER (hh, *threads, ended, next) {
		HASH_DEL(*threads, ended);
		free(ended);
	}
}

static bool has_ended(struct tally_book *book, const struct gb_sum_place *place)
{
	struct ended_thread *ended;

	HASH_FIND_INT(book->ending, &place->tid, ended);
	return ended && place->born <= ended->time;
}

static struct governed *governed_of(struct tally_book *book, const struct gb_sum_place *place)
{
	struct governed *g, key = { .key = { place->born, place->tid } };

	HASH_FIND(hh, book->governed, &key.key, sizeof(key.key), g);
	if (g)
		return g;
	g = malloc(sizeof(*g));
	if (!g)
		return NULL;
	*g = key;
	HASH_ADD(hh, book->governed, key, sizeof(g->key), g);
	if (!g->hh.tbl) {
		free(g);
		return NULL;
	}
	g->index = book->nresting ? book->resting[--book->nresting] : book->next_index++;
	return g;
}

static void tell_governor(struct tally_book *book, const struct gb_sum_place *place, const struct gb_sum *sum)
{
	struct governed *g = governed_of(book, place);

	if (!g || governor_count(book->governor, g->index, place->probe & ~GB_SUM_INNER, place->probe & GB_SUM_INNER,
				 sum->lost + sum->summed, sum->skipped)) {
		book->err = -ENOMEM;
		return;
	}
	g->reading = book->reading;
}

/* Threads that were not met in this reading: the governor, too, forgets them at its next look, and their indexes are
 * free. */
static void rest_governed(struct tally_book *book)
{
	struct governed *g, *next;

	HASH_ITER (hh, book->governed, g, next) {
		/* One reading more: the governor has looked in between. */
		if (g->reading + 1 >= book->reading ||
		    array_one_more(&book->resting, &book->resting_room, book->nresting, sizeof(uint32_t)))
			continue;
		book->resting[book->nresting++] = g->index;
		HASH_DEL(book->governed, g);
		free(g);
	}
}

/* --- reading ----------------------------------------------------------- */

/* An entry of the map, and whose share it is of. */
struct taken_place {
	struct gb_sum_place place;
	uint32_t user;
};

struct places {
	struct taken_place *items;
	size_t count, room;
};

struct reader {
	struct tally_book *book;
	bool govern;
	struct places done; /* may be forgotten: the map must not change while it is read */
};

static void take(void *context, const struct gb_sum_place *place, const struct gb_sum *sum)
{
	struct reader *r = context;
	struct tally_book *book = r->book;
	bool ended = has_ended(book, place),
	     fold = ended || book->fold_all || (book->fold_pid && book->fold_pid == sum->pid);
	struct tallied_process *process = NULL;
	enum owner owner = book->owner(book->context, sum->pid, place->born, &process);
	uint32_t site = place->probe & ~GB_SUM_INNER, event = site < book->nsites ? book->event_of[site] : NO_EVENT;
	bool inner = place->probe & GB_SUM_INNER;
	struct figure *t;

	book->entries++;
	if (owner == OWNER_UNKNOWN && !fold)
		return;
	if (fold) {
		if (array_one_more(&r->done.items, &r->done.room, r->done.count, sizeof(*r->done.items))) {
			book->err = -ENOMEM;
			return; /* it counts as alive until the next time */
		}
		r->done.items[r->done.count++] = (struct taken_place){ *place, sum->user };
	}
	if (r->govern && !ended && site < book->nsites)
		tell_governor(book, place, sum);
	if (owner == OWNER_NOBODY || owner == OWNER_UNKNOWN || event == NO_EVENT)
		return;
	t = process ? tally_of(process, event) : NULL;
	if (t)
		tally_add(t, book->reading, sum, inner, fold);
	tally_add(&book->events[event].total, book->reading, sum, inner, fold);
	bills_add(book, site, sum, fold);
}

int tally_read(struct tally_book *book, bool govern, struct breath *breath)
{
	struct reader r = { .book = book, .govern = govern && book->governor };
	int err;

	book->reading++;
	book->entries = 0;
	bills_begin(book);
	book->err = 0;
	/* Who ends from now on does so for the next reading: of a thread that ends in the midst of this one, some
	 * entries are read already. */
	book->ending = book->ended;
	book->ended = NULL;
	err = kernel_read_sums(book->kernel, take, &r, breath);
	for (size_t i = 0; i < r.done.count; i++) {
		kernel_forget_sum(book->kernel, &r.done.items[i].place, r.done.items[i].user);
		if (i % FORGOTTEN_AT_ONCE == 0)
			breath_ends(breath);
	}
	kernel_sums_forgotten(book->kernel);
	book->entries -= r.done.count;
	bills_pay(book, clock_monotonic(), book->fold_all && !err);
	free(r.done.items);
	forget_ended(&book->ending);
	if (r.govern)
		rest_governed(book);
	return err ?: book->err;
}

struct sweep {
	struct tally_book *book;
	uint64_t now;
};

static void look_for_thread(void *context, const struct gb_sum_place *place, const struct gb_sum *sum)
{
	struct sweep *s = context;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u", sum->pid, place->tid);
	if (access(path, F_OK) && errno == ENOENT)
		tally_end_thread(s->book, place->tid, s->now);
}

void tally_sweep(struct tally_book *book, struct breath *breath)
{
	struct sweep sweep = { book, clock_monotonic() }; /* who comes later may have the number of one that is gone */

	kernel_read_sums(book->kernel, look_for_thread, &sweep, breath);
}

void tally_free(struct tally_book *book)
{
	struct governed *g, *next;

	forget_ended(&book->ended);
	HASH_ITER (hh, book->governed, g, next) {
		HASH_DEL(book->governed, g);
		free(g);
	}
	for (size_t i = 0; i < book->nevents; i++) {
		free(book->events[i].name);
		free_values(book->events[i].values, book->events[i].shown.nvalues);
	}
	event_names_free(&book->names);
	free(book->events);
	free(book->event_of);
	free(book->bills);
	free(book->resting);
}
