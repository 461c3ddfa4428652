/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c - which processes are observed, from the first look to the end.
 *
 * Two ways in: processes that run already (-p), here, and a command that we start (command.c). What comes of them later
 * is for follow.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/command.h"
#include "observe/control.h"
#include "observe/cost.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/launchers.h"
#include "observe/ranks.h"
#include "observe/rights.h"
#include "util/clock.h"
#include "util/log.h"

#define FEW_PROCESSES 4 /* up to here each has its own links: no trap for bystanders, hits hardly dearer */

/* --- processes that run already ---------------------------------------- */

/* named: by its number; of others it is no error that they have ended, nor a word. */
static int add_process(struct job *job, pid_t pid, bool named)
{
	struct process **grown = realloc(job->processes, (job->nprocesses + 1) * sizeof(*grown));
	pid_t *pids;
	int err;

	if (!grown)
		return -ENOMEM;
	job->processes = grown;
	for (size_t i = 0; i < job->npids; i++)
		if (job->pids[i] == pid)
			return 0;
	pids = realloc(job->pids, (job->npids + 1) * sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	job->pids = pids;
	err = named ? process_open(&job->processes[job->nprocesses], pid)
		    : process_open_quietly(&job->processes[job->nprocesses], pid);
	if (err)
		return err;
	job->pids[job->npids++] = job->processes[job->nprocesses++]->pid;
	return 0;
}

/* Those of them that are there, and are no launchers themselves. */
static int add_started(struct job *job, const pid_t *pids, size_t count)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		size_t before = job->nprocesses;

		err = add_process(job, pids[i], true);
		if (err != -ENOMEM)
			err = 0; /* ended in between, or said why not */
		if (err || job->nprocesses == before || !launchers_is_one(job->launchers, job->processes[before]))
			continue;
		process_close(job->processes[--job->nprocesses]);
		job->npids--;
	}
	return err;
}

/* The process itself; in place of a launcher the ranks below it, or else all that it has started. */
static int add_pid(struct job *job, pid_t pid, bool named, const char **rank_variables)
{
	pid_t *started = NULL;
	size_t count = 0, before = job->nprocesses;
	int err = job->all_processes ? 0 : process_descendants(pid, rank_variables, &started, &count);

	if (!err && !count)
		err = add_process(job, pid, named);
	if (!err && !count && job->nprocesses > before && launchers_is_one(job->launchers, job->processes[before])) {
		process_close(job->processes[--job->nprocesses]);
		job->npids--;
		ranks_launches(job->ranks, pid);
	} else if (count) {
		log_info("%d launched %zu processes with a rank: observing those", pid, count);
		ranks_launches(job->ranks, pid);
	}
	if (!err && !count && (job->all_processes || job->nprocesses == before)) {
		free(started);
		started = NULL;
		err = process_descendants(pid, NULL, &started, &count);
	}
	if (!err)
		err = add_started(job, started, count);
	free(started);
	return err;
}

bool job_knows(const struct job *job, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(job->plan, mapping->device, mapping->inode)
						    : NULL;

		if (plan_has_sites(job->plan, NULL, image))
			return true;
	}
	return false;
}

/* Of a launcher's processes only those count that map something known: the shell around a rank does not. */
static void drop_unknown(struct job *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->nprocesses; i++) {
		struct process *process = job->processes[i];

		if (!job_knows(job, process) && job->nprocesses > 1) {
			log_info("%d (%s): maps nothing known: left alone", process->pid, log_safe(process->name));
			process_close(process);
			continue;
		}
		job->pids[kept] = process->pid;
		job->processes[kept++] = process;
	}
	job->nprocesses = job->npids = kept;
}

/* Is this the program of a runtime whose ranks are forked, each with its number in a variable? */
static bool forks_ranks(const struct job *job, const struct image *image)
{
	for (size_t s = 0; image && s < job->plan->nsites; s++)
		if (job->plan->sites[s].image == image && job->plan->sites[s].function->model->rank_symbol)
			return true;
	return false;
}

static const struct image *forking_program(const struct job *job, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(job->plan, mapping->device, mapping->inode)
						    : NULL;

		if (forks_ranks(job, image))
			return image;
	}
	return NULL;
}

