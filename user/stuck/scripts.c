/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scripts.c - where the threads are in scripts that they run.
 *
 * The interpreter's structures are read right after the last look, while the job runs on. A thread that has not run
 * until a further look is where it was. Of one that polls that cannot be told so; but in a call that the probes know to
 * have been in progress before and after, it was at one line of its script all the time.
 */
#include <errno.h>
#include <stdlib.h>

#include "stuck/private.h"
#include "util/array.h"
#include "util/clock.h"

static int read_process(struct stuck *stuck, const struct stuck_process *p)
{
	struct script_reader *reader = p->space ? script_reader_new(p->space, p->process) : NULL;
	int err = 0;

	for (size_t i = 0; reader && !err && i < stuck->last.count; i++) {
		const struct thread_look *look = &stuck->last.threads[i];
		struct stuck_script own = { .pid = look->pid, .tid = look->tid };

		if (look->pid != p->process->pid || look->torn)
			continue;
		script_take(reader, look, &own.script);
		own.until = clock_monotonic();
		err = own.script.count
			      ? array_one_more(&stuck->scripts, &stuck->scripts_room, stuck->nscripts, sizeof(own))
			      : 0;
		if (own.script.count && !err)
			stuck->scripts[stuck->nscripts++] = own;
		else
			script_free(&own.script);
	}
	script_reader_free(reader);
	return err;
}

/* Who has not run meanwhile? */
static int check_scripts(struct stuck *stuck)
{
	struct looks after;
	int err = take_looks(stuck, &after);

	for (size_t i = 0; !err && i < stuck->nscripts; i++) {
		struct stuck_script *own = &stuck->scripts[i];
		const struct thread_look *then = looks_find(&stuck->last, own->pid, own->tid),
					 *now = looks_find(&after, own->pid, own->tid);

		own->still = then && now && has_not_run(then, now);
	}
	looks_free(&after);
	return err;
}

int scripts_read(struct stuck *stuck)
{
	int err = 0;

	scripts_free(stuck);
	for (size_t i = 0; !err && i < stuck->nprocesses; i++)
		err = read_process(stuck, &stuck->processes[i]);
	/* Where calls alone are asked for, the probes tell of each whether it lasted; the shorter the look, the more
	 * do. */
	return !err && stuck->nscripts && !stuck->bare ? check_scripts(stuck) : err;
}

void scripts_free(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nscripts; i++)
		script_free(&stuck->scripts[i].script);
	free(stuck->scripts);
	stuck->scripts = NULL;
	stuck->nscripts = stuck->scripts_room = 0;
}

const struct stuck_script *script_of(const struct stuck *stuck, const struct thread_look *look)
{
	for (size_t i = 0; i < stuck->nscripts; i++)
		if (stuck->scripts[i].pid == look->pid && stuck->scripts[i].tid == look->tid)
			return &stuck->scripts[i];
	return NULL;
}

uint64_t stuck_script_until(const struct stuck *stuck, pid_t pid, pid_t tid)
{
	for (size_t i = 0; i < stuck->nscripts; i++)
		if (stuck->scripts[i].pid == pid && stuck->scripts[i].tid == tid)
			return stuck->scripts[i].until;
	return 0;
}
