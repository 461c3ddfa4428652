/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c - which receive is of which send.
 *
 * Messages between two processes with one communicator and tag arrive in the order in which they were sent, so the n-th
 * send of such a channel belongs to its n-th receive, in the order in which receives were *posted*. A receive from
 * anybody is of no channel until its status, or that of its wait, says who it was; receives posted after it that it
 * might rob wait so long. Where no status says it, it gets the earliest message that could have been its.
 *
 * Who is joined while he runs may receive what was sent before. No message is received before it was sent (one machine
 * has one clock), so at the beginning of a channel such receives are left alone, unless the sender was observed from
 * its start: then its clock is another, and the message is marked as going backwards.
 *
 * Several threads of a process may use one channel. What each of them did is known up to its last call that has ended:
 * where one stays in a call for longer than a piece of the recording while another one uses the same channel, the
 * longer call comes too late, and is taken for a later message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "simulate/message.h"
#include "util/array.h"

struct channel_key {
	uint32_t comm, receiver, sender; /* processes */
	int32_t tag;
};

struct mailbox;

struct channel {
	UT_hash_handle hh;
	struct channel_key key;
	struct mailbox *mailbox;
	struct channel *next; /* of the mailbox */
	struct halves sends, receives;
	struct halves fresh; /* fed since the last settling, in any order */
	bool in_step;        /* a first pair was found */
	bool pending;        /* in matcher.pending */
};

/* All that comes to one process over one communicator. */
struct mailbox {
	UT_hash_handle hh;
	struct {
		uint32_t comm, receiver;
	} key;
	struct channel *channels;
	struct halves wild; /* receives of no channel yet, in the order in which they were posted */
	struct mailbox *next_wild;
	bool listed;
};

#define RECENT_CHANNELS 256 /* a power of two */
#define RUNS_MOST 32        /* more than 2^32 halves do not wait at once */

struct matcher {
	struct channel *channels;
	struct channel *recent[RECENT_CHANNELS]; /* by a few bits of their keys */
	struct mailbox *mailboxes;
	struct mailbox *wild; /* those that had one */
	struct channel **pending;
	size_t npending, pending_room; /* with receives that nothing was sent for yet */
};

/* --- pairs --------------------------------------------------------------- */

/* The operation that waits for this half, or whose wait does, can look again. */
static void wake(struct sim *sim, const struct half *half)
{
	if (half->waiting)
		schedule_wake(sim, half->waiting->thread);
}

/* A receive of which nobody has seen the end (it was canceled, or nothing came any more) has no other side. */
static void leave_alone(struct sim *sim, struct half *half)
{
	half->alone = true;
	if (half->is_send)
		sim->counts.unmatched_sends += !half->pairs;
	else
		sim->counts.unmatched_recvs += half->completed && !half->peeks && !half->pairs;
	wake(sim, half);
	if (!half->holds) {
		half->holds = 1;
		half_leave(sim, half);
	}
}

void match_check_direction(struct sim *sim, struct half *receive)
{
	if (receive->completed && receive->other && receive->other->start > receive->end && !receive->backwards) {
		receive->backwards = true;
		sim->counts.backwards++;
	}
}

/* It waits for the message, which stays where it is. Who looks at it once more has not to wait. */
static void look_at(struct sim *sim, struct half *send, struct half *looks)
{
	if (send->peek) {
		leave_alone(sim, looks);
		return;
	}
	send->peek = looks;
	send->holds++;
	looks->other = send;
	wake(sim, looks);
}

static void pair(struct sim *sim, struct half *send, struct half *receive)
{
	send->other = receive;
	receive->other = send;
	sim->counts.messages += !send->pairs;
	sim->threads[send->thread].takes_part = true;
	sim->threads[receive->thread].takes_part = true;
	if (send->bytes < receive->bytes || !receive->bytes)
		receive->bytes = send->bytes;
	match_check_direction(sim, receive);
	wake(sim, send);
	wake(sim, receive);
	if (!send->holds && !receive->holds)
		half_leave(sim, send);
}

/* --- channels --------------------------------------------------------------- */

static struct mailbox *mailbox_at(struct matcher *matcher, uint32_t comm, uint32_t receiver)
{
	struct mailbox *mailbox, key = { .key = { comm, receiver } };

