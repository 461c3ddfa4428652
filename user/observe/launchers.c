/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launchers.c - which processes of a job are no part of it.
 *
 * A command is seldom the job itself: a shell runs a script that runs timeout that runs a launcher that starts the
 * ranks, with a cp and a sed in between. Threads that a launcher has for itself, and what it allocates, would stand
 * among those of the ranks in every figure. So it is left out:
 *
 *   launcher   What can be told to be one by what it is (user/target/launcher.c) gets no probes at all. Others turn out
 * to be launchers: they map no parallel runtime, and something that they have started does. beside     Models that join
 * alone are for jobs without a parallel runtime. Whether there is one is not known before a process maps it. When one
 *              does, all that map none and were not started by one that does are no part of the job any more, from
 * their start on.
 *
 * For both, what was told of them is passed over by everybody (capture_leave_out()), and their own links come out.
 * Where models that join alone were asked for, nobody is beside. What was started by a process with a runtime belongs
 * to it. A process that becomes another program, or loads a runtime, is judged anew.
 *
 * One that may load a runtime while it runs (an interpreter) is watched up to its end before it is said to be beside.
 * Until then it keeps its links; those of models that join alone come out of all processes as soon as one maps a
 * runtime (follow.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "capture/capture.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/launchers.h"
#include "probe/probe.h"
#include "target/target.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

#define GENERATIONS 1000 /* numbers are used again: a ring is thinkable */

/* A process that is observed. */
struct member {
	pid_t pid;
	bool runtime; /* it maps a parallel one */
	bool below;   /* else: one that does has started it */
	UT_hash_handle hh;
};

struct launchers {
	struct job *job;
	struct launcher_files *files;
	struct member *members;
	uint32_t *ended;
	size_t nended, ended_room; /* definitions of processes that have ended, and mapped no runtime */
	bool active;
	bool parallel; /* there was a member with a runtime */
};

int launchers_new(struct launchers **result, struct job *job)
{
	struct launchers *l = *result = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->job = job;
	l->files = launcher_files_new();
	return l->files ? 0 : -ENOMEM;
}

static void forget(struct launchers *l, struct member *member)
{
	HASH_DEL(l->members, member);
	free(member);
}

void launchers_free(struct launchers *l)
{
	struct member *member, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->members, member, next)
		forget(l, member);
	launcher_files_free(l->files);
	free(l->ended);
	free(l);
}

void launchers_begin(struct launchers *l)
{
	l->active = !l->job->all_processes;
}

static struct member *find(const struct launchers *l, pid_t pid)
{
	struct member *member;

	HASH_FIND_INT(l->members, &pid, member);
	return member;
}

static struct member *find_or_add(struct launchers *l, pid_t pid)
{
	struct member *member = find(l, pid);

	if (member)
		return member;
	member = calloc(1, sizeof(*member));
	if (!member)
		return NULL;
	member->pid = pid;
	HASH_ADD_INT(l->members, pid, member);
	if (!member->hh.tbl) {
		free(member);
		return NULL;
	}
	return member;
}

static bool is_parallel(const struct model *model)
{
	return !model->alone && !model->always;
}

/* --- what it is -------------------------------------------------------- */

/* Does it map a file that by its name is a parallel runtime's library? */
static bool maps_library(const struct launchers *l, const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const char *path = process->mappings[i].executable ? process->mappings[i].path : NULL;
		const char *base = path ? path_base(path) : NULL;

		for (size_t m = 0; base && m < models_count(l->job->models); m++) {
			const struct model *model = models_at(l->job->models, m);

			if (is_parallel(model) && !model->imported && !model->in_program &&
			    model_matches_file(model, base, base))
				return true;
		}
	}
	return false;
}

static bool calls_runtime(const struct launchers *l, const struct image *program)
{
	for (size_t m = 0; m < models_count(l->job->models); m++) {
		const struct model *model = models_at(l->job->models, m);

		for (size_t f = 0; is_parallel(model) && f < model->nfunctions; f++)
			if (image_imports(program, model->functions[f].symbol))
				return true;
	}
	return false;
}

/* Is the runtime that it maps its own? Not what LD_PRELOAD has put into it, unless its program makes use of that. */
static bool has_own_library(const struct launchers *l, const struct process *process)
{
	bool own = false;

	if (!maps_library(l, process))
		return false;
	if (!process_getenv(process, "LD_PRELOAD"))
		return true;
	for (size_t i = 0; i < process->nmappings; i++) {
		struct image *image;

		if (!process->mappings[i].executable || image_open_mapped(&image, process, &process->mappings[i]))
			continue;
		own = image->is_program && calls_runtime(l, image);
		if (image->is_program)
			i = process->nmappings;
		image_close(image);
	}
	return own;
}

static enum launcher judge(struct launchers *l, const struct process *process)
{
	enum launcher is = l->job->all_processes ? LAUNCHER_NO : process_is_launcher(l->files, process);

	return is != LAUNCHER_NO && has_own_library(l, process) ? LAUNCHER_NO : is;
}

bool launchers_is_one(struct launchers *l, const struct process *process)
{
	return judge(l, process) == LAUNCHER_YES;
}

bool launchers_active(const struct launchers *l)
{
	return l && l->active;
}

bool launchers_traces(struct launchers *l, pid_t pid)
{
	struct process *process;
	bool traces;

	if (process_open_if_there(&process, pid))
		return false;
	traces = process_traces(l->files, process);
	process_close(process);
	return traces;
}

/* --- who is left out --------------------------------------------------- */

