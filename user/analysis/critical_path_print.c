/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * critical_path_print.c - the critical path as text and JSON.
 */
#include "analysis/critical_path.h"
#include "analysis/paths.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#define ROWS_SHOWN 3
#define EVENTS_SHOWN 3

/* "outside of calls 62%, GASP_MPI_SEND 20%" */
static void put_events(const struct critical_path *s, const struct report *r, char *text, size_t room)
{
	char label[LABEL_ROOM];
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < s->events_room && i < EVENTS_SHOWN && at < room; i++) {
		const struct path_share *share = &s->events[i];

		if (percent(share->on_path, s->length) < 1)
			break;
		at += snprintf(text + at, room - at, "%s%s %.0f%%", at ? ", " : "",
			       share->of == NO_INDEX ? "outside of calls"
						     : report_event_label(r, share->of, label, sizeof(label)),
			       percent(share->on_path, s->length));
	}
}

/* What is not known of it, and why. */
static void put_limits(const struct critical_path *s, char *text, size_t room)
{
	char waits[FORMAT_SIZE];
	size_t at = 0;

	if (percent(s->unknown, s->length) >= 1)
		at += snprintf(text + at, room - at, "; %.0f%% not known", percent(s->unknown, s->length));
	if (s->forgotten && at < room)
		at += snprintf(text + at, room - at, "; of %s waits the path of the other is not known any more",
			       format_count(waits, s->forgotten));
	if (s->deeds.full && at < room)
		at += snprintf(text + at, room - at,
			       "; there are more than %u different parts, the others are not known", DEEDS_MOST);
	if (percent(s->sums[PATH_FOLDED], s->length) >= 1 && at < room)
		snprintf(text + at, room - at, "; %.0f%% in parts too small and too many to be kept",
			 percent(s->sums[PATH_FOLDED], s->length));
}

static void print_summary(const struct critical_path *s, const struct printer *p)
{
	char text[1024], events[600], who[LABEL_ROOM], length[FORMAT_SIZE], run[FORMAT_SIZE], changes[FORMAT_SIZE];
	const struct path_share *most = &s->threads[0];
	int at;

	put_events(s, p->r, events, sizeof(events));
	at = snprintf(text, sizeof(text), "%s of %s: %s; changes threads %s %s; %.0f%% on %s (%.0f%% would be even)",
		      format_time(length, s->length), format_time(run, p->r->end - p->r->start),
		      *events ? events : "nothing is known of it", format_count(changes, s->changes),
		      s->changes == 1 ? "time" : "times", percent(most->on_path, s->length),
		      thread_label(s->d, most->of, who, sizeof(who)), s->taking_part ? 100.0 / s->taking_part : 0);
	if (at < (int)sizeof(text))
		put_limits(s, text + at, sizeof(text) - at);
	printer_paragraph(p, "", text);
}

static char *who_has(const struct critical_path *s, const struct part *part, char *text, size_t room)
{
	return people_label_with_most(s->d, &part->who, part->deed->thread,
				      percent(s->sums[PATH_OTHERS + s->order[part->first]], part->on_path), text, room);
}

/* How many parts are in the table; 0: it has no columns. */
static size_t fill_parts(const struct critical_path *s, const struct printer *p, struct table *t)
{
	static const struct column columns[] = {
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "Does", .left = true, .shrinks = true },
		{ .title = "Where", .left = true, .shrinks = true },
		{ .title = "On path" },
		{ .title = "Share", .legend = "share: of the path" },
		{ .title = "Uneven", .drop = 1, .legend = "uneven: above an even share" },
		{ .title = "10% less", .legend = "10% less: what that gives" },
	};
	size_t shown = p->whole ? printer_rows(p, s->nparts) : s->nparts < ROWS_SHOWN ? s->nparts : ROWS_SHOWN;
	char text[2 * LABEL_ROOM], time[FORMAT_SIZE];

	while (!p->whole && shown && percent(s->parts[shown - 1].on_path, s->length) < 1)
		shown--;
	if (!shown)
		return 0;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct part *part = &s->parts[i];

		who_has(s, part, text, sizeof(text));
		table_cell(t, "%s", text);
		deed_word(s->d, part->deed, s->lasted[s->order[part->first]], text, sizeof(text));
		table_cell(t, "%s", text);
		deed_place(s->d, part->deed, NULL, 0, IN_TABLE, text, sizeof(text));
		table_cell(t, "%s", text);
		table_cell(t, "%s", printer_time(p, time, part->on_path));
		table_cell(t, "%.1f%%", percent(part->on_path, s->length));
		table_cell(t, "%s", printer_time(p, time, part->imbalance));
		if (part->deed->doing == DOING_UNKNOWN)
			table_cell(t, "-");
		else
			table_cell(t, "%s%s", part->has_gain ? "" : "<= ",
				   printer_time(p, time, part->has_gain ? part->gain : part_bound(part)));
	}
	return shown;
}

