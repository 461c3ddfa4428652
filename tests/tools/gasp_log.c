/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gasp_log.c - a GASP 1.4 tool that writes down every call it gets: one line each to TOOL_LOG, arguments by the tables
 * of the specification. It knows nothing of gaspbpf. TOOL_DO makes it misbehave (misbehave.h).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "misbehave.h"

typedef struct _gasp_context_S {
	int language, thread;
	unsigned users;
} *gasp_context_t;
typedef enum { GASP_START, GASP_END, GASP_ATOMIC } gasp_evttype_t;

gasp_context_t gasp_init(int language, int *argc, char ***argv);
void gasp_event_notify(gasp_context_t context, unsigned tag, gasp_evttype_t type, const char *file, int line,
		       int column, ...);
void gasp_event_notifyVA(gasp_context_t context, unsigned tag, gasp_evttype_t type, const char *file, int line,
			 int column, va_list arguments);
int gasp_control(gasp_context_t context, int on);
unsigned gasp_create_event(gasp_context_t context, const char *name, const char *desc);

static FILE *out;
static int contexts;
static _Thread_local int own_thread;
static int last_on = 1;

static void begin(void)
{
	if (!out) {
		out = fopen(getenv("TOOL_LOG"), "w");
		misbehave_at_start();
	}
}

gasp_context_t gasp_init(int language, int *argc, char ***argv)
{
	gasp_context_t c = calloc(1, sizeof(*c));

	begin();
	c->language = language;
	c->thread = contexts++;
	own_thread = syscall(SYS_gettid);
	fprintf(out, "init %d language %d argc %d", c->thread, language, *argc);
	for (int i = 0; i < *argc; i++)
		fprintf(out, " [%s]", (*argv)[i]);
	fprintf(out, "%s\n", (*argv)[*argc] ? " unended" : "");
	if (*argc > 1 && getenv("TOOL_TAKES_ARGUMENTS")) { /* as a tool does that knows an option */
		(*argv)[1][0] = '!';
		*argv = *argv + 1;
		--*argc;
	}
	return c;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The arguments as TOOL_TYPES says: "TAG TYPE LETTERS" a line, made by the test from the table of the event. */
static void put_arguments(unsigned tag, int type, va_list arguments)
{
	static char table[65536];
	char key[64], *at;

	if (!*table) {
		FILE *in = fopen(getenv("TOOL_TYPES") ? getenv("TOOL_TYPES") : "/dev/null", "r");
		size_t size = in ? fread(table + 1, 1, sizeof(table) - 2, in) : 0;

		table[0] = '\n';
		table[size + 1] = 0;
		if (in)
			fclose(in);
	}
	snprintf(key, sizeof(key), "\n%u %d ", tag, type);
	at = strstr(table, key);
	for (at = at ? at + strlen(key) : ""; *at && *at != '\n'; at++) {
		const uint64_t *shared;

		switch (*at) {
		case 'i':
			fprintf(out, " %d", va_arg(arguments, int));
			break;
		case 'l':
			fprintf(out, " %ld", va_arg(arguments, long));
			break;
		case 'z':
			fprintf(out, " %zu", va_arg(arguments, size_t));
			break;
		case 'p':
			fprintf(out, " %p", va_arg(arguments, void *));
			break;
		case 's':
			fprintf(out, " '%s'", va_arg(arguments, const char *));
			break;
		case '*':
			shared = va_arg(arguments, const uint64_t *);
			fprintf(out, shared ? " *%llx" : " NULL", shared ? (unsigned long long)*shared : 0);
			break;
		}
	}
}

static void put(gasp_context_t c, unsigned tag, int type, const char *file, int line, int column, va_list arguments)
{
	static const char *const types[] = { "START", "END", "ATOMIC" };

	fprintf(out, "%lld %d %s %u %s:%d:%d %s", now(), c->thread, types[type], tag, file ? file : "-", line, column,
		own_thread == syscall(SYS_gettid) ? "own" : "other");
	put_arguments(tag, type, arguments);
	fputc('\n', out);
	if (getenv("TOOL_FLUSH"))
		fflush(out);
	misbehave();
}

#ifndef ONLY_VA
void gasp_event_notify(gasp_context_t c, unsigned tag, gasp_evttype_t type, const char *file, int line, int column, ...)
{
	va_list arguments;

	va_start(arguments, column);
	put(c, tag, type, file, line, column, arguments);
	va_end(arguments);
}
#else
void gasp_event_notifyVA(gasp_context_t c, unsigned tag, gasp_evttype_t type, const char *file, int line, int column,
			 va_list arguments)
{
	put(c, tag, type, file, line, column, arguments);
}
#endif

int gasp_control(gasp_context_t c, int on)
{
	int before = last_on;

	fprintf(out, "control %d %d\n", c->thread, on);
	last_on = on;
	return before;
}

unsigned gasp_create_event(gasp_context_t c, const char *name, const char *desc)
{
	unsigned tag = 0xC0000100 + c->users++;

	fprintf(out, "create %d %s (%s) %u\n", c->thread, name, desc ? desc : "NULL", tag);
	return tag;
}

__attribute__((destructor)) static void end(void)
{
	if (out) {
		fprintf(out, "end %lld\n", now());
		fclose(out);
	}
}
