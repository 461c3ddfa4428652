/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name.c - names of dumps: always a new file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flight/private.h"
#include "util/files.h"
#include "util/log.h"

#define TRIES 10000

const char *flight_set_path(struct flight_options *options, const char *path)
{
	size_t length = strlen(path);
	bool unseen = access(path, F_OK) && errno == EACCES;

	options->path = path;
	options->into_folder = path_is_folder(path); /* asked now: who makes dumps may not see it any more (keeper.h) */
	if (options->into_folder || unseen || (length > 5 && !strcmp(path + length - 5, ".gasp")))
		return NULL;
	return "a dump is a recording: use a folder, or a name that ends in .gasp; 'gaspbpf export' makes the others "
	       "of it";
}

struct name {
	char *text;
	size_t used, room; /* used >= room: too long */
};

static void put(struct name *name, const char *text)
{
	size_t length = strlen(text);

	if (name->used + length < name->room)
		memcpy(name->text + name->used, text, length + 1);
	name->used += length;
}

static void put_number(struct name *name, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	put(name, text);
}

/* %n, %t, %w and %%; anything else stands for itself. *numbered: there was a %n. */
static void expand(struct name *name, const char *pattern, unsigned number, const char *word, bool *numbered)
{
	time_t now = time(NULL);
	char text[32], one[2] = "";
	struct tm when;

	for (; *pattern; pattern++) {
		char kind = *pattern == '%' ? pattern[1] : 0;

		if (kind == 'n') {
			put_number(name, number);
			*numbered = true;
		} else if (kind == 't' && gmtime_r(&now, &when) &&
			   strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &when)) {
			put(name, text);
		} else if (kind == 'w') {
			put(name, word);
		} else if (kind == '%') {
			put(name, "%");
		} else {
			one[0] = *pattern;
			put(name, one);
			continue;
		}
		pattern++;
	}
}

static bool make_name(const struct flight_options *options, unsigned number, const char *word, char result[PATH_MAX])
{
	struct name name = { result, 0, PATH_MAX };
	char stem[PATH_MAX];
	const char *path = options->path;
	bool numbered = false;
	size_t length = path ? strlen(path) : 0;

	if (!path || options->into_folder) {
		put(&name, path ?: "");
		if (length && path[length - 1] != '/')
			put(&name, "/");
		expand(&name, "flight-%t-%n.gasp", number, word, &numbered);
		return name.used < PATH_MAX;
	}
	if (length >= PATH_MAX || length < 5)
		return false;
	memcpy(stem, path, length - 5); /* .gasp */
	stem[length - 5] = '\0';
	expand(&name, stem, number, word, &numbered);
	if (!numbered) {
		put(&name, "-");
		put_number(&name, number);
	}
	put(&name, ".gasp");
	return name.used < PATH_MAX;
}

int flight_create(struct flight *f, const char *word, char path[PATH_MAX])
{
	for (int i = 0; i < TRIES; i++) {
		int fd;

		if (!make_name(f->options, ++f->number, word, path)) {
			log_error("-o %s: the name is too long for a dump: give a shorter one",
				  log_safe(f->options->path ?: "."));
			return -ENAMETOOLONG;
		}
		fd = file_create_new(path, f->caller);
		if (fd != -EEXIST)
			return fd;
	}
	log_error("%s: it and the %d before it are there already, and a dump never writes over a file: give another "
		  "folder or name",
		  log_safe(path), TRIES);
	return -EEXIST;
}
