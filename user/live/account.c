/*
 * account.c - where a call's time goes.
 *
 * A call is told when it has ended, after the calls inside it. What it contains is found as the profile does it: for each
 * depth a thread keeps the time of finished calls whose surrounding call has not ended; a call takes what is pending below it and leaves
 * its own time pending at its depth. Where a role says what the time is for, all of the call is that role's, whatever it
 * is built from: the outermost call of a runtime decides. Tasks and functions of the program are looked into. Where calls overlap in any way, since threads
 * change stacks within them, each moment goes to the call that ended first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/private.h"
#include "util/array.h"
#include "util/text.h"

const char *live_group_name(enum live_group group)
{
	static const char *const names[LIVE_GROUPS] = { "compute", "barrier", "wait", "lock", "data", "collective", "task", "alloc", "other" };

	return group < LIVE_GROUPS ? names[group] : "?";
}

static enum live_group group_of(enum role role)
{
	switch (role) {
	case ROLE_BARRIER: case ROLE_NOTIFY:
		return LIVE_BARRIER;
	case ROLE_WAIT: case ROLE_FENCE: case ROLE_TEST:
		return LIVE_WAIT;
	case ROLE_ACQUIRE: case ROLE_TRY: case ROLE_RELEASE:
		return LIVE_LOCK;
	case ROLE_GET: case ROLE_PUT: case ROLE_COPY: case ROLE_SET: case ROLE_SEND: case ROLE_RECV:
	case ROLE_EXCHANGE: case ROLE_TRANSFER: case ROLE_ATOMIC:
		return LIVE_DATA;
	case ROLE_COLLECTIVE:
		return LIVE_COLLECTIVE;
	case ROLE_TASK:
		return LIVE_TASK;
	case ROLE_ALLOC: case ROLE_REALLOC: case ROLE_FREE:
		return LIVE_ALLOC;
	default:
		return LIVE_OTHER;
	}
}

/* --- probes ------------------------------------------------------------ */

/* The event of a probe: probes of one name and model share it. NO_INDEX: no memory. */
static uint32_t event_of(struct live *live, uint32_t probe)
{
	const struct def_probe *def = &live->d->probes[probe];

	for (size_t i = 0; i < live->nevents; i++) {
		const struct def_probe *other = &live->d->probes[live->events[i]];

		if (same_text(def->event, other->event) && same_text(def->model, other->model) &&
		    !((def->marks ^ other->marks) & MARK_INNER) && (!((def->marks | other->marks) & MARK_EACH) || same_text(def->symbol, other->symbol)))
			return i;
	}
	if (array_one_more(&live->events, &live->events_room, live->nevents, sizeof(*live->events)))
		return NO_INDEX;
	live->events[live->nevents] = probe;
	return live->nevents++;
}

static int32_t find_value(const struct def_probe *def, enum meaning meaning)
{
	for (uint32_t i = 0; i < def->nvalues && i < INT32_MAX; i++)
		if (def->values[i].meaning == meaning)
			return i;
	return -1;
}

/* Are the members of its meetings ranks, and not threads of a process? */
static bool is_of_ranks(const struct live *live, const struct def_probe *def)
{
	const struct model *model = def->model ? models_find(live->models, def->model) : NULL;

	return model && ((model->rank_env && model->rank_env[0]) || model->rank_symbol);
}

/* The first probe of the same model. */
static uint32_t runtime_of(const struct live *live, uint32_t probe)
{
	for (uint32_t i = 0; i < probe; i++)
		if (same_text(live->d->probes[i].model, live->d->probes[probe].model))
			return i;
	return probe;
}

