/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases_print.c - iterations and phases as text, and as JSON.
 */
#include "analysis/phases.h"

#include <errno.h>
#include <stdio.h>

#include "analysis/printer.h"
#include "analysis/put.h"

#define OUTLIERS_SHOWN 3
#define WORDS 2000
#define HARDLY_ALIKE 3 /* standard deviation by mean: what varies more is hardly the same thing each time */

static unsigned long long shown_number(uint64_t number)
{
	return number + 1;
}

/* --- text ------------------------------------------------------------------- */

/* " (median 20.1 us)", where the mean tells little: of the only phase that has iterations; "": else. */
static const char *median_text(const struct iterating *it, char *text, size_t room)
{
	const struct part *only = NULL;
	char time[FORMAT_SIZE];

	*text = '\0';
	for (size_t i = 0; i < it->nparts; i++) {
		if (!it->parts[i].count)
			continue;
		if (only)
			return text;
		only = &it->parts[i];
	}
	if (only && it->variation > HARDLY_ALIKE)
		snprintf(text, room, " (median %s)", format_time(time, only->typical));
	return text;
}

static void print_iterations(const struct phases *s, const struct printer *p, const struct iterating *it)
{
	char label[2 * LABEL_ROOM], mean[FORMAT_SIZE], least[FORMAT_SIZE], most[FORMAT_SIZE], who[LABEL_ROOM],
		count[FORMAT_SIZE], median[FORMAT_SIZE + 20], text[WORDS];
	struct people members = { 0 };

	for (size_t i = 0; i < it->nmembers; i++)
		if (people_add(&members, it->members[i].thread))
			*p->error = *p->error ?: -ENOMEM;
	people_label(s->d, &members, who, sizeof(who));
	people_free(&members);
	iterating_label(s, p->r, it, label, sizeof(label));
	snprintf(text, sizeof(text), "%s iterations of %s, each %s %s: %s mean%s, %s to %s, varying by %.1f %%%s",
		 format_count(count, it->iterations), who,
		 it->kind == MARKER_PROGRAM ? "a call of" : "up to the end of", label, format_time(mean, it->mean),
		 median_text(it, median, sizeof(median)), format_time(least, it->shortest),
		 format_time(most, it->longest), 100 * it->variation,
		 it->variation > HARDLY_ALIKE ? ": they are so unlike that these are hardly the job's iterations" : "");
	printer_paragraph(p, "", text);
}

/* All of them, as a table. */
static void print_all_outliers(const struct phases *s, const struct printer *p, const struct iterating *it)
{
	static const struct column columns[] = {
		{ .title = "Outlier" },
		{ .title = "At" },
		{ .title = "Takes" },
		{ .title = "Median" },
		{ .title = "Longer", .left = true },
	};
	char text[2 * LABEL_ROOM];
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < printer_rows(p, it->noutliers); i++) {
		const struct outlier *is = &it->outliers[i];

		table_cell(&t, "%llu", shown_number(is->number));
		table_cell(&t, "%s", printer_time(p, text, is->end - is->lasted - p->r->start));
		table_cell(&t, "%s", printer_time(p, text, is->lasted));
		table_cell(&t, "%s", printer_time(p, text, is->typical));
		table_cell(&t, "%s%s", blame_text(s, it, &is->blame, text, sizeof(text)),
			   is->unlike ? ", with other calls than most" : "");
	}
	printer_table(p, &t);
	printer_rest(p, printer_rows(p, it->noutliers), it->noutliers, "outliers");
}

