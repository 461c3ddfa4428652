/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions_print.c - regions, as text and as JSON.
 */
#include "analysis/regions.h"

#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "util/format.h"

#define ROWS_SHOWN 5
#define WORTH 1000       /* one in so many of the threads' time: less is not shown in the whole report */
#define WORTH_SERIAL 100 /* likewise, of the run */
#define PAIRS_SHOWN 10

static uint64_t mean(uint64_t sum, uint64_t count)
{
	return count ? sum / count : 0;
}

static char *place(const struct regions *s, const struct region_row *row, char *text, size_t room)
{
	return region_label(s, row->site, row->probe, row->share, text, room);
}

/* --- text: the table ------------------------------------------------------------ */

static const struct column columns[] = {
	{ .title = "Region", .left = true, .shrinks = true },
	{ .title = "Times" },
	{ .title = "Threads", .drop = 2 },
	{ .title = "Mean", .drop = 1 },
	{ .title = "Time" },
	{ .title = "Imbalance" },
	{ .title = "Wait at end" },
	{ .title = "Chunks", .drop = 3 },
	{ .title = "Done last", .left = true, .shrinks = true },
};

static void put_threads_cell(struct table *t, const struct region_sums *sums)
{
	if (!sums->judged)
		table_cell(t, "?");
	else if (sums->least_threads == sums->most_threads)
		table_cell(t, "%llu", (unsigned long long)sums->most_threads);
	else
		table_cell(t, "%llu-%llu", (unsigned long long)sums->least_threads,
			   (unsigned long long)sums->most_threads);
}

/* Who is persistently last, in all processes; how often, and of how many times. 0 or -ENOMEM. */
static int find_last(const struct regions *s, const struct region_row *row, struct people *last, uint64_t *times,
		     uint64_t *came)
{
	int error = 0;

	for (size_t i = 0; i < row->count && !error; i++) {
		const struct region_member *member = region_last(s, s->by_row[row->first + i]);

		if (!member)
			continue;
		error = people_add(last, member->thread);
		*times += member->last;
		*came += member->came;
	}
	return error;
}

static void put_last_cell(const struct regions *s, const struct printer *p, struct table *t,
			  const struct region_row *row)
{
	uint64_t times = 0, came = 0;
	struct people last = { 0 };
	char label[LABEL_ROOM];
	int error = find_last(s, row, &last, &times, &came);

	*p->error = *p->error ?: error;
	if (people_count(&last))
		table_cell(t, "%s in %.0f%%", people_label(s->d, &last, label, sizeof(label)), percent(times, came));
	else
		table_cell(t, "%s", row->sums.judged ? "by turns" : "?");
	people_free(&last);
}

static void print_row(const struct regions *s, const struct printer *p, struct table *t, const struct region_row *row)
{
	const struct region_sums *sums = &row->sums;
	char label[LABEL_ROOM], text[FORMAT_SIZE];

	table_cell(t, "%s", place(s, row, label, sizeof(label)));
	table_cell(t, "%s", format_count(text, sums->times));
	put_threads_cell(t, sums);
	table_cell(t, "%s", printer_time(p, text, mean(sums->time, sums->times)));
	table_cell(t, "%s", printer_time(p, text, sums->time));
	if (sums->judged) {
		table_cell(t, "%.1f%%", region_imbalance(sums));
		table_cell(t, "%s", printer_time(p, text, sums->waited));
	} else {
		table_cell(t, "?");
		table_cell(t, "?");
	}
	table_cell(t, "%s", sums->chunks ? format_count(text, sums->chunks) : "-");
	put_last_cell(s, p, t, row);
}

/* Its threads: what of it is theirs. */
static void print_members(const struct regions *s, const struct printer *p, struct table *t, uint32_t region)
{
	size_t count;
	const struct region_member *members = region_members(s, region, &count);
	char label[LABEL_ROOM], text[FORMAT_SIZE];

	for (size_t i = 0; i < count && i < printer_rows(p, count); i++) {
		const struct region_member *m = &members[i];

		table_cell(t, "  %s", thread_label(s->d, m->thread, label, sizeof(label)));
		table_cell(t, "%s", format_count(text, m->came));
		table_cell(t, " ");
		table_cell(t, "%s", printer_time(p, text, mean(m->share, m->came)));
		table_cell(t, "%s", printer_time(p, text, m->share));
		table_cell(t, " ");
		table_cell(t, "%s", printer_time(p, text, m->waited));
		table_cell(t, "%s", m->chunks ? format_count(text, m->chunks) : "-");
		table_cell(t, "in %.0f%%", percent(m->last, m->came));
	}
}

