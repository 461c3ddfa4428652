/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_told.c - each task as it begins, and what kinds there are, for who draws them (told.h).
 */
#include "analysis/tasks.h"

#include "recording/labels.h"

void task_tell_run(const struct task_event *t, const struct task *task, uint32_t kind)
{
	const struct tasks *s = t->s;
	struct told_task told = {
		.thread = t->span->thread,
		.kind = kind,
		.numbered = t->member->numbered,
		.worker = t->member->number,
		.depth = t->member->depth,
		.start = t->span->start,
		.end = t->span->end > t->span->start ? t->span->end : t->span->start,
		.open = t->span->reason == GB_END_DETACH || t->span->reason == GB_END_OFF,
		.site = NO_INDEX,
	};

	if (!told.numbered)
		told.numbered = task_call_number(s->d, t->span, t->call->worker, &told.worker);
	if (task && task->submit_seen) {
		told.submit_seen = true;
		told.submitted = task->submitted;
		told.site = task->site;
	}
	if (task && task->ready_seen) {
		told.ready_seen = true;
		told.ready = task->ready;
		told.ready_by = s->members[task->ready_by].thread;
	}
	s->watch.task(s->watch.context, &told);
}

int tasks_tell_kinds(void *state, const struct report *r, const struct report_teller *teller)
{
	const struct tasks *s = state;
	char label[LABEL_ROOM];
	int error = 0;

	for (uint32_t i = 0; i < s->nkinds && teller->kind && !error; i++) {
		struct told_kind kind = { i,
					  s->kinds[i].name ?: task_kind_label(s, &s->kinds[i], label, sizeof(label)) };

		error = teller->kind(teller->context, &kind);
	}
	return error;
}
