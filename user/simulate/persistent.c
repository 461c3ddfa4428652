/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * persistent.c - messages that are described once and then begun again and again.
 *
 * The call that describes one names the other side, the tag and the communicator, and returns a handle. Those that
 * begin messages name handles only: so what was described is kept by handle. Where the description was not seen, since
 * it came before the observation, nothing is known of the message.
 */
#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "simulate/message.h"
#include "util/array.h"

#define DESCRIBED_MOST (1u << 16) /* more are not kept */

struct described_key {
	int64_t handle;
	uint64_t process;
};

struct described {
	UT_hash_handle hh;
	struct described_key key;
	bool is_send, sync;
	const struct def_comm *members;
	uint32_t comm, partner; /* partner: process; NO_INDEX: anybody, or not known */
	int32_t tag;            /* -1: any */
	bool nobody;            /* to or from nobody: nothing is moved */
	bool foreign;           /* the other side is no process of the recording */
};

static struct described *find(const struct sim *sim, uint32_t process, int64_t handle)
{
	struct described_key key = { handle, process };
	struct described *found;

	HASH_FIND(hh, sim->described, &key, sizeof(key), found);
	return found;
}

static struct described *at(struct sim *sim, uint32_t process, int64_t handle)
{
	struct described *found = find(sim, process, handle);

	if (found || HASH_COUNT(sim->described) >= DESCRIBED_MOST)
		return found;
	found = calloc(1, sizeof(*found));
	if (!found)
		return NULL;
	found->key = (struct described_key){ handle, process };
	HASH_ADD(hh, sim->described, key, sizeof(found->key), found);
	if (found->hh.tbl)
		return found;
	free(found);
	return NULL;
}

int persistent_describe(struct sim *sim, const struct op *op, const struct span *span)
{
	const struct facts *facts = op->facts;
	uint32_t process = sim->d->threads[op->thread].process;
	bool is_send = facts->describes == DESCRIBES_SEND;
	int64_t handle, peer = -1, tag = -1;
	struct described *what;
	struct told_comm comm;
	bool known;

	if (!span_returned(span) || !fact_number(facts, WANT_REQUEST, span, &handle))
		return 0;
	what = at(sim, process, handle);
	if (!what)
		return HASH_COUNT(sim->described) >= DESCRIBED_MOST ? 0 : -ENOMEM;
	comm = groups_comm(sim, facts, span);
	known = fact_number(facts, is_send ? WANT_PEER_OUT : WANT_PEER_IN, span, &peer);
	if (!fact_number(facts, is_send ? WANT_TAG_OUT : WANT_TAG_IN, span, &tag))
		tag = is_send ? 0 : -1;
	what->is_send = is_send;
	what->sync = facts->sync;
	what->members = comm.members;
	what->comm = comm.number;
	what->tag = (int32_t)tag;
	what->nobody = is_send ? !known || peer < 0 : (!known || peer < 0) && fact_is_nobody(facts, WANT_PEER_IN, span);
	what->partner = known && peer >= 0 ? groups_process(sim, process, &comm, peer) : NO_INDEX;
	what->foreign = known && peer >= 0 && what->partner == NO_INDEX;
	return 0;
}

static int begin_one(struct sim *sim, struct op *op, const struct described *what)
{
	struct half *half;

	half = half_new(sim, op, what->is_send);
	if (!half)
		return -ENOMEM;
	if (half_await(op, half)) {
		half_leave(sim, half);
		return -ENOMEM;
	}
	half->members = what->members;
	half->comm = what->comm;
	half->tag = what->tag;
	half->partner = what->partner;
	half->sync = what->sync;
	half->begins = true;
	half->completed = false;
	return match_post(sim, half, what->foreign) ?: requests_add(sim, op, what->key.handle, half);
}

int persistent_begin(struct sim *sim, struct op *op, const struct span *span)
{
	const struct facts *facts = op->facts;
	uint32_t process = sim->d->threads[op->thread].process;
	struct sent_words sent = span_words(span);
	int error = 0;

	for (unsigned i = 0; i < facts->answers.count[WANT_REQUEST] && !error; i++) {
		const struct described *what;
		int64_t handle;

		if (!prepared_number(&facts->answers.values[WANT_REQUEST][i], &sent, &handle))
			continue;
		what = find(sim, process, handle);
		if (what && !what->nobody)
			error = begin_one(sim, op, what);
	}
	return error;
}

void persistent_close(struct sim *sim)
{
	struct described *what, *next;

	HASH_ITER (hh, sim->described, what, next) {
		HASH_DEL(sim->described, what);
		free(what);
	}
}
