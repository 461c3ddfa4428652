/*
 * pupc.h - user events and measurement control: GASP 1.4 sections 5.2 and 5.3, and the calls of PUPC 1.1 under their names.
 * Link with -lpupc. For a program written for PUPC 1.1 define PUPC_1_1 before this: pupc_create_event() has one argument then.
 */
#ifndef PUPC_H
#define PUPC_H

#ifdef __cplusplus
extern "C" {
#endif

/* User events have numbers from here on (PUPC 1.1 section 3.2). */
#define PUPC_USEREVT_FIRST 0xC0000000u
#define PUPC_USEREVT_LAST  0xFFFFFFFFu

/*
 * The number of the user event of this name; the same name has the same number. desc is NULL, or says as for printf() which values each of
 * the calls below carries.
 */
unsigned int pupc_create_event(const char *name, const char *desc);
void pupc_event_start(unsigned int evttag, ...);
void pupc_event_end(unsigned int evttag, ...);
void pupc_event_atomic(unsigned int evttag, ...);

/* 0: nothing of this process is measured from here on; else it is again. Returns what it was told the last time, not 0 before. */
int pupc_control(int on);

/* PUPC 1.1: names that its text and its examples use for the same. */
void pupc_start(unsigned int evtid, ...);
void pupc_end(unsigned int evtid, ...);
void pupc_event_stop(unsigned int evtid, ...);

/* PUPC 1.1 section 3.5. */
typedef unsigned long long pupc_tick_t;
pupc_tick_t pupc_ticks_now(void);
unsigned int pupc_ticks_to_us(pupc_tick_t ticks);
unsigned int pupc_tick_granularityus(void);

#ifdef PUPC_1_1
#define pupc_create_event(name) pupc_create_event(name, (const char *)0)
#endif

#ifdef __cplusplus
}
#endif
#endif
