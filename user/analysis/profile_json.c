/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_json.c - the profile for programs: all times in ns, unknown is null.
 */
#include "analysis/counters.h"
#include "analysis/profile_data.h"
#include "arch/instruction.h"

#include <errno.h>
#include <stdlib.h>

#include "util/json.h"

#define SITES_PER_EVENT 10

static void put_classes(struct json *j, const char *key, const uint32_t ns[SITE_CLASSES])
{
	json_key(j, key);
	json_object(j);
	for (int i = 0; i < SITE_CLASSES; i++)
		json_key_uint_known(j, site_class_name(i), ns[i], ns[i]);
	json_end_object(j);
}

/* What probes cost on that machine, by the instruction under them; the limit that was set; and what gaspbpf itself
 * took. */
static void put_calibration(struct json *j, const struct def_run *run)
{
	put_classes(j, "call_ns", run->cost_ns);
	put_classes(j, "counted_call_ns", run->skipped_ns);
	put_classes(j, "floor_ns", run->floor_ns);
	json_key(j, "max_overhead");
	if (run->budget)
		json_double(j, run->budget / 10000.0);
	else
		json_null(j);
	json_key_uint_known(j, "own_cpu_ns", run->own_cpu, run->own_cpu);
}

static void put_recording(struct json *j, const struct report *r)
{
	const struct def_run *run = &r->d->run;

	json_key(j, "recording");
	json_object(j);
	json_key_uint(j, "start_ns", r->start);
	json_key_uint(j, "end_ns", r->end);
	json_key_uint_known(j, "start_realtime_ns", run->start_realtime, run->start_realtime > 0);
	json_key_string(j, "command", run->command);
	json_key_string(j, "host", run->host);
	json_key_string(j, "kernel", run->kernel);
	put_calibration(j, run);
	json_key_bool(j, "floor_subtracted", r->profile->subtract_floor);
	json_key_bool(j, "finished", run->finished);
	json_key_string(j, "flight", run->reason);
	json_end_object(j);
}

static void put_loss(struct json *j, const struct report *r)
{
	const struct def_loss *loss = &r->d->loss;

	json_key(j, "loss");
	json_object(j);
	json_key_uint(j, "lost", r->lost);
	json_key_uint(j, "delivered", r->delivered);
	json_key_uint(j, "summed", r->summed);
	json_key_uint(j, "skipped", r->skipped);
	json_key_uint(j, "calls", loss->calls > r->calls ? loss->calls : r->calls);
	json_key_uint(j, "no_memory", loss->no_memory);
	json_key_uint(j, "no_entry", loss->no_entry);
	json_key_uint(j, "near", loss->near);
	json_key_uint(j, "unwritten", loss->unwritten);
	json_end_object(j);
}

static void put_processes(struct json *j, const struct report *r)
{
	json_key(j, "processes");
	json_array(j);
	for (size_t i = 0; i < r->d->nprocesses; i++) {
		const struct def_process *p = &r->d->processes[i];

		if (p->left_out)
			continue;
		json_object(j);
		json_key_uint(j, "pid", p->pid);
		json_key_string(j, "command", p->command);
		json_key_string(j, "name", p->name);
		json_key_int_known(j, "rank", p->rank, p->rank >= 0);
		json_key_string(j, "unit", p->rank >= 0 ? p->unit : NULL);
		json_key_int_known(j, "status", p->exit_code, p->has_exit);
		json_end_object(j);
	}
	json_end_array(j);
}

static const struct def_process *process_of(const struct report *r, uint32_t thread)
{
	uint32_t process = r->d->threads[thread].process;

	return process < r->d->nprocesses ? &r->d->processes[process] : NULL;
}

static void put_thread_ids(struct json *j, const struct report *r, uint32_t thread)
{
	const struct def_process *p = process_of(r, thread);

	json_key_uint_known(j, "pid", p ? p->pid : 0, p);
	json_key_uint(j, "tid", r->d->threads[thread].tid);
}

