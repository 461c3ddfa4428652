/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.c - the simulation itself: each thread as far as all it depends on is reached.
 *
 * Events are fed chunk by chunk into a row of items for each thread; then the threads run. A thread goes on until it
 * comes to an operation whose partners have not come to where it needs them, and is woken when they have. Whatever an
 * operation waits for began, in the recording, before the operation ended; so there is always somebody who can go on,
 * but for clocks that differ, calls that were lost, and partners that were not recorded. Where nobody can, the one
 * whose operation ended first in the recording goes on as recorded, and that is counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/parts.h"
#include "simulate/teams.h"
#include "util/array.h"
#include "util/log.h"

#define QUEUE_MOST (256u << 20) /* bytes of items that wait, before somebody has to go on */

void schedule_wake(struct sim *sim, uint32_t index)
{
	struct sim_thread *thread = &sim->threads[index];

	if (thread->queued)
		return;
	thread->queued = true;
	sim->ready[sim->nready++] = index; /* there is room for all */
}

/* --- who goes on where nobody can ------------------------------------------------- */

struct waiting_thread {
	uint64_t end; /* recorded: of the operation in which it waits */
	uint32_t thread;
};

static const struct item *next_item(const struct sim_thread *thread)
{
	const struct row *row = &thread->row;

	return row->head < row->tail ? (const struct item *)(row->data + row->head) : NULL;
}

/* Does it wait for others? *end: until when, as recorded, at the latest. */
static bool waits(const struct sim_thread *thread, uint64_t *end)
{
	const struct item *item = next_item(thread);

	if (!item || (!thread->for_team && !(thread->at && item->type == ITEM_BEGIN)))
		return false;
	*end = thread->for_team ? item->time : thread->at->end;
	return true;
}

static bool is_before(const struct waiting_thread *a, const struct waiting_thread *b)
{
	return a->end != b->end ? a->end < b->end : a->thread < b->thread;
}

static void put_in_heap(struct sim *sim, struct waiting_thread one)
{
	size_t at = sim->nwaiting++;

	for (; at && is_before(&one, &sim->waiting[(at - 1) / 2]); at = (at - 1) / 2)
		sim->waiting[at] = sim->waiting[(at - 1) / 2];
	sim->waiting[at] = one;
}

static struct waiting_thread take_first(struct sim *sim)
{
	struct waiting_thread first = sim->waiting[0], last = sim->waiting[--sim->nwaiting];
	size_t at = 0, below;

	while ((below = 2 * at + 1) < sim->nwaiting) {
		if (below + 1 < sim->nwaiting && is_before(&sim->waiting[below + 1], &sim->waiting[below]))
			below++;
		if (!is_before(&sim->waiting[below], &last))
			break;
		sim->waiting[at] = sim->waiting[below];
		at = below;
	}
	sim->waiting[at] = last;
	return first;
}

/* The thread has come to where it waits, while somebody has to go on. */
static int note_waiting(struct sim *sim, uint32_t index)
{
	uint64_t end;

	if (!waits(&sim->threads[index], &end))
		return 0;
	if (array_one_more(&sim->waiting, &sim->waiting_room, sim->nwaiting, sizeof(*sim->waiting)))
		return -ENOMEM;
	put_in_heap(sim, (struct waiting_thread){ end, index });
	return 0;
}

/* --- a thread -------------------------------------------------------------------- */

/* The program's own work up to this recorded time. */
static int work_until(struct sim *sim, uint32_t index, uint64_t time)
{
	struct sim_thread *thread = &sim->threads[index];
	bool traced = thread->begun && !thread->lossy_gap;
	uint64_t duration;
	int error;

	if (!thread->begun) {
		thread->begun = true;
		thread->old = thread->begin;
		for (unsigned s = 0; s < SCENARIOS; s++)
			thread->now.at[s] = thread->begin;
	}
	if (time <= thread->old)
		return 0;
	duration = time - thread->old;
	error = ask_work(sim, thread, index, duration, traced);
	if (!error && sim->teller)
		error = relations_work(sim, index, thread->old, time,
				       thread->nnest ? thread->nest[thread->nnest - 1] : NO_INDEX, traced);
	thread->old = time;
	thread->lossy_gap = false;
	return error;
}

