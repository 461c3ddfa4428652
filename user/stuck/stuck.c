/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck.c - two looks at a job and the calls that probes told of in between, put together.
 */
#include "stuck/stuck.h"

#include <sys/syscall.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/labels.h"
#include "stuck/private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/function_name.h"
#include "util/log.h"

#define FUTEX_WAIT_KINDS (1u << 0 | 1u << 6 | 1u << 9 | 1u << 13) /* WAIT, LOCK_PI, WAIT_BITSET, LOCK_PI2 */
#define RAN_ENOUGH                                                                                              \
	200000000 /* ns; who has looked for so long for what he waits for has had his turn: on a busy machine a \
		     message takes many */
#define LONG_ENOUGH 500000000 /* ns; a call that lasts longer is worth a word, however long was watched */

/* --- processes ---------------------------------------------------------- */

static int open_processes(struct stuck *stuck, const pid_t *pids, size_t count)
{
	stuck->processes = calloc(count + 1, sizeof(*stuck->processes));
	if (!stuck->processes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct stuck_process *p = &stuck->processes[stuck->nprocesses];

		if (!process_open_if_there(&p->process, pids[i]))
			stuck->nprocesses++;
	}
	return stuck->nprocesses ? 0 : -ESRCH;
}

/* Those that are looked at. */
static struct process **bare(const struct stuck *stuck, size_t *count)
{
	struct process **list = calloc(stuck->nprocesses + 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < stuck->nprocesses; i++)
		if (!stuck->processes[i].passed_over)
			list[(*count)++] = stuck->processes[i].process;
	return list;
}

static void find_ranks(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nprocesses; i++) {
		struct stuck_process *p = &stuck->processes[i];
		bool all_here;
		long ranks;

		p->rank = -1;
		p->model = plan_rank(stuck->names, p->process, &p->rank);
		if (!p->model) {
			p->model = plan_rank_by_thread(stuck->names, p->process);
			p->by_thread = p->model != NULL;
		}
		if (!p->model)
			continue;
		stuck->unit = p->model->unit ?: "rank";
		ranks = plan_ranks(stuck->names, p->model, p->process, &all_here);
		if (ranks > stuck->ranks) {
			stuck->ranks = ranks;
			stuck->all_here = all_here;
			stuck->all_in_one = p->by_thread;
		}
	}
}

static void open_spaces(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nprocesses; i++) {
		struct stuck_process *p = &stuck->processes[i];

		if (stack_space_new(&p->space, stuck->files, p->process))
			log_info("%d: its stacks cannot be unwound", p->process->pid);
	}
}

int stuck_open(struct stuck *stuck, const struct model_set *models, const char *wish, const pid_t *pids, size_t count)
{
	struct process **processes = NULL;
	int err = open_processes(stuck, pids, count);

	stuck->files = err ? NULL : stack_files_new();
	if (!err && !stuck->files)
		err = -ENOMEM;
	if (!err)
		err = plan_new(&stuck->names, models, wish);
	if (!err) {
		/* No probe will be put in: nothing need be known of instructions. */
		stuck->names->placing.at_entry = true;
		stuck->names->returns = RETURNS_ALL_NONE;
		processes = bare(stuck, &count);
		err = processes ? plan_add_processes(stuck->names, processes, count) : -ENOMEM;
	}
	free(processes);
	if (err)
		return err;
	open_spaces(stuck);
	find_ranks(stuck);
	return 0;
}

int stuck_open_lent(struct stuck *stuck, struct plan *names, const pid_t *pids, size_t count)
{
	int err = open_processes(stuck, pids, count);

	stuck->names = names;
	stuck->lent = true;
	if (err)
		return err;
	stuck->files = stack_files_new();
	if (!stuck->files)
		return -ENOMEM;
	open_spaces(stuck);
	find_ranks(stuck);
	return 0;
}

static void free_threads(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nthreads; i++) {
		struct stuck_thread *t = &stuck->threads[i];

		free(t->name);
		free(t->label);
		free(t->calls);
		free(t->frames);
		free(t->place);
		free(t->lock_name);
	}
	free(stuck->threads);
	stuck->threads = NULL;
	stuck->nthreads = stuck->room = 0;
}

