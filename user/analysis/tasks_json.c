/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_json.c - tasks and workers as JSON. What is not known is null.
 */
#include "analysis/tasks.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/put.h"
#include "util/json.h"

static uint64_t whole_ns(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* --- workers ---------------------------------------------------------------------- */

static void put_idle(struct json *j, const struct task_pool *pool, const double idle[IDLES], double overhead,
		     double data)
{
	bool whole = task_pool_is_whole(pool), ready = whole && pool->knows_ready;

	json_key_uint_known(j, "data_ns", whole_ns(data), pool->fetched);
	json_key_uint_known(j, "runtime_ns", whole_ns(overhead), ready);
	json_key_uint_known(j, "idle_ready_ns", whole_ns(idle[IDLE_READY]), ready);
	json_key_uint_known(j, "idle_blocked_ns", whole_ns(idle[IDLE_BLOCKED]), ready);
	json_key_uint_known(j, "idle_last_ns", whole_ns(idle[IDLE_LAST]), ready);
	json_key_uint_known(j, "idle_unsubmitted_ns", whole_ns(idle[IDLE_UNSUBMITTED]), ready);
}

static void put_workers(const struct tasks *s, const struct report *r, struct json *j, const struct task_pool *pool)
{
	json_key(j, "workers");
	json_array(j);
	for (size_t i = 0; i < pool->workers; i++) {
		const struct task_member *m = &s->members[s->order[pool->first_worker + i]];

		json_object(j);
		put_thread_ids(j, r, m->thread);
		json_key_string(j, "name", r->d->threads[m->thread].name);
		json_key_int_known(j, "worker", m->number, m->numbered);
		json_key_string(j, "event", m->class == NO_INDEX ? NULL : r->d->probes[m->class].event);
		json_key_uint(j, "tasks", m->executed);
		json_key_uint(j, "runs_ns", m->time[WORKER_RUNS]);
		put_idle(j, pool, m->idle, m->overhead + (double)m->time[WORKER_ENDS], m->time[WORKER_DATA]);
		json_end_object(j);
	}
	json_end_array(j);
}

/* --- kinds ------------------------------------------------------------------------ */

static void put_latency(struct json *j, const char *key, const struct task_latency *latency)
{
	json_key(j, key);
	json_object(j);
	json_key_uint(j, "tasks", latency->count);
	json_key_uint_known(j, "sum_ns", latency->sum, latency->count);
	json_key_uint_known(j, "max_ns", latency->most, latency->count);
	json_end_object(j);
}

static void put_what(struct json *j, const struct tasks *s, const struct task_kind *kind)
{
	char what[32];

	snprintf(what, sizeof(what), "0x%" PRIx64, kind->what);
	json_key_string(j, "kind", kind->what ? what : NULL);
	json_key_string(j, "name", kind->name);
	json_key_string(j, "event", kind->what || kind->empty ? NULL : s->d->probes[kind->probe].event);
}

static void put_kinds(const struct tasks *s, const struct report *r, struct json *j, const struct task_pool *pool)
{
	json_key(j, "kinds");
	json_array(j);
	for (size_t i = 0; i < pool->nkinds; i++) {
		const struct task_kind *kind = &s->kinds[s->kind_order[pool->first_kind + i]];

		json_object(j);
		put_what(j, s, kind);
		json_key_uint(j, "submitted", kind->submitted);
		json_key_uint_known(j, "executed", kind->executed, kind->executed || pool->matched);
		json_key_uint_known(j, "runs_ns", kind->time, kind->executed);
		put_latency(j, "submit_to_ready", &kind->blocked);
		put_latency(j, "ready_to_start", &kind->waited);
		put_latency(j, "submit_to_start", &kind->started);
		put_call_site(j, "submitted_at", r->d, kind->site.lead ? kind->site.site : NO_INDEX);
		json_end_object(j);
	}
	json_end_array(j);
}

/* --- workers and kinds -------------------------------------------------------------- */

static void put_history(struct json *j, const struct task_cell *cell)
{
	json_key(j, "history");
	json_array(j);
	for (size_t i = 0; i < HISTORY; i++) {
		json_object(j);
		json_key_uint(j, "tasks", cell->history[i].count);
		json_key_uint(j, "runs_ns", cell->history[i].time);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_cells(const struct tasks *s, const struct report *r, struct json *j, const struct task_pool *pool)
{
	json_key_uint(j, "history_part_ns", pool->width);
	json_key(j, "by_worker_and_kind");
	json_array(j);
	for (size_t i = 0; i < pool->ncells; i++) {
		const struct task_cell *cell = &s->cells[pool->first_cell + i];
		const struct task_member *m = &s->members[cell->member];

		json_object(j);
		put_thread_ids(j, r, m->thread);
		json_key_int_known(j, "worker", m->number, m->numbered);
		put_what(j, s, &s->kinds[cell->kind]);
		json_key_uint(j, "tasks", cell->times.count);
		json_key_uint(j, "runs_ns", cell->total);
		json_key(j, "mean_ns");
		json_double(j, cell->times.mean);
		json_key(j, "deviation_ns");
		if (cell->times.count > 1)
			json_double(j, sample_deviation(&cell->times));
		else
			json_null(j);
		json_key_uint(j, "min_ns", cell->least);
		json_key_uint(j, "max_ns", cell->most);
		put_history(j, cell);
		json_end_object(j);
	}
	json_end_array(j);
}

/* --- transfers ------------------------------------------------------------------------ */

static void put_transfers(const struct tasks *s, struct json *j, uint32_t pool)
{
	json_key(j, "transfers");
	json_array(j);
	for (size_t i = 0; i < s->npairs; i++) {
		const struct task_transfers *pair = &s->pairs[i];

		if (pair->pool != pool || task_pair_is_part(s, pair))
			continue;
		json_object(j);
		json_key_int_known(j, "from", pair->from, pair->from_known);
		json_key_int_known(j, "to", pair->to, pair->to_known);
		json_key_uint(j, "transfers", pair->count);
		json_key_uint_known(j, "bytes", pair->bytes, pair->unknown < pair->count);
		json_key_uint(j, "unknown_bytes", pair->unknown);
		json_key_uint(j, "timed", pair->timed);
		json_key_uint(j, "timed_bytes", pair->timed_bytes);
		json_key_uint_known(j, "in_copies_ns", pair->time, pair->timed);
		json_end_object(j);
	}
	json_end_array(j);
}

/* --- all of it ------------------------------------------------------------------------ */

static void put_pool(const struct tasks *s, const struct report *r, struct json *j, uint32_t number)
{
	const struct task_pool *pool = &s->pools[number];
	bool chain = task_pool_is_whole(pool) && pool->knows_ready;

	json_object(j);
	json_key_string(j, "model", s->d->probes[pool->model].model);
	json_key_uint(j, "pid", pool->process < s->d->nprocesses ? s->d->processes[pool->process].pid : 0);
	json_key_uint_known(j, "from_ns", task_time(s->d->run.start, pool->begin), pool->begun);
	json_key_uint_known(j, "time_ns", task_time(pool->begin, pool->last), pool->executed);
	json_key_uint_known(j, "executed", pool->executed, pool->executed);
	json_key_uint_known(j, "area_bound_ns", whole_ns(pool->area), pool->has_area && !pool->missing);
	json_key_uint_known(j, "longest_chain_ns", pool->longest.time, chain);
	json_key_uint_known(j, "longest_chain_tasks", pool->longest.tasks, chain);
	json_key_uint(j, "not_seen_submitted", pool->unsubmitted);
	json_key_uint(j, "in_progress_at_end", pool->unfinished);
	json_key_uint(j, "missing_calls", pool->missing);
	json_key_bool(j, "interrupted", pool->interrupted);
	json_key_uint_known(j, "runs_ns", whole_ns(pool->spent[WORKER_RUNS]), pool->workers);
	put_idle(j, pool, pool->idle, pool->overhead, pool->spent[WORKER_DATA]);
	put_workers(s, r, j, pool);
	put_kinds(s, r, j, pool);
	put_cells(s, r, j, pool);
	put_transfers(s, j, number);
	json_end_object(j);
}

void tasks_json(void *state, const struct report *r, struct json *j)
{
	const struct tasks *s = state;

	json_object(j);
	json_key_uint(j, "beyond", s->beyond);
	json_key(j, "runtimes");
	json_array(j);
	for (size_t i = 0; i < s->npools; i++) {
		size_t pairs = 0;

		for (size_t k = 0; k < s->npairs && !pairs; k++)
			pairs += s->pairs[k].pool == i;
		if (s->pools[i].executed || s->pools[i].submitted || pairs)
			put_pool(s, r, j, i);
	}
	json_end_array(j);
	json_end_object(j);
}