static int nest(struct sim *sim, struct sim_thread *thread, const struct span *span)
{
	size_t room = thread->nest_room, others;
	int64_t number;

	if (array_one_more(&thread->nest, &thread->nest_room, thread->nnest, sizeof(*thread->nest)))
		return -ENOMEM;
	others = room;
	if (thread->nest_room > room || !thread->tasks) {
		if (array_reach(&thread->tasks, &room, thread->nest_room, sizeof(*thread->tasks)) ||
		    array_reach(&thread->workers, &others, thread->nest_room, sizeof(*thread->workers)))
			return -ENOMEM;
	}
	thread->nest[thread->nnest] = span->probe;
	thread->tasks[thread->nnest] = fact_number(&sim->facts[span->probe], WANT_TASK, span, &number)
					       ? (uint64_t)number
					       : 0;
	thread->workers[thread->nnest] = fact_number(&sim->facts[span->probe], WANT_WORKER, span, &number) ? number
													   : -1;
	thread->nnest++;
	return 0;
}

/* A time inside of the operation that the thread is in: in proportion. */
static uint64_t inside(const struct op *op, uint64_t time)
{
	uint64_t old = op->end - op->start, new = op->new_end.at[AS_TOLD] - op->new_start.at[AS_TOLD];

	if (time <= op->start)
		return op->new_start.at[AS_TOLD];
	if (time >= op->end)
		return op->new_end.at[AS_TOLD];
	if (old == new)
		return op->new_start.at[AS_TOLD] + (time - op->start);
	return op->new_start.at[AS_TOLD] + (uint64_t)((unsigned __int128)(time - op->start) * new / old);
}

/* Goes on with the operation at the head of the row. 1: it has to wait. */
static int enter(struct sim *sim, uint32_t index, const struct item *item)
{
	struct sim_thread *thread = &sim->threads[index];
	struct op *op = item->op;
	int error = 0;

	if (!op->reached) {
		error = work_until(sim, index, item->time);
		if (!error && sim->teller)
			error = relations_enter(sim, op);
		thread->at = op;
		op->new_start = thread->now;
		if (!error)
			error = op_reach(sim, op);
	}
	if (error)
		return error;
	if (!op_is_ready(sim, op))
		return 1;
	return op_end(sim, op);
}

/* A whole call that has nothing to do with others. */
static int pass_alone(struct sim *sim, uint32_t index, const struct item *item)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct alone *alone = (const struct alone *)(item + 1);
	const struct facts *facts = &sim->facts[alone->probe];
	struct op op = { .kind = KIND_ALONE,
			 .thread = index,
			 .func = facts->func,
			 .probe = alone->probe,
			 .site = alone->site,
			 .start = item->time,
			 .end = alone->end,
			 .sent = -1,
			 .received = -1,
			 .target = -1,
			 .facts = facts };
	int error = work_until(sim, index, item->time);

	if (!error && sim->teller)
		error = relations_enter(sim, &op);
	op.new_start = thread->now;
	if (!error)
		error = ask_alone(sim, &op);
	if (error)
		return error;
	thread->now = op.new_end;
	thread->old = op.end > thread->old ? op.end : thread->old;
	return sim->teller ? relations_op(sim, &op) : 0;
}

/* The start of something that goes on between calls, too. */
static int begin_nest(struct sim *sim, uint32_t index, const struct item *item)
{
	struct sim_thread *thread = &sim->threads[index];
	int error = nest(sim, thread, (const struct span *)(item + 1));

	if (error || item->type == ITEM_START)
		return error;
	return item->type == ITEM_TEAM ? teams_begin(sim, index, item->team)
				       : teams_begin_share(sim, index, item->share);
}

static int end_nest(struct sim *sim, uint32_t index, const struct item *item)
{
	struct sim_thread *thread = &sim->threads[index];
	int error = thread->nframes ? teams_left(sim, index, item->time) : 0;

	if (thread->nnest)
		thread->nnest--;
	return error;
}

/* Between operations: a moment. 1: the thread has to wait; other: -errno. */
static int step_between(struct sim *sim, uint32_t index, const struct item *item)
{
	struct sim_thread *thread = &sim->threads[index];
	int error = 0;

	if (item->type == ITEM_SHARE)
		error = teams_come(sim, index, item->share);
	else if (item->type == ITEM_END && thread->nframes)
		error = teams_end(sim, index, item->time);
	if (!error)
		error = work_until(sim, index, item->time);
	if (error)
		return error;
	switch (item->type) {
	case ITEM_START:
	case ITEM_TEAM:
	case ITEM_SHARE:
		return begin_nest(sim, index, item);
	case ITEM_END:
		return end_nest(sim, index, item);
	case ITEM_GAP:
	case ITEM_OFF:
		thread->lossy_gap = true;
		return 0;
	default:
		return 0;
	}
}

