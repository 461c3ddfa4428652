/* names.c - the words of the model language that the rest of gaspbpf sees too. */
#include <string.h>

#include "model/parts.h"

static const char *const roles[ROLES + 1] = {
	[ROLE_FUNCTION] = "function", [ROLE_BARRIER] = "barrier", [ROLE_NOTIFY] = "notify", [ROLE_WAIT] = "wait",
	[ROLE_FENCE] = "fence", [ROLE_ACQUIRE] = "acquire", [ROLE_TRY] = "try", [ROLE_RELEASE] = "release",
	[ROLE_GET] = "get", [ROLE_PUT] = "put", [ROLE_COPY] = "copy", [ROLE_SET] = "set",
	[ROLE_COLLECTIVE] = "collective", [ROLE_SEND] = "send", [ROLE_RECV] = "recv", [ROLE_EXCHANGE] = "exchange",
	[ROLE_ALLOC] = "alloc", [ROLE_REALLOC] = "realloc", [ROLE_FREE] = "free", [ROLE_TASK] = "task",
	[ROLE_TRANSFER] = "transfer", [ROLE_INIT] = "init", [ROLE_EXIT] = "exit", [ROLE_USER] = "user",
	[ROLE_TEST] = "test", [ROLE_ATOMIC] = "atomic", [ROLE_COMM] = "comm", [ROLE_WINDOW] = "window",
	[ROLE_EVENT] = "event", [ROLE_SUBMIT] = "submit", [ROLE_READY] = "ready", [ROLE_DONE] = "done",
};

static const char *const meanings[MEANINGS + 1] = {
	[MEANING_PLAIN] = "plain", [MEANING_BYTES] = "bytes", [MEANING_COUNT] = "count", [MEANING_SIZE] = "size",
	[MEANING_TYPE] = "type", [MEANING_PEER] = "peer", [MEANING_ROOT] = "root", [MEANING_TAG] = "tag",
	[MEANING_COMM] = "comm", [MEANING_REQUEST] = "request", [MEANING_STATUS] = "status", [MEANING_LOCK] = "lock",
	[MEANING_BARRIER] = "barrier", [MEANING_PTR] = "ptr", [MEANING_NAME] = "name", [MEANING_OP] = "op",
	[MEANING_NAMED] = "named", [MEANING_TASK] = "task", [MEANING_WORKER] = "worker", [MEANING_NODE] = "node",
	[MEANING_SELF] = "self", [MEANING_DONE] = "done", [MEANING_ERROR] = "error", [MEANING_INDEX] = "index",
	[MEANING_KIND] = "kind",
	[MEANING_DEVICE] = "device", [MEANING_INTERNAL] = "internal",
	[MEANING_ID] = "id", [MEANING_FORMAT] = "format", [MEANING_ON] = "on", [MEANING_FILE] = "file",
	[MEANING_LINE] = "line", [MEANING_COLUMN] = "column",
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

/* Edit distance, up to 3; words are short here. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[33];

	if (na > 32 || nb > 32)
		return 4;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned change = corner + (a[i - 1] != b[j - 1]);
			unsigned best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			corner = row[j];
			row[j] = change < best ? change : best;
		}
	}
	return row[nb];
}

const char *name_nearest(const char *word, size_t length, const char *const *names)
{
	const char *best = NULL;
	unsigned least = length < 4 ? 2 : 3;

	for (; *names; names++) {
		unsigned d = distance(word, length, *names, strlen(*names));

		if (d < least) {
			least = d;
			best = *names;
		}
	}
	return best;
}

/* A '*' is retried from its last place only, so the time is bounded by the product of the lengths. */
bool name_matches(const char *glob, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			retry = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

static bool any_matches(char *const *globs, const char *soname, const char *basename)
{
	for (; *globs; globs++)
		if ((soname && name_matches(*globs, soname)) || (basename && name_matches(*globs, basename)))
			return true;
	return false;
}

bool model_matches_file(const struct model *model, const char *soname, const char *basename)
{
	return any_matches(model->library, soname, basename);
}

bool model_wraps_in_file(const struct model *model, const char *soname, const char *basename)
{
	return model->wrapper && any_matches(model->wrapper, soname, basename);
}

bool model_runtime_has_file(const struct model *model, const char *soname, const char *basename)
{
	return any_matches(model->library, soname, basename) || (model->parts && any_matches(model->parts, soname, basename));
}
