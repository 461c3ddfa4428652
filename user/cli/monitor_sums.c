/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_sums.c - what gaspbpf monitor has counted, as a recording that has only sums.
 *
 * Each writing makes the definitions anew, from the snapshot (monitor_sums_make.c). Processes that have ended leave the
 * snapshot after a while; they are kept here, the last KEPT_ENDED of them.
 *
 * The recording is put together in memory, written beside the file, and then takes its name: whoever opens the file
 * finds all of it, always.
 */
#include "cli/monitor_sums_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

#define KEPT_ENDED 1024
#define COPY_BYTES 65536

struct monitor_sums {
	struct monitor_sums_options options;
	struct caller caller;
	char *beside; /* the path of what is being written */
	bool created; /* the file was not there */
	bool written; /* it has been written */
	bool failing; /* that was said */
	struct ended_process *ended;
	size_t nended, room; /* the oldest first */
};

/* --- those that have ended ------------------------------------------------ */

static void ended_free(struct ended_process *e)
{
	free((char *)e->was.comm);
	free((char *)e->was.exe);
	free((char *)e->was.job);
	free(e->sums);
}

static bool is_same(const struct monitor_process *a, const struct monitor_process *b)
{
	return a->pid == b->pid && a->start_time == b->start_time;
}

static bool is_kept(const struct monitor_sums *s, const struct monitor_process *p)
{
	for (size_t i = s->nended; i-- > 0;)
		if (is_same(&s->ended[i].was, p))
			return true;
	return false;
}

static int keep(struct monitor_sums *s, const struct monitor_process *p)
{
	struct ended_process e = { .was = *p, .sums = calloc(p->nevents + 1, sizeof(*e.sums)) };

	e.was.comm = strdup(p->comm);
	e.was.exe = strdup(p->exe);
	e.was.job = strdup(p->job);
	e.was.cgroup = e.was.user = NULL;
	e.was.events = NULL;
	if (!e.sums || !e.was.comm || !e.was.exe || !e.was.job ||
	    array_one_more(&s->ended, &s->room, s->nended, sizeof(*s->ended))) {
		ended_free(&e);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->nevents; i++) {
		e.sums[i] = sum_of(&p->events[i].amounts);
		e.sums[i].probe = p->events[i].event;
	}
	e.nsums = p->nevents;
	s->ended[s->nended++] = e;
	if (s->nended <= KEPT_ENDED)
		return 0;
	ended_free(&s->ended[0]);
	memmove(s->ended, s->ended + 1, --s->nended * sizeof(*s->ended));
	return 0;
}

static int keep_ended(struct monitor_sums *s, const struct monitor_snapshot *now)
{
	for (size_t i = now->nalive; i < now->nprocesses; i++) {
		if (!is_kept(s, &now->processes[i]) && keep(s, &now->processes[i]))
			return -ENOMEM;
	}
	return 0;
}

/* --- the file ------------------------------------------------------------ */

/* The definitions, as a recording in memory: a descriptor or -errno. */
static int encode(const struct definitions *d)
{
	struct recording_writer *writer;
	int fd = memfd_create("gaspbpf-sums", MFD_CLOEXEC), own = fd < 0 ? -1 : dup(fd), error;

	error = own < 0 ? -errno : recording_create(&writer, own, IMAGE_NAME, d);
	if (!error)
		error = recording_finish(writer);
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

static int copy_all(int from, int to)
{
	char *buffer = malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t got = 0;
	int error = buffer ? 0 : -ENOMEM;

	while (!error && (got = pread(from, buffer, COPY_BYTES, at)) > 0) {
		error = write_all(to, buffer, got);
		at += got;
	}
	free(buffer);
	return error ?: got < 0 ? -errno : 0;
}

/* A file that nobody has finished, of one that was killed, is in the way. */
static int open_beside(const struct monitor_sums *s)
{
	int fd = file_create_new(s->beside, &s->caller);

	if (fd != -EEXIST)
		return fd;
	file_drop_new(s->beside, &s->caller);
	return file_create_new(s->beside, &s->caller);
}

static int put_in_place(const struct monitor_sums *s, int content)
{
	int fd = open_beside(s), error;

	if (fd < 0)
		return fd;
	error = copy_all(content, fd);
	if (close(fd) && !error)
		error = -errno;
	if (!error)
		error = file_take_place(s->options.path, &s->caller);
	if (error)
		file_drop_new(s->beside, &s->caller);
	return error;
}

static void say(struct monitor_sums *s, int error)
{
	if (error && !s->failing)
		log_error("%s: cannot be written: %s: %s; it is tried again each time", log_safe(s->options.path),
			  strerror(-error),
			  s->written ? "what was written before stays" : "make room or give it rights");
	if (!error && s->failing)
		log_warn("%s: is written again", log_safe(s->options.path));
	s->failing = error;
}

int monitor_sums_write(struct monitor_sums *s, const struct monitor_snapshot *now, struct kernel *kernel)
{
	struct definitions d = { 0 };
	int error = keep_ended(s, now), content = -1;

	if (!error)
		error = monitor_sums_make(&d, &(struct summed){ .options = &s->options,
								.now = now,
								.ended = s->ended,
								.nended = s->nended,
								.kernel = kernel });
	if (!error)
		content = encode(&d);
	definitions_free(&d);
	if (error || content == -ENOMEM)
		return -ENOMEM;
	error = content < 0 ? content : put_in_place(s, content);
	if (content >= 0)
		close(content);
	s->written |= !error;
	say(s, error);
	return 0;
}

int monitor_sums_new(struct monitor_sums **result, const struct monitor_sums_options *options)
{
	struct monitor_sums *s = calloc(1, sizeof(*s));
	int error, fd;

	*result = NULL;
	if (!s)
		return -ENOMEM;
	s->options = *options;
	error = caller_find(&s->caller);
	if (!error && asprintf(&s->beside, "%s%s", options->path, FILE_NEW) < 0) {
		s->beside = NULL;
		error = -ENOMEM;
	}
	fd = error ? error : file_reserve(options->path, &s->caller, &s->created);
	if (fd < 0) {
		s->created = false;
		monitor_sums_free(s);
		return fd;
	}
	close(fd);
	*result = s;
	return 0;
}

/* A file that was made and never written goes again. */
static void give_back(const struct monitor_sums *s)
{
	int fd = open(s->options.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	file_give_back(s->options.path, &s->caller, fd);
	if (fd >= 0)
		close(fd);
}

void monitor_sums_free(struct monitor_sums *s)
{
	if (!s)
		return;
	if (s->created && !s->written)
		give_back(s);
	for (size_t i = 0; i < s->nended; i++)
		ended_free(&s->ended[i]);
	free(s->ended);
	free(s->beside);
	caller_free(&s->caller);
	free(s);
}
