/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.h - private to user/capture: threads that make calls.
 */
#ifndef GASPBPF_CAPTURE_THREADS_H
#define GASPBPF_CAPTURE_THREADS_H

#include "capture/announced/announced.h"
#include "capture/early.h"

struct capture_session;
struct captured_process;

struct captured_thread {
	uint32_t pid, tid;
	uint32_t index;                    /* in definitions */
	uint64_t next;                     /* the sequence number due; spans carry its low half */
	uint64_t lost;                     /* by gaps closed so far */
	uint64_t last_end;                 /* ns; of the last span delivered */
	uint64_t born;                     /* ns; as in gb_sum_place; 0: it had no reason yet to tell */
	uint64_t ends;                     /* ns; told, but not applied yet; 0: it lives on */
	struct captured_thread *successor; /* has its number, after it has ended: what is known of it already */
	uint64_t cost;                     /* ns; what its probes took from it, by the calibration */
	uint64_t since;                    /* ns; when it was first heard of */
	struct capture_calls *calls;       /* by site id */
	size_t ncalls;
	struct captured_thread *next_live, **live; /* list of all; what points to this one */
	struct thread_announcements announced;
	uint64_t merged; /* records that became no span of their own: STARTs, echoes, creations */
	struct early_spans early;
	uint64_t waiting_since;               /* the pass in which the hole before the first of them was first seen */
	struct captured_thread *next_waiting; /* list of threads with early spans */
	struct gb_queue queue;                /* what was shown last (queues.c) */
	bool listed;
	bool left_out; /* its process is no part of the job: nobody is told of its calls */
};

struct thread_table {
	struct captured_thread **by_number; /* pid_max entries, of which few are ever touched */
	uint32_t room;
	struct captured_thread *live;    /* list of all */
	struct captured_thread *waiting; /* list of those with early spans (order.c) */
};

/* threads.c */
/* 0 or -ENOMEM. */
int session_open_threads(struct capture_session *s);
/* A new one of this process; it is not found by its number yet. NULL: no memory. */
struct captured_thread *session_add_thread(struct capture_session *s, const struct captured_process *p, uint32_t tid);
void session_end_thread(struct capture_session *s, struct captured_thread *t);
void session_free_threads(struct capture_session *s);

/* queues.c */
/* The kernel's final word on how long it waited for a processor. */
void session_end_queue(struct capture_session *s, struct captured_thread *t, const struct gb_life *life);

/* callers.c */
/* The thread that had this number at this time (ns; CAPTURE_NOW: by all that is known); defined where it is new. NULL:
 * no memory, or no such number. */
#define CAPTURE_NOW UINT64_MAX
struct captured_thread *session_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time);

#endif
