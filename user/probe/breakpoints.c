/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * breakpoints.c - what is in: each instruction that has a probe of ours, and for whom.
 *
 * Two links on one instruction count each call twice, and nothing in a report would show it. There are many ways to
 * come to that: a function that is put in again because somebody new calls it, a process whose links are made anew
 * while the old ones are still on their way out, one file under two names, as in containers that share a layer. So this
 * table knows what is in, and link_attach() asks it before it makes a link: what is in for the same processes is left
 * out of the request, and what is on its way out is waited for. It forgets a place only when the kernel has closed the
 * link.
 *
 * A place is known by the file's own inode, as the kernel's probes are: see neighbours_identity() for where that
 * differs from what stat() says.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uthash.h>

#include "probe/kernel_private.h"
#include "util/array.h"
#include "util/log.h"

#define PATIENCE_S 20 /* for a link that is being closed; it takes tens of milliseconds */

struct place_key {
	uint64_t device, inode, offset;
	uint64_t what; /* enum held_what */
};

/* One scope for which a place is in. */
struct holder {
	pid_t pid; /* 0: every process */
	uint32_t site;
	int file_fd;      /* of the image: another one with the same inode is the same file under another name */
	unsigned in;      /* links */
	unsigned leaving; /* links that are being closed */
};

struct held_place {
	struct place_key key;
	struct holder *holders;
	size_t nholders, room;
	UT_hash_handle hh;
};

struct held {
	pthread_mutex_t lock;
	pthread_cond_t gone;
	struct held_place *places;
	uint64_t changes; /* of what is in */
	size_t own;       /* places that see calls, each for one process */
	bool said_fault;
	int said_twin; /* the last file of which it was said that it is known by another name */
};

/* What one link has taken. */
struct held_set {
	struct place_key key; /* without the offset */
	pid_t pid;
	int file_fd;
	size_t count;
	struct {
		uint64_t offset;
		uint32_t site;
	} places[];
};

int held_new(struct kernel *kernel)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->gone, NULL);
	h->said_twin = -1;
	kernel->held = h;
	return 0;
}

static void drop_place(struct held *h, struct held_place *place)
{
	HASH_DEL(h->places, place);
	free(place->holders);
	free(place);
}

void held_free(struct kernel *kernel)
{
	struct held *h = kernel->held;
	struct held_place *place, *next;

	if (!h)
		return;
	HASH_ITER (hh, h->places, place, next)
		drop_place(h, place);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->gone);
	free(h);
	kernel->held = NULL;
}

static uint64_t what_of(const struct link_request *request)
{
	return request->kind == LINK_EXITS ? HELD_EXIT : HELD_CALL;
}

static int key_of(struct kernel *kernel, const struct link_request *request, uint64_t what, struct place_key *key)
{
	memset(key, 0, sizeof(*key));
	key->what = what;
	return neighbours_identity(kernel, request->file_fd, &key->device, &key->inode);
}

static struct held_place *find(struct held *h, const struct place_key *key)
{
	struct held_place *place;

	HASH_FIND(hh, h->places, key, sizeof(*key), place);
	return place;
}

/* Would both act on one call? A last instruction may be that of several functions; a first one is of one only. */
static bool meet(const struct holder *holder, const struct link_request *request, uint32_t site)
{
	if (holder->pid && request->pid && holder->pid != request->pid)
		return false;
	return request->kind != LINK_EXITS || holder->site == site || holder->file_fd != request->file_fd;
}

static void say_second(struct held *h, const struct link_request *request, const struct holder *holder, uint64_t offset)
{
	if (holder->file_fd != request->file_fd) {
		if (h->said_twin != request->file_fd)
			log_info("a file has two names (as layers of containers have): its probes are in already, and "
				 "count for both");
		h->said_twin = request->file_fd;
		return;
	}
	if (!h->said_fault)
		log_warn("a second probe at 0x%llx of the same file was asked for and left out: each call would have "
			 "been counted twice. "
			 "This is a fault of gaspbpf's: please tell its authors what was observed",
			 (unsigned long long)offset);
	h->said_fault = true;
}

/* May this place go in? Waits where one is on its way out. */
static bool admits(struct held *h, struct place_key key, const struct link_request *request, uint32_t site)
{
	struct timespec until;
	bool leaving;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	do {
		const struct held_place *place = find(h, &key);

		leaving = false;
		for (size_t i = 0; place && i < place->nholders; i++) {
			const struct holder *holder = &place->holders[i];

			if (!meet(holder, request, site))
				continue;
			if (holder->in) {
				say_second(h, request, holder, key.offset);
				return false;
			}
			leaving |= holder->leaving > 0;
		}
	} while (leaving && !pthread_cond_timedwait(&h->gone, &h->lock, &until));
	if (leaving)
		log_warn("a probe does not come out: what it observes is not observed again");
	return !leaving;
}

int held_admit(struct kernel *kernel, const struct link_request *request, struct link_request *admitted)
{
	struct held *h = kernel->held;
	unsigned long *offsets = calloc(request->count + 1, sizeof(*offsets));
	uint64_t *cookies = calloc(request->count + 1, sizeof(*cookies));
	struct place_key key;
	int err = offsets && cookies ? key_of(kernel, request, what_of(request), &key) : -ENOMEM;

	*admitted = *request;
	admitted->offsets = offsets;
	admitted->cookies = cookies;
	admitted->count = 0;
	if (err)
		return err;
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < request->count; i++) {
		key.offset = request->offsets[i];
		if (!admits(h, key, request, (uint32_t)request->cookies[i]))
			continue;
		offsets[admitted->count] = request->offsets[i];
		cookies[admitted->count++] = request->cookies[i];
	}
	pthread_mutex_unlock(&h->lock);
	return 0;
}

