/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare_json.c - two sides, for programs. All times ns; what is unknown is null.
 */
#include "analysis/compare_data.h"

static const char *const side_names[SIDES] = { "before", "after" };

static void put_number(struct json *j, const char *key, double value, bool known)
{
	json_key(j, key);
	if (known)
		json_double(j, value);
	else
		json_null(j);
}

void compared_run_put(const struct run *run, struct json *j)
{
	json_object(j);
	json_key_string(j, "recording", run->name);
	json_key_string(j, "host", run->host);
	json_key_string(j, "kernel", run->kernel);
	json_key_uint(j, "time_ns", run->time);
	json_key_uint(j, "threads_time_ns", run->wall);
	json_key_uint(j, "ranks", run->ranks);
	json_key_uint_known(j, "job_ranks", run->job_ranks, run->job_ranks);
	json_key_uint(j, "processes", run->processes);
	json_key_uint(j, "threads", run->threads);
	json_key_uint(j, "calls", run->calls);
	json_key_uint(j, "lost", run->lost);
	json_key_uint(j, "not_on_timeline", run->missing);
	json_key_bool(j, "from_start", run->from_start);
	json_key_bool(j, "to_end", run->to_end);
	json_key_bool(j, "finished", !run->cut);
	json_key_bool(j, "flight", run->flight);
	json_end_object(j);
}

static void put_runs(const struct comparison *c, struct json *j)
{
	json_key(j, "runs");
	json_object(j);
	for (int side = 0; side < SIDES; side++) {
		json_key(j, side_names[side]);
		json_array(j);
		for (size_t i = 0; i < c->nruns; i++)
			if (c->runs[i].side == (enum compared_side)side)
				compared_run_put(&c->runs[i], j);
		json_end_array(j);
	}
	json_end_object(j);
}

/* Into the object that is open. */
static void put_difference(struct json *j, const struct difference *d, bool before, bool after)
{
	const bool known[SIDES] = { before, after };

	for (int side = 0; side < SIDES; side++) {
		json_key(j, side_names[side]);
		json_object(j);
		json_key_uint(j, "runs", d->of[side].count);
		put_number(j, "mean", d->of[side].mean, known[side]);
		put_number(j, "deviation", sample_deviation(&d->of[side]), known[side] && d->of[side].count > 1);
		json_end_object(j);
	}
	put_number(j, "difference", difference_of(d), before && after);
	put_number(j, "ratio", d->of[SIDE_AFTER].mean / d->of[SIDE_BEFORE].mean,
		   before && after && d->of[SIDE_BEFORE].mean > 0);
	put_number(j, "chance", d->likely, d->likely >= 0);
	json_key(j, "more_than_chance");
	if (d->likely >= 0)
		json_bool(j, d->marked);
	else
		json_null(j);
}

static void put_spent(const struct comparison *c, struct json *j)
{
	json_key(j, "threads_time");
	json_array(j);
	for (size_t k = 0; k < KINDS_OF_TIME; k++) {
		json_object(j);
		json_key_string(j, "name", kind_of_time(k));
		put_difference(j, &c->spent[k], true, true);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_event(const struct comparison *c, const struct compared_event *e, struct json *j)
{
	json_object(j);
	json_key_string(j, "event", e->label);
	json_key_string(j, "model", e->model);
	json_key_string(j, "role", e->role);
	json_key_string(j, "state", e->calls[SIDE_BEFORE] <= 0 ? "new" : e->calls[SIDE_AFTER] <= 0 ? "gone" : "both");
	for (int side = 0; side < SIDES; side++) {
		json_key(j, side == SIDE_BEFORE ? "figures_before" : "figures_after");
		json_object(j);
		put_number(j, c->by_share ? "calls_per_second" : "calls", e->calls[side], true);
		put_number(j, "self_per_call_ns", e->per_call[side], e->per_call[side] >= 0);
		put_number(j, "self_ns", e->self[side], e->known[side]);
		put_number(j, "percent", e->share[side], e->known[side]);
		json_end_object(j);
	}
	json_key_bool(j, "estimated", e->estimated);
	json_key_bool(j, "partly", e->partly);
	put_difference(j, &e->value, e->known[SIDE_BEFORE], e->known[SIDE_AFTER]);
	json_end_object(j);
}

static void put_finding(const struct compared_finding *f, struct json *j)
{
	json_object(j);
	json_key_string(j, "state", !f->runs[SIDE_BEFORE] ? "new" : !f->runs[SIDE_AFTER] ? "gone" : "both");
	json_key_string(j, "kind", f->kind);
	for (int side = 0; side < SIDES; side++) {
		json_key(j, side_names[side]);
		json_object(j);
		json_key_uint(j, "runs", f->runs[side]);
		put_number(j, "weight_ns", f->weight[side], true);
		put_number(j, "percent", f->share[side], true);
		json_end_object(j);
	}
	json_key_string(j, "text", f->example->text);
	json_end_object(j);
}

void sides_put(const struct comparison *c, struct json *j)
{
	json_key_string(j, "compared", c->by_share ? "shares" : "totals");
	json_key_string(j, "test", "Welch");
	put_number(j, "level", CHANCE_LEVEL, true);
	put_runs(c, j);
	json_key(j, "time");
	json_object(j);
	put_difference(j, &c->time, true, true);
	json_end_object(j);
	put_spent(c, j);
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < c->nevents; i++)
		put_event(c, &c->events[i], j);
	json_end_array(j);
	json_key(j, "findings");
	json_array(j);
	for (size_t i = 0; i < c->nfindings; i++)
		put_finding(&c->findings[i], j);
	json_end_array(j);
}
