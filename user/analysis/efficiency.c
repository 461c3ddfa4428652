/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * efficiency.c - POP's efficiencies of the run as it was observed (simulate/relations.h).
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"

static int begin(void **state, const struct definitions *d)
{
	*state = calloc(1, sizeof(struct efficiencies));
	return *state ? 0 : -ENOMEM;
}

static void related(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies)
{
	*(struct efficiencies *)state = *efficiencies;
}

static const char *share(char *text, double value)
{
	if (value < 0)
		snprintf(text, FORMAT_SIZE, "-");
	else
		snprintf(text, FORMAT_SIZE, "%.1f%%", 100 * value);
	return text;
}

static void print(void *state, const struct printer *p)
{
	const struct efficiencies *e = state;
	const struct {
		const char *name;
		double value;
		const char *means;
	} rows[] = {
		{ "Parallel efficiency", e->parallel, "work of all threads, of all their time" },
		{ "  Load balance", e->load_balance, "mean work, of the most: lost by uneven work" },
		{ "  Communication", e->communication, "the most work of one, of the run: lost in calls" },
		{ "    Serialisation", e->serialisation, "the same on an ideal network: lost by waiting" },
		{ "    Transfer", e->transfer, "ideal network's time, of the run: lost by data" },
	};
	char text[FORMAT_SIZE], time[FORMAT_SIZE], note[240];

	if (!e->threads)
		return;
	snprintf(
		note, sizeof(note),
		"  (100%%: nothing is lost there; as POP defines them, of the %zu threads that have to do with others, in the %s that were "
		"observed between the runtime's start and its end)",
		(size_t)e->threads, format_time(time, e->time));
	printer_heading(p, note);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		fprintf(p->out, "  %-20s %6s  %s\n", rows[i].name, share(text, rows[i].value), rows[i].means);
	if (e->serialisation < 0 && e->time)
		printer_paragraph(p, "-",
				  "not known: simulated on an ideal network, the run would take longer than it did: "
				  "something that it waited for was not seen.");
}

static void put_share(struct json *j, const char *key, double value)
{
	json_key(j, key);
	if (value < 0)
		json_null(j);
	else
		json_double(j, value);
}

static void put(void *state, const struct report *r, struct json *j)
{
	const struct efficiencies *e = state;

	json_object(j);
	json_key_uint(j, "threads", e->threads);
	json_key_uint(j, "time_ns", e->time);
	json_key_uint(j, "ideal_network_ns", e->ideal);
	put_share(j, "parallel", e->threads ? e->parallel : -1);
	put_share(j, "load_balance", e->threads ? e->load_balance : -1);
	put_share(j, "communication", e->threads ? e->communication : -1);
	put_share(j, "serialisation", e->threads ? e->serialisation : -1);
	put_share(j, "transfer", e->threads ? e->transfer : -1);
	json_end_object(j);
}

/* What is missing to 100 %. */
static bool figure(void *state, const struct report *r, const char *name, double *value)
{
	const struct efficiencies *e = state;
	const struct {
		const char *name;
		double efficiency;
	} figures[] = {
		{ "imbalance", e->load_balance },      { "communication", e->communication },
		{ "serialisation", e->serialisation }, { "transfer", e->transfer },
		{ "inefficiency", e->parallel },
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures) && e->threads; i++) {
		if (strcmp(name, figures[i].name) || figures[i].efficiency < 0)
			continue;
		*value = 100 * (1 - figures[i].efficiency);
		return true;
	}
	return false;
}

const struct analysis analysis_efficiency = {
	.name = "efficiency",
	.title = "Efficiency",
	.of_calls = true,
	.of_waiting = true,
	.of_work = true,
	.begin = begin,
	.related = related,
	.figure = figure,
	.print = print,
	.json = put,
	.free = free,
};
