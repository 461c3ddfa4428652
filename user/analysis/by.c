/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by.c - all calls, summed up by what the user wants: gaspbpf report --by rank,event.
 *
 * Threads, ranks, nodes and events are what the report's own sums are of, so these are summed up again; they hold all
 * calls, also those that are not on the timeline. For anything else the recording is read once more, after all that
 * there is to know (the phases) is known.
 *
 * Total is the time in which a thread was in any of the group's calls: one inside another counts once. Of the report's
 * own sums it is that of the events, which say so of themselves; where events are not told apart it is the time in any
 * call at all, which is the sum of the calls' self times.
 *
 * Memory grows with groups and the threads that have some of them. Beyond MEMBERS_MOST calls are only counted.
 */
#include "analysis/by.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/communication.h"
#include "analysis/locks.h"
#include "util/array.h"

#define MEMBERS_MOST (1u << 18)

static bool has(const struct by *s, enum grouped_by by)
{
	for (unsigned i = 0; i < s->grouping.count; i++)
		if (s->grouping.by[i] == by)
			return true;
	return false;
}

/* --- groups -------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static bool same_group(const struct by *s, const struct by_group *group, const uint64_t *key)
{
	return !memcmp(group->key, key, s->grouping.count * sizeof(*key));
}

/* NO_INDEX: out of memory. */
static uint32_t group_of(struct by *s, const uint64_t *key)
{
	uint64_t hash = 0;
	struct index_slot *slot;

	for (unsigned i = 0; i < s->grouping.count; i++)
		hash = mix(hash, key[i]);
	if (array_one_more(&s->groups, &s->groups_room, s->ngroups, sizeof(*s->groups)))
		return NO_INDEX;
	while ((slot = index_find(&s->group_index, hash)) && slot->value != INDEX_FREE &&
	       !same_group(s, &s->groups[slot->value], key))
		hash = mix(hash, 1);
	if (!slot)
		return NO_INDEX;
	if (slot->value == INDEX_FREE) {
		struct by_group *group = &s->groups[s->ngroups];

		*group = (struct by_group){ .least_process = NO_INDEX };
		memcpy(group->key, key, s->grouping.count * sizeof(*key));
		slot->value = s->ngroups++;
	}
	return slot->value;
}

/* Where the thread's calls of the group are counted; NULL: out of memory, or there is no room (*full). */
static struct by_member *member_of(struct by *s, const uint64_t *key, uint32_t thread, bool *full)
{
	uint32_t group;
	struct index_slot *slot;

	*full = s->nmembers >= MEMBERS_MOST;
	if (*full)
		return NULL;
	group = group_of(s, key);
	if (group == NO_INDEX || array_one_more(&s->members, &s->members_room, s->nmembers, sizeof(*s->members)))
		return NULL;
	slot = index_find(&s->member_index, index_key(group, thread));
	if (!slot)
		return NULL;
	if (slot->value == INDEX_FREE) {
		s->members[s->nmembers] = (struct by_member){ .group = group, .thread = thread };
		slot->value = s->nmembers++;
	}
	return &s->members[slot->value];
}

static void add_sums(struct by_sums *to, const struct by_sums *from)
{
	to->calls += from->calls;
	to->total += from->total;
	to->self += from->self;
	to->bytes += from->bytes;
	to->known_bytes += from->known_bytes;
	to->unknown_bytes += from->unknown_bytes;
	to->timed |= from->timed;
	to->estimated |= from->estimated;
}

/* --- out of the report's sums ---------------------------------------------------- */

/* Of a merged recording: where the thread ran. */
static uint64_t node_of(const struct definitions *d, uint32_t thread)
{
	const struct def_process *process = thread_process(d, thread);

	return process ? process->node : 0;
}

static uint64_t key_of_row(const struct by *s, enum grouped_by by, const struct row *row)
{
	switch (by) {
	case BY_THREAD:
		return row->thread;
	case BY_RANK:
		return s->r->d->threads[row->thread].process;
	case BY_NODE:
		return node_of(s->r->d, row->thread);
	case BY_EVENT:
		return row->event;
	default:
		return 0;
	}
}

