/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_test.c - which send belongs to which receive.
 *
 * A small network is played, with the rules of MPI: messages from one process to another do not overtake each other,
 * one that comes goes to the first receive posted that takes it, and a receive takes the first of those that are there.
 * So the test knows who got what; user/simulate is told only what the calls say.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/simulated_job.h"

#define RANKS 5
#define COMMS 3
#define TAGS 2
#define MESSAGES_MOST 4000
#define OPEN_MOST 5 /* receives that a rank has posted and not completed */
#define SEEDS 40

#define ANY (-1)
#define NOBODY (-2)

enum { SEND, ISEND, RECEIVE, IRECEIVE, WAIT, WAIT_ALL, EXCHANGE, CALLS };

/* The slots of the probes' values. */
enum { PEER, TAG, COMM, REQUEST = 3, FROM = 3, CAME_TAG, PEER_IN = 5, TAG_IN, EXCHANGE_FROM, EXCHANGE_CAME };

static const struct played_value values[CALLS][9] = {
	[SEND] = { AT_CALL(PEER), AT_CALL(TAG), AT_CALL(COMM) },
	[ISEND] = { AT_CALL(PEER), AT_CALL(TAG), AT_CALL(COMM), AT_RETURN(REQUEST) },
	[RECEIVE] = { AT_CALL(PEER), AT_CALL(TAG), AT_CALL(COMM), AT_RETURN(PEER), AT_RETURN(TAG) },
	[IRECEIVE] = { AT_CALL(PEER), AT_CALL(TAG), AT_CALL(COMM), AT_RETURN(REQUEST) },
	[WAIT] = { AT_CALL(REQUEST), AT_RETURN(PEER), AT_RETURN(TAG) },
	[WAIT_ALL] = { AT_CALL(REQUEST), AT_CALL(REQUEST), AT_CALL(REQUEST), AT_CALL(REQUEST) },
	[EXCHANGE] = { { MEANING_PEER, false, SIDE_SEND },
		       { MEANING_TAG, false, SIDE_SEND },
		       AT_CALL(COMM),
		       AT_CALL(PLAIN),
		       AT_CALL(PLAIN),
		       { MEANING_PEER, false, SIDE_RECV },
		       { MEANING_TAG, false, SIDE_RECV },
		       { MEANING_PEER, true, SIDE_RECV },
		       { MEANING_TAG, true, SIDE_RECV } },
};
static const size_t nvalues[CALLS] = { 3, 4, 5, 4, 3, 4, 9 };
static const enum role roles[CALLS] = {
	ROLE_SEND, ROLE_SEND, ROLE_RECV, ROLE_RECV, ROLE_WAIT, ROLE_WAIT, ROLE_EXCHANGE
};

/* --- the network ----------------------------------------------------------- */

/* One half of a message, posted. */
struct end {
	uint32_t thread;
	uint64_t start;      /* of its call */
	int rank, peer, tag; /* of the job, whatever the communicator; peer and tag as asked for */
	unsigned comm;
	int64_t handle;
	bool arrived;      /* of a send: it is no longer under way */
	struct end *other; /* who got it, or whose it is */
	struct span call;  /* of a receive that blocks */
};

struct network {
	struct played_job job;
	uint32_t threads[RANKS], helpers[RANKS]; /* a helper only sends, and never waits */
	struct end sends[MESSAGES_MOST], receives[MESSAGES_MOST];
	size_t nsends, nreceives;
	struct end *blocked[RANKS];
	struct end *open[RANKS][OPEN_MOST];
	unsigned nopen[RANKS];
	bool fast;      /* what is sent has arrived */
	bool no_status; /* nobody looks at it */
};

/* The members of the communicators, by their ranks in the job: all, all backwards, the even ones. */
static size_t members(unsigned comm, int64_t ranks[RANKS])
{
	size_t count = 0;

	for (int rank = 0; rank < RANKS; rank++)
		if (comm != 2 || rank % 2 == 0)
			ranks[count++] = comm == 1 ? RANKS - 1 - rank : rank;
	return count;
}

