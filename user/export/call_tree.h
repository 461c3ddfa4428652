/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_tree.h - calls summed up by the stack that they were made on: what profiles are made of. Private to user/export.
 *
 * A stack is a thread and the observed calls that were around a call, the outermost first; each of them is an event,
 * and the place where it was called: a line of a source, else an instruction. Memory grows with different stacks, not
 * with calls.
 */
#ifndef GASPBPF_EXPORT_CALL_TREE_H
#define GASPBPF_EXPORT_CALL_TREE_H

#include "export/output.h"
#include "recording/recording.h"

struct tree_call {
	uint32_t parent; /* the call around it, whose number is less; NO_INDEX: none */
	uint32_t thread;
	uint32_t event; /* call_tree_probe() has it */
	uint32_t site;  /* NO_INDEX: not known */
	uint64_t calls;
	uint64_t self; /* ns: without what calls inside have had */
};

struct call_tree;
/* d must outlive it. NULL: out of memory. */
struct call_tree *call_tree_new(const struct definitions *d);
void call_tree_free(struct call_tree *tree);
/* All calls of a recording; half of the work that `out` is told of. 0 or -errno. */
int call_tree_read(struct call_tree *tree, struct recording *recording, struct output *out);
/* In the order in which they were met: what is around comes before. */
const struct tree_call *call_tree_calls(const struct call_tree *tree, uint32_t *count);
/* Their numbers in the order in which they are told, to be freed: threads as they are listed, and below each call at
 * once what was called inside, so that a viewer that keeps that order draws each stack once. NULL: out of memory. */
uint32_t *call_tree_order(const struct call_tree *tree);
/* One of the event's probes. */
const struct def_probe *call_tree_probe(const struct call_tree *tree, uint32_t event);
/* Events are numbered from 0. */
uint32_t call_tree_events(const struct call_tree *tree);
/* By thread: calls that are in no stack. */
const uint64_t *call_tree_missing(const struct call_tree *tree);
/* What called its site's function, innermost first: "step.c:47 in meet < step.c:80 in main". NULL: not looked at, or
 * not always the same. */
const char *call_tree_callers(const struct call_tree *tree, const struct tree_call *call);

#endif
