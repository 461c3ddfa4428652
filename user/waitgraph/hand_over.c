/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hand_over.c - parties of several nodes as one graph.
 *
 * Numbers of processes and threads are of their node. Here they become different ones, by what no kernel has: a number
 * from NUMBERS on for each node but the first. A rank that one node misses is on another one, mostly.
 */
#include "waitgraph/hand_over.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define VERSION 1
#define NUMBERS 4194304 /* PID_MAX_LIMIT of Linux */
#define BLOCKS (INT_MAX / NUMBERS)
#define TEXT_MOST 4096
#define PARTIES_MOST (1u << 20)
#define MEMBERS_MOST (1u << 20)
#define LABEL_MOST 400
#define RANKS_MOST 100000

/* --- writing ---------------------------------------------------------------- */

enum {
	STANDS = 1,
	HELPER = 2,
	LEFT = 4,
	ELSEWHERE = 8,
	UNCAUGHT = 16,
	WAITS = 32,
	RANK_HOLDS = 64,
	JOINS = 128,
	LIKELY = 256,
	BY_ANOTHER = 512,
	FOR_MESSAGE = 1024,
	IN_VAIN = 2048,
	GATHERS = 4096,
	SPLIT = 8192,
	GROUP = 16384
};

static uint64_t flags_of(const struct party *p)
{
	return (p->stands_for_rank ? STANDS : 0) | (p->helper ? HELPER : 0) | (p->left ? LEFT : 0) |
	       (p->elsewhere ? ELSEWHERE : 0) | (p->uncaught ? UNCAUGHT : 0) | (p->waits ? WAITS : 0) |
	       (p->rank_holds ? RANK_HOLDS : 0) | (p->joins ? JOINS : 0) | (p->likely ? LIKELY : 0) |
	       (p->by_another ? BY_ANOTHER : 0) | (p->for_message ? FOR_MESSAGE : 0) | (p->in_vain ? IN_VAIN : 0) |
	       (p->gathers ? GATHERS : 0) | (p->split ? SPLIT : 0) | (p->has_group ? GROUP : 0);
}

static void take_flags(struct party *p, uint64_t flags)
{
	p->stands_for_rank = flags & STANDS;
	p->helper = flags & HELPER;
	p->left = flags & LEFT;
	p->elsewhere = flags & ELSEWHERE;
	p->uncaught = flags & UNCAUGHT;
	p->waits = flags & WAITS;
	p->rank_holds = flags & RANK_HOLDS;
	p->joins = flags & JOINS;
	p->likely = flags & LIKELY;
	p->by_another = flags & BY_ANOTHER;
	p->for_message = flags & FOR_MESSAGE;
	p->in_vain = flags & IN_VAIN;
	p->gathers = flags & GATHERS;
	p->split = flags & SPLIT;
	p->has_group = flags & GROUP;
}

static void put_party(struct buffer *b, const struct party *p)
{
	buffer_put_varint(b, p->pid);
	buffer_put_varint(b, p->tid);
	buffer_put_signed(b, p->rank);
	buffer_put_string(b, p->label);
	buffer_put_varint(b, flags_of(p));
	buffer_put_varint(b, (unsigned char)p->stopped);
	buffer_put_string(b, p->event);
	buffer_put_string(b, role_name(p->role));
	buffer_put_string(b, p->place);
	buffer_put_varint(b, p->lock);
	buffer_put_string(b, p->lock_name);
	buffer_put_varint(b, p->lock_key);
	buffer_put_varint(b, p->holder);
	buffer_put_signed(b, p->holder_rank);
	buffer_put_signed(b, p->peer);
	buffer_put_string(b, p->meeting);
	buffer_put_varint(b, p->group);
	buffer_put_varint(b, p->members ? p->nmembers + 1 : 0);
	for (size_t i = 0; p->members && i < p->nmembers; i++)
		buffer_put_signed(b, p->members[i]);
	buffer_put_varint(b, p->barrier);
	buffer_put_varint(b, p->come);
	buffer_put_varint(b, p->of);
}

/* Of ranks that are not here only those that have left are worth a word: the others are on other nodes, mostly. */
static bool is_worth(const struct party *p)
{
	return p->tid || p->left;
}

