/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identity.c - which file is it, for the kernel?
 *
 * stat() tells the device of a subvolume or of an overlay, where what is mapped is a file of another device. So a page
 * is mapped, and looked for in our own mappings. A file that cannot be mapped is what stat() says, and so is one of a
 * file system that is known to tell the same in both places: a command looks at some hundred libraries as it starts,
 * and looking through the mappings for each took a tenth of that time.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/files.h"

static void look_up(const void *page, uint64_t *device, uint64_t *inode)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, number;
		unsigned major_number, minor_number;

		if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &major_number, &minor_number, &number) !=
			    5 ||
		    (uintptr_t)page < start || (uintptr_t)page >= end || !number)
			continue;
		*device = makedev(major_number, minor_number);
		*inode = number;
		break;
	}
	if (maps)
		fclose(maps);
}

static bool tells_the_same(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) &&
	       (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC);
}

int file_identity(int fd, uint64_t *device, uint64_t *inode)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct stat status;
	void *page;

	if (fstat(fd, &status))
		return -errno;
	*device = status.st_dev;
	*inode = status.st_ino;
	if (tells_the_same(fd))
		return 0;
	page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return 0;
	look_up(page, device, inode);
	munmap(page, size);
	return 0;
}