/* Adds the children of a process that run its own program. *count: how many. */
static int add_forked_of(struct job *job, pid_t pid, const struct image *program, size_t *count)
{
	pid_t *children;
	size_t nchildren;
	int err = process_descendants(pid, NULL, &children, &nchildren);

	for (size_t i = 0; !err && i < nchildren; i++) {
		err = add_process(job, children[i], true);
		if (err == -ESRCH) {
			err = 0;
			continue;
		}
		if (!err && forking_program(job, job->processes[job->nprocesses - 1]) == program)
			++*count;
		else if (!err)
			process_close(job->processes[--job->nprocesses]), job->npids--;
	}
	free(children);
	return err;
}

/* The number in the variable that the program's model names; negative: there is none, or not yet. */
static int forked_rank(const struct job *job, const struct process *process, const struct image *program)
{
	int rank = -1;

	for (size_t s = 0; s < job->plan->nsites && rank < 0; s++) {
		const struct site *site = &job->plan->sites[s];

		if (site->image == program && site->function->model->rank_symbol &&
		    image_read_int(program, process, site->function->model->rank_symbol, &rank))
			return -1;
	}
	return rank;
}

/* Is a process whose children, from `first` on, are ranks one itself? Where it only waits for them it has no number, or
 * that of one of them. */
static bool is_rank_too(const struct job *job, const struct process *process, const struct image *program, size_t first)
{
	int own = forked_rank(job, process, program);

	for (size_t i = first; i < job->nprocesses; i++)
		if (forked_rank(job, job->processes[i], program) == own)
			return false;
	return own >= 0;
}

/*
 * Ranks that were forked instead of launched: the process they came from mostly only waits for them, and then they are
 * observed in its place.
 */
static int add_forked(struct job *job)
{
	size_t before = job->nprocesses;
	int err = 0;

	for (size_t i = 0; !err && i < before; i++) {
		const struct image *program = forking_program(job, job->processes[i]);
		size_t count = 0, first = job->nprocesses;

		if (program)
			err = add_forked_of(job, job->processes[i]->pid, program, &count);
		if (!count || is_rank_too(job, job->processes[i], program, first))
			continue;
		process_close(job->processes[i]);
		job->processes[i] = job->processes[--job->nprocesses];
		job->pids[i] = job->pids[--job->npids];
	}
	return err;
}

static int nothing_known(const struct job *job)
{
	if (ranks_launched(job->ranks)) {
		log_info("nothing that it has started maps a known runtime yet: waiting for what it starts");
		return 0;
	}
	if (!job->nprocesses)
		log_error("those that were chosen have ended: choose again");
	else if (job->plan->no_alone)
		log_error("none of those that were chosen maps a parallel runtime: '-m c,pthread' observes what every "
			  "program calls");
	else if (job->nprocesses == 1)
		log_error("%d (%s): maps no known runtime, or its names are stripped: 'gaspbpf list -p %d' tells what "
			  "was "
			  "looked for",
			  job->processes[0]->pid, log_safe(job->processes[0]->name), job->processes[0]->pid);
	else
		log_error("none of these processes maps a known runtime: 'gaspbpf list -p PID' tells what was looked "
			  "for");
	return -ENOENT;
}

int job_check_functions(struct job *job)
{
	const struct model *model = models_find(job->models, USER_MODEL);
	int err = model ? plan_find_absent(job->plan) : 0;
	const char *not_found = plan_not_found(job->plan);

	if (!err && not_found) {
		log_error("-F %s: no function of the program has such a name: inlined functions have none; those of a "
			  "library are asked for with "
			  "its name, as in -F 'libsolver.so*:%s'",
			  log_safe(not_found), log_safe(not_found));
		return -ENOENT;
	}

	for (size_t i = 0; !err && model && i < job->plan->nabsents; i++) {
		const struct absent *absent = &job->plan->absents[i];

		if (absent->function->model != model)
			continue;
		log_error("-e %s: %s: 'gaspbpf list -p PID -e ...' tells what was looked at",
			  log_safe(absent->function->symbol), absence_text(absent->why));
		return -ENOENT;
	}
	return err;
}