	HASH_FIND(hh, matcher->mailboxes, &key.key, sizeof(key.key), mailbox);
	if (mailbox)
		return mailbox;
	mailbox = calloc(1, sizeof(*mailbox));
	if (!mailbox)
		return NULL;
	mailbox->key = key.key;
	HASH_ADD(hh, matcher->mailboxes, key, sizeof(mailbox->key), mailbox);
	if (mailbox->hh.tbl)
		return mailbox;
	free(mailbox);
	return NULL;
}

/* Where a channel is that was used lately: most messages are of a few. */
static struct channel **recent_at(struct matcher *matcher, const struct channel_key *key)
{
	uint32_t mixed = key->comm * 31 + key->receiver * 0x9e3779b1u + key->sender * 0x85ebca6bu +
			 (uint32_t)key->tag * 0xc2b2ae35u;

	return &matcher->recent[(mixed ^ mixed >> 15) & (RECENT_CHANNELS - 1)];
}

/* Not memcmp(): that would wait for the key, which was written a moment ago in smaller pieces. */
static bool same_channel(const struct channel_key *a, const struct channel_key *b)
{
	return a->tag == b->tag && a->sender == b->sender && a->receiver == b->receiver && a->comm == b->comm;
}

static struct channel *channel_at(struct matcher *matcher, const struct channel_key *key)
{
	struct channel **recent = recent_at(matcher, key), *channel = *recent;

	if (channel && same_channel(&channel->key, key))
		return channel;
	HASH_FIND(hh, matcher->channels, key, sizeof(*key), channel);
	if (channel) {
		*recent = channel;
		return channel;
	}
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return NULL;
	channel->key = *key;
	channel->mailbox = mailbox_at(matcher, key->comm, key->receiver);
	if (channel->mailbox)
		HASH_ADD(hh, matcher->channels, key, sizeof(channel->key), channel);
	if (!channel->mailbox || !channel->hh.tbl) {
		free(channel);
		return NULL;
	}
	channel->next = channel->mailbox->channels;
	channel->mailbox->channels = channel;
	return channel;
}

/* Whether a receive of no channel yet, posted before, may be the one that gets the next message of this one. */
static bool may_be_robbed(const struct channel *channel, const struct half *receive)
{
	for (const struct half *wild = channel->mailbox->wild.first; wild && wild->start < receive->start;
	     wild = wild->next)
		if ((wild->partner == NO_INDEX || wild->partner == channel->key.sender) &&
		    (wild->tag < 0 || wild->tag == channel->key.tag))
			return true;
	return false;
}

/* Takes out what is of another time than what stands on the other side. */
static bool leave_apart(struct sim *sim, struct channel *channel, struct half *send, struct half *receive)
{
	if (!send->pairs || (send->end >= receive->start && receive->end >= send->start))
		return false;
	halves_pop(send->end < receive->start ? &channel->sends : &channel->receives);
	leave_alone(sim, send->end < receive->start ? send : receive);
	return true;
}

static void match_channel(struct sim *sim, struct channel *channel)
{
	bool same_clock = !sim->processes[channel->key.sender].from_start;

	while (channel->sends.first && channel->receives.first) {
		struct half *send = channel->sends.first, *receive = channel->receives.first;

		if (may_be_robbed(channel, receive))
			return;
		if (leave_apart(sim, channel, send, receive))
			continue;
		if (!channel->in_step && same_clock && !sim->all_fed) {
			if (!receive->completed && receive->start >= sim->settled)
				return; /* when it ended is needed to tell; but not for ever */
		}
		if (!channel->in_step && same_clock && receive->completed && receive->end < send->start + sim->doubt) {
			halves_pop(&channel->receives); /* sent before anybody looked */
			leave_alone(sim, receive);
			continue;
		}
		channel->in_step = true;
		if (receive->peeks) {
			halves_pop(&channel->receives);
			look_at(sim, send, receive);
			continue;
		}
		halves_pop(&channel->sends);
		halves_pop(&channel->receives);
		pair(sim, send, receive);
	}
}

static bool is_later(const struct half *a, const struct half *b)
{
	return a->start != b->start ? a->start > b->start : a->thread > b->thread;
}

static bool is_in_order(const struct half *half)
{
	while (half->next && half->start <= half->next->start)
		half = half->next;
	return !half->next;
}

/* Takes off the queue what stands in order at its beginning. */
static struct half *take_run(struct half **queue)
{
	struct half *first = *queue, *last = first;

	while (last->next && !is_later(last, last->next))
		last = last->next;
	*queue = last->next;
	last->next = NULL;
	return first;
}