static void leave_out(struct launchers *l, pid_t pid, const char *why)
{
	struct member *member = find(l, pid);

	if (member)
		forget(l, member);
	if (!capture_leave_out(l->job->capture, pid, why))
		log_info("%d: left out of the job: %s", pid, why);
	follow_take_own(l->job->follow, pid);
}

enum admission launchers_admit(struct launchers *l, pid_t pid, enum moment moment)
{
	struct process *process;
	enum launcher is;

	if (!l->active)
		return ADMITTED;
	if (process_open_quietly(&process, pid))
		return ADMITTED; /* it has ended, or cannot be observed: whoever looks at it says so */
	is = judge(l, process);
	process_close(process);
	if (is == LAUNCHER_MAYBE && moment == LOADING)
		return ADMITTED_LATER;
	if (is != LAUNCHER_YES) {
		capture_take_in(l->job->capture, pid);
		return ADMITTED;
	}
	if (moment == AT_BIRTH) /* most become another program at once */
		return ADMITTED_LATER;
	leave_out(l, pid, LEFT_OUT_LAUNCHER);
	return NOT_ADMITTED;
}

/* Do models that join alone take part where there is a parallel runtime, because they were asked for? */
static bool alone_is_asked(const struct launchers *l)
{
	const struct plan *plan = l->job->plan;

	for (size_t m = 0; m < plan->nchosen; m++)
		if (plan->chosen[m]->alone && !plan->chosen[m]->always)
			return true;
	return false;
}

static bool maps_runtime(const struct launchers *l, const struct process *process)
{
	const struct plan *plan = l->job->plan;

	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(plan, mapping->device, mapping->inode)
						    : NULL;

		for (size_t m = 0; image && m < models_count(plan->models); m++)
			if (is_parallel(models_at(plan->models, m)) &&
			    plan_model_applies(models_at(plan->models, m), image))
				return true;
	}
	return false;
}

static bool is_below(pid_t pid, pid_t ancestor)
{
	for (int i = 0; i < GENERATIONS && (pid = process_parent(pid)); i++)
		if (pid == ancestor)
			return true;
	return false;
}

/* Was it started, at any distance, by a process with a runtime? */
static bool is_below_runtime(const struct launchers *l, pid_t pid)
{
	for (int i = 0; i < GENERATIONS && (pid = process_parent(pid)); i++) {
		const struct member *member = find(l, pid);

		if (member && (member->runtime || member->below))
			return true;
	}
	return false;
}

/* Its number may be another one's by now. */
static void leave_ended_out(struct launchers *l)
{
	for (size_t i = 0; i < l->nended; i++) {
		struct def_process *def = &l->job->definitions.processes[l->ended[i]];

		if (!def->left_out && !capture_calls_runtime(l->job->capture, l->ended[i]))
			def->left_out = strdup(LEFT_OUT_BESIDE);
	}
	l->nended = 0;
}

/* An interpreter may be the next rank, a moment before it loads its runtime: it is watched on. */
static bool may_load(const struct launchers *l, pid_t pid)
{
	const struct process *process = capture_process(l->job->capture, pid);

	return process && process_loads(l->files, process);
}

/* A process with a runtime has come: what others are shows by it. */
static void leave_others_out(struct launchers *l, pid_t pid)
{
	bool asked = alone_is_asked(l);
	struct member *member, *next;

	HASH_ITER (hh, l->members, member, next) {
		if (member->runtime || member->below)
			continue;
		if (is_below(pid, member->pid))
			leave_out(l, member->pid, LEFT_OUT_LAUNCHER);
		else if (!asked && !may_load(l, member->pid))
			leave_out(l, member->pid, LEFT_OUT_BESIDE);
	}
	if (!asked)
		leave_ended_out(l);
}

/* Nothing but a runtime that it loads later could make it a part of the job. */
static bool is_beside(const struct launchers *l, const struct member *member)
{
	return l->parallel && !member->runtime && !member->below && !alone_is_asked(l);
}

bool launchers_looked(struct launchers *l, pid_t pid, enum moment moment)
{
	const struct process *process = l->active ? capture_process(l->job->capture, pid) : NULL;
	struct member *member = process ? find_or_add(l, pid) : NULL;

	if (!member)
		return true;
	if (maps_runtime(l, process)) {
		capture_take_in(l->job->capture, pid);
		if (!member->runtime) {
			member->runtime = l->parallel = true;
			leave_others_out(l, pid);
		}
		return true;
	}
	member->runtime = false;
	member->below = is_below_runtime(l, pid);
	if (moment != SETTLED || !is_beside(l, member) || process_loads(l->files, process))
		return true;
	leave_out(l, pid, LEFT_OUT_BESIDE);
	return false;
}

void launchers_ended(struct launchers *l, pid_t pid)
{
	struct member *member = find(l, pid);
	uint32_t index = l->active ? capture_definition(l->job->capture, pid) : NO_INDEX;
	/* Some have too short a life to be looked at. */
	if (index != NO_INDEX && (!member || (!member->runtime && !member->below)) &&
	    !array_one_more(&l->ended, &l->ended_room, l->nended, sizeof(*l->ended)))
		l->ended[l->nended++] = index;
	if (member)
		forget(l, member);
	if (l->parallel && !alone_is_asked(l))
		leave_ended_out(l);
}

void launchers_finish(struct launchers *l)
{
	struct member *member, *next;

	HASH_ITER (hh, l->members, member, next)
		if (is_beside(l, member))
			capture_leave_out(l->job->capture, member->pid, LEFT_OUT_BESIDE);
}