static void print_outliers(const struct phases *s, const struct printer *p, const struct iterating *it)
{
	size_t shown = it->noutliers < OUTLIERS_SHOWN ? it->noutliers : OUTLIERS_SHOWN;
	char at[FORMAT_SIZE], lasted[FORMAT_SIZE], who[2 * LABEL_ROOM];
	struct paragraph paragraph = printer_item(p, "-");

	paragraph_words(&paragraph, "%zu outlier%s:", it->noutliers, plural(it->noutliers));
	for (size_t i = 0; i < shown; i++) {
		const struct outlier *is = &it->outliers[i];

		blame_text(s, it, &is->blame, who, sizeof(who));
		paragraph_words(&paragraph, "number %llu at %s, %s%s%s%s%s%s", shown_number(is->number),
				format_time(at, is->end - is->lasted - p->r->start), format_time(lasted, is->lasted),
				*who ? " (" : "", who, *who ? ")" : "",
				is->unlike ? ", with other calls than most" : "", i + 1 < it->noutliers ? ";" : "");
	}
	if (it->noutliers > shown)
		paragraph_words(&paragraph, "and %zu more", it->noutliers - shown);
	paragraph_end(&paragraph);
}

static void print_change(const struct phases *s, const struct printer *p, const struct iterating *it, size_t i)
{
	const struct part *before = &it->parts[i - 1], *part = &it->parts[i];
	char at[FORMAT_SIZE], was[FORMAT_SIZE], is[FORMAT_SIZE], who[2 * LABEL_ROOM], text[WORDS];

	blame_text(s, it, &part->blame, who, sizeof(who));
	snprintf(text, sizeof(text), "%s from number %llu on, at %s: %s -> %s%s%s%s",
		 part->typical > before->typical ? "slower" : "faster", shown_number(part->number),
		 format_time(at, part->from - p->r->start), format_time(was, before->typical),
		 format_time(is, part->typical), *who ? " (" : "", who, *who ? ")" : "");
	printer_paragraph(p, "-", text);
}

static void print_unseen(const struct printer *p, const struct iterating *it)
{
	if (it->broken)
		printer_paragraph(p, "-",
				  "calls were lost: iterations with them are not counted, and numbers are those "
				  "of the iterations that were seen");
	if (it->missing)
		printer_paragraph(p, "-",
				  "not all calls that iterations are told by are on the timeline: some may be "
				  "several in one");
	if (p->whole && !it->begin_seen)
		printer_paragraph(p, "-", "the job's beginning was not observed: numbers count from where it was");
	if (p->whole && it->unlike)
		printer_paragraph(p, "-", "some iterations have other calls than most");
}

static void share_cell(struct table *t, double share)
{
	if (share < 0)
		table_cell(t, "-");
	else
		table_cell(t, "%.1f%%", 100 * share);
}

static void fill_parts(const struct printer *p, const struct iterating *it, struct table *t)
{
	static const struct column first[] = {
		{ .title = "Phase", .left = true }, { .title = "From" }, { .title = "Lasts" },
		{ .title = "Iterations" },          { .title = "Mean" },
	};
	bool used[SHARES] = { false };
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < it->nparts; i++)
		for (int k = 0; k < SHARES; k++)
			used[k] |= percent(share_of(&report_shares[k], it->parts[i].group), it->parts[i].time) >= 0.05;
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		table_column(t, &first[i]);
	for (int k = 0; k < SHARES; k++)
		if (used[k])
			table_column(t, &(struct column){ .title = report_shares[k].name });
	table_column(t, &(struct column){ .title = "outside" });
	table_column(t, &(struct column){ .title = "balance",
					  .drop = 1,
					  .legend = "balance: mean work, of the most that a thread has" });
	table_column(t, &(struct column){ .title = "comm.eff.",
					  .drop = 1,
					  .legend = "comm.eff.: the most that a thread works, of the phase" });
	for (size_t i = 0; i < it->nparts; i++) {
		const struct part *part = &it->parts[i];

		table_cell(t, "%s", part->name);
		table_cell(t, "%s", printer_time(p, text, part->from - p->r->start));
		table_cell(t, "%s", printer_time(p, text, part->to - part->from));
		table_cell(t, "%s", part->count ? format_count(text, part->iterations) : "-");
		table_cell(t, "%s", part->count ? printer_time(p, text, part->mean) : "-");
		for (int k = 0; k < SHARES; k++)
			if (used[k])
				table_cell(t, "%.1f%%", percent(share_of(&report_shares[k], part->group), part->time));
		table_cell(t, "%.1f%%", percent(part->group[GROUP_COMPUTE], part->time));
		share_cell(t, part->count ? part->load_balance : -1);
		share_cell(t, part->count ? part->communication : -1);
	}
}

