/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_watch.c - a job's nodes are told when to begin and to end, and looked after.
 *
 * Whoever is late is waited for with patience, once at the start and once at the end; then the others go on without it.
 */
#include "cli/job_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/files.h"
#include "util/format.h"
#include "util/log.h"

#define LOOK_MS 100
#define SHOW_EVERY_NS 500000000ULL
#define LEAD_NS 500000000ULL    /* from an order to its time: every node has read it by then */
#define SILENT_NS 3000000000ULL /* nodes tell something every half second */
#define START_NS 60000000000ULL /* beside patience, until the first node says something */
#define CLOCKS_APART_NS 3000000000LL
#define NAMES_SHOWN 4
#define NAMES_ROOM 400

/* --- orders -------------------------------------------------------------------- */

static int order(struct job_watch *w, const char *what, uint64_t at)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s %" PRIu64 "\n", what, at), err;

	nodes_tell(w->nodes, line, length);
	err = write_all(w->orders, line, length);
	if (err)
		log_error("the nodes cannot be told to %s: %s: give a --folder that has space, and can be written",
			  what, strerror(-err));
	return err;
}

/* A network file system may else keep them here for half a minute. */
static void send_orders(const struct job_watch *w)
{
	fdatasync(w->orders);
}

static int order_end(struct job_watch *w, uint64_t at)
{
	w->end = at;
	return order(w, "end", at);
}

/* The end goes first: nobody who has read of the beginning does not know of it. */
static int order_begin(struct job_watch *w)
{
	uint64_t at = clock_realtime() + LEAD_NS;
	int err = w->duration ? order_end(w, at + w->duration) : 0;

	w->begin = at;
	err = err ?: order(w, "begin", at);
	send_orders(w);
	return err;
}

/* --- who is where ---------------------------------------------------------------- */

struct sums {
	size_t alive, waiting; /* nodes: not lost and not done; of them not ready, or silent */
	uint64_t processes, events, lost, cost_sum, costs, came;
	char names[NAMES_ROOM]; /* of those that are late to answer */
};

static bool is_late(const struct job_watch *w, const struct node *node, uint64_t now)
{
	return node->state == PART_ABSENT ? !w->begin || now - w->started > SILENT_NS : now - node->heard > SILENT_NS;
}

static void add_name(struct sums *s, const char *name)
{
	size_t used = strlen(s->names);

	if (s->waiting++ < NAMES_SHOWN)
		snprintf(s->names + used, sizeof(s->names) - used, "%s%.80s", used ? ", " : "", name);
	else if (s->waiting == NAMES_SHOWN + 1)
		snprintf(s->names + used, sizeof(s->names) - used, ", ...");
}

static struct sums sum_up(const struct job_watch *w)
{
	uint64_t now = clock_monotonic();
	struct sums s = { 0 };

	for (size_t i = 0; i < w->nodes->hosts.count; i++) {
		const struct node *node = &w->nodes->list[i];

		s.events += node->last.events;
		s.lost += node->last.lost;
		s.came += node->came;
		if (node->lost || node->state == PART_DONE)
			continue;
		s.alive++;
		s.processes += node->last.processes;
		s.cost_sum += node->last.cost;
		s.costs += node->state == PART_OBSERVING;
		if (is_late(w, node, now))
			add_name(&s, node->name);
	}
	return s;
}

static void show(struct job_watch *w, const struct sums *s, uint64_t now)
{
	char events[FORMAT_SIZE], lost[FORMAT_SIZE], cost[40] = "", came[60] = "", bytes[FORMAT_SIZE];
	const char *doing = !w->begin ? "ready" : nodes_in(w->nodes, PART_DONE) ? "done" : "observing";
	enum part_state state = !w->begin ? PART_READY : nodes_in(w->nodes, PART_DONE) ? PART_DONE : PART_OBSERVING;

	if (w->quiet || now - w->shown < SHOW_EVERY_NS)
		return;
	w->shown = now;
	if (s->costs)
		snprintf(cost, sizeof(cost), "  cost %.2f%%", s->cost_sum / 100.0 / s->costs);
	if (s->came)
		snprintf(came, sizeof(came), "  %s sent", format_bytes(bytes, s->came));
	log_status("%7.1f s  %zu of %zu nodes %s  %" PRIu64 " processes  %s events  lost %s%s%s%s%s",
		   (now - w->started) / 1e9, nodes_in(w->nodes, state), w->nodes->hosts.count, doing, s->processes,
		   format_count(events, s->events), format_count(lost, s->lost), cost, came,
		   s->waiting ? "  waiting for " : "", s->names);
}

/* --- one turn ---------------------------------------------------------------------- */

/* The first ^C ends the observation everywhere, the second one does not wait for that. */
static int read_signals(struct job_watch *w)
{
	struct signalfd_siginfo info;
	int err = 0;

	while (!err && read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		uint64_t at = clock_realtime() + LEAD_NS;

		if (w->stops++)
			nodes_give_up(w->nodes);
		else if (!w->end || at < w->end)
			err = order_end(w, at);
		send_orders(w);
	}
	return err;
}

