/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor.c - counts of a whole machine, for months: gaspbpf monitor.
 *
 * What is counted is for user/monitor to know; here is what the user asks for, the loop, and what is printed
 * (monitor_print.c).
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/monitor_flight.h"
#include "cli/monitor_print.h"
#include "cli/monitor_sums.h"
#include "cli/outputs.h"
#include "cli/service.h"
#include "monitor/monitor.h"
#include "observe/control.h"
#include "observe/rights.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/privileges.h"
#include "util/text.h"

#define DEFAULT_BUDGET 0.01
#define DEFAULT_INTERVAL 10000000000ULL /* ns */
#define DEFAULT_LINGER 60000000000ULL   /* ns; scrapers come more often than that */
#define STATUS_VAIN \
	2 /* exit status: wrong options, or rights that are missing. The unit knows it, and does not try again */
#define PAUSE_MS 2 /* between two steps, so that a burst of news is read at once */

struct options {
	struct choice choice;
	bool all, json, quiet, lazy, unprivileged;
	struct process_choice wanted;
	double budget;
	uint64_t interval, duration, linger, most_processes;
	struct service_options service;
	struct flight_options flight;
	char *output;               /* of the flight recorder: where its dumps go; NULL: here. Else: see has_sums() */
	struct text_list arguments; /* of the command line and of a file: what all texts here point into */
	char *config;               /* that file; NULL: none */
	int argc;                   /* the command line itself */
	char **argv;
};

/* What is counted is written to o->output. */
static bool has_sums(const struct options *o)
{
	return o->output && !o->flight.on;
}

enum {
	OPTION_ALL = 300,
	OPTION_BUDGET,
	OPTION_INTERVAL,
	OPTION_JSON,
	OPTION_PROCESSES,
	OPTION_LAZY,
	OPTION_LINGER,
	OPTION_UNPRIVILEGED
};

static const struct argp_option option_table[] = {
	{ "all", OPTION_ALL, NULL, 0,
	  "Every process of the machine that maps a parallel runtime, those in containers, too", 1 },
	{ "max-overhead", OPTION_BUDGET, "PERCENT|none", 0,
	  "Take no more of any thread's time than this (default 1%): of functions called too often every call is "
	  "counted "
	  "but not every one timed, then their probes come out for a while, and it is told for how long",
	  2 },
	{ "max-processes", OPTION_PROCESSES, "N", 0,
	  "Keep so many processes apart at a time (default 4096); others count in the totals", 2 },
	{ "lazy", OPTION_LAZY, NULL, 0,
	  "Put probes into a library only once a chosen process has mapped it: its first calls are missed, and for "
	  "how long is told. "
	  "Otherwise libraries in the usual places are probed beforehand, which costs processes that are not chosen "
	  "a trap at each call, too",
	  2 },
	{ "unprivileged", OPTION_UNPRIVILEGED, NULL, 0,
	  "End at once rather than keep rights while looking at others' files: before Linux 6.6, and where /proc "
	  "shows only who has rights "
	  "others' processes, observing needs them (docs/security-privileges.md)",
	  2 },
	{ "interval", OPTION_INTERVAL, "TIME", 0,
	  "Print what happened, each time (default 10s; with --listen only if this or --json is given)", 3 },
	{ "linger", OPTION_LINGER, "TIME", 0,
	  "With --listen: show what a process did for so long after its end (default 1m), so that each scrape of "
	  "that time "
	  "has it whole; the last 512 of them at most",
	  4 },
	{ "duration", 'd', "TIME", 0, "Stop after TIME: 10 (seconds), 2m, 1h", 3 },
	{ "output", 'o', "FILE.gasp", 0,
	  "Write what was counted as a recording that has only sums, each --interval, on SIGUSR1 and at the end: for "
	  "'gaspbpf report' and 'compare'. With --flight instead: where its dumps go, a folder or file",
	  3 },
	{ "json", OPTION_JSON, NULL, 0, "Print a line of JSON instead of tables: counts since the beginning", 3 },
	{ "quiet", 'q', NULL, 0, "Print nothing but errors and warnings", 3 },
	{ 0 }
};

