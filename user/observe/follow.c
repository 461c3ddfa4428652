/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * follow.c - children, other programs, libraries loaded later, files that change.
 *
 * Who sees what, from when on:
 *
 *   fork      The kernel side makes each child of an observed process a target before it runs (bpf/process.bpf.c).
 * Where probes are for everybody who maps the file, nothing is missed. Where each process has links of its own, the
 * child of a held process stands still until it has them (command.c); any other child gets them when the fork is told,
 * and until then it is not seen. exec      Links go with the process, and probes with the file: a program that maps
 * nothing unknown is seen from its first call. What is unknown is looked for while the process is held, or else when
 * the exec is told. If not the first thread called exec, links are void and are made anew. dlopen    Known files are
 * armed by the kernel. For others, the linker's own sign to debuggers (_dl_debug_state) is probed in each process, and
 * its mappings are looked through when it is given. A static program and musl have no such sign. A process that lives
 * for less than YOUNG_NS has no probe there unless it was looked at for other reasons; nor have children before
 * Linux 6.6.
 *
 * Every time that probes come late, the time from the event (by the kernel's clock) to the moment they are in is put to
 * account: how often, the longest, the sum, told at the end; and each such window with its process and file, in the
 * recording.
 *
 * Processes are looked at by number, which may belong to another one by then: what started later than the event is
 * another process, and links to one that has ended meanwhile are removed at once.
 *
 * A file that is written over while it has probes loses them (files.c); it is new to the next look.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/cost.h"
#include "observe/files.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/launchers.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define YOUNG_NS 20000000ULL /* processes that live shorter get no probe on their linker */
#define YOUNG_MOST 4096
#define LINKERS_OF_PERF 4 /* processes whose linkers are probed where each probe is a perf event */

/* An event that calls for a look. */
struct pending {
	pid_t pid;
	uint64_t since; /* ns; the first of them */
	bool other_thread;
	bool young;        /* only for the linker's sake, and not before it has lived a while */
	bool held;         /* it gets all it needs when it asks (command.c) */
	const char *after; /* what it did: "fork" */
	bool settled;      /* all that it needs is mapped by then */
};

/* A function that a region was begun with, which has no probe yet. */
struct met_function {
	pid_t pid;
	const struct model *model;
	uint64_t address;
};

struct follow {
	struct job *job;
	struct met_function *met;
	size_t nmet, met_room;
	struct pending *pending;
	size_t npending, room;
	struct file_watch *files;
	struct follow_account account;
	unsigned own_said; /* private to cost_say_own() */
};

/* A file was written over. */
static void drop_changed(void *context, struct image *image)
{
	struct follow *f = context;

	attach_forget_image(f->job->kernel, image);
	capture_forget_image(f->job->capture, image);
}

int follow_new(struct follow **result, struct job *job)
{
	struct follow *f = calloc(1, sizeof(*f));
	int err;

	*result = f;
	if (!f)
		return -ENOMEM;
	f->job = job;
	err = file_watch_new(&f->files, &(struct file_events){ .changed = drop_changed, .context = f });
	if (err == -ENOMEM)
		return err;
	if (err)
		log_warn("files that change cannot be watched: %s: see the limits of inotify (sysctl fs.inotify): do "
			 "not write over libraries while they have probes",
			 strerror(-err));
	return 0;
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	file_watch_free(f->files);
	free(f->pending);
	free(f->met);
	free(f);
}

struct follow_account follow_account(const struct follow *f)
{
	return f->account;
}

int follow_fd(const struct follow *f)
{
	return file_watch_fd(f->files);
}

void follow_changed_files(struct follow *f)
{
	file_watch_read(f->files);
}

/* --- links of single processes ----------------------------------------- */

static bool has_own(const struct job *job, pid_t pid)
{
	for (size_t i = 0; i < job->npids; i++)
		if (job->pids[i] == pid)
			return true;
	return false;
}

static int list_own(struct job *job, pid_t pid)
{
	pid_t *pids = realloc(job->pids, (job->npids + 1) * sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	pids[job->npids++] = pid;
	job->pids = pids;
	job->attach.pids = pids;
	job->attach.npids = job->npids;
	return 0;
}

int follow_give_own(struct follow *f, pid_t pid)
{
	struct job *job = f->job;
	int err;

	if (has_own(job, pid) || !attach_needs_own(job->plan, &job->attach))
		return 0;
	err = attach_process(job->kernel, job->plan, pid, &job->attach);
	if (!err)
		err = list_own(job, pid);
	if (err)
		attach_remove_process(job->kernel, pid);
	if (!err)
		cost_say_own(&f->own_said, job->kernel, job->plan);
	return err;
}

static void unlist_own(struct job *job, pid_t pid)
{
	for (size_t i = 0; i < job->npids; i++) {
		if (job->pids[i] != pid)
			continue;
		job->pids[i] = job->pids[--job->npids];
		job->attach.npids = job->npids;
		break;
	}
}

void follow_take_own(struct follow *f, pid_t pid)
{
	attach_remove_process(f->job->kernel, pid);
	unlist_own(f->job, pid);
}

bool follow_take_calls(struct follow *f, pid_t pid)
{
	unlist_own(f->job, pid);
	return attach_remove_calls(f->job->kernel, pid);
}

bool follow_linker(struct follow *f, pid_t pid, bool at_start)
{
	struct process *process = capture_process(f->job->capture, pid);

	/*
	 * Where a probe takes long to remove, and others wait for that: short-lived children would be held up for it,
	 * and leaving many processes would take long for the sake of something rare.
	 */
	if (kernel_rung(f->job->kernel) == RUNG_PERF && (!at_start || f->job->npids > LINKERS_OF_PERF))
		return false;
	return process && !capture_left_out(f->job->capture, pid) &&
	       attach_linker(f->job->kernel, f->job->plan, process) > 0;
}

/* --- looking ----------------------------------------------------------- */

/* Is everything that it maps in the plan, because another process has mapped it before? */
static bool maps_only_known(const struct plan *plan, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];

		if (mapping->executable && mapping->inode && !plan_image(plan, mapping->device, mapping->inode))
			return false;
	}
	return true;
}

