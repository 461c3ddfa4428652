/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_findings.c - what is wrong with how tasks run.
 *
 * Where it goes, of the workers' time: a tenth for what the runtime takes, and for ready tasks that nobody runs, a
 * fifth for the others, which a good program has some of, too: at its beginning, at its end, and where its graph is
 * narrow. Time in which workers could have run and had no processor is neither the runtime's nor the program's, and is
 * taken off; of idle workers, who wait for what the others run, so much of it as tasks have of the time, and not more
 * than they take longer than the quickest one of their kind there.
 *
 * Who is slow: a worker whose tasks of one kind take SLOWER times as long on average as the others' of its class, by
 * more than chance (Welch, for all workers and kinds together at 0.1 %). Even its quickest task must be slower, by half
 * of what the means differ: a worker that happens to get the large ones is not slow, nor is one that was held up now
 * and then.
 */
#include "analysis/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"

#define WORTH 1         /* percent of the run: less is nothing to speak of */
#define TASKS_LEAST 10  /* for a word on them */
#define SMALL_LEAST 100 /* for one on their size */
#define TIMES_LARGER 10
#define RUNS_LEAST 10
#define SLOWER 1.2
#define CHANCE 0.001

enum trouble {
	TROUBLE_OVERHEAD,
	TROUBLE_READY,
	TROUBLE_BLOCKED,
	TROUBLE_LAST,
	TROUBLE_UNSUBMITTED,
	TROUBLE_DATA,
	TROUBLES
};

static const struct {
	const char *kind;
	double percent; /* of the workers' time, at least */
} troubles[TROUBLES] = {
	[TROUBLE_OVERHEAD] = { "task_overhead", 10 },      [TROUBLE_READY] = { "ready_tasks", 10 },
	[TROUBLE_BLOCKED] = { "task_dependencies", 20 },   [TROUBLE_LAST] = { "last_tasks", 20 },
	[TROUBLE_UNSUBMITTED] = { "late_submission", 20 }, [TROUBLE_DATA] = { "task_data", 20 },
};

static double workers_time(const struct task_pool *pool)
{
	return (double)pool->workers * task_time(pool->begin, pool->last);
}

/* How long its workers could have run, and had no processor. */
static double queued(const struct tasks *s, const struct task_pool *pool)
{
	double sum = 0;

	for (size_t i = 0; i < pool->workers; i++) {
		const struct def_thread *t = &s->d->threads[s->members[s->order[pool->first_worker + i]].thread];

		if (scheduling_queue_is_known(t))
			sum += scheduling_queued(t);
	}
	return sum;
}

/* How long tasks were held up by that, at most. */
static double held_up(const struct tasks *s, const struct task_pool *pool)
{
	double longer = 0, share = queued(s, pool) * pool->spent[WORKER_RUNS] / workers_time(pool);

	for (size_t i = 0; i < pool->ncells; i++) {
		const struct task_cell *cell = &s->cells[pool->first_cell + i];

		longer += cell->times.count * (cell->times.mean - cell->least);
	}
	return longer < share ? longer : share;
}

/* ns of the workers' time. */
static double lost_to(const struct tasks *s, const struct task_pool *pool, enum trouble trouble)
{
	double lost = 0;

	if (!pool->has_workers || pool->executed < TASKS_LEAST || pool->missing || pool->interrupted)
		return 0;
	if (trouble == TROUBLE_DATA)
		return pool->spent[WORKER_DATA];
	if (!pool->matched || !pool->knows_ready)
		return 0;
	switch (trouble) {
	case TROUBLE_OVERHEAD:
		lost = pool->executed >= SMALL_LEAST ? pool->overhead : 0;
		break;
	case TROUBLE_READY:
		lost = pool->idle[IDLE_READY];
		break;
	case TROUBLE_BLOCKED:
		lost = pool->idle[IDLE_BLOCKED];
		break;
	case TROUBLE_LAST:
		lost = pool->idle[IDLE_LAST];
		break;
	default:
		lost = pool->idle[IDLE_UNSUBMITTED];
		break;
	}
	lost -= trouble == TROUBLE_OVERHEAD ? queued(s, pool) : held_up(s, pool);
	return lost > 0 ? lost : 0;
}

/* The kind of the pool that has most of something; NULL: none has any. */
enum most { MOST_EXECUTED, MOST_BLOCKED, MOST_WAITED };

static uint64_t amount(const struct task_kind *kind, enum most most)
{
	return most == MOST_EXECUTED ? kind->executed : most == MOST_BLOCKED ? kind->blocked.sum : kind->waited.sum;
}