static const char description[] =
	"Count the events of parallel jobs, for months: all of a machine, or those that are chosen.\n\n"
	"Notices processes as they start and map a parallel runtime, and lets go of them when they end. Calls, "
	"times, bytes and their "
	"distribution are kept in the kernel by process and event; nothing is recorded. What that costs each thread "
	"is kept below --max-overhead."
	"\v"
	"Examples:\n"
	"  sudo gaspbpf monitor --all\n"
	"  sudo gaspbpf monitor --slurm-job 4711 --interval 1m\n"
	"  sudo gaspbpf monitor --all --listen 9464\n"
	"      for Prometheus, at http://127.0.0.1:9464/metrics (docs/metrics.md)\n"
	"  sudo gaspbpf monitor --config /etc/gaspbpf.conf\n"
	"      as the service does it (docs/service.md)\n"
	"  sudo gaspbpf monitor --user alice --comm 'lmp_*' --json >> counts.jsonl\n"
	"  sudo gaspbpf monitor -p $(pgrep mpirun) -d 10s\n"
	"  sudo gaspbpf monitor --all -d 8h -o monday.gasp\n"
	"      and then: gaspbpf report, gaspbpf compare (docs/monitor.md)\n"
	"  sudo gaspbpf monitor --all --flight 30s,256m --trigger 'barrier>1m'\n"
	"      keep the last calls, too (docs/flight.md)\n"
	"  sudo gaspbpf monitor --cgroup /system.slice -m +pthread\n"
	"      malloc and pthread only on request: everything calls them\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;
	uint64_t number;
	const char *wrong;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->service;
		state->child_inputs[2] = &o->flight;
		state->child_inputs[3] = &o->choice.who;
		break;
	case 'o':
		o->output = argument;
		break;
	case OPTION_ALL:
		o->all = true;
		break;
	case OPTION_BUDGET:
		o->budget = 0;
		if (!strcmp(argument, "none"))
			break;
		if (parse_percent(argument, &o->budget) || o->budget < 0.01 || o->budget > 90)
			argp_error(state, "--max-overhead %s: not a share between 0.01%% and 90%%: use 1%%, or none",
				   log_safe(argument));
		o->budget /= 100;
		break;
	case OPTION_PROCESSES:
		if (parse_bytes(argument, &number) || !number || number > 1 << 20)
			argp_error(state, "--max-processes %s: not a number between 1 and 1048576", log_safe(argument));
		o->most_processes = number;
		break;
	case OPTION_INTERVAL:
		if (parse_time(argument, &o->interval) || o->interval < 100000000)
			argp_error(state, "--interval %s: not a time of at least 100ms: use 10, 500ms, 2m",
				   log_safe(argument));
		break;
	case OPTION_LINGER:
		if (parse_time(argument, &o->linger))
			argp_error(state, "--linger %s: not a time: use 90s, 5m, 0", log_safe(argument));
		break;
	case 'd':
		if (parse_time(argument, &o->duration) || !o->duration)
			argp_error(state, "-d %s: not a time: use 10, 500ms, 2m", log_safe(argument));
		break;
	case OPTION_LAZY:
		o->lazy = true;
		break;
	case OPTION_UNPRIVILEGED:
		o->unprivileged = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: not an option: 'gaspbpf -- COMMAND' starts and observes a command",
			   log_safe(argument));
		break;
	case ARGP_KEY_END:
		if (!o->all && !choice_has_processes(&o->choice))
			argp_error(state,
				   "nothing to monitor: give --all, --comm, --cgroup, --user, --slurm-job or -p");
		if (o->service.listen && !o->json && !o->interval)
			o->quiet = true;
		if (has_sums(o))
			output_check_recording(state, o->output);
		wrong = o->output && o->flight.on ? flight_set_path(&o->flight, o->output) : NULL;
		if (wrong)
			argp_error(state, "-o %s: %s", log_safe(o->output), wrong);
		if (!o->interval)
			o->interval = DEFAULT_INTERVAL;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 },
					      { &service_parser, 0, NULL, 0 },
					      { &flight_parser, 0, NULL, 0 },
					      { &chooser_parser, 0, NULL, 0 },
					      { 0 } };
