/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scheduling.c - threads that could have run, and waited for a processor.
 *
 * Such a thread comes late to everything, and others wait for it in their calls, or it is itself in a call for longer
 * than the call takes: what the other tables say of both is no fault of the code. The kernel tells how long each thread
 * waited so. A thread is starved where that is
 *   - at least a tenth of the time from its first call to its end: where there are as many processors as threads, the
 *     share is some 1 or 2 %, of the system's own threads that come in between;
 *   - at least half a second: many slices of the scheduler, and not one moment in which another program began.
 * What it was queued while it waited for others in its calls does not count: by that it loses nothing (queued.c).
 * It is measured, so that no third rule must tell it from chance.
 * Less than that makes no finding, but from 3 % of a thread's time on the section of threads says it.
 *
 * Why it waited is known in one case: others that were observed and busy, too, might run on one processor alone, and
 * that was the same one. Else the whole machine may be short of processors, or the processors that the job may use
 * (taskset, cpuset, a batch system's binding), or a quota of its cgroup may hold it up, which Linux counts as the same.
 */
#include "analysis/scheduling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#define STARVED_LEAST 500000000ULL /* ns */
#define BUSY_SHARE 10 /* percent of its time that a thread wants a processor, so that it is in another one's way */
#define NAMED 3       /* of the threads that are bound to one processor */
#define SHOWN 6
#define EXCUSED_SHARE 20 /* one in so many of what it was queued: less is not told */
#define MOST_OF 0.75     /* of the processors: threads that had so much of them are in each other's way */
#define OWN_SHARE 10     /* percent of the processors' time that gaspbpf itself had: less is not told */
#define NOTED_SHARE 3    /* percent of its time: what the system's own threads take is less */

/* Threads that were busy, and might use one processor only, the same. */
struct bound {
	uint32_t cpu;
	size_t first, count; /* in scheduling.bound */
	uint64_t queued;     /* ns, of the starved ones */
};

struct scheduling {
	struct people who;
	uint32_t *starved; /* threads, the longest wait first */
	size_t nstarved;
	uint32_t *bound; /* threads, by processor */
	struct bound *groups;
	size_t ngroups; /* the longest wait first */
};

static int begin(void **state, const struct definitions *d)
{
	*state = calloc(1, sizeof(struct scheduling));
	return *state ? 0 : -ENOMEM;
}

static void forget(void *state)
{
	struct scheduling *s = state;

	if (!s)
		return;
	people_free(&s->who);
	free(s->starved);
	free(s->bound);
	free(s->groups);
	free(s);
}

uint64_t scheduling_lost(const struct report *r, uint32_t thread)
{
	uint64_t queued = scheduling_queued(&r->d->threads[thread]);

	return thread < r->nqueue_lost && r->queue_lost[thread] < queued ? r->queue_lost[thread] : queued;
}

uint64_t scheduling_lost_in(const struct report *r, size_t number)
{
	uint64_t queued = r->d->queues[number].queued;

	return number < r->nqueue_lost_in && r->queue_lost_in[number] < queued ? r->queue_lost_in[number] : queued;
}

unsigned scheduling_cpus(const struct definitions *d)
{
	unsigned cpus = d->nnodes ? 0 : d->run.cpus;

	for (size_t i = 0; i < d->nnodes; i++) {
		if (d->nodes[i].clock_of)
			continue; /* its machine has been counted */
		if (!d->nodes[i].cpus)
			return 0;
		cpus += d->nodes[i].cpus;
	}
	return cpus;
}

bool scheduling_is_held_up(const struct report *r, uint32_t thread)
{
	const struct def_thread *t = &r->d->threads[thread];

	return scheduling_lacks_processor(t) &&
	       100.0 * scheduling_lost(r, thread) >= (double)SCHEDULING_MUCH * t->observed;
}

static bool is_starved(const struct report *r, uint32_t thread)
{
	return scheduling_is_held_up(r, thread) && scheduling_lost(r, thread) >= STARVED_LEAST;
}

static bool is_bound(const struct def_thread *t)
{
	return scheduling_queue_is_known(t) && t->cpus == 1 &&
	       percent(scheduling_ran(t), t->observed) + percent(scheduling_queued(t), t->observed) >= BUSY_SHARE;
}

static int by_lost(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t left = scheduling_lost(r, x), right = scheduling_lost(r, y);

	return left != right ? (left > right ? -1 : 1) : thread_order(r->d, x, y);
}

static int by_cpu(const void *a, const void *b, void *context)
{
	const struct definitions *d = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t left = d->threads[x].cpu, right = d->threads[y].cpu;

	return left != right ? (left < right ? -1 : 1) : thread_order(d, x, y);
}

static int by_wait(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	return x->queued != y->queued ? (x->queued > y->queued ? -1 : 1) : x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Those of the bound threads that share a processor, and of which some are starved. */
static void find_groups(struct scheduling *s, const struct report *r, size_t nbound)
{
	for (size_t first = 0, next; first < nbound; first = next) {
		struct bound group = { .cpu = r->d->threads[s->bound[first]].cpu, .first = first };

		for (next = first; next < nbound && r->d->threads[s->bound[next]].cpu == group.cpu; next++)
			group.queued += is_starved(r, s->bound[next]) ? scheduling_lost(r, s->bound[next]) : 0;
		group.count = next - first;
		if (group.count > 1 && group.queued)
			s->groups[s->ngroups++] = group; /* never beyond `first` */
	}
	if (s->ngroups)
		qsort(s->groups, s->ngroups, sizeof(*s->groups), by_wait);
}

/* "rank 0 and rank 1 are both bound to CPU 0"; into text, which is returned. */
static const char *bound_text(const struct scheduling *s, const struct definitions *d, char *text, size_t room)
{
	const struct bound *group = &s->groups[0];
	size_t named = group->count <= NAMED + 1 ? group->count : NAMED, used = 0;
	char label[LABEL_ROOM];

	for (size_t i = 0; i < named; i++) {
		const char *before = !i ? "" : i + 1 == group->count ? " and " : ", ";

		used += snprintf(text + used, used < room ? room - used : 0, "%s%s", before,
				 thread_label(d, s->bound[group->first + i], label, sizeof(label)));
		used = used < room ? used : room;
	}
	if (named < group->count)
		used += snprintf(text + used, used < room ? room - used : 0, " and %zu others", group->count - named);
	used = used < room ? used : room;
	used += snprintf(text + used, room - used, " are %s bound to CPU %u", group->count == 2 ? "both" : "all",
			 group->cpu);
	used = used < room ? used : room;
	if (s->ngroups > 1)
		snprintf(text + used, room - used, ", and so it is on %zu other CPU%s", s->ngroups - 1,
			 s->ngroups > 2 ? "s" : "");
	return text;
}

/* How many processors all threads that were observed had, on average; below 0: that is not known of each of them. */
static double processors_had(const struct report *r)
{
	uint64_t observed = 0;
	double ran = 0;

	if (r->d->nnodes)
		return -1;
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct def_thread *t = &r->d->threads[r->threads[i].thread];

		if (!t->observed)
			return -1;
		observed = t->observed > observed ? t->observed : observed;
		ran += scheduling_ran(t);
	}
	for (size_t i = 0; i < r->d->nprocesses; i++)
		ran += r->d->processes[i].left_out ? 0 : (double)r->d->processes[i].quiet_run;
	return observed ? ran / observed : -1;
}

/* " (it may use CPU 1 only)"; of several that are bound, which all is said of, or of none. */
static void put_cpus(const struct scheduling *s, const struct report *r, char *text, size_t room)
{
	const struct def_thread *worst = &r->d->threads[s->starved[0]];
	size_t bound = 0;

	for (size_t i = 0; i < s->nstarved; i++)
		bound += r->d->threads[s->starved[i]].cpus == 1;
	*text = '\0';
	if (s->nstarved > 1 && bound == s->nstarved)
		snprintf(text, room, " (each of them may use one CPU only)");
	else if (s->nstarved > 1 && bound)
		snprintf(text, room, " (%zu of them may use one CPU only)", bound);
	else if (worst->cpus == 1)
		snprintf(text, room, " (it may use CPU %u only)", worst->cpu);
	else if (worst->cpus)
		snprintf(text, room, " (it may use %u)", worst->cpus);
}

/* "; gaspbpf itself used 2.8 s of CPU time from its start on", where that is a tenth of what the processors had while
 * it observed; "": it is less, or not known, as it is of several nodes. */
static const char *own_text(const struct report *r, char *text, size_t room)
{
	uint64_t whole = (r->end - r->start) * r->d->run.cpus;
	char own[FORMAT_SIZE];

	*text = '\0';
	if (whole && percent(r->d->run.own_cpu, whole) >= OWN_SHARE)
		snprintf(text, room, "; gaspbpf itself used %s of CPU time from its start on",
			 format_time(own, r->d->run.own_cpu));
	return text;
}

/* The same where it is not known: do they crowd each other out, or somebody else them? */
static const char *crowd_text(const struct scheduling *s, const struct report *r, char *text, size_t room)
{
	const struct def_thread *t = &r->d->threads[s->starved[0]];
	double had = t->cpus > 1 ? processors_had(r) : -1;
	char cpus[80];

	if (had >= 0) {
		snprintf(text, room, "%s: of %u that it may use, all that was observed had %.2f on average",
			 had < MOST_OF * t->cpus ? "others had the CPUs, or a quota held it up"
						 : "more threads wanted to run than there are CPUs for them",
			 t->cpus, had);
		return text;
	}
	put_cpus(s, r, cpus, sizeof(cpus));
	snprintf(text, room, "more threads wanted to run than there are CPUs for them%s, or a quota held %s up", cpus,
		 s->nstarved > 1 ? "them" : "it");
	return text;
}

/* "; not counted: 3.2 s in which it waited for others in calls"; "": all of it is counted. */
static const char *excused_text(uint64_t queued, uint64_t lost, char *text, size_t room)
{
	char time[FORMAT_SIZE];

	*text = '\0';
	if (queued - lost >= queued / EXCUSED_SHARE && queued > lost)
		snprintf(text, room, "; not counted: %s in calls that waited for others meanwhile",
			 format_time(time, queued - lost));
	return text;
}

static int tell(struct scheduling *s, struct report *r)
{
	const struct def_thread *worst = &r->d->threads[s->starved[0]];
	char label[LABEL_ROOM], people[LABEL_ROOM], time[FORMAT_SIZE], all[FORMAT_SIZE],
		why[NAMED * LABEL_ROOM + LABEL_ROOM + 100], excused[150], own[100];
	uint64_t observed = 0, queued = 0;
	int error;
	struct finding finding = { .kind = "starved",
				   .event = NO_INDEX,
				   .thread = s->starved[0],
				   .victims = &s->who,
				   .section = "scheduling",
				   .percent = percent(scheduling_lost(r, s->starved[0]), worst->observed) };

	for (size_t i = 0; i < s->nstarved; i++) {
		finding.weight += scheduling_lost(r, s->starved[i]);
		queued += scheduling_queued(&r->d->threads[s->starved[i]]);
		observed += r->d->threads[s->starved[i]].observed;
		if (people_add(&s->who, s->starved[i]))
			return -ENOMEM;
	}
	thread_label(r->d, s->starved[0], label, sizeof(label));
	format_time(time, scheduling_lost(r, s->starved[0]));
	excused_text(queued, finding.weight, excused, sizeof(excused));
	own_text(r, own, sizeof(own));
	if (s->ngroups)
		bound_text(s, r->d, why, sizeof(why));
	else
		crowd_text(s, r, why, sizeof(why));
	if (s->nstarved == 1)
		error = report_add_finding(
			r, &finding,
			"%s could run and had no CPU for %.0f %% of its time (%s%s): %s%s. That it is late, or "
			"its calls take long, may come from that and not from the code",
			label, finding.percent, time, excused, why, own);
	else
		error = report_add_finding(
			r, &finding,
			"%s could run and had no CPU for %.0f %% of their time (%s in all; the most: %s, %.0f %%, "
			"%s%s): %s%s. That they are late, or their calls take long, may come from that and not from "
			"the code",
			people_label(r->d, &s->who, people, sizeof(people)), percent(finding.weight, observed),
			format_time(all, finding.weight), label, finding.percent, time, excused, why, own);
	return error;
}

static int find(void *state, struct report *r)
{
	struct scheduling *s = state;
	size_t nbound = 0;

	s->starved = calloc(r->nthreads + 1, sizeof(*s->starved));
	s->bound = calloc(r->nthreads + 1, sizeof(*s->bound));
	s->groups = calloc(r->nthreads + 1, sizeof(*s->groups));
	if (!s->starved || !s->bound || !s->groups)
		return -ENOMEM;
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct def_thread *t = &r->d->threads[r->threads[i].thread];

		if (is_starved(r, r->threads[i].thread))
			s->starved[s->nstarved++] = r->threads[i].thread;
		if (is_bound(t))
			s->bound[nbound++] = r->threads[i].thread;
	}
	qsort_r(s->starved, s->nstarved, sizeof(*s->starved), by_lost, (void *)r);
	qsort_r(s->bound, nbound, sizeof(*s->bound), by_cpu, (void *)r->d);
	find_groups(s, r, nbound);
	return s->nstarved ? tell(s, r) : 0;
}

