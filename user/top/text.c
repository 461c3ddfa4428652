/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - figures as people read them: columns, lines, and the table that --once prints.
 */
#include <errno.h>
#include <string.h>

#include "meaning/value.h"
#include "recording/labels.h"
#include "top/top.h"
#include "util/format.h"
#include "util/log.h"

#define SHARE_WIDTH 4
#define IN_LEAST 24
#define WAITS_LEAST 10 /* %; where others wait less than that at places where all meet, nobody is worth a line */
#define WIDE 150       /* where nobody says how wide it may be */

/* --- cells ---------------------------------------------------------------- */

/* "  .", " <1%", " 42%", "~42%". */
static void share_text(char *text, size_t room, uint64_t part, uint64_t whole, bool estimated)
{
	double share = whole ? 100.0 * part / whole : 0;

	if (!whole)
		snprintf(text, room, "-");
	else if (!part)
		snprintf(text, room, ".");
	else if (share < 0.5)
		snprintf(text, room, "<1%%");
	else
		snprintf(text, room, "%s%.0f%%", estimated && share < 99.5 ? "~" : "", share);
}

/* "1234", or from `most` on "12.3M". */
static void number_text(char *text, size_t room, double number, double most)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
	int unit = 0;

	if (number < most) {
		snprintf(text, room, "%.*f", number > 0 && number < 9.95 && number != (uint64_t)number ? 1 : 0, number);
		return;
	}
	for (; number >= 999.5 && unit < 6; unit++)
		number /= 1000;
	snprintf(text, room, "%.*f%s", number < 99.95 ? 1 : 0, number, units[unit]);
}

static double per_second(const struct top *top, uint64_t count)
{
	uint64_t interval = top_interval(top);

	return interval ? count * 1e9 / interval : 0;
}

static void rate_text(const struct top *top, char *text, size_t room, uint64_t count)
{
	if (top->view.all)
		number_text(text, room, count, 1e8); /* exact as long as the column has room */
	else
		number_text(text, room, per_second(top, count), 1e4);
}

static void bytes_text(const struct top *top, char *text, size_t room, uint64_t bytes, bool moves, bool missing)
{
	static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };
	double number = top->view.all ? bytes : per_second(top, bytes);
	int unit = 0;

	if (!moves) {
		snprintf(text, room, "-");
		return;
	}
	if (number >= (top->view.all ? 1e8 : 1e4))
		for (; number >= 1023.5 && unit < 6; unit++)
			number /= 1024;
	snprintf(text, room, "%.*f%s%s", unit && number < 99.95 ? 1 : 0, number, units[unit], missing ? "+" : "");
}

static void in_text(const struct top *top, char *text, size_t room, const struct live_call *in)
{
	char time[FORMAT_SIZE], event[LABEL_ROOM];

	*text = '\0';
	if (in->probe == NO_INDEX)
		return;
	snprintf(text, room, "%s %s", top_event_name(top, in->probe, event, sizeof(event)),
		 format_time(time, top_now(top) > in->start ? top_now(top) - in->start : 0));
}

/* "GASP_MPI_RECV >= 12.3s, ring.c:33 in exchange" */
static void earlier_text(char *text, size_t room, const struct top_earlier *earlier)
{
	char time[FORMAT_SIZE];
	size_t used = snprintf(text, room, "%s", log_safe(earlier->event));

	if (used < room && earlier->at_least)
		used += snprintf(text + used, room - used, " >= %s%s", format_time(time, earlier->at_least),
				 earlier->likely ? "~" : "");
	if (used < room && earlier->place)
		snprintf(text + used, room - used, ", %s", earlier->place);
}

static void late_text(char *text, size_t room, const struct live_figures *f)
{
	if (!f->met)
		snprintf(text, room, "-");
	else
		snprintf(text, room, "%llu/%llu", (unsigned long long)f->last, (unsigned long long)f->met);
}

