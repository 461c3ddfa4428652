/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * end_times_groups.c - end_times.c for the calls of a group: collective operations, and waits for those that were begun
 * before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/asking.h"
#include "simulate/parts.h"

/*
 * One that is not the root may wait, too: the data goes to the root through others. Who came before the last one and
 * left after it is taken for one of these, where nothing is asked but what happened.
 */
static bool stays_for_all(const struct sim *sim, const struct instance *instance, unsigned member)
{
	const struct participant *me = &instance->members[member];

	return sim->teller && me->start < instance->latest && me->end >= instance->latest;
}

/* Whom a member waits for, by what the operation does: all, the root, or nobody. */
static bool waits_for_all(const struct sim *sim, const struct instance *instance, unsigned member)
{
	uint32_t classes = sim->functions[instance->func].classes;

	if (classes & CPF_IS_ALL_TO_ONE)
		return instance->root < 0 || instance->root == member || stays_for_all(sim, instance, member);
	return !(classes & CPF_IS_ONE_TO_ALL);
}

static const struct participant *root_of(const struct sim *sim, const struct instance *instance)
{
	bool rooted = sim->functions[instance->func].classes & (CPF_IS_ONE_TO_ALL | CPF_IS_ALL_TO_ONE);

	return rooted && instance->root >= 0 && instance->members[instance->root].reached
		       ? &instance->members[instance->root]
		       : NULL;
}

struct together {
	uint64_t latest, new_first, new_latest;
};

void instance_reach(struct instance *instance, unsigned index, const struct times *start)
{
	struct participant *member = &instance->members[index];
	const struct participant *last = instance->last == NO_INDEX ? NULL : &instance->members[instance->last];

	member->reached = true;
	member->new_start = *start;
	instance->reached++;
	/* Of those that came at the same time it is the first in their order. */
	if (!last || member->start > last->start || (member->start == last->start && index < instance->last))
		instance->last = index;
	for (enum scenario s = 0; s < SCENARIOS; s++) {
		if (start->at[s] > instance->new_latest.at[s])
			instance->new_latest.at[s] = start->at[s];
		if (start->at[s] < instance->new_first.at[s])
			instance->new_first.at[s] = start->at[s];
	}
}

static struct together together(const struct instance *instance, enum scenario s)
{
	return (struct together){ instance->last == NO_INDEX ? 0 : instance->members[instance->last].start,
				  instance->new_first.at[s], instance->new_latest.at[s] };
}

static uint64_t usual_collective_end(const struct sim *sim, const struct instance *instance, unsigned index,
				     enum scenario s, const struct together *t, const struct participant *root)
{
	const struct participant *member = &instance->members[index];
	uint64_t start = member->new_start.at[s];

	if (waits_for_all(sim, instance, index))
		return usual_end(member->start, t->latest, member->end, start, t->new_latest);
	if (root && root != member && sim->functions[instance->func].classes & CPF_IS_ONE_TO_ALL)
		return usual_end(member->start, root->start, member->end, start, root->new_start.at[s]);
	return start + (member->end - member->start);
}

/* Nobody is asked. */
static int usual_collective(struct sim *sim, struct instance *instance, enum scenario s)
{
	const struct together t = together(instance, s);
	const struct participant *root = root_of(sim, instance);
	int error = 0;

	for (size_t i = 0; i < groups_size(instance->group) && !error; i++) {
		struct participant *member = &instance->members[i];

		if (!member->reached)
			continue;
		member->new_end.at[s] = usual_collective_end(sim, instance, i, s, &t, root);
		member->decided = true;
		error = plugin_check_end(sim, IN_COLLOP, member->thread, member->new_start.at[s],
					 member->new_end.at[s]);
	}
	return error;
}

static int call_collective(struct sim *sim, struct instance *instance, enum scenario s, void *room,
			   struct cpf_func_event **events)
{
	const struct cpf_plugin *plugin = sim->plugins[s];
	size_t size = groups_size(instance->group), count = 0;
	struct together t = together(instance, s);
	const struct participant *root = root_of(sim, instance);
	uint8_t *at = room, *before = at + size * sizeof(struct cpf_func_event);
	uint32_t root_index = CPF_NONE;
	int error = 0;

	for (size_t i = 0; i < size; i++) {
		const struct participant *member = &instance->members[i];

		if (!member->reached)
			continue;
		struct cpf_func_event event = plugin_event(member->thread, member->func, (int64_t)member->sent,
							   (int64_t)member->received, member->new_start.at[s],
							   usual_collective_end(sim, instance, i, s, &t, root));

		if (member == root)
			root_index = count;
		memcpy(at + count * sizeof(event), &event, sizeof(event));
		events[count] = (struct cpf_func_event *)(at + count * sizeof(event));
		count++;
	}
	memcpy(before, at, count * sizeof(struct cpf_func_event));
	struct cpf_coll_op collop = { t.new_first,    instance_comm(instance),
				      instance->func, root ? root->thread : CPF_NONE,
				      root_index,     { events, count } };
	struct cpf_coll_op same = collop;

	plugin_enter(sim, s, IN_COLLOP);
	plugin->ProcessCollOp(plugin->self, &collop);
	plugin_leave(sim, s);
	if (memcmp(&same, &collop, sizeof(same)))
		return plugin_broke(sim, IN_COLLOP, plugin_changed, CPF_NONE, t.new_first, 0);
	for (size_t i = 0, n = 0; i < size && !error; i++) {
		struct cpf_func_event *was = (struct cpf_func_event *)(before + n * sizeof(*was));
		struct cpf_func_event *event = (struct cpf_func_event *)(at + n * sizeof(*event));

		if (!instance->members[i].reached)
			continue;
		was->_endTime = event->_endTime;
		if (memcmp(was, event, sizeof(*was)))
			return plugin_broke(sim, IN_COLLOP, plugin_changed, was->_threadID, was->_startTime,
					    was->_endTime);
		error = plugin_check_end(sim, IN_COLLOP, event->_threadID, event->_startTime, event->_endTime);
		instance->members[i].new_end.at[s] = event->_endTime;
		instance->members[i].decided = true;
		n++;
	}
	return error;
}

