/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_nodes.c - gaspbpf top on a job of many nodes.
 *
 * On each node 'gaspbpf top --hand-over' is started by the site's own means (user/nodes). What comes of them is shown
 * once in each interval: the latest look of each node. A node that is late, or has ended, is named, and of its
 * processes it is not known what they do now.
 */
#include "cli/top_nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "top/told.h"
#include "util/clock.h"
#include "util/log.h"

#define SERVE_MS 100
#define LATE_NS 3000000000ULL
#define LATE_INTERVALS 3

/* --- one node ------------------------------------------------------------------------ */

bool top_hand_over(const struct own_node *own, const struct top *top, bool last, int status)
{
	struct part_news news = { .state = last ? PART_DONE : PART_OBSERVING,
				  .at = clock_realtime(),
				  .processes = top->alive,
				  .events = top->spans,
				  .lost = top->lost };
	struct buffer bytes = { 0 };
	bool read = true;

	if (!status && top->live)
		told_hand_over(&bytes, top);
	snprintf(news.node, sizeof(news.node), "%s", own->node);
	read = !bytes.failed && part_hand_over(own->node, bytes.data, bytes.size);
	news.status = status || !read;
	read = part_tell(&news) && read;
	buffer_free(&bytes);
	return read;
}

/* --- all of them --------------------------------------------------------------------- */

struct watching {
	const struct top_on_nodes *o;
	struct nodes nodes;
	struct top_told told;
	struct top top;
	struct screen *screen;
	char named[160];
	uint64_t started, drawn, interval; /* ns */
	uint64_t stopped;                  /* ns; when somebody pressed ^C; 0: nobody has */
	uint64_t *wanted;                  /* by node: so many looks are waited for then */
	bool said;
	int signals;
};

static int start(struct watching *w)
{
	char interval[40], duration[40];
	const char *words[8] = { "top", "--hand-over", "-i", interval };
	size_t n = 4;
	int err = on_nodes_find(w->o->where, &w->nodes);

	if (err)
		return err;
	w->told.nnodes = w->nodes.hosts.count;
	w->told.nodes = calloc(w->told.nnodes, sizeof(*w->told.nodes));
	w->wanted = calloc(w->told.nnodes, sizeof(*w->wanted));
	if (!w->told.nodes || !w->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < w->told.nnodes; i++)
		w->told.nodes[i].name = w->nodes.list[i].name;
	snprintf(interval, sizeof(interval), "%" PRIu64 "ms", w->o->interval / 1000000);
	snprintf(duration, sizeof(duration), "%" PRIu64 "ms", w->o->duration / 1000000);
	if (w->o->once)
		words[n++] = "--once";
	if (w->o->duration) {
		words[n++] = "-d";
		words[n++] = duration;
	}
	if (w->nodes.job) {
		snprintf(w->named, sizeof(w->named), "gaspbpf stuck --slurm %s", w->nodes.job);
		w->top.named = w->named;
	}
	return on_nodes_start(w->o->where, &w->nodes, words);
}

static const char *trouble_of(const struct watching *w, const struct node *node, const struct told_node *told)
{
	uint64_t now = clock_monotonic(), patience = LATE_INTERVALS * w->o->interval;

	if (node->lost)
		return node->why ? log_safe(node->why) : "it does not answer any more";
	if (node->state == PART_DONE)
		return w->o->once ? NULL : "its processes have ended";
	if (!told->look.size)
		return "it has not answered yet";
	if (node->heard && now - node->heard > (patience > LATE_NS ? patience : LATE_NS))
		return "it is late";
	return NULL;
}

static void take_looks(struct watching *w)
{
	for (size_t i = 0; i < w->told.nnodes; i++) {
		struct node *node = &w->nodes.list[i];

		told_take(&w->told.nodes[i], &node->handed);
	}
}

static int join(struct watching *w)
{
	int err;

	for (size_t i = 0; i < w->told.nnodes; i++)
		w->told.nodes[i].trouble = trouble_of(w, &w->nodes.list[i], &w->told.nodes[i]);
	err = told_join(&w->told);
	if (!err)
		told_show(&w->top, &w->told);
	return err;
}

/* True: the end. */
static bool do_keys(struct watching *w, bool *redraw)
{
	enum screen_wish wish = screen_keys(w->screen);

	if (wish == SCREEN_SLOWER && w->interval < 60000000000ULL)
		w->interval *= 2;
	if (wish == SCREEN_FASTER && w->interval > 2 * SERVE_MS * 1000000ULL)
		w->interval /= 2;
	*redraw |= wish != SCREEN_NOTHING;
	return wish == SCREEN_QUIT;
}

