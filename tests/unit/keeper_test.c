/*
 * keeper_test.c - files of a process that may make none any more. Each case is a child's, which has one keeper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
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

static int command = -1; /* pidfd */
static char folder[] = "/tmp/gaspbpf-keeper-XXXXXX", own[] = "/tmp/gaspbpf-keeper-XXXXXX", elsewhere[] = "/tmp/gaspbpf-keeper-XXXXXX";

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
	const char *const files[] = { in(folder, "mine"), in(folder, "replaced"), in(own, "left"), NULL };
	int status;
	pid_t child;

	for (int i = 0; files[i]; i++)
		make(files[i]);
	make(in(folder, "other"));
	make(in(elsewhere, "old"));
	assert_int_equal(chown(folder, owner, owner), 0);
	child = fork();
	if (!child) {
		if (keeper_start(&(struct keeping){ folders, ".gasp", files, files[2], command, &caller }) || !replace(files[1]) || !keep_no_privileges(nowhere))
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
	if (file_create_new(in(elsewhere, "new.gasp"), NULL) >= 0 || file_create_new(path, NULL) >= 0 || file_create_new("", NULL) >= 0)
		return 1;
	if (file_create_new(in(folder, "new"), NULL) >= 0 || file_create_new(in(folder, ".gasp"), NULL) >= 0 || file_create_new(in(folder, ".new.gasp"), NULL) >= 0)
		return 4;
	if (file_create_new(in(folder, "."), NULL) >= 0 || file_create_new(long_path, NULL) >= 0)
		return 2;
	return is_there(in(elsewhere, "old")) && is_there(in(folder, "other")) ? 0 : 3;
}

static int remove_replaced(void)
{
	file_remove(in(folder, "replaced"));
	return is_there(in(folder, "replaced")) ? 0 : 1;
}

static int end_the_command(void)
{
	return keeper_end_command() ? 1 : 0;
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

/* A command of this user ends by what the keeper of that caller does; else it runs on. */
static bool ends(uid_t user, uid_t caller, bool known)
{
	int became[2], status, result;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(became), 0);
	pid = fork();
	if (!pid) {
		if (setresgid(user, user, user) || setresuid(user, user, user) || write(became[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	if (known)
		command = (int)syscall(SYS_pidfd_open, pid, 0);
	close(became[1]);
	assert_int_equal(read(became[0], &byte, 1), 1);
	close(became[0]);
	result = kept(caller, caller, end_the_command);
	if (command >= 0)
		close(command);
	command = -1;
	if (result)
		kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), result ? SIGKILL : SIGTERM);
	return !result;
}

static void a_command_is_asked_to_end(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_true(ends(0, 0, true));
	assert_true(ends(OTHER, OTHER, true));
	assert_true(ends(0, OTHER, true)); /* by sudo once more */
	assert_false(ends(0, 0, false));
	assert_false(ends(OTHER, OTHER + 1, true)); /* the caller may not, so neither may who acts for him */
}

static int make_folders(void **state)
{
	(void)state;
	return !mkdtemp(folder) || !mkdtemp(own) || !mkdtemp(elsewhere) || chmod(folder, 0755) || chmod(own, 0755) || chmod(elsewhere, 0755);
}

static int remove_folders(void **state)
{
	(void)state;
	static const char *const names[] = { "mine", "replaced", "left", "other", "new", "new.gasp", ".gasp", ".new.gasp", "old" };

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
		cmocka_unit_test(files_are_made_and_removed),
		cmocka_unit_test(nothing_elsewhere),
		cmocka_unit_test(another_file_of_that_name_stays),
		cmocka_unit_test(what_is_not_to_be_left_goes),
		cmocka_unit_test(a_command_is_asked_to_end),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
