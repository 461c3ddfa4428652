/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gasp.h - GASP 1.4, the Global Address Space Performance tool interface: what a tool provides.
 *
 * A tool is a shared library with these functions; gaspbpf loads it and calls them with the events of programs that
 * nobody recompiled (docs/tools.md). The events, with their arguments, are in gasp_c.h, gasp_upc.h, gasp_caf.h,
 * gasp_mpi.h and so on.
 *
 * The numbers are those of the implementations that exist: the order of the enums, and pointers for contexts.
 */
#ifndef GASP_H
#define GASP_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASP_VERSION 20051101 /* GASP 1.4, section 3.5 */

/* The languages: sections 5 to 9, and from 0x100 on what else gaspbpf observes. GASP 1.5 calls them models. */
typedef enum {
	GASP_LANG_UPC,
	GASP_LANG_TITANIUM,
	GASP_LANG_CAF,
	GASP_LANG_MPI,
	GASP_LANG_SHMEM,
	GASP_LANG_C = 0x100,
	GASP_LANG_PTHREAD,
	GASP_LANG_OPENMP,
	GASP_LANG_STARPU,
	GASP_LANG_USER /* functions that the user names */
} gasp_lang_t;

typedef gasp_lang_t gasp_model_t;
#define GASP_MODEL_UPC GASP_LANG_UPC
#define GASP_MODEL_TITANIUM GASP_LANG_TITANIUM
#define GASP_MODEL_CAF GASP_LANG_CAF
#define GASP_MODEL_MPI GASP_LANG_MPI
#define GASP_MODEL_SHMEM GASP_LANG_SHMEM

/* Section 3.2. */
typedef enum { GASP_START, GASP_END, GASP_ATOMIC } gasp_evttype_t;

/* The tool's own, one for each thread of execution and language: it defines the struct. */
struct _gasp_context_S;
typedef struct _gasp_context_S *gasp_context_t;

/* Once for each thread, before all other calls with the context that is returned. */
gasp_context_t gasp_init(gasp_lang_t srclanguage, int *argc, char ***argv);

/* filename may be NULL, linenum and colnum 0: unknown. The arguments are those of the event's table. */
void gasp_event_notify(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype, const char *filename,
		       int linenum, int colnum, ...);
void gasp_event_notifyVA(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype, const char *filename,
			 int linenum, int colnum, va_list varargs);

/* Section 3.3. on 0: nothing is measured until on is not 0. Returns the last value of on, not 0 before the first call.
 */
int gasp_control(gasp_context_t context, int on);

/* Section 3.4. Returns the tool's number for the user event; desc is NULL or a printf() format of its values. */
unsigned int gasp_create_event(gasp_context_t context, const char *name, const char *desc);

#ifdef __cplusplus
}
#endif
#endif
