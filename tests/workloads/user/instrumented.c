/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instrumented.c - a program as GNU UPC's compiler leaves it with -fupc-instrument: each construct is a call of a "g"
 * twin, which announces the event with its place in the source, around the runtime's own function (libgupc's upc_libg.c
 * and upc_pupc.c). Announcements end in the weak dummy gasp_event_notifyVA. With -DBERKELEY they are
 * gasp_event_notify's instead, as upcc --inst has them, and names and numbers are Berkeley UPC's, which has no barrier,
 * but a notify.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../job.h"

enum { START, END, ATOMIC };

#ifdef BERKELEY /* profile/gasp_upc.h */
enum { BARRIER = 1100, ALLOC = 1000, LOCK = 1014, UNLOCK = 1015, MEMPUT = 1031, GET = 1111, PUT = 1110 };
#define upc_lock _upcr_lock
#define upc_unlock _upcr_unlock
#define upc_memput not_out_of_line
#define upc_alloc _upcr_alloc
#define __putssi3 not_out_of_line_either
#define __upc_barrier(id) _upcr_notify(id, 0)
#define PTS(thread, phase, address) ((pts)(phase) << 44 | (pts)(thread) << 34 | (address))
#else /* GNU UPC's gasp_upc.h */
#define PTS(thread, phase, address) ((pts)(address) << 30 | (pts)(thread) << 20 | (phase))
/* For debuggers. */
struct shared_ptr_struct {
	unsigned long long vaddr : 34;
	unsigned int thread : 10, phase : 20;
} upc_debug_null;
enum { COLLECTIVE_EXIT = 5, BARRIER = 9, ALLOC = 14, LOCK = 19, UNLOCK = 21, MEMPUT = 24, GET = 26, PUT = 27 };
#endif

typedef uint64_t pts;

static struct job job;
static struct counts counts;
static uint64_t locked, put; /* what was told of each */
static int volatile sink;
int MYTHREAD;
char __upc_info[8];

/* --- the runtime ------------------------------------------------------------ */

__attribute__((weak, noinline)) void gasp_event_notifyVA(void *context, unsigned evttag, int evttype,
							 const char *filename, int linenum, int colnum, va_list varargs)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((weak, noinline)) void gasp_event_notify(void *context, unsigned evttag, int evttype,
						       const char *filename, int linenum, int colnum, ...)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((weak, noinline)) unsigned gasp_create_event(void *context, const char *name, const char *desc)
{
	__asm__ volatile("" ::: "memory");
	return 0;
}

#ifndef BERKELEY
#define FORWARD(function, type) \
	__attribute__((noinline)) void function(unsigned evttag, const char *filename, int linenum, ...) \
	{ \
		va_list varargs; \
		va_start(varargs, linenum); \
		gasp_event_notifyVA(&job, evttag, type, filename, linenum, 0, varargs); \
		va_end(varargs); \
	}
FORWARD(pupc_event_startg, START)
FORWARD(pupc_event_endg, END)
FORWARD(pupc_event_atomicg, ATOMIC)

#define FORWARD_PLAIN(function, type) \
	__attribute__((noinline)) void function(unsigned evttag, ...) \
	{ \
		va_list varargs; \
		va_start(varargs, evttag); \
		gasp_event_notifyVA(&job, evttag, type, NULL, 0, 0, varargs); \
		va_end(varargs); \
	}
FORWARD_PLAIN(pupc_event_start, START)
FORWARD_PLAIN(pupc_event_end, END)

__attribute__((noinline, noreturn)) void __upc_exit(int status) { sink++; exit(status); }
#endif

