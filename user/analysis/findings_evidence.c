/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings_evidence.c - what a finding rests on: how sure it is, by what test; how regular it is; its worst instances.
 *
 * A finding of most kinds is a sum over calls that were all seen: it is as exact as the clock. What it means that it is
 * worth telling is a threshold, which is said, and no probability. Others say that something is more than chance; they
 * have a test, and its level: how often it would find something where there is nothing.
 */
#include "analysis/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "util/json.h"

/* How a kind of finding is known. */
struct basis {
	const char *kind, *how, *test;
	double level;  /* probability that it is told where there is nothing; 0: it is no matter of chance */
	bool suffers;  /* its thread is the one that it happens to, not the one that causes it */
	bool not_time; /* its weight is no part of the threads' time that is gone */
	bool at_place; /* it is of one place, where its event's calls are at others, too */
};

#define THREE_ERRORS 0.0027 /* of a normal distribution, both sides */
#define HELD_UP ", without what tasks were held up as their workers had no processor"

static const struct basis bases[] = {
	{ .kind = "delay", .how = "statistical", .level = THREE_ERRORS }, /* delays_clear.c has the tests */
	{ .kind = "load_imbalance",
	  .how = "statistical",
	  .test = "each of them takes 5 % and 3 standard errors longer for it than all others that do the same; even "
		  "work would give a quarter more than one of them that is as quick as the others",
	  .level = THREE_ERRORS },
	{ .kind = "changing_imbalance",
	  .how = "statistical",
	  .test = "it differs by a quarter of its mean, in many steps; nobody is waited for by twice its share; even "
		  "work would give 5 % of the run" },
	{ .kind = "serialisation",
	  .how = "bounded",
	  .test = "even on an ideal network the one that works most works for 60 % of the run at most, and the load "
		  "balance is 80 %; no other finding gives half as much" },
	{ .kind = "slow_thread",
	  .how = "statistical",
	  .test = "its mean wait is shorter than that of the others by 3 standard errors",
	  .level = THREE_ERRORS },
	{ .kind = "slowdown",
	  .how = "statistical",
	  .test = "Pettitt's and Kuiper's tests for a change",
	  .level = 0.001 },
	{ .kind = "outlier_iterations",
	  .how = "statistical",
	  .test = "twice the median of its part, and 6 standard deviations from it, by the median of the distances" },
	{ .kind = "critical_path", .how = "measured", .test = "no other thread does as much of it" },
	{ .kind = "starved",
	  .how = "measured",
	  .test = "the kernel's own account: a tenth of the thread's time, and half a second",
	  .suffers = true },
	{ .kind = "lock_contention", .how = "measured", .test = "1 % of the threads' time" },
	{ .kind = "lock_convoy",
	  .how = "measured",
	  .test = "most releases find somebody waiting, and handing on takes longer than holding" },
	{ .kind = "failed_tries", .how = "measured", .test = "1 % of the threads' time", .suffers = true },
	{ .kind = "hot_event", .how = "measured", .test = "a tenth of the threads' time" },
	{ .kind = "team_wait", .how = "measured", .test = "a tenth of the threads' time" },
	{ .kind = "uneven_region",
	  .how = "measured",
	  .at_place = true,
	  .test = "even shares would give 1 % of the run, and the mean of the work is 10 % less than the longest" },
	{ .kind = "short_regions",
	  .how = "measured",
	  .at_place = true,
	  .test = "met 100 times, and half of its time, 1 % of the run, is not in its longest shares, nor in probes" },
	{ .kind = "small_chunks",
	  .how = "measured",
	  .test = "1,000 pieces, and to ask for them takes half as long as their work, 1 % of the run, without probes" },
	{ .kind = "serial_code",
	  .how = "measured",
	  .test = "a tenth of the time from the first region to the last is outside of regions, and does not wait" },
	{ .kind = "slow_worker",
	  .how = "statistical",
	  .test = "its tasks of a kind take 1.2 times as long as those of the others of its class, by Welch's test for "
		  "all workers and kinds together, and the quickest one is slower, too, by half of the difference",
	  .level = 0.001 },
	{ .kind = "task_overhead",
	  .how = "measured",
	  .test = "a tenth of the workers' time, of 100 tasks; without time in which workers had no processor" },
	{ .kind = "ready_tasks", .how = "measured", .test = "a tenth of the workers' time" HELD_UP },
	{ .kind = "task_dependencies", .how = "measured", .test = "a fifth of the workers' time" HELD_UP },
	{ .kind = "last_tasks", .how = "measured", .test = "a fifth of the workers' time" HELD_UP },
	{ .kind = "late_submission", .how = "measured", .test = "a fifth of the workers' time" HELD_UP },
	{ .kind = "task_data",
	  .how = "measured",
	  .test = "a fifth of the workers' time is from the call that fetches a task's data to its start" },
	{ .kind = "no_overlap", .how = "bounded", .test = "what could be hidden is at most the time of the waits" },
	{ .kind = "split_phase_wasted",
	  .how = "bounded",
	  .test = "half of the waits, and of their time, which is 1 % of the threads', have nothing before them since "
		  "the first half but 1 % of the wait at most" },
	{ .kind = "small_messages",
	  .how = "estimated",
	  .test = "1 % of the threads' time, in calls that did not wait; with the calls that belong to the messages: fewer "
		  "of them would make the run 1 % shorter, and by half of their time, as simulated" },
	{ .kind = "hot_target", .how = "measured", .test = "its share of the operations, and of their time" },
	{ .kind = "leak",
	  .how = "estimated",
	  .test = "blocks of one place grow in number, and none of them is freed",
	  .not_time = true },
	{ .kind = "churn", .how = "measured", .test = "blocks that lived less than 1 ms" },
	{ .kind = "probe_cost",
	  .how = "estimated",
	  .test = "calls by the price of one, as measured before (calibration): a tenth of a thread's time, and 0.1 s",
	  .suffers = true },
	{ .kind = "unreturned", .how = "exact" },
	{ .kind = "unmodelled", .how = "exact", .not_time = true },
};

