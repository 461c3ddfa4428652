/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally.h - the kernel's sums by thread and function become figures by process and event. Private to user/monitor;
 * tally.c has the method.
 */
#ifndef GASPBPF_MONITOR_TALLY_H
#define GASPBPF_MONITOR_TALLY_H

#include <uthash.h>

#include "account/account.h"
#include "govern/govern.h"
#include "monitor/monitor.h"

#define NO_EVENT UINT32_MAX

/* Calls of one event in one process: what threads that have ended did, and the whole as of the last reading. */
struct figure {
	uint32_t event;
	uint64_t reading; /* the one that `all` is of */
	struct monitor_amounts ended, all;
};

/* Whose calls these are. */
enum owner {
	OWNER_PROCESS,
	OWNER_CROWD /* chosen, but not kept apart */,
	OWNER_UNKNOWN /* not looked at yet */,
	OWNER_NOBODY
};

struct tallied_process {
	struct figure *tallies;
	size_t ntallies, room;
};

struct tally_event {
	struct monitor_event shown; /* its total is made when it is asked for */
	char *name;                 /* shown.name */
	struct value *values;       /* shown.values */
	struct figure total;
	uint64_t out_since; /* ns; some probes of it are out since then; 0: none are */
};

struct ended_thread {
	uint32_t tid;
	uint64_t time; /* ns; of its end */
	UT_hash_handle hh;
};

/* A thread, as the governor knows it: an index that no other one has meanwhile. */
struct governed {
	struct {
		uint64_t born;
		uint64_t tid;
	} key;
	uint32_t index;
	uint64_t reading; /* the last one that it was met in */
	UT_hash_handle hh;
};

/* What the calls of one site have cost: each at the price of its time (bills.c). */
struct bill {
	uint64_t followed, skipped;             /* calls, as they were read now ... */
	uint64_t followed_ended, skipped_ended; /* ... of which these are not to be read again */
	uint64_t followed_paid, skipped_paid;   /* which are in the cost */
	size_t threads;
	struct site_price price;
};

struct tally_book {
	struct kernel *kernel;
	const struct plan *plan;
	/* Whose is this process number, as of a thread that made its first call then (ns)? *process: of OWNER_PROCESS.
	 */
	enum owner (*owner)(void *context, uint32_t pid, uint64_t born, struct tallied_process **process);
	void *context;

	struct event_names names; /* the number of each is its index in events */
	struct tally_event *events;
	size_t nevents, events_room;
	uint32_t *event_of;
	size_t nsites, sites_room;   /* by site id */
	struct ended_thread *ended;  /* since the last reading began */
	struct ended_thread *ending; /* those that the present reading is about */
	struct governor *governor;   /* NULL: none */
	struct governed *governed;
	uint32_t *resting;
	size_t nresting, resting_room; /* indexes of threads that have ended, to be used again */
	uint32_t next_index;
	uint64_t reading;
	struct probe_costs costs;
	struct bill *bills;
	size_t nbills;                   /* by site id */
	uint64_t cost;                   /* ns; what probes took */
	uint64_t billed, billed_changes; /* ns, when the bills were paid last; of what was in then */
	size_t entries;                  /* in the kernel's map, at the last reading */
	bool fold_all;                   /* every entry is to be folded and forgotten: sites get other meanings */
	uint32_t fold_pid;               /* so are those of this process; 0: none */
	int err;
};

/* bills.c: the sums are read: bills_begin(), bills_add() for each, bills_pay(). */
void bills_begin(struct tally_book *book);
void bills_add(struct tally_book *book, uint32_t site, const struct gb_sum *sum, bool ended);
/* again: no sum is kept, and the sites get other meanings. */
void bills_pay(struct tally_book *book, uint64_t now, bool again);

/* The plan has new sites: gives them their events. 0 or -ENOMEM. */
int tally_define(struct tally_book *book);
/* A thread has ended. -ENOMEM: its entries stay until tally_sweep(). */
int tally_end_thread(struct tally_book *book, uint32_t tid, uint64_t time);
/* Reads all sums. govern: the governor is told. breath: as in kernel_read_sums(); the figures are in no good order
 * until it returns. 0 or -errno, not said. */
int tally_read(struct tally_book *book, bool govern, struct breath *breath);
/* Also forgets threads of which no end was told. To be called now and then. */
void tally_sweep(struct tally_book *book, struct breath *breath);
/* Its events that have calls, as of that reading, into an array with room for all its tallies. Returns how many. */
size_t tallied_events(const struct tallied_process *process, uint64_t reading, struct monitor_process_event *events);
void tally_free_process(struct tallied_process *process);
void tally_free(struct tally_book *book);

#endif
