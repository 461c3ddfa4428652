/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * past.h - what each thread did lately, to look up what one did while another waited for it. Private to user/analysis.
 *
 * It is fed with what simulate/relations.h tells. A thread's past is a row of pieces of time, one after the other.
 * Where it waited itself, the one that it waited for is to blame, and so on, down to who worked.
 */
#ifndef GASPBPF_ANALYSIS_PAST_H
#define GASPBPF_ANALYSIS_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/relations.h"

enum doing {
	DOING_WORK,    /* the program's own: struct related_work */
	DOING_CALL,    /* in a call, for itself */
	DOING_WAIT,    /* in a call, for somebody else */
	DOING_UNKNOWN, /* calls are missing, or it was not observed then */
	DOINGS
};

/* What a thread did for some time. */
struct deed {
	uint32_t thread;
	enum doing doing;
	uint32_t inside;      /* DOING_WORK: the probe of the function of the user's or task around it; NO_INDEX */
	struct called call;   /* DOING_CALL, DOING_WAIT */
	struct called after;  /* DOING_WORK: the calls before it and behind it */
	struct called before; /* likewise */
};

struct pasts;

/* same_site: as of struct relief; must outlive it. NULL: out of memory. */
struct pasts *pasts_new(const struct definitions *d, const uint32_t *same_site);
void pasts_free(struct pasts *pasts);

/* What a piece of work, or a call that waited for nobody, is called. */
struct deed past_work_deed(const struct pasts *pasts, const struct related_work *work);
struct deed past_call_deed(const struct pasts *pasts, const struct related_call *call);

/* Both in the order of time, for each thread. 0 or -ENOMEM. */
int past_work(struct pasts *pasts, const struct related_work *work);
int past_call(struct pasts *pasts, const struct related_call *call, const struct waited *waited);

/*
 * Who is to blame for the time in which somebody waited for waited->of, from `from` on: told piece by piece, with the
 * ns of each. passed_on: the one that was waited for waited itself, for this thread. All pieces together are the time
 * until waited->until. 0, or what told() returned.
 */
typedef int past_told(void *context, const struct deed *deed, uint64_t ns, bool passed_on);
int past_blame(const struct pasts *pasts, uint64_t from, const struct waited *waited, past_told *told, void *context);

#endif
