/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - the main job: join, watch, leave, report.
 *
 * Order matters at both ends. Before anything is attached, all that the user can get wrong is checked: options,
 * models, processes, output files. At the end the kernel side is told to stop first (at once, for all probes), then the
 * rings are drained, then the probes are taken out, then the calls still in progress are
 * asked for, and only then files are written, with the job already free.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/observing.h"
#include "cli/outputs.h"
#include "cli/record_callers.h"
#include "cli/record_flight.h"
#include "cli/record_part.h"
#include "cli/tools.h"
#include "flight/flight.h"
#include "observe/command.h"
#include "observe/control.h"
#include "observe/cost.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/launchers.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/machine.h"
#include "util/privileges.h"

#define STATUS_EVERY_NS 500000000ULL
#define FLUSH_EVERY_NS 2000000000ULL

struct options {
	struct choice choice;
	char **command;
	struct text_list outputs;
	struct tools tools;
	struct flight_options flight;
	struct observing observing;
	struct record_part part; /* of a job on several nodes */
	uint64_t duration;
	long callers;
	bool quiet, json, all_symbols, no_hold, subtract_floor;
};

enum { OPTION_JSON = 300, OPTION_ALL_SYMBOLS, OPTION_NO_HOLD, OPTION_FLOOR, OPTION_CALLERS };

static const struct argp_option option_table[] = {
	{ "output", 'o', "FILE", 0,
	  "Write FILE; may repeat: .gasp recording, .html page for the browser, .json Chrome trace, .speedscope.json for "
	  "speedscope.app (both also .json.gz), .events list of events, .otf2 for Vampir, .ctf for babeltrace2, .paje for "
	  "ViTE, .parquet table for SQL, .folded[.gz] and "
	  ".pb.gz stacks for flame graphs and pprof",
	  1 },
	{ "duration", 'd', "TIME", 0, "Stop after TIME: 10 (seconds), 500ms, 2m", 1 },
	{ "all-symbols", OPTION_ALL_SYMBOLS, NULL, 0,
	  "Before Linux 6.6, where each probe is slow to put in and take out, observe "
	  "also those functions of a large library that nothing in the job imports",
	  2 },
	{ "no-hold", OPTION_NO_HOLD, NULL, 0,
	  "Of a COMMAND's children, hold none until its probes are in: what they do before that is missed, and for "
	  "how long is told. Holding costs as much as strace -f without system calls: a stop for each fork, exec, "
	  "new thread and signal",
	  2 },
	{ "callers", OPTION_CALLERS, "N", 0,
	  "Where a library or a script's interpreter makes a call, tell up to N lines of the program that led to it, by "
	  "looks at the threads now and then",
	  2 },
	{ "subtract-floor", OPTION_FLOOR, NULL, 0,
	  "In the report, all durations without what the probe itself adds to each, by the calibration", 3 },
	{ "json", OPTION_JSON, NULL, 0, "Print the report as JSON", 3 },
	{ "quiet", 'q', NULL, 0, "No live line", 3 },
	{ 0 }
};

static const char description[] =
	"Join a running parallel job, see its GASP events, leave with a report.\n\n"
	"Finds every parallel runtime that the processes map and observes its functions until ^C, the end of the "
	"job, or -d. "
	"Then prints the profile. A COMMAND is started as the user who called sudo, and it and its children are held "
	"(by ptrace) until "
	"their probes are in; gaspbpf then ends with the command's exit status."
	"\v"
	"Examples:\n"
	"  sudo gaspbpf -p 4242\n"
	"  sudo gaspbpf -p 4242 -d 10s -o run.gasp -o run.json.gz\n"
	"  sudo gaspbpf --slurm-job 4711 -d 1m   the job's ranks on this machine\n"
	"  sudo gaspbpf -p 4242 -m +c,+pthread --max-overhead 2%\n"
	"  sudo gaspbpf -o run.gasp -- ./job 64\n"
	"  sudo gaspbpf -p 4242 --flight 30s,256m --trigger 'barrier>5s' -o /var/tmp\n"
	"      the last 30 s, when a barrier takes that long (docs/flight.md)\n"
	"  sudo gaspbpf -p 4242 --tool ./mytool.so\n"
	"      tell a GASP or PUPC tool library what happens (docs/tools.md)\n"
	"  gaspbpf report run.gasp";