/* Of those that are the same time, the ones of `a` are first. */
static struct half *merge(struct half *a, struct half *b)
{
	struct half *merged = NULL, **end = &merged;

	while (a && b) {
		struct half **first = is_later(a, b) ? &b : &a;

		*end = *first;
		end = &(*first)->next;
		*first = *end;
	}
	*end = a ? a : b;
	return merged;
}

/*
 * Puts what was fed into the order of time: threads are fed one after the other, and several of a process may use one
 * channel. So there are a few runs in order, each of one thread, and calls of one thread with the same time keep their
 * order. Runs are merged with those that are about as long: runs[i] is of 2^i of them.
 */
static void sort_fresh(struct channel *channel)
{
	struct half *runs[RUNS_MOST] = { NULL }, *fresh = channel->fresh.first, *sorted = NULL, *next;
	unsigned i;

	if (!fresh)
		return;
	channel->fresh = (struct halves){ NULL, NULL };
	if (is_in_order(fresh)) {
		sorted = fresh;
		fresh = NULL;
	}
	while (fresh) {
		struct half *run = take_run(&fresh);

		for (i = 0; i < RUNS_MOST - 1 && runs[i]; i++) {
			run = merge(runs[i], run);
			runs[i] = NULL;
		}
		runs[i] = merge(runs[i], run);
	}
	for (i = 0; i < RUNS_MOST; i++)
		if (runs[i])
			sorted = merge(runs[i], sorted);
	for (; sorted; sorted = next) {
		next = sorted->next;
		halves_insert(sorted->is_send ? &channel->sends : &channel->receives, sorted);
	}
}

static int await(struct matcher *matcher, struct channel *channel)
{
	if (channel->pending)
		return 0;
	if (array_one_more(&matcher->pending, &matcher->pending_room, matcher->npending, sizeof(*matcher->pending)))
		return -ENOMEM;
	matcher->pending[matcher->npending++] = channel;
	channel->pending = true;
	return 0;
}

static int put_in_channel(struct sim *sim, struct half *half, uint32_t sender, uint32_t receiver)
{
	struct channel_key key = { half->comm, receiver, sender, half->tag };
	struct channel *channel = channel_at(sim->matcher, &key);

	if (!channel)
		return -ENOMEM;
	halves_append(&channel->fresh, half);
	return await(sim->matcher, channel);
}

static uint32_t process_of(const struct sim *sim, const struct half *half)
{
	return sim->d->threads[half->thread].process;
}

static void match_mailbox(struct sim *sim, struct mailbox *mailbox)
{
	for (struct channel *channel = mailbox->channels; channel; channel = channel->next) {
		sort_fresh(channel);
		match_channel(sim, channel);
	}
}

/* A receive of no channel has turned out to be of this one. */
static int settle_wild(struct sim *sim, struct mailbox *mailbox, struct half *half, uint32_t sender, int32_t tag)
{
	halves_take_out(&mailbox->wild, half);
	half->partner = sender;
	half->tag = tag;
	return put_in_channel(sim, half, sender, mailbox->key.receiver);
}

/* --- sends and receives --------------------------------------------------------- */

static int feed_wild(struct sim *sim, struct half *half, uint32_t process)
{
	struct mailbox *mailbox = mailbox_at(sim->matcher, half->comm, process);

	if (!mailbox)
		return -ENOMEM;
	halves_insert(&mailbox->wild, half);
	if (!mailbox->listed) {
		mailbox->next_wild = sim->matcher->wild;
		sim->matcher->wild = mailbox;
		mailbox->listed = true;
	}
	return 0;
}

int match_post(struct sim *sim, struct half *half, bool alone)
{
	uint32_t process = process_of(sim, half), partner = half->partner;

	if (alone || sim->processes[process].lossy || (partner != NO_INDEX && sim->processes[partner].lossy)) {
		half->alone = true;
		sim->counts.unmatched_sends += half->is_send && !half->pairs;
		sim->counts.unmatched_recvs += !half->is_send && !half->peeks && !half->pairs;
		return 0;
	}
	if (half->is_send)
		return put_in_channel(sim, half, process, partner);
	if (partner == NO_INDEX || half->tag < 0)
		return feed_wild(sim, half, process);
	return put_in_channel(sim, half, partner, process);
}

