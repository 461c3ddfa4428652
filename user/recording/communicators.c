/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communicators.c - the members of communicators: kept as runs of ranks, and found again.
 *
 * A communicator of a hundred thousand ranks, told by each of a hundred thousand processes, must not take ten thousand
 * million numbers. Nearly all are made by rules: everybody, every fourth, the even ones downwards. So members are runs:
 * first, stride, count.
 */
#include "recording/communicators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "meaning/value.h"
#include "recording/definitions.h"
#include "util/array.h"

#define RUNS_MOST 65536 /* of a communicator; members beyond are not known */

/* --- members ----------------------------------------------------------- */

/* Room for one more: powers of two. False: no memory, or no more are kept. */
static bool grow(struct def_comm *comm)
{
	uint32_t n = comm->nruns;

	if (n == RUNS_MOST)
		return false;
	if (!(n & (n - 1))) {
		struct rank_run *more = realloc(comm->runs, (n ? 2 * n : 1) * sizeof(*more));

		if (!more)
			return false;
		comm->runs = more;
	}
	return true;
}

/* Does the rank go on where the run is? */
static bool extend(struct rank_run *run, int64_t rank)
{
	int64_t stride;

	if (rank < 0 || run->first == NO_INDEX) {
		if (rank >= 0 || run->first != NO_INDEX)
			return false;
		run->count++;
		return true;
	}
	stride = run->count == 1 ? rank - run->first : run->stride;
	if (stride < INT32_MIN || stride > INT32_MAX || rank != run->first + stride * run->count)
		return false;
	run->stride = (int32_t)stride;
	run->count++;
	return true;
}

int comm_set_members(struct def_comm *comm, const int64_t *ranks, size_t count)
{
	runs_free(comm);
	comm->size = count;
	for (size_t i = 0; i < count; i++) {
		bool known = ranks[i] >= 0 && ranks[i] < NO_INDEX;

		if (comm->nruns && extend(&comm->runs[comm->nruns - 1], known ? ranks[i] : -1))
			continue;
		if (comm->nruns == RUNS_MOST)
			return 0;
		if (!grow(comm))
			return -ENOMEM;
		comm->runs[comm->nruns++] = (struct rank_run){ known ? (uint32_t)ranks[i] : NO_INDEX, known ? 1 : 0,
							       1 };
	}
	return 0;
}

int comm_set_world(struct def_comm *comm)
{
	runs_free(comm);
	comm->size = 0;
	if (!grow(comm))
		return -ENOMEM;
	comm->runs[comm->nruns++] = (struct rank_run){ 0, 1, NO_INDEX };
	return 0;
}

int64_t comm_world_rank(const struct def_comm *comm, int64_t rank)
{
	if (rank < 0 || rank >= NO_INDEX || (comm->size && (uint64_t)rank >= comm->size))
		return -1;
	for (uint32_t i = 0; i < comm->nruns; i++) {
		const struct rank_run *run = &comm->runs[i];
		int64_t world;

		if (rank >= run->count) {
			rank -= run->count;
			continue;
		}
		world = run->first + (int64_t)run->stride * rank;
		return run->first == NO_INDEX || world < 0 || world >= NO_INDEX ? -1 : world;
	}
	return -1;
}

int64_t comm_rank_of(const struct def_comm *comm, int64_t world)
{
	uint64_t left = comm->size ? comm->size : UINT64_MAX;
	int64_t before = 0;

	for (uint32_t i = 0; i < comm->nruns && left; i++) {
		const struct rank_run *run = &comm->runs[i];
		uint64_t count = run->count < left ? run->count : left;
		int64_t distance = world - run->first, at = run->stride ? distance / run->stride : 0;

		if (run->first != NO_INDEX && world >= 0 && count && distance == at * run->stride && at >= 0 &&
		    (uint64_t)at < count)
			return before + at;
		left -= count;
		before += (int64_t)count;
	}
	return -1;
}

bool comm_has_world_rank(const struct def_comm *comm, int64_t world)
{
	return comm_rank_of(comm, world) >= 0;
}

/* --- in the file ------------------------------------------------------- */

