/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_test.c - which rows top has, in what order, what it calls them and which columns fit. What is known of the job is
 * the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "top/told.h"
#include "top/top.h"

#define THREADS_HERE 5
#define PROCESSES_HERE 4

enum { BARRIER, GET, PROBES_HERE };

static struct {
	struct def_process processes[PROCESSES_HERE];
	struct def_thread definitions[THREADS_HERE];
	struct def_probe probes[PROBES_HERE];
	struct live_thread threads[THREADS_HERE];
	struct live_event events[THREADS_HERE][2];
	struct live_figures figures[PROCESSES_HERE];
	struct live_event ended; /* of rank 0 */
	struct definitions d;
	struct top top;
} job;

size_t __wrap_live_threads(const struct live *live);
const struct live_thread *__wrap_live_thread(const struct live *live, size_t index);
const struct live_figures *__wrap_live_process(const struct live *live, uint32_t process, bool all);
uint64_t __wrap_live_interval(const struct live *live);
uint64_t __wrap_live_since(const struct live *live);
uint64_t __wrap_live_now(const struct live *live);
size_t __wrap_live_ended_events(const struct live *live, uint32_t process);
const struct live_event *__wrap_live_ended_event(const struct live *live, uint32_t process, size_t index);

size_t __wrap_live_ended_events(const struct live *live, uint32_t process)
{
	return process == 1 && job.ended.all.calls;
}

const struct live_event *__wrap_live_ended_event(const struct live *live, uint32_t process, size_t index)
{
	return &job.ended;
}

size_t __wrap_live_threads(const struct live *live)
{
	return THREADS_HERE;
}

const struct live_thread *__wrap_live_thread(const struct live *live, size_t index)
{
	return &job.threads[index];
}

const struct live_figures *__wrap_live_process(const struct live *live, uint32_t process, bool all)
{
	return job.figures[process].wall ? &job.figures[process] : NULL;
}

uint64_t __wrap_live_interval(const struct live *live)
{
	return 1000000000;
}

uint64_t __wrap_live_since(const struct live *live)
{
	return 2000000000;
}

uint64_t __wrap_live_now(const struct live *live)
{
	return 5000000000;
}

/* Ranks 1 and 0, the latter with a helper thread; a process without a rank; and a launcher, which is left out. Nothing
 * was seen of that without a rank. */
static void set_up(void)
{
	static const struct {
		uint32_t process, tid;
		const char *name;
	} threads[THREADS_HERE] = {
		{ 0, 200, "solver" }, { 1, 100, "solver" }, { 1, 101, "helper" },
		{ 2, 300, "viewer" }, { 3, 400, "mpirun" },
	};

	memset(&job, 0, sizeof(job));
	job.processes[0] = (struct def_process){
		.pid = 200, .rank = 1, .unit = (char *)"rank", .command = (char *)"./solver big"
	};
	job.processes[1] = (struct def_process){
		.pid = 100, .rank = 0, .unit = (char *)"rank", .command = (char *)"./solver big"
	};
	job.processes[2] = (struct def_process){ .pid = 300, .rank = -1, .name = (char *)"viewer" };
	job.processes[3] = (struct def_process){
		.pid = 400, .rank = -1, .name = (char *)"mpirun", .left_out = (char *)LEFT_OUT_LAUNCHER
	};
	job.probes[BARRIER] = (struct def_probe){ .event = (char *)"GASP_MPI_BARRIER", .role = ROLE_BARRIER };
	job.probes[GET] = (struct def_probe){ .event = (char *)"GASP_MPI_GET", .role = ROLE_GET };
	for (uint32_t i = 0; i < THREADS_HERE; i++) {
		struct live_figures figures = {
			.wall = 1000,
			.group = { [GROUP_COMPUTE] = 900 - 100 * i, [GROUP_BARRIER] = 100 + 100 * i },
			.calls = 10 + i
		};

		job.definitions[i] = (struct def_thread){ .process = threads[i].process,
							  .tid = threads[i].tid,
							  .name = (char *)threads[i].name };
		job.threads[i] = (struct live_thread){
			.thread = i,
			.process = threads[i].process,
			.seen = i != 3,
			.now = figures,
			.all = figures,
			.in.probe = i == 2 ? BARRIER : NO_INDEX,
			.events = job.events[i],
			.nevents = 2,
		};
		for (uint32_t k = 0; k < 2; k++)
			job.events[i][k] = (struct live_event){
				.event = k, .probe = k, .site = NO_INDEX, .now = { .calls = 1 + i, .self = 100 * k + i }
			};
		if (i != 3 && threads[i].process < PROCESSES_HERE)
			job.figures[threads[i].process] = figures;
	}
	job.d = (struct definitions){ .processes = job.processes,
				      .nprocesses = PROCESSES_HERE,
				      .threads = job.definitions,
				      .nthreads = THREADS_HERE,
				      .probes = job.probes,
				      .nprobes = PROBES_HERE };
	job.top = (struct top){ .d = &job.d };
}

