/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descendants.c - the ranks below a launcher.
 *
 * What a launcher is called is no matter of ours: it is told from its ranks by the environment. A launcher
 * gives each process it starts a variable with its rank and has none itself, so a rank is a process below it
 * that has one of the rank variables where the launcher has not. A launcher that was itself started by another one
 * (inside a batch script, say) may have the outer one's variable: that one then does not count.
 */
#include "target/target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/proc.h"
#include "util/array.h"
#include "util/log.h"

#define GENERATIONS_MOST 64
#define RANK_VARIABLES 64 /* names looked for at most: one bit each */

struct relative {
	pid_t parent, pid;
	bool seen;
};

struct family {
	struct relative *members; /* in the order of their parents once read */
	size_t count, room;
};

static int by_parent(const void *left, const void *right)
{
	const struct relative *a = left, *b = right;

	return a->parent < b->parent ? -1 : a->parent > b->parent;
}

static int by_pid(const void *left, const void *right)
{
	const pid_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int family_add(struct family *family, pid_t pid, pid_t parent)
{
	if (array_one_more(&family->members, &family->room, family->count, sizeof(*family->members)))
		return -ENOMEM;
	family->members[family->count++] = (struct relative){ parent, pid, false };
	return 0;
}

/* All processes of the machine with their parents. */
static int family_read(struct family *family, DIR *proc)
{
	struct dirent *entry;
	int error = 0;

	while (!error && (entry = readdir(proc))) {
		char path[sizeof(entry->d_name) + 8];
		struct proc_stat stat;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/stat", entry->d_name);
		if (!proc_stat_read(dirfd(proc), path, &stat))
			error = family_add(family, atoi(entry->d_name), stat.parent);
	}
	if (family->count)
		qsort(family->members, family->count, sizeof(*family->members), by_parent);
	return error;
}

/* The first member with this parent, or where it would stand. */
static size_t first_child(const struct family *family, pid_t parent)
{
	size_t low = 0, high = family->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (family->members[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Fills pids[] with all processes below pid, generation by generation, and returns how many. The list was not read
 * at one instant: a pid that was used again may close a ring, so nobody is taken twice.
 */
static size_t family_below(const struct family *family, pid_t pid, pid_t *pids)
{
	size_t used = 0, next = 0;

	for (;;) {
		for (size_t i = first_child(family, pid); i < family->count; i++) {
			struct relative *member = &family->members[i];

			if (member->parent != pid)
				break;
			if (!member->seen)
				pids[used++] = member->pid;
			member->seen = true;
		}
		if (next == used)
			return used;
		pid = pids[next++];
	}
}

pid_t process_parent(pid_t pid)
{
	struct proc_stat stat;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return proc_stat_read(AT_FDCWD, path, &stat) ? 0 : stat.parent;
}

size_t process_lineage(pid_t pid, struct process_identity *of, size_t room)
{
	struct proc_stat stat;
	size_t count = 0;
	char path[32];

	for (; pid > 1 && count < room; pid = stat.parent) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (proc_stat_read(AT_FDCWD, path, &stat))
			break;
		of[count++] = (struct process_identity){ pid, stat.start_time };
	}
	return count;
}

/* Which of the variables this process has, a bit each; 0 also where its environment cannot be read. */
static uint64_t variables_of(int proc, pid_t pid, const char *const *rank_env)
{
	char below[16], *environment;
	uint64_t has = 0;
	size_t size;

	snprintf(below, sizeof(below), "%d/", pid);
	environment = proc_read_environment(proc, below, pid, &size);
	if (!environment)
		return 0;
	for (size_t i = 0; i < RANK_VARIABLES && rank_env[i]; i++)
		if (environment_value(environment, size, rank_env[i]))
			has |= 1ull << i;
	free(environment);
	return has;
}

/* Keeps those that have a variable which pid has not; returns how many. */
static size_t keep_ranks(int proc, pid_t pid, const char *const *rank_env, pid_t *pids, size_t count)
{
	uint64_t own = variables_of(proc, pid, rank_env);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (pids[i] != pid && (variables_of(proc, pids[i], rank_env) & ~own))
			pids[kept++] = pids[i];
	return kept;
}

int process_descendants(pid_t pid, const char *const *rank_env, pid_t **pids, size_t *count)
{
	struct family family = { 0 };
	DIR *proc = opendir("/proc");
	pid_t *found;
	size_t used;
	int error;

	*pids = NULL;
	*count = 0;
	if (!proc) {
		error = -errno;
		log_error("/proc: cannot be read: %s: look at its rights, and at the limits (ulimit -a)",
			  strerror(-error));
		return error;
	}
	error = family_read(&family, proc);
	found = error ? NULL : calloc(family.count + 1, sizeof(*found));
	if (found) {
		used = family_below(&family, pid, found);
		if (rank_env)
			used = keep_ranks(dirfd(proc), pid, rank_env, found, used);
		qsort(found, used, sizeof(*found), by_pid);
		*pids = found;
		*count = used;
	} else if (!error) {
		error = -ENOMEM;
	}
	free(family.members);
	closedir(proc);
	return error;
}

bool process_descends(pid_t pid, pid_t from)
{
	for (unsigned generation = 0; pid > 1 && generation < GENERATIONS_MOST; generation++) {
		struct proc_stat stat;
		char path[32];

		if (pid == from)
			return true;
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (proc_stat_read(AT_FDCWD, path, &stat))
			return false;
		pid = stat.parent;
	}
	return false;
}
