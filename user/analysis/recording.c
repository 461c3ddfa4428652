/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.c - the recording itself: when, where, at what price.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "arch/instruction.h"
#include "util/json.h"
#include "util/log.h"

#include <time.h>

static unsigned least_floor(const struct def_run *run)
{
	return run->floor_ns[0] < run->floor_ns[1] ? run->floor_ns[0] : run->floor_ns[1];
}

static unsigned most_floor(const struct def_run *run)
{
	return run->floor_ns[2] > run->floor_ns[1] ? run->floor_ns[2] : run->floor_ns[1];
}

static void print_when(void *state, const struct printer *p)
{
	const struct def_run *run = &p->r->d->run;
	time_t seconds = run->start_realtime / 1000000000;
	char text[64], length[FORMAT_SIZE];
	struct tm when;

	fprintf(p->out, "%s for %s", run->only_sums ? "Counted" : "Observed",
		format_time(length, p->r->end > p->r->start ? p->r->end - p->r->start : 0));
	if (run->start_realtime && localtime_r(&seconds, &when) && strftime(text, sizeof(text), "%F %T %z", &when))
		fprintf(p->out, " from %s", text);
	if (run->host)
		fprintf(p->out, " on %s", log_safe(run->host));
	if (run->kernel)
		fprintf(p->out, " (Linux %s)", log_safe(run->kernel));
	fputc('\n', p->out);
	if (run->reason)
		fprintf(p->out, "Flight recording: what led up to this: %s%s%s\n", p->bold, log_safe(run->reason),
			p->plain);
	if (p->r->profile->subtract_floor)
		fprintf(p->out, "Times are without the probes' own part, %u to %u ns a call.\n", least_floor(run),
			most_floor(run));
	if (!run->finished)
		fprintf(p->out, "%sThe recording was cut: what follows is what was saved until then.%s\n", p->bold,
			p->plain);
}

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

static void put_recording(void *state, const struct report *r, struct json *j)
{
	const struct def_run *run = &r->d->run;

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
	json_key_bool(j, "only_sums", run->only_sums);
	json_key_string(j, "flight", run->reason);
	json_end_object(j);
}

const struct analysis analysis_recording = {
	.name = "recording",
	.print = print_when,
	.json = put_recording,
};
