/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_sums_make.c - the definitions of a recording that has only sums, from what a monitor knows.
 *
 * A probe for each event; a process and one thread (all of its threads together) for each that is kept apart, and their
 * sums. What is in the totals and in none of these (those that ended long ago, were too many at a time, or came and
 * went unseen) is a process of its own that stands for all others.
 */
#include "cli/monitor_sums_make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "util/machine.h"
#include "util/text.h"

#define NOT_OF_REPORTS (MARK_EACH | MARK_INNER | MARK_STACKED) /* marks whose meaning is that of single calls */

/* --- amounts ------------------------------------------------------------- */

struct def_sum sum_of(const struct monitor_amounts *a)
{
	struct def_sum sum = {
		.summed = a->calls - a->skipped,
		.skipped = a->skipped,
		.timed = a->timed,
		.total = a->ns,
		.min = a->min,
		.max = a->max,
		.sized = a->sized,
		.bytes = a->bytes,
	};

	memcpy(sum.bucket, a->duration, sizeof(sum.bucket));
	return sum;
}

static void add_to(struct def_sum *all, const struct def_sum *one)
{
	all->summed += one->summed;
	all->skipped += one->skipped;
	all->timed += one->timed;
	all->total += one->total;
	all->sized += one->sized;
	all->bytes += one->bytes;
	for (int i = 0; i < GB_BUCKETS; i++)
		all->bucket[i] += one->bucket[i];
}