#define COMM(n, t, member)                                      \
	{                                                       \
		n, FIELD_##t, offsetof(struct def_comm, member) \
	}

const struct field comm_fields[] = { COMM(1, INDEX, process), COMM(2, U64, handle), COMM(3, U64, since),
				     COMM(4, BOOL, has_id),   COMM(5, U32, id),     COMM(6, STRING, name),
				     COMM(7, U64, size),      COMM(8, RUNS, runs),  { 0, FIELD_END, 0 } };

void runs_free(struct def_comm *comm)
{
	free(comm->runs);
	comm->runs = NULL;
	comm->nruns = 0;
}

void runs_put(struct buffer *out, uint8_t number, const struct def_comm *comm)
{
	struct buffer bytes = { 0 };

	for (uint32_t i = 0; i < comm->nruns; i++) {
		buffer_put_varint(&bytes, comm->runs[i].first);
		buffer_put_signed(&bytes, comm->runs[i].stride);
		buffer_put_varint(&bytes, comm->runs[i].count);
	}
	out->failed |= bytes.failed;
	if (bytes.size)
		field_put(out, number, bytes.data, bytes.size);
	buffer_free(&bytes);
}

const char *runs_take(struct cursor *bytes, struct def_comm *comm)
{
	if (comm->runs)
		return "a field stands twice";
	while (!bytes->failed && bytes->at < bytes->end) {
		uint64_t first = cursor_varint(bytes);
		int64_t stride = cursor_signed(bytes);
		uint64_t count = cursor_varint(bytes);

		if (first > NO_INDEX || stride < INT32_MIN || stride > INT32_MAX || !count || count > NO_INDEX ||
		    comm->nruns == RUNS_MOST)
			return "the members of a communicator are bad";
		if (!grow(comm))
			return "there is not enough memory to read it";
		comm->runs[comm->nruns++] = (struct rank_run){ (uint32_t)first, (int32_t)stride, (uint32_t)count };
	}
	return bytes->failed ? "the members of a communicator are bad" : NULL;
}

const char *comm_check(const struct def_comm *comm, const struct definitions *d)
{
	return comm->process >= d->nprocesses ? "a communicator refers to no process" : NULL;
}

/* --- finding ----------------------------------------------------------- */

#define RECENT 64 /* a power of two */

/* What one handle of a process has meant. */
struct comm_chain {
	struct {
		uint64_t handle;
		uint32_t process, zero;
	} key;
	uint32_t *comms; /* indices, by time as soon as one is looked for */
	size_t count, room;
	bool unsorted;
	UT_hash_handle hh;
};

/* An answer, and how long it holds: nearly all calls of a process name the same few. */
struct recent_comm {
	uint64_t handle, from, to; /* ns; from == to: none */
	uint32_t process, index;
};

struct comm_index {
	const struct definitions *d;
	struct prepared_value *handles; /* by probe: the value that has the handle; .value NULL: none */
	size_t nprobes, probes_room;
	struct comm_chain *chains;
	size_t count; /* communicators that are in chains */
	struct recent_comm recent[RECENT];
};

/* Of several values the first one is the communicator that the call works on; others tell more of it, or are what it
 * made. */
static const struct value *handle_of(const struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == MEANING_COMM)
			return probe->values[i].at_return ? NULL : &probe->values[i];
	return NULL;
}

static struct comm_chain *chain_of(const struct comm_index *index, uint32_t process, uint64_t handle)
{
	struct comm_chain *chain, wanted = { .key = { handle, process, 0 } };

	HASH_FIND(hh, index->chains, &wanted.key, sizeof(wanted.key), chain);
	return chain;
}

static struct comm_chain *new_chain(struct comm_index *index, uint32_t process, uint64_t handle)
{
	struct comm_chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return NULL;
	chain->key.handle = handle;
	chain->key.process = process;
	HASH_ADD(hh, index->chains, key, sizeof(chain->key), chain);
	if (!chain->hh.tbl) {
		free(chain);
		return NULL;
	}
	return chain;
}

