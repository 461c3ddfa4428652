/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privileges_test.c - what a process that has given up its rights cannot do any more. Each try is a child's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/files.h"
#include "util/privileges.h"

static char allowed[] = "/tmp/gaspbpf-allowed-XXXXXX", other[] = "/tmp/gaspbpf-other-XXXXXX";

static int open_in(const char *folder, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, flags | O_CLOEXEC, 0600);
}

static const char *const folders[] = { allowed, "/nonexistent", NULL };

static int status_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Exit status of a child that has nothing any more, and tries. */
static int without_rights_as(uid_t user, bool (*try)(void))
{
	pid_t child = fork();

	if (!child)
		_exit((user && setresuid(user, user, user)) || !keep_no_privileges(folders) ? 2 : try());
	return status_of(child);
}

/* Of one that makes files for who called. */
static int with_files(bool (*try)(void), uid_t caller)
{
	const struct caller who = { .uid = caller };
	pid_t child = fork();

	if (!child)
		_exit(!keep_privileges_for_files(folders, &who) ? 2 : try());
	return status_of(child);
}

static bool write_where_allowed(void)
{
	return open_in(allowed, "new", O_WRONLY | O_CREAT) >= 0 && open_in(allowed, "old", O_WRONLY | O_TRUNC) >= 0;
}
static bool write_new_where_allowed(void)
{
	return open_in(allowed, "another", O_WRONLY | O_CREAT) >= 0;
}
static bool remove_where_allowed(void)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/removed", allowed);
	return !unlink(path);
}
static bool make_elsewhere(void)
{
	return open_in(other, "new", O_WRONLY | O_CREAT) >= 0;
}
static bool write_elsewhere(void)
{
	return open_in(other, "old", O_WRONLY) >= 0;
}
static bool read_elsewhere(void)
{
	return open_in(other, "old", O_RDONLY) >= 0;
}
static bool remove_elsewhere(void)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/old", other);
	return !unlink(path);
}
static bool write_memory_of_another(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	return open(path, O_RDWR) >= 0;
}
static bool execute(void)
{
	execl("/bin/false", "false", NULL);
	return false;
} /* that ends with 1 */
static bool become_another(void)
{
	return !setresuid(1, 1, 1);
}
static bool open_nothing(void)
{
	return open("/dev/null", O_WRONLY) >= 0;
}

static bool is_nobody(void)
{
	uid_t real, effective, saved;

	return !getresuid(&real, &effective, &saved) && real == effective && real == saved && real >= 0x7fff0000u &&
	       getgid() == real && !getgroups(0, NULL);
}
static bool become_root(void)
{
	return !setresuid((uid_t)-1, 0, (uid_t)-1) || !seteuid(0);
}

static void who_makes_files_changes_only_what_it_is_to(void **state)
{
	(void)state;
	if (geteuid() || syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 3)
		skip();
	assert_int_equal(with_files(write_where_allowed, 0), 1);
	assert_int_equal(with_files(remove_where_allowed, 0), 1);
	assert_int_equal(with_files(read_elsewhere, 0), 1);
	assert_int_equal(with_files(open_nothing, 0), 1);
	assert_int_equal(with_files(make_elsewhere, 0), 0);
	assert_int_equal(with_files(write_elsewhere, 0), 0);
	assert_int_equal(with_files(remove_elsewhere, 0), 0);
	assert_int_equal(with_files(write_memory_of_another, 0), 0);
	assert_int_equal(with_files(execute, 0), 0);
	assert_int_equal(with_files(become_another, 0), 0);
	/* Called by sudo: files are to be that user's. */
	assert_int_equal(with_files(become_another, 1), 1);
	assert_int_equal(with_files(make_elsewhere, 1), 0);
}

static void user_0_becomes_one_that_nobody_is(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(allowed, 0700) || chmod(other, 0700), 0);
	assert_int_equal(without_rights_as(0, is_nobody), 1);
	assert_int_equal(without_rights_as(0, become_root), 0);
	assert_int_equal(without_rights_as(0, write_where_allowed), 0);
	assert_int_equal(without_rights_as(0, read_elsewhere), 0);
	assert_int_equal(without_rights_as(0, make_elsewhere), 0);
	assert_int_equal(without_rights_as(0, write_memory_of_another), 0);
	assert_int_equal(without_rights_as(0, execute), 0);
	assert_int_equal(without_rights_as(0, open_nothing), 1);
}

/* A service's: its files are its own, but not for changing. */
static void others_change_no_more(void **state)
{
	(void)state;
	if (geteuid() || syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 3)
		skip();
	assert_int_equal(chmod(allowed, 0777) || chmod(other, 0777), 0);
	assert_int_equal(without_rights_as(65534, write_new_where_allowed), 1);
	assert_int_equal(without_rights_as(65534, make_elsewhere), 0);
	assert_int_equal(without_rights_as(65534, execute), 0);
}

static int make_folders(void **state)
{
	(void)state;
	return !mkdtemp(allowed) || !mkdtemp(other) || close(open_in(allowed, "old", O_WRONLY | O_CREAT)) ||
	       close(open_in(allowed, "removed", O_WRONLY | O_CREAT)) ||
	       close(open_in(other, "old", O_WRONLY | O_CREAT));
}

static int remove_folders(void **state)
{
	(void)state;
	static const char *const names[] = { "old", "new", "removed", "another" };
	char path[64];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", allowed, names[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s", other, names[i]);
		unlink(path);
	}
	return rmdir(allowed) || rmdir(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_change_no_more),
		cmocka_unit_test(user_0_becomes_one_that_nobody_is),
		cmocka_unit_test(who_makes_files_changes_only_what_it_is_to),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
