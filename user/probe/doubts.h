/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doubts.h - what code that the processes map could do to a call in progress (doubts.c).
 */
#ifndef GASPBPF_DOUBTS_H
#define GASPBPF_DOUBTS_H

#include "probe/plan_private.h"

/* Is this a function of the user's, not a runtime's? */
bool doubts_is_user(const struct function *function);
/* Takes note of images that have come; to be called before the others. 0 or -ENOMEM. */
int doubts_begin(struct plan *plan);
void doubts_free(struct plan *plan);
/* Does anybody but a runtime import or have a function of this name? */
bool doubts_imported(const struct plan *plan, const char *name);
/* Or look it up by its name (dlsym)? Reads the data of those who could. */
bool doubts_reached(const struct plan *plan, const char *name);
/* The same of the program, and of libraries whose functions it imports. */
bool doubts_of_users(const struct plan *plan, const char *name);
/* The same of the program, of libraries that it needs, directly or not, and of plug-ins: of all that no runtime has
 * brought. */
bool doubts_of_program(const struct plan *plan, const char *name);
/* Could an exception come out of a function that somebody has given to the model's runtime? */
bool doubts_hooked(const struct plan *plan, const struct model *model);
/* Does the program, or a library that it uses, know exceptions? */
bool doubts_throws(const struct plan *plan);
/* Does anybody but a runtime have signal handlers? */
bool doubts_handles_signals(const struct plan *plan);
/* Has any object code that changes stacks without a name for it? Looks through the code of all at the first call. */
bool doubts_switch_by_code(struct plan *plan);

#endif