/* Whom the communicator calls so; or what it calls this rank of the job. */
static int rank_in(unsigned comm, int rank)
{
	int64_t ranks[RANKS];
	size_t count = members(comm, ranks);

	for (size_t i = 0; i < count; i++)
		if (ranks[i] == rank)
			return (int)i;
	return rank; /* any source, or nobody */
}

static bool is_member(unsigned comm, int rank)
{
	return comm != 2 || rank % 2 == 0;
}

/* A communicator is another address in each process. */
static int64_t handle_of(unsigned comm, int rank)
{
	return 0x5000 + 0x100 * rank + 16 * ((comm + rank) % COMMS);
}

static void set_up(struct network *n)
{
	memset(n, 0, sizeof(*n));
	play_begin(&n->job);
	for (int rank = 0; rank < RANKS; rank++) {
		uint32_t process = play_process(&n->job, rank);
		int64_t ranks[RANKS];

		n->threads[rank] = play_thread(&n->job, process);
		n->helpers[rank] = play_thread(&n->job, process);
		for (unsigned comm = 0; comm < COMMS; comm++)
			play_comm(&n->job, process, handle_of(comm, rank), 7 + comm, ranks, members(comm, ranks));
	}
	for (int probe = 0; probe < CALLS; probe++)
		assert_int_equal(play_probe(&n->job, "mpi", roles[probe], values[probe], nvalues[probe]), probe);
}

static bool takes(const struct end *receive, const struct end *send)
{
	return !receive->other && !send->other && receive->comm == send->comm && receive->rank == send->peer &&
	       (receive->peer == ANY || receive->peer == send->rank) &&
	       (receive->tag == ANY || receive->tag == send->tag);
}

static void join_ends(struct end *send, struct end *receive)
{
	send->other = receive;
	receive->other = send;
}

/* Those before it, from the same process to the same one, are there already. */
static void arrive(struct network *n, struct end *send)
{
	for (struct end *before = n->sends; before <= send; before++) {
		if (before->arrived || before->rank != send->rank || before->peer != send->peer)
			continue;
		before->arrived = true;
		for (struct end *receive = n->receives; receive < n->receives + n->nreceives; receive++)
			if (takes(receive, before)) {
				join_ends(before, receive);
				break;
			}
	}
}

/* The first that was sent, of all that have arrived and that it takes; NULL: none. */
static struct end *find_message(struct network *n, const struct end *receive)
{
	for (struct end *send = n->sends; send < n->sends + n->nsends; send++)
		if (send->arrived && takes(receive, send))
			return send;
	return NULL;
}

static void post(struct network *n, struct end *receive)
{
	struct end *send = find_message(n, receive);

	if (send)
		join_ends(send, receive);
}

static struct end *new_send(struct network *n, const struct span *call, int from, int to, unsigned comm, int tag)
{
	struct end *send = &n->sends[n->nsends++];

	assert_true(n->nsends < MESSAGES_MOST);
	*send = (struct end){
		.thread = call->thread, .start = call->start, .rank = from, .peer = to, .comm = comm, .tag = tag
	};
	return send;
}

static struct end *new_receive(struct network *n, const struct span *call, int to, int from, unsigned comm, int tag)
{
	struct end *receive = &n->receives[n->nreceives++];

	assert_true(n->nreceives < MESSAGES_MOST);
	*receive = (struct end){ .thread = call->thread,
				 .start = call->start,
				 .rank = to,
				 .peer = from,
				 .comm = comm,
				 .tag = tag,
				 .call = *call };
	return receive;
}

/* --- the calls --------------------------------------------------------------- */

static struct span begin_call(struct network *n, uint32_t thread, int probe, int rank, int peer, unsigned comm, int tag)
{
	struct span call = play_call(&n->job, thread, probe);

