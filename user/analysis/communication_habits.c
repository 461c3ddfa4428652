/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_habits.c - how a program communicates: many small messages, and waits that overlap nothing.
 *
 * Small messages are a run where they go from one place in the source to the same rank, and the thread makes no other
 * communication call between them. So are small exchanges and collective operations, where it does next to nothing else
 * between them, either: who works and then meets the others does not meet them too often. A call inside of another one
 * is no call between: a put of the program is built from calls of the runtime below. Only when the next call at the
 * run's own depth comes it is known whether it was around them. So each depth has a run of its own, and notes when the
 * first deeper call since its last message began.
 *
 * A wait overlapped nothing where the thread did next to nothing of its own between the end of the call that began what
 * it waits for and the wait's start. Of several things the one counts that leaves most time.
 */
#include "analysis/communication.h"

#include <errno.h>
#include <stdlib.h>

#define REQUESTS_MOST (1u << 18) /* of all processes; the oldest are forgotten */

/* --- small messages ------------------------------------------------------- */

static void finish_run(struct communication *c, struct comm_run *run)
{
	if (run->messages >= RUN_LEAST) {
		struct comm_place *place = &c->places[run->place];

		place->pair = run->pair != WITH_ALL && (!place->runs || place->pair == run->pair) ? run->pair
												  : NO_INDEX;
		place->runs++;
		place->messages += run->messages;
		place->bytes += run->bytes;
		place->time += run->time;
		place->quick += run->quick;
		place->together += run->bytes ? (run->bytes - 1) / TOGETHER + 1 : 1;
	}
	run->messages = 0;
}

void habits_break(struct communication *c, struct comm_thread *thread)
{
	for (unsigned i = 0; i < RUN_DEPTHS; i++)
		finish_run(c, &thread->runs[i]);
}

/* Each side waits for the other one, so how long such a call takes does not tell whether it has waited. */
static bool is_mutual(enum role role)
{
	return role == ROLE_EXCHANGE || role == ROLE_COLLECTIVE;
}

static void note_run(struct communication *c, const struct accounted_call *call, uint32_t place, uint32_t pair,
		     int64_t bytes, uint64_t duration)
{
	struct comm_thread *thread = &c->threads[call->span->thread];
	uint32_t depth = call->span->depth;
	struct comm_run *run;
	bool small = pair != NO_INDEX && bytes >= 0 && bytes <= SMALL && call->timed, mutual = is_mutual(call->role);

	for (uint32_t i = depth + 1; i < RUN_DEPTHS; i++)
		finish_run(c, &thread->runs[i]);
	for (uint32_t i = 0; i < depth && i < RUN_DEPTHS; i++)
		if (thread->runs[i].deeper > call->span->start)
			thread->runs[i].deeper = call->span->start;
	if (depth >= RUN_DEPTHS)
		return;
	run = &thread->runs[depth];
	if (run->messages && (!small || run->place != place || run->pair != pair || run->deeper < call->span->start ||
			      (mutual && call->span->start > run->end + call->duration + BETWEEN)))
		finish_run(c, run);
	if (!small)
		return;
	if (!run->messages)
		*run = (struct comm_run){ .place = place, .pair = pair };
	run->messages++;
	run->bytes += (uint64_t)bytes;
	run->time += call->duration;
	run->quick += call->duration < QUICK ? duration : mutual ? QUICK : 0;
	run->end = call->span->end;
	c->places[place].mutual |= mutual;
	run->deeper = UINT64_MAX;
	if (duration < c->places[place].shortest)
		c->places[place].shortest = duration;
}

/* --- waits ---------------------------------------------------------------- */

static struct comm_request *find_request(const struct communication *c, uint32_t process, int64_t handle)
{
	struct comm_request *request, wanted = { .key = { handle, process, 0 } };

	HASH_FIND(hh, c->requests, &wanted.key, sizeof(wanted.key), request);
	return request;
}

static void forget(struct communication *c, struct comm_request *request)
{
	HASH_DEL(c->requests, request);
	free(request);
}

