/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.c - one HTML file with the report and the timeline, for a browser alone.
 *
 * The page is a shell, which is built in, and blocks of data between its parts (page/page.h). All blocks are made
 * first and wait in the temporary file. So the size is known before anything is written, and a page that would be too
 * large is made again with fewer calls drawn. How many bytes a call takes is known only then: the first try goes by a
 * guess, the others by what the one before has shown.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/page/page.h"
#include "util/files.h"
#include "util/format.h"
#include "util/log.h"

#define SIZE_DEFAULT (10u << 20)
#define TRIES 5
#define CALL_GUESS 9.0    /* bytes of a call in the file */
#define FULL 0.97         /* of the limit: a try aims at so much */
#define GOOD 0.80         /* of the limit: with so much there is no other try */
#define BINS_PART 4       /* bins may take one in so many bytes of what is left for calls */
#define BIN_GUESS 8       /* bytes of a bin in the file */
#define ARROWS_MOST 65536 /* a few MB while they are looked for */
#define ARROW_PART 160    /* an arrow for so many bytes of the limit, at most */
#define TASKS_MOST 65536
#define TASK_PART 160 /* likewise a task */

struct page {
	struct recording *recording, *whole; /* what was chosen of it, and all of it */
	uint64_t limit;
	struct output *out;
	struct spool *spool;
	struct reporter *reporter;
	struct page_shell shell;
	struct block report, facts, series;
	struct survey survey;
	struct page_arrows arrows;
	struct page_path *path;
	struct page_levels *levels;
	struct page_tasks *tasks;
	struct page_task_blocks task_blocks;
	struct drawing drawing;
	double call_bytes; /* of a call in the file, as far as is known */
	uint32_t nbins;
};

/* --- the report -------------------------------------------------------------------- */

static ssize_t write_report(void *cookie, const char *data, size_t size)
{
	int error = block_put(cookie, data, size);

	if (!error)
		return (ssize_t)size;
	errno = -error;
	return -1;
}

static int print_report(struct page *p)
{
	FILE *to = fopencookie(&p->report, "w", (cookie_io_functions_t){ .write = write_report });
	int error, ended;

	if (!to)
		return -ENOMEM;
	block_begin(&p->report, p->spool);
	error = reporter_print_json(p->reporter, to);
	if (fclose(to) && !error)
		error = -errno;
	ended = block_end(&p->report);
	return ended ? ended : error;
}

static void note_level(void *context, enum report_level level, uint32_t process, uint32_t probe, uint64_t time,
		       uint64_t value)
{
	page_levels_note(((struct page *)context)->levels, level, process, probe, time, value);
}

static void note_task(void *context, const struct told_task *task)
{
	page_tasks_note(((struct page *)context)->tasks, task);
}

static int make_task_blocks(struct page *p)
{
	const struct report_teller teller = { .kind = page_tasks_kind, .context = p->tasks };
	uint32_t *places = calloc(recording_definitions(p->whole)->nthreads + 1, sizeof(*places));
	int error = places ? reporter_tell(p->reporter, &teller) : -ENOMEM;

	if (!error) {
		reporter_places(p->reporter, places);
		error = page_tasks_end(p->tasks, places, &p->task_blocks, p->spool);
	}
	free(places);
	return error;
}

static int make_report_blocks(struct page *p)
{
	uint64_t start, end;
	int error = print_report(p);

	reporter_times(p->reporter, &start, &end);
	if (!error)
		error = page_levels_end(p->levels, start, &p->series, p->spool);
	return error ? error : make_task_blocks(p);
}

/* Of all of the recording: what is chosen is the part of the timeline that is shown. */
static int make_report(struct page *p)
{
	size_t tasks = p->limit / TASK_PART < TASKS_MOST ? p->limit / TASK_PART : TASKS_MOST;
	int error;

	p->whole = recording_whole(p->recording);
	p->reporter = p->whole ? reporter_new() : NULL;
	p->levels = p->whole ? page_levels_new(recording_definitions(p->whole)) : NULL;
	p->tasks = p->whole ? page_tasks_new(p->recording, recording_definitions(p->whole), tasks) : NULL;
	if (!p->reporter || !p->levels || !p->tasks)
		return -ENOMEM;
	reporter_watch(p->reporter, &(struct report_watch){ note_level, p, note_task });
	error = reporter_read(p->reporter, p->whole);
	if (!error)
		error = reporter_finish(p->reporter);
	return error ? error : make_report_blocks(p);
}

/* --- what fits ----------------------------------------------------------------------- */

