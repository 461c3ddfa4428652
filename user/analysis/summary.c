/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - summing up the profile, and the names that a report uses.
 */
#include "analysis/gains.h"
#include "analysis/profile_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/labels.h"

static void add_tally(struct tally *to, const struct tally *from)
{
	to->calls += from->calls;
	to->lost += from->lost;
	to->summed += from->summed;
	to->skipped += from->skipped;
	to->timed += from->timed;
	to->total += from->total;
	to->self += from->self;
	to->time += from->time;
	if (from->timed && from->min < to->min)
		to->min = from->min;
	if (from->timed && from->max > to->max)
		to->max = from->max;
	to->unwound += from->unwound;
	to->off += from->off;
	to->ended += from->ended;
	to->open += from->open;
	to->deep += from->deep;
	to->alone += from->alone;
	to->tails += from->tails;
	to->bytes += from->bytes;
	to->sent += from->sent;
	to->received += from->received;
	to->known_bytes += from->known_bytes;
	to->known_sent += from->known_sent;
	to->known_received += from->known_received;
	to->unknown_bytes += from->unknown_bytes;
	to->untold += from->untold;
	to->likely_total += from->likely_total;
	to->likely_self += from->likely_self;
	for (int i = 0; i < GB_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

/* How long the process was observed. */
static uint64_t process_wall(const struct report *r, uint32_t process)
{
	const struct def_process *def = process < r->d->nprocesses ? &r->d->processes[process] : NULL;
	uint64_t start = def && def->start > r->start ? def->start : r->start;
	uint64_t last = def && def->node && def->node <= r->d->nnodes ? r->d->nodes[def->node - 1].end : r->end;
	uint64_t end = def && def->end && def->end < last ? def->end : last;

	if (def && def->others)
		return 0; /* nobody knows how many they were, and how long */
	return end > start ? end - start : 0;
}

#define BIT(group) (1u << (group))

const struct share report_shares[SHARES] = {
	{ "wait", BIT(GROUP_BARRIER) | BIT(GROUP_WAIT) },
	{ "lock", BIT(GROUP_LOCK) },
	{ "data", BIT(GROUP_DATA) },
	{ "coll", BIT(GROUP_COLLECTIVE) },
	{ "task", BIT(GROUP_TASK) },
	{ "alloc", BIT(GROUP_ALLOC) },
	{ "io", BIT(GROUP_IO) },
	{ "other", BIT(GROUP_OTHER) },
};

uint64_t share_of(const struct share *share, const uint64_t group[GROUPS])
{
	uint64_t sum = 0;

	for (int i = 0; i < GROUPS; i++)
		if (share->groups & BIT(i))
			sum += group[i];
	return sum;
}

static int by_rank_and_tid(const void *a, const void *b, void *context)
{
	const struct report_thread *x = a, *y = b;

	return thread_order(context, x->thread, y->thread);
}

static int by_self(const void *a, const void *b)
{
	const struct report_event *x = a, *y = b;

	if (x->tally.likely_self != y->tally.likely_self)
		return x->tally.likely_self > y->tally.likely_self ? -1 : 1;
	if (x->tally.calls != y->tally.calls)
		return x->tally.calls > y->tally.calls ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int by_thread_and_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->tally.likely_self != y->tally.likely_self)
		return x->tally.likely_self > y->tally.likely_self ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int by_site_total(const void *a, const void *b)
{
	const struct site_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

void report_sort_sites(struct report *r)
{
	qsort(r->sites, r->nsites, sizeof(*r->sites), by_site_total);
}

static void *copy_of(const void *data, size_t count, size_t room, size_t size)
{
	void *copy = calloc(room ? room : 1, size);

	if (copy && count)
		memcpy(copy, data, count * size);
	return copy;
}

/* The calls of each thread that are on no timeline, in the row of its index. */
static void sum_missing(struct report_thread *by_index, const struct definitions *d)
{
	for (size_t i = 0; i < d->nsums; i++) {
		struct report_thread *row = &by_index[d->sums[i].thread];

		row->lost += d->sums[i].lost;
		row->summed += d->sums[i].summed;
		row->skipped += d->sums[i].skipped;
		row->cost += (d->sums[i].lost + d->sums[i].summed) * d->probes[d->sums[i].probe].cost_ns +
			     d->sums[i].skipped * d->probes[d->sums[i].probe].skipped_ns;
	}
}

static uint64_t largest(uint64_t a, uint64_t b, uint64_t c)
{
	return a > b ? (a > c ? a : c) : b > c ? b : c;
}

/* Lost calls are told by the numbers of spans, by the kernel's count of the thread and by its sums: by all three, or by
 * less where the recording was cut. */
static void sum_threads(struct report *r)
{
	const struct profile *p = r->profile;

	sum_missing(r->threads, r->d);

	for (uint32_t i = 0; i < r->d->nthreads; i++) {
		const struct profiled_thread *t = i < p->nthreads ? &p->threads[i] : NULL;
		const struct def_thread *def = &r->d->threads[i];
		struct report_thread *row = &r->threads[r->nthreads];
		uint64_t lost = largest(def->counted ? def->lost : 0, t ? t->lost : 0, r->threads[i].lost);
		uint64_t summed = r->threads[i].summed, skipped = r->threads[i].skipped;
		uint64_t cost = def->counted && def->cost ? def->cost : r->threads[i].cost + (t ? t->cost : 0);

		if ((!lost && !summed && !skipped && (!t || !t->spans)) || thread_is_left_out(r->d, i))
			continue;
		r->nthreads++; /* never beyond i */
		*row = (struct report_thread){ .thread = i,
					       .process = def->process,
					       .lost = lost,
					       .summed = summed,
					       .skipped = skipped,
					       .cost = cost,
					       .system = def->counted ? def->system : 0 };
		row->wall = process_wall(r, def->process);
		if (t) {
			row->spans = t->spans;
			nesting_groups(&t->nesting, row->group);
		}
		uint64_t inside = sum_groups(row->group);

		row->outside = row->wall > inside ? row->wall - inside : 0;
		if (t)
			workers_divide(r, row, t, inside);
		r->wall += row->wall;
	}
	qsort_r(r->threads, r->nthreads, sizeof(*r->threads), by_rank_and_tid, (void *)r->d);
}

/* The sums of the kernel where the recording has them, else what was seen here. */
static void sum_calls(struct report *r)
{
	const struct def_loss *loss = &r->d->loss;

	r->delivered = r->profile->spans;
	for (size_t i = 0; i < r->d->nsums; i++) {
		if (thread_is_left_out(r->d, r->d->sums[i].thread))
			continue;
		r->lost += r->d->sums[i].lost;
		r->summed += r->d->sums[i].summed;
		r->skipped += r->d->sums[i].skipped;
	}
	if (r->lost < r->profile->lost)
		r->lost = r->profile->lost;
	if (loss->calls || loss->delivered || loss->lost) {
		r->delivered = loss->delivered;
		r->lost = loss->lost;
		r->summed = loss->summed;
		r->skipped = loss->skipped;
	}
	r->calls = r->delivered + r->lost + r->summed + r->skipped;
}

/* Events may be known by sums alone. */
static int learn_events(struct profile *p, const struct definitions *d)
{
	for (size_t i = 0; i < d->nsums; i++)
		if (profile_event(p, d, d->sums[i].probe) == NO_INDEX)
			return -ENOMEM;
	for (size_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].out_ns && profile_event(p, d, i) == NO_INDEX)
			return -ENOMEM;
	return 0;
}

/* Inner calls stand beside those of their event, which may have no others. */
static void keep_events(struct report *r)
{
	const struct profile *p = r->profile;

	for (size_t i = 0; i < p->nevents; i++) {
		struct report_event event = r->events[i];

		if (p->events[i].is_inner)
			continue;
		if (p->events[i].inner != NO_INDEX && r->by_event[p->events[i].inner].calls)
			event.inner = &r->by_event[p->events[i].inner];
		if (event.tally.calls || event.inner || event.out)
			r->events[r->nevents++] = event; /* never beyond i */
	}
}

int report_make(struct report *r, struct profile *p, const struct definitions *d)
{
	*r = (struct report){ .profile = p, .d = d, .start = d->run.start, .end = d->run.end };
	if (r->end < p->last)
		r->end = p->last;
	sum_calls(r);
	if (learn_events(p, d))
		return -ENOMEM;
	r->events = calloc(p->nevents + 1, sizeof(*r->events));
	r->by_event = calloc(p->nevents + 1, sizeof(*r->by_event));
	r->threads = calloc(d->nthreads + 1, sizeof(*r->threads));
	r->sites = copy_of(p->sites, p->nsites, p->nsites, sizeof(*p->sites));
	r->rows = copy_of(p->rows, p->nrows, p->nrows + d->nsums, sizeof(*p->rows));
	if (!r->events || !r->by_event || !r->threads || !r->sites || !r->rows) {
		report_free(r);
		return -ENOMEM;
	}
	sum_threads(r);
	r->nrows = p->nrows;
	r->nsites = p->nsites;
	if (report_add_sums(r)) {
		report_free(r);
		return -ENOMEM;
	}
	report_leave_out(r);
	for (size_t i = 0; i < p->nevents; i++)
		r->by_event[i].min = UINT64_MAX;
	for (size_t i = 0; i < r->nrows; i++)
		add_tally(&r->by_event[r->rows[i].event], &r->rows[i].tally);
	for (size_t i = 0; i < p->nevents; i++)
		r->events[i] = (struct report_event){ .event = i, .tally = r->by_event[i] };
	if (report_find_outs(r)) {
		report_free(r);
		return -ENOMEM;
	}
	report_find_withdrawn(r);
	keep_events(r);
	qsort(r->events, r->nevents, sizeof(*r->events), by_self);
	if (report_join_sites(r, false)) {
		report_free(r);
		return -ENOMEM;
	}
	qsort(r->rows, r->nrows, sizeof(*r->rows), by_thread_and_self);
	return 0;
}

void report_free(struct report *r)
{
	for (size_t i = 0; i < r->nfindings; i++)
		free(r->findings[i].text);
	for (size_t i = 0; i < r->nsymptoms; i++)
		free(r->symptoms[i].text);
	report_forget_reliefs(r);
	free(r->symptoms);
	free(r->findings);
	free(r->phases);
	free(r->events);
	free(r->by_event);
	free(r->threads);
	free(r->sites);
	free(r->rows);
	memset(r, 0, sizeof(*r));
}

/* --- names ----------------------------------------------------------------- */

const char *report_event_name(const struct report *r, uint32_t event)
{
	uint32_t probe = r->profile->events[event].probe;
	const char *name = probe < r->d->nprobes ? r->d->probes[probe].event : NULL;

	return name ? name : "?";
}

const char *report_function(const struct report *r, uint32_t event)
{
	uint32_t probe = r->profile->events[event].probe;

	return probe < r->d->nprobes && r->d->probes[probe].marks & MARK_EACH ? r->d->probes[probe].symbol : NULL;
}

bool report_begins_regions(const struct report *r, uint32_t event)
{
	uint32_t probe = r->profile->events[event].probe;

	return probe < r->d->nprobes && r->d->probes[probe].marks & MARK_TEAM;
}

bool report_event_posts(const struct report *r, uint32_t event)
{
	uint32_t probe = r->profile->events[event].probe;
	const struct def_probe *p = probe < r->d->nprobes ? &r->d->probes[probe] : NULL;

	if (!p || p->role != ROLE_RECV)
		return false;
	for (unsigned i = 0; i < p->nvalues; i++)
		if (p->values[i].meaning == MEANING_BYTES && p->values[i].at_return)
			return false;
	return true;
}

char *report_event_label(const struct report *r, uint32_t event, char *text, size_t room)
{
	const struct event_state *state = &r->profile->events[event];

	return state->probe < r->d->nprobes ? event_label(&r->d->probes[state->probe], state->is_inner, text, room)
					    : strcpy(text, "?");
}

size_t report_first_row(const struct report *r, uint32_t thread)
{
	size_t low = 0, high = r->nrows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->rows[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
