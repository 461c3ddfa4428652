/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target_test.c - looking at processes: what is mapped, who is whose rank, and who is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/proc.h"
#include "target/target.h"
#include "util/log.h"

/* What a call says on stderr. */
static FILE *caught;
static int kept_stderr;

static void catch_stderr(void)
{
	fflush(stderr);
	caught = tmpfile();
	kept_stderr = dup(STDERR_FILENO);
	dup2(fileno(caught), STDERR_FILENO);
}

static void check_said(const char *part)
{
	char text[1024];
	size_t length;

	fflush(stderr);
	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	rewind(caught);
	length = fread(text, 1, sizeof(text) - 1, caught);
	text[length] = '\0';
	fclose(caught);
	if (!strstr(text, part))
		fail_msg("said \"%s\" and not \"%s\"", text, part);
	assert_int_equal(strncmp(text, "gaspbpf: ", 9), 0);
	assert_ptr_equal(strchr(text, '\n'), text + length - 1); /* one line */
}

static void check_refused(pid_t pid, int error, const char *part)
{
	struct process *process = NULL;

	catch_stderr();
	assert_int_equal(process_open(&process, pid), error);
	check_said(part);
	assert_null(process);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- maps -------------------------------------------------------------- */

static void maps_of_all_kinds_are_read(void **state)
{
	char text[] = "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1234                       /opt/my job/a b.so\n"
		      "55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 1234                       /opt/my job/a b.so "
		      "(deleted)\n"
		      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
		      "7f0000021000-7f0000022000 rw-s 00000000 00:05 42                         /dev/new\\012line\n"
		      "7f0000022000-7f0000023000 r-xp 00000000 00:00 0                          [vdso]\n"
		      "this is no mapping\n"
		      "7f0000023000-7f0000023000 r-xp 00000000 00:00 0\n"
		      "ffffffffffffffffff-1 r-xp 00000000 00:00 0\n"
		      "7f0000024000-7f0000025000 --xp 00000000 103:0a 18446744073709551615      /last";
	struct mapping *mappings;
	size_t count;

	assert_int_equal(maps_parse(text, strlen(text), &mappings, &count), 0);
	assert_int_equal(count, 6);
	assert_true(mappings[0].start == 0x55d0c0000000 && mappings[0].end == 0x55d0c0001000);
	assert_string_equal(mappings[0].path, "/opt/my job/a b.so");
	assert_false(mappings[0].executable || mappings[0].deleted);
	assert_true(mappings[0].device == makedev(0xfe, 1) && mappings[0].inode == 1234);
	assert_string_equal(mappings[1].path, "/opt/my job/a b.so");
	assert_true(mappings[1].executable && mappings[1].deleted && mappings[1].offset == 0x1000);
	assert_null(mappings[2].path);
	assert_string_equal(mappings[3].path, "/dev/new\nline");
	assert_string_equal(mappings[4].path, "[vdso]");
	assert_true(mappings[5].inode == UINT64_MAX && mappings[5].device == makedev(0x103, 10));
	assert_string_equal(mappings[5].path, "/last");
	maps_free(mappings, count);
}

static void maps_without_end_are_refused(void **state)
{
	static const char line[] = "1000-2000 r-xp 00000000 00:00 0\n";
	size_t lines = MAPS_MOST + 1, length = strlen(line), count;
	struct mapping *mappings;
	char *text = malloc(lines * length);

	for (size_t i = 0; i < lines; i++)
		memcpy(text + i * length, line, length);
	assert_int_equal(maps_parse(text, lines * length, &mappings, &count), -E2BIG);
	free(text);
}

/* --- processes --------------------------------------------------------- */

static void a_process_is_known(void **state)
{
	const struct mapping *code;
	struct process *process;
	char *name;

	assert_int_equal(process_open(&process, getpid()), 0);
	assert_int_equal(process->pid, getpid());
	assert_int_equal(process->parent, getppid());
	assert_int_equal(process->uid, getuid());
	assert_true(process->start_time > 0);
	assert_true(process_alive(process));
	assert_string_equal(process_getenv(process, "PATH"), getenv("PATH"));
	assert_null(process_getenv(process, "PAT"));
	code = process_mapping_at(process, (uintptr_t)a_process_is_known);
	assert_non_null(code);
	assert_true(code->executable && code->inode);
	assert_non_null(strstr(process->command, strrchr(code->path, '/')));
	assert_null(process_mapping_at(process, 1));
	name = thread_name(getpid(), getpid());
	assert_string_equal(name, process->name);
	free(name);
	assert_null(thread_name(getpid(), 1));
	process_close(process);
}

static void a_new_mapping_is_seen(void **state)
{
	size_t size = 1 << 20;
	struct process *process;
	void *memory;

	assert_int_equal(process_open(&process, getpid()), 0);
	memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(process_refresh(process), 0);
	assert_non_null(process_mapping_at(process, (uintptr_t)memory + size - 1));
	munmap(memory, size);
	process_close(process);
}

static void a_process_that_ends_is_noticed(void **state)
{
	pid_t child = fork();
	struct process *process;

	if (!child) {
		pause();
		_exit(0);
	}
	assert_int_equal(process_open(&process, child), 0);
	assert_true(process_alive(process));
	end_child(child);
	assert_false(process_alive(process));
	assert_int_equal(process_refresh(process), -ESRCH);
	assert_true(process->nmappings > 0); /* what was known stays */
	process_close(process);
}

static void what_is_no_process_is_refused(void **state)
{
	pid_t child = fork();
	siginfo_t info;

	if (!child)
		_exit(0);
	check_refused(0, -ESRCH, "0: no such process: check the PID with ps");
	check_refused(-1, -ESRCH, "-1: no such process");
	check_refused(4194305, -ESRCH, "4194305: no such process"); /* beyond PID_MAX_LIMIT */
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	check_refused(child, -ESRCH, "zombie");
	waitpid(child, NULL, 0);
}

static void a_kernel_thread_is_refused(void **state)
{
	struct proc_stat stat;

	if (proc_stat_read(AT_FDCWD, "/proc/2/stat", &stat) || !stat.kernel_thread)
		skip(); /* a PID namespace of our own has none */
	check_refused(2, -EINVAL, "2: is a kernel thread");
}

static void somebody_elses_process_is_refused(void **state)
{
	pid_t child;
	int status;

	if (geteuid())
		skip();
	child = fork();
	if (!child) {
		struct process *process;

		if (setgid(65534) || setuid(65534))
			_exit(2);
		fclose(stderr);
		_exit(process_open(&process, getppid()) == -EACCES ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void a_32_bit_program_is_refused(void **state)
{
	char folder[] = "/tmp/gaspbpf-test.XXXXXX", command[512], path[64];
	pid_t child;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/small", folder);
	snprintf(command, sizeof(command),
		 "echo 'void _start(void) { for (;;) __asm__ volatile(\"int $0x80\" :: \"a\"(29)); }' >%s.c && "
		 "cc -m32 -nostdlib -static -o %s %s.c 2>/dev/null",
		 path, path, path);
	if (!system(command) && !access(path, X_OK)) {
		child = fork();
		if (!child) {
			execl(path, path, NULL);
			_exit(127);
		}
		usleep(200000);
		if (waitpid(child, NULL, WNOHANG) == 0) { /* else the kernel runs no 32-bit programs */
			check_refused(child, -ENOTSUP, "32-bit");
			end_child(child);
		}
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void *report_tid(void *tid)
{
	*(volatile pid_t *)tid = (pid_t)syscall(SYS_gettid);
	pause();
	return NULL;
}

static void a_thread_means_its_process(void **state)
{
	volatile pid_t tid = 0;
	struct process *process;
	pthread_t thread;

	pthread_create(&thread, NULL, report_tid, (void *)&tid);
	while (!tid)
		usleep(1000);
	log_set_level(LOG_INFO);
	catch_stderr();
	assert_int_equal(process_open(&process, tid), 0);
	check_said("is a thread of process");
	log_set_level(LOG_WARN);
	assert_int_equal(process->pid, getpid());
	process_close(process);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* Processes that come and go while they are looked at: refused or taken, but never a crash or a half-filled result. */
static void a_process_may_end_at_any_moment(void **state)
{
	int taken = 0;

	catch_stderr();
	for (int i = 0; i < 300; i++) {
		pid_t child = fork();
		struct process *process;
		int error;

		if (!child) {
			usleep(i % 60 * 10);
			_exit(0);
		}
		error = process_open(&process, child);
		if (!error) {
			taken++;
			assert_true(process->nmappings && process->name && process->command && process->environment);
			process_close(process);
		} else {
			assert_int_equal(error, -ESRCH);
		}
		waitpid(child, NULL, 0);
	}
	fflush(stderr);
	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	fclose(caught);
	print_message("%d of 300 were looked at in time\n", taken);
}

/* --- ranks below a launcher -------------------------------------------- */

static const char *const no_variables[] = { NULL };
static const char *const rank_variables[] = { "TEST_RANK", "OTHER_RANK", NULL };

/* Starts a shell that runs `script`; with TEST_RANK=value where value is given. */
static pid_t start_shell(const char *script, const char *value)
{
	pid_t child = fork();

	if (child)
		return child;
	setpgid(0, 0); /* so that all of it can be ended at once */
	if (value)
		setenv("TEST_RANK", value, 1);
	execl("/bin/sh", "sh", "-c", script, NULL);
	_exit(127);
}

static void end_shell(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits until there are `wanted` descendants, and checks each one's rank against the list "0 1 1". */
static void check_ranks(pid_t pid, const char *name, size_t wanted, const char *ranks)
{
	char found[64] = "";
	size_t count = 0;
	pid_t *pids;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(process_descendants(pid, rank_variables, &pids, &count), 0);
		if (count == wanted)
			break;
		free(pids);
		usleep(20000);
	}
	assert_int_equal(count, wanted);
	for (size_t i = 0; i < count; i++) {
		struct process *process;

		assert_true(i == 0 || pids[i] > pids[i - 1]);
		assert_int_equal(process_open(&process, pids[i]), 0);
		strcat(found, process_getenv(process, name));
		process_close(process);
	}
	free(pids);
	assert_string_equal(found, ranks);
}

static void the_ranks_of_a_launcher_are_found(void **state)
{
	/* script -> launcher -> proxy -> two ranks, one of them behind a shell; and a helper that is none */
	pid_t script = start_shell(
		"sh -c '(sh -c \"TEST_RANK=0 sleep 60 & TEST_RANK=1 sh -c \\\"sleep 60; true\\\" & sleep 60 & "
		"wait\"; true); true'; true",
		NULL);

	size_t count, nbelow;
	pid_t *pids, *below;

	check_ranks(script, "TEST_RANK", 3, "011");
	/* Seen from a rank there are no ranks below: its children have its own variable. */
	assert_int_equal(process_descendants(script, rank_variables, &pids, &count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(process_descendants(pids[i], rank_variables, &below, &nbelow), 0);
		assert_int_equal(nbelow, 0);
		free(below);
	}
	free(pids);
	/* Without any variable there is no rank; without a list all below are wanted: ranks, shells and the helper. */
	assert_int_equal(process_descendants(script, no_variables, &pids, &count), 0);
	assert_int_equal(count, 0);
	free(pids);
	assert_int_equal(process_descendants(script, NULL, &pids, &count), 0);
	assert_true(count > 3);
	free(pids);
	end_shell(script);
}

static void a_launcher_inside_a_rank_has_its_own_ranks(void **state)
{
	/* A batch script is itself rank 0 of one variable; the launcher in it gives the ranks another one. */
	pid_t script = start_shell("OTHER_RANK=3 sleep 60 & OTHER_RANK=4 sleep 60 & wait", "0");

	check_ranks(script, "OTHER_RANK", 2, "34");
	end_shell(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_of_all_kinds_are_read),
		cmocka_unit_test(maps_without_end_are_refused),
		cmocka_unit_test(a_process_is_known),
		cmocka_unit_test(a_new_mapping_is_seen),
		cmocka_unit_test(a_process_that_ends_is_noticed),
		cmocka_unit_test(what_is_no_process_is_refused),
		cmocka_unit_test(a_kernel_thread_is_refused),
		cmocka_unit_test(somebody_elses_process_is_refused),
		cmocka_unit_test(a_32_bit_program_is_refused),
		cmocka_unit_test(a_thread_means_its_process),
		cmocka_unit_test(a_process_may_end_at_any_moment),
		cmocka_unit_test(the_ranks_of_a_launcher_are_found),
		cmocka_unit_test(a_launcher_inside_a_rank_has_its_own_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
