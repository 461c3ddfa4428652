/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck.c - gaspbpf stuck: who waits, for what, since when.
 *
 * A look at all stacks; then probes for a short while, which tell who moves, and of calls that begin now, all; then
 * another look. The probes are out again before anything is worked out.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/look_at_calls.h"
#include "cli/stuck_nodes.h"
#include "observe/choose.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/rights.h"
#include "stuck/stuck.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/privileges.h"

struct options {
	struct choice choice;
	struct process_choice wanted;
	uint64_t duration;
	bool json, stacks, all, no_probes, all_processes;
	struct on_nodes where; /* a job on many nodes */
	struct own_node part;  /* one of them */
};

enum { OPTION_JSON = 300, OPTION_STACK, OPTION_ALL, OPTION_NO_PROBES, OPTION_ALL_PROCESSES };

static const struct argp_option option_table[] = {
	{ "duration", 'd', "TIME", 0,
	  "Watch for so long (default 1s): a call that has not ended by then counts as waiting; 0: a single look", 1 },
	{ "stack", OPTION_STACK, NULL, 0, "The stack of each thread, too", 3 },
	{ "all", OPTION_ALL, NULL, 0, "Also threads that libraries have started for themselves", 3 },
	{ "all-processes", OPTION_ALL_PROCESSES, NULL, 0,
	  "Launchers, shells and the like, too, not only what they have started", 2 },
	{ "no-probes", OPTION_NO_PROBES, NULL, 0, "Put no probes in: two looks at the stacks are all", 2 },
	{ "json", OPTION_JSON, NULL, 0, "Print JSON (docs/stuck.md)", 3 },
	{ 0 }
};

static const char description[] =
	"Who waits, for what, since when: for every thread of every rank the call in progress, with its arguments "
	"and where it was called; who holds the lock, "
	"which ranks have not come to the barrier, and deadlocks in a sentence.\n\n"
	"Calls that began before are recognised on the threads' stacks, without stopping anybody."
	"\v"
	"What is not certain is marked with ~.\n"
	"\nExamples:\n"
	"  sudo gaspbpf stuck -p 4242                 a launcher's PID: all its ranks\n"
	"  sudo gaspbpf stuck -p $(pgrep mpirun) --stack\n"
	"  sudo gaspbpf stuck --slurm-job 4711        its ranks on this machine\n"
	"  sudo gaspbpf stuck -p 4242 -d 10s --json\n"
	"  gaspbpf stuck --slurm 4711                 on all of its nodes\n"
	"  gaspbpf stuck -p 4242\n"
	"      your own process, without root: only threads that sleep (docs/stuck.md)\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->choice.who;
		state->child_inputs[2] = &o->where;
		state->child_inputs[3] = &o->part;
		return 0;
	case 'd':
		if (parse_time(argument, &o->duration))
			argp_error(state, "-d %s: give a time, as in -d 1s or -d 500ms", log_safe(argument));
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_STACK:
		o->stacks = true;
		return 0;
	case OPTION_ALL_PROCESSES:
		o->all_processes = true;
		return 0;
	case OPTION_ALL:
		o->all = true;
		return 0;
	case OPTION_NO_PROBES:
		o->no_probes = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->where.more = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (on_nodes_wanted(&o->where)) {
			on_nodes_check(&o->where, state);
			if (choice_has_processes(&o->choice))
				argp_error(state, "on other nodes processes are chosen by options behind --");
			return 0;
		}
		if (o->where.more)
			argp_error(state, "what is '%s'? a process is named with -p", log_safe(*o->where.more));
		if (!choice_has_processes(&o->choice))
			argp_error(state, "which process? for example: -p 4242, or --slurm-job 4711");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 },
					      { &chooser_parser, 0, NULL, 0 },
					      { &on_nodes_parser, 0, NULL, 0 },
					      { &own_node_parser, 0, NULL, 0 },
					      { 0 } };
static const struct argp parser = { option_table, parse,    "-p PID[,PID...]\n--slurm-job ID\n--slurm JOBID",
				    description,  children, NULL,
				    NULL };

/* --- which models ------------------------------------------------------- */

static bool ever_waits(const struct model *model)
{
	for (size_t i = 0; i < model->nfunctions; i++) {
		switch (model->functions[i].role) {
		case ROLE_BARRIER:
		case ROLE_WAIT:
		case ROLE_ACQUIRE:
		case ROLE_COLLECTIVE:
		case ROLE_RECV:
		case ROLE_GET:
			return true;
		default:
			break;
		}
	}
	return false;
}

