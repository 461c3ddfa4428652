/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - what the files of user/capture share.
 *
 * A session is its parts: each is named after the file that owns it, which alone changes it.
 */
#ifndef GASPBPF_SESSION_H
#define GASPBPF_SESSION_H

#include "capture/announced/announced.h"
#include "capture/calls.h"
#include "capture/capture.h"
#include "capture/comms.h"
#include "capture/delivery.h"
#include "capture/files.h"
#include "capture/images.h"
#include "capture/inner.h"
#include "capture/kernel_sums.h"
#include "capture/life.h"
#include "capture/pointed.h"
#include "capture/probes.h"
#include "capture/processes.h"
#include "capture/rings.h"
#include "capture/sites.h"
#include "capture/texts.h"
#include "capture/threads.h"

/* A pass over all rings, which may be made in pieces (session.c). */
struct capture_pass {
	uint64_t number;          /* from 1 */
	unsigned long limits[64]; /* by ring: how far it goes */
	unsigned ring;            /* the one that is being read */
	size_t nlife;             /* so many of the list of life were told before that was fixed */
	bool open, complete;
};

struct capture_session {
	struct kernel *kernel; /* the caller's, as plan and d */
	const struct plan *plan;
	struct definitions *d;
	struct capture_events events;
	struct capture_totals totals;
	int err; /* -ENOMEM, once it has happened */

	struct rings rings;
	struct capture_pass pass;
	struct life_list life;
	struct delivery delivery;
	struct thread_table threads;
	struct process_table processes;
	struct image_table images;
	struct price_table prices;
	struct probe_table probes;
	struct site_table sites;
	struct wrappers wrappers;
	struct inner inner;
	struct sums sums;
	struct text_table texts;
	struct file_table files;
	struct comm_table comms;
	struct pointed_table pointed;
	struct calls calls;
	struct beyond beyond;
	struct announcements announced;
	struct {
		bool wanted;
		uint64_t looked; /* ns; when it was looked last who waited for a processor */
	} queues;
	struct limit *limit; /* private to limit.c; NULL: none */
};

/* limit.c */
void session_free_limit(struct capture_session *s);

#endif
