/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gaspbpf_tool.h - what a tool may ask gaspbpf while one of its functions is called. A GASP tool that runs inside its
 * program calls the language for this (MYTHREAD, upc_threadof()); under gaspbpf it runs in another process, where there
 * is no such runtime.
 *
 * The functions are NULL where somebody else drives the tool. examples/tools/gasp_upcalls.c has them under the names by
 * which tools that are split into a C and a UPC half call the latter.
 */
#ifndef GASPBPF_GASP_TOOL_H
#define GASPBPF_GASP_TOOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the thread that this call is about: MYTHREAD, or its process's rank, PE, image. -1: it has none, or it is not
 * known. */
extern int gaspbpf_rank(void) __attribute__((weak));
/* How many there are: THREADS, or the job's ranks. -1: not known. */
extern int gaspbpf_ranks(void) __attribute__((weak));

/*
 * What a pointer-to-shared says, for a pointer that this call of the tool's function was given (not for a copy of what
 * is behind it): its thread, its phase, and its address there, which is an offset where the program's function has one.
 * -1, -1 and UINT64_MAX: not known.
 */
extern int gaspbpf_thread_of(const void *pts) __attribute__((weak));
extern int64_t gaspbpf_phase_of(const void *pts) __attribute__((weak));
extern uint64_t gaspbpf_address_of(const void *pts) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
