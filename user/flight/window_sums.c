/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window_sums.c - the calls that are no spans: those lost for want of room in the kernel's rings, and those that the
 * governor only counts.
 *
 * The kernel's sums grow from the beginning of the observation. A dump is about the time that it keeps; so what each
 * sum has grown by is put into the ring now and then, as a block among the spans, and goes with them. A dump adds up
 * what is still there. Only the shortest and the longest call of that time are not known better than by powers of two,
 * unless they are those of the whole observation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight/private.h"
#include "util/array.h"

static bool has_grown(const struct def_sum *now, const struct def_sum *before)
{
	return now->lost != before->lost || now->summed != before->summed || now->skipped != before->skipped ||
	       now->timed != before->timed;
}

static void put_growth(struct buffer *out, size_t index, const struct def_sum *now, const struct def_sum *before)
{
	buffer_put_varint(out, index);
	buffer_put_varint(out, now->lost - before->lost);
	buffer_put_varint(out, now->summed - before->summed);
	buffer_put_varint(out, now->skipped - before->skipped);
	buffer_put_varint(out, now->timed - before->timed);
	buffer_put_varint(out, now->total - before->total);
	for (int i = 0; i < GB_BUCKETS; i++)
		buffer_put_varint(out, now->bucket[i] - before->bucket[i]);
}

void sums_keep(struct flight *f, uint64_t now)
{
	struct block block = { .begin = f->summed, .end = now, .sums = true };

	f->summed = now;
	if (array_reach(&f->before, &f->nbefore, f->d->nsums, sizeof(*f->before)))
		return; /* with the next look, if there is memory then */
	buffer_clear(&f->growth);
	for (size_t i = 0; i < f->d->nsums; i++) {
		const struct def_sum *sum = &f->d->sums[i];

		if (!has_grown(sum, &f->before[i]))
			continue;
		put_growth(&f->growth, i, sum, &f->before[i]);
		f->before[i] = *sum;
	}
	if (f->growth.size && !f->growth.failed)
		ring_push(&f->ring, &block, f->growth.data, f->growth.size);
	f->growth.failed = false;
}

int sums_read(const struct flight *f, const struct block *block, struct def_sum *sums)
{
	struct cursor c = { f->ring.data + block->at, f->ring.data + block->at + block->size, false };

	while (c.at < c.end && !c.failed) {
		uint64_t index = cursor_varint(&c);
		struct def_sum *sum = index < f->d->nsums ? &sums[index] : NULL;

		if (!sum)
			return -EBADMSG;
		sum->lost += cursor_varint(&c);
		sum->summed += cursor_varint(&c);
		sum->skipped += cursor_varint(&c);
		sum->timed += cursor_varint(&c);
		sum->total += cursor_varint(&c);
		for (int i = 0; i < GB_BUCKETS; i++)
			sum->bucket[i] += cursor_varint(&c);
	}
	return c.failed ? -EBADMSG : 0;
}

static int column(uint64_t duration)
{
	int i = duration ? 63 - __builtin_clzll(duration) : 0;

	return i < GB_BUCKETS ? i : GB_BUCKETS - 1;
}

/* Those of the whole observation where they are in the right column, else its bounds. */
static void bound(struct def_sum *sum, const struct def_sum *whole)
{
	int first = 0, last = GB_BUCKETS - 1;

	if (!sum->timed)
		return;
	while (first < last && !sum->bucket[first])
		first++;
	while (last > first && !sum->bucket[last])
		last--;
	sum->min = column(whole->min) == first ? whole->min : first ? 1ULL << first : 0;
	sum->max = column(whole->max) == last ? whole->max : (2ULL << last) - 1;
}

void sums_apply(struct definitions *d, const struct def_sum *sums)
{
	for (size_t i = 0; i < d->nsums; i++) {
		struct def_sum sum = sums[i];

		bound(&sum, &d->sums[i]);
		sum.thread = d->sums[i].thread;
		sum.probe = d->sums[i].probe;
		d->sums[i] = sum;
		d->loss.summed += sum.summed;
		d->loss.skipped += sum.skipped;
	}
}
