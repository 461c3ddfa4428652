/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.c - the recording itself: when, where, at what price.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"
#include "arch/instruction.h"
#include "util/json.h"
#include "util/log.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static unsigned least_floor(const struct def_run *run)
{
	return run->floor_ns[0] < run->floor_ns[1] ? run->floor_ns[0] : run->floor_ns[1];
}

static unsigned most_floor(const struct def_run *run)
{
	return run->floor_ns[2] > run->floor_ns[1] ? run->floor_ns[2] : run->floor_ns[1];
}

/* "2 CPUs"; and how many a thread may use, where that is not all of them. Of several machines nobody could use all. */
static void cpus_text(const struct definitions *d, char *text, size_t room)
{
	unsigned cpus = scheduling_cpus(d), least = UINT_MAX, most = 0;
	int at = snprintf(text, room, "%u CPU%s%s", cpus, cpus == 1 ? "" : "s", d->nnodes ? " in all" : "");

	for (size_t i = 0; i < d->nthreads; i++) {
		unsigned may = thread_is_left_out(d, i) ? 0 : d->threads[i].cpus;

		least = may && may < least ? may : least;
		most = may > most ? may : most;
	}
	if (d->nnodes || !most || least >= cpus)
		return;
	if (least == most)
		snprintf(text + at, room - at, ", each thread may use %u", most);
	else
		snprintf(text + at, room - at, ", a thread may use %u to %u", least, most);
}

/* "(Linux 6.1, 2 CPUs)"; "": nothing is known. */
static void machine_text(const struct definitions *d, char *text, size_t room)
{
	const char *kernel = d->run.kernel ? log_safe(d->run.kernel) : NULL;
	char cpus[100];

	*text = '\0';
	cpus_text(d, cpus, sizeof(cpus));
	if (kernel && scheduling_cpus(d))
		snprintf(text, room, "(Linux %s, %s)", kernel, cpus);
	else if (kernel)
		snprintf(text, room, "(Linux %s)", kernel);
	else if (scheduling_cpus(d))
		snprintf(text, room, "(%s)", cpus);
}

static void print_when(void *state, const struct printer *p)
{
	const struct def_run *run = &p->r->d->run;
	time_t seconds = run->start_realtime / 1000000000;
	char text[400], length[FORMAT_SIZE];
	struct paragraph paragraph = printer_item(p, "");
	struct tm when;

	paragraph_words(&paragraph, "%s for %s", run->only_sums ? "Counted" : "Observed",
			format_time(length, p->r->end > p->r->start ? p->r->end - p->r->start : 0));
	if (run->start_realtime && localtime_r(&seconds, &when) && strftime(text, sizeof(text), "%F %T %z", &when))
		paragraph_words(&paragraph, "from %s", text);
	if (run->host)
		paragraph_words(&paragraph, "on %s", log_safe(run->host));
	machine_text(p->r->d, text, sizeof(text));
	paragraph_words(&paragraph, "%s", text);
	paragraph_end(&paragraph);
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
	json_key_uint_known(j, "cpus", scheduling_cpus(r->d), scheduling_cpus(r->d));
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
