/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * missing.c - calls that are not on the timeline, by event.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

static void print_missing(void *state, const struct printer *p)
{
	struct table t = { 0 };
	char text[FORMAT_SIZE], label[LABEL_ROOM];

	if (p->r->d->run.only_sums) /* there is no timeline */
		return;
	table_column(&t, &(struct column){ .title = "Event", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "Calls" });
	table_column(&t, &(struct column){ .title = "On timeline" });
	table_column(&t, &(struct column){ .title = "Lost" });
	if (p->r->summed)
		table_column(&t, &(struct column){ .title = "Summed up" });
	if (p->r->skipped)
		table_column(&t, &(struct column){ .title = "Only counted" });
	for (size_t i = 0; i < printer_rows(p, p->r->nevents); i++) {
		const struct tally *tally = &p->r->events[i].tally;

		if (!tally_missing(tally))
			continue;
		table_cell(&t, "%s", report_event_label(p->r, p->r->events[i].event, label, sizeof(label)));
		table_cell(&t, "%s", format_count(text, tally->calls));
		table_cell(&t, "%s", format_count(text, tally->calls - tally_missing(tally)));
		table_cell(&t, "%s", format_count(text, tally->lost));
		if (p->r->summed)
			table_cell(&t, "%s", format_count(text, tally->summed));
		if (p->r->skipped)
			table_cell(&t, "%s", format_count(text, tally->skipped));
	}
	if (t.ncells || t.failed) {
		printer_heading(p, p->r->skipped ? "  (all but those only counted were timed in the kernel)"
						 : "  (they were timed in the kernel)");
		printer_table(p, &t);
	} else {
		table_free(&t);
	}
}

const struct analysis analysis_missing = {
	.name = "missing",
	.title = "Calls that are not on the timeline",
	.print = print_missing,
};
