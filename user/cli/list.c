/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - what could be observed, and what could not and why. Attaches nothing.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "cli/list.h"
#include "observe/observe.h"
#include "observe/rights.h"
#include "util/privileges.h"
#include "util/log.h"

#define PIPE_COLUMNS 100 /* where there is no terminal */

struct options {
	struct choice choice;
	struct text_list files;
	bool json, all, only_models, every, alone, all_processes;
};

enum { OPTION_JSON = 300, OPTION_MODELS, OPTION_EVERY, OPTION_ALONE, OPTION_ALL_PROCESSES };

static const struct argp_option option_table[] = {
	{ "all", 'a', NULL, 0, "Name each function of runtimes that are not used, too", 1 },
	{ "known", OPTION_MODELS, NULL, 0, "Only name the models and their libraries", 1 },
	{ "every-function", OPTION_EVERY, NULL, 0,
	  "Where a probe would go in each function of the FILEs, known to a model or not", 1 },
	{ "no-libraries", OPTION_ALONE, NULL, 0, "Of a program FILE, not the libraries that it needs", 1 },
	{ "all-processes", OPTION_ALL_PROCESSES, NULL, 0,
	  "Launchers, shells and the like, too, not only what they have started", 1 },
	{ "json", OPTION_JSON, NULL, 0, "Print JSON", 1 },
	{ 0 }
};

static const char description[] =
	"What could be observed in a process or a file: every known function with its event, its library and what a "
	"call costs; and what cannot be observed, with the reason. A launcher's PID means its ranks. Of a program's "
	"file, with the libraries that it would be started with. With -v also where each probe is: the function's "
	"offset in the file, how far from there the probe is, on which instruction, and why there. Nothing is "
	"attached."
	"\v"
	"Examples:\n"
	"  sudo gaspbpf list -p 4242                  a launcher's PID: all its ranks\n"
	"  sudo gaspbpf list -p \"$(pgrep mpirun)\" -v  where each probe is, too\n"
	"  sudo gaspbpf list --slurm-job 4711\n"
	"  gaspbpf list ./job /usr/lib/" ARCH_TRIPLET "/libc.so.6 -m +c\n"
	"  gaspbpf list --known";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->choice.who;
		break;
	case 'a':
		o->all = true;
		break;
	case OPTION_MODELS:
		o->only_models = true;
		break;
	case OPTION_EVERY:
		o->every = true;
		break;
	case OPTION_ALONE:
		o->alone = true;
		break;
	case OPTION_ALL_PROCESSES:
		o->all_processes = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case ARGP_KEY_ARG:
		return -cli_append(&o->files, argument);
	case ARGP_KEY_END:
		if (!o->only_models && !choice_has_processes(&o->choice) && !o->files.count)
			argp_error(
				state,
				"nothing to look at: give -p PID, --slurm-job ID, --user, --comm, --cgroup, or files");
		if (o->every && !o->files.count)
			argp_error(state, "--every-function: give files");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 }, { &chooser_parser, 0, NULL, 0 }, { 0 } };
static const struct argp parser = { option_table, parse,    "-p PID\n--slurm-job ID\nFILE...\n--known",
				    description,  children, NULL,
				    NULL };

/* --- the command ------------------------------------------------------- */

static int list_models(const struct model_set *models)
{
	for (size_t i = 0; i < models_count(models); i++) {
		const struct model *model = models_at(models, i);

		printf("%-10s GASP_%-10s %5zu functions in ", model->name, model->language, model->nfunctions);
		list_print_places(model);
		for (size_t b = 0; b < model->nbuilds; b++)
			printf("%s%s", b ? " " : "; builds: ", model->builds[b].name);
		printf("%s\n", model->asked      ? "; joins with -m only"
			       : model->alone    ? "; joins where there is no parallel runtime, or with -m"
			       : model->imported ? "; joins where its functions are imported, or with -m"
						 : "");
	}
	return 0;
}

/* A library that is not there, or no ELF file of ours, would keep the program from starting: that is not ours to say.
 */
static int add_needed(struct plan *plan, const struct image *image)
{
	const char *name = image->needed;
	int err = 0;

	for (; !err && name && *name; name += strlen(name) + 1) {
		char *path = library_find_needed(image, name);
		bool known;

		if (!path)
			log_warn("%s: needs %s, which is not found here: its functions are not listed",
				 log_safe(image->path), log_safe(name));
		else if (plan_add_file(plan, path, &known) == -ENOMEM)
			err = -ENOMEM;
		free(path);
	}
	return err;
}

/* A file; and of a program all that its dynamic linker would map. */
static int add_file(const struct options *o, struct plan *plan, const char *path)
{
	size_t first = plan->nimages;
	bool known;
	int err = plan_add_file(plan, path, &known);

	if (err == -ENOEXEC)
		log_error("%s: not an " ARCH_TITLE " ELF program or library: name one", log_safe(path));
	if (err || o->alone || first == plan->nimages || !plan->images[first]->is_program)
		return err;
	for (size_t i = first; !err && i < plan->nimages; i++) /* they become more */
		err = add_needed(plan, plan->images[i]);
	return err;
}

