/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.c - a command that we start, and all that comes of it.
 *
 * Its children belong to it. The kernel side adds each fork to the targets by itself, and libraries of parallel
 * runtimes are probed for everybody who maps them (file scope; others pay one trap a call and no more). What everything
 * maps, libc above all, is never probed for everybody unless asked: there each process gets links of its own.
 *
 * So that nothing is missed, all of it is held (user/target/hold.c): a child stands still at its birth where it needs
 * links of its own, and after an exec, or when its linker maps a file that nobody has looked at, until the probes are
 * in. The rule for letting go: a process is held as long as something that it or its children do could be missed
 * without. Once it maps a parallel runtime that is probed for everybody, and no model that takes part needs links to
 * single processes, it runs on alone: its forks are followed by the kernel, and only an exec of something unknown, or
 * dlopen of it, would come late (follow.c tells). A launcher maps no runtime and stays held, though it is not observed
 * itself (launchers.c). Links that such a process has from an earlier life, as a shell say, are taken out then.
 *
 * A program that is made to trace others (it imports ptrace) can do so only when nobody holds them: when one appears,
 * all are let go. So can one that looks for leaks at its end: LeakSanitizer, a part of AddressSanitizer, traces its own
 * process then.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/command.h"
#include "observe/follow.h"
#include "observe/launchers.h"
#include "util/clock.h"
#include "util/keeper.h"
#include "util/log.h"

#define LIBRARIES_MOST 256
#define DRAIN_FOR_NS 20000000 /* between two answers */
#define HOLD_MOST                                                                                                      \
	60000000000ULL /* ns; a look takes a tenth of a second, but with many processes on a busy machine one may have \
			  to wait for its turn */

/* --- what it will map -------------------------------------------------- */

static bool is_of_parallel(void *context, const char *name)
{
	const struct job *job = context;

	for (size_t m = 0; m < models_count(job->models); m++) {
		const struct model *model = models_at(job->models, m);

		if (!model->alone && !model->in_program && model_matches_file(model, name, name))
			return true;
	}
	return false;
}

static void plan_known_libraries(struct job *job)
{
	struct library *libraries;
	size_t count;
	bool known;

	libraries_find(is_of_parallel, job, LIBRARIES_MOST, &libraries, &count);
	for (size_t i = 0; i < count; i++)
		plan_add_file(job->plan, libraries[i].path, &known);
	libraries_free(libraries, count);
}

/*
 * A command that is given another program to run (env, time, a launcher of ranks), or a script. What its children will
 * map is not known yet, so known libraries are probed beforehand.
 */
static bool is_launcher(char *const argv[])
{
	struct image *own;

	if (strchr(argv[0], '/') && !access(argv[0], R_OK)) {
		if (image_open_file(&own, argv[0]))
			return true; /* a script */
		image_close(own);
	}
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		struct image *image;
		bool program;

		if (access(argv[i], X_OK) || image_open_file(&image, argv[i]))
			continue;
		program = image->is_program;
		image_close(image);
		if (program)
			return true;
	}
	return false;
}

/* --- what held processes wait for -------------------------------------- */

/* Does it map a parallel runtime whose probes are for everybody? */
static bool maps_runtime(const struct job *job, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(job->plan, mapping->device, mapping->inode)
						    : NULL;

		for (size_t s = 0; image && s < job->plan->nsites; s++)
			if (job->plan->sites[s].image == image && !job->plan->sites[s].function->model->alone)
				return attach_for_everybody(job->plan, image, &job->attach);
	}
	return false;
}

/* A process that may load libraries while it runs: its linker is watched from the start. */
static void watch_loading(struct job *job, pid_t pid)
{
	const struct process *process = capture_process(job->capture, pid);

	for (size_t m = 0; process && m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(job->plan, mapping->device, mapping->inode)
						    : NULL;

		if (image && (image_imports(image, "dlopen") || image_imports(image, "dlmopen"))) {
			follow_linker(job->follow, pid, false);
			return;
		}
	}
}

/* Does something that it maps stop all its threads at its end, by tracing them? It makes the system call itself, and
 * imports nothing. */
static bool looks_for_leaks(const struct job *job, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(job->plan, mapping->device, mapping->inode)
						    : NULL;

		if (image && image_symbol(image, "__lsan_do_leak_check"))
			return true;
	}
	return false;
}

static enum hold_answer decide(struct job *job, pid_t pid)
{
	const struct process *process = capture_process(job->capture, pid);

	if (!process)
		return HOLD_ON;
	if (job->hold_children && (launchers_traces(job->launchers, pid) || looks_for_leaks(job, process))) {
		log_warn("%d (%s): may trace other processes, which it cannot while they are held: everything is let "
			 "go, so probes may "
			 "come late from here on",
			 pid, log_safe(process->name));
		job->hold_children = false;
		return HOLD_RELEASE_ALL;
	}
	if (capture_left_out(job->capture, pid) || !maps_runtime(job, process) ||
	    attach_needs_own(job->plan, &job->attach))
		return HOLD_ON;
	if (follow_take_calls(job->follow, pid)) {
		log_debug("%d: waits until its own probes are out", pid);
		attach_wait_removed(job->kernel); /* it stands still: what it calls from here on is none of theirs */
	}
	follow_linker(job->follow, pid, pid == job->command);
	return HOLD_RELEASE;
}

