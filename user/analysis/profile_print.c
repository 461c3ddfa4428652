/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_print.c - the profile as a text for people.
 */
#include "analysis/counters.h"
#include "analysis/profile_data.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "analysis/printer.h"
#include "util/format.h"
#include "util/log.h"

#define SURE_NS 100000000ULL /* the kernel counts its time by ticks: less says nothing */

#define HOTTEST_SITES 10
#define WIDE 100 /* columns from which on times have four digits */
#define PROCESSES_SHOWN 8
#define TEXT_WIDTH 100 /* of a paragraph where the width is not limited */

/* --- numbers ----------------------------------------------------------------- */

/* "1.23 ms": at most seven characters below 11 days. */
static char *short_time(char *buffer, uint64_t ns)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {
		{ 1e3, "us" },
		{ 1e6, "ms" },
		{ 1e9, "s" },
	};
	size_t i = 0;

	if (ns < 1000) {
		snprintf(buffer, FORMAT_SIZE, "%u ns", (unsigned)ns);
		return buffer;
	}
	while (i < 2 && ns / units[i].unit >= 999.5)
		i++;
	double value = ns / units[i].unit;

	snprintf(buffer, FORMAT_SIZE, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i].name);
	return buffer;
}

char *printer_time(const struct printer *p, char *buffer, uint64_t ns)
{
	if (p->style->width && p->style->width < WIDE)
		return short_time(buffer, ns);
	return format_time(buffer, ns);
}