static const struct task_kind *kind_with_most(const struct tasks *s, uint32_t pool, enum most most)
{
	const struct task_kind *best = NULL;

	for (size_t i = 0; i < s->pools[pool].nkinds; i++) {
		const struct task_kind *kind = &s->kinds[s->kind_order[s->pools[pool].first_kind + i]];

		if (amount(kind, most) && (!best || amount(kind, most) > amount(best, most)))
			best = kind;
	}
	return best;
}

/* ", submitted at a.c:10 in main" */
static const char *submitted_at(const struct tasks *s, const struct task_kind *kind, char *text, size_t room)
{
	char label[LABEL_ROOM];

	*text = '\0';
	if (kind && kind->site.lead && kind->site.site != NO_INDEX)
		snprintf(text, room, ", submitted at %s", site_label(s->d, kind->site.site, label, sizeof(label)));
	return text;
}

/* " of rank 3", where there are several processes with tasks. */
static const char *of_process(const struct tasks *s, const struct task_pool *pool, char *text, size_t room)
{
	char label[LABEL_ROOM];
	size_t others = 0;

	*text = '\0';
	for (size_t i = 0; i < s->npools; i++)
		others += s->pools[i].process != pool->process && s->pools[i].workers;
	if (others)
		snprintf(text, room, " of %s", process_label(s->d, pool->process, label, sizeof(label)));
	return text;
}

/* The thread of the program that submits most. NO_INDEX: none does. */
static uint32_t submitter(const struct tasks *s, uint32_t pool, const struct task_member **which)
{
	*which = NULL;
	for (size_t i = 0; i < s->nmembers; i++) {
		const struct task_member *m = &s->members[i];

		if (m->pool == pool && m->submitted && (!*which || m->submitted > (*which)->submitted))
			*which = m;
	}
	return *which ? (*which)->thread : NO_INDEX;
}

/* How it begins: for how much of their time, and why in general. */
static const char *const headings[TROUBLES] = {
	[TROUBLE_OVERHEAD] = "The runtime takes",
	[TROUBLE_READY] = "Workers are idle while tasks are ready:",
	[TROUBLE_BLOCKED] = "Workers are idle since tasks wait for others:",
	[TROUBLE_LAST] = "Workers are idle while the program waits for the last tasks:",
	[TROUBLE_UNSUBMITTED] = "Workers are idle as nothing is submitted:",
	[TROUBLE_DATA] = "Workers wait for the data of tasks:",
};

/* What is said of it behind the number; kind: that has most to do with it. */
static void why(const struct tasks *s, uint32_t number, enum trouble trouble, const struct task_kind *kind,
		struct finding *finding, char *text, size_t room)
{
	const struct task_pool *pool = &s->pools[number];
	char label[LABEL_ROOM] = "?", site[LABEL_ROOM + 20], a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE],
	     d[FORMAT_SIZE], who[LABEL_ROOM];
	uint64_t mean = pool->spent[WORKER_RUNS] / pool->executed;
	const struct task_member *by;

	if (kind)
		task_kind_label(s, kind, label, sizeof(label));
	submitted_at(s, kind, site, sizeof(site));
	switch (trouble) {
	case TROUBLE_OVERHEAD:
		snprintf(text, room,
			 "%s for each of %s tasks, which run %s on average (most of them %s%s). Tasks %d times as "
			 "large would give %s at most",
			 format_time(a, task_pool_overhead(pool)), format_count(b, pool->executed),
			 format_time(c, mean), label, site, TIMES_LARGER,
			 format_time(d, pool->overhead / pool->workers * (TIMES_LARGER - 1) / TIMES_LARGER));
		break;
	case TROUBLE_READY:
		snprintf(text, room,
			 "the tasks wait for a certain worker, or were given to one that is busy (those that wait "
			 "longest: %s, %s each on average%s)",
			 label, format_time(a, kind && kind->waited.count ? kind->waited.sum / kind->waited.count : 0),
			 site);
		break;
	case TROUBLE_BLOCKED:
		snprintf(text, room,
			 "the longest wait those of %s%s. The longest chain of tasks that was seen takes %s of the %s, "
			 "whatever the number of workers",
			 label, site, format_time(a, pool->longest.time),
			 format_time(b, task_time(pool->begin, pool->last)));
		break;
	case TROUBLE_LAST:
		snprintf(text, room,
			 "there are too few between two waits, or they are too large (mean %s, most of them %s%s)",
			 format_time(a, mean), label, site);
		break;
	case TROUBLE_UNSUBMITTED:
		finding->thread = submitter(s, number, &by);
		snprintf(text, room, "%s is too slow at it (%s in the calls that submit)%s",
			 by ? thread_label(s->d, by->thread, who, sizeof(who)) : "the program",
			 format_time(a, by ? by->submitting : 0), site);
		break;
	default:
		snprintf(text, room, "most of them are %s%s", label, site);
		break;
	}
}

