/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parquet.c - a table with a row for each call, as an Apache Parquet file: for DuckDB, pandas, Spark and the like.
 *
 * docs/sql.md has the columns, and what they are asked. Rows come as the recording has its calls: those of one thread
 * in the order of their ends. Times are accounted for as the report does, by the same engine, so that sums over rows
 * are the report's. Calls that became no span have no row; how many they are is told beside the table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "account/account.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/parquet/parquet.h"
#include "export/parquet_call.h"
#include "util/array.h"

/* Whose time is whose on one thread. */
struct thread_time {
	struct nesting nesting;
	struct inclusive *events; /* by event */
	size_t room;
};

struct table {
	const struct definitions *d;
	struct output *out;
	struct parquet *file;
	struct call_rows *rows;
	struct event_names names;
	struct accounted_probe *probes;
	struct thread_time *threads;
	uint64_t lost; /* calls, by the gaps */
};

static int account(struct table *table, const struct span *span, struct call_time *time)
{
	const struct accounted_probe *probe = &table->probes[span->probe];
	struct thread_time *thread = &table->threads[span->thread];
	const struct nested_call call = {
		.begin = span->start,
		.start = span->start,
		.end = span->end,
		.duration = span->end > span->start ? span->end - span->start : 0,
		.depth = span->depth < GB_DEPTH ? span->depth : GB_DEPTH,
	};

	time->known = span_has_duration(span);
	if (!time->known)
		return 0;
	if (array_reach(&thread->events, &thread->room, probe->event + (size_t)1, sizeof(*thread->events)) ||
	    nesting_add(&thread->nesting, probe, &call, &time->self))
		return -ENOMEM;
	return inclusive_add(&thread->events[probe->event], &thread->nesting, &call, &time->total);
}

static int put_span(void *context, const struct definitions *d, const struct span *span)
{
	struct table *table = context;
	struct call_time time = { 0 };
	int error = account(table, span, &time);

	if (!error)
		error = call_row_put(table->rows, table->file, span, &time);
	return error ? error : parquet_end_row(table->file);
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct table *table = context;

	table->lost += gap->count;
	nesting_gap(&table->threads[gap->thread].nesting);
	return 0;
}

static bool put_progress(void *context, uint64_t at, uint64_t size)
{
	output_progress(((struct table *)context)->out, at, size);
	return true;
}

/* --- beside the table ---------------------------------------------------------------- */

static void note_number(struct table *table, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	parquet_note(table->file, key, text);
}

static void note_text(struct table *table, const char *key, const char *text)
{
	if (text)
		parquet_note(table->file, key, text);
}

/* The job's command: of the process with the least rank. */
static const char *command_of_job(const struct definitions *d)
{
	const struct def_process *job = NULL;

	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct def_process *process = &d->processes[i];

		if (!process->left_out && process->command &&
		    (!job || (process->rank >= 0 && (job->rank < 0 || process->rank < job->rank))))
			job = process;
	}
	return job ? job->command : NULL;
}

/* Calls without a row. Lost ones are told in two ways, and of a recording that was cut not by both. */
static void note_missing(struct table *table)
{
	uint64_t lost = 0, summed = 0, skipped = 0;

	for (size_t i = 0; i < table->d->nsums; i++) {
		if (thread_is_left_out(table->d, table->d->sums[i].thread))
			continue;
		lost += table->d->sums[i].lost;
		summed += table->d->sums[i].summed;
		skipped += table->d->sums[i].skipped;
	}
	note_number(table, "gaspbpf.lost", lost > table->lost ? lost : table->lost);
	note_number(table, "gaspbpf.summed", summed);
	note_number(table, "gaspbpf.skipped", skipped);
}

static void note_run(struct table *table)
{
	const struct def_run *run = &table->d->run;

	note_text(table, "gaspbpf.version", GASPBPF_VERSION);
	note_text(table, "gaspbpf.host", run->host);
	note_text(table, "gaspbpf.command", run->command);
	note_text(table, "gaspbpf.job", command_of_job(table->d));
	note_number(table, "gaspbpf.nodes", table->d->nnodes ?: 1);
	if (run->start_realtime)
		note_number(table, "gaspbpf.start_unix_ns", run->start_realtime);
	if (run->end > run->start)
		note_number(table, "gaspbpf.duration_ns", run->end - run->start);
	note_text(table, "gaspbpf.cut", run->finished ? "false" : "true");
	note_missing(table);
}

/* --- the whole ------------------------------------------------------------------------ */

static int table_open(struct table *table, int fd, const char *name)
{
	const struct definitions *d = table->d;

	table->probes = calloc(d->nprobes + 1, sizeof(*table->probes));
	table->threads = calloc(d->nthreads + 1, sizeof(*table->threads));
	table->rows = call_rows_new(d);
	if (!table->probes || !table->threads || !table->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->nprobes; i++)
		if (account_probe(&table->probes[i], &table->names, d, i))
			return -ENOMEM;
	table->out = output_open(fd, name);
	if (!table->out)
		return -ENOMEM;
	table->file = parquet_new(call_columns, ncall_columns, table->out);
	return table->file ? 0 : -ENOMEM;
}

static void thread_free(struct thread_time *thread)
{
	nesting_free(&thread->nesting);
	for (size_t i = 0; i < thread->room; i++)
		inclusive_free(&thread->events[i]);
	free(thread->events);
}

static void table_close(struct table *table)
{
	for (size_t i = 0; table->threads && i < table->d->nthreads; i++)
		thread_free(&table->threads[i]);
	for (size_t i = 0; table->probes && i < table->d->nprobes; i++)
		accounted_probe_free(&table->probes[i]);
	free(table->threads);
	free(table->probes);
	event_names_free(&table->names);
	call_rows_free(table->rows);
	parquet_free(table->file);
}

static int parquet_write(struct recording *recording, int fd, int spare, const char *name)
{
	struct table table = { .d = recording_definitions(recording) };
	struct span_sink sink = { .span = put_span, .gap = put_gap, .context = &table };
	int error = table_open(&table, fd, name), ended = 0;

	if (!error) {
		recording_watch(recording, put_progress, &table);
		error = recording_read(recording, &sink);
		recording_watch(recording, NULL, NULL);
	}
	if (!error) {
		note_run(&table);
		error = parquet_end(table.file);
	}
	if (table.out)
		ended = output_close(table.out);
	table_close(&table);
	return error ? error : ended;
}

const struct exporter exporter_parquet = {
	.name = "parquet",
	.suffixes = ".parquet",
	.help = "a table for SQL, a row a call",
	.write = parquet_write,
};