const char *scheduling_asleep(const struct def_thread *thread, uint64_t ns, const char *what, char *text, size_t room)
{
	uint64_t awake = scheduling_ran(thread) + scheduling_queued(thread);

	*text = '\0';
	if (thread->observed && thread->queue_known && awake < ns / 2)
		snprintf(text, room, "asleep for at least %.0f %% of %s", percent(ns - awake, ns), what);
	return text;
}

bool scheduling_was_awake(const struct def_thread *thread, uint64_t ns)
{
	uint64_t awake = scheduling_ran(thread) + scheduling_queued(thread);

	return scheduling_queue_is_known(thread) && (awake >= thread->observed || thread->observed - awake <= ns / 10);
}

/* Some of the threads, and what there is to add up of them. */
struct noted {
	struct people who;
	uint64_t ns, observed;
	uint32_t most; /* thread */
	uint64_t longest;
};

static int note_thread(struct noted *n, const struct report *r, uint32_t thread, uint64_t ns)
{
	if (!n->ns || ns > n->longest) {
		n->most = thread;
		n->longest = ns;
	}
	n->ns += ns;
	n->observed += r->d->threads[thread].observed;
	return people_add(&n->who, thread);
}

/* "ranks 0, 2 could run and had no CPU for 6 % of their time since their first calls (1.3 s in all" */
static size_t put_noted(const struct noted *n, const struct report *r, const char *when, char *text, size_t room)
{
	bool one = people_count(&n->who) == 1;
	char label[LABEL_ROOM], time[FORMAT_SIZE];

	return snprintf(text, room, "%s could run and had no CPU%s for %.0f %% of %s (%s%s",
			people_label(r->d, &n->who, label, sizeof(label)), when, percent(n->ns, n->observed),
			one ? "its time since its first call" : "their time since their first calls",
			format_time(time, n->ns), one ? "" : " in all");
}

