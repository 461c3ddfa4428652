/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - writes what was simulated: the same calls, at their new times.
 *
 * The definitions are those of the recording that was read; only where times stand in them they are others. Spans of a
 * thread keep their order and their numbers, for new times never go back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulate/parts.h"
#include "util/array.h"
#include "util/log.h"

static int write_span(struct sim *sim, struct span *span, uint64_t end)
{
	span->end = end > span->start ? end : span->start;
	return recording_span(sim->writer, span);
}

static void copy(struct span *to, const struct item *item)
{
	memcpy(to, item + 1, item->extra);
}

static int put_gap(struct sim *sim, const struct item *item, uint64_t time)
{
	struct gap gap;

	memcpy(&gap, item + 1, sizeof(gap));
	if (gap.before)
		gap.before = gap.before > gap.after ? time + (gap.before - gap.after) : time;
	gap.after = time;
	return recording_gap(sim->writer, &gap);
}

/* --- times in definitions -------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->old < y->old ? -1 : x->old > y->old;
}

static int add_mark(struct sim *sim, uint32_t process, uint64_t *time)
{
	struct sim_process *p;

	if (process >= sim->d->nprocesses || !*time)
		return 0;
	p = &sim->processes[process];
	if (array_one_more(&p->marks, &p->marks_room, p->nmarks, sizeof(*p->marks)))
		return -ENOMEM;
	p->marks[p->nmarks++] = (struct moment){ *time, time };
	return 0;
}

/* Copies an array of the definitions, to have other times in it. 0 or -ENOMEM. */
static int own(void *array, size_t count, size_t size)
{
	void **data = array, *copy = calloc(count + 1, size);

	if (!copy)
		return -ENOMEM;
	if (count)
		memcpy(copy, *data, count * size);
	*data = copy;
	return 0;
}

static int add_marks(struct sim *sim)
{
	struct definitions *after = &sim->after;
	int error = 0;

	for (size_t i = 0; i < after->ncontrols && !error; i++)
		error = add_mark(sim, after->controls[i].process, &after->controls[i].time);
	for (size_t i = 0; i < after->ncomms && !error; i++)
		error = add_mark(sim, after->comms[i].process, &after->comms[i].since);
	for (size_t i = 0; i < after->nwindows && !error; i++)
		error = add_mark(sim, after->windows[i].process, &after->windows[i].from)
				?: add_mark(sim, after->windows[i].process, &after->windows[i].to);
	for (size_t i = 0; i < after->nsteps && !error; i++) {
		uint32_t thread = after->steps[i].thread;

		error = add_mark(sim, thread < sim->d->nthreads ? sim->d->threads[thread].process : 0,
				 &after->steps[i].time);
	}
	for (size_t i = 0; i < sim->d->nprocesses; i++)
		if (sim->processes[i].nmarks)
			qsort(sim->processes[i].marks, sim->processes[i].nmarks, sizeof(struct moment), by_time);
	return error;
}

/* The first thread of a process has come from one recorded and new time to the next: so have the marks between. */
static void move_marks(struct sim *sim, uint32_t index, uint64_t old, uint64_t new)
{
	struct sim_process *process = &sim->processes[sim->d->threads[index].process];
	uint64_t from_old = process->mark_old, from_new = process->mark_new;

	if (process->first_thread != index)
		return;
	while (process->next_mark < process->nmarks && process->marks[process->next_mark].old <= old) {
		struct moment *mark = &process->marks[process->next_mark++];

		if (mark->old <= from_old)
			*mark->time = from_old ? from_new : mark->old;
		else if (old - from_old == new - from_new || old == from_old)
			*mark->time = from_new + (mark->old - from_old);
		else
			*mark->time = from_new + (uint64_t)((unsigned __int128)(mark->old - from_old) *
							    (new - from_new) / (old - from_old));
	}
	process->mark_old = old;
	process->mark_new = new;
}

static void move_last_marks(struct sim *sim)
{
	for (size_t i = 0; i < sim->d->nprocesses; i++) {
		struct sim_process *process = &sim->processes[i];

		for (; process->next_mark < process->nmarks; process->next_mark++) {
			struct moment *mark = &process->marks[process->next_mark];

			if (process->mark_old && mark->old > process->mark_old)
				*mark->time = process->mark_new + (mark->old - process->mark_old);
		}
	}
}

/* --- calls --------------------------------------------------------------------- */

