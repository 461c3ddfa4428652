/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loops.h - what all observed programs of bench/ are: loops of calls, timed by themselves, on demand.
 *
 * A program reads commands from its standard input and is idle in between, so one process is measured with and without
 * observers, and observers come and go while it waits. It says "ready PID" first, and answers each command with one
 * line:
 *
 *   loop NAME CALLS ROUNDS      the ns that each of ROUNDS times CALLS calls took
 *
 * NAME is one of the program's loops. Outside its loops a program calls nothing that anybody observes: no stdio, no
 * allocation. What others count must be equal to CALLS x ROUNDS, for each function that a loop calls once in a turn.
 */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop {
	const char *name;
	void (*call)(long number); /* called CALLS times, or */
	void (*run)(long calls);   /* called once */
};

/* Obeys commands until the input ends. `other` is given what is no loop, and says whether it knew it; NULL: there is
 * none. */
void serve_loops(const struct loop *loops, size_t count, bool (*other)(const char *command));

uint64_t loops_now(void); /* ns, CLOCK_MONOTONIC */
void loops_say(const char *text, size_t length);

#endif
