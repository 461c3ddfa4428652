/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_print.c - what gaspbpf monitor prints at each interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/monitor_print.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"

#define PROCESSES_SHOWN 10

struct event_before {
	uint32_t event;
	uint64_t timed, sized, skipped, ns, bytes;
};

/* A process, as it was. */
struct process_before {
	pid_t pid;
	uint64_t start_time;
	uint64_t calls; /* all events together */
	struct event_before *events;
	size_t nevents;
};

/* 0 or -ENOMEM. */
static int sum_up(struct process_before *sum, const struct monitor_process *p)
{
	*sum = (struct process_before){ .pid = p->pid,
					.start_time = p->start_time,
					.events = calloc(p->nevents + 1, sizeof(*sum->events)) };
	if (!sum->events)
		return -ENOMEM;
	for (size_t i = 0; i < p->nevents; i++) {
		const struct monitor_amounts *a = &p->events[i].amounts;

		sum->calls += a->calls;
		sum->events[sum->nevents++] = (struct event_before){ p->events[i].event, a->timed, a->sized,
								     a->skipped,         a->ns,    a->bytes };
	}
	return 0;
}

static const struct process_before *was(const struct monitor_before *before, const struct monitor_process *p)
{
	static const struct process_before nothing;

	for (size_t i = 0; i < before->nprocesses; i++)
		if (before->processes[i].pid == p->pid && before->processes[i].start_time == p->start_time)
			return &before->processes[i];
	return &nothing;
}

static struct event_before event_was(const struct process_before *process, uint32_t event)
{
	for (size_t i = 0; i < process->nevents; i++)
		if (process->events[i].event == event)
			return process->events[i];
	return (struct event_before){ .event = event };
}

/* What calls had of something since then; those that were only counted had as much as the others, as far as anybody
 * knows. */
static double all_of(double known, double calls, double skipped, double mean_before)
{
	return known + skipped * (calls ? known / calls : mean_before);
}

static double mean_of(uint64_t sum, uint64_t calls)
{
	return calls ? (double)sum / calls : 0;
}

void monitor_print_free(struct monitor_before *before)
{
	for (size_t i = 0; i < before->nprocesses; i++)
		free(before->processes[i].events);
	free(before->events);
	free(before->processes);
	*before = (struct monitor_before){ 0 };
}

int monitor_print_begin(const struct monitor_snapshot *now, struct monitor_before *before)
{
	monitor_print_free(before);
	before->events = malloc((now->nevents + 1) * sizeof(*before->events));
	before->processes = malloc((now->nalive + 1) * sizeof(*before->processes));
	if (!before->events || !before->processes)
		return -ENOMEM;
	memcpy(before->events, now->events, now->nevents * sizeof(*before->events));
	before->nevents = now->nevents;
	for (size_t i = 0; i < now->nalive; i++, before->nprocesses++)
		if (sum_up(&before->processes[i], &now->processes[i]))
			return -ENOMEM;
	before->time_ns = now->time_ns;
	before->cost_ns = now->cost_ns;
	before->own_cpu_ns = now->own_cpu_ns;
	return 0;
}

static double seconds_since(const struct monitor_snapshot *now, const struct monitor_before *before)
{
	double ns = now->time_ns - before->time_ns;

	return ns > 0 ? ns / 1e9 : 1e-9;
}

