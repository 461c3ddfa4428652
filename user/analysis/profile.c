/*
 * profile.c - collecting the profile, one span at a time.
 *
 * Spans of one thread arrive in the order they ended: what a call contains comes
 * before the call itself, and nothing is known yet of the calls that are still in
 * progress around it. Three sums need to know what was inside:
 *
 * Self time is the duration without the calls inside. Each thread keeps, for every
 * depth, the time of finished calls whose surrounding call has not ended
 * (struct pending). When a call of depth d ends it takes what is pending at d+1 and
 * deeper, and leaves its own duration pending at d. The same is done for the
 * time by group of roles, so that a lock taken inside a barrier is barrier time.
 *
 * What a runtime calls of itself (MARK_INNER) has rows of its own beside the program's, and its self time also stays in that of the runtime's call
 * around it: that is the one that the program waited in. By group it is nowhere twice.
 *
 * A lost span breaks the chain: its children stay pending and the next call of its
 * depth must not take them. So each pending sum remembers when its first call
 * began, and a call that began later leaves it alone; and a gap closes the sums
 * that were building up, so that children from before and after it are not mixed.
 *
 * Total (inclusive) time counts a recursive event once, in the outermost call. When
 * an inner call ends, it is not known whether there is an outer one, so it is added,
 * and taken back when the outer one ends. For that each (thread, event) keeps a
 * stack of runs (struct outermost) that only a call around all of them can still
 * enclose. Two runs are the same to the future when every call in progress encloses
 * both or neither; that holds when their effective depth is the same: the lowest
 * depth at which any call of the thread has ended since the run did, or the run's own
 * if that is lower. The stack is therefore never longer than calls can nest.
 *
 * Where a thread changes stacks within calls (MARK_STACKED) they overlap in any way, all at depth 0: a call may go on while another one, of another fiber, runs. There
 * each moment counts once. Total is the time in which at least one call of the event was in progress, and self time what no call that ended before has had.
 *
 * The cost of a span does not depend on the number of threads or probes: one
 * look-up in a hash table by (thread, event), one by (event, site).
 */
#include "analysis/profile_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "util/array.h"
#include "util/text.h"

#define TOGETHER 64           /* spans that are looked up together */
#define CACHE_LINE 64
#define OUTER_MOST (2 * GB_DEPTH) /* only gaps can make a stack of runs longer than calls nest */

struct event_name {
	UT_hash_handle hh;
	uint32_t event;
	char key[];
};

/* --- probes and events -------------------------------------------------- */

const char *const group_names[GROUPS] = { "wait", "lock", "data", "coll", "task", "alloc", "other" };

enum group group_of_role(enum role role)
{
	switch (role) {
	case ROLE_BARRIER: case ROLE_NOTIFY: case ROLE_WAIT: case ROLE_FENCE: case ROLE_TEST:
		return GROUP_WAIT;
	case ROLE_ACQUIRE: case ROLE_TRY: case ROLE_RELEASE:
		return GROUP_LOCK;
	case ROLE_GET: case ROLE_PUT: case ROLE_COPY: case ROLE_SET: case ROLE_SEND: case ROLE_RECV:
	case ROLE_EXCHANGE: case ROLE_TRANSFER: case ROLE_ATOMIC:
		return GROUP_DATA;
	case ROLE_COLLECTIVE:
		return GROUP_COLLECTIVE;
	case ROLE_TASK:
		return GROUP_TASK;
	case ROLE_ALLOC: case ROLE_REALLOC: case ROLE_FREE:
		return GROUP_ALLOC;
	default:
		return GROUP_OTHER;
	}
}

static char *event_label(const char *event, const char *function, bool inner)
{
	char *label;

	if (!*function && !inner)
		return NULL;
	return asprintf(&label, "%s%s%s%s", event, *function ? " " : "", function, inner ? " (inner)" : "") < 0 ? NULL : label;
}

