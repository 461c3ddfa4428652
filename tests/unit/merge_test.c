/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_test.c - events of several threads in one order of time, out of a recording; and events while calls are being
 * made. What each thread is told must be what timeline_read() tells of it, which timeline_test.c checks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "timeline/timeline.h"
#include "util/files.h"

#define THREADS 5
#define EVENTS_MOST 400000
#define AFTER 1000000ull /* ns */

struct told {
	uint64_t time;
	uint32_t sequence;
	uint8_t type, lane;
};

struct reading {
	struct told *told[THREADS];
	size_t count[THREADS];
	uint64_t now;
	bool ordered; /* among all threads */
	uint64_t gaps;
};

static int take(void *context, const struct definitions *d, const struct event *event)
{
	struct reading *r = context;
	uint32_t thread = event->span->thread;

	r->ordered &= event->time >= r->now;
	r->now = event->time;
	if (!r->told[thread])
		r->told[thread] = malloc(EVENTS_MOST * sizeof(struct told));
	assert_true(r->count[thread] < EVENTS_MOST);
	r->told[thread][r->count[thread]++] = (struct told){ event->time, event->span->sequence, event->type,
							     event->lane };
	return 0;
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	((struct reading *)context)->gaps += gap->count;
	return 0;
}

static struct timeline_ops ops_for(struct reading *r)
{
	*r = (struct reading){ .ordered = true };
	return (struct timeline_ops){ .event = take, .gap = take_gap, .context = r };
}

static void same_for_each_thread(const struct reading *a, const struct reading *b, bool sequences)
{
	assert_int_equal(a->gaps, b->gaps);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(a->count[i], b->count[i]);
		for (size_t k = 0; k < a->count[i]; k++) {
			assert_int_equal(a->told[i][k].time, b->told[i][k].time);
			assert_int_equal(a->told[i][k].type, b->told[i][k].type);
			if (sequences || a->told[i][k].type == EVENT_END)
				assert_int_equal(a->told[i][k].sequence, b->told[i][k].sequence);
		}
	}
}

static void forget(struct reading *r)
{
	for (int i = 0; i < THREADS; i++)
		free(r->told[i]);
}

/* --- a job: threads that call, and return, as dice fall -------------------------------- */

struct job {
	struct definitions d;
	struct span open[THREADS][32];
	unsigned depth[THREADS];
	uint32_t sequence[THREADS];
	uint64_t now;
	struct recording_writer *writer;
	struct timeline_live *live;
	unsigned seed;
	unsigned long returned; /* calls */
	bool shown;             /* the calls in progress, to the live timeline */
};

static void job_open(struct job *job, unsigned seed, int *fd)
{
	uint32_t process, probe, image;

	*job = (struct job){ .seed = seed, .now = AFTER };
	job->d.run = (struct def_run){ .start = AFTER, .end = 1ull << 40, .finished = true };
	process = definitions_add_process(&job->d);
	job->d.processes[process] = (struct def_process){ .pid = 10, .rank = -1 };
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t thread = definitions_add_thread(&job->d);

		job->d.threads[thread] = (struct def_thread){ .process = process, .tid = 10 + i };
	}
	image = definitions_add_image(&job->d);
	probe = definitions_add_probe(&job->d);
	job->d.probes[probe] = (struct def_probe){ .event = strdup("GASP_A"), .model = strdup("test"), .image = image };
	*fd = file_temporary();
	assert_true(*fd >= 0);
	assert_int_equal(recording_create(&job->writer, dup(*fd), "test.gasp", &job->d), 0);
}

static unsigned dice(struct job *job, unsigned sides)
{
	return (unsigned)rand_r(&job->seed) % sides;
}

static void tell(struct job *job, const struct span *span)
{
	struct span_sink sink;

	assert_int_equal(recording_span(job->writer, span), 0);
	job->returned++;
	if (!job->live)
		return;
	sink = timeline_live_sink(job->live);
	assert_int_equal(sink.span(sink.context, &job->d, span), 0);
}

static void leave(struct job *job, unsigned thread)
{
	struct span *span = &job->open[thread][--job->depth[thread]];

	span->end = job->now;
	span->sequence = ++job->sequence[thread];
	tell(job, span);
}

static void enter(struct job *job, unsigned thread)
{
	job->open[thread][job->depth[thread]] = (struct span){
		.start = job->now, .thread = thread, .site = NO_INDEX, .depth = job->depth[thread]
	};
	job->depth[thread]++;
}

/* What the kernel would show: twice, so that it is believed. */
static void show(struct job *job)
{
	for (int turn = 0; turn < 2; turn++) {
		for (unsigned thread = 0; thread < THREADS; thread++) {
			for (unsigned i = 0; i < job->depth[thread]; i++) {
				struct span span = job->open[thread][i];

				span.end = UINT64_MAX;
				assert_int_equal(timeline_live_open(job->live, &span, false), 0);
			}
		}
	}
}

