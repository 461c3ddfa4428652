/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acts_processes.c - calls around fork, exec and a process's end, filtered system calls, who looks at its own stack,
 * plug-ins.
 *
 * How acts are written tells acts_calls.c.
 */

//@ forks adds=child,many not=anywhere,child weight=2
static void act_@ID@(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		sum = 0;
		@BODY@
		_exit(sum & 63);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ execs not=anywhere,child weight=0.7
static void act_@ID@(void)
{
	int status = 0;
	pid_t child = @{how:fork|vfork}@();

	if (!child) {
		execl(self, self, "--child", "@{n:1-9}@", (char *)NULL);
		_exit(99);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ vforks not=anywhere,child,many
static void act_@ID@(void)
{
	int status = 0;
	pid_t child = vfork();

	if (!child) {
		for (int i = 0; i < @{n:1-9}@; i++)
			leaf(@ID@, i);
		_exit(5);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ killed adds=child,many not=anywhere,child
// A child that ends in the middle of a call.
static long act_@ID@_inner(void *unused)
{
	@BODY@
	@{how:abort()|raise(SIGKILL)|_exit(7)|raise(SIGTERM)}@;
	return 0;
}

static void act_@ID@(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		signal(SIGABRT, SIG_DFL);
		call(act_@ID@_inner, NULL);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status & 0xff7f); /* not whether there is a core */
}

//@ filtered adds=child,many not=anywhere,child weight=0.3
// A child under a seccomp filter that kills for system calls which are newer than it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
static void act_@ID@(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 335, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, @{what:SECCOMP_RET_KILL_PROCESS|SECCOMP_RET_ERRNO|SECCOMP_RET_TRAP}@),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };
	int status = 0;
	pid_t child = fork();

	if (!child) {
		sum = 0;
		leaf(@ID@, 0);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(98);
		leaf(@ID@, 1);
		plain(@ID@, 1);
		_exit(sum & 63);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	mix(status);
}

//@ backtraces adds=callback not=anywhere
#include <execinfo.h>
static long act_@ID@_inner(void *depth)
{
	void *frames[64];

	if ((long)depth)
		return call(act_@ID@_inner, (void *)((long)depth - 1)) + 1;
	@BODY@
	int n = backtrace(frames, 64);

	return n >= @{depth:0-4}@ * 2 + 3;
}

static void act_@ID@(void)
{
	expect(@ID@, call(act_@ID@_inner, (void *)@{depth}@), 2 + 2 * @{depth}@);
}

//@ plugin not=anywhere,many
// A library that is loaded now, makes calls, and is let go of or stays.
#include <dlfcn.h>
static void act_@ID@(void)
{
	void *library = dlopen(PLUGIN, RTLD_NOW | @{scope:RTLD_LOCAL|RTLD_GLOBAL}@);
	long (*work)(long) = library ? (long (*)(long))dlsym(library, "plugin_work") : NULL;

	if (!work)
		abort();
	__atomic_add_fetch(&counts[LEAF], @{n:1-9}@, __ATOMIC_RELAXED);
	__atomic_add_fetch(&counts[CALL], @{n}@, __ATOMIC_RELAXED);
	expect(@ID@, work(@{n}@), 5 * @{n}@);
	if (@{close:0|1}@)
		dlclose(library);
}
