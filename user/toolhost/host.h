/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.h - what the files of user/toolhost share: the process that a tool library runs in.
 *
 * It has no privileges (user/tool/process.c has taken them away), and nobody but the tool to serve. gaspbpf sends it
 * definitions and events; it turns each event into calls of the tool's functions.
 *
 * A kind of tool (GASP, PUPC, ...) is a struct of functions in a file of its own; main.c finds out which one a library
 * is.
 */
#ifndef GASPBPF_TOOLHOST_HOST_H
#define GASPBPF_TOOLHOST_HOST_H

#include <pthread.h>
#include <stdbool.h>

#include "timeline/arguments.h"
#include "tool/wire.h"

enum gasp_ids { IDS_OWN, IDS_GUPC, IDS_BUPC, IDS_PUPC };

/* The job's process, as far as tools see it. */
struct host_process {
	int argc;
	char **argv; /* ended by a NULL; what gasp_init() may change. A copy for each process of the job */
};

/* A thread of the job; one more for each further lane (timeline.h), since events of different lanes do not nest. */
struct host_thread {
	uint32_t index; /* in definitions */
	unsigned lane;
	struct host_process *process;
	bool off;  /* measurement was switched off */
	void *own; /* of the kind of tool; freed by its leave() */
	struct host_thread *next_lane, *next;
	pthread_t thread; /* --tool-threads=each */
	pthread_cond_t turned;
	bool started;
};

struct host {
	struct definitions d;
	volatile struct host_status *status;
	const struct tool_kind *kind;
	void *state; /* of the kind */
	enum gasp_ids ids;
	bool ids_given;
	const char *starpu; /* "1.4", "1.5": the user says so; NULL: nobody does */
	bool each;          /* each thread of the job is a thread here */
	uint32_t about;     /* the job's thread that the tool is being called for: index, or NO_INDEX */
	struct event event; /* the current one; its span is the one below */
	struct span span;
	struct frames *frames; /* private to main.c */
};

struct tool_kind {
	const char *name; /* "GASP 1.4" */
	/* Is the library (dlopen's handle) one of this kind? Its state then, else NULL. */
	void *(*open)(struct host *host, void *library);
	/* h->event is t's. What it points to is good until the return. */
	void (*event)(struct host *h, struct host_thread *t);
	/* The program, or somebody outside, has switched measurement. May be NULL. */
	void (*control)(struct host *h, struct host_thread *t, int on);
	/* Nothing more comes for this thread. */
	void (*leave)(struct host *h, struct host_thread *t);
};

extern const struct tool_kind tool_kind_gasp, tool_kind_pupc, tool_kind_starpu, tool_kind_counters;

/* Brackets every call of a function of the tool, so that gaspbpf can say where it crashed or hung. */
void host_enter(struct host *h, enum host_call call);
void host_return(struct host *h);
/* Says why there is no going on, and ends the process. */
void host_fail(struct host *h, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* One warning on standard error. */
void host_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The call site of the current event; NULL: not known, or without a source line. */
const struct def_site *host_site(const struct host *h);
const struct def_probe *host_probe(const struct host *h);
/* It has a number of the program's, so the tool gives it one of its own. */
bool host_is_user_event(const struct def_probe *probe);
/* What the program said of its values, as for printf(); NULL: nothing. */
const char *host_user_format(const struct def_probe *probe);

/* ids.c: the number of an event in the numbering that the tool was compiled with. */
uint32_t ids_tag(enum gasp_ids ids, const struct def_probe *probe, enum event_type type);
/* Is it where user events of this numbering belong? And the first number there. */
bool ids_is_user(enum gasp_ids ids, uint32_t tag);
uint32_t ids_first_user(enum gasp_ids ids);
/* PUPC 1.1: which arguments its table lists, by GASP's names, and what becomes of the event. */
struct pupc_row {
	const char *event;       /* "GASP_UPC_NOTIFY" */
	uint32_t id;             /* of START; END is one more */
	const char *start, *end; /* names of arguments, joined by blanks; *: a pointer to shared */
};
const struct pupc_row *ids_pupc_row(const char *event);

/* The next frame: its kind, and its bytes until the next call. False: the pipe has ended. */
bool host_take_frame(struct host *h, struct wire_head *head, const uint8_t **bytes);
/* Of a frame that is definitions or the run. */
void host_take_definitions(struct host *h, const struct wire_head *head, const uint8_t *bytes);
/* What was read and not taken is another process's. */
void host_forget_frames(struct host *h);
/* spread.c: --tool-threads=process. It returns in each process that the tool is to run in, where true is returned, and
 * in no other. */
bool spread_over_processes(struct host *h);

/* queries.c: what the tool asks while it is called. The host stays where it is. */
void asked_begin(const struct host *h);
/* Pointers-to-shared that the current call has in parts get what is known of them; they stay not known as arguments. */
void asked_complete(const struct host *h, struct argument *arguments, size_t count);

/* clock.c: what the tool's thread sees of the time. */
void clock_begin(uint64_t realtime_offset, bool enabled);
void clock_set(uint64_t time); /* ns, CLOCK_MONOTONIC; for this thread */

#endif