static int note_begun(struct communication *c, const struct accounted_call *call)
{
	uint32_t process = c->d->threads[call->span->thread].process;
	struct comm_request *request;
	int64_t handle;

	if (!call_number(call, MEANING_REQUEST, &handle))
		return 0;
	request = find_request(c, process, handle);
	if (!request) {
		if (HASH_COUNT(c->requests) >= REQUESTS_MOST)
			forget(c, c->requests); /* the first is the oldest */
		request = calloc(1, sizeof(*request));
		if (!request)
			return -ENOMEM;
		request->key.handle = handle;
		request->key.process = process;
		HASH_ADD(hh, c->requests, key, sizeof(request->key), request);
		if (!request->hh.tbl) {
			free(request);
			return -ENOMEM;
		}
	}
	request->open = true;
	request->thread = call->span->thread;
	request->event = call->event;
	request->end = call->span->end;
	request->busy = c->threads[call->span->thread].busy;
	return 0;
}

/* What a wait was for. */
struct awaited {
	unsigned count; /* those that this thread has begun */
	bool others;    /* and others, or who has is not known */
	uint64_t own;   /* ns: the most that the thread did of its own since one of them */
	uint32_t event; /* of that one */
};

static void end_request(struct communication *c, const struct accounted_call *call, int64_t handle,
			struct awaited *awaited)
{
	const struct comm_thread *thread = &c->threads[call->span->thread];
	struct comm_request *request = find_request(c, c->d->threads[call->span->thread].process, handle);
	uint64_t between, busy, own;

	if (!request || !request->open)
		return;
	request->open = false;
	if (request->thread != call->span->thread || request->end > call->span->start) {
		awaited->others = true;
		return;
	}
	between = call->span->start - request->end;
	busy = thread->busy - request->busy;
	own = between > busy ? between - busy : 0;
	if (!awaited->count++ || own > awaited->own) {
		awaited->own = own;
		awaited->event = request->event;
	}
}

/* The requests that the call was given, as many as are recorded of them. */
static unsigned given(const struct accounted_call *call, const struct comm_probe *probe, int64_t handles[GB_SLOTS])
{
	unsigned count = 0;

	for (uint32_t i = 0; i < probe->nrequests && count < GB_SLOTS; i++)
		count += comm_number(probe, call->span, probe->requests[i], &handles[count]);
	return count;
}

static void end_requests(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
			 struct awaited *awaited)
{
	const struct def_probe *def = &c->d->probes[call->span->probe];
	int64_t handles[GB_SLOTS], number;
	unsigned count = given(call, probe, handles);

	if (probe->index < 0) {
		for (unsigned i = 0; i < count; i++)
			end_request(c, call, handles[i], awaited);
		return;
	}
	for (uint32_t i = (uint32_t)probe->index; i < def->nvalues; i++)
		if (def->values[i].meaning == MEANING_INDEX && comm_number(probe, call->span, i, &number) &&
		    number >= 0 && number < count)
			end_request(c, call, handles[number], awaited);
}

static void note_wait(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
		      uint32_t place)
{
	struct comm_place *at = &c->places[place];
	struct awaited awaited = { .event = NO_INDEX };
	int64_t done;

	if (call->span->reason != GB_END_RETURN)
		return;
	if (call->role == ROLE_TEST && !(call_number(call, MEANING_DONE, &done) && done))
		return;
	end_requests(c, call, probe, &awaited);
	if (call->role == ROLE_TEST || !probe->nrequests)
		return;
	if (!awaited.count || awaited.others) {
		c->waits_unknown++;
		return;
	}
	at->waits++;
	at->wait_time += call->duration;
	if (awaited.own > call->duration / 100 * IDLE_PERCENT)
		return;
	at->idle++;
	at->idle_time += call->duration;
	at->begun_event = awaited.event;
}

int habits_note(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
		uint32_t place, uint32_t pair, int64_t bytes)
{
	uint64_t duration = call->duration > probe->floor ? call->duration - probe->floor : 0;

	note_run(c, call, place, pair, bytes, duration);
	if (call->role == ROLE_WAIT || call->role == ROLE_TEST)
		note_wait(c, call, probe, place);
	c->threads[call->span->thread].busy += call->self;
	return probe->begins ? note_begun(c, call) : 0;
}

void habits_free(struct communication *c)
{
	struct comm_request *request, *next;

	HASH_ITER (hh, c->requests, request, next)
		forget(c, request);
}
