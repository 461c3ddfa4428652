/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_test.c - where a thread's time goes, interval by interval, compared with marking each moment. The capture is the
 * test's own: it tells what a real one could have known when it was asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/live.h"
#include "shared/recorded_job.h"

#define THREADS_HERE 3
#define BEGAN 1000u
#define ENDS 12000u /* the last call ends before */
#define CALLS_MOST 4000
#define OVER 14000u /* the last look */

enum { DATA, LOCK, TASK, USER, ALLOC, WAIT, KINDS };

static const struct {
	enum role role;
	enum group group;
	bool opaque;
} kinds[KINDS] = {
	[DATA] = { ROLE_GET, GROUP_DATA, true },     [LOCK] = { ROLE_ACQUIRE, GROUP_LOCK, true },
	[TASK] = { ROLE_TASK, GROUP_TASK, false },   [USER] = { ROLE_USER, GROUP_OTHER, false },
	[ALLOC] = { ROLE_ALLOC, GROUP_ALLOC, true }, [WAIT] = { ROLE_WAIT, GROUP_WAIT, true },
};

static struct {
	struct definitions d;
	struct span calls[CALLS_MOST]; /* by end: as they are told */
	size_t ncalls, told;
	struct span_sink sink;
	uint64_t drained, taken, read, finished; /* of a look: up to where the first drain tells; its moment; when calls
						    in progress are read; up to where the other drains tell */
	int drains;
	bool gone; /* its threads */
} job;

/* --- the capture ---------------------------------------------------------- */

void __wrap_capture_add_sink(struct capture_session *session, const struct span_sink *sink);
int __wrap_capture_drain(struct capture_session *session);
int __wrap_capture_visit_open(struct capture_session *session,
			      void (*visit)(void *context, const struct span *span, bool silent), void *context);
int __wrap_capture_read_sums(struct capture_session *session);
void __wrap_capture_visit_threads(const struct capture_session *session,
				  void (*visit)(void *context, const struct capture_thread *thread), void *context);
uint64_t __wrap_clock_monotonic(void);

void __wrap_capture_add_sink(struct capture_session *session, const struct span_sink *sink)
{
	job.sink = *sink;
}

int __wrap_capture_drain(struct capture_session *session)
{
	uint64_t until = job.drains++ ? job.finished : job.drained;

	for (; job.told < job.ncalls && job.calls[job.told].end <= until; job.told++)
		assert_int_equal(job.sink.span(job.sink.context, &job.d, &job.calls[job.told]), 0);
	return 0;
}

uint64_t __wrap_clock_monotonic(void)
{
	return job.taken;
}

int __wrap_capture_visit_open(struct capture_session *session,
			      void (*visit)(void *context, const struct span *span, bool silent), void *context)
{
	for (size_t i = 0; i < job.ncalls; i++) {
		struct span open = job.calls[i];

		if (open.start > job.read || open.end <= job.read)
			continue;
		open.end = UINT64_MAX;
		visit(context, &open, false);
	}
	return 0;
}

int __wrap_capture_read_sums(struct capture_session *session)
{
	return 0;
}

void __wrap_capture_visit_threads(const struct capture_session *session,
				  void (*visit)(void *context, const struct capture_thread *thread), void *context)
{
	for (uint32_t i = 0; i < THREADS_HERE && !job.gone; i++)
		visit(context, &(struct capture_thread){ .thread = i, .cost = job.taken + i });
}

/* --- the job -------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth > y->depth ? -1 : 1;
	return x->sequence < y->sequence ? -1 : 1;
}

static void define_job(uint32_t marks)
{
	memset(&job, 0, sizeof(job));
	definitions_add_process(&job.d);
	for (int i = 0; i < THREADS_HERE; i++) {
		uint32_t thread = definitions_add_thread(&job.d);

		job.d.threads[thread] = (struct def_thread){ .process = 0, .tid = 100 + i };
	}
	for (int i = 0; i < KINDS; i++) {
		uint32_t probe = definitions_add_probe(&job.d);

		job.d.probes[probe] = (struct def_probe){
			.event = text("GASP_TEST_%d", i), .role = kinds[i].role, .image = NO_INDEX, .marks = marks
		};
	}
}

static void add_call(uint32_t thread, unsigned depth, uint64_t start, uint64_t end)
{
	assert_true(job.ncalls < CALLS_MOST);
	job.calls[job.ncalls] = (struct span){
		.thread = thread,
		.probe = (uint32_t)below(KINDS),
		.site = NO_INDEX,
		.start = start,
		.end = end,
		.depth = depth,
		.sequence = (uint32_t)job.ncalls,
	};
	job.ncalls++;
}

/* Calls one after the other in this time, with others inside them. */
static void nest(uint32_t thread, unsigned depth, uint64_t at, uint64_t end)
{
	for (;;) {
		uint64_t start = at + below(depth ? 20 : 200),
			 length; /* the first one inside may begin with its parent */

		if (start + 2 >= end)
			return;
		length = 1 + below(end - start - 1 < 600 ? end - start - 1 : 600);
		add_call(thread, depth, start, start + length);
		if (depth < 5 && below(3))
			nest(thread, depth + 1, start, start + length);
		at = start + length;
	}
}