void stuck_close(struct stuck *stuck)
{
	findings_free(&stuck->findings);
	looker_free(stuck->looker);
	free(stuck->holds);
	free(stuck->passing);
	free(stuck->is_probed);
	free(stuck->parties);
	for (size_t i = 0; stuck->rank_labels && stuck->rank_labels[i]; i++)
		free(stuck->rank_labels[i]);
	free(stuck->rank_labels);
	for (size_t i = 0; i < stuck->nmembers; i++)
		free(stuck->members[i]);
	free(stuck->members);
	free_threads(stuck);
	looks_free(&stuck->first);
	looks_free(&stuck->probed_look);
	looks_free(&stuck->last);
	scripts_free(stuck);
	for (size_t i = 0; i < stuck->nprocesses; i++) {
		stack_space_free(stuck->processes[i].space);
		process_close(stuck->processes[i].process);
	}
	free(stuck->processes);
	if (!stuck->lent)
		plan_free(stuck->names);
	stack_files_free(stuck->files);
}

/* Threads may have come, with stacks of their own, and libraries; and where return probes have been, the kernel's
 * trampoline. */
static void map_again(struct stuck *stuck, struct stuck_process *p)
{
	int error = process_alive(p->process) ? process_refresh(p->process) : -ESRCH;

	p->ended = error == -ESRCH; /* or is about to: its memory is gone */
	if (error)
		return;
	stack_space_free(p->space);
	p->space = NULL;
	if (stack_space_new(&p->space, stuck->files, p->process))
		p->space = NULL;
}

int take_looks(struct stuck *stuck, struct looks *looks)
{
	size_t count;
	struct process **processes = bare(stuck, &count);
	int err = processes ? looks_take(looks, stuck->looker, processes, count) : -ENOMEM;

	free(processes);
	return err;
}

int stuck_look(struct stuck *stuck, bool last)
{
	int err;

	for (size_t i = 0; last && i < stuck->nprocesses; i++)
		if (!stuck->processes[i].passed_over)
			map_again(stuck, &stuck->processes[i]);
	err = take_looks(stuck, last ? &stuck->last : &stuck->first);
	return err || !last ? err : scripts_read(stuck);
}

/* --- threads ------------------------------------------------------------ */

/* Started by a library, and in nothing but libraries. Where not all of its stack is known it may be the program's. */
static bool is_helper(const struct stuck_thread *t)
{
	if (!t->nframes || t->pid == t->tid || t->script)
		return false;
	for (size_t i = 0; i < t->nframes; i++)
		if (t->frames[i].guessed || !t->frames[i].image || t->frames[i].image->is_program)
			return false;
	return true;
}

/* The frames of a look; t is filled anew. 0 or -ENOMEM. */
static int unwind(const struct stuck *stuck, struct stuck_thread *t, const struct thread_look *look)
{
	static struct stack_frame frames[STACK_FRAMES];
	struct stack_space *space = stuck->processes[t->process].space;

	t->nframes = space ? stack_unwind(space, look, frames, STACK_FRAMES) : 0;
	t->frames = calloc(t->nframes + 1, sizeof(frames[0]));
	if (!t->frames)
		return -ENOMEM;
	memcpy(t->frames, frames, t->nframes * sizeof(frames[0]));
	return calls_on_stack(stuck, t, look);
}

/* --- what the probes tell ----------------------------------------------- */

static bool is_of(const struct stuck_open *open, const struct stuck_call *call)
{
	return !strcmp(call->function->symbol, open->symbol) || !strcmp(call->function->event, open->event);
}

/* The function that the probes call so. *meaning: which one of the site's. */
static const struct site *site_named(const struct stuck *stuck, const struct stuck_open *open, size_t *meaning)
{
	for (size_t i = 0; i < stuck->names->nsites; i++) {
		const struct site *site = &stuck->names->sites[i];

		for (size_t k = 0; k < site->nfunctions; k++) {
			if (strcmp(site->function[k].symbol, open->symbol) ||
			    strcmp(site->function[k].event, open->event))
				continue;
			*meaning = k;
			return site;
		}
	}
	return NULL;
}

static void take_open(struct stuck_call *call, const struct site *site, size_t meaning, const struct stuck_open *open)
{
	const struct capture *capture = &site->captures[meaning];

	call->function = &site->function[meaning];
	call->site = site;
	call->image = site->image;
	call->values = capture->values;
	call->nvalues = capture->nvalues;
	memcpy(call->words, open->words, sizeof(call->words));
	call->nwords = open->nwords;
	call->unread = open->unread | capture->program.return_slots;
	call->certain = ~0u;
	call->seen = true;
	call->start = open->start;
	if (open->caller)
		call->caller = open->caller;
}

