/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layouts.c - what a process has mapped where, as it changes (see sites.c).
 *
 * A change is told with its time, and what is mapped can only be read later, while the process goes on. What was read
 * tells of the changes before the reading began; after each reading the signs that came meanwhile are taken, and where
 * one is of a time after that, it is read once more. A process that changes faster than that is left *torn* until the
 * next pass: where its calls come from is known only where nothing can have changed.
 *
 * Others look at a process, too, in between, and may see a change that has not been told yet (session_look_again()).
 */
#include <link.h>

#include "capture/session.h"

#define READS_MOST 4 /* of one process's mappings in one pass */

void capture_settle_process(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);

	if (p)
		p->settled = true;
}

/* --- the linker's signs -------------------------------------------------- */

bool session_expected(struct capture_session *s, const struct gb_life *life)
{
	struct captured_process *p = session_process(s, life->pid);
	bool expected = life->changing;

	if (!p)
		return expected;
	if (life->changing) {
		p->removing = life->changing == RT_DELETE;
		p->adding = life->changing == RT_ADD;
	}
	if (!life->changing && p->settled && life->time > session_mapped_ns(p))
		expected = true; /* the last sign of its start */
	if (life->time > session_mapped_ns(p))
		p->settled = false;
	return expected;
}

bool session_may_have_mapped(struct capture_session *s, uint32_t pid)
{
	const struct captured_process *p = session_process(s, pid);

	return !p || !p->removing;
}

enum change session_kind_of_change(struct capture_session *s, uint32_t pid)
{
	struct captured_process *p = session_process(s, pid);
	bool adding = p && p->adding;

	if (p)
		p->adding = false; /* each is told before it is made */
	return adding ? CHANGE_ADDS : CHANGE_ANY;
}

/* --- layouts --------------------------------------------------------------- */

/* What was read last of a process that can be read no more: libraries have come and gone since, but its program lies
 * where it lay. */
static void keep_last(struct captured_process *p, struct process *process)
{
	if (!process)
		return;
	process_close(p->last);
	p->last = process;
}

/* What lay there before a change at this time, the first that is told in this pass; taken away from where it was. NULL:
 * not known. */
static struct process *take_before(struct capture_session *s, struct captured_process *p, uint64_t time)
{
	struct process **from = session_mapped_ns(p) > time ? &p->older : &p->process, *before = *from;

	*from = NULL;
	if (before && (before->mapped_end_ns > time || (from == &p->older && p->older_pass + 1 < s->pass.number))) {
		keep_last(p, before);
		before = NULL;
	}
	return before;
}

static void begin_layout(struct capture_session *s, struct captured_process *p, uint64_t time)
{
	struct process *before = p->torn ? NULL : take_before(s, p, time);

	if (p->torn)
		s->processes.torn--;
	p->torn = 0;
	keep_last(p, p->before);
	p->before = before;
	p->before_settled = p->settling;
	p->changed_pass = s->pass.number;
	p->reads = 0;
	p->layout++;
	p->changed = time;
	p->only_added = true;
}

static void read_mappings(struct capture_session *s, struct captured_process *p)
{
	struct process *process = NULL;

	p->reads++;
	if (!process_open_if_there(&process, p->pid) && session_is_another(s, p, process)) {
		process_close(process);
		process = NULL;
	}
	keep_last(p, p->process);
	session_set_process(s, p, process);
	session_drain_control(s); /* what has changed up to this look */
}

void session_change_layout(struct capture_session *s, uint32_t pid, uint64_t time, enum change change)
{
	struct captured_process *p = session_process(s, pid);

	if (!p)
		return;
	if (p->changed_pass != s->pass.number)
		begin_layout(s, p, time);
	p->only_added &= change == CHANGE_ADDS;
	if (p->torn) {
		p->torn = time;
		return;
	}
	p->settling = time;
	if (session_mapped_ns(p) > time)
		return; /* it was looked at after this change */
	if (p->reads < READS_MOST) {
		read_mappings(s, p);
		return;
	}
	s->processes.torn++;
	p->torn = time;
	p->settling = UINT64_MAX;
}

void session_mend_layouts(struct capture_session *s)
{
	if (!s->processes.torn)
		return;
	for (struct captured_process *p = s->processes.table; p; p = p->hh.next)
		if (p->torn && !p->ended)
			session_change_layout(s, p->pid, p->torn, CHANGE_ANY);
}

void session_change_program(struct capture_session *s, uint32_t pid, uint64_t time)
{
	struct captured_process *p = session_process(s, pid);

	if (!p)
		return;
	p->program_layout = p->layout;
	p->program_since = time;
}
