/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/stuck_nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/json.h"
#include "util/log.h"
#include "util/table.h"
#include "waitgraph/hand_over.h"

#define LOOK_MS 100

/* --- one node ----------------------------------------------------------------- */

void stuck_part_hand_over(const struct own_node *part, const struct stuck *stuck, int status)
{
	struct part_news done = { .state = PART_DONE, .at = clock_realtime(), .processes = stuck->nprocesses };
	struct buffer buffer = { 0 };

	if (!part->node)
		return;
	if (!status)
		waits_hand_over(&buffer, stuck->parties, stuck->nparties, stuck->unit, stuck->ranks);
	snprintf(done.node, sizeof(done.node), "%s", part->node);
	done.status = status || buffer.failed || !part_hand_over(part->node, buffer.data, buffer.size);
	part_tell(&done);
	buffer_free(&buffer);
}

/* --- all of them ----------------------------------------------------------------- */

/* Until all have answered, or patience is at its end, or ^C. */
static int wait_for_all(struct nodes *nodes, uint64_t duration)
{
	uint64_t until = clock_monotonic() + duration + nodes->patience;
	int signals = cli_block_signals(0), err = signals < 0 ? signals : 0;
	struct signalfd_siginfo info;

	while (!err && nodes_running(nodes) && !nodes_over(nodes) && clock_monotonic() < until) {
		err = nodes_serve(nodes, signals, LOOK_MS);
		if (read(signals, &info, sizeof(info)) == sizeof(info))
			break;
		log_status("%zu of %zu nodes have answered", nodes_in(nodes, PART_DONE), nodes->hosts.count);
	}
	log_status("%s", "");
	if (signals >= 0)
		close(signals);
	if (!err)
		nodes_give_up(nodes);
	return err;
}

static int join(struct nodes *nodes, struct joined *joined)
{
	bool complete = nodes->job;
	size_t answered = 0;
	int err = 0;

	for (size_t i = 0; i < nodes->hosts.count && !err; i++) {
		struct node *node = &nodes->list[i];

		if (!node->lost)
			err = node->handed.failed
				      ? -ENOMEM
				      : joined_add(joined, node->handed.data, node->handed.size, node->name, i);
		if (err == -EINVAL) {
			log_warn("%s: what it says is not whole", node->name);
			node->lost = true;
			err = 0;
		}
		if (node->lost)
			log_warn("%s: is not looked at: %s", node->name,
				 node->why ? log_safe(node->why) : "it did not answer");
		complete &= !node->lost;
		answered += !node->lost;
	}
	if (!err && !answered) {
		log_error("no node has answered: see what they say above");
		return -ENODATA;
	}
	return err ?: joined_close(joined, complete);
}

static int print_text(const struct joined *joined, const struct findings *findings)
{
	static const struct column columns[] = {
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "pid", .drop = 1 },
		{ .title = "In", .left = true },
		{ .title = "", .left = true },
		{ .title = "Where", .left = true, .shrinks = true },
	};
	struct table table = { .ncolumns = 0 };
	int err;

	if (findings->count)
		puts("Findings");
	for (size_t i = 0; i < findings->count; i++)
		printf("- %s%s\n",
		       findings->list[i].likely && findings->list[i].kind != FINDING_DEADLOCK ? "likely: " : "",
		       findings->list[i].text);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		table_column(&table, &columns[i]);
	for (size_t i = 0; i < joined->count; i++) {
		const struct party *p = &joined->parties[i];

		if (p->helper || !p->tid)
			continue;
		table_cell(&table, "%s", log_safe(p->label));
		table_cell(&table, "%d", waits_pid(p->pid));
		table_cell(&table, "%s", p->event ? log_safe(p->event) : p->uncaught ? "?" : "-");
		table_cell(&table, "%s", p->waits ? "waits" : p->event ? "moves" : "-");
		table_cell(&table, "%s", p->place ? log_safe(p->place) : "-");
	}
	printf("%sThreads  (~: likely, not certain)\n", findings->count ? "\n" : "");
	err = table_print(&table, stdout, cli_width());
	table_free(&table);
	return err;
}

static void put_who(struct json *j, const void *context, size_t index)
{
	const struct joined *joined = context;
	const struct party *p = &joined->parties[index];

	json_key_string(j, "node", joined->nodes[index]);
	json_key_int_known(j, "pid", waits_pid(p->pid), p->pid);
	json_key_int_known(j, "tid", waits_pid(p->tid), p->tid);
	json_key_int_known(j, "rank", p->rank, p->rank >= 0);
}

static void put_threads(struct json *j, const struct joined *joined)
{
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < joined->count; i++) {
		const struct party *p = &joined->parties[i];

		if (!p->tid)
			continue;
		json_object(j);
		put_who(j, joined, i);
		json_key_string(j, "label", p->label);
		json_key_bool(j, "helper", p->helper);
		json_key_bool(j, "stuck", p->waits);
		json_key_string(j, "event", p->event);
		json_key_string(j, "place", p->place);
		json_end_object(j);
	}
	json_end_array(j);
}

static int print_json(const struct nodes *nodes, const struct joined *joined, const struct findings *findings)
{
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init_file(j, stdout, true);
	json_object(j);
	json_key_int_known(j, "ranks", joined->ranks, joined->ranks > 0);
	json_key(j, "nodes");
	json_array(j);
	for (size_t i = 0; i < nodes->hosts.count; i++) {
		json_object(j);
		json_key_string(j, "node", nodes->list[i].name);
		json_key_bool(j, "answered", !nodes->list[i].lost);
		json_key_string(j, "why", nodes->list[i].lost ? nodes->list[i].why : NULL);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "findings");
	json_array(j);
	for (size_t i = 0; i < findings->count; i++)
		diagnosis_put(j, &findings->list[i], put_who, joined);
	json_end_array(j);
	put_threads(j, joined);
	json_end_object(j);
	err = json_finish(j);
	free(j);
	if (!err)
		puts("");
	return err;
}

static int conclude(struct nodes *nodes, bool as_json)
{
	struct findings findings = { 0 };
	struct joined joined = { 0 };
	int err = join(nodes, &joined);

	if (!err)
		err = waits_find(joined.parties, joined.count, joined.unit ?: "rank", joined.ranks, &findings);
	if (!err)
		err = as_json ? print_json(nodes, &joined, &findings) : print_text(&joined, &findings);
	findings_free(&findings);
	joined_free(&joined);
	return err;
}

int stuck_on_nodes(const struct on_nodes *where, uint64_t duration, bool no_probes, bool as_json)
{
	struct nodes nodes = { 0 };
	char time[40];
	int err = on_nodes_find(where, &nodes);

	snprintf(time, sizeof(time), "%" PRIu64 "ms", duration / 1000000);
	if (!err)
		err = on_nodes_start(
			where, &nodes,
			(const char *[]){ "stuck", "--hand-over", "-d", time, no_probes ? "--no-probes" : NULL, NULL });
	if (!err)
		err = wait_for_all(&nodes, duration) ?: conclude(&nodes, as_json);
	nodes_free(&nodes);
	return err;
}