static int take_row(struct by *s, const struct row *row)
{
	const struct tally *tally = &row->tally;
	const struct by_sums sums = {
		.calls = tally->calls,
		.total = has(s, BY_EVENT) ? tally->likely_total : tally->likely_self,
		.self = tally->likely_self,
		.bytes = tally->bytes,
		.known_bytes = tally->known_bytes,
		.unknown_bytes = tally->unknown_bytes,
		.timed = tally->timed || tally->likely_total,
		.estimated = tally_missing(tally),
	};
	uint64_t key[GROUPING_MOST];
	struct by_member *member;
	bool full;

	if (s->r->profile->events[row->event].is_inner)
		return 0; /* their time is that of the calls around them */
	for (unsigned i = 0; i < s->grouping.count; i++)
		key[i] = key_of_row(s, s->grouping.by[i], row);
	member = member_of(s, key, row->thread, &full);
	if (!member && !full)
		return -ENOMEM;
	add_sums(member ? &member->sums : &s->beyond, &sums);
	return 0;
}

/* --- out of the calls ---------------------------------------------------------------- */

/* Which lock the call is for; BY_NONE: it is for none. */
static int find_lock(struct by *s, const struct accounted_call *call, uint64_t *key)
{
	struct locks *locks = s->locks;
	const struct lock_facts *facts = lock_facts_of(locks, call->span->probe);
	uint32_t number;
	int error;

	*key = BY_NONE;
	if (!facts)
		return -ENOMEM;
	if (facts->does == LOCK_NOTHING)
		return 0;
	error = lock_of_call(locks, facts, call->span, &number);
	*key = number == NO_INDEX ? BY_UNKNOWN : number;
	if (error || number == NO_INDEX)
		return error;
	/* It is called after what takes it, where that is known. */
	if (locks->locks[number].probe == NO_INDEX || facts->does == LOCK_TAKES)
		locks->locks[number].probe = call->span->probe;
	return 0;
}

static int find_peer(struct by *s, const struct accounted_call *call, uint64_t *key)
{
	int64_t rank;
	int error = communication_peer(s->communication, call, &rank);

	*key = rank >= 0 ? (uint64_t)rank : rank == PEER_NONE ? BY_NONE : rank == PEER_NOBODY ? BY_NOBODY : BY_UNKNOWN;
	return error;
}

static uint64_t phase_of(const struct by *s, uint64_t time)
{
	for (size_t i = 0; i < s->r->nphases; i++)
		if (time >= s->r->phases[i].from && time < s->r->phases[i].to)
			return i;
	return BY_NONE;
}

/* What calls a share of a region is always the same place of the runtime, which is nobody's line. */
static uint64_t line_of(const struct by *s, const struct definitions *d, const struct span *span)
{
	if (span->probe < d->nprobes && s->functions[span->probe] != NO_INDEX)
		return BY_FUNCTION | s->functions[span->probe];
	return span->site < d->nsites ? s->lines[span->site] : BY_UNKNOWN;
}

static int key_of_call(struct by *s, enum grouped_by by, const struct accounted_call *call, uint64_t *key)
{
	const struct span *span = call->span;
	uint32_t event;

	*key = 0;
	switch (by) {
	case BY_THREAD:
		*key = span->thread;
		return 0;
	case BY_RANK:
		*key = call->d->threads[span->thread].process;
		return 0;
	case BY_NODE:
		*key = node_of(call->d, span->thread);
		return 0;
	case BY_EVENT:
		event = profile_event(s->r->profile, call->d, span->probe); /* the report's number of it */
		*key = event;
		return event == NO_INDEX ? -ENOMEM : 0;
	case BY_LINE:
		*key = line_of(s, call->d, span);
		return 0;
	case BY_LOCK:
		return find_lock(s, call, key);
	case BY_PEER:
		return find_peer(s, call, key);
	case BY_PHASE:
		*key = phase_of(s, span->start);
		return 0;
	default:
		return 0;
	}
}