static void put_note(const struct noted *n, const struct report *r, char *text, size_t room)
{
	const struct def_thread *most = &r->d->threads[n->most];
	bool one = people_count(&n->who) == 1;
	char worst[LABEL_ROOM], longest[FORMAT_SIZE], own[100], of_most[LABEL_ROOM + FORMAT_SIZE + 40] = "";
	size_t at = put_noted(n, r, ", while not waiting for others anyway,", text, room);

	at = at < room ? at : room;
	if (!one)
		snprintf(of_most, sizeof(of_most), "; the most: %s, %.0f %%, %s",
			 thread_label(r->d, n->most, worst, sizeof(worst)), percent(n->longest, most->observed),
			 format_time(longest, n->longest));
	snprintf(text + at, room - at,
		 "%s%s). That is a finding only from %s of a thread on; but by that %s late, and calls that wait for "
		 "%s long, for no fault of the code.",
		 of_most, own_text(r, own, sizeof(own)),
		 scheduling_is_held_up(r, n->most) ? "half a second" : "10 % of the time", one ? "it is" : "they are",
		 one ? "it" : "them");
}

/* They only look whether those that they wait for have come. */
static void put_excused(const struct noted *n, const struct report *r, char *text, size_t room)
{
	size_t at = put_noted(n, r, "", text, room);

	at = at < room ? at : room;
	snprintf(text + at, room - at,
		 "), and waited for others in calls for as long. Whoever asks again and again whether they have come "
		 "(busy waiting), and yields the CPU, is queued so and loses nothing by it: that is no finding.");
}