static int feed_send(struct sim *sim, struct op *op, const struct span *span)
{
	uint32_t process = sim->d->threads[op->thread].process, receiver;
	struct told_comm comm;
	int64_t peer, tag = 0;

	if (!fact_number(op->facts, WANT_PEER_OUT, span, &peer) || peer < 0)
		return 0;
	fact_number(op->facts, WANT_TAG_OUT, span, &tag);
	op->send = half_new(sim, op, true);
	if (!op->send)
		return -ENOMEM;
	comm = groups_comm(sim, op->facts, span);
	receiver = groups_process(sim, process, &comm, peer);
	op->send->members = comm.members;
	op->send->comm = comm.number;
	op->send->tag = (int32_t)tag;
	op->send->partner = receiver;
	return match_post(sim, op->send, receiver == NO_INDEX);
}

/* The last value is what was asked for, those before it what came. */
static bool posted(const struct facts *facts, enum want want, const struct span *span, int64_t *number, bool *came)
{
	struct sent_words sent = span_words(span);

	for (unsigned i = 0; i < facts->answers.count[want]; i++) {
		const struct prepared_value *v = &facts->answers.values[want][i];

		if (prepared_number(v, &sent, number)) {
			*came = v->value->at_return;
			return true;
		}
	}
	return false;
}

static int feed_receive(struct sim *sim, struct op *op, const struct span *span)
{
	uint32_t process = sim->d->threads[op->thread].process, sender = NO_INDEX;
	int64_t peer = -1, tag = -1;
	bool came = false, tag_came = false, known = posted(op->facts, WANT_PEER_IN, span, &peer, &came);
	struct told_comm comm;

	if ((peer < 0 && came) || ((!known || peer < 0) && fact_is_nobody(op->facts, WANT_PEER_IN, span)))
		return 0;
	comm = groups_comm(sim, op->facts, span);
	if (known && peer >= 0)
		sender = groups_process(sim, process, &comm, peer);
	if (!posted(op->facts, WANT_TAG_IN, span, &tag, &tag_came))
		tag = -1;
	op->recv = half_new(sim, op, false);
	if (!op->recv)
		return -ENOMEM;
	op->recv->members = comm.members;
	op->recv->comm = comm.number;
	op->recv->tag = (int32_t)tag;
	op->recv->partner = sender;
	if (op->kind == KIND_WAIT) {
		op->recv->peeks = op->facts->finds;
		op->recv->start = span->start;
		if (half_await(op, op->recv))
			return -ENOMEM;
		op->recv->holds = 2;
	}
	return match_post(sim, op->recv, !span_returned(span) || (peer >= 0 && sender == NO_INDEX));
}

int match_learn_sender(struct sim *sim, struct half *half, const struct op *op, const struct span *span)
{
	uint32_t process = process_of(sim, half), sender = half->partner;
	struct mailbox *mailbox = mailbox_at(sim->matcher, half->comm, process);
	const struct facts *facts = op->facts;
	int64_t peer, tag = half->tag;

	if (!mailbox)
		return -ENOMEM;
	if (!fact_number(facts, WANT_PEER_IN, span, &peer))
		return 0;
	if (peer < 0) {
		halves_take_out(&mailbox->wild, half);
		leave_alone(sim, half);
		return 0;
	}
	/* The wait has no communicator: the receive's group tells who that is. */
	if (sender == NO_INDEX)
		sender = groups_member(sim, half, peer);
	fact_number(facts, WANT_TAG_IN, span, &tag);
	if (sender == NO_INDEX || tag < 0)
		return 0;
	return settle_wild(sim, mailbox, half, sender, (int32_t)tag);
}

int match_feed(struct sim *sim, struct op *op, const struct span *span)
{
	int error = 0;

	switch (op->kind) {
	case KIND_SEND:
	case KIND_EXCHANGE:
		error = feed_send(sim, op, span);
		if (error || op->kind == KIND_SEND)
			break;
		/* fall through */
	case KIND_RECV:
		error = op->facts->taken ? 0 : feed_receive(sim, op, span);
		break;
	case KIND_WAIT:
		if (op->facts->pairs)
			return span_returned(span) ? pairs_feed(sim, op, span) : 0;
		if ((op->facts->finds || op->facts->takes) && call_found(op->facts, span))
			error = feed_receive(sim, op, span);
		return error ? error : requests_wait(sim, op, span);
	case KIND_LOCAL:
		if (op->facts->describes)
			return persistent_describe(sim, op, span);
		if (op->facts->starts)
			return persistent_begin(sim, op, span);
		requests_local(sim, op, span);
		return 0;
	default:
		break;
	}
	return error || !op->facts->begins ? error : requests_begin(sim, op, span);
}

