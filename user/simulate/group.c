/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - collective operations: which calls are one operation.
 *
 * A call says which communicator or object it is about, or nothing: then it is about all. The n-th such call of each
 * member is the n-th operation. For that the members must be known before the first call is simulated, and also
 * where each begins: whoever is joined while it runs may have left the operation in which others still are.
 * So the whole recording is read once beforehand; participants.c makes groups out of what was found. An operation that
 * not all members have in the recording is left as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/group.h"
#include "simulate/teams.h"
#include "util/array.h"
#include "util/log.h"

/* --- the first reading ----------------------------------------------------- */

/* Of the communicator that a call names; NULL: not told. */
const struct def_comm *groups_members(const struct sim *sim, const struct span *span)
{
	return comm_of_span(sim->groups->index, span);
}

/* Nearly always it names what it has named before. */
static bool is_by_handle(struct groups *groups, const struct facts *facts, const struct span *span, uint64_t value)
{
	struct named *named = &groups->named[span->thread];

	if (!named->known || named->value != value)
		*named = (struct named){ value, true, made_is_handle(facts, span) };
	return named->by_handle;
}

/* What an operation says about its group. */
static struct place_key key_of(const struct sim *sim, const struct facts *facts, const struct span *span,
			       const struct def_comm *members)
{
	struct place_key key = { .scope = SCOPE_NONE,
				 .model = facts->model,
				 .value = facts->func,
				 .process = sim->d->threads[span->thread].process,
				 .thread = span->thread };
	int64_t number;

	if (fact_number(facts, WANT_COMM, span, &number)) {
		key.scope = SCOPE_COMM;
		key.value = (uint64_t)number;
		if (members && members->has_id)
			key.value = members->id |
				    (comm_world_rank(members, 0) > 0 ? (uint64_t)comm_world_rank(members, 0) << 32 : 0);
		else if (is_by_handle(sim->groups, facts, span, key.value))
			made_find(&sim->groups->made, key.process, key.value, span->start, &key.value);
	} else if (fact_number(facts, WANT_OBJECT, span, &number)) {
		key.scope = SCOPE_OBJECT;
		key.value = (uint64_t)number;
	}
	return key;
}

static bool same_key(const struct place_key *a, const struct place_key *b)
{
	return a->value == b->value && a->scope == b->scope && a->model == b->model && a->process == b->process &&
	       a->thread == b->thread;
}

static struct place *find_place(struct groups *groups, const struct place_key *key)
{
	struct place *place = groups->last[key->thread];

	if (place && same_key(&place->key, key))
		return place;
	HASH_FIND(hh, groups->places, key, sizeof(*key), place);
	if (place)
		groups->last[key->thread] = place;
	return place;
}

/* Nearly all calls are about the same few. */
static struct comm *find_comm(struct groups *groups, const struct place_key *key)
{
	struct recent *recent = &groups->recent[(key->value ^ key->value >> 8 ^ key->model) & (RECENT_COMMS - 1)];
	struct comm *comm;

	if (recent->comm && recent->value == key->value && recent->model == key->model)
		return recent->comm;
	HASH_FIND(hh, groups->comms, key, sizeof(*key), comm);
	if (comm)
		*recent = (struct recent){ key->value, key->model, comm };
	return comm;
}

static int note_comm(struct groups *groups, const struct place_key *of, const struct def_comm *members)
{
	struct place_key key = { .scope = SCOPE_COMM, .model = of->model, .value = of->value };
	struct comm *comm = find_comm(groups, &key);

	if (comm || groups->ncomms >= PLACES_MOST)
		return 0;
	if (array_one_more(&groups->comm_names, &groups->comms_room, groups->ncomms, sizeof(*groups->comm_names)))
		return -ENOMEM;
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return -ENOMEM;
	comm->key = key;
	comm->number = groups->ncomms;
	comm->name = members ? members->name : NULL;
	groups->comm_names[groups->ncomms] = NULL;
	HASH_ADD(hh, groups->comms, key, sizeof(comm->key), comm);
	if (!comm->hh.tbl) {
		free(comm);
		return -ENOMEM;
	}
	groups->ncomms++;
	return 0;
}

static struct place *new_place(struct groups *groups, const struct place_key *key)
{
	struct place *place = HASH_COUNT(groups->places) < PLACES_MOST ? calloc(1, sizeof(*place)) : NULL;

