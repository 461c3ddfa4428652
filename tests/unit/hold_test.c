/*
 * hold_test.c - the end of a command is collected, and no stop of it: with the stop its signal would be lost. And nobody stands still for ever, however long
 * the answer takes.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target.h"

static pid_t child;
static int begun[2], leave[2];

/* Traces the child, and leaves it in the stop that it is in. */
static void *trace(void *unused)
{
	long failed = ptrace(PTRACE_SEIZE, child, 0, 0);
	char byte = !failed;

	if (write(begun[1], &byte, 1) != 1 || read(leave[0], &byte, 1) != 1)
		abort();
	return NULL;
}

static char state_of(pid_t pid)
{
	char path[40], text[256] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	at = strrchr(text, ')');
	return at ? at[2] : '?';
}

static void a_stop_is_nobodys_to_collect(void **state)
{
	pthread_t tracer;
	char byte = 0;
	int status;

	assert_int_equal(pipe(begun) | pipe(leave), 0);
	child = fork();
	while (!child)
		pause();
	assert_true(child > 0);
	assert_int_equal(pthread_create(&tracer, NULL, trace, NULL), 0);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	assert_true(byte);
	assert_false(hold_collect(child, false, &status)); /* it runs */
	kill(child, SIGINT);
	while (state_of(child) != 't')
		usleep(1000);
	assert_false(hold_collect(child, false, &status)); /* the tracer's thread is there: the stop could be taken */
	assert_int_equal(write(leave[1], "x", 1), 1);
	assert_true(hold_collect(child, true, &status));
	assert_int_equal(pthread_join(tracer, NULL), 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	assert_false(hold_collect(child, true, &status)); /* no child of ours any more */
}

/* No answer is given until the command has ended. */
static void who_gets_no_answer_runs_on(void **state)
{
	const uint64_t patience = 200000000; /* ns */
	char *const words[] = { "/bin/sh", "-c", "exit 7", NULL };
	struct hold_notice notice, first = { 0 };
	struct caller caller;
	struct hold *hold;
	int status = 0;
	pid_t pid;

	assert_int_equal(caller_find(&caller), 0);
	assert_int_equal(hold_start(&hold, &pid, words, &caller, true, patience), 0);
	while (!hold_collect(pid, false, &status)) {
		if (!first.pid && hold_next(hold, &notice))
			first = notice;
		usleep(1000);
	}
	assert_int_equal(first.pid, pid);
	assert_true(first.asked);
	assert_int_equal(WEXITSTATUS(status), 7);
	hold_answer(hold, &first, HOLD_ON); /* too late, and no harm */
	assert_false(hold_has(hold, pid));
	assert_false(hold_end(hold, &status));
	caller_free(&caller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_is_nobodys_to_collect),
		cmocka_unit_test(who_gets_no_answer_runs_on),
	};

	alarm(60); /* a child that lives on is waited for without an end */
	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
