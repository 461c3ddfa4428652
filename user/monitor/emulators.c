/*
 * emulators.c - programs that translate others: valgrind's tools, qemu-user, and the like.
 *
 * A probe is a breakpoint in a process's memory. The processor stops at it and the kernel goes on from there. But who reads the code and translates it,
 * translates the breakpoint, too, and the program that it runs gets a SIGTRAP that nobody handles. A probe for everybody who maps a file is in such a process as
 * in any other, observed or not. So while one lives, probes for everybody are out, and calls are not counted: that is said, and put to account as a blind window.
 *
 * They are known by the names that the kernel gives them at exec (process_translates()), and held until the probes are out. That comes before they have mapped their
 * program's libraries, let alone run a function of theirs.
 */
#include "monitor/private.h"
#include "util/clock.h"
#include "util/log.h"

static void probes_come_out(struct monitor *m, pid_t pid, bool execed)
{
	char comm[TRANSLATOR_NAME];

	if (!translators_come(&m->translators, pid, comm) || !m->kernel)
		return;
	m->translators.since = clock_monotonic();
	if (execed)
		translators_hold(&m->translators, pid);
	attach_let_go(m->kernel, m->plan, &m->scope);
	translators_let_go(&m->translators);
	log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: all probes for everybody are taken out until it ends, and calls "
		 "meanwhile are not counted", pid, log_safe(comm));
}

void emulators_named(struct monitor *m, pid_t pid)
{
	probes_come_out(m, pid, true);
}

static void note_one(void *context, pid_t pid)
{
	probes_come_out(context, pid, false);
}

void emulators_find(struct monitor *m)
{
	processes_each(note_one, m);
}

int emulators_check(struct monitor *m)
{
	uint64_t blind;
	int err;

	if (!translators_gone(&m->translators))
		return 0;
	err = attach_put_back(m->kernel, m->plan, &m->scope);
	blind = clock_monotonic() - m->translators.since;
	m->late++;
	m->late_ns += blind;
	if (blind > m->late_longest)
		m->late_longest = blind;
	log_warn("probes are in again: for %.1f s calls were not counted", blind / 1e9);
	return err;
}
