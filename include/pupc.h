/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pupc.h - user events and measurement control for programs, and the interface of PUPC 1.1 tools.
 *
 * Two documents give this file its name, and they differ in two prototypes. Who includes it chooses, by a macro defined
 * before:
 *
 *   nothing      a program, by GASP 1.4 sections 5.2 and 5.3. Link with -lpupc (docs/user-events.md)
 *   PUPC_1_1     a program written for PUPC 1.1: pupc_create_event() has one argument
 *   PUPC_TOOL    a tool by PUPC 1.1: the functions that it defines, as that document declares them
 *
 * Numbers, locations and ticks are there for all of them.
 */
#ifndef PUPC_H
#define PUPC_H

#ifdef __cplusplus
extern "C" {
#endif

/* --- numbers of events: PUPC 1.1 section 3.1 ------------------------------ */

/* 0x00000000..0x5FFFFFFF: of the language; 0x60000000..0xBFFFFFFF: of a compiler or runtime; from here on: the user's.
 */
#define PUPC_SYSEVT_FIRST 0x00000000u
#define PUPC_SYSEVT_LAST 0x5FFFFFFFu
#define PUPC_COMPEVT_FIRST 0x60000000u
#define PUPC_COMPEVT_LAST 0xBFFFFFFFu
#define PUPC_USEREVT_FIRST 0xC0000000u
#define PUPC_USEREVT_LAST 0xFFFFFFFFu

/* PUPC 1.1 table 1: start and end of execution */
#define PUPC_INIT 0x00000000u        /* int *argc, char ***argv; no location */
#define PUPC_GLOBAL_EXIT 0x00000100u /* int status */

/* PUPC 1.1 table 2: synchronization. named: not 0 where the program gives an expression, whose value expr is */
#define PUPC_NOTIFY_START 0x01000000u  /* int named, int expr */
#define PUPC_NOTIFY_END 0x01000001u    /* int named, int expr */
#define PUPC_WAIT_START 0x01000100u    /* int named, int expr */
#define PUPC_WAIT_END 0x01000101u      /* int named, int expr */
#define PUPC_BARRIER_START 0x01000200u /* int named, int expr */
#define PUPC_BARRIER_END 0x01000201u   /* int named, int expr */
#define PUPC_FENCE_START 0x01000300u
#define PUPC_FENCE_END 0x01000301u

/* PUPC 1.1 table 3: work sharing */
#define PUPC_FORALL_START 0x02000000u
#define PUPC_FORALL_END 0x02000001u

/* PUPC 1.1 table 4: library. Locks and pointers to shared by one indirection more (GASP 1.4 section 5.4); n in bytes */
#define PUPC_LOCK_START 0x03000000u         /* upc_lock_t *lck */
#define PUPC_LOCK_END 0x03000001u           /* upc_lock_t *lck */
#define PUPC_UNLOCK_START 0x03000100u       /* upc_lock_t *lck */
#define PUPC_UNLOCK_END 0x03000101u         /* upc_lock_t *lck */
#define PUPC_LOCK_ATTEMPT_START 0x03000200u /* upc_lock_t *lck */
#define PUPC_LOCK_ATTEMPT_END 0x03000201u   /* upc_lock_t *lck */
#define PUPC_LOCK_INIT_START 0x03000300u    /* upc_lock_t *lck */
#define PUPC_LOCK_INIT_END 0x03000301u      /* upc_lock_t *lck */
#define PUPC_ALL_LOCK_ALLOC_START 0x03000400u
#define PUPC_ALL_LOCK_ALLOC_END 0x03000401u
#define PUPC_GLOBAL_LOCK_ALLOC_START 0x03000500u
#define PUPC_GLOBAL_LOCK_ALLOC_END 0x03000501u
#define PUPC_LOCK_FREE_START 0x03000600u /* upc_lock_t *lck */
#define PUPC_LOCK_FREE_END 0x03000601u   /* upc_lock_t *lck */
#define PUPC_MEMCPY_START 0x03000700u    /* shared void *dst, shared const void *src, size_t n */
#define PUPC_MEMCPY_END 0x03000701u      /* shared void *dst, shared const void *src, size_t n */
#define PUPC_MEMGET_START 0x03000800u    /* void *dst, shared const void *src, size_t n */
#define PUPC_MEMGET_END 0x03000801u      /* void *dst, shared const void *src, size_t n */
#define PUPC_MEMPUT_START 0x03000900u    /* shared void *dst, const void *src, size_t n */
#define PUPC_MEMPUT_END 0x03000901u      /* shared void *dst, const void *src, size_t n */
#define PUPC_MEMSET_START 0x03000A00u    /* shared void *dst, int c, size_t n */
#define PUPC_MEMSET_END 0x03000A01u      /* shared void *dst, int c, size_t n */

/* PUPC 1.1 table 5: accesses to shared variables. c_type and c_name are those of the variable, in words */
#define PUPC_STRICT_GET_START \
	0x04000000u /* void *dst, shared const void *src, size_t n, const char *c_type, const char *c_name */
#define PUPC_STRICT_GET_END                                                                                     \
	0x04000001u /* void *dst, shared const void *src, size_t n, int relaxed, const char *c_type, const char \
		     *c_name */
#define PUPC_RELAXED_GET_START \
	0x04000002u /* void *dst, shared const void *src, size_t n, const char *c_type, const char *c_name */
#define PUPC_RELAXED_GET_END                                                                                    \
	0x04000003u /* void *dst, shared const void *src, size_t n, int relaxed, const char *c_type, const char \
		     *c_name */
#define PUPC_STRICT_PUT_START \
	0x04000100u /* shared const void *dst, void *src, size_t n, const char *c_type, const char *c_name */
#define PUPC_STRICT_PUT_END \
	0x04000101u /* shared const void *dst, void *src, size_t n, const char *c_type, const char *c_name */
#define PUPC_RELAXED_PUT_START \
	0x04000102u /* shared const void *dst, void *src, size_t n, const char *c_type, const char *c_name */
#define PUPC_RELAXED_PUT_END \
	0x04000103u /* shared const void *dst, void *src, size_t n, const char *c_type, const char *c_name */

/* PUPC 1.1 table 6: functions */
#define PUPC_USERFN_START 0x05000000u /* const char *funcname */
#define PUPC_USERFN_END 0x05000001u   /* const char *funcname */

/* --- where an event comes from: PUPC 1.1 section 3.1 ---------------------- */

/* Each place in the source has one, at an address that stays. */
typedef struct pupc_location {
	const char *source_file;
	unsigned int start_line; /* 0: unknown */
	unsigned int start_col;  /* 0: unknown */
	void *util;              /* the tool's own */
} pupc_location;

/* --- time: PUPC 1.1 section 3.5 -------------------------------------------- */

typedef unsigned long long pupc_tick_t; /* ns */
pupc_tick_t pupc_ticks_now(void);
unsigned int pupc_tick_granularityus(void); /* at least 1 */
/* Microseconds in a difference of ticks. */
unsigned int pupc_ticks_to_us(pupc_tick_t ticks);

#ifdef PUPC_TOOL

/* --- what a tool defines: PUPC 1.1 sections 3.1, 3.3 and 3.4.2 --------------- */

void pupc_event_notify(unsigned int event_id, pupc_location *loc, ...);
unsigned int pupc_create_event(const char *name);
void pupc_control(int on);

#else

/* --- what a program calls: GASP 1.4 sections 5.2 and 5.3 --------------------- */

/*
 * The number of the user event of this name; the same name has the same number. desc is NULL, or says as for printf()
 * which values each of the calls below carries.
 */
unsigned int pupc_create_event(const char *name, const char *desc);
void pupc_event_start(unsigned int evttag, ...);
void pupc_event_end(unsigned int evttag, ...);
void pupc_event_atomic(unsigned int evttag, ...);

/* 0: nothing of this process is measured from here on; else it is again. Returns what it was told the last time, not 0
 * before. */
int pupc_control(int on);

/* PUPC 1.1: names that its text and its examples use for the same. */
void pupc_start(unsigned int evtid, ...);
void pupc_end(unsigned int evtid, ...);
void pupc_event_stop(unsigned int evtid, ...);

#ifdef PUPC_1_1
#define pupc_create_event(name) pupc_create_event(name, (const char *)0)
#endif

#endif

#ifdef __cplusplus
}
#endif
#endif