static void check_output(const struct options *o, size_t which, struct argp_state *state)
{
	const char *path = o->outputs.items[which];
	enum output_kind kind = output_kind(path);
	char known[256] = ".gasp";

	for (size_t i = 0; exporters[i]; i++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, " %s", exporters[i]->suffixes);
	}
	if (kind == OUTPUT_UNKNOWN)
		argp_error(state, "-o %s: no kind of file has this suffix: these are known: %s", log_safe(path), known);
	if (kind == OUTPUT_EXPORT && exporter_for(path)->missing)
		argp_error(state, "-o %s: %s", log_safe(path), exporter_for(path)->missing);
	for (size_t i = 0; kind == OUTPUT_RECORDING && i < which; i++)
		if (output_kind(o->outputs.items[i]) == kind)
			argp_error(state, "-o %s: one recording a run: 'cp' makes a second", log_safe(path));
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->observing;
		state->child_inputs[2] = &o->tools;
		state->child_inputs[3] = &o->flight;
		state->child_inputs[4] = &o->choice.who;
		state->child_inputs[5] = &o->part;
		break;
	case 'o':
		return -cli_append(&o->outputs, argument);
	case 'd':
		if (parse_time(argument, &o->duration) || !o->duration)
			argp_error(state, "-d %s: not a time: use 10, 500ms, 2m", log_safe(argument));
		break;
	case OPTION_ALL_SYMBOLS:
		o->all_symbols = true;
		break;
	case OPTION_NO_HOLD:
		o->no_hold = true;
		break;
	case OPTION_CALLERS:
		o->callers = strtol(argument, &end, 10);
		if (*end || end == argument || o->callers < 1 || o->callers > CALLERS_MOST)
			argp_error(state, "--callers %s: not a number from 1 to %d", log_safe(argument), CALLERS_MOST);
		break;
	case OPTION_FLOOR:
		o->subtract_floor = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		cli_need_processes(&o->choice, o->command, state);
		if (o->part.folder && (o->outputs.count || o->command || o->flight.on))
			argp_error(state, "--part-of: not with -o, --flight or a COMMAND");
		if (o->flight.on)
			record_flight_check(&o->flight, &o->outputs, state);
		for (size_t i = 0; !o->flight.on && i < o->outputs.count; i++)
			check_output(o, i, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 },
					      { &observing_parser, 0, NULL, 0 },
					      { &tools_parser, 0, NULL, 0 },
					      { &flight_parser, 0, NULL, 0 },
					      { &chooser_parser, 0, NULL, 0 },
					      { &part_parser, 0, NULL, 0 },
					      { 0 } };
static const struct argp parser = { option_table, parse, "-p PID\n--slurm-job ID\n-- COMMAND...", description, children,
				    NULL,         NULL };

/* --- the run's own facts ----------------------------------------------- */

static char *command_line(int argc, char **argv)
{
	char *line = NULL, *longer;

	for (int i = 0; i < argc; i++) {
		if (asprintf(&longer, "%s%s%s", line ?: "", line ? " " : "", argv[i]) < 0)
			break;
		free(line);
		line = longer;
	}
	return line;
}

/* node: its name, where it is not the host's; else NULL. */
static void describe_run(struct def_run *run, int argc, char **argv, const char *node)
{
	struct utsname system;

	run->command = command_line(argc, argv);
	run->version = strdup(GASPBPF_VERSION);
	if (!uname(&system)) {
		run->host = strdup(node ?: system.nodename);
		run->kernel = strdup(system.release);
	}
	run->boot = clock_identity();
	run->cpus = machine_cpus();
	run->start = clock_monotonic();
	run->start_realtime = clock_realtime();
}

/* --- watching ---------------------------------------------------------- */