/* The event of a probe, or that of its inner calls; NO_INDEX: out of memory. */
static uint32_t event_of_probe(struct profile *p, const struct definitions *d, uint32_t probe, bool inner)
{
	const struct def_probe *def = &d->probes[probe];
	const char *event = def->event ? def->event : "?";
	const char *model = def->model ? def->model : "";
	const char *function = def->marks & MARK_EACH && def->symbol ? def->symbol : "";
	size_t size = strlen(event) + 1 + strlen(model) + 1 + strlen(function) + 1 + inner;
	struct event_name *name = malloc(sizeof(*name) + size + 1), *known;

	if (!name)
		return NO_INDEX;
	strcpy(name->key, event);
	strcpy(name->key + strlen(event) + 1, model);
	strcpy(name->key + strlen(event) + 1 + strlen(model) + 1, function);
	if (inner)
		name->key[size - 1] = 'i';
	HASH_FIND(hh, p->names, name->key, size, known);
	if (known) {
		free(name);
		return known->event;
	}
	if (array_one_more(&p->events, &p->events_room, p->nevents, sizeof(*p->events))) {
		free(name);
		return NO_INDEX;
	}
	name->event = p->nevents;
	HASH_ADD_KEYPTR(hh, p->names, name->key, size, name);
	if (!name->hh.tbl) {
		free(name);
		return NO_INDEX;
	}
	p->events[p->nevents] = (struct event_state){
		.probe = probe, .role = def->role, .inner = NO_INDEX, .is_inner = inner, .label = event_label(event, function, inner),
	};
	return p->nevents++;
}

/* The first probe of the same model. */
static uint32_t runtime_of(const struct definitions *d, uint32_t probe)
{
	for (uint32_t i = 0; i < probe; i++)
		if (same_text(d->probes[i].model, d->probes[probe].model))
			return i;
	return probe;
}

static int learn_probe(struct profile *p, const struct definitions *d, uint32_t probe)
{
	const struct def_probe *def = &d->probes[probe];
	struct probe_facts facts = { .ready = true, .object = -1, .runtime = runtime_of(d, probe), .inner = def->marks & MARK_INNER,
				     .stacked = def->marks & MARK_STACKED };
	uint32_t own = event_of_probe(p, d, probe, false);

	facts.event = facts.inner && own != NO_INDEX ? event_of_probe(p, d, probe, true) : own;
	if (facts.event == NO_INDEX)
		return -ENOMEM;
	if (facts.inner)
		p->events[own].inner = facts.event;
	struct event_state *event = &p->events[facts.event];

	facts.cost = def->cost_ns;
	facts.floor = p->subtract_floor ? def->floor_ns : 0;
	facts.group = group_of_role(def->role);
	facts.opaque = facts.group != GROUP_TASK && facts.group != GROUP_OTHER;
	for (uint32_t i = 0; i < def->nvalues; i++) {
		enum meaning meaning = def->values[i].meaning;

		if (meaning == MEANING_BYTES || meaning == MEANING_COUNT)
			facts.moves = true;
		if (meaning == MEANING_ROOT)
			event->rooted = true;
		if (meaning == MEANING_BARRIER && facts.object < 0 && i < INT16_MAX)
			facts.object = i;
	}
	if (facts.moves) {
		facts.payload = payload_plan_new(def->role, def->values, def->nvalues);
		if (!facts.payload)
			return -ENOMEM;
	}
	event->moves |= facts.moves;
	p->events[own].moves |= facts.moves;
	p->probes[probe] = facts;
	return 0;
}