	if (!place)
		return NULL;
	place->key = *key;
	place->value = key->value;
	place->self = -1;
	HASH_ADD(hh, groups->places, key, sizeof(place->key), place);
	if (!place->hh.tbl) {
		free(place);
		return NULL;
	}
	groups->last[key->thread] = place;
	return place;
}

static int note_operation(struct sim *sim, const struct facts *facts, const struct span *span, bool has_end)
{
	const struct def_comm *members = groups_members(sim, span);
	struct place_key key = key_of(sim, facts, span, members);
	struct place *place = find_place(sim->groups, &key);
	bool members_told = false;
	int64_t self;

	if (!place) {
		place = new_place(sim->groups, &key);
		if (!place)
			return -ENOMEM;
		place->by_handle = key.scope == SCOPE_COMM && !members && !made_is_known(key.value) &&
				   made_is_handle(facts, span);
		if (key.scope == SCOPE_COMM && note_comm(sim->groups, &key, members))
			return -ENOMEM;
	}
	if (key.scope == SCOPE_COMM && !place->members) {
		place->members = members;
		members_told = place->members;
	}
	if (place->self < 0 && fact_number(facts, WANT_SELF, span, &self) && self >= 0)
		place->self = self;
	else if (place->self < 0 && members_told)
		place->self = comm_rank_of(place->members, sim->processes[key.process].rank);
	place->count++;
	if (place->nfirsts == FIRSTS)
		return 0;
	if (!place->firsts) {
		place->firsts = calloc(FIRSTS, sizeof(*place->firsts));
		if (!place->firsts)
			return -ENOMEM;
	}
	place->firsts[place->nfirsts++] = (struct first){ span->start, has_end ? span->end : UINT64_MAX, facts->func };
	return 0;
}

static void note_start(struct sim *sim, const struct span *span)
{
	struct sim_process *process = &sim->processes[sim->d->threads[span->thread].process];

	process->from_start = true;
	process->start_model = sim->facts[span->probe].model;
}

static int note_span(struct sim *sim, const struct span *span, bool has_end)
{
	const struct facts *facts = &sim->facts[span->probe];

	if (sim->teller && (facts->signal || facts->kind == KIND_ONE_SIDED)) {
		int error = posts_note(sim, span);

		sim->groups->posts = true;
		if (error)
			return error;
	}
	if (has_end && facts->answers.count[WANT_MADE]) {
		int error = made_note(&sim->groups->made, sim, span,
				      key_of(sim, facts, span, groups_members(sim, span)).value);

		if (error)
			return error;
	}
	switch (facts->kind) {
	case KIND_COLLECTIVE:
	case KIND_NOTIFY:
		return note_operation(sim, facts, span, has_end);
	case KIND_SEND:
	case KIND_RECV:
	case KIND_EXCHANGE: {
		if (sim->teller && posts_send_is_slow(facts, span))
			sim->groups->slow_sends += span->end - span->start;
		const struct def_comm *members = groups_members(sim, span);
		struct place_key key = key_of(sim, facts, span, members);

		return key.scope == SCOPE_COMM ? note_comm(sim->groups, &key, members) : 0;
	}
	case KIND_LOCAL:
		if (sim->d->probes[span->probe].role == ROLE_INIT)
			note_start(sim, span);
		return 0;
	default:
		return 0;
	}
}

/* Each counts, also one of which only the call was seen: or those after it would be taken for the ones before. */
static bool is_operation(const struct facts *facts)
{
	return facts->kind == KIND_COLLECTIVE || facts->kind == KIND_NOTIFY;
}

/* As schedule.c feeds them: what is inside of an operation is part of it. */
static int note_event(void *context, const struct definitions *d, const struct event *event)
{
	struct sim *sim = context;
	const struct span *span = event->span;
	struct sim_thread *thread = &sim->threads[span->thread];

	thread->first = thread->first ?: event->time;
	thread->last = event->time;
	if (event->type == EVENT_END) {
		if (thread->noting && thread->feeding_lane == event->lane && thread->feeding_level == event->level)
			thread->noting = false;
		return 0;
	}
	sim->counts.calls++;
	if (thread->noting)
		return 0;
	if (sim->facts[span->probe].kind == KIND_NEST) {
		teams_note(sim, span);
		return 0;
	}
	if (event->type == EVENT_ATOMIC)
		return is_operation(&sim->facts[span->probe]) ? note_span(sim, span, false) : 0;
	thread->noting = true;
	thread->feeding_lane = event->lane;
	thread->feeding_level = event->level;
	polls_note(sim, span);
	return note_span(sim, span, true);
}

