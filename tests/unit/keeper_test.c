/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper_test.c - files of a process that may make none any more. Each case is a child's, which has one keeper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/files.h"
#include "util/keeper.h"
#include "util/privileges.h"

#define OTHER 61001

static struct kept_process process; /* pid 0: there is none */
static char folder[] = "/tmp/gaspbpf-keeper-XXXXXX", own[] = "/tmp/gaspbpf-keeper-XXXXXX",
	    elsewhere[] = "/tmp/gaspbpf-keeper-XXXXXX";

static const char *in(const char *where, const char *name)
{
	static char paths[16][128];
	static unsigned next;
	char *path = paths[next++ % 16];

	snprintf(path, sizeof(paths[0]), "%s/%s", where, name);
	return path;
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

static void make(const char *path)
{
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Another file of the same name; the old one is kept open, so that the new one has a number of its own. */
static bool replace(const char *path)
{
	int old = open(path, O_RDONLY | O_CLOEXEC);

	return old >= 0 && !unlink(path) && open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
}

/* 0: all of it was as it should be; else which was not, or the signal that ended it (negative). */
static int kept(uid_t user, uid_t owner, int (*what)(void))
{
	const struct caller caller = { .uid = user, .gid = user };
	const char *const folders[] = { folder, own, NULL }, *const nowhere[] = { NULL };
	const char *const files[] = { in(folder, "mine"), in(folder, "replaced"), in(own, "left"),
				      in(folder, "anew.gasp"), NULL };
	int status;
	pid_t child;

	for (int i = 0; files[i]; i++)
		make(files[i]);
	make(in(folder, "other"));
	make(in(elsewhere, "old"));
	assert_int_equal(chown(folder, owner, owner), 0);
	child = fork();
	if (!child) {
		if (keeper_start(&(struct keeping){ folders, ".gasp", files, files[2], &process, process.pid > 0,
						    &caller }) ||
		    !replace(files[1]) || !keep_no_privileges(nowhere))
			exit(100);
		exit(what()); /* as a whole program ends */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int make_and_remove(void)
{
	int fd = file_create_new(in(folder, "new.gasp"), NULL);

	if (fd < 0 || write(fd, "text", 4) != 4)
		return 1;
	if (file_create_new(in(folder, "new.gasp"), NULL) != -EEXIST)
		return 2;
	file_give_back(in(folder, "mine"), NULL, fd);
	file_remove(in(own, "left"));
	if (is_there(in(folder, "mine")) || is_there(in(own, "left")))
		return 3;
	return 0;
}

static int try_elsewhere(void)
{
	char path[160], long_path[5000];

	snprintf(path, sizeof(path), "%s/../%s/new.gasp", folder, strrchr(elsewhere, '/') + 1);
	snprintf(long_path, sizeof(long_path), "%s/%04096d.gasp", folder, 0);
	file_remove(in(elsewhere, "old"));
	file_remove(in(folder, "other"));
	if (file_create_new(in(elsewhere, "new.gasp"), NULL) >= 0 || file_create_new(path, NULL) >= 0 ||
	    file_create_new("", NULL) >= 0)
		return 1;
	if (file_create_new(in(folder, "new"), NULL) >= 0 || file_create_new(in(folder, ".gasp"), NULL) >= 0 ||
	    file_create_new(in(folder, ".new.gasp"), NULL) >= 0)
		return 4;
	if (file_create_new(in(folder, "."), NULL) >= 0 || file_create_new(long_path, NULL) >= 0)
		return 2;
	return is_there(in(elsewhere, "old")) && is_there(in(folder, "other")) ? 0 : 3;
}

static int take_the_place(void)
{
	struct stat before, after;
	int fd = file_create_new(in(folder, "anew.gasp" FILE_NEW), NULL);

	if (fd < 0 || write(fd, "text", 4) != 4 || stat(in(folder, "anew.gasp"), &before))
		return 1;
	if (file_take_place(in(folder, "anew.gasp"), NULL) || stat(in(folder, "anew.gasp"), &after) ||
	    after.st_size != 4 || after.st_ino == before.st_ino || is_there(in(folder, "anew.gasp" FILE_NEW)))
		return 2;
	if (file_create_new(in(folder, "anew.gasp" FILE_NEW), NULL) < 0 ||
	    file_drop_new(in(folder, "anew.gasp" FILE_NEW), NULL) || is_there(in(folder, "anew.gasp" FILE_NEW)))
		return 3;
	if (file_drop_new(in(folder, "anew.gasp"), NULL) != -EPERM || !is_there(in(folder, "anew.gasp")))
		return 4;
	return 0;
}

/* Of a file that was not named, and of what was named for another reason. */
static int take_other_places(void)
{
	if (file_create_new(in(folder, "other.gasp"), NULL) < 0 ||
	    file_create_new(in(folder, "other.gasp" FILE_NEW), NULL) < 0)
		return 1;
	if (file_take_place(in(folder, "other.gasp"), NULL) != -EPERM ||
	    file_drop_new(in(folder, "other.gasp" FILE_NEW), NULL) != -EPERM ||
	    file_take_place(in(own, "left"), NULL) != -EPERM || file_take_place("", NULL) != -EPERM)
		return 2;
	return is_there(in(folder, "other.gasp" FILE_NEW)) && is_there(in(own, "left")) ? 0 : 3;
}

static int remove_replaced(void)
{
	file_remove(in(folder, "replaced"));
	return is_there(in(folder, "replaced")) ? 0 : 1;
}

static int end_the_process(void)
{
	return keeper_end(process.pid) ? 1 : 0;
}

static int end_another(void)
{
	return keeper_end(getppid()) == -EPERM ? 0 : 1;
}

static int do_nothing(void)
{
	return 0;
}

static int be_killed(void)
{
	raise(SIGKILL);
	return 1;
}

static void made_by(uid_t user, uid_t owner)
{
	struct stat made;

	assert_int_equal(kept(user, owner, make_and_remove), 0);
	assert_int_equal(stat(in(folder, "new.gasp"), &made), 0);
	assert_int_equal(made.st_uid, user);
	assert_int_equal(made.st_size, 4);
	assert_int_equal(unlink(in(folder, "new.gasp")), 0);
}

static void files_are_made_and_removed(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	made_by(0, 0);
	made_by(OTHER, OTHER);
	made_by(0, OTHER); /* by root for itself, in a folder of somebody else */
}

static void nothing_elsewhere(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(kept(0, 0, try_elsewhere), 0);
	assert_false(is_there(in(elsewhere, "new.gasp")));
	assert_int_equal(kept(OTHER, 0, make_and_remove), 1); /* as the caller, whose folder it is not */
}

static void a_new_file_takes_the_place(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(kept(0, 0, take_the_place), 0);
	assert_int_equal(kept(OTHER, OTHER, take_the_place), 0);
	assert_int_equal(kept(0, 0, take_other_places), 0);
}

static void another_file_of_that_name_stays(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(kept(0, 0, remove_replaced), 0);
}

/* As the socket of a run that was killed. The keeper is not our child: it is waited for by looking. */
static void what_is_not_to_be_left_goes(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(kept(0, 0, be_killed), -SIGKILL);
	for (int i = 0; is_there(in(own, "left")) && i < 10000; i++)
		usleep(1000);
	assert_false(is_there(in(own, "left")));
	assert_true(is_there(in(folder, "mine")));
}

/* A process of this user, which leads a group of two. Each says that it has begun; `alive` ends with the last of them.
 */
static pid_t start_two(uid_t user, int *alive)
{
	int ends[2];
	char bytes[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		if (setpgid(0, 0) || setresgid(user, user, user) || setresuid(user, user, user))
			_exit(1);
		fork();
		if (write(ends[1], "b", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	close(ends[1]);
	for (int got = 0; got < 2;) {
		ssize_t some = read(ends[0], bytes, 2);

		assert_true(some > 0);
		got += (int)some;
	}
	*alive = ends[0];
	return pid;
}

/* The signal that such a process ends by, after what a keeper of this caller was asked to do. Where it is to be none,
 * it gets a SIGHUP then. others: does the other one live on? */
static int ended_by(uid_t user, uid_t caller, struct kept_process how, int (*what)(void), bool by_none, bool *others)
{
	struct pollfd alive = { 0 };
	pid_t pid = start_two(user, &alive.fd);
	int status;

	process = how;
	process.pid = pid;
	kept(caller, caller, what);
	process.pid = 0;
	if (by_none)
		kill(pid, SIGHUP);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*others = !poll(&alive, 1, how.group ? 60000 : 0);
	kill(-pid, SIGKILL);
	close(alive.fd);
	assert_true(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static void processes_are_ended(void **state)
{
	const struct kept_process command = { .signal = SIGTERM },
				  tool = { .group = true, .signal = SIGKILL, .orphaned = SIGUSR1 };
	const struct {
		uid_t user, caller;
		int (*what)(void);
		const struct kept_process *how;
		int by;
	} cases[] = {
		{ 0, 0, end_the_process, &command, SIGTERM },
		{ OTHER, OTHER, end_the_process, &command, SIGTERM },
		{ 0, OTHER, end_the_process, &command, SIGTERM }, /* by sudo once more */
		{ OTHER, OTHER + 1, end_the_process, &command,
		  SIGHUP }, /* the caller may not, so neither may who acts for him */
		{ 0, 0, end_another, &command, SIGHUP },
		{ 0, 0, do_nothing, &command, SIGHUP },
		{ 0, 0, end_the_process, &tool, SIGKILL },
		{ OTHER, OTHER, end_the_process, &tool, SIGKILL },
		{ OTHER, OTHER, do_nothing, &tool, SIGUSR1 }, /* when the keeper ends, as its parent has */
		{ 0, 0, be_killed, &tool, SIGUSR1 },
	};

	(void)state;
	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool others;

		print_message("case %zu\n", i);
		assert_int_equal(ended_by(cases[i].user, cases[i].caller, *cases[i].how, cases[i].what,
					  cases[i].by == SIGHUP, &others),
				 cases[i].by);
		assert_int_equal(others, !cases[i].how->group);
	}
}

static int make_folders(void **state)
{
	(void)state;
	return !mkdtemp(folder) || !mkdtemp(own) || !mkdtemp(elsewhere) || chmod(folder, 0755) || chmod(own, 0755) ||
	       chmod(elsewhere, 0755);
}

static int remove_folders(void **state)
{
	(void)state;
	static const char *const names[] = {
		"mine",
		"replaced",
		"left",
		"other",
		"new",
		"new.gasp",
		".gasp",
		".new.gasp",
		"old",
		"anew.gasp",
		"other.gasp",
		"anew.gasp" FILE_NEW,
		"other.gasp" FILE_NEW,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unlink(in(folder, names[i]));
		unlink(in(own, names[i]));
		unlink(in(elsewhere, names[i]));
	}
	return rmdir(folder) || rmdir(own) || rmdir(elsewhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_made_and_removed),  cmocka_unit_test(nothing_elsewhere),
		cmocka_unit_test(a_new_file_takes_the_place),  cmocka_unit_test(another_file_of_that_name_stays),
		cmocka_unit_test(what_is_not_to_be_left_goes), cmocka_unit_test(processes_are_ended),
	};

	alarm(120); /* a process that lives on is waited for without an end */
	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