/* One item. 1: the thread has to wait; other: -errno. */
static int step(struct sim *sim, uint32_t index, const struct item *item)
{
	struct sim_thread *thread = &sim->threads[index];
	uint64_t time;
	int error = 0;

	switch (item->type) {
	case ITEM_BEGIN:
		error = enter(sim, index, item);
		return error ? error : output_item(sim, index, item, item->op->new_start.at[AS_TOLD]);
	case ITEM_DONE:
		time = item->op->new_end.at[AS_TOLD];
		thread->now = item->op->new_end;
		thread->old = item->time > thread->old ? item->time : thread->old;
		thread->at = NULL;
		error = sim->teller ? relations_op(sim, item->op) : 0;
		if (!error)
			error = output_item(sim, index, item, time);
		op_free(sim, item->op);
		return error;
	case ITEM_ALONE:
		return pass_alone(sim, index, item);
	default:
		break;
	}
	if (thread->at) {
		time = inside(thread->at, item->time);
	} else {
		error = step_between(sim, index, item);
		time = thread->now.at[AS_TOLD];
	}
	return error ? error : output_item(sim, index, item, time);
}

/* The operation that is next in turn after this item. */
static inline __attribute__((always_inline)) void fetch_next(const struct row *row)
{
	const struct item *item = (const struct item *)(row->data + row->head);
	size_t next = row->head + sizeof(*item) + item->extra;

	if (next < row->tail && ((const struct item *)(row->data + next))->type == ITEM_BEGIN)
		op_fetch(((const struct item *)(row->data + next))->op);
}

static int run_thread(struct sim *sim, uint32_t index)
{
	struct row *row = &sim->threads[index].row;
	int error = 0;

	while (row->head < row->tail && !error) {
		fetch_next(row);
		error = step(sim, index, (const struct item *)(row->data + row->head));
		if (error != 1)
			row_pop(sim, row);
	}
	if (error == 1)
		return sim->giving_way ? note_waiting(sim, index) : 0;
	return error;
}

/* --- all threads ------------------------------------------------------------------- */

static int run_ready(struct sim *sim)
{
	int error = sim->error;

	while (sim->nready && !error) {
		uint32_t index = sim->ready[--sim->nready];

		sim->threads[index].queued = false;
		error = run_thread(sim, index);
		if (!error)
			error = sim->error;
	}
	return error;
}

/* The thread goes on as recorded. */
static void give_up(struct sim *sim, uint32_t index)
{
	struct sim_thread *thread = &sim->threads[index];
	const struct item *item = next_item(thread);

	sim->counts.broken++;
	if (thread->for_team)
		teams_give_up(sim, index, item->type == ITEM_SHARE ? item->share : NULL);
	else
		op_give_up(sim, thread->at);
	schedule_wake(sim, index);
}

/* From now on those that wait are noted; all are looked at once. */
static int begin_giving_way(struct sim *sim)
{
	int error = 0;

	sim->nwaiting = 0;
	sim->giving_way = true;
	for (size_t i = 0; i < sim->d->nthreads && !error; i++)
		error = note_waiting(sim, i);
	return error;
}

/* The one that waits in the operation that ended first. False: nobody waits. */
static bool give_way(struct sim *sim)
{
	if (!sim->giving_way && !sim->error)
		sim->error = begin_giving_way(sim);
	while (sim->nwaiting && !sim->error) {
		struct waiting_thread first = take_first(sim);
		uint64_t end;

		if (!waits(&sim->threads[first.thread], &end) || end != first.end)
			continue; /* it has gone on meanwhile */
		give_up(sim, first.thread);
		return true;
	}
	return false;
}

/* Those that wait for a lock look again at what has been fed of who had it before. */
static void wake_for_locks(struct sim *sim)
{
	for (size_t i = 0; i < sim->d->nthreads; i++)
		if (sim->threads[i].at && sim->threads[i].at->kind == KIND_ACQUIRE)
			schedule_wake(sim, i);
}

/*
 * Within a chunk threads go on as soon as what they need is there, and few operations have to be kept. What will not
 * come is told only once the whole chunk is there.
 */
