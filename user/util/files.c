/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c - files that are written on behalf of the person who called.
 */
#include "util/files.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/keeper.h"
#include "util/log.h"

#define GROUPS_MOST 256
#define STACK_LEAST (2ul << 20)

/* A decimal id from the environment; false where there is none or it is no id. */
static bool id_from_environment(const char *name, uint32_t *id)
{
	const char *text = getenv(name);
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value >= UINT32_MAX)
		return false;
	*id = (uint32_t)value;
	return true;
}

/* Whether this user of passwd is a member of the group. */
static bool in_group(const struct passwd *entry, gid_t gid)
{
	gid_t groups[GROUPS_MOST];
	int count = GROUPS_MOST, i;

	if (getgrouplist(entry->pw_name, entry->pw_gid, groups, &count) < 0)
		return false;
	for (i = 0; i < count; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static struct rlimit stack_as_called; /* all zero: it is still as it was */

bool caller_stack_is_not_ours(void)
{
	struct rlimit wanted = { STACK_LEAST, STACK_LEAST };
	pthread_attr_t attributes;

	if (getrlimit(RLIMIT_STACK, &stack_as_called) || stack_as_called.rlim_cur >= STACK_LEAST) {
		stack_as_called = (struct rlimit){ 0 };
		return true;
	}
	if (stack_as_called.rlim_max > wanted.rlim_max)
		wanted.rlim_max = stack_as_called.rlim_max;
	if (setrlimit(RLIMIT_STACK, &wanted)) {
		log_error("stacks are limited to %llu KiB here (ulimit -s), and gaspbpf needs %lu: raise the limit, or "
			  "let root do it",
			  (unsigned long long)stack_as_called.rlim_cur >> 10, STACK_LEAST >> 10);
		return false;
	}
	if (pthread_attr_init(&attributes))
		return true;
	if (!pthread_attr_setstacksize(&attributes, STACK_LEAST))
		pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
	return true;
}

int caller_find(struct caller *caller)
{
	struct passwd entry, *found = NULL;
	char storage[4096];
	uint32_t uid, gid;

	*caller = (struct caller){ .uid = getuid(), .gid = getgid() };
	getrlimit(RLIMIT_NOFILE, &caller->files);
	getrlimit(RLIMIT_MEMLOCK, &caller->locked);
	getrlimit(RLIMIT_STACK, &caller->stack);
	if (stack_as_called.rlim_cur)
		caller->stack = stack_as_called;
	if (geteuid() == 0 && id_from_environment("SUDO_UID", &uid) &&
	    !getpwuid_r(uid, &entry, storage, sizeof(storage), &found) && found) {
		caller->uid = uid;
		caller->gid = found->pw_gid;
		if (id_from_environment("SUDO_GID", &gid) && in_group(found, gid))
			caller->gid = gid;
	} else if (getpwuid_r(caller->uid, &entry, storage, sizeof(storage), &found)) {
		found = NULL;
	}
	if (!found)
		return 0;
	caller->name = strdup(found->pw_name);
	caller->home = strdup(found->pw_dir);
	if (caller->name && caller->home)
		return 0;
	caller_free(caller);
	log_error("out of memory: cannot note who called: free some memory and try again");
	return -ENOMEM;
}

void caller_free(struct caller *caller)
{
	free(caller->name);
	free(caller->home);
	caller->name = caller->home = NULL;
}

/* What this thread was before it acted as the caller. */
struct disguise {
	bool worn;
	uid_t uid;
	gid_t gid;
	gid_t groups[NGROUPS_MAX];
	int ngroups;
};

/*
 * Makes file access of this thread alone the caller's: fsuid, fsgid and supplementary groups. The
 * raw system call is used because glibc's setgroups() changes all threads.
 * Leaving uid 0 as fsuid also takes the file capabilities out of the effective set (capabilities(7)).
 */
static int disguise_put_on(struct disguise *was, const struct caller *caller)
{
	gid_t groups[GROUPS_MOST];
	int count = GROUPS_MOST;

	was->worn = false;
	if (geteuid() != 0 || !caller || caller->uid == 0)
		return 0;
	was->ngroups = getgroups(NGROUPS_MAX, was->groups);
	if (was->ngroups < 0)
		return -errno;
	if (!caller->name || getgrouplist(caller->name, caller->gid, groups, &count) < 0) {
		groups[0] = caller->gid;
		count = 1;
	}
	if (syscall(SYS_setgroups, count, groups))
		return -errno;
	was->worn = true;
	was->gid = (gid_t)setfsgid(caller->gid);
	was->uid = (uid_t)setfsuid(caller->uid);
	/* Neither call reports failure; asking again gives the current value. */
	if ((uid_t)setfsuid((uid_t)-1) != caller->uid || (gid_t)setfsgid((gid_t)-1) != caller->gid)
		return -EPERM;
	return 0;
}

static void disguise_take_off(struct disguise *was)
{
	if (!was->worn)
		return;
	setfsuid(was->uid);
	setfsgid(was->gid);
	syscall(SYS_setgroups, was->ngroups, was->groups);
}

static void say_not_created(const char *path, const struct caller *caller, int error)
{
	const char *advice;

	switch (error) {
	case ENOENT:
		advice = "the folder does not exist: create it first, or name another";
		break;
	case EACCES:
	case EPERM:
		advice = caller && caller->name
				 ? "permission denied, the user who called may not write there: choose a folder of "
				   "your own"
				 : "permission denied: choose a folder that you may write to";
		break;
	case ELOOP:
		advice = "it is a symbolic link: remove it, or name the file it points to";
		break;
	case EISDIR:
		advice = "it is a folder: name a file in it";
		break;
	case ENXIO:
	case ENODEV:
		advice = "it is not a regular file: choose another name";
		break;
	case ENOTDIR:
		advice = "a part of the path is not a folder: check the path";
		break;
	case ENOSPC:
	case EDQUOT:
		advice = "no space left: free some, or choose another folder";
		break;
	default:
		log_error("%s: cannot be written: %s: choose another file", log_safe(path), strerror(error));
		return;
	}
	log_error("%s: %s", log_safe(path), advice);
}

/* As the caller. The first try tells whether the file is new. A descriptor or -errno. */
static int open_output(const char *path, bool *created, bool only_new)
{
	/* O_NONBLOCK: a FIFO without a reader must not hold us. */
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = open(path, flags | O_EXCL, 0666);

	*created = fd >= 0;
	if (fd < 0 && errno == EEXIST && !only_new)
		fd = open(path, flags, 0666);
	return fd < 0 ? -errno : fd;
}

/* *created NULL: only a new one will do. */
static int open_checked(const char *path, const struct caller *caller, bool *created)
{
	struct disguise *was = malloc(sizeof(*was)); /* too large for a small stack */
	struct stat status;
	bool is_new;
	int fd, error = 0;

	if (!was) {
		log_error("%s: out of memory: free some memory and try again", log_safe(path));
		return -ENOMEM;
	}
	fd = -1;
	error = -disguise_put_on(was, caller);
	if (!error) {
		fd = open_output(path, created ? created : &is_new, !created);
		if (fd < 0)
			error = -fd;
	}
	disguise_take_off(was);
	free(was);
	if (!error && fstat(fd, &status))
		error = errno;
	if (!error && !S_ISREG(status.st_mode))
		error = ENODEV;
	if (!error && fcntl(fd, F_SETFL, 0) < 0)
		error = errno;
	if (!error)
		return fd;
	if (fd >= 0)
		close(fd);
	if (created || error != EEXIST)
		say_not_created(path, caller, error);
	return -error;
}

int file_reserve(const char *path, const struct caller *caller, bool *created)
{
	return open_checked(path, caller, created);
}

int file_create_new(const char *path, const struct caller *caller)
{
	return keeper_is_there() ? keeper_create_new(path) : open_checked(path, caller, NULL);
}

int file_remove_same(const char *path, const struct caller *caller, const struct stat *file)
{
	struct disguise *was = malloc(sizeof(*was));
	struct stat there;
	int error;

	if (!was)
		return -ENOMEM;
	error = disguise_put_on(was, caller);
	if (!error && lstat(path, &there))
		error = -errno;
	if (!error && (there.st_dev != file->st_dev || there.st_ino != file->st_ino))
		error = -ESTALE;
	if (!error && unlink(path))
		error = -errno;
	disguise_take_off(was);
	free(was);
	return error;
}

static int remove_file(const char *path, const char *unused)
{
	return unlink(path);
}

static int make_folder(const char *path, const char *unused)
{
	return mkdir(path, 0755);
}

static int remove_folder(const char *path, const char *unused)
{
	return rmdir(path);
}

/* As the caller. 0 or -errno. */
static int act_as(const struct caller *caller, int (*act)(const char *, const char *), const char *path, const char *to)
{
	struct disguise *was = malloc(sizeof(*was));
	int error;

	if (!was)
		return -ENOMEM;
	error = disguise_put_on(was, caller);
	if (!error && act(path, to))
		error = -errno;
	disguise_take_off(was);
	free(was);
	return error;
}

int file_take_place(const char *path, const struct caller *caller)
{
	char *new;
	int error;

	if (keeper_is_there())
		return keeper_take_place(path);
	if (asprintf(&new, "%s" FILE_NEW, path) < 0)
		return -ENOMEM;
	error = act_as(caller, rename, new, path);
	free(new);
	return error;
}

int file_drop_new(const char *path, const struct caller *caller)
{
	return keeper_is_there() ? keeper_drop_new(path) : act_as(caller, remove_file, path, NULL);
}

int folder_create(const char *path, const struct caller *caller)
{
	return act_as(caller, make_folder, path, NULL);
}

int folder_remove(const char *path, const struct caller *caller)
{
	return act_as(caller, remove_folder, path, NULL);
}

void file_give_back(const char *path, const struct caller *caller, int fd)
{
	struct stat here;

	if (keeper_is_there())
		keeper_remove(path);
	else if (!fstat(fd, &here))
		file_remove_same(path, caller, &here);
}

void file_remove(const char *path)
{
	if (keeper_is_there())
		keeper_remove(path);
	else
		unlink(path);
}

int file_create(const char *path, const struct caller *caller)
{
	bool created;
	int fd = file_reserve(path, caller, &created), error;

	/* Truncated only after a look: a device may react to being opened with O_TRUNC. */
	if (fd < 0 || !ftruncate(fd, 0))
		return fd;
	error = errno;
	close(fd);
	say_not_created(path, caller, error);
	return -error;
}

int file_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd, length;

	if (!folder || folder[0] != '/')
		folder = "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Not every file system has O_TMPFILE. */
	length = snprintf(path, sizeof(path), "%s/gaspbpf.XXXXXX", folder);
	if (length < 0 || (size_t)length >= sizeof(path)) {
		fd = -1;
		errno = ENAMETOOLONG;
	} else {
		fd = mkostemp(path, O_CLOEXEC);
	}
	if (fd < 0) {
		int error = errno;

		log_error("%s: no temporary file: %s: set TMPDIR to a folder with space", log_safe(folder),
			  strerror(error));
		return -error;
	}
	unlink(path);
	return fd;
}

int write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t written = write(fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		if (written == 0) /* a file that takes nothing and says nothing */
			return -EIO;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

/* Reads fd to its end into *data, which grows; one byte more than `most` is asked for, to see where that is not the
 * end. */
static int read_to_end(int fd, size_t most, char **data, size_t *size)
{
	size_t room = 0, used = 0;

	for (;;) {
		ssize_t got;

		if (used + 1 >= room) {
			size_t larger = room ? room * 2 : 4096;
			char *grown = realloc(*data, larger);

			if (!grown)
				return -ENOMEM;
			*data = grown;
			room = larger;
		}
		got = read(fd, *data + used, room - used - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
		if (used > most)
			return -EFBIG;
	}
	(*data)[used] = '\0';
	*size = used;
	return 0;
}

char *read_open_file(int fd, size_t most, size_t *size)
{
	char *data = NULL;
	size_t used = 0;
	int result = read_to_end(fd, most, &data, &used);

	if (result) {
		free(data);
		errno = -result;
		return NULL;
	}
	if (size)
		*size = used;
	return data;
}

static file_opener *other_opener;

void files_opened_by(file_opener *opener)
{
	other_opener = opener;
}

static int open_at(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	return errno == EACCES && dirfd == AT_FDCWD && other_opener ? other_opener(path) : -errno;
}

int file_open_to_read(const char *path)
{
	return open_at(AT_FDCWD, path);
}

char *read_file_at(int dirfd, const char *path, size_t most, size_t *size)
{
	int fd = open_at(dirfd, path);
	char *data = fd < 0 ? NULL : read_open_file(fd, most, size);
	int error = fd < 0 ? -fd : errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return data;
}

const char *path_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

bool path_is_folder(const char *path)
{
	struct stat found;
	size_t length = strlen(path);

	return (length && path[length - 1] == '/') || (!stat(path, &found) && S_ISDIR(found.st_mode));
}

char *path_folder(const char *path)
{
	const char *end = strrchr(path, '/');

	if (path_is_folder(path))
		return strdup(path);
	if (!end)
		return strdup(".");
	return end == path ? strdup("/") : strndup(path, end - path);
}