/* The models that a predicate holds for, as -m takes them; NULL: no memory. */
static char *name_models(const struct model_set *models, bool waiting, bool alone)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool some = false;

	for (size_t i = 0; out && i < models_count(models); i++) {
		const struct model *model = models_at(models, i);

		if ((waiting && !ever_waits(model)) || (!alone && model->alone))
			continue;
		fprintf(out, "%s%s", some ? "," : "", model->name);
		some = true;
	}
	if (out)
		fclose(out);
	return text;
}

/* Does the job map a parallel runtime? */
static bool is_parallel(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (!plan->sites[i].function->model->alone && !plan->sites[i].function->model->always)
			return true;
	return false;
}

/* Probes are for what can be waited in; not for what everything calls a million times a second where there is a
 * parallel runtime to look at. */
static int plan_probes(struct options *o, struct job *job, const struct stuck *stuck)
{
	struct choice choice = o->choice;
	struct pid_list pids = { .count = stuck->nprocesses };
	int err;

	job->all_processes = o->all_processes;
	choice.models = o->choice.models ?: name_models(job->models, true, !is_parallel(stuck->names));
	pids.pids = calloc(pids.count, sizeof(*pids.pids));
	err = choice.models && pids.pids ? cli_new_plan(&job->plan, job->models, &choice) : -ENOMEM;
	for (size_t i = 0; i < pids.count && pids.pids; i++)
		pids.pids[i] = stuck->processes[i].process->pid;
	if (!err)
		err = job_add(job, &(struct process_choice){ .pids = pids.pids, .npids = pids.count });
	free(pids.pids);
	if (choice.models != o->choice.models)
		free(choice.models);
	return err;
}

/* --- watching ----------------------------------------------------------- */

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	return stuck_take_span(context, d, span);
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	return stuck_take_gap(context, d, gap);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = 1;
}

static int watch(struct options *o, struct job *job, struct stuck *stuck, struct open_list *opens)
{
	struct span_sink sink = { .span = take_span, .gap = take_gap, .context = stuck };
	uint64_t began = clock_monotonic();
	int err;

	job->brief = true;
	err = job_attach(job, SCOPE_AUTO);
	if (err)
		return err;
	err = stuck_probed(stuck, job->plan);
	if (err)
		return err;
	capture_add_sink(job->capture, &sink);
	if (!o->part.on)
		fprintf(stderr, "gaspbpf: watching %zu process%s for %.3g s\n", job->nobserved,
			job->nobserved == 1 ? "" : "es", o->duration / 1e9);
	for (uint64_t start = clock_monotonic();
	     !interrupted && job_alive(job) && clock_monotonic() - start < o->duration;)
		job_serve(job);
	err = look_at_calls(job->capture, &job->definitions, stuck, opens, NULL);
	stuck->watched = clock_monotonic() - began;
	job_leave(job, NULL);
	capture_finish(job->capture);
	return err;
}

/* Without probes: time passes. */
static int wait_only(struct options *o, struct stuck *stuck)
{
	uint64_t began = clock_monotonic();
	struct timespec time = { .tv_sec = o->duration / 1000000000, .tv_nsec = o->duration % 1000000000 };
	int err;

	if (!interrupted && o->duration)
		nanosleep(&time, NULL);
	err = stuck_look(stuck, true);
	stuck->watched = clock_monotonic() - began;
	return err;
}

/* --- the command -------------------------------------------------------- */

/* The processes meant: a launcher stands for its ranks. */
static int find_processes(struct options *o, struct job *job, pid_t **pids, size_t *count)
{
	bool described = choice_is_by_description(&o->wanted); /* who is not named one by one is there for a job */
	char *all = o->choice.models ? NULL : name_models(job->models, false, !described);
	struct choice choice = o->choice;
	struct job found = { .models = job->models, .all_processes = o->all_processes };
	int err;

	choice.models = o->choice.models ?: all;
	choice.at_entry = true;
	choice.returns = RETURNS_ALL_NONE;
	err = choice.models ? cli_new_plan(&found.plan, job->models, &choice) : -ENOMEM;
	if (!err)
		err = job_add(&found, &o->wanted);
	*pids = found.pids;
	*count = found.npids;
	found.pids = NULL;
	found.models = NULL;
	job_free(&found);
	free(all);
	return err;
}