const char *top_cell(const struct top *top, const struct top_row *row, const struct top_column *column, char *text,
		     size_t room)
{
	const struct live_figures *f = row->figures;
	const struct top_earlier *earlier = top_earlier_of(top, row);

	*text = '\0';
	if (column->kind == TOP_NAME)
		snprintf(text, room, "%s", row->name);
	else if (earlier && column->kind == TOP_IN)
		earlier_text(text, room, earlier);
	else if (!f)
		snprintf(text, room, "%s", column->kind == TOP_IN ? "no call seen yet" : "?");
	else if (column->kind == TOP_GROUP)
		share_text(text, room, f->group[column->group], f->wall, f->missing);
	else if (column->kind == TOP_CALLS)
		rate_text(top, text, room, f->calls);
	else if (column->kind == TOP_BYTES)
		bytes_text(top, text, room, f->bytes, f->moves, f->missing);
	else if (column->kind == TOP_LATE)
		late_text(text, room, f);
	else if (column->kind == TOP_COST)
		snprintf(text, room, "%.1f%%", f->wall ? 100.0 * f->cost / f->wall : 0);
	else
		in_text(top, text, room, &row->in);
	return text;
}

/* --- columns --------------------------------------------------------------- */

/* Of what a job does with files, all is observed only where somebody asks for it; a runtime's files are seen when used.
 */
static bool sees_files(const struct top *top)
{
	for (size_t i = 0; i < top->d->nprobes; i++)
		for (unsigned v = 0; v < top->d->probes[i].nvalues; v++)
			if (value_is_descriptor(&top->d->probes[i].values[v]))
				return true;
	for (size_t i = 0; i < top->nrows; i++)
		if (top->rows[i].figures && top->rows[i].figures->group[GROUP_IO])
			return true;
	return false;
}

/* Where not all groups fit: those that most time goes to. Bits of enum group. */
static unsigned choose_groups(const struct top *top, unsigned most)
{
	unsigned possible = ((1U << GROUPS) - 1) & ~(sees_files(top) ? 0 : 1U << GROUP_IO), chosen = 0;
	uint64_t sum[GROUPS] = { 0 };

	if (most >= (unsigned)__builtin_popcount(possible))
		return possible;
	for (size_t i = 0; i < top->nrows; i++)
		for (int g = 0; g < GROUPS && top->rows[i].figures; g++)
			sum[g] += top->rows[i].figures->group[g];
	for (unsigned n = 0; n < most; n++) {
		int best = -1;

		for (int g = 0; g < GROUPS; g++)
			if (possible >> g & ~chosen >> g & 1 && (best < 0 || sum[g] > sum[best]))
				best = g;
		chosen |= 1U << best;
	}
	return chosen;
}

static unsigned longest_name(const struct top *top)
{
	size_t longest = 8;

	for (size_t i = 0; i < top->nrows; i++)
		if (strlen(top->rows[i].name) > longest)
			longest = strlen(top->rows[i].name);
	return longest;
}

/* Has no call of any row been seen, and is it known of one what it is in? Then nothing else is worth a column. */
static bool all_earlier(const struct top *top)
{
	for (size_t i = 0; i < top->nrows; i++)
		if (top->rows[i].figures)
			return false;
	return top->nearlier;
}

size_t top_columns(const struct top *top, unsigned width, struct top_column columns[TOP_COLUMNS])
{
	static const char *const titles[GROUPS] = { "COMP", "BARR", "WAIT", "LOCK", "DATA",
						    "COLL", "TASK", "MEM",  "I/O",  "ELSE" };
	const struct top_column more[] = {
		{ TOP_CALLS, 0, top->view.all ? "CALLS" : "CALLS/S", 8 },
		{ TOP_BYTES, 0, top->view.all ? "BYTES" : "B/S", 9 },
		{ TOP_LATE, 0, "LAST", 10 },
		{ TOP_COST, 0, "COST", 6 },
	};
	unsigned left = width ? width : WIDE, name = longest_name(top), groups, chosen;
	size_t n = 0;

	if (all_earlier(top)) {
		columns[n++] = (struct top_column){ TOP_NAME, 0, "PROCESS PID", name > left / 3 ? left / 3 : name };
		columns[n++] = (struct top_column){ TOP_IN, 0, "IN", left - columns[0].width - 2 };
		return n;
	}
	if (name > 24)
		name = 24;
	if (name > left / 3)
		name = left / 3;
	/* The name may have what 80 columns leave over. */
	if (left < 80 + name - 14 && name > 14)
		name = left >= 80 ? 14 + left - 80 : 14;
	columns[n++] = (struct top_column){ TOP_NAME, 0, top->view.threads && !top->told ? "THREAD TID" : "PROCESS PID",
					    name };
	left -= name;
	groups = left / (SHARE_WIDTH + 1) < GROUPS ? left / (SHARE_WIDTH + 1) : GROUPS;
	chosen = choose_groups(top, groups);
	for (int g = 0; g < GROUPS; g++) {
		if (!(chosen >> g & 1))
			continue;
		columns[n++] = (struct top_column){ TOP_GROUP, g, titles[g], SHARE_WIDTH };
		left -= SHARE_WIDTH + 1;
	}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]) && left > more[i].width; i++) {
		columns[n++] = more[i];
		left -= more[i].width + 1;
	}
	if (left > IN_LEAST)
		columns[n++] = (struct top_column){ TOP_IN, 0, "IN", left - 1 };
	return n;
}