static bool is_held(const struct job *job, pid_t pid)
{
	return job->hold && hold_has(job->hold, pid);
}

/*
 * Models that join alone do so until a process of the job maps a parallel runtime, which it may do late (Python's
 * import of mpi4py). Then their probes come out of all of its processes, at once, and everybody is told until when they
 * were seen.
 */
static void withdraw(struct follow *f, pid_t pid, const struct process *process)
{
	struct job *job = f->job;
	const struct image *runtime = plan_runtime_of(job->plan, process);
	uint64_t since;

	if (attach_withdraw(job->kernel, job->plan, &since))
		capture_withdraw(job->capture, since, pid, runtime);
}

int follow_look(struct follow *f, pid_t pid, bool *added)
{
	struct job *job = f->job;
	uint32_t first = job->plan->nsites;
	struct process *process;
	int err;

	*added = false;
	follow_changed_files(f);
	kernel_look(job->kernel, pid);
	err = capture_refresh_process(job->capture, pid);
	process = err ? NULL : capture_process(job->capture, pid);
	if (!process)
		return err ?: -ESRCH;
	/* Else the plan may have files that nobody has mapped so far (command.c): that one does is news. */
	if (job->hold && job->hold_children && maps_only_known(job->plan, process)) {
		kernel_looked(job->kernel, pid, is_held(job, pid));
		return 0;
	}
	err = plan_add_processes(job->plan, &process, 1);
	if (!err)
		withdraw(f, pid, process);
	if (!err)
		err = file_watch_take(f->files, job->plan);
	if (!err && !plan_has_new(job->plan, first))
		kernel_looked(job->kernel, pid, is_held(job, pid));
	if (err || !plan_has_new(job->plan, first))
		return err;
	*added = true;
	err = capture_define_probes(job->capture);
	if (!err)
		err = attach_sites(job->kernel, job->plan, first, &job->attach);
	if (err)
		return err;
	kernel_looked(job->kernel, pid, is_held(job, pid));
	capture_describe_process(job->capture, pid);
	return 0;
}

/* Is this the process that the event was about, or one that has its number since? */
static bool is_same(const struct process *process, uint64_t event)
{
	return process_started_ns(process) <= event;
}

/* Between these times it was not seen. image: what it may have called; NULL: not known. */
static void note_window(struct follow *f, const struct pending *event, const struct image *image, uint64_t to)
{
	if (to > event->since)
		capture_add_window(f->job->capture, event->pid, image, event->since, to, event->after);
}

/*
 * What it maps had its probes only after the event, whoever they were put in for: each such file is a blind window.
 * of_old: also where they went in before the look that began at `look`. own: it has got links of its own just now.
 */
