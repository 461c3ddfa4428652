/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - collecting the profile, one span at a time.
 *
 * Whose time a call's is, user/account says. With that it is handed on to the analyses that want calls of its role.
 *
 * The cost of a span does not depend on the number of threads or probes: one
 * look-up in a hash table by (thread, event), one by (event, site).
 */
#include "analysis/analysis.h"
#include "analysis/around.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/text.h"

#define TOGETHER 64 /* spans that are looked up together */
#define CACHE_LINE 64

/* --- probes and events -------------------------------------------------- */

/* The event of a probe, or that of its inner calls; NO_INDEX: out of memory. */
static uint32_t event_of_probe(struct profile *p, const struct definitions *d, uint32_t probe, bool inner)
{
	const struct def_probe *def = &d->probes[probe];
	struct event_key key = event_key_of(def, inner);
	uint32_t event;

	if (array_one_more(&p->events, &p->events_room, p->names.count, sizeof(*p->events)))
		return NO_INDEX;
	event = event_names_number(&p->names, &key);
	if (event == p->nevents) {
		p->events[p->nevents++] = (struct event_state){
			.probe = probe, .role = def->role, .inner = NO_INDEX, .is_inner = inner
		};
	}
	return event;
}

static void probe_facts_free(struct probe_facts *facts)
{
	accounted_probe_free(&facts->is);
	free(facts->values);
}

static bool wants_spans(const struct made_analysis *one)
{
	return one->made && one->is->span;
}

static bool has_teams(const struct definitions *d, const char *model)
{
	for (size_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].marks & MARK_TEAM && same_text(d->probes[i].model, model))
			return true;
	return false;
}

static int learn_probe(struct profile *p, const struct definitions *d, uint32_t probe)
{
	const struct def_probe *def = &d->probes[probe];
	int32_t object = probe_value(def, MEANING_BARRIER);
	struct probe_facts facts = {
		.ready = true,
		.object = object < INT16_MAX ? object : -1,
		.cost = def->cost_ns,
		.floor = p->subtract_floor ? def->floor_ns : 0,
		.of_teams = has_teams(d, def->model),
		.nests = def->role == ROLE_FUNCTION || def->role == ROLE_USER || def->role == ROLE_TASK,
	};
	uint32_t own = event_of_probe(p, d, probe, false);

	if (own == NO_INDEX || (def->marks & MARK_INNER && event_of_probe(p, d, probe, true) == NO_INDEX))
		return -ENOMEM;
	if (account_probe(&facts.is, &p->names, d, probe)) {
		accounted_probe_free(&facts.is);
		return -ENOMEM;
	}
	if (facts.is.inner)
		p->events[own].inner = facts.is.event;
	p->events[facts.is.event].rooted |= probe_value(def, MEANING_ROOT) >= 0;
	p->events[facts.is.event].moves |= facts.is.payload != NULL;
	p->events[own].moves |= facts.is.payload != NULL;
	for (size_t i = 0; i < p->nanalyses; i++)
		if (wants_spans(&p->analyses[i]) && p->analyses[i].is->roles & ROLE_BIT(def->role))
			facts.told |= 1ull << i;
	if (facts.told)
		facts.values = call_values_new(def);
	if (facts.told && !facts.values) {
		probe_facts_free(&facts);
		return -ENOMEM;
	}
	if (def->marks & MARK_SHARE && !(def->marks & MARK_POINTED))
		p->tells_shares = def->image;
	p->probes[probe] = facts;
	return 0;
}

uint32_t profile_event(struct profile *p, const struct definitions *d, uint32_t probe)
{
	if (array_reach(&p->probes, &p->nprobes, d->nprobes, sizeof(*p->probes)))
		return NO_INDEX;
	if (!p->probes[probe].ready && learn_probe(p, d, probe))
		return NO_INDEX;
	return p->probes[probe].is.event;
}

uint32_t profile_find_row(const struct profile *p, uint32_t thread, uint32_t event)
{
	const struct index_slot *slot = index_known(&p->row_index, index_key(thread, event));

	return slot ? slot->value : NO_INDEX;
}

/* --- one span ------------------------------------------------------------ */

/* Where a span is counted; found beforehand, see profile_spans(). */
struct place {
	uint32_t row;
	uint32_t site; /* index of the site_row; NO_INDEX: no call site */
};