int output_put_item(struct sim *sim, uint32_t index, const struct item *item, uint64_t time)
{
	struct lane_out *lane = &sim->threads[index].lanes[item->lane];
	struct span span;

	if (sim->processes[sim->d->threads[index].process].nmarks)
		move_marks(sim, index, item->time, time);
	switch (item->type) {
	case ITEM_START:
	case ITEM_BEGIN:
		if (array_one_more(&lane->open, &lane->room, lane->nopen, sizeof(*lane->open)))
			return -ENOMEM;
		copy(&lane->open[lane->nopen].span, item);
		lane->open[lane->nopen++].span.start = time;
		return 0;
	case ITEM_END:
	case ITEM_DONE:
		return lane->nopen ? write_span(sim, &lane->open[--lane->nopen].span, time) : 0;
	case ITEM_MOMENT:
		copy(&span, item);
		span.start = time;
		return write_span(sim, &span, time);
	case ITEM_GAP:
		return put_gap(sim, item, time);
	default:
		return 0;
	}
}

/* --- the whole -------------------------------------------------------------------- */

int output_open_after(struct sim *sim)
{
	const struct definitions *d = sim->d;
	int fd;

	sim->after = *d; /* shares all but the processes and the command */
	if (sim->options->output < 0)
		return 0;
	sim->after.run.command = NULL;
	if (own(&sim->after.processes, d->nprocesses, sizeof(*d->processes)) ||
	    own(&sim->after.controls, d->ncontrols, sizeof(*d->controls)) ||
	    own(&sim->after.comms, d->ncomms, sizeof(*d->comms)) ||
	    own(&sim->after.steps, d->nsteps, sizeof(*d->steps)) ||
	    own(&sim->after.windows, d->nwindows, sizeof(*d->windows)) || add_marks(sim))
		return -ENOMEM;
	if (asprintf(&sim->after.run.command, "%s | gaspbpf simulate --plugin %s", d->run.command ? d->run.command : "",
		     sim->options->plugin) < 0) {
		sim->after.run.command = NULL;
		return -ENOMEM;
	}
	fd = fcntl(sim->options->output, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
	if (fd < 0) {
		log_error("%s: cannot be written: %s", log_safe(sim->options->output_name), strerror(errno));
		return -errno;
	}
	return recording_create(&sim->writer, fd, sim->options->output_name, &sim->after);
}

/* The ends of processes and of the run, as their threads have them now. */
static void move_ends(struct sim *sim)
{
	uint64_t end = sim->after.run.start, recorded = end;

	for (size_t i = 0; i < sim->d->nthreads; i++) {
		const struct sim_thread *thread = &sim->threads[i];
		struct def_process *process = &sim->after.processes[sim->d->threads[i].process];

		if (!thread->begun)
			continue;
		if (thread->now.at[AS_TOLD] > end)
			end = thread->now.at[AS_TOLD];
		if (thread->old > recorded)
			recorded = thread->old;
		if (sim->d->threads[i].tid == process->pid && process->end) {
			uint64_t now = thread->now.at[AS_TOLD];

			process->end = thread->old > process->end ? now - (thread->old - process->end) : now;
		}
	}
	for (size_t i = 0; i < sim->d->nprocesses; i++) {
		if (sim->after.processes[i].end > end)
			end = sim->after.processes[i].end;
		if (sim->d->processes[i].end > recorded)
			recorded = sim->d->processes[i].end;
	}
	/* What happened after the last of them stays as long as it was. */
	end += sim->d->run.end - recorded;
	if (end < sim->after.run.start)
		end = sim->after.run.start;
	sim->after.run.end_realtime = sim->after.run.start_realtime + (end - sim->after.run.start);
	sim->after.run.end = end;
}

int output_finish(struct sim *sim)
{
	int error = 0;

	if (sim->writer) {
		if (!sim->error) {
			move_ends(sim);
			move_last_marks(sim);
		}
		error = recording_finish(sim->writer);
		sim->writer = NULL;
	}
	if (sim->options->output >= 0 && sim->d) {
		struct {
			void *own;
			const void *shared;
		} arrays[] = {
			{ sim->after.processes, sim->d->processes },
			{ sim->after.controls, sim->d->controls },
			{ sim->after.comms, sim->d->comms },
			{ sim->after.steps, sim->d->steps },
			{ sim->after.run.command, sim->d->run.command },
			{ sim->after.windows, sim->d->windows },
		};

		for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
			if (arrays[i].own != arrays[i].shared)
				free(arrays[i].own);
	}
	return error;
}
