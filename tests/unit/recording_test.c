/*
 * recording_test.c - what is written is read again, exactly; and whatever happens to the
 * file, reading it neither crashes nor hangs, and says where it stops.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "recording/recording.h"
#include "util/files.h"
#include "util/log.h"

#define THREADS 6
#define PROBES 40
#define SITES 300

/* --- a job that never was ---------------------------------------------- */

static uint64_t random_state;

/* xorshift: the same numbers at every run */
static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t most)
{
	return random_number() % most;
}

static char *text(const char *format, ...)
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

static void define(struct definitions *d)
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
			.thread = i, .probe = PROBES - 1, .lost = 5, .summed = 2, .skipped = 100, .timed = 7, .total = 700, .min = 3,
			.max = 600, .bucket = { [1] = 1, [6] = 5, [20] = 1 },
		};
	}
}

/* What was given to the writer, to be compared with what a reader gives. */
struct job {
	struct definitions d;
	struct span *spans;
	struct gap *gaps;
	size_t *gap_before;
	size_t nspans, ngaps;
	size_t seen_spans, seen_gaps; /* by a reader */
	uint64_t clock[THREADS];
	uint32_t sequence[THREADS];
};

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

static void run_job(struct job *job, size_t spans)
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

static void job_free(struct job *job)
{
	definitions_free(&job->d);
	free(job->spans);
	free(job->gaps);
	free(job->gap_before);
}

static void feed(struct job *job, struct recording_writer *writer, size_t from, size_t to)
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

static int new_file(void)
{
	int fd = file_temporary();

	assert_true(fd >= 0);
	return fd;
}

/* Records the whole job; a descriptor of the file. */
static int record(struct job *job)
{
	int fd = new_file();
	struct recording_writer *writer;

	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job->d), 0);
	feed(job, writer, 0, job->nspans);
	assert_int_equal(recording_finish(writer), 0);
	return fd;
}

/* The same in several chunks, with late spans, and definitions that change. */
static int record_in_pieces(struct job *job)
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

struct capture_log {
	int fd, stderr_fd;
};

static struct capture_log listen(void)
{
	struct capture_log log = { new_file(), dup(2) };

	dup2(log.fd, 2);
	return log;
}

/* What was said since listen(). */
static const char *heard(struct capture_log *log)
{
	static char said[4096];
	ssize_t size = pread(log->fd, said, sizeof(said) - 1, 0);

	said[size > 0 ? size : 0] = '\0';
	dup2(log->stderr_fd, 2);
	close(log->stderr_fd);
	close(log->fd);
	return said;
}

static unsigned lines(const char *said)
{
	unsigned count = 0;

	while (*said)
		count += *said++ == '\n';
	return count;
}

/* --- comparing --------------------------------------------------------- */

static bool same_span(const struct span *left, const struct span *right)
{
	return left->start == right->start && left->end == right->end && left->thread == right->thread &&
	       left->probe == right->probe && left->site == right->site && left->sequence == right->sequence &&
	       left->unread == right->unread && left->depth == right->depth && left->reason == right->reason &&
	       left->nwords == right->nwords &&
	       !memcmp(left->words, right->words, left->nwords * sizeof(left->words[0]));
}

static int compare_span(void *context, const struct definitions *d, const struct span *span)
{
	struct job *job = context;

	assert_true(job->seen_spans < job->nspans);
	assert_true(same_span(span, &job->spans[job->seen_spans]));
	job->seen_spans++;
	return 0;
}

static int compare_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct job *job = context;
	const struct gap *given = &job->gaps[job->seen_gaps];

	assert_true(job->seen_gaps < job->ngaps);
	assert_int_equal(gap->thread, given->thread);
	assert_int_equal(gap->count, given->count);
	assert_int_equal(gap->after, given->after);
	assert_int_equal(gap->before, given->before);
	assert_int_equal(job->gap_before[job->seen_gaps], job->seen_spans);
	job->seen_gaps++;
	return 0;
}

static void compare_all(struct job *job, struct recording *recording)
{
	struct span_sink sink = { .span = compare_span, .gap = compare_gap, .context = job };

	job->seen_spans = job->seen_gaps = 0;
	assert_int_equal(recording_read(recording, &sink), 0);
}

/* --- the stories ------------------------------------------------------- */

