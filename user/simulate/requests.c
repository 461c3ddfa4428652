/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requests.c - what was begun, and the calls that end it.
 *
 * A wait names requests by their handles, and a handle is used again once its request is complete: so the latest one
 * begun under it is meant. A wait for more of them than a call carries ends the thread's latest ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "simulate/parts.h"

#define REQUESTS_MOST 16384 /* of a process that nobody waited for; older ones are forgotten */

static void forget(struct sim *sim, struct sim_process *process, struct request *request)
{
	if (request->before)
		request->before->next = request->next;
	else
		process->requests = request->next;
	if (request->next)
		request->next->before = request->before;
	else
		process->last_request = request->before;
	process->nrequests--;
	request->next = sim->free_requests;
	sim->free_requests = request;
}

/* Nobody will wait for it. */
static void drop(struct sim *sim, struct sim_process *process, struct request *request)
{
	for (unsigned i = 0; i < 2; i++)
		if (request->halves[i])
			half_leave(sim, request->halves[i]);
	if (request->instance)
		instance_leave(sim, request->instance);
	forget(sim, process, request);
}

/*
 * The oldest, and the halves of its message, will have to be looked at when it is dropped, and have long left the
 * cache: they are asked for one call before, and what leads to them two calls before. (A call that does nothing else
 * would be left out by the compiler.)
 */
static inline __attribute__((always_inline)) void fetch_oldest(const struct sim_process *process)
{
	const struct request *oldest = process->requests, *next = oldest->next;

	for (unsigned i = 0; i < 2; i++) {
		if (oldest->halves[i])
			__builtin_prefetch(oldest->halves[i]->other, 1);
		if (next && next->halves[i])
			__builtin_prefetch(next->halves[i], 1);
	}
	if (next)
		__builtin_prefetch(next->next, 1);
}

/* The process' latest. It is to be given back by begun(). NULL: out of memory. */
static struct request *new_request(struct sim *sim, const struct op *op)
{
	struct request *request = sim->free_requests;

	if (request)
		sim->free_requests = request->next;
	else
		request = malloc(sizeof(*request));
	if (request)
		*request = (struct request){ .thread = op->thread };
	return request;
}

static void begun(struct sim *sim, struct request *request)
{
	struct sim_process *process = &sim->processes[sim->d->threads[request->thread].process];

	for (unsigned i = 0; i < 2; i++)
		if (request->halves[i])
			request->halves[i]->holds++;
	if (request->instance)
		request->instance->users++;
	request->before = process->last_request;
	if (process->last_request)
		process->last_request->next = request;
	else
		process->requests = request;
	process->last_request = request;
	if (++process->nrequests > REQUESTS_MOST) {
		drop(sim, process, process->requests);
		fetch_oldest(process);
	}
}

int requests_begin(struct sim *sim, struct op *op, const struct span *span)
{
	struct request *request;

	if (!op->send && !op->recv && !op->instance)
		return 0;
	request = new_request(sim, op);
	if (!request)
		return -ENOMEM;
	request->known = fact_number(op->facts, WANT_REQUEST, span, &request->handle);
	request->halves[0] = op->send;
	request->halves[1] = op->recv;
	request->instance = op->instance;
	request->member = op->member;
	begun(sim, request);
	return 0;
}

int requests_add(struct sim *sim, const struct op *op, int64_t handle, struct half *half)
{
	struct request *request = new_request(sim, op);

	if (!request)
		return -ENOMEM;
	request->known = true;
	request->handle = handle;
	request->halves[0] = half;
	begun(sim, request);
	return 0;
}

static struct request *find_request(const struct sim_process *process, int64_t handle)
{
	for (struct request *request = process->last_request; request; request = request->before)
		if (request->known && request->handle == handle)
			return request;
	return NULL;
}

static int add_half(struct op *op, struct half *half)
{
	half->waiting = op;
	return half_await(op, half);
}

static int add_instance(struct op *op, const struct request *request)
{
	if (array_reach(&op->instances, &op->instances_room, op->ninstances + 1, sizeof(*op->instances)) ||
	    array_reach(&op->members, &op->members_room, op->ninstances + 1, sizeof(*op->members)))
		return -ENOMEM;
	op->members[op->ninstances] = request->member;
	op->instances[op->ninstances++] = request->instance;
	request->instance->members[request->member].op = op;
	return 0;
}