/* --- what there is ------------------------------------------------------ */

const char *list_unmodelled(const struct plan *plan, const struct image *image)
{
	return images_unmodelled(plan->models, plan->images, plan->nimages, image);
}

/* Was it named, and what it has started was looked at in its place? */
static bool stands_for_others(const struct job *job, pid_t pid)
{
	bool others = false;

	for (size_t i = 0; i < job->nprocesses; i++) {
		if (job->processes[i]->pid == pid)
			return false;
		others |= process_descends(job->processes[i]->pid, pid);
	}
	return others;
}

/* *launchers is malloc'ed. 0 or -ENOMEM. */
static int find_launchers(const struct job *job, const struct pid_list *named, pid_t **launchers, size_t *count)
{
	pid_t *found = *launchers = calloc(named->count + 1, sizeof(*found));

	*count = 0;
	for (size_t i = 0; found && i < named->count; i++)
		if (stands_for_others(job, named->pids[i]))
			found[(*count)++] = named->pids[i];
	return found ? 0 : -ENOMEM;
}

static int look_at_processes(struct options *o, struct job *job)
{
	struct process_choice wanted;
	int err = chooser_wanted(&wanted, &o->choice.who, &o->choice.pids);

	if (!err)
		err = job_find(job, &wanted);
	if (!err && !job->nprocesses) {
		log_error("nothing that was started by these launchers is there: try again, or use --all-processes to "
			  "look at the launchers themselves");
		err = -ENOENT;
	}
	return err;
}

static int look(struct options *o, struct job *job)
{
	int err = choice_has_processes(&o->choice) ? look_at_processes(o, job) : 0;

	for (size_t i = 0; !err && i < o->files.count; i++)
		err = add_file(o, job->plan, o->files.items[i]);
	return err ?: plan_find_absent(job->plan);
}

static struct listed_process describe(const struct job *job, const struct process *process)
{
	struct listed_process listed = { .process = process, .known = job_knows(job, process) };

	listed.has_rank = plan_rank(job->plan, process, &listed.rank);
	return listed;
}

/* What a call costs at each class of place, on this machine. Only who may observe can measure it, with probes in
 * gaspbpf itself. Until it is known, the best that kernels have is taken for granted. */
static void try_kernel(struct listing *listing, bool *sessions)
{
	struct kernel_options options = { .ring_bytes = 1 << 20, .quiet = true };
	struct probe_costs costs;
	struct kernel *kernel;

	*sessions = true;
	if (!may_observe())
		return;
	if (!kernel_load(&kernel, &options)) {
		kernel_costs(kernel, &costs);
		memcpy(listing->cost_ns, costs.call, sizeof(costs.call));
		*sessions = kernel_rung(kernel) == RUNG_SESSION;
		listing->one_by_one = kernel_rung(kernel) == RUNG_PERF;
		kernel_free(kernel);
	}
	rights_give_up_to_look(false);
}

static int show(const struct options *o, struct listing *listing, const struct job *job)
{
	struct listed_process *processes = calloc(job->nprocesses + 1, sizeof(*processes));
	pid_t *launchers = NULL;
	int err = processes ? find_launchers(job, &o->choice.pids, &launchers, &listing->nlaunchers) : -ENOMEM;

	for (size_t i = 0; !err && i < job->nprocesses; i++) {
		processes[i] = describe(job, job->processes[i]);
		if (job->processes[i]->crash_handler)
			listing->crash_handler = job->processes[i]->pid;
	}
	listing->plan = job->plan;
	listing->processes = processes;
	listing->nprocesses = job->nprocesses;
	listing->launchers = launchers;
	listing->all = o->all;
	listing->verbose = log_get_level() >= LOG_INFO;
	listing->width = cli_width() ?: PIPE_COLUMNS;
	if (!err)
		err = o->json ? list_print_json(listing) : list_print(listing);
	free(processes);
	free(launchers);
	return err;
}

static int list(struct options *o, struct listing *listing, struct job *job, bool sessions)
{
	int err = cli_new_plan(&job->plan, job->models, &o->choice);

	if (err)
		return err;
	job->plan->says_builds = false; /* it is listed */
	job->plan->sessions = sessions;
	job->all_processes = o->all_processes;
	return look(o, job) ?: show(o, listing, job);
}

int command_list(int argc, char **argv)
{
	struct options o = { 0 };
	struct listing listing = { 0 };
	struct job job = { 0 };
	bool sessions;
	int err = 0;

	cli_parse(&parser, argc, argv, &o);
	if (!o.every)
		err = cli_load_models(&job.models, &o.choice);
	if (!err && !o.only_models)
		try_kernel(&listing, &sessions);
	if (!err && o.every)
		err = list_every_function(&o.files, o.choice.at_entry, o.json, listing.cost_ns);
	else if (!err && o.only_models)
		err = list_models(job.models);
	else if (!err)
		err = list(&o, &listing, &job, sessions);
	job_free(&job);
	free(o.files.items);
	choice_free(&o.choice);
	return cli_status("list", err);
}