static void print_head(const struct monitor_snapshot *now, const struct monitor_before *before, FILE *out)
{
	double since = seconds_since(now, before) * 1e9;
	time_t clock = time(NULL);
	char when[32] = "", late[FORMAT_SIZE];
	struct tm local;

	if (localtime_r(&clock, &local))
		strftime(when, sizeof(when), "%F %T", &local);
	fprintf(out,
		"%s  %zu process%s (%llu came, %llu ended)\n  cost: probes %.2f%% of a CPU, gaspbpf %.2f%%, %.1f MiB",
		when, now->nalive, now->nalive == 1 ? "" : "es", (unsigned long long)now->noticed,
		(unsigned long long)now->ended, 100 * (now->cost_ns - before->cost_ns) / since,
		100 * (now->own_cpu_ns - before->own_cpu_ns) / since, now->own_bytes / 1048576.0);
	if (now->lost)
		fprintf(out, "  LOST %llu calls (no room)", (unsigned long long)now->lost);
	fputc('\n', out);
	if (!now->ready)
		fprintf(out, "  not ready: %zu of %zu libraries have their probes\n", now->registered, now->libraries);
	if (now->late)
		fprintf(out, "  late*: %llu times a process could call before its probes were in, up to %s\n",
			(unsigned long long)now->late, format_time(late, now->late_longest_ns));
	if (now->unseen)
		fprintf(out, "  unseen: %llu processes had ended before they could be looked at\n",
			(unsigned long long)now->unseen);
}

/* A second. Calls that were only counted moved as much as the others, as far as anybody knows. */
static void put_bytes(char text[FORMAT_SIZE + 1], double bytes, double sized, double skipped, double since)
{
	if (skipped)
		*text++ = '~';
	format_bytes(text, bytes * ((sized + skipped) / sized) / since);
}

static void print_events(const struct monitor_snapshot *now, const struct monitor_before *before, FILE *out)
{
	double since = seconds_since(now, before);
	bool any = false;

	for (size_t i = 0; i < now->nevents; i++) {
		const struct monitor_event *event = &now->events[i];
		struct monitor_amounts was = { 0 };
		char rate[FORMAT_SIZE] = "-", mean[FORMAT_SIZE] = "-", bytes[FORMAT_SIZE + 1] = "-", calls[FORMAT_SIZE],
		     note[16] = "";
		uint64_t timed, sized, skipped;

		if (i < before->nevents)
			was = before->events[i].total;
		if (event->total.calls == was.calls && event->every)
			continue;
		if (!any)
			fprintf(out, "  %-29s %11s %9s %9s %9s %6s\n", "Event", "Calls", "Rate", "Mean", "Bytes/s",
				"Timed");
		any = true;
		timed = event->total.timed - was.timed;
		sized = event->total.sized - was.sized;
		skipped = event->total.skipped - was.skipped;
		if (timed)
			format_time(mean, (event->total.ns - was.ns) / timed);
		if (sized)
			put_bytes(bytes, event->total.bytes - was.bytes, sized, skipped, since);
		if (event->every || event->total.calls != was.calls) /* else nobody knows */
			format_rate(rate, (event->total.calls - was.calls) / since);
		if (!event->every)
			snprintf(note, sizeof(note), "out");
		else if (event->every > 1)
			snprintf(note, sizeof(note), "1/%u", event->every);
		fprintf(out, "  %-29s %11s %9s %9s %9s %6s\n", event->name, format_count(calls, event->total.calls),
			rate, mean, bytes, note);
		if (event->total.inner)
			fprintf(out, "  %-29s %11s\n", "  made by the runtime (inner)",
				format_count(calls, event->total.inner));
	}
}

struct busy_process {
	const struct monitor_process *process;
	double ns, calls, bytes; /* since then */
	bool estimated;          /* ns and bytes */
};

static struct busy_process busy_since(const struct monitor_process *p, const struct process_before *then)
{
	struct busy_process busy = { .process = p, .calls = -(double)then->calls };

	for (size_t i = 0; i < p->nevents; i++) {
		const struct monitor_amounts *a = &p->events[i].amounts;
		struct event_before e = event_was(then, p->events[i].event);
		double skipped = a->skipped - e.skipped;

		busy.calls += a->calls;
		busy.ns += all_of(a->ns - e.ns, a->timed - e.timed, skipped, mean_of(a->ns, a->timed));
		busy.bytes += all_of(a->bytes - e.bytes, a->sized - e.sized, skipped, mean_of(a->bytes, a->sized));
		busy.estimated |= skipped > 0;
	}
	return busy;
}

