/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beyond.c - pointers-to-shared that name a thread which the job does not have.
 *
 * How a runtime packs them is recognised in the program, or said with --build, and either may be wrong. A thread beyond
 * THREADS shows it: then nothing of the pointer is so, nor of any other one of the process, and all are unknown from
 * there on. THREADS is the program's own variable, which its runtime sets when it starts: it is read when the process
 * is looked at, and again as long as it is not known.
 */
#include "capture/session.h"
#include "meaning/value.h"
#include "util/log.h"

/* 0 or less: not known, or not yet. */
static long threads_of(struct capture_session *s, struct captured_process *p, const char *name)
{
	const struct model *model;
	bool all_here;

	if (p->threads > 0 || !p->process || p->threads_pass == s->pass.number)
		return p->threads;
	p->threads_pass = s->pass.number;
	model = name ? models_find(s->plan->models, name) : NULL;
	p->threads = model && model->ranks_symbol ? plan_ranks(s->plan, model, p->process, &all_here) : 0;
	return p->threads;
}

static void say_beyond(struct capture_session *s, const struct captured_process *p, const char *model, uint64_t thread)
{
	if (s->beyond.said)
		return;
	s->beyond.said = true;
	log_warn("%d: a pointer-to-shared names thread %llu, and there are %ld: how its runtime (model %s) was built "
		 "is guessed, or was said, wrongly: "
		 "such pointers are unknown from here on: --build %s=NAME tells ('gaspbpf list --known' has the names)",
		 (int)p->pid, (unsigned long long)thread, p->threads, log_safe(model), log_safe(model));
}

void session_check_shared(struct capture_session *s, const struct captured_thread *t, struct span *span)
{
	const struct def_probe *def = &s->d->probes[span->probe];
	struct captured_process *p = NULL;

	for (uint32_t i = 0; i < def->nvalues; i++) {
		const struct value *v = &def->values[i];
		struct value_reading r;
		long threads;

		if (!v->decoder)
			continue;
		p = p ?: session_process(s, t->pid);
		if (p && p->misread) {
			span->unread |= 1u << v->slot;
			continue;
		}
		r = value_read(v, span->words, span->nwords, span->unread,
			       span->reason == GB_END_RETURN || span->reason == GB_END_TAIL);
		threads = r.known && r.decoded && p ? threads_of(s, p, def->model) : 0;
		if (threads <= 0 || r.thread < (uint64_t)threads)
			continue;
		p->misread = true;
		say_beyond(s, p, def->model, r.thread);
		span->unread |= 1u << v->slot;
	}
}
