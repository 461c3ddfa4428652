/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.c - what the governor did to keep the cost low (--max-overhead), and what is not known because of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "util/function_name.h"
#include "util/log.h"

#define STEPS_SHOWN 20 /* half of them from the beginning, half from the end */

int report_find_outs(struct report *r)
{
	const struct profile *p = r->profile;
	/* ns; by node and probe: its next step; 0: none */
	size_t nodes = r->d->nsteps ? r->d->nnodes + 1 : 1;
	uint64_t *next = calloc(nodes * (r->d->nprobes + 1), sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (size_t i = r->d->nsteps; i-- > 0;) {
		const struct def_step *step = &r->d->steps[i];
		uint32_t node = step->node <= r->d->nnodes ? step->node : 0;
		uint64_t *after = &next[node * (r->d->nprobes + 1) + step->probe];
		uint64_t end = *after ? *after : node ? r->d->nodes[node - 1].end : r->end;

		*after = step->time;
		if (step->level != STEP_OUT || end <= step->time)
			continue;
		r->outs = true;
		if (step->probe < p->nprobes && p->probes[step->probe].ready)
			r->events[p->probes[step->probe].is.event].out += end - step->time;
	}
	free(next);
	for (size_t i = 0; i < r->d->nprobes; i++) {
		if (!r->d->probes[i].out_ns || i >= p->nprobes || !p->probes[i].ready)
			continue;
		r->outs = true;
		r->events[p->probes[i].is.event].out += r->d->probes[i].out_ns;
	}
	return 0;
}

static void print_step(const struct printer *p, const struct def_step *step)
{
	const struct def_probe *probe = &p->r->d->probes[step->probe];
	char text[40], when[FORMAT_SIZE], label[LABEL_ROOM];

	fprintf(p->out, "  %10s  %s: %s", format_time(when, step->time > p->r->start ? step->time - p->r->start : 0),
		probe->symbol ? function_label(probe->symbol, FUNCTION_NAME_COLUMNS) : "?",
		step_text(step, text, sizeof(text)));
	if (step->node && step->node <= p->r->d->nnodes && p->r->d->nodes[step->node - 1].host)
		fprintf(p->out, " on %s", log_safe(p->r->d->nodes[step->node - 1].host));
	if (step->thread == NO_INDEX)
		fprintf(p->out, step->level == STEP_SUMMED ? ", to see whether the load has fallen\n"
							   : ", since the load has fallen\n");
	else
		fprintf(p->out, ", since probes took %.0f%% of the time of %s\n", step->share / 100.0,
			thread_label(p->r->d, step->thread, label, sizeof(label)));
}

/* Its probes were out to keep the cost low; what is withdrawn has its own section. */
static bool was_out(const struct report_event *event)
{
	return event->out && !event->withdrawn;
}

static bool some_were_out(const struct report *r)
{
	for (size_t e = 0; e < r->nevents; e++)
		if (was_out(&r->events[e]))
			return true;
	return false;
}

static void print_outs(const struct printer *p)
{
	uint64_t all = p->r->end > p->r->start ? p->r->end - p->r->start : 0;
	char out[FORMAT_SIZE], whole[FORMAT_SIZE], label[LABEL_ROOM];

	for (size_t e = 0; e < p->r->nevents; e++) {
		if (!was_out(&p->r->events[e]))
			continue;
		printer_indented(p, "%s was out for %s of %s: what was called then is in no figure",
				 report_event_label(p->r, p->r->events[e].event, label, sizeof(label)),
				 format_time(out, p->r->events[e].out), format_time(whole, all));
	}
}

static void print_steps(void *state, const struct printer *p)
{
	size_t count = p->r->d->nsteps, first = count;

	if (!p->r->d->run.budget && !count && !some_were_out(p->r))
		return;
	printer_heading(p, "");
	if (p->r->d->run.budget || count)
		printer_indented(p, "limit: probes take at most %.4g%% of each thread's time%s",
				 p->r->d->run.budget / 100.0,
				 count || some_were_out(p->r) || p->r->skipped ? "" : "; nothing had to be left out");
	if (count > STEPS_SHOWN)
		first = STEPS_SHOWN / 2;
	for (size_t i = 0; i < first; i++)
		print_step(p, &p->r->d->steps[i]);
	if (first < count)
		fprintf(p->out, "  ... %zu more steps (report --json has all)\n", count - STEPS_SHOWN);
	for (size_t i = count - (count > first ? STEPS_SHOWN / 2 : 0); i < count; i++)
		print_step(p, &p->r->d->steps[i]);
	print_outs(p);
}

static void put_steps(void *state, const struct report *r, struct json *j)
{
	static const char *const levels[] = { "all", "sampled", "summed", "out" };

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

const struct analysis analysis_steps = {
	.name = "steps",
	.title = "Kept low",
	.print = print_steps,
	.json = put_steps,
};