/* Those that were asked for, the first `named` of them by their numbers. */
static int add_all(struct job *job, const struct pid_list *list, size_t named)
{
	const char **rank_variables = plan_rank_variables(job->models);
	int err = rank_variables ? ranks_new(&job->ranks, list) : -ENOMEM;

	if (!err)
		err = launchers_new(&job->launchers, job);
	for (size_t i = 0; !err && i < list->count; i++) {
		err = add_pid(job, list->pids[i], i < named, rank_variables);
		if (i >= named && err != -ENOMEM)
			err = 0; /* it has ended since it was chosen */
	}
	free(rank_variables);
	return err;
}

int job_find(struct job *job, const struct process_choice *choice)
{
	struct pid_list list = { 0 };
	int err = choose_processes(&list, choice, job->models);

	job->plan->no_alone = choice_is_by_description(choice);
	if (!err)
		err = add_all(job, &list, choice->npids);
	free(list.pids);
	if (!err)
		err = plan_add_processes(job->plan, job->processes, job->nprocesses);
	return err ?: add_forked(job);
}

int job_add(struct job *job, const struct process_choice *choice)
{
	int err = job_find(job, choice);

	if (!err && !job->plan->nsites)
		err = nothing_known(job);
	else if (!err)
		err = job_check_functions(job);
	if (!err)
		drop_unknown(job);
	return err;
}

int job_load(struct job *job, uint64_t ring_bytes)
{
	const struct kernel_options options = { .follow = true, .ring_bytes = ring_bytes, .callers = job->callers };

	return kernel_load(&job->kernel, &options);
}

void job_give_up_rights(struct job *job, const struct text_list *written)
{
	struct kept_process *kept = calloc(job->nstarted + 1, sizeof(*kept));
	struct rights_later later = { .written = written,
				      .control = job->control,
				      .sampling = job->sampling,
				      .hold = job->hold,
				      .processes = kept,
				      .nprocesses = job->nstarted };

	if (!kept) {
		log_info("rights are kept: out of memory");
		return;
	}
	if (job->nstarted)
		memcpy(kept, job->started, job->nstarted * sizeof(*kept));
	if (job->command)
		kept[later.nprocesses++] = (struct kept_process){ .pid = job->command, .signal = SIGTERM };
	if (!rights_give_up(job->kernel, &later))
		log_info("rights are kept: it does not work without them here");
	free(kept);
}

int job_open(struct job *job, const struct process_choice *choice, uint64_t ring_bytes, const struct text_list *written)
{
	int err = job_load(job, ring_bytes);

	if (!err)
		job_give_up_rights(job, written);
	return err ?: job_add(job, choice);
}

/* --- attaching --------------------------------------------------------- */

int job_prepare(struct job *job)
{
	struct capture_events events;
	int err = follow_new(&job->follow, job);

	if (err)
		return err;
	kernel_filter(job->kernel, job->attach.file || job->attach.file_alone);
	job->plan->sessions = kernel_rung(job->kernel) == RUNG_SESSION;
	/* Where a call cannot decline its return, a probe for everybody is in processes that nobody has looked at, too.
	 */
	job->plan->cautious[false] = !job->plan->sessions && job->attach.file;
	job->plan->cautious[true] = !job->plan->sessions && job->attach.file_alone;
	err = plan_set_choosing(job->plan, job->plan->sessions && job->attach.file,
				job->plan->sessions && job->attach.file_alone);
	if (err)
		return err;
	events = follow_events(job->follow);
	kernel_costs(job->kernel, &job->costs);
	for (int class = 0; class < SITE_CLASSES; class ++) {
		job->definitions.run.cost_ns[class] = job->costs.call[class];
		job->definitions.run.skipped_ns[class] = job->costs.skipped[class];
		job->definitions.run.floor_ns[class] = job->costs.floor[class];
	}
	job->definitions.run.rung = strdup(rung_name(kernel_rung(job->kernel)));
	log_info("way of attaching: %s (of those that 'gaspbpf doctor' tells of)", rung_name(kernel_rung(job->kernel)));
	err = capture_new(&job->capture, job->kernel, job->plan, &job->definitions, &events);
	if (!err && job->queues)
		capture_follow_queues(job->capture);
	if (!err)
		translators_find(job);
	return err;
}