/* "12.5 MiB", with a + where some calls moved an unknown amount. */
static char *bytes_cell(char *buffer, uint64_t bytes, uint64_t known, uint64_t unknown)
{
	if (!known) {
		snprintf(buffer, FORMAT_SIZE, "%s", unknown ? "unknown" : "-");
		return buffer;
	}
	format_bytes(buffer, bytes);
	if (unknown)
		strncat(buffer, "+", FORMAT_SIZE - strlen(buffer) - 1);
	return buffer;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

size_t printer_rows(const struct printer *p, size_t count)
{
	return p->style->top && p->style->top < count ? p->style->top : count;
}

/* A line on those that are not shown. */
static void print_rest(const struct printer *p, size_t shown, size_t count, const char *what)
{
	if (count > shown)
		fprintf(p->out, "... and %zu more %s\n", count - shown, what);
}

/* --- sections ------------------------------------------------------------------ */

void printer_heading(const struct printer *p, const char *text, const char *note)
{
	fprintf(p->out, "\n%s%s%s%s\n", p->bold, text, p->plain, note);
}

void printer_table(const struct printer *p, struct table *t)
{
	int error = table_print(t, p->out, p->style->width);

	if (!*p->error)
		*p->error = error;
	table_free(t);
}

static unsigned least_floor(const struct def_run *run)
{
	return run->floor_ns[0] < run->floor_ns[1] ? run->floor_ns[0] : run->floor_ns[1];
}

static unsigned most_floor(const struct def_run *run)
{
	return run->floor_ns[2] > run->floor_ns[1] ? run->floor_ns[2] : run->floor_ns[1];
}

static void print_when(const struct printer *p)
{
	const struct def_run *run = &p->r->d->run;
	time_t seconds = run->start_realtime / 1000000000;
	char text[64], length[FORMAT_SIZE];
	struct tm when;

	fprintf(p->out, "Observed for %s", format_time(length, p->r->end > p->r->start ? p->r->end - p->r->start : 0));
	if (run->start_realtime && localtime_r(&seconds, &when) && strftime(text, sizeof(text), "%F %T %z", &when))
		fprintf(p->out, " from %s", text);
	if (run->host)
		fprintf(p->out, " on %s", log_safe(run->host));
	if (run->kernel)
		fprintf(p->out, " (Linux %s)", log_safe(run->kernel));
	fputc('\n', p->out);
	if (run->reason)
		fprintf(p->out, "Flight recording: what led up to this: %s%s%s\n", p->bold, log_safe(run->reason),
			p->plain);
	if (p->r->profile->subtract_floor)
		fprintf(p->out, "Times are without the probes' own part, %u to %u ns a call.\n", least_floor(run),
			most_floor(run));
	if (!run->finished)
		fprintf(p->out, "%sThe recording was cut: what follows is what was saved until then.%s\n", p->bold,
			p->plain);
}

static void print_process(const struct printer *p, uint32_t index)
{
	const struct def_process *def = &p->r->d->processes[index];
	const char *command = def->command && *def->command ? def->command : def->name;
	unsigned threads = 0;
	struct who who = who_is_process(p->r->d, index);
	char label[LABEL_ROOM];

	for (size_t i = 0; i < p->r->nthreads; i++)
		threads += p->r->threads[i].process == index;
	fprintf(p->out, "  %s, %u %s: %s", label_with_pid(&who, label, sizeof(label)), threads,
		threads == 1 ? "thread" : "threads", command ? log_safe(command) : "?");
	if (def->has_exit && (def->exit_code & 0x7f))
		fprintf(p->out, " (killed by signal %d)", def->exit_code & 0x7f);
	else if (def->has_exit)
		fprintf(p->out, " (exited with %d)", def->exit_code >> 8 & 0xff);
	fputc('\n', p->out);
}

static void print_header(const struct printer *p)
{
	size_t count = 0;

	print_when(p);
	for (size_t i = 0; i < p->r->d->nprocesses; i++)
		if (!p->r->d->processes[i].left_out && count++ < PROCESSES_SHOWN)
			print_process(p, i);
	if (count > PROCESSES_SHOWN)
		fprintf(p->out, "  ... and %zu more processes\n", count - PROCESSES_SHOWN);
	print_left_out(p);
}

static bool moved(const struct tally *tally)
{
	return tally->known_bytes || tally->known_sent || tally->known_received || tally->unknown_bytes;
}

/* There is more to say of its payload than the table of events does. */
static bool has_payload_row(const struct printer *p, const struct tally *tally)
{
	bool narrow = p->style->width && p->style->width < WIDE;

	return tally->known_sent || tally->known_received || tally->unknown_bytes || (narrow && tally->known_bytes);
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
	char text[FORMAT_SIZE], label[LABEL_ROOM];

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
	} else {
		for (int i = 0; i < 6; i++)
			table_cell(t, "-");
	}
	if (with_bytes)
		table_cell(t, "%s", bytes_cell(text, tally->bytes, tally->known_bytes, tally->unknown_bytes));
}

static void print_payload(const struct printer *p)
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

		if (!has_payload_row(p, tally))
			continue;
		table_cell(&t, "%s", report_event_label(p->r, p->r->events[i].event, label, sizeof(label)));
		table_cell(&t, "%s", format_count(text, tally->calls));
		table_cell(&t, "%s", bytes_cell(text, tally->bytes, tally->known_bytes, tally->unknown_bytes));
		table_cell(&t, "%s", bytes_cell(text, tally->sent, tally->known_sent, 0));
		table_cell(&t, "%s", bytes_cell(text, tally->received, tally->known_received, 0));
		table_cell(&t, "%s", tally->unknown_bytes ? format_count(text, tally->unknown_bytes) : "-");
	}
	if (t.ncells || t.failed) {
		printer_heading(p, "Payload", "  (Bytes with +: the payload of some calls is unknown)");
		printer_table(p, &t);
	} else {
		table_free(&t);
	}
}

