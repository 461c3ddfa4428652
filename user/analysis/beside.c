/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beside.c - for who shows calls beside the report: its times, threads and groups.
 */
#include "analysis/analysis.h"
#include "analysis/profile_data.h"
#include "analysis/report.h"

void reporter_times(const struct reporter *r, uint64_t *start, uint64_t *end)
{
	*start = r->report.start;
	*end = r->report.end;
}

void reporter_places(const struct reporter *r, uint32_t *places)
{
	for (size_t i = 0; i < r->d->nthreads; i++)
		places[i] = NO_INDEX;
	for (size_t i = 0; i < r->report.nthreads; i++)
		places[r->report.threads[i].thread] = i;
}

struct relations *reporter_relations(const struct reporter *r)
{
	return r->relations;
}

const char *report_group(unsigned number)
{
	return number < SHARES ? report_shares[number].name : NULL;
}

unsigned report_group_of_role(enum role role)
{
	unsigned group = 0;

	while (group + 1 < SHARES && !(report_shares[group].groups & 1u << group_of_role(role)))
		group++;
	return group;
}
