/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * controls.c - measurement that is switched off and on, by the program or from outside.
 *
 * The kernel side heeds it at once: while it is off, no call of the process is seen, and calls that were in progress
 * end then (bpf/frames.h). Here it becomes a definition. Events that the program had started itself, which the
 * kernel side does not pair, are cut where they are paired (announced.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/announced/announced_private.h"
#include "util/log.h"

#define BY_US "gaspbpf control"

static const char *who(const struct capture_session *s, uint32_t site)
{
	return site < s->plan->nsites ? s->plan->sites[site].function->symbol
	       : site == NO_SITE      ? "before it was observed"
				      : BY_US;
}

/* In the order of time: what several threads say at once may be told in another. */
static void insert(struct definitions *d, const struct def_control *control)
{
	uint32_t at = definitions_add_control(d);

	if (at == NO_INDEX) {
		free(control->who);
		return;
	}
	for (; at && d->controls[at - 1].time > control->time; at--)
		d->controls[at] = d->controls[at - 1];
	d->controls[at] = *control;
}

/* t: who has said so; NULL: from outside, or not known */
static void define(struct capture_session *s, struct captured_process *p, const struct captured_thread *t,
		   uint64_t time, int32_t value, const char *name)
{
	struct def_control control = { .time = time,
				       .process = p->index,
				       .thread = t ? t->index : NO_INDEX,
				       .value = value,
				       .who = strdup(name) };

	insert(s->d, &control);
	if (!value)
		p->announced.off = time;
}

void session_take_control(struct capture_session *s, const struct gb_life *life)
{
	struct captured_process *p = session_process(s, life->pid);
	const struct captured_thread *t = p && life->tid ? session_thread(s, life->pid, life->tid, life->time) : NULL;

	p = session_process(s, life->pid); /* another one, where the number belongs to another since */
	if (p)
		define(s, p, t, life->time, life->exit_code, who(s, life->changing));
}

int capture_control(struct capture_session *s, pid_t pid, bool on)
{
	struct captured_process *p = session_process(s, pid);
	uint64_t time;
	bool changed;
	int error;

	if (!p || p->ended)
		return -ESRCH;
	error = kernel_set_control(s->kernel, pid, on, &time, &changed);
	if (!error && changed)
		define(s, p, NULL, time, on, BY_US);
	return error ? error : changed;
}