/* All at depth 0, over each other in any way. */
static void overlap(uint32_t thread)
{
	for (int i = 0; i < 150; i++) {
		uint64_t start = BEGAN + 10 + 70 * (uint64_t)i + below(70);

		add_call(thread, 0, start, start + 1 + below(800));
	}
}

/* --- what is to come out -------------------------------------------------- */

struct expected {
	uint64_t wall, group[GROUPS], calls;
	struct {
		uint64_t time, self, calls, full, longest;
	} event[KINDS];
};

/* Which call has the moment: the innermost; of those that overlap, the one that is told first. NULL: none. */
static const struct span *owner(uint32_t thread, uint64_t moment, uint64_t until, bool stacked, enum group *group)
{
	const struct span *found = NULL, *outer = NULL;

	for (size_t i = 0; i < job.ncalls; i++) {
		const struct span *call = &job.calls[i];

		if (call->thread != thread || call->start > moment || call->end <= moment)
			continue;
		if (stacked) {
			bool open = call->end > job.finished && job.finished >= until,
			     before = found && found->end > job.finished;

			/* Those that have ended, by their ends; then those in progress, the latest first. */
			if (!found || (open && before && call->start > found->start))
				found = call;
			continue;
		}
		if (!found || call->depth > found->depth)
			found = call;
		if (kinds[call->probe].opaque && (!outer || call->depth < outer->depth))
			outer = call;
	}
	*group = outer ? kinds[outer->probe].group : found ? kinds[found->probe].group : GROUP_COMPUTE;
	return found;
}

static void work_out(struct expected *expected, uint32_t thread, uint64_t from, uint64_t until, bool stacked)
{
	uint64_t since = UINT64_MAX;

	memset(expected, 0, sizeof(*expected));
	for (size_t i = 0; i < job.ncalls; i++) {
		const struct span *call = &job.calls[i];
		uint64_t start = call->start > from ? call->start : from, end = call->end < until ? call->end : until;

		if (call->thread != thread || call->start >= until)
			continue;
		if (call->start < since)
			since = call->start;
		if (end > start)
			expected->event[call->probe].time += end - start;
		if (call->end <= from || call->end > until)
			continue;
		expected->calls++;
		expected->event[call->probe].calls++;
		expected->event[call->probe].full += call->end - call->start;
		if (call->end - call->start > expected->event[call->probe].longest)
			expected->event[call->probe].longest = call->end - call->start;
	}
	for (uint64_t t = since > from ? since : from; t < until; t++) {
		enum group group;
		const struct span *call = owner(thread, t, until, stacked, &group);

		expected->wall++;
		expected->group[group]++;
		if (call)
			expected->event[call->probe].self++;
	}
}

static const struct live_thread *thread_of(const struct live *live, uint32_t thread)
{
	for (size_t i = 0; i < live_threads(live); i++)
		if (live_thread(live, i)->thread == thread)
			return live_thread(live, i);
	return NULL;
}

static void compare(const struct live_thread *seen, const struct expected *expected)
{
	assert_non_null(seen);
	assert_int_equal(seen->now.wall, expected->wall);
	assert_memory_equal(seen->now.group, expected->group, sizeof(expected->group));
	assert_int_equal(seen->now.calls, expected->calls);
	for (size_t i = 0; i < seen->nevents; i++) {
		const struct live_event *row = &seen->events[i];

		assert_int_equal(row->now.time, expected->event[row->probe].time);
		assert_int_equal(row->now.self, expected->event[row->probe].self);
		assert_int_equal(row->now.calls, expected->event[row->probe].calls);
		assert_int_equal(row->now.full, expected->event[row->probe].full);
		assert_int_equal(row->now.longest, expected->event[row->probe].longest);
	}
}

static void look_and_compare(struct live *live, uint64_t from, uint64_t now, bool stacked)
{
	struct expected expected;

	job.drains = 0;
	job.drained = now - below(30);
	job.taken = now;
	job.read = now + below(2) * below(60);
	job.finished = job.read + below(2) * below(60);
	assert_int_equal(live_look(live, now == OVER), 0);
	assert_int_equal(live_interval(live), now - from);
	for (uint32_t thread = 0; thread < THREADS_HERE; thread++) {
		work_out(&expected, thread, from, now, stacked);
		compare(thread_of(live, thread), &expected);
	}
}

