/*
 * identity.c - which file is it, for the kernel?
 *
 * stat() tells the device of a subvolume or of an overlay, where what is mapped is a file of another device. So a page is mapped, and looked for in our own
 * mappings. A file that cannot be mapped is what stat() says.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util/files.h"

static void look_up(const void *page, uint64_t *device, uint64_t *inode)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, number;
		unsigned major_number, minor_number;

		if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &major_number, &minor_number, &number) != 5 ||
		    (uintptr_t)page < start || (uintptr_t)page >= end || !number)
			continue;
		*device = makedev(major_number, minor_number);
		*inode = number;
		break;
	}
	if (maps)
		fclose(maps);
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
	page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return 0;
	look_up(page, device, inode);
	munmap(page, size);
	return 0;
}
