/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_serve.c - the process that reads what may block: the other side of reader.c.
 *
 * It knows nothing and keeps nothing. It can do what its system calls below can do, with those capabilities that
 * reading a target takes, and it ends with who asked for it: at once where the kernel lets it, else as soon as what it
 * waits for comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/proc.h"
#include "target/reader.h"
#include "target/target.h"
#include "util/call_filter.h"
#include "util/messages.h"
#include "util/privileges.h"

/* --- its rights --------------------------------------------------------- */

/* Whatever else it tries ends it. */
static bool filter_calls(void)
{
	static const struct call_rule rules[] = { READER_RULES };

	return calls_allow_only(rules, sizeof(rules) / sizeof(rules[0]), true);
}

/* --- its work ----------------------------------------------------------- */

static int64_t read_memory(const struct reader_request *request, char *memory)
{
	uint64_t size = 0;
	struct iovec local;
	ssize_t got;

	if (request->count > READER_PIECES)
		return -EINVAL;
	for (size_t i = 0; i < request->count; i++)
		if (__builtin_add_overflow(size, request->pieces[i].iov_len, &size) || size > READER_ROOM)
			return -E2BIG;
	local = (struct iovec){ memory, size };
	got = process_vm_readv(request->pid, &local, 1, request->pieces, request->count, 0);
	return got < 0 ? -errno : got;
}

static int64_t read_file(const struct reader_request *request, int folder, char *memory)
{
	size_t size, most = request->most < READER_ROOM ? request->most : READER_ROOM;
	char *text = proc_read(folder, request->path, most, &size);

	if (!text)
		return -errno;
	memcpy(memory, text, size);
	free(text);
	return (int64_t)size;
}

static int64_t read_link(const struct reader_request *request, int folder, char *memory)
{
	ssize_t length = readlinkat(folder, request->path, memory, PATH_MAX);

	return length < 0 ? -errno : length;
}

static int64_t read_stat(const struct reader_request *request, char *memory)
{
	struct stat found;

	if (stat(request->path, &found))
		return -errno;
	memcpy(memory, &found, sizeof(found));
	return sizeof(found);
}

static int64_t answer(const struct reader_request *request, int folder, char *memory, int *opened)
{
	const struct process owner = { .proc_fd = folder, .uid = request->uid, .gid = request->gid };

	if (request->what == READ_MEMORY)
		return read_memory(request, memory);
	if (request->what == READ_FILE)
		return read_file(request, folder, memory);
	if (request->what == READ_LINK)
		return read_link(request, folder, memory);
	if (request->what == READ_STAT)
		return read_stat(request, memory);
	*opened = file_open_here(request->way, folder, request->path, &owner);
	return *opened < 0 ? *opened : 0;
}

/* The memory in common comes first. */
static char *take_memory(int socket)
{
	struct reader_answer first;
	char *memory;
	int file;

	if (pass_receive(socket, &first, sizeof(first), &file) <= 0 || file < 0)
		return MAP_FAILED;
	memory = mmap(NULL, READER_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return memory;
}

int reader_answers(int socket)
{
	static struct reader_request request;
	struct reader_answer result = { 0 };
	char *memory = take_memory(socket);

	prctl(PR_SET_NAME, READER_NAME);
	if (memory == MAP_FAILED || !keep_privileges_to_read(false) || !filter_calls())
		return 1;
	if (pass_send(socket, &result, sizeof(result), -1) <= 0) /* it can be asked */
		return 0;
	for (;;) {
		int folder, opened = -1;
		ssize_t got = pass_receive(socket, &request, sizeof(request), &folder);

		if (got <= 0)
			return 0;
		request.path[sizeof(request.path) - 1] = '\0';
		result.result = answer(&request, folder, memory, &opened);
		if (folder >= 0)
			close(folder);
		if (pass_send(socket, &result, sizeof(result), opened) <= 0)
			return 0;
		if (opened >= 0)
			close(opened);
	}
}
