/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.h - what observing costs: the job's threads, by the calibration, and gaspbpf's own CPU time.
 */
#ifndef GASPBPF_OBSERVE_COST_H
#define GASPBPF_OBSERVE_COST_H

#include "capture/capture.h"

#define COST_SIZE 120

/* A thread, and what it had cost and run (ns) at some time. */
struct cost_suspect {
	uint32_t tid; /* 0: none */
	uint64_t cost, ran, at;
};

struct cost_meter {
	uint64_t started;            /* ns; of the observation */
	uint64_t ended;              /* ns; 0: it goes on */
	uint64_t shown;              /* ns; when the CPU time was looked at last */
	uint64_t cpu;                /* ns; own CPU time then */
	double worst;                /* share of its time that probes took from the thread where that is most */
	uint32_t tid;                /* of that thread; 0: none */
	struct cost_suspect suspect; /* cost_warn()'s, */
	bool warned;                 /* and whether it has */
};

void cost_begin(struct cost_meter *meter, uint64_t now);
void cost_end(struct cost_meter *meter, uint64_t now);
/* ns of CPU time of this process, all threads. */
uint64_t cost_own_cpu(void);
/* % of the time of all threads seen, in so many ns, that probes took. */
double cost_of_all(const struct capture_totals *totals, uint64_t elapsed);
/* For the live line: "cost 0.54% of 4 threads' time, 1.2% of the worst, own CPU 3%". */
const char *cost_now(char text[COST_SIZE], struct cost_meter *meter, const struct capture_session *capture,
		     uint64_t now);
/* Says, once, that probes take most of what some thread runs: who has set no limit wants to hear of it while there is
 * something to be done. To be called often. */
void cost_warn(struct cost_meter *meter, const struct capture_session *capture, uint64_t now);
/* The last word, on stderr. */
void cost_say(const struct capture_session *capture, const struct definitions *d);

/*
 * Where each process has links of its own, all of them are visited at each call of any. Says what that costs, and what
 * one link for everybody would cost whom, when it is more than a fifth, and again when it has doubled. *said: 0 at
 * first; private.
 */
void cost_say_own(unsigned *said, const struct kernel *kernel, const struct plan *plan);

#endif
