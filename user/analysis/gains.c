/* SPDX-License-Identifier: BSD-2-Clause */
/* gains.c - see gains.h. */
#include "analysis/gains.h"

#include <stdio.h>

#include "analysis/printer.h"
#include "util/format.h"

int report_find_gain(const struct report *r, const struct relief *relief, struct finding *finding)
{
	bool known = !relief->sites;

	for (size_t i = 0; i < relief->nsites && !known; i++)
		known = relief->sites[i];
	if (!known || !r->relations || r->calls > r->simulates)
		return 0;
	finding->has_gain = true;
	return relations_relieve(r->relations, relief, 1, &finding->gain);
}

const char *gain_text(const struct report *r, const struct finding *finding, const char *condition,
		      const char *otherwise, char *text, size_t room)
{
	char time[FORMAT_SIZE];

	if (!finding->has_gain) {
		snprintf(text, room, "%s", otherwise);
		return text;
	}
	if (finding->gain < (r->end - r->start) / 1000) {
		snprintf(text, room, "; %s, the run would hardly be shorter", condition);
		return text;
	}
	snprintf(text, room, "; %s, the run would be %s (%.1f %%) shorter", condition, format_time(time, finding->gain),
		 percent(finding->gain, r->end - r->start));
	return text;
}
