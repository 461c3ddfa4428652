/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_workers.c - what each worker does, and why it does nothing.
 *
 * A free worker is idle for a reason that all free workers share at that moment: as many of them as there are ready
 * tasks could run one; of the others as many as there are tasks that wait for others would run these; and for the rest
 * there is nothing left. Which worker is which nobody can say, so that each has its part of it. The pool sums up how
 * long a worker would be idle for each reason if it were free all the time; a worker looks there when it becomes free,
 * and again when it finds something to do.
 *
 * A worker is known from its first task on, and has been free until then. What it was idle for is looked up in a second
 * sum: that of one more worker beside those that were known. So several of which that is so for the same time may be
 * said to have missed the same ready task.
 *
 * From the moment on at which the worker's next task was ready, or could be made ready by nobody else than this worker,
 * it is no idling, but what the runtime takes from task to task.
 */
#include "analysis/tasks.h"

#include <string.h>

static double least_of(double a, double b)
{
	return a < b ? a : b;
}

/* Of each of so many free workers. */
static void share(const struct task_pool *pool, double workers, double ready, double blocked, double shares[IDLES])
{
	double left = workers;

	memset(shares, 0, IDLES * sizeof(*shares));
	shares[IDLE_READY] = least_of(left, ready);
	left -= shares[IDLE_READY];
	shares[IDLE_BLOCKED] = least_of(left, blocked);
	left -= shares[IDLE_BLOCKED];
	shares[pool->waiting ? IDLE_LAST : IDLE_UNSUBMITTED] = left;
	for (int i = 0; i < IDLES; i++)
		shares[i] /= workers;
}

void task_pool_advance(struct task_pool *pool, uint64_t time)
{
	double shares[IDLES], passed = task_time(pool->now, time);
	double ready = pool->ready, blocked = pool->blocked, taken;

	if (time <= pool->now)
		return;
	pool->now = time;
	if (!pool->begun)
		return;
	if (pool->free) {
		share(pool, pool->free, ready, blocked, shares);
		for (int i = 0; i < IDLES; i++)
			pool->passed[i] += shares[i] * passed;
	}
	taken = least_of(pool->free, ready);
	ready -= taken;
	blocked -= least_of(pool->free - taken, blocked);
	share(pool, 1, ready, blocked, shares);
	for (int i = 0; i < IDLES; i++)
		pool->alone[i] += shares[i] * passed;
}

void task_pool_last(struct task_pool *pool)
{
	pool->last = pool->now;
	memcpy(pool->passed_at_last, pool->passed, sizeof(pool->passed));
	memcpy(pool->alone_at_last, pool->alone, sizeof(pool->alone));
}

void task_worker_found(struct task_pool *pool, struct task_member *worker)
{
	if (worker->worker)
		return;
	worker->worker = true;
	worker->state = WORKER_FREE;
	worker->since = pool->now;
	memcpy(worker->idle, pool->alone, sizeof(worker->idle));
	memcpy(worker->mark, pool->passed, sizeof(worker->mark));
	pool->free++;
}

/* It finds something to do, this task or, NULL, something else. */
static void stop_idling(const struct task_pool *pool, struct task_member *worker, uint32_t number,
			const struct task *next)
{
	uint64_t since = worker->since > pool->begin ? worker->since : pool->begin;
	uint64_t lasted = task_time(since, pool->now);
	double taken; /* of its idle time, since its next task was ready */

	if (next && next->ready_seen && (next->ready <= since || next->ready_by == number)) {
		worker->overhead += lasted;
		return;
	}
	for (int i = 0; i < IDLES; i++)
		worker->idle[i] += pool->passed[i] - worker->mark[i];
	if (!next || !next->ready_seen)
		return;
	taken = pool->passed[IDLE_READY] -
		(next->passed > worker->mark[IDLE_READY] ? next->passed : worker->mark[IDLE_READY]);
	worker->idle[IDLE_READY] -= taken;
	worker->overhead += taken;
}

void task_worker_enter(struct task_pool *pool, struct task_member *worker, uint32_t number, enum worker_state state,
		       const struct task *next)
{
	if (worker->state == WORKER_FREE) {
		pool->free--;
		stop_idling(pool, worker, number, next);
	} else {
		worker->time[worker->state] += task_time(worker->since, pool->now);
	}
	worker->state = state;
	worker->since = pool->now;
	if (state == WORKER_FREE) {
		pool->free++;
		memcpy(worker->mark, pool->passed, sizeof(worker->mark));
	}
}

void task_worker_end(struct task_pool *pool, struct task_member *worker)
{
	if (worker->state != WORKER_FREE) {
		worker->time[worker->state] += task_time(worker->since, pool->last);
		return;
	}
	for (int i = 0; i < IDLES; i++)
		if (pool->passed_at_last[i] > worker->mark[i])
			worker->idle[i] += pool->passed_at_last[i] - worker->mark[i];
}
