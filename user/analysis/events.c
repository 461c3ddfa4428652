/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c - the profile: how often, how long, how much, by event.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#include <stdlib.h>

#define SITES_PER_EVENT 10

static bool moved(const struct tally *tally)
{
	return tally->known_bytes || tally->known_sent || tally->known_received || tally->unknown_bytes;
}

static void likely_cell(const struct printer *p, struct table *t, uint64_t time, bool estimated)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s%s", estimated ? "~" : "", printer_time(p, text, time));
}

static void print_event(const struct printer *p, struct table *t, const struct report_event *event, bool with_inner,
			bool with_bytes)
{
	const struct tally *tally = &event->tally;
	char text[FORMAT_SIZE], label[LABEL_ROOM], bar[BAR_ROOM];

	table_cell(t, "%s", report_event_label(p->r, event->event, label, sizeof(label)));
	table_cell(t, "%s%s", format_count(text, tally->calls), event->out ? "+" : "");
	if (with_inner)
		table_cell(t, "%s", event->inner ? format_count(text, event->inner->calls) : "-");
	if (tally->timed) {
		likely_cell(p, t, tally->likely_total, tally->likely_total != tally->total);
		likely_cell(p, t, tally->likely_self, tally_missing(tally));
		table_cell(t, "%s", printer_time(p, text, tally->min));
		table_cell(t, "%s", printer_time(p, text, tally->max));
		table_cell(t, "%s", printer_time(p, text, tally->time / tally->timed));
		table_cell(t, "%s%.1f%%", tally_missing(tally) ? "~" : "", percent(tally->likely_self, p->r->wall));
		if (printer_has_bars(p))
			table_cell(t, "%s", printer_bar(p, bar, percent(tally->likely_self, p->r->wall)));
	} else {
		for (int i = 0; i < 6; i++)
			table_cell(t, "-");
		if (printer_has_bars(p))
			table_cell(t, "%s", "");
	}
	if (with_bytes)
		table_cell(t, "%s%s", printer_bytes(text, tally->bytes, tally->known_bytes, tally->unknown_bytes),
			   tally->known_bytes && report_event_posts(p->r, event->event) ? "*" : "");
}

static void say_regions(const struct printer *p, const char *event)
{
	char text[LABEL_ROOM + 100];

	snprintf(text, sizeof(text), "%s: Self is waiting for the others, where the shares of its regions were seen.",
		 event);
	printer_paragraph(p, "", text);
}

static void print_events(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Total" }, { .title = "Self" }, { .title = "Min", .drop = 3 },
		{ .title = "Max" },   { .title = "Mean" },
	};
	struct table t = { 0 };
	size_t shown = printer_rows(p, p->r->nevents);
	bool with_inner = false, with_bytes = false, posts = false;

	for (size_t i = 0; i < shown; i++) {
		with_inner |= p->r->events[i].inner != NULL;
		with_bytes |= moved(&p->r->events[i].tally);
		posts |= p->r->events[i].tally.known_bytes && report_event_posts(p->r, p->r->events[i].event);
	}
	table_column(&t, &(struct column){ .title = "Event", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "Calls" });
	if (with_inner)
		table_column(&t, &(struct column){ .title = "Inner" });
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	table_column(&t,
		     &(struct column){ .title = "% wall",
				       .legend = p->r->d->run.only_sums ? "% wall: self, of the time of all processes"
									: "% wall: self, of all threads' time" });
	if (printer_has_bars(p))
		table_column(&t, &(struct column){ .title = "", .left = true, .drop = 4, .paint = p->bar_paint });
	if (with_bytes)
		table_column(&t, &(struct column){ .title = "Bytes", .drop = 2 });
	for (size_t i = 0; i < shown; i++)
		print_event(p, &t, &p->r->events[i], with_inner, with_bytes);
	printer_titled_table(p,
			     p->r->d->run.only_sums ? "~ as if no observed call were inside; + more while probes were "
						      "out"
			     : p->r->outs           ? "~ estimated; + more while probes were out"
			     : p->r->calls > p->r->delivered
				     ? "~ an estimate, for the calls that are not on the timeline"
				     : "",
			     &t);
	printer_rest(p, shown, p->r->nevents, "events");
	for (size_t i = 0; i < shown; i++)
		if (report_begins_regions(p->r, p->r->events[i].event) && !p->r->d->run.only_sums)
			say_regions(p, report_event_name(p->r, p->r->events[i].event));
	if (posts)
		fputs("*: as the receives were posted; less may have come.\n", p->out);
	if (with_inner)
		printer_paragraph(
			p, "",
			"Inner: calls that the runtime made to itself. They are in no other column, and their "
			"time is that of the call around them.");
}

