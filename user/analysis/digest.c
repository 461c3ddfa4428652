/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * digest.c - what a comparison keeps of a run.
 */
#include "analysis/compare_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/labels.h"
#include "util/array.h"

const char *kind_of_time(size_t index)
{
	return index < SHARES ? report_shares[index].name : index == SHARES ? "outside" : "not seen";
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < run->nfindings; i++) {
		free(run->findings[i].key);
		free(run->findings[i].text);
	}
	for (size_t i = 0; i < run->nmodels; i++)
		free(run->models[i]);
	free(run->findings);
	free(run->events);
	free(run->name);
	free(run->host);
	free(run->kernel);
	memset(run, 0, sizeof(*run));
}

/* --- who, and how long --------------------------------------------------------- */

struct seen_process {
	bool there, begun; /* begun: a call was seen by which its runtime begins */
};

static bool begins_runtime(const struct report *r, const struct row *row)
{
	return r->profile->events[row->event].role == ROLE_INIT && row->tally.calls;
}

/* gaspbpf has started the job itself. */
static bool was_started(const struct def_run *run)
{
	return run->command && strstr(run->command, " -- ");
}

static void add_process(struct run *run, const struct report *r, uint32_t index, const struct seen_process *seen,
			uint64_t *from, uint64_t *to)
{
	const struct def_process *p = &r->d->processes[index];
	uint64_t start = p->start > r->start ? p->start : r->start;
	uint64_t end = p->end && p->end < r->end ? p->end : r->end;

	run->processes += !p->others;
	run->ranks += p->rank >= 0;
	if (p->ranks > 0 && (uint64_t)p->ranks > run->job_ranks)
		run->job_ranks = p->ranks;
	run->from_start &= seen->begun || was_started(&r->d->run);
	run->to_end &= p->end != 0;
	if (start < *from)
		*from = start;
	if (end > *to)
		*to = end;
}

static int add_processes(struct run *run, const struct report *r)
{
	struct seen_process *seen = calloc(r->d->nprocesses + 1, sizeof(*seen));
	uint64_t from = UINT64_MAX, to = 0;

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < r->nthreads; i++)
		if (r->threads[i].process < r->d->nprocesses)
			seen[r->threads[i].process].there = true;
	for (size_t i = 0; i < r->nrows; i++) {
		uint32_t process = r->d->threads[r->rows[i].thread].process;

		if (process < r->d->nprocesses && begins_runtime(r, &r->rows[i]))
			seen[process].begun = true;
	}
	run->from_start = run->to_end = true;
	for (uint32_t i = 0; i < r->d->nprocesses; i++)
		if (seen[i].there)
			add_process(run, r, i, &seen[i], &from, &to);
	free(seen);
	if (!run->processes) {
		run->from_start = run->to_end = false;
		from = r->start;
		to = r->end;
	}
	run->time = to > from ? to - from : 0;
	if (r->d->run.only_sums) /* of a machine, with jobs or without */
		run->time = r->end > r->start ? r->end - r->start : 0;
	return 0;
}

static void add_threads(struct run *run, const struct report *r)
{
	run->threads = r->nthreads;
	run->wall = r->wall;
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *t = &r->threads[i];

		for (int k = 0; k < SHARES; k++)
			run->spent[k] += share_of(&report_shares[k], t->likely_group);
		run->spent[SHARES] += t->likely_outside;
		run->spent[SHARES + 1] += t->likely_unseen;
	}
}

/* --- events -------------------------------------------------------------------- */

/* A new event of the comparison, or one that it has from another run. NO_INDEX: out of memory. */
static uint32_t event_number(struct comparison *c, const struct report *r, uint32_t event)
{
	uint32_t probe = r->profile->events[event].probe, number;
	struct event_key key;
	struct compared_event *new;
	char label[LABEL_ROOM];

	if (probe >= r->d->nprobes)
		return NO_INDEX;
	key = event_key_of(&r->d->probes[probe], false);
	number = event_names_number(&c->names, &key);
	if (number == NO_INDEX || number < c->nevents)
		return number;
	if (array_reach(&c->events, &c->events_room, number + 1, sizeof(*c->events)))
		return NO_INDEX;
	new = &c->events[c->nevents++];
	new->label = strdup(report_event_label(r, event, label, sizeof(label)));
	new->model = strdup(key.model ?: "");
	new->role = role_name(r->profile->events[event].role);
	return new->label &&new->model ? number : NO_INDEX;
}

