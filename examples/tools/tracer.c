/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracer.c - a GASP tracer: one line for each event, in a file for each thread and language.
 *
 * Build:  cc -shared -fPIC -O2 -o tracer.so tracer.c        (with gaspbpf's headers; in its source tree -Iinclude)
 * Run:    sudo gaspbpf -p PID --tool ./tracer.so            (or gaspbpf replay run.gasp --tool ./tracer.so)
 *
 * It writes trace.LANGUAGE.N in the folder that TRACE_DIR names, or the current one:
 *
 *     0.000012345 START MPI_SEND ring.c:31 count=4 dest=1 tag=7
 *     0.000018901 END MPI_SEND ring.c:31 count=4 dest=1 tag=7
 *
 * What to do for an event stands in one table: its number, its name, and its arguments as the specification's tables
 * have them. A letter says how to fetch one: i int, z size_t, l int64_t, p pointer, S pointer to a pointer-to-shared, .
 * one that is not printed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gasp.h"
#include "gasp_c.h"
#include "gasp_mpi.h"
#include "gasp_upc.h"

static const struct event {
	unsigned tag;
	const char *name;
	const char *start, *end; /* letters */
	const char *names;       /* of the arguments, END's first ones being START's */
} events[] = {
	{ GASP_C_MALLOC, "malloc", "z", "zp", "nbytes returnptr" },
	{ GASP_C_REALLOC, "realloc", "pz", "pzp", "ptr size returnptr" },
	{ GASP_C_FREE, "free", "p", "p", "ptr" },
	{ GASP_MPI_SEND, "MPI_Send", "pl.ii", "pl.ii", "buf count datatype_size dest tag" },
	{ GASP_MPI_RECV, "MPI_Recv", "pl.ii", "pl.ii", "buf count datatype_size source tag" },
	{ GASP_MPI_BARRIER, "MPI_Barrier", "", "", "" },
	{ GASP_UPC_BARRIER, "upc_barrier", "ii", "ii", "named expr" },
	{ GASP_UPC_LOCK, "upc_lock", "S", "S", "lck" },
	{ GASP_UPC_UNLOCK, "upc_unlock", "S", "S", "lck" },
	{ GASP_UPC_MEMGET, "upc_memget", "pSz", "pSz", "dst src n" },
	{ GASP_UPC_MEMPUT, "upc_memput", "Spz", "Spz", "dst src n" },
};

struct _gasp_context_S {
	FILE *out;
	int on;
};

/* ns; in a replay, and when events come late, gaspbpf answers with the time of the event. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

gasp_context_t gasp_init(gasp_lang_t language, int *argc, char ***argv)
{
	static int threads; /* gaspbpf calls one function at a time */
	gasp_context_t context = calloc(1, sizeof(*context));
	const char *folder = getenv("TRACE_DIR");
	char name[4096];

	snprintf(name, sizeof(name), "%s/trace.%d.%d", folder ? folder : ".", (int)language, threads++);
	context->out = fopen(name, "w");
	if (!context->out) {
		perror(name);
		exit(1);
	}
	context->on = 1;
	fprintf(context->out, "# %s\n", *argc ? (*argv)[0] : "?");
	return context;
}

static void put_arguments(FILE *out, const char *letters, const char *names, va_list arguments)
{
	for (; *letters; letters++, names += strcspn(names, " "), names += *names == ' ') {
		const uint64_t *shared;

		if (*letters != '.')
			fprintf(out, " %.*s=", (int)strcspn(names, " "), names);
		if (*letters == 'i')
			fprintf(out, "%d", va_arg(arguments, int));
		else if (*letters == 'l')
			fprintf(out, "%ld", (long)va_arg(arguments, int64_t));
		else if (*letters == 'z')
			fprintf(out, "%zu", va_arg(arguments, size_t));
		else if (*letters == 'p')
			fprintf(out, "%p", va_arg(arguments, void *));
		else if (*letters == '.')
			va_arg(arguments, uint64_t);
		else if ((shared = va_arg(arguments, const uint64_t *)))
			fprintf(out, "0x%lx", (unsigned long)*shared);
	}
}

void gasp_event_notifyVA(gasp_context_t context, unsigned int tag, gasp_evttype_t type, const char *file, int line,
			 int column, va_list arguments)
{
	static const char *const types[] = { "START", "END", "ATOMIC" };
	const struct event *event = NULL;
	int64_t time = now();

	if (!context->on)
		return;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && !event; i++)
		if (events[i].tag == tag)
			event = &events[i];
	fprintf(context->out, "%ld.%09ld %s ", (long)(time / 1000000000), (long)(time % 1000000000), types[type]);
	if (event)
		fputs(event->name, context->out);
	else
		fprintf(context->out, "%u", tag);
	fprintf(context->out, " %s:%d", file ? file : "?", line);
	if (event)
		put_arguments(context->out, type == GASP_END ? event->end : event->start, event->names, arguments);
	fputc('\n', context->out);
}

int gasp_control(gasp_context_t context, int on)
{
	int before = context->on;

	context->on = on;
	return before;
}

unsigned int gasp_create_event(gasp_context_t context, const char *name, const char *desc)
{
	static unsigned int next = GASP_UPC_USEREVT_START;

	fprintf(context->out, "# %u is %s (%s)\n", next, name, desc ? desc : "no values");
	return next++;
}