static const struct basis *basis_of(const struct finding *f)
{
	static const struct basis unknown = { .how = "measured" };

	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (!strcmp(bases[i].kind, f->kind))
			return &bases[i];
	return &unknown;
}

static const char *test_of(const struct finding *f)
{
	return f->test ?: basis_of(f)->test;
}

static double level_of(const struct finding *f)
{
	return f->level > 0 ? f->level : basis_of(f)->level;
}

/* What it says of itself, else what is known of its event's calls, where it is about their time. */
static struct finding_regularity regularity_of(const struct report *r, const struct finding *f)
{
	const struct tally *tally = f->event != NO_INDEX ? &r->by_event[f->event] : NULL;

	if (f->regularity.what || !tally || !tally->timed || basis_of(f)->not_time || basis_of(f)->at_place)
		return f->regularity;
	return (struct finding_regularity){ .what = "calls of its event",
					    .times = tally->timed,
					    .of = tally->timed,
					    .mean = (double)tally->time / tally->timed,
					    .deviation = -1,
					    .least = tally->min,
					    .most = tally->max };
}

/* --- text ------------------------------------------------------------------------- */

static void explain_instances(const struct printer *p, const struct finding *f)
{
	char time[FORMAT_SIZE], lasted[FORMAT_SIZE], label[LABEL_ROOM];

	if (!f->ninstances)
		return;
	fputc('\n', p->out);
	printer_paragraph(
		p, "", "The worst of it, by the time from the beginning of the observation, as a Chrome trace has it:");
	for (size_t i = 0; i < f->ninstances; i++) {
		const struct finding_instance *instance = &f->instances[i];

		fprintf(p->out, "  %14s  %s waits %s\n", format_time(time, instance->start - p->r->start),
			thread_label(p->r->d, instance->thread, label, sizeof(label)),
			format_time(lasted, instance->end - instance->start));
	}
}

/* "12.1 ms on average, standard deviation 0.4 ms, from 11 ms to 13 ms" */
static void regular_times(const struct finding_regularity *of, char *text, size_t room)
{
	char mean[FORMAT_SIZE], deviation[FORMAT_SIZE], least[FORMAT_SIZE], most[FORMAT_SIZE];
	size_t length = snprintf(text, room, "%s on average", format_time(mean, (uint64_t)of->mean));

	if (of->deviation >= 0 && of->of > 1)
		length += snprintf(text + length, room - length, ", standard deviation %s",
				   format_time(deviation, (uint64_t)of->deviation));
	if (of->most)
		snprintf(text + length, room - length, ", from %s to %s", format_time(least, of->least),
			 format_time(most, of->most));
}