static void put_threads(struct json *j, const struct report *r)
{
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *t = &r->threads[i];
		const struct def_process *p = process_of(r, t->thread);

		json_object(j);
		put_thread_ids(j, r, t->thread);
		json_key_string(j, "name", r->d->threads[t->thread].name);
		json_key_uint_known(j, "rank", p ? p->rank : 0, p && p->rank >= 0);
		json_key_string(j, "unit", p && p->rank >= 0 ? p->unit : NULL);
		json_key_uint(j, "calls", t->spans + t->lost + t->summed + t->skipped);
		json_key_uint(j, "delivered", t->spans);
		json_key_uint(j, "lost", t->lost);
		json_key_uint(j, "summed", t->summed);
		json_key_uint(j, "skipped", t->skipped);
		json_key_uint(j, "wall_ns", t->wall);
		json_key_uint(j, "cost_ns", t->cost);
		json_key_uint_known(j, "kernel_ns", t->system, t->system);
		json_key(j, "group_ns");
		json_object(j);
		for (int i = 0; i < SHARES; i++)
			json_key_uint(j, report_shares[i].name, share_of(&report_shares[i], t->group));
		json_key_uint(j, "outside", t->outside);
		json_end_object(j);
		json_key(j, "estimated_group_ns");
		json_object(j);
		for (int i = 0; i < SHARES; i++)
			json_key_uint(j, report_shares[i].name, share_of(&report_shares[i], t->likely_group));
		json_key_uint(j, "outside", t->likely_outside);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_histogram(struct json *j, const struct tally *t)
{
	json_key(j, "histogram_ns");
	json_array(j);
	for (int i = 0; i < GB_BUCKETS; i++) {
		if (!t->bucket[i])
			continue;
		json_array(j);
		json_uint(j, i ? 1ull << i : 0);
		json_uint(j, t->bucket[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void put_tally(struct json *j, const struct tally *t)
{
	bool likely = t->timed || t->likely_total; /* of a thread that has only skipped calls, by the other threads */

	json_key_uint(j, "calls", t->calls);
	json_key_uint(j, "delivered", t->calls - tally_missing(t));
	json_key_uint(j, "lost", t->lost);
	json_key_uint(j, "summed", t->summed);
	json_key_uint(j, "skipped", t->skipped);
	json_key_uint(j, "timed", t->timed);
	json_key_uint_known(j, "total_ns", t->total, t->timed);
	json_key_uint_known(j, "self_ns", t->self, t->timed && t->time > t->untold);
	json_key_uint_known(j, "estimated_total_ns", t->likely_total, likely);
	json_key_uint_known(j, "estimated_self_ns", t->likely_self, likely);
	json_key_uint_known(j, "min_ns", t->min, t->timed);
	json_key_uint_known(j, "max_ns", t->max, t->timed);
	json_key_uint_known(j, "mean_ns", t->timed ? t->time / t->timed : 0, t->timed);
	json_key_uint_known(j, "bytes", t->bytes, t->known_bytes);
	json_key_uint_known(j, "bytes_sent", t->sent, t->known_sent);
	json_key_uint_known(j, "bytes_received", t->received, t->known_received);
	json_key_uint(j, "calls_without_bytes", t->unknown_bytes);
	json_key_uint(j, "unwound", t->unwound);
	json_key_uint(j, "ended", t->ended);
	json_key_uint(j, "open", t->open);
	json_key_uint(j, "deep", t->deep);
	json_key_uint(j, "alone", t->alone);
	json_key_uint(j, "tails", t->tails);
	put_histogram(j, t);
}

static int by_event(const void *a, const void *b)
{
	const struct site_row *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

/* The event's hottest sites; r->sites is sorted by event here. */
static void put_sites(struct json *j, const struct report *r, uint32_t event)
{
	struct site_row least = { .event = event, .total = UINT64_MAX };
	size_t low = 0, high = r->nsites;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_event(&r->sites[middle], &least) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	json_key(j, "sites");
	json_array(j);
	for (size_t i = low; i < r->nsites && i < low + SITES_PER_EVENT && r->sites[i].event == event; i++) {
		uint32_t index = r->sites[i].site;
		const struct def_site *s = index < r->d->nsites ? &r->d->sites[index] : NULL;

		json_object(j);
		json_key_string(j, "file", s ? s->file : NULL);
		json_key_uint_known(j, "line", s ? s->line : 0, s && s->line);
		json_key_uint_known(j, "column", s ? s->column : 0, s && s->column);
		json_key_string(j, "function", s ? s->function : NULL);
		json_key_uint_known(j, "function_offset", s ? s->function_offset : 0, s && s->function);
		json_key_string(j, "image", s && s->image < r->d->nimages ? r->d->images[s->image].path : NULL);
		json_key_uint_known(j, "offset", s ? s->offset : 0, s && s->image < r->d->nimages);
		json_key_uint(j, "calls", r->sites[i].calls);
		json_key_uint(j, "total_ns", r->sites[i].total);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_name(struct json *j, const struct report *r, uint32_t event)
{
	const char *function = report_function(r, event);

	json_key_string(j, "name", report_event_name(r, event));
	if (function)
		json_key_string(j, "function", function);
}

static void put_events(struct json *j, const struct report *r)
{
	qsort(r->sites, r->nsites, sizeof(*r->sites), by_event);
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < r->nevents; i++) {
		const struct report_event *e = &r->events[i];
		uint32_t probe = r->profile->events[e->event].probe;

		json_object(j);
		put_name(j, r, e->event);
		json_key_string(j, "model", r->d->probes[probe].model);
		json_key_string(j, "role", role_name(r->profile->events[e->event].role));
		put_tally(j, &e->tally);
		json_key_uint(j, "out_ns", e->out);
		put_sites(j, r, e->event);
		json_key(j, "inner");
		json_object(j);
		if (e->inner) {
			put_tally(j, e->inner);
			put_sites(j, r, r->profile->events[e->event].inner);
		} else {
			json_key_uint(j, "calls", 0);
		}
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_rows(struct json *j, const struct report *r, const char *key, bool inner)
{
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; i < r->nrows; i++) {
		if (r->profile->events[r->rows[i].event].is_inner != inner)
			continue;
		json_object(j);
		put_thread_ids(j, r, r->rows[i].thread);
		put_name(j, r, r->rows[i].event);
		put_tally(j, &r->rows[i].tally);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_findings(struct json *j, const struct report *r)
{
	json_key(j, "findings");
	json_array(j);
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct finding *f = &r->findings[i];

		json_object(j);
		json_key_string(j, "kind", f->kind);
		json_key_string(j, "event", f->event == NO_INDEX ? NULL : report_event_name(r, f->event));
		if (f->thread != NO_INDEX)
			put_thread_ids(j, r, f->thread);
		json_key_string(j, "text", f->text);
		json_end_object(j);
	}
	json_end_array(j);
}

/* What was done to keep the cost low. */
/* Measurement that was off: by process, in ns. */
static void put_controls(struct json *j, const struct report *r)
{
	json_key(j, "controls");
	json_array(j);
	for (uint32_t i = 0; r->d->ncontrols && i < r->d->nprocesses; i++) {
		struct control_sum sum = controls_sum(r, i);

		if (!sum.last)
			continue;
		json_object(j);
		json_key_uint(j, "pid", r->d->processes[i].pid);
		if (r->d->processes[i].rank >= 0)
			json_key_int(j, "rank", r->d->processes[i].rank);
		json_key_uint(j, "off_ns", sum.off);
		json_key_uint(j, "times", sum.times);
		json_key_int(j, "last", sum.last->value);
		json_key_string(j, "by", sum.last->who);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_steps(struct json *j, const struct report *r)
{
	static const char *const levels[] = { "all", "sampled", "summed", "out" };

	json_key(j, "steps");
	json_array(j);
	for (size_t i = 0; i < r->d->nsteps; i++) {
		const struct def_step *step = &r->d->steps[i];

		json_object(j);
		json_key_uint(j, "time_ns", step->time);
		json_key_string(j, "symbol", r->d->probes[step->probe].symbol);
		json_key_string(j, "event", r->d->probes[step->probe].event);
		json_key_string(j, "level", step->level <= STEP_OUT ? levels[step->level] : "unknown");
		json_key_uint_known(j, "every", step->every, step->every);
		if (step->thread != NO_INDEX)
			put_thread_ids(j, r, step->thread);
		json_key(j, "share");
		json_double(j, step->share / 10000.0);
		json_end_object(j);
	}
	json_end_array(j);
}

int profile_print_json(struct profile *profile, const struct definitions *d, FILE *out,
		       const struct profile_style *style)
{
	struct json *j = malloc(sizeof(*j));
	struct report report;
	int error;

	if (!j)
		return -ENOMEM;
	error = report_make(&report, profile, d);
	if (error) {
		free(j);
		return error;
	}
	json_init_file(j, out, true);
	json_object(j);
	put_recording(j, &report);
	put_loss(j, &report);
	put_processes(j, &report);
	put_left_out(j, d);
	put_threads(j, &report);
	put_events(j, &report);
	put_rows(j, &report, "by_thread", false);
	put_rows(j, &report, "inner_by_thread", true);
	put_findings(j, &report);
	put_steps(j, &report);
	put_controls(j, &report);
	put_windows(j, d);
	put_not_observable(j, d);
	if (style && style->counters)
		counters_put_json(style->counters, d, j);
	json_end_object(j);
	error = json_finish(j);
	errno = 0;
	if (!error && fflush(out))
		error = errno ? -errno : -EIO;
	report_free(&report);
	free(j);
	return error;
}
