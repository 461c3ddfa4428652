/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens many files for some microseconds each, and keeps account of each by its name.
 *
 * All are in the folder that the environment calls IO_FOLDER. whole.N is opened by its whole path, of.N by one that is
 * relative to the working directory (which is there/), at.N by openat() of at/. Between them: opens that fail, streams
 * (which libc opens and closes), descriptors that are copied, and here/same and there/same, each by the name "same" from
 * where the program has just gone. At last odd names: of 4,000 bytes, of bytes that are no UTF-8, and paths that are
 * none.
 */
#include "job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 4000
#define LONG_PATH 4000

static struct job job = { .name = "brief_files", .rank = -1, .rounds = 333 };
static struct counts counts;
static char folder[2000], text[FILES_MOST * 200 + 100000];
static size_t used;
static uint64_t sum;

/* Account of a file: how the call named it, and what it is. */
static void told(const char *given, const char *name, long opens, long bytes)
{
	used += snprintf(text + used, sizeof(text) - used,
			 "%s{\"given\":\"%s\",\"path\":\"%s/%s\",\"opens\":%ld,\"bytes\":%ld}", used ? "," : "", given,
			 folder, name, opens, bytes);
}

static void put(int fd, long bytes)
{
	static const char block[256];

	count_call(&counts, "open", 0);
	sum += write(fd, block, bytes);
	count_call(&counts, "write", bytes);
	close(fd);
	count_call(&counts, "close", 0);
}

static void one_of_each(long i, int at)
{
	char path[3000], name[100];

	snprintf(path, sizeof(path), "%s/whole.%ld", folder, i);
	put(open(path, O_WRONLY | O_CREAT, 0644), i % 50 + 1);
	told(path, path + strlen(folder) + 1, 1, i % 50 + 1);
	memset(path, 'x', 200); /* what the caller does with it afterwards is his business */
	sum += open("/nothing/is/here", O_RDONLY);
	snprintf(name, sizeof(name), "there/of.%ld", i);
	put(open(name + strlen("there/"), O_WRONLY | O_CREAT, 0644), i % 40 + 1);
	told(name + strlen("there/"), name, 1, i % 40 + 1);
	snprintf(name, sizeof(name), "at/at.%ld", i);
	put(openat(at, name + strlen("at/"), O_WRONLY | O_CREAT, 0644), i % 30 + 1);
	told(name + strlen("at/"), name, 1, i % 30 + 1);
}

/* Descriptors that no observed call opens or closes. */
static void behind_the_back(void)
{
	char path[3000];
	FILE *stream;
	int copy;

	snprintf(path, sizeof(path), "%s/stream", folder);
	stream = fopen(path, "w");
	if (!stream)
		return;
	copy = dup(fileno(stream));
	fclose(stream);
	sum += write(copy, "12345", 5);
	close(copy);
}

static void to_and_fro(long times)
{
	long here = 0, there = 0;

	for (long i = 0; i < times; i++) {
		bool is_here = i % 3 == 0;

		if (chdir(is_here ? "../here" : "../there"))
			return;
		put(open("same", O_WRONLY | O_CREAT | O_APPEND, 0644), is_here ? 3 : 5);
		*(is_here ? &here : &there) += 1;
	}
	told("same", "here/same", here, 3 * here);
	told("same", "there/same", there, 5 * there);
	sum += chdir("../there");
}

static void odd_names(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), path[LONG_PATH + 10];

	munmap(page + 4096, 4096);
	memset(page, 'u', 4096);
	sum += open(page, O_RDONLY) + open(page + 4090, O_RDONLY) + open((char *)64, O_RDONLY);
	for (size_t i = 0; i < LONG_PATH; i += 2)
		memcpy(path + i, "./", 2);
	strcpy(path + LONG_PATH, "long");
	put(open(path, O_WRONLY | O_CREAT, 0644), 7);
	put(open("no\xff\xfetext\n", O_WRONLY | O_CREAT, 0644), 9);
}

int main(int argc, char **argv)
{
	char path[3000];
	int at;

	job_options(&job, argc, argv, NULL);
	if (!realpath(getenv("IO_FOLDER") ? getenv("IO_FOLDER") : ".", path) || chdir(path) ||
	    job.rounds > FILES_MOST / 4)
		return 2;
	snprintf(folder, sizeof(folder), "%.1900s", path);
	sum = mkdir("here", 0755) + mkdir("there", 0755) + mkdir("at", 0755);
	at = open("at", O_RDONLY | O_DIRECTORY);
	if (at < 0 || chdir("there"))
		return 2;
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		one_of_each(i, at);
	behind_the_back();
	to_and_fro(50);
	odd_names();
	job_finish(&job);
	char *more = malloc(sizeof(text) + 100);

	snprintf(more, sizeof(text) + 100, ",\n \"files\":[%s]", text);
	job.more_truth = more;
	return job_truth(&job, job.rounds, sum, &counts, NULL, 0);
}
