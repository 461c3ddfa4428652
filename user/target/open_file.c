/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_file.c - opening files that a target chose.
 *
 * A name in a target's hands may lead anywhere: to a FIFO (opening it waits for ever), a device (opening it may do
 * something), out of the target's root by a symbolic link. So a file is first taken by O_PATH, which
 * touches nothing, must prove to be a regular file, and only then is opened for reading. All of that may wait for a
 * file system's server, so that files of a target are opened by the reader (reader.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/image_private.h"
#include "target/reader.h"

#define LINKS_MOST 40    /* as the kernel has it */
#define STEPS_MOST 20000 /* who makes a way longer than that means no good */

/* Reads with the rights of the file's user: a file server may not trust root, a FUSE mount shows itself to its owner
 * only. */
static int open_as(const char *path, const struct process *owner)
{
	gid_t gid = setfsgid(owner->gid);
	uid_t uid = setfsuid(owner->uid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = errno;

	setfsuid(uid);
	setfsgid(gid);
	errno = error;
	return fd;
}

/* Turns an O_PATH descriptor into one for reading, and closes it. */
static int open_for_reading(int found, const struct process *owner)
{
	char path[32];
	struct stat status;
	int fd = -1, error;

	if (fstat(found, &status)) {
		error = -errno;
	} else if (!S_ISREG(status.st_mode)) {
		error = -ENOEXEC;
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && owner && (errno == EACCES || errno == EPERM))
			fd = open_as(path, owner);
		error = fd < 0 ? -errno : 0;
	}
	close(found);
	return error ? error : fd;
}

/* --- without openat2 --------------------------------------------------- */

/*
 * A service of systemd may not call openat2 (RestrictSUIDSGID, and so DynamicUser: its filter cannot see with which
 * rights a file would be made). Then the way is gone step by step. No step follows a link; what a link says is put in
 * front of the rest of the way, and begins at `root` where it is absolute. "..", too, begins anew at `root`, with what
 * is known to hold no links: so nothing leads out.
 */
struct walk {
	int root, at; /* at: where it is, O_PATH */
	unsigned steps, links;
	char done[PATH_MAX];     /* the way from root to there: "/usr/lib" */
	char rest[2 * PATH_MAX]; /* what is still to go */
};

static int step_to(struct walk *walk, const char *name, int flags)
{
	int fd = ++walk->steps > STEPS_MOST ? -1 : openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | flags);

	if (walk->steps > STEPS_MOST)
		return -ELOOP;
	if (fd < 0)
		return -errno;
	close(walk->at);
	walk->at = fd;
	return 0;
}

static int go_to_root(struct walk *walk)
{
	int fd = fcntl(walk->root, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	close(walk->at);
	walk->at = fd;
	return 0;
}

/* Again from the root, one name less. */
static int step_up(struct walk *walk)
{
	char way[PATH_MAX], *name, *save, *last = strrchr(walk->done, '/');
	int err = go_to_root(walk);

	if (last)
		*last = 0;
	strcpy(way, walk->done);
	for (name = strtok_r(way, "/", &save); !err && name; name = strtok_r(NULL, "/", &save))
		err = step_to(walk, name, O_DIRECTORY);
	return err;
}

/* Where it stands is a link, and its way goes on from the folder that holds it. */
static int follow_link(struct walk *walk)
{
	char target[PATH_MAX], *rest;
	ssize_t length = readlinkat(walk->at, "", target, sizeof(target));
	int err;

	if (length < 0)
		return -errno;
	if (length == sizeof(target))
		return -ENAMETOOLONG;
	target[length] = 0;
	if (asprintf(&rest, "%s/%s", target, walk->rest) < 0)
		return -ENOMEM;
	err = strlen(rest) < sizeof(walk->rest) ? 0 : -ENAMETOOLONG;
	if (!err)
		strcpy(walk->rest, rest);
	free(rest);
	if (err)
		return err;
	if (*target != '/')
		return step_up(walk);
	*walk->done = 0;
	return go_to_root(walk);
}

/* One name of the rest. 1: it was a link. */
static int walk_on(struct walk *walk)
{
	size_t before = strspn(walk->rest, "/"), length = strcspn(walk->rest + before, "/"), used = strlen(walk->done);
	char name[NAME_MAX + 1];
	struct stat status;
	int err;

	if (length > NAME_MAX || used + length + 2 > sizeof(walk->done))
		return -ENAMETOOLONG;
	memcpy(name, walk->rest + before, length);
	name[length] = 0;
	memmove(walk->rest, walk->rest + before + length, strlen(walk->rest + before + length) + 1);
	if (!length || !strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		return step_up(walk);
	err = step_to(walk, name, 0);
	if (err)
		return err;
	sprintf(walk->done + used, "/%s", name);
	if (fstat(walk->at, &status))
		return -errno;
	return S_ISLNK(status.st_mode) ? follow_link(walk) ?: 1 : 0;
}

/* An O_PATH descriptor, or -errno. */
static int walk_below(int root, const char *path)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int err = 0;

	if (!walk)
		return -ENOMEM;
	walk->root = root;
	walk->at = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (walk->at < 0 || strlen(path) >= sizeof(walk->rest))
		err = walk->at < 0 ? -errno : -ENAMETOOLONG;
	else
		strcpy(walk->rest, path);
	while (!err && *walk->rest) {
		err = walk_on(walk);
		if (err == 1)
			err = ++walk->links > LINKS_MOST ? -ELOOP : 0;
	}
	if (err && walk->at >= 0)
		close(walk->at);
	else if (!err)
		err = walk->at;
	free(walk);
	return err;
}

static int open_below(int root, const char *path, const struct process *owner)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how)); /* Linux 5.6 */

	if (found < 0 && errno == ENOSYS) {
		found = walk_below(root, path);
		return found < 0 ? found : open_for_reading(found, owner);
	}
	return found < 0 ? -errno : open_for_reading(found, owner);
}

int file_open_here(enum reader_way way, int folder, const char *path, const struct process *owner)
{
	int found;

	if (way == READER_BELOW)
		return open_below(folder, path, owner);
	if (way == READER_FOLDER) {
		found = openat(folder, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		return found < 0 ? -errno : found;
	}
	found = openat(folder, path, O_PATH | O_CLOEXEC);
	return found < 0 ? -errno : open_for_reading(found, owner);
}

int file_open_below(int root, const char *path, const struct process *owner)
{
	return owner ? reader_open(READER_BELOW, root, path, owner) : open_below(root, path, NULL);
}

int file_open_proc(const struct process *process, const char *name)
{
	return reader_open(READER_PROC, process->proc_fd, name, process);
}

int folder_open_proc(const struct process *process, const char *name)
{
	return reader_open(READER_FOLDER, process->proc_fd, name, process);
}

int file_open_path(const char *path)
{
	int found = open(path, O_PATH | O_CLOEXEC);

	return found < 0 ? -errno : open_for_reading(found, NULL);
}

char *file_absolute(const char *path)
{
	char *absolute = realpath(path, NULL), *here;

	if (absolute || errno != EACCES)
		return absolute;
	if (*path == '/')
		return strdup(path);
	here = getcwd(NULL, 0);
	if (here && asprintf(&absolute, "%s/%s", here, path) < 0)
		absolute = NULL;
	free(here);
	return absolute;
}

int file_open_named(const char *absolute)
{
	const struct process ourselves = { .pid = getpid(), .uid = geteuid(), .gid = getegid() };
	int fd = file_open_path(absolute), root;

	if (fd != -EACCES)
		return fd;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fd;
	fd = reader_open(READER_BELOW, root, absolute, &ourselves);
	close(root);
	return fd;
}
