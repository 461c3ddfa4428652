/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters_test.c - tasks whose counters can be worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/counters.h"

enum { SUBMIT, READY, TASK, DONE, PROBES };
enum { VALUE_TASK, VALUE_KIND, VALUE_INTERNAL, VALUE_WORKER, VALUE_ERROR, VALUES };

static const enum role roles[PROBES] = { ROLE_SUBMIT, ROLE_READY, ROLE_TASK, ROLE_DONE };
static const enum meaning meanings[VALUES] = { MEANING_TASK, MEANING_KIND, MEANING_INTERNAL, MEANING_WORKER,
					       MEANING_ERROR };

struct run {
	struct definitions d;
	struct counters *counters;
	uint64_t now;
	uint64_t internal, worker, error; /* of the next calls */
};

static int run_open(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	definitions_add_process(&run->d);
	definitions_add_thread(&run->d);
	run->d.threads[0].name = strdup("CPU 3");
	run->d.threads[0].tid = 77;
	for (int p = 0; p < PROBES; p++) {
		uint32_t index = definitions_add_probe(&run->d);
		struct def_probe *probe = &run->d.probes[index];

		probe->role = roles[p];
		probe->model = strdup("tasks");
		probe->event = strdup("GASP_TASKS_X");
		probe->values = calloc(VALUES, sizeof(*probe->values));
		probe->nvalues = VALUES;
		for (int v = 0; v < VALUES; v++)
			probe->values[v] = (struct value){ .name = strdup("v"),
							   .meaning = meanings[v],
							   .form = FORM_INT,
							   .slot = v,
							   .width = GB_U64 };
	}
	run->counters = counters_new(&run->d);
	run->worker = 3;
	*state = run;
	return 0;
}

static int run_close(void **state)
{
	struct run *run = *state;

	counters_free(run->counters);
	definitions_free(&run->d);
	free(run);
	return 0;
}

static void happen(struct run *run, int probe, enum event_type type, uint64_t task, uint64_t kind, uint64_t lasts)
{
	struct span span = { .start = type == EVENT_END ? run->now - lasts : run->now,
			     .end = run->now,
			     .probe = probe,
			     .site = NO_INDEX,
			     .nwords = VALUES,
			     .words = { task, kind, run->internal, run->worker, run->error } };
	struct event event = { .type = type, .time = run->now, .span = &span };

	assert_int_equal(counters_event(run->counters, &run->d, &event), 0);
	run->now += 10;
}

static void submit(struct run *run, uint64_t task, uint64_t kind)
{
	happen(run, SUBMIT, EVENT_START, task, kind, 0);
	happen(run, SUBMIT, EVENT_END, task, kind, 0);
}

static void execute(struct run *run, uint64_t task, uint64_t kind, uint64_t lasts)
{
	happen(run, TASK, EVENT_START, task, kind, 0);
	run->now += lasts;
	happen(run, TASK, EVENT_END, task, kind, lasts);
	happen(run, DONE, EVENT_ATOMIC, task, kind, 0);
}

static const struct counter_row *row(struct run *run, enum counter_scope scope, uint64_t what)
{
	size_t count;
	const struct counter_row *rows = counters_rows(run->counters, &count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].scope == scope && (scope != COUNTER_WORKER || rows[i].worker == (int64_t)what) &&
		    (scope != COUNTER_KIND || rows[i].kind == what))
			return &rows[i];
	fail_msg("no such row");
	return NULL;
}

static void tasks_wait_run_and_end(void **state)
{
	struct run *run = *state;

	for (uint64_t task = 1; task <= 3; task++)
		submit(run, task, 0x100);
	happen(run, READY, EVENT_ATOMIC, 1, 0x100, 0);
	happen(run, READY, EVENT_ATOMIC, 2, 0x100, 0);
	execute(run, 1, 0x100, 500);
	execute(run, 2, 0x100, 700);
	submit(run, 1, 0x200); /* the address is used again */
	const struct counter_row *whole = row(run, COUNTER_GLOBAL, 0), *kind = row(run, COUNTER_KIND, 0x100),
				 *worker = row(run, COUNTER_WORKER, 3);

	assert_int_equal(whole->submitted, 4);
	assert_int_equal(whole->executed, 2);
	assert_int_equal(whole->peak_submitted, 3);
	assert_int_equal(whole->peak_ready, 2);
	assert_int_equal(whole->now_submitted, 2);
	assert_int_equal(whole->now_ready, 0);
	assert_int_equal(kind->submitted, 3);
	assert_int_equal(kind->busy, 1200);
	assert_int_equal(worker->executed, 2);
	assert_int_equal(worker->busy, 1200);
	assert_string_equal(worker->name, "CPU 3");
	assert_int_equal(row(run, COUNTER_KIND, 0x200)->submitted, 1);
}

static void the_runtimes_own_tasks_are_counted_apart(void **state)
{
	struct run *run = *state;

	run->internal = 1;
	submit(run, 1, 0);
	happen(run, READY, EVENT_ATOMIC, 1, 0, 0);
	run->internal = 0;
	run->error = 1;
	submit(run, 2, 0x100); /* fails: none at all */
	run->error = 0;
	const struct counter_row *whole = row(run, COUNTER_GLOBAL, 0);

	assert_int_equal(whole->submitted, 0);
	assert_int_equal(whole->internal, 1);
	assert_int_equal(whole->peak_submitted, 0);
	assert_int_equal(whole->peak_ready, 0);
}

static void what_began_before_counts_from_where_it_is_seen(void **state)
{
	struct run *run = *state;

	happen(run, TASK, EVENT_END, 9, 0x100, 0); /* never seen to be submitted, ready or begun */
	happen(run, DONE, EVENT_ATOMIC, 9, 0x100, 0);
	happen(run, READY, EVENT_ATOMIC, 8, 0x100, 0);
	execute(run, 8, 0x100, 100);
	const struct counter_row *whole = row(run, COUNTER_GLOBAL, 0);

	assert_int_equal(whole->submitted, 0);
	assert_int_equal(whole->executed, 2);
	assert_int_equal(whole->peak_ready, 1);
	assert_int_equal(whole->now_ready, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tasks_wait_run_and_end, run_open, run_close),
		cmocka_unit_test_setup_teardown(the_runtimes_own_tasks_are_counted_apart, run_open, run_close),
		cmocka_unit_test_setup_teardown(what_began_before_counts_from_where_it_is_seen, run_open, run_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