/* What else is in its shares, and around them. */
static void say_inside(const struct regions *s, const struct printer *p, const struct region_row *row)
{
	const struct region_sums *sums = &row->sums;
	char label[LABEL_ROOM], share[FORMAT_SIZE], waits[FORMAT_SIZE], locks[FORMAT_SIZE], single[FORMAT_SIZE],
		overhead[FORMAT_SIZE], text[LABEL_ROOM + 400];

	if (!sums->judged)
		return;
	snprintf(
		text, sizeof(text),
		"%s: of %s in the shares %s waiting for others, %s for locks, %s in blocks of one thread; to begin and "
		"end the region takes %s each time",
		place(s, row, label, sizeof(label)), format_time(share, sums->share), format_time(waits, sums->waits),
		format_time(locks, sums->locks), format_time(single, sums->single),
		format_time(overhead, sums->overhead / sums->judged));
	printer_paragraph(p, "-", text);
}

static bool is_worth(const struct printer *p, const struct region_row *row)
{
	uint64_t lost = row->sums.waited + row->sums.overhead;

	return p->whole || (lost && lost >= p->r->wall / WORTH);
}

/* --- text: between regions ------------------------------------------------------ */

static void say_serial(const struct regions *s, const struct printer *p, const struct region_beginner *b)
{
	const struct serial *most = serial_longest(s, s->d->threads[b->thread].process);
	char who[LABEL_ROOM], where[2 * LABEL_ROOM], ns[FORMAT_SIZE], waits[FORMAT_SIZE + 60] = "",
											  text[4 * LABEL_ROOM];

	if (b->waits)
		snprintf(waits, sizeof(waits), ", and for %s that it waits for others", format_time(ns, b->waits));
	snprintf(text, sizeof(text),
		 "%s: outside of all regions for %s, %.1f %% of the time from its first one to its last%s%s%s",
		 thread_label(s->d, b->thread, who, sizeof(who)), format_time(ns, serial_work(b)),
		 percent(serial_work(b), b->last - b->first), waits, most ? "; most of it " : "",
		 most ? serial_place(s, most, where, sizeof(where)) : "");
	printer_paragraph(p, "-", text);
}

static void print_serials(const struct regions *s, const struct printer *p)
{
	static const struct column serial_columns[] = {
		{ .title = "Outside of regions, after", .left = true, .shrinks = true },
		{ .title = "before", .left = true, .shrinks = true },
		{ .title = "Times" },
		{ .title = "Time" },
		{ .title = "Waits", .drop = 1 },
		{ .title = "Longest", .drop = 2 },
	};
	size_t shown = printer_rows(p, s->nserials);
	char label[LABEL_ROOM], text[FORMAT_SIZE];
	struct table t = { 0 };

	shown = shown < PAIRS_SHOWN ? shown : PAIRS_SHOWN;
	if (!shown)
		return;
	for (size_t i = 0; i < sizeof(serial_columns) / sizeof(*serial_columns); i++)
		table_column(&t, &serial_columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct serial *one = &s->serials[i];

		table_cell(&t, "%s", place(s, &s->rows[s->regions[one->after].row], label, sizeof(label)));
		table_cell(&t, "%s", place(s, &s->rows[s->regions[one->before].row], label, sizeof(label)));
		table_cell(&t, "%s", format_count(text, one->times));
		table_cell(&t, "%s", printer_time(p, text, one->time));
		table_cell(&t, "%s", printer_time(p, text, one->waits));
		table_cell(&t, "%s", printer_time(p, text, one->longest));
	}
	printer_table(p, &t);
	printer_rest(p, shown, s->nserials, "pairs of regions that follow each other");
}

/* --- text: what was not seen ---------------------------------------------------- */

static void say_count(const struct printer *p, uint64_t count, const char *what)
{
	char number[FORMAT_SIZE], text[400];

	if (!count)
		return;
	snprintf(text, sizeof(text), "%s %s", format_count(number, count), what);
	printer_paragraph(p, "", text);
}