struct watch {
	struct job *job;
	struct outputs *outputs;
	struct tools *tools;
	const struct options *options;
	int signals; /* signalfd */
	uint64_t started, shown, flushed;
	uint64_t spans_shown;
	struct cost_meter cost;
	struct flight *flight;    /* NULL: none */
	struct record_part *part; /* NULL: it is none */
	struct callers callers;
};

static void show_status(struct watch *w, uint64_t now)
{
	struct capture_totals totals = capture_totals(w->job->capture);
	char events[FORMAT_SIZE], rate[FORMAT_SIZE], lost[FORMAT_SIZE], cost[COST_SIZE];
	double since = (now - w->shown) / 1e9; /* s */
	struct follow_account came = follow_account(w->job->follow);
	char later[80] = "", blind[FORMAT_SIZE];

	w->shown = now;
	if (!w->options->observing.budget)
		cost_warn(&w->cost, w->job->capture, now);
	if (w->options->quiet)
		return;
	if (came.late)
		snprintf(later, sizeof(later), "  +%zu process%s, blind up to %s", came.processes,
			 came.processes == 1 ? "" : "es", format_time(blind, came.longest));
	else if (came.processes)
		snprintf(later, sizeof(later), "  +%zu process%s", came.processes, came.processes == 1 ? "" : "es");
	log_status("%7.1f s  %s events  %s  lost %s  %s%s", (now - w->started) / 1e9,
		   format_count(events, totals.spans), format_rate(rate, (totals.spans - w->spans_shown) / since),
		   format_count(lost, totals.lost > totals.gaps ? totals.lost : totals.gaps),
		   cost_now(cost, &w->cost, w->job->capture, now), later);
	w->spans_shown = totals.spans;
}

/* A job that ends its workers by a signal to its process group means itself, and not gaspbpf, which is of the same
 * group. */
static bool is_of_job(struct watch *w, const struct signalfd_siginfo *info)
{
	return w->job->command && info->ssi_code == SI_USER &&
	       ((pid_t)info->ssi_pid == w->job->command || process_descends((pid_t)info->ssi_pid, w->job->command) ||
		capture_knows(w->job->capture, (pid_t)info->ssi_pid));
}

/* True when a signal asks to stop. */
static bool read_signals(void *context)
{
	struct watch *w = context;
	struct signalfd_siginfo info;
	bool stop = false;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			flight_ask(w->flight, "SIGUSR1");
		else if (!is_of_job(w, &info))
			stop = true;
	}
	return stop;
}

/* A flight recorder's dump takes its time, and is answered for later. */
static uint64_t dump(void *context, uid_t asking, const char **refused)
{
	struct watch *w = context;

	if (w->flight) {
		*refused = flight_share(w->flight, asking);
		return *refused ? 0 : flight_ask(w->flight, "gaspbpf control");
	}
	capture_drain(w->job->capture);
	outputs_flush(w->outputs);
	return 0;
}

static void process_ended(void *context, pid_t pid, int status)
{
	struct watch *w = context;

	flight_process_ended(w->flight, pid, status);
}

static void answer_dump(struct watch *w)
{
	const char *text;
	uint64_t ticket;
	bool written;

	if (flight_answer(w->flight, &ticket, &written, &text))
		control_answer(w->job->control, ticket, written, text);
}

static void watch_job(struct watch *w)
{
	w->started = w->shown = w->flushed = clock_monotonic();
	cost_begin(&w->cost, w->started);
	for (;;) {
		uint64_t now;

		job_serve(w->job);
		tools_serve(w->tools);
		flight_step(w->flight);
		callers_look(&w->callers, w->job);
		answer_dump(w);
		now = clock_monotonic();
		if (read_signals(w) || !job_alive(w->job))
			break;
		if (w->part && record_part_step(w->part, w->job))
			break;
		if (w->options->duration && now - w->started >= w->options->duration)
			break;
		if (now - w->shown >= STATUS_EVERY_NS)
			show_status(w, now);
		if (now - w->flushed >= (w->part ? STATUS_EVERY_NS : FLUSH_EVERY_NS)) {
			outputs_flush(w->outputs);
			w->flushed = now;
		}
	}
	log_status("%s", "");
}

/* --- leaving ----------------------------------------------------------- */

