/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold_test.c - the end of a command is collected, and no stop of it: with the stop its signal would be lost. Nobody
 * stands still for ever, however long the answer takes. And a command that is not to run is killed, by who may not kill
 * it, too.
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
#include "util/privileges.h"

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

/* 0: it was killed before it did anything; else what went wrong. */
static int kill_before_it_runs(const char *path, bool without_rights)
{
	static const char *const nowhere[] = { NULL };
	char *const words[] = { "/bin/touch", (char *)path, NULL };
	struct caller caller;
	struct hold *hold;
	int status = 0;
	pid_t pid;

	if (caller_find(&caller) || hold_start(&hold, &pid, words, &caller, true, 60000000000ULL))
		return 1;
	caller_free(&caller);
	if (without_rights && (!hold_give_up_rights(hold) || !keep_no_privileges(nowhere) || !kill(pid, 0)))
		return 2;
	if (!hold_end_killing(hold, &status) && !hold_collect(pid, true, &status))
		return 3;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 4;
}

static void what_is_not_to_run_is_killed(void **state)
{
	char folder[] = "/tmp/gaspbpf-hold-XXXXXX", path[64];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/ran", folder);
	for (int without = 0; without < 2 && !(without && geteuid()); without++) {
		pid_t tester = fork(); /* what gives up its rights has none afterwards */
		int status;

		if (!tester)
			_exit(kill_before_it_runs(path, without));
		assert_int_equal(waitpid(tester, &status, 0), tester);
		assert_int_equal(status, 0);
		assert_int_not_equal(access(path, F_OK), 0);
	}
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_is_nobodys_to_collect),
		cmocka_unit_test(who_gets_no_answer_runs_on),
		cmocka_unit_test(what_is_not_to_run_is_killed),
	};

	alarm(60); /* a child that lives on is waited for without an end */
	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