static int by_event(const void *a, const void *b)
{
	const struct site_row *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

/* Which lines of the program were behind it, where a library has made the call. */
static void put_chains(struct json *j, const struct report *r, const struct site_row *site)
{
	const char *event = r->d->probes[r->profile->events[site->event].probe].event;
	const struct def_chain *chain;
	size_t at = 0;

	json_key(j, "callers");
	json_array(j);
	while ((chain = chain_of_site(r->d, site->site, event, &at))) {
		json_object(j);
		json_key_string(j, "places", chain->places);
		json_key_uint(j, "looks", chain->looks);
		json_end_object(j);
	}
	json_end_array(j);
}

/* The event's hottest sites; r->sites is sorted by event here. */
static void put_sites(struct json *j, const struct report *r, uint32_t event)
{
	struct site_row least = { .event = event, .total = UINT64_MAX };
	size_t low = 0, high = r->nsites;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_event(&r->sites[middle], &least) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	json_key(j, "sites");
	json_array(j);
	for (size_t i = low; i < r->nsites && i < low + SITES_PER_EVENT && r->sites[i].event == event; i++) {
		uint32_t index = r->sites[i].site;
		const struct def_site *s = index < r->d->nsites ? &r->d->sites[index] : NULL;

		json_object(j);
		json_key_string(j, "file", s ? s->file : NULL);
		json_key_uint_known(j, "line", s ? s->line : 0, s && s->line);
		json_key_uint_known(j, "column", s ? s->column : 0, s && s->column);
		json_key_string(j, "function", s ? s->function : NULL);
		json_key_uint_known(j, "function_offset", s ? s->function_offset : 0, s && s->function);
		json_key_string(j, "image", s && s->image < r->d->nimages ? r->d->images[s->image].path : NULL);
		json_key_uint_known(j, "offset", s ? s->offset : 0, s && s->image < r->d->nimages);
		json_key_uint(j, "calls", r->sites[i].calls);
		json_key_uint(j, "total_ns", r->sites[i].total);
		put_chains(j, r, &r->sites[i]);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_events(void *state, const struct report *r, struct json *j)
{
	qsort(r->sites, r->nsites, sizeof(*r->sites), by_event);
	json_array(j);
	for (size_t i = 0; i < r->nevents; i++) {
		const struct report_event *e = &r->events[i];
		uint32_t probe = r->profile->events[e->event].probe;

		json_object(j);
		put_event_name(j, r, e->event);
		json_key_string(j, "model", r->d->probes[probe].model);
		json_key_string(j, "role", role_name(r->profile->events[e->event].role));
		put_tally(j, &e->tally);
		json_key_uint(j, "out_ns", e->out);
		put_sites(j, r, e->event);
		json_key(j, "inner");
		json_object(j);
		if (e->inner) {
			put_tally(j, e->inner);
			put_sites(j, r, r->profile->events[e->event].inner);
		} else {
			json_key_uint(j, "calls", 0);
		}
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_events = {
	.name = "events",
	.title = "Events by self time",
	.of_calls = true,
	.print = print_events,
	.json = put_events,
};
