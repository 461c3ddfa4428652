/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication.c - who sends how much to whom: calls that name another rank, summed up by caller and rank.
 *
 * A message counts where it is sent, an access of memory where it is made. So a message whose receiver is not observed
 * is there, and none is there twice. A rank in a communicator becomes a rank of the job; where that cannot be told, the
 * call is counted as to an unknown rank, never to a guessed one.
 *
 * One runtime is often built on another one: a put of the program is then a put of the lower one as well, inside of
 * it. Calls come with those inside first. So what was counted inside of other calls is remembered for a while, and
 * taken back if a call of a communication runtime turns out to be around it.
 */
#include "analysis/communication.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/text.h"

#define PAIRS_MOST (1u << 18)

const char *const traffic_names[TRAFFICS] = { "sent", "put", "got", "atomic" };

/* --- probes --------------------------------------------------------------- */

static bool names_ranks(const struct def_probe *def)
{
	return def->role == ROLE_COLLECTIVE || probe_value(def, MEANING_PEER) >= 0;
}

static bool is_parallel(const struct definitions *d, const char *model)
{
	for (size_t i = 0; i < d->nprobes; i++)
		if (names_ranks(&d->probes[i]) && same_text(d->probes[i].model, model))
			return true;
	return false;
}

/* The values that say whom it names: those of one side before those of none, those of the call before its result. */
static int16_t peer_of(const struct def_probe *def, enum side side)
{
	int16_t found = -1;
	int best = 0;

	for (uint32_t i = 0; i < def->nvalues && i < INT16_MAX; i++) {
		const struct value *v = &def->values[i];
		int fits = v->meaning != MEANING_PEER || v->unobservable ? 0
			   : v->side == side                             ? 4
			   : v->side == SIDE_NONE                        ? 2
									 : 0;

		fits += fits && !v->at_return;
		if (fits > best) {
			best = fits;
			found = (int16_t)i;
		}
	}
	return found;
}

static int learn_probe(const struct communication *c, const struct accounted_call *call, struct comm_probe *probe)
{
	const struct def_probe *def = &c->d->probes[call->span->probe];

	*probe = (struct comm_probe){ .looked = true,
				      .parallel = is_parallel(c->d, def->model),
				      .names_comm = probe_value(def, MEANING_COMM) >= 0,
				      .to = -1,
				      .from = -1,
				      .site = NO_INDEX,
				      .floor = def->floor_ns - call->probe->floor };
	probe->values = calloc(def->nvalues + 1, sizeof(*probe->values));
	probe->requests = calloc(def->nvalues + 1, sizeof(*probe->requests));
	if (!probe->values || !probe->requests)
		return -ENOMEM;
	for (uint32_t i = 0; i < def->nvalues; i++) {
		value_prepare(&probe->values[i], &def->values[i]);
		if (def->values[i].meaning == MEANING_REQUEST && !def->values[i].at_return &&
		    !def->values[i].unobservable && i <= UINT16_MAX)
			probe->requests[probe->nrequests++] = (uint16_t)i;
	}
	probe->index = (int16_t)probe_value(def, MEANING_INDEX);
	for (uint32_t i = 0; i < def->nvalues; i++)
		probe->begins |= def->values[i].meaning == MEANING_REQUEST && def->values[i].at_return;
	if (call->role == ROLE_COPY)
		probe->from = peer_of(def, SIDE_RECV);
	if (call->role == ROLE_GET)
		probe->to = peer_of(def, SIDE_RECV);
	else if (call->role != ROLE_RECV)
		probe->to = peer_of(def, SIDE_SEND);
	return 0;
}

/* --- who ------------------------------------------------------------------ */

/* A call has made something that accesses will name: their ranks are those of the communicator it was made with. */
static int note_window(struct communication *c, const struct accounted_call *call)
{
	const struct def_comm *comm = comm_of_span(c->comms, call->span);
	int64_t handle;

	if (probe_value(&c->d->probes[call->span->probe], MEANING_COMM) < 0 || !call_number(call, MEANING_PTR, &handle))
		return 0;
	return window_comms_note(&c->windows, c->d->threads[call->span->thread].process, (uint64_t)handle,
				 comm ? (uint32_t)(comm - c->d->comms) : NO_INDEX);
}

