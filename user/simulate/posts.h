/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posts.h - what posts.c, awaited.c and windows.c share. Private to user/simulate.
 */
#ifndef GASPBPF_SIMULATE_POSTS_H
#define GASPBPF_SIMULATE_POSTS_H

#include <uthash.h>

#include "simulate/parts.h"

/* Where a post is put, and looked for: what it is about, and whose memory. Compared as bytes: no padding. */
struct post_key {
	uint64_t comm;   /* that the window was made with */
	uint64_t number; /* which of those made with it */
	uint64_t element;
	uint32_t model, process;
	uint32_t tells; /* enum signal */
	uint32_t unused;
};

/* A process's handle for a window of the job. */
struct window {
	UT_hash_handle hh;
	struct {
		uint64_t handle;
		uint32_t process, model;
	} key;
	bool made;                      /* it was seen how */
	struct post_key is;             /* process: 0 */
	const struct def_comm *members; /* NULL: not told */
};

/* How many windows a process has made with a communicator; how many it uses that were not seen made. */
struct made {
	UT_hash_handle hh;
	struct {
		uint64_t comm;
		uint32_t process, model;
	} key;
	uint64_t windows;
};

struct windows {
	struct window *table;
	struct made *made;
};

/* What this tells about the memory of a process in the window. */
static inline struct post_key window_key(const struct window *window, uint32_t process, enum signal tells)
{
	struct post_key key = window->is;

	key.process = process;
	key.tells = tells;
	return key;
}

/* The first reading: a process uses the handle, or (made) gets it from the call. 0 or -ENOMEM. */
int windows_note(struct windows *windows, uint32_t process, uint32_t model, uint64_t handle, bool made);
/* The window has been made now, by a call of this thread. 0 or -ENOMEM. */
int windows_make(struct sim *sim, struct windows *windows, const struct op *op, const struct span *span,
		 uint64_t handle);
/* NULL: which window of the job it is, is not known. */
const struct window *windows_find(const struct windows *windows, uint32_t process, uint32_t model, uint64_t handle);
/* The process that has this rank in the window; NO_INDEX: not known. */
uint32_t windows_process(const struct sim *sim, const struct window *window, uint32_t process, int64_t rank);
void windows_close(struct windows *windows);

/* Posts of one kind and place. */
struct post_list {
	UT_hash_handle hh;
	struct post_key key;
	struct post **posts; /* by start */
	size_t count, room;
};

/* windows.c: from the first call about a window, or of a lock, to the last. */
struct epoch {
	struct epoch *next; /* of the process, while it is open */
	const struct window *window;
	struct post_key lock; /* tells SIGNAL_NONE: it is none */
	struct related_call began;
	uint32_t *targets; /* processes */
	size_t ntargets, room;
	uint64_t accessed; /* end of the last access */
	unsigned users;
	bool over;
};

/* An operation of which is to be found out what it waits for. */
struct pending {
	struct op *op; /* NULL: it does not wait any more */
	const struct post_list *lists[2];
	const struct post_list *presence; /* of the one whose memory it is about */
	struct epoch *epoch;
	uint64_t address;
};

struct posts {
	struct windows windows;
	struct post_list *lists;
	struct epoch **epochs; /* by process */
	struct pending *pending;
	size_t npending, room;
	bool watch;       /* some accesses may have waited for somebody who did something else */
	uint64_t fed;     /* recorded: what ended before had been fed the last time, */
	uint64_t horizon; /* and what began before this is of no interest any more */
};

/* windows.c: the open epoch of this window, or lock; NULL there: none is. */
extern const struct post_key no_lock;
struct epoch **epoch_find(const struct posts *posts, uint32_t process, const struct window *window,
			  const struct post_key *lock);
/* The one that was open is over. NULL: out of memory. */
struct epoch *epoch_open(struct posts *posts, uint32_t process, const struct window *window,
			 const struct post_key *lock, const struct op *op);
void epoch_close(struct epoch **at);
void epoch_leave(struct epoch *epoch);
/* 0 or -ENOMEM. */
int epoch_add_target(struct epoch *epoch, uint32_t process);

/* awaited.c: NULL: there is none. */
struct post_list *posts_list(const struct posts *posts, const struct post_key *key);
/* The same, made where it is not there. NULL and *error 0: there are too many; else -ENOMEM. */
struct post_list *posts_list_at(struct posts *posts, const struct post_key *key, int *error);
/* 0 or -ENOMEM. */
int posts_put(struct posts *posts, const struct post_key *key, struct post *post);
/* It is to be found out what the operation waits for. 0 or -ENOMEM. */
int posts_wait_for(struct posts *posts, struct op *op, const struct pending *what);

#endif
