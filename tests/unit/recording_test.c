/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_test.c - what is written is read again, exactly, whatever becomes of the disk and of the recorder.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/recorded_job.h"
#include "util/files.h"
#include "util/log.h"

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

/* Runs it, records it and opens that. The recording's descriptor. */
static int open_job(struct job *job, size_t calls, struct recording **recording)
{
	int fd;

	run_job(job, calls);
	fd = record(job);
	assert_int_equal(recording_open_fd(recording, fd, "job.gasp"), 0);
	return fd;
}

/* --- the stories ------------------------------------------------------- */

static void spans_come_back_as_they_were(void **state)
{
	struct recording *recording;
	struct job job;
	int fd;

	fd = open_job(&job, 200000, &recording);
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

/* As two threads do it: neither takes anything from the other. */
static void it_is_read_twice_at_once(void **state)
{
	struct recording *recording, *again;
	struct recording_chunk chunk;
	struct job job;
	int fd;

	fd = open_job(&job, 200000, &recording);
	again = recording_again(recording);
	assert_non_null(again);
	assert_ptr_equal(recording_definitions(again), recording_definitions(recording));
	assert_int_equal(recording_read_chunk(recording, 0, &chunk), 0);
	compare_all(&job, again);
	assert_int_equal(job.seen_spans, job.nspans);
	assert_int_equal(job.seen_gaps, job.ngaps);
	for (size_t i = 0; i < chunk.nspans; i++)
		assert_true(same_span(chunk.spans[i], &job.spans[i]));
	recording_close(again);
	compare_all(&job, recording);
	assert_int_equal(job.seen_spans, job.nspans);
	recording_close(recording);
	close(fd);
	job_free(&job);
}

static void copy_to(int fd, const char *path)
{
	char bytes[65536];
	off_t at = 0;
	ssize_t got;
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(to >= 0);
	for (; (got = pread(fd, bytes, sizeof(bytes), at)) > 0; at += got)
		assert_int_equal(write(to, bytes, got), got);
	close(to);
}

static size_t spans_until_the_end(struct recording *recording, bool rests)
{
	struct recorded_item item;
	size_t count = 0;

	do {
		assert_int_equal(recording_next(recording, &item), 0);
		count += item.what == RECORDED_SPAN;
		if (rests)
			recording_rest(recording);
	} while (item.what != RECORDED_END);
	return count;
}

/* Its file is closed between any two records; and it must be the same one when it is opened again. */
static void a_recording_that_rests(void **state)
{
	struct recording *recording, *resting;
	struct recorded_item item;
	char folder[] = "/tmp/gaspbpf-test-XXXXXX";
	struct job job;
	int fd = open_job(&job, 200000, &recording);

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	copy_to(fd, "a.gasp");
	copy_to(fd, "b.gasp");
	assert_int_equal(recording_open(&resting, "a.gasp"), 0);
	assert_int_equal(spans_until_the_end(resting, true), job.nspans);
	recording_rewind(resting);
	assert_int_equal(recording_next(resting, &item), 0);
	recording_rest(resting);
	assert_int_equal(rename("b.gasp", "a.gasp"), 0);
	assert_true(spans_until_the_end(resting, true) < job.nspans - 1);
	recording_close(resting);
	assert_int_equal(unlink("a.gasp"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(folder), 0);
	recording_close(recording);
	close(fd);
	job_free(&job);
}

static int drop_spans(void *context, const struct definitions *d, const struct span *spans, size_t count)
{
	return 0;
}

/* Whether a chunk was read for its spans alone, or with what timelines need. */
static void how_far_back_a_chunk_reaches(void **state)
{
	const struct span_sink sink = { .spans = drop_spans };
	struct recording *recording, *again;
	uint64_t floor, same;
	struct job job;
	int fd;

	fd = open_job(&job, 200000, &recording);
	again = recording_again(recording);
	assert_non_null(again);
	assert_int_equal(recording_read(again, &sink), 0);
	for (size_t i = 0; i < recording_chunks(recording); i++) {
		struct recording_chunk chunk;

		assert_int_equal(recording_chunk_floor(recording, i, &floor), 0);
		assert_int_equal(recording_chunk_floor(again, i, &same), 0);
		assert_int_equal(floor, same);
		assert_int_equal(recording_read_chunk(recording, i, &chunk), 0);
		for (size_t k = 0; k < chunk.nspans; k++)
			assert_true(chunk.late[k] || chunk.spans[k]->start >= floor);
	}
	recording_close(again);
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
	job.d.threads[2].observed = 5000000000;
	job.d.threads[2].run = 3000000001;
	job.d.threads[2].queued = 1ULL << 63;
	job.d.threads[2].queue_known = true;
	job.d.threads[2].preempted = 77;
	job.d.threads[2].cpus = 2;
	job.d.threads[2].cpu = 4095;
	assert_int_equal(definitions_add_queue(&job.d), 0);
	job.d.queues[0] = (struct def_queue){ .thread = 2, .from = 1000, .to = 2000, .queued = 1ULL << 40, .run = 7 };
	job.d.run.queues_until = 8000000;
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
	assert_true(d->threads[2].observed == 5000000000 && d->threads[2].run == 3000000001);
	assert_true(d->threads[2].queue_known && d->threads[2].queued == 1ULL << 63);
	assert_int_equal(d->threads[2].preempted, 77);
	assert_int_equal(d->threads[2].cpus, 2);
	assert_int_equal(d->threads[2].cpu, 4095);
	assert_int_equal(d->nqueues, 1);
	assert_memory_equal(&d->queues[0], &job.d.queues[0], sizeof(d->queues[0]));
	assert_int_equal(d->run.queues_until, 8000000);
	assert_true(!d->threads[1].observed && !d->threads[1].queue_known && !d->threads[1].cpus);
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

	fd = open_job(&job, 300000, &recording);
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
			const struct span *s = chunk.spans[i];

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
			assert_true(same_span(&span, chunk.spans[late[i].position]));
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
	struct capture_log log = start_listening();
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
	log = start_listening();
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

	log = start_listening();
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
	struct capture_log log = start_listening();
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
		*span = (struct span){ .start = 1000000000000 + clock[thread],
				       .thread = thread,
				       .probe = kind,
				       .site = (uint32_t)(kind * 3 + below(3)),
				       .sequence = ++sequence[thread],
				       .nwords = kind == 1 ? 1 : 2 };
		clock[thread] += 60 + below(300);
		span->end = 1000000000000 + clock[thread];
		if (kind == 0) {
			span->words[0] = 16 + 8 * below(100);
			span->words[1] = blocks[thread][slot] = 0x7f1200000000 + thread * 0x4000000 +
								16 * below(1 << 16);
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

/* What they are said to take is what malloc() has given, more or less: a monitor forgets by that. */
static void the_memory_of_definitions(void **state)
{
	size_t before = mallinfo2().uordblks, taken;
	struct definitions d = { 0 };

	if (!before)
		skip(); /* this malloc() does not tell */
	random_state = 99;
	for (int i = 0; i < 20000; i++) {
		uint32_t process = definitions_add_process(&d), thread = definitions_add_thread(&d);

		d.processes[process] = (struct def_process){ .pid = i,
							     .rank = -1,
							     .name = text("job-%d", i),
							     .command = text("%0*d", (int)(20 + below(1200)), i) };
		d.threads[thread] = (struct def_thread){ .process = process, .tid = i, .name = text("worker-%d", i) };
	}
	taken = mallinfo2().uordblks - before;
	assert_in_range(definitions_bytes(&d), taken * 3 / 4, taken * 5 / 4);
	assert_true(taken > 15000000);
	definitions_free(&d);
	assert_int_equal(definitions_bytes(&d), 0);
}

/* As MPI_Start does: MPI_Send_init has the handle at its return, MPI_Cancel no bytes, MPI_Wait is no function. */
static void which_calls_begin_what_others_described(void **state)
{
	struct value values[] = { { .meaning = MEANING_REQUEST }, { .meaning = MEANING_BYTES } };
	struct def_probe probe = { .role = ROLE_FUNCTION, .values = values, .nvalues = 2 };

	assert_true(probe_begins_described(&probe));
	values[0].at_return = true;
	assert_false(probe_begins_described(&probe));
	values[0].at_return = false;
	probe.nvalues = 1;
	assert_false(probe_begins_described(&probe));
	probe.values++;
	assert_false(probe_begins_described(&probe));
	probe = (struct def_probe){ .role = ROLE_WAIT, .values = values, .nvalues = 2 };
	assert_false(probe_begins_described(&probe));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_come_back_as_they_were),
		cmocka_unit_test(it_is_read_twice_at_once),
		cmocka_unit_test(a_recording_that_rests),
		cmocka_unit_test(how_far_back_a_chunk_reaches),
		cmocka_unit_test(definitions_come_back_as_they_ended),
		cmocka_unit_test(late_spans_are_known_beforehand),
		cmocka_unit_test(the_memory_of_definitions),
		cmocka_unit_test(what_was_flushed_survives_a_kill),
		cmocka_unit_test(a_full_disk_costs_only_what_did_not_fit),
		cmocka_unit_test(a_disk_that_has_room_again),
		cmocka_unit_test(what_a_span_costs),
		cmocka_unit_test(which_calls_begin_what_others_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
