/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions_rows.c - the same region of all processes is one row; and what is worth a finding.
 *
 *   - uneven_region: even shares would give 1 % of the run, and imbalance is 10 %, or 5 % where one thread is the last
 *     more often than by chance.
 *   - short_regions: of at least 100 times that a region was met half of the time is not in the longest share (to wake
 *     the threads and to meet again), which is 1 % of the run.
 *   - serial_code: who begins regions is outside of them for 10 % of the time from its first to its last, waiting for
 *     others aside, and to share that among the threads would give 1 % of the run.
 *
 * A thread that could run and had no processor is late, too, and no code is to blame for that: what is told must be
 * more than the threads were kept waiting so meanwhile, as far as the kernel tells, or one thread must be late even so.
 *
 * The gains are bounds: what the run were shorter by if all of that went away.
 */
#include "analysis/regions.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/chance.h"
#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"
#include "util/format.h"

#define WORTH_SHARE 100 /* one in so many of the run */
#define UNEVEN 10       /* percent */
#define UNEVEN_ALWAYS 5
#define SHORT_TIMES 100
#define SERIAL_SHARE 10 /* percent */
#define FINDINGS_MOST 3

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

double region_imbalance(const struct region_sums *sums)
{
	return sums->most ? 100 - percent(sums->mean_work, sums->most) : 0;
}

char *region_label(const struct regions *s, uint32_t site, uint32_t probe, uint32_t share, char *text, size_t room)
{
	const struct def_probe *of = share == NO_INDEX ? NULL : &s->d->probes[share];

	if (site != NO_INDEX)
		return site_label(s->d, site, text, room);
	/* The function that was cut out of the program for it has the name of the share's probe. */
	if (of && of->marks & MARK_POINTED && of->symbol)
		snprintf(text, room, "%s", of->symbol);
	else
		event_label(&s->d->probes[probe], false, text, room);
	return text;
}

char *serial_place(const struct regions *s, const struct serial *serial, char *text, size_t room)
{
	const struct region *after = &s->regions[serial->after], *before = &s->regions[serial->before];
	char from[LABEL_ROOM], to[LABEL_ROOM];

	region_label(s, before->site, before->probe, before->share, to, sizeof(to));
	if (after == before)
		snprintf(text, room, "from one %s to the next", to);
	else
		snprintf(text, room, "after %s, before %s",
			 region_label(s, after->site, after->probe, after->share, from, sizeof(from)), to);
	return text;
}

/* --- members ------------------------------------------------------------------- */

static int by_last(const void *a, const void *b)
{
	const struct region_member *x = a, *y = b;

	COMPARE(x->region, y->region);
	COMPARE(y->last, x->last);
	COMPARE(y->work, x->work);
	COMPARE(x->thread, y->thread);
	return 0;
}

const struct region_member *region_members(const struct regions *s, uint32_t region, size_t *count)
{
	size_t low = 0, high = s->nmembers;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->members[middle].region < region)
			low = middle + 1;
		else
			high = middle;
	}
	*count = 0;
	while (low + *count < s->nmembers && s->members[low + *count].region == region)
		++*count;
	return s->members + low;
}

const struct region_member *region_last(const struct regions *s, uint32_t region)
{
	size_t count;
	const struct region_member *members = region_members(s, region, &count);

	return count && is_persistently_last(members->last, members->came, count) ? members : NULL;
}

/* --- rows ---------------------------------------------------------------------- */

static void add_sums(struct region_sums *to, const struct region_sums *from)
{
	if (from->judged && (!to->judged || from->least_threads < to->least_threads))
		to->least_threads = from->least_threads;
	if (from->most_threads > to->most_threads)
		to->most_threads = from->most_threads;
	to->times += from->times;
	to->time += from->time;
	to->alone += from->alone;
	to->unseen += from->unseen;
	to->incomplete += from->incomplete;
	to->judged += from->judged;
	to->lasted += from->lasted;
	to->shares += from->shares;
	to->share += from->share;
	to->work += from->work;
	to->longest += from->longest;
	to->mean += from->mean;
	to->most += from->most;
	to->mean_work += from->mean_work;
	to->uneven += from->uneven;
	to->waited += from->waited;
	to->overhead += from->overhead;
	to->waits += from->waits;
	to->locks += from->locks;
	to->single += from->single;
	to->chunks += from->chunks;
	to->asks += from->asks;
	to->asking += from->asking;
}

/* Order in which the regions of a row stand together. */
static int by_place(const void *a, const void *b, void *context)
{
	const struct regions *s = context;
	const struct region *x = &s->regions[*(const uint32_t *)a], *y = &s->regions[*(const uint32_t *)b];

	COMPARE(x->site, y->site);
	if (x->site == NO_INDEX)
		COMPARE(x->probe, y->probe);
	COMPARE(x->process, y->process);
	return 0;
}

