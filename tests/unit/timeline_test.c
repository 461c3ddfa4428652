/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline_test.c - calls go into a recording in the order they ended, and come out as events in the order of time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "timeline/timeline.h"
#include "util/files.h"

#define THREADS 4
#define PROBES 3
#define START_TIME 1000000ull

struct job {
	struct definitions d;
	struct recording_writer *writer;
	int fd;
	uint32_t sequence[THREADS];
};

static void job_open(struct job *job)
{
	memset(job, 0, sizeof(*job));
	job->d.run = (struct def_run){ .start = START_TIME, .end = 1ull << 40, .finished = true };
	uint32_t process = definitions_add_process(&job->d);

	job->d.processes[process] = (struct def_process){
		.pid = 10, .rank = -1, .command = strdup("job"), .start = START_TIME
	};
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t thread = definitions_add_thread(&job->d);

		job->d.threads[thread] = (struct def_thread){ .process = process, .tid = 10 + i, .name = strdup("t") };
	}
	uint32_t image = definitions_add_image(&job->d);

	job->d.images[image].path = strdup("/bin/job");
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t probe = definitions_add_probe(&job->d);
		char name[16];

		snprintf(name, sizeof(name), "GASP_%c", 'A' + i);
		job->d.probes[probe] = (struct def_probe){
			.event = strdup(name),
			.model = strdup("test"),
			.role = ROLE_FUNCTION,
			.symbol = strdup(name),
			.prototype = strdup("void f(void)"),
			.image = image,
		};
	}
	int fd = file_temporary();

	assert_true(fd >= 0);
	job->fd = dup(fd);
	assert_int_equal(recording_create(&job->writer, fd, "test.gasp", &job->d), 0);
}

/* Lost spans have a number too. */
static void job_call(struct job *job, uint32_t thread, uint32_t probe, unsigned depth, uint64_t start, uint64_t end,
		     uint8_t reason)
{
	struct span span = {
		.start = START_TIME + start,
		.end = START_TIME + end,
		.thread = thread,
		.probe = probe,
		.site = NO_INDEX,
		.sequence = ++job->sequence[thread],
		.depth = depth,
		.reason = reason,
	};

	assert_int_equal(recording_span(job->writer, &span), 0);
}

/* --- what the timeline says ---------------------------------------------------- */

struct open_call {
	uint64_t start, end;
	uint32_t sequence;
};

struct reading {
	char *text; /* START A at 5 on lane 0: "A(5@0 ", END "A)5@0 "; NULL: not kept */
	size_t size;
	FILE *out;
	uint64_t now[THREADS];
	struct open_call *open[THREADS][TIMELINE_LANES];
	size_t nopen[THREADS][TIMELINE_LANES];
	unsigned lanes;
	uint64_t starts, ends, atomics, gaps;
	uint64_t hash[THREADS];
	bool in_parts;
	uint64_t parts, until, behind; /* behind: starts that were to be told before `until` was */
};

static uint64_t mix(uint64_t hash, uint64_t a, uint64_t b, uint64_t c)
{
	hash = (hash ^ a) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ b) * 0x9e3779b97f4a7c15ull;
	return (hash ^ c ^ hash >> 29) * 0x9e3779b97f4a7c15ull;
}