/* The stack and the probes tell of the same calls in the same order. What the stack does not show goes behind. */
static void merge_opens(const struct stuck *stuck, struct stuck_thread *t, const struct stuck_open *opens, size_t count)
{
	size_t from = 0;

	for (size_t o = 0; o < count; o++) {
		size_t at = from, meaning;
		const struct site *site = site_named(stuck, &opens[o], &meaning);

		if (!site)
			continue;
		while (at < t->ncalls && !is_of(&opens[o], &t->calls[at]))
			at++;
		if (at == t->ncalls && opens[o].stacked)
			continue;
		if (at == t->ncalls && t->ncalls == STUCK_CALLS)
			return;
		if (at == t->ncalls) {
			/* Without a stack all is the program's own: the outermost call is what it waits in. */
			if (t->waits_in == t->ncalls)
				t->waits_in = t->nframes ? t->ncalls : 0;
			t->calls[t->ncalls++] = (struct stuck_call){ .frame = NO_FRAME };
		}
		take_open(&t->calls[at], site, meaning, &opens[o]);
		from = at + 1;
	}
}

/* --- since when --------------------------------------------------------- */

bool has_not_run(const struct thread_look *a, const struct thread_look *b)
{
	return a->switches == b->switches && a->ran == b->ran;
}

/* Was the call in progress at the first look, too? */
static bool was_there(const struct stuck_thread *before, const struct stuck_call *call)
{
	for (size_t i = 0; i < before->ncalls; i++)
		if (before->calls[i].function == call->function && before->calls[i].frame_end == call->frame_end &&
		    before->calls[i].caller == call->caller)
			return true;
	return false;
}

int stuck_probed(struct stuck *stuck, const struct plan *probes)
{
	stuck->probed = true;
	stuck->probed_since = clock_monotonic();
	stuck->is_probed = calloc(stuck->names->nsites + 1, sizeof(*stuck->is_probed));
	for (size_t i = 0; stuck->is_probed && i < probes->nsites; i++) {
		const struct site *probe = &probes->sites[i];

		for (size_t k = 0; k < stuck->names->nsites && probe->attached && probe->returns != RETURNS_NONE; k++) {
			const struct site *site = &stuck->names->sites[k];

			if (site->offset == probe->offset && site->image->inode == probe->image->inode &&
			    site->image->device == probe->image->device)
				stuck->is_probed[k] = true;
		}
	}
	return stuck->is_probed ? take_looks(stuck, &stuck->probed_look) : -ENOMEM;
}

bool would_be_told(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call)
{
	return stuck->is_probed && !is_passing(stuck, t, call) && call->site >= stuck->names->sites &&
	       call->site < stuck->names->sites + stuck->names->nsites &&
	       stuck->is_probed[call->site - stuck->names->sites];
}

/* Calls that the probes did not tell of began before those were in; whether before the first look, that tells, unless
 * the thread could not be caught then. */
static void date_calls(struct stuck *stuck, struct stuck_thread *t, const struct thread_look *first,
		       const struct thread_look *last)
{
	struct stuck_thread before = { .pid = t->pid, .tid = t->tid, .process = t->process };
	const struct thread_look *since = stuck->probed ? looks_find(&stuck->probed_look, t->pid, t->tid) : first;
	bool still = first && has_not_run(first, last);
	bool in_vain = since && (has_not_run(since, last) ? last->state == 'S'
							  : stuck->probed && last->ran - since->ran >= RAN_ENOUGH);

	/* Who has not run is in what he was in. */
	if (first && (still || !unwind(stuck, &before, first))) {
		for (size_t i = 0; i < t->ncalls; i++) {
			struct stuck_call *call = &t->calls[i];

			if (call->seen || (!still && (is_passing(stuck, t, call) || !was_there(&before, call))))
				continue;
			call->at_least = last->time - first->time;
			call->likely = !still && !stuck->probed;
		}
	}
	for (size_t i = 0; i < t->ncalls; i++) {
		struct stuck_call *call = &t->calls[i];

		call->in_vain = in_vain && !call->seen && (still || would_be_told(stuck, t, call));
		if (!call->seen && !call->at_least && would_be_told(stuck, t, call) && last->time > stuck->probed_since)
			call->at_least = last->time - stuck->probed_since;
		if (!call->seen && !call->likely && call->at_least < t->still)
			call->at_least = t->still;
	}
	free(before.frames);
	free(before.calls);
}

static bool is_stuck(const struct stuck *stuck, const struct stuck_thread *t)
{
	const struct stuck_call *call = t->waits_in < t->ncalls ? &t->calls[t->waits_in] : NULL;
	uint64_t enough = stuck->watched / 2 < LONG_ENOUGH ? stuck->watched / 2 : LONG_ENOUGH, now = clock_monotonic();

	if (!call)
		return false;
	return call->seen ? now - call->start >= enough : call->at_least && call->at_least >= enough;
}

