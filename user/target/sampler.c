/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampler.c - samples of a thread that runs.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/reader.h"
#include "target/target.h"

#define PERIOD_NS 1000000

int sampler_open_here(pid_t tid, uint64_t registers, uint32_t stack)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = registers,
		.sample_stack_user = stack,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.wakeup_events = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int sampler_open(pid_t tid, uint64_t registers, uint32_t stack)
{
	int fd = sampler_open_here(tid, registers, stack);

	return fd == -EACCES || fd == -EPERM ? reader_sampler(tid, registers, stack) : fd;
}
