/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * put.c - parts of the JSON report.
 */
#include "analysis/put.h"
#include "util/function_name.h"

#include <errno.h>
#include <stdlib.h>

void put_thread_ids(struct json *j, const struct report *r, uint32_t thread)
{
	const struct def_process *p = report_process(r, thread);

	json_key_uint_known(j, "pid", p ? p->pid : 0, p);
	json_key_uint(j, "tid", r->d->threads[thread].tid);
}

/* Its symbol, and what people call it, where that is something else. */
static void put_function(struct json *j, const char *symbol)
{
	char name[FUNCTION_NAME_ROOM];

	if (!symbol)
		return;
	json_key_string(j, "function", symbol);
	if (function_name(symbol, NAME_WITH_ARGUMENTS, name))
		json_key_string(j, "function_name", name);
}

void put_event_name(struct json *j, const struct report *r, uint32_t event)
{
	json_key_string(j, "name", report_event_name(r, event));
	put_function(j, report_function(r, event));
}

static void put_histogram(struct json *j, const struct tally *t)
{
	json_key(j, "histogram_ns");
	json_array(j);
	for (int i = 0; i < GB_BUCKETS; i++) {
		if (!t->bucket[i])
			continue;
		json_array(j);
		json_uint(j, i ? 1ull << i : 0);
		json_uint(j, t->bucket[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

void put_tally(struct json *j, const struct tally *t)
{
	bool likely = t->timed || t->likely_total; /* of a thread that has only skipped calls, by the other threads */

	json_key_uint(j, "calls", t->calls);
	json_key_uint(j, "delivered", t->calls - tally_missing(t));
	json_key_uint(j, "lost", t->lost);
	json_key_uint(j, "summed", t->summed);
	json_key_uint(j, "skipped", t->skipped);
	json_key_uint(j, "timed", t->timed);
	json_key_uint_known(j, "total_ns", t->total, t->timed);
	json_key_uint_known(j, "self_ns", t->self, t->timed && t->time > t->untold);
	json_key_uint_known(j, "estimated_total_ns", t->likely_total, likely);
	json_key_uint_known(j, "estimated_self_ns", t->likely_self, likely);
	json_key_uint_known(j, "min_ns", t->min, t->timed);
	json_key_uint_known(j, "max_ns", t->max, t->timed);
	json_key_uint_known(j, "mean_ns", t->timed ? t->time / t->timed : 0, t->timed);
	json_key_uint_known(j, "bytes", t->bytes, t->known_bytes);
	json_key_uint_known(j, "bytes_sent", t->sent, t->known_sent);
	json_key_uint_known(j, "bytes_received", t->received, t->known_received);
	json_key_uint(j, "calls_without_bytes", t->unknown_bytes);
	json_key_uint(j, "unwound", t->unwound);
	json_key_uint(j, "ended", t->ended);
	json_key_uint(j, "open", t->open);
	json_key_uint(j, "deep", t->deep);
	json_key_uint(j, "alone", t->alone);
	json_key_uint(j, "tails", t->tails);
	put_histogram(j, t);
}

void put_call_site(struct json *j, const char *key, const struct definitions *d, uint32_t site)
{
	char *place = site != NO_INDEX ? site_place(d, site) : NULL;

	if (site != NO_INDEX && !place)
		j->error = j->error ?: -ENOMEM;
	json_key_string(j, key, place);
	free(place);
}
