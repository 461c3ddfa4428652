/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.c - what differs between two sides, each a run or some repeats of it.
 *
 * Totals are compared where that is fair: where each run was observed from its start to its end, on as many ranks and
 * threads. Else the runs have done different amounts of work while they were watched, and shares of the threads' time
 * and rates are compared.
 *
 * Where both sides have repeats, Welch's t-test says how likely chance alone puts them as far apart. A table has many
 * rows, of which some are far apart by chance: so rows are marked by the false discovery rate.
 */
#include "analysis/compare_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "analysis/printer.h"
#include "util/array.h"
#include "util/log.h"

struct comparison *comparison_new(void)
{
	return calloc(1, sizeof(struct comparison));
}

void comparison_free(struct comparison *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nruns; i++)
		run_free(&c->runs[i]);
	for (size_t i = 0; i < c->nevents; i++) {
		free(c->events[i].label);
		free(c->events[i].model);
	}
	for (size_t i = 0; i < c->nsizes; i++)
		free(c->sizes[i].shares);
	free(c->sizes);
	free(c->grown);
	free(c->findings);
	free(c->events);
	event_names_free(&c->names);
	free(c);
}

int comparison_add(struct comparison *c, struct recording *recording, const char *name, enum compared_side side)
{
	struct run *run = &c->runs[c->nruns];
	struct reporter *reporter;
	int error;

	if (c->nruns == COMPARED_MOST)
		return -E2BIG;
	reporter = reporter_new();
	if (!reporter)
		return -ENOMEM;
	error = reporter_read(reporter, recording);
	if (!error) {
		run->side = side;
		error = run_make(run, c, reporter, name);
		c->nruns++;
		c->of_side[side]++;
	}
	reporter_free(reporter);
	if (!error && !run->wall) {
		log_error("%s: holds no calls: there is nothing to compare: 'gaspbpf report' says what it has",
			  log_safe(name));
		return -EINVAL;
	}
	return error;
}

/* --- two sides ------------------------------------------------------------------ */

static bool all_are_whole(const struct comparison *c)
{
	for (size_t i = 0; i < c->nruns; i++)
		if (!run_is_whole(&c->runs[i]))
			return false;
	return true;
}

static bool are_of_one_size(const struct comparison *c)
{
	for (size_t i = 1; i < c->nruns; i++)
		if (c->runs[i].ranks != c->runs[0].ranks || c->runs[i].threads != c->runs[0].threads)
			return false;
	return true;
}

static void judge_one(struct difference *d, bool comparable)
{
	d->likely = comparable ? welch_test(&d->of[SIDE_BEFORE], &d->of[SIDE_AFTER]) : -1;
	d->marked = d->likely >= 0 && d->likely <= CHANCE_LEVEL;
}

/* Marks those of a table together. 0 or -ENOMEM. */
static int mark(struct difference **rows, size_t count)
{
	double *likely = malloc((count + 1) * sizeof(*likely)), limit;
	size_t judged = 0;

	if (!likely)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (rows[i]->likely >= 0)
			likely[judged++] = rows[i]->likely;
	limit = false_discovery_limit(likely, judged, CHANCE_LEVEL);
	for (size_t i = 0; i < count; i++)
		rows[i]->marked = rows[i]->likely >= 0 && rows[i]->likely <= limit;
	free(likely);
	return 0;
}

static void judge_event(struct comparison *c, size_t number)
{
	struct compared_event *e = &c->events[number];
	double calls[SIDES] = { 0 }, timed[SIDES] = { 0 };

	e->known[SIDE_BEFORE] = e->known[SIDE_AFTER] = true;
	for (size_t i = 0; i < c->nruns; i++) {
		const struct run *run = &c->runs[i];
		const struct run_event none = { .timed = true },
				       *is = number < run->nevents && run->events[number].calls ? &run->events[number]
												: &none;
		double share = run_share(run, number), runs = c->of_side[run->side];
		double number_of = c->by_share ? (run->time ? 1e9 * is->calls / run->time : 0) : is->calls;

		e->known[run->side] &= is->timed && run_has_model(run, e->model);
		e->partly |= is->partly;
		e->estimated |= is->estimated;
		e->calls[run->side] += number_of / runs;
		e->self[run->side] += is->self / runs;
		e->share[run->side] += share / runs;
		calls[run->side] += is->calls;
		timed[run->side] += is->self;
		sample_add(&e->value.of[run->side], c->by_share ? share : is->self);
	}
	for (int side = 0; side < SIDES; side++)
		e->per_call[side] = e->known[side] && calls[side] > 0 ? timed[side] / calls[side] : -1;
	judge_one(&e->value, e->known[SIDE_BEFORE] && e->known[SIDE_AFTER]);
	e->worth = fabs(difference_of(&e->value));
}

static int by_worth(const void *a, const void *b)
{
	const struct compared_event *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	return order ? order : strcmp(x->model, y->model);
}

static int judge_events(struct comparison *c)
{
	struct difference **rows = malloc((c->nevents + 1) * sizeof(*rows));
	int error;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->nevents; i++)
		judge_event(c, i);
	if (c->nevents)
		qsort(c->events, c->nevents, sizeof(*c->events), by_worth);
	for (size_t i = 0; i < c->nevents; i++)
		rows[i] = &c->events[i].value;
	error = mark(rows, c->nevents);
	free(rows);
	return error;
}

