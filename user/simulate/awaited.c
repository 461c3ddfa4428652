/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * awaited.c - which posts an operation waits for, as posts.c has put them, and waiting for these.
 *
 * The rules are at the top of posts.c. They are applied when all is known that they need: not while operations are fed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/posts.h"
#include "util/array.h"

#define LISTS_MOST (1u << 18)
#define PAGE 4096
#define SOON 4 /* after the other one has come, an access takes one in so many of the time that it waited */

/* --- posts ------------------------------------------------------------------- */

static void post_leave(struct post *post)
{
	if (post && !--post->users)
		free(post);
}

struct post_list *posts_list(const struct posts *posts, const struct post_key *key)
{
	struct post_list *list;

	HASH_FIND(hh, posts->lists, key, sizeof(*key), list);
	return list;
}

struct post_list *posts_list_at(struct posts *posts, const struct post_key *key, int *error)
{
	struct post_list *list = posts_list(posts, key);

	*error = 0;
	if (list || HASH_COUNT(posts->lists) >= LISTS_MOST)
		return list;
	*error = -ENOMEM;
	list = calloc(1, sizeof(*list));
	if (!list)
		return NULL;
	list->key = *key;
	HASH_ADD(hh, posts->lists, key, sizeof(list->key), list);
	if (!list->hh.tbl) {
		free(list);
		return NULL;
	}
	*error = 0;
	return list;
}

/* Of those that nobody can have waited for any more, the last is kept: it says that somebody was there. */
static void forget_old(struct post_list *list, uint64_t horizon)
{
	size_t old = 0;

	while (old + 1 < list->count && list->posts[old + 1]->call.start < horizon)
		post_leave(list->posts[old++]);
	memmove(list->posts, list->posts + old, (list->count - old) * sizeof(*list->posts));
	list->count -= old;
}

int posts_put(struct posts *posts, const struct post_key *key, struct post *post)
{
	int error;
	struct post_list *list = posts_list_at(posts, key, &error);
	size_t at;

	if (!list)
		return error;
	if (list->count == list->room)
		forget_old(list, posts->horizon);
	if (array_one_more(&list->posts, &list->room, list->count, sizeof(*list->posts)))
		return -ENOMEM;
	at = list->count++;
	for (; at && list->posts[at - 1]->call.start > post->call.start; at--)
		list->posts[at] = list->posts[at - 1];
	list->posts[at] = post;
	post->users++;
	return 0;
}

int posts_wait_for(struct posts *posts, struct op *op, const struct pending *what)
{
	if (array_one_more(&posts->pending, &posts->room, posts->npending, sizeof(*posts->pending)))
		return -ENOMEM;
	posts->pending[posts->npending] = *what;
	posts->pending[posts->npending++].op = op;
	op->unsettled = true;
	return 0;
}

static bool is_at(const struct post *post, uint64_t address)
{
	if (!post->addresses[0] && !post->addresses[1])
		return true;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t behind = address - post->addresses[i];

		if (post->addresses[i] && (behind < post->bytes || (post->bytes < PAGE && behind % PAGE < post->bytes)))
			return true;
	}
	return false;
}

/* --- what let it go on ------------------------------------------------------------- */

/* The first that began after this time. */
static size_t first_after(const struct post_list *list, uint64_t time)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list->posts[middle]->call.start <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The latest that began before the operation's end. */
static struct post *latest(const struct post_list *list, const struct op *op, uint64_t address)
{
	size_t i = first_after(list, op->end);

	while (i && !is_at(list->posts[i - 1], address))
		i--;
	return i ? list->posts[i - 1] : NULL;
}

static enum wait_state state_of(const struct post_list *list)
{
	switch ((enum signal)list->key.tells) {
	case SIGNAL_EXPOSE:
		return WAIT_LATE_POST;
	case SIGNAL_COMPLETE:
		return WAIT_EARLY_WAIT;
	case SIGNAL_UNLOCK:
		return WAIT_FOR_LOCK;
	case SIGNAL_NOTIFY:
	case SIGNAL_WAKE:
		return WAIT_LATE_NOTIFY;
	default:
		return WAIT_FOR_PROGRESS;
	}
}