static const struct argp parser = { option_table, parse, NULL, description, children, NULL, NULL };

/* What else is wished for in a plan (monitor_options.prepare). */
static int prepare(void *context, struct plan *plan)
{
	return cli_prepare_plan(plan, context);
}

static int block_signals(const struct options *o)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (o->flight.on || has_sums(o))
		sigaddset(&set, SIGUSR1);
	if (o->config)
		sigaddset(&set, SIGHUP); /* else it means what it means elsewhere */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int min_timeout(int timeout, uint64_t now, uint64_t due)
{
	uint64_t left = due > now ? (due - now + 999999) / 1000000 : 0;

	return left < (uint64_t)timeout ? (int)left : timeout;
}

/* --- signals, and who else waits ------------------------------------------ */

struct watch {
	const struct options *options;
	struct monitor *m; /* NULL: not open yet */
	struct monitor_flight *flight;
	struct service *service;
	struct monitor_sums *sums; /* NULL: they are not written */
	int signals;
	bool end, reload, write; /* asked for */
	bool serving;
};

static void take_signals(struct watch *w)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			w->reload = true;
		else if (info.ssi_signo == SIGUSR1 && w->sums)
			w->write = true;
		else if (info.ssi_signo == SIGUSR1)
			monitor_flight_asked(w->flight);
		else
			w->end = true;
	}
}

/* Once at a time: who is served may want a look at files, and that breathes. */
static int serve(struct watch *w)
{
	int err;

	if (w->serving)
		return 0;
	w->serving = true;
	err = monitor_flight_step(w->flight, w->m);
	service_step(w->service);
	w->serving = false;
	return err;
}

/* Between two parts of a long look through files (monitor_options.breathe): nobody waits for its end. */
static bool breathe(void *context)
{
	struct watch *w = context;

	take_signals(w);
	if (!w->end && w->m)
		serve(w); /* what goes wrong does so again in a moment, where it counts */
	return w->end;
}

static void wait_for_something(struct watch *w, int timeout)
{
	struct pollfd fds[] = {
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = monitor_fd(w->m), .events = POLLIN },
		{ .fd = service_fd(w->service), .events = POLLIN },
		{ .fd = control_fd(monitor_flight_control(w->flight)), .events = POLLIN },
	};

	if (poll(fds, sizeof(fds) / sizeof(fds[0]), service_timeout(w->service, timeout)) > 0 && fds[1].revents)
		usleep(PAUSE_MS * 1000);
	take_signals(w);
}

/* Rates are of the time in which probes were in, not of that which putting them in took. */
static int begin_printing(struct monitor *m, const struct options *o, struct monitor_before *before)
{
	const struct monitor_snapshot *snapshot = o->quiet || o->json ? NULL : monitor_look(m);

	if (o->quiet || o->json)
		return 0;
	return snapshot ? monitor_print_begin(snapshot, before) : -EIO;
}

/* What has happened is written, and printed: not where it was only asked for between two intervals (before: NULL). */
static int tell(struct watch *w, const struct options *o, struct monitor_before *before)
{
	bool prints = before && !o->quiet;
	const struct monitor_snapshot *now = prints || w->sums ? monitor_look(w->m) : NULL;
	int err;

	w->write = false;
	if (!prints && !w->sums)
		return 0;
	if (!now)
		return -EIO;
	err = w->sums ? monitor_sums_write(w->sums, now, monitor_kernel(w->m)) : 0;
	if (!err && prints)
		err = o->json ? monitor_print_json(now, before, stdout) : monitor_print_table(now, before, stdout);
	return err;
}

/* --- options, and options anew ------------------------------------------- */

static void options_free(struct options *o)
{
	choice_free(&o->choice);
	free(o->config);
	flight_options_free(&o->flight);
	config_free(&o->arguments);
}

