/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes files that stay open for a while, some that do not, and a pair of sockets, and keeps account of each.
 *
 * Of a file that stays open an observer can know the name; of one that is closed at once it cannot always. All are in
 * the folder that the environment calls IO_FOLDER: long.data is open before the window, even.data and odd.data are in
 * turns, small.data is for a moment, rare.data is used by what few programs call. The
 * texts are written by streams, which libc opens and closes: no calls of this program's.
 */
#include "job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LONG, EVEN, ODD, SMALL, RARE, FIRST, SECOND, SOCKETS, FILES };
static const char *const names[FILES] = { "long.data", "even.data", "odd.data", "small.data", "rare.data",
					  "first.text", "second.text", "(sockets)" };

static struct job job = { .name = "io_job", .rank = -1, .rounds = 4 };
static long hold_us = 150000;
static struct counts counts;
/* small: what moved at most 100 bytes. */
static struct { long opens, reads, bytes_read, writes, bytes_written, in_order, small_reads, small_writes; } files[FILES];
static char paths[FILES][4096], block[8192];
static uint64_t sum;

/* In order: this call goes on where the last one ended. */
static long wrote(int file, const char *function, long result, int in_order)
{
	long bytes = result < 0 ? 0 : result;

	count_call(&counts, function, bytes);
	files[file].writes++;
	files[file].bytes_written += bytes;
	files[file].small_writes += bytes <= 100;
	files[file].in_order += in_order;
	return result;
}

static long got(int file, const char *function, long result, int in_order)
{
	long bytes = result < 0 ? 0 : result;

	count_call(&counts, function, bytes);
	files[file].reads++;
	files[file].bytes_read += bytes;
	files[file].small_reads += bytes <= 100;
	files[file].in_order += in_order;
	for (long i = 0; i < bytes; i += 512)
		sum = job_mix(sum + (unsigned char)block[i]);
	return result;
}

static void use(int file, long round)
{
	struct iovec parts[2] = { { block, 100 }, { block + 100, 23 } };
	int fd = open(paths[file], O_RDWR | O_CREAT | O_TRUNC, 0644);

	count_call(&counts, "open", 0);
	files[file].opens++;
	for (int i = 0; i < 3; i++) {
		memset(block, (int)(round + i), sizeof(block));
		wrote(file, "write", write(fd, block, 1000 + i), 1);
	}
	wrote(file, "writev", writev(fd, parts, 2), 1);
	if (file != SMALL)
		job_sleep_us(hold_us);
	fsync(fd);
	count_call(&counts, "fsync", 0);
	sum += lseek(fd, 0, SEEK_SET);
	count_call(&counts, "lseek", 0);
	got(file, "read", read(fd, block, 2000), 0);
	while (got(file, "read", read(fd, block, 2000), 1) > 0)
		;
	got(file, "pread", pread(fd, block, 64, 10), 0);
	got(file, "pread", pread(fd, block, 64, 74), 1);
	/* To where the last one ended, to where it is, and elsewhere. */
	sum += lseek(fd, 138, SEEK_SET);
	got(file, "read", read(fd, block, 100), 1);
	sum += lseek(fd, 0, SEEK_CUR);
	got(file, "read", read(fd, block, 100), 1);
	sum += lseek(fd, -100, SEEK_CUR);
	got(file, "read", read(fd, block, 100), 0);
	sum += lseek(fd, -1, SEEK_SET);
	got(file, "read", read(fd, block, 100), 1);
	for (int i = 0; i < 4; i++)
		count_call(&counts, "lseek", 0);
	got(file, "readv", readv(fd, parts, 2), 1);
	close(fd);
	count_call(&counts, "close", 0);
}

static void use_rarely(const int ends[2])
{
	struct iovec parts[2] = { { block, 2000 }, { block + 2000, 1000 } };
	int fd = openat(AT_FDCWD, paths[RARE], O_RDWR | O_CREAT | O_TRUNC, 0644);
	off_t from = 0, to = 5000;
	char *mapped;

	count_call(&counts, "openat", 0);
	files[RARE].opens++;
	wrote(RARE, "pwritev", pwritev(fd, parts, 2, 0), 1);
	got(RARE, "preadv", preadv(fd, parts, 2, 1000), 0);
	sum += ftruncate(fd, 4096);
	count_call(&counts, "ftruncate", 0);
	sum += posix_fallocate(fd, 0, 8192);
	count_call(&counts, "posix_fallocate", 0);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	count_call(&counts, "mmap", 0);
	mapped[0] = 7;
	sum += msync(mapped, 4096, MS_SYNC);
	count_call(&counts, "msync", 0);
	munmap(mapped, 4096);
	job_sleep_us(hold_us);
	got(RARE, "copy_file_range", copy_file_range(fd, &from, fd, &to, 1000, 0), 1);
	got(RARE, "sendfile", sendfile(ends[0], fd, NULL, 200), 1);
	got(SOCKETS, "read", read(ends[1], block, 4000), 1);
	close(fd);
	count_call(&counts, "close", 0);
}

static void use_streams(void)
{
	for (int file = FIRST; file <= SECOND; file++) {
		FILE *stream = fopen(paths[file], "w");

		files[file].opens++;
		files[file].writes++;
		files[file].in_order++;
		files[file].bytes_written += fwrite(block, 1, 100 * file, stream);
		files[file].small_writes += 100 * file <= 100;
		fclose(stream);
	}
}

static void round_of(long round, int log, const int ends[2])
{
	wrote(LONG, "pwrite", pwrite(log, block, 300, 300 * round), 1);
	wrote(SOCKETS, "write", write(ends[0], block, 10 + round), 1);
	got(SOCKETS, "read", read(ends[1], block, 100), 1);
	use(round % 2 ? ODD : EVEN, round);
	use(SMALL, round);
	use_rarely(ends);
	use_streams();
	count_call(&counts, "read", 0);
	sum += read(-1, block, 10) < 0;
}

static const char *files_text(void)
{
	static char text[FILES * 5000];
	size_t used = snprintf(text, sizeof(text), ",\n \"files\":{");

	for (int i = 0; i < FILES; i++)
		used += snprintf(text + used, sizeof(text) - used,
				 "%s\"%s\":{\"opens\":%ld,\"reads\":%ld,\"bytes_read\":%ld,\"writes\":%ld,"
				 "\"bytes_written\":%ld,\"in_order\":%ld,"
				 "\"small_reads\":%ld,\"small_writes\":%ld}", i ? "," : "", paths[i], files[i].opens,
				 files[i].reads, files[i].bytes_read, files[i].writes, files[i].bytes_written,
				 files[i].in_order, files[i].small_reads, files[i].small_writes);
	snprintf(text + used, sizeof(text) - used, "}");
	return text;
}

int main(int argc, char **argv)
{
	static const struct job_option more[] = { { "--hold", &hold_us }, { NULL, NULL } };
	const char *folder = getenv("IO_FOLDER") ? getenv("IO_FOLDER") : ".";
	int log, ends[2];

	job_options(&job, argc, argv, more);
	for (int i = 0; i < FILES; i++)
		snprintf(paths[i], sizeof(paths[i]), i == SOCKETS ? "%.0s%s" : "%s/%s", folder, names[i]);
	log = open(paths[LONG], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (log < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		perror("io_job");
		return 1;
	}
	job_begin(&job);
	long round = 0;
	for (; job_more(&job, round); round++)
		round_of(round, log, ends);
	job_finish(&job);
	printf("checksum %016lx\n", (unsigned long)sum);
	job.more_truth = files_text();
	return job_truth(&job, round, sum, &counts, NULL, 0);
}