static uint64_t size_without_calls(const struct page *p)
{
	return p->shell.sizes[0] + p->shell.sizes[1] + p->shell.sizes[2] + p->report.bytes + p->series.bytes +
	       p->task_blocks.list.bytes + p->task_blocks.calls.bytes + p->task_blocks.bins.bytes +
	       p->arrows.block.bytes + p->path->block.bytes + 1024; /* the blocks' tags */
}

static uint64_t room_for_calls(const struct page *p)
{
	uint64_t without = size_without_calls(p);

	return p->limit > without ? p->limit - without : 0;
}

static uint64_t size_of(const struct page *p)
{
	return size_without_calls(p) + p->facts.bytes + p->drawing.calls.bytes + p->drawing.bins.bytes;
}

static void forget_try(struct page *p)
{
	block_free(&p->facts);
	drawing_free(&p->drawing);
}

/* NULL: nobody keeps it. */
static const char *name_of(const struct recording *recording)
{
	const char *name = recording_name(recording);

	return strcmp(name, RECORDING_UNNAMED) ? path_base(name) : NULL;
}

/* Everything with calls of this length and longer drawn. */
static int try(struct page *p, uint64_t threshold)
{
	int error;

	forget_try(p);
	p->drawing.threshold = threshold;
	p->drawing.nbins = p->nbins;
	error = drawing_make(&p->drawing, &p->survey, p->spool, p->recording, p->out);
	if (error)
		return error;
	return facts_make(&p->facts, p->spool, &p->drawing, &p->arrows, name_of(p->recording), p->limit);
}

/* As many as all lanes together may have, and not more than there are ns. */
static uint32_t most_bins(const struct page *p)
{
	const struct survey *s = &p->survey;
	uint64_t fit = room_for_calls(p) / BINS_PART / BIN_GUESS;
	uint64_t most = (fit < PAGE_BINS ? fit : PAGE_BINS) / (s->nlanes ?: 1);
	uint32_t bins = 1;

	if (most > s->end - s->start)
		most = s->end - s->start;
	while (bins * 2 <= most)
		bins *= 2;
	return bins;
}

/* The next try has what this one has shown. */
static void learn(struct page *p)
{
	if (p->drawing.bins.bytes > room_for_calls(p) / BINS_PART && p->nbins > 4)
		p->nbins /= 4;
	if (p->drawing.drawn)
		p->call_bytes = (double)(p->drawing.calls.bytes + p->facts.bytes) / p->drawing.drawn;
}

/* The threshold for the next try. *count: how many calls it draws. */
static uint64_t threshold_for(const struct page *p, uint64_t *count)
{
	double room = FULL * room_for_calls(p) - p->drawing.bins.bytes;

	return survey_threshold(&p->survey, room / p->call_bytes, count);
}

/* The largest that fits, of a few tries. 0 or -errno. */
static int find_what_fits(struct page *p)
{
	uint64_t best = UINT64_MAX, worst = 0, count = 0, threshold; /* one that fits, one that does not */
	bool fits = false, any = false;
	int error = 0;

	p->call_bytes = CALL_GUESS;
	p->nbins = most_bins(p);
	threshold = threshold_for(p, &count);
	for (int i = 0; i < TRIES && !error; i++) {
		error = try(p, threshold);
		fits = size_of(p) <= p->limit;
		if (error || (fits && (!threshold || size_of(p) >= GOOD * p->limit)))
			return error;
		if (fits) {
			any = true;
			best = threshold;
		} else {
			worst = threshold;
		}
		learn(p);
		threshold = threshold_for(p, &count);
		if (any && (threshold >= best || threshold <= worst))
			break;
		if (!fits && threshold <= worst) /* of the same length as those that are too many */
			threshold = survey_threshold(&p->survey, p->drawing.drawn / 2.0, &count);
	}
	if (!error && !fits)
		error = try(p, any ? best : survey_threshold(&p->survey, 0, &count));
	return error;
}

/* --- the file -------------------------------------------------------------------------- */

static int put_pieces(void *context, struct cursor *pieces)
{
	return output_write(context, (const char *)pieces->at, pieces->end - pieces->at);
}

static int put_block(struct page *p, const char *name, const struct block *block)
{
	char tag[100];
	int error;

	snprintf(tag, sizeof(tag), "<script type=\"application/x-gaspbpf\" id=\"gaspbpf-%s\">", name);
	error = output_write(p->out, tag, strlen(tag));
	if (!error)
		error = spool_read(p->spool, &block->heap, put_pieces, p->out);
	return error ? error : output_write(p->out, "</script>\n", 10);
}