static int learn(struct live *live, uint32_t probe)
{
	const struct def_probe *def = &live->d->probes[probe];
	struct live_probe p = { .ready = true, .group = group_of(def->role) };

	p.event = event_of(live, probe);
	if (p.event == NO_INDEX)
		return -ENOMEM;
	p.opaque = p.group != LIVE_TASK && p.group != LIVE_OTHER;
	p.ranks = is_of_ranks(live, def);
	p.inner = def->marks & MARK_INNER;
	p.stacked = def->marks & MARK_STACKED;
	p.runtime = runtime_of(live, probe);
	p.meets = !p.inner && (def->role == ROLE_BARRIER || (def->role == ROLE_COLLECTIVE && find_value(def, MEANING_ROOT) < 0));
	p.object = find_value(def, MEANING_BARRIER);
	if (p.object < 0 && p.ranks) {
		p.object = find_value(def, MEANING_COMM);
		p.comm = p.object >= 0;
	}
	p.lock = p.group == LIVE_LOCK ? find_value(def, MEANING_LOCK) : -1;
	p.done = find_value(def, MEANING_DONE);
	p.error = find_value(def, MEANING_ERROR);
	if (find_value(def, MEANING_BYTES) >= 0 || find_value(def, MEANING_COUNT) >= 0) {
		p.payload = payload_plan_new(def->role, def->values, def->nvalues);
		if (!p.payload)
			return -ENOMEM;
	}
	live->probes[probe] = p;
	return 0;
}

const struct live_probe *live_learn(struct live *live, uint32_t probe)
{
	if (probe >= live->d->nprobes || array_reach(&live->probes, &live->probes_room, live->d->nprobes, sizeof(*live->probes)))
		return NULL;
	live->nprobes = live->d->nprobes;
	if (!live->probes[probe].ready && learn(live, probe))
		return NULL;
	return &live->probes[probe];
}

bool live_value(const struct live *live, const struct span *span, int32_t index, int64_t *number)
{
	const struct def_probe *def = &live->d->probes[span->probe];
	struct value_reading reading;

	if (index < 0 || (uint32_t)index >= def->nvalues)
		return false;
	reading = value_read(&def->values[index], span->words, span->nwords, span->unread,
			     span->end != UINT64_MAX && span->reason == GB_END_RETURN);
	*number = reading.number;
	return reading.known && !reading.none;
}

/* --- threads ----------------------------------------------------------- */

struct live_state *live_state_of(struct live *live, uint32_t thread)
{
	struct live_state *s;

	if (thread >= live->d->nthreads || array_reach(&live->states, &live->states_room, live->d->nthreads, sizeof(*live->states)))
		return NULL;
	if (live->nstates < live->d->nthreads)
		live->nstates = live->d->nthreads;
	if (live->states[thread])
		return live->states[thread];
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->is = (struct live_thread){ .thread = thread, .process = live->d->threads[thread].process, .in.probe = NO_INDEX };
	live->states[thread] = s;
	return s;
}

void live_free_state(struct live_state *s)
{
	if (!s)
		return;
	free(s->is.events);
	free(s->by_event);
	free(s->levels);
	covered_free(&s->covered);
	free(s);
}

struct live_event *live_event_row(struct live_state *s, uint32_t event, uint32_t probe)
{
	struct live_event *row;

	if (array_reach(&s->by_event, &s->nby_event, (size_t)event + 1, sizeof(*s->by_event)))
		return NULL;
	if (s->by_event[event])
		return &s->is.events[s->by_event[event] - 1];
	if (array_one_more(&s->is.events, &s->events_room, s->is.nevents, sizeof(*s->is.events)))
		return NULL;
	row = &s->is.events[s->is.nevents++];
	*row = (struct live_event){ .probe = probe, .site = NO_INDEX };
	s->by_event[event] = s->is.nevents;
	return row;
}

void live_see(struct live *live, struct live_state *s, uint64_t start)
{
	if (s->is.seen && s->since <= start)
		return;
	s->is.seen = true;
	s->since = start > live->began ? start : live->began;
}

/* --- one call ---------------------------------------------------------- */

void live_add_groups(uint64_t *to, const uint64_t *from)
{
	for (int i = 0; i < LIVE_GROUPS; i++)
		to[i] += from[i];
}