/* The index of the row; NO_INDEX: out of memory. */
static uint32_t row_of(struct profile *p, uint32_t thread, uint32_t event)
{
	struct index_slot *slot = index_find(&p->row_index, index_key(thread, event));

	if (!slot)
		return NO_INDEX;
	if (slot->value == NO_INDEX) {
		if (array_one_more(&p->rows, &p->rows_room, p->nrows, sizeof(*p->rows))) {
			p->row_index.used--;
			return NO_INDEX;
		}
		p->rows[p->nrows] = (struct row){ .thread = thread, .event = event, .tally.min = UINT64_MAX };
		slot->value = p->nrows++;
	}
	return slot->value;
}

/* The index of the site_row; NO_INDEX: out of memory. */
static uint32_t site_row_of(struct profile *p, uint32_t event, uint32_t site)
{
	struct index_slot *slot = index_find(&p->site_index, index_key(event, site));

	if (!slot)
		return NO_INDEX;
	if (slot->value == NO_INDEX) {
		if (array_one_more(&p->sites, &p->sites_room, p->nsites, sizeof(*p->sites))) {
			p->site_index.used--;
			return NO_INDEX;
		}
		p->sites[p->nsites] = (struct site_row){ .site = site, .event = event };
		slot->value = p->nsites++;
	}
	return slot->value;
}

/* Live, more threads and probes come while spans do. */
static int grow(struct profile *p, const struct definitions *d)
{
	return array_reach(&p->threads, &p->nthreads, d->nthreads, sizeof(*p->threads))
		       ?: array_reach(&p->probes, &p->nprobes, d->nprobes, sizeof(*p->probes));
}

static int find_place(struct profile *p, const struct definitions *d, const struct span *span, struct place *place)
{
	if (span->thread >= d->nthreads || span->probe >= d->nprobes)
		return -EINVAL;
	if ((p->nthreads < d->nthreads || p->nprobes < d->nprobes) && grow(p, d))
		return -ENOMEM;
	if (!p->probes[span->probe].ready && learn_probe(p, d, span->probe))
		return -ENOMEM;
	uint32_t event = p->probes[span->probe].is.event;

	place->row = row_of(p, span->thread, event);
	place->site = span->site == NO_INDEX ? NO_INDEX : site_row_of(p, event, span->site);
	return place->row == NO_INDEX || (place->site == NO_INDEX && span->site != NO_INDEX) ? -ENOMEM : 0;
}

/* Adds the times of a call. *own: what of it is in the event's total; *self: what no call inside has had. */
static int settle(struct profiled_thread *t, struct row *row, const struct span *span, const struct probe_facts *facts,
		  uint64_t duration, uint64_t *own, uint64_t *self)
{
	struct nested_call call = {
		.begin = span->start,
		.start = span->start,
		.end = span->end,
		.duration = duration,
		.depth = span->depth < GB_DEPTH ? span->depth : GB_DEPTH,
	};

	if (nesting_add(&t->nesting, &facts->is, &call, self) ||
	    inclusive_add(&row->inclusive, &t->nesting, &call, own))
		return -ENOMEM;
	row->tally.total += *own;
	row->tally.self += *self;
	return 0;
}

static struct payload count_payload(struct tally *tally, const struct payload_plan *plan, const struct span *span)
{
	struct sent_words sent = span_words(span);
	struct payload payload = payload_read(plan, &sent);

	if (payload.bytes >= 0) {
		tally->bytes += payload.bytes;
		tally->known_bytes++;
	} else {
		tally->unknown_bytes++;
	}
	if (payload.sent >= 0) {
		tally->sent += payload.sent;
		tally->known_sent++;
	}
	if (payload.received >= 0) {
		tally->received += payload.received;
		tally->known_received++;
	}
	return payload;
}

static void note_object(struct row *row, const struct value *value, const struct span *span)
{
	struct value_reading reading = value_read(value, span->words, span->nwords, span->unread,
						  span->reason == GB_END_RETURN);

	if (!reading.known || (row->has_object && row->object != (uint64_t)reading.number))
		row->several_objects = true;
	row->object = reading.number;
	row->has_object = true;
}

