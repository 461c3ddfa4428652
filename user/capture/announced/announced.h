/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced.h - private to user/capture: events that the program tells of itself. announced.c has the whole story.
 *
 * The door of this folder: what is in announced_private.h stays inside.
 */
#ifndef GASPBPF_ANNOUNCED_H
#define GASPBPF_ANNOUNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"

struct capture_session;
struct captured_process;
struct captured_thread;
struct span;

/* Of all processes. */
struct announcements {
	struct announced_event *events;     /* by process and number */
	struct announced_meaning *meanings; /* what definitions of them say */
	uint32_t *numbers;                  /* how many each process has, by its index in definitions */
	size_t numbers_room;
	uint64_t looked_ahead; /* the pass in which announced_look_ahead() did so */
	uint64_t doubles;      /* calls left out since a compiler's own event says the same */
};

struct thread_announcements {
	struct open_event *open; /* in progress, the latest last */
	size_t nopen, open_room;
	const char *told_exit; /* event by which the runtime itself has announced the thread's end; NULL: none */
	struct {
		uint32_t site, id;
		uint8_t kind;
		bool fresh; /* it may still be echoed */
	} told;             /* the last announcement */
};

struct process_announcements {
	uint64_t table_pass; /* in which libpupc's table was read again */
	uint64_t off;        /* ns; when measurement was last switched off; 0: never */
	bool told_off;       /* libpupc had switched it off when the process was looked at */
};

/* The program tells of an event of its own: true where that is all there is to this call. */
bool session_announced(struct capture_session *s, struct captured_thread *t, const struct gb_span *raw);
/* A call of a function that has been observed, as it is about to be delivered. False: an announced event says the same,
 * and better. */
bool session_inside_announced(struct capture_session *s, struct captured_thread *t, struct span *span);
/* What the thread has started ends here, for another reason than an END. */
void session_end_announced(struct capture_session *s, struct captured_thread *t, uint64_t time, enum gb_end reason);
/* How many announced events are in progress that began before this time (ns). */
unsigned session_announced_below(const struct captured_thread *t, uint64_t start);
/* Shows those in progress on all threads, as capture_visit_open() does. */
void session_visit_announced(struct capture_session *s,
			     void (*visit)(void *context, const struct span *span, bool silent), void *context);
/* The process has been looked at: what it has told before anybody watched. */
void session_read_told(struct capture_session *s, struct captured_process *p);
/* Measurement of a process has been switched off or on, as the kernel tells. */
void session_take_control(struct capture_session *s, const struct gb_life *life);
/* All is delivered: says what did not fit together. */
void session_say_announced(struct capture_session *s);
void session_free_announced(struct capture_session *s);

#endif
