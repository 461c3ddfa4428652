/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requests.c - what was begun, and the calls that end it.
 *
 * Requests have handles, which are used again: the latest that was begun under one is meant. A wait for more of them
 * than a call carries ends the thread's latest ones, as in user/simulate/requests.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "export/call.h"
#include "export/otf2/parts.h"

#define REQUESTS_MOST 65536 /* that nobody waited for; older ones of the thread are forgotten */

struct open_request {
	UT_hash_handle hh;
	struct {
		uint64_t process, handle;
	} key;
	uint32_t thread;
	struct open_request *before, *after; /* of the thread, in the order in which they were begun */
	struct open_request *older, *newer;  /* of the same handle; found is the newest */
	struct request request;
};

/* The newest of its handle is gone: the one before it is found from now on. */
static void uncover(struct otf2 *o, struct open_request *r)
{
	struct open_request *older = r->older;

	if (r->hh.tbl) /* else there was no memory to put it there, which is noted */
		HASH_DEL(o->requests, r);
	if (!older)
		return;
	older->newer = NULL;
	HASH_ADD(hh, o->requests, key, sizeof(older->key), older);
	if (!older->hh.tbl)
		otf2_fail(o, -ENOMEM);
}

static void forget(struct otf2 *o, struct open_request *r)
{
	struct open_request **first = &o->oldest[r->thread], **last = &o->latest[r->thread];

	*(r->before ? &r->before->after : first) = r->after;
	*(r->after ? &r->after->before : last) = r->before;
	if (!r->newer) {
		uncover(o, r);
	} else {
		r->newer->older = r->older;
		if (r->older)
			r->older->newer = r->newer;
	}
	o->nrequests--;
	free(r);
}

static struct open_request *find(const struct otf2 *o, uint32_t thread, int64_t handle)
{
	struct open_request *found, wanted = { .key = { o->d->threads[thread].process, (uint64_t)handle } };

	HASH_FIND(hh, o->requests, &wanted.key, sizeof(wanted.key), found);
	return found;
}

static int add(struct otf2 *o, struct open_request *r, struct open_request *older)
{
	if (older)
		HASH_DEL(o->requests, older);
	HASH_ADD(hh, o->requests, key, sizeof(r->key), r);
	if (!r->hh.tbl)
		return -ENOMEM;
	r->older = older;
	if (older)
		older->newer = r;
	r->before = o->latest[r->thread];
	*(r->before ? &r->before->after : &o->oldest[r->thread]) = r;
	o->latest[r->thread] = r;
	o->nrequests++;
	return 0;
}

/* A runtime may give several requests the same handle: one that stands for "complete already". */
int otf2_request_begin(struct otf2 *o, const struct span *span, const struct request *request)
{
	struct open_request *r;
	int64_t handle;

	if (!otf2_number(o, span, WANT_REQUEST, &handle))
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->key.process = o->d->threads[span->thread].process;
	r->key.handle = (uint64_t)handle;
	r->thread = span->thread;
	r->request = *request;
	if (add(o, r, find(o, span->thread, handle))) {
		free(r);
		return -ENOMEM;
	}
	if (o->nrequests > REQUESTS_MOST)
		forget(o, o->oldest[span->thread]);
	return 0;
}

/* What the status of a wait says of the one receive that it ended. */
static void learn_sender(const struct otf2 *o, const struct span *span, uint64_t *numbers)
{
	const struct def_probe *probe = &o->d->probes[span->probe];
	struct sent_words sent = call_words(span);
	int64_t number;

	if (otf2_number(o, span, WANT_PEER_IN, &number) && number >= 0)
		numbers[0] = (uint32_t)number;
	if (otf2_number(o, span, WANT_TAG_IN, &number) && number >= 0)
		numbers[2] = (uint32_t)number;
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];
		struct value_reading r;

		if (v->meaning != MEANING_STATUS || v->unobservable)
			continue;
		r = value_read(v, sent.words, sent.nwords, sent.unread, sent.returned);
		if (r.known && !r.none && r.number >= 0)
			numbers[3] = (uint64_t)r.number;
	}
}