static int complete(struct sim *sim, struct op *op, const struct span *span, struct request *request, bool only)
{
	struct sim_process *process = &sim->processes[sim->d->threads[op->thread].process];
	int error = 0;

	for (unsigned i = 0; i < 2 && !error; i++) {
		struct half *half = request->halves[i];

		if (!half)
			continue;
		error = add_half(op, half); /* with the request's hold */
		if (error || half->is_send)
			continue;
		half->completed = true;
		half->end = op->end;
		match_check_direction(sim, half);
		if (half->queued && (half->partner == NO_INDEX || half->tag < 0) && only)
			error = match_learn_sender(sim, half, op, span);
	}
	if (!error && request->instance)
		error = add_instance(op, request);
	if (!error)
		forget(sim, process, request);
	return error;
}

/* Completes the thread's latest requests, so many: of a wait for more of them than are recorded. */
static int complete_latest(struct sim *sim, struct op *op, const struct span *span, int64_t number)
{
	struct sim_process *process = &sim->processes[sim->d->threads[op->thread].process];
	struct request *request = process->last_request, *next;
	int64_t back = 0;
	int error = 0;

	for (; request; request = request->before) {
		back += request->thread == op->thread;
		if (back == number || !request->before)
			break;
	}
	for (; request && !error; request = next) {
		next = request->next;
		if (request->thread == op->thread)
			error = complete(sim, op, span, request, false);
	}
	return error;
}

static int complete_handle(struct sim *sim, struct op *op, const struct span *span, int64_t handle, bool only)
{
	struct request *request = find_request(&sim->processes[sim->d->threads[op->thread].process], handle);

	return request ? complete(sim, op, span, request, only) : 0;
}

/* Those of the requests that the call says have been completed. */
static int complete_indices(struct sim *sim, struct op *op, const struct span *span, const int64_t *handles,
			    unsigned count)
{
	const struct facts *facts = op->facts;
	struct sent_words sent = span_words(span);
	int64_t index;
	int error = 0;

	for (unsigned i = 0; i < facts->answers.count[WANT_INDEX] && !error; i++)
		if (prepared_number(&facts->answers.values[WANT_INDEX][i], &sent, &index) && index >= 0 &&
		    index < count)
			error = complete_handle(sim, op, span, handles[index], facts->answers.count[WANT_INDEX] == 1);
	return error;
}

int requests_wait(struct sim *sim, struct op *op, const struct span *span)
{
	const struct facts *facts = op->facts;
	struct sent_words sent = span_words(span);
	int64_t handles[GB_SLOTS], number;
	unsigned count = 0;
	int error = 0;

	if (!call_found(facts, span))
		return 0;
	for (unsigned i = 0; i < facts->answers.count[WANT_REQUEST] && count < GB_SLOTS; i++) {
		const struct prepared_value *v = &facts->answers.values[WANT_REQUEST][i];

		if (!v->value->at_return && prepared_number(v, &sent, &number))
			handles[count++] = number;
	}
	if (facts->answers.count[WANT_INDEX])
		return complete_indices(sim, op, span, handles, count);
	for (unsigned i = 0; i < count && !error; i++)
		error = complete_handle(sim, op, span, handles[i], facts->answers.count[WANT_REQUEST] == 1);
	if (!error && facts->answers.count[WANT_NUMBER] && fact_number(facts, WANT_NUMBER, span, &number) &&
	    number > count)
		error = complete_latest(sim, op, span, number - count);
	return error;
}

void requests_local(struct sim *sim, struct op *op, const struct span *span)
{
	struct sim_process *process = &sim->processes[sim->d->threads[op->thread].process];
	struct request *request;
	int64_t handle;

	if (op->facts->begins || !fact_number(op->facts, WANT_REQUEST, span, &handle))
		return;
	request = find_request(process, handle);
	if (request)
		drop(sim, process, request);
}

void requests_close(struct sim *sim)
{
	for (size_t i = 0; sim->processes && i < sim->d->nprocesses; i++)
		while (sim->processes[i].requests)
			drop(sim, &sim->processes[i], sim->processes[i].requests);
	while (sim->free_requests) {
		struct request *request = sim->free_requests;

		sim->free_requests = request->next;
		free(request);
	}
}