static void spans_come_back_as_they_were(void **state)
{
	struct recording *recording;
	struct job job;
	int fd;

	run_job(&job, 200000);
	fd = record(&job);
	assert_int_equal(recording_open_fd(&recording, fd, "job.gasp"), 0);
	assert_true(recording_chunks(recording) > 2);
	compare_all(&job, recording);
	assert_int_equal(job.seen_spans, job.nspans);
	assert_int_equal(job.seen_gaps, job.ngaps);
	compare_all(&job, recording); /* a second time */
	assert_int_equal(job.seen_spans, job.nspans);
	recording_close(recording);
	close(fd);
	job_free(&job);
}

static void definitions_come_back_as_they_ended(void **state)
{
	const struct definitions *d;
	struct recording_writer *writer;
	struct recording *recording;
	struct job job;
	int fd = new_file();

	run_job(&job, 1000);
	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job.d), 0);
	feed(&job, writer, 0, job.nspans);
	assert_int_equal(recording_flush(writer), 0);
	/* Things that become known later. */
	job.d.threads[2].name = text("worker");
	job.d.threads[2].calls = 12345678901;
	job.d.threads[2].counted = true;
	job.d.sites[7].located = true;
	job.d.sites[7].file = text("job.c");
	job.d.sites[7].line = 42;
	job.d.processes[0].exit_code = -1;
	job.d.processes[0].has_exit = true;
	job.d.sums[2].skipped = 1ULL << 40;
	job.d.sums[2].bucket[GB_BUCKETS - 1] = 300;
	memset(&job.d.sums[1].lost, 0, sizeof(job.d.sums[1]) - offsetof(struct def_sum, lost));
	job.d.run.end = 9000000;
	job.d.loss = (struct def_loss){ .calls = 10, .delivered = 7, .lost = 3 };
	assert_int_equal(recording_finish(writer), 0);

	assert_int_equal(recording_open_fd(&recording, fd, "job.gasp"), 0);
	d = recording_definitions(recording);
	assert_int_equal(d->nprocesses, 1);
	assert_int_equal(d->nimages, 1);
	assert_int_equal(d->nthreads, THREADS);
	assert_int_equal(d->nprobes, PROBES);
	assert_int_equal(d->nsites, SITES);
	assert_string_equal(d->run.command, job.d.run.command);
	assert_true(d->run.finished);
	assert_int_equal(d->run.end, 9000000);
	assert_null(d->run.rung);
	assert_int_equal(d->loss.lost, 3);
	assert_int_equal(d->processes[0].rank, 3);
	assert_string_equal(d->processes[0].unit, "PE");
	assert_int_equal(d->processes[0].exit_code, -1);
	assert_true(d->processes[0].has_exit);
	assert_null(d->images[0].build_id);
	assert_string_equal(d->threads[2].name, "worker");
	assert_true(d->threads[2].calls == 12345678901);
	assert_null(d->threads[1].name);
	assert_string_equal(d->probes[9].event, "GASP_X_9");
	assert_int_equal(d->probes[9].role, 9);
	assert_int_equal(d->probes[9].nvalues, 1);
	assert_string_equal(d->probes[9].values[0].name, "p");
	assert_int_equal(d->probes[9].values[0].slot, 3);
	assert_int_equal(d->sites[6].image, NO_INDEX);
	assert_int_equal(d->sites[7].line, 42);
	assert_string_equal(d->sites[7].file, "job.c");
	assert_int_equal(d->nsums, 3);
	assert_memory_equal(d->sums, job.d.sums, 3 * sizeof(*d->sums));
	recording_close(recording);
	close(fd);
	job_free(&job);
}

/*
 * The promise of recording.h: after chunks 0..k, every start of a thread before its largest end so far is in
 * these chunks or among the late spans of later ones.
 */
