/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame of a counting library (LD_PRELOAD): a table of tallies, a window, and a report.
 *
 * A counting library defines the functions it counts, and passes each call on. Whatever calls them through dynamic
 * linking is counted, runtimes included, so it is an independent truth for "how often was this function entered". What
 * it cannot see is a library's call to its own function where the linker bound it inside that library.
 *
 * COUNT_FILE names the report; ".libc", ".mpi" … and the rank are put behind it. The report is written when the job
 * closes its window and again at exit, with system calls only, so that the writing itself allocates nothing:
 *     {"library","pid","rank","window":{"FUNCTION":{"calls","bytes","sent","received"},...},"whole":{...}}
 */
#ifndef WORKLOADS_COUNT_H
#define WORKLOADS_COUNT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct tally {
	const char *function;
	_Atomic uint64_t calls, bytes, sent, received;
	uint64_t at_open[4];            /* calls, bytes, sent, received when the window opened */
	uint64_t at_close[4];           /* … and when it closed */
	struct tally *next;
};

/* Each library defines its short name, as "libc". */
extern const char *const count_library;

/* Adds one call; the first of a function links its tally into the report. Any thread. */
void count_tally(struct tally *tally, uint64_t bytes, uint64_t sent, uint64_t received);

/* Writes the report; also done at exit. */
void count_report(void);

/* A library may define this to add members to its report: writes ",\n \"name\":value" and returns its length. */
int count_more(char *text, size_t size) __attribute__((weak));

/* The function that a definition in a counting library stands in front of. `version` may be NULL. */
void *count_next(const char *function, const char *version);

/* One tally for the function in which it stands. */
#define TALLY(FUNCTION, bytes, sent, received)                                          \
	do {                                                                            \
		static struct tally tally = { .function = #FUNCTION };                  \
		count_tally(&tally, bytes, sent, received);                             \
	} while (0)

/* `next` becomes what FUNCTION really is. */
#define NEXT(FUNCTION)                                                                  \
	static __typeof__(FUNCTION) *next;                                              \
	if (!next)                                                                      \
		next = count_next(#FUNCTION, NULL)

/*
 * A function of which only the calls are counted, whatever its parameters: two instructions that leave every register
 * as it is. Resolved when the library is loaded.
 */
struct stub {
	void *next;                     /* the assembly below knows that this is at 0 … */
	struct tally tally;             /* … and tally.calls at 16 */
};
_Static_assert(offsetof(struct stub, tally.calls) == 16, "the stubs below add at 16");

#define STUB(FUNCTION) STUB_NAMED(FUNCTION, FUNCTION)

/* SYMBOL is counted under the name FUNCTION, of which there must be a stub of its own. */
#define STUB_ALSO(SYMBOL, FUNCTION) STUB_CODE(SYMBOL, FUNCTION)

#define STUB_NAMED(SYMBOL, FUNCTION)                                                                                  \
	struct stub stub_##FUNCTION __attribute__((visibility("hidden"))) = { .tally = { .function = #FUNCTION } };   \
	static struct stub *const listed_##FUNCTION __attribute__((used, section("count_stubs"))) = &stub_##FUNCTION; \
	STUB_CODE(SYMBOL, FUNCTION)

#define STUB_CODE(SYMBOL, FUNCTION)                                                                             \
	__asm__(".pushsection .text\n"                                                                          \
		"	.globl " #SYMBOL "\n"                                                                   \
		"	.type " #SYMBOL ", @function\n" #SYMBOL ":\n"                                           \
		"	lock incq stub_" #FUNCTION "+16(%rip)\n"                                                \
		"	jmp *stub_" #FUNCTION "(%rip)\n"                                                        \
		"	.size " #SYMBOL ", . - " #SYMBOL "\n"                                                   \
		"	.popsection")

#endif
