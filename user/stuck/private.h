/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/stuck share.
 */
#ifndef GASPBPF_STUCK_PRIVATE_H
#define GASPBPF_STUCK_PRIVATE_H

#include "meaning/value.h"
#include "stuck/stuck.h"

#define RANKS_MOST 100000 /* of one job that are looked for by name */

/* calls.c: the calls in progress on a stack, the outermost first, without words. 0 or -ENOMEM. */
int calls_on_stack(const struct stuck *stuck, struct stuck_thread *t, const struct thread_look *look);
/* The site of the function at this place of a file; NULL: none. */
const struct site *site_at(const struct stuck *stuck, const struct image *image, uint64_t offset);

/* words.c: the words of a call that began before anybody watched. */
void find_words(const struct stuck *stuck, const struct stuck_thread *t, const struct thread_look *look,
		struct stuck_call *call);

/* passing.c: what ends, or is lost, while the probes are in. 0 or -ENOMEM. */
int passing_take_span(struct stuck *stuck, const struct definitions *d, const struct span *span);
int passing_take_gap(struct stuck *stuck, const struct definitions *d, const struct gap *gap);
/* passing.c: may this call, which a stack shows and the probes do not, have begun while they were in? */
bool is_passing(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call);

/* ranks.c: which threads stand for which ranks. */
void find_thread_ranks(struct stuck *stuck);

/* lock_holders.c: who has the locks of ranks. The parties of all threads are there, in their order. 0 or -ENOMEM. */
int find_rank_holders(struct stuck *stuck);
/* holds.c: the lock that these values name; false: none that stands for itself, or it is not known. */
bool lock_named(const struct value *values, size_t count, const struct sent_words *sent, struct named_lock *lock);
/* conclude.c: the call that tells for what a thread waits; NULL: none. */
const struct stuck_call *telling_call(const struct stuck_thread *t);
/* conclude.c: is the rank there, and alive? */
bool rank_is_there(const struct stuck *stuck, long rank);

/* stuck.c: 0 or -errno. */
int take_looks(struct stuck *stuck, struct looks *looks);
/* stuck.c: has the thread not run at all between the looks? */
bool has_not_run(const struct thread_look *a, const struct thread_look *b);
/* stuck.c: of a call that began while the probes were in, would they have told? */
bool would_be_told(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call);

/* place.c: where the program called it, as of stuck_place(). */
char *call_place(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call);
/* place.c: where the program is: the innermost of its own code; where it called what it waits in. */
void find_place(const struct stuck *stuck, struct stuck_thread *t);
/* place.c: "step.py:12 in exchange", malloc'ed; NULL: no memory. */
char *script_place(const struct script_frame *frame);
/* place.c: the next function of the script, from *at on, that this frame of the thread runs; NULL: none. */
const struct script_frame *script_next(const struct stuck_thread *t, size_t frame, size_t *at);
/* place.c: did the thread stay at the line of the script that this frame runs, until that was read? */
bool script_is_certain(const struct stuck *stuck, const struct stuck_thread *t, size_t frame);

/* scripts.c: where the threads of the last look are in scripts. 0 or -errno. */
int scripts_read(struct stuck *stuck);
void scripts_free(struct stuck *stuck);
/* scripts.c: of one of them; NULL: it runs none. */
const struct stuck_script *script_of(const struct stuck *stuck, const struct thread_look *look);

#endif