static void count_duration(struct tally *tally, uint64_t duration)
{
	tally->timed++;
	tally->time += duration;
	if (duration < tally->min)
		tally->min = duration;
	if (duration > tally->max)
		tally->max = duration;
	tally->bucket[bucket_of(duration)]++;
}

static void count_end(struct tally *tally, uint8_t reason)
{
	if (reason == GB_END_UNWOUND)
		tally->unwound++;
	else if (reason == GB_END_EXIT || reason == GB_END_EXEC)
		tally->ended++;
	else if (reason == GB_END_OFF)
		tally->off++;
	else if (reason == GB_END_DETACH)
		tally->open++;
	else if (reason == GB_END_DEPTH)
		tally->deep++;
	else if (reason == GB_END_ALONE)
		tally->alone++;
	else if (reason == GB_END_TAIL)
		tally->tails++;
}

/* See accounted_call. It is of the call that ended last among those that could have been around it. */
static uint64_t family_of(const struct nesting *nesting, uint32_t depth)
{
	uint64_t latest = 0;

	for (uint32_t i = 0; i < depth && i < nesting->depths; i++)
		if (nesting->ended[i] > latest)
			latest = nesting->ended[i];
	return latest;
}

/*
 * Hands the call on to the analyses that want it. Not inline: most calls are nobody's, and counting them is faster
 * where this needs no registers.
 */
static __attribute__((noinline)) int tell(const struct profile *p, const struct definitions *d, const struct span *span,
					  const struct payload *payload, uint64_t duration, uint64_t self, uint64_t own)
{
	const struct probe_facts *facts = &p->probes[span->probe];
	const struct accounted_call call = {
		.d = d,
		.span = span,
		.probe = facts,
		.role = d->probes[span->probe].role,
		.event = facts->is.event,
		.inner = facts->is.inner,
		.timed = span_has_duration(span),
		.payload = *payload,
		.duration = duration,
		.self = self,
		.total = own,
		.around = family_of(&p->threads[span->thread].nesting, span->depth),
		.nesting = &p->threads[span->thread].nesting,
	};
	int error = 0;

	for (uint64_t left = facts->told; left && !error; left &= left - 1) {
		const struct made_analysis *one = &p->analyses[__builtin_ctzll(left)];

		error = one->is->span(one->state, &call);
	}
	return error;
}

static int count_span(struct profile *p, const struct definitions *d, const struct span *span,
		      const struct place *place)
{
	struct profiled_thread *t = &p->threads[span->thread];
	const struct probe_facts *facts = &p->probes[span->probe];
	struct row *row = &p->rows[place->row];
	struct payload payload = { -1, -1, -1 };
	uint64_t duration = 0, own = 0, self = 0;

	if (!t->spans++ || span->start < t->first)
		t->first = span->start;
	if (span->end > t->last)
		t->last = span->end;
	if (span->end > p->last)
		p->last = span->end;
	p->spans++;
	t->cost += facts->cost;
	row->tally.calls++;
	count_end(&row->tally, span->reason);
	if (span_has_duration(span)) {
		duration = span->end > span->start ? span->end - span->start : 0;
		duration -= duration < facts->floor ? duration : facts->floor;
		count_duration(&row->tally, duration);
		if (settle(t, row, span, facts, duration, &own, &self))
			return -ENOMEM;
		if (facts->is.team && workers_note_region(p, d, span, t->nesting.shared, self))
			return -ENOMEM;
	}
	if (facts->of_teams && !span->depth && workers_note_outermost(t, facts, span, duration))
		return -ENOMEM;
	if (facts->is.payload)
		payload = count_payload(&row->tally, facts->is.payload, span);
	if (facts->object >= 0)
		note_object(row, &d->probes[span->probe].values[facts->object], span);
	if (place->site != NO_INDEX) {
		p->sites[place->site].calls++;
		p->sites[place->site].total += own;
	}
	around_note(p, t, place->site, span->depth, facts->nests);
	return facts->told ? tell(p, d, span, &payload, duration, self, own) : 0;
}

static int profile_span(void *context, const struct definitions *d, const struct span *span)
{
	struct profile *p = context;
	struct place place;
	int error = find_place(p, d, span, &place);

	return error ? error : count_span(p, d, span, &place);
}