static int judge_times(struct comparison *c)
{
	struct difference *rows[KINDS_OF_TIME];

	for (size_t i = 0; i < c->nruns; i++)
		sample_add(&c->time.of[c->runs[i].side], c->runs[i].time);
	judge_one(&c->time, c->all_whole);
	for (size_t k = 0; k < KINDS_OF_TIME; k++) {
		for (size_t i = 0; i < c->nruns; i++)
			sample_add(&c->spent[k].of[c->runs[i].side],
				   c->runs[i].wall ? 100.0 * c->runs[i].spent[k] / c->runs[i].wall : 0);
		judge_one(&c->spent[k], true);
		if (c->spent[k].of[SIDE_BEFORE].mean == 0 && c->spent[k].of[SIDE_AFTER].mean == 0)
			c->spent[k].likely = -1; /* no row */
		rows[k] = &c->spent[k];
	}
	return mark(rows, KINDS_OF_TIME);
}

/* --- findings: by their keys ------------------------------------------------------ */

struct known_finding {
	size_t index, last_run; /* last_run: 1 and up */
	UT_hash_handle hh;
};

static int add_finding(struct comparison *c, struct known_finding **known, size_t run, size_t *room,
		       const struct run_finding *f)
{
	const struct run *of = &c->runs[run];
	struct known_finding *one;
	struct compared_finding *finding;

	HASH_FIND_STR(*known, f->key, one);
	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one || array_one_more(&c->findings, room, c->nfindings, sizeof(*c->findings))) {
			free(one);
			return -ENOMEM;
		}
		one->index = c->nfindings++;
		c->findings[one->index] = (struct compared_finding){ .key = f->key, .kind = f->kind };
		HASH_ADD_KEYPTR(hh, *known, f->key, strlen(f->key), one);
		if (!one->hh.tbl) {
			free(one);
			return -ENOMEM;
		}
	}
	finding = &c->findings[one->index];
	finding->example = f;
	finding->runs[of->side] += one->last_run != run + 1;
	one->last_run = run + 1;
	finding->weight[of->side] += (double)f->weight / c->of_side[of->side];
	finding->share[of->side] += of->wall ? 100.0 * f->weight / of->wall / c->of_side[of->side] : 0;
	return 0;
}

/* New ones first, then those that are gone, then the others; the largest change first. */
static int by_state(const void *a, const void *b)
{
	const struct compared_finding *x = a, *y = b;
	int left = x->runs[SIDE_BEFORE] ? (x->runs[SIDE_AFTER] ? 2 : 1) : 0;
	int right = y->runs[SIDE_BEFORE] ? (y->runs[SIDE_AFTER] ? 2 : 1) : 0;
	double more = fabs(x->share[SIDE_AFTER] - x->share[SIDE_BEFORE]);
	double less = fabs(y->share[SIDE_AFTER] - y->share[SIDE_BEFORE]);

	if (left != right)
		return left - right;
	if (more != less)
		return more > less ? -1 : 1;
	return strcmp(x->key, y->key);
}

static int judge_findings(struct comparison *c)
{
	struct known_finding *known = NULL, *one, *next;
	size_t room = 0;
	int error = 0;

	for (size_t i = 0; i < c->nruns && !error; i++)
		for (size_t k = 0; k < c->runs[i].nfindings && !error; k++)
			error = add_finding(c, &known, i, &room, &c->runs[i].findings[k]);
	HASH_ITER (hh, known, one, next) {
		HASH_DEL(known, one);
		free(one);
	}
	if (c->nfindings)
		qsort(c->findings, c->nfindings, sizeof(*c->findings), by_state);
	return error;
}

/* A series is of runs of one job. */
static bool is_of_a_machine(const struct comparison *c)
{
	for (size_t i = 0; i < c->nruns; i++) {
		if (!c->runs[i].only_sums)
			continue;
		log_error("%s: has the sums of a machine, which are no run of a series: compare it with another such "
			  "recording",
			  log_safe(c->runs[i].name));
		return true;
	}
	return false;
}

int comparison_judge(struct comparison *c, enum compared_as as)
{
	int error;

	c->as = as;
	if (as != COMPARED_SIDES)
		return is_of_a_machine(c) ? -EINVAL : series_judge(c);
	c->all_whole = all_are_whole(c);
	c->by_share = !c->all_whole || !are_of_one_size(c);
	error = judge_times(c);
	if (!error)
		error = judge_events(c);
	return error ? error : judge_findings(c);
}

/* --- printing --------------------------------------------------------------------- */

int comparison_print(const struct comparison *c, FILE *out, const struct report_style *style)
{
	int error = 0;
	struct printer p = {
		.style = style,
		.out = out,
		.error = &error,
		.bold = style->colour ? "\033[1m" : "",
		.plain = style->colour ? "\033[0m" : "",
	};

	if (c->as == COMPARED_SIDES)
		sides_print(c, &p);
	else
		series_print(c, &p);
	if (error)
		return error;
	errno = 0;
	return fflush(out) || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

int comparison_print_json(const struct comparison *c, FILE *out)
{
	struct json *j = malloc(sizeof(*j));
	int error;

	if (!j)
		return -ENOMEM;
	json_init_file(j, out, true);
	json_object(j);
	if (c->as == COMPARED_SIDES)
		sides_put(c, j);
	else
		series_put(c, j);
	json_end_object(j);
	error = json_finish_file(j, out);
	free(j);
	return error;
}
