/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sum_maps.c - reads what the kernel keeps of calls that became no span (bpf/sums.h).
 *
 * Linux 5.6 and later hand out many entries of a hash map at a time (BPF_MAP_LOOKUP_BATCH, commit cb4d03ab499d); where
 * that does not work they are asked for one by one. The kernel goes on adding meanwhile: an entry may be a moment old
 * in one half and new in the other. What is read after the thread has ended, or after the probes are out, is exact.
 */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "observe.skel.h"
#include "probe/kernel_private.h"

#define BATCH 1024 /* entries; a bucket of the hash never holds so many */

static int map_of(const struct kernel *kernel)
{
	return bpf_map__fd(kernel->observe->maps.sums);
}

static int read_one_by_one(int map, kernel_sum take, void *context, struct breath *breath)
{
	struct gb_sum_place place, *before = NULL, last;
	struct gb_sum sum;

	while (!bpf_map_get_next_key(map, before, &place)) {
		if (!bpf_map_lookup_elem(map, &place, &sum))
			take(context, &place, &sum);
		breath_ends(breath);
		last = place;
		before = &last;
	}
	return errno == ENOENT ? 0 : -errno;
}

static int read_batches(int map, struct gb_sum_place *places, struct gb_sum *sums, kernel_sum take, void *context,
			struct breath *breath)
{
	uint32_t token, count;
	bool first = true;
	int err;

	do {
		count = BATCH;
		err = bpf_map_lookup_batch(map, first ? NULL : &token, &token, places, sums, &count, NULL) ? -errno : 0;
		if (err && err != -ENOENT)
			return first ? -EOPNOTSUPP : err;
		for (uint32_t i = 0; i < count; i++)
			take(context, &places[i], &sums[i]);
		breath_ends(breath);
		first = false;
	} while (!err);
	return 0;
}

int kernel_read_sums(const struct kernel *kernel, kernel_sum take, void *context, struct breath *breath)
{
	struct gb_sum_place *places;
	struct gb_sum_place any;
	struct gb_sum *sums;
	int err = -ENOMEM;

	if (bpf_map_get_next_key(map_of(kernel), NULL, &any))
		return errno == ENOENT ? 0 : -errno; /* nearly always: there is none */
	places = calloc(BATCH, sizeof(*places));
	sums = calloc(BATCH, sizeof(*sums));
	if (places && sums)
		err = read_batches(map_of(kernel), places, sums, take, context, breath);
	if (err == -EOPNOTSUPP)
		err = read_one_by_one(map_of(kernel), take, context, breath);
	free(places);
	free(sums);
	return err;
}

void kernel_forget_sum(struct kernel *kernel, const struct gb_sum_place *place, uint32_t user)
{
	if (!bpf_map_delete_elem(map_of(kernel), place) && kernel->sums)
		rooms_return(kernel, user);
}

void kernel_sums_forgotten(struct kernel *kernel)
{
	rooms_tell(kernel);
}

void kernel_forget_all_sums(struct kernel *kernel)
{
	struct gb_sum_place place;

	while (!bpf_map_get_next_key(map_of(kernel), NULL, &place) && !bpf_map_delete_elem(map_of(kernel), &place))
		;
}
