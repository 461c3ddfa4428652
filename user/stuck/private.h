/*
 * private.h - what the files of user/stuck share.
 */
#ifndef GASPBPF_STUCK_PRIVATE_H
#define GASPBPF_STUCK_PRIVATE_H

#include "stuck/stuck.h"

/* calls.c: the calls in progress on a stack, the outermost first, without words. 0 or -ENOMEM. */
int calls_on_stack(const struct stuck *stuck, struct stuck_thread *t, const struct thread_look *look);
/* The site of the function at this place of a file; NULL: none. */
const struct site *site_at(const struct stuck *stuck, const struct image *image, uint64_t offset);

/* words.c: the words of a call that began before anybody watched. */
void find_words(const struct stuck *stuck, const struct stuck_thread *t, const struct thread_look *look, struct stuck_call *call);

/* Where it was called, as of stuck_place(). */
char *call_place(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call);

#endif