static uint64_t less(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* The shortest and the longest call are known by their columns only, where they are not those of all. */
static void bound(struct def_sum *rest, const struct def_sum *all)
{
	int first = 0, last = GB_BUCKETS - 1;

	while (first < last && !rest->bucket[first])
		first++;
	while (last > first && !rest->bucket[last])
		last--;
	rest->min = first && all->min < 1ULL << first ? 1ULL << first : all->min;
	rest->max = last < GB_BUCKETS - 1 && all->max >= 2ULL << last ? (2ULL << last) - 1 : all->max;
}

static struct def_sum rest_of(const struct def_sum *all, const struct def_sum *told)
{
	struct def_sum rest = {
		.summed = less(all->summed, told->summed),
		.skipped = less(all->skipped, told->skipped),
		.timed = less(all->timed, told->timed),
		.total = less(all->total, told->total),
		.sized = less(all->sized, told->sized),
		.bytes = less(all->bytes, told->bytes),
	};

	for (int i = 0; i < GB_BUCKETS; i++)
		rest.bucket[i] = less(all->bucket[i], told->bucket[i]);
	bound(&rest, all);
	return rest;
}

/* --- definitions ------------------------------------------------------------ */

struct making {
	struct definitions d;
	const struct monitor_snapshot *now;
	uint32_t *probes;     /* by event */
	struct def_sum *told; /* by event: what processes of their own have */
	bool failed;          /* no memory */
};

static char *copy(struct making *m, const char *text)
{
	char *copied = text && *text ? strdup(text) : NULL;

	m->failed |= text && *text && !copied;
	return copied;
}

static char *command_line(int argc, char **argv)
{
	char *line = strdup("gaspbpf monitor"), *longer;

	for (int i = 1; i < argc && line; i++) {
		if (asprintf(&longer, "%s %s", line, argv[i]) < 0)
			longer = NULL;
		free(line);
		line = longer;
	}
	return line;
}

static void describe_run(struct making *m, const struct summed *s)
{
	const struct monitor_snapshot *now = m->now;
	struct probe_costs costs;
	struct utsname system;

	m->d.run = (struct def_run){
		.start = now->since_ns,
		.end = now->time_ns,
		.start_realtime = now->since_realtime_ns,
		.end_realtime = now->since_realtime_ns + now->time_ns - now->since_ns,
		.command = command_line(s->options->argc, s->options->argv),
		.version = copy(m, GASPBPF_VERSION),
		.rung = copy(m, now->rung),
		.budget = s->options->budget * 10000 + 0.5,
		.own_cpu = now->own_cpu_ns,
		.only_sums = true,
		.boot = clock_identity(),
		.cpus = machine_cpus(),
	};
	m->failed |= !m->d.run.command;
	if (!uname(&system)) {
		m->d.run.host = copy(m, system.nodename);
		m->d.run.kernel = copy(m, system.release);
	}
	kernel_costs(s->kernel, &costs);
	for (int class = 0; class < SITE_CLASSES; class ++) {
		m->d.run.cost_ns[class] = costs.call[class];
		m->d.run.floor_ns[class] = costs.floor[class];
	}
	m->d.loss.no_memory = now->lost;
}

static void copy_values(struct making *m, struct def_probe *probe, const struct monitor_event *event)
{
	probe->values = calloc(event->nvalues + 1, sizeof(*probe->values));
	m->failed |= !probe->values;
	for (uint32_t i = 0; i < event->nvalues && probe->values; i++) {
		struct value *v = &probe->values[probe->nvalues++];

		*v = event->values[i];
		v->name = copy(m, v->name);
		v->decoder = copy(m, v->decoder);
	}
}

static void define_event(struct making *m, size_t index)
{
	const struct monitor_event *event = &m->now->events[index];
	uint32_t number = definitions_add_probe(&m->d);

	m->probes[index] = number;
	m->failed |= number == NO_INDEX;
	if (number == NO_INDEX)
		return;
	m->d.probes[number] = (struct def_probe){
		.event = copy(m, event->name),
		.number = event->number,
		.model = copy(m, event->model),
		.role = event->role,
		.marks = event->marks & ~NOT_OF_REPORTS,
		.out_ns = event->unseen_ns,
	};
	copy_values(m, &m->d.probes[number], event);
}

static void define_events(struct making *m)
{
	uint32_t image = definitions_add_image(&m->d);

	m->failed |= image == NO_INDEX;
	if (image == NO_INDEX)
		return;
	m->d.images[image] = (struct def_image){ .path = copy(m, IMAGE_NAME) };
	for (size_t i = 0; i < m->now->nevents && !m->failed; i++) {
		m->probes[i] = NO_INDEX;
		if (m->now->events[i].total.calls || m->now->events[i].unseen_ns)
			define_event(m, i);
	}
}

/* What cannot be seen of a runtime that has calls here. */
static void define_unseen(struct making *m, const struct model *model)
{
	for (size_t i = 0; model && i < model->nunseen && !m->failed; i++) {
		uint32_t index = definitions_add_unseen(&m->d);

		m->failed |= index == NO_INDEX;
		if (index != NO_INDEX)
			m->d.unseen[index] = (struct def_unseen){ .event = copy(m, model->unseen[i].event),
								  .model = copy(m, model->name),
								  .why = copy(m, model->unseen[i].why),
								  .partly = model->unseen[i].partly };
	}
}

static void define_all_unseen(struct making *m, const struct model_set *models)
{
	for (size_t i = 0; i < models_count(models); i++) {
		const struct model *model = models_at(models, i);
		bool called = false;

		for (size_t k = 0; k < m->d.nprobes && !called; k++)
			called = same_text(m->d.probes[k].model, model->name);
		if (called)
			define_unseen(m, model);
	}
}

/* A process, and the thread that stands for all of its threads. The thread's index. */
static uint32_t define_process(struct making *m, const struct def_process *process)
{
	uint32_t index = definitions_add_process(&m->d), thread = definitions_add_thread(&m->d);

	m->failed |= index == NO_INDEX || thread == NO_INDEX;
	if (index == NO_INDEX || thread == NO_INDEX)
		return NO_INDEX;
	m->d.processes[index] = *process;
	m->d.threads[thread] = (struct def_thread){
		.process = index, .tid = process->pid, .name = copy(m, process->name), .all = true
	};
	return thread;
}

static void add_sum(struct making *m, uint32_t thread, size_t event, const struct def_sum *sum)
{
	uint32_t index = NO_INDEX;

	if (thread == NO_INDEX || event >= m->now->nevents || m->probes[event] == NO_INDEX ||
	    !(sum->summed + sum->skipped))
		return;
	index = definitions_add_sum(&m->d);
	m->failed |= index == NO_INDEX;
	if (index == NO_INDEX)
		return;
	m->d.sums[index] = *sum;
	m->d.sums[index].thread = thread;
	m->d.sums[index].probe = m->probes[event];
	m->d.loss.calls += sum->summed + sum->skipped;
	m->d.loss.summed += sum->summed;
	m->d.loss.skipped += sum->skipped;
}

/* As it stands behind the rank. */
static char *job_name(struct making *m, const struct monitor_process *p, const struct process_identity *launch)
{
	char *text;

	if (!launch->pid)
		return NULL;
	if (asprintf(&text, "%s%s%slauncher %d", *p->job ? "job " : "", p->job, *p->job ? ", " : "", launch->pid) < 0)
		text = NULL;
	m->failed |= !text;
	return text;
}

static void add_window(struct making *m, uint32_t process, const struct monitor_process *p)
{
	uint32_t index;

	if (!p->blind_ns)
		return;
	index = definitions_add_window(&m->d);
	m->failed |= index == NO_INDEX;
	if (index != NO_INDEX)
		m->d.windows[index] = (struct def_window){ .process = process,
							   .from = p->blind_from_ns,
							   .to = p->blind_to_ns,
							   .after = copy(m, "its start"),
							   .loader = NO_INDEX };
}

static uint32_t add_process(struct making *m, const struct monitor_process *p, const struct process_identity *launch)
{
	const struct def_process process = {
		.pid = p->pid,
		.parent = p->nlineage > 1 ? p->lineage[1].pid : 0,
		.command = copy(m, p->exe),
		.name = copy(m, p->comm),
		.rank = p->rank,
		.ranks = p->size,
		.start = p->since_ns > m->now->since_ns ? p->since_ns : m->now->since_ns,
		.end = p->ended_ns,
		.job = job_name(m, p, launch),
	};
	uint32_t thread = define_process(m, &process);

	if (thread != NO_INDEX)
		add_window(m, m->d.threads[thread].process, p);
	return thread;
}

static void add_own(struct making *m, uint32_t thread, size_t event, const struct def_sum *sum)
{
	add_sum(m, thread, event, sum);
	if (event < m->now->nevents)
		add_to(&m->told[event], sum);
}

static void add_processes(struct making *m, const struct summed *s)
{
	size_t alive = m->now->nalive, count = alive + s->nended;
	const struct monitor_process **all = calloc(count + 1, sizeof(*all));
	struct process_identity *launches = calloc(count + 1, sizeof(*launches));

	m->failed |= !all || !launches;
	for (size_t i = 0; i < count && !m->failed; i++)
		all[i] = i < alive ? &m->now->processes[i] : &s->ended[i - alive].was;
	m->failed = m->failed || monitor_launches(all, count, launches);
	for (size_t i = 0; i < count && !m->failed; i++) {
		uint32_t thread = add_process(m, all[i], &launches[i]);

		for (size_t k = 0; i < alive && k < all[i]->nevents; k++) {
			struct def_sum sum = sum_of(&all[i]->events[k].amounts);

			add_own(m, thread, all[i]->events[k].event, &sum);
		}
		for (size_t k = 0; i >= alive && k < s->ended[i - alive].nsums; k++) {
			const struct def_sum *sum = &s->ended[i - alive].sums[k];

			add_own(m, thread, sum->probe, sum);
		}
	}
	free(all);
	free(launches);
}

/* What the totals have and no process that is told of. */
static void add_others(struct making *m)
{
	uint32_t thread = NO_INDEX;

	for (size_t i = 0; i < m->now->nevents && !m->failed; i++) {
		struct def_sum all = sum_of(&m->now->events[i].total), rest = rest_of(&all, &m->told[i]);

		if (!rest.summed && !rest.skipped)
			continue;
		if (thread == NO_INDEX)
			thread = define_process(m, &(struct def_process){ .name = copy(m, "other processes, together"),
									  .rank = -1,
									  .ranks = -1,
									  .others = true });
		add_sum(m, thread, i, &rest);
	}
}

static int make(struct making *m, const struct summed *s)
{
	m->probes = calloc(m->now->nevents + 1, sizeof(*m->probes));
	m->told = calloc(m->now->nevents + 1, sizeof(*m->told));
	m->failed = !m->probes || !m->told;
	if (!m->failed) {
		describe_run(m, s);
		define_events(m);
	}
	if (!m->failed)
		define_all_unseen(m, s->options->models);
	if (!m->failed)
		add_processes(m, s);
	if (!m->failed)
		add_others(m);
	free(m->probes);
	free(m->told);
	return m->failed ? -ENOMEM : 0;
}

int monitor_sums_make(struct definitions *d, const struct summed *summed)
{
	struct making m = { .now = summed->now };
	int error = make(&m, summed);

	*d = m.d;
	return error;
}