static bool is_same_place(const struct region *a, const struct region *b)
{
	return a->site == b->site && (a->site != NO_INDEX || a->probe == b->probe);
}

static int by_waits(const void *a, const void *b)
{
	const struct region_row *x = a, *y = b;

	COMPARE(y->sums.waited + y->sums.overhead, x->sums.waited + x->sums.overhead);
	COMPARE(y->sums.time, x->sums.time);
	COMPARE(x->first, y->first);
	return 0;
}

static int serial_by_time(const void *a, const void *b)
{
	const struct serial *x = a, *y = b;

	COMPARE(y->time, x->time);
	COMPARE(x->after, y->after);
	COMPARE(x->before, y->before);
	return 0;
}

static int beginner_by_serial(const void *a, const void *b)
{
	const struct region_beginner *x = a, *y = b;

	COMPARE(serial_work(y), serial_work(x));
	COMPARE(x->thread, y->thread);
	return 0;
}

int regions_make_rows(struct regions *s)
{
	s->rows = calloc(s->nregions + 1, sizeof(*s->rows));
	s->by_row = calloc(s->nregions + 1, sizeof(*s->by_row));
	if (!s->rows || !s->by_row)
		return -ENOMEM;
	for (size_t i = 0; i < s->nregions; i++)
		s->by_row[i] = i;
	qsort_r(s->by_row, s->nregions, sizeof(*s->by_row), by_place, s);
	for (size_t i = 0; i < s->nregions; i++) {
		const struct region *region = &s->regions[s->by_row[i]];
		struct region_row *row = s->nrows ? &s->rows[s->nrows - 1] : NULL;

		if (!i || !is_same_place(region, &s->regions[s->by_row[i - 1]])) {
			row = &s->rows[s->nrows++];
			*row = (struct region_row){
				.site = region->site, .probe = region->probe, .share = region->share, .first = i
			};
		}
		row->count++;
		add_sums(&row->sums, &region->sums);
	}
	qsort(s->rows, s->nrows, sizeof(*s->rows), by_waits);
	for (size_t i = 0; i < s->nrows; i++)
		for (size_t k = 0; k < s->rows[i].count; k++)
			s->regions[s->by_row[s->rows[i].first + k]].row = i;
	if (s->nmembers)
		qsort(s->members, s->nmembers, sizeof(*s->members), by_last);
	if (s->nserials)
		qsort(s->serials, s->nserials, sizeof(*s->serials), serial_by_time);
	if (s->nbeginners)
		qsort(s->beginners, s->nbeginners, sizeof(*s->beginners), beginner_by_serial);
	return 0;
}

/* --- findings: waiting for a processor is no fault of the code ------------------------------ */

/* How much of this time of a thread that wants to run it had no processor, as far as the mean over its life tells. */
static uint64_t queued_in(const struct regions *s, uint32_t thread, uint64_t time)
{
	const struct def_thread *t = &s->d->threads[thread];
	uint64_t queued;

	if (!scheduling_queue_is_known(t))
		return 0;
	queued = (double)scheduling_queued(t) * time / t->observed;
	return queued < time ? queued : time;
}

/* Could that be why the shares of this region end at other times? */
static uint64_t queued_in_region(const struct regions *s, uint32_t region)
{
	size_t count;
	const struct region_member *members = region_members(s, region, &count);
	uint64_t queued = 0;

	for (size_t i = 0; i < count; i++)
		queued += queued_in(s, members[i].thread, members[i].share);
	return queued;
}

/* Does this one work more than the others, without the time that it had no processor? */
static bool works_more(const struct regions *s, uint32_t region, const struct region_member *last, uint64_t worth)
{
	size_t count;
	const struct region_member *members = region_members(s, region, &count);
	double sum = 0, its = (double)last->work - queued_in(s, last->thread, last->share);

	for (size_t i = 0; i < count; i++)
		sum += (double)members[i].work - queued_in(s, members[i].thread, members[i].share);
	return its - sum / count >= worth;
}

/* --- findings: uneven shares -------------------------------------------------------------- */

/* Of the row's regions the one that even shares would give most. */
static const struct region *worst_of(const struct regions *s, const struct region_row *row)
{
	const struct region *worst = &s->regions[s->by_row[row->first]];

	for (size_t i = 1; i < row->count; i++) {
		const struct region *region = &s->regions[s->by_row[row->first + i]];

		if (region->sums.uneven > worst->sums.uneven)
			worst = region;
	}
	return worst;
}

