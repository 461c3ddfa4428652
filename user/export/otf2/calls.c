/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - what a call becomes: it enters and leaves its region, and in between are messages and operations of all.
 *
 * A message is sent when the call begins, and received when a call ends, so that no message arrives before it was sent
 * where the clocks are right. What names nobody (MPI_PROC_NULL), or whom is not known, is no message: OTF2 has no word
 * for that. What else is not known is undefined.
 */
#include "export/otf2/parts.h"

#include "export/call.h"

bool otf2_number(const struct otf2 *o, const struct span *span, enum want want, int64_t *number)
{
	struct sent_words sent = call_words(span);

	return answer_number(&o->regions[span->probe].answers, want, &sent, number);
}

static struct payload payload_of(const struct otf2 *o, const struct span *span)
{
	struct sent_words sent = call_words(span);

	return payload_read(o->regions[span->probe].payload, &sent);
}

static bool returned(const struct span *span)
{
	return span->reason == GB_END_RETURN || span->reason == GB_END_TAIL;
}

static uint32_t tag_of(const struct otf2 *o, const struct span *span, enum want want)
{
	int64_t tag;

	return otf2_number(o, span, want, &tag) ? (uint32_t)tag : OTF2_UNDEFINED_UINT32;
}

static int put(struct otf2 *o, uint32_t location, enum record_kind kind, uint64_t time)
{
	return otf2_put(o, location, &(struct record){ .kind = kind, .time = time });
}

/* --- messages ---------------------------------------------------------------------- */

static int put_send(struct otf2 *o, uint32_t location, const struct span *span)
{
	const struct region *region = &o->regions[span->probe];
	struct record record = { .kind = region->begins ? RECORD_ISEND : RECORD_SEND, .time = span->start };
	int64_t peer;
	int error;

	if (!otf2_number(o, span, WANT_PEER_OUT, &peer) || peer < 0)
		return 0;
	record.numbers[0] = (uint32_t)peer;
	record.numbers[1] = comm_of_call(o, span);
	record.numbers[2] = tag_of(o, span, WANT_TAG_OUT);
	record.numbers[3] = (uint64_t)payload_of(o, span).sent;
	record.numbers[4] = o->next_request;
	error = otf2_put(o, location, &record);
	if (error || !region->begins)
		return error;
	return otf2_request_begin(
		o, span,
		&(struct request){ .what = REQUEST_SEND, .id = o->next_request++, .numbers = { record.numbers[4] } });
}

static int begin_receive(struct otf2 *o, uint32_t location, const struct span *span)
{
	struct record record = { .kind = RECORD_IRECV_REQUEST, .time = span->start, .numbers = { o->next_request } };
	struct request request = { .what = REQUEST_RECV, .id = o->next_request };
	int64_t peer;
	int error = otf2_put(o, location, &record);

	/* From anybody: a status will say who it was. */
	request.numbers[0] = otf2_number(o, span, WANT_PEER_IN, &peer) && peer >= 0 ? (uint32_t)peer : UINT64_MAX;
	request.numbers[1] = comm_of_call(o, span);
	request.numbers[2] = tag_of(o, span, WANT_TAG_IN);
	request.numbers[3] = (uint64_t)payload_of(o, span).received;
	request.numbers[4] = o->next_request++;
	return error ?: otf2_request_begin(o, span, &request);
}

static int put_receive(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time)
{
	struct record record = { .kind = RECORD_RECV, .time = time };
	int64_t peer;

	if (!returned(span) || !otf2_number(o, span, WANT_PEER_IN, &peer) || peer < 0)
		return 0;
	record.numbers[0] = (uint32_t)peer;
	record.numbers[1] = comm_of_call(o, span);
	record.numbers[2] = tag_of(o, span, WANT_TAG_IN);
	record.numbers[3] = (uint64_t)payload_of(o, span).received;
	return otf2_put(o, location, &record);
}

/* --- operations of all -------------------------------------------------------------- */

/* Those of one-sided runtimes, or on a window, are about memory. */
static bool is_of_memory(const struct region *region)
{
	return region->paradigm->paradigm != OTF2_PARADIGM_MPI || !region->names_comm;
}

static bool is_of_all(const struct region *region, enum role role)
{
	return (role == ROLE_COLLECTIVE || role == ROLE_BARRIER) && region->operation != OTF2_UNDEFINED_UINT8 &&
	       region->paradigm->class == OTF2_PARADIGM_CLASS_PROCESS;
}

static void find_root(const struct otf2 *o, const struct span *span, struct record *record)
{
	const struct region *region = &o->regions[span->probe];
	bool known;
	int64_t root = -1;

	known = otf2_number(o, span, WANT_ROOT, &root);
	if (known && !region->names_comm)
		root = member_of_all(o, o->d->threads[span->thread].process, root);
	record->numbers[2] = known && root >= 0 ? (uint32_t)root : OTF2_COLLECTIVE_ROOT_NONE;
	if (!known && region->operation == OTF2_COLLECTIVE_OP_REDUCE)
		record->numbers[0] = OTF2_COLLECTIVE_OP_ALLREDUCE;
}

/* As a rank of the communicator, or a member of all; -1: not known. */
static int64_t self_of(const struct otf2 *o, const struct span *span)
{
	uint32_t process = o->d->threads[span->thread].process;
	const struct def_comm *comm;
	int64_t self;

	if (otf2_number(o, span, WANT_SELF, &self) && self >= 0)
		return self;
	if (process >= o->d->nprocesses)
		return -1;
	if (!o->regions[span->probe].names_comm)
		return member_of_all(o, process, o->d->processes[process].rank);
	comm = comm_of_span(o->comm_index, span);
	return comm ? comm_rank_of(comm, o->d->processes[process].rank) : -1;
}