int scheduling_note(const struct report *r, char *text, size_t room)
{
	struct noted late = { 0 }, excused = { 0 };
	int error = 0;

	*text = '\0';
	for (size_t i = 0; i < r->nthreads && !error; i++) {
		uint32_t thread = r->threads[i].thread;
		const struct def_thread *t = &r->d->threads[thread];
		uint64_t lost = scheduling_lost(r, thread);

		if (!scheduling_queue_is_known(t))
			continue;
		if (is_starved(r, thread)) {
			people_free(&late.who);
			people_free(&excused.who);
			return 0;
		}
		if (percent(lost, t->observed) >= NOTED_SHARE)
			error = note_thread(&late, r, thread, lost);
		if (!error && percent(scheduling_queued(t) - lost, t->observed) >= SCHEDULING_MUCH)
			error = note_thread(&excused, r, thread, scheduling_queued(t) - lost);
	}
	if (late.ns && !error)
		put_note(&late, r, text, room);
	else if (excused.ns && !error)
		put_excused(&excused, r, text, room);
	people_free(&late.who);
	people_free(&excused.who);
	return error;
}

int scheduling_warning(const struct report *r, char *text, size_t room)
{
	struct noted starved = { 0 };
	char label[LABEL_ROOM];
	int error = 0;

	*text = '\0';
	for (size_t i = 0; i < r->nthreads && !error; i++)
		if (is_starved(r, r->threads[i].thread))
			error = note_thread(&starved, r, r->threads[i].thread,
					    scheduling_lost(r, r->threads[i].thread));
	if (starved.observed && !error)
		snprintf(text, room,
			 "Beware: %s had no CPU for %.0f %% of the time; part of this is that (--section scheduling).",
			 people_label(r->d, &starved.who, label, sizeof(label)), percent(starved.ns, starved.observed));
	people_free(&starved.who);
	return error;
}

