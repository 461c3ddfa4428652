/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorded_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/files.h"

uint64_t random_state;

uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

uint64_t below(uint64_t most)
{
	return random_number() % most;
}

char *text(const char *format, ...)
{
	char *result = NULL;
	va_list arguments;

	va_start(arguments, format);
	assert_true(vasprintf(&result, format, arguments) >= 0);
	va_end(arguments);
	return result;
}

static void define_probe(struct definitions *d, unsigned i)
{
	uint32_t index = definitions_add_probe(d); /* may move the array */
	struct def_probe *probe = &d->probes[index];

	probe->event = text("GASP_X_%u", i);
	probe->number = 0x1000 + i;
	probe->model = text("x");
	probe->role = i % ROLES;
	probe->marks = MARK_LEAF;
	probe->symbol = text("x_%u", i);
	probe->prototype = text("int x_%u(void *p)", i);
	probe->image = 0;
	probe->offset = 16 * i;
	probe->values = calloc(1, sizeof(*probe->values));
	probe->nvalues = 1;
	probe->values[0].name = text("p");
	probe->values[0].meaning = MEANING_PTR;
	probe->values[0].form = FORM_POINTER;
	probe->values[0].slot = 3;
	probe->values[0].width = GB_U64;
}

void define(struct definitions *d)
{
	unsigned i;

	*d = (struct definitions){ 0 };
	d->run.start = 1000000;
	d->run.start_realtime = 1700000000000000000ULL;
	d->run.command = text("gaspbpf -p 1\n\x1b[2J\xff");
	d->run.host = text("host");
	definitions_add_process(d);
	d->processes[0] = (struct def_process){ .pid = 77, .command = text("./job"), .rank = 3, .unit = text("PE") };
	definitions_add_image(d);
	d->images[0] = (struct def_image){ text("/usr/lib/libx.so"), text("libx.so.1"), NULL };
	for (i = 0; i < THREADS; i++) {
		definitions_add_thread(d);
		d->threads[i] = (struct def_thread){ .process = 0, .tid = 100 + i };
	}
	for (i = 0; i < PROBES; i++)
		define_probe(d, i);
	for (i = 0; i < SITES; i++) {
		definitions_add_site(d);
		d->sites[i] = (struct def_site){ .process = 0, .address = 0x400000 + i, .image = i % 2 ? 0 : NO_INDEX };
	}
	for (i = 0; i < 3; i++) {
		definitions_add_sum(d);
		d->sums[i] = (struct def_sum){
			.thread = i,
			.probe = PROBES - 1,
			.lost = 5,
			.summed = 2,
			.skipped = 100,
			.timed = 7,
			.total = 700,
			.min = 3,
			.max = 600,
			.bucket = { [1] = 1, [6] = 5, [20] = 1 },
		};
	}
}

static void finish_span(struct job *job, uint32_t thread, uint64_t start, uint16_t depth)
{
	struct span *span = &job->spans[job->nspans++];
	unsigned i;

	memset(span, 0, sizeof(*span));
	job->clock[thread] += below(5000);
	span->thread = thread;
	span->start = start;
	span->end = job->clock[thread];
	span->probe = (uint32_t)below(PROBES);
	span->site = below(9) ? (uint32_t)below(SITES) : NO_INDEX;
	span->sequence = ++job->sequence[thread];
	span->depth = depth;
	if (!below(20)) {
		span->reason = (uint8_t)below(GB_ENDS);
		span->unread = (uint32_t)below(1 << GB_SLOTS);
	}
	span->nwords = (uint8_t)(span->probe % (GB_SLOTS + 1));
	for (i = 0; i < span->nwords; i++)
		span->words[i] = below(3) ? 0x7f0000000000 + below(1 << 20) : random_number();
}

/* Nested calls, inner ones first, as they end. */
static void run_calls(struct job *job, uint32_t thread, uint16_t depth, size_t most)
{
	uint64_t start = job->clock[thread] += 1 + below(300);
	unsigned inner = depth < 3 ? (unsigned)below(4) : 0;

	while (inner-- && job->nspans + 8 < most)
		run_calls(job, thread, depth + 1, most);
	finish_span(job, thread, start, depth);
}

void run_job(struct job *job, size_t spans)
{
	uint64_t outer;
	unsigned i;

	random_state = 88172645463325252ULL;
	*job = (struct job){ 0 };
	define(&job->d);
	job->spans = calloc(spans, sizeof(*job->spans));
	job->gaps = calloc(spans, sizeof(*job->gaps));
	job->gap_before = calloc(spans, sizeof(*job->gap_before));
	for (i = 0; i < THREADS; i++)
		job->clock[i] = 2000000 + i;
	outer = job->clock[0] += 5; /* a call that lasts as long as the job */
	while (job->nspans + 16 < spans) {
		uint32_t thread = (uint32_t)below(THREADS);

		run_calls(job, thread, 1, spans);
		if (!below(50)) {
			struct gap *gap = &job->gaps[job->ngaps];

			*gap = (struct gap){ thread, 1 + below(100), job->clock[thread], 0 };
			gap->before = below(2) ? gap->after + below(1000) + 1 : 0;
			job->gap_before[job->ngaps++] = job->nspans;
			job->sequence[thread] += (uint32_t)gap->count;
		}
	}
	finish_span(job, 0, outer, 0);
}

void job_free(struct job *job)
{
	definitions_free(&job->d);
	free(job->spans);
	free(job->gaps);
	free(job->gap_before);
}

void feed(struct job *job, struct recording_writer *writer, size_t from, size_t to)
{
	size_t gap = 0;

	while (gap < job->ngaps && job->gap_before[gap] < from)
		gap++;
	for (; from < to; from++) {
		for (; gap < job->ngaps && job->gap_before[gap] == from; gap++)
			assert_int_equal(recording_gap(writer, &job->gaps[gap]), 0);
		assert_int_equal(recording_span(writer, &job->spans[from]), 0);
	}
}

int new_file(void)
{
	int fd = file_temporary();

	assert_true(fd >= 0);
	return fd;
}

int record(struct job *job)
{
	int fd = new_file();
	struct recording_writer *writer;

	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job->d), 0);
	feed(job, writer, 0, job->nspans);
	assert_int_equal(recording_finish(writer), 0);
	return fd;
}

int record_in_pieces(struct job *job)
{
	int fd = new_file();
	struct recording_writer *writer;
	size_t i;

	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job->d), 0);
	for (i = 0; i < 5; i++) {
		feed(job, writer, job->nspans * i / 5, job->nspans * (i + 1) / 5);
		job->d.threads[i].name = text("thread %zu", i);
		assert_int_equal(recording_flush(writer), 0);
	}
	assert_int_equal(recording_finish(writer), 0);
	return fd;
}

/* --- what is said ------------------------------------------------------ */

struct capture_log start_listening(void)
{
	struct capture_log log = { new_file(), dup(2) };

	dup2(log.fd, 2);
	return log;
}

const char *heard(struct capture_log *log)
{
	static char said[4096];
	ssize_t size = pread(log->fd, said, sizeof(said) - 1, 0);

	said[size > 0 ? size : 0] = '\0';
	dup2(log->stderr_fd, 2);
	close(log->stderr_fd);
	close(log->fd);
	return said;
}

unsigned lines(const char *said)
{
	unsigned count = 0;

	while (*said)
		count += *said++ == '\n';
	return count;
}
