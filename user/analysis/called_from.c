/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * called_from.c - where the calls come from.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

#define HOTTEST_SITES 10
#define WORTH_SHARE 100 /* one in so many of the threads' time */

/* Which lines of the program were behind it, where a library has made the call. */
static void print_chains(const struct printer *p, struct table *t, const struct site_row *site)
{
	const char *event = p->r->d->probes[p->r->profile->events[site->event].probe].event;
	uint64_t all = 0;
	size_t at = 0;
	const struct def_chain *chain;

	while ((chain = chain_of_site(p->r->d, site->site, event, &at)))
		all += chain->looks;
	for (at = 0; (chain = chain_of_site(p->r->d, site->site, event, &at));) {
		table_cell(t, "  < %s", chain->places ? log_safe(chain->places) : "(not known)");
		table_cell(t, "in %llu of %llu look%s", (unsigned long long)chain->looks, (unsigned long long)all,
			   all == 1 ? "" : "s");
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
	}
}

static void print_site(const struct printer *p, struct table *t, const struct site_row *site)
{
	char label[LABEL_ROOM], calls[FORMAT_SIZE], text[FORMAT_SIZE];

	table_cell(t, "%s", site_label(p->r->d, site->site, label, sizeof(label)));
	table_cell(t, "%s", report_event_label(p->r, site->event, label, sizeof(label)));
	table_cell(t, "%s", format_count(calls, site->calls));
	table_cell(t, "%s", printer_time(p, text, site->total));
	print_chains(p, t, site);
}

/* With --sites: the events one after the other, each with its hottest sites. */
static void print_sites_by_event(const struct printer *p, struct table *t)
{
	for (size_t e = 0; e < printer_rows(p, p->r->nevents); e++) {
		size_t left = p->style->top ? p->style->top : p->r->nsites;

		for (size_t i = 0; i < p->r->nsites && left; i++) {
			if (p->r->sites[i].event != p->r->events[e].event)
				continue;
			print_site(p, t, &p->r->sites[i]);
			left--;
		}
	}
}

/* In the whole report a place that has no hundredth of the time says nothing that the table of events does not. */
static bool is_worth_a_row(const struct printer *p, const struct site_row *site)
{
	return p->whole || site->total >= p->r->wall / WORTH_SHARE;
}

/* A runtime calls it, from always the same place of its own; who began the region has a row. */
static bool is_share(const struct report *r, uint32_t event)
{
	return r->d->probes[r->profile->events[event].probe].marks & MARK_SHARE;
}

static void print_rows(const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Called from", .left = true, .shrinks = true },
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "Calls" },
		{ .title = "Total" },
	};
	struct table t = { 0 };
	size_t most = p->whole ? printer_rows(p, p->r->nsites) : HOTTEST_SITES, left = most, more = 0;

	if (!p->r->nsites)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	if (p->style->sites)
		print_sites_by_event(p, &t);
	for (size_t i = 0; i < p->r->nsites && !p->style->sites; i++) {
		if (p->r->profile->events[p->r->sites[i].event].is_inner || is_share(p->r, p->r->sites[i].event))
			continue;
		if (!left || !is_worth_a_row(p, &p->r->sites[i])) {
			more++;
			continue;
		}
		print_site(p, &t, &p->r->sites[i]);
		left--;
	}
	if (!t.ncells && !t.failed) {
		table_free(&t);
		return;
	}
	printer_heading(p, p->style->sites ? (p->r->calls > p->r->delivered ? "  (of the calls on the timeline)" : "")
			   : p->r->calls > p->r->delivered
				   ? "  (the hottest on the timeline, with all that happened inside; --sites: by event)"
				   : "  (the hottest, with all that happened inside; --sites: by event)");
	printer_table(p, &t);
	if (more && !p->style->sites)
		fprintf(p->out, "... and %zu more%s\n", more, p->whole ? "" : ": --section sites");
}

/* A text has calls of one line in one row. */
static void print_sites(void *state, const struct printer *p)
{
	struct report lines = *p->r;
	struct printer by_line = *p;

	by_line.r = &lines;
	lines.sites = calloc(lines.nsites + 1, sizeof(*lines.sites));
	if (lines.sites && p->r->nsites)
		memcpy(lines.sites, p->r->sites, p->r->nsites * sizeof(*lines.sites));
	if (!lines.sites || report_join_sites(&lines, true))
		*p->error = *p->error ?: -ENOMEM;
	else
		print_rows(&by_line);
	free(lines.sites);
}

const struct analysis analysis_sites = {
	.name = "sites",
	.title = "Call sites",
	.needs_calls = true,
	.of_calls = true,
	.print = print_sites,
};