static int observe(struct job *job, struct process *process)
{
	int err = kernel_add_target(job->kernel, process->pid);

	return err ? err : capture_add_process(job->capture, process);
}

void job_begin(struct job *job)
{
	struct def_run *run = &job->definitions.run;

	run->start = clock_monotonic();
	run->start_realtime = clock_realtime();
	for (size_t i = 0; i < job->definitions.nprocesses; i++)
		job->definitions.processes[i].start = run->start;
	kernel_set_active(job->kernel, true);
	if (kernel_begin_quiet(job->kernel))
		log_debug("what threads have run before they were observed is not known");
}

static bool all_left_out(const struct job *job)
{
	for (size_t i = 0; i < job->plan->nsites; i++)
		if (!attach_leaves_out(job->kernel, &job->attach, &job->plan->sites[i]))
			return false;
	return true;
}

/* What they map may be more by now than when the plan was made. */
static void look_once_more(struct job *job)
{
	bool added;

	for (size_t i = 0; i < job->npids; i++)
		follow_look(job->follow, job->pids[i], &added);
}

/* Libraries that these processes load from now on are told; those that came in just now are looked for once. */
static void watch_loading(struct job *job)
{
	for (size_t i = 0; i < job->npids; i++)
		follow_linker(job->follow, job->pids[i], true);
	look_once_more(job);
}

int job_attach(struct job *job, enum scope scope)
{
	int err;

	/* What everything maps is never probed for everybody unless asked: it would slow down the whole machine. */
	job->attach.file_alone = scope == SCOPE_FILE;
	/* How many a launcher will start is not known. */
	job->attach.file = scope == SCOPE_FILE || (scope == SCOPE_AUTO && (job->npids > FEW_PROCESSES || !job->npids) &&
						   translators_allow(EACH_BY_ITSELF));
	job->attach.pids = job->pids;
	job->attach.npids = job->npids;
	err = job_prepare(job);
	for (size_t i = 0; !err && i < job->nprocesses; i++) {
		err = observe(job, job->processes[i]);
		if (!err)
			job->processes[i] = NULL; /* the capture has it now */
	}
	if (!err)
		err = attach_sites(job->kernel, job->plan, 0, &job->attach);
	if (!err && job->plan->nsites && all_left_out(job)) {
		log_error("nothing that the job maps imports any of the known functions: use --all-symbols");
		err = -ENOENT;
	} else if (!err && !attach_count(job->kernel) && !ranks_launched(job->ranks)) {
		log_error("the process ended before its probes were in: start it with 'gaspbpf -- COMMAND'");
		err = -ESRCH;
	}
	job->nobserved = job->npids;
	if (!err) {
		unsigned said = 0;

		if (!job->brief)
			cost_say_own(&said, job->kernel, job->plan);
		look_once_more(job);
		if (!job->begins_later)
			job_begin(job);
		watch_loading(job);
		if (ranks_launched(job->ranks))
			launchers_begin(job->launchers);
		for (size_t i = 0; i < job->npids; i++)
			launchers_looked(job->launchers, job->pids[i], AT_BIRTH);
		err = ranks_catch_up(job->ranks, job);
	}
	return err;
}

bool job_alive(const struct job *job)
{
	struct capture_totals totals = capture_totals(job->capture);

	return totals.alive + totals.left_out > 0; /* a launcher may start more */
}

void job_free(struct job *job)
{
	for (size_t i = 0; i < job->nprocesses; i++)
		if (job->processes[i])
			process_close(job->processes[i]);
	control_close(job->control);
	if (job->wake)
		close(job->wake);
	command_let_go(job, false);
	follow_free(job->follow);
	ranks_free(job->ranks);
	launchers_free(job->launchers);
	translators_free(&job->translators);
	capture_close(job->capture);
	kernel_free(job->kernel);
	definitions_free(&job->definitions);
	plan_free(job->plan);
	models_free(job->models);
	free(job->processes);
	free(job->pids);
}
