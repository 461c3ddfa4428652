/*
 * emulators.c - programs that translate others: valgrind's tools, qemu-user, and the like.
 *
 * A probe is a breakpoint in a process's memory. The processor stops at it and the kernel goes on from there. But who reads the code and translates it,
 * translates the breakpoint, too, and the program that it runs gets a SIGTRAP that nobody handles. A probe for everybody who maps a file is in such a process as
 * in any other, observed or not. So while one lives, probes for everybody are out, and calls are not counted: that is said, and put to account as a blind window.
 *
 * They are known by the names that the kernel gives them at exec (process_translates()). That comes long before they have mapped their program's libraries, let
 * alone run a function of theirs.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "monitor/private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

void emulators_named(struct monitor *m, pid_t pid)
{
	char comm[TRANSLATOR_NAME];

	if (!process_translates(pid, comm))
		return;
	for (size_t i = 0; i < m->nemulators; i++)
		if (m->emulators[i] == pid)
			return;
	if (array_one_more(&m->emulators, &m->emulators_room, m->nemulators, sizeof(*m->emulators)))
		return;
	m->emulators[m->nemulators++] = pid;
	if (m->nemulators > 1 || !m->kernel)
		return;
	m->let_go_at = clock_monotonic();
	attach_let_go(m->kernel, m->plan, &m->scope);
	log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: all probes for everybody are taken out until it ends, and calls "
		 "meanwhile are not counted", pid, log_safe(comm));
}

void emulators_find(struct monitor *m)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			emulators_named(m, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

int emulators_check(struct monitor *m)
{
	size_t before = m->nemulators;
	char comm[TRANSLATOR_NAME];
	uint64_t blind;
	int err;

	for (size_t i = 0; i < m->nemulators;) {
		if (process_translates(m->emulators[i], comm))
			i++;
		else
			m->emulators[i] = m->emulators[--m->nemulators];
	}
	if (!before || m->nemulators)
		return 0;
	err = attach_put_back(m->kernel, m->plan, &m->scope);
	blind = clock_monotonic() - m->let_go_at;
	m->late++;
	m->late_ns += blind;
	if (blind > m->late_longest)
		m->late_longest = blind;
	log_warn("probes are in again: for %.1f s calls were not counted", blind / 1e9);
	return err;
}