/* Does one of the named processes stand for others? If not, some of the job may be there and not looked at. */
static bool is_launcher_named(const struct pid_list *named, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < named->count; i++) {
		size_t at = 0;

		while (at < count && pids[at] != named->pids[i])
			at++;
		if (at == count)
			return true;
	}
	return false;
}

static void say_rights(void)
{
	log_warn("without root, or the three capabilities that observing needs, no probe can be put in and threads "
		 "that run are not seen: calls are those on the stacks of sleeping threads, and whether "
		 "one has lasted all the time is known only of threads that did not run: sudo tells more");
}

/* Where nothing at all could be seen of the threads of somebody else's process, the reason is not what they do. */
static void say_foreign(const struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nprocesses; i++) {
		const struct process *process = stuck->processes[i].process;

		if (process->uid == geteuid())
			continue;
		log_warn("%d: belongs to another user: where its threads are cannot be seen without CAP_BPF, "
			 "CAP_PERFMON and CAP_SYS_PTRACE",
			 process->pid);
		return;
	}
}

/* What takes rights is done before anything is looked at, and then they are given up. */
static int prepare(struct options *o, struct job *job, struct stuck *stuck, bool probes)
{
	const struct rights_later later = { .written = &(struct text_list){ 0 }, .sampling = true };
	int err;

	if (!may_observe())
		return 0;
	stuck->looker = looker_new();
	job->callers = true;
	err = probes ? job_load(job, 0) : 0;
	if (err || !stuck->looker) /* without it /proc is read with our own rights */
		return err;
	if (!probes)
		rights_give_up_to_look(true);
	else if (!rights_give_up(job->kernel, &later))
		log_info("rights are kept: it does not work without them here");
	return 0;
}

static int examine(struct options *o, struct job *job, struct stuck *stuck, struct open_list *opens)
{
	char *all = o->choice.models ? NULL : name_models(job->models, false, true);
	const bool may = may_observe(), probes = may && !o->no_probes && o->duration;
	size_t count = 0;
	pid_t *pids = NULL;
	int err = prepare(o, job, stuck, probes);

	if (!err)
		err = find_processes(o, job, &pids, &count);
	if (!err)
		err = stuck_open(stuck, job->models, o->choice.models ?: all, pids, count);
	stuck->all_here &= !err && (stuck->all_in_one || is_launcher_named(&o->choice.pids, pids, count));
	free(pids);
	free(all);
	if (err)
		return err;
	if (!may) {
		say_rights();
		say_foreign(stuck);
	}
	if (!stuck->nprocesses) {
		log_error("nothing that these launchers have started maps a known runtime yet: try again, or use "
			  "--all-processes");
		return -ENOENT;
	}
	err = stuck_look(stuck, false);
	if (!err && !probes)
		err = wait_only(o, stuck);
	else if (!err)
		err = plan_probes(o, job, stuck) ?: watch(o, job, stuck, opens);
	if (!err)
		err = stuck_resolve(stuck, opens->list, opens->count);
	return err ?: stuck_conclude(stuck);
}

int command_stuck(int argc, char **argv)
{
	struct options o = { .duration = 1000000000 };
	struct job job = { 0 };
	struct stuck stuck = { 0 };
	struct open_list opens = { 0 };
	struct stuck_style style = { .width = cli_width() };
	int err, status;

	cli_parse(&parser, argc, argv, &o);
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	style.stacks = o.stacks;
	style.all = o.all;
	if (on_nodes_wanted(&o.where)) {
		err = stuck_on_nodes(&o.where, o.duration, o.no_probes, o.json);
		choice_free(&o.choice);
		on_nodes_free(&o.where);
		return cli_status("stuck", err);
	}
	err = own_node_open(&o.part) ?: chooser_wanted(&o.wanted, &o.choice.who, &o.choice.pids);
	o.wanted.brief = o.part.on;
	err = err ?: cli_load_models(&job.models, &o.choice);
	if (!err)
		err = examine(&o, &job, &stuck, &opens);
	if (o.part.on)
		stuck_part_hand_over(&o.part, &stuck, err);
	else if (!err && o.json)
		err = stuck_print_json(&stuck, stdout);
	else if (!err)
		err = stuck_print(&stuck, stdout, &style);
	stuck_close(&stuck);
	free(opens.list);
	job_free(&job);
	choice_free(&o.choice);
	on_nodes_free(&o.where);
	status = cli_status("stuck", err);
	own_node_free(&o.part);
	return status;
}