static void print_thread(const struct printer *p, struct table *table, uint32_t thread)
{
	const struct def_thread *t = &p->r->d->threads[thread];
	uint64_t asleep = t->observed - scheduling_ran(t);
	struct who who = who_is_thread(p->r->d, thread);
	char label[LABEL_ROOM], text[FORMAT_SIZE];

	table_cell(table, "%s", label_without_tid(&who, label, sizeof(label)));
	table_cell(table, "%u", t->tid);
	table_cell(table, "%s", printer_time(p, text, t->observed));
	table_cell(table, "%.1f%%", percent(scheduling_ran(t), t->observed));
	if (t->queue_known) {
		asleep = asleep > scheduling_queued(t) ? asleep - scheduling_queued(t) : 0;
		table_cell(table, "%.1f%%", percent(scheduling_queued(t), t->observed));
		table_cell(table, "%.1f%%", percent(asleep, t->observed));
	} else {
		table_cell(table, "-");
		table_cell(table, "-");
	}
	table_cell(table, "%s", format_count(text, t->preempted));
	if (t->cpus == 1)
		table_cell(table, "CPU %u", t->cpu);
	else
		table_cell(table, t->cpus ? "%u CPUs" : "-", t->cpus);
}

static size_t count_known(const struct report *r)
{
	size_t count = 0;

	for (size_t i = 0; i < r->nthreads; i++)
		count += scheduling_is_known(&r->d->threads[r->threads[i].thread]);
	return count;
}

