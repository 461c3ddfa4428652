/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * payload.c - what calls moved, where there is more to say than the table of events does.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

/* There is more to say of its payload than the table of events does: that has the bytes, and marks them where some are
 * not known. */
static bool has_payload_row(const struct printer *p, const struct tally *tally)
{
	if (p->whole)
		return tally->known_bytes || tally->known_sent || tally->known_received || tally->unknown_bytes;
	return (tally->known_sent && tally->known_received) || (tally->known_bytes && tally->unknown_bytes);
}

static void print_payload(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "Calls" },
		{ .title = "Bytes" },
		{ .title = "Sent" },
		{ .title = "Received" },
		{ .title = "Unknown calls" },
	};
	struct table t = { 0 };
	char text[FORMAT_SIZE], label[LABEL_ROOM];

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < printer_rows(p, p->r->nevents); i++) {
		const struct tally *tally = &p->r->events[i].tally;
		const char *posted = report_event_posts(p->r, p->r->events[i].event) ? "*" : "";

		if (!has_payload_row(p, tally))
			continue;
		table_cell(&t, "%s", report_event_label(p->r, p->r->events[i].event, label, sizeof(label)));
		table_cell(&t, "%s", format_count(text, tally->calls));
		table_cell(&t, "%s%s", printer_bytes(text, tally->bytes, tally->known_bytes, tally->unknown_bytes),
			   tally->known_bytes ? posted : "");
		table_cell(&t, "%s", printer_bytes(text, tally->sent, tally->known_sent, 0));
		table_cell(&t, "%s%s", printer_bytes(text, tally->received, tally->known_received, 0),
			   tally->known_received ? posted : "");
		table_cell(&t, "%s", tally->unknown_bytes ? format_count(text, tally->unknown_bytes) : "-");
	}
	if (t.ncells || t.failed) {
		printer_heading(p, p->whole ? "  (+: of some calls it is not known)"
					    : "  (of events that send and receive, or some of whose bytes are unknown: "
					      "+; --section payload: all)");
		printer_table(p, &t);
	} else {
		table_free(&t);
	}
}

const struct analysis analysis_payload = {
	.name = "payload",
	.title = "Payload",
	.print = print_payload,
};
