/*
 * open_file.c - opening files that a target chose.
 *
 * A name in a target's hands may lead anywhere: to a FIFO (opening it waits for ever), a device (opening it may do
 * something), out of the target's root by a symbolic link. So a file is first taken by O_PATH, which
 * touches nothing, must prove to be a regular file, and only then is opened for reading.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/image_private.h"

/* Reads with the rights of the file's user: a file server may not trust root, a FUSE mount shows itself to its owner only. */
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

int file_open_below(int root, const char *path, const struct process *owner)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how)); /* Linux 5.6 */

	return found < 0 ? -errno : open_for_reading(found, owner);
}

int file_open_proc(const struct process *process, const char *name)
{
	int found = openat(process->proc_fd, name, O_PATH | O_CLOEXEC);

	return found < 0 ? -errno : open_for_reading(found, process);
}

int file_open_path(const char *path)
{
	int found = open(path, O_PATH | O_CLOEXEC);

	return found < 0 ? -errno : open_for_reading(found, NULL);
}
