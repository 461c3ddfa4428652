/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - writes what is kept, in a child process.
 *
 * Packing, source lines and the disk take seconds, in which nobody would look at the kernel's rings; so it is done by a
 * child: fork() gives it the spans and all that they refer to as they are at this moment, at the price of the pages
 * that change meanwhile: so much memory is taken twice, for as long as it writes. The child gives back what it has
 * written, the oldest first, which is what this process overwrites first.
 *
 * The child keeps no link of the kernel side and no socket: if this process dies, the probes go with it, and the child
 * ends its work.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flight/private.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"

/* --- in the child ------------------------------------------------------------ */

struct writing {
	struct flight *flight;
	struct recording_writer *writer;
	uint64_t *spans, *lost; /* by thread */
	uint32_t *sequence;     /* by thread: of its last span */
	bool *used;             /* by call site */
	struct def_sum *sums;   /* of the time that is kept */
};

/* What holds probes in place, or keeps somebody waiting for us, must not outlive the parent. */
static void close_ties(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char what[32];

	while (folder && (entry = readdir(folder))) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, what, sizeof(what) - 1);
		int fd = atoi(entry->d_name);

		if (length < 0 || fd <= STDERR_FILENO)
			continue;
		what[length] = '\0';
		if (!strncmp(what, "anon_inode:", 11) || !strncmp(what, "socket:", 7) || !strncmp(what, "pipe:", 5))
			close(fd);
	}
	if (folder)
		closedir(folder);
}

static int write_span(void *context, const struct definitions *d, const struct span *span)
{
	struct writing *w = context;

	w->spans[span->thread]++;
	w->sequence[span->thread] = span->sequence;
	if (span->site != NO_INDEX)
		w->used[span->site] = true;
	return recording_span(w->writer, span);
}

static int write_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct writing *w = context;

	w->lost[gap->thread] += gap->count;
	return recording_gap(w->writer, gap);
}

/* The inner calls first, as if they had ended now. */
static int write_open(struct writing *w, uint64_t now)
{
	struct open_calls *open = &w->flight->open;
	int err = 0;

	for (size_t i = open->count; i-- && !err;) {
		struct span span = open->spans[i];

		span.end = now > span.start ? now : span.start;
		span.reason = GB_END_DETACH;
		span.sequence = w->sequence[span.thread] + 1;
		err = write_span(w, w->flight->d, &span);
	}
	return err;
}

static int write_blocks(struct writing *w)
{
	struct span_sink sink = { .span = write_span, .gap = write_gap, .context = w };
	struct flight *f = w->flight;
	int err = 0;

	for (size_t i = 0; i < f->ring.count && !err; i++) {
		const struct block *block = ring_block(&f->ring, i);

		err = block->sums ? sums_read(f, block, w->sums)
				  : block_read(f->maker, f->ring.data + block->at, block->size, &sink);
		ring_release(&f->ring, i);
	}
	return err;
}

/* The run is what is kept of it. */
static void describe_run(struct flight *f, const char *why, uint64_t now)
{
	struct def_run *run = &f->d->run;
	uint64_t since = flight_since(f);

	run->end = now;
	run->end_realtime = clock_realtime();
	if (since > run->start) {
		run->start_realtime = run->end_realtime - (now - since);
		run->start = since;
	}
	run->finished = true;
	run->own_cpu = 0;
	run->reason = strdup(why);
	for (size_t i = 0; i < f->d->nprocesses; i++)
		if (f->d->processes[i].start < run->start)
			f->d->processes[i].start = run->start;
	for (size_t i = 0; i < f->d->nthreads; i++)
		f->d->threads[i].counted = false; /* these counts are of all its calls */
}

/* Each thread's calls are those that are kept, and those that are known to be missing among them. */
static void count(struct writing *w)
{
	struct definitions *d = w->flight->d;

	d->loss = (struct def_loss){ 0 };
	for (size_t i = 0; i < d->nthreads; i++) {
		d->threads[i].calls = w->spans[i] + w->lost[i];
		d->threads[i].lost = w->lost[i];
		d->threads[i].counted = true;
		d->loss.delivered += w->spans[i];
		d->loss.lost += w->lost[i];
	}
	sums_apply(d, w->sums);
	d->loss.calls = d->loss.delivered + d->loss.lost + d->loss.summed + d->loss.skipped;
}

static void locate(struct writing *w)
{
	for (size_t i = 0; i < w->flight->d->nsites; i++)
		if (w->used[i])
			capture_locate_site(w->flight->capture, i);
}