/* --- what will not come ------------------------------------------------------------- */

/* The message that a receive from anybody got, where nothing says which: the earliest that it can have been. */
static struct channel *earliest(const struct mailbox *mailbox, const struct half *wild)
{
	struct channel *best = NULL;

	for (struct channel *channel = mailbox->channels; channel; channel = channel->next) {
		const struct half *send = channel->sends.first;

		if (!send || send->start > wild->end ||
		    (wild->partner != NO_INDEX && wild->partner != channel->key.sender) ||
		    (wild->tag >= 0 && wild->tag != channel->key.tag))
			continue;
		if (!best || send->start < best->sends.first->start)
			best = channel;
	}
	return best;
}

static void settle_mailbox(struct sim *sim, struct mailbox *mailbox)
{
	struct half *wild, *next;

	for (wild = mailbox->wild.first; wild; wild = next) {
		struct channel *channel;

		next = wild->next;
		if (!sim->all_fed && (!wild->completed || wild->end > sim->settled))
			return; /* and whoever was posted later waits, too */
		channel = wild->completed ? earliest(mailbox, wild) : NULL;
		if (channel) {
			if (settle_wild(sim, mailbox, wild, channel->key.sender, channel->key.tag))
				sim->error = -ENOMEM;
		} else {
			halves_take_out(&mailbox->wild, wild);
			leave_alone(sim, wild);
		}
		/* Before the next one chooses, those that this one might have robbed take what is theirs. */
		match_mailbox(sim, mailbox);
		next = mailbox->wild.first; /* which may have changed */
	}
}

void match_what_came(struct sim *sim)
{
	struct matcher *matcher = sim->matcher;

	for (size_t i = 0; i < matcher->npending; i++) {
		sort_fresh(matcher->pending[i]);
		match_channel(sim, matcher->pending[i]);
	}
}

void match_settle(struct sim *sim)
{
	struct matcher *matcher = sim->matcher;
	size_t kept = 0;

	match_what_came(sim);
	for (struct mailbox *mailbox = matcher->wild; mailbox; mailbox = mailbox->next_wild) {
		settle_mailbox(sim, mailbox);
		match_mailbox(sim, mailbox);
	}
	for (size_t i = 0; i < matcher->npending; i++) {
		struct channel *channel = matcher->pending[i];
		bool same_clock = !sim->processes[channel->key.sender].from_start;
		struct half *receive;

		match_channel(sim, channel);
		while ((receive = channel->receives.first) && !channel->sends.first &&
		       (sim->all_fed || (same_clock && receive->completed && receive->end < sim->settled))) {
			halves_pop(&channel->receives);
			leave_alone(sim, receive);
		}
		channel->pending = channel->receives.first;
		if (channel->pending)
			matcher->pending[kept++] = channel;
	}
	matcher->npending = kept;
	if (!sim->all_fed)
		return;
	for (struct channel *channel = matcher->channels; channel; channel = channel->hh.next)
		while (channel->sends.first) {
			struct half *send = channel->sends.first;

			halves_pop(&channel->sends);
			leave_alone(sim, send);
		}
}

/* --- the whole ------------------------------------------------------------------------ */

int match_open(struct sim *sim)
{
	sim->matcher = calloc(1, sizeof(*sim->matcher));
	return sim->matcher ? 0 : -ENOMEM;
}

void match_close(struct sim *sim)
{
	struct channel *channel, *next_channel;
	struct mailbox *mailbox, *next_mailbox;

	requests_close(sim);
	persistent_close(sim);
	halves_forget(sim);
	if (!sim->matcher)
		return;
	HASH_ITER (hh, sim->matcher->channels, channel, next_channel) {
		HASH_DEL(sim->matcher->channels, channel);
		halves_free(&channel->sends);
		halves_free(&channel->receives);
		halves_free(&channel->fresh);
		free(channel);
	}
	HASH_ITER (hh, sim->matcher->mailboxes, mailbox, next_mailbox) {
		HASH_DEL(sim->matcher->mailboxes, mailbox);
		halves_free(&mailbox->wild);
		free(mailbox);
	}
	free(sim->matcher->pending);
	free(sim->matcher);
}
