/* SPDX-License-Identifier: BSD-2-Clause */
/* gains.c - see gains.h. */
#include "analysis/gains.h"

#include <stdio.h>
#include <string.h>

#include "analysis/printer.h"
#include "util/format.h"
#include "util/log.h"

bool report_relieve(struct report *r, const struct relief *reliefs, size_t count, uint64_t *gains)
{
	int error;

	if (!r->relations || r->calls > r->simulates)
		return false;
	error = relations_relieve(r->relations, reliefs, count, gains);
	if (error && !r->simulation_error) {
		r->simulation_error = error;
		log_warn("a simulation failed (%s): what some findings would give is not known", strerror(-error));
	}
	return !error;
}

void report_find_gain(struct report *r, const struct relief *relief, struct finding *finding)
{
	bool known = !relief->sites;

	for (size_t i = 0; i < relief->nsites && !known; i++)
		known = relief->sites[i];
	finding->has_gain = known && report_relieve(r, relief, 1, &finding->gain);
}

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