static void assert_rows(const char *const *names)
{
	size_t count = 0;

	assert_int_equal(top_rows(&job.top), 0);
	for (; names[count]; count++) {
		assert_true(count < job.top.nrows);
		assert_string_equal(job.top.rows[count].name, names[count]);
	}
	assert_int_equal(job.top.nrows, count);
}

static void processes_by_rank(void **state)
{
	set_up();
	assert_rows((const char *const[]){ "viewer 300", "rank 0", "rank 1", NULL });
	assert_null(job.top.rows[0].figures);
	job.top.view.reverse = true;
	assert_rows((const char *const[]){ "rank 1", "rank 0", "viewer 300", NULL });
	top_free(&job.top);
}

/* Of a process of which no thread has made a call yet there is a row, too. */
static void threads_with_their_numbers(void **state)
{
	set_up();
	job.top.view.threads = true;
	assert_rows((const char *const[]){ "viewer 300", "viewer 300", "rank 0", "rank 0 helper 101", "rank 1", NULL });
	job.top.view.sort = TOP_BY_GROUP + GROUP_BARRIER;
	assert_rows((const char *const[]){ "rank 0 helper 101", "rank 0", "rank 1", "viewer 300", "viewer 300", NULL });
	job.top.view.sort = TOP_BY_CALLS;
	job.top.view.reverse = true;
	assert_rows((const char *const[]){ "viewer 300", "viewer 300", "rank 1", "rank 0", "rank 0 helper 101", NULL });
	top_free(&job.top);
}

/* By the name that is shown, the command line, or what it is in. */
static void a_filter(void **state)
{
	set_up();
	strcpy(job.top.view.filter, "BIG");
	assert_rows((const char *const[]){ "rank 0", "rank 1", NULL });
	strcpy(job.top.view.filter, "viewer");
	assert_rows((const char *const[]){ "viewer 300", NULL });
	job.top.view.threads = true;
	strcpy(job.top.view.filter, "barrier");
	assert_rows((const char *const[]){ "rank 0 helper 101", NULL });
	strcpy(job.top.view.filter, "nothing of that");
	assert_rows((const char *const[]){ NULL });
	top_free(&job.top);
}

static void events_of_all_threads_of_a_process(void **state)
{
	struct top_row row = { .process = 1, .thread = NO_INDEX };
	struct live_event *events;
	size_t count;

	set_up();
	events = top_events(&job.top, &row, &count);
	assert_int_equal(count, 2);
	assert_int_equal(events[0].event, GET); /* the one with more self time first */
	assert_int_equal(events[0].now.self, 203);
	assert_int_equal(events[0].now.calls, 5);
	assert_int_equal(events[1].now.self, 3);
	free(events);
	row.thread = 2;
	events = top_events(&job.top, &row, &count);
	assert_int_equal(count, 2);
	assert_int_equal(events[0].now.self, 102);
	free(events);
	row.thread = 77;
	assert_null(top_events(&job.top, &row, &count));
	assert_null(top_ended_events(&job.top, 1, &count));
	job.ended = (struct live_event){ .event = GET, .probe = GET, .site = NO_INDEX, .all = { .calls = 9 } };
	row.thread = NO_INDEX;
	events = top_events(&job.top, &row, &count);
	assert_int_equal(count, 2);
	assert_int_equal(events[0].now.calls, 5);
	assert_int_equal(events[0].all.calls, 9);
	free(events);
	events = top_ended_events(&job.top, 1, &count);
	assert_int_equal(count, 1);
	assert_int_equal(events[0].all.calls, 9);
	free(events);
}

