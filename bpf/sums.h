/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sums.h - what remains of calls that become no span.
 *
 * A span can find its ring full; a probe can be so hot that spans of it would cost too much (user/govern/govern.c).
 * Such calls are counted here, and timed where their end was seen, by thread and probe: so the profile is exact however
 * much is missing on the timeline. A call that is sent costs nothing here. One entry is written by one thread only, so
 * nothing is atomic.
 */
#ifndef GASPBPF_SUMS_H
#define GASPBPF_SUMS_H

#include "maps.h"
#include "shares.h"

HASH(sums, PROCESSES_MOST, struct gb_sum_place, struct gb_sum);

static const struct gb_sum no_calls;

/* What the words of a call say of its payload; one entry, unless `monitoring`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct gb_amounts);
} amounts SEC(".maps");

#define NONE_KNOWN (-1)
#define NOT_FOR_US (-2)

/* The place of the first known number of a range; NONE_KNOWN; NOT_FOR_US: only user space could tell. */
__noinline int first_known(const struct frame *f, const struct gb_amounts *a, __u32 range, __u64 *number)
{
	__u32 at = range & 0xff, end = range >> 8 & 0xff;

	if (!f || !a || !number)
		return NONE_KNOWN;
	for (int i = 0; i < GB_NUMBERS && at < end; i++, at++) {
		struct gb_sent sent = { f->span.value, f->span.values, f->span.unread,
					f->span.reason == GB_END_RETURN };
		__u32 place = at;
		int known;

		barrier_var(place); /* index with the register that was checked */
		if (place >= GB_NUMBERS)
			break;
		known = gb_number_read(&a->number[place], &sent, number);
		if (known)
			return known > 0 ? (int)place : NOT_FOR_US;
	}
	return NONE_KNOWN;
}

#define RANGE(from, to) ((from) | (__u32)(to) << 8)

/* What went one way; false: unknown. */
static __always_inline bool side_bytes(const struct frame *f, const struct gb_amounts *a, int side, __u64 *bytes)
{
	__u32 counts = a->side[side].counts, sizes = a->side[side].sizes, end = a->side[side].end;
	__u64 count = 0, size = 0;
	int at;

	at = first_known(f, a, RANGE(a->side[side].bytes, counts), &count);
	if (at >= 0 && (__s64)count >= 0) {
		*bytes = count;
		return true;
	}
	if (at == NOT_FOR_US)
		return false;
	at = first_known(f, a, RANGE(counts, sizes), &count);
	if (at < 0 || (__s64)count < 0)
		return false;
	if (end > sizes) {
		if (first_known(f, a, RANGE(sizes, end), &size) < 0)
			return false;
	} else {
		barrier_var(at);
		size = at < GB_NUMBERS ? a->number[at].element : 0;
		if (!size)
			return false;
	}
	/* So far from 2^64 that nothing can wrap. */
	if (size >> 31 || count >> 32)
		return false;
	*bytes = count * size;
	return true;
}

/* The thread's sum of a probe's calls, or of its inner ones (GB_SUM_INNER); a new one where there is none. */
static __always_inline struct gb_sum *sum_of(struct thread_state *t, __u32 probe)
{
	struct gb_sum_place place = { .born = t->born, .tid = t->tid, .probe = probe };
	struct gb_sum *sum = bpf_map_lookup_elem(&sums, &place);
	struct gb_trouble *missed;

	if (sum)
		return sum;
	if (!monitoring || room_take(t->user, GB_ROOM_SUMS)) {
		bpf_map_update_elem(&sums, &place, &no_calls, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, &place);
		if (sum) {
			sum->pid = t->pid;
			sum->user = t->user;
			t->sums++;
			return sum;
		}
		if (monitoring) {
			room_give(t->user, GB_ROOM_SUMS);
			user_refused(t->user, GB_REFUSED_MEMORY);
		}
	}
	missed = trouble_here();
	if (missed)
		missed->no_sum++;
	return 0;
}

static __always_inline __u32 bucket_of(__u64 duration)
{
	__u32 bucket = 0;

	if (duration >> GB_BUCKETS)
		return GB_BUCKETS - 1;
	for (int bits = 32; bits; bits /= 2) {
		if (duration >> bits) {
			duration >>= bits;
			bucket += bits;
		}
	}
	return bucket < GB_BUCKETS ? bucket : GB_BUCKETS - 1;
}

/* Adds the call's payload. */
static __always_inline int sum_payload(struct gb_sum *sum, const struct frame *f)
{
	__u64 bytes = 0, more = 0;
	struct gb_amounts *a;
	__u32 probe, bucket;

	if (!sum || !f)
		return 0;
	probe = f->span.probe;
	a = bpf_map_lookup_elem(&amounts, &probe);
	if (!a || !a->sides || !side_bytes(f, a, 0, &bytes))
		return 0;
	if (a->sides > 1 && !side_bytes(f, a, 1, &more))
		return 0;
	bytes += more;
	bucket = bucket_of(bytes);
	sum->sized++;
	sum->bytes += bytes;
	if (bucket < GB_SIZES)
		sum->size[bucket]++;
	return 0;
}

/* Somebody may have to look at the sums. */
static __always_inline void note_sum(void)
{
	struct gb_trouble *seen = monitoring ? trouble_here() : 0;

	if (seen)
		seen->summed++;
}

/* Adds a finished frame. lost: it should have been a span. */
__noinline int sum_add(struct thread_state *t, struct frame *f, bool lost)
{
	struct gb_sum *sum;
	__u64 duration;

	if (!t || !f)
		return 0;
	sum = sum_of(t, f->span.probe | (f->span.inner & GB_INNER_SELF ? GB_SUM_INNER : 0));
	if (!sum)
		return 0;
	if (lost)
		sum->lost++;
	else
		sum->summed++;
	note_sum();
	if (monitoring)
		sum_payload(sum, f);
	if (f->span.reason == GB_END_ATOMIC || f->span.reason == GB_END_DEPTH || f->span.reason == GB_END_ALONE)
		return 0; /* it has no duration */
	duration = f->span.end - f->span.start;
	if (!sum->timed || duration < sum->min)
		sum->min = duration;
	if (duration > sum->max)
		sum->max = duration;
	sum->timed++;
	sum->total += duration;
	sum->bucket[bucket_of(duration)]++;
	return 0;
}

/* Is this call only to be counted? */
static __always_inline bool is_skipped(const struct gb_probe *p)
{
	return p->skip && (p->skip == GB_SKIP_ALL || bpf_get_prandom_u32() & p->skip);
}

/* Counts a call that is not followed; probe: as in sum_of(). */
__noinline int sum_skip(struct thread_state *t, __u32 probe)
{
	struct gb_sum *sum = t ? sum_of(t, probe) : 0;

	if (sum)
		sum->skipped++;
	note_sum();
	return 0;
}

#endif
