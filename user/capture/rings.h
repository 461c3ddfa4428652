/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rings.h - private to user/capture: the rings that the kernel fills, and how long to sleep until there is something in
 * them.
 */
#ifndef GASPBPF_CAPTURE_RINGS_H
#define GASPBPF_CAPTURE_RINGS_H

#include "util/ring.h"

struct capture_session;

struct rings {
	struct ring *list; /* with spans; a ring for each group of CPUs */
	unsigned count;
	struct ring control; /* with the life of processes and threads */
	int epoll;           /* of all of them */
};

/* 0 or -errno, not said; what is open by then is for session_close_rings(). */
int session_open_rings(struct capture_session *s);
void session_close_rings(struct capture_session *s);

#endif