/* A line is never wider than the terminal; the name comes first, and the groups with most time are the last to go. */
static void columns_fit(void **state)
{
	struct top_column columns[TOP_COLUMNS];

	set_up();
	job.top.view.threads = true;
	assert_int_equal(top_rows(&job.top), 0);
	for (unsigned width = 30; width < 200; width++) {
		size_t count = top_columns(&job.top, width, columns);
		unsigned used = 0;
		bool barrier = false;

		assert_int_equal(columns[0].kind, TOP_NAME);
		for (size_t i = 0; i < count; i++) {
			used += columns[i].width + (i > 0);
			barrier |= columns[i].kind == TOP_GROUP && columns[i].group == GROUP_BARRIER;
		}
		assert_in_range(used, 1, width);
		assert_true(barrier);
	}
	top_free(&job.top);
}

static bool has_files(void)
{
	struct top_column columns[TOP_COLUMNS];
	size_t count = top_columns(&job.top, 300, columns);

	for (size_t i = 0; i < count; i++)
		if (columns[i].kind == TOP_GROUP && columns[i].group == GROUP_IO)
			return true;
	return false;
}

/* Where files are observed, or time is spent with them (MPI-IO); nobody else has a column of zeros. */
static void files_have_a_column_where_there_are_any(void **state)
{
	static struct value fd = { .meaning = MEANING_FD };

	set_up();
	assert_int_equal(top_rows(&job.top), 0);
	assert_false(has_files());
	job.probes[GET].values = &fd;
	job.probes[GET].nvalues = 1;
	assert_true(has_files());
	fd.unobservable = true;
	assert_false(has_files());
	job.figures[0].group[GROUP_IO] = 1;
	assert_true(has_files());
	top_free(&job.top);
}

static void names_of_columns(void **state)
{
	assert_int_equal(top_sort_find("name"), TOP_BY_NAME);
	assert_int_equal(top_sort_find("Compute"), TOP_BY_GROUP);
	assert_int_equal(top_sort_find("other"), TOP_BY_CALLS - 1);
	assert_int_equal(top_sort_find("cost"), TOP_BY_COST);
	assert_int_equal(top_sort_find("costs"), -1);
	for (int i = 0; i < TOP_SORTS; i++)
		assert_int_equal(top_sort_find(top_sort_name(i)), i);
}

/* As another node would show it; nothing of it where it is not whole. */
static void told_by_nodes(void **state)
{
	struct told_node nodes[2] = { { .name = "n1" }, { .name = "n2" } };
	struct top_told told = { .nodes = nodes, .nnodes = 2 };
	struct buffer bytes = { 0 };
	struct top top = { 0 };

	set_up();
	told_hand_over(&bytes, &job.top);
	told_hand_over(&bytes, &job.top);
	assert_int_equal(bytes.size % 2, 0);
	for (size_t size = 0; size <= bytes.size / 2; size++) { /* as it comes */
		struct buffer some = { 0 };

		buffer_put(&some, bytes.data, size);
		assert_int_equal(told_take(&nodes[0], &some), size == bytes.size / 2);
		buffer_free(&some);
	}
	assert_true(told_take(&nodes[1], &bytes));
	assert_int_equal(bytes.size, 0);
	assert_int_equal(nodes[1].looks, 2);
	nodes[1].trouble = "it is late";
	assert_int_equal(told_join(&told), 0);
	told_show(&top, &told);
	assert_int_equal(top_rows(&top), 0);
	assert_int_equal(top.nrows, 6);
	assert_string_equal(top.rows[0].name, "viewer 300 on n1");
	assert_string_equal(top.rows[2].name, "rank 0 on n1");
	assert_string_equal(top.rows[3].name, "rank 0 on n2");
	assert_int_equal(top.rows[2].figures->wall, job.figures[1].wall);
	assert_int_equal(top.rows[2].figures->group[GROUP_BARRIER], job.figures[1].group[GROUP_BARRIER]);
	assert_null(top.rows[3].figures);
	assert_null(top.rows[0].figures);
	assert_int_equal(top.alive, 3);
	for (size_t size = nodes[0].look.size; size--;) {
		nodes[0].look.size = size;
		nodes[0].trouble = NULL;
		assert_int_equal(told_join(&told), 0);
		assert_true(!size || nodes[0].trouble);
	}
	top_free(&top);
	buffer_free(&nodes[0].look);
	buffer_free(&nodes[1].look);
	told.nodes = NULL;
	told_free(&told);
	buffer_free(&bytes);
}