static int after_part(void *context, uint64_t time)
{
	struct sim *sim = context;

	if (time < sim->settled)
		return 0;
	match_what_came(sim);
	locks_settle(sim);
	wake_for_locks(sim);
	sim->in_part = true;
	if (!sim->error)
		sim->error = run_ready(sim);
	sim->in_part = false;
	return sim->error;
}

static void wake_undecided(struct sim *sim)
{
	while (sim->nundecided) {
		uint32_t index = sim->undecided[--sim->nundecided];

		sim->threads[index].undecided = false;
		schedule_wake(sim, index);
	}
}

static void after_chunk(void *context, size_t done, size_t all)
{
	struct sim *sim = context;

	match_settle(sim);
	locks_settle(sim);
	wake_undecided(sim);
	posts_settle(sim);
	teams_settle(sim);
	wake_for_locks(sim);
	if (!sim->error)
		sim->error = run_ready(sim);
	while (sim->queued_bytes > QUEUE_MOST && !sim->error && give_way(sim))
		sim->error = run_ready(sim);
	sim->giving_way = false; /* what is fed next may let them go on */
	sim->settled = sim->latest;
}

/* What comes after a thread's last event: up to the end of its process where it is its first thread. */
static int run_out(struct sim *sim, uint32_t index)
{
	const struct def_thread *def = &sim->d->threads[index];
	const struct def_process *process = &sim->d->processes[def->process];
	struct sim_thread *thread = &sim->threads[index];
	uint64_t end = process->end ? process->end : sim->d->run.end;

	if (!thread->begun || def->tid != process->pid || end <= thread->old)
		return 0;
	thread->lossy_gap = true;
	return work_until(sim, index, end);
}

int schedule_run(struct sim *sim)
{
	struct timeline_ops ops = {
		.event = feed_event, .gap = feed_gap, .control = feed_control, .progress = after_chunk, .context = sim
	};
	int error;

	if (sim->teller) {
		ops.part = after_part;
		ops.ahead = true;
	}
	sim->ready = calloc(sim->d->nthreads + 1, sizeof(*sim->ready));
	sim->undecided = calloc(sim->d->nthreads + 1, sizeof(*sim->undecided));
	if (!sim->ready || !sim->undecided)
		return -ENOMEM;
	error = timeline_read(sim->recording, &ops);
	if (!error)
		error = feed_rest(sim);
	if (error)
		return error;
	sim->all_fed = true;
	match_settle(sim);
	locks_settle(sim);
	posts_settle(sim);
	teams_settle(sim);
	for (size_t i = 0; i < sim->d->nthreads; i++)
		schedule_wake(sim, i);
	do
		error = run_ready(sim);
	while (!error && give_way(sim));
	error = error ? error : sim->error;
	for (size_t i = 0; i < sim->d->nthreads && !error; i++)
		error = run_out(sim, i);
	return error;
}

/* Where it broke off there are operations that have not had their turn: what they share with others is released. */
static void free_waiting_ops(struct sim *sim, struct sim_thread *thread)
{
	for (struct row *row = &thread->row; row->head < row->tail; row_pop(sim, row)) {
		const struct item *item = (const struct item *)(row->data + row->head);

		if (item->type == ITEM_DONE)
			op_free(sim, item->op);
	}
	if (thread->feeding && thread->feeding != &sim->alone)
		op_free(sim, thread->feeding);
	thread->feeding = NULL;
	if (thread->poll.op)
		op_free(sim, thread->poll.op);
	thread->poll.op = NULL;
}

void schedule_close(struct sim *sim)
{
	for (size_t i = 0; sim->threads && i < sim->d->nthreads; i++)
		free_waiting_ops(sim, &sim->threads[i]);
	for (size_t i = 0; sim->threads && i < sim->d->nthreads; i++) {
		struct sim_thread *thread = &sim->threads[i];

		free(thread->row.data);
		free(thread->nest);
		free(thread->tasks);
		free(thread->workers);
		for (unsigned lane = 0; lane < TIMELINE_LANES; lane++)
			free(thread->lanes[lane].open);
	}
	while (sim->free_ops) {
		struct op *op = sim->free_ops;

		sim->free_ops = op->free;
		free(op->halves);
		free(op->instances);
		free(op->members);
		free(op);
	}
	free(sim->ready);
	free(sim->undecided);
	free(sim->waiting);
	free(sim->events);
}
