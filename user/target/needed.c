/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * needed.c - where the dynamic linker would find the libraries that a file names (ld.so(8)), for a program that does
 * not run yet.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/target.h"

#define ORIGIN "$ORIGIN"
#define ORIGIN_BRACED "${ORIGIN}"

/* "$ORIGIN/../lib": beside the file itself. Other words with a $ are of no use here: the folder is left out. */
static bool put_folder(char *path, const char *folder, size_t length, const char *origin)
{
	const char *end = strrchr(origin, '/');
	size_t word = 0;
	int used;

	if (length >= strlen(ORIGIN) && !strncmp(folder, ORIGIN, strlen(ORIGIN)))
		word = strlen(ORIGIN);
	else if (length >= strlen(ORIGIN_BRACED) && !strncmp(folder, ORIGIN_BRACED, strlen(ORIGIN_BRACED)))
		word = strlen(ORIGIN_BRACED);
	if (memchr(folder + word, '$', length - word) || (word && !end))
		return false;
	used = snprintf(path, PATH_MAX, "%.*s%.*s", word ? (int)(end - origin) : 0, origin, (int)(length - word),
			folder + word);
	return used < PATH_MAX;
}

/* Whoever has given up his rights asks the one who reads for him. */
static bool is_file(const char *path)
{
	struct stat file;
	char *absolute;
	int fd;

	if (!stat(path, &file))
		return S_ISREG(file.st_mode);
	if (errno != EACCES)
		return false;
	absolute = file_absolute(path);
	fd = absolute ? file_open_named(absolute) : -ENOENT;
	free(absolute);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* In a list of folders with ':' between them; one without a name is where we are. */
static char *find_in(const char *list, const char *name, const char *origin)
{
	char folder[PATH_MAX], *path;

	for (const char *at = list, *end; at && *list; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		if (!put_folder(folder, at, (size_t)(end - at), origin))
			continue;
		if (asprintf(&path, "%s/%s", *folder ? folder : ".", name) < 0)
			return NULL;
		if (is_file(path))
			return path;
		free(path);
	}
	return NULL;
}

static bool is_named(void *context, const char *name)
{
	return !strcmp(context, name);
}

static char *find_everywhere(const char *name)
{
	struct library *found = NULL;
	size_t count = 0;
	char *path = NULL;

	if (!libraries_find(is_named, (void *)name, 1, &found, &count) && count)
		path = strdup(found[0].path);
	libraries_free(found, count);
	return path;
}

char *library_find_needed(const struct image *image, const char *name)
{
	const char *told = getenv("LD_LIBRARY_PATH"), *own = image->runpath;
	char *path = NULL;

	if (strchr(name, '/'))
		return is_file(name) ? strdup(name) : NULL;
	if (own && image->rpath)
		path = find_in(own, name, image->path);
	if (!path && told)
		path = find_in(told, name, image->path);
	if (!path && own && !image->rpath)
		path = find_in(own, name, image->path);
	return path ?: find_everywhere(name);
}