/* True: the end. */
static bool draw(struct watching *w, int *err)
{
	uint64_t now = clock_monotonic();
	bool redraw = screen_stop(w->screen);

	if (do_keys(w, &redraw))
		return true;
	if (!screen_paused(w->screen) && now - w->drawn >= w->interval) {
		*err = join(w);
		w->drawn = now;
		redraw = true;
	}
	if (redraw && !*err) {
		told_show(&w->top, &w->told); /* the keys may have asked for other figures */
		screen_draw(w->screen);
	}
	return *err;
}

/* Also of those that do not answer any more. */
static size_t count_answers(const struct watching *w)
{
	size_t count = 0;

	for (size_t i = 0; i < w->told.nnodes; i++)
		count += w->told.nodes[i].look.size > 0;
	return count;
}

/* What happened before ^C is in the second look from then on. True: nobody wants them, or it was pressed again. */
static bool is_stopped(struct watching *w)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (w->stopped || !w->o->once)
		return true;
	w->stopped = clock_monotonic();
	for (size_t i = 0; i < w->told.nnodes; i++)
		w->wanted[i] = w->told.nodes[i].looks + 2;
	return false;
}

static bool have_wanted(const struct watching *w)
{
	if (clock_monotonic() - w->stopped > LATE_NS + 2 * w->o->interval)
		return true;
	for (size_t i = 0; i < w->told.nnodes; i++)
		if (w->told.nodes[i].looks < w->wanted[i] && !w->nodes.list[i].lost &&
		    w->nodes.list[i].state < PART_DONE)
			return false;
	return true;
}

static bool is_over(struct watching *w)
{
	uint64_t length = w->o->duration ?: w->o->once ? w->o->interval : 0, passed = clock_monotonic() - w->started;

	if (is_stopped(w) || !nodes_running(&w->nodes) || nodes_over(&w->nodes))
		return true;
	return w->stopped ? have_wanted(w) : length && passed > length + w->nodes.patience;
}

/* When the last one has answered, or is lost. A node's look comes before its news, which has the processes. */
static void say_begin(struct watching *w)
{
	uint64_t processes = 0;

	for (size_t i = 0; i < w->told.nnodes; i++) {
		const struct node *node = &w->nodes.list[i];

		if ((!w->told.nodes[i].looks || node->state < PART_OBSERVING) && !node->lost)
			return;
		processes += node->last.processes;
	}
	w->said = true;
	fprintf(stderr, "gaspbpf: observing %" PRIu64 " process%s on %zu of %zu nodes; ^C to stop\n", processes,
		processes == 1 ? "" : "es", count_answers(w), w->told.nnodes);
}

static int watch(struct watching *w)
{
	int err = 0;

	do {
		err = nodes_serve(&w->nodes, w->signals, SERVE_MS);
		take_looks(w);
		if (!w->said && !w->screen)
			say_begin(w);
		if (!w->screen)
			log_status("%zu of %zu nodes answer", count_answers(w), w->told.nnodes);
		else if (!err && draw(w, &err))
			break;
	} while (!err && !is_over(w));
	log_status("%s", "");
	return err;
}

static int conclude(struct watching *w)
{
	int err = join(w);

	nodes_give_up(&w->nodes);
	if (err)
		return err;
	if (!count_answers(w)) {
		log_error("no node has answered: see what they say above");
		return -ENODATA;
	}
	if (!w->o->once)
		return 0;
	return w->o->json ? top_print_json(&w->top, stdout) : top_print(&w->top, stdout, cli_width());
}

static int open_screen(struct watching *w)
{
	if (!w->o->guard)
		return 0;
	guard_screen(w->o->guard, true);
	w->screen = screen_open(&w->top);
	if (w->screen)
		return 0;
	guard_screen(w->o->guard, false);
	return -ENOTTY;
}

int top_on_nodes(const struct top_on_nodes *o)
{
	struct watching w = { .o = o, .interval = o->interval, .started = clock_monotonic() };
	int err;

	w.top.view = (struct top_view){ .sort = o->sort, .all = o->once };
	w.signals = cli_block_signals(0);
	err = w.signals < 0 ? w.signals : start(&w);
	if (!err)
		err = join(&w) ?: open_screen(&w);
	if (!err)
		err = watch(&w);
	if (w.screen) {
		screen_close(w.screen);
		guard_screen(o->guard, false);
	}
	err = err ?: conclude(&w);
	free(w.wanted);
	top_free(&w.top);
	told_free(&w.told);
	nodes_free(&w.nodes);
	if (w.signals >= 0)
		close(w.signals);
	return err;
}