static void note_late(struct follow *f, const struct pending *event, const struct process *process, uint64_t look,
		      bool of_old, bool own)
{
	struct plan *plan = f->job->plan;
	uint64_t now = clock_monotonic(), after = of_old ? event->since : look, last = 0;

	for (size_t i = 0; i < plan->nimages; i++) {
		const struct image *image = plan->images[i];
		uint64_t to = image->probed_ns > after ? image->probed_ns : 0;

		if ((!to && !own) || !image->probed_ns || !image->inode || !process_maps(process, image))
			continue;
		if (own && !attach_for_everybody(plan, image, &f->job->attach))
			to = now;
		if (!to)
			continue;
		note_window(f, event, image, to);
		if (to > last)
			last = to;
	}
	if (last <= event->since)
		return;
	f->account.late++;
	f->account.total += last - event->since;
	if (last - event->since > f->account.longest)
		f->account.longest = last - event->since;
}

/* It has ended before anybody has looked at it. */
static void note_unseen(struct follow *f, const struct pending *event)
{
	f->account.unseen++;
	note_window(f, event, NULL, clock_monotonic());
}

static void call_for_look(struct follow *f, struct pending event);

/* Makes good what the event changed while nobody stood still for it. */
static void look_late(struct follow *f, const struct pending *event)
{
	struct job *job = f->job;
	bool added = false, known, own = !has_own(job, event->pid) && !event->held;
	uint64_t look = clock_monotonic();
	struct process *process;
	enum moment moment = event->settled ? SETTLED : LOADING;

	switch (launchers_admit(job->launchers, event->pid, moment)) {
	case ADMITTED:
		break;
	case ADMITTED_LATER:
		call_for_look(f, (struct pending){ .pid = event->pid,
						   .since = event->since,
						   .after = event->after,
						   .young = true,
						   .settled = true });
		return;
	case NOT_ADMITTED:
		if (capture_left_out(job->capture, event->pid))
			return;
		break; /* it has ended */
	}

	if (event->other_thread) {
		follow_take_own(f, event->pid);
		own = true;
	}
	known = !follow_look(f, event->pid, &added);
	process = capture_process(job->capture, event->pid);
	known = known && process && is_same(process, event->since);
	own = launchers_looked(job->launchers, event->pid, moment) && own && attach_needs_own(job->plan, &job->attach);
	if (known && own)
		own = !follow_give_own(f, event->pid);
	if (!known || !process_alive(process)) {
		follow_take_own(f, event->pid); /* nobody's, or a stranger's */
		if (!event->young)
			note_unseen(f, event);
	} else {
		note_late(f, event, process, look, !is_held(job, event->pid), own);
	}
}

/* --- events ------------------------------------------------------------ */

static struct pending *pending_of(struct follow *f, pid_t pid)
{
	for (size_t i = 0; i < f->npending; i++)
		if (f->pending[i].pid == pid)
			return &f->pending[i];
	return NULL;
}

static void call_for_look(struct follow *f, struct pending event)
{
	struct pending *known = pending_of(f, event.pid);

	if (known) {
		known->other_thread |= event.other_thread;
		if (known->young && !event.young) {
			known->since = event.since;
			known->after = event.after;
		}
		known->young &= event.young;
		known->held &= event.held;
		known->settled |= event.settled;
		return;
	}
	if (event.young && f->npending >= YOUNG_MOST)
		return;
	if (array_one_more(&f->pending, &f->room, f->npending, sizeof(*f->pending)))
		return;
	f->pending[f->npending++] = event;
}

/* It stands still, or stood still when it was looked at after this event: nothing of it is late. */
static bool was_held(const struct job *job, pid_t pid, uint64_t time)
{
	return is_held(job, pid) || capture_looked_since(job->capture, pid, time);
}

/* A process of which nothing is known belongs to the job, or may do so. False: it has ended. */
static bool meet(struct follow *f, pid_t pid)
{
	uint64_t since = f->job->definitions.run.start, started;
	struct process *process;
	pid_t parent;

	if (process_open_if_there(&process, pid))
		return false;
	started = process_started_ns(process);
	if (since < started)
		since = started;
	parent = process->parent;
	process_close(process);
	capture_add_child(f->job->capture, pid, parent, since);
	call_for_look(f, (struct pending){ .pid = pid, .since = since, .after = "start" });
	return true;
}

void follow_missed(struct follow *f, pid_t pid)
{
	if (!capture_knows(f->job->capture, pid) && meet(f, pid))
		f->account.processes++;
}

