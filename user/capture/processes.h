/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.h - private to user/capture: processes, and what they map.
 */
#ifndef GASPBPF_CAPTURE_PROCESSES_H
#define GASPBPF_CAPTURE_PROCESSES_H

#include <uthash.h>

#include "capture/announced/announced.h"
#include "probe/probe.h"

struct capture_session;
struct captured_thread;

struct needed_file {
	uint64_t device, inode;
	const struct image *image; /* while the list is made */
};

struct captured_process {
	uint32_t pid;
	uint32_t index;          /* in definitions */
	struct process *process; /* NULL: not looked at yet, or it ended before that */
	/* ns; its first thread ended, while links for it alone were there (windows.c); 0: it did not. The last call of
	 * the threads that have ended. */
	uint64_t first_left, latest;
	uint64_t started; /* clock ticks after boot, when it was looked at: another process of this number has another;
			     0: it was not */
	/*
	 * A call site is an address, and what lies there changes with exec, dlclose and dlopen. Each change begins a
	 * new layout; calls that ended before the last change belong to the one before it.
	 */
	uint32_t layout;
	uint64_t changed, settling; /* ns; when the last one began, and its last change: between them it is not known
				       what lies where */
	uint32_t program_layout;    /* the layout that its present program began with ... */
	uint64_t program_since;     /* ns; ... and when; 0: it was there already */
	long threads;               /* that a job of pointers-to-shared has; 0: not known */
	uint64_t threads_pass;      /* in which that was read last */
	bool misread;               /* one of its pointers-to-shared named another: they are not as they are read */
	uint64_t changed_pass;      /* of capture_drain(): changes that are told together are one */
	struct process_announcements announced;
	bool removing;           /* the last change that its linker was about to make takes objects away */
	bool settled;            /* its linker has yet to say that what is known already is all */
	struct process *before;  /* with the mappings of the layout before; NULL: none, or not known */
	uint64_t before_settled; /* ns; the last change that led to the layout before: since then it is known */
	struct process *last;    /* of an earlier layout, for where its program lies; NULL: as for the others */
	struct process *older;   /* as it was before the first look in this pass (older_pass): a change before that look
				    may be told after it */
	uint64_t older_pass;
	unsigned reads;  /* of its mappings, for the changes of this pass */
	uint64_t torn;   /* ns; its last change, if they come faster than its mappings can be read; 0: they are read */
	bool only_added; /* the changes of this layout have taken nothing away */
	bool adding;     /* the last change that its linker was about to make brings objects */
	struct needed_file *needed; /* files that its program needs, for this program_layout; NULL: not asked for yet */
	size_t nneeded;
	uint32_t needed_layout;
	uint64_t born; /* ns; 0: was there already. What is told of an earlier time is about another process of this
			  number */
	uint64_t number_since; /* ns; when another process had its number before: from here on it is known to be its
				  own; 0: none had ... */
	uint32_t number_of;    /* ... the other one's definition */
	uint32_t callers;      /* its threads that have called since it was looked at */
	uint32_t comms;        /* what is kept of its communicators, in entries and runs of members */
	bool missing;          /* it was not there when it was looked for last */
	bool ended;
	UT_hash_handle hh;
};

struct process_table {
	struct captured_process *table;
	size_t torn; /* of these: torn */
	/* It has been looked at, or looked at again. */
	void (*described)(struct capture_session *s, struct captured_process *p);
	bool said_near; /* that --profile leaves nothing out */
};

/* process_table.c */
/* NULL: there is none of this number. */
struct captured_process *session_process(struct capture_session *s, uint32_t pid);
/* windows.c: it has ended, or is not observed any more. */
void session_tell_first_thread(struct capture_session *s, const struct captured_process *p, uint64_t time);
/* When the mappings that are known were read (ns); 0: none are. */
uint64_t session_mapped_ns(const struct captured_process *p);
/* Its mappings are about to be read by somebody who was told of no change: session_set_process() is next. */
void session_look_again(struct capture_session *s, struct captured_process *p);
/* Nothing of what was read of its mappings is kept. */
void session_forget_layouts(struct capture_session *s, struct captured_process *p);
void session_free_processes(struct capture_session *s);

/* describe.c: defines what can be known of it by the last look. */
void session_describe(struct capture_session *s, struct captured_process *p);

/* processes.c */
/* It was opened by the number of this one: is it another, to whom that has come since? */
bool session_is_another(const struct capture_session *s, const struct captured_process *p,
			const struct process *process);
/* The same of one that has made a call at this time (ns; CAPTURE_NOW): defined where it is new, or has the number of
 * one that had ended. NULL: no memory. */
struct captured_process *session_calling_process(struct capture_session *s, uint32_t pid, uint64_t time);
/* It has ended, and all its spans are in: there may have been thousands before it, so nothing of it is kept but what is
 * defined. */
void session_end_process(struct capture_session *s, struct captured_process *p);
/* Has the process not ended, as far as can be seen? */
bool session_is_there(struct capture_session *s, struct captured_process *p);
/* Describes the process by this look at it, which it owns from here; NULL: it was not there. */
void session_set_process(struct capture_session *s, struct captured_process *p, struct process *process);
/* The thread has made a call of this model: who calls a parallel runtime is a part of the job. */
void session_note_runtime(struct capture_session *s, struct captured_thread *t, const struct model *model);

/* needed.c */
/* Was this file there when the present program began, because that needs it? The linker never takes it away. */
bool session_is_needed(struct capture_session *s, struct captured_process *p, const struct mapping *mapping);

/* layouts.c */
/* Once in a pass, when all signs of it are there: makes good what the last one left torn. */
void session_mend_layouts(struct capture_session *s);
/* The linker's sign says nothing new: the change is only about to come, or is that of a start which has been looked at.
 */
bool session_expected(struct capture_session *s, const struct gb_life *life);
/* The change that its linker has just made: may it have brought something? */
bool session_may_have_mapped(struct capture_session *s, uint32_t pid);
enum change { CHANGE_ADDS /* to what was there, and takes nothing away */, CHANGE_ANY };
/* The kind of change that its linker has just made. */
enum change session_kind_of_change(struct capture_session *s, uint32_t pid);
/* The process's mappings change at this time. */
void session_change_layout(struct capture_session *s, uint32_t pid, uint64_t time, enum change change);
/* And so did its program, by the same change. */
void session_change_program(struct capture_session *s, uint32_t pid, uint64_t time);

#endif
