/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters_print.c - performance counters for people and for programs, as a part of the report.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters.h"
#include "analysis/printer.h"
#include "util/json.h"
#include "util/log.h"

static const char *const scope_names[COUNTER_SCOPES] = { "global", "per_worker", "per_kind" };

/* --- for people ------------------------------------------------------------ */

static void put_count(struct table *t, uint64_t count, bool known)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s", known ? format_count(text, count) : "-");
}

static void put_name(struct table *t, const struct counters *c, const struct counter_row *row)
{
	if (row->scope == COUNTER_GLOBAL)
		table_cell(t, "%s", log_safe(row->model));
	else if (row->name)
		table_cell(t, "%s", log_safe(row->name));
	else if (row->scope == COUNTER_WORKER)
		table_cell(t, "worker %" PRId64, row->worker);
	else if (row->kind)
		table_cell(t, "0x%" PRIx64, row->kind);
	else
		table_cell(t, "(no code)");
}

static void put_row(struct table *t, const struct counters *c, const struct counter_row *row,
		    const struct definitions *d)
{
	bool peaks = counters_know_peaks(c, row);
	char text[FORMAT_SIZE];

	put_name(t, c, row);
	table_cell(t, "%u", row->process < d->nprocesses ? d->processes[row->process].pid : 0);
	if (row->scope != COUNTER_WORKER) {
		if (counters_know_internal(row))
			put_count(t, row->submitted, true);
		else
			table_cell(t, "<= %s", format_count(text, row->submitted));
		put_count(t, row->internal, counters_know_internal(row));
		put_count(t, row->peak_submitted, peaks);
		put_count(t, row->peak_ready, peaks);
	}
	put_count(t, row->executed, true);
	table_cell(t, "%s", format_time(text, row->busy));
}

static bool has_scope(const struct counters *c, enum counter_scope scope)
{
	size_t count;
	const struct counter_row *rows = counters_rows(c, &count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].scope == scope)
			return true;
	return false;
}

static void print_scope(const struct counters *c, const struct printer *p, enum counter_scope scope)
{
	static const char *const titles[COUNTER_SCOPES] = { "Runtime", "Worker", "Codelet" };
	static const char *const middle[] = { "Submitted", "Internal", "Peak submitted", "Peak ready" };
	struct table t = { 0 };
	size_t count;
	const struct counter_row *rows = counters_rows(c, &count);

	if (!has_scope(c, scope)) {
		if (scope == COUNTER_KIND)
			fputs("Codelets: not known with this build of the library\n", p->out);
		return;
	}
	table_column(&t, &(struct column){ .title = titles[scope], .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "pid", .drop = 1 });
	for (size_t i = 0; scope != COUNTER_WORKER && i < sizeof(middle) / sizeof(*middle); i++)
		table_column(&t, &(struct column){ .title = middle[i] });
	table_column(&t, &(struct column){ .title = "Executed" });
	table_column(&t, &(struct column){ .title = "Execution time" });
	for (size_t i = 0; i < count; i++)
		if (rows[i].scope == scope)
			put_row(&t, c, &rows[i], p->r->d);
	printer_table(p, &t);
}

static bool any_unsorted(const struct counters *c)
{
	size_t count;
	const struct counter_row *rows = counters_rows(c, &count);

	for (size_t i = 0; i < count; i++)
		if (!counters_know_internal(&rows[i]))
			return true;
	return false;
}

static void print_counters(void *state, const struct printer *p)
{
	const struct counters *c = state;
	uint64_t missing = counters_missing(c);
	char text[FORMAT_SIZE];
	size_t count;

	counters_rows(c, &count);
	printer_heading(
		p, "  (counted from the beginning of the observation; internal: the runtime's own, not in Submitted)");
	if (!count)
		fputs("No task was observed.\n", p->out);
	for (int scope = 0; count && scope < COUNTER_SCOPES; scope++)
		print_scope(c, p, scope);
	if (any_unsorted(c))
		fputs("This build of the library does not tell which tasks it submitted to itself: Submitted may "
		      "have some of them\n",
		      p->out);
	if (missing)
		fprintf(p->out,
			"%s calls are missing here, since they are not on the timeline: all counts are at least "
			"these\n",
			format_count(text, missing));
}

/* --- for programs ---------------------------------------------------------- */

static void put_json_row(const struct counters *c, const struct counter_row *row, const struct definitions *d,
			 struct json *j)
{
	bool peaks = counters_know_peaks(c, row), internal = counters_know_internal(row);
	char kind[32];

	json_object(j);
	json_key_string(j, "model", row->model);
	json_key_uint(j, "pid", row->process < d->nprocesses ? d->processes[row->process].pid : 0);
	if (row->scope != COUNTER_GLOBAL)
		json_key_string(j, "name", row->name);
	if (row->scope == COUNTER_WORKER)
		json_key_int_known(j, "worker", row->worker, counters_know_worker(row));
	if (row->scope == COUNTER_KIND) {
		snprintf(kind, sizeof(kind), "0x%" PRIx64, row->kind);
		json_key_string(j, "kind", kind);
	}
	if (row->scope != COUNTER_WORKER) {
		json_key_uint_known(j, "total_submitted", row->submitted, internal);
		json_key_uint_known(j, "internal_submitted", row->internal, internal);
		json_key_uint(j, "submitted_at_most", row->submitted);
		json_key_uint_known(j, "peak_submitted", row->peak_submitted, peaks);
		json_key_uint_known(j, "peak_ready", row->peak_ready, peaks);
	}
	json_key_uint(j, "total_executed", row->executed);
	json_key_uint(j, "cumul_execution_ns", row->busy);
	json_end_object(j);
}

static void put_counters(void *state, const struct report *r, struct json *j)
{
	const struct counters *c = state;
	size_t count;
	const struct counter_row *rows = counters_rows(c, &count);

	json_object(j);
	json_key_uint(j, "missing_calls", counters_missing(c));
	for (int scope = 0; scope < COUNTER_SCOPES; scope++) {
		json_key(j, scope_names[scope]);
		json_array(j);
		for (size_t i = 0; i < count; i++)
			if ((int)rows[i].scope == scope)
				put_json_row(c, &rows[i], r->d, j);
		json_end_array(j);
	}
	json_end_object(j);
}

/* --- in the report ---------------------------------------------------------- */

static int begin(void **state, const struct definitions *d)
{
	*state = counters_new(d);
	return *state ? 0 : -ENOMEM;
}

static void end(void *state)
{
	counters_free(state);
}

const struct analysis analysis_counters = {
	.name = "counters",
	.title = "Tasks",
	.asked = true,
	.roles = ROLE_BIT(ROLE_SUBMIT) | ROLE_BIT(ROLE_READY) | ROLE_BIT(ROLE_TASK) | ROLE_BIT(ROLE_DONE),
	.begin = begin,
	.event = counters_event,
	.print = print_counters,
	.json = put_counters,
	.free = end,
};