/* The rank in the job that this value names. -1: it is not known; -2: it is nobody. */
static int64_t rank_named(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
			  int16_t value)
{
	const struct def_comm *comm;
	int64_t rank, handle;
	uint32_t of;

	if (!comm_number(probe, call->span, (uint32_t)value, &rank))
		return -1;
	if (rank < 0)
		return -2; /* of whom one sends to, no number stands for "any" */
	if (probe->names_comm) {
		comm = comm_of_span(c->comms, call->span);
		return comm ? comm_world_rank(comm, rank) : -1;
	}
	if (!call_number(call, MEANING_PTR, &handle) ||
	    !window_comms_find(&c->windows, c->d->threads[call->span->thread].process, (uint64_t)handle, &of))
		return rank < NO_INDEX ? rank : -1;
	return of == NO_INDEX ? -1 : comm_world_rank(&c->d->comms[of], rank);
}

/* The pair's index; NO_INDEX: there are too many of them. -ENOMEM in *error. */
static uint32_t pair_of(struct communication *c, uint32_t process, uint32_t rank, int *error)
{
	struct index_slot *slot;

	if (c->npairs >= PAIRS_MOST) {
		const struct index_slot *known = index_known(&c->pair_index, index_key(process, rank));

		return known ? known->value : NO_INDEX;
	}
	*error = -ENOMEM;
	if (array_one_more(&c->pairs, &c->pairs_room, c->npairs, sizeof(*c->pairs)))
		return NO_INDEX;
	slot = index_find(&c->pair_index, index_key(process, rank));
	if (!slot)
		return NO_INDEX;
	*error = 0;
	if (slot->value == INDEX_FREE) {
		c->pairs[c->npairs] = (struct comm_pair){ .process = process, .rank = rank, .target = NO_INDEX };
		slot->value = c->npairs++;
	}
	return slot->value;
}

/* Calls without a call site are told apart by their process. */
static uint32_t place_of(struct communication *c, const struct accounted_call *call, struct comm_probe *probe)
{
	uint32_t process = c->d->threads[call->span->thread].process, site = call->span->site;
	struct index_slot *slot;

	if (site != NO_INDEX && site == probe->site)
		return probe->place;
	if (array_one_more(&c->places, &c->places_room, c->nplaces, sizeof(*c->places)))
		return NO_INDEX;
	slot = index_find(&c->place_index, index_key(call->event, site == NO_INDEX ? ~process : site));
	if (!slot)
		return NO_INDEX;
	if (slot->value == INDEX_FREE) {
		c->places[c->nplaces] = (struct comm_place){ .event = call->event,
							     .site = site,
							     .process = process,
							     .shortest = UINT64_MAX,
							     .pair = NO_INDEX,
							     .begun_event = NO_INDEX };
		slot->value = c->nplaces++;
	}
	probe->site = site;
	probe->place = slot->value;
	return slot->value;
}

/* --- counting, and taking back -------------------------------------------- */

static struct flow *sum_of(struct communication *c, uint32_t process, const struct comm_entry *e)
{
	struct comm_process *p = &c->processes[process];

	switch (e->in) {
	case IN_PAIR:
		return &c->pairs[e->pair].flow[e->traffic];
	case IN_BEYOND:
		return &c->beyond;
	case IN_UNKNOWN:
		return &p->unknown;
	case IN_NOBODY:
		return &p->nobody;
	case IN_RECEIVED:
		return &p->received;
	case IN_COLLECTIVE:
		return &p->collective;
	default:
		return NULL;
	}
}

static unsigned size_of(int64_t bytes)
{
	return bytes < 0 ? SIZES : bytes ? 64 - __builtin_clzll((uint64_t)bytes) : 0;
}

static void count(struct communication *c, uint32_t process, const struct comm_entry *e)
{
	struct flow *sum = sum_of(c, process, e);

	if (sum)
		flow_add(sum, &e->flow);
	if (e->in == IN_PAIR)
		c->pairs[e->pair].time += e->time;
	if (e->size < SIZES) {
		c->sizes[e->size] += e->flow.operations;
		c->size_bytes[e->size] += e->flow.bytes;
	}
	c->processes[process].unknown_senders += e->unknown_sender ? e->flow.operations : 0;
	c->places[e->place].calls += e->flow.operations;
}