static int add_event(struct run *run, struct comparison *c, const struct report *r, const struct report_event *event,
		     size_t *room)
{
	const struct tally *tally = &event->tally;
	uint32_t number = event_number(c, r, event->event);

	if (number == NO_INDEX || array_reach(&run->events, room, number + 1, sizeof(*run->events)))
		return -ENOMEM;
	if (number >= run->nevents)
		run->nevents = number + 1;
	run->events[number] = (struct run_event){
		.calls = tally->calls,
		.timed = tally->timed || tally->likely_total,
		.estimated = (r->d->run.only_sums ? tally->skipped : tally_missing(tally)) > 0,
		.partly = event->out > 0,
		.self = tally->likely_self,
	};
	return 0;
}

bool run_has_model(const struct run *run, const char *model)
{
	for (size_t i = 0; i < run->nmodels; i++)
		if (!strcmp(run->models[i], model))
			return true;
	return run->nmodels == MODELS_MOST;
}

static int add_model(struct run *run, const char *model)
{
	if (run_has_model(run, model))
		return 0;
	run->models[run->nmodels] = strdup(model);
	return run->models[run->nmodels] ? (run->nmodels++, 0) : -ENOMEM;
}

/* --- findings ------------------------------------------------------------------ */

/* Lines move when the source is changed, and offsets, too: the function stays. */
static void place_key(const struct report *r, uint32_t site, char *text, size_t room)
{
	const struct def_site *s = site < r->d->nsites ? &r->d->sites[site] : NULL;

	if (s && s->function)
		snprintf(text, room, "%s", s->function);
	else
		site_label(r->d, site, text, room);
}

/* Kind, event, who and where: not how much. Numbers of threads and processes are others in each run. */
static char *finding_key(const struct report *r, const struct finding *finding)
{
	char event[LABEL_ROOM] = "", who[LABEL_ROOM] = "", place[LABEL_ROOM] = "", *key;

	if (finding->event != NO_INDEX)
		report_event_label(r, finding->event, event, sizeof(event));
	if (finding->thread != NO_INDEX) {
		struct who is = who_is_thread(r->d, finding->thread);

		is.job = NULL; /* its launcher is another one each time */
		is.numbered = false;
		label_without_tid(&is, who, sizeof(who));
	}
	if (finding->has_site)
		place_key(r, finding->site, place, sizeof(place));
	return asprintf(&key, "%s|%s|%s|%s", finding->kind, event, who, place) < 0 ? NULL : key;
}

static int add_finding(struct run *run, const struct report *r, const struct finding *finding)
{
	struct run_finding *f = &run->findings[run->nfindings++];

	*f = (struct run_finding){ .key = finding_key(r, finding),
				   .text = strdup(finding->text),
				   .kind = finding->kind,
				   .weight = finding->weight };
	return f->key && f->text ? 0 : -ENOMEM;
}

/* Symptoms, too: of which cause they are may be another one in the next run. */
static int add_findings(struct run *run, const struct report *r)
{
	int error = 0;

	run->findings = calloc(r->nfindings + r->nsymptoms + 1, sizeof(*run->findings));
	if (!run->findings)
		return -ENOMEM;
	for (size_t i = 0; i < r->nfindings && !error; i++)
		error = add_finding(run, r, &r->findings[i]);
	for (size_t i = 0; i < r->nsymptoms && !error; i++)
		error = add_finding(run, r, &r->symptoms[i]);
	return error;
}

static int copy_text(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return text && !*to ? -ENOMEM : 0;
}

int run_make(struct run *run, struct comparison *c, struct reporter *reporter, const char *name)
{
	const struct report *r = &reporter->report;
	size_t room = 0;
	int error = reporter_finish(reporter);

	if (error)
		return error;
	run->cut = !r->d->run.finished;
	run->flight = r->d->run.reason != NULL;
	run->only_sums = r->d->run.only_sums;
	run->calls = r->calls;
	run->lost = r->lost;
	run->missing = r->d->run.only_sums ? r->skipped : r->lost + r->summed + r->skipped;
	add_threads(run, r);
	error = add_processes(run, r);
	if (!error)
		error = copy_text(&run->name, name);
	if (!error)
		error = copy_text(&run->host, r->d->run.host);
	if (!error)
		error = copy_text(&run->kernel, r->d->run.kernel);
	for (size_t i = 0; i < r->d->nprobes && !error; i++)
		error = add_model(run, r->d->probes[i].model ?: "");
	for (size_t i = 0; i < r->nevents && !error; i++)
		error = !r->events[i].tally.calls ? 0 : add_event(run, c, r, &r->events[i], &room);
	return error ? error : add_findings(run, r);
}
