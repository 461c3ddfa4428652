/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c - of a merged recording (gaspbpf merge): the nodes, and how sure their clocks are.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/json.h"
#include "util/log.h"

#define TEXT_ROOM 200

/* The node whose clock it has; clocks are of machines. */
static const struct def_node *clock_of(const struct definitions *d, const struct def_node *node)
{
	return node->clock_of && node->clock_of <= d->nnodes ? &d->nodes[node->clock_of - 1] : node;
}

static const char *clock_text(const struct definitions *d, const struct def_node *node, char *text, size_t room)
{
	const struct def_node *clock = clock_of(d, node);
	char unsure[FORMAT_SIZE];

	if (clock->known_by == CLOCK_REFERENCE)
		return clock == node ? "the reference" : "that of the reference";
	if (clock->known_by != CLOCK_BOUNDS)
		return "by CLOCK_REALTIME only";
	snprintf(text, room, "to %s", format_time(unsure, clock->unsure));
	return text;
}

static const char *added_text(const struct definitions *d, const struct def_node *node, char *text, size_t room)
{
	int64_t offset = (int64_t)node->offset;
	char length[FORMAT_SIZE];

	if (clock_of(d, node)->known_by == CLOCK_REFERENCE)
		return "";
	snprintf(text, room, "%s%s", offset < 0 ? "-" : "+",
		 format_time(length, offset < 0 ? -(uint64_t)offset : (uint64_t)offset));
	return text;
}

static void add_row(struct table *table, const struct printer *p, uint32_t index, const uint32_t *processes)
{
	const struct definitions *d = p->r->d;
	const struct def_node *node = &d->nodes[index], *clock = clock_of(d, node);
	char text[TEXT_ROOM], length[FORMAT_SIZE];
	bool own = clock->known_by != CLOCK_REFERENCE;

	table_cell(table, "%s", node->host ? log_safe(node->host) : "?");
	table_cell(table, "%u", processes[index]);
	table_cell(table, node->cpus ? "%u" : "-", node->cpus);
	table_cell(table, "%s%s", format_time(length, node->end - node->start), node->cut ? ", cut" : "");
	table_cell(table, "%s", clock_text(d, node, text, sizeof(text)));
	table_cell(table, "%s", added_text(d, node, text, sizeof(text)));
	snprintf(text, sizeof(text), "%.3f", node->drift / 1000.0);
	table_cell(table, "%s", own ? text : "");
	snprintf(text, sizeof(text), "%u", clock->pieces);
	table_cell(table, "%s", own && clock->known_by == CLOCK_BOUNDS ? text : "");
	table_cell(table, "%s", clock->bounds ? format_count(length, clock->bounds) : "-");
	table_cell(table, "%s", clock->violated ? format_count(length, clock->violated) : "-");
}

/* What is to be known of the whole table. */
static void print_doubts(const struct printer *p)
{
	const struct definitions *d = p->r->d;
	size_t unsure = 0, violated = 0;

	for (size_t i = 0; i < d->nnodes; i++) {
		unsure += d->nodes[i].known_by > CLOCK_BOUNDS && !d->nodes[i].clock_of;
		violated += d->nodes[i].violated && !d->nodes[i].clock_of;
	}
	if (unsure)
		printer_paragraph(
			p, "  ",
			"Clocks that are known by CLOCK_REALTIME only have no messages or meetings that bound them "
			"from both sides: how far they are off is not known.");
	if (violated)
		printer_paragraph(
			p, "  ",
			"Some messages were received before they were sent, or meetings were left before all had "
			"come, by the times as they are: these clocks are further off than is said here, or calls "
			"that are missing made others look like theirs.");
}

static void print_nodes(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "node", .left = true, .shrinks = true },
		{ .title = "processes" },
		{ .title = "CPUs" },
		{ .title = "recorded" },
		{ .title = "clock", .left = true },
		{ .title = "added", .drop = 1 },
		{ .title = "drift/ppm", .drop = 2 },
		{ .title = "pieces", .drop = 3 },
		{ .title = "bounds", .drop = 1 },
		{ .title = "violated" },
	};
	const struct definitions *d = p->r->d;
	uint32_t *processes = calloc(d->nnodes + 1, sizeof(*processes));
	size_t shown = printer_rows(p, d->nnodes);
	struct table table = { 0 };

	if (d->nnodes && processes) {
		printer_heading(p, "  (clocks: not further off from the reference than this)");
		for (size_t i = 0; i < d->nprocesses; i++)
			if (d->processes[i].node && d->processes[i].node <= d->nnodes)
				processes[d->processes[i].node - 1]++;
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			table_column(&table, &columns[i]);
		for (size_t i = 0; i < shown; i++)
			add_row(&table, p, i, processes);
		printer_table(p, &table);
		printer_rest(p, shown, d->nnodes, "nodes");
		print_doubts(p);
	}
	free(processes);
}

static void put_node(const struct definitions *d, const struct def_node *node, struct json *j)
{
	static const char *const ways[] = { "reference", "bounds", "realtime" };
	const struct def_node *clock = clock_of(d, node);

	json_object(j);
	json_key_string(j, "host", node->host);
	json_key_string(j, "kernel", node->kernel);
	json_key_uint_known(j, "cpus", node->cpus, node->cpus);
	json_key_string(j, "command", node->command);
	json_key_uint(j, "start_ns", node->start);
	json_key_uint(j, "end_ns", node->end);
	json_key_bool(j, "cut", node->cut);
	json_key_uint(j, "clock", clock - d->nodes);
	json_key_string(j, "clock_known_by", clock->known_by <= CLOCK_ANCHORS ? ways[clock->known_by] : "unknown");
	json_key_uint_known(j, "clock_unsure_ns", clock->unsure, clock->known_by == CLOCK_BOUNDS);
	json_key_int(j, "added_ns", (int64_t)node->offset);
	json_key_int(j, "drift_ppb", node->drift);
	json_key_uint(j, "pieces", clock->pieces);
	json_key_uint(j, "bounds", clock->bounds);
	json_key_uint(j, "violated", clock->violated);
	json_end_object(j);
}

static void put_nodes(void *state, const struct report *r, struct json *j)
{
	json_array(j);
	for (size_t i = 0; i < r->d->nnodes; i++)
		put_node(r->d, &r->d->nodes[i], j);
	json_end_array(j);
}

const struct analysis analysis_nodes = {
	.name = "nodes",
	.title = "Nodes",
	.print = print_nodes,
	.json = put_nodes,
};