static void take_back(struct communication *c, uint32_t process, const struct comm_entry *e)
{
	struct flow *sum = sum_of(c, process, e);

	if (sum)
		flow_take(sum, &e->flow);
	if (e->in == IN_PAIR)
		c->pairs[e->pair].time -= e->time;
	if (e->size < SIZES) {
		c->sizes[e->size] -= e->flow.operations;
		c->size_bytes[e->size] -= e->flow.bytes;
	}
	c->processes[process].unknown_senders -= e->unknown_sender ? e->flow.operations : 0;
	c->places[e->place].below += e->flow.operations;
}

/* What was counted inside of this call was not the program's. */
static void take_inside_back(struct communication *c, struct comm_thread *thread, const struct accounted_call *call)
{
	uint32_t process = c->d->threads[call->span->thread].process;
	const struct span *span = call->span;

	while (thread->nentries) {
		const struct comm_entry *last = &thread->entries[thread->nentries - 1];

		if (last->depth <= span->depth || last->begin < span->start)
			break;
		take_back(c, process, last);
		thread->nentries--;
	}
	if (thread->forgotten && thread->forgotten >= span->start) {
		c->nested_too_many++;
		thread->forgotten = 0;
	}
	if (!span->depth)
		thread->nentries = thread->forgotten = 0;
}

static bool same_kind(const struct comm_entry *a, const struct comm_entry *b)
{
	return a->around == b->around && a->depth == b->depth && a->pair == b->pair && a->place == b->place &&
	       a->in == b->in && a->traffic == b->traffic && a->size == b->size &&
	       a->unknown_sender == b->unknown_sender;
}

/* It may be inside of another communication call: that will be known when that one ends. */
static int remember(struct comm_thread *thread, const struct comm_entry *e)
{
	struct comm_entry *last = thread->nentries ? &thread->entries[thread->nentries - 1] : NULL;

	if (last && same_kind(last, e)) {
		flow_add(&last->flow, &e->flow);
		last->time += e->time;
		return 0;
	}
	if (thread->nentries == ENTRIES_MOST) {
		thread->forgotten = thread->entries[ENTRIES_MOST / 2 - 1].begin;
		thread->nentries -= ENTRIES_MOST / 2;
		memmove(thread->entries, thread->entries + ENTRIES_MOST / 2,
			thread->nentries * sizeof(*thread->entries));
	}
	if (array_one_more(&thread->entries, &thread->room, thread->nentries, sizeof(*thread->entries)))
		return -ENOMEM;
	thread->entries[thread->nentries++] = *e;
	return 0;
}

static int add(struct communication *c, const struct accounted_call *call, struct comm_entry *e, int64_t bytes)
{
	e->begin = call->span->start;
	e->around = call->around;
	e->depth = call->span->depth;
	e->time = call->duration;
	e->flow = (struct flow){ 1, bytes >= 0 ? (uint64_t)bytes : 0, bytes < 0 };
	count(c, c->d->threads[call->span->thread].process, e);
	return e->depth ? remember(&c->threads[call->span->thread], e) : 0;
}

/* --- calls ---------------------------------------------------------------- */

static int64_t first_known(int64_t a, int64_t b)
{
	return a >= 0 ? a : b;
}

/* A call that sends to, or accesses the memory of, whom the value names. *pair: which one it is; NO_INDEX: none. */
static int add_access(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
		      uint32_t place, int16_t value, enum traffic traffic, int64_t bytes, uint32_t *pair)
{
	struct comm_entry e = { .in = IN_UNKNOWN, .place = place, .traffic = traffic, .size = size_of(bytes) };
	int64_t rank = rank_named(c, call, probe, value);
	int error = 0;

	*pair = NO_INDEX;
	if (rank == -2) {
		e.in = IN_NOBODY;
		e.size = SIZES;
	} else if (rank >= 0) {
		*pair = e.pair = pair_of(c, c->d->threads[call->span->thread].process, (uint32_t)rank, &error);
		e.in = e.pair == NO_INDEX ? IN_BEYOND : IN_PAIR;
	}
	return error ?: add(c, call, &e, rank == -2 ? 0 : bytes);
}