/* Where the call does not say which way its bytes go, the operation does. */
static void find_sizes(const struct otf2 *o, const struct span *span, struct record *record)
{
	struct payload payload = payload_of(o, span);
	int64_t self = self_of(o, span);
	bool rooted = record->numbers[2] != OTF2_COLLECTIVE_ROOT_NONE && self >= 0;
	bool is_root = rooted && self == (int64_t)record->numbers[2];
	uint64_t bytes = (uint64_t)payload.bytes, *sent = &record->numbers[3], *received = &record->numbers[4];

	*sent = (uint64_t)payload.sent;
	*received = (uint64_t)payload.received;
	if (record->numbers[0] == OTF2_COLLECTIVE_OP_BARRIER)
		*sent = *received = 0;
	else if (payload.bytes < 0 || payload.sent >= 0 || payload.received >= 0)
		return;
	else if (record->numbers[0] != OTF2_COLLECTIVE_OP_BCAST && record->numbers[0] != OTF2_COLLECTIVE_OP_SCATTER)
		*sent = bytes;
	else if (rooted)
		*sent = is_root ? bytes : 0;
	if (record->numbers[0] == OTF2_COLLECTIVE_OP_BCAST || record->numbers[0] == OTF2_COLLECTIVE_OP_REDUCE)
		*received = rooted && (record->numbers[0] == OTF2_COLLECTIVE_OP_REDUCE) == is_root ? bytes
			    : rooted                                                               ? 0
												   : UINT64_MAX;
	else if (record->numbers[0] == OTF2_COLLECTIVE_OP_ALLREDUCE)
		*received = bytes;
}

static struct record collective_end(struct otf2 *o, const struct span *span, uint64_t time)
{
	const struct region *region = &o->regions[span->probe];
	struct record record = { .kind = is_of_memory(region) ? RECORD_RMA_COLLECTIVE_END : RECORD_COLLECTIVE_END,
				 .time = time };

	record.numbers[0] = region->operation;
	record.numbers[1] = is_of_memory(region) ? window_of_call(o, span) : comm_of_call(o, span);
	find_root(o, span, &record);
	find_sizes(o, span, &record);
	return record;
}

static int begin_collective(struct otf2 *o, uint32_t location, const struct span *span)
{
	const struct region *region = &o->regions[span->probe];
	struct request request = { .what = REQUEST_COLLECTIVE, .id = o->next_request };
	struct record record;
	int error;

	if (!region->begins || is_of_memory(region))
		return put(o, location, is_of_memory(region) ? RECORD_RMA_COLLECTIVE_BEGIN : RECORD_COLLECTIVE_BEGIN,
			   span->start);
	record = (struct record){ .kind = RECORD_COLLECTIVE_REQUEST,
				  .time = span->start,
				  .numbers = { o->next_request } };
	error = otf2_put(o, location, &record);
	record = collective_end(o, span, 0);
	for (unsigned i = 0; i < 5; i++)
		request.numbers[i] = record.numbers[i];
	request.numbers[5] = o->next_request++;
	return error ?: otf2_request_begin(o, span, &request);
}

static int end_collective(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time)
{
	const struct region *region = &o->regions[span->probe];
	struct record record;

	if (region->begins && !is_of_memory(region))
		return 0;
	record = collective_end(o, span, time);
	return otf2_put(o, location, &record);
}

/* --- calls ------------------------------------------------------------------------ */

/* The string that says how it ended; 0: it returned. */
static uint64_t end_string(const struct span *span)
{
	return call_end(span) ? 1 + (span->reason < ENDS - 1 ? span->reason : 0) : 0;
}

static int enter(struct otf2 *o, uint32_t location, const struct span *span)
{
	struct record record = { .kind = RECORD_ENTER, .time = span->start };

	record.numbers[0] = o->regions[span->probe].number;
	record.numbers[1] = span->site < o->d->nsites ? span->site : UINT64_MAX;
	record.numbers[2] = end_string(span);
	return otf2_put(o, location, &record);
}

int otf2_call_begins(struct otf2 *o, uint32_t location, const struct span *span)
{
	const struct region *region = &o->regions[span->probe];
	enum role role = o->d->probes[span->probe].role;
	int error = enter(o, location, span);

	if (error || region->inner)
		return error;
	if (is_of_all(region, role))
		return begin_collective(o, location, span);
	switch (role) {
	case ROLE_SEND:
	case ROLE_EXCHANGE:
		return role == ROLE_EXCHANGE && region->begins ? 0 : put_send(o, location, span);
	case ROLE_RECV:
		return region->begins ? begin_receive(o, location, span) : 0;
	default:
		return otf2_access_begins(o, location, span);
	}
}

static int end_of(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time)
{
	const struct region *region = &o->regions[span->probe];
	enum role role = o->d->probes[span->probe].role;

	if (is_of_all(region, role))
		return end_collective(o, location, span, time);
	switch (role) {
	case ROLE_RECV:
	case ROLE_EXCHANGE:
		return region->begins ? 0 : put_receive(o, location, span, time);
	case ROLE_WINDOW:
		if (returned(span))
			window_made(o, span);
		return 0;
	case ROLE_WAIT:
	case ROLE_TEST:
		return otf2_requests_end(o, location, span) ?: otf2_access_ends(o, location, span);
	default:
		return otf2_access_ends(o, location, span);
	}
}

int otf2_call_ends(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time)
{
	struct record record = { .kind = RECORD_LEAVE, .time = time, .numbers = { o->regions[span->probe].number } };
	int error = o->regions[span->probe].inner ? 0 : end_of(o, location, span, time);

	return error ?: otf2_put(o, location, &record);
}