static int put_page(struct page *p)
{
	const struct page_shell *shell = &p->shell;
	int error = output_write(p->out, shell->parts[0], shell->sizes[0]);

	if (!error)
		error = put_block(p, "facts", &p->facts);
	if (!error)
		error = put_block(p, "report", &p->report);
	if (!error)
		error = output_write(p->out, shell->parts[1], shell->sizes[1]);
	if (!error)
		error = put_block(p, "calls", &p->drawing.calls);
	if (!error)
		error = put_block(p, "bins", &p->drawing.bins);
	if (!error && p->arrows.looked)
		error = put_block(p, "arrows", &p->arrows.block);
	if (!error && p->path->known)
		error = put_block(p, "path", &p->path->block);
	if (!error && p->series.bytes)
		error = put_block(p, "series", &p->series);
	if (!error && p->task_blocks.list.bytes)
		error = put_block(p, "tasks", &p->task_blocks.list) ?:
				put_block(p, "task_calls", &p->task_blocks.calls) ?:
				put_block(p, "task_bins", &p->task_blocks.bins);
	return error ? error : output_write(p->out, shell->parts[2], shell->sizes[2]);
}

static void say_what_is_left_out(const struct page *p, const char *name)
{
	char size[FORMAT_SIZE], limit[FORMAT_SIZE], time[FORMAT_SIZE], drawn[FORMAT_SIZE], all[FORMAT_SIZE];

	if (size_of(p) > p->limit)
		log_warn("%s: is %s, more than --html-size %s, with no call drawn: the report takes it", log_safe(name),
			 format_bytes(size, size_of(p)), format_bytes(limit, p->limit));
	else if (p->drawing.drawn < p->survey.calls)
		log_warn("%s: %s of %s calls are drawn, those that took %s or longer; more with --html-size",
			 log_safe(name), format_count(drawn, p->drawing.drawn), format_count(all, p->survey.calls),
			 format_time(time, p->drawing.threshold));
}

/* Which calls belong together. */
static int make_relations(struct page *p)
{
	size_t narrows = p->limit / ARROW_PART < ARROWS_MOST ? p->limit / ARROW_PART : ARROWS_MOST;
	int error;

	p->path = page_path_new(&p->survey);
	if (!p->path)
		return -ENOMEM;
	error = page_arrows_make(&p->arrows, &p->survey, reporter_relations(p->reporter), p->recording, narrows,
				 p->path, p->spool);
	return error ? error : page_path_end(p->path, recording_definitions(p->whole), p->spool);
}

static int make_page(struct page *p)
{
	int error = page_shell_find(&p->shell);

	if (!error)
		error = make_report(p);
	if (!error)
		error = survey_read(&p->survey, p->recording, p->reporter, p->out);
	if (!error)
		error = make_relations(p);
	if (!error)
		error = find_what_fits(p);
	return error ? error : put_page(p);
}

static int page_write_within(struct recording *recording, int fd, int spare, const char *name, uint64_t limit)
{
	struct page *p = calloc(1, sizeof(*p));
	int error = -ENOMEM, ended = 0;

	if (!p)
		return -ENOMEM;
	p->recording = recording;
	p->limit = limit;
	p->spool = spool_new(spare);
	p->out = p->spool ? output_open(fd, name) : NULL;
	if (p->out) {
		error = make_page(p);
		ended = output_close(p->out);
	}
	if (!error && !ended)
		say_what_is_left_out(p, name);
	forget_try(p);
	block_free(&p->report);
	block_free(&p->series);
	page_levels_free(p->levels);
	block_free(&p->task_blocks.list);
	block_free(&p->task_blocks.calls);
	block_free(&p->task_blocks.bins);
	page_tasks_free(p->tasks);
	block_free(&p->arrows.block);
	page_path_free(p->path);
	survey_free(&p->survey);
	reporter_free(p->reporter);
	recording_close(p->whole);
	spool_free(p->spool);
	free(p);
	return error ? error : ended;
}

static int page_write(struct recording *recording, int fd, int spare, const char *name)
{
	return page_write_within(recording, fd, spare, name, SIZE_DEFAULT);
}

const struct exporter exporter_page = {
	.name = "page",
	.suffixes = ".html",
	.help = "a page for any browser",
	.needs_spare = true,
	.write = page_write,
	.write_within = page_write_within,
#ifndef GASPBPF_PAGE
	.missing = "this build has no page: 'make page' makes it (needs npm), then 'make'",
#endif
};
