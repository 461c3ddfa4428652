/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account.c - the calls of each thread, one at a time: whose time it was (user/account), how many, how much they moved.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/private.h"
#include "util/array.h"

/* --- probes ------------------------------------------------------------ */

/* Are the members of its meetings ranks, and not threads of a process? */
static bool is_of_ranks(const struct live *live, const struct def_probe *def)
{
	const struct model *model = def->model ? models_find(live->models, def->model) : NULL;

	return model && ((model->rank_env && model->rank_env[0]) || model->rank_symbol);
}

static int learn(struct live *live, uint32_t probe)
{
	const struct def_probe *def = &live->d->probes[probe];
	struct live_probe p = { .ready = true, .ranks = is_of_ranks(live, def) };

	if (account_probe(&p.is, &live->events, live->d, probe)) {
		accounted_probe_free(&p.is);
		return -ENOMEM;
	}
	p.meets = !p.is.inner &&
		  (def->role == ROLE_BARRIER || (def->role == ROLE_COLLECTIVE && probe_value(def, MEANING_ROOT) < 0));
	p.object = probe_value(def, MEANING_BARRIER);
	if (p.object < 0 && p.ranks) {
		p.object = probe_value(def, MEANING_COMM);
		p.comm = p.object >= 0;
	}
	p.lock = p.is.group == GROUP_LOCK ? probe_value(def, MEANING_LOCK) : -1;
	live->probes[probe] = p;
	return 0;
}

const struct live_probe *live_learn(struct live *live, uint32_t probe)
{
	if (probe >= live->d->nprobes ||
	    array_reach(&live->probes, &live->probes_room, live->d->nprobes, sizeof(*live->probes)))
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

	if (thread >= live->d->nthreads ||
	    array_reach(&live->states, &live->states_room, live->d->nthreads, sizeof(*live->states)))
		return NULL;
	if (live->nstates < live->d->nthreads)
		live->nstates = live->d->nthreads;
	if (live->states[thread])
		return live->states[thread];
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->is = (struct live_thread){ .thread = thread,
				      .process = live->d->threads[thread].process,
				      .in.probe = NO_INDEX };
	live->states[thread] = s;
	return s;
}

void live_free_state(struct live_state *s)
{
	if (!s)
		return;
	free(s->is.events);
	free(s->by_event);
	nesting_free(&s->nesting);
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
	*row = (struct live_event){ .event = event, .probe = probe, .site = NO_INDEX };
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

/* The call's part of the interval. */
static struct nested_call part_of(const struct live *live, const struct span *span)
{
	uint64_t start = span->start > live->start ? span->start : live->start,
		 end = span->end < live->until ? span->end : live->until;

	return (struct nested_call){ .begin = span->start,
				     .start = start,
				     .end = end,
				     .duration = end > start ? end - start : 0,
				     .depth = span->depth };
}

int live_account(struct live *live, const struct span *span, bool ended)
{
	const struct live_probe *p = live_learn(live, span->probe);
	struct live_state *s = p ? live_state_of(live, span->thread) : NULL;
	struct live_event *row = s ? live_event_row(s, p->is.event, span->probe) : NULL;
	struct nested_call part = part_of(live, span);
	uint64_t self;

	if (!row || nesting_add(&s->nesting, &p->is, &part, &self))
		return -ENOMEM;
	live_see(live, s, span->start);
	if (!span->depth) {
		s->begins |= p->is.team;
		s->shares |= p->is.share;
	}
	row->open.time += part.duration;
	row->open.self += self;
	return p->lock >= 0 ? locks_take(live, p, span, part.duration, ended) : 0;
}

int live_count(struct live *live, const struct span *span)
{
	const struct live_probe *p = live_learn(live, span->probe);
	struct live_state *s = p ? live_state_of(live, span->thread) : NULL;
	struct live_event *row = s ? live_event_row(s, p->is.event, span->probe) : NULL;
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
	s->open.calls += !p->is.inner;
	s->open.inner += p->is.inner;
	if (p->is.payload) {
		payload = payload_read(p->is.payload, &sent);
		row->moves = true;
		s->open.moves |= !p->is.inner;
		if (payload.bytes > 0) {
			row->open.bytes += payload.bytes;
			s->open.bytes += p->is.inner ? 0 : payload.bytes;
		}
	}
	return p->meets ? teams_take(live, p, span, true) : 0;
}