static int add_received(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
			uint32_t place, int64_t bytes)
{
	struct comm_entry e = { .in = IN_RECEIVED, .place = place, .size = SIZES, .unknown_sender = true };
	const struct def_probe *def = &c->d->probes[call->span->probe];
	int64_t rank;

	for (uint32_t i = 0; i < def->nvalues && e.unknown_sender; i++)
		if (def->values[i].meaning == MEANING_PEER && def->values[i].side != SIDE_SEND &&
		    !def->values[i].unobservable && comm_number(probe, call->span, i, &rank))
			e.unknown_sender = rank < 0;
	return add(c, call, &e, bytes);
}

static enum traffic traffic_of(enum role role)
{
	return role == ROLE_SEND || role == ROLE_EXCHANGE ? TRAFFIC_SENT
	       : role == ROLE_GET                         ? TRAFFIC_GOT
	       : role == ROLE_ATOMIC                      ? TRAFFIC_ATOMIC
							  : TRAFFIC_PUT;
}

static bool is_access(enum role role)
{
	return ROLE_BIT(role) & (ROLE_BIT(ROLE_SEND) | ROLE_BIT(ROLE_EXCHANGE) | ROLE_BIT(ROLE_GET) |
				 ROLE_BIT(ROLE_PUT) | ROLE_BIT(ROLE_COPY) | ROLE_BIT(ROLE_SET) | ROLE_BIT(ROLE_ATOMIC));
}

static int add_call(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
		    uint32_t place)
{
	struct payload payload = call->payload;
	int64_t out = first_known(payload.sent, call->role == ROLE_EXCHANGE ? -1 : payload.bytes);
	struct comm_entry other = { .in = call->role == ROLE_COLLECTIVE ? IN_COLLECTIVE : IN_NONE,
				    .place = place,
				    .size = SIZES };
	uint32_t pair = NO_INDEX, from;
	bool message = false;
	int error = 0;

	if (call->role == ROLE_GET || call->role == ROLE_ATOMIC)
		out = payload.bytes;
	if (is_access(call->role) && probe->to >= 0) {
		error = add_access(c, call, probe, place, probe->to, traffic_of(call->role), out, &pair);
		message = call->role != ROLE_COPY;
	}
	if (!error && probe->from >= 0)
		error = add_access(c, call, probe, place, probe->from, TRAFFIC_GOT,
				   first_known(payload.received, payload.bytes), &from);
	if (!error && (call->role == ROLE_RECV || call->role == ROLE_EXCHANGE))
		error = add_received(c, call, probe, place,
				     first_known(payload.received, call->role == ROLE_RECV ? payload.bytes : -1));
	if (!error && !is_access(call->role) && call->role != ROLE_RECV)
		error = add(c, call, &other, payload.bytes);
	if (call->role == ROLE_COLLECTIVE)
		return error ?: habits_note(c, call, probe, place, WITH_ALL, first_known(payload.bytes, out));
	if (call->role == ROLE_RECV)
		out = first_known(payload.received, payload.bytes);
	return error ?: habits_note(c, call, probe, place, message ? pair : NO_INDEX, out);
}

static int reach(struct communication *c, const struct accounted_call *call)
{
	return array_reach(&c->probes, &c->nprobes, call->span->probe + 1, sizeof(*c->probes))
		       ?: array_reach(&c->threads, &c->nthreads, call->span->thread + 1, sizeof(*c->threads))
		       ?: array_reach(&c->processes, &c->nprocesses,
				      c->d->threads[call->span->thread].process + 1, sizeof(*c->processes));
}

static int span(void *state, const struct accounted_call *call)
{
	struct communication *c = state;
	struct comm_probe *probe;
	uint32_t place;
	int error;

	if (call->inner || c->d->threads[call->span->thread].process >= c->d->nprocesses)
		return 0;
	if (reach(c, call))
		return -ENOMEM;
	probe = &c->probes[call->span->probe];
	if (!probe->looked && learn_probe(c, call, probe))
		return -ENOMEM;
	if (!probe->parallel)
		return 0;
	place = place_of(c, call, probe);
	if (place == NO_INDEX)
		return -ENOMEM;
	take_inside_back(c, &c->threads[call->span->thread], call);
	error = call->role == ROLE_WINDOW ? note_window(c, call) : 0;
	return error ?: add_call(c, call, probe, place);
}

