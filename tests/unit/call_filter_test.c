/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_filter_test.c - what a process may still call. Each case is a child's, for whom it is for good.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/call_filter.h"

static const struct call_rule rules[] = {
	{ .call = SYS_getppid },
	{ .call = SYS_exit_group },
	RULE_OPENAT_TO_READ,
	{ SYS_openat2, RULE_UNKNOWN, 0, { 0 } },
	{ SYS_ptrace, RULE_ONE_OF, 0, { PTRACE_SEIZE, PTRACE_DETACH } },
};

/* What the call gave: 0 or more, or -errno; from -1000 on, the signal that ended who made it. */
static int under(bool ends, int (*call)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		int result;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    !calls_allow_only(rules, sizeof(rules) / sizeof(rules[0]), ends))
			_exit(255);
		result = call();
		_exit(result < 0 ? 128 - result : result ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		return -1000 - WTERMSIG(status);
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status) > 128 ? 128 - WEXITSTATUS(status) : WEXITSTATUS(status);
}

static int result_of(long got)
{
	return got < 0 ? -errno : 1;
}

static int is_allowed(void)
{
	return result_of(syscall(SYS_getppid));
}

static int is_not(void)
{
	return result_of(syscall(SYS_getpid));
}

static int opens_to_read(void)
{
	return result_of(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC)) &
	       result_of(syscall(SYS_openat, AT_FDCWD, "/", O_PATH));
}

static int opens_to_write(void)
{
	return result_of(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY));
}

static int opens_to_both(void)
{
	return result_of(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR));
}

static int empties(void)
{
	return result_of(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_TRUNC));
}

static int makes(void)
{
	return result_of(syscall(SYS_openat, AT_FDCWD, "/dev/null/no", O_RDONLY | O_CREAT, 0600));
}

static int opens_by_structure(void)
{
	return result_of(syscall(SYS_openat2, AT_FDCWD, "/dev/null", NULL, 0));
}

/* Of no process: what is allowed gets as far as that. */
static int seizes(void)
{
	return result_of(syscall(SYS_ptrace, PTRACE_SEIZE, 0, 0, 0));
}

static int detaches(void)
{
	return result_of(syscall(SYS_ptrace, PTRACE_DETACH, 0, 0, 0));
}

static int pokes(void)
{
	return result_of(syscall(SYS_ptrace, PTRACE_POKEDATA, 0, 0, 0));
}

static void what_is_not_named_fails_or_ends(void **state)
{
	(void)state;
	assert_int_equal(under(false, is_allowed), 1);
	assert_int_equal(under(true, is_allowed), 1);
	assert_int_equal(under(false, is_not), -EPERM);
	assert_int_equal(under(true, is_not), -1000 - SIGSYS);
	assert_int_equal(under(true, opens_by_structure), -ENOSYS);
}

static void files_are_opened_to_read(void **state)
{
	(void)state;
	assert_int_equal(under(true, opens_to_read), 1);
	assert_int_equal(under(false, opens_to_write), -EPERM);
	assert_int_equal(under(false, opens_to_both), -EPERM);
	assert_int_equal(under(false, empties), -EPERM);
	assert_int_equal(under(false, makes), -EPERM);
	assert_int_equal(under(true, makes), -1000 - SIGSYS);
}

static void an_argument_is_one_of_some(void **state)
{
	(void)state;
	assert_int_equal(under(true, seizes), -ESRCH);
	assert_int_equal(under(true, detaches), -ESRCH);
	assert_int_equal(under(false, pokes), -EPERM);
	assert_int_equal(under(true, pokes), -1000 - SIGSYS);
}

/* A program that the kernel would not take is not begun. */
static void too_many_are_refused(void **state)
{
	static struct call_rule many[400];

	(void)state;
	for (int i = 0; i < 400; i++)
		many[i] = (struct call_rule){ .call = i };
	errno = 0;
	assert_false(calls_allow_only(many, 400, false));
	assert_int_equal(errno, E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_named_fails_or_ends),
		cmocka_unit_test(files_are_opened_to_read),
		cmocka_unit_test(an_argument_is_one_of_some),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests_name("call_filter", tests, NULL, NULL);
}