static void late_spans_are_known_beforehand(void **state)
{
	uint64_t watermark[THREADS] = { 0 };
	const struct late_start *late;
	struct recording_chunk chunk;
	struct recording *recording;
	size_t count, flagged = 0, span_number = 0, i, k;
	struct span span;
	struct job job;
	int fd;

	run_job(&job, 300000);
	fd = record(&job);
	assert_int_equal(recording_open_fd(&recording, fd, "job.gasp"), 0);
	late = recording_late(recording, &count);
	assert_true(count > 0);
	for (i = 1; i < count; i++)
		assert_true(late[i - 1].thread < late[i].thread ||
			    (late[i - 1].thread == late[i].thread && late[i - 1].start <= late[i].start));
	for (k = 0; k < recording_chunks(recording); k++) {
		uint64_t before[THREADS];

		memcpy(before, watermark, sizeof(before));
		assert_int_equal(recording_read_chunk(recording, k, &chunk), 0);
		for (i = 0; i < chunk.nspans; i++, span_number++) {
			const struct span *s = &chunk.spans[i];

			assert_true(same_span(s, &job.spans[span_number]));
			assert_int_equal(chunk.late[i], s->start < before[s->thread]);
			flagged += chunk.late[i];
			if (s->end > watermark[s->thread])
				watermark[s->thread] = s->end;
		}
		for (i = 0; i < count; i++) {
			if (late[i].chunk != k)
				continue;
			assert_true(late[i].position < chunk.nspans && chunk.late[late[i].position]);
			recording_late_span(recording, i, &span);
			assert_true(same_span(&span, &chunk.spans[late[i].position]));
		}
	}
	assert_int_equal(span_number, job.nspans);
	assert_int_equal(flagged, count);
	/* The call around everything is the last of the file and the first that started. */
	assert_int_equal(late[0].thread, 0);
	assert_int_equal(late[0].chunk, recording_chunks(recording) - 1);
	recording_close(recording);
	close(fd);
	job_free(&job);
}

static void what_was_flushed_survives_a_kill(void **state)
{
	struct capture_log log = listen();
	struct recording_writer *writer;
	struct recording *recording;
	struct job job;
	uint64_t last = 0;
	size_t i;
	int fd = new_file();

	run_job(&job, 5000);
	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job.d), 0);
	feed(&job, writer, 0, 2000);
	job.d.loss.lost = 5;
	assert_int_equal(recording_flush(writer), 0);
	feed(&job, writer, 2000, 3000);

	assert_int_equal(recording_open_fd(&recording, fd, "job.gasp"), 0);
	assert_false(recording_definitions(recording)->run.finished);
	assert_int_equal(recording_definitions(recording)->loss.lost, 5);
	for (i = 0; i < 2000; i++)
		if (job.spans[i].end > last)
			last = job.spans[i].end;
	assert_int_equal(recording_definitions(recording)->run.end, last);
	compare_all(&job, recording);
	assert_int_equal(job.seen_spans, 2000);
	recording_close(recording);
	recording_finish(writer);
	assert_int_equal(lines(heard(&log)), 1);
	close(fd);
	job_free(&job);
}

static void a_full_disk_costs_only_what_did_not_fit(void **state)
{
	struct rlimit limit = { 0 }, old;
	struct recording_writer *writer;
	struct recording *recording;
	struct capture_log log;
	struct job job;
	struct stat status;
	size_t i, kept, chunks;
	int fd = new_file();

	run_job(&job, 400000);
	getrlimit(RLIMIT_FSIZE, &old);
	limit.rlim_max = old.rlim_max;
	limit.rlim_cur = 3 << 20; /* EFBIG stands for all that a disk can say */
	log = listen();
	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job.d), 0);
	setrlimit(RLIMIT_FSIZE, &limit);
	for (i = 0; i < job.nspans; i++)
		assert_int_equal(recording_span(writer, &job.spans[i]), 0);
	kept = job.nspans - recording_unwritten(writer);
	assert_true(kept > 0 && kept < job.nspans);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, recording_bytes(writer));
	/* Not a byte more, at the end: the facts of the run must still be kept. */
	limit.rlim_cur = recording_bytes(writer);
	setrlimit(RLIMIT_FSIZE, &limit);
	job.d.threads[0].name = text("new name");
	job.d.run.end = 987654321;
	assert_int_equal(recording_finish(writer), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(lines(heard(&log)), 1); /* said once */

	log = listen();
	assert_int_equal(recording_open_fd(&recording, fd, "job.gasp"), 0);
	assert_string_equal(heard(&log), "");
	assert_true(recording_definitions(recording)->run.finished);
	assert_int_equal(recording_definitions(recording)->run.end, 987654321);
	assert_int_equal(recording_definitions(recording)->loss.unwritten, job.nspans - kept);
	chunks = recording_chunks(recording);
	assert_true(chunks > 0);
	job.ngaps = 0;
	compare_all(&job, recording);
	assert_int_equal(job.seen_spans, kept);
	assert_int_equal(recording_chunks(recording), chunks);
	recording_close(recording);
	close(fd);
	job_free(&job);
}

