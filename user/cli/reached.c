/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reached.c - a launcher starts some tens of daemons; where there are more, these start the others (Open MPI's and
 * PRRTE's do, as trees). So each node is asked where it has gone on to, generation by generation. No rights are needed
 * for that there.
 */
#include "cli/reached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/on_nodes.h"
#include "util/clock.h"
#include "util/log.h"

#define GENERATIONS_MOST 64
#define PATIENCE_NS 10000000000ULL
#define SERVE_MS 100

/* --- who asks ---------------------------------------------------------------------- */

static int take_names(struct hosts *hosts, struct buffer *names)
{
	char *rest, *name;
	int err = 0;

	buffer_put(names, "", 1);
	if (names->failed)
		return -ENOMEM;
	for (rest = (char *)names->data; !err && (name = strsep(&rest, "\n"));)
		if (part_name_is_fit(name))
			err = hosts_add(hosts, name);
	return err;
}

/* Those from this one on. */
static int ask_generation(struct hosts *hosts, size_t from, const char *by, char *const *command)
{
	uint64_t until = clock_monotonic() + PATIENCE_NS;
	struct nodes nodes = { .patience = PATIENCE_NS };
	int err = 0;

	for (size_t i = from; !err && i < hosts->count; i++)
		err = hosts_add(&nodes.hosts, hosts->names[i]);
	err = err ?: nodes_find(&nodes, NULL, by);
	err = err ?: nodes_start(&nodes, command, NULL);
	while (!err && nodes_running(&nodes) && !nodes_over(&nodes) && clock_monotonic() < until)
		err = nodes_serve(&nodes, -1, SERVE_MS);
	if (!err)
		nodes_give_up(&nodes);
	for (size_t i = 0; !err && i < nodes.hosts.count; i++)
		err = take_names(hosts, &nodes.list[i].handed);
	nodes_free(&nodes);
	return err;
}

int reached_ask(struct hosts *hosts, const char *answer, const char *by, const char *program)
{
	char *const command[] = { (char *)program, (char *)"job", (char *)"--reached", (char *)answer, NULL };
	size_t from = 0;
	int err = 0;

	for (int i = 0; !err && from < hosts->count && i < GENERATIONS_MOST; i++) {
		size_t asked = hosts->count;

		err = ask_generation(hosts, from, by, command);
		from = asked;
	}
	return err;
}

/* --- who is asked -------------------------------------------------------------------- */

int reached_tell(const char *answer, const char *named)
{
	struct part_news news = { .state = PART_DONE, .at = clock_realtime() };
	struct buffer names = { 0 };
	char *node = own_node_name(named);
	int err = node ? launched_further(&names, answer) : -EINVAL;

	if (!err && !part_hand_over(node, names.data, names.size))
		err = -EPIPE;
	news.status = err != 0;
	snprintf(news.node, sizeof(news.node), "%s", node ?: "");
	if (node)
		part_tell(&news);
	buffer_free(&names);
	log_set_name(NULL);
	free(node);
	return cli_status("job", err);
}