void waits_hand_over(struct buffer *b, const struct party *parties, size_t count, const char *unit, long ranks)
{
	size_t worth = 0;
	long first = LONG_MAX;

	for (size_t i = 0; i < count; i++) {
		worth += is_worth(&parties[i]);
		if (parties[i].rank >= 0 && parties[i].rank < first)
			first = parties[i].rank;
	}
	buffer_put_varint(b, VERSION);
	buffer_put_string(b, unit);
	buffer_put_signed(b, ranks);
	buffer_put_signed(b, first);
	buffer_put_varint(b, worth);
	for (size_t i = 0; i < count; i++)
		if (is_worth(&parties[i]))
			put_party(b, &parties[i]);
}

/* --- reading ------------------------------------------------------------------ */

struct taking {
	struct joined *joined;
	struct cursor c;
	const char *node;
	int block;   /* what its numbers begin at */
	bool failed; /* out of memory */
};

static const char *keep(struct taking *t, char *text)
{
	struct joined *j = t->joined;

	if (!text)
		return NULL;
	if (array_one_more(&j->texts, &j->texts_room, j->ntexts, sizeof(*j->texts))) {
		free(text);
		t->failed = true;
		return NULL;
	}
	return j->texts[j->ntexts++] = text;
}

static const char *take_text(struct taking *t)
{
	return keep(t, cursor_string(&t->c, TEXT_MOST));
}

static pid_t take_number(struct taking *t)
{
	uint64_t number = cursor_varint(&t->c);

	if (number >= NUMBERS)
		t->c.failed = true;
	return t->c.failed || !number ? 0 : (pid_t)number + t->block;
}

/* "rank 2 on n3"; of a rank that is not there, "rank 2". */
static const char *label_there(struct taking *t, bool there)
{
	char *own = cursor_string(&t->c, TEXT_MOST), *label = NULL;

	if (!there && own)
		return keep(t, own);
	if (asprintf(&label, "%.*s on %s", LABEL_MOST, own ?: "?", t->node) < 0) {
		label = NULL;
		t->failed = true;
	}
	free(own);
	return keep(t, label);
}

static void take_members(struct taking *t, struct party *p)
{
	uint64_t count = cursor_varint(&t->c);
	struct joined *j = t->joined;
	int64_t *members;

	/* each takes a byte at least */
	if (!count || t->c.failed || count > MEMBERS_MOST || count - 1 > (uint64_t)(t->c.end - t->c.at)) {
		t->c.failed |= count > 0;
		return;
	}
	members = calloc(count, sizeof(*members));
	if (!members || array_one_more(&j->members, &j->members_room, j->nmembers, sizeof(*j->members))) {
		free(members);
		t->failed = true;
		return;
	}
	j->members[j->nmembers++] = members;
	for (uint64_t i = 0; i + 1 < count; i++)
		members[i] = cursor_signed(&t->c);
	p->members = members;
	p->nmembers = count - 1;
}

static void take_party(struct taking *t, struct party *p)
{
	char *role;
	int which;

	*p = (struct party){ .pid = take_number(t), .tid = take_number(t), .rank = cursor_signed(&t->c) };
	p->label = label_there(t, p->tid);
	take_flags(p, cursor_varint(&t->c));
	p->stopped = cursor_varint(&t->c);
	p->event = take_text(t);
	role = cursor_string(&t->c, TEXT_MOST);
	which = role ? role_from_name(role) : -1;
	free(role);
	p->role = which < 0 ? ROLE_FUNCTION : which;
	p->place = take_text(t);
	p->lock = cursor_varint(&t->c);
	p->lock_name = take_text(t);
	p->lock_key = cursor_varint(&t->c);
	p->holder = take_number(t);
	p->holder_rank = cursor_signed(&t->c);
	p->peer = cursor_signed(&t->c);
	p->meeting = take_text(t);
	p->group = cursor_varint(&t->c);
	take_members(t, p);
	p->barrier = cursor_varint(&t->c);
	p->come = cursor_varint(&t->c);
	p->of = cursor_varint(&t->c);
	if (p->stopped != 'T' && p->stopped != 't')
		p->stopped = 0;
	if (!p->event) /* a text that is counted on */
		p->waits = false;
}

