/* SPDX-License-Identifier: BSD-2-Clause */
/* gains.c - see gains.h. */
#include "analysis/gains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "util/array.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"

#define APART 100 /* one in so many: as much more or less than their sum is worth a word */

/* A simulation that fails is no reason to have no report. */
static bool has_simulated(struct report *r, int error)
{
	if (error && !r->simulation_error) {
		r->simulation_error = error;
		if (error != -ECANCELED)
			log_warn("a simulation failed (%s): what some findings would give is not known",
				 strerror(-error));
	}
	return !error;
}

bool report_relieve(struct report *r, const struct relief *reliefs, size_t count, uint64_t *gains)
{
	if (!r->relations || r->calls > r->simulates)
		return false;
	return has_simulated(r, relations_relieve(r->relations, reliefs, count, gains));
}

void report_find_gain(struct report *r, const struct relief *relief, struct finding *finding)
{
	bool known = !relief->sites;

	for (size_t i = 0; i < relief->nsites && !known; i++)
		known = relief->sites[i];
	finding->has_gain = known && report_relieve(r, relief, 1, &finding->gain);
	if (finding->has_gain)
		report_keep_relief(r, relief, finding);
}

/* --- all together --------------------------------------------------------------- */

/* The same bytes; NULL: there are none, or out of memory. */
static void *copied(const void *of, size_t count, size_t size)
{
	void *copy = of && count ? malloc(count * size) : NULL;

	return copy ? memcpy(copy, of, count * size) : NULL;
}

/* Where memory is out, what they give together is not known. */
void report_keep_relief(struct report *r, const struct relief *relief, struct finding *finding)
{
	struct relief copy = *relief;

	if (array_one_more(&r->reliefs, &r->reliefs_room, r->nreliefs, sizeof(*r->reliefs)))
		return;
	copy.sites = copied(relief->sites, relief->nsites, sizeof(*relief->sites));
	copy.times = copied(relief->times, relief->ntimes, sizeof(*relief->times));
	copy.also_after = copied(relief->also_after, relief->nalso, sizeof(*relief->also_after));
	copy.less_of = copied(relief->less_of, relief->nthreads, sizeof(*relief->less_of));
	r->reliefs[r->nreliefs++] = copy;
	if (!copy.sites == !relief->nsites && !copy.times == !relief->ntimes && !copy.also_after == !relief->nalso &&
	    !copy.less_of == !relief->nthreads)
		finding->relief = r->nreliefs;
}

void report_forget_reliefs(struct report *r)
{
	for (size_t i = 0; i < r->nreliefs; i++) {
		free((void *)r->reliefs[i].sites);
		free((void *)r->reliefs[i].times);
		free((void *)r->reliefs[i].also_after);
		free((void *)r->reliefs[i].less_of);
	}
	free(r->reliefs);
	r->reliefs = NULL;
	r->nreliefs = r->reliefs_room = 0;
}

static bool takes_part(const struct finding *finding)
{
	return finding->has_gain && finding->relief;
}

/* reliefs: has room for all that are told and all findings; gains: ns by all of them but this one. */
static bool relieve_but(struct report *r, struct relief *reliefs, const struct finding *findings, size_t count,
			size_t but, uint64_t *gain)
{
	size_t n = 0;

	*gain = 0;
	for (size_t i = 0; i < r->nfindings; i++)
		if (takes_part(&r->findings[i]))
			reliefs[n++] = r->reliefs[r->findings[i].relief - 1];
	for (size_t i = 0; i < count; i++)
		if (i != but && takes_part(&findings[i]))
			reliefs[n++] = r->reliefs[findings[i].relief - 1];
	return !n || has_simulated(r, relations_relieve_together(r->relations, reliefs, n, gain));
}

void report_find_gains_beside(struct report *r, const struct finding *findings, size_t count, uint64_t *gains)
{
	struct relief *reliefs = calloc(r->nfindings + count + 1, sizeof(*reliefs));
	uint64_t all = 0, without;
	bool known = reliefs && count && relieve_but(r, reliefs, findings, count, SIZE_MAX, &all);

	for (size_t i = 0; i < count; i++)
		gains[i] = known && relieve_but(r, reliefs, findings, count, i, &without) && without < all
				   ? all - without
				   : 0;
	free(reliefs);
}

