/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_found.c - what a report finds in the recording, in a Chrome trace.
 *
 * A finding is a mark at each time when it was worst, on the thread that it hit; one that has no such times is a mark
 * for all at the beginning. Threads that have the same iterations have two tracks: the parts of the run, with the
 * iterations in them, and those out of line.
 *
 * The report is of the whole recording, and what it says of other times or ranks than were chosen is left out.
 */
#include "export/chrome_found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/told.h"
#include "export/call.h"
#include "export/chrome_event.h"
#include "export/export.h"

#define TEXT_SIZE 2048

/* One counter of a process: of the functions of one model. */
struct level {
	struct level *next; /* of the process */
	enum report_level level;
	const char *model;
	struct chrome_series series;
	char name[100];
};

struct found {
	const struct chrome_found *is;
	const struct definitions *d;
	uint64_t from, to;     /* ns: what was chosen */
	struct level **levels; /* by process, those of all together last: the first of each */
	int error;
};

/* --- findings ------------------------------------------------------------------------- */

static void put_finding_arguments(struct json *j, const struct told_finding *finding)
{
	json_key_string(j, "kind", finding->kind);
	json_key_string(j, "finding", finding->text);
	if (finding->place)
		json_key_string(j, "place", finding->place);
	if (finding->has_gain)
		json_key_uint(j, "gain_ns", finding->gain);
}

static bool is_shown(const struct found *f, uint32_t thread)
{
	return thread < f->d->nthreads && !thread_is_left_out(f->d, thread);
}

/* On the thread's track, or for all. */
static void begin_mark(const struct found *f, const struct told_finding *finding, uint32_t thread, uint64_t time)
{
	const struct chrome_track *track = is_shown(f, thread) ? chrome_track_known(f->is->tracks, thread, 0) : NULL;
	uint64_t job = chrome_job(f->is->tracks, f->is->json);
	char name[TEXT_SIZE];

	snprintf(name, sizeof(name), "finding %u: %s", finding->number, finding->text);
	chrome_begin_instant(f->is->json, track ? "t" : "g", name, "finding",
			     track ? f->is->tracks->threads[thread].pid : job, track ? track->tid : job,
			     since_start(f->d, time));
	put_finding_arguments(f->is->json, finding);
}

static void put_instance(const struct found *f, const struct told_finding *finding,
			 const struct finding_instance *instance)
{
	if (!is_shown(f, instance->thread) || instance->end < f->from || instance->start > f->to)
		return;
	begin_mark(f, finding, instance->thread, instance->start > f->from ? instance->start : f->from);
	json_key_uint(f->is->json, "lasted_ns", instance->end > instance->start ? instance->end - instance->start : 0);
	chrome_end(f->is->json);
}

static int put_finding(void *context, const struct told_finding *finding)
{
	const struct found *f = context;

	for (size_t i = 0; i < finding->ninstances; i++)
		put_instance(f, finding, &finding->instances[i]);
	if (!finding->ninstances) {
		begin_mark(f, finding, finding->thread, f->from);
		chrome_end(f->is->json);
	}
	return f->is->json->error;
}

/* --- iterations ------------------------------------------------------------------------ */

static void range_name(const struct told_range *range, char *name, size_t room)
{
	unsigned long long first = range->number, last = first + (range->iterations ?: 1) - 1;

	if (range->what == TOLD_PART && range->iterations)
		snprintf(name, room, "%s %llu to %llu", range->name, first, last);
	else if (range->what == TOLD_PART)
		snprintf(name, room, "%s", range->name);
	else if (first == last)
		snprintf(name, room, "iteration %llu%s", first, range->what == TOLD_OUTLIER ? ", out of line" : "");
	else
		snprintf(name, room, "iterations %llu to %llu", first, last);
}

/*
 * What of it was chosen, and does not overlap what is on the track. A viewer may add up begin and length as binary
 * fractions, by whose last bit two would overlap that touch: so it ends 1 ns earlier, and within another one 2 ns.
 */
static void put_range(const struct found *f, const struct told_range *range, uint64_t tid, uint64_t not_before)
{
	uint64_t apart = range->what == TOLD_ITERATIONS ? 2 : 1;
	uint64_t from = range->from > f->from ? range->from : f->from, to = range->to < f->to ? range->to : f->to;
	struct json *j = f->is->json;
	char name[100];

	from = from > not_before ? from : not_before;
	if (to < from || (to == from && range->to > range->from))
		return;
	range_name(range, name, sizeof(name));
	chrome_begin_slice(j, name, range->what == TOLD_OUTLIER ? "outlier" : "phases", chrome_job(f->is->tracks, j),
			   tid, since_start(f->d, from), to - from > apart ? to - from - apart : 0);
	json_key_uint(j, "lasted_ns", range->to - range->from);
	if (range->iterations)
		json_key_uint(j, "iterations", range->iterations);
	if (range->what == TOLD_OUTLIER)
		json_key_uint(j, "others_ns", range->typical);
	if (*range->blame)
		json_key_string(j, "more", range->blame);
	chrome_end(j);
}

static int earlier_first(const void *a, const void *b)
{
	const struct told_range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Some of different threads may overlap: what comes later begins later. 0 or -ENOMEM. */
static int put_outliers(const struct found *f, const struct told_range *ranges, size_t count, const char *name)
{
	struct told_range *sorted = malloc((count + 1) * sizeof(*sorted));
	uint64_t tid, until = 0;

	if (!sorted)
		return -ENOMEM;
	tid = chrome_job_track(f->is->tracks, f->is->json, name);
	memcpy(sorted, ranges, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), earlier_first);
	for (size_t i = 0; i < count; i++) {
		put_range(f, &sorted[i], tid, until);
		until = sorted[i].to > until ? sorted[i].to : until;
	}
	free(sorted);
	return 0;
}

