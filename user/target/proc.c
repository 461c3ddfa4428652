/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c - reading /proc without trusting it to hold still.
 */
#include "target/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/reader.h"

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h: flags, field 9 of /proc/PID/stat */

char *proc_read(int folder, const char *path, size_t most, size_t *size)
{
	size_t room = 4096, used = 0;
	char *data, *larger;
	ssize_t got = -1;
	int fd, error;

	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	data = malloc(room);
	while (data) {
		got = read(fd, data + used, room - used - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += got;
		if (used >= most) {
			used = most;
			got = 0;
			break;
		}
		if (used + 1 < room)
			continue;
		larger = realloc(data, room * 2);
		if (!larger) {
			got = -1;
			errno = ENOMEM;
			break;
		}
		data = larger;
		room *= 2;
	}
	error = errno;
	close(fd);
	if (got < 0) {
		free(data);
		errno = error;
		return NULL;
	}
	data[used] = '\0';
	if (size)
		*size = used;
	return data;
}

/* Fields 50 and 51 of the stat file; 0 where the kernel does not tell us. */
static int environment_place(int folder, const char *below, pid_t pid, uint64_t *start, uint64_t *end)
{
	unsigned long long from = 0, to = 0;
	char path[32], *text, *at;
	unsigned field = 2;

	snprintf(path, sizeof(path), "%sstat", below);
	text = reader_file(folder, path, pid, 4096, NULL); /* it has the right to know */
	if (!text)
		return -errno;
	at = strrchr(text, ')');
	while (at && field < 50 && (at = strchr(at + 1, ' ')))
		field++;
	if (!at || sscanf(at, "%llu %llu", &from, &to) != 2)
		to = from = 0;
	free(text);
	*start = from;
	*end = to;
	return 0;
}

char *proc_read_environment(int folder, const char *below, pid_t pid, size_t *size)
{
	char path[32], *text;
	uint64_t start = 0, end = 0;
	struct iovec from;
	ssize_t got;

	snprintf(path, sizeof(path), "%senviron", below);
	text = reader_file(folder, path, pid, ENVIRONMENT_MOST, size);
	if (text || errno != EACCES)
		return text;
	if (environment_place(folder, below, pid, &start, &end) || !start || end < start) {
		errno = EACCES;
		return NULL;
	}
	from = (struct iovec){ (void *)(uintptr_t)start,
			       end - start < ENVIRONMENT_MOST ? end - start : ENVIRONMENT_MOST };
	text = malloc(from.iov_len + 1);
	if (!text)
		return NULL;
	got = reader_memory(pid, &from, 1, text);
	if (got < 0) {
		free(text);
		errno = got == -ETIMEDOUT ? ETIMEDOUT : EACCES;
		return NULL;
	}
	text[got] = '\0';
	*size = got;
	return text;
}

int proc_stat_read(int folder, const char *path, struct proc_stat *stat)
{
	char *text = proc_read(folder, path, 4096, NULL), *rest;
	unsigned flags;
	unsigned long long start;
	int parent, fields;

	if (!text)
		return -errno;
	/* The name in parentheses may hold anything, parentheses too: what follows the last one is the kernel's. */
	rest = strrchr(text, ')');
	fields = rest ? sscanf(rest + 1,
			       " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu",
			       &stat->state, &parent, &flags, &stat->threads, &start)
		      : 0;
	free(text);
	if (fields != 5)
		return -ESRCH;
	stat->parent = parent;
	stat->kernel_thread = flags & PF_KTHREAD;
	stat->start_time = start;
	return 0;
}

const char *environment_value(const char *environment, size_t size, const char *name)
{
	size_t length = strlen(name);
	const char *at = environment, *end = environment + size;

	while (at < end) {
		size_t rest = strnlen(at, end - at);

		if (rest > length && at[length] == '=' && !memcmp(at, name, length))
			return at + length + 1;
		at += rest + 1;
	}
	return NULL;
}
