/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shares.h - who has taken how much of the maps that all users of a machine share.
 *
 * Where a whole machine is looked at, threads of all users make entries in the same maps, and each of them has a limit.
 * So that one user's excess falls on himself, a user never has more of a map than is left free in it: one user alone
 * gets half, and whoever comes after him, however late, finds half of the rest. What is refused is counted with the
 * user.
 *
 * That is asked only where an entry is made: at a thread's first call, or its first of a function. Each number has one
 * side that writes it: `taken` is the kernel's; sums are removed by user space, which counts them in `returned`. What
 * is in use is the difference, and exact.
 *
 * A user is the real user of the thread's first call. Users beyond the most that are known share one account.
 */
#ifndef GASPBPF_SHARES_H
#define GASPBPF_SHARES_H

#include "maps.h"

HASH(users, GB_USERS, __u32, struct gb_user);

/* Sums that user space has removed, by user; GB_USER_ALL: all of them. */
HASH(returned, GB_USERS + 1, __u32, __u64);

/* Of all users. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_ROOMS);
	__type(key, __u32);
	__type(value, struct gb_room);
} rooms SEC(".maps");

static const struct gb_user has_nothing;

/* The account of the current thread's user. */
static __always_inline __u32 user_account(void)
{
	__u32 user = bpf_get_current_uid_gid();

	if (bpf_map_lookup_elem(&users, &user))
		return user;
	bpf_map_update_elem(&users, &user, &has_nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&users, &user) ? user : GB_USER_OTHERS;
}

__noinline int user_refused(__u32 user, __u32 why)
{
	struct gb_user *u = bpf_map_lookup_elem(&users, &user);

	if (!u)
		return 0;
	barrier_var(why);
	if (why < GB_REFUSALS)
		__sync_fetch_and_add(&u->refused[why], 1);
	return 0;
}

static __always_inline __u64 returned_by(__u32 user)
{
	__u64 *count = bpf_map_lookup_elem(&returned, &user);

	return count ? *count : 0;
}

/* The room's number as an index of fixed arrays: the register that is checked, and no copy of it in memory. GB_ROOMS:
 * it is none. */
static __always_inline __u32 room_index(__u32 room)
{
	barrier_var(room);
	return room < GB_ROOMS ? room : GB_ROOMS;
}

/* May the user have one more entry there? Then it is his. 0: no, and that is counted. */
__noinline int room_take(__u32 user, __u32 room)
{
	__u32 key = room, at = room_index(room);
	struct gb_user *u = bpf_map_lookup_elem(&users, &user);
	struct gb_room *all = bpf_map_lookup_elem(&rooms, &key);
	__u64 own, used, *taken, *refused;

	if (!u || !all || at >= GB_ROOMS)
		return 0;
	taken = &u->taken[at];
	refused = &u->refused[at];
	own = *taken;
	used = all->taken;
	if (key == GB_ROOM_SUMS) {
		own -= returned_by(user);
		used -= returned_by(GB_USER_ALL);
	}
	if (own + used >= all->size) {
		__sync_fetch_and_add(refused, 1);
		return 0;
	}
	__sync_fetch_and_add(taken, 1);
	__sync_fetch_and_add(&all->taken, 1);
	return 1;
}

/* The entry is gone, or could not be made. */
__noinline int room_give(__u32 user, __u32 room)
{
	__u32 key = room, at = room_index(room);
	struct gb_user *u = bpf_map_lookup_elem(&users, &user);
	struct gb_room *all = bpf_map_lookup_elem(&rooms, &key);
	__u64 *taken;

	if (!u || !all || at >= GB_ROOMS)
		return 0;
	taken = &u->taken[at];
	__sync_fetch_and_add(taken, -1);
	__sync_fetch_and_add(&all->taken, -1);
	return 0;
}

#endif