static void print_parts(const struct printer *p, const struct iterating *it)
{
	struct table t = { 0 };

	fill_parts(p, it, &t);
	printer_table(p, &t);
}

/* Tables of several threads' iterations have the same columns, nearly. */
static void print_heading(const struct phases *s, const struct printer *p)
{
	struct table t = { 0 };

	if (s->nfound)
		fill_parts(p, &s->found[0], &t);
	printer_heading_of(p, s->nfound ? "%: of these threads' time in the phase, by outermost call" : "", &t);
	table_free(&t);
}

static void print_one(const struct phases *s, const struct printer *p, const struct iterating *it)
{
	print_iterations(s, p, it);
	if (it->noutliers && !p->whole)
		print_outliers(s, p, it);
	for (size_t i = 2; i + 1 < it->nparts; i++)
		print_change(s, p, it, i);
	print_unseen(p, it);
	print_parts(p, it);
	if (it->noutliers && p->whole)
		print_all_outliers(s, p, it);
}

void phases_print(void *state, const struct printer *p)
{
	const struct phases *s = state;
	size_t shown = p->whole ? printer_rows(p, s->nfound) : s->nfound ? 1 : 0;

	if (!s->nfound && !p->whole)
		return;
	print_heading(s, p);
	if (!s->nfound)
		printer_paragraph(p, "", "no iterations found");
	for (size_t i = 0; i < shown; i++)
		print_one(s, p, &s->found[i]);
	if (s->nfound + s->beyond > shown)
		fprintf(p->out, "... and iterations of %zu more%s\n", (size_t)(s->nfound + s->beyond - shown),
			p->whole ? "" : ": --section phases");
}

/* --- JSON ------------------------------------------------------------------- */