/* --- lines ------------------------------------------------------------------ */

const char *top_line_totals(const struct top *top, char *text, size_t room)
{
	uint64_t calls = 0, inner = 0, bytes = 0, missing = 0;
	char calls_text[24], some[24];
	bool moves = false;
	size_t used;

	for (uint32_t i = 0; i < top->d->nprocesses; i++) {
		const struct live_figures *f = top->d->processes[i].left_out ? NULL
									     : top_process(top, i, top->view.all);

		calls += f ? f->calls : 0;
		inner += f ? f->inner : 0;
		bytes += f ? f->bytes : 0;
		missing += f ? f->missing : 0;
		moves |= f && f->moves;
	}
	rate_text(top, calls_text, sizeof(calls_text), calls);
	bytes_text(top, some, sizeof(some), bytes, moves, missing);
	used = snprintf(text, room, "%s calls%s", calls_text, top->view.all ? "" : "/s");
	if (used < room && inner) {
		rate_text(top, calls_text, sizeof(calls_text), inner);
		used += snprintf(text + used, room - used, " and %s inner", calls_text);
	}
	if (used < room && moves)
		used += snprintf(text + used, room - used, "  %s B%s", some, top->view.all ? "" : "/s");
	if (used < room)
		used += snprintf(text + used, room - used, "  lost %llu", (unsigned long long)top->lost);
	if (used < room && top->summed + top->skipped)
		snprintf(text + used, room - used, "  only counted %llu",
			 (unsigned long long)(top->summed + top->skipped));
	return text;
}

static const struct live_meeting *most_waited(const struct top *top)
{
	const struct live_meeting *found = NULL;

	for (size_t i = 0; !top->told && i < live_meetings(top->live); i++) {
		const struct live_meeting *m = live_meeting(top->live, i);

		if (!m->waiting || m->waiting == m->members || top_now(top) <= m->waiting_since)
			continue;
		if (!found || m->waiting_since < found->waiting_since)
			found = m;
	}
	return found;
}

/* The meeting at which one was late most, in what is shown. */
static const struct live_meeting *latest(const struct top *top)
{
	const struct live_meeting *found = NULL;
	uint64_t most = 0;

	for (size_t i = 0; !top->told && i < live_meetings(top->live); i++) {
		const struct live_meeting *m = live_meeting(top->live, i);
		const struct live_meeting_figures *f = top->view.all ? &m->all : &m->now;

		if (f->last == NO_INDEX || (found && f->last_late <= most))
			continue;
		found = m;
		most = f->last_late;
	}
	return found;
}

#define LONG_WAIT_NS \
	1000000000ULL /* from here on a meeting that is not complete is worth more words than those that were */

/* At places where all meet, of its time; -1: not known. */
static double share_waiting(const struct top *top, uint32_t process)
{
	const struct live_figures *f = top_process(top, process, top->view.all);

	return f && f->wall ? 100.0 * (f->group[GROUP_BARRIER] + f->group[GROUP_COLLECTIVE]) / f->wall : -1;
}