/* Asks for the memory in which a span's place is looked up. */
static void fetch_slots(const struct profile *p, const struct span *span)
{
	uint32_t event = span->probe < p->nprobes ? p->probes[span->probe].is.event : 0;

	index_fetch(&p->row_index, index_key(span->thread, event));
	index_fetch(&p->site_index, index_key(event, span->site));
}

/* Asks for the memory in which a span is counted. */
static void fetch(const struct profile *p, const struct span *span, const struct place *place)
{
	const struct row *row = &p->rows[place->row];

	for (size_t at = 0; at < offsetof(struct row, tally.unknown_bytes); at += CACHE_LINE)
		__builtin_prefetch((const char *)row + at, 1);
	__builtin_prefetch(&row->tally.bucket[bucket_of(span->end - span->start)], 1);
	__builtin_prefetch(p->probes[span->probe].is.payload);
	if (place->site != NO_INDEX)
		__builtin_prefetch(&p->sites[place->site], 1);
}

/*
 * The same for many at once. Where there are thousands of probes or threads, rows and sites do not fit in the cache,
 * and a span would wait for memory several times, once after the other. Looked up together, all of them wait at the
 * same time.
 */
static int profile_spans(void *context, const struct definitions *d, const struct span *spans, size_t count)
{
	struct profile *p = context;
	struct place places[TOGETHER];
	int error = 0;

	for (size_t done = 0, some; done < count && !error; done += some, spans += some) {
		some = count - done < TOGETHER ? count - done : TOGETHER;
		for (size_t i = 0; i < some; i++)
			fetch_slots(p, &spans[i]);
		for (size_t i = 0; i < some && !error; i++) {
			error = find_place(p, d, &spans[i], &places[i]);
			if (!error)
				fetch(p, &spans[i], &places[i]);
		}
		for (size_t i = 0; i < some && !error; i++)
			__builtin_prefetch(p->rows[places[i].row].inclusive.runs, 1);
		for (size_t i = 0; i < some && !error; i++)
			error = count_span(p, d, &spans[i], &places[i]);
	}
	return error;
}

static int tell_gap(const struct profile *p, const struct definitions *d, const struct gap *gap)
{
	int error = 0;

	for (size_t i = 0; i < p->nanalyses && !error; i++)
		if (wants_spans(&p->analyses[i]) && p->analyses[i].is->gap)
			error = p->analyses[i].is->gap(p->analyses[i].state, d, gap);
	return error;
}

static int profile_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct profile *p = context;

	if (gap->thread >= d->nthreads)
		return -EINVAL;
	if (array_reach(&p->threads, &p->nthreads, d->nthreads, sizeof(*p->threads)))
		return -ENOMEM;
	struct profiled_thread *t = &p->threads[gap->thread];

	if (!t->lost)
		t->lost_from = gap->after;
	t->lost_to = gap->before ?: UINT64_MAX;
	t->lost += gap->count;
	p->lost += gap->count;
	nesting_gap(&t->nesting);
	return tell_gap(p, d, gap);
}

struct profile *profile_new(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (p)
		p->tells_shares = NO_INDEX;
	return p;
}

void profile_subtract_floor(struct profile *p)
{
	p->subtract_floor = true;
}

void profile_tell(struct profile *p, const struct made_analysis *analyses, size_t count)
{
	p->analyses = analyses;
	p->nanalyses = count;
}

struct span_sink profile_sink(struct profile *profile)
{
	return (struct span_sink){
		.span = profile_span,
		.spans = profile_spans,
		.gap = profile_gap,
		.context = profile,
	};
}

uint64_t profile_calls(const struct profile *p)
{
	return p->spans;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nthreads; i++) {
		nesting_free(&p->threads[i].nesting);
		covered_free(&p->threads[i].team.covered);
	}
	for (size_t i = 0; i < p->nprobes; i++)
		probe_facts_free(&p->probes[i]);
	for (size_t i = 0; i < p->nrows; i++)
		inclusive_free(&p->rows[i].inclusive);
	workers_free(p);
	event_names_free(&p->names);
	free(p->threads);
	free(p->probes);
	free(p->events);
	free(p->rows);
	free(p->sites);
	free(p->row_index.slots);
	free(p->site_index.slots);
	free(p);
}