	play_word(&call, PEER, rank_in(comm, peer));
	play_word(&call, TAG, tag);
	play_word(&call, COMM, handle_of(comm, rank));
	return call;
}

static void begin_request(struct network *n, struct end *end, struct span *call, int rank)
{
	/* The runtime's: the first one that is free. */
	end->handle = 1;
	for (unsigned i = 0; i < n->nopen[rank]; i++)
		if (n->open[rank][i]->handle == end->handle) {
			end->handle++;
			i = -1;
		}
	play_word(call, REQUEST, end->handle);
	n->open[rank][n->nopen[rank]++] = end;
}

static void send_message(struct network *n, uint32_t thread, bool begins, int rank, int peer, unsigned comm, int tag)
{
	struct span call = begin_call(n, thread, begins ? ISEND : SEND, rank, peer, comm, tag);
	struct end *send = new_send(n, &call, rank, peer, comm, tag);

	if (begins)
		begin_request(n, send, &call, rank);
	if (n->fast)
		arrive(n, send);
	play_end(&n->job, &call, GB_END_RETURN);
}

static void begin_receive(struct network *n, bool begins, int rank, int peer, unsigned comm, int tag)
{
	struct span call = begin_call(n, n->threads[rank], begins ? IRECEIVE : RECEIVE, rank, peer, comm, tag);
	struct end *receive = new_receive(n, &call, rank, peer, comm, tag);

	post(n, receive);
	if (begins) {
		begin_request(n, receive, &call, rank);
		play_end(&n->job, &call, GB_END_RETURN);
	} else {
		n->blocked[rank] = receive;
	}
}

/* The call that waits for this receive comes back, if it can. */
static void go_on(struct network *n, int rank)
{
	struct end *receive = n->blocked[rank];
	bool exchange = receive && receive->call.probe == EXCHANGE;

	if (!receive || !receive->other)
		return;
	if (!n->no_status) {
		play_word(&receive->call, exchange ? EXCHANGE_FROM : FROM,
			  rank_in(receive->comm, receive->other->rank));
		play_word(&receive->call, exchange ? EXCHANGE_CAME : CAME_TAG, receive->other->tag);
	}
	play_end(&n->job, &receive->call, GB_END_RETURN);
	n->blocked[rank] = NULL;
}

/* Only where what it receives is there: a thread that stays in it for long while another one sends is not ordered. */
static void exchange(struct network *n, int rank, int to, int from, unsigned comm, int tag)
{
	const struct end asked = { .rank = rank, .peer = from, .comm = comm, .tag = tag };

	if (!find_message(n, &asked))
		return;

	struct span call = begin_call(n, n->threads[rank], EXCHANGE, rank, to, comm, tag);
	struct end *send = new_send(n, &call, rank, to, comm, tag), *receive;

	play_word(&call, PEER_IN, rank_in(comm, from));
	play_word(&call, TAG_IN, tag);
	receive = new_receive(n, &call, rank, from, comm, tag);
	if (n->fast)
		arrive(n, send);
	post(n, receive);
	n->blocked[rank] = receive;
	go_on(n, rank);
}

static bool is_complete(const struct network *n, const struct end *end)
{
	return end->other || (end >= n->sends && end < n->sends + n->nsends);
}

static void close_request(struct network *n, int rank, unsigned at)
{
	n->open[rank][at] = n->open[rank][--n->nopen[rank]];
}

static void wait_for(struct network *n, int rank, unsigned at)
{
	struct end *end = n->open[rank][at];
	struct span call = play_call(&n->job, n->threads[rank], WAIT);
	bool receives = end >= n->receives && end < n->receives + n->nreceives;

	play_word(&call, 0, end->handle);
	if (receives && !n->no_status) {
		play_word(&call, 1, rank_in(end->comm, end->other->rank));
		play_word(&call, 2, end->other->tag);
	}
	close_request(n, rank, at);
	play_end(&n->job, &call, GB_END_RETURN);
}