static int complete(struct otf2 *o, uint32_t location, const struct span *span, struct open_request *r, bool only)
{
	struct record record = { .time = span->end };

	for (unsigned i = 0; i < RECORD_NUMBERS; i++)
		record.numbers[i] = r->request.numbers[i];
	record.kind = r->request.what == REQUEST_SEND   ? RECORD_ISEND_DONE
		      : r->request.what == REQUEST_RECV ? RECORD_IRECV
							: RECORD_COLLECTIVE_DONE;
	if (record.kind == RECORD_IRECV && only)
		learn_sender(o, span, record.numbers);
	forget(o, r);
	if (record.kind == RECORD_IRECV && record.numbers[0] == UINT64_MAX)
		return 0; /* from whom is not known */
	return otf2_put(o, location, &record);
}

static int complete_handle(struct otf2 *o, uint32_t location, const struct span *span, int64_t handle, bool only)
{
	struct open_request *r = find(o, span->thread, handle);

	return r ? complete(o, location, span, r, only) : 0;
}

/* Those of the requests that the call says have been completed. */
static int complete_indices(struct otf2 *o, uint32_t location, const struct span *span, const int64_t *handles,
			    unsigned count)
{
	const struct answers *answers = &o->regions[span->probe].answers;
	struct sent_words sent = call_words(span);
	int64_t index;
	int error = 0;

	for (unsigned i = 0; i < answers->count[WANT_INDEX] && !error; i++)
		if (prepared_number(&answers->values[WANT_INDEX][i], &sent, &index) && index >= 0 && index < count)
			error = complete_handle(o, location, span, handles[index], answers->count[WANT_INDEX] == 1);
	return error;
}

/* The requests that the call is given, as far as it carries them. */
static unsigned find_handles(const struct otf2 *o, const struct span *span, int64_t handles[GB_SLOTS])
{
	const struct answers *answers = &o->regions[span->probe].answers;
	struct sent_words sent = call_words(span);
	unsigned count = 0;
	int64_t number;

	for (unsigned i = 0; i < answers->count[WANT_REQUEST] && count < GB_SLOTS; i++) {
		const struct prepared_value *v = &answers->values[WANT_REQUEST][i];

		if (!v->value->at_return && prepared_number(v, &sent, &number))
			handles[count++] = number;
	}
	return count;
}

int otf2_requests_end(struct otf2 *o, uint32_t location, const struct span *span)
{
	const struct answers *answers = &o->regions[span->probe].answers;
	int64_t handles[GB_SLOTS], number;
	unsigned count;
	int error = 0;

	if (!call_words(span).returned || !answers->count[WANT_REQUEST] ||
	    (answers->count[WANT_DONE] && (!otf2_number(o, span, WANT_DONE, &number) || !number)))
		return 0;
	count = find_handles(o, span, handles);
	if (answers->count[WANT_INDEX])
		return complete_indices(o, location, span, handles, count);
	for (unsigned i = 0; i < count && !error; i++)
		error = complete_handle(o, location, span, handles[i], answers->count[WANT_REQUEST] == 1);
	if (error || !otf2_number(o, span, WANT_NUMBER, &number))
		return error;
	for (int64_t left = number - count; left > 0 && o->latest[span->thread] && !error; left--)
		error = complete(o, location, span, o->latest[span->thread], false);
	return error;
}

void otf2_requests_close(struct otf2 *o)
{
	HASH_CLEAR(hh, o->requests);
	for (size_t i = 0; o->oldest && i < o->d->nthreads; i++)
		for (struct open_request *r = o->oldest[i], *next; r; r = next) {
			next = r->after;
			free(r);
		}
	free(o->latest);
	free(o->oldest);
}
