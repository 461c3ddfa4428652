/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch.h - the door of user/arch: what gaspbpf must know about the processor.
 *
 * All that differs from one processor to the next is in this room, and in bpf/arch_*.h: how calls are made, registers,
 * instructions. The other rooms ask for it by the names here. What a processor brings is in a folder of its name:
 *
 *   facts.h   names and numbers
 *   abi.c     where arguments travel, which registers calls keep, kinds of relocations
 *   ...       instructions: arch/instruction.h (one), arch/scan.h (all that may be in some bytes), arch/steps.h (what
 *             those of a function do to registers); and functions of one instruction, for trials
 *
 * Registers are numbered as DWARF numbers them.
 */
#ifndef GASPBPF_ARCH_H
#define GASPBPF_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gaspbpf/arch.h"

#if defined(__x86_64__)
#include "arch/x86_64/facts.h"
#else
#error "gaspbpf does not know this processor: see user/arch/arch.h"
#endif

/*
 * facts.h has
 *   ARCH_TITLE         the processor's name, for people
 *   ARCH_MACHINE       as uname(2) has it
 *   ARCH_TRIPLET       of Debian's folders of libraries
 *   ARCH_CACHE_MARK    what `ldconfig -p` says of its libraries
 *   ARCH_EMULATORS     patterns of /proc/PID/comm of programs that translate code for it
 *   ARCH_ELF_MACHINE   e_machine of its ELF files
 *   ARCH_AUDIT         of its system calls, as seccomp and ptrace tell it
 *   REGISTER_SP, REGISTER_FRAME, REGISTER_IP
 *                      the stack pointer, the frame pointer, and where the program is
 *   ARCH_OVERLOOKED    one that calls keep, and that libdw does not know to be one of those
 *   ARCH_RETURN_WORD   bytes that a call puts on the stack, and a return takes off: the return address
 *   ARCH_RED_ZONE      bytes below the stack pointer that a function may use
 *   ARCH_LONG_DOUBLE   the enum argument_class of a long double
 *   INSTRUCTION_MOST   bytes of the longest instruction
 *   OPTIMIZED_SIZE     bytes of an instruction that the kernel replaces by a call (SITE_OPTIMIZED)
 */

/* --- registers --------------------------------------------------------- */

/* Names of the integer argument registers, and their numbers. */
extern const char *const arch_argument_names[GB_REGISTERS];
extern const uint8_t arch_arguments[GB_REGISTERS];
/* Of the arguments of a system call. */
extern const uint8_t arch_call_arguments[6];
/* The kernel's numbers of registers in samples (asm/perf_regs.h), by DWARF's. */
extern const uint8_t arch_sampled[GB_LOOK_REGISTERS];

/* Does a call give it back as it was? */
bool arch_keeps(int reg);

/* Where a thread that is stopped (ptrace) goes on. False: it is not stopped any more. */
bool arch_stopped_at(pid_t tid, uint64_t *address);

/* --- where arguments travel -------------------------------------------- */

enum argument_class { ARGUMENT_INTEGER, ARGUMENT_FLOAT, ARGUMENT_MEMORY };
enum argument_place { IN_INTEGER_REGISTER, IN_FLOAT_REGISTER, ON_STACK };

/* What has been handed out so far. */
struct arguments {
	unsigned integers, floats, stack;
};

/* hidden_result: the result is stored where an argument before the first says. */
struct arguments arguments_begin(bool hidden_result);
/*
 * Where an argument of so many words goes. *at: the first of its integer registers, or bytes from the stack pointer as
 * it is at the function's first instruction.
 */
enum argument_place arguments_next(struct arguments *arguments, enum argument_class class, unsigned words,
				   bool aligned16, unsigned *at);
/* Bytes from that stack pointer to the word `index` of what is passed on the stack. */
unsigned arguments_stack_word(unsigned index);

/* --- files ------------------------------------------------------------- */

enum relocation {
	RELOCATION_OTHER,
	RELOCATION_BASE,   /* the addend, moved by where the file was loaded */
	RELOCATION_SLOT,   /* the address of a symbol, in a table that code reads it from */
	RELOCATION_SYMBOL, /* the same, in a word of data */
};
enum relocation arch_relocation(uint32_t type);

#endif