/* Of the run: the workers cannot be done before the area bound, whatever they do not lose any more. */
static uint64_t bound(const struct task_pool *pool, double lost)
{
	double time = task_time(pool->begin, pool->last), most = lost < time ? lost : time;

	if (pool->has_area && !pool->missing && time - pool->area < most)
		most = time - pool->area;
	return most > 0 ? (uint64_t)most : 0;
}

/* "; mended, the 24 s observed would be at most 0.3 s (1.2 %) shorter" */
static const char *would_give(const struct report *r, uint64_t most, char *text, size_t room)
{
	char time[FORMAT_SIZE], run[OBSERVED_ROOM];

	*text = '\0';
	if (most)
		snprintf(text, room, "; mended, %s would be at most %s (%.1f %%) shorter",
			 report_observed(r, run, sizeof(run)), format_time(time, most),
			 percent(most, r->end - r->start));
	return text;
}

static int tell(const struct tasks *s, struct report *r, uint32_t number, enum trouble trouble, double lost,
		size_t others)
{
	const struct task_pool *pool = &s->pools[number];
	const struct task_kind *kind = kind_with_most(s, number,
						      trouble == TROUBLE_BLOCKED ? MOST_BLOCKED
						      : trouble == TROUBLE_READY ? MOST_WAITED
										 : MOST_EXECUTED);
	char reason[4 * LABEL_ROOM], process[LABEL_ROOM + 8], time[FORMAT_SIZE], more[80] = "", gives[120];
	struct finding finding = { .kind = troubles[trouble].kind,
				   .event = NO_INDEX,
				   .thread = NO_INDEX,
				   .weight = (uint64_t)lost,
				   .percent = 100 * lost / workers_time(pool),
				   .bound = bound(pool, lost),
				   .regularity = { .what = "tasks",
						   .times = pool->executed,
						   .of = pool->executed,
						   .mean = (double)pool->spent[WORKER_RUNS] / pool->executed,
						   .deviation = -1 },
				   .section = "tasks" };

	if (kind)
		finding.event = profile_event(r->profile, s->d, kind->probe);
	if (kind && kind->site.lead && kind->site.site != NO_INDEX) {
		finding.has_site = true;
		finding.site = kind->site.site;
	}
	why(s, number, trouble, kind, &finding, reason, sizeof(reason));
	if (others)
		snprintf(more, sizeof(more), ". So it is in %zu other process%s", others, others == 1 ? "" : "es");
	return report_add_finding(r, &finding, "%s %.0f %% of the time of the %" PRIu64 " worker%s%s (%s): %s%s%s",
				  headings[trouble], finding.percent, pool->workers, plural(pool->workers),
				  of_process(s, pool, process, sizeof(process)), format_time(time, finding.weight),
				  reason, more, would_give(r, finding.bound, gives, sizeof(gives)));
}

/* The process that loses most by it, if any loses enough. */
static int look_for(const struct tasks *s, struct report *r, enum trouble trouble)
{
	double run = task_time(r->start, r->end), worst = 0;
	uint32_t which = NO_INDEX;
	size_t count = 0;

	for (size_t i = 0; i < s->npools; i++) {
		const struct task_pool *pool = &s->pools[i];
		double lost = lost_to(s, pool, trouble), time = workers_time(pool);

		if (!pool->workers || 100 * lost < troubles[trouble].percent * time || lost <= 0 ||
		    100 * lost / pool->workers < WORTH * run)
			continue;
		count++;
		if (lost > worst) {
			worst = lost;
			which = i;
		}
	}
	return which == NO_INDEX ? 0 : tell(s, r, which, trouble, worst, count - 1);
}

/* --- slow workers ------------------------------------------------------------------ */

static void join(struct sample *sample, const struct sample *other)
{
	double apart = other->mean - sample->mean, all = sample->count + other->count;

	if (!other->count)
		return;
	sample->squares += other->squares + apart * apart * sample->count * other->count / all;
	sample->mean += apart * other->count / all;
	sample->count += other->count;
}

/* The other workers of the same class, in the same kind of task. */
struct others {
	struct sample times;
	uint64_t least;
	size_t workers;
};

