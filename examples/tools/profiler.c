/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profiler.c - a GASP profiler: calls, inclusive and exclusive time of each event at each place in the source, printed
 * at the end.
 *
 * Build:  cc -shared -fPIC -O2 -o profiler.so profiler.c    (with gaspbpf's headers; in its source tree -Iinclude)
 * Run:    sudo gaspbpf -p PID -d 10s --tool ./profiler.so   (or gaspbpf replay run.gasp --tool ./profiler.so)
 *
 *     calls   inclusive ms   exclusive ms  event  place
 *      4850       7873.012       7873.012    207  team.c:105
 *
 * Events have numbers here; `gaspbpf events` has their names. Each thread has a stack of the calls it is in: GASP
 * promises that START and END nest.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gasp.h"

#define DEPTH 256
#define ROWS 4096 /* a power of two */

struct row {
	unsigned tag;
	const char *file;        /* NULL: unknown */
	int line, used;
	uint64_t calls, inclusive, exclusive; /* ns */
};

struct _gasp_context_S {
	int on, depth;
	struct {
		struct row *row;
		uint64_t start, inside; /* ns */
	} stack[DEPTH];
	gasp_context_t next;
};

static struct row rows[ROWS];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The row of this event and place. The last one is for all that find no room. */
static struct row *find(unsigned tag, const char *file, int line)
{
	unsigned at = (tag * 2654435761u) ^ (unsigned)line * 40503u;

	for (const char *c = file ? file : ""; *c; c++)
		at = at * 31 + (unsigned char)*c;
	for (int tries = 0; tries < ROWS; tries++, at++) {
		struct row *row = &rows[at % ROWS];

		if (!row->used)
			*row = (struct row){ .tag = tag, .file = file, .line = line, .used = 1 };
		if (row->tag == tag && row->line == line && !strcmp(row->file ? row->file : "", file ? file : ""))
			return row;
	}
	return &rows[ROWS - 1];
}

gasp_context_t gasp_init(gasp_lang_t language, int *argc, char ***argv)
{
	gasp_context_t context = calloc(1, sizeof(*context));

	(void)language, (void)argc, (void)argv;
	context->on = 1;
	return context;
}

static void begin(gasp_context_t c, struct row *row)
{
	if (c->depth < DEPTH) {
		c->stack[c->depth].row = row;
		c->stack[c->depth].start = now();
		c->stack[c->depth].inside = 0;
	}
	c->depth++;
}

static void end(gasp_context_t c)
{
	uint64_t time;

	if (!c->depth || --c->depth >= DEPTH)
		return;
	time = now() - c->stack[c->depth].start;
	c->stack[c->depth].row->calls++;
	c->stack[c->depth].row->inclusive += time;
	c->stack[c->depth].row->exclusive += time - c->stack[c->depth].inside;
	if (c->depth)
		c->stack[c->depth - 1].inside += time;
}

void gasp_event_notify(gasp_context_t context, unsigned int tag, gasp_evttype_t type, const char *file, int line,
		       int column, ...)
{
	(void)column;
	if (!context->on)
		return;
	if (type == GASP_START)
		begin(context, find(tag, file, line));
	else if (type == GASP_END)
		end(context);
	else
		find(tag, file, line)->calls++;
}

int gasp_control(gasp_context_t context, int on)
{
	int before = context->on;

	context->on = on;
	return before;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->exclusive > y->exclusive ? -1 : x->exclusive < y->exclusive;
}

__attribute__((destructor)) static void print(void)
{
	qsort(rows, ROWS, sizeof(rows[0]), by_time);
	printf("%9s %14s %14s %6s  %s\n", "calls", "inclusive ms", "exclusive ms", "event", "place");
	for (int i = 0; i < ROWS; i++)
		if (rows[i].calls)
			printf("%9lu %14.3f %14.3f %6u  %s:%d\n", (unsigned long)rows[i].calls, rows[i].inclusive / 1e6,
			       rows[i].exclusive / 1e6, rows[i].tag, rows[i].file ? rows[i].file : "?", rows[i].line);
}
