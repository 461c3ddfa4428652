/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iterator.c - what a BPF iterator writes, and what of libbpf all need who load one.
 */
#include "util/iterator.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int object_is_whole(const struct bpf_object *object)
{
	return bpf_object__btf(object) ? 0 : -ENOMEM;
}

int variables_are_mapped(const void *constants, const void *variables)
{
	return constants && variables ? 0 : -ENOMEM;
}

static int open_with(const struct bpf_program *program, const struct bpf_iter_attach_opts *options)
{
	struct bpf_link *link = bpf_program__attach_iter(program, options);
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		fd = -errno;
	bpf_link__destroy(link); /* the descriptor keeps it */
	return fd;
}

int iterator_open(const struct bpf_program *program)
{
	return open_with(program, NULL);
}

int iterator_open_map(const struct bpf_program *program, int map)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)map };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info, .link_info_len = sizeof(info));

	return open_with(program, &options);
}

int iterator_read(int fd, size_t size, void (*take)(void *context, const void *record), void *context)
{
	alignas(16) char buffer[8192];
	size_t used = 0;
	ssize_t got;
	int error;

	/* EAGAIN: the kernel has looked at many tasks that are of no interest. */
	while ((got = read(fd, buffer + used, sizeof(buffer) - used)) > 0 ||
	       (got < 0 && (errno == EINTR || errno == EAGAIN))) {
		size_t at = 0;

		for (used += got > 0 ? got : 0; used - at >= size; at += size)
			take(context, buffer + at);
		memmove(buffer, buffer + at, used - at);
		used -= at;
	}
	error = got < 0 ? -errno : 0;
	close(fd);
	return error;
}
