/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libraries.c - where programs of this machine find libraries: what the dynamic linker has in its cache (ldconfig(8)),
 * and the usual folders, for machines whose linker has none.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "target/target.h"
#include "util/array.h"
#include "util/files.h"

static const char *const folders[] = {
	"/usr/lib/" ARCH_TRIPLET,       "/usr/lib64",       "/usr/lib",       "/lib/" ARCH_TRIPLET, "/lib64", "/lib",
	"/usr/local/lib/" ARCH_TRIPLET, "/usr/local/lib64", "/usr/local/lib",
};

bool is_library_folder(const char *path, size_t length)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strlen(folders[i]) == length && !strncmp(folders[i], path, length))
			return true;
	return false;
}

struct search {
	bool (*wanted)(void *context, const char *name);
	void *context;
	struct library *found;
	size_t count, room, most;
	int err;
};

/* One file may have several names. */
static bool is_new(const struct search *s, const struct stat *file)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->found[i].device == file->st_dev && s->found[i].inode == file->st_ino)
			return false;
	return true;
}

static void take(struct search *s, const char *path)
{
	const char *name = path_base(path);
	struct stat file;
	char *copy;

	if (s->err || s->count == s->most || !name || !s->wanted(s->context, name) || stat(path, &file) ||
	    !S_ISREG(file.st_mode) || !is_new(s, &file))
		return;
	copy = realpath(path, NULL); /* as the kernel names it in whoever maps it */
	if (!copy || array_one_more(&s->found, &s->room, s->count, sizeof(*s->found))) {
		free(copy);
		s->err = -ENOMEM;
		return;
	}
	s->found[s->count++] = (struct library){
		.path = copy, .device = file.st_dev, .inode = file.st_ino, .size = file.st_size
	};
}

/* "	libm.so.6 (libc6,PROCESSOR) => /lib/TRIPLET/libm.so.6" */
static void look_in_cache(struct search *s)
{
	FILE *list = popen("/sbin/ldconfig -p 2>/dev/null", "re");
	char line[1024], *arrow;

	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		arrow = strstr(line, " => ");
		if (arrow && strstr(line, ARCH_CACHE_MARK))
			take(s, arrow + 4);
	}
	if (list)
		pclose(list);
}

static void look_in(struct search *s, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[512];

	while (dir && (entry = readdir(dir)))
		if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < (int)sizeof(path))
			take(s, path);
	if (dir)
		closedir(dir);
}

int libraries_find(bool (*wanted)(void *context, const char *name), void *context, size_t most, struct library **found,
		   size_t *count)
{
	struct search s = { .wanted = wanted, .context = context, .most = most };

	look_in_cache(&s);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		look_in(&s, folders[i]);
	*found = s.found;
	*count = s.count;
	return s.err;
}

void libraries_free(struct library *found, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(found[i].path);
	free(found);
}