static void show_leaving(size_t done, size_t all)
{
	if (all > 50)
		log_status("taking probes out: %zu of %zu", done, all);
}

/* What came after the start. That nothing was missed of a command goes without saying. */
static void say_later(const struct job *job)
{
	struct follow_account came = follow_account(job->follow);
	const char *advice = job->command ? "" : ": 'gaspbpf -- COMMAND' holds children until their probes are in";
	const char *were = came.processes == 1 ? " was" : "es were";
	char longest[FORMAT_SIZE], total[FORMAT_SIZE];

	if (came.processes && (came.late || came.unseen || !job->command))
		log_warn("%zu process%s forked meanwhile%s", came.processes, were,
			 came.late || came.unseen ? "" : " and observed from the first instruction");
	if (came.late)
		log_warn("probes came late %zu time%s, after a fork, an exec or a library loaded: calls in these "
			 "blind windows were missed: "
			 "the longest was %s, all together %s%s",
			 came.late, came.late == 1 ? "" : "s", format_time(longest, came.longest),
			 format_time(total, came.total), advice);
	if (came.unseen)
		log_warn("%zu time%s a process had ended before it could be looked at: what it called in files that "
			 "were not known yet was "
			 "missed%s",
			 came.unseen, came.unseen == 1 ? "" : "s", advice);
}

static int leave(struct watch *w)
{
	struct job *job = w->job;
	struct def_run *run = &job->definitions.run;
	int err;

	run->end = clock_monotonic();
	run->end_realtime = clock_realtime();
	if (w->part)
		record_part_ended(w->part, job);
	cost_end(&w->cost, run->end);
	job_leave(job, show_leaving);
	log_status("%s", "");
	launchers_finish(job->launchers);
	capture_finish(job->capture);
	say_later(job);
	if (!job->plan->nsites)
		log_warn("nothing was observed: the command mapped no known runtime, or its names are stripped: "
			 "'gaspbpf list FILE' tells "
			 "what is looked for");
	job_check_functions(job); /* of what came later than the start, too */
	err = flight_finish(w->flight);
	answer_dump(w);
	run->finished = true;
	run->own_cpu = cost_own_cpu();
	err = outputs_finish(w->outputs, &job->definitions) ?: err;
	return tools_finish(w->tools, w->signals, w->options->quiet) ?: err;
}

static int print_report(struct watch *w)
{
	struct report_style style = { .top = 0 };
	struct reporter *reporter = w->outputs->reporter;
	int err;

	cli_style(&style, COLOURS_AUTO);
	err = w->options->json ? reporter_print_json(reporter, stdout) : reporter_print(reporter, stdout, &style);
	/* Where the report goes into a file, it is said on the terminal, too. */
	if (!w->options->json && !w->options->quiet && !isatty(STDOUT_FILENO))
		cost_say(w->job->capture, &w->job->definitions);
	return err;
}

/* ^C, or whatever else would have ended the observation, ends the looking. */
static int look_and_report(struct watch *w)
{
	struct report_progress progress = { .quiet = w->options->quiet, .stop = read_signals, .context = w };

	return outputs_relate(w->outputs, &progress) ?: print_report(w);
}

static bool left_out(const struct job *job, size_t site)
{
	return attach_leaves_out(job->kernel, &job->attach, &job->plan->sites[site]);
}

/* Two digits say all that a price measured beforehand can promise. */
static unsigned two_digits(unsigned ns)
{
	unsigned unit = 1;

	while (ns / unit >= 100)
		unit *= 10;
	return (ns + unit / 2) / unit * unit;
}

struct price {
	unsigned ns;
	size_t functions;
};

/* The price of a call above `least` that is next, and how many functions have it; of 0 functions: there is none. */
static struct price next_price(const struct job *job, unsigned least)
{
	struct price next = { .ns = UINT_MAX };

	for (size_t i = 0; i < job->plan->nsites; i++) {
		unsigned one = two_digits(site_price(job->kernel, &job->plan->sites[i]).call);

		if (left_out(job, i) || one <= least || one > next.ns)
			continue;
		next.functions = one < next.ns ? 1 : next.functions + 1;
		next.ns = one;
	}
	return next;
}

