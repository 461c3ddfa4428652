/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_shares.c - users' shares of what the kernel side holds while a whole machine is looked at (bpf/shares.h).
 */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <uthash.h>

#include "observe.skel.h"
#include "probe/kernel_private.h"

#define THREADS_MOST 32768 /* each has 15 KB in the kernel */

/* Sums of one user that were removed so far. */
struct sums_returned {
	uint32_t user;
	uint64_t count, told;
	UT_hash_handle hh;
};

static int empty(int map)
{
	uint32_t user;

	while (!bpf_map_get_next_key(map, NULL, &user))
		if (bpf_map_delete_elem(map, &user))
			return -errno;
	return errno == ENOENT ? 0 : -errno;
}

int rooms_begin(struct kernel *kernel)
{
	const struct observe_bpf *o = kernel->observe;
	const uint64_t sizes[GB_ROOMS] = {
		[GB_ROOM_SUMS] = bpf_map__max_entries(o->maps.sums),
		[GB_ROOM_THREADS] = THREADS_MOST,
		[GB_ROOM_STACKS] = bpf_map__max_entries(o->maps.stacks),
		[GB_ROOM_CONTROLS] = bpf_map__max_entries(o->maps.controls),
	};
	const struct gb_user nothing = { 0 };
	uint32_t others = GB_USER_OTHERS;
	int err;

	rooms_free(kernel);
	err = empty(bpf_map__fd(o->maps.users)) ?: empty(bpf_map__fd(o->maps.returned));
	if (!err && bpf_map_update_elem(bpf_map__fd(o->maps.users), &others, &nothing, BPF_ANY))
		err = -errno;
	for (uint32_t i = 0; !err && i < GB_ROOMS; i++) {
		struct gb_room room = { .size = sizes[i] };

		if (bpf_map_update_elem(bpf_map__fd(o->maps.rooms), &i, &room, BPF_ANY))
			err = -errno;
	}
	return err;
}

static struct sums_returned *of_user(struct kernel *kernel, uint32_t user)
{
	struct sums_returned *r;

	HASH_FIND_INT(kernel->returned, &user, r);
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL; /* the user's share stays smaller by so much */
	r->user = user;
	HASH_ADD_INT(kernel->returned, user, r);
	if (!r->hh.tbl) {
		free(r);
		return NULL;
	}
	return r;
}

void rooms_return(struct kernel *kernel, uint32_t user)
{
	struct sums_returned *own = of_user(kernel, user), *all = of_user(kernel, GB_USER_ALL);

	if (own && all) {
		own->count++;
		all->count++;
	}
}

void rooms_tell(struct kernel *kernel)
{
	struct sums_returned *r, *next;

	HASH_ITER (hh, kernel->returned, r, next)
		if (r->count != r->told &&
		    !bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.returned), &r->user, &r->count, BPF_ANY))
			r->told = r->count;
}

void rooms_free(struct kernel *kernel)
{
	struct sums_returned *r, *next;

	HASH_ITER (hh, kernel->returned, r, next) {
		HASH_DEL(kernel->returned, r);
		free(r);
	}
}

int kernel_visit_users(const struct kernel *kernel, kernel_user visit, void *context)
{
	int map = bpf_map__fd(kernel->observe->maps.users);
	uint32_t user, *before = NULL, last;
	struct gb_user account;

	while (!bpf_map_get_next_key(map, before, &user)) {
		if (!bpf_map_lookup_elem(map, &user, &account))
			visit(context, user, &account);
		last = user;
		before = &last;
	}
	return errno == ENOENT ? 0 : -errno;
}

uint64_t kernel_sums_in_use(const struct kernel *kernel)
{
	uint32_t room = GB_ROOM_SUMS, all = GB_USER_ALL;
	struct gb_room taken = { 0 };
	uint64_t gone = 0;

	bpf_map_lookup_elem(bpf_map__fd(kernel->observe->maps.rooms), &room, &taken);
	bpf_map_lookup_elem(bpf_map__fd(kernel->observe->maps.returned), &all, &gone);
	return taken.taken > gone ? taken.taken - gone : 0;
}