static void say_unseen(const struct regions *s, const struct printer *p)
{
	struct region_sums all = { 0 };

	for (size_t i = 0; i < s->nrows; i++) {
		all.unseen += s->rows[i].sums.unseen;
		all.incomplete += s->rows[i].sums.incomplete;
	}
	say_count(p, s->sampled,
		  "calls that tell of regions were counted only, to keep the cost low: there were more regions and "
		  "shares than these, and no findings are made of them.");
	if (s->out)
		printer_paragraph(p, "",
				  "For a while no regions were observed, to keep the cost low: no findings are made of "
				  "them.");
	if (!p->whole)
		return;
	say_count(p, all.unseen,
		  "times a region was met the shares were not seen (the function was not known yet), so nothing is "
		  "known of their imbalance.");
	say_count(p, all.incomplete,
		  "times not all of a region was seen: calls were lost, measurement was off, it was not over at the "
		  "end, several were going on of which a share might be, or tasks were made in it.");
	say_count(p, s->with_tasks,
		  "times tasks were made in a region: on which thread they ran, and when, is not seen, so neither is "
		  "who waited at its end.");
	say_count(p, s->orphans, "shares are of no region that was seen.");
	say_count(p, s->beyond, "times a region was met that is not told apart, as there are too many.");
}

void regions_print(void *state, const struct printer *p)
{
	const struct regions *s = state;
	const struct region_beginner *b = s->nbeginners ? &s->beginners[0] : NULL;
	bool serial = b && serial_work(b) && (p->whole || serial_work(b) >= (p->r->end - p->r->start) / WORTH_SERIAL);
	struct table t = { 0 };
	size_t worth = 0, shown;

	while (worth < s->nrows && is_worth(p, &s->rows[worth]))
		worth++;
	shown = p->whole ? printer_rows(p, worth) : worth < ROWS_SHOWN ? worth : ROWS_SHOWN;
	if (!shown && !serial)
		return;
	printer_heading(p, "  (imbalance: of the work, 1 - mean / most; wait at end: of all, for the last one)");
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) && shown; i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		print_row(s, p, &t, &s->rows[i]);
		if (p->whole && s->rows[i].count == 1)
			print_members(s, p, &t, s->by_row[s->rows[i].first]);
	}
	if (shown) {
		printer_table(p, &t);
		printer_rest(p, shown, p->whole ? s->nrows : worth, "regions");
	}
	for (size_t i = 0; i < shown && p->whole; i++)
		say_inside(s, p, &s->rows[i]);
	for (size_t i = 0; i < s->nbeginners && serial && i < (p->whole ? PAIRS_SHOWN : 1); i++)
		say_serial(s, p, &s->beginners[i]);
	if (p->whole)
		print_serials(s, p);
	say_unseen(s, p);
}

/* --- JSON ------------------------------------------------------------------------- */

static void put_percent(struct json *j, const char *key, double value, bool known)
{
	json_key(j, key);
	if (known)
		json_double(j, value);
	else
		json_null(j);
}

static void put_sums(struct json *j, const struct region_sums *sums)
{
	bool known = sums->judged;

	json_key_uint(j, "times", sums->times);
	json_key_uint(j, "time_ns", sums->time);
	json_key_uint(j, "alone", sums->alone);
	json_key_uint(j, "unseen", sums->unseen);
	json_key_uint(j, "incomplete", sums->incomplete);
	json_key_uint(j, "judged", sums->judged);
	json_key_uint_known(j, "least_threads", sums->least_threads, known);
	json_key_uint_known(j, "most_threads", sums->most_threads, known);
	json_key_uint_known(j, "lasted_ns", sums->lasted, known);
	json_key_uint_known(j, "shares_ns", sums->share, known);
	json_key_uint_known(j, "longest_shares_ns", sums->longest, known);
	json_key_uint_known(j, "mean_shares_ns", sums->mean, known);
	json_key_uint_known(j, "work_ns", sums->work, known);
	json_key_uint_known(j, "most_work_ns", sums->most, known);
	json_key_uint_known(j, "mean_work_ns", sums->mean_work, known);
	put_percent(j, "imbalance_percent", region_imbalance(sums), known && sums->most);
	json_key_uint_known(j, "uneven_ns", sums->uneven, known);
	json_key_uint_known(j, "waited_at_end_ns", sums->waited, known);
	json_key_uint_known(j, "overhead_ns", sums->overhead, known);
	json_key_uint_known(j, "waits_inside_ns", sums->waits, known);
	json_key_uint_known(j, "locks_inside_ns", sums->locks, known);
	json_key_uint_known(j, "single_ns", sums->single, known);
	json_key_uint_known(j, "chunks", sums->chunks, known);
}

