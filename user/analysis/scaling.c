/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scaling.c - a scaling series: what more ranks or threads give, and what takes it away.
 *
 * Runs of one size are repeats, of which the mean counts. All is told against the smallest size.
 */
#include "analysis/compare_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/printer.h"
#include "util/log.h"

#define SIZES_SHOWN 8
#define LEAST_GROWTH 1 /* points of percent */

/* --- by size -------------------------------------------------------------------- */

static uint64_t ranks_of(const struct run *run)
{
	return run->job_ranks > run->ranks ? run->job_ranks : run->ranks;
}

static uint64_t size_of(const struct comparison *c, const struct run *run)
{
	return c->by_ranks ? ranks_of(run) : run->threads;
}

static int by_size(const void *a, const void *b)
{
	const struct size_of_job *x = a, *y = b;

	return x->size < y->size ? -1 : x->size > y->size;
}

static struct size_of_job *find_size(struct comparison *c, uint64_t size)
{
	for (size_t i = 0; i < c->nsizes; i++)
		if (c->sizes[i].size == size)
			return &c->sizes[i];
	return NULL;
}

static int add_run(struct comparison *c, const struct run *run)
{
	struct size_of_job *s = find_size(c, size_of(c, run));

	if (!s) {
		s = &c->sizes[c->nsizes];
		*s = (struct size_of_job){ .size = size_of(c, run), .ranks = ranks_of(run), .whole = true };
		s->shares = calloc(c->nevents + 1, sizeof(*s->shares));
		if (!s->shares)
			return -ENOMEM;
		c->nsizes++;
	}
	if (run->threads > s->threads)
		s->threads = run->threads;
	s->whole &= run_is_whole(run);
	sample_add(&s->time, run->time);
	for (size_t k = 0; k < KINDS_OF_TIME; k++)
		s->spent[k] += run->wall ? 100.0 * run->spent[k] / run->wall : 0;
	for (size_t i = 0; i < c->nevents; i++)
		s->shares[i] += run_share(run, i);
	return 0;
}

static void finish_size(const struct comparison *c, struct size_of_job *s)
{
	const struct size_of_job *least = &c->sizes[0];
	bool known = s->whole && least->whole && s->time.mean > 0 && least->size;

	for (size_t k = 0; k < KINDS_OF_TIME; k++)
		s->spent[k] /= s->time.count;
	for (size_t i = 0; i < c->nevents; i++)
		s->shares[i] /= s->time.count;
	s->speed_up = s->efficiency = -1;
	if (!known)
		return;
	s->efficiency = least->time.mean / s->time.mean;
	s->speed_up = s->efficiency;
	if (c->as == COMPARED_WEAK)
		s->speed_up *= (double)s->size / least->size;
	else
		s->efficiency *= (double)least->size / s->size;
}

static double growth(const struct comparison *c, uint32_t event)
{
	return c->sizes[c->nsizes - 1].shares[event] - c->sizes[0].shares[event];
}

static int by_growth(const void *a, const void *b, void *context)
{
	const struct comparison *c = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double more = growth(c, x), less = growth(c, y);

	if (more != less)
		return more > less ? -1 : 1;
	return strcmp(c->events[x].label, c->events[y].label);
}

int series_judge(struct comparison *c)
{
	int error = 0;

	for (size_t i = 1; i < c->nruns; i++)
		c->by_ranks |= ranks_of(&c->runs[i]) != ranks_of(&c->runs[0]);
	c->sizes = calloc(c->nruns + 1, sizeof(*c->sizes));
	c->grown = calloc(c->nevents + 1, sizeof(*c->grown));
	if (!c->sizes || !c->grown)
		return -ENOMEM;
	for (size_t i = 0; i < c->nruns && !error; i++)
		error = add_run(c, &c->runs[i]);
	if (error)
		return error;
	if (c->nsizes < 2) {
		log_error(
			"compare: these are no scaling series: all have the same number of ranks and of threads: give "
			"recordings of several sizes, or compare repeats: gaspbpf compare A1 A2 vs B1 B2");
		return -EINVAL;
	}
	qsort(c->sizes, c->nsizes, sizeof(*c->sizes), by_size);
	for (size_t i = 0; i < c->nsizes; i++)
		finish_size(c, &c->sizes[i]);
	for (uint32_t i = 0; i < c->nevents; i++)
		c->grown[i] = i;
	qsort_r(c->grown, c->nevents, sizeof(*c->grown), by_growth, c);
	return 0;
}

/* --- text ------------------------------------------------------------------------ */

static const char *unit(const struct comparison *c, uint64_t size)
{
	return c->by_ranks ? (size == 1 ? "rank" : "ranks") : size == 1 ? "thread" : "threads";
}

