/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selection.h - which of the events that the models know are wanted: part of user/model's door.
 *
 * The compilers of GASP 1.4 (section 3.1) and PUPC 1.1 (section 3.4.1) take files with names: --profile-only and
 * --profile-partial of the events that are to be measured, --exclude-functions of functions of the program that are
 * not. The same files work here, and a '*' in a name stands for any characters. What is not wanted gets no probe, so it
 * costs nothing.
 */
#ifndef GASPBPF_SELECTION_H
#define GASPBPF_SELECTION_H

#include "model/model.h"

struct selection;

/* Without any file everything is wanted. NULL: no memory. */
struct selection *selection_new(void);
void selection_free(struct selection *selection);
/*
 * Only events of these names: symbolic ones of GASP (GASP_UPC_MEMCPY) or PUPC (PUPC_MEMCPY), one on a line; an empty
 * line or one that begins with '#' is none. More files add to it. 0 or -errno, said.
 */
int selection_only(struct selection *selection, const char *path);
/* The same by the rules of PUPC 1.1's --profile-partial: the program's end is told besides. */
int selection_partial(struct selection *selection, const char *path);
/* No functions of these names, among those that the user asked for (role user). 0 or -errno, said. */
int selection_exclude(struct selection *selection, const char *path);
/* Is this function wanted? NULL: all are. So are all by which a program tells of events of its own. */
bool selection_has(const struct selection *selection, const struct function *function);
/* Is this event of a runtime wanted, which a compiler has announced? By its name alone, strict and relaxed accesses
 * alike. */
bool selection_has_event(const struct selection *selection, const char *event);
/* Warns of names of events that no model knows; they are ignored, as both documents say. */
void selection_check(const struct selection *selection, const struct model_set *models);

#endif
