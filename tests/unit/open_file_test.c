/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_file_test.c - files below the root of a process: with openat2, and where a filter of system calls takes it away,
 * the same files, and none outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/image_private.h"

/*
 * TOP/outside and TOP/root/ with: usr/lib/file, lib -> usr/lib, absolute -> /usr/lib/file, up -> ../../../../outside,
 * out -> /outside, into -> /usr/lib, usr/lib/deep -> /usr/lib/file, round -> round, a chain of 41 links to file, pipe
 * (a FIFO), usr/lib/back -> ../lib/./file, hole -> nothing.
 */
static char top[] = "/tmp/open_file_test.XXXXXX";

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_tree(void **state)
{
	char name[32], next[32];

	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	make_file("outside", "outside");
	assert_false(mkdir("root", 0755) || mkdir("root/usr", 0755) || mkdir("root/usr/lib", 0755));
	make_file("root/usr/lib/file", "inside");
	assert_int_equal(chdir("root"), 0);
	assert_false(symlink("usr/lib", "lib") || symlink("/usr/lib/file", "absolute") ||
		     symlink("../../../../outside", "up") || symlink("/outside", "out") || symlink("round", "round") ||
		     symlink("../lib/./file", "usr/lib/back") || symlink("nothing", "hole") ||
		     symlink("/usr/lib", "into") || symlink("/usr/lib/file", "usr/lib/deep") || mkfifo("pipe", 0600));
	for (int i = 0; i <= 41; i++) {
		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(next, sizeof(next), "chain%d", i - 1);
		assert_int_equal(symlink(i ? next : "usr/lib/file", name), 0);
	}
	return 0;
}

static int remove_tree(void **state)
{
	char command[sizeof(top) + 16];

	snprintf(command, sizeof(command), "rm -r '%s'", top);
	return system(command);
}

static const struct {
	const char *path;
	int error; /* 0: it is "inside" */
} ways[] = {
	{ "/usr/lib/file", 0 },
	{ "usr//lib/./file", 0 },
	{ "/lib/file", 0 },
	{ "/lib/../lib/file", 0 },
	{ "/absolute", 0 },
	{ "/usr/lib/deep", 0 },
	{ "/into/file", 0 },
	{ "/into/../lib/file", 0 },
	{ "/into/../../lib/back", 0 },
	{ "/usr/lib/back", 0 },
	{ "/lib/back", 0 },
	{ "/../../usr/lib/file", 0 },
	{ "/chain39", 0 },
	{ "/chain41", -ELOOP },
	{ "/round", -ELOOP },
	{ "/up", -ENOENT },
	{ "/out", -ENOENT },
	{ "/lib/../../../outside", -ENOENT },
	{ "/hole", -ENOENT },
	{ "/usr/lib/file/more", -ENOTDIR },
	{ "/usr/lib", -ENOEXEC },
	{ "/pipe", -ENOEXEC },
};

/* Compares every way; returns how many are wrong, having told which. */
static int go_all_ways(void)
{
	int root = open(".", O_PATH | O_DIRECTORY), wrong = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char text[16] = "";
		int fd = file_open_below(root, ways[i].path, NULL);

		if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
			fd = -errno;
		if (ways[i].error ? fd == ways[i].error : fd >= 0 && !strcmp(text, "inside"))
			continue;
		fprintf(stderr, "%s: %d '%s'\n", ways[i].path, fd, text);
		wrong++;
	}
	return wrong;
}

static void test_with_openat2(void **state)
{
	assert_int_equal(go_all_ways(), 0);
}

/* As in a service of systemd with RestrictSUIDSGID or DynamicUser. */
static void take_openat2_away(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(100);
}

static void test_without(void **state)
{
	int status;
	pid_t child = fork();

	if (!child) {
		take_openat2_away();
		if (syscall(SYS_openat2, AT_FDCWD, ".", NULL, 0) != -1 || errno != ENOSYS)
			_exit(101);
		_exit(go_all_ways());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_openat2),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