static struct others others_of(const struct tasks *s, const struct task_pool *pool, size_t first, size_t next,
			       size_t cell)
{
	struct others others = { .least = UINT64_MAX };

	for (size_t i = first; i < next; i++) {
		const struct task_cell *is = &s->cells[i];

		if (i == cell || s->members[is->member].class != s->members[s->cells[cell].member].class)
			continue;
		join(&others.times, &is->times);
		others.least = is->least < others.least ? is->least : others.least;
		others.workers++;
	}
	return others;
}

/* How much longer its tasks take in all, ns; 0: it is not slow. */
static double excess(const struct tasks *s, const struct task_cell *cell, const struct others *others)
{
	double apart = cell->times.mean - others->times.mean, chance;

	if (cell->times.count < RUNS_LEAST || others->times.count < RUNS_LEAST || !s->members[cell->member].worker ||
	    cell->times.mean < SLOWER * others->times.mean || (double)cell->least - (double)others->least < apart / 2)
		return 0;
	chance = welch_test(&cell->times, &others->times);
	return chance >= 0 && chance * s->ncells < CHANCE ? apart * cell->times.count : 0;
}

struct slow {
	const struct task_cell *cell;
	struct others others;
	double excess;
};

#define COMPARED_MOST 256 /* workers of one kind of task: each is compared with all others */

static void look_at_pool(const struct tasks *s, const struct task_pool *pool, struct slow *worst)
{
	for (size_t first = 0, next; first < pool->ncells; first = next) {
		const struct task_cell *cells = &s->cells[pool->first_cell];

		for (next = first; next < pool->ncells && cells[next].kind == cells[first].kind;)
			next++;
		for (size_t i = first; i < next && next - first <= COMPARED_MOST; i++) {
			struct others others = others_of(s, pool, pool->first_cell + first, pool->first_cell + next,
							 pool->first_cell + i);
			double more = excess(s, &cells[i], &others);

			if (100 * more >= WORTH * workers_time(pool) && more > worst->excess)
				*worst = (struct slow){ &cells[i], others, more };
		}
	}
}

static int look_for_slow(const struct tasks *s, struct report *r)
{
	struct slow worst = { 0 };
	char kind[LABEL_ROOM], who[LABEL_ROOM], here[FORMAT_SIZE], there[FORMAT_SIZE], more[FORMAT_SIZE],
		count[FORMAT_SIZE], gives[120], asleep[60], others[40] = "worker";
	const struct task_member *m;
	uint64_t time;
	bool sleeps;
	struct finding finding = { .kind = "slow_worker", .section = "tasks" };

	for (size_t i = 0; i < s->npools; i++)
		look_at_pool(s, &s->pools[i], &worst);
	if (!worst.cell)
		return 0;
	m = &s->members[worst.cell->member];
	finding.event = profile_event(r->profile, s->d, s->kinds[worst.cell->kind].probe);
	finding.thread = m->thread;
	finding.weight = (uint64_t)worst.excess;
	time = task_time(s->pools[m->pool].begin, s->pools[m->pool].last);
	finding.percent = 100 * worst.excess / time;
	finding.bound = finding.weight < time ? finding.weight : time;
	finding.regularity = (struct finding_regularity){ .what = "tasks of this kind that it ran",
							  .times = worst.cell->times.count,
							  .of = worst.cell->times.count,
							  .mean = worst.cell->times.mean,
							  .deviation = sample_deviation(&worst.cell->times),
							  .least = worst.cell->least,
							  .most = worst.cell->most };
	if (worst.others.workers > 1)
		snprintf(others, sizeof(others), "%zu workers", worst.others.workers);
	sleeps = *scheduling_asleep(&s->d->threads[m->thread], worst.cell->total, "that", asleep, sizeof(asleep));
	return report_add_finding(
		r, &finding,
		"%s runs tasks of %s in %s on average, the other %s like it in %s: %s more in its %s tasks, "
		"%.0f %% of its time%s%s%s",
		thread_label(s->d, m->thread, who, sizeof(who)),
		task_kind_label(s, &s->kinds[worst.cell->kind], kind, sizeof(kind)),
		format_time(here, worst.cell->times.mean), others, format_time(there, worst.others.times.mean),
		format_time(more, finding.weight), format_count(count, worst.cell->times.count), finding.percent,
		sleeps ? "; it is " : "", sleeps ? asleep : "", would_give(r, finding.bound, gives, sizeof(gives)));
}

int tasks_tell(const struct tasks *s, struct report *r)
{
	int error = 0;

	for (int i = 0; i < TROUBLES && !error; i++)
		error = look_for(s, r, i);
	return error ?: look_for_slow(s, r);
}