static bool is_uneven(const struct regions *s, const struct region *region, uint64_t worth)
{
	uint32_t number = region - s->regions;
	const struct region_member *last = region_last(s, number);
	uint64_t gain = region->sums.uneven;

	if (gain < worth || region_imbalance(&region->sums) < (last ? UNEVEN_ALWAYS : UNEVEN))
		return false;
	return gain > queued_in_region(s, number) || (last && works_more(s, number, last, worth));
}

/* "; worker-2 (tid 17) is the last in 97 %, asleep for at least 60 % of its shares" */
static void who_is_last(const struct regions *s, const struct region *region, char *text, size_t room)
{
	const struct region_member *last = region_last(s, region - s->regions);
	size_t count;
	const struct region_member *most = region_members(s, region - s->regions, &count);
	char label[LABEL_ROOM], asleep[60];
	bool sleeps = count && *scheduling_asleep(&s->d->threads[most->thread], most->work, "its shares", asleep,
						  sizeof(asleep));

	*text = '\0';
	if (count && region->sums.judged >= LEAST_MEETINGS && (last || most->last * count >= 2 * most->came))
		snprintf(text, room, "; %s is the last in %.0f %%%s%s%s",
			 thread_label(s->d, most->thread, label, sizeof(label)), percent(most->last, most->came),
			 last ? "" : ", which may be chance", sleeps ? ", " : "", sleeps ? asleep : "");
	else if (region->sums.judged >= LEAST_MEETINGS)
		snprintf(text, room, "; who is the last goes by turns");
}

static const char uneven_always[] =
	"even shares would give 1 % of the run, the mean of the work is 5 % less than the longest, and one thread is "
	"the last more often than by chance at 0.1 %";

static int tell_uneven(const struct regions *s, struct report *r, const struct region_row *row,
		       const struct region *region)
{
	const struct region_sums *sums = &region->sums;
	const struct region_member *last = region_last(s, region - s->regions);
	struct finding finding = { .kind = "uneven_region",
				   .thread = last ? last->thread : NO_INDEX,
				   .has_site = row->site != NO_INDEX,
				   .site = row->site,
				   .weight = row->sums.waited,
				   .has_gain = true,
				   .gain = sums->uneven,
				   .instances = region->worst,
				   .ninstances = region->nworst,
				   .test = region_imbalance(sums) < UNEVEN ? uneven_always : NULL,
				   .section = "regions" };
	char place[LABEL_ROOM], who[LABEL_ROOM + 60], most[FORMAT_SIZE], mean[FORMAT_SIZE], waited[FORMAT_SIZE],
		gain[FORMAT_SIZE], times[FORMAT_SIZE], run[OBSERVED_ROOM], processes[60] = "";

	finding.event = profile_event(r->profile, r->d, row->probe);
	if (row->count > 1)
		snprintf(processes, sizeof(processes), " of %zu processes", row->count);
	who_is_last(s, region, who, sizeof(who));
	r->regions_told += finding.weight;
	return report_add_finding(
		r, &finding,
		"uneven shares of the region at %s%s: the longest of %llu takes %s on average, the mean one %s, in %s "
		"times%s; the others wait at its end, %s in all, %.1f %% of the threads' time; with even shares "
		"%s would be up to %s (%.1f %%) shorter",
		region_label(s, row->site, row->probe, row->share, place, sizeof(place)), processes,
		(unsigned long long)sums->most_threads, format_time(most, sums->longest / sums->judged),
		format_time(mean, sums->mean / sums->judged), format_count(times, sums->judged), who,
		format_time(waited, row->sums.waited), percent(row->sums.waited, r->wall),
		report_observed(r, run, sizeof(run)), format_time(gain, sums->uneven),
		percent(sums->uneven, r->end - r->start));
}

/* --- findings: short regions ----------------------------------------------------------------- */

/* Without what the probes add on the thread that begins the region. */
static uint64_t own_overhead(const struct regions *s, const struct region *region)
{
	uint64_t probes = s->d->probes[region->probe].cost_ns;

	if (region->share != NO_INDEX)
		probes += s->d->probes[region->share].cost_ns;
	probes *= region->sums.judged;
	return region->sums.overhead > probes ? region->sums.overhead - probes : 0;
}

/* Each time that one of them has no processor, all wait for it, in a region that may be as short as it likes. */
static bool lacks_processors(const struct regions *s, const struct region *region)
{
	size_t count;
	const struct region_member *members = region_members(s, region - s->regions, &count);

	for (size_t i = 0; i < count; i++)
		if (scheduling_lacks_processor(&s->d->threads[members[i].thread]))
			return true;
	return false;
}

static bool is_short(const struct regions *s, const struct region *region, uint64_t worth)
{
	uint64_t overhead = own_overhead(s, region);

	return region->sums.judged >= SHORT_TIMES && overhead >= worth && overhead >= region->sums.lasted / 2 &&
	       !lacks_processors(s, region);
}