/* From the command line and a file. again: what is wrong does not end the program. 0 or -errno, said. */
static int options_read(struct options *o, int argc, char **argv, bool again)
{
	int err;

	*o = (struct options){ .budget = DEFAULT_BUDGET, .linger = DEFAULT_LINGER, .argc = argc, .argv = argv };
	err = config_arguments(argc, argv, &parser, argc == 1 ? SERVICE_CONFIG : NULL, &o->arguments, &o->config);
	if (err)
		return err;
	if (again && !service_try(&parser, o->arguments.count, o->arguments.items,
				  &(struct options){ .budget = DEFAULT_BUDGET }))
		return -EINVAL;
	cli_parse(&parser, o->arguments.count, o->arguments.items, o);
	err = chooser_wanted(&o->wanted, &o->choice.who, &o->choice.pids);
	o->wanted.all = o->all;
	return err;
}

/* What a file that is read again changes at once. */
static const char *const at_once[] = { "all",           "pid", "comm",   "cgroup",     "user",    "slurm-job",
				       "launched-from", "job", "listen", "max-series", "verbose", NULL };

static void say_changes(const struct options *was, const struct options *now)
{
	char *names = config_changes(&was->arguments, &now->arguments, was->argc, &parser, at_once);

	if (names)
		log_warn("%s: changed, and take effect at the next start: %s", log_safe(was->config), names);
	free(names);
}

/*
 * SIGHUP. *chosen: the options whose choice of processes holds now, others than those that the monitor began with
 * (`first`) or NULL. 0, or -ECANCELED: the program is to end.
 */
static int reload(struct watch *w, const struct options *first, struct options **chosen)
{
	struct options *fresh = malloc(sizeof(*fresh));
	enum log_level level = log_get_level();
	int err;

	w->reload = false;
	service_reloading();
	log_set_level(LOG_WARN); /* -v counts from there */
	err = fresh ? options_read(fresh, first->argc, first->argv, true) : -ENOMEM;
	if (!err)
		err = service_change(w->service, &fresh->service);
	if (!err) {
		err = monitor_choose(w->m, &fresh->wanted);
		/* Whether or not it has got all: it looks into these lists from now on. */
		if (*chosen)
			options_free(*chosen);
		free(*chosen);
		*chosen = fresh;
	} else if (fresh) {
		options_free(fresh);
		free(fresh);
	}
	if (err == -ECANCELED)
		return err;
	if (err) {
		log_set_level(level);
		log_error("%s: not taken: what was before goes on: mend the file and send SIGHUP again",
			  log_safe(first->config));
	} else {
		say_changes(first, *chosen);
		if (service_url(w->service))
			log_info("metrics at %s", service_url(w->service));
		log_info("%s: read again", log_safe(first->config));
	}
	service_ready(w->service, err ? "; its options were changed, but not taken: see its log" : "");
	return 0;
}

/* --- watching ------------------------------------------------------------ */

/* Whoever starts from here on is counted from its first call, as far as its libraries are known. */
static void say_ready(const struct watch *w, const struct options *o)
{
	if (service_url(w->service))
		fprintf(stderr, "gaspbpf: monitoring: metrics at %s\n", service_url(w->service));
	else if (!o->quiet)
		fprintf(stderr, "gaspbpf: monitoring: ^C to stop\n");
	service_ready(w->service, "");
}

static int watch(struct watch *w, const struct options *o, struct options **chosen)
{
	uint64_t now = clock_monotonic(), shown = now, end = UINT64_MAX;
	bool ready = false;
	struct monitor_before before = { 0 };
	int err = begin_printing(w->m, o, &before);

	while (!err && now < end) {
		if (!ready && monitor_ready(w->m)) {
			ready = true;
			say_ready(w, o);
			end = o->duration ? clock_monotonic() + o->duration : UINT64_MAX;
		}
		int timeout = min_timeout(min_timeout(monitor_timeout(w->m), now, shown + o->interval), now, end);

		wait_for_something(w, monitor_flight_timeout(w->flight, timeout));
		if (w->end)
			break;
		if (w->reload)
			err = reload(w, o, chosen);
		if (!err)
			err = monitor_step(w->m) ?: serve(w) ?: (reader_lost() ? -EPIPE : 0);
		if (!err && w->write)
			err = tell(w, o, NULL);
		now = clock_monotonic();
		if (err || now - shown < o->interval || now >= end)
			continue;
		shown = now;
		err = tell(w, o, &before);
	}
	if (!err || err == -ECANCELED)
		err = tell(w, o, &before); /* the last word */
	service_stopping();
	monitor_print_free(&before);
	return err == -ECANCELED ? 0 : err;
}

