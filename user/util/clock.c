/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "util/files.h"

#define CLOCK_JITTER                                                                                             \
	10000000 /* ns: as long as a reader of clocks may be kept from reading the second one; the kernel counts \
		    starts in such ticks */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t clock_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* Two clocks are not read at one moment: without the last answer two calls would give two answers. */
uint64_t clock_asleep(void)
{
	static _Atomic uint64_t last;
	uint64_t now = read_clock(CLOCK_MONOTONIC), asleep = read_clock(CLOCK_BOOTTIME) - now,
		 before = atomic_load(&last);

	if (asleep < before + CLOCK_JITTER && before < asleep + CLOCK_JITTER)
		return before;
	atomic_store(&last, asleep);
	return asleep;
}

char *clock_identity(void)
{
	char *id = read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, NULL);

	if (id)
		id[strcspn(id, "\n")] = 0;
	return id;
}