/* All of those that have come. */
static bool from_start(const struct sim *sim, const struct instance *instance)
{
	for (size_t i = 0; i < groups_size(instance->group); i++) {
		const struct participant *member = &instance->members[i];

		if (member->fed && !sim->processes[sim->d->threads[member->thread].process].from_start)
			return false;
	}
	return true;
}

/*
 * Nobody leaves such an operation before all have come. Where somebody did, these calls are not one operation, though
 * nothing but their order tells which are. With a communicator they are: there it is a scan, for instance, in which the
 * first one waits for nobody.
 */
bool instance_is_none(const struct sim *sim, const struct instance *instance)
{
	uint32_t classes = sim->functions[instance->func].classes;

	return groups_guessed(instance->group) && !instance->begun &&
	       !(classes & (CPF_IS_ALL_TO_ONE | CPF_IS_ONE_TO_ALL)) && instance->latest > instance->earliest_end &&
	       !(sim->doubts_clocks && from_start(sim, instance));
}

static int leave_as_recorded(struct sim *sim, struct instance *instance)
{
	for (size_t i = 0; i < groups_size(instance->group); i++) {
		struct participant *member = &instance->members[i];

		for (enum scenario s = 0; s < sim->scenarios; s++)
			member->new_end.at[s] = member->new_start.at[s] + (member->end - member->start);
		sim->counts.apart += member->reached;
		member->decided |= member->reached;
	}
	return 0;
}

int ask_collective(struct sim *sim, struct instance *instance)
{
	size_t size = groups_size(instance->group);
	int error;

	if (instance_is_none(sim, instance))
		return leave_as_recorded(sim, instance);
	/* First the pointers, then the events and what they were before. */
	error = array_reach(&sim->events, &sim->events_room, size,
			    sizeof(struct cpf_func_event *) + 2 * sizeof(struct cpf_func_event));
	for (enum scenario s = 0; s < sim->scenarios && !error; s++)
		error = sim->plugins[s]->ProcessCollOp
				? call_collective(sim, instance, s, (struct cpf_func_event **)sim->events + size,
						  sim->events)
				: usual_collective(sim, instance, s);
	return error;
}

/* When those had begun whom this member of a split operation waits for. 0: it waits for nobody. */
static uint64_t awaited(const struct sim *sim, const struct instance *instance, unsigned member)
{
	const struct participant *root = root_of(sim, instance);

	if (waits_for_all(sim, instance, member))
		return together(instance, AS_TOLD).latest;
	return root && root != &instance->members[member] && sim->functions[instance->func].classes & CPF_IS_ONE_TO_ALL
		       ? root->start
		       : 0;
}

unsigned instance_waits_for(const struct sim *sim, const struct instance *instance, unsigned member)
{
	const struct participant *root = root_of(sim, instance);

	if (!waits_for_all(sim, instance, member))
		return root && root != &instance->members[member] &&
				       sim->functions[instance->func].classes & CPF_IS_ONE_TO_ALL
			       ? instance->root
			       : NO_INDEX;
	return instance->last;
}

/* What began after the wait's end was not what it waited for: other clocks. */
static void note_last(struct op *op, uint64_t start)
{
	if (start > op->last && start <= op->end)
		op->last = start;
}

void ask_wait_for(struct sim *sim, struct op *op, struct half **halves, unsigned count)
{
	op->last = op->start < op->end ? op->start : op->end;
	for (unsigned i = 0; i < count; i++)
		note_last(op, halves[i]->other->start);
	for (unsigned i = 0; i < op->ninstances; i++)
		note_last(op, awaited(sim, op->instances[i], op->members[i]));
	if (op->instance)
		note_last(op, awaited(sim, op->instance, op->member));
}

int ask_split(struct sim *sim, struct op *op)
{
	const struct instance *instance = op->instance;
	const struct participant *me = &instance->members[op->member], *root = root_of(sim, instance);
	uint64_t last = awaited(sim, instance, op->member);

	for (enum scenario s = 0; s < sim->scenarios; s++) {
		const struct cpf_plugin *plugin = sim->plugins[s];
		struct together t = together(instance, s);
		uint64_t start = op->new_start.at[s];
		uint64_t new_last = !last                                      ? start
				    : waits_for_all(sim, instance, op->member) ? t.new_latest
									       : root->new_start.at[s];
		uint64_t end = usual_wait_end(op, last, start, new_last);
		struct cpf_split_phase wait = { op->thread,
						op->func,
						instance->func,
						instance_comm(instance),
						root ? root->thread : CPF_NONE,
						instance->reached,
						me->sent > me->received ? me->sent : me->received,
						t.new_first,
						t.new_latest,
						start,
						end };
		struct cpf_split_phase before = wait;

		if (plugin->ProcessSplitPhase) {
			plugin_enter(sim, s, IN_SPLIT);
			plugin->ProcessSplitPhase(plugin->self, &wait);
			plugin_leave(sim, s);
			before._endTime = wait._endTime;
			if (memcmp(&before, &wait, sizeof(wait)))
				return plugin_broke(sim, IN_SPLIT, plugin_changed, op->thread, start, wait._endTime);
		}
		op->new_end.at[s] = wait._endTime;
		if (plugin_check_end(sim, IN_SPLIT, op->thread, start, wait._endTime))
			return -EPROTO;
	}
	return 0;
}