/* Who has sent it, of what a receive names; of several the first that is known. */
static int64_t sender_of(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe)
{
	const struct def_probe *def = &c->d->probes[call->span->probe];
	int64_t rank = PEER_NONE;

	for (uint32_t i = 0; i < def->nvalues && i < INT16_MAX && rank < 0; i++)
		if (def->values[i].meaning == MEANING_PEER && def->values[i].side != SIDE_SEND &&
		    !def->values[i].unobservable)
			rank = rank_named(c, call, probe, (int16_t)i);
	return rank == PEER_NOBODY ? PEER_UNKNOWN : rank; /* a receive from anybody */
}

int communication_peer(void *state, const struct accounted_call *call, int64_t *rank)
{
	struct communication *c = state;
	struct comm_probe *probe;
	int16_t value;

	*rank = PEER_NONE;
	if (call->inner || c->d->threads[call->span->thread].process >= c->d->nprocesses)
		return 0;
	if (reach(c, call))
		return -ENOMEM;
	probe = &c->probes[call->span->probe];
	if (!probe->looked && learn_probe(c, call, probe))
		return -ENOMEM;
	if (call->role == ROLE_WINDOW && note_window(c, call))
		return -ENOMEM;
	value = probe->to >= 0 ? probe->to : probe->from;
	*rank = value >= 0 ? rank_named(c, call, probe, value) : sender_of(c, call, probe);
	return 0;
}

static int gap(void *state, const struct definitions *d, const struct gap *gap)
{
	struct communication *c = state;

	if (gap->thread < c->nthreads)
		runs_break(c, &c->threads[gap->thread]);
	return 0;
}

static int begin(void **state, const struct definitions *d)
{
	struct communication *c = calloc(1, sizeof(*c));

	*state = c;
	if (!c)
		return -ENOMEM;
	c->d = d;
	c->hot = NO_INDEX;
	c->comms = comm_index_new(d);
	return c->comms ? 0 : -ENOMEM;
}

static int end(void *state, struct report *r)
{
	struct communication *c = state;

	for (size_t i = 0; i < c->nthreads; i++)
		runs_break(c, &c->threads[i]);
	return communication_sum_up(c, r);
}

static void communication_free(void *state)
{
	struct communication *c = state;

	if (!c)
		return;
	habits_free(c);
	window_comms_free(&c->windows);
	for (size_t i = 0; i < c->nprobes; i++) {
		free(c->probes[i].values);
		free(c->probes[i].requests);
	}
	for (size_t i = 0; i < c->nthreads; i++)
		free(c->threads[i].entries);
	for (size_t i = 0; i < c->nsmall; i++) {
		free(c->small[i].place);
		free(c->small[i].with);
		free(c->small[i].seen);
	}
	for (size_t i = 0; i < c->nidle; i++) {
		free(c->idle[i].place);
		free(c->idle[i].with);
	}
	comm_index_free(c->comms);
	free(c->pair_index.slots);
	free(c->place_index.slots);
	free(c->probes);
	free(c->threads);
	free(c->processes);
	free(c->pairs);
	free(c->places);
	free(c->by_bytes);
	free(c->small);
	free(c->idle);
	free(c);
}

#define ROLES_TOLD                                                                                          \
	(ROLE_BIT(ROLE_SEND) | ROLE_BIT(ROLE_RECV) | ROLE_BIT(ROLE_EXCHANGE) | ROLE_BIT(ROLE_GET) |         \
	 ROLE_BIT(ROLE_PUT) | ROLE_BIT(ROLE_COPY) | ROLE_BIT(ROLE_SET) | ROLE_BIT(ROLE_ATOMIC) |            \
	 ROLE_BIT(ROLE_COLLECTIVE) | ROLE_BIT(ROLE_BARRIER) | ROLE_BIT(ROLE_NOTIFY) | ROLE_BIT(ROLE_WAIT) | \
	 ROLE_BIT(ROLE_TEST) | ROLE_BIT(ROLE_FENCE) | ROLE_BIT(ROLE_ACQUIRE) | ROLE_BIT(ROLE_TRY) |         \
	 ROLE_BIT(ROLE_RELEASE) | ROLE_BIT(ROLE_WINDOW) | ROLE_BIT(ROLE_COMM) | ROLE_BIT(ROLE_EVENT))

const struct analysis analysis_communication = {
	.name = "communication",
	.title = "Communication",
	.of_calls = true,
	.roles = ROLES_TOLD,
	.begin = begin,
	.span = span,
	.gap = gap,
	.end = end,
	.print = communication_print,
	.json = communication_put,
	.free = communication_free,
};
