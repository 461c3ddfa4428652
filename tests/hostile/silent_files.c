/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * silent_files.c - a file system (FUSE) whose files open, and whose pages never come.
 *
 * silent_files DIR SECONDS [FILE]: mounts itself at DIR, says "mounted", and ends after SECONDS or by a signal; the
 * kernel then fails whatever still waits. Files: "never": no read is answered. "second": the first read fails, no other
 * one is answered (whoever faults then waits with the lock of its address space held). "choosy": FILE, for all but
 * those whose names begin with "gaspbpf": they get no answer to anything about it. Each time somebody is kept waiting
 * it prints the file's name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 64

enum { ROOT = 1, NEVER, SECOND, CHOOSY };

static int device, choosy = -1;

static void answer(const struct fuse_in_header *to, int error, const void *bytes, size_t size)
{
	struct {
		struct fuse_out_header head;
		char bytes[4096];
	} out = { .head = { .unique = to->unique, .error = -error } };

	if (error)
		size = 0;
	memcpy(out.bytes, bytes, size);
	out.head.len = sizeof(out.head) + size;
	if (write(device, &out, out.head.len) < 0)
		perror("silent_files: answer");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool folder = node == ROOT;

	struct stat status;

	if (node == CHOOSY && !fstat(choosy, &status))
		return (struct fuse_attr){
			.ino = node, .mode = S_IFREG | 0755, .nlink = 1, .size = status.st_size, .blksize = 4096
		};
	return (struct fuse_attr){ .ino = node,
				   .mode = folder ? S_IFDIR | 0755 : S_IFREG | 0666,
				   .nlink = 1,
				   .size = folder ? 0 : PAGES * 4096,
				   .blksize = 4096 };
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	uint64_t node = !strcmp(name, "never")                   ? NEVER
			: !strcmp(name, "second")                ? SECOND
			: !strcmp(name, "choosy") && choosy >= 0 ? CHOOSY
								 : 0;
	struct fuse_entry_out entry = {
		.nodeid = node, .attr_valid = node == CHOOSY ? 0 : 3600, .entry_valid = 3600, .attr = attributes(node)
	};

	answer(in, node ? 0 : ENOENT, &entry, sizeof(entry));
}

static bool is_observer(uint32_t pid)
{
	char path[40], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "r");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = 0;
	if (file)
		fclose(file);
	return !strncmp(name, "gaspbpf", 7);
}

static void read_choosy(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	static char bytes[4096];
	ssize_t got = pread(choosy, bytes, read->size < sizeof(bytes) ? read->size : sizeof(bytes), read->offset);

	answer(in, got < 0 ? EIO : 0, bytes, got < 0 ? 0 : got);
}

static void serve(const struct fuse_in_header *in, const void *rest)
{
	static int reads;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_readahead = 0,
				      .max_write = 4096,
				      .flags = FUSE_ASYNC_READ };
	struct fuse_attr_out attr = { .attr_valid = in->nodeid == CHOOSY ? 0 : 3600, .attr = attributes(in->nodeid) };
	struct fuse_open_out open = { .fh = 0 };

	if (in->nodeid == CHOOSY && in->opcode != FUSE_RELEASE && in->opcode != FUSE_FLUSH && is_observer(in->pid)) {
		printf("choosy\n");
		return;
	}
	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(in, rest);
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &open, sizeof(open));
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
		answer(in, 0, "", 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* no answer is wanted */
	case FUSE_READ:
		if (in->nodeid == CHOOSY) {
			read_choosy(in, rest);
			break;
		}
		if (in->nodeid == SECOND && !reads++) {
			answer(in, EIO, "", 0);
			break;
		}
		printf("%s\n", in->nodeid == NEVER ? "never" : "second");
		break;
	default:
		answer(in, ENOSYS, "", 0);
	}
}

int main(int argc, char **argv)
{
	static char request[1 << 20] __attribute__((aligned(8)));
	char options[128];
	ssize_t got;

	if (argc != 3 && argc != 4)
		return 2;
	if (argc == 4 && (choosy = open(argv[3], O_RDONLY | O_CLOEXEC)) < 0)
		return 1;
	setlinebuf(stdout);
	alarm(atoi(argv[2]));
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if (device < 0 || mount("silent", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("silent_files");
		return 1;
	}
	printf("mounted\n");
	while ((got = read(device, request, sizeof(request))) > 0 || errno == EINTR || errno == ENOENT)
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			serve((struct fuse_in_header *)request, request + sizeof(struct fuse_in_header));
	return 0;
}
