/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conclude.c - from the calls that threads wait in to parties: for which lock, which peer, which group.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/communicator.h"
#include "meaning/value.h"
#include "recording/labels.h"
#include "stuck/private.h"
#include "util/array.h"
#include "util/log.h"
#include "waitgraph/hand_over.h"

static const char *unit_of(const struct stuck *stuck)
{
	return stuck->unit ?: "rank";
}

/* --- memory of a process ------------------------------------------------ */

static bool read_pieces(void *context, const struct memory_piece *pieces, size_t count)
{
	const struct process *process = context;

	return memory_read_pieces(process->pid, pieces, count);
}

static bool read_bytes(void *context, uint64_t address, void *bytes, size_t size)
{
	return !process_read(context, address, bytes, size);
}

/* --- values ------------------------------------------------------------- */

/* The first value of this meaning that is known at the call. */
static bool number_of(const struct stuck_call *call, enum meaning meaning, int64_t *number, bool *likely)
{
	for (size_t i = 0; i < call->nvalues; i++) {
		const struct value *v = &call->values[i];
		struct value_reading r;

		if (v->meaning != meaning || v->at_return)
			continue;
		r = value_read(v, call->words, call->nwords, call->unread, false);
		if (!r.known || r.none)
			continue;
		*number = r.number;
		*likely = !v->constant && !(call->certain >> v->slot & 1);
		return true;
	}
	return false;
}

static bool has_value(const struct stuck_call *call, enum meaning meaning)
{
	for (size_t i = 0; i < call->nvalues; i++)
		if (call->values[i].meaning == meaning && !call->values[i].at_return)
			return true;
	return false;
}

/* --- communicators ------------------------------------------------------ */

/* The members of the call's communicator. False: not known. *ranks NULL: all of the job. */
static bool find_members(struct stuck *stuck, const struct stuck_process *p, const struct stuck_call *call,
			 struct party *party)
{
	struct memory memory = { .read = read_pieces, .context = p->process };
	struct members members = { .count = 0 };
	int64_t handle, **grown;
	bool likely;

	if (!number_of(call, MEANING_COMM, &handle, &likely) ||
	    model_members(call->function->model, call->image->soname, handle, p->rank, &memory, &members))
		return false;
	party->likely |= likely;
	party->has_group = true;
	party->group = members.has_id ? members.id : 0;
	if (members.world || !members.count) {
		free(members.ranks);
		return members.world;
	}
	grown = realloc(stuck->members, (stuck->nmembers + 1) * sizeof(*grown));
	if (!grown) {
		free(members.ranks);
		return false;
	}
	stuck->members = grown;
	grown[stuck->nmembers++] = members.ranks;
	party->members = members.ranks;
	party->nmembers = members.count;
	return true;
}

static void find_peer(struct stuck *stuck, const struct stuck_process *p, const struct stuck_call *call,
		      struct party *party)
{
	struct party group = { .peer = WAITS_NOBODY };
	int64_t peer;
	bool likely;

	if (!number_of(call, MEANING_PEER, &peer, &likely) || peer < 0)
		return;
	if (has_value(call, MEANING_COMM)) {
		if (!find_members(stuck, p, call, &group))
			return;
		if (group.members && ((size_t)peer >= group.nmembers || group.members[peer] < 0))
			return;
		peer = group.members ? group.members[peer] : peer;
		likely |= group.likely;
	}
	party->peer = peer;
	party->likely |= likely;
}

/* A wait for ranks that have to do the same, and for no message: is it one of them only? */
static bool waits_for_one_rank(const struct stuck_call *call)
{
	size_t known = 0;

	for (size_t i = 0; i < call->nvalues; i++)
		if (call->values[i].meaning == MEANING_PEER && !call->values[i].at_return)
			known += value_read(&call->values[i], call->words, call->nwords, call->unread, false).known;
	return known == 1;
}

static bool waits_for_ranks(const struct stuck_call *call)
{
	return call->function->role == ROLE_WAIT && has_value(call, MEANING_PEER) && !has_value(call, MEANING_COMM) &&
	       !has_value(call, MEANING_REQUEST) && !has_value(call, MEANING_TAG);
}

/* Has the function no values but those that do not tell a group apart? */
static bool is_of_all(const struct stuck_call *call)
{
	for (size_t i = 0; i < call->nvalues; i++)
		if (!call->values[i].at_return && call->values[i].meaning != MEANING_NAMED && !call->values[i].constant)
			return false;
	return true;
}

/* The parameters of a prototype: "(int expr)". */
static const char *parameters(const struct function *function)
{
	return strchr(function->prototype, '(') ?: "";
}

/*
 * Is it the second half of a barrier, of which the first is a call that does not wait? A model that has such calls has
 * a wait with the parameters of its notify: they say which barrier of the program is meant, and nothing else.
 */
