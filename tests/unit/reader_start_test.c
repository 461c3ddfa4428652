/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_start_test.c - what starts readers may be killed at any time, and no reader outlives it: also one that is just
 * forked, and whom the kernel does not know yet to end with it. The test stops it there.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/reader.h"
#include "target/target.h"
#include "util/call_filter.h"
#include "util/messages.h"

static int comes[2], goes[2]; /* pipes: it has come to where it is stopped; it may go on */

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_reader_answers(int socket);
bool __wrap_keep_privileges_to_read(bool sampling);
bool __wrap_calls_allow_only(const struct call_rule *rules, size_t count, bool kill);

int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	char byte = 0;

	if (option == PR_SET_PDEATHSIG && (write(comes[1], &byte, 1) != 1 || read(goes[0], &byte, 1) != 1))
		_exit(2);
	return __real_prctl(option, a, b, c, d);
}

/* A reader has started, and says so. */
int __wrap_reader_answers(int socket)
{
	return write(socket, "R", 1) != 1;
}

bool __wrap_keep_privileges_to_read(bool sampling)
{
	return true;
}

bool __wrap_calls_allow_only(const struct call_rule *rules, size_t count, bool kill)
{
	return true;
}

/* Has the reader started? killed: what starts it was, before the reader had come to that. */
static bool reader_starts(bool killed)
{
	const struct starter_request request = { .what = START_READER };
	int channel[2], reader[2], status;
	pid_t starter;
	char byte = 0;
	ssize_t got;

	assert_int_equal(pipe(comes) | pipe(goes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, reader), 0);
	starter = fork();
	if (!starter) {
		close(channel[0]);
		close(reader[0]);
		close(reader[1]);
		_exit(starter_serve(channel[1], false));
	}
	assert_true(starter > 0);
	close(channel[1]);
	assert_true(pass_send(channel[0], &request, sizeof(request), reader[1]) > 0);
	close(reader[1]);
	assert_int_equal(read(comes[0], &byte, 1), 1);
	if (killed) {
		assert_int_equal(kill(starter, SIGKILL), 0);
		assert_int_equal(waitpid(starter, &status, 0), starter);
	}
	assert_int_equal(write(goes[1], &byte, 1), 1);
	got = read(reader[0], &byte, 1); /* 0: it has ended */
	close(channel[0]);
	if (!killed)
		assert_int_equal(waitpid(starter, &status, 0), starter);
	close(reader[0]);
	for (int i = 0; i < 2; i++) {
		close(comes[i]);
		close(goes[i]);
	}
	return got == 1 && byte == 'R';
}

static void a_reader_starts(void **state)
{
	assert_true(reader_starts(false));
}

static void no_reader_outlives_what_has_started_it(void **state)
{
	assert_false(reader_starts(true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_starts),
		cmocka_unit_test(no_reader_outlives_what_has_started_it),
	};

	return cmocka_run_group_tests_name("reader_start", tests, NULL, NULL);
}