static void put_members(const struct regions *s, const struct report *r, struct json *j, uint32_t region)
{
	size_t count;
	const struct region_member *members = region_members(s, region, &count), *last = region_last(s, region);

	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < count; i++) {
		const struct region_member *m = &members[i];

		json_object(j);
		put_thread_ids(j, r, m->thread);
		json_key_uint(j, "shares", m->came);
		json_key_uint(j, "shares_ns", m->share);
		json_key_uint(j, "work_ns", m->work);
		json_key_uint(j, "waited_at_end_ns", m->waited);
		json_key_uint(j, "waits_inside_ns", m->waits);
		json_key_uint(j, "locks_inside_ns", m->locks);
		json_key_uint(j, "single_ns", m->single);
		json_key_uint(j, "chunks", m->chunks);
		json_key_uint(j, "last", m->last);
		json_key_bool(j, "persistent", m == last);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_place(const struct regions *s, struct json *j, const char *key, uint32_t region)
{
	put_call_site(j, key, s->d, s->regions[region].site);
}

static void put_row(const struct regions *s, const struct report *r, struct json *j, const struct region_row *row)
{
	const struct def_probe *share = row->share == NO_INDEX ? NULL : &s->d->probes[row->share];

	json_object(j);
	put_call_site(j, "site", s->d, row->site);
	json_key_string(j, "event", s->d->probes[row->probe].event);
	json_key_string(j, "function", share && share->marks & MARK_POINTED ? share->symbol : NULL);
	put_sums(j, &row->sums);
	json_key(j, "processes");
	json_array(j);
	for (size_t i = 0; i < row->count; i++) {
		uint32_t region = s->by_row[row->first + i];
		const struct def_process *process = &s->d->processes[s->regions[region].process];

		json_object(j);
		json_key_uint(j, "pid", process->pid);
		json_key_int_known(j, "rank", process->rank, process->rank >= 0);
		put_sums(j, &s->regions[region].sums);
		put_members(s, r, j, region);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void put_beginners(const struct regions *s, const struct report *r, struct json *j)
{
	json_key(j, "beginners");
	json_array(j);
	for (size_t i = 0; i < s->nbeginners; i++) {
		const struct region_beginner *b = &s->beginners[i];

		json_object(j);
		put_thread_ids(j, r, b->thread);
		json_key_uint(j, "regions", b->times);
		json_key_uint(j, "from_first_to_last_ns", b->last > b->first ? b->last - b->first : 0);
		json_key_uint(j, "outside_ns", b->serial);
		json_key_uint(j, "outside_waits_ns", b->waits);
		json_key_uint(j, "outside_unknown_ns", b->unseen);
		json_key_uint(j, "others_idle_ns", b->idle);
		json_end_object(j);
	}
	json_end_array(j);
}

void regions_json(void *state, const struct report *r, struct json *j)
{
	const struct regions *s = state;

	json_object(j);
	json_key_uint(j, "only_counted", s->sampled);
	json_key_bool(j, "not_observed_for_a_while", s->out);
	json_key_uint(j, "with_tasks", s->with_tasks);
	json_key_uint(j, "shares_of_unknown_regions", s->orphans);
	json_key_uint(j, "not_told_apart", s->beyond);
	json_key(j, "regions");
	json_array(j);
	for (size_t i = 0; i < s->nrows; i++)
		put_row(s, r, j, &s->rows[i]);
	json_end_array(j);
	put_beginners(s, r, j);
	json_key(j, "outside");
	json_array(j);
	for (size_t i = 0; i < s->nserials; i++) {
		const struct serial *one = &s->serials[i];

		json_object(j);
		put_place(s, j, "after", one->after);
		put_place(s, j, "before", one->before);
		json_key_uint(j, "pid", s->d->processes[s->regions[one->after].process].pid);
		json_key_uint(j, "times", one->times);
		json_key_uint(j, "time_ns", one->time);
		json_key_uint(j, "waits_ns", one->waits);
		json_key_uint(j, "longest_ns", one->longest);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
