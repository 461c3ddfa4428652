/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - the door of user/stacks: where the threads of a running job stand, without stopping them.
 *
 *   look    registers, state and a copy of the stack of each thread
 *   unwind  the functions that it is in, from those
 *   caller  what the code before a call had put into the argument registers
 *   script  the lines of a script that an interpreter on the stack runs
 *
 * Nothing here stops a thread or writes to it. What is read of one that runs meanwhile may not fit together; that is
 * checked, and told.
 */
#ifndef GASPBPF_STACKS_H
#define GASPBPF_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "gaspbpf/look.h"
#include "target/target.h"

struct registers {
	uint64_t value[GB_LOOK_REGISTERS]; /* DWARF's numbers, see gaspbpf/look.h */
	uint32_t known;                    /* bit i: value[i] is */
};

/* --- looking ----------------------------------------------------------- */

/* A return probe, ours or anybody's, has put the kernel's trampoline there. */
struct replaced_return {
	uint64_t stack, address;
	bool again; /* it was still so at the end */
};

/* One thread, as it stood at one moment. */
struct thread_look {
	pid_t pid, tid;
	char state;                 /* as ps has it: 'S' sleeps, 'R' runs or would like to, 'D' 'T' ... */
	uint64_t time;              /* ns, CLOCK_MONOTONIC */
	uint64_t switches;          /* times that it had left a processor */
	uint64_t ran;               /* ns of processor time */
	uint64_t still;             /* ns; it has not run for at least so long; 0: not known */
	long system_call;           /* its number; -1: in none, or not known */
	uint64_t argument[6];       /* of the system call */
	struct registers registers; /* none known: it could not be caught */
	uint8_t *stack;             /* malloc'ed copy, from stack_at on */
	size_t stack_size;
	uint64_t stack_at;               /* the stack pointer less what may be below it */
	struct replaced_return *returns; /* return addresses that probes have replaced; put back into `stack` */
	size_t nreturns;
	bool torn; /* it ran while the stack was copied: not to be believed */
};

struct looks {
	struct thread_look *threads; /* by pid, then tid */
	size_t count;
	bool by_kernel; /* false: by /proc alone: no thread that runs is seen, and of registers only two */
};

/* What looks, with the rights that this process has now: later it needs none, if sampler_prepare() was called. NULL: it
 * has not those that it takes. */
struct looker;
struct looker *looker_new(void);
void looker_free(struct looker *looker);

/*
 * Looks at all threads of these processes. The kernel tells (an iterator, and for threads that run a sample); without a
 * looker /proc tells of those that sleep. 0 or -ENOMEM; who has ended is not there.
 */
int looks_take(struct looks *looks, struct looker *looker, struct process *const *processes, size_t count);
void looks_free(struct looks *looks);
/* NULL: it is not there. */
struct thread_look *looks_find(const struct looks *looks, pid_t pid, pid_t tid);

/* --- unwinding --------------------------------------------------------- */

/* Mapped files, opened once for all processes. */
struct stack_files;
struct stack_files *stack_files_new(void); /* NULL: no memory */
void stack_files_free(struct stack_files *files);

/* What one process maps. */
struct stack_space;
/* files and process stay the caller's and must outlive it. 0 or -errno, not said. */
int stack_space_new(struct stack_space **space, struct stack_files *files, struct process *process);
void stack_space_free(struct stack_space *space);
/* The file at an address, and where in it; NULL: none that is known. */
struct image *stack_image(struct stack_space *space, uint64_t address, uint64_t *offset);
/* Reads the thread's stack copy, else the memory of the process. */
bool stack_read(const struct stack_space *space, const struct thread_look *look, uint64_t address, void *bytes,
		size_t size);

struct stack_frame {
	uint64_t pc;  /* of the instruction, or the return address */
	bool exact;   /* the instruction itself: the thread's own, or one that a signal interrupted */
	bool guessed; /* found by the frame pointer of code that does not say how it is left: may be wrong */
	struct registers registers; /* as they are in this function: those that calls keep */
	struct image *image;        /* NULL: unknown */
	uint64_t offset;            /* of pc in the image's file */
};

#define STACK_FRAMES 200

/* The innermost function first; at most `most`. A torn look, or one without registers, has none. */
size_t stack_unwind(struct stack_space *space, const struct thread_look *look, struct stack_frame *frames, size_t most);

/* --- arguments --------------------------------------------------------- */

/*
 * Where the call leads that this function is in (an address of the process); 0: not known. What it called may have gone
 * on to another one by a jump, and then only this tells.
 */
uint64_t stack_called(struct stack_space *space, const struct thread_look *look, const struct stack_frame *caller);

struct call_arguments {
	uint64_t word[GB_REGISTERS]; /* the argument registers as they were at the call */
	uint8_t known;               /* bit i: word[i] is */
	uint8_t certain;             /* bit i: nothing can have changed it since; else it is likely */
};

/*
 * What the caller had put into the argument registers: read from the instructions before the call, in registers that
 * calls keep, constants, and its stack. callee: the address that the call must lead to, else nothing is known.
 */
void stack_arguments(struct stack_space *space, const struct thread_look *look, const struct stack_frame *caller,
		     uint64_t callee, struct call_arguments *arguments);

/*
 * Adds what the function itself has moved, at its very beginning, into registers that calls keep. own: its frame, whose
 * registers those are. Not for a function that has gone on to another one by a jump.
 */
void stack_kept_arguments(struct stack_space *space, const struct thread_look *look, const struct stack_frame *own,
			  struct call_arguments *arguments);

/* --- scripts ----------------------------------------------------------- */

/* A function of a script, run by an interpreter. */
struct script_frame {
	uint64_t mark;  /* an address in that frame of the thread's stack that runs it */
	char *file;     /* malloc'ed, as are texts of a target: anything may stand in them */
	char *function; /* malloc'ed; NULL: unknown */
	uint32_t line;  /* 0: unknown */
};

struct script {
	struct script_frame *frames; /* the innermost first */
	size_t count, room;
};

/*
 * Where the threads of the process are in their scripts, now. NULL: no interpreter is there that is known, or no
 * memory. Of a thread that runs meanwhile it may be wrong: who uses it must know that it stayed in the same call.
 */
struct script_reader;
struct script_reader *script_reader_new(struct stack_space *space, const struct process *process);
void script_reader_free(struct script_reader *reader);
/* The frames of this thread; none: it runs no script, or its stack is not known. To be freed in any case. */
void script_take(const struct script_reader *reader, const struct thread_look *look, struct script *script);
void script_free(struct script *script);
void script_frame_free(struct script_frame *frame);
/* The line of an instruction, `offset` bytes from its code's first one, by the code's table of lines; 0: none. */
uint32_t script_line(const uint8_t *table, size_t size, uint32_t first_line, uint64_t offset);

#endif
