/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job that has locked itself in: a seccomp filter lets it write, sleep, look for a file and exit, and kills it for
 * any other system call. Some kernels implement return probes (Linux 6.11) and probes on nops of five bytes (6.18) by a
 * system call that the job never made: where the filter sees it, the job dies.
 *
 * `padded` begins with such a nop, `plain` does not.
 */
#include "tell.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct tale padded_tale = { .name = "padded" }, plain_tale = { .name = "plain" };
static long sum;

long padded(long n);
long plain(long n);

#define ALLOW(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void lock_in(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_clock_nanosleep),
		ALLOW(SYS_nanosleep),
		ALLOW(SYS_access),
		ALLOW(SYS_openat),
		ALLOW(SYS_close),
		ALLOW(SYS_newfstatat),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_getpid),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("prctl");
		exit(3);
	}
}

/* Built with -fpatchable-function-entry=5. */
OBSERVED long padded(long n)
{
	called(&padded_tale);
	return returning(&padded_tale, n * 3);
}

__attribute__((patchable_function_entry(0))) OBSERVED long plain(long n)
{
	called(&plain_tale);
	return returning(&plain_tale, n * 5);
}

static void one_round(long round)
{
	for (long n = 0; n < 10; n++)
		sum += padded(n) + plain(n);
}

int main(int argc, char **argv)
{
	struct job job = { .name = "filtered", .rounds = 10 };

	lock_in();
	tell_rounds(&job, argc, argv, NULL, one_round);
	tell_function(&padded_tale);
	tell_function(&plain_tale);
	tell("sum", sum);
	return 0;
}