static void explain_regularity(const struct printer *p, const struct finding *f)
{
	const struct finding_regularity is = regularity_of(p->r, f), *of = &is;
	char count[FORMAT_SIZE], all[FORMAT_SIZE], times[200], text[500];

	if (!of->what)
		return;
	regular_times(of, times, sizeof(times));
	if (of->times < of->of)
		snprintf(text, sizeof(text), "How regular: %s of %s %s, %s.", format_count(count, of->times),
			 format_count(all, of->of), of->what, times);
	else
		snprintf(text, sizeof(text), "How regular: %s %s, %s.", format_count(count, of->times), of->what,
			 times);
	fputc('\n', p->out);
	printer_paragraph(p, "", text);
}

static void explain_confidence(const struct printer *p, const struct finding *f)
{
	const struct basis *basis = basis_of(f);
	const char *test = test_of(f);
	double level = level_of(f), missing = percent(p->r->calls - p->r->delivered, p->r->calls);
	char text[800], by_chance[100] = "", unseen[100] = "";

	if (level > 0)
		snprintf(by_chance, sizeof(by_chance),
			 "; where there is nothing, chance alone passes that in at most %.2g %% of cases", 100 * level);
	if (p->r->calls > p->r->delivered)
		snprintf(unseen, sizeof(unseen), "; %.1f %% of all calls are not on the timeline", missing);
	snprintf(text, sizeof(text), "How sure: %s%s%s%s%s.", basis->how, test ? ". It is told where this holds: " : "",
		 test ?: "", by_chance, unseen);
	printer_paragraph(p, "", text);
}

int findings_explain(const struct printer *p, unsigned number)
{
	const struct finding *f = number - 1 < p->r->nfindings ? &p->r->findings[number - 1] : NULL;
	char text[FORMAT_SIZE];

	if (!f)
		return -ENOENT;
	snprintf(text, sizeof(text), "%u.", number);
	printer_paragraph(p, text, f->text);
	findings_print_symptoms(p, number - 1);
	explain_regularity(p, f);
	explain_confidence(p, f);
	explain_instances(p, f);
	if (f->section)
		fprintf(p->out, "\nMore: gaspbpf report --section %s REC.gasp\n", f->section);
	return 0;
}

/* --- JSON ------------------------------------------------------------------------- */

static void put_share(struct json *j, const struct report *r, const char *key, const struct finding_share *share)
{
	json_key(j, key);
	json_object(j);
	put_thread_ids(j, r, share->thread);
	json_key(j, "percent");
	json_double(j, share->percent);
	json_end_object(j);
}