static struct holder *holder_of(struct held_place *place, const struct held_set *set, uint32_t site)
{
	for (size_t i = 0; i < place->nholders; i++) {
		struct holder *holder = &place->holders[i];

		if (holder->pid == set->pid && holder->site == site && holder->file_fd == set->file_fd)
			return holder;
	}
	return NULL;
}

static bool is_own(const struct place_key *key, const struct holder *holder)
{
	return holder->pid && key->what == HELD_CALL;
}

static int take_one(struct held *h, const struct held_set *set, uint64_t offset, uint32_t site)
{
	struct place_key key = set->key;
	struct held_place *place;
	struct holder *holder;

	key.offset = offset;
	place = find(h, &key);
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place)
			return -ENOMEM;
		place->key = key;
		HASH_ADD(hh, h->places, key, sizeof(place->key), place);
		if (!place->hh.tbl) {
			free(place);
			return -ENOMEM;
		}
	}
	holder = holder_of(place, set, site);
	if (!holder) {
		if (array_one_more(&place->holders, &place->room, place->nholders, sizeof(*place->holders)))
			return -ENOMEM;
		holder = &place->holders[place->nholders++];
		*holder = (struct holder){ .pid = set->pid, .site = site, .file_fd = set->file_fd };
		h->own += is_own(&key, holder);
	}
	holder->in++;
	return 0;
}

static void forget_one(struct held *h, const struct held_set *set, uint64_t offset, uint32_t site, bool was_leaving)
{
	struct place_key key = set->key;
	struct held_place *place;
	struct holder *holder;

	key.offset = offset;
	place = find(h, &key);
	holder = place ? holder_of(place, set, site) : NULL;
	if (!holder)
		return;
	if (was_leaving)
		holder->leaving--;
	else
		holder->in--;
	if (holder->in || holder->leaving)
		return;
	h->own -= is_own(&key, holder);
	*holder = place->holders[--place->nholders];
	if (!place->nholders)
		drop_place(h, place);
}

static void forget_all(struct held *h, const struct held_set *set, size_t count, bool was_leaving)
{
	for (size_t i = 0; i < count; i++)
		forget_one(h, set, set->places[i].offset, set->places[i].site, was_leaving);
}

struct held_set *held_take(struct kernel *kernel, const struct link_request *request, enum held_what what)
{
	struct held *h = kernel->held;
	struct held_set *set = calloc(1, sizeof(*set) + request->count * sizeof(set->places[0]));
	size_t taken = 0;

	if (!set || key_of(kernel, request, what, &set->key)) {
		free(set);
		return NULL;
	}
	set->pid = request->pid;
	set->file_fd = request->file_fd;
	set->count = request->count;
	pthread_mutex_lock(&h->lock);
	for (; taken < set->count; taken++) {
		set->places[taken].offset = request->offsets[taken];
		set->places[taken].site = (uint32_t)request->cookies[taken];
		if (take_one(h, set, set->places[taken].offset, set->places[taken].site))
			break;
	}
	h->changes++;
	if (taken < set->count) {
		forget_all(h, set, taken, false);
		free(set);
		set = NULL;
	}
	pthread_mutex_unlock(&h->lock);
	return set;
}

void held_leaves(struct kernel *kernel, const struct held_set *set)
{
	struct held *h = kernel->held;

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; set && i < set->count; i++) {
		struct place_key key = set->key;
		struct held_place *place;
		struct holder *holder;

		key.offset = set->places[i].offset;
		place = find(h, &key);
		holder = place ? holder_of(place, set, set->places[i].site) : NULL;
		if (holder) {
			holder->in--;
			holder->leaving++;
		}
	}
	pthread_mutex_unlock(&h->lock);
}

void held_gone(struct kernel *kernel, struct held_set *set, bool was_leaving)
{
	struct held *h = kernel->held;

	if (!set)
		return;
	pthread_mutex_lock(&h->lock);
	forget_all(h, set, set->count, was_leaving);
	h->changes++;
	pthread_cond_broadcast(&h->gone);
	pthread_mutex_unlock(&h->lock);
	free(set);
}

unsigned held_holders(const struct kernel *kernel, int file_fd, uint64_t offset)
{
	struct held *h = kernel->held;
	struct place_key key = { .what = HELD_CALL, .offset = offset };
	const struct held_place *place;
	unsigned holders = 0;

	if (!h->own || neighbours_identity((struct kernel *)kernel, file_fd, &key.device, &key.inode))
		return 0; /* mostly there are none, and this is asked for each function */
	pthread_mutex_lock(&h->lock);
	place = find(h, &key);
	for (size_t i = 0; place && i < place->nholders; i++)
		holders += place->holders[i].pid != 0;
	pthread_mutex_unlock(&h->lock);
	return holders;
}

uint64_t kernel_changes(const struct kernel *kernel)
{
	uint64_t changes;

	pthread_mutex_lock(&kernel->held->lock);
	changes = kernel->held->changes;
	pthread_mutex_unlock(&kernel->held->lock);
	return changes;
}
