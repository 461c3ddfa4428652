/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * around.h - which call is around those that a library makes: what the program itself has called there. Private to
 * user/analysis.
 *
 * A runtime may be built upon another one (coarrays upon MPI, HDF5 upon MPI-IO): its calls of that are calls like any
 * other, and come from a place in a library, which says little to who has written the program.
 */
#ifndef GASPBPF_ANALYSIS_AROUND_H
#define GASPBPF_ANALYSIS_AROUND_H

#include "analysis/profile_data.h"

struct around {
	uint32_t event;
	uint32_t site; /* where that is called, mostly; NO_INDEX: at several places, or not known */
	bool all;      /* ... and nowhere else */
};

/* Of the calls of an event, from one place (of definitions.sites) or all (NO_INDEX). False: some are in none, or not
 * all in calls of one event, or it is not known. */
bool around_calls(const struct report *r, uint32_t event, uint32_t site, struct around *around);
/* ", inside of GASP_CAF_SYNC_ALL (a.f90:10 in main)" of these, or "". Into text. */
const char *around_text(const struct report *r, uint32_t event, uint32_t site, char *text, size_t room);

/* For around_note(): calls of the one row were inside of one of the other; nests: that is the program's own work. */
void around_vote(const struct profile *p, struct site_row *inside, uint32_t row, bool nests);

/* For the profile: a call from this site_row has ended, at this depth. NO_INDEX: it has none. */
static inline void around_note(struct profile *p, struct profiled_thread *t, uint32_t row, uint32_t depth, bool nests)
{
	if (row != NO_INDEX && !depth)
		p->sites[row].apart = true;
	if (depth + 1 < AROUND_DEPTHS && t->inside[depth + 1]) {
		around_vote(p, &p->sites[t->inside[depth + 1] - 1], row, nests);
		t->inside[depth + 1] = 0;
	}
	if (depth && depth < AROUND_DEPTHS)
		t->inside[depth] = row == NO_INDEX ? 0 : row + 1;
}

#endif
