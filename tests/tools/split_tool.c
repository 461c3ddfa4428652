/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split_tool.c - a GASP tool as they are written for UPC programs: in C, with what only UPC can tell asked of functions
 * in another file, of which it expects an answer. It keeps one number for its process, the first thread's, and looks at
 * each pointer-to-shared without a second thought.
 *
 * At the end it writes TOOL_FOLDER/profile.NODE: how many events, and the bytes that went to and came from each thread.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gasp.h"
#include "gasp_upc.h"

void gaspu_init(int *mythread, int *threads);
int gaspu_upcall_threadof(void *pts);
void gaspu_dump_shared(void *pts, char *text, int size);

#define THREADS_MOST 64

struct _gasp_context_S {
	int mythread, threads;
};

static int node = -1, all, contexts;
static unsigned long events, put[THREADS_MOST], got[THREADS_MOST], touched;

gasp_context_t gasp_init(gasp_lang_t language, int *argc, char ***argv)
{
	gasp_context_t c = calloc(1, sizeof(*c));

	(void)language, (void)argc, (void)argv;
	if (contexts++ && getenv("TOOL_ALONE"))
		abort();
	gaspu_init(&c->mythread, &c->threads);
	if (node == -1) {
		node = c->mythread;
		all = c->threads;
	}
	return c;
}

/* As a UPC file would: through the pointer, whatever it is. */
static unsigned remote(void *pts)
{
	touched += *(volatile uint64_t *)pts != 0;
	return (unsigned)gaspu_upcall_threadof(pts) % THREADS_MOST;
}

void gasp_event_notify(gasp_context_t context, unsigned int tag, gasp_evttype_t type, const char *file, int line,
		       int column, ...)
{
	gasp_upc_PTS_t *shared;
	va_list arguments;

	(void)context, (void)file, (void)line, (void)column;
	events++;
	va_start(arguments, column);
	switch (tag) {
	case GASP_UPC_GET:
	case GASP_UPC_PUT:
		(void)va_arg(arguments, int);
		/* fall through */
	case GASP_UPC_MEMGET:
	case GASP_UPC_MEMPUT: {
		void *first = va_arg(arguments, void *), *second = va_arg(arguments, void *);
		size_t n = va_arg(arguments, size_t);
		int gets = tag == GASP_UPC_GET || tag == GASP_UPC_MEMGET;

		shared = gets ? second : first;
		if (type == GASP_END)
			(gets ? got : put)[remote(shared)] += n;
		else
			remote(shared);
		break;
	}
	case GASP_UPC_LOCK:
	case GASP_UPC_FREE:
		remote(va_arg(arguments, gasp_upc_PTS_t *));
		break;
	default:
		break;
	}
	va_end(arguments);
}

__attribute__((destructor)) static void end(void)
{
	char path[4096];
	FILE *out;

	if (!events)
		return;
	snprintf(path, sizeof(path), "%s/profile.%d", getenv("TOOL_FOLDER"), node);
	out = fopen(path, "w");
	if (!out)
		abort();
	fprintf(out, "threads %d\nevents %lu\n", all, events);
	for (int i = 0; i < THREADS_MOST; i++)
		if (put[i] || got[i])
			fprintf(out, "thread %d put %lu got %lu\n", i, put[i], got[i]);
	fclose(out);
}
