/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_file.c - the separate file that a distribution keeps symbols and DWARF in.
 *
 * It is found by the build-id, or by the name in .gnu_debuglink next to the file and below /usr/lib/debug, as
 * gdb does; what dwz moved out of several debug files, by .gnu_debugaltlink. It must prove that it belongs to the
 * image: by the same build-id, or where there is none by the checksum that .gnu_debuglink gives.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "target/image_private.h"

#define BUILD_ID_LEAST 4u
#define BUILD_ID_MOST 64u
#define CHECKSUMS_MOST (2ull << 30) /* bytes that are read for the checksums of all candidates */
#define KNOWN_CHECKSUMS 64u
#define BYTES_PER_STEP 256u
#define CHECKSUM_STEP (1u << 20)
#define BY_BUILD_ID "/usr/lib/debug/.build-id/%.2s/%s.debug"

/* What .gnu_debuglink says. */
struct link {
	char name[NAME_MAX + 1];
	uint32_t checksum;
	uint64_t left; /* bytes that may be read for checksums yet */
};

/* malloc'ed; NULL: no memory. */
static char *hex_of(const uint8_t *id, size_t size)
{
	char *hex = malloc(size * 2 + 1);

	for (size_t i = 0; hex && i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	return hex;
}

struct build_id {
	char *hex;
	bool starved;
};

static bool take_build_id(void *context, const char *owner, uint32_t type, const uint8_t *description, size_t size)
{
	struct build_id *id = context;

	if (strcmp(owner, "GNU") || type != NT_GNU_BUILD_ID || size < BUILD_ID_LEAST || size > BUILD_ID_MOST)
		return false;
	id->hex = hex_of(description, size);
	id->starved = !id->hex;
	return true;
}

char *elf_build_id(const struct elf_file *elf)
{
	struct build_id id = { NULL, false };

	elf_notes(elf, take_build_id, &id);
	if (id.starved)
		elf_starves(elf);
	return id.hex;
}

bool elf_has_dwarf(const struct elf_file *elf)
{
	const Elf64_Shdr *section = elf_section(elf, ".debug_info");

	return section && elf_section_filled(section);
}

/* .gnu_debuglink: a name, a NUL, padding to 4, the CRC-32 of the file. False: there is none. */
static bool read_link(const struct elf_file *elf, struct link *link)
{
	const Elf64_Shdr *section = elf_section(elf, ".gnu_debuglink");
	char *data = section ? elf_section_bytes(elf, section, PATH_MAX + 8) : NULL;
	size_t length = data ? strnlen(data, section->sh_size) : 0, at = (length + 1 + 3) & ~(size_t)3;
	/* The name of a file, not a path: it must not lead out of the folders that are searched. */
	bool good = length && length <= NAME_MAX && !memchr(data, '/', length) && strcmp(data, ".") &&
		    strcmp(data, "..") && at + sizeof(link->checksum) <= section->sh_size;

	if (good) {
		strcpy(link->name, data);
		memcpy(&link->checksum, data + at, sizeof(link->checksum));
		link->left = CHECKSUMS_MOST;
	}
	free(data);
	return good;
}

/* --- checksums ----------------------------------------------------------- */

/* The last ones, so that a file is not read again for each of the files that name it. */
static struct known_checksum {
	struct file_state state;
	uint32_t checksum;
} known[KNOWN_CHECKSUMS];
static size_t nknown; /* ever known */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool recall(const struct file_state *state, uint32_t *checksum)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; !found && i < KNOWN_CHECKSUMS && i < nknown; i++) {
		found = file_state_is(&known[i].state, state);
		if (found)
			*checksum = known[i].checksum;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void remember(const struct file_state *state, uint32_t checksum)
{
	pthread_mutex_lock(&lock);
	known[nknown++ % KNOWN_CHECKSUMS] = (struct known_checksum){ *state, checksum };
	pthread_mutex_unlock(&lock);
}

/* Reads all of the file. */
static bool compute(const struct elf_file *file, uint32_t *checksum)
{
	uint8_t *data = malloc(CHECKSUM_STEP);
	uLong sum = crc32(0, NULL, 0);
	uint64_t at = 0;
	ssize_t got;

	for (; data && at < file->size && !reading_pauses(CHECKSUM_STEP / BYTES_PER_STEP); at += got) {
		got = pread(file->fd, data, CHECKSUM_STEP, (off_t)at);
		if (got <= 0)
			break;
		sum = crc32(sum, data, (uInt)got);
	}
	free(data);
	*checksum = sum;
	return data && at >= file->size;
}

static bool checksum_matches(const struct elf_file *candidate, struct link *link)
{
	struct file_state state = file_state_of(&candidate->status);
	uint32_t checksum;

	if (recall(&state, &checksum))
		return checksum == link->checksum;
	if (candidate->size > link->left)
		return false;
	link->left -= candidate->size;
	if (!compute(candidate, &checksum))
		return false;
	remember(&state, checksum);
	return checksum == link->checksum;
}

/* Whether the candidate belongs to the image. The link is NULL where it was found by build-id. */
static bool belongs(int fd, const char *build_id, struct link *link)
{
	struct elf_file candidate;
	bool same = false;
	char *id;

	if (elf_file_read(&candidate, fd))
		return false;
	id = elf_build_id(&candidate);
	if (build_id && id)
		same = !strcmp(id, build_id);
	else if (link)
		same = checksum_matches(&candidate, link);
	free(id);
	elf_file_free(&candidate);
	return same;
}

static int try_path(int root, const struct process *owner, const char *build_id, struct link *link, const char *format,
		    ...) __attribute__((format(printf, 5, 6)));

static int try_path(int root, const struct process *owner, const char *build_id, struct link *link, const char *format,
		    ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int length, fd;

	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	fd = file_open_below(root, path, owner);
	if (fd < 0)
		return -ENOENT;
	if (belongs(fd, build_id, link))
		return fd;
	close(fd);
	return -ENOENT;
}

/* Next to the file, in .debug next to it, and in the same place below /usr/lib/debug. */
static int try_link(int root, const struct process *owner, const char *build_id, const char *path, struct link *link)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	int folder = slash ? (int)(slash - path) : 0;
	int fd;

	if (!slash || slash - path > PATH_MAX)
		return -ENOENT;
	fd = try_path(root, owner, build_id, link, "%.*s/%s", folder, path, link->name);
	if (fd < 0)
		fd = try_path(root, owner, build_id, link, "%.*s/.debug/%s", folder, path, link->name);
	if (fd < 0)
		fd = try_path(root, owner, build_id, link, "/usr/lib/debug%.*s/%s", folder, path, link->name);
	return fd;
}

