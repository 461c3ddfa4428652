/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inner.h - private to user/capture: calls that a runtime makes to itself.
 */
#ifndef GASPBPF_CAPTURE_INNER_H
#define GASPBPF_CAPTURE_INNER_H

#include "probe/probe.h"

struct capture_session;

/* Who calls from a place, of functions of this model (inner.c). */
struct place_caller {
	const struct model *model;
	uint8_t is;
};

struct inner {
	struct place_caller *callers; /* by definition of a call site */
	size_t callers_room;
	uint32_t *twins; /* by definition of a probe: that of its inner calls; 0: none yet */
	size_t twins_room;
};

/* Is this a call that the runtime makes to itself? from: session_call_site() of it. */
bool session_is_inner(struct capture_session *s, const struct gb_span *raw, uint32_t from);
/* The definition of such calls of a probe; the probe's own where there is no memory. */
uint32_t session_inner_probe(struct capture_session *s, uint32_t site, uint32_t probe);
void session_free_inner(struct capture_session *s);

#endif