static int add(struct sim *sim, struct op *op, struct post *post, enum wait_state state)
{
	struct awaited_post *larger = realloc(op->posts, (op->nposts + 1) * sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	op->posts = larger;
	op->posts[op->nposts++] = (struct awaited_post){ post, state };
	post->users++;
	sim->threads[op->thread].takes_part = true;
	sim->threads[post->call.thread].takes_part = true;
	return 0;
}

/* 1: there is one, whether or not it was there already; 0, or -ENOMEM. */
static int add_latest(struct sim *sim, struct op *op, const struct post_list *list, uint64_t address)
{
	struct post *post = list ? latest(list, op, address) : NULL;

	if (!post || post->call.start <= op->start || post->call.thread == op->thread)
		return post != NULL;
	return add(sim, op, post, state_of(list)) ?: 1;
}

/*
 * The first call of the other one after the access began, where that one was in no call then, and the access ended soon
 * after it.
 */
static int add_presence(struct sim *sim, struct op *op, const struct post_list *list)
{
	size_t next = first_after(list, op->start);

	if (!next || next == list->count || list->posts[next - 1]->call.end >= op->start ||
	    list->posts[next - 1]->call.thread != list->posts[next]->call.thread ||
	    list->posts[next]->call.start > op->end ||
	    (op->end - list->posts[next]->call.start) * SOON > list->posts[next]->call.start - op->start)
		return 0;
	return add(sim, op, list->posts[next], WAIT_FOR_PROGRESS);
}

/* Whoever waits here waits for somebody: where nobody is found, that is not known. */
static bool should_know(const struct pending *what)
{
	switch (what->op->facts->signal) {
	case SIGNAL_BEGIN: /* what it does not wait for, the last call of the epoch does */
		return !what->epoch->ntargets;
	case SIGNAL_COMPLETE:
	case SIGNAL_EXPOSED:
	case SIGNAL_AWAIT:
		return true;
	default:
		return false;
	}
}

static int settle(struct sim *sim, const struct pending *what)
{
	struct op *op = what->op;
	int told = 0, error = 0;

	for (unsigned i = 0; i < 2 && error >= 0; i++) {
		error = add_latest(sim, op, what->lists[i], what->address);
		told |= error > 0;
	}
	for (size_t i = 0; what->epoch && i < what->epoch->ntargets && error >= 0; i++) {
		struct post_key key = window_key(what->epoch->window, what->epoch->targets[i], SIGNAL_EXPOSE);

		error = add_latest(sim, op, posts_list(sim->posts, &key), 0);
		told |= error > 0;
	}
	if (what->presence && !op->nposts && error >= 0)
		error = add_presence(sim, op, what->presence);
	sim->counts.untold += !told && should_know(what);
	op->unsettled = false;
	schedule_wake(sim, op->thread);
	return error < 0 ? error : 0;
}

static bool can_settle(const struct sim *sim, const struct pending *what)
{
	return sim->all_fed || (what->op->end < sim->posts->fed && (!what->epoch || what->epoch->over));
}

void posts_settle(struct sim *sim)
{
	struct posts *posts = sim->posts;
	size_t kept = 0;

	posts->horizon = posts->fed;
	for (size_t i = 0; i < posts->npending; i++) {
		struct pending *what = &posts->pending[i];

		if (what->op && !can_settle(sim, what)) {
			if (what->op->start < posts->horizon)
				posts->horizon = what->op->start;
			posts->pending[kept++] = *what;
			continue;
		}
		if (what->op && settle(sim, what))
			sim->error = -ENOMEM;
		epoch_leave(what->epoch);
	}
	posts->npending = kept;
	posts->fed = sim->settled; /* one chunk later, so that calls that were in progress have been fed, too */
}

/* --- waiting ------------------------------------------------------------------------ */

bool posts_are_ready(struct op *op)
{
	if (op->unsettled)
		return false; /* it is woken when it is settled */
	for (unsigned i = 0; i < op->nposts; i++) {
		struct post *post = op->posts[i].post;
		struct op **at = &post->waiting;

		if (post->reached)
			continue;
		while (*at && *at != op)
			at = &(*at)->next_waiting;
		if (!*at) {
			*at = op;
			op->next_waiting = NULL;
		}
		return false;
	}
	return true;
}

void posts_reach(struct sim *sim, struct op *op)
{
	struct post *post = op->post;

	post->reached = true;
	post->new_start = op->new_start;
	for (struct op *waiting = post->waiting; waiting; waiting = waiting->next_waiting)
		schedule_wake(sim, waiting->thread);
	post->waiting = NULL;
}

static void drop_posts(struct op *op)
{
	for (unsigned i = 0; i < op->nposts; i++) {
		struct op **at = &op->posts[i].post->waiting;

		while (*at && *at != op)
			at = &(*at)->next_waiting;
		if (*at)
			*at = op->next_waiting;
		post_leave(op->posts[i].post);
	}
	free(op->posts);
	op->posts = NULL;
	op->nposts = 0;
}

void posts_give_up(struct sim *sim, struct op *op)
{
	for (size_t i = 0; i < sim->posts->npending && op->unsettled; i++)
		if (sim->posts->pending[i].op == op)
			sim->posts->pending[i].op = NULL;
	op->unsettled = false;
	drop_posts(op);
}

void posts_leave(struct op *op)
{
	if (op->nposts)
		drop_posts(op);
	post_leave(op->post);
}

/* --- the whole ------------------------------------------------------------------------ */

int posts_open(struct sim *sim)
{
	sim->posts = calloc(1, sizeof(*sim->posts));
	if (!sim->posts)
		return -ENOMEM;
	sim->posts->epochs = calloc(sim->d->nprocesses + 1, sizeof(*sim->posts->epochs));
	return sim->posts->epochs ? 0 : -ENOMEM;
}

void posts_close(struct sim *sim)
{
	struct posts *posts = sim->posts;
	struct post_list *list, *next;

	if (!posts)
		return;
	for (size_t i = 0; i < posts->npending; i++)
		epoch_leave(posts->pending[i].epoch);
	for (size_t i = 0; posts->epochs && i < sim->d->nprocesses; i++)
		while (posts->epochs[i])
			epoch_close(&posts->epochs[i]);
	HASH_ITER (hh, posts->lists, list, next) {
		HASH_DEL(posts->lists, list);
		for (size_t i = 0; i < list->count; i++)
			post_leave(list->posts[i]);
		free(list->posts);
		free(list);
	}
	windows_close(&posts->windows);
	free(posts->epochs);
	free(posts->pending);
	free(posts);
	sim->posts = NULL;
}