static void known_cell(struct table *t, const char *format, double value)
{
	char text[FORMAT_SIZE];

	snprintf(text, sizeof(text), format, value);
	table_cell(t, "%s", value < 0 ? "-" : text);
}

static bool is_spent(const struct comparison *c, size_t kind)
{
	for (size_t i = 0; i < c->nsizes; i++)
		if (c->sizes[i].spent[kind] >= 0.05)
			return true;
	return false;
}

static bool has_repeats(const struct comparison *c)
{
	return c->nruns > c->nsizes;
}

static void print_size(const struct comparison *c, const struct printer *p, struct table *t,
		       const struct size_of_job *s)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s", format_count(text, s->size));
	if (c->by_ranks)
		table_cell(t, "%s", format_count(text, s->threads));
	table_cell(t, "%s", printer_time(p, text, whole(s->time.mean)));
	if (has_repeats(c)) {
		table_cell(t, "%s", s->time.count > 1 ? printer_time(p, text, whole(sample_deviation(&s->time))) : "-");
		table_cell(t, "%zu", s->time.count);
	}
	known_cell(t, "%.2f", s->speed_up);
	known_cell(t, "%.1f%%", 100 * s->efficiency);
	for (size_t k = 0; k < KINDS_OF_TIME; k++)
		if (is_spent(c, k))
			table_cell(t, "%.1f%%", s->spent[k]);
}

static void print_sizes(const struct comparison *c, const struct printer *p)
{
	struct printer with = *p;
	struct table t = { 0 };

	with.title = c->as == COMPARED_WEAK ? "Weak scaling" : "Strong scaling";
	printer_heading(&with, "  (against the smallest; then % of the threads' time)");
	table_column(&t, &(struct column){ .title = c->by_ranks ? "Ranks" : "Threads" });
	if (c->by_ranks)
		table_column(&t, &(struct column){ .title = "Threads", .drop = 9 });
	table_column(&t, &(struct column){ .title = c->sizes[0].whole ? "Time" : "Observed" });
	if (has_repeats(c)) {
		table_column(&t, &(struct column){ .title = "+-" });
		table_column(&t, &(struct column){ .title = "runs", .drop = 8 });
	}
	table_column(&t, &(struct column){ .title = "Speed-up" });
	table_column(&t, &(struct column){ .title = "Efficiency" });
	for (size_t k = 0; k < KINDS_OF_TIME; k++)
		if (is_spent(c, k))
			table_column(&t, &(struct column){ .title = kind_of_time(k),
							   .drop = k < SHARES ? (k ? 1 + k % 7 : 0) : 0 });
	for (size_t i = 0; i < c->nsizes; i++)
		print_size(c, p, &t, &c->sizes[i]);
	printer_table(p, &t);
}

/* All, or some of them as evenly as it goes, the smallest and the largest among them. */
static size_t size_shown(const struct comparison *c, size_t column, size_t columns)
{
	return columns < 2 ? 0 : column * (c->nsizes - 1) / (columns - 1);
}

static void print_growth(const struct comparison *c, const struct printer *p)
{
	size_t columns = c->nsizes < SIZES_SHOWN ? c->nsizes : SIZES_SHOWN, shown = printer_rows(p, c->nevents);
	char titles[SIZES_SHOWN][FORMAT_SIZE];
	struct printer with = *p;
	struct table t = { 0 };

	with.title = "Events whose share grows";
	printer_heading(&with, c->by_ranks ? "  (% of the threads' time, by ranks)"
					   : "  (% of the threads' time, by threads)");
	table_column(&t, &(struct column){ .title = "Event", .left = true, .shrinks = true });
	for (size_t i = 0; i < columns; i++)
		table_column(&t, &(struct column){
					 .title = format_count(titles[i], c->sizes[size_shown(c, i, columns)].size),
					 .drop = i && i + 1 < columns });
	table_column(&t, &(struct column){ .title = "points" });
	for (size_t i = 0; i < shown; i++) {
		const struct compared_event *e = &c->events[c->grown[i]];

		table_cell(&t, "%s", e->label);
		for (size_t k = 0; k < columns; k++)
			table_cell(&t, "%.1f%%", c->sizes[size_shown(c, k, columns)].shares[c->grown[i]]);
		table_cell(&t, "%+.1f", growth(c, c->grown[i]));
	}
	printer_table(p, &t);
	printer_rest(p, shown, c->nevents, "events");
}

/* The index of the event whose share grows most; NO_INDEX: none does. */
static uint32_t most_grown(const struct comparison *c)
{
	return c->nevents && growth(c, c->grown[0]) >= LEAST_GROWTH ? c->grown[0] : NO_INDEX;
}