/* Takes the next one in. False: out of memory. */
static bool append(struct comm_index *index)
{
	const struct def_comm *comms = index->d->comms, *next = &comms[index->count];
	struct comm_chain *chain = chain_of(index, next->process, next->handle);

	if (!chain)
		chain = new_chain(index, next->process, next->handle);
	if (!chain || array_one_more(&chain->comms, &chain->room, chain->count, sizeof(*chain->comms)))
		return false;
	if (chain->count && comms[chain->comms[chain->count - 1]].since > next->since)
		chain->unsorted = true;
	chain->comms[chain->count++] = index->count++;
	return true;
}

static int by_time(const void *left, const void *right, void *context)
{
	const struct def_comm *comms = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (comms[a].since != comms[b].since)
		return comms[a].since < comms[b].since ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* How many of them are not later than this time. */
static size_t count_until(struct comm_chain *chain, const struct def_comm *comms, uint64_t time)
{
	size_t low = 0, high = chain->count;

	if (chain->unsorted)
		qsort_r(chain->comms, chain->count, sizeof(*chain->comms), by_time, (void *)comms);
	chain->unsorted = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (comms[chain->comms[middle]].since <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes in what has come to the definitions. False: out of memory. */
static bool take_in(struct comm_index *index)
{
	const struct definitions *d = index->d;

	if (index->count < d->ncomms)
		memset(index->recent, 0, sizeof(index->recent));
	while (index->count < d->ncomms)
		if (!append(index))
			return false;
	if (index->nprobes < d->nprobes &&
	    array_reach(&index->handles, &index->probes_room, d->nprobes, sizeof(*index->handles)))
		return false;
	for (; index->nprobes < d->nprobes; index->nprobes++) {
		const struct value *handle = handle_of(&d->probes[index->nprobes]);

		if (handle)
			value_prepare(&index->handles[index->nprobes], handle);
	}
	return true;
}

/* The same. Mostly nothing has. */
static inline bool catch_up(struct comm_index *index)
{
	const struct definitions *d = index->d;

	return (index->count == d->ncomms && index->nprobes == d->nprobes) || take_in(index);
}

struct comm_index *comm_index_new(const struct definitions *d)
{
	struct comm_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	index->d = d;
	if (!catch_up(index)) {
		comm_index_free(index);
		return NULL;
	}
	return index;
}

void comm_index_free(struct comm_index *index)
{
	struct comm_chain *chain, *next;

	if (!index)
		return;
	HASH_ITER (hh, index->chains, chain, next) {
		HASH_DEL(index->chains, chain);
		free(chain->comms);
		free(chain);
	}
	free(index->handles);
	free(index);
}

const struct def_comm *comm_find(struct comm_index *index, uint32_t process, uint64_t handle, uint64_t time)
{
	struct recent_comm *recent = &index->recent[(handle >> 4 ^ process) % RECENT];
	const struct def_comm *comms = index->d->comms;
	struct comm_chain *chain;
	size_t until;

	if (!catch_up(index))
		return NULL;
	if (recent->process == process && recent->handle == handle && recent->from <= time && time < recent->to)
		return &comms[recent->index];
	chain = chain_of(index, process, handle);
	until = chain ? count_until(chain, comms, time) : 0;
	if (!until)
		return NULL;
	*recent = (struct recent_comm){ .handle = handle, .process = process, .index = chain->comms[until - 1] };
	recent->from = comms[recent->index].since;
	recent->to = until < chain->count ? comms[chain->comms[until]].since : UINT64_MAX;
	return &comms[recent->index];
}

const struct def_comm *comm_of_span(struct comm_index *index, const struct span *span)
{
	const struct sent_words sent = { span->words, span->nwords, span->unread, false };
	const struct prepared_value *v;
	int64_t handle;

	if (!catch_up(index) || span->probe >= index->nprobes || span->thread >= index->d->nthreads)
		return NULL;
	v = &index->handles[span->probe];
	if (!v->value || !index->count || !prepared_number(v, &sent, &handle))
		return NULL;
	return comm_find(index, index->d->threads[span->thread].process, (uint64_t)handle, span->start);
}
