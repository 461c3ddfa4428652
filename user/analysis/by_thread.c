/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by_thread.c - the profile by thread and event, for programs: a text has no room for it.
 */
#include "analysis/analysis.h"
#include "analysis/put.h"

static void put_rows(const struct report *r, struct json *j, bool inner)
{
	json_array(j);
	for (size_t i = 0; i < r->nrows; i++) {
		if (r->profile->events[r->rows[i].event].is_inner != inner)
			continue;
		json_object(j);
		put_thread_ids(j, r, r->rows[i].thread);
		put_event_name(j, r, r->rows[i].event);
		put_tally(j, &r->rows[i].tally);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_calls(void *state, const struct report *r, struct json *j)
{
	put_rows(r, j, false);
}

static void put_inner_calls(void *state, const struct report *r, struct json *j)
{
	put_rows(r, j, true);
}

const struct analysis analysis_by_thread = {
	.name = "by_thread",
	.json = put_calls,
};

const struct analysis analysis_inner_by_thread = {
	.name = "inner_by_thread",
	.json = put_inner_calls,
};
