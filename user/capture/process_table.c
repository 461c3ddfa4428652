/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_table.c - the processes that are known, by number, and what was read of their mappings.
 */
#include <stdlib.h>

#include "capture/session.h"

struct captured_process *session_process(struct capture_session *s, uint32_t pid)
{
	struct captured_process *p;
	uint32_t key = pid;

	HASH_FIND_INT(s->processes.table, &key, p);
	return p;
}

uint64_t session_mapped_ns(const struct captured_process *p)
{
	return p->process ? p->process->mapped_ns : 0;
}

void session_look_again(struct capture_session *s, struct captured_process *p)
{
	if (p->older && p->older_pass == s->pass.number) {
		process_close(p->process);
	} else {
		process_close(p->older);
		p->older = p->process;
		p->older_pass = s->pass.number;
	}
	p->process = NULL;
}

void session_forget_layouts(struct capture_session *s, struct captured_process *p)
{
	s->processes.torn -= p->torn != 0;
	p->torn = 0;
	process_close(p->process);
	process_close(p->before);
	process_close(p->older);
	process_close(p->last);
	free(p->needed);
	p->process = p->before = p->older = p->last = NULL;
	p->needed = NULL;
	p->nneeded = 0;
}

void session_free_processes(struct capture_session *s)
{
	struct captured_process *p, *next;

	HASH_ITER (hh, s->processes.table, p, next) {
		HASH_DEL(s->processes.table, p);
		session_forget_layouts(s, p);
		free(p);
	}
}