uint32_t profile_event(struct profile *p, const struct definitions *d, uint32_t probe)
{
	if (array_reach(&p->probes, &p->nprobes, d->nprobes, sizeof(*p->probes)))
		return NO_INDEX;
	if (!p->probes[probe].ready && learn_probe(p, d, probe))
		return NO_INDEX;
	return p->probes[probe].event;
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
	uint32_t site;           /* index of the site_row; NO_INDEX: no call site */
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

static int find_place(struct profile *p, const struct definitions *d, const struct span *span, struct place *place)
{
	if (span->thread >= d->nthreads || span->probe >= d->nprobes)
		return -EINVAL;
	if (array_reach(&p->threads, &p->nthreads, d->nthreads, sizeof(*p->threads)) ||
	    array_reach(&p->probes, &p->nprobes, d->nprobes, sizeof(*p->probes)))
		return -ENOMEM;
	if (!p->probes[span->probe].ready && learn_probe(p, d, span->probe))
		return -ENOMEM;
	uint32_t event = p->probes[span->probe].event;

	place->row = row_of(p, span->thread, event);
	place->site = span->site == NO_INDEX ? NO_INDEX : site_row_of(p, event, span->site);
	return place->row == NO_INDEX || (place->site == NO_INDEX && span->site != NO_INDEX) ? -ENOMEM : 0;
}

static int levels_up_to(struct thread_state *t, uint32_t depth)
{
	size_t count = t->nlevels;
	int error = array_reach(&t->levels, &count, depth + 1, sizeof(*t->levels));

	t->nlevels = count;
	return error;
}

static void add_groups(uint64_t *to, const uint64_t *from)
{
	for (int i = 0; i < GROUPS; i++)
		to[i] += from[i];
}

static void add_inner(struct pending *to, const struct pending *from)
{
	if (!to->inner)
		to->runtime = from->runtime;
	if (to->runtime == from->runtime)
		to->inner += from->inner;
}

/*
 * Takes what was pending and began within the call that started at `start` into *into; the children of
 * a call that was lost go to the thread.
 */
static void take_pending(struct thread_state *t, struct pending *from, uint64_t start, struct pending *into)
{
	if (!from->time)
		return;
	if (from->first >= start) {
		into->time += from->time;
		add_inner(into, from);
		add_groups(into->group, from->group);
	} else {
		add_groups(t->group, from->group);
	}
	memset(from, 0, sizeof(*from));
}

static void put_pending(struct pending *to, const struct pending *from)
{
	if (!from->time)
		return;
	if (!to->time || from->first < to->first)
		to->first = from->first;
	to->time += from->time;
	add_inner(to, from);
	add_groups(to->group, from->group);
}

/* The call's self time; what the call spent where becomes pending for the call around it. `duration` is without what is counted already. */
static uint64_t settle_self(struct thread_state *t, const struct span *span, uint32_t depth,
			    const struct probe_facts *facts, uint64_t duration)
{
	struct pending inside = { .first = span->start };

	for (uint32_t i = depth + 1; i < t->nlevels && t->deepest > depth; i++) {
		take_pending(t, &t->levels[i].now, span->start, &inside);
		take_pending(t, &t->levels[i].before, span->start, &inside);
		if (i == t->deepest)
			break;
	}
	t->deepest = depth;
	uint64_t own = duration > inside.time ? duration - inside.time : 0;
	uint64_t self = own + (inside.runtime == facts->runtime ? inside.inner : 0);

	if (facts->opaque) {
		memset(inside.group, 0, sizeof(inside.group));
		inside.group[facts->group] = duration;
	} else {
		inside.group[facts->group] += own;
	}
	inside.time = duration;
	inside.inner = facts->inner ? self : 0;
	inside.runtime = facts->runtime;
	if (depth)
		put_pending(&t->levels[depth].now, &inside);
	else
		add_groups(t->group, inside.group);
	return self;
}

/* Lowers the depth of a run to that of the calls that have ended since. */
static void lower(const struct thread_state *t, struct outermost *run)
{
	for (uint32_t depth = 0; depth < run->depth; depth++) {
		if (t->levels[depth].ended > run->order)
			run->depth = depth;
	}
}

static bool same_future(const struct outermost *a, const struct outermost *b)
{
	return a->depth == b->depth && a->epoch == b->epoch;
}

/* Joins runs at the top of the stack that have become the same to the future. */
static void join_runs(const struct thread_state *t, struct row *row)
{
	if (!row->nouter)
		return;
	lower(t, &row->outer[row->nouter - 1]);
	while (row->nouter > 1) {
		struct outermost *top = &row->outer[row->nouter - 1], *below = top - 1;

		lower(t, below);
		if (!same_future(top, below))
			return;
		below->total += top->total;
		below->order = top->order;
		row->nouter--;
	}
}

/* Time of calls of the same event inside this one, which were counted already; the call becomes an outermost one. */
static int settle_total(const struct thread_state *t, struct row *row, const struct span *span, uint32_t depth,
			uint64_t duration, uint64_t *inside)
{
	*inside = 0;
	while (row->nouter) {
		const struct outermost *top = &row->outer[row->nouter - 1];

		if (top->first < span->start || top->depth <= depth)
			break;
		*inside += top->total;
		row->nouter--;
	}
	join_runs(t, row);
	if (row->nouter == OUTER_MOST) {
		memmove(row->outer, row->outer + 1, (OUTER_MOST - 1) * sizeof(*row->outer));
		row->nouter--;
	}
	if (row->nouter == row->outer_room) {
		uint32_t room = row->outer_room ? 2 * row->outer_room : 1;
		struct outermost *larger = realloc(row->outer, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		row->outer = larger;
		row->outer_room = room;
	}
	row->outer[row->nouter++] = (struct outermost){
		.first = span->start, .total = duration, .order = t->order, .epoch = t->epoch, .depth = depth,
	};
	join_runs(t, row);
	return 0;
}

/* Adds the times of a call. *own: what of it is in the event's total. */
static int settle(struct thread_state *t, struct row *row, const struct span *span, uint32_t depth, const struct probe_facts *facts, uint64_t duration,
		  uint64_t *own)
{
	uint64_t fresh = duration, inside = 0;

	if (t->stacked && !depth) {
		if (covered_add(&t->covered, span->start, span->end, &fresh) || covered_add(&row->covered, span->start, span->end, own))
			return -ENOMEM;
		fresh = fresh < duration ? fresh : duration;
		*own = *own < duration ? *own : duration;
	} else {
		if (settle_total(t, row, span, depth, duration, &inside))
			return -ENOMEM;
		*own = duration > inside ? duration - inside : 0;
	}
	row->tally.total += *own;
	row->tally.self += settle_self(t, span, depth, facts, fresh);
	return 0;
}

static void count_payload(struct tally *tally, const struct payload_plan *plan, const struct span *span)
{
	struct sent_words sent = { span->words, span->nwords, span->unread, span->reason == GB_END_RETURN };
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

static int count_span(struct profile *p, const struct definitions *d, const struct span *span, const struct place *place)
{
	struct thread_state *t = &p->threads[span->thread];
	const struct probe_facts *facts = &p->probes[span->probe];
	uint32_t depth = span->depth < GB_DEPTH ? span->depth : GB_DEPTH;
	struct row *row = &p->rows[place->row];
	uint64_t own = 0;

	if (levels_up_to(t, depth))
		return -ENOMEM;
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
	if (span->reason != GB_END_DEPTH && span->reason != GB_END_ALONE && span->reason != GB_END_ATOMIC) {
		uint64_t duration = span->end > span->start ? span->end - span->start : 0;

		duration -= duration < facts->floor ? duration : facts->floor;
		t->levels[depth].ended = ++t->order;
		count_duration(&row->tally, duration);
		t->stacked |= facts->stacked;
		if (settle(t, row, span, depth, facts, duration, &own))
			return -ENOMEM;
	}
	if (facts->moves)
		count_payload(&row->tally, facts->payload, span);
	if (facts->object >= 0)
		note_object(row, &d->probes[span->probe].values[facts->object], span);
	if (place->site != NO_INDEX) {
		p->sites[place->site].calls++;
		p->sites[place->site].total += own;
	}
	return 0;
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
	uint32_t event = span->probe < p->nprobes ? p->probes[span->probe].event : 0;

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
	__builtin_prefetch(p->probes[span->probe].payload);
	if (place->site != NO_INDEX)
		__builtin_prefetch(&p->sites[place->site], 1);
}

/*
 * The same for many at once. Where there are thousands of probes or threads, rows and sites do not fit in the cache, and a
 * span would wait for memory several times, once after the other. Looked up together, all of them wait at the same time.
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
			__builtin_prefetch(p->rows[places[i].row].outer, 1);
		for (size_t i = 0; i < some && !error; i++)
			error = count_span(p, d, &spans[i], &places[i]);
	}
	return error;
}

static int profile_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct profile *p = context;

	if (gap->thread >= d->nthreads)
		return -EINVAL;
	if (array_reach(&p->threads, &p->nthreads, d->nthreads, sizeof(*p->threads)))
		return -ENOMEM;
	struct thread_state *t = &p->threads[gap->thread];

	if (!t->lost)
		t->lost_from = gap->after;
	t->lost_to = gap->before ?: UINT64_MAX;
	t->lost += gap->count;
	p->lost += gap->count;
	t->epoch++;
	for (uint32_t i = 0; i < t->nlevels; i++) {
		put_pending(&t->levels[i].before, &t->levels[i].now);
		memset(&t->levels[i].now, 0, sizeof(t->levels[i].now));
	}
	return 0;
}

struct profile *profile_new(void)
{
	return calloc(1, sizeof(struct profile));
}

void profile_subtract_floor(struct profile *p)
{
	p->subtract_floor = true;
}

struct span_sink profile_sink(struct profile *profile)
{
	return (struct span_sink){
		.span = profile_span, .spans = profile_spans, .gap = profile_gap, .context = profile,
	};
}

void profile_free(struct profile *p)
{
	struct event_name *name, *next;

	if (!p)
		return;
	HASH_ITER(hh, p->names, name, next) {
		HASH_DEL(p->names, name);
		free(name);
	}
	for (size_t i = 0; i < p->nthreads; i++) {
		free(p->threads[i].levels);
		covered_free(&p->threads[i].covered);
	}
	for (size_t i = 0; i < p->nprobes; i++)
		payload_plan_free(p->probes[i].payload);
	for (size_t i = 0; i < p->nrows; i++) {
		free(p->rows[i].outer);
		covered_free(&p->rows[i].covered);
	}
	for (size_t i = 0; i < p->nevents; i++)
		free(p->events[i].label);
	free(p->threads);
	free(p->probes);
	free(p->events);
	free(p->rows);
	free(p->sites);
	free(p->row_index.slots);
	free(p->site_index.slots);
	free(p);
}