static int by_time(const void *a, const void *b)
{
	const struct busy_process *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static int print_processes(const struct monitor_snapshot *now, const struct monitor_before *before, FILE *out)
{
	double since = seconds_since(now, before);
	struct busy_process *list = calloc(now->nalive + 1, sizeof(*list));
	size_t count = now->nalive;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = busy_since(&now->processes[i], was(before, &now->processes[i]));
	qsort(list, count, sizeof(*list), by_time);
	if (count)
		fprintf(out, "  %7s %-15s %-8s %4s %-9s %9s %8s %9s\n", "Pid", "Name", "User", "Rank", "Job", "Calls/s",
			"In calls", "Bytes/s");
	for (size_t i = 0; i < count && i < PROCESSES_SHOWN; i++) {
		const struct monitor_process *p = list[i].process;
		const char *about = list[i].estimated ? "~" : "";
		char rate[FORMAT_SIZE], bytes[FORMAT_SIZE], rank[32] = "-", share[32], moved[32];

		if (p->rank >= 0)
			snprintf(rank, sizeof(rank), "%ld", p->rank);
		snprintf(share, sizeof(share), "%s%.1f%%", about, list[i].ns / 1e7 / since);
		snprintf(moved, sizeof(moved), "%s%s", list[i].bytes ? about : "",
			 format_bytes(bytes, list[i].bytes / since));
		fprintf(out, "  %7d %-15s %-8.8s %4s %-9.9s %9s %8s %9s%s\n", p->pid, log_safe(p->comm),
			log_safe(p->user), rank, *p->job ? log_safe(p->job) : "-",
			format_rate(rate, list[i].calls / since), share, moved,
			p->lost       ? " LOST some"
			: p->blind_ns ? "*"
				      : "");
	}
	if (count > PROCESSES_SHOWN)
		fprintf(out, "  ... and %zu more\n", count - PROCESSES_SHOWN);
	free(list);
	return 0;
}

int monitor_print_table(const struct monitor_snapshot *now, struct monitor_before *before, FILE *out)
{
	int err;

	print_head(now, before, out);
	print_events(now, before, out);
	err = print_processes(now, before, out);
	if (!err && fflush(out))
		err = -errno;
	return err ?: monitor_print_begin(now, before);
}

/* --- JSON -------------------------------------------------------------- */

static void write_histogram(struct json *j, const char *key, const uint64_t buckets[MONITOR_BUCKETS])
{
	json_key(j, key);
	json_array(j);
	for (int i = 0; i < MONITOR_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		json_array(j);
		json_uint(j, i ? 1ULL << i : 0);
		json_uint(j, buckets[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void write_amounts(struct json *j, const struct monitor_event *event, const struct monitor_amounts *a)
{
	json_key_string(j, "name", event->name);
	json_key_string(j, "model", event->model);
	json_key_uint(j, "calls", a->calls);
	json_key_uint(j, "timed", a->timed);
	json_key_uint(j, "skipped", a->skipped);
	json_key_uint(j, "inner", a->inner);
	json_key_uint(j, "inner_ns", a->inner_ns);
	json_key_uint(j, "total_ns", a->ns);
	if (a->timed) {
		json_key_uint(j, "min_ns", a->min);
		json_key_uint(j, "max_ns", a->max);
	}
	write_histogram(j, "histogram_ns", a->duration);
	json_key_uint(j, "sized", a->sized);
	json_key_uint_known(j, "bytes", a->bytes, a->sized);
	write_histogram(j, "histogram_bytes", a->size);
}

/* ns, CLOCK_REALTIME. */
static uint64_t as_date(const struct monitor_snapshot *now, uint64_t time_ns)
{
	return now->since_realtime_ns + time_ns - now->since_ns;
}

static void write_process(struct json *j, const struct monitor_snapshot *now, const struct monitor_process *p)
{
	json_object(j);
	json_key_int(j, "pid", p->pid);
	json_key_string(j, "comm", p->comm);
	json_key_string(j, "exe", p->exe);
	json_key_string(j, "cgroup", p->cgroup);
	json_key_string(j, "user", p->user);
	json_key_string(j, "job", p->job);
	json_key_int_known(j, "rank", p->rank, p->rank >= 0);
	json_key_int_known(j, "size", p->size, p->size >= 0);
	json_key_bool(j, "from_start", p->from_start);
	json_key_uint(j, "blind_ns", p->blind_ns);
	json_key_uint_known(j, "blind_from_ns", as_date(now, p->blind_from_ns), p->blind_ns);
	json_key_uint_known(j, "blind_to_ns", as_date(now, p->blind_to_ns), p->blind_ns);
	json_key_uint(j, "lost", p->lost);
	json_key(j, "ended");
	json_bool(j, p->ended_ns);
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < p->nevents; i++) {
		json_object(j);
		write_amounts(j, &now->events[p->events[i].event], &p->events[i].amounts);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void write_refused(struct json *j, const struct monitor_user *user)
{
	for (int why = 0; why < REFUSALS; why++) {
		if (!user->refused[why])
			continue;
		json_object(j);
		json_key_int_known(j, "uid", user->uid, !user->others);
		json_key_string(j, "reason", refusal_name(why));
		json_key_uint(j, "count", user->refused[why]);
		json_end_object(j);
	}
}

static void write_monitor(struct json *j, const struct monitor_snapshot *now)
{
	json_key(j, "monitor");
	json_object(j);
	json_key_uint(j, "since_ns", now->time_ns - now->since_ns);
	json_key_string(j, "rung", now->rung);
	json_key_bool(j, "ready", now->ready);
	json_key_bool(j, "privileged", now->privileged);
	json_key_uint(j, "noticed", now->noticed);
	json_key_uint(j, "ended", now->ended);
	json_key_uint(j, "crowded", now->crowded);
	json_key_uint(j, "unseen", now->unseen);
	json_key_uint(j, "late", now->late);
	json_key_uint(j, "late_ns", now->late_ns);
	json_key_uint(j, "late_longest_ns", now->late_longest_ns);
	json_key_uint(j, "renewals", now->renewals);
	json_key_uint(j, "lost", now->lost);
	json_key_uint(j, "news_lost", now->news_lost);
	json_key_uint(j, "cost_ns", now->cost_ns);
	json_key_uint(j, "own_cpu_ns", now->own_cpu_ns);
	json_key_uint(j, "own_bytes", now->own_bytes);
	json_key_uint(j, "own_heap_bytes", now->own_heap_bytes);
	json_key_uint(j, "images", now->images);
	json_key_uint(j, "sites", now->sites);
	json_key_uint(j, "sums", now->sums);
	json_key(j, "refused");
	json_array(j);
	for (size_t i = 0; i < now->nusers; i++)
		write_refused(j, &now->users[i]);
	write_refused(j, now->others);
	json_end_array(j);
	json_end_object(j);
}

int monitor_print_json(const struct monitor_snapshot *now, struct monitor_before *before, FILE *out)
{
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init_file(j, out, false);
	json_object(j);
	json_key_uint(j, "time_ns", as_date(now, now->time_ns));
	write_monitor(j, now);
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < now->nevents; i++) {
		const struct monitor_event *event = &now->events[i];

		if (!event->total.calls && !event->total.inner && !event->unseen_ns)
			continue;
		json_object(j);
		write_amounts(j, event, &event->total);
		json_key_uint(j, "every", event->every);
		json_key_uint(j, "unseen_ns", event->unseen_ns);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "processes");
	json_array(j);
	for (size_t i = 0; i < now->nprocesses; i++)
		if (i < now->nalive || now->processes[i].ended_ns > before->time_ns) /* once more */
			write_process(j, now, &now->processes[i]);
	before->time_ns = now->time_ns;
	json_end_array(j);
	json_end_object(j);
	err = json_finish(j);
	free(j);
	if (!err && (fputc('\n', out) == EOF || fflush(out)))
		err = -EIO;
	return err;
}