static int check_event(void *context, const struct definitions *d, const struct event *event)
{
	struct reading *r = context;
	const struct span *span = event->span;
	uint32_t thread = span->thread;
	size_t *nopen = &r->nopen[thread][event->lane];
	struct open_call **open = &r->open[thread][event->lane];

	assert_true(event->time >= r->now[thread]);
	r->now[thread] = event->time;
	if (event->lane >= r->lanes)
		r->lanes = event->lane + 1;
	if (event->type == EVENT_END) {
		assert_true(*nopen > 0);
		assert_int_equal((*open)[*nopen - 1].sequence, span->sequence);
		assert_int_equal(event->time, span->end);
		(*nopen)--;
	} else {
		assert_int_equal(event->time, span->start);
		if (*nopen)
			assert_true((*open)[*nopen - 1].start <= span->start && span->end <= (*open)[*nopen - 1].end);
	}
	assert_int_equal(event->level, *nopen);
	if (event->type == EVENT_START) {
		*open = realloc(*open, (*nopen + 1) * sizeof(**open));
		(*open)[(*nopen)++] = (struct open_call){ span->start, span->end, span->sequence };
	}
	r->behind += event->type == EVENT_START && event->time <= r->until;
	r->starts += event->type == EVENT_START;
	r->ends += event->type == EVENT_END;
	r->atomics += event->type == EVENT_ATOMIC;
	r->hash[thread] = mix(r->hash[thread], event->type, event->time, (uint64_t)span->probe << 32 | span->depth);
	if (r->out) {
		fprintf(r->out, "%c%c%llu@%u ", d->probes[span->probe].event[5], "()!"[event->type],
			(unsigned long long)(event->time - START_TIME), event -> lane);
	}
	return 0;
}

static int check_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct reading *r = context;

	assert_true(gap->after >= r->now[gap->thread]);
	r->gaps += gap->count;
	if (r->out)
		fprintf(r->out, "lost%llu ", (unsigned long long)gap->count);
	return 0;
}

static int note_part(void *context, uint64_t time)
{
	struct reading *r = context;

	assert_true(time > r->until);
	r->until = time;
	r->parts++;
	return 0;
}

static void end_chunk(void *context, size_t done, size_t all)
{
	((struct reading *)context)->until = 0;
}

static void job_read(struct job *job, struct reading *r, bool keep)
{
	struct timeline_ops ops = { .event = check_event, .gap = check_gap, .progress = end_chunk, .context = r };
	struct recording *recording;
	bool in_parts = r->in_parts;

	memset(r, 0, sizeof(*r));
	if (in_parts)
		ops.part = note_part;
	if (keep)
		r->out = open_memstream(&r->text, &r->size);
	assert_int_equal(recording_finish(job->writer), 0);
	assert_int_equal(recording_open_fd(&recording, job->fd, "test.gasp"), 0);
	assert_int_equal(timeline_read(recording, &ops), 0);
	recording_close(recording);
	if (r->out)
		fclose(r->out);
	assert_int_equal(r->starts, r->ends);
	for (int i = 0; i < THREADS; i++) {
		for (int lane = 0; lane < TIMELINE_LANES; lane++) {
			assert_int_equal(r->nopen[i][lane], 0);
			free(r->open[i][lane]);
		}
	}
	close(job->fd);
	definitions_free(&job->d);
}

static void assert_events(struct job *job, const char *expected)
{
	struct reading r = { 0 };

	job_read(job, &r, true);
	assert_string_equal(r.text, expected);
	free(r.text);
}

/* --- stories -------------------------------------------------------------------- */

static void calls_inside_come_inside(void **state)
{
	struct job job;

	job_open(&job);
	job_call(&job, 0, 1, 1, 10, 20, GB_END_RETURN);
	job_call(&job, 0, 2, 2, 32, 35, GB_END_RETURN);
	job_call(&job, 0, 1, 1, 30, 40, GB_END_RETURN);
	job_call(&job, 0, 0, 0, 5, 50, GB_END_RETURN);
	job_call(&job, 0, 1, 0, 60, 70, GB_END_UNWOUND);
	assert_events(&job, "A(5@0 B(10@0 B)20@0 B(30@0 C(32@0 C)35@0 B)40@0 A)50@0 B(60@0 B)70@0 ");
}

static void an_atomic_call_is_one_event(void **state)
{
	struct job job;

	job_open(&job);
	job_call(&job, 0, 1, 1, 10, 10, GB_END_ATOMIC);
	job_call(&job, 0, 2, 1, 12, 12, GB_END_DEPTH);
	job_call(&job, 0, 0, 0, 5, 50, GB_END_RETURN);
	assert_events(&job, "A(5@0 B!10@0 C!12@0 A)50@0 ");
}

