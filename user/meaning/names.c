/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - the words for roles and meanings, in models and in recordings. */
#include <string.h>

#include "meaning/meaning.h"

static const char *const roles[ROLES + 1] = {
	[ROLE_FUNCTION] = "function",
	[ROLE_BARRIER] = "barrier",
	[ROLE_NOTIFY] = "notify",
	[ROLE_WAIT] = "wait",
	[ROLE_FENCE] = "fence",
	[ROLE_ACQUIRE] = "acquire",
	[ROLE_TRY] = "try",
	[ROLE_RELEASE] = "release",
	[ROLE_GET] = "get",
	[ROLE_PUT] = "put",
	[ROLE_COPY] = "copy",
	[ROLE_SET] = "set",
	[ROLE_COLLECTIVE] = "collective",
	[ROLE_SEND] = "send",
	[ROLE_RECV] = "recv",
	[ROLE_EXCHANGE] = "exchange",
	[ROLE_ALLOC] = "alloc",
	[ROLE_REALLOC] = "realloc",
	[ROLE_FREE] = "free",
	[ROLE_TASK] = "task",
	[ROLE_TRANSFER] = "transfer",
	[ROLE_INIT] = "init",
	[ROLE_EXIT] = "exit",
	[ROLE_USER] = "user",
	[ROLE_TEST] = "test",
	[ROLE_ATOMIC] = "atomic",
	[ROLE_COMM] = "comm",
	[ROLE_WINDOW] = "window",
	[ROLE_EVENT] = "event",
	[ROLE_SUBMIT] = "submit",
	[ROLE_READY] = "ready",
	[ROLE_DONE] = "done",
	[ROLE_READ] = "read",
	[ROLE_WRITE] = "write",
	[ROLE_IO] = "io",
};

static const char *const meanings[MEANINGS + 1] = {
	[MEANING_PLAIN] = "plain",     [MEANING_BYTES] = "bytes",   [MEANING_COUNT] = "count",
	[MEANING_SIZE] = "size",       [MEANING_TYPE] = "type",     [MEANING_PEER] = "peer",
	[MEANING_ROOT] = "root",       [MEANING_TAG] = "tag",       [MEANING_COMM] = "comm",
	[MEANING_REQUEST] = "request", [MEANING_STATUS] = "status", [MEANING_LOCK] = "lock",
	[MEANING_BARRIER] = "barrier", [MEANING_PTR] = "ptr",       [MEANING_NAME] = "name",
	[MEANING_OP] = "op",           [MEANING_NAMED] = "named",   [MEANING_TASK] = "task",
	[MEANING_WORKER] = "worker",   [MEANING_NODE] = "node",     [MEANING_SELF] = "self",
	[MEANING_DONE] = "done",       [MEANING_ERROR] = "error",   [MEANING_INDEX] = "index",
	[MEANING_KIND] = "kind",       [MEANING_DEVICE] = "device", [MEANING_INTERNAL] = "internal",
	[MEANING_ID] = "id",           [MEANING_FORMAT] = "format", [MEANING_ON] = "on",
	[MEANING_FILE] = "file",       [MEANING_LINE] = "line",     [MEANING_COLUMN] = "column",
	[MEANING_FD] = "fd",           [MEANING_CLOSED] = "closed", [MEANING_OFFSET] = "offset",
	[MEANING_PATH] = "path",       [MEANING_FOLDER] = "folder", [MEANING_COLOR] = "color",
};

static int find(const char *const *names, int count, const char *name)
{
	for (int i = 0; name && i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *role_name(enum role role)
{
	return (unsigned)role < ROLES ? roles[role] : "unknown";
}

const char *meaning_name(enum meaning meaning)
{
	return (unsigned)meaning < MEANINGS ? meanings[meaning] : "unknown";
}

int role_from_name(const char *name)
{
	return find(roles, ROLES, name);
}

int meaning_from_name(const char *name)
{
	return find(meanings, MEANINGS, name);
}
