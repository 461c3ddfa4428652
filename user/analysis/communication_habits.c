/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_habits.c - how a program communicates: waits that overlap nothing.
 *
 * A wait overlapped nothing where the thread did next to nothing of its own between the end of the call that began what
 * it waits for and the wait's start. Of several things the one counts that leaves most time.
 */
#include "analysis/communication.h"

#include <errno.h>
#include <stdlib.h>

#define REQUESTS_MOST (1u << 18) /* of all processes; the oldest are forgotten */

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

bool habits_waits_since(const struct communication *c, const struct accounted_call *call,
			const struct comm_probe *probe, uint64_t since)
{
	uint32_t process = c->d->threads[call->span->thread].process;
	int64_t handles[GB_SLOTS];
	unsigned count = given(call, probe, handles), known = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct comm_request *request = find_request(c, process, handles[i]);

		if (!request || !request->open)
			continue; /* that of no message at all */
		if (request->thread != call->span->thread || request->end <= since)
			return false;
		known++;
	}
	return known;
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

	runs_note(c, call, probe, place, pair, bytes, duration);
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
