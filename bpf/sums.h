/*
 * sums.h - what remains of calls that become no span.
 *
 * A span can find its ring full; a probe can be so hot that spans of it would cost too much (user/capture/govern.c). Such calls are
 * counted here, and timed where their end was seen, by thread and probe: so the profile is exact however much is missing on
 * the timeline. A call that is sent costs nothing here. One entry is written by one thread only, so nothing is atomic.
 */
#ifndef GASPBPF_SUMS_H
#define GASPBPF_SUMS_H

#include "frames.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gb_sum_place);
	__type(value, struct gb_sum);
} sums SEC(".maps");

static const struct gb_sum no_calls;

/* The thread's sum of a probe's calls; a new one where there is none. */
static __always_inline struct gb_sum *sum_of(struct thread_state *t, __u32 probe)
{
	struct gb_sum_place place = { .born = t->born, .tid = t->tid, .probe = probe };
	struct gb_sum *sum = bpf_map_lookup_elem(&sums, &place);
	struct gb_trouble *missed;

	if (sum)
		return sum;
	bpf_map_update_elem(&sums, &place, &no_calls, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, &place);
	if (sum) {
		sum->pid = t->pid;
		t->sums++;
		return sum;
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

/* Adds a finished frame. lost: it should have been a span. */
__noinline int sum_add(struct thread_state *t, struct frame *f, bool lost)
{
	struct gb_sum *sum;
	__u64 duration;

	if (!t || !f)
		return 0;
	sum = sum_of(t, f->span.probe);
	if (!sum)
		return 0;
	if (lost)
		sum->lost++;
	else
		sum->summed++;
	if (f->span.reason == GB_END_ATOMIC || f->span.reason == GB_END_DEPTH)
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

/* Counts a call that is not followed. */
__noinline int sum_skip(struct thread_state *t, __u32 probe)
{
	struct gb_sum *sum = t ? sum_of(t, probe) : 0;

	if (sum)
		sum->skipped++;
	return 0;
}

#endif
