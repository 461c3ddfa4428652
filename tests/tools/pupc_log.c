/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pupc_log.c - a PUPC 1.1 tool that writes down every call it gets, one line each, to TOOL_LOG, with the thread that it
 * is called on at its end. It keeps what it knows of a place in the location's own field, as the document suggests.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PUPC_TOOL
#include "pupc.h"

static FILE *out;
static int places;
static unsigned users = PUPC_USEREVT_FIRST + 16;

static void put_arguments(unsigned id, va_list arguments)
{
	unsigned kind = id & ~1u;

	if (id == PUPC_INIT) {
		int *argc = va_arg(arguments, int *);
		char ***argv = va_arg(arguments, char ***);

		fprintf(out, " %d %s", *argc, **argv);
	} else if (id == PUPC_GLOBAL_EXIT) {
		fprintf(out, " %d %u %u", va_arg(arguments, int), pupc_ticks_to_us(2500000), pupc_tick_granularityus());
	} else if (kind == PUPC_NOTIFY_START || kind == PUPC_WAIT_START || kind == PUPC_BARRIER_START) {
		int named = va_arg(arguments, int), expr = va_arg(arguments, int);

		fprintf(out, " %d", named);
		if (named)
			fprintf(out, " %d", expr);
	} else if (kind == PUPC_MEMGET_START) {
		void *dst = va_arg(arguments, void *);
		const unsigned long *src = va_arg(arguments, const unsigned long *);

		fprintf(out, " %p %lx %zu", dst, src ? *src : 0, va_arg(arguments, size_t));
	} else if (kind == PUPC_MEMSET_START) {
		const unsigned long *dst = va_arg(arguments, const unsigned long *);
		int c = va_arg(arguments, int);

		fprintf(out, " %lx %d %zu", dst ? *dst : 0, c, va_arg(arguments, size_t));
	} else if (id == PUPC_STRICT_GET_END || id == PUPC_RELAXED_GET_END) {
		void *dst = va_arg(arguments, void *);
		const unsigned long *src = va_arg(arguments, const unsigned long *);
		size_t n = va_arg(arguments, size_t);
		int relaxed = va_arg(arguments, int);
		const char *type = va_arg(arguments, const char *), *name = va_arg(arguments, const char *);

		fprintf(out, " %p %lx %zu %d '%s' '%s'", dst, src ? *src : 0, n, relaxed, type, name);
	} else if (kind == PUPC_STRICT_PUT_START || kind == PUPC_RELAXED_PUT_START) {
		const unsigned long *dst = va_arg(arguments, const unsigned long *);
		void *src = va_arg(arguments, void *);
		size_t n = va_arg(arguments, size_t);
		const char *type = va_arg(arguments, const char *), *name = va_arg(arguments, const char *);

		fprintf(out, " %lx %p %zu '%s' '%s'", dst ? *dst : 0, src, n, type, name);
	}
}

void pupc_event_notify(unsigned int id, pupc_location *loc, ...)
{
	va_list arguments;

	if (!out)
		out = fopen(getenv("TOOL_LOG"), "w");
	if (loc && !loc->util)
		loc->util = (void *)(long)++places;
	fprintf(out, "%llu %08x %ld %s:%u", pupc_ticks_now(), id, loc ? (long)loc->util : 0,
		loc ? loc->source_file : "none", loc ? loc->start_line : 0);
	va_start(arguments, loc);
	put_arguments(id, arguments);
	va_end(arguments);
	fprintf(out, " @%d\n", gettid());
}

unsigned int pupc_create_event(const char *name)
{
	fprintf(out, "create %s %08x\n", name, users);
	return users++;
}

void pupc_control(int on)
{
	fprintf(out, "control %d\n", on);
}

__attribute__((destructor)) static void end(void)
{
	if (out)
		fclose(out);
}
