/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_sums.h - private to user/capture: calls that became no span, and what all calls cost.
 */
#ifndef GASPBPF_CAPTURE_KERNEL_SUMS_H
#define GASPBPF_CAPTURE_KERNEL_SUMS_H

#include "probe/probe.h"

struct capture_session;
struct captured_thread;

struct sums {
	struct sum_thread *threads; /* by (born, tid) */
	struct sum_record *records; /* by (thread, site) */
	uint64_t time, elapsed;     /* ns; of the last look, and since the one before */
	size_t ended;               /* entries in the kernel of threads that have ended */
	bool left;                  /* they are somebody else's */
};

/* kernel_sums.c */
/* The kernel's last word on a thread: t is the one that it calls so. */
void session_sum_thread(struct capture_session *s, struct captured_thread *t, const struct gb_life *life);
/* Room for calls at this site. False: no memory. */
bool session_fit_calls(struct captured_thread *t, uint32_t site);
/* Reads the sums while threads that have ended take much of the kernel's map. */
void session_make_room(struct capture_session *s);
void session_free_sums(struct capture_session *s);

/* prices.c */
struct price_table {
	struct site_price *of; /* by site id */
	uint64_t changes;      /* of what is in, when prices were looked up last */
};

/* Room for so many sites. 0 or -ENOMEM. */
int session_fit_prices(struct capture_session *s, size_t count);
void session_set_price(struct capture_session *s, const struct site *site);
/* The kernel's prices, where something went in or out since. */
void session_renew_prices(struct capture_session *s);
/* So many calls of a site, which came so many ns after each other. t: NULL: of a thread that has ended. */
void session_price(struct capture_session *s, struct captured_thread *t, uint32_t site, uint64_t calls, bool skipped,
		   double gap);
void session_free_prices(struct capture_session *s);

#endif