/* Definitions that did not fit are written again at the end, when there is room. */
static void a_disk_that_has_room_again(void **state)
{
	struct rlimit limit = { 0 }, old;
	struct recording_writer *writer;
	struct recording *recording;
	struct capture_log log = listen();
	struct job job;
	int fd = new_file();

	run_job(&job, 5000);
	getrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job.d), 0);
	limit = (struct rlimit){ recording_bytes(writer), old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	definitions_add_thread(&job.d);
	job.d.threads[0].name = text("changed");
	feed(&job, writer, 0, job.nspans);
	assert_int_equal(recording_flush(writer), 0);
	assert_int_equal(recording_unwritten(writer), job.nspans);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(recording_finish(writer), -EFBIG);
	assert_int_equal(lines(heard(&log)), 1);

	assert_int_equal(recording_open_fd(&recording, fd, "job.gasp"), 0);
	assert_int_equal(recording_definitions(recording)->nthreads, THREADS + 1);
	assert_string_equal(recording_definitions(recording)->threads[0].name, "changed");
	assert_int_equal(recording_chunks(recording), 0);
	recording_close(recording);
	close(fd);
	job_free(&job);
}

static void expect_refused(const void *bytes, size_t size, const char *words)
{
	struct capture_log log;
	struct recording *recording;
	const char *said;
	int fd = new_file();

	assert_int_equal(write_all(fd, bytes, size), 0);
	log = listen();
	assert_true(recording_open_fd(&recording, fd, "odd\x1b.gasp") < 0);
	said = heard(&log);
	if (lines(said) != 1 || !strstr(said, words) || !strstr(said, "odd\\x1b.gasp: "))
		fail_msg("said: %s", said);
	close(fd);
}

static void files_that_are_no_recordings(void **state)
{
	struct capture_log log;
	struct recording *recording;

	expect_refused("", 0, "empty");
	expect_refused("\177ELF and more that is no recording", 30, "not a gaspbpf recording");
	expect_refused("GASP", 4, "cut off");
	expect_refused("GASPBPF\n\2\0\0\0\0\0\0\0", 16, "recording format 2");
	log = listen();
	assert_int_equal(recording_open(&recording, "/nonexistent/x.gasp"), -ENOENT);
	assert_int_equal(recording_open(&recording, "/dev/zero"), -EINVAL);
	assert_int_equal(recording_open(&recording, "/tmp"), -EINVAL);
	assert_int_equal(lines(heard(&log)), 3);
}

/* --- damage ------------------------------------------------------------ */

static int count_span(void *context, const struct definitions *d, const struct span *span)
{
	size_t *count = context;

	assert_true(span->thread < d->nthreads && span->probe < d->nprobes && span->nwords <= GB_SLOTS);
	assert_true(span->site < d->nsites || span->site == NO_INDEX);
	assert_true(d->threads[span->thread].process < d->nprocesses);
	assert_true(span->end >= span->start && span->reason < GB_ENDS);
	++*count;
	return 0;
}

/* Opens and reads in both ways; how many spans there were. */
static size_t read_whatever(int fd)
{
	struct recording_chunk chunk;
	struct recording *recording;
	size_t count = 0, in_chunks = 0, late, i;
	struct span_sink sink = { .span = count_span, .context = &count };
	struct span span;

	if (recording_open_fd(&recording, fd, "damaged.gasp"))
		return 0;
	recording_late(recording, &late);
	for (i = 0; i < late; i++) {
		recording_late_span(recording, i, &span);
		assert_true(span.thread < recording_definitions(recording)->nthreads);
	}
	assert_int_equal(recording_read(recording, &sink), 0);
	for (i = 0; i < recording_chunks(recording); i++)
		if (!recording_read_chunk(recording, i, &chunk))
			in_chunks += chunk.nspans;
	/* Chunk by chunk the copies of late spans are checked too. */
	assert_true(in_chunks <= count);
	recording_close(recording);
	return count;
}