static void put_blame(const struct phases *s, const struct report *r, const struct iterating *it,
		      const struct blame *blame, struct json *j)
{
	json_key(j, "longer");
	if (!blame->known) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_string(j, "group", group_name(blame->group));
	json_key_uint(j, "ns", blame->longer);
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < it->nmembers; i++) {
		if (!people_has(&blame->who, it->members[i].thread))
			continue;
		json_object(j);
		put_thread_ids(j, r, it->members[i].thread);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void put_share(struct json *j, const char *key, double value)
{
	json_key(j, key);
	if (value < 0)
		json_null(j);
	else
		json_double(j, value);
}

static void put_part(const struct phases *s, const struct report *r, const struct iterating *it,
		     const struct part *part, struct json *j)
{
	json_object(j);
	json_key_string(j, "phase", part->name);
	json_key_uint(j, "from_ns", part->from);
	json_key_uint(j, "to_ns", part->to);
	json_key_uint(j, "iterations", part->iterations);
	json_key_uint_known(j, "first", part->number, part->count);
	json_key_uint_known(j, "mean_ns", part->mean, part->count);
	json_key_uint_known(j, "median_ns", part->typical, part->count);
	json_key_uint(j, "time_ns", part->time);
	json_key(j, "group_ns");
	json_object(j);
	for (int k = 0; k < SHARES; k++)
		json_key_uint(j, report_shares[k].name, share_of(&report_shares[k], part->group));
	json_key_uint(j, "outside", part->group[GROUP_COMPUTE]);
	json_end_object(j);
	put_share(j, "load_balance", part->count ? part->load_balance : -1);
	put_share(j, "communication", part->count ? part->communication : -1);
	put_share(j, "chance", part->chance < 1 ? part->chance : -1);
	put_blame(s, r, it, &part->blame, j);
	json_end_object(j);
}

static void put_outliers(const struct phases *s, const struct report *r, const struct iterating *it, struct json *j)
{
	json_key(j, "outliers");
	json_array(j);
	for (size_t i = 0; i < it->noutliers; i++) {
		const struct outlier *is = &it->outliers[i];

		json_object(j);
		json_key_uint(j, "number", is->number);
		json_key_uint(j, "start_ns", is->end - is->lasted);
		json_key_uint(j, "end_ns", is->end);
		json_key_uint(j, "lasted_ns", is->lasted);
		json_key_uint(j, "median_ns", is->typical);
		json_key_bool(j, "other_calls", is->unlike);
		put_blame(s, r, it, &is->blame, j);
		json_end_object(j);
	}
	json_end_array(j);
	json_key_uint(j, "outliers_cost_ns", it->outliers_cost);
	json_key(j, "outliers_period");
	if (it->period)
		json_uint(j, it->period);
	else
		json_null(j);
}

/* One after the other: each is an iteration, or as many as a stretch has. */
static void put_steps(const struct iterating *it, struct json *j)
{
	json_key(j, "steps");
	json_array(j);
	for (size_t i = 0; i < it->nsteps; i++) {
		const struct step *step = &it->steps[i];

		json_object(j);
		json_key_uint(j, "first", i * it->stride);
		json_key_uint(j, "iterations", step->iterations);
		json_key_uint(j, "end_ns", step->end);
		json_key_uint(j, "mean_ns", step->mean);
		json_key_uint(j, "min_ns", step->shortest);
		json_key_uint(j, "max_ns", step->longest);
		json_key_uint(j, "longest", step->number);
		json_key_uint(j, "longest_end_ns", step->longest_end);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_members(const struct report *r, const struct iterating *it, struct json *j)
{
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < it->nmembers; i++) {
		const struct marker *m = it->members[i].marker;

		json_object(j);
		put_thread_ids(j, r, it->members[i].thread);
		json_key_uint(j, "iterations", m->iterations);
		json_key_uint(j, "alike", m->alike);
		json_key_uint(j, "time_ns", m->time);
		json_key_uint(j, "min_ns", m->shortest);
		json_key_uint(j, "max_ns", m->longest);
		json_key_uint(j, "skipped", it->members[i].skip);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_one(const struct phases *s, const struct report *r, const struct iterating *it, struct json *j)
{
	static const char *const kinds[MARKER_KINDS] = { "program", "meeting", "message" };
	char text[LABEL_ROOM];

	json_object(j);
	json_key_string(j, "kind", kinds[it->kind]);
	put_event_name(j, r, it->event);
	json_key_string(j, "place", it->site < s->d->nsites ? site_label(s->d, it->site, text, sizeof(text)) : NULL);
	json_key_bool(j, "by_job", it->common);
	json_key_uint(j, "iterations", it->iterations);
	json_key_uint(j, "mean_ns", it->mean);
	json_key_uint(j, "min_ns", it->shortest);
	json_key_uint(j, "max_ns", it->longest);
	put_share(j, "variation", it->variation);
	json_key_uint(j, "other_calls", it->unlike);
	json_key_uint(j, "broken", it->broken);
	json_key_uint(j, "missing_calls", it->missing);
	json_key_bool(j, "beginning_seen", it->begin_seen);
	json_key_bool(j, "end_seen", it->end_seen);
	put_outliers(s, r, it, j);
	json_key(j, "phases");
	json_array(j);
	for (size_t i = 0; i < it->nparts; i++)
		put_part(s, r, it, &it->parts[i], j);
	json_end_array(j);
	put_members(r, it, j);
	put_steps(it, j);
	json_end_object(j);
}

void phases_put(void *state, const struct report *r, struct json *j)
{
	const struct phases *s = state;

	json_array(j);
	for (size_t i = 0; i < s->nfound; i++)
		put_one(s, r, &s->found[i], j);
	json_end_array(j);
}
