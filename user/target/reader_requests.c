/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_requests.c - what is asked of a reader (reader.c), or done by this process where it cannot have one.
 */
#include "target/reader_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target/proc.h"
#include "target/target.h"

ssize_t reader_memory(pid_t pid, const struct iovec *pieces, size_t count, void *bytes)
{
	struct reader_request request;
	size_t all = 0;
	int64_t got;
	int opened;

	if (count > READER_PIECES)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		all += pieces[i].iov_len;
	if (all > READER_ROOM)
		return -E2BIG;
	if (!reader_possible()) {
		struct iovec local = { bytes, all };

		got = process_vm_readv(pid, &local, 1, pieces, count, 0);
		return got < 0 ? -errno : got;
	}
	request.what = READ_MEMORY;
	request.pid = pid;
	request.count = (uint32_t)count;
	memcpy(request.pieces, pieces, count * sizeof(*pieces));
	reader_begin();
	got = reader_ask(&request, offsetof(struct reader_request, pieces) + count * sizeof(*pieces), -1, &opened);
	if (got > (int64_t)all)
		got = -EIO;
	if (got > 0)
		memcpy(bytes, reader_answer(), got);
	reader_finish(got);
	return got;
}

/* -ENAMETOOLONG: the path is. */
static int put_path(struct reader_request *request, const char *path)
{
	size_t length = strlen(path);

	if (length >= sizeof(request->path))
		return -ENAMETOOLONG;
	memcpy(request->path, path, length + 1);
	return (int)(offsetof(struct reader_request, path) + length + 1);
}

char *reader_file(int folder, const char *path, pid_t pid, size_t most, size_t *size)
{
	struct reader_request request = { .what = READ_FILE, .pid = pid, .most = most };
	int length = put_path(&request, path), opened;
	char *text = NULL;
	int64_t got;

	if (!reader_possible())
		return proc_read(folder, path, most, size);
	reader_begin();
	got = length < 0 ? length : reader_ask(&request, length, folder, &opened);
	if (got > (int64_t)most || got > READER_ROOM)
		got = -EIO;
	if (got >= 0)
		text = malloc(got + 1);
	if (text) {
		memcpy(text, reader_answer(), got);
		text[got] = '\0';
	}
	reader_finish(got);
	if (size && text)
		*size = got;
	if (!text)
		errno = got < 0 ? (int)-got : ENOMEM;
	return text;
}

ssize_t reader_link(int folder, const char *name, pid_t pid, char *text, size_t room)
{
	struct reader_request request = { .what = READ_LINK, .pid = pid };
	int length = put_path(&request, name), opened;
	int64_t got;

	if (!reader_possible()) {
		got = readlinkat(folder, name, text, room);
		got = got < 0 ? -errno : got;
	} else {
		reader_begin();
		got = length < 0 ? length : reader_ask(&request, length, folder, &opened);
		if (got > 0 && got < (int64_t)room)
			memcpy(text, reader_answer(), got);
		reader_finish(got);
	}
	if (got >= (int64_t)room)
		return -ENAMETOOLONG;
	if (got >= 0)
		text[got] = '\0';
	return got;
}

int reader_stat(const char *path, pid_t pid, struct stat *found)
{
	struct reader_request request = { .what = READ_STAT, .pid = pid };
	int length = put_path(&request, path), opened;
	int64_t got;

	if (!reader_possible())
		return stat(path, found) ? -errno : 0;
	reader_begin();
	got = length < 0 ? length : reader_ask(&request, length, -1, &opened);
	if (got == sizeof(*found))
		memcpy(found, reader_answer(), sizeof(*found));
	reader_finish(got);
	return got == sizeof(*found) ? 0 : got < 0 ? (int)got : -EIO;
}

int reader_open(enum reader_way way, int folder, const char *path, const struct process *owner)
{
	struct reader_request request = {
		.what = OPEN_FILE, .pid = owner->pid, .way = way, .uid = owner->uid, .gid = owner->gid
	};
	int length = put_path(&request, path), opened = -1;
	int64_t got;

	if (!reader_possible())
		return file_open_here(way, folder, path, owner);
	reader_begin();
	got = length < 0 ? length : reader_ask(&request, length, folder, &opened);
	reader_finish(0);
	if (got < 0 && opened >= 0)
		close(opened);
	if (got < 0)
		return (int)got;
	return opened < 0 ? -EMFILE : opened;
}

/* --- holding -------------------------------------------------------------- */

int reader_hold(pid_t pid)
{
	int nothing;

	return reader_possible()
		       ? (int)reader_ask_starter((struct starter_request){ .what = HOLD_TASK, .pid = pid }, &nothing)
		       : translator_hold_here(pid);
}

int reader_let_go(pid_t pid)
{
	int nothing;

	return reader_possible()
		       ? (int)reader_ask_starter((struct starter_request){ .what = LET_TASK_GO, .pid = pid }, &nothing)
		       : translator_let_go_here(pid);
}

/* --- threads -------------------------------------------------------------- */

int64_t reader_robust_list(pid_t tid)
{
	int nothing;

	return reader_possible()
		       ? reader_ask_starter((struct starter_request){ .what = ROBUST_LIST, .pid = tid }, &nothing)
		       : robust_list_here(tid);
}

/* --- samples -------------------------------------------------------------- */

int reader_sampler(pid_t tid, uint64_t registers, uint32_t stack)
{
	int64_t result;
	int came;

	if (!reader_possible())
		return -EPERM;
	result = reader_ask_starter(
		(struct starter_request){ .what = OPEN_SAMPLER, .pid = tid, .registers = registers, .stack = stack },
		&came);
	if (result < 0 && came >= 0)
		close(came);
	return result < 0 ? (int)result : came < 0 ? -EMFILE : came;
}