static bool is_split_wait(const struct function *function)
{
	const struct model *model = function->model;

	for (size_t i = 0; function->role == ROLE_WAIT && i < model->nfunctions; i++)
		if (model->functions[i].role == ROLE_NOTIFY &&
		    !strcmp(parameters(&model->functions[i]), parameters(function)))
			return true;
	return false;
}

static bool has_notify(const struct model *model)
{
	for (size_t i = 0; i < model->nfunctions; i++)
		if (model->functions[i].role == ROLE_NOTIFY)
			return true;
	return false;
}

static void find_group(struct stuck *stuck, const struct stuck_process *p, const struct stuck_call *call,
		       struct party *party)
{
	const struct model *model = call->function->model;

	if (model != p->model || party->rank < 0)
		return;
	party->split = is_split_wait(call->function);
	if (party->split)
		party->gathers = party->has_group = true;
	else if (has_value(call, MEANING_COMM))
		party->gathers = find_members(stuck, p, call, party);
	else
		party->gathers = party->has_group = call->function->role == ROLE_BARRIER && is_of_all(call);
	/* Whether a thread comes to a barrier of all in one call or in two, it is the same barrier. */
	if (party->gathers && (party->split || (call->function->role == ROLE_BARRIER && has_notify(model))))
		party->meeting = model->name;
}

/* Can only another rank end the call, and nothing tells which? */
static bool is_by_another(const struct stuck_process *p, const struct stuck_call *call, const struct party *party)
{
	if (!party->waits || !party->stands_for_rank || party->rank < 0 || call->function->model != p->model)
		return false;
	return party->peer == WAITS_NOBODY && !party->gathers && !party->lock && !party->holder;
}

/* --- locks -------------------------------------------------------------- */

/* A thread of the process by the number that the process itself knows it by. */
static const struct stuck_thread *thread_numbered(const struct stuck *stuck, const struct stuck_thread *of,
						  pid_t number)
{
	for (size_t i = 0; i < stuck->nthreads; i++) {
		const struct stuck_thread *t = &stuck->threads[i];
		char path[32], *text, *at;
		pid_t own = t->tid;

		if (t->pid != of->pid)
			continue;
		snprintf(path, sizeof(path), "task/%d/status", t->tid);
		text = read_file_at(stuck->processes[t->process].process->proc_fd, path, 65536, NULL);
		at = text ? strstr(text, "\nNSpid:") : NULL;
		if (at) {
			char *end = strchr(at + 1, '\n'), *last = end;

			while (last && last > at && last[-1] != '\t')
				last--;
			own = last ? atoi(last) : own;
		}
		free(text);
		if (own == number)
			return t;
	}
	return NULL;
}

static void find_lock(struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call,
		      struct party *party)
{
	struct stuck_process *p = &stuck->processes[t->process];
	const struct stuck_thread *holder;
	bool known = !(call->unread & 1), certain = call->certain & 1;
	struct lock_state state;
	int64_t address;
	bool likely;

	if (call->function->role == ROLE_WAIT && has_value(call, MEANING_TASK) && t->futex) {
		/* Who waits for a thread's end sleeps where its number stands until then. */
		holder = thread_numbered(stuck, t, (pid_t)t->futex_value);
		party->joins = holder && holder != t;
		party->holder = party->joins ? holder->tid : 0;
		return;
	}
	if (call->function->role == ROLE_WAIT)
		return; /* for a condition: nobody knows who will bring it about */
	state = lock_read(call->function->prototype, t->futex, call->words[0], known, certain, read_bytes, p->process);
	if (state.is_barrier) {
		party->gathers = state.address != 0;
		party->barrier = state.address;
		party->come = state.come;
		party->of = state.of;
		party->likely |= !state.certain;
	} else if (state.address) {
		holder = state.holder ? thread_numbered(stuck, t, state.holder) : NULL;
		party->lock = state.address;
		party->holder = holder ? holder->tid : 0;
		party->likely |= !state.certain;
	} else if (number_of(call, MEANING_LOCK, &address, &likely)) {
		party->lock = address;
		party->likely |= likely;
	}
}

/* --- parties ------------------------------------------------------------ */

/*
 * The call that tells for what a thread waits: the innermost lock that it waits for, as other threads may have it
 * inside a call of their own; else what the program called.
 */
const struct stuck_call *telling_call(const struct stuck_thread *t)
{
	const struct stuck_call *innermost = t->ncalls ? &t->calls[t->ncalls - 1] : NULL;

	if (innermost && innermost->function->role == ROLE_ACQUIRE)
		return innermost;
	return t->waits_in < t->ncalls ? &t->calls[t->waits_in] : NULL;
}