static void print_sentence(const struct comparison *c, const struct printer *p)
{
	const struct size_of_job *least = &c->sizes[0], *most = &c->sizes[c->nsizes - 1];
	uint32_t event = most_grown(c);

	fputc('\n', p->out);
	struct paragraph paragraph = printer_item(p, "");

	if (most->speed_up >= 0 && c->as == COMPARED_WEAK)
		paragraph_words(&paragraph,
				"On %" PRIu64 " %s as much more work takes %.2f times as long as on %" PRIu64
				": an efficiency of %.0f %%.",
				most->size, unit(c, most->size), most->time.mean / least->time.mean, least->size,
				100 * most->efficiency);
	else if (most->speed_up >= 0)
		paragraph_words(&paragraph,
				"On %" PRIu64 " %s the job is %.2f times as fast as on %" PRIu64
				", %.0f %% of what that many could give.",
				most->size, unit(c, most->size), most->speed_up, least->size, 100 * most->efficiency);
	if (event == NO_INDEX)
		paragraph_words(&paragraph, "No event's share of the threads' time grows by %d point%s.", LEAST_GROWTH,
				LEAST_GROWTH == 1 ? "" : "s");
	else
		paragraph_words(&paragraph,
				"%s grows most: from %.1f %% of the threads' time on %" PRIu64
				" %s to %.1f %% on %" PRIu64 ".",
				c->events[event].label, least->shares[event], least->size, unit(c, least->size),
				most->shares[event], most->size);
	paragraph_end(&paragraph);
}

static void print_cautions(const struct comparison *c, const struct printer *p)
{
	bool parts = false, mixed = false;

	for (size_t i = 0; i < c->nsizes; i++) {
		const struct size_of_job *s = &c->sizes[i];

		parts |= !s->whole;
		mixed |= c->by_ranks && s->threads * c->sizes[0].ranks != c->sizes[0].threads * s->ranks;
	}
	if (parts)
		printer_paragraph(p, "",
				  "Not all runs were observed from start to end: how long these took is not known, so "
				  "they have no speed-up; the shares are of what was observed.");
	if (mixed)
		printer_paragraph(p, "", "The number of observed threads does not grow as that of the ranks does.");
}

void series_print(const struct comparison *c, const struct printer *p)
{
	fprintf(p->out, "%zu recordings, %zu sizes\n", c->nruns, c->nsizes);
	print_cautions(c, p);
	runs_print(c, p);
	print_sizes(c, p);
	print_growth(c, p);
	print_sentence(c, p);
}

/* --- JSON ------------------------------------------------------------------------ */

static void put_known(struct json *j, const char *key, double value)
{
	json_key(j, key);
	if (value < 0)
		json_null(j);
	else
		json_double(j, value);
}

static void put_size(const struct comparison *c, const struct size_of_job *s, struct json *j)
{
	json_object(j);
	json_key_uint(j, c->by_ranks ? "ranks" : "threads", s->size);
	json_key_uint(j, "observed_threads", s->threads);
	json_key_uint(j, "runs", s->time.count);
	json_key_bool(j, "whole", s->whole);
	put_known(j, "time_ns", s->time.mean);
	put_known(j, "deviation_ns", s->time.count > 1 ? sample_deviation(&s->time) : -1);
	put_known(j, "speed_up", s->speed_up);
	put_known(j, "efficiency", s->efficiency);
	json_key(j, "threads_time");
	json_object(j);
	for (size_t k = 0; k < KINDS_OF_TIME; k++)
		put_known(j, kind_of_time(k), s->spent[k]);
	json_end_object(j);
	json_end_object(j);
}

static void put_event(const struct comparison *c, uint32_t index, struct json *j)
{
	json_object(j);
	json_key_string(j, "event", c->events[index].label);
	json_key_string(j, "model", c->events[index].model);
	json_key(j, "percent");
	json_array(j);
	for (size_t i = 0; i < c->nsizes; i++)
		json_double(j, c->sizes[i].shares[index]);
	json_end_array(j);
	json_key(j, "growth");
	json_double(j, growth(c, index));
	json_end_object(j);
}

void series_put(const struct comparison *c, struct json *j)
{
	uint32_t event = most_grown(c);

	json_key_string(j, "compared", "scaling");
	json_key_string(j, "scaling", c->as == COMPARED_WEAK ? "weak" : "strong");
	json_key_string(j, "by", c->by_ranks ? "ranks" : "threads");
	json_key(j, "runs");
	json_array(j);
	for (size_t i = 0; i < c->nruns; i++)
		compared_run_put(&c->runs[i], j);
	json_end_array(j);
	json_key(j, "sizes");
	json_array(j);
	for (size_t i = 0; i < c->nsizes; i++)
		put_size(c, &c->sizes[i], j);
	json_end_array(j);
	json_key_string(j, "grows_most", event == NO_INDEX ? NULL : c->events[event].label);
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < c->nevents; i++)
		put_event(c, c->grown[i], j);
	json_end_array(j);
}