/* --- one thread --------------------------------------------------------- */

static int resolve_thread(struct stuck *stuck, size_t process, struct thread_look *look, const struct stuck_open *opens,
			  size_t count)
{
	struct stuck_thread *t;
	int err;

	if (array_one_more(&stuck->threads, &stuck->room, stuck->nthreads, sizeof(*t)))
		return -ENOMEM;
	t = &stuck->threads[stuck->nthreads++];
	*t = (struct stuck_thread){
		.pid = look->pid, .tid = look->tid, .process = process, .state = look->state, .still = look->still
	};
	t->name = thread_name(look->pid, look->tid);
	t->script = script_of(stuck, look);
	if (look->system_call == SYS_futex && FUTEX_WAIT_KINDS >> (look->argument[1] & 15) & 1) {
		t->futex = look->argument[0];
		t->futex_value = look->argument[2];
	}
	err = unwind(stuck, t, look);
	if (err)
		return err;
	merge_opens(stuck, t, opens, count);
	if (stuck->bare)
		return 0;
	for (size_t i = 0; i < t->ncalls; i++)
		if (!t->calls[i].seen)
			find_words(stuck, t, look, &t->calls[i]);
	date_calls(stuck, t, looks_find(&stuck->first, look->pid, look->tid), look);
	t->is_helper = is_helper(t);
	t->stuck = is_stuck(stuck, t);
	find_place(stuck, t);
	return 0;
}

static int label_thread(const struct stuck *stuck, struct stuck_thread *t)
{
	const struct stuck_process *p = &stuck->processes[t->process];
	struct who who = {
		.unit = stuck->unit, .rank = p->rank, .name = t->name, .tid = t->tid
	}; /* pid 0: no thread stands for the rank unless it is alone */
	char label[LABEL_ROOM];
	size_t others = 0;

	for (size_t i = 0; i < stuck->nthreads; i++)
		others += stuck->threads[i].pid == t->pid && !stuck->threads[i].is_helper && &stuck->threads[i] != t;
	if (t->is_rank || (p->rank >= 0 && !others)) {
		who.rank = t->rank;
		label_of_process(&who, label, sizeof(label));
	} else {
		label_of_thread(&who, label, sizeof(label));
	}
	t->label = strdup(label);
	return t->label ? 0 : -ENOMEM;
}

struct stuck_thread *stuck_find(const struct stuck *stuck, pid_t pid, pid_t tid)
{
	for (size_t i = 0; i < stuck->nthreads; i++)
		if (stuck->threads[i].pid == pid && stuck->threads[i].tid == tid)
			return &stuck->threads[i];
	return NULL;
}

/* The opens of one thread: they stand together. */
static const struct stuck_open *opens_of(const struct stuck_open *opens, size_t count, const struct thread_look *look,
					 size_t *n)
{
	size_t first = 0;

	while (first < count && (opens[first].pid != look->pid || opens[first].tid != look->tid))
		first++;
	for (*n = 0; first + *n < count && opens[first + *n].pid == look->pid && opens[first + *n].tid == look->tid;
	     ++*n)
		;
	return opens + first;
}

int stuck_resolve(struct stuck *stuck, const struct stuck_open *opens, size_t count)
{
	size_t process = 0;
	int err = 0;

	for (size_t i = 0; !err && i < stuck->last.count; i++) {
		struct thread_look *look = &stuck->last.threads[i];
		const struct stuck_open *own;
		size_t n;

		if (look->state == 'Z')
			continue;
		for (process = 0; process < stuck->nprocesses && stuck->processes[process].process->pid != look->pid;)
			process++;
		if (process == stuck->nprocesses)
			continue;
		own = opens_of(opens, count, look, &n);
		err = resolve_thread(stuck, process, look, own, n);
	}
	find_thread_ranks(stuck);
	for (size_t i = 0; !err && i < stuck->nthreads; i++)
		err = label_thread(stuck, &stuck->threads[i]);
	return err;
}

void stuck_forget(struct stuck *stuck)
{
	free_threads(stuck);
	looks_free(&stuck->last);
	stuck->npassing = 0;
}

int stuck_look_anew(struct stuck *stuck)
{
	int err;

	stuck_forget(stuck);
	err = stuck_look(stuck, true);
	return err ?: stuck_resolve(stuck, NULL, 0);
}
