/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gasp_upcalls.c - the UPC half of GASP tools that are split in two: TAU's client, Berkeley's "dump" and others are C,
 * and call functions in a small UPC file (gaspu.upc) for what only UPC can tell. Under gaspbpf there is no UPC runtime
 * in the tool's process; this file answers in its place. It is linked into the tool:
 *
 *     cc -shared -fPIC -Iinclude -o mytool.so mytool.c examples/tools/gasp_upcalls.c
 *     gaspbpf replay run.gasp --tool ./mytool.so --gasp-ids gupc --tool-threads process
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "gaspbpf_tool.h"

void gaspu_init(int *mythread, int *threads);
void gaspu_barrier(void);
void gaspu_ticks_now(uint64_t *ticks);
void gaspu_ticks_to_sec(uint64_t ticks, double *seconds);
void gaspu_dump_shared(void *pts, char *text, int size);
void gaspu_getenv(const char *key, const char **value);
void gaspu_flags_to_string(int flags, char *text, int size);
void gaspu_collop_to_string(int op, char *text, int size);
int gaspu_upcall_threadof(void *pts);

/* A thread that is not known is 0, and then at least alone: tools count with both. */
void gaspu_init(int *mythread, int *threads)
{
	*mythread = gaspbpf_rank && gaspbpf_rank() >= 0 ? gaspbpf_rank() : 0;
	*threads = gaspbpf_ranks && gaspbpf_ranks() > *mythread ? gaspbpf_ranks() : *mythread + 1;
}

void gaspu_barrier(void)
{
}

/* The time of the event, in us: gettimeofday() is gaspbpf's. */
void gaspu_ticks_now(uint64_t *ticks)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	*ticks = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

void gaspu_ticks_to_sec(uint64_t ticks, double *seconds)
{
	*seconds = ticks / 1e6;
}

/* Own thread where it is not known: then nothing seems to have been sent. */
int gaspu_upcall_threadof(void *pts)
{
	int thread = gaspbpf_thread_of ? gaspbpf_thread_of(pts) : -1, own = 0, threads;

	if (thread >= 0)
		return thread;
	gaspu_init(&own, &threads);
	return own;
}

void gaspu_dump_shared(void *pts, char *text, int size)
{
	if (gaspbpf_thread_of && gaspbpf_thread_of(pts) >= 0)
		snprintf(text, size, "<addrfield=0x%" PRIx64 " thread=%d phase=%" PRId64 ">", gaspbpf_address_of(pts),
			 gaspbpf_thread_of(pts), gaspbpf_phase_of(pts));
	else
		snprintf(text, size, "<unknown>");
}

void gaspu_getenv(const char *key, const char **value)
{
	*value = getenv(key);
}

void gaspu_flags_to_string(int flags, char *text, int size)
{
	snprintf(text, size, "0x%x", flags);
}

void gaspu_collop_to_string(int op, char *text, int size)
{
	snprintf(text, size, "%d", op);
}