/* Of two nodes, ranks that wait so long (of 1000) at barriers or collective operations. NULL: nobody is named. */
static void assert_waits_least(const uint64_t waits[4], const char *line)
{
	struct told_node nodes[2] = { { .name = "n1" }, { .name = "n2" } };
	struct top_told told = { .nodes = nodes, .nnodes = 2 };
	struct buffer bytes = { 0 };
	struct top top = { 0 };
	char text[300];

	for (int i = 0; i < 4; i++) {
		set_up();
		job.figures[0] = job.figures[1] = (struct live_figures){ .wall = 1000 };
		job.figures[0].group[GROUP_BARRIER] = waits[i];
		job.figures[1].group[GROUP_COLLECTIVE] = waits[++i];
		told_hand_over(&bytes, &job.top);
		assert_true(told_take(&nodes[i / 2], &bytes));
	}
	assert_int_equal(told_join(&told), 0);
	told_show(&top, &told);
	assert_string_equal(top_line_last(&top, text, sizeof(text)), line);
	for (int i = 0; i < 2; i++)
		buffer_free(&nodes[i].look);
	told.nodes = NULL;
	told_free(&told);
	buffer_free(&bytes);
}

static void who_waits_least_of_all_nodes(void **state)
{
	assert_waits_least((const uint64_t[]){ 400, 300, 500, 20 },
			   "rank 0 on n2 waits least where all meet, 2% of its time; the 3 others 40%: for it, if it "
			   "takes part");
	assert_waits_least((const uint64_t[]){ 0, 300, 500, 400 },
			   "rank 1 on n1 waits least where all meet, 0% of its time; the 3 others 40%: for it, if it "
			   "takes part");
	assert_waits_least((const uint64_t[]){ 400, 300, 500, 210 }, ""); /* more than half as long */
	assert_waits_least((const uint64_t[]){ 90, 80, 110, 0 }, "");     /* nobody waits for long */
}

/* What a process of a node does is told by event; what the runtime calls itself is an event of its own. */
static void events_told_by_nodes(void **state)
{
	struct told_node node = { .name = "n1" };
	struct top_told told = { .nodes = &node, .nnodes = 1 };
	struct buffer bytes = { 0 };
	struct top top = { 0 };
	struct live_event *events;
	size_t count;

	set_up();
	job.probes[GET] = (struct def_probe){ .event = (char *)"GASP_MPI_BARRIER", .marks = MARK_INNER };
	told_hand_over(&bytes, &job.top);
	assert_true(told_take(&node, &bytes));
	assert_int_equal(told_join(&told), 0);
	told_show(&top, &told);
	assert_int_equal(top_rows(&top), 0);
	assert_int_equal(told.d.nprobes, 2);
	for (size_t i = 1; i < top.nrows; i++) {
		uint32_t rank = told.d.processes[top.rows[i].process].rank;

		events = top_events(&top, &top.rows[i], &count);
		assert_int_equal(count, 2);
		assert_true(top_is_inner(&top, events[0].probe));
		assert_false(top_is_inner(&top, events[1].probe));
		assert_int_equal(events[0].now.calls, rank ? 1 : 5);
		assert_int_equal(events[0].now.self, rank ? 100 : 203);
		assert_int_equal(events[1].now.self, rank ? 0 : 3);
		free(events);
	}
	assert_null(top_events(&top, &top.rows[0], &count)); /* nothing was seen of it */
	top_free(&top);
	buffer_free(&node.look);
	told.nodes = NULL;
	told_free(&told);
	buffer_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_by_rank),
		cmocka_unit_test(threads_with_their_numbers),
		cmocka_unit_test(a_filter),
		cmocka_unit_test(events_of_all_threads_of_a_process),
		cmocka_unit_test(columns_fit),
		cmocka_unit_test(names_of_columns),
		cmocka_unit_test(files_have_a_column_where_there_are_any),
		cmocka_unit_test(told_by_nodes),
		cmocka_unit_test(who_waits_least_of_all_nodes),
		cmocka_unit_test(events_told_by_nodes),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