static uint8_t *whole_file(int fd, size_t *size)
{
	struct stat status;
	uint8_t *bytes;

	assert_int_equal(fstat(fd, &status), 0);
	*size = (size_t)status.st_size;
	bytes = malloc(*size);
	assert_int_equal(pread(fd, bytes, *size, 0), *size);
	return bytes;
}

static void put_word(uint8_t *at, uint32_t word);
static void mend(uint8_t *bytes, size_t size);

/* A recording with one more chunk at its end: what is said when it is read, and how many sums there are. */
static const char *read_with(const char *type, const void *payload, size_t size, size_t *nsums)
{
	struct capture_log log;
	struct recording *recording;
	const char *said;
	uint8_t *bytes;
	struct job job;
	size_t before;
	int fd;

	run_job(&job, 100);
	fd = record_in_pieces(&job);
	bytes = whole_file(fd, &before);
	bytes = realloc(bytes, before + 24 + size);
	memset(bytes + before, 0, 24);
	memcpy(bytes + before, type, 4);
	put_word(bytes + before + 8, size);
	put_word(bytes + before + 12, size);
	memcpy(bytes + before + 24, payload, size);
	mend(bytes, before + 24 + size);
	assert_int_equal(pwrite(fd, bytes, before + 24 + size, 0), before + 24 + size);
	log = listen();
	assert_int_equal(recording_open_fd(&recording, fd, "odd.gasp"), 0);
	*nsums = recording_definitions(recording)->nsums;
	recording_close(recording);
	assert_int_equal(read_whatever(fd), job.nspans); /* and says it again */
	said = heard(&log);
	free(bytes);
	close(fd);
	job_free(&job);
	return said;
}

static void a_chunk_of_a_newer_writer_is_passed_over(void **state)
{
	size_t nsums;

	assert_string_equal(read_with("NEWS", "whatever", 8, &nsums), "");
	assert_int_equal(nsums, 3);
}

/* An entry is: index, length, fields; a field is: number, length, bytes. */
static void sums_that_cannot_be(void **state)
{
	static const struct {
		const char *payload;
		size_t size;
		const char *words;
	} cases[] = {
#define PAYLOAD(text) text, sizeof(text) - 1
		{ PAYLOAD("\3\6" "\1\1\0" "\2\1\0"), "" },
		{ PAYLOAD("\3\11" "\1\1\0" "\2\1\0" "\77\1\0"), "" }, /* a field of a newer writer */
		{ PAYLOAD("\4\6" "\1\1\0" "\2\1\0"), "a definition is missing" },
		{ PAYLOAD("\3\7" "\1\1\0" "\2\1\0"), "a definition does not fit" },
		{ PAYLOAD("\3\3" "\2\1\0"), "no thread" },
		{ PAYLOAD("\3\3" "\1\1\0"), "no probe" },
		{ PAYLOAD("\3\6" "\1\1\144" "\2\1\0"), "no thread" },
		{ PAYLOAD("\3\7" "\1\1\0" "\2\2\377\1"), "no probe" },
		{ PAYLOAD("\3\22" "\1\1\0" "\2\1\0" "\3\12\377\377\377\377\377\377\377\377\377\1"), "more calls than there can be" },
		{ PAYLOAD("\3\12" "\1\1\0" "\2\1\0" "\12\2\50\1"), "too many columns" },
		{ PAYLOAD("\3\13" "\1\1\0" "\2\1\0" "\12\3\47\1\1"), "too many columns" },
		{ PAYLOAD("\3\12" "\1\1\0" "\2\1\0" "\12\2\0\200"), "a histogram is bad" },
		{ PAYLOAD("\3\10" "\1\1\0" "\2\1\0" "\12\0"), "a histogram is bad" },
	};
	size_t nsums;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *said = read_with("SUMS", cases[i].payload, cases[i].size, &nsums);

		if (*cases[i].words ? lines(said) != 2 || !strstr(said, cases[i].words) : *said)
			fail_msg("case %zu: said: %s", i, said);
		assert_int_equal(nsums, *cases[i].words ? 3 : 4);
	}
}