/* Of all that are complete and say whom they are for: a call for many shows no status. */
static void wait_for_all(struct network *n, int rank)
{
	struct span call = play_call(&n->job, n->threads[rank], WAIT_ALL);
	unsigned count = 0;

	for (unsigned i = n->nopen[rank]; i-- > 0 && count < 4;) {
		const struct end *end = n->open[rank][i];

		if (!is_complete(n, end) || end->peer == ANY || end->tag == ANY)
			continue;
		play_word(&call, count++, end->handle);
		close_request(n, rank, i);
	}
	play_end(&n->job, &call, GB_END_RETURN);
}

/* Sends to nobody and receives from nobody take part in nothing. */
static void call_nobody(struct network *n, int rank, bool sends)
{
	struct span call = begin_call(n, n->threads[rank], sends ? SEND : RECEIVE, rank, NOBODY, 0, 0);

	if (!sends)
		play_word(&call, FROM, NOBODY);
	play_end(&n->job, &call, GB_END_RETURN);
}

static int other_member(unsigned comm, int rank)
{
	for (;;) {
		int other = (int)below(RANKS);

		if (other != rank && is_member(comm, other))
			return other;
	}
}

static void step(struct network *n)
{
	int rank = (int)below(RANKS);
	unsigned comm = is_member(2, rank) ? (unsigned)below(COMMS) : (unsigned)below(2);
	int peer = other_member(comm, rank), tag = (int)below(TAGS), from = below(3) ? peer : ANY;

	if (!below(3) && n->nsends)
		arrive(n, &n->sends[below(n->nsends)]);
	go_on(n, rank);
	if (n->blocked[rank]) {
		if (!below(2))
			send_message(n, n->helpers[rank], false, rank, peer, comm, tag);
		return;
	}
	switch (below(10)) {
	case 0:
	case 1:
	case 2:
		send_message(n, n->threads[rank], n->nopen[rank] < OPEN_MOST && below(2), rank, peer, comm, tag);
		break;
	case 3:
	case 4:
	case 5:
		/* One that no status tells of later would be anybody's guess. */
		if (n->nopen[rank] < OPEN_MOST && below(2))
			begin_receive(n, true, rank, n->no_status ? peer : from, comm,
				      n->no_status || below(2) ? tag : ANY);
		else
			begin_receive(n, false, rank, from, comm, below(3) ? tag : ANY);
		break;
	case 6:
		exchange(n, rank, peer, other_member(comm, rank), comm, tag);
		break;
	case 7:
		wait_for_all(n, rank);
		break;
	case 8:
		for (unsigned at = 0; at < n->nopen[rank]; at++)
			if (is_complete(n, n->open[rank][at])) {
				wait_for(n, rank, at);
				break;
			}
		break;
	default:
		call_nobody(n, rank, below(2));
	}
}

static bool is_wild(const struct end *end)
{
	return end->peer == ANY || end->tag == ANY;
}

/* All get what they wait for; but for a few, where some may be left: only the wait tells what is from anybody. */
static void end_waits(struct network *n, bool some_left)
{
	for (size_t i = 0; i < n->nsends; i++)
		arrive(n, &n->sends[i]);
	for (size_t i = 0; i < n->nreceives; i++) {
		struct end *receive = &n->receives[i];
		bool blocks = n->blocked[receive->rank] == receive;
		int from = receive->peer == ANY ? other_member(receive->comm, receive->rank) : receive->peer;

		while (!receive->other && !(some_left && !is_wild(receive) && (!blocks || !n->nopen[receive->rank]))) {
			send_message(n, n->helpers[from], false, from, receive->rank, receive->comm,
				     receive->tag == ANY ? 0 : receive->tag);
			arrive(n, &n->sends[n->nsends - 1]);
		}
	}
	for (int rank = 0; rank < RANKS; rank++) {
		go_on(n, rank);
		if (n->blocked[rank])
			play_end(&n->job, &n->blocked[rank]->call, GB_END_DETACH);
		for (unsigned at = n->nopen[rank]; at-- > 0 && !n->blocked[rank];)
			if (is_complete(n, n->open[rank][at]) && (is_wild(n->open[rank][at]) || !some_left || below(3)))
				wait_for(n, rank, at);
	}
}