/* A clock that did not tick between a call and the one after it, or between a call and the one inside it. */
static void equal_times_keep_their_order(void **state)
{
	struct job job;

	job_open(&job);
	job_call(&job, 0, 1, 1, 10, 15, GB_END_RETURN); /* in A, at its very start */
	job_call(&job, 0, 2, 1, 20, 20, GB_END_RETURN); /* in A, at its very end */
	job_call(&job, 0, 0, 0, 10, 20, GB_END_RETURN);
	job_call(&job, 0, 1, 0, 30, 40, GB_END_RETURN);
	job_call(&job, 0, 1, 0, 40, 40, GB_END_RETURN); /* right after it */
	job_call(&job, 0, 2, 0, 40, 50, GB_END_RETURN);
	assert_events(&job, "A(10@0 B(10@0 B)15@0 C(20@0 C)20@0 A)20@0 B(30@0 B)40@0 B(40@0 B)40@0 C(40@0 C)50@0 ");
}

/* Two stacks on one thread: B begins inside A and ends after it. */
static void calls_that_overlap_get_a_lane(void **state)
{
	struct job job;

	job_open(&job);
	job_call(&job, 0, 0, 0, 10, 30, GB_END_RETURN);
	job_call(&job, 0, 2, 1, 35, 38, GB_END_RETURN);
	job_call(&job, 0, 1, 0, 20, 40, GB_END_RETURN);
	job_call(&job, 0, 0, 0, 50, 60, GB_END_RETURN);
	assert_events(&job, "A(10@0 B(20@1 A)30@0 C(35@0 C)38@0 B)40@1 A(50@0 A)60@0 ");
}

static void a_gap_stands_where_it_was(void **state)
{
	struct job job;

	job_open(&job);
	job_call(&job, 0, 1, 1, 10, 20, GB_END_RETURN);
	job.sequence[0] += 3;

	struct gap gap = { .thread = 0, .count = 3, .after = START_TIME + 20, .before = START_TIME + 40 };

	assert_int_equal(recording_gap(job.writer, &gap), 0);
	job_call(&job, 0, 2, 1, 30, 40, GB_END_RETURN);
	job_call(&job, 0, 0, 0, 5, 50, GB_END_RETURN);
	assert_events(&job, "A(5@0 B(10@0 B)20@0 lost3 C(30@0 C)40@0 A)50@0 ");
}

/* The start of a call comes first even if its end is many chunks away. */
static void a_long_call_starts_in_time(void **state)
{
	struct job job;
	struct reading r = { 0 };
	const unsigned many = 200000;

	job_open(&job);
	for (unsigned i = 0; i < many; i++) {
		job_call(&job, 0, 1, 2, 100 + 10 * i, 105 + 10 * i, GB_END_RETURN);
		if (i == many / 2)
			job_call(&job, 0, 2, 1, 50, 106 + 10 * i, GB_END_RETURN);
	}
	job_call(&job, 0, 0, 0, 7, 10 * many + 200, GB_END_RETURN);
	job_read(&job, &r, true);
	assert_int_equal(r.starts, many + 2);
	assert_int_equal(strncmp(r.text, "A(7@0 C(50@0 B(100@0 B)105@0 B(110@0", 36), 0);
	assert_int_equal(r.lanes, 1);
	free(r.text);
}

/* Every call encloses all that ended before it: the starts come in just the opposite order. */
static void a_deep_recursion_comes_out_from_its_top(void **state)
{
	struct job job;
	struct reading r = { 0 };
	const unsigned deep = 500;

	job_open(&job);
	for (unsigned depth = deep; depth-- > 0;)
		job_call(&job, 0, depth % PROBES, depth, 10 + depth, 5000 - depth, GB_END_RETURN);
	job_read(&job, &r, true);
	assert_int_equal(r.starts, deep);
	assert_int_equal(strncmp(r.text, "A(10@0 B(11@0 C(12@0 A(13@0 ", 28), 0);
	assert_int_equal(r.lanes, 1);
	free(r.text);
}

