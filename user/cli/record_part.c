/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/record_part.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/on_nodes.h"
#include "observe/cost.h"
#include "util/clock.h"
#include "util/log.h"

#define ASK_WAITING_NS 50000000ULL
#define ASK_OBSERVING_NS 200000000ULL
#define TELL_EVERY_NS 500000000ULL
#define CLOSE_NS 30000000ULL /* more than job_serve() takes */

enum { OPTION_PART = 440, OPTION_COLLECT, OPTION_NO_COLLECT, OPTION_NODE };

static const struct argp_option option_table[] = {
	{ "part-of", OPTION_PART, "FOLDER", 0,
	  "As one of several nodes, whose recordings come into FOLDER: begin and end as its file 'orders' says; 'gaspbpf "
	  "job' starts it so (docs/cluster.md)",
	  4 },
	{ "collect", OPTION_COLLECT, NULL, 0,
	  "With --part-of: even where FOLDER is here, orders come on standard input, and the recording goes to standard "
	  "output",
	  4 },
	{ "no-collect", OPTION_NO_COLLECT, NULL, 0, "With --part-of: where FOLDER is not here, do nothing", 4 },
	{ "node", OPTION_NODE, "NAME", 0, "With --part-of: this node's name, where it is not the host's", 4 },
	{ 0 }
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct record_part *part = state->input;

	switch (key) {
	case OPTION_PART:
		part->folder = argument;
		return 0;
	case OPTION_COLLECT:
		part->send = true;
		return 0;
	case OPTION_NO_COLLECT:
		part->shared = true;
		return 0;
	case OPTION_NODE:
		part->named = own_node_parse(argument, state);
		return 0;
	case ARGP_KEY_END:
		if (part->named && !part->folder)
			argp_error(state, "--node goes with --part-of");
		if ((part->send || part->shared) && !part->folder)
			argp_error(state, "--collect and --no-collect go with --part-of");
		if (part->send && part->shared)
			argp_error(state, "--collect and --no-collect exclude each other: give one of them");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp part_parser = { option_table, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_here(const char *path)
{
	int fd = file_open_to_read(path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* What nodes do not share is sent. */
static int find_folder(struct record_part *part)
{
	int err = 0;

	if (part->shared && !is_here(part->orders)) {
		log_error(
			"%s is not here: give a --folder that all nodes see, or a means that brings orders here (--by "
			"ssh)",
			log_safe(part->folder));
		return -ENOENT;
	}
	if (!part->send && !part->shared && !is_here(part->orders)) {
		part->send = true;
		log_warn("%s is not here: the recording is sent by what has started this", log_safe(part->folder));
	}
	if (part->send)
		err = part_sent_open(&part->sent, part->node);
	if (err)
		return err;
	if (part->send)
		part->recording = strdup(part->sent.recording);
	else if (asprintf(&part->recording, "%s/%s.gasp", part->folder, part->node) < 0)
		part->recording = NULL;
	return part->recording ? 0 : -ENOMEM;
}

int record_part_open(struct record_part *part, struct text_list *outputs)
{
	part->node = own_node_name(part->named);
	if (!part->node)
		return -EINVAL;
	if (asprintf(&part->orders, "%s/%s", part->folder, PART_ORDERS) < 0) {
		part->orders = NULL;
		return -ENOMEM;
	}
	return find_folder(part) ?: cli_append(outputs, part->recording);
}

/* --- news and orders ------------------------------------------------------- */

static bool tell(const struct record_part *part, const struct job *job, enum part_state state, uint64_t at, int status)
{
	struct capture_totals totals = job->capture ? capture_totals(job->capture) : (struct capture_totals){ 0 };
	uint64_t start = job->definitions.run.start, now = clock_monotonic();
	struct part_news news = { .state = state,
				  .at = at,
				  .processes = totals.alive,
				  .events = totals.spans,
				  .lost = totals.lost > totals.gaps ? totals.lost : totals.gaps,
				  .status = status };

	if (state > PART_READY && now > start)
		news.cost = 100 * cost_of_all(&totals, now - start);
	snprintf(news.node, sizeof(news.node), "%s", part->node);
	return part_tell(&news);
}

/* 0: none. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && b && b < a ? b : a ?: b;
}

/* What is in the folder may be seen late: a network file system keeps for a while what it has read. */
static void ask(struct record_part *part, uint64_t every)
{
	uint64_t now = clock_monotonic();
	bool asked = true;

	if (now - part->asked < every)
		return;
	part->asked = now;
	if (!part->send)
		part_read_orders(part->orders, &part->in_folder);
	if (!part->shared)
		asked = part_sent_ask(&part->sent, &part->by_input);
	part->told.begin = part->in_folder.begin ?: part->by_input.begin;
	part->told.end = earlier(part->in_folder.end, part->by_input.end);
	if (part->send && !asked && !part->stopped) {
		if (!part->told.begin)
			log_error(
				"no orders come by what has started this: give a --folder that all nodes see, or another "
				"means (--by ssh)");
		part->stopped = true; /* nobody is there any more */
	}
}

static void tell_now_and_then(struct record_part *part, const struct job *job, enum part_state state)
{
	uint64_t now = clock_monotonic();

	if (now - part->said < TELL_EVERY_NS)
		return;
	part->said = now;
	if (!tell(part, job, state, clock_realtime(), 0))
		part->stopped = true; /* nobody listens: what has started us is gone */
}

/* --- the two moments that all nodes share ------------------------------------ */

static bool has_come(int descriptor)
{
	struct pollfd fd = { .fd = descriptor, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static bool is_close(uint64_t at)
{
	return at && clock_realtime() + CLOSE_NS >= at;
}

static void sleep_until(uint64_t at)
{
	struct timespec time = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

void record_part_wait(struct record_part *part, struct job *job, int signals)
{
	while (!part->stopped && job_alive(job) && !is_close(part->told.begin)) {
		tell_now_and_then(part, job, PART_READY);
		job_serve(job);
		ask(part, ASK_WAITING_NS);
		/* The order to begin comes behind that one, perhaps later. */
		part->stopped |= has_come(signals) || (!part->told.begin && is_close(part->told.end));
	}
	if (!part->stopped && part->told.begin)
		sleep_until(part->told.begin);
}

void record_part_began(struct record_part *part, struct job *job)
{
	part->said = clock_monotonic();
	tell(part, job, PART_OBSERVING, job->definitions.run.start_realtime, 0);
}

bool record_part_step(struct record_part *part, const struct job *job)
{
	ask(part, ASK_OBSERVING_NS);
	tell_now_and_then(part, job, PART_OBSERVING);
	if (!part->stopped && !is_close(part->told.end))
		return false;
	if (!part->stopped)
		sleep_until(part->told.end);
	return true;
}

void record_part_ended(const struct record_part *part, const struct job *job)
{
	tell(part, job, PART_ENDED, job->definitions.run.end_realtime, 0);
}

void record_part_done(const struct record_part *part, const struct job *job, int status)
{
	if (!status && part->send && !part_sent_send(&part->sent, part->node))
		status = 1;
	tell(part, job, PART_DONE, clock_realtime(), status);
}

void record_part_free(struct record_part *part)
{
	log_set_name(NULL);
	if (part->send)
		part_sent_free(&part->sent);
	free(part->node);
	free(part->orders);
	free(part->recording);
}