/* What was needed for loading is not needed any more. */
static int drop_privileges(void *context, struct kernel *kernel, bool *privileged)
{
	const struct watch *w = context;
	const struct options *o = w->options;
	char *folder = o->output ?: (char[]){ "." };
	struct text_list written = { .items = &folder, .count = o->flight.on || w->sums };
	bool events = kernel_rung(kernel) == RUNG_PERF;

	*privileged = !rights_give_up(
		kernel, &(struct rights_later){ .written = &written, .control = monitor_flight_control(w->flight) });
	if (!*privileged)
		return 0;
	if (o->unprivileged) {
		log_error("--unprivileged: on this machine rights would have to be kept: %s: see "
			  "docs/security-privileges.md, or leave the option out",
			  events ? "before Linux 6.6 each probe is a perf event"
				 : "nothing works without them (is /proc mounted with hidepid?)");
		return -EPERM;
	}
	if (events)
		log_info("the rights that observing needs are kept: each probe is a perf event here");
	else
		log_warn("the rights that observing needs are kept, as it does not work without them (is /proc "
			 "mounted with hidepid?): see docs/security-privileges.md");
	if (!keep_privileges_to_observe(events))
		log_warn("privileges that are not needed could not be given up: %s: start gaspbpf with fewer",
			 strerror(errno));
	return 0;
}

static int open_and_watch(struct watch *w, struct options *o, const struct monitor_options *options,
			  struct options **chosen)
{
	struct monitor *m = NULL;
	int err = monitor_open(&m, options);

	if (err)
		return err == -ECANCELED ? 0 : err;
	w->m = m;
	chooser_look_for_cgroups(&o->choice.who);
	return watch(w, o, chosen);
}

static int run(struct options *o, const struct model_set *models)
{
	struct watch w = { .options = o, .signals = block_signals(o) };
	struct monitor_options options = {
		.models = models,
		.wish = o->choice.models,
		.prepare = prepare,
		.prepare_context = &o->choice,
		.choice = o->wanted,
		.lazy = o->lazy,
		.budget = o->budget,
		.most_processes = o->most_processes,
		/* A line of JSON has those once more that ended since the one before; what is written keeps them. */
		.linger_ns = (o->json || has_sums(o)) && 2 * o->interval > o->linger ? 2 * o->interval : o->linger,
		.loaded = drop_privileges,
		.loaded_context = &w,
		.breathe = breathe,
		.breathe_context = &w,
	};
	struct options *chosen = NULL;
	int err = 0;

	if (w.signals < 0)
		return w.signals;
	if (o->flight.on)
		err = monitor_flight_new(&w.flight, &o->flight);
	if (has_sums(o))
		err = monitor_sums_new(&w.sums, &(struct monitor_sums_options){ .path = o->output,
										.models = models,
										.budget = o->budget,
										.argc = o->argc,
										.argv = o->argv });
	options.spans = o->flight.on;
	options.watcher = monitor_flight_watcher(w.flight);
	if (!err)
		err = service_open(&w.service, &o->service, &w.m); /* first what the user can get wrong */
	if (!err)
		err = open_and_watch(&w, o, &options, &chosen);
	monitor_flight_free(w.flight);
	monitor_sums_free(w.sums);
	service_close(w.service);
	monitor_close(w.m);
	if (chosen)
		options_free(chosen);
	free(chosen);
	close(w.signals);
	return err;
}

int command_monitor(int argc, char **argv)
{
	struct model_set *models = NULL;
	struct options o;
	int err = options_read(&o, argc, argv, false), status = err && err != -ENOMEM ? STATUS_VAIN : 0;

	if (!err)
		err = cli_load_models(&models, &o.choice);
	if (!err)
		err = run(&o, models);
	if (err == -ENOMEM)
		log_error("monitor: out of memory: free some memory and try again");
	if (err)
		service_failed();
	if (!status && err)
		status = err == -EPERM || err == -EACCES ? STATUS_VAIN : cli_status("monitor", err);
	models_free(models);
	options_free(&o);
	return status;
}
