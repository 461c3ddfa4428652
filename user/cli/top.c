/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.c - gaspbpf top: what a job is doing now, on a screen that goes on, or once.
 *
 * How the job is observed says looking.h. For the screen there are two processes (top/guard.c); this one measures and
 * draws.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/looking.h"
#include "cli/top_nodes.h"
#include "observe/command.h"
#include "observe/launchers.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/privileges.h"

#define FIRST_INTERVAL 300000000ULL /* ns; until there are figures to show */
#define LEAST_INTERVAL 100000000ULL /* ns */
#define MOST_INTERVAL 60000000000ULL

struct options {
	struct choice choice;
	char **command;
	struct observing observing;
	struct on_nodes where;
	struct own_node own;         /* it is one of several nodes */
	uint64_t interval, duration; /* duration 0: without end */
	bool once, json, threads;
	int sort;
};

enum { OPTION_ONCE = 300, OPTION_JSON, OPTION_SORT };

static const struct argp_option option_table[] = {
	{ "interval", 'i', "TIME", 0, "Look every TIME: 1 (seconds, the default), 500ms, 10s", 1 },
	{ "duration", 'd', "TIME", 0, "End after TIME", 1 },
	{ "threads", 't', NULL, 0, "A row for each thread, not for each process", 1 },
	{ "sort", OPTION_SORT, "COLUMN", 0,
	  "By name (the default), compute, barrier, wait, lock, data, collective, task, alloc, other, calls, bytes, "
	  "late or cost",
	  1 },
	{ "once", OPTION_ONCE, NULL, 0,
	  "No screen: observe for -d TIME (default: one interval), or up to ^C or the job's end, and print it once",
	  1 },
	{ "json", OPTION_JSON, NULL, 0, "With --once: everything as JSON", 1 },
	{ 0 }
};

static const char description[] =
	"What a running parallel job is doing now: where the time of each rank or thread goes, by role (computing, "
	"barriers, locks, transfers, "
	"collective operations, tasks, memory), calls and bytes a second, who comes last to barriers and how late, "
	"which lock is waited for, "
	"and what observing costs. Calls in progress count up to now."
	"\v"
	"Keys: up and down choose a row, Enter shows its events, < and > sort, / filters, t threads or processes, a "
	"since the start or now, "
	"p pauses, h helps, q quits.\n\n"
	"Examples:\n"
	"  sudo gaspbpf top -p 4242                     a launcher's PID: all its ranks\n"
	"  sudo gaspbpf top -p 4242 -t --sort barrier   threads, who waits most first\n"
	"  sudo gaspbpf top --slurm-job 4711            its ranks on this machine\n"
	"  gaspbpf top --slurm 4711                     on all of its nodes\n"
	"  sudo gaspbpf top -- mpirun -n 4 ./solver     output comes last; q asks\n"
	"  sudo gaspbpf top -p 4242 --once -d 5s        five seconds, printed as text\n"
	"  sudo gaspbpf top -p 4242 --once --json | jq '.processes[].interval.group_ns'";

static void check_processes(struct options *o, struct argp_state *state)
{
	if (!on_nodes_wanted(&o->where)) {
		cli_need_processes(&o->choice, o->command, state);
		return;
	}
	o->where.more = o->command;
	o->command = NULL;
	on_nodes_check(&o->where, state);
	if (choice_has_processes(&o->choice))
		argp_error(state, "on other nodes processes are chosen by options behind --");
	if (o->threads)
		argp_error(state, "-t: of several nodes there are rows for processes only");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->observing;
		state->child_inputs[2] = &o->choice.who;
		state->child_inputs[3] = &o->where;
		state->child_inputs[4] = &o->own;
		o->interval = 1000000000;
		break;
	case 'i':
		if (parse_time(argument, &o->interval) || o->interval < LEAST_INTERVAL || o->interval > MOST_INTERVAL)
			argp_error(state, "-i %s: not a time between 100ms and 60s: use 1, 500ms", log_safe(argument));
		break;
	case 'd':
		if (parse_time(argument, &o->duration) || !o->duration)
			argp_error(state, "-d %s: not a time: use 10, 500ms, 2m", log_safe(argument));
		break;
	case 't':
		o->threads = true;
		break;
	case OPTION_SORT:
		o->sort = top_sort_find(argument);
		if (o->sort < 0)
			argp_error(state, "--sort %s: no such column: --help names them", log_safe(argument));
		break;
	case OPTION_ONCE:
		o->once = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		check_processes(o, state);
		if (o->json && !o->once)
			argp_error(state, "--json goes with --once");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 },   { &observing_parser, 0, NULL, 0 },
					      { &chooser_parser, 0, NULL, 0 },  { &on_nodes_parser, 0, NULL, 0 },
					      { &own_node_parser, 0, NULL, 0 }, { 0 } };
