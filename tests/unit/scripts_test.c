/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scripts_test.c - where threads are in their scripts: who has not run until a further look is where it was. Where
 * calls alone are asked for, nobody takes that look: the probes tell more of a short one. What is seen of the job is
 * the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stuck/private.h"

#define PID 77
#define THREADS_HERE 2

static unsigned looks_taken;

struct script_reader *__wrap_script_reader_new(struct stack_space *space, const struct process *process);
void __wrap_script_reader_free(struct script_reader *reader);
void __wrap_script_take(const struct script_reader *reader, const struct thread_look *look, struct script *script);
int __wrap_looks_take(struct looks *looks, struct looker *looker, struct process *const *processes, size_t count);

struct script_reader *__wrap_script_reader_new(struct stack_space *space, const struct process *process)
{
	return (struct script_reader *)&looks_taken;
}

void __wrap_script_reader_free(struct script_reader *reader)
{
}

void __wrap_script_take(const struct script_reader *reader, const struct thread_look *look, struct script *script)
{
	script->frames = calloc(1, sizeof(*script->frames));
	assert_non_null(script->frames);
	script->count = script->room = 1;
}

/* The first thread has not run since the look before, the second one has. */
static void fill(struct looks *looks, uint64_t ran)
{
	looks->threads = calloc(THREADS_HERE, sizeof(*looks->threads));
	assert_non_null(looks->threads);
	looks->count = THREADS_HERE;
	for (int i = 0; i < THREADS_HERE; i++)
		looks->threads[i] = (struct thread_look){ .pid = PID,
							  .tid = PID + i,
							  .state = 'S',
							  .switches = 5 + ran * (unsigned)i,
							  .ran = 100 + ran * (unsigned)i };
}

int __wrap_looks_take(struct looks *looks, struct looker *looker, struct process *const *processes, size_t count)
{
	looks_taken++;
	*looks = (struct looks){ 0 };
	fill(looks, 1);
	return 0;
}

static struct stuck read_scripts(bool bare)
{
	struct process process = { .pid = PID };
	struct stuck_process of = { .process = &process, .space = (struct stack_space *)&looks_taken };
	struct stuck stuck = { .bare = bare, .processes = &of, .nprocesses = 1 };

	looks_taken = 0;
	fill(&stuck.last, 0);
	assert_int_equal(scripts_read(&stuck), 0);
	assert_int_equal(stuck.nscripts, THREADS_HERE);
	looks_free(&stuck.last);
	return stuck;
}

static void who_has_not_run_is_where_it_was(void **state)
{
	struct stuck stuck = read_scripts(false);

	assert_int_equal(looks_taken, 1);
	assert_true(stuck.scripts[0].still);
	assert_false(stuck.scripts[1].still);
	scripts_free(&stuck);
}

static void for_calls_alone_one_look_is_enough(void **state)
{
	struct stuck stuck = read_scripts(true);

	assert_int_equal(looks_taken, 0);
	assert_false(stuck.scripts[0].still);
	scripts_free(&stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_not_run_is_where_it_was),
		cmocka_unit_test(for_calls_alone_one_look_is_enough),
	};

	return cmocka_run_group_tests_name("scripts", tests, NULL, NULL);
}