/* --- ranks ------------------------------------------------------------------ */

/* Members are sorted by rank. */
static size_t first_of_rank(const struct group *group, int64_t rank)
{
	size_t low = 0, high = group->nmembers;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (group->members[middle].self < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t process_of_member(const struct group *group, int64_t rank)
{
	size_t at = first_of_rank(group, rank);

	return at < group->nmembers && group->members[at].self == rank ? group->members[at].process : NO_INDEX;
}

/* The communicator's members as the recording has them; else who was seen in it; else ranks are those of the job. */
static uint32_t find_process(const struct sim *sim, uint32_t process, const struct def_comm *members,
			     const struct comm *comm, int64_t rank)
{
	int64_t world;

	if (rank < 0)
		return NO_INDEX;
	world = members ? comm_world_rank(members, rank) : -1;
	if (world < 0 && comm && comm->group && comm->group->ranked)
		return process_of_member(comm->group, rank);
	return job_ranks_process(sim->groups->ranks, process, world < 0 ? rank : world);
}

struct told_comm groups_comm(struct sim *sim, const struct facts *facts, const struct span *span)
{
	const struct def_comm *members = groups_members(sim, span);
	struct place_key key = key_of(sim, facts, span, members),
			 of = { .scope = SCOPE_COMM, .model = key.model, .value = key.value };
	const struct comm *known = key.scope == SCOPE_COMM ? find_comm(sim->groups, &of) : NULL;

	return (struct told_comm){ members, known, known ? known->number : CPF_NONE };
}

uint32_t groups_process(const struct sim *sim, uint32_t process, const struct told_comm *comm, int64_t rank)
{
	return find_process(sim, process, comm->members, comm->known, rank);
}

uint32_t groups_process_among(const struct sim *sim, uint32_t process, const struct def_comm *members, int64_t rank)
{
	return find_process(sim, process, members, NULL, rank);
}

bool groups_same_job(const struct sim *sim, uint32_t a, uint32_t b)
{
	return sim->processes[a].rank >= 0 && sim->processes[b].rank >= 0 &&
	       job_ranks_job(sim->groups->ranks, a) == job_ranks_job(sim->groups->ranks, b);
}

bool groups_comm_value(struct sim *sim, const struct facts *facts, const struct span *span, uint64_t *value)
{
	struct place_key key = key_of(sim, facts, span, groups_members(sim, span));

	*value = key.value;
	return key.scope == SCOPE_COMM;
}

uint32_t groups_member(const struct sim *sim, const struct half *half, int64_t rank)
{
	return find_process(sim, sim->d->threads[half->thread].process, half->members,
			    half->comm < sim->groups->ncomms ? sim->groups->comm_numbers[half->comm] : NULL, rank);
}

/* --- operations -------------------------------------------------------------- */

static struct instance **instance_place(const struct group *group, uint64_t number)
{
	return &group->instances[number & (group->room - 1)];
}

/* Makes room for one of this number. 0 or -ENOMEM. */
static int instances_reach(struct group *group, uint64_t number)
{
	size_t room = group->room ? group->room : FIRST_INSTANCES;
	struct instance **larger;

	while (group->room && group->first < group->beyond && !*instance_place(group, group->first))
		group->first++;
	if (group->first == group->beyond)
		group->first = group->beyond = number;
	if (number < group->first)
		group->first = number;
	if (number >= group->beyond)
		group->beyond = number + 1;
	while (room < group->beyond - group->first)
		room *= 2;
	if (room == group->room)
		return 0;
	larger = calloc(room, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	for (size_t i = 0; i < group->room; i++)
		if (group->instances[i])
			larger[group->instances[i]->number & (room - 1)] = group->instances[i];
	free(group->instances);
	group->instances = larger;
	group->room = room;
	return 0;
}

/* The instance of this number, made where it is not there. NULL: out of memory. */
static struct instance *instance_at(struct sim *sim, struct group *group, uint64_t number)
{
	struct instance *instance;

	if (group->room && number >= group->first && number < group->beyond && *instance_place(group, number))
		return *instance_place(group, number);
	if (instances_reach(group, number))
		return NULL;
	instance = calloc(1, sizeof(*instance) + group->nmembers * sizeof(instance->members[0]));
	if (!instance)
		return NULL;
	instance->group = group;
	instance->number = number;
	instance->expected = group->nmembers;
	instance->func = CPF_NONE;
	instance->root = -1;
	instance->earliest_end = UINT64_MAX;
	instance->last = NO_INDEX;
	memset(&instance->new_first, 0xff, sizeof(instance->new_first));
	*instance_place(group, number) = instance;
	return instance;
}

static int64_t root_of(const struct group *group, const struct facts *facts, const struct span *span)
{
	int64_t root;

	size_t at;

	if (!fact_number(facts, WANT_ROOT, span, &root) || root < 0)
		return -1;
	at = first_of_rank(group, root);
	return at < group->nmembers && group->members[at].self == root ? (int64_t)at : -1;
}

/* A member is not in step, or when it left is not known: whoever is in it goes on without this one. */
static void go_on_without(struct sim *sim, struct instance *instance)
{
	instance->expected--;
	sim->counts.incomplete++;
	if (!instance->expected)
		instance_leave(sim, instance);
	else if (instance->reached == instance->expected && instance->fed == instance->expected)
		for (size_t i = 0; i < instance->group->nmembers; i++)
			if (instance->members[i].op)
				schedule_wake(sim, instance->members[i].thread);
}

/* The next operation of the place's member. *instance NULL: it is left as recorded, and counted so. 0 or -ENOMEM. */
static int next_operation(struct sim *sim, const struct place *place, struct instance **instance)
{
	struct group *group = place->group;
	struct member *member = &group->members[place->member];
	uint64_t number = member->next++;

	*instance = NULL;
	if (!group->reliable || number < member->skip || number - member->skip >= group->complete) {
		sim->counts.incomplete++;
		return 0;
	}
	*instance = instance_at(sim, group, number - member->skip);
	return *instance ? 0 : -ENOMEM;
}

int groups_pass(struct sim *sim, const struct span *span)
{
	const struct facts *facts = &sim->facts[span->probe];
	struct place_key key = key_of(sim, facts, span, groups_members(sim, span));
	struct place *place = is_operation(facts) ? find_place(sim->groups, &key) : NULL;
	struct instance *instance;
	int error;

	if (!place || !place->group)
		return 0;
	error = next_operation(sim, place, &instance);
	if (instance)
		go_on_without(sim, instance);
	return error;
}

int groups_join(struct sim *sim, struct op *op, const struct span *span)
{
	struct place_key key = key_of(sim, op->facts, span, groups_members(sim, span));
	struct place *place = find_place(sim->groups, &key);
	struct group *group = place ? place->group : NULL;
	struct instance *instance;
	int error;

	if (!group)
		return 0;
	error = next_operation(sim, place, &instance);
	if (!instance)
		return error;
	if (instance->func == CPF_NONE)
		instance->func = op->func;
	if (instance->func != op->func || instance->members[place->member].fed) {
		go_on_without(sim, instance);
		return 0;
	}
	instance->begun = op->facts->begins || op->kind == KIND_NOTIFY;
	instance->fed++;
	instance->users++;
	if (instance->root < 0)
		instance->root = root_of(group, op->facts, span);
	if (op->start > instance->latest)
		instance->latest = op->start;
	if (op->end < instance->earliest_end)
		instance->earliest_end = op->end;
	instance->members[place->member] = (struct participant){
		.fed = true,
		.thread = op->thread,
		.func = op->func,
		.probe = op->probe,
		.site = op->site,
		.sent = op->sent > 0 ? (uint64_t)op->sent : 0,
		.received = op->received > 0 ? (uint64_t)op->received : 0,
		.start = op->start,
		.end = op->end,
	};
	op->instance = instance;
	op->member = place->member;
	if (group->nmembers > 1) {
		sim->threads[op->thread].takes_part = true;
		if (instance->fed == 1)
			sim->counts.collectives++;
	}
	return 0;
}

uint32_t instance_comm(const struct instance *instance)
{
	return instance->group->comm;
}

bool groups_guessed(const struct group *group)
{
	return group->key.scope == SCOPE_NONE;
}

uint64_t groups_number(const struct group *group)
{
	return group->number;
}

size_t groups_size(const struct group *group)
{
	return group->nmembers;
}

void instance_leave(struct sim *sim, struct instance *instance)
{
	if (instance->users && --instance->users)
		return;
	if (instance->fed < instance->expected)
		return; /* others will come */
	*instance_place(instance->group, instance->number) = NULL;
	free(instance);
}

/* --- the whole ----------------------------------------------------------------- */

/* What was kept of an earlier simulation. */
static void take_kept(struct sim *sim)
{
	sim->groups = sim->kept->groups;
	sim->kept->groups = NULL;
	sim->counts.calls = sim->kept->calls;
	for (size_t i = 0; i < sim->d->nprocesses; i++)
		sim->processes[i].from_start = sim->kept->from_start[i];
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		sim->threads[i].last = sim->kept->threads[i].last;
		sim->threads[i].last_team = sim->kept->threads[i].last_team;
		sim->threads[i].poll.rests = sim->kept->threads[i].rests;
	}
}

int groups_open(struct sim *sim)
{
	struct timeline_ops ops = { .event = note_event, .context = sim, .ahead = sim->teller };
	struct groups *groups;
	int error;

	if (sim->kept && sim->kept->groups) {
		take_kept(sim);
		return 0;
	}
	groups = calloc(1, sizeof(*groups));
	sim->groups = groups;
	if (!groups)
		return -ENOMEM;
	groups->last = calloc(sim->d->nthreads + 1, sizeof(*groups->last));
	groups->named = calloc(sim->d->nthreads + 1, sizeof(*groups->named));
	groups->index = comm_index_new(sim->d);
	groups->ranks = job_ranks_new(sim->d);
	if (!groups->last || !groups->named || !groups->index || !groups->ranks)
		return -ENOMEM;
	error = timeline_read(sim->recording, &ops);
	polls_decide(sim);
	if (!error)
		error = members_find(sim);
	groups->whole = !error;
	return error;
}

static void free_instances(struct group *group)
{
	for (size_t i = 0; i < group->room; i++)
		free(group->instances[i]);
	free(group->instances);
	group->instances = NULL;
	group->first = group->beyond = group->room = 0;
}

static void groups_free(struct groups *groups)
{
	struct place *place, *next;
	struct comm *comm, *after;

	HASH_ITER (hh, groups->places, place, next) {
		HASH_DEL(groups->places, place);
		free(place->firsts);
		free(place);
	}
	HASH_ITER (hh, groups->comms, comm, after) {
		HASH_DEL(groups->comms, comm);
		free(comm);
	}
	while (groups->list) {
		struct group *group = groups->list;

		groups->list = group->next;
		free_instances(group);
		free(group->members);
		free(group->seats);
		free(group);
	}
	for (size_t i = 0; i < groups->ncomms; i++)
		free((char *)groups->comm_names[i]);
	free(groups->comm_names);
	free(groups->comm_numbers);
	made_free(&groups->made);
	job_ranks_free(groups->ranks);
	comm_index_free(groups->index);
	free(groups->last);
	free(groups->named);
	free(groups);
}

/* For the next simulation, from the beginning on. False: that cannot be. */
static bool keep(struct sim *sim)
{
	struct groups *groups = sim->groups;

	if (!sim->kept || !groups->whole || groups->posts)
		return false;
	if (!sim->kept->from_start)
		sim->kept->from_start = calloc(sim->d->nprocesses + 1, sizeof(*sim->kept->from_start));
	if (!sim->kept->threads)
		sim->kept->threads = calloc(sim->d->nthreads + 1, sizeof(*sim->kept->threads));
	if (!sim->kept->from_start || !sim->kept->threads)
		return false;
	for (size_t i = 0; i < sim->d->nprocesses; i++)
		sim->kept->from_start[i] = sim->processes[i].from_start;
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		sim->kept->threads[i].last = sim->threads[i].last;
		sim->kept->threads[i].last_team = sim->threads[i].last_team;
		sim->kept->threads[i].rests = sim->threads[i].poll.rests;
	}
	sim->kept->calls = sim->counts.calls;
	sim->kept->groups = groups;
	for (struct group *group = groups->list; group; group = group->next) {
		free_instances(group);
		for (size_t i = 0; i < group->nmembers; i++)
			group->members[i].next = 0;
	}
	return true;
}

uint64_t groups_slow_sends(const struct sim *sim)
{
	return sim->groups->slow_sends;
}

void groups_close(struct sim *sim)
{
	if (sim->groups && !keep(sim))
		groups_free(sim->groups);
	sim->groups = NULL;
}

void kept_groups_free(struct kept_groups *kept)
{
	if (kept->groups)
		groups_free(kept->groups);
	free(kept->from_start);
	free(kept->threads);
}