static const struct argp parser = { option_table, parse,    "-p PID\n--slurm-job ID\n--slurm JOBID\n-- COMMAND...",
				    description,  children, NULL,
				    NULL };

/* --- the run --------------------------------------------------------------- */

struct run {
	const struct options *options;
	struct looking looking;
	struct guard *guard; /* NULL: there is no screen */
	struct screen *screen;
	uint64_t interval; /* ns */
};

/* What keys ask for. True: the end. */
static bool do_keys(struct run *r, bool *redraw)
{
	enum screen_wish wish = r->screen ? screen_keys(r->screen) : SCREEN_NOTHING;

	if (wish == SCREEN_SLOWER && r->interval < MOST_INTERVAL)
		r->interval *= 2;
	if (wish == SCREEN_FASTER && r->interval > LEAST_INTERVAL)
		r->interval /= 2;
	if (wish == SCREEN_END_COMMAND)
		command_ask_to_end(&r->looking.job); /* the screen goes with it */
	*redraw |= wish != SCREEN_NOTHING;
	return wish == SCREEN_QUIT;
}

/* Is there a look at the end of each interval? */
static bool goes_on(const struct run *r)
{
	return r->screen ? !screen_paused(r->screen) : r->options->own.on;
}

static void watch(struct run *r)
{
	uint64_t started = clock_monotonic();
	uint64_t looked = r->interval > FIRST_INTERVAL ? started - r->interval + FIRST_INTERVAL : started;
	uint64_t duration = r->options->duration ? r->options->duration : r->options->once ? r->interval : 0;

	for (;;) {
		bool redraw = false;
		uint64_t now;

		job_serve(&r->looking.job);
		r->looking.top.command = r->looking.job.command_ended ? 0 : r->looking.job.command;
		redraw = screen_stop(r->screen);
		if (do_keys(r, &redraw) || looking_is_signalled(&r->looking) || !job_alive(&r->looking.job))
			break;
		now = clock_monotonic();
		if (duration && now - started >= duration)
			break;
		if (goes_on(r) && now - looked >= r->interval) {
			looking_look(&r->looking, false);
			looked = now;
			redraw = r->screen;
			if (!r->screen && !top_hand_over(&r->options->own, &r->looking.top, false, 0))
				break;
		}
		if (redraw)
			screen_draw(r->screen);
	}
	launchers_finish(r->looking.job.launchers);
	if (r->options->once)
		looking_look(&r->looking, true);
}

static const struct text_list nowhere; /* it writes no files */