/* 0 or -errno, said. */
static int write_all_of_it(struct flight *f, int fd, const char *path, const char *why)
{
	uint64_t now = clock_monotonic();
	const struct definitions *d = f->d;
	struct writing w = {
		.flight = f,
		.spans = calloc(d->nthreads + 1, sizeof(*w.spans)),
		.lost = calloc(d->nthreads + 1, sizeof(*w.lost)),
		.sequence = calloc(d->nthreads + 1, sizeof(*w.sequence)),
		.used = calloc(d->nsites + 1, sizeof(*w.used)),
		.sums = calloc(d->nsums + 1, sizeof(*w.sums)),
	};
	int err, finished;

	if (!w.spans || !w.lost || !w.sequence || !w.used || !w.sums)
		return -ENOMEM;
	describe_run(f, why, now);
	capture_name_threads(f->capture);
	err = recording_create(&w.writer, fd, path, d);
	if (err)
		return err;
	err = write_blocks(&w) ?: write_open(&w, now);
	count(&w);
	locate(&w);
	finished = recording_finish(w.writer);
	if (err)
		log_error("%s: not all that was kept could be written: %s", log_safe(path), strerror(-err));
	return err ?: finished;
}

static void __attribute__((noreturn)) write_and_exit(struct flight *f, int fd, const char *path, const char *why)
{
	close_ties();
	if (nice(10) < 0)
		errno = 0; /* then as it is */
	_exit(write_all_of_it(f, fd, path, why) ? 1 : 0);
}

/* --- in the recorder ---------------------------------------------------------- */

static void describe(const struct request *r, char why[WHY_SIZE + 64])
{
	if (r->more)
		snprintf(why, WHY_SIZE + 64, "%s, and %u more trigger%s since", r->why, r->more,
			 r->more == 1 ? "" : "s");
	else
		snprintf(why, WHY_SIZE + 64, "%s", r->why);
}

static void sum_up(struct flight *f, struct dump *dump)
{
	dump->spans = f->open.count;
	for (size_t i = 0; i < f->ring.count; i++) {
		dump->spans += ring_block(&f->ring, i)->spans;
		dump->lost += ring_block(&f->ring, i)->lost;
	}
}

int dump_begin(struct flight *f, const struct request *request)
{
	struct dump *dump = &f->dump;
	char why[WHY_SIZE + 64];

	*dump = (struct dump){ .request = *request };
	dump->fd = flight_create(f, request->word, dump->path);
	if (dump->fd < 0)
		return dump->fd;
	open_fetch(f);
	flight_seal(f);
	if (!capture_read_sums(f->capture))
		sums_keep(f, clock_monotonic());
	sum_up(f, dump);
	dump->length = clock_monotonic() - (flight_since(f) > f->d->run.start ? flight_since(f) : f->d->run.start);
	describe(request, why);
	fflush(NULL);
	dump->child = fork();
	if (!dump->child)
		write_and_exit(f, dump->fd, dump->path, why);
	open_free(&f->open);
	if (dump->child < 0) {
		int error = errno;

		dump->child = 0;
		close(dump->fd);
		log_error("%s: not written: no process for it: %s: free some memory", log_safe(dump->path),
			  strerror(error));
		return -error;
	}
	return 0;
}

/* Where it is, for somebody who is not in our folder. */
static void whole_path(const struct dump *dump, char *text, size_t room)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dump->fd);
	length = readlink(link, text, room - 1);
	if (length < 0)
		snprintf(text, room, "%s", dump->path);
	else
		text[length] = '\0';
}

static void tell(struct flight *f, struct dump *dump, int status)
{
	char why[WHY_SIZE + 64], spans[FORMAT_SIZE], length[FORMAT_SIZE], size[FORMAT_SIZE],
		lost[FORMAT_SIZE + 16] = "", number[FORMAT_SIZE];
	struct stat file = { 0 };
	bool written = WIFEXITED(status) && !WEXITSTATUS(status);

	describe(&dump->request, why);
	fstat(dump->fd, &file);
	if (dump->lost)
		snprintf(lost, sizeof(lost), ", %s lost", format_count(number, dump->lost));
	if (written) {
		log_warn("%s: %s: %s call%s%s in the %s before, %s", log_safe(dump->path), why,
			 format_count(spans, dump->spans), dump->spans == 1 ? "" : "s", lost,
			 format_time(length, dump->length), format_bytes(size, file.st_size));
	} else {
		log_error("%s: the dump is not whole (%s): %s: check the disk", log_safe(dump->path), why,
			  WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "see above");
		f->error = f->error ?: -EIO;
	}
	if (!dump->request.ticket)
		return;
	f->answered = dump->request.ticket;
	f->answer_is = true;
	f->answer_written = written;
	whole_path(dump, f->answer, sizeof(f->answer));
}

void dump_end(struct flight *f, bool wait)
{
	struct dump *dump = &f->dump;
	int status = 0;
	pid_t got;

	if (!dump->child)
		return;
	do {
		got = waitpid(dump->child, &status, wait ? 0 : WNOHANG);
	} while (got < 0 && errno == EINTR);
	if (!got)
		return;
	tell(f, dump, got < 0 ? SIGKILL : status);
	close(dump->fd);
	dump->child = 0;
}