__attribute__((noinline)) void upc_lock(pts lock) { sink++; __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void upc_unlock(pts lock) { sink++; __asm__ volatile("" ::: "memory"); }
#ifdef BERKELEY
__attribute__((noinline)) void _upcr_notify(int id, int flags) { sink++; __asm__ volatile("" ::: "memory"); }
#else
__attribute__((noinline)) void __upc_barrier(int id) { sink++; __asm__ volatile("" ::: "memory"); }
#endif
__attribute__((noinline)) void upc_memput(pts dst, const void *src, size_t n)
{
	sink++;
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) pts upc_alloc(size_t nbytes)
{
	sink++;
	__asm__ volatile("" ::: "memory");
	return PTS(5, 64 + nbytes, 0x1234);
}
__attribute__((noinline)) void __putssi3(pts dst, unsigned value) { sink++; __asm__ volatile("" ::: "memory"); }

/* --- what the compiler calls ---------------------------------------------------- */

#ifdef BERKELEY
#define NOTIFY(type, tag, ...) gasp_event_notify(&job, tag, type, file, line, 3, ##__VA_ARGS__)
#else
#define NOTIFY(type, tag, ...) ((type) == START ? pupc_event_startg : pupc_event_endg)(tag, file, line, ##__VA_ARGS__)
#endif

static void upc_lockg(pts lock, const char *file, int line)
{
	NOTIFY(START, LOCK, &lock);
	upc_lock(lock);
	NOTIFY(END, LOCK, &lock);
}

static void upc_unlockg(pts lock, const char *file, int line)
{
	NOTIFY(START, UNLOCK, &lock);
	upc_unlock(lock);
	NOTIFY(END, UNLOCK, &lock);
}

static void __upc_barrierg(int id, const char *file, int line)
{
	int named = id != (int)0x80000000;

	NOTIFY(START, BARRIER, named, id);
	__upc_barrier(id);
	NOTIFY(END, BARRIER, named, id);
}

static void upc_memputg(pts dst, const void *src, size_t n, const char *file, int line)
{
	NOTIFY(START, MEMPUT, &dst, src, n);
	upc_memput(dst, src, n);
	NOTIFY(END, MEMPUT, &dst, src, n);
}

static pts upc_allocg(size_t nbytes, const char *file, int line)
{
	pts result;

	NOTIFY(START, ALLOC, nbytes);
	result = upc_alloc(nbytes);
	NOTIFY(END, ALLOC, nbytes, &result);
	return result;
}

/* An access that the compiler inlined: only the announcement is left of it. */
static void getg(int *to, pts from, const char *file, int line)
{
	size_t n = sizeof(*to);

	NOTIFY(START, GET, 1, to, &from, n);
	*to = (int)from;
	NOTIFY(END, GET, 1, to, &from, n);
}

/* A strict access: libgupc says that it is a relaxed one. */
static void __putsgsi4(pts to, unsigned value, const char *file, int line)
{
	size_t n = sizeof(value);

	NOTIFY(START, PUT, 1, &to, &value, n);
	__putssi3(to, value);
	NOTIFY(END, PUT, 1, &to, &value, n);
}

/* As the runtime's own main() ends, instrumented or not. */
static int leave(int status)
{
#ifndef BERKELEY
	pupc_event_start(COLLECTIVE_EXIT, status);
	pupc_event_end(COLLECTIVE_EXIT, status);
	__upc_exit(status);
#endif
	return status;
}

int main(int argc, char **argv)
{
	static char text[256];
	int value;

	job.name = "instrumented";
	job.rank = -1;
	job.rounds = 15;
	job_options(&job, argc, argv, NULL);
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++) {
		upc_lockg(0x111 + i, "prog.upc", 10);
		upc_unlockg(0x111 + i, "prog.upc", 11);
		__upc_barrierg((int)i, "other.upc", 20);
		upc_memputg(0x222, &value, 100 + i, "prog.upc", 30);
		upc_allocg(64 * i, "prog.upc", 40);
		getg(&value, 0x333, "prog.upc", 50);
		__putsgsi4(0x666, 7, "prog.upc", 60);
		count_call(&counts, "put", sizeof(unsigned));
		/* A part of the program that was compiled without. */
		upc_lock(0x444);
		upc_memput(0x555, &value, 7);
		locked += 2;
		put += 100 + i + 7;
		count_call(&counts, "lock", 0);
		count_call(&counts, "lock", 0);
		count_call(&counts, "unlock", 0);
		count_call(&counts, "barrier", 0);
		count_call(&counts, "memput", 100 + i);
		count_call(&counts, "memput", 7);
		count_call(&counts, "alloc", 64 * i);
		count_call(&counts, "get", sizeof(value));
	}
	snprintf(text, sizeof(text), ",\n \"put\":%llu", (unsigned long long)put);
	job.more_truth = text;
	job_finish(&job);
#ifndef BERKELEY
	count_call(&counts, "exit", 0);
#endif
	return leave(job_truth(&job, job.rounds, locked, &counts, NULL, 0));
}
