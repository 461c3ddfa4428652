/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes.h - private to user/capture: definitions of the sites of the plan.
 */
#ifndef GASPBPF_CAPTURE_PROBES_H
#define GASPBPF_CAPTURE_PROBES_H

#include "probe/probe.h"
#include "recording/recording.h"

struct capture_session;

struct probe_table {
	uint32_t *first; /* by site id of the plan: index in definitions */
	uint32_t *any;   /* the same where it is not known which of the site's events a call is */
	uint32_t count;
};

/* probes.c */
/* The definition that this call is an event of; NO_INDEX: none (@only). */
uint32_t session_probe(struct capture_session *s, const struct gb_span *raw);
/* The definition of a call at a site of which nothing else is known; one for all meanings where it has several.
 * NO_INDEX: no memory. */
uint32_t session_any_probe(struct capture_session *s, uint32_t site);
/* A new definition for inner calls of one of the site's. NO_INDEX: no memory. */
uint32_t session_define_inner(struct capture_session *s, uint32_t site, uint32_t probe);
void session_free_probes(struct capture_session *s);

/* unseen_events.c: what cannot be seen of the model's runtime, once. 0 or -ENOMEM. */
int session_define_unseen(struct capture_session *s, const struct model *model);
/* Libraries of runtimes that the process maps and no model describes, each once; where there may be some, reads its
 * files. And runtimes inside its program that nobody sees. 0 or -ENOMEM. */
int session_define_unmodelled(struct capture_session *s, struct process *process);

/* arguments.c: what the event's list says, for this function and the values that the probe has. 0 or -ENOMEM. */
int define_arguments(struct def_probe *def, const struct function *f);

#endif
