/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open.c - the calls in progress, asked for while the job goes on.
 *
 * The kernel side keeps them in each thread's own memory and changes them without asking. So one look may show a call
 * that is just coming or going, half written. A call that two looks show alike, with the same start to the nanosecond,
 * was in progress all the time in between, and what was known at its beginning is whole.
 */
#include <string.h>

#include "capture/session.h"

struct looking {
	struct capture_session *session;
	void (*visit)(void *context, const struct span *span, bool silent);
	void *context;
};

static void take(void *context, const struct gb_open *open, const struct gb_span *raw)
{
	struct looking *looking = context;
	struct capture_session *s = looking->session;
	uint32_t pid = open->pid_tid >> 32, tid = (uint32_t)open->pid_tid;
	struct captured_process *p = session_process(s, pid);
	struct captured_thread *t;
	struct span span = { .start = raw->start,
			     .end = UINT64_MAX,
			     .unread = raw->unread,
			     .depth = open->depth,
			     .site = NO_INDEX,
			     .reason = GB_END_RETURN,
			     .nwords = session_own_words(s, raw) };

	if (!p || p->ended)
		return;
	if (raw->probe < s->plan->nsites && raw->start < s->plan->sites[raw->probe].out_at)
		return; /* its probes were taken out since: whether it goes on nobody knows */
	t = tid < s->threads.room ? s->threads.by_number[tid] : NULL;
	if (!t)
		t = session_thread(s, pid, tid, raw->start); /* its first call, and no end of it in sight */
	if (!t || t->ends || t->pid != pid || t->successor)
		return; /* its number is between two threads */
	span.unread &= (1u << span.nwords) - 1;
	span.depth += session_announced_below(t, raw->start);
	span.thread = t->index;
	span.probe = session_probe(s, raw);
	memcpy(span.words, raw->value, span.nwords * sizeof(span.words[0]));
	if (span.probe != NO_INDEX) {
		session_check_shared(s, t, &span);
		span.site = session_call_site(s, t, raw, raw->start);
		if (session_is_inner(s, raw, span.site))
			span.probe = session_inner_probe(s, raw->probe, span.probe);
	}
	looking->visit(looking->context, &span, open->silent || span.probe == NO_INDEX);
}

int capture_visit_open(struct capture_session *s, void (*visit)(void *context, const struct span *span, bool silent),
		       void *context)
{
	struct looking looking = { s, visit, context };

	session_visit_announced(s, visit, context);
	return kernel_show_open(s->kernel, take, &looking);
}

int capture_visit_stacked(struct capture_session *s, void (*visit)(void *context, const struct span *span, bool silent),
			  void *context)
{
	struct looking looking = { s, visit, context };

	return kernel_show_stacked(s->kernel, take, &looking);
}