static void job_run(struct job *job, unsigned steps, unsigned often)
{
	for (unsigned i = 0; i < steps; i++) {
		unsigned thread = dice(job, THREADS);

		job->now += 1 + dice(job, 20); /* no two events at one time: their order is not the question here */
		if (job->depth[thread] && (job->depth[thread] == 32 || dice(job, 100) < often))
			leave(job, thread);
		else
			enter(job, thread);
		if (job->live && job->shown && !dice(job, 200))
			show(job);
		if (job->live && !dice(job, 50))
			assert_int_equal(timeline_live_release(job->live), 0);
	}
	for (unsigned thread = 0; thread < THREADS; thread++)
		while (job->depth[thread]) {
			job->now++;
			leave(job, thread);
		}
}

static void job_close(struct job *job, int fd)
{
	timeline_live_free(job->live);
	definitions_free(&job->d);
	close(fd);
}

static void read_both(int fd, struct reading *apart, struct reading *merged)
{
	struct timeline_ops ops = ops_for(apart);
	struct recording *recording;

	assert_int_equal(recording_open_fd(&recording, fd, "test.gasp"), 0);
	assert_int_equal(timeline_read(recording, &ops), 0);
	ops = ops_for(merged);
	assert_int_equal(timeline_read_merged(recording, &ops), 0);
	recording_close(recording);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* More than one chunk, and calls that last for many of them. */
static void merged_is_the_same_in_one_order(void **state)
{
	for (unsigned seed = 1; seed <= 4; seed++) {
		struct reading apart, merged;
		struct job job;
		int fd;

		job_open(&job, seed, &fd);
		job_run(&job, 400000, seed % 2 ? 50 : 60);
		assert_int_equal(recording_finish(job.writer), 0);
		read_both(fd, &apart, &merged);
		assert_true(merged.ordered);
		same_for_each_thread(&apart, &merged, true);
		assert_true(job.returned > RECORDING_CHUNK_SPANS);
		forget(&apart);
		forget(&merged);
		job_close(&job, fd);
	}
}

static void live_is_the_same(void **state)
{
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct reading live, apart, merged;
		struct timeline_ops ops = ops_for(&live);
		struct job job;
		int fd;

		job_open(&job, seed, &fd);
		job.shown = seed % 2;
		job.live = timeline_live_new(&job.d, &ops);
		assert_non_null(job.live);
		job_run(&job, 20000, seed % 3 ? 50 : 70);
		assert_int_equal(timeline_live_end(job.live), 0);
		assert_int_equal(recording_finish(job.writer), 0);
		read_both(fd, &apart, &merged);
		/* The START of a call that was shown has no number yet. */
		same_for_each_thread(&apart, &live, !job.shown);
		forget(&live);
		forget(&apart);
		forget(&merged);
		job_close(&job, fd);
	}
}

/* A job of one thread that is told live, by now without a call. */
static void begin_live(struct job *job, struct reading *live, int *fd)
{
	struct timeline_ops ops = ops_for(live);

	job_open(job, 1, fd);
	job->live = timeline_live_new(&job->d, &ops);
}

static void end_live(struct job *job, struct reading *live, int fd)
{
	assert_int_equal(recording_finish(job->writer), 0);
	forget(live);
	job_close(job, fd);
}

static void calls(struct job *job, int count)
{
	while (count--) {
		job->now++;
		enter(job, 0);
		job->now++;
		leave(job, 0);
	}
}

/* A call that does not end, and calls inside it: told as soon as it is shown twice, and not before. */
static void what_lasts_is_told_when_it_is_shown(void **state)
{
	struct reading live;
	struct job job;
	int fd;

	begin_live(&job, &live, &fd);
	enter(&job, 0);
	calls(&job, 3);
	assert_int_equal(timeline_live_release(job.live), 0);
	assert_int_equal(live.count[0], 0);
	assert_true(timeline_live_waits(job.live, job.now));
	show(&job);
	assert_int_equal(timeline_live_release(job.live), 0);
	assert_int_equal(live.count[0], 7);
	assert_false(timeline_live_waits(job.live, job.now));
	job.now++;
	leave(&job, 0);
	assert_int_equal(timeline_live_release(job.live), 0);
	assert_int_equal(live.count[0], 8);
	assert_int_equal(live.told[0][7].type, EVENT_END);
	assert_int_equal(live.told[0][7].time, job.now);
	end_live(&job, &live, fd);
}

/* The span of a call that was shown is lost: it ends where its thread is, and what comes later is told as it was. */
static void a_shown_call_whose_span_is_lost_ends(void **state)
{
	struct reading live;
	struct job job;
	int fd;

	begin_live(&job, &live, &fd);
	enter(&job, 0);
	calls(&job, 1);
	show(&job);
	job.depth[0] = 0;
	calls(&job, 2);
	assert_int_equal(timeline_live_end(job.live), 0);
	assert_int_equal(live.count[0], 8);
	for (int i = 0, open = 0; i < 8; i++) {
		open += live.told[0][i].type == EVENT_START ? 1 : -1;
		assert_true(open >= 0 && open <= 2 && (i < 7 || !open));
	}
	end_live(&job, &live, fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_is_the_same_in_one_order),
		cmocka_unit_test(live_is_the_same),
		cmocka_unit_test(what_lasts_is_told_when_it_is_shown),
		cmocka_unit_test(a_shown_call_whose_span_is_lost_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