/* By default the starved ones, if any; whole: all threads, in their order. */
static void print(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Thread", .left = true, .shrinks = true },
		{ .title = "tid" },
		{ .title = "Observed" },
		{ .title = "CPU" },
		{ .title = "queued", .legend = "queued: it could have run, and no CPU was there for it" },
		{ .title = "asleep" },
		{ .title = "Preempted", .drop = 1 },
		{ .title = "May use" },
	};
	const struct scheduling *s = state;
	size_t count = p->whole ? count_known(p->r) : s->nstarved, shown = printer_rows(p, count), done = 0;
	struct table table = { 0 };

	if (!count)
		return;
	if (!p->whole && shown > SHOWN)
		shown = SHOWN;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&table, &columns[i]);
	for (size_t i = 0; i < shown && !p->whole; i++)
		print_thread(p, &table, s->starved[i]);
	for (size_t i = 0; i < p->r->nthreads && p->whole && done < shown; i++) {
		if (!scheduling_is_known(&p->r->d->threads[p->r->threads[i].thread]))
			continue;
		print_thread(p, &table, p->r->threads[i].thread);
		done++;
	}
	printer_titled_table(p, "%: of Observed, from the thread's first call to its end", &table);
	printer_rest(p, shown, count, "threads");
}

static void put_ids(const struct report *r, struct json *j, uint32_t thread)
{
	json_object(j);
	put_thread_ids(j, r, thread);
	json_end_object(j);
}

/* When they waited, as far as it was looked at. */
static void put_intervals(const struct report *r, struct json *j)
{
	json_key_uint_known(j, "looked_until_ns", r->d->run.queues_until, r->d->run.queues_until);
	json_key(j, "intervals");
	json_array(j);
	for (size_t i = 0; i < r->d->nqueues; i++) {
		const struct def_queue *queue = &r->d->queues[i];

		if (thread_is_left_out(r->d, queue->thread))
			continue;
		json_object(j);
		put_thread_ids(j, r, queue->thread);
		json_key_uint(j, "from_ns", queue->from);
		json_key_uint(j, "to_ns", queue->to);
		json_key_uint(j, "run_queue_ns", queue->queued);
		json_key_uint_known(j, "run_queue_lost_ns", scheduling_lost_in(r, i), r->queue_lost_in);
		json_key_uint(j, "cpu_ns", queue->run);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put(void *state, const struct report *r, struct json *j)
{
	const struct scheduling *s = state;

	json_object(j);
	json_key(j, "starved");
	json_array(j);
	for (size_t i = 0; i < s->nstarved; i++)
		put_ids(r, j, s->starved[i]);
	json_end_array(j);
	json_key(j, "bound");
	json_array(j);
	for (size_t i = 0; i < s->ngroups; i++) {
		json_object(j);
		json_key_uint(j, "cpu", s->groups[i].cpu);
		json_key(j, "threads");
		json_array(j);
		for (size_t k = 0; k < s->groups[i].count; k++)
			put_ids(r, j, s->bound[s->groups[i].first + k]);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	put_intervals(r, j);
	json_end_object(j);
}

const struct analysis analysis_scheduling = {
	.name = "scheduling",
	.title = "Waiting for a CPU",
	.needs_calls = true,
	.of_calls = true,
	.begin = begin,
	.end = find,
	.print = print,
	.json = put,
	.free = forget,
};