void critical_path_print(void *state, const struct printer *p)
{
	const struct critical_path *s = state;
	struct table t = { 0 };
	size_t shown;

	if (!s->length || (!critical_path_related(s) && !p->whole))
		return;
	shown = fill_parts(s, p, &t);
	printer_heading_of(p, "what the run is as long as", &t);
	print_summary(s, p);
	printer_table(p, &t);
	if (p->whole && shown)
		printer_rest(p, shown, s->nparts, "parts");
}

/* --- JSON ----------------------------------------------------------------------- */

static void put_threads(const struct critical_path *s, const struct report *r, struct json *j)
{
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < s->d->nthreads && s->threads[i].on_path; i++) {
		json_object(j);
		put_thread_ids(j, r, s->threads[i].of);
		json_key_uint(j, "on_path_ns", s->threads[i].on_path);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < s->events_room && s->events[i].on_path; i++) {
		uint32_t event = s->events[i].of;

		json_object(j);
		json_key_string(j, "name", event == NO_INDEX ? NULL : report_event_name(r, event));
		json_key_uint(j, "on_path_ns", s->events[i].on_path);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_part(const struct critical_path *s, const struct report *r, struct json *j, const struct part *part)
{
	bool known = part->deed->doing != DOING_UNKNOWN;

	json_object(j);
	put_deed(j, s->d, part->deed);
	json_key_uint(j, "on_path_ns", part->on_path);
	json_key_uint(j, "lasted_ns", part->lasted);
	json_key_uint_known(j, "imbalance_ns", part->imbalance, known);
	json_key_uint_known(j, "gain_at_most_ns", part_bound(part), known);
	json_key_uint_known(j, "gain_ns", part->gain, part->has_gain);
	json_key(j, "threads");
	json_array(j);
	for (size_t i = part->first; i < part->end; i++) {
		uint32_t deed = s->order[i];

		json_object(j);
		put_thread_ids(j, r, s->deeds.all[deed].thread);
		json_key_uint(j, "on_path_ns", s->sums[PATH_OTHERS + deed]);
		json_key_uint(j, "lasted_ns", s->lasted[deed]);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

void critical_path_json(void *state, const struct report *r, struct json *j)
{
	const struct critical_path *s = state;

	json_object(j);
	json_key_uint(j, "length_ns", s->length);
	json_key_uint(j, "unknown_ns", s->unknown);
	json_key_uint(j, "not_kept_ns", s->sums[PATH_FOLDED]);
	json_key_uint(j, "changes", s->changes);
	json_key_uint(j, "waits_not_kept", s->forgotten);
	json_key_bool(j, "too_many_parts", s->deeds.full);
	json_key(j, "ends");
	if (s->ends == NO_INDEX) {
		json_null(j);
	} else {
		json_object(j);
		put_thread_ids(j, r, s->ends);
		json_end_object(j);
	}
	put_threads(s, r, j);
	json_key(j, "parts");
	json_array(j);
	for (size_t i = 0; i < s->nparts; i++)
		put_part(s, r, j, &s->parts[i]);
	json_end_array(j);
	json_end_object(j);
}
