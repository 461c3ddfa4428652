/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * labels.h - what people call a process, a thread, a place in the source. One spelling, wherever it is written: in
 * reports, on the screen, in logs, in traces.
 *
 * All are made safe to print, unless it is said otherwise, and written to `text`, which is returned.
 */
#ifndef GASPBPF_RECORDING_LABELS_H
#define GASPBPF_RECORDING_LABELS_H

#include "recording/recording.h"

/* Room enough for names of any use; longer ones are cut. */
#define LABEL_ROOM 400

/* What is known of a process or thread. */
struct who {
	const char *unit;  /* "rank", "PE", "image"; NULL: "rank" */
	long rank;         /* -1: none */
	const char *name;  /* the thread's, or the process's; NULL: not known */
	uint32_t pid, tid; /* tid 0: the process as a whole is meant */
	bool exact;        /* any bytes, as they are: for formats that have their own way to write them */
	const char *job;   /* where there are several: stands behind the rank; NULL: none */
	bool numbered;     /* the rank's job is not known: its pid stands there instead */
};

struct who who_is_process(const struct definitions *d, uint32_t process);
struct who who_is_thread(const struct definitions *d, uint32_t thread);

/* "rank 3", "solver (pid 4242)" */
char *label_of_process(const struct who *who, char *text, size_t room);
/* "rank 3 (pid 4242)", "solver (pid 4242)": for who looks for it outside */
char *label_with_pid(const struct who *who, char *text, size_t room);
/* "rank 3" (of its main thread), "rank 3 worker-1 (tid 4243)", "worker-1 (tid 4243)" */
char *label_of_thread(const struct who *who, char *text, size_t room);
/* The same without the number of the thread: for tables, where that has a column of its own. */
char *label_without_tid(const struct who *who, char *text, size_t room);

/* The two of them by definition. */
char *process_label(const struct definitions *d, uint32_t process, char *text, size_t room);
char *thread_label(const struct definitions *d, uint32_t thread, char *text, size_t room);

/* Of a recording of several nodes, where it ran; NULL: there is one only, or it is not known. Not made safe. */
const char *process_node(const struct definitions *d, uint32_t process);
/* "rank 2 on n3" there; else as thread_label(). */
char *thread_label_on_node(const struct definitions *d, uint32_t thread, char *text, size_t room);

/* "GASP_MPI_SEND", "GASP_USER_FUNCTION step" where each function is an event of its own, "GASP_MPI_ISEND (inner)" for
 * what the runtime calls of itself. */
char *event_label(const struct def_probe *probe, bool inner, char *text, size_t room);

/* "ring.c:123 in exchange", "main+0x12", "solver+0x1200", "0x7f..": a call site. "?": there is none. */
char *site_label(const struct definitions *d, uint32_t site, char *text, size_t room);
/* The same for programs: with the whole path of the source, the column, and not made safe: "/home/u/ring.c:123:8".
 * malloc'ed; NULL: out of memory. */
char *site_place(const struct definitions *d, uint32_t site);

#endif