static void print_events(const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Total" }, { .title = "Self" }, { .title = "Min", .drop = 2 },
		{ .title = "Max" },   { .title = "Mean" }, { .title = "% wall" },
	};
	struct table t = { 0 };
	size_t shown = printer_rows(p, p->r->nevents);
	bool with_inner = false, with_bytes = false;

	for (size_t i = 0; i < shown; i++) {
		with_inner |= p->r->events[i].inner != NULL;
		with_bytes |= moved(&p->r->events[i].tally);
	}
	table_column(&t, &(struct column){ .title = "Event", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "Calls" });
	if (with_inner)
		table_column(&t, &(struct column){ .title = "Inner" });
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	if (with_bytes)
		table_column(&t, &(struct column){ .title = "Bytes", .drop = 3 });
	for (size_t i = 0; i < shown; i++)
		print_event(p, &t, &p->r->events[i], with_inner, with_bytes);
	printer_heading(
		p, "Events by self time",
		p->r->outs ? "  (% wall: self, of all threads; ~ estimated; + more while probes were out)"
		: p->r->calls > p->r->delivered
			? "  (% wall: self, of the time of all threads; ~ an estimate, for the calls that are not on "
			  "the timeline)"
			: "  (% wall: self, of the time of all threads)");
	printer_table(p, &t);
	print_rest(p, shown, p->r->nevents, "events");
	if (with_inner)
		fputs("Inner: calls that the runtime made to itself. They are in no other column, and their time is "
		      "that of the call around them.\n",
		      p->out);
}

static void print_thread(const struct printer *p, struct table *t, const struct report_thread *row, const bool *used)
{
	struct who who = who_is_thread(p->r->d, row->thread);
	const char *about = row->lost || row->summed || row->skipped ? "~" : "";
	char label[LABEL_ROOM], text[FORMAT_SIZE];

	table_cell(t, "%s", label_without_tid(&who, label, sizeof(label)));
	table_cell(t, "%u", p->r->d->threads[row->thread].tid);
	table_cell(t, "%s", format_count(text, row->spans + row->lost + row->summed + row->skipped));
	table_cell(t, "%s", printer_time(p, text, row->wall));
	for (int i = 0; i < SHARES; i++) {
		if (used[i])
			table_cell(t, "%s%.1f%%", about,
				   percent(share_of(&report_shares[i], row->likely_group), row->wall));
	}
	table_cell(t, "%s%.1f%%", about, percent(row->likely_outside, row->wall));
	table_cell(t, "%.*f%%", percent(row->cost, row->wall) < 1 ? 2 : 1, percent(row->cost, row->wall));
}