/* Clocks of nodes are not compared. But whoever comes last waits least for the others there. */
static const char *line_waits_least(const struct top *top, char *text, size_t room)
{
	uint32_t least = NO_INDEX, members = 0;
	double sum = 0, others, shortest = 0;
	char name[LABEL_ROOM];

	for (uint32_t i = 0; i < top->d->nprocesses; i++) {
		double share = share_waiting(top, i);

		if (share < 0)
			continue;
		members++;
		sum += share;
		if (least != NO_INDEX && share >= shortest)
			continue;
		least = i;
		shortest = share;
	}
	others = members > 1 ? (sum - shortest) / (members - 1) : 0;
	if (others < WAITS_LEAST || shortest > others / 2)
		return text;
	snprintf(text, room,
		 "%s on %s waits least where all meet, %.0f%% of its time; the %u other%s %.0f%%: for it, if it takes "
		 "part",
		 process_label(top->d, least, name, sizeof(name)), process_node(top->d, least) ?: "?", shortest,
		 members - 1, plural(members - 1), others);
	return text;
}

const char *top_line_last(const struct top *top, char *text, size_t room)
{
	const struct live_meeting *m = most_waited(top);
	const struct live_meeting_figures *f;
	char name[LABEL_ROOM], event[LABEL_ROOM], time[FORMAT_SIZE];

	*text = '\0';
	if (top->told)
		return line_waits_least(top, text, room);
	if (m && top_now(top) - m->waiting_since >= LONG_WAIT_NS) {
		size_t used = snprintf(text, room, "%zu of %zu wait", m->waiting, m->members);

		if (m->awaited != NO_INDEX && used < room)
			used += snprintf(text + used, room - used, " for %s",
					 thread_label(top->d, m->awaited, name, sizeof(name)));
		if (used < room)
			snprintf(text + used, room - used, ", since %s: %s",
				 format_time(time, top_now(top) - m->waiting_since),
				 top_event_name(top, m->probe, event, sizeof(event)));
		return text;
	}
	m = latest(top);
	if (!m)
		return text;
	f = top->view.all ? &m->all : &m->now;
	snprintf(text, room, "%s came last to %llu of %llu, late by %s in all: %s",
		 thread_label(top->d, f->last, name, sizeof(name)), (unsigned long long)f->last_times,
		 (unsigned long long)f->met, format_time(time, f->last_late),
		 top_event_name(top, m->probe, event, sizeof(event)));
	return text;
}

/* The one that was waited for longest, in what is shown. */
static const struct live_lock *most_wanted(const struct top *top)
{
	const struct live_lock *found = NULL;

	for (size_t i = 0; !top->told && i < live_locks(top->live); i++) {
		const struct live_lock *lock = live_lock(top->live, i);

		if (!found || (top->view.all && lock->all.wait > found->all.wait))
			found = lock;
	}
	return found;
}

const char *top_line_lock(const struct top *top, char *text, size_t room)
{
	const struct live_lock *lock = most_wanted(top);
	const struct live_lock_figures *f = !lock ? NULL : top->view.all ? &lock->all : &lock->now;
	char time[FORMAT_SIZE], name[LABEL_ROOM], site[LABEL_ROOM];
	size_t used;

	*text = '\0';
	if (!f || (!f->wait && !lock->waiting))
		return text;
	used = snprintf(text, room, "0x%llx: waited %s for, %llu time%s", (unsigned long long)lock->lock,
			format_time(time, f->wait), (unsigned long long)f->calls, plural(f->calls));
	if (used < room && lock->waiting)
		used += snprintf(text + used, room - used, "; %zu wait%s", lock->waiting,
				 lock->waiting == 1 ? "s" : "");
	if (used < room && lock->holder != NO_INDEX)
		used += snprintf(text + used, room - used, "; held by %s",
				 thread_label(top->d, lock->holder, name, sizeof(name)));
	if (used < room && *top_site_name(top, lock->site, site, sizeof(site)))
		snprintf(text + used, room - used, "; %s", site);
	return text;
}

#define STANDS_NS 10000000000ULL /* who is in one call for so long may be stuck */

static bool stands(const struct top *top, const struct top_row *row)
{
	const struct top_earlier *earlier = top_earlier_of(top, row);

	if (earlier)
		return earlier->at_least >= LONG_WAIT_NS;
	return row->in.probe != NO_INDEX && top_now(top) > row->in.start + STANDS_NS;
}

const char *top_line_unmodelled(const struct top *top, bool inside, char *text, size_t room)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < top->d->nunseen && used < room; i++)
		if (top->d->unseen[i].library && top->d->unseen[i].inside == inside)
			used += snprintf(text + used, room - used, "%s%s (%s)", used ? ", " : "",
					 log_safe(top->d->unseen[i].event), log_safe(top->d->unseen[i].model));
	return text;
}