static void say_begin(const struct job_watch *w, const struct sums *s)
{
	char length[FORMAT_SIZE];

	if (w->quiet)
		return;
	fprintf(stderr, "gaspbpf: observing %" PRIu64 " process%s on %zu of %zu nodes", s->processes,
		s->processes == 1 ? "" : "es", s->alive - s->waiting, w->nodes->hosts.count);
	if (w->duration)
		fprintf(stderr, " for %s", format_time(length, w->duration));
	fputs("; ^C ends it\n", stderr);
}

/* Each of them goes by its own. */
static void say_clocks(const struct job_watch *w)
{
	char off[FORMAT_SIZE];

	for (size_t i = 0; i < w->nodes->hosts.count; i++) {
		const struct node *node = &w->nodes->list[i];

		if (node->state == PART_READY && llabs(node->ahead) > CLOCKS_APART_NS)
			log_warn("%s: its clock is about %s %s this machine's, so it begins and ends at another time "
				 "than told: set the clocks of both (NTP)",
				 node->name, format_time(off, llabs(node->ahead)),
				 node->ahead < 0 ? "behind" : "ahead of");
	}
}

/* All are ready that will be, or the patience of those who are is at its end. */
static int begin(struct job_watch *w, const struct sums *s)
{
	uint64_t now = clock_monotonic();

	if (w->begin || w->stops || s->alive == s->waiting)
		return 0;
	w->ready = w->ready ?: now;
	if (s->waiting && now - w->ready < w->nodes->patience)
		return 0;
	log_status("%s", "");
	if (s->waiting)
		log_warn("going on without %s: not ready after %.0f s (--patience)", s->names,
			 (now - w->started) / 1e9);
	say_clocks(w);
	say_begin(w, s);
	return order_begin(w);
}

/* Nobody who is left answers any more, or it should have been over long ago. */
static bool is_hopeless(const struct job_watch *w, const struct sums *s)
{
	uint64_t now = clock_monotonic();
	bool ended = w->end && clock_realtime() > w->end + w->nodes->patience;

	if (!w->begin)
		return now - w->started > w->nodes->patience + START_NS && s->alive == s->waiting;
	for (size_t i = 0; i < w->nodes->hosts.count; i++) {
		const struct node *node = &w->nodes->list[i];

		if (!node->lost && node->state != PART_DONE && node->sending &&
		    now - node->sending < w->nodes->patience)
			return false;
		if (!node->lost && node->state != PART_DONE &&
		    now - (node->heard ? node->heard : w->started) < w->nodes->patience)
			return ended;
	}
	return s->alive;
}

/* --- the end ------------------------------------------------------------------------- */

/* The longest time from one node's moment to another one's; of the nodes that were there in time. */
static uint64_t spread(const struct nodes *nodes, bool ends, uint64_t ordered)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < nodes->hosts.count; i++) {
		uint64_t at = ends ? nodes->list[i].ended : nodes->list[i].began;

		if (!at || (ordered && at + LEAD_NS < ordered)) /* its ranks had ended before */
			continue;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	return last > first ? last - first : 0;
}

/* One that was to be sent. */
static void say_cut(const struct node *node)
{
	if (node->size)
		log_warn("%s: its recording has changed on the way: %" PRIu64 " of %" PRIu64
			 " bytes came: what can be read of it is used",
			 node->name, node->came, node->size);
	else
		log_warn("%s: its recording is cut: %" PRIu64 " bytes of it came over: %s", node->name, node->came,
			 node->why ? log_safe(node->why) : "it did not answer any more");
}

static void say_end(const struct job_watch *w)
{
	char began[FORMAT_SIZE], ended[FORMAT_SIZE];

	if (!w->quiet && nodes_in(w->nodes, PART_ENDED) > 1)
		fprintf(stderr, "gaspbpf: the nodes began within %s of each other, and ended within %s\n",
			format_time(began, spread(w->nodes, false, w->begin)),
			format_time(ended, spread(w->nodes, true, w->end)));
	for (size_t i = 0; i < w->nodes->hosts.count; i++) {
		const struct node *node = &w->nodes->list[i];
		const char *part = node->state >= PART_OBSERVING && w->recorded(w->context, node)
					   ? "its recording is cut"
					   : "it is not in the result";

		if (node->came && !node->whole)
			say_cut(node);
		else if (node->lost)
			log_warn("%s: %s: %s", node->name, part,
				 node->why ? log_safe(node->why) : "it did not answer any more");
	}
	nodes_say_words(w->nodes);
}

int job_watch(struct job_watch *w)
{
	struct sums s;
	int err = 0;

	w->started = w->shown = clock_monotonic();
	if (!w->quiet)
		fprintf(stderr, "gaspbpf: starting on %zu node%s\n", w->nodes->hosts.count,
			plural(w->nodes->hosts.count));
	do {
		err = nodes_serve(w->nodes, w->signals, LOOK_MS) ?: read_signals(w);
		s = sum_up(w);
		show(w, &s, clock_monotonic());
		err = err ?: begin(w, &s);
		if (!err && is_hopeless(w, &s))
			nodes_give_up(w->nodes);
	} while (!err && nodes_running(w->nodes) && !nodes_over(w->nodes));
	log_status("%s", "");
	if (err)
		return err;
	nodes_give_up(w->nodes);
	say_end(w);
	if (nodes_in(w->nodes, PART_OBSERVING))
		return 0;
	if (w->stops)
		return -EINTR;
	log_error("nothing was observed on any node: see what they say above");
	return -ENODATA;
}