/* Is it a launcher, or a child of one that has not become anything yet? */
static bool is_launchers(struct follow *f, pid_t pid)
{
	const char *why = capture_left_out(f->job->capture, pid);

	if (!launchers_active(f->job->launchers))
		return false;
	return why ? !strcmp(why, LEFT_OUT_LAUNCHER) : !capture_knows(f->job->capture, pid);
}

static void on_fork(void *context, pid_t pid, pid_t parent, uint64_t time, bool born_held)
{
	struct follow *f = context;
	bool held = born_held || was_held(f->job, pid, time);

	f->account.processes++;
	if (is_launchers(f, parent))
		return; /* until it becomes another program it is what its parent is */
	capture_add_child(f->job->capture, pid, parent, time);
	call_for_look(f,
		      (struct pending){
			      .pid = pid,
			      .since = time,
			      .held = held,
			      .after = "fork",
			      .young = held || has_own(f->job, pid) || !attach_needs_own(f->job->plan, &f->job->attach),
		      });
}

static void on_exec(void *context, pid_t pid, bool other_thread, uint64_t time)
{
	struct follow *f = context;
	bool held = was_held(f->job, pid, time);

	translators_execed(f->job, pid);
	if (launchers_active(f->job->launchers) && !capture_knows(f->job->capture, pid)) {
		if (!held)
			f->account.unseen += !meet(f, pid);
		return; /* a launcher's child: it was not known until now */
	}
	call_for_look(f, (struct pending){
				 .pid = pid,
				 .since = time,
				 .after = "exec",
				 .young = held,
				 .held = held,
				 .other_thread = other_thread && !held,
			 });
}

static void on_stranger(void *context, pid_t pid)
{
	struct follow *f = context;

	translators_execed(f->job, pid);
}

static void on_mapped(void *context, pid_t pid, uint64_t time, bool held)
{
	if (!held) /* else it is looked at before it goes on (command.c) */
		call_for_look(context,
			      (struct pending){ .pid = pid, .since = time, .after = "dlopen", .settled = true });
}

static void on_pointed(void *context, pid_t pid, const char *model, uint64_t address)
{
	struct follow *f = context;
	const struct model *found = models_find(f->job->models, model);

	if (found && !array_one_more(&f->met, &f->met_room, f->nmet, sizeof(*f->met)))
		f->met[f->nmet++] = (struct met_function){ pid, found, address };
}

static void on_end(void *context, pid_t pid, int exit_code)
{
	struct follow *f = context;
	struct pending *pending = pending_of(f, pid);

	launchers_ended(f->job->launchers, pid);
	follow_take_own(f, pid);
	if (pending && !pending->young && !pending->held)
		note_unseen(f, pending);
	if (pending)
		*pending = f->pending[--f->npending];
	if (f->job->user.ended)
		f->job->user.ended(f->job->user.context, pid, exit_code);
}

struct capture_events follow_events(struct follow *f)
{
	return (struct capture_events){
		.forked = on_fork,
		.execed = on_exec,
		.mapped = on_mapped,
		.stranger = on_stranger,
		.exited = on_end,
		.pointed = on_pointed,
		.context = f,
	};
}

/* Its shares of a region are seen from the next one on. That they are not is no error: the report says so. */
static void add_met(struct follow *f)
{
	struct job *job = f->job;
	uint32_t first = job->plan->nsites;
	int err = 0;

	for (size_t i = 0; i < f->nmet && !err; i++) {
		struct process *process = capture_process(job->capture, f->met[i].pid);

		if (process)
			err = plan_add_pointed(job->plan, process, f->met[i].model, f->met[i].address);
	}
	f->nmet = 0;
	if (!plan_has_new(job->plan, first))
		return;
	if (!capture_define_probes(job->capture))
		attach_sites(job->kernel, job->plan, first, &job->attach);
}

void follow_catch_up(struct follow *f)
{
	uint64_t now = clock_monotonic();

	translators_check(f->job);
	if (f->nmet)
		add_met(f);
	for (size_t i = 0; i < f->npending;) {
		struct pending event = f->pending[i];

		if (event.young && now - event.since < YOUNG_NS) {
			i++;
			continue;
		}
		f->pending[i] = f->pending[--f->npending];
		event.held &= f->job->hold_children;
		if (!event.held)
			look_late(f, &event);
		/* From here on its linker tells of more; what came before that, a second look finds. */
		if (!follow_linker(f, event.pid, false))
			continue;
		event.other_thread = false;
		event.young = true;
		look_late(f, &event);
	}
}