/* "0.35 us", or "0.35 us (12 functions), 2.6 us (2)", the cheapest first. Returns how many functions that are. */
static size_t describe_costs(const struct job *job, char *text, size_t room)
{
	struct price price = next_price(job, 0), further = next_price(job, price.ns);
	size_t observed = price.functions;
	int used = snprintf(text, room, "%g us", price.ns / 1000.0);

	if (further.functions)
		used += snprintf(text + used, room - used, " (%zu function%s)", price.functions,
				 plural(price.functions));
	for (; further.functions; further = next_price(job, further.ns)) {
		if ((size_t)used < room)
			used += snprintf(text + used, room - used, ", %g us (%zu)", further.ns / 1000.0,
					 further.functions);
		observed += further.functions;
	}
	return observed;
}

/* The models whose functions are observed, in the order of the plan; "functions" are those of -F. */
static void say_models(const struct plan *plan)
{
	const struct model *said = NULL;

	for (size_t i = 0; i < plan->nsites; i++) {
		const struct model *model = plan->sites[i].function->model;
		bool before = false;

		for (size_t k = 0; k < i && !before; k++)
			before = !strcmp(plan->sites[k].function->model->name, model->name);
		if (!before)
			fprintf(stderr, "%s %s", said ? "," : "", model->name);
		said = model;
	}
}

static void say_start(const struct watch *w)
{
	const struct job *job = w->job;
	char costs[200];
	size_t observed;

	if (w->options->quiet)
		return;
	observed = describe_costs(job, costs, sizeof(costs));
	if (!observed) { /* only of a command or a launcher, which may map or start something yet; of others it is an
			    error */
		fprintf(stderr, "gaspbpf: observing %s nothing known is mapped so far; ^C to stop\n",
			job->command ? "the command:" : "what is started:");
		return;
	}
	fprintf(stderr, "gaspbpf: observing %zu process%s: %zu function%s of", job->nobserved,
		job->nobserved == 1 ? "" : "es", observed, plural(observed));
	say_models(job->plan);
	fprintf(stderr, "; a call costs %s; ^C to stop\n", costs);
}

static void say_left_out(const struct job *job)
{
	size_t count = 0;

	for (size_t i = 0; i < job->plan->nsites; i++)
		count += left_out(job, i);
	if (count)
		log_warn("%zu function%s left out, since nothing that the job maps imports %s and on this kernel "
			 "each probe is slow "
			 "to take out: calls through dlsym() or inside the library are missed: --all-symbols adds %s",
			 count, count == 1 ? " is" : "s are", count == 1 ? "it" : "them", count == 1 ? "it" : "them");
}

/* Functions whose returns are left alone for the job's sake. */
static void say_calls_only(const struct job *job)
{
	size_t count = 0;

	for (size_t i = 0; i < job->plan->nsites; i++)
		count += job->plan->sites[i].returns == RETURNS_NONE && job->plan->sites[i].no_exits;
	if (count)
		log_warn("of %zu function%s only the calls are observed, not how long they take: watching their "
			 "returns could harm this job: "
			 "'gaspbpf list' says which and why",
			 count, plural(count));
}

/* Where files are written. */
static const struct text_list *written_by(const struct options *o)
{
	static char *places[] = { "." };
	static const struct text_list nowhere = { 0 }, here = { .items = places, .count = 1 };

	return o->outputs.count ? &o->outputs : o->flight.on ? &here : &nowhere;
}

static void begin_as_part(struct watch *w)
{
	record_part_wait(w->part, w->job, w->signals);
	job_begin(w->job);
	record_part_began(w->part, w->job);
}

