/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * translator.c - programs that translate others: valgrind's tools, qemu-user, and the like.
 *
 * They read another program's code and run what they make of it, breakpoints included, which kill that program by a
 * SIGTRAP. They are known by the names of their files, from a list. One that is not on the list gets its SIGTRAP.
 *
 * Taking breakpoints out of a file takes the kernel some 10 to 50 ms, and qemu-user runs its program's code 20 ms after
 * its exec. So a translator that has just been exec'ed is held meanwhile, as a debugger would (ptrace): it has one
 * thread then, and gets no signal that anybody sees. If gaspbpf dies, the kernel lets it run on.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "target/reader.h"
#include "target/target.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

#define STOP_MS 50 /* a thread stops within less, unless it waits for a disk */

/* Patterns of /proc/PID/comm, which has 15 characters of the file's name. */
static const char *const names[] = {
	"valgrind", "valgrind.bin", ARCH_EMULATORS, "FEXInterpreter", "FEXLoader", "FEX", "pinbin", "drrun",
};

bool process_translates(pid_t pid, char comm[TRANSLATOR_NAME])
{
	char path[32], *text;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	text = read_file_at(-1, path, TRANSLATOR_NAME, NULL);
	if (!text)
		return false;
	text[strcspn(text, "\n")] = '\0';
	snprintf(comm, TRANSLATOR_NAME, "%s", text);
	free(text);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!fnmatch(names[i], comm, 0))
			return true;
	return false;
}

bool translators_come(struct translators *t, pid_t pid, char comm[TRANSLATOR_NAME])
{
	if (!process_translates(pid, comm))
		return false;
	for (size_t i = 0; i < t->count; i++)
		if (t->pids[i] == pid)
			return false;
	if (array_one_more(&t->pids, &t->room, t->count, sizeof(*t->pids)))
		return false;
	t->pids[t->count++] = pid;
	return t->count == 1;
}

int translator_hold_here(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		return -errno;
	ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	return 0;
}

void translators_hold(struct translators *t, pid_t pid)
{
	int err = t->held ? 0 : reader_hold(pid);

	if (!t->held && !err)
		t->held = pid;
	if (err && err != -ESRCH)
		log_warn("%d: cannot be held until the probes are out, as it is traced already, or ptrace is not "
			 "allowed here (%s): what it runs within the next 50 ms may "
			 "die of a breakpoint",
			 pid, strerror(-err));
}

/* Only what stands still can be let go. */
int translator_let_go_here(pid_t pid)
{
	int status, signal = 0;
	pid_t got = waitpid(pid, &status, WNOHANG | __WALL);

	if (!got)
		return 0;
	if (got == pid && WIFSTOPPED(status)) {
		if (status >> 16 != PTRACE_EVENT_STOP)
			signal = WSTOPSIG(status); /* it was on its way when it was held */
		ptrace(PTRACE_DETACH, pid, 0, (void *)(uintptr_t)signal);
	}
	return 1; /* or it has ended */
}

void translators_let_go(struct translators *t)
{
	for (int ms = 0; t->held && ms <= STOP_MS; ms++) {
		if (reader_let_go(t->held))
			t->held = 0;
		else if (ms < STOP_MS)
			usleep(1000);
	}
}

bool translators_gone(struct translators *t)
{
	size_t before = t->count;
	char comm[TRANSLATOR_NAME];

	if (t->held && reader_let_go(t->held))
		t->held = 0;

	for (size_t i = 0; i < t->count;) {
		if (process_translates(t->pids[i], comm))
			i++;
		else
			t->pids[i] = t->pids[--t->count];
	}
	return before && !t->count;
}

void processes_each(void (*take)(void *context, pid_t pid), void *context)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			take(context, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}