/* --- what is found ------------------------------------------------------------- */

static const struct half *half_of(struct found_job *found, const struct end *end, bool is_send)
{
	const struct op *op = found_op(found, end->thread, end->start);

	assert_non_null(op);
	return is_send ? op->send : op->recv;
}

/* Only what began at this time or later can be matched. */
static void check(struct found_job *found, const struct end *end, bool is_send, uint64_t from)
{
	const struct half *half = half_of(found, end, is_send);

	assert_non_null(half);
	if (!end->other || end->other->start < from) {
		assert_true(half->alone);
		assert_null(half->other);
		return;
	}
	assert_non_null(half->other);
	assert_int_equal(half->other->thread, end->other->thread);
	assert_int_equal(half->other->start, end->other->start);
	assert_true(half->other->is_send != is_send);
}

static void compare(struct network *n, unsigned pieces, uint64_t from)
{
	struct found_job found;
	size_t pairs = 0;

	find_out(&found, &n->job, pieces, from);
	for (size_t i = 0; i < n->nsends; i++)
		if (n->sends[i].start >= from) {
			check(&found, &n->sends[i], true, from);
			pairs += n->sends[i].other != NULL;
		}
	for (size_t i = 0; i < n->nreceives; i++)
		if (n->receives[i].start >= from)
			check(&found, &n->receives[i], false, from);
	assert_int_equal(found.sim.counts.messages, pairs);
	assert_int_equal(found.sim.counts.backwards, 0);
	found_free(&found);
}

static struct network *network_new(uint64_t seed, bool fast, bool no_status)
{
	struct network *n = malloc(sizeof(*n));

	assert_non_null(n);
	random_state = 0x9e3779b97f4a7c15u * seed;
	set_up(n);
	n->fast = fast;
	n->no_status = no_status;
	return n;
}

static void network_free(struct network *n)
{
	play_free(&n->job);
	free(n);
}

static void test_each_receive_has_the_message_that_it_got(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct network *n = network_new(seed, false, false);

		for (unsigned i = 0; i < 50 * seed; i++)
			step(n);
		end_waits(n, true);
		compare(n, 1, 0);
		compare(n, 2 + (unsigned)below(20), 0);
		network_free(n);
	}
}

/* Nothing says from whom it was. Where messages take no time it is the first that was sent. */
static void test_without_a_status_it_is_the_earliest_message(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct network *n = network_new(seed, true, true);

		for (unsigned i = 0; i < 50 * seed; i++)
			step(n);
		end_waits(n, true);
		compare(n, 1, 0);
		compare(n, 2 + (unsigned)below(20), 0);
		network_free(n);
	}
}

/* Each receives what lies there for it. */
static void receive_all(struct network *n)
{
	for (size_t i = 0; i < n->nsends; i++) {
		const struct end *send = &n->sends[i];

		if (send->other)
			continue;
		begin_receive(n, false, send->peer, send->rank, send->comm, send->tag);
		go_on(n, send->peer);
	}
}

static void test_what_was_sent_before_anybody_looked_is_nobodys(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct network *n = network_new(seed, false, false);
		uint64_t from;

		for (unsigned i = 0; i < 200; i++)
			step(n);
		end_waits(n, false);
		from = play_tick(&n->job);
		receive_all(n);
		for (unsigned i = 0; i < 50 * seed; i++)
			step(n);
		end_waits(n, true);
		compare(n, 1 + (unsigned)below(10), from);
		network_free(n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_receive_has_the_message_that_it_got),
		cmocka_unit_test(test_without_a_status_it_is_the_earliest_message),
		cmocka_unit_test(test_what_was_sent_before_anybody_looked_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