static int tell_short(const struct regions *s, struct report *r, const struct region_row *row,
		      const struct region *region)
{
	uint64_t overhead = own_overhead(s, region), judged = region->sums.judged;
	struct finding finding = { .kind = "short_regions",
				   .thread = NO_INDEX,
				   .has_site = row->site != NO_INDEX,
				   .site = row->site,
				   .weight = overhead * region->sums.most_threads,
				   .has_gain = true,
				   .gain = overhead,
				   .section = "regions" };
	char place[LABEL_ROOM], lasts[FORMAT_SIZE], share[FORMAT_SIZE], times[FORMAT_SIZE], all[FORMAT_SIZE];

	finding.event = profile_event(r->profile, r->d, row->probe);
	r->regions_told += finding.weight;
	return report_add_finding(
		r, &finding,
		"the region at %s is too short: it takes %s on average, but the longest of its shares %s, "
		"in %s times; the rest is to begin and to end it, %s in all, %.1f %% of the time observed",
		region_label(s, row->site, row->probe, row->share, place, sizeof(place)),
		format_time(lasts, region->sums.lasted / judged), format_time(share, region->sums.longest / judged),
		format_count(times, judged), format_time(all, overhead), percent(overhead, r->end - r->start));
}

static int find_of_rows(const struct regions *s, struct report *r)
{
	uint64_t worth = (r->end - r->start) / WORTH_SHARE;
	unsigned found = 0;
	int error = 0;

	for (size_t i = 0; i < s->nrows && found < FINDINGS_MOST && !error; i++) {
		const struct region_row *row = &s->rows[i];
		const struct region *region = worst_of(s, row);

		if (region_chunks_are_small(s, r, region))
			error = region_tell_chunks(s, r, region);
		else if (is_short(s, region, worth))
			error = tell_short(s, r, row, region);
		else if (is_uneven(s, region, worth))
			error = tell_uneven(s, r, row, region);
		else
			continue;
		found++;
	}
	return error;
}

/* --- findings: serial code ----------------------------------------------------------------------- */

const struct serial *serial_longest(const struct regions *s, uint32_t process)
{
	for (size_t i = 0; i < s->nserials; i++)
		if (s->regions[s->serials[i].after].process == process)
			return &s->serials[i];
	return NULL;
}

static int find_serial(const struct regions *s, struct report *r)
{
	const struct region_beginner *b = s->nbeginners ? &s->beginners[0] : NULL;
	const struct serial *most = b ? serial_longest(s, s->d->threads[b->thread].process) : NULL;
	uint64_t span = b ? b->last - b->first : 0, serial = b ? serial_work(b) : 0, gain;
	struct finding finding = { .kind = "serial_code", .thread = b ? b->thread : NO_INDEX, .section = "regions" };
	char who[LABEL_ROOM], where[2 * LABEL_ROOM], all[FORMAT_SIZE], mean[FORMAT_SIZE], times[FORMAT_SIZE],
		gives[FORMAT_SIZE], run[OBSERVED_ROOM];

	if (!most || !span || serial < span / 100 * SERIAL_SHARE || b->threads < 2 ||
	    serial <= 2 * queued_in(s, b->thread, serial))
		return 0;
	gain = serial - serial / b->threads;
	if (gain < (r->end - r->start) / WORTH_SHARE)
		return 0;
	for (size_t i = 0; i < s->nbeginners; i++)
		finding.weight += s->beginners[i].idle;
	finding.event = profile_event(r->profile, r->d, s->regions[most->before].probe);
	finding.site = s->regions[most->before].site;
	finding.has_site = finding.site != NO_INDEX;
	finding.has_gain = true;
	finding.gain = gain;
	r->regions_told += finding.weight;
	return report_add_finding(
		r, &finding,
		"%s is outside of all regions for %s, %.0f %% of the time from its first one to its last, while its team "
		"waits: most of it %s, %s times, %s each; more threads do not make that quicker; shared among the %u of "
		"them, %s would be up to %s (%.1f %%) shorter",
		thread_label(s->d, b->thread, who, sizeof(who)), format_time(all, serial), percent(serial, span),
		serial_place(s, most, where, sizeof(where)), format_count(times, most->times),
		format_time(mean, most->time / most->times), b->threads, report_observed(r, run, sizeof(run)),
		format_time(gives, gain), percent(gain, r->end - r->start));
}

int regions_find(const struct regions *s, struct report *r)
{
	int error;

	if (!regions_all_seen(s) || r->end <= r->start)
		return 0;
	error = find_of_rows(s, r);
	return error ? error : find_serial(s, r);
}