static int make_room(struct joined *j, size_t more)
{
	size_t before = j->room;
	const char **nodes;

	if (array_reach(&j->parties, &j->room, j->count + more, sizeof(*j->parties)))
		return -ENOMEM;
	if (j->room == before)
		return 0;
	nodes = reallocarray(j->nodes, j->room, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	j->nodes = nodes;
	return 0;
}

int joined_add(struct joined *j, const void *data, size_t size, const char *node, size_t index)
{
	struct taking t = { .joined = j,
			    .c = { .at = data, .end = (const uint8_t *)data + size },
			    .node = node,
			    .block = (int)(index % BLOCKS) * NUMBERS };
	size_t before = j->count;
	uint64_t count;
	long ranks, first;
	char *unit;

	t.c.failed = cursor_varint(&t.c) != VERSION || t.c.failed;
	unit = cursor_string(&t.c, TEXT_MOST);
	ranks = cursor_signed(&t.c);
	first = cursor_signed(&t.c);
	count = cursor_varint(&t.c);
	t.c.failed |= count > PARTIES_MOST || count > size;
	if (!t.c.failed && make_room(j, count))
		t.failed = true;
	for (uint64_t i = 0; i < count && !t.c.failed && !t.failed; i++) {
		j->nodes[j->count] = node;
		take_party(&t, &j->parties[j->count++]);
	}
	if (t.c.failed || t.failed || t.c.at != t.c.end) {
		j->count = before;
		free(unit);
		return t.failed ? -ENOMEM : -EINVAL;
	}
	free(j->unit ? unit : NULL);
	j->unit = j->unit ?: unit;
	j->ranks = ranks > j->ranks ? ranks : j->ranks;
	j->first = !j->handed++ || first < j->first ? first : j->first;
	return 0;
}

/* --- ranks that are on no node --------------------------------------------------- */

/* Of the job's ranks those that have a thread on some node. */
static void find_known(const struct joined *j, bool *known)
{
	for (size_t i = 0; i < j->count; i++) {
		long at = j->parties[i].rank - j->first;

		if (j->parties[i].tid && j->parties[i].stands_for_rank && at >= 0 && at < j->ranks)
			known[at] = true;
	}
}

/* Of those that nodes say have left, each stays once. */
static void drop_known(struct joined *j, bool *known)
{
	size_t kept = 0;

	for (size_t i = 0; i < j->count; i++) {
		struct party p = j->parties[i];
		long at = p.rank - j->first;

		if (!p.tid && (at < 0 || at >= j->ranks || known[at]))
			continue;
		if (!p.tid)
			known[at] = true;
		j->nodes[kept] = p.tid ? j->nodes[i] : NULL;
		j->parties[kept++] = p;
	}
	j->count = kept;
}

static int add_missing(struct joined *j, long rank, bool left)
{
	struct taking t = { .joined = j };
	char *label;

	if (make_room(j, 1) || asprintf(&label, "%s %ld", j->unit ?: "rank", rank) < 0)
		return -ENOMEM;
	j->nodes[j->count] = NULL;
	j->parties[j->count++] = (struct party){ .rank = rank,
						 .label = keep(&t, label),
						 .stands_for_rank = true,
						 .left = left,
						 .elsewhere = !left,
						 .peer = WAITS_NOBODY };
	return t.failed ? -ENOMEM : 0;
}

int joined_close(struct joined *j, bool complete)
{
	bool *known;
	int err = 0;

	if (j->first < 0 || j->ranks < 0 || j->ranks > RANKS_MOST || j->first > LONG_MAX - RANKS_MOST)
		j->ranks = j->first = 0;
	known = calloc(j->ranks + 1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	find_known(j, known);
	drop_known(j, known);
	for (long i = 0; i < j->ranks && !err; i++)
		err = known[i] ? 0 : add_missing(j, j->first + i, complete);
	free(known);
	waits_doubt_split(j->parties, j->count);
	return err;
}

void joined_free(struct joined *j)
{
	for (size_t i = 0; i < j->ntexts; i++)
		free(j->texts[i]);
	for (size_t i = 0; i < j->nmembers; i++)
		free(j->members[i]);
	free(j->texts);
	free(j->members);
	free(j->parties);
	free(j->nodes);
	free(j->unit);
	*j = (struct joined){ 0 };
}

pid_t waits_pid(pid_t pid)
{
	return pid % NUMBERS;
}

/* --- doubts ------------------------------------------------------------------------ */

static bool meets(const struct party *a, const struct party *b)
{
	return b->waits && b->meeting && !strcmp(a->meeting, b->meeting);
}

void waits_doubt_split(struct party *parties, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct party *party = &parties[i];
		size_t others = 0;

		for (size_t k = 0; party->split && party->waits && party->meeting && k < count; k++)
			others += parties[k].stands_for_rank && !meets(party, &parties[k]);
		party->likely |= others > 1;
	}
}
