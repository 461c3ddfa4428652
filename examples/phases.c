/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases.c - a job that tells of its own phases.
 *
 *     cc -g -o phases examples/phases.c -lpupc        (or build/libpupc/libpupc.a)
 *     ./phases 30 &
 *     sudo gaspbpf -p $! -d 5s -o trace.json
 *
 * The report has a row for "step" and "exchange" and one for each call of "residual"; the trace has their values.
 * Nobody watching, an event costs about a nanosecond. The warm-up is not measured, whenever gaspbpf comes.
 */
#include <pupc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void pass(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	unsigned step = pupc_create_event("step", "number=%d of %s");
	unsigned exchange = pupc_create_event("exchange", "bytes=%zu peer=%d");
	unsigned residual = pupc_create_event("residual", "milli=%ld");
	long steps = seconds * 200;

	pupc_control(0);
	pass(200000); /* warming up */
	pupc_control(1);
	for (long i = 0; i < steps; i++) {
		size_t bytes = 1000 + 10 * (i % 7);

		pupc_event_start(step, (int)i, i % 10 ? "inner" : "outer");
		pass(3000);
		pupc_event_start(exchange, bytes, (int)(i % 4));
		pass(2000);
		pupc_event_end(exchange, bytes, (int)(i % 4));
		pupc_event_atomic(residual, 1000000 / (i + 1));
		pupc_event_end(step, (int)i, "done");
	}
	return 0;
}