/* What it took and moved. */
static int measure(struct by_member *member, const struct accounted_call *call, struct by_sums *sums)
{
	const struct span *span = call->span;
	const struct nested_call nested = {
		.begin = span->start,
		.start = span->start,
		.end = span->end,
		.duration = call->duration,
		.depth = span->depth < GB_DEPTH ? span->depth : GB_DEPTH,
	};

	*sums = (struct by_sums){ .calls = 1, .self = call->self, .timed = call->timed };
	if (call->payload.bytes >= 0) {
		sums->bytes = (uint64_t)call->payload.bytes;
		sums->known_bytes = 1;
	} else {
		sums->unknown_bytes = call->probe->is.payload != NULL;
	}
	return member && call->timed ? inclusive_add(&member->inclusive, call->nesting, &nested, &sums->total) : 0;
}

static int take_call(void *state, const struct accounted_call *call)
{
	struct by *s = state;
	struct by_member *member = NULL;
	struct by_sums sums;
	uint64_t key[GROUPING_MOST];
	bool none = false, full = true;

	if (call->inner)
		return 0;
	for (unsigned i = 0; i < s->grouping.count; i++) {
		enum grouped_by by = s->grouping.by[i];

		if (key_of_call(s, by, call, &key[i]))
			return -ENOMEM;
		none |= key[i] == BY_NONE && by != BY_PHASE;
	}
	if (!none)
		member = member_of(s, key, call->span->thread, &full);
	if ((!member && !full) || measure(member, call, &sums))
		return -ENOMEM;
	add_sums(member ? &member->sums : none ? &s->others : &s->beyond, &sums);
	return 0;
}

static int read_again(struct by *s, const struct report *r)
{
	static const struct analysis told = { .name = "by", .roles = EVERY_ROLE, .span = take_call };
	const struct made_analysis self = { .is = &told, .state = s, .made = true };
	struct profile *profile = profile_new();
	struct span_sink sink;
	int error;

	if (!profile)
		return -ENOMEM;
	if (r->profile->subtract_floor)
		profile_subtract_floor(profile);
	profile_tell(profile, &self, 1);
	sink = profile_sink(profile);
	error = recording_read(r->recording, &sink);
	profile_free(profile);
	return error;
}

/* --- the analysis ------------------------------------------------------------------ */

static int begin(void **state, const struct definitions *d)
{
	*state = calloc(1, sizeof(struct by));
	return *state ? 0 : -ENOMEM;
}

static uint32_t *same_functions(const struct definitions *d)
{
	uint32_t *first = malloc((d->nprobes + 1) * sizeof(*first));

	for (uint32_t i = 0; first && i < d->nprobes; i++) {
		const struct def_probe *probe = &d->probes[i];

		first[i] = probe->marks & MARK_POINTED && probe->symbol ? i : NO_INDEX;
		for (uint32_t k = 0; first[i] == i && k < i; k++)
			if (first[k] != NO_INDEX && !strcmp(d->probes[k].symbol, probe->symbol))
				first[i] = first[k];
	}
	return first;
}

/* What is needed to tell what calls name. */
static int learn(struct by *s, const struct definitions *d)
{
	int error = 0;

	if (has(s, BY_LINE)) {
		s->lines = report_same_lines(d);
		s->functions = same_functions(d);
		error = s->lines && s->functions ? 0 : -ENOMEM;
	}
	if (has(s, BY_LOCK) && !error)
		error = analysis_locks.begin(&s->locks, d);
	if (has(s, BY_PEER) && !error)
		error = analysis_communication.begin(&s->communication, d);
	return error;
}