/* Since the start: all of each call, and each moment once. */
static void compare_all(const struct live *live, uint64_t now, bool stacked)
{
	const struct live_figures *process = live_process(live, 0, true);
	uint64_t calls = 0, wall = 0;
	struct expected expected;

	for (uint32_t thread = 0; thread < THREADS_HERE; thread++) {
		const struct live_thread *seen = thread_of(live, thread);
		uint64_t together = 0;

		work_out(&expected, thread, BEGAN, now, stacked);
		assert_int_equal(seen->all.wall, expected.wall);
		if (!stacked) /* there it depends on the looks whose a moment is */
			assert_memory_equal(seen->all.group, expected.group, sizeof(expected.group));
		assert_int_equal(seen->all.group[GROUP_COMPUTE], expected.group[GROUP_COMPUTE]);
		for (int i = 0; i < GROUPS; i++)
			together += seen->all.group[i];
		assert_int_equal(together, expected.wall);
		assert_int_equal(seen->all.calls, expected.calls);
		assert_int_equal(seen->all.cost, job.taken + thread);
		calls += expected.calls;
		wall += expected.wall;
	}
	assert_non_null(process);
	assert_int_equal(process->calls, calls);
	assert_int_equal(process->wall, wall);
	assert_int_equal(calls, job.ncalls);
}

static void run_looks(bool stacked)
{
	struct live *live = live_new(NULL, &job.d, NULL);
	uint64_t from = BEGAN, now = BEGAN;

	assert_non_null(live);
	qsort(job.calls, job.ncalls, sizeof(job.calls[0]), by_end);
	live_begin(live, BEGAN);
	while (now < OVER) {
		from = now;
		now += 150 + below(1000);
		if (now > OVER)
			now = OVER;
		look_and_compare(live, from, now, stacked);
	}
	compare_all(live, OVER, stacked);
	live_free(live);
	definitions_free(&job.d);
}

static void each_moment_of_nested_calls(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		random_state = 0x9e3779b97f4a7c15u * seed;
		define_job(0);
		for (uint32_t thread = 0; thread < THREADS_HERE; thread++)
			nest(thread, 0, BEGAN, ENDS);
		run_looks(false);
	}
}

static void each_moment_of_overlapping_calls(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		random_state = 0x9e3779b97f4a7c15u * seed;
		define_job(MARK_STACKED);
		for (uint32_t thread = 0; thread < THREADS_HERE; thread++)
			overlap(thread);
		run_looks(true);
	}
}

/* Of a thread of which no call was seen nothing is known, and of its process neither. */
static void what_is_not_known(void **state)
{
	struct live *live;

	define_job(0);
	add_call(1, 0, BEGAN + 500, BEGAN + 600);
	live = live_new(NULL, &job.d, NULL);
	live_begin(live, BEGAN);
	job.taken = job.drained = job.read = job.finished = BEGAN + 100;
	assert_int_equal(live_look(live, false), 0);
	assert_null(live_process(live, 0, true));
	assert_false(thread_of(live, 1)->seen);
	job.drains = 0;
	job.taken = job.drained = job.read = job.finished = BEGAN + 550;
	assert_int_equal(live_look(live, false), 0);
	assert_true(thread_of(live, 1)->seen);
	assert_int_equal(thread_of(live, 1)->in.start, BEGAN + 500);
	assert_int_equal(thread_of(live, 1)->now.wall, 50);
	assert_false(thread_of(live, 0)->seen);
	live_free(live);
	definitions_free(&job.d);
}

/* Its threads have ended, and two looks later are told of no more: the sums over their events stay, each call once. */
static void what_ended_threads_did(void **state)
{
	uint64_t calls[KINDS] = { 0 }, self = 0, group = 0, now = OVER;
	const struct live_figures *process;
	struct live *live;

	define_job(0);
	for (uint32_t thread = 0; thread < THREADS_HERE; thread++)
		nest(thread, 0, BEGAN, ENDS);
	qsort(job.calls, job.ncalls, sizeof(job.calls[0]), by_end);
	live = live_new(NULL, &job.d, NULL);
	live_begin(live, BEGAN);
	look_and_compare(live, BEGAN, BEGAN + 5000, false);
	job.gone = true;
	for (int look = 0; look < 3; look++, now += 100) {
		job.drains = 0;
		job.taken = job.drained = job.read = job.finished = now;
		assert_int_equal(live_look(live, look == 2), 0);
		assert_int_equal(live_threads(live), look ? 0 : THREADS_HERE);
		assert_int_equal(live_ended_events(live, 0), look ? KINDS : 0);
	}
	for (size_t i = 0; i < job.ncalls; i++)
		calls[job.calls[i].probe]++;
	for (size_t i = 0; i < KINDS; i++) {
		const struct live_event *event = live_ended_event(live, 0, i);

		assert_int_equal(event->all.calls, calls[event->probe]);
		assert_int_equal(event->now.calls, 0);
		self += event->all.self;
	}
	process = live_process(live, 0, true);
	for (int i = 0; i < GROUPS; i++)
		group += i == GROUP_COMPUTE ? 0 : process->group[i];
	assert_int_equal(process->calls, job.ncalls);
	assert_int_equal(live_ended_events(live, 1), 0);
	assert_true(self >= group);
	live_free(live);
	definitions_free(&job.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_moment_of_nested_calls),
		cmocka_unit_test(each_moment_of_overlapping_calls),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(what_ended_threads_did),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