static void add_inner(struct live_pending *to, const struct live_pending *from)
{
	if (!to->inner)
		to->runtime = from->runtime;
	if (to->runtime == from->runtime)
		to->inner += from->inner;
}

/* What was pending and began within the call goes into it; else its own call was lost, and it is the thread's. */
static void take_pending(struct live_state *s, struct live_pending *from, uint64_t start, struct live_pending *into)
{
	if (!from->time)
		return;
	if (from->first >= start) {
		into->time += from->time;
		add_inner(into, from);
		live_add_groups(into->group, from->group);
	} else {
		live_add_groups(s->group, from->group);
	}
	memset(from, 0, sizeof(*from));
}

/* Settles where the call's part of the interval went; *self: without the calls inside. ns of the part. */
static uint64_t settle(struct live *live, struct live_state *s, const struct live_probe *p, const struct span *span, uint64_t *self)
{
	uint64_t end = span->end < live->until ? span->end : live->until;
	uint64_t start = span->start > live->start ? span->start : live->start;
	uint64_t part = end > start ? end - start : 0, fresh = part;
	struct live_pending inside = { .first = span->start }, *mine;

	s->stacked |= p->stacked;
	if (s->stacked && !span->depth && covered_add(&s->covered, start, end, &fresh))
		fresh = part; /* no memory */
	for (size_t i = (size_t)span->depth + 1; i < s->nlevels; i++)
		take_pending(s, &s->levels[i], span->start, &inside);
	uint64_t own = fresh > inside.time ? fresh - inside.time : 0;

	*self = own + (inside.runtime == p->runtime ? inside.inner : 0);
	if (p->opaque) {
		memset(inside.group, 0, sizeof(inside.group));
		inside.group[p->group] = fresh;
	} else {
		inside.group[p->group] += own;
	}
	inside.inner = p->inner ? *self : 0;
	inside.runtime = p->runtime;
	if (!span->depth || array_reach(&s->levels, &s->nlevels, (size_t)span->depth + 1, sizeof(*s->levels))) {
		live_add_groups(s->group, inside.group);
		return part;
	}
	mine = &s->levels[span->depth];
	if (!mine->time || span->start < mine->first)
		mine->first = span->start;
	mine->time += part;
	add_inner(mine, &inside);
	live_add_groups(mine->group, inside.group);
	return part;
}

int live_account(struct live *live, const struct span *span, bool ended)
{
	const struct live_probe *p = live_learn(live, span->probe);
	struct live_state *s = p ? live_state_of(live, span->thread) : NULL;
	struct live_event *row = s ? live_event_row(s, p->event, span->probe) : NULL;
	uint64_t self, part;

	if (!row)
		return -ENOMEM;
	live_see(live, s, span->start);
	part = settle(live, s, p, span, &self);
	row->open.time += part;
	row->open.self += self;
	if (p->lock >= 0 && locks_take(live, p, span, part, ended))
		return -ENOMEM;
	return 0;
}

int live_count(struct live *live, const struct span *span)
{
	const struct live_probe *p = live_learn(live, span->probe);
	struct live_state *s = p ? live_state_of(live, span->thread) : NULL;
	struct live_event *row = s ? live_event_row(s, p->event, span->probe) : NULL;
	const struct sent_words sent = { span->words, span->nwords, span->unread, span->reason == GB_END_RETURN };
	uint64_t duration = span->end - span->start;
	struct payload payload;

	if (!row)
		return -ENOMEM;
	row->open.calls++;
	row->open.full += duration;
	if (duration > row->open.longest)
		row->open.longest = duration;
	if (span->site != NO_INDEX)
		row->site = span->site;
	s->open.calls += !p->inner;
	s->open.inner += p->inner;
	if (p->payload) {
		payload = payload_read(p->payload, &sent);
		row->moves = true;
		s->open.moves |= !p->inner;
		if (payload.bytes > 0) {
			row->open.bytes += payload.bytes;
			s->open.bytes += p->inner ? 0 : payload.bytes;
		}
	}
	return p->meets ? teams_take(live, p, span, true) : 0;
}