static int by_group_and_process(const void *a, const void *b, void *context)
{
	const struct definitions *d = context;
	const struct by_member *x = a, *y = b;
	uint32_t left = d->threads[x->thread].process, right = d->threads[y->thread].process;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (left != right)
		return left < right ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void note_process(struct by_group *group, uint32_t process, uint64_t self)
{
	if (!group->processes++ || self < group->least) {
		group->least = self;
		group->least_process = process;
	}
	if (group->processes == 1 || self > group->most) {
		group->most = self;
		group->most_process = process;
	}
}

/* The members are sorted: adds up each group, and notes how its time is spread over the processes. */
static void sum_up(struct by *s)
{
	const struct definitions *d = s->r->d;
	uint64_t self = 0;

	for (size_t i = 0; i < s->nmembers; i++) {
		const struct by_member *member = &s->members[i], *next = member + 1;
		struct by_group *group = &s->groups[member->group];
		uint32_t process = d->threads[member->thread].process;

		add_sums(&group->sums, &member->sums);
		self += member->sums.self;
		if (i + 1 < s->nmembers && next->group == member->group && d->threads[next->thread].process == process)
			continue;
		note_process(group, process, self);
		self = 0;
	}
}

static int by_keys(const void *a, const void *b)
{
	const struct by_group *x = a, *y = b;

	for (unsigned i = 0; i < GROUPING_MOST; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return 0;
}

/* For each group the sums of those that begin as it does: they stand together here. */
static void sum_beginnings(struct by *s, unsigned keys)
{
	uint64_t self = 0;

	for (size_t first = 0, i = 0; i < s->ngroups; i++) {
		self += s->groups[i].sums.self;
		if (i + 1 < s->ngroups &&
		    !memcmp(s->groups[first].key, s->groups[i + 1].key, keys * sizeof(*s->groups[i].key)))
			continue;
		for (; first <= i; first++)
			s->groups[first].self[keys - 1] = self;
		self = 0;
	}
}

/* The most self time first, and phases in their order; inside each of them likewise. */
static int by_self(const void *a, const void *b, void *context)
{
	const struct by *s = context;
	const struct by_group *x = a, *y = b;

	for (unsigned i = 0; i < s->grouping.count; i++) {
		if (x->key[i] == y->key[i])
			continue;
		if (s->grouping.by[i] != BY_PHASE && x->self[i] != y->self[i])
			return x->self[i] > y->self[i] ? -1 : 1;
		return x->key[i] < y->key[i] ? -1 : 1;
	}
	return 0;
}

static int end(void *state, struct report *r)
{
	struct by *s = state;
	int error = 0;

	s->r = r;
	s->grouping = *r->grouping;
	s->by_calls = has(s, BY_LINE) || has(s, BY_LOCK) || has(s, BY_PEER) || has(s, BY_PHASE);
	if (s->by_calls && r->recording)
		error = learn(s, r->d) ?: read_again(s, r);
	for (size_t i = 0; i < r->nrows && !s->by_calls && !error; i++)
		error = take_row(s, &r->rows[i]);
	if (error)
		return error;
	if (s->nmembers)
		qsort_r(s->members, s->nmembers, sizeof(*s->members), by_group_and_process, (void *)r->d);
	sum_up(s);
	if (!s->ngroups)
		return 0;
	qsort(s->groups, s->ngroups, sizeof(*s->groups), by_keys);
	for (unsigned keys = 1; keys <= s->grouping.count; keys++)
		sum_beginnings(s, keys);
	qsort_r(s->groups, s->ngroups, sizeof(*s->groups), by_self, s);
	return 0;
}

static void by_free(void *state)
{
	struct by *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->nmembers; i++)
		inclusive_free(&s->members[i].inclusive);
	analysis_locks.free(s->locks);
	analysis_communication.free(s->communication);
	free(s->groups);
	free(s->members);
	free(s->group_index.slots);
	free(s->member_index.slots);
	free(s->lines);
	free(s->functions);
	free(s);
}

const struct analysis analysis_by = {
	.name = "by",
	.title = "By",
	.asked = true,
	.ends_last = true,
	.begin = begin,
	.end = end,
	.print = by_print,
	.json = by_put,
	.free = by_free,
};