void report_find_together(struct report *r)
{
	struct relief *all = calloc(r->nfindings + 1, sizeof(*all));
	struct together *together = &r->together;
	size_t count = 0;

	for (size_t i = 0; i < r->nfindings && all; i++) {
		if (!takes_part(&r->findings[i]))
			continue;
		all[count++] = r->reliefs[r->findings[i].relief - 1];
		together->sum += r->findings[i].gain;
	}
	together->known = count > 1 &&
			  has_simulated(r, relations_relieve_together(r->relations, all, count, &together->gain));
	free(all);
}

/* "1, 2 and 4" */
static void numbers(const struct report *r, char *text, size_t room)
{
	size_t left = 0, at = 0;

	*text = '\0';
	for (size_t i = 0; i < r->nfindings; i++)
		left += takes_part(&r->findings[i]);
	for (size_t i = 0; i < r->nfindings && at < room; i++) {
		if (!takes_part(&r->findings[i]))
			continue;
		left--;
		at += snprintf(text + at, room - at, "%zu%s", i + 1, left > 1 ? ", " : left ? " and " : "");
	}
}

const char *report_together_text(const struct report *r, char *text, size_t room)
{
	const struct together *together = &r->together;
	char who[200], time[FORMAT_SIZE], sum[FORMAT_SIZE], run[OBSERVED_ROOM];
	uint64_t gain = together->gain, all = together->sum, apart = gain < all ? all - gain : gain - all;
	size_t at;

	*text = '\0';
	if (!together->known)
		return text;
	numbers(r, who, sizeof(who));
	at = snprintf(text, room, "%s together: %s would be %s (%.1f %%) shorter", who,
		      report_observed(r, run, sizeof(run)), format_time(time, gain), percent(gain, r->end - r->start));
	format_time(sum, all);
	if (apart > all / APART && at < room)
		snprintf(
			text + at, room - at,
			gain < all
				? ". That is less than the sum of what each gives, %s: they overlap."
				: ". That is more than the sum of what each gives, %s: if only one is mended, the run waits for the "
				  "other.",
			sum);
	else if (at < room)
		snprintf(text + at, room - at, ": what each gives adds up.");
	return text;
}

static void put(void *state, const struct report *r, struct json *j)
{
	char text[TOGETHER_ROOM];

	if (!r->together.known) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key(j, "findings");
	json_array(j);
	for (size_t i = 0; i < r->nfindings; i++)
		if (takes_part(&r->findings[i]))
			json_uint(j, i + 1);
	json_end_array(j);
	json_key_uint(j, "sum_ns", r->together.sum);
	json_key_uint(j, "together_ns", r->together.gain);
	json_key_string(j, "text", report_together_text(r, text, sizeof(text)));
	json_end_object(j);
}

const struct analysis analysis_gains = { .name = "gains", .json = put };

/* --- words ---------------------------------------------------------------------- */

const char *report_observed(const struct report *r, char *text, size_t room)
{
	char time[FORMAT_SIZE];

	snprintf(text, room, "the %s observed", format_time(time, r->end - r->start));
	return text;
}

const char *gain_text(const struct report *r, const struct finding *finding, const char *condition,
		      const char *otherwise, char *text, size_t room)
{
	char time[FORMAT_SIZE], run[OBSERVED_ROOM];

	if (!finding->has_gain) {
		snprintf(text, room, "%s", otherwise);
		return text;
	}
	if (finding->gain < (r->end - r->start) / 1000) {
		snprintf(text, room, "; %s, %s would hardly be shorter", condition,
			 report_observed(r, run, sizeof(run)));
		return text;
	}
	snprintf(text, room, "; %s, %s would be %s (%.1f %%) shorter", condition, report_observed(r, run, sizeof(run)),
		 format_time(time, finding->gain), percent(finding->gain, r->end - r->start));
	return text;
}