static int run(struct watch *w, int *status)
{
	const struct options *o = w->options;
	struct outputs *outputs = w->outputs;
	struct job *job = w->job;
	int err = 0;

	w->signals = cli_block_signals(o->flight.on ? SIGUSR1 : 0);
	if (w->signals < 0)
		return w->signals;
	err = o->command ? job_start(job, o->command, o->observing.scope, o->observing.ring_bytes, written_by(o))
			 : job_attach(job, o->observing.scope);
	if (err)
		return err;
	if (w->part)
		begin_as_part(w);
	outputs_begin(outputs, &job->definitions);
	if (o->subtract_floor)
		reporter_subtract_floor(outputs->reporter);
	err = outputs_connect(outputs, &job->definitions, job->capture);
	if (!err && o->flight.on)
		err = record_flight_begin(&o->flight, job, &outputs->caller, &w->flight);
	if (!err)
		err = tools_follow(w->tools, &job->definitions, job->capture);
	if (!err)
		err = observing_limit(&o->observing, job);
	if (err)
		return err;
	say_start(w);
	if (o->flight.on && !o->quiet)
		record_flight_say(&o->flight);
	say_left_out(job);
	say_calls_only(job);
	err = job_listen(job, (int[]){ w->signals, w->tools->wake }, 2);
	if (err)
		return err;
	watch_job(w);
	err = leave(w);
	control_close(job->control);
	job->control = NULL;
	if (!w->part)
		err = look_and_report(w) ?: err;
	command_let_go(job, false); /* it may have ended meanwhile */
	*status = job_status(job);
	close(w->signals);
	return err;
}

/* Everything that can be wrong is found here, before any probe is in. */
static int prepare(struct watch *w, struct options *o, struct kept_process *kept, int argc, char **argv)
{
	struct outputs *outputs = w->outputs;
	struct job *job = w->job;
	struct process_choice wanted;
	int err = chooser_wanted(&wanted, &o->choice.who, &o->choice.pids);

	wanted.brief = w->part;
	err = err ?: cli_load_models(&job->models, &o->choice) ?: cli_need_rights();
	if (err)
		return err;
	observing_prepare(&o->observing, job);
	job->attach.all_symbols = o->all_symbols;
	job->callers = o->tools.libraries.count > 0 || o->flight.on;
	w->callers.most = o->callers;
	err = callers_prepare(&w->callers, job);
	if (err)
		return err;
	job->queues = !o->flight.on;
	job->hold_children = !o->no_hold;
	job->user = (struct job_user){ .ended = process_ended, .dump = dump, .context = w };
	err = cli_new_plan(&job->plan, job->models, &o->choice);
	describe_run(&job->definitions.run, argc, argv, o->part.node);
	job->begins_later = w->part;
	outputs->keeps = !o->flight.on && !w->part;
	if (!err)
		err = outputs_open(outputs, o->flight.on ? &(struct text_list){ 0 } : &o->outputs);
	if (!err)
		job->control = control_open();
	if (!err)
		err = tools_start(&o->tools, &outputs->caller,
				  o->json ? STDERR_FILENO
					  : STDOUT_FILENO); /* as who called, for which it takes rights */
	job->started = kept;
	job->nstarted = tools_kept(&o->tools, kept);
	if (!err && !o->command)
		err = job_open(job, &wanted, o->observing.ring_bytes, written_by(o));
	return err;
}

int command_record(int argc, char **argv)
{
	struct options o = { 0 };
	struct job job = { 0 };
	struct outputs outputs = { .recording_fd = -1, .spare_fd = -1, .kept = { .fd = -1 } };
	struct kept_process kept[TOOLS_MOST];
	struct watch w = { .job = &job, .outputs = &outputs, .options = &o, .tools = &o.tools };
	int err = 0, status = 0;

	cli_parse(&parser, argc, argv, &o);
	if (o.part.folder) {
		w.part = &o.part;
		o.quiet = true;
		err = record_part_open(&o.part, &o.outputs);
	}
	err = err ?: prepare(&w, &o, kept, argc, argv);
	if (!err)
		err = run(&w, &status);
	if (w.part && o.part.node)
		record_part_done(w.part, &job, !!err);
	tools_free(&o.tools);
	callers_close(&w.callers);
	flight_free(w.flight);
	flight_options_free(&o.flight);
	outputs_free(&outputs);
	job_free(&job);
	choice_free(&o.choice);
	free(o.outputs.items);
	status = cli_status("record", err) ?: status;
	record_part_free(&o.part);
	return status;
}