/* One look at a process that stands still. 0 or -errno. */
static int look(struct job *job, const struct hold_notice *notice)
{
	enum moment moment = notice->kind == HOLD_READY || notice->kind == HOLD_LOADED ? SETTLED : LOADING;
	bool added;
	int err;

	if (notice->other_thread)
		follow_take_own(job->follow, notice->pid);
	if (launchers_admit(job->launchers, notice->pid, moment) != ADMITTED) {
		follow_changed_files(job->follow);
		return 0;
	}
	err = follow_look(job->follow, notice->pid, &added);
	if (!err && launchers_looked(job->launchers, notice->pid, moment))
		err = follow_give_own(job->follow, notice->pid);
	if (notice->kind == HOLD_LOOK)
		follow_linker(job->follow, notice->pid, notice->pid == job->command);
	return err;
}

/* Has it been let go, as it was looked at too late? Then it was not seen since. */
static void note_impatient(struct job *job, const struct hold_notice *notice)
{
	uint64_t now = clock_monotonic(), left = notice->asked + HOLD_MOST;

	if (left < now && !hold_has(job->hold, notice->tid))
		capture_add_window(job->capture, notice->pid, NULL, left, now,
				   notice->kind == HOLD_BORN     ? "fork"
				   : notice->kind == HOLD_LOADED ? "dlopen"
								 : "exec");
}

/* *ready: the command itself is about to run. 0, or -errno that concerns the command itself before that. */
static int serve_one(struct job *job, const struct hold_notice *notice, bool *ready)
{
	enum hold_answer answer = HOLD_ON;
	int err = 0;

	switch (notice->kind) {
	case HOLD_ENDED:
		job->command_ended = *ready = true;
		job->command_status = notice->status;
		return 0;
	case HOLD_BORN:
		if (launchers_admit(job->launchers, notice->pid, AT_BIRTH) != ADMITTED)
			break;
		capture_add_child(job->capture, notice->pid, 0, clock_monotonic());
		capture_refresh_process(job->capture, notice->pid);
		launchers_looked(job->launchers, notice->pid, AT_BIRTH);
		follow_give_own(job->follow, notice->pid);
		watch_loading(job, notice->pid);
		break;
	case HOLD_LOOK:
		err = look(job, notice);
		break;
	case HOLD_LOADED:
		look(job, notice);
		break;
	case HOLD_READY:
		err = look(job, notice);
		capture_settle_process(job->capture, notice->pid);
		answer = job->hold_children ? decide(job, notice->pid) : HOLD_RELEASE;
		if (answer == HOLD_ON)
			watch_loading(job, notice->pid);
		break;
	}
	if (err && err != -ESRCH && !*ready)
		return err;
	*ready |= notice->kind == HOLD_READY;
	note_impatient(job, notice);
	hold_answer(job->hold, notice, answer);
	return 0;
}

/* Answers what held processes wait for. */
static void serve(struct job *job)
{
	struct hold_notice notice;
	bool ready = true;

	while (job->hold && hold_next(job->hold, &notice))
		serve_one(job, &notice, &ready);
}

void command_drain(struct job *job)
{
	do
		serve(job); /* first: they stand still, and not for as long as full rings take */
	while (!capture_drain_for(job->capture, DRAIN_FOR_NS));
}

/* Until the command is about to run. 0 or -errno. */
static int serve_until_ready(struct job *job)
{
	struct pollfd wait = { .fd = hold_fd(job->hold), .events = POLLIN };
	struct hold_notice notice;
	bool ready = false;
	int err = 0;

	while (!err && !ready) {
		while (!err && !ready && hold_next(job->hold, &notice))
			err = serve_one(job, &notice, &ready);
		if (!err && !ready)
			poll(&wait, 1, -1);
	}
	return err;
}

void command_let_go(struct job *job, bool wait)
{
	if (hold_end(job->hold, &job->command_status))
		job->command_ended = true;
	job->hold = NULL;
	if (job->command && !job->command_ended && hold_collect(job->command, wait, &job->command_status))
		job->command_ended = true;
}

/* It is still held before its first instruction: better not started than running unobserved behind an error. */
static void give_up_command(struct job *job)
{
	if (!hold_end_killing(job->hold, &job->command_status))
		hold_collect(job->command, true, &job->command_status);
	job->hold = NULL;
	job->command = 0;
}

void command_ask_to_end(const struct job *job)
{
	if (keeper_is_there())
		keeper_end(job->command);
	else
		kill(job->command, SIGTERM);
}

int job_start(struct job *job, char *const argv[], enum scope scope, uint64_t ring_bytes,
	      const struct text_list *written)
{
	struct caller caller;
	int err = caller_find(&caller);

	if (err)
		return err;
	err = launchers_new(&job->launchers, job);
	if (err)
		return err;
	launchers_begin(job->launchers);
	job->attach.file = scope == SCOPE_FILE || (scope == SCOPE_AUTO && translators_allow(EACH_BY_ITSELF));
	job->attach.file_alone = scope == SCOPE_FILE;
	/* Of children that nobody holds, it is better to know beforehand what they may map. */
	if (!job->hold_children && job->attach.file && is_launcher(argv))
		plan_known_libraries(job);
	err = job_load(job, ring_bytes) ?: job_prepare(job);
	if (!err)
		err = hold_start(&job->hold, &job->command, argv, &caller, job->hold_children, HOLD_MOST);
	caller_free(&caller);
	if (err) {
		job->command = 0;
		return err;
	}
	job->nobserved = 1;
	job_give_up_rights(job, written);
	err = kernel_add_target(job->kernel, job->command);
	if (!err)
		err = attach_sites(job->kernel, job->plan, 0, &job->attach);
	if (!err) {
		kernel_hold(job->kernel, job->hold_children ? getpid() : 0);
		job_begin(job);
		err = serve_until_ready(job);
	}
	if (err)
		give_up_command(job);
	return err;
}
