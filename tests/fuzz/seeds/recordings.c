/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recordings.c - seeds made of recordings, for tests/fuzz/seeds.py.
 *
 *   recordings FOLDER [FILE...]
 *
 * Of each recording, and of one of a job that never was (tests/unit/shared): FOLDER/recording/NAME as it is and
 * NAME.flat with nothing compressed, so that changes reach what the chunks hold; and FOLDER/tool_pipe/NAME.K, the
 * frames that a tool of kind K is sent.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../unit/shared/recorded_job.h"
#include "recording/chunk.h"
#include "tool/private.h"

#define KINDS_OF_TOOLS 4

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void write_file(const char *folder, const char *sub, const char *name, const char *suffix, const uint8_t *bytes,
		       size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s%s", folder, sub, name, suffix);
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		give_up(path);
}

static void write_whole(int fd, const char *folder, const char *name)
{
	struct stat st;
	uint8_t *bytes;

	if (fstat(fd, &st) || !(bytes = malloc(st.st_size + 1)) || pread(fd, bytes, st.st_size, 0) != st.st_size)
		give_up(name);
	write_file(folder, "recording", name, "", bytes, st.st_size);
	free(bytes);
}

static void write_flat(int fd, const char *folder, const char *name)
{
	struct buffer out = { 0 }, stored = { 0 }, decoded = { 0 };
	struct packer *packer = packer_new();
	struct chunk chunk = { .at = FILE_HEAD };
	uint8_t head[FILE_HEAD];
	const uint8_t *raw;
	struct stat st;

	if (fstat(fd, &st) || pread(fd, head, sizeof(head), 0) != sizeof(head) || !packer)
		give_up(name);
	buffer_put(&out, head, sizeof(head));
	while (chunk.at < (uint64_t)st.st_size) {
		if (chunk_read_head(fd, st.st_size, &chunk) ||
		    chunk_read_payload(packer, fd, &chunk, &stored, &decoded, &raw) ||
		    chunk_append(packer, &out, chunk.type, raw, chunk.raw, false))
			give_up(name);
		chunk.at += CHUNK_HEAD + chunk.stored;
	}
	write_file(folder, "recording", name, ".flat", out.data, out.size);
	buffer_free(&out);
	buffer_free(&stored);
	buffer_free(&decoded);
	packer_free(packer);
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	tool_put_event(context, event);
	return 0;
}

static void write_frames(int fd, const char *folder, const char *name)
{
	struct tool t = { 0 };
	struct timeline_ops ops = { .event = put_event, .context = &t };
	struct buffer none = { 0 }, out = { 0 };
	struct recording *r;

	if (recording_open_fd(&r, fd, name))
		give_up(name);
	t.d = recording_definitions(r);
	tool_put_run(&t);
	timeline_read_merged(r, &ops);
	tool_put_definitions(&t);
	tool_put_controls(&t, UINT64_MAX);
	tool_put_run(&t);
	tool_put_frame(&t, WIRE_END, &none);
	for (uint8_t kind = 0; kind < KINDS_OF_TOOLS; kind++) {
		char suffix[] = { '.', (char)('0' + kind), 0 };

		buffer_clear(&out);
		buffer_put(&out, &kind, 1);
		buffer_put(&out, t.waiting.data, t.waiting.size);
		write_file(folder, "tool_pipe", name, suffix, out.data, out.size);
	}
	buffer_free(&out);
	buffer_free(&t.waiting);
	recording_close(r);
}

static void write_each(int fd, const char *folder, const char *name)
{
	write_whole(fd, folder, name);
	write_flat(fd, folder, name);
	write_frames(fd, folder, name);
	close(fd);
}

int main(int argc, char **argv)
{
	struct job job;

	if (argc < 2)
		return 2;
	run_job(&job, 60);
	write_each(record_in_pieces(&job), argv[1], "job");
	job_free(&job);
	for (int i = 2; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			give_up(argv[i]);
		write_each(fd, argv[1], basename(argv[i]));
	}
	return 0;
}