static void put_instances(struct json *j, const struct report *r, const struct finding *f)
{
	json_key(j, "instances");
	json_array(j);
	for (size_t i = 0; i < f->ninstances; i++) {
		json_object(j);
		put_thread_ids(j, r, f->instances[i].thread);
		json_key_uint(j, "start_ns", f->instances[i].start);
		json_key_uint(j, "end_ns", f->instances[i].end);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_person(struct json *j, const struct report *r, uint32_t thread)
{
	const struct def_process *p = report_process(r, thread);

	json_object(j);
	put_thread_ids(j, r, thread);
	json_key_uint_known(j, "rank", p ? (uint64_t)p->rank : 0, p && p->rank >= 0);
	json_end_object(j);
}

/* Those that the finding names, else its one thread. */
static void put_people(struct json *j, const struct report *r, const char *key, const struct people *people,
		       uint32_t thread)
{
	json_key(j, key);
	json_array(j);
	for (uint32_t i = 0; people && i < r->d->nthreads; i++)
		if (people_has(people, i))
			put_person(j, r, i);
	if (!people && thread != NO_INDEX)
		put_person(j, r, thread);
	json_end_array(j);
}

static void put_places(struct json *j, const struct report *r, const struct finding *f)
{
	char *place = f->has_site && f->site < r->d->nsites ? site_place(r->d, f->site) : NULL;

	json_key(j, "places");
	json_array(j);
	if (f->has_site && f->site < r->d->nsites && !place)
		j->error = j->error ?: -ENOMEM;
	if (place)
		json_string(j, place);
	json_end_array(j);
	free(place);
}

static void put_probability(struct json *j, const char *key, double value)
{
	json_key(j, key);
	if (value > 0)
		json_double(j, value);
	else
		json_null(j);
}

static void put_confidence(struct json *j, const struct report *r, const struct finding *f)
{
	const struct basis *basis = basis_of(f);

	json_key(j, "confidence");
	json_object(j);
	json_key_string(j, "how", basis->how);
	json_key_string(j, "test", test_of(f));
	put_probability(j, "p", level_of(f));
	json_key_string(j, "gain", f->has_gain ? "simulated" : f->weight && !basis->not_time ? "bounded" : NULL);
	json_key(j, "not_seen");
	json_object(j);
	json_key_uint(j, "calls_not_on_timeline", r->calls > r->delivered ? r->calls - r->delivered : 0);
	json_key_uint(j, "windows", r->d->nwindows);
	json_key_bool(j, "cut", !r->d->run.finished);
	json_end_object(j);
	json_end_object(j);
}

/* A mean or a deviation: below zero where it is not known, and a recording may say what is beyond all time. */
static void put_mean(struct json *j, const char *key, double ns, bool known)
{
	known = known && ns >= 0 && ns < (double)INT64_MAX;
	json_key_uint_known(j, key, known ? (uint64_t)ns : 0, known);
}

static void put_evidence(struct json *j, const struct report *r, const struct finding *f)
{
	const struct finding_regularity is = regularity_of(r, f), *of = &is;

	json_key(j, "evidence");
	json_object(j);
	json_key_string(j, "section", f->section);
	json_key_string(j, "what", of->what);
	json_key_uint_known(j, "times", of->times, of->what);
	json_key_uint_known(j, "of", of->of, of->what);
	put_mean(j, "mean_ns", of->mean, of->what);
	put_mean(j, "deviation_ns", of->deviation, of->what);
	json_key_uint_known(j, "least_ns", of->least, of->what && of->most);
	json_key_uint_known(j, "most_ns", of->most, of->what && of->most);
	json_end_object(j);
}

/* One thread may have all of it. */
static uint64_t gain_at_most(const struct report *r, const struct finding *f)
{
	uint64_t run = r->end - r->start, most = f->weight < run ? f->weight : run;

	return f->has_gain ? f->gain : f->bound ?: most;
}

/* Those of a finding; a symptom has none. */
static void put_symptoms(struct json *j, const struct report *r, const struct finding *f)
{
	bool is_finding = f >= r->findings && f < r->findings + r->nfindings;

	json_key(j, "seen_as");
	json_array(j);
	for (size_t i = 0; i < r->nsymptoms; i++)
		if (is_finding && r->symptoms[i].cause == (uint32_t)(f - r->findings))
			finding_put(j, r, &r->symptoms[i]);
	json_end_array(j);
}

void finding_put(struct json *j, const struct report *r, const struct finding *f)
{
	const struct basis *basis = basis_of(f);
	bool bounded = f->weight && !basis->not_time && r->nthreads;

	json_object(j);
	json_key_string(j, "kind", f->kind);
	json_key_string(j, "event", f->event == NO_INDEX ? NULL : report_event_name(r, f->event));
	if (f->thread != NO_INDEX)
		put_thread_ids(j, r, f->thread);
	if (f->percent > 0) {
		json_key(j, "percent");
		json_double(j, f->percent);
	}
	if (f->uneven) {
		put_share(j, r, "most", &f->most);
		put_share(j, r, "least", &f->least);
	}
	json_key(j, "severity_percent");
	if (bounded && r->wall)
		json_double(j, percent(f->weight, r->wall));
	else
		json_null(j);
	put_people(j, r, "culprits", f->culprits, basis->suffers ? NO_INDEX : f->thread);
	put_people(j, r, "victims", f->victims, basis->suffers ? f->thread : NO_INDEX);
	put_places(j, r, f);
	json_key_uint_known(j, "gain_ns", f->gain, f->has_gain);
	json_key_uint_known(j, "gain_at_most_ns", gain_at_most(r, f), f->has_gain || bounded);
	json_key_uint_known(j, "weight_ns", f->weight, f->weight);
	put_confidence(j, r, f);
	put_evidence(j, r, f);
	json_key_string(j, "section", f->section);
	put_instances(j, r, f);
	json_key_string(j, "text", f->text);
	put_symptoms(j, r, f);
	json_end_object(j);
}