/* A command that is started has no terminal while the screen is on: what it prints is shown at the end. */
static int start_command(struct run *r)
{
	int before[3], nothing = open("/dev/null", O_RDWR | O_CLOEXEC), output, err;

	if (!r->guard)
		return job_start(&r->looking.job, r->options->command, r->options->observing.scope,
				 r->options->observing.ring_bytes, &nowhere);
	output = guard_output(r->guard) >= 0 ? guard_output(r->guard) : nothing;
	for (int fd = 0; fd < 3; fd++) {
		before[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		dup2(fd ? output : nothing, fd);
	}
	err = job_start(&r->looking.job, r->options->command, r->options->observing.scope,
			r->options->observing.ring_bytes, &nowhere);
	for (int fd = 0; fd < 3; fd++) {
		dup2(before[fd], fd);
		close(before[fd]);
	}
	close(nothing);
	return err;
}

/* The screen's own process: from here to the end of the observation. */
static int observe(struct run *r, struct options *o)
{
	int err = looking_prepare(&r->looking, &o->choice, &o->observing);

	r->looking.brief = o->own.on;
	if (!err)
		err = o->command ? start_command(r)
				 : looking_join(&r->looking, &o->choice, o->observing.scope, o->observing.ring_bytes);
	err = err ?: looking_begin(&r->looking, &o->choice, &o->observing);
	if (err)
		return err;
	r->looking.top.view = (struct top_view){ .threads = o->threads, .sort = o->sort, .all = o->once };
	if (r->guard) {
		guard_screen(r->guard, true);
		r->screen = screen_open(&r->looking.top);
		if (!r->screen) {
			guard_screen(r->guard, false);
			return -ENOTTY;
		}
		looking_look(&r->looking, false);
		screen_draw(r->screen);
	}
	err = job_listen(&r->looking.job, (int[]){ r->looking.signals, r->screen ? STDIN_FILENO : -1 }, 2);
	if (!err)
		watch(r);
	if (r->screen) {
		screen_close(r->screen);
		guard_screen(r->guard, false);
	}
	return err;
}

/* A command that runs on must not be a surprise. */
static void part_from_command(struct run *r)
{
	struct job *job = &r->looking.job;

	looking_wait_for_command(&r->looking);
	if (!job->command || job->command_ended)
		return;
	if (r->guard)
		log_warn("%d runs on: 'kill %d' ends it, 'sudo tail -f /proc/%d/fd/1' shows what it prints",
			 job->command, job->command, job->command);
	else
		log_warn("%d runs on: 'kill %d' ends it", job->command, job->command);
}

static int leave(struct run *r, const struct options *o)
{
	int err = 0;

	job_leave(&r->looking.job, NULL);
	part_from_command(r);
	job_check_functions(&r->looking.job);
	if (o->own.on)
		return 0;
	if (o->once && o->json)
		err = top_print_json(&r->looking.top, stdout);
	else if (o->once)
		err = top_print(&r->looking.top, stdout, cli_width());
	else if (!job_alive(&r->looking.job))
		fprintf(stderr, "gaspbpf: all that was observed has ended\n");
	return err;
}

static int run(struct options *o, struct guard *guard)
{
	struct run r = {
		.options = o, .guard = guard, .looking.signals = cli_block_signals(0), .interval = o->interval
	};
	int err = r.looking.signals < 0 ? r.looking.signals : observe(&r, o), status = 0;

	if (!err)
		err = leave(&r, o);
	if (o->own.on)
		top_hand_over(&o->own, &r.looking.top, true, err);
	status = job_status(&r.looking.job);
	looking_free(&r.looking);
	return cli_status("top", err) ?: status;
}

static int run_here(struct options *o, struct guard *guard)
{
	int err = own_node_open(&o->own), status = err ? cli_status("top", err) : run(o, guard);

	own_node_free(&o->own);
	return status;
}

static int run_on_nodes(const struct options *o, struct guard *guard)
{
	const struct top_on_nodes all = {
		.where = &o->where,
		.interval = o->interval,
		.duration = o->duration,
		.once = o->once,
		.json = o->json,
		.sort = o->sort,
		.guard = guard,
	};

	return cli_status("top", top_on_nodes(&all));
}

int command_top(int argc, char **argv)
{
	struct options o = { 0 };
	struct guard *guard = NULL;
	const char *refusal;
	int status = 1;

	cli_parse(&parser, argc, argv, &o);
	if (!o.once && !o.own.on && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		log_error("top: there is no terminal: use --once, or --once --json");
		choice_free(&o.choice);
		return 2;
	}
	refusal = o.once || o.own.on ? NULL : screen_refusal();
	if (refusal) {
		log_error("top: %s", refusal);
		choice_free(&o.choice);
		return 2;
	}
	if (o.once || o.own.on || guard_start(&guard, &status))
		status = on_nodes_wanted(&o.where) ? run_on_nodes(&o, guard) : run_here(&o, guard);
	choice_free(&o.choice);
	on_nodes_free(&o.where);
	free(guard);
	return status;
}
