/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * told.c - see told.h: each analysis tells what it has.
 */
#include "analysis/told.h"

#include "analysis/analysis.h"

int reporter_tell(struct reporter *r, const struct report_teller *teller)
{
	int error = reporter_finish(r);

	for (size_t i = 0; i < r->count && !error; i++)
		if (r->all[i].made && r->all[i].is->tell)
			error = r->all[i].is->tell(r->all[i].state, &r->report, teller);
	return error;
}

void reporter_watch(struct reporter *r, const struct report_watch *watch)
{
	r->watch = *watch;
}