static void make_party(struct stuck *stuck, const struct stuck_thread *t, struct party *party)
{
	struct stuck_process *p = &stuck->processes[t->process];
	const struct stuck_call *call = telling_call(t);

	*party = (struct party){ .pid = t->pid,
				 .tid = t->tid,
				 .rank = t->rank,
				 .label = t->label,
				 .peer = WAITS_NOBODY,
				 .place = t->place,
				 .stands_for_rank = t->is_rank,
				 .helper = t->is_helper,
				 .stopped = t->state == 'T' || t->state == 't' ? t->state : 0 };
	party->uncaught = !t->nframes && !call;
	if (!call)
		return;
	party->event = call->function->event;
	party->role = call->function->role;
	party->waits = t->stuck;
	party->likely = call->likely;
	party->in_vain = call->in_vain;
	switch (call->function->role) {
	case ROLE_SEND:
	case ROLE_RECV:
		find_peer(stuck, p, call, party);
		party->by_another = is_by_another(p, call, party);
		/* The other side may have begun to receive before, which is not seen. */
		party->likely |= call->function->role == ROLE_SEND;
		break;
	case ROLE_BARRIER:
	case ROLE_COLLECTIVE:
	case ROLE_WAIT:
		find_group(stuck, p, call, party);
		if (waits_for_ranks(call) && waits_for_one_rank(call))
			find_peer(stuck, p, call, party);
		/* fall through */
	case ROLE_ACQUIRE:
	case ROLE_TRY:
		if (!party->gathers)
			find_lock(stuck, t, call, party);
		party->by_another = call->function->role == ROLE_WAIT && is_by_another(p, call, party);
		party->for_message = party->by_another && !waits_for_ranks(call) &&
				     (has_value(call, MEANING_REQUEST) || has_value(call, MEANING_PEER));
		break;
	default:
		break;
	}
}

/* Where a rank has several threads of its own and not all of them wait, what one of them does not do another may. */
static void doubt_busy_ranks(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nthreads; i++) {
		struct party *party = &stuck->parties[i];

		for (size_t k = 0; party->stands_for_rank && k < stuck->nthreads; k++)
			if (k != i && stuck->threads[k].pid == party->pid && !stuck->threads[k].is_helper &&
			    !stuck->threads[k].is_rank && !stuck->threads[k].stuck)
				party->likely = true;
	}
}

bool rank_is_there(const struct stuck *stuck, long rank)
{
	for (size_t i = 0; i < stuck->nthreads; i++)
		if (stuck->threads[i].is_rank && stuck->threads[i].rank == rank &&
		    !stuck->processes[stuck->threads[i].process].ended)
			return true;
	for (size_t i = 0; i < stuck->nprocesses; i++)
		if (stuck->processes[i].rank == rank && !stuck->processes[i].ended)
			return true;
	return false;
}

/* Has it been seen to end? */
static bool has_ended(const struct stuck *stuck, long rank)
{
	for (size_t i = 0; i < stuck->nprocesses; i++)
		if (stuck->processes[i].rank == rank && stuck->processes[i].ended)
			return true;
	return false;
}

/* Ranks of the job that are not there. */
static int add_missing(struct stuck *stuck, size_t *count)
{
	long least = -1, labels = 0;
	char label[LABEL_ROOM];

	for (size_t i = 0; i < stuck->nprocesses; i++)
		if (stuck->processes[i].model)
			least = stuck->processes[i].model->rank_plus;
	if (least < 0 || stuck->ranks < 1 || stuck->ranks > RANKS_MOST)
		return 0;
	stuck->rank_labels = calloc(stuck->ranks + 1, sizeof(char *));
	stuck->parties = realloc(stuck->parties, (*count + stuck->ranks) * sizeof(*stuck->parties));
	if (!stuck->rank_labels || !stuck->parties)
		return -ENOMEM;
	for (long rank = least; rank < least + stuck->ranks; rank++) {
		bool left = stuck->all_here || has_ended(stuck, rank);

		if (rank_is_there(stuck, rank))
			continue;
		label_of_process(&(struct who){ .unit = stuck->unit, .rank = rank }, label, sizeof(label));
		stuck->rank_labels[labels] = strdup(label);
		if (!stuck->rank_labels[labels])
			return -ENOMEM;
		stuck->parties[(*count)++] = (struct party){ .rank = rank,
							     .label = stuck->rank_labels[labels++],
							     .stands_for_rank = true,
							     .left = left,
							     .elsewhere = !left,
							     .peer = WAITS_NOBODY };
	}
	return 0;
}

int stuck_conclude(struct stuck *stuck)
{
	size_t count = stuck->nthreads;
	int err;

	stuck->parties = calloc(count + 1, sizeof(*stuck->parties));
	if (!stuck->parties)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		make_party(stuck, &stuck->threads[i], &stuck->parties[i]);
	err = find_rank_holders(stuck);
	if (err)
		return err;
	doubt_busy_ranks(stuck);
	waits_doubt_split(stuck->parties, stuck->nthreads);
	err = add_missing(stuck, &count);
	if (err)
		return err;
	stuck->nparties = count;
	return waits_find(stuck->parties, count, unit_of(stuck), stuck->ranks, &stuck->findings);
}