/* --- random trees, in chunks of any size, against the order in which they were grown ---- */

struct tree {
	struct job *job;
	uint32_t thread;
	uint64_t now;
	uint64_t hash;
	unsigned left, step;
	bool whole; /* chunks as large as they get */
};

static void grow(struct tree *tree, unsigned depth)
{
	uint32_t probe = random() % PROBES;
	uint64_t start = tree->now;

	tree->left--;
	tree->hash = mix(tree->hash, EVENT_START, START_TIME + start, (uint64_t)probe << 32 | depth);
	tree->now += tree->step + random() % 9;
	while (tree->left && depth < 20 && random() % 7 < 4) {
		grow(tree, depth + 1);
		tree->now += tree->step + random() % 5;
	}
	tree->hash = mix(tree->hash, EVENT_END, START_TIME + tree->now, (uint64_t)probe << 32 | depth);
	job_call(tree->job, tree->thread, probe, depth, start, tree->now, GB_END_RETURN);
	tree->now += tree->step;
	if (!tree->whole && random() % 100 == 0)
		recording_flush(tree->job->writer);
}

/* `step` 0: many times are equal, and then only the rules of nesting can be checked. */
static void grow_and_read(unsigned seed, unsigned step, unsigned calls, bool in_parts)
{
	struct reading r = { .in_parts = in_parts };
	struct tree trees[THREADS];
	struct job job;

	srandom(seed);
	job_open(&job);
	for (uint32_t i = 0; i < THREADS; i++)
		trees[i] = (struct tree){
			.job = &job, .thread = i, .now = 1, .left = calls, .step = step, .whole = in_parts
		};
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < THREADS; i++) {
			if (trees[i].left)
				grow(&trees[i], 0);
			more |= trees[i].left > 0;
		}
	}
	job_read(&job, &r, false);
	assert_int_equal(r.starts, THREADS * calls);
	assert_int_equal(r.lanes, 1);
	assert_int_equal(r.behind, 0);
	assert_true(!in_parts || r.parts > 10);
	for (uint32_t i = 0; i < THREADS && step; i++)
		assert_true(r.hash[i] == trees[i].hash);
}

static void random_trees_come_out_as_they_grew(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++)
		grow_and_read(seed, 1, 2000, false);
	grow_and_read(99, 1, 60000, false);
}

static void equal_times_nest_too(void **state)
{
	for (unsigned seed = 1; seed <= 40; seed++)
		grow_and_read(seed, 0, 1000, false);
}

/* A large chunk can be told in several parts: all threads up to a time, then all up to a later one. */
static void parts_change_nothing(void **state)
{
	grow_and_read(7, 1, 15000, true); /* one chunk */
	grow_and_read(8, 1, 60000, true);
	grow_and_read(9, 0, 15000, true);
}

/* Spans without any sense still give events that nest, with a warning. */
static void nonsense_nests(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct job job;
		struct reading r = { 0 };

		srandom(seed);
		job_open(&job);
		for (int i = 0; i < 3000; i++) {
			uint64_t start = random() % 5000, end = start + random() % 500;

			job_call(&job, random() % THREADS, 0, random() % 64, start, end, GB_END_RETURN);
			if (random() % 100 == 0)
				recording_flush(job.writer);
		}
		job_read(&job, &r, false);
		assert_true(r.starts > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_inside_come_inside),
		cmocka_unit_test(an_atomic_call_is_one_event),
		cmocka_unit_test(equal_times_keep_their_order),
		cmocka_unit_test(calls_that_overlap_get_a_lane),
		cmocka_unit_test(a_gap_stands_where_it_was),
		cmocka_unit_test(a_long_call_starts_in_time),
		cmocka_unit_test(a_deep_recursion_comes_out_from_its_top),
		cmocka_unit_test(random_trees_come_out_as_they_grew),
		cmocka_unit_test(equal_times_nest_too),
		cmocka_unit_test(parts_change_nothing),
		cmocka_unit_test(nonsense_nests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