int debug_file_open(const struct elf_file *elf, const char *build_id, const char *path, int root,
		    const struct process *owner)
{
	struct link link;
	int fd = -ENOENT;

	if (build_id)
		fd = try_path(root, owner, build_id, NULL, BY_BUILD_ID, build_id, build_id + 2);
	if (fd >= 0 || !read_link(elf, &link))
		return fd;
	return try_link(root, owner, build_id, path, &link);
}

/* The folder of an open file, as we see it; into folder[PATH_MAX]. */
static bool folder_of(int fd, char *folder)
{
	char link[32], *slash;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, folder, PATH_MAX - 1);
	if (length <= 0)
		return false;
	folder[length] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

/* .gnu_debugaltlink: a path, a NUL, a build-id. */
static int try_alternate(int root, const struct process *owner, int fd, const char *path, const char *build_id)
{
	char folder[PATH_MAX];
	int found = try_path(root, owner, build_id, NULL, BY_BUILD_ID, build_id, build_id + 2);

	if (found < 0 && *path == '/')
		found = try_path(root, owner, build_id, NULL, "%s", path);
	else if (found < 0 && folder_of(fd, folder))
		found = try_path(root, owner, build_id, NULL, "%s/%s", folder, path);
	return found;
}

int alternate_file_open(const struct elf_file *elf, int root, const struct process *owner)
{
	const Elf64_Shdr *section = elf_section(elf, ".gnu_debugaltlink");
	struct elf_file alternate;
	char *data, *build_id = NULL;
	int fd = -ENOENT;
	size_t length;

	if (!section)
		return -ENOENT;
	data = elf_section_bytes(elf, section, PATH_MAX + BUILD_ID_MOST);
	if (!data)
		return -ENOMEDIUM;
	length = strnlen(data, section->sh_size);
	if (length && length < section->sh_size)
		build_id = hex_of((uint8_t *)data + length + 1, section->sh_size - length - 1);
	if (build_id)
		fd = try_alternate(root, owner, elf->fd, data, build_id);
	free(build_id);
	free(data);
	if (fd < 0)
		return -ENOMEDIUM;
	/* One that needs another in turn is not what dwz makes, and libdw would go and look for it. */
	if (!elf_file_read(&alternate, fd)) {
		bool alone = !elf_section(&alternate, ".gnu_debugaltlink");

		elf_file_free(&alternate);
		if (alone)
			return fd;
	}
	close(fd);
	return -ENOMEDIUM;
}
