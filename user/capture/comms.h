/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comms.h - private to user/capture: communicators, as calls name them.
 */
#ifndef GASPBPF_CAPTURE_COMMS_H
#define GASPBPF_CAPTURE_COMMS_H

#include "probe/probe.h"

struct capture_session;
struct captured_thread;
struct span;

struct comm_table {
	struct comm_places **places; /* by site id: where its calls name communicators; NULL: nowhere */
	uint32_t nplaces;
	struct live_comm *table; /* all that were met */
	uint32_t kept;           /* in entries and runs of members */
};

/* A site of the plan is new; they come in the order of their ids. 0 or -ENOMEM. */
int session_comm_site(struct capture_session *s, const struct site *site);
/* A call at a site that has places: defines the communicators that it is the first to name. */
void session_meet_comms(struct capture_session *s, const struct captured_thread *t, uint32_t site,
			const struct span *span);
void session_free_comms(struct capture_session *s);

#endif