/* A paragraph that begins with "- " or the like, is broken at blanks, and goes on below its own beginning. */
static void print_paragraph(const struct printer *p, const char *before, const char *text)
{
	size_t width = p->style->width ? p->style->width : TEXT_WIDTH, indent = strlen(before), column = indent;

	fputs(before, p->out);
	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > indent && column + 1 + length > width) {
			fprintf(p->out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', p->out);
			column++;
		}
		fprintf(p->out, "%.*s", (int)length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', p->out);
}

/* The calibration beside what the job's threads themselves show: probes run in the kernel, so they cannot have taken
 * more than was spent there. */
static void print_cost(const struct printer *p)
{
	char probes[FORMAT_SIZE], all[FORMAT_SIZE], text[300];
	uint64_t cost = 0, system = 0;

	for (size_t i = 0; i < p->r->nthreads; i++) {
		if (!p->r->threads[i].system)
			continue;
		cost += p->r->threads[i].cost;
		system += p->r->threads[i].system;
	}
	if (!system)
		return;
	snprintf(text, sizeof(text),
		 "Probes took about %s of these threads' time (estimated from the price of a call); their whole time "
		 "in the kernel, probes included, was %s (measured).%s",
		 format_time(probes, cost), format_time(all, system),
		 cost > system + system / 4 && cost > SURE_NS ? " So the cost is overstated." : "");
	print_paragraph(p, "", text);
}

static void print_threads(const struct printer *p)
{
	static const struct column first[] = {
		{ .title = "Thread", .left = true, .shrinks = true },
		{ .title = "tid" },
		{ .title = "Calls", .drop = 1 },
		{ .title = "Wall" },
	};
	size_t shown = printer_rows(p, p->r->nthreads);
	bool used[SHARES] = { false };
	struct table t = { 0 };

	for (size_t i = 0; i < p->r->nthreads; i++) {
		for (int k = 0; k < SHARES; k++)
			used[k] |= share_of(&report_shares[k], p->r->threads[i].likely_group) > 0;
	}
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		table_column(&t, &first[i]);
	for (int i = 0; i < SHARES; i++) {
		if (used[i])
			table_column(&t, &(struct column){ .title = report_shares[i].name });
	}
	table_column(&t, &(struct column){ .title = "outside" });
	table_column(&t, &(struct column){ .title = "cost", .drop = 2 });
	for (size_t i = 0; i < shown; i++)
		print_thread(p, &t, &p->r->threads[i], used);
	printer_heading(p, "Threads", "  (% of wall; outside: in no probed call; cost: of the probes)");
	printer_table(p, &t);
	print_rest(p, shown, p->r->nthreads, "threads");
	print_cost(p);
}

static void print_site(const struct printer *p, struct table *t, const struct site_row *site)
{
	char label[LABEL_ROOM], calls[FORMAT_SIZE], text[FORMAT_SIZE];

	table_cell(t, "%s", site_label(p->r->d, site->site, label, sizeof(label)));
	table_cell(t, "%s", report_event_label(p->r, site->event, label, sizeof(label)));
	table_cell(t, "%s", format_count(calls, site->calls));
	table_cell(t, "%s", printer_time(p, text, site->total));
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

static void print_sites(const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Called from", .left = true, .shrinks = true },
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "Calls" },
		{ .title = "Total" },
	};
	struct table t = { 0 };

	if (!p->r->nsites)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	if (p->style->sites)
		print_sites_by_event(p, &t);
	for (size_t i = 0, left = p->style->sites ? 0 : HOTTEST_SITES; i < p->r->nsites && left; i++) {
		if (p->r->profile->events[p->r->sites[i].event].is_inner)
			continue;
		print_site(p, &t, &p->r->sites[i]);
		left--;
	}
	printer_heading(p, "Call sites",
			p->style->sites ? (p->r->calls > p->r->delivered ? "  (of the calls on the timeline)" : "")
			: p->r->calls > p->r->delivered
				? "  (the hottest of all on the timeline; report --sites has them by event)"
				: "  (the hottest of all; report --sites has them by event)");
	printer_table(p, &t);
}

static void print_findings(const struct printer *p)
{
	printer_heading(p, "Findings", "");
	for (size_t i = 0; i < p->r->nfindings; i++)
		print_paragraph(p, "- ", p->r->findings[i].text);
	if (!p->r->nfindings)
		fputs(p->r->profile->spans ? "Nothing stands out.\n" : "No call was observed.\n", p->out);
}

int profile_print(struct profile *profile, const struct definitions *d, FILE *out, const struct profile_style *style)
{
	int failed = 0, error;
	struct report report;
	struct printer p = {
		.r = &report,
		.style = style,
		.out = out,
		.error = &failed,
		.bold = style->colour ? "\033[1m" : "",
		.plain = style->colour ? "\033[0m" : "",
	};
	error = report_make(&report, profile, d);
	if (error)
		return error;
	if (report_join_sites(&report, true)) {
		report_free(&report);
		return -ENOMEM;
	}
	print_header(&p);
	if (report.nevents) {
		print_events(&p);
		print_missing(&p);
		if (style->histogram)
			print_histogram(&p);
		print_payload(&p);
		print_threads(&p);
		print_sites(&p);
	}
	if (style->counters)
		error = counters_print(style->counters, d, out, style->width, style->colour);
	print_findings(&p);
	print_steps(&p);
	print_windows(&p);
	print_controls(&p);
	print_not_observable(&p);
	print_loss(&p);
	report_free(&report);
	if (error || failed)
		return error ?: failed;
	errno = 0;
	return fflush(out) || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