static void a_damaged_file_is_read_up_to_the_damage(void **state)
{
	struct capture_log log;
	const char *said;
	struct job job;
	uint8_t *bytes;
	size_t size, count;
	int fd;

	run_job(&job, 200000);
	fd = record(&job);
	bytes = whole_file(fd, &size);
	bytes[size / 2] ^= 4;
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	log = listen();
	count = read_whatever(fd);
	said = heard(&log);
	assert_true(count > 0 && count < job.nspans);
	assert_int_equal(lines(said), 1);
	assert_non_null(strstr(said, "damaged.gasp: damaged at byte "));
	assert_non_null(strstr(said, "a checksum does not match: what was read up to there is used"));

	/* Cut in the middle of a chunk. */
	bytes[size / 2] ^= 4;
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	assert_int_equal(ftruncate(fd, (off_t)size / 2), 0);
	log = listen();
	count = read_whatever(fd);
	said = heard(&log);
	assert_true(count > 0 && count < job.nspans);
	assert_int_equal(lines(said), 1);
	assert_non_null(strstr(said, "the file ends inside a chunk"));
	free(bytes);
	close(fd);
	job_free(&job);
}

static uint32_t word_at(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* CRC-32 as in zlib, bit by bit: the test must not borrow the code it tests. */
static uint32_t crc_of(uint32_t crc, const uint8_t *at, size_t size)
{
	unsigned bit;

	crc = ~crc;
	while (size--) {
		crc ^= *at++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* Recomputes the checksums, so that damage gets past them: a file made on purpose. */
static void mend(uint8_t *bytes, size_t size)
{
	size_t at = 16;

	while (size - at >= 24) {
		uint32_t stored = word_at(bytes + at + 8), crc, i;

		if (stored > size - at - 24)
			return;
		crc = crc_of(crc_of(0, bytes + at, 16), bytes + at + 24, stored);
		for (i = 0; i < 4; i++)
			bytes[at + 16 + i] = (uint8_t)(crc >> (8 * i));
		at += 24 + stored;
	}
}

static void put_word(uint8_t *at, uint32_t word)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		at[i] = (uint8_t)(word >> (8 * i));
}

/* The same file with nothing compressed, so that damage reaches what the chunks hold. */
static uint8_t *unpack(const uint8_t *bytes, size_t *size)
{
	uint8_t *out = malloc(16 * *size + 1024);
	size_t at = 16, to = 16;

	memcpy(out, bytes, 16);
	while (at < *size) {
		uint32_t stored = word_at(bytes + at + 8), raw = word_at(bytes + at + 12);

		assert_true(to + 24 + raw < 16 * *size);
		memcpy(out + to, bytes + at, 24);
		put_word(out + to + 8, raw);
		if (word_at(bytes + at + 4))
			assert_int_equal(ZSTD_decompress(out + to + 24, raw, bytes + at + 24, stored), raw);
		else
			memcpy(out + to + 24, bytes + at + 24, raw);
		put_word(out + to + 4, 0);
		at += 24 + stored;
		to += 24 + raw;
	}
	*size = to;
	mend(out, to);
	return out;
}

static void damage_and_read(const uint8_t *bytes, size_t size, size_t rounds, bool mended)
{
	uint8_t *copy = malloc(size);
	int fd = new_file();
	size_t i;

	for (i = 0; i < size; i += size / 200 + 1) { /* cut at many places */
		assert_int_equal(ftruncate(fd, (off_t)i), 0);
		assert_int_equal(pwrite(fd, bytes, i, 0), i);
		read_whatever(fd);
	}
	for (i = 0; i < rounds; i++) {
		unsigned flips = 1 + (unsigned)below(4);

		memcpy(copy, bytes, size);
		while (flips--)
			copy[below(size)] = (uint8_t)(below(2) ? random_number() : 0xff);
		if (mended)
			mend(copy, size);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, copy, size, 0), size);
		read_whatever(fd);
	}
	free(copy);
	close(fd);
}

static void no_damage_harms(void **state)
{
	size_t size, flat_size, rounds = getenv("FUZZ_ROUNDS") ? strtoul(getenv("FUZZ_ROUNDS"), NULL, 10) : 1000;
	struct capture_log log = listen();
	uint8_t *bytes, *flat;
	struct rusage before, after;
	struct job job;
	int fd;

	run_job(&job, 300);
	fd = record_in_pieces(&job);
	bytes = whole_file(fd, &size);
	flat_size = size;
	flat = unpack(bytes, &flat_size);
	assert_int_equal(read_whatever(fd), job.nspans);
	getrusage(RUSAGE_SELF, &before);
	damage_and_read(bytes, size, rounds, false);
	damage_and_read(bytes, size, rounds, true);
	damage_and_read(flat, flat_size, 3 * rounds, true);
	getrusage(RUSAGE_SELF, &after);
	heard(&log);
	assert_true(after.ru_maxrss - before.ru_maxrss < 100 * 1024); /* KiB */
	free(bytes);
	free(flat);
	close(fd);
	job_free(&job);
}