static int put_phases(void *context, const struct told_phases *phases)
{
	const struct found *f = context;
	uint64_t part_from = 0, until = 0, tid;
	char name[TEXT_SIZE];
	size_t i = 0;
	int error = 0;

	snprintf(name, sizeof(name), "iterations of %s: %s", phases->who, phases->label);
	tid = chrome_job_track(f->is->tracks, f->is->json, name);
	for (; i < phases->nranges && phases->ranges[i].what != TOLD_OUTLIER; i++) {
		const struct told_range *range = &phases->ranges[i];

		if (range->what == TOLD_PART) {
			part_from = until;
			until = range->to > until ? range->to : until;
		}
		put_range(f, range, tid, part_from);
	}
	snprintf(name, sizeof(name), "iterations out of line, of %s", phases->who);
	if (i < phases->nranges)
		error = put_outliers(f, phases->ranges + i, phases->nranges - i, name);
	return error ?: f->is->json->error;
}

/* --- memory and tasks ------------------------------------------------------------------- */

static const struct {
	const char *name, *unit;
} level_names[LEVELS] = {
	[LEVEL_MEMORY] = { "memory in use", "bytes" },
	[LEVEL_READY] = { "tasks ready", "tasks" },
	[LEVEL_BLOCKED] = { "tasks not ready", "tasks" },
};

static const char *model_of(const struct found *f, uint32_t probe)
{
	return f->d->probes[probe].model ?: "?";
}

/* NULL: out of memory. */
static struct level *level_of(struct found *f, enum report_level level, uint32_t process, const char *model)
{
	bool of_job = process >= f->d->nprocesses;
	struct level **first = &f->levels[of_job ? f->d->nprocesses : process], *one;

	for (one = *first; one; one = one->next)
		if (one->level == level && !strcmp(one->model, model))
			return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->next = *first;
	*first = one;
	one->level = level;
	one->model = model;
	snprintf(one->name, sizeof(one->name), "%s (%s)", level_names[level].name, model);
	one->series = (struct chrome_series){
		.pid = of_job ? chrome_job(f->is->tracks, f->is->json) : chrome_pid(f->d, process),
		.name = one->name,
		.unit = level_names[level].unit,
	};
	return one;
}

static void note_level(void *context, enum report_level level, uint32_t process, uint32_t probe, uint64_t time,
		       uint64_t value)
{
	struct found *f = context;
	struct level *one;

	if (process < f->d->nprocesses && f->d->processes[process].left_out)
		return;
	one = level_of(f, level, process, model_of(f, probe));
	if (one)
		chrome_series_set(f->is->counters, &one->series, time, value);
	else
		f->error = -ENOMEM;
}

static void end_levels(struct found *f)
{
	for (size_t i = 0; f->levels && i <= f->d->nprocesses; i++)
		for (struct level *one = f->levels[i], *next; one; one = next) {
			next = one->next;
			chrome_series_end(f->is->counters, &one->series);
			free(one);
		}
	free(f->levels);
}

/* --- the report ---------------------------------------------------------------------------- */

/* Of counters: has it anything that they could be of? */
static bool is_worth_it(const struct found *f)
{
	bool found = f->is->extras & (EXTRA_FINDINGS | EXTRA_PHASES);

	for (size_t i = 0; i < f->d->nprobes && !found; i++)
		switch (f->d->probes[i].role) {
		case ROLE_ALLOC:
		case ROLE_REALLOC:
		case ROLE_FREE:
		case ROLE_SUBMIT:
		case ROLE_READY:
		case ROLE_TASK:
			found = true;
			break;
		default:
			break;
		}
	return found;
}

/* Findings need all of it; else only what is looked at is made. 0 or -errno. */
static int choose(struct reporter *reporter, unsigned extras)
{
	int error = 0;

	if (extras & EXTRA_FINDINGS)
		return 0;
	if (extras & EXTRA_PHASES)
		error = reporter_choose(reporter, "phases");
	if (extras & EXTRA_COUNTERS && !error)
		error = reporter_choose(reporter, "memory") ?: reporter_choose(reporter, "tasks");
	return error;
}

static bool show_progress(void *context, uint64_t at, uint64_t size)
{
	output_progress(context, at, size);
	return true;
}

static int read_all(struct found *f, struct reporter *reporter, struct recording *whole)
{
	const struct report_teller teller = {
		.finding = f->is->extras & EXTRA_FINDINGS ? put_finding : NULL,
		.phases = f->is->extras & EXTRA_PHASES ? put_phases : NULL,
		.context = f,
	};
	int error = choose(reporter, f->is->extras);

	if (f->is->counters)
		reporter_watch(reporter, &(struct report_watch){ note_level, f, NULL });
	recording_watch(whole, show_progress, f->is->out);
	if (!error)
		error = reporter_read(reporter, whole);
	recording_watch(whole, NULL, NULL);
	return error ?: f->error ?: reporter_tell(reporter, &teller);
}

int chrome_found_put(const struct chrome_found *is)
{
	struct found f = { .is = is, .d = recording_definitions(is->recording) };
	struct recording *whole;
	struct reporter *reporter;
	int error = -ENOMEM;

	if (!is_worth_it(&f))
		return 0;
	whole = recording_whole(is->recording);
	reporter = reporter_new();
	recording_chosen_time(is->recording, &f.from, &f.to);
	if (f.from < f.d->run.start)
		f.from = f.d->run.start;
	f.levels = calloc(f.d->nprocesses + 1, sizeof(*f.levels));
	if (whole && reporter && f.levels)
		error = read_all(&f, reporter, whole);
	end_levels(&f);
	reporter_free(reporter);
	recording_close(whole);
	return error ?: is->json->error;
}
