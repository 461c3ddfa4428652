/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * translators.c - programs that translate others (observe/translators.c): what the monitor has to do while one lives.
 */
#include "monitor/private.h"
#include "util/log.h"

static void probes_come_out(struct monitor *m, pid_t pid, bool execed)
{
	char comm[TRANSLATOR_NAME];

	if (translators_take_out(&m->translators, m->kernel, m->plan, &m->scope, pid, execed, comm))
		log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: all "
			 "probes for everybody are taken out until it ends, and calls "
			 "meanwhile are not counted",
			 pid, log_safe(comm));
}

void translators_named(struct monitor *m, pid_t pid)
{
	probes_come_out(m, pid, true);
}

static void note_one(void *context, pid_t pid)
{
	probes_come_out(context, pid, false);
}

void translators_look(struct monitor *m)
{
	processes_each(note_one, m);
}

int translators_watch(struct monitor *m)
{
	uint64_t blind;
	int err;

	if (!translators_put_back(&m->translators, m->kernel, m->plan, &m->scope, &blind, &err))
		return 0;
	m->late++;
	m->late_ns += blind;
	if (blind > m->late_longest)
		m->late_longest = blind;
	log_warn("probes are in again: for %.1f s calls were not counted", blind / 1e9);
	return err;
}