const char *top_line_still(const struct top *top, char *text, size_t room)
{
	bool some = false;

	*text = '\0';
	for (size_t i = 0; i < top->nrows; i++) {
		if (stands(top, &top->rows[i]))
			some = true;
		else if (top->rows[i].figures)
			return text;
	}
	if (top->named && some)
		snprintf(text, room, "no call ends: '%s' tells who waits for whom", top->named);
	return text;
}

/* --- events of a row -------------------------------------------------------- */

void top_event_text(const struct top *top, const struct top_row *row, const struct live_event *event,
		    struct top_event_cells *cells)
{
	const struct live_event_figures *f = top->view.all ? &event->all : &event->now;
	uint64_t wall = row->figures ? row->figures->wall : 0, ended = f->calls - f->missing;
	char time[FORMAT_SIZE];

	share_text(cells->self, sizeof(cells->self), f->self < wall ? f->self : wall, wall, f->missing);
	share_text(cells->time, sizeof(cells->time), f->time < wall ? f->time : wall, wall, f->missing);
	rate_text(top, cells->calls, sizeof(cells->calls), f->calls);
	snprintf(cells->mean, sizeof(cells->mean), "%.15s", ended ? format_time(time, f->full / ended) : "-");
	snprintf(cells->longest, sizeof(cells->longest), "%.15s", ended ? format_time(time, f->longest) : "-");
	bytes_text(top, cells->bytes, sizeof(cells->bytes), f->bytes, event->moves, f->missing);
}

/* --- the whole as text ------------------------------------------------------- */

static void put_cell(FILE *out, const struct top_column *column, const char *text, bool first, bool last)
{
	bool left = column->kind == TOP_NAME || column->kind == TOP_IN;

	fprintf(out, "%s", first ? "" : " ");
	if (left && last)
		fprintf(out, "%s", text);
	else
		fprintf(out, left ? "%-*.*s" : "%*.*s", (int)column->width, (int)column->width, text);
}

int top_print(struct top *top, FILE *out, unsigned width)
{
	struct top_column columns[TOP_COLUMNS];
	char line[400], time[FORMAT_SIZE];
	size_t ncolumns, processes = 0;
	int err = top_rows(top);

	if (err)
		return err;
	for (uint32_t i = 0; i < top->d->nprocesses; i++)
		processes += !top->d->processes[i].left_out;
	fprintf(out, "%zu process%s", processes, processes == 1 ? "" : "es");
	if (top->alive < processes)
		fprintf(out, " (%zu ended)", processes - top->alive);
	fprintf(out, ", %zu thread%s, %s\n", top_threads(top), plural(top_threads(top)),
		format_time(time, top->view.all ? top_since(top) : top_interval(top)));
	fprintf(out, "%s\n%s\n", top_line_totals(top, line, sizeof(line)), top->cost);
	if (*top_line_nodes(top, line, sizeof(line)))
		fprintf(out, "nodes: %s\n", line);
	if (*top_line_last(top, line, sizeof(line)))
		fprintf(out, "last: %s\n", line);
	if (*top_line_lock(top, line, sizeof(line)))
		fprintf(out, "lock: %s\n", line);
	if (*top_line_still(top, line, sizeof(line)))
		fprintf(out, "hint: %s\n", line);
	if (*top_line_unmodelled(top, false, line, sizeof(line)))
		fprintf(out, TOP_UNMODELLED ": %s\n", line);
	if (*top_line_unmodelled(top, true, line, sizeof(line)))
		fprintf(out, TOP_INSIDE ": %s\n", line);
	ncolumns = top_columns(top, width, columns);
	fputc('\n', out);
	for (size_t c = 0; c < ncolumns; c++)
		put_cell(out, &columns[c], columns[c].title, !c, c + 1 == ncolumns);
	fputc('\n', out);
	for (size_t i = 0; i < top->nrows; i++) {
		for (size_t c = 0; c < ncolumns; c++)
			put_cell(out, &columns[c], top_cell(top, &top->rows[i], &columns[c], line, sizeof(line)), !c,
				 c + 1 == ncolumns);
		fputc('\n', out);
	}
	return fflush(out) ? -errno : 0;
}
