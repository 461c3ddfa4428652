/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c - the time as the tool is to see it: that of the event it is being told of.
 *
 * A tool that was linked into its program asks for the time in each callback. Here it runs later, maybe days later, so
 * the answer must be the time of the event. These functions are exported by the program, and so stand before libc's for
 * every library that asks for them by name. Threads that a tool has started itself get the true time, and processor
 * time is the host's own.
 *
 * pupc_tick functions (PUPC 1.1 section 3.5) are the runtime's, so they are here, too. A tick is a nanosecond.
 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "toolhost/host.h"

typedef uint64_t pupc_tick_t;
pupc_tick_t pupc_ticks_now(void);
unsigned int pupc_ticks_to_us(pupc_tick_t ticks);
unsigned int pupc_tick_granularityus(void);

static uint64_t realtime; /* ns; what CLOCK_REALTIME was ahead of CLOCK_MONOTONIC */
static bool replaced;
static __thread uint64_t now; /* ns; 0: a thread that tells no events */

void clock_begin(uint64_t realtime_offset, bool enabled)
{
	realtime = realtime_offset;
	replaced = enabled;
}

void clock_set(uint64_t time)
{
	now = time;
}

static bool job_time(clockid_t clock, uint64_t *time)
{
	if (!replaced || !now)
		return false;
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*time = now + realtime;
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*time = now;
		return true;
	default:
		return false;
	}
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	uint64_t time;

	if (!job_time(clock, &time))
		return syscall(SYS_clock_gettime, clock, out);
	out->tv_sec = time / 1000000000;
	out->tv_nsec = time % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	out->tv_sec = time.tv_sec;
	out->tv_usec = time.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	if (out)
		*out = time.tv_sec;
	return time.tv_sec;
}

pupc_tick_t pupc_ticks_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

unsigned int pupc_ticks_to_us(pupc_tick_t ticks)
{
	return ticks / 1000;
}

unsigned int pupc_tick_granularityus(void)
{
	return 1;
}
