/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.c - what the kernel side puts into its rings: calls and process life, in any order, with any values, as
 * capture reads them.
 *
 * Our own BPF programs write the records, but times, addresses and words in them are the target's. Numbers of probes
 * are ours, and so not made up beyond the plan.
 */
#include "capture/capture.h"
#include "shared/kernel.h"

#define MOST 400 /* records of one input */

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	must(span->thread < d->nthreads && span->probe < d->nprobes &&
	     (span->site == NO_INDEX || span->site < d->nsites) && span->nwords <= GB_SLOTS);
	return 0;
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	must(gap->thread < d->nthreads);
	return 0;
}

static void put_some(struct input *in, struct capture_session *session)
{
	union {
		struct gb_span span;
		struct gb_life life;
	} record;
	uint8_t what = input_number(in, 1);
	size_t size;

	switch (what & 7) {
	case 0:
		capture_drain(session);
		return;
	case 1:
		size = fuzz_life(in, &record.life);
		fuzz_ring_put(FUZZ_CONTROL, &record.life, size);
		return;
	case 2: /* cut: of a kernel side that is not the one we know */
		size = fuzz_span(in, &record.span);
		fuzz_ring_put(0, &record.span, size * (what >> 3) / 32);
		return;
	default:
		size = fuzz_span(in, &record.span);
		fuzz_ring_put(what % FUZZ_RINGS, &record.span, size);
	}
}

static void forked(void *context, pid_t pid, pid_t parent, uint64_t time, bool held)
{
	struct fuzz_session *s = context;

	if (capture_knows(s->session, parent))
		capture_add_child(s->session, pid, parent, time);
}

static void mapped(void *context, pid_t pid, uint64_t time, bool held)
{
	struct fuzz_session *s = context;

	if (capture_knows(s->session, pid))
		capture_refresh_process(s->session, pid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span_sink sink = { .span = take_span, .gap = take_gap };
	struct input in = { data, data + size };
	struct fuzz_session s;
	const struct capture_events events = { .forked = forked, .mapped = mapped, .context = &s };

	fuzz_session_open(&s, &events);
	capture_add_sink(s.session, &sink);
	for (unsigned i = 0; i < MOST && input_left(&in); i++)
		put_some(&in, s.session);
	capture_check_processes(s.session);
	capture_name_threads(s.session);
	capture_finish(s.session);
	fuzz_session_close(&s);
	return 0;
}