/* --- cost -------------------------------------------------------------- */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int just_count(void *context, const struct definitions *d, const struct span *span)
{
	++*(size_t *)context;
	return 0;
}

/* malloc, free, lock, unlock of a few threads, as a busy job does them. */
static void make_stream(struct span *spans, size_t count)
{
	uint64_t clock[THREADS] = { 0 }, blocks[THREADS][64] = { { 0 } };
	uint32_t sequence[THREADS] = { 0 };
	size_t i;

	for (i = 0; i < count; i++) {
		uint32_t thread = (uint32_t)(i / 64 % THREADS), kind = (uint32_t)(i % 4);
		uint64_t slot = below(64);
		struct span *span = &spans[i];

		clock[thread] += 100 + below(1500);
		*span = (struct span){ .start = 1000000000000 + clock[thread], .thread = thread, .probe = kind,
				       .site = (uint32_t)(kind * 3 + below(3)), .sequence = ++sequence[thread],
				       .nwords = kind == 1 ? 1 : 2 };
		clock[thread] += 60 + below(300);
		span->end = 1000000000000 + clock[thread];
		if (kind == 0) {
			span->words[0] = 16 + 8 * below(100);
			span->words[1] = blocks[thread][slot] = 0x7f1200000000 + thread * 0x4000000 + 16 * below(1 << 16);
		} else if (kind == 1) {
			span->words[0] = blocks[thread][slot];
		} else {
			span->words[0] = 0x55550000 + 64 * below(4);
		}
	}
}

/* Not a test that can fail on a busy machine: it prints what writing and reading cost. */
static void what_a_span_costs(void **state)
{
	const size_t count = 1000000;
	struct span *spans = calloc(count, sizeof(*spans));
	struct recording_writer *writer;
	struct recording *recording;
	struct recording_chunk chunk;
	struct definitions d;
	size_t seen = 0, i;
	struct span_sink sink = { .span = just_count, .context = &seen };
	double start, written, read, chunked;
	struct stat status;
	int fd = new_file();

	random_state = 12345;
	define(&d);
	make_stream(spans, count);
	assert_int_equal(recording_create(&writer, dup(fd), "cost.gasp", &d), 0);
	start = now();
	for (i = 0; i < count; i++)
		recording_span(writer, &spans[i]);
	recording_finish(writer);
	written = now() - start;
	fstat(fd, &status);
	assert_int_equal(recording_open_fd(&recording, fd, "cost.gasp"), 0);
	start = now();
	recording_read(recording, &sink);
	read = now() - start;
	start = now();
	for (i = 0; i < recording_chunks(recording); i++)
		assert_int_equal(recording_read_chunk(recording, i, &chunk), 0);
	chunked = now() - start;
	assert_int_equal(seen, count);
	assert_true((double)status.st_size / (double)count < 12);
	print_message("a span: %.1f bytes, written in %.0f ns, read in %.0f ns, by chunks in %.0f ns of CPU\n",
		      (double)status.st_size / (double)count, written / (double)count, read / (double)count,
		      chunked / (double)count);
	recording_close(recording);
	close(fd);
	definitions_free(&d);
	free(spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_come_back_as_they_were),
		cmocka_unit_test(definitions_come_back_as_they_ended),
		cmocka_unit_test(late_spans_are_known_beforehand),
		cmocka_unit_test(what_was_flushed_survives_a_kill),
		cmocka_unit_test(a_full_disk_costs_only_what_did_not_fit),
		cmocka_unit_test(a_disk_that_has_room_again),
		cmocka_unit_test(files_that_are_no_recordings),
		cmocka_unit_test(a_damaged_file_is_read_up_to_the_damage),
		cmocka_unit_test(a_chunk_of_a_newer_writer_is_passed_over),
		cmocka_unit_test(sums_that_cannot_be),
		cmocka_unit_test(no_damage_harms),
		cmocka_unit_test(what_a_span_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
