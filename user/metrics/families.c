/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * families.c - which metrics there are (docs/metrics.md has the list for people).
 *
 * A figure that could not be observed has no series: it is not zero. Seconds and bytes are those of the calls whose
 * duration or size is known; beside them stands how many calls that were.
 */
#include "metrics/families.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics/rows.h"

struct families {
	struct rows rows;
};

/* --- the amounts of an event -------------------------------------------- */

/* 1 us to 17 s and 64 bytes to 1 GiB, in steps that keep the number of series low. Native histograms have all powers of
 * two. */
static const struct bounds event_durations = { .first = 10, .step = 2, .last = 34, .in_seconds = true };
static const struct bounds event_sizes = { .first = 3, .step = 3, .last = 30 };
static const struct bounds process_durations = { .first = 10, .step = 4, .last = 34, .in_seconds = true };
static const struct bounds process_sizes = { .first = 6, .step = 6, .last = 30 };

enum amount { CALLS, TIMED, SKIPPED, SECONDS, SIZED, BYTES, DURATION, SIZE, DURATION_NATIVE, SIZE_NATIVE, AMOUNTS };

static const struct family event_families[AMOUNTS] = {
	[CALLS] = { "gaspbpf_event_calls", "calls",
		    "Calls of the event on this machine since the monitor began, of processes that have ended, too.",
		    KIND_COUNTER },
	[TIMED] = { "gaspbpf_event_timed_calls", "calls", "Calls whose duration is known.", KIND_COUNTER },
	[SKIPPED] = { "gaspbpf_event_untimed_calls", "calls", "Calls that were only counted, to keep the cost low.",
		      KIND_COUNTER },
	[SECONDS] = { "gaspbpf_event_seconds", "seconds", "Time in the calls whose duration is known.", KIND_COUNTER },
	[SIZED] = { "gaspbpf_event_sized_calls", "calls", "Calls whose payload is known.", KIND_COUNTER },
	[BYTES] = { "gaspbpf_event_bytes", "bytes", "Payload of the calls whose payload is known.", KIND_COUNTER },
	[DURATION] = { "gaspbpf_event_duration_seconds", "seconds", "Durations of calls.", KIND_HISTOGRAM },
	[SIZE] = { "gaspbpf_event_size_bytes", "bytes", "Payload of calls.", KIND_HISTOGRAM },
	[DURATION_NATIVE] = { "gaspbpf_event_duration_nanoseconds", "nanoseconds",
			      "Durations of calls, native histogram.", KIND_HISTOGRAM },
	[SIZE_NATIVE] = { "gaspbpf_event_payload_bytes", "bytes", "Payload of calls, native histogram.",
			  KIND_HISTOGRAM },
};

static const struct family process_families[AMOUNTS] = {
	[CALLS] = { "gaspbpf_process_calls", "calls",
		    "Calls of the event by a process that lives, or has ended less than a minute ago.", KIND_COUNTER },
	[SECONDS] = { "gaspbpf_process_seconds", "seconds",
		      "Time of the process' threads in the calls whose duration is known.", KIND_COUNTER },
	[BYTES] = { "gaspbpf_process_bytes", "bytes", "Payload of the calls whose payload is known.", KIND_COUNTER },
	[DURATION] = { "gaspbpf_process_duration_seconds", "seconds", "Durations of calls by a process.",
		       KIND_HISTOGRAM },
	[SIZE] = { "gaspbpf_process_size_bytes", "bytes", "Payload of calls by a process.", KIND_HISTOGRAM },
	[DURATION_NATIVE] = { "gaspbpf_process_duration_nanoseconds", "nanoseconds",
			      "Durations of calls by a process, native histogram.", KIND_HISTOGRAM },
	[SIZE_NATIVE] = { "gaspbpf_process_payload_bytes", "bytes", "Payload of calls by a process, native histogram.",
			  KIND_HISTOGRAM },
};

/* Is there anything known of this amount? */
static bool is_known(enum amount amount, const struct monitor_event *event, const struct monitor_amounts *a)
{
	switch (amount) {
	case CALLS:
	case SKIPPED:
		return true;
	case SIZED:
		return event->moves;
	case BYTES:
	case SIZE:
	case SIZE_NATIVE:
		return event->moves && a->sized;
	default:
		return a->timed;
	}
}

static void write_amount(struct exposition *e, enum amount amount, const struct monitor_amounts *a,
			 const struct label *labels, size_t nlabels, const struct bounds *durations,
			 const struct bounds *sizes)
{
	const struct log2_histogram duration = { a->duration, a->ns }, size = { a->size, a->bytes };

	switch (amount) {
	case CALLS:
		return exposition_count(e, labels, nlabels, a->calls);
	case TIMED:
		return exposition_count(e, labels, nlabels, a->timed);
	case SKIPPED:
		return exposition_count(e, labels, nlabels, a->skipped);
	case SECONDS:
		return exposition_seconds(e, labels, nlabels, a->ns);
	case SIZED:
		return exposition_count(e, labels, nlabels, a->sized);
	case BYTES:
		return exposition_count(e, labels, nlabels, a->bytes);
	case DURATION:
		return exposition_histogram(e, labels, nlabels, &duration, durations);
	case SIZE:
		return exposition_histogram(e, labels, nlabels, &size, sizes);
	case DURATION_NATIVE:
		return exposition_native(e, labels, nlabels, &duration);
	case SIZE_NATIVE:
		return exposition_native(e, labels, nlabels, &size);
	case AMOUNTS:
		return;
	}
}

/* Native histograms have only one form: elsewhere there is no such family. */
static bool has_family(const struct exposition *e, const struct family *family, enum amount amount)
{
	return family->name && (amount < DURATION_NATIVE || e->dialect == DIALECT_PROTOBUF);
}

/* --- the whole machine, by event ---------------------------------------- */

#define EVENT_LABELS 3

static void event_labels(struct label *labels, const struct monitor_event *event)
{
	labels[0] = (struct label){ "model", event->model };
	labels[1] = (struct label){ "event", event->name };
	labels[2] = (struct label){ "role", role_name(event->role) };
}

static void write_events(struct exposition *e, const struct monitor_snapshot *s)
{
	struct label labels[EVENT_LABELS];

	for (enum amount amount = 0; amount < AMOUNTS; amount++) {
		if (!has_family(e, &event_families[amount], amount))
			continue;
		exposition_family(e, &event_families[amount]);
		for (size_t i = 0; i < s->nevents; i++) {
			const struct monitor_event *event = &s->events[i];

			if (!event->total.calls || !is_known(amount, event, &event->total))
				continue;
			event_labels(labels, event);
			write_amount(e, amount, &event->total, labels, EVENT_LABELS, &event_durations, &event_sizes);
		}
	}
}

/* Beside all others: calls that runtimes made to themselves. Of the whole machine only, so that there are no more
 * series than events. */
static void write_inner(struct exposition *e, const struct monitor_snapshot *s)
{
	static const struct family calls = { "gaspbpf_event_inner_calls", "calls",
					     "Calls that the runtime made to itself: in no other figure of the event.",
					     KIND_COUNTER };
	static const struct family seconds = { "gaspbpf_event_inner_seconds", "seconds",
					       "Time in them, which is a part of that of the calls around them.",
					       KIND_COUNTER };
	struct label labels[EVENT_LABELS];

	exposition_family(e, &calls);
	for (size_t i = 0; i < s->nevents; i++) {
		event_labels(labels, &s->events[i]);
		if (s->events[i].total.inner)
			exposition_count(e, labels, EVENT_LABELS, s->events[i].total.inner);
	}
	exposition_family(e, &seconds);
	for (size_t i = 0; i < s->nevents; i++) {
		event_labels(labels, &s->events[i]);
		if (s->events[i].total.inner_ns)
			exposition_seconds(e, labels, EVENT_LABELS, s->events[i].total.inner_ns);
	}
}

/* How each event is followed at present. */
static void write_following(struct exposition *e, const struct monitor_snapshot *s)
{
	static const struct family share = {
		"gaspbpf_event_followed_ratio", "ratio",
		"Share of the calls that are timed at present; 0: their probes are out, for the cost's sake, and no "
		"call is counted.",
		KIND_GAUGE
	};
	static const struct family unseen = { "gaspbpf_event_unseen_seconds", "seconds",
					      "How long probes were out so far: calls then are in no figure.",
					      KIND_COUNTER };
	struct label labels[EVENT_LABELS];

	exposition_family(e, &share);
	for (size_t i = 0; i < s->nevents; i++) {
		if (!s->events[i].total.calls && s->events[i].every)
			continue;
		event_labels(labels, &s->events[i]);
		exposition_number(e, labels, EVENT_LABELS, s->events[i].every ? 1.0 / s->events[i].every : 0);
	}
	exposition_family(e, &unseen);
	for (size_t i = 0; i < s->nevents; i++) {
		if (!s->events[i].unseen_ns)
			continue;
		event_labels(labels, &s->events[i]);
		exposition_seconds(e, labels, EVENT_LABELS, s->events[i].unseen_ns);
	}
}

/* --- single processes --------------------------------------------------- */

#define PROCESS_LABELS 6
#define ROW_LABELS (PROCESS_LABELS + EVENT_LABELS)

static void process_labels(struct label *labels, const struct monitor_process *process, const char *pid,
			   const char *rank)
{
	labels[0] = (struct label){ "job", *process->job ? process->job : "none" };
	labels[1] = (struct label){ "rank", rank };
	labels[2] = (struct label){ "pid", pid };
	labels[3] = (struct label){ "comm", process->comm };
	labels[4] = (struct label){ "cgroup", process->cgroup };
	labels[5] = (struct label){ "user", process->user };
}

/* At most; how many there will be is not known when a process is new. */
static size_t row_series(const struct monitor_event *event)
{
	size_t series = 2 + bounds_series(&process_durations) + 1; /* calls, seconds, durations */

	return event->moves ? series + 1 + bounds_series(&process_sizes) + 1 : series;
}

static bool brief_knows(enum amount amount, const struct brief *b)
{
	return b->calls && (amount == CALLS || amount == SECONDS || (amount == BYTES && b->sized));
}

static void write_overflow(struct exposition *e, enum amount amount, const struct rows *rows,
			   const struct monitor_snapshot *s)
{
	struct label labels[1 + EVENT_LABELS] = { { "overflow", "true" } };

	for (size_t i = 0; i < s->nevents; i++) {
		const struct brief *b = &rows->overflow[i];

		if (!brief_knows(amount, b))
			continue;
		event_labels(labels + 1, &s->events[i]);
		if (amount == SECONDS)
			exposition_seconds(e, labels, 1 + EVENT_LABELS, b->ns);
		else
			exposition_count(e, labels, 1 + EVENT_LABELS, amount == CALLS ? b->calls : b->bytes);
	}
}

/* Of processes whose rows may be short: at most so many calls are missing there. */
static void write_lost(struct exposition *e, const struct rows *rows)
{
	static const struct family lost = {
		"gaspbpf_process_lost_calls", "calls",
		"Calls of the process's user that found no room while it ran: at most so many are missing in the "
		"process's figures.",
		KIND_COUNTER
	};
	const struct monitor_process *before = NULL;
	struct label labels[PROCESS_LABELS];

	exposition_family(e, &lost);
	for (size_t i = 0; i < rows->nshown; i++) {
		const struct row *row = &rows->shown[i];

		if (row->process == before || !row->process->lost)
			continue;
		before = row->process;
		process_labels(labels, row->process, row->pid, row->rank);
		exposition_count(e, labels, PROCESS_LABELS, row->process->lost);
	}
}

static void write_processes(struct exposition *e, const struct rows *rows, const struct monitor_snapshot *s)
{
	struct label labels[ROW_LABELS];

	for (enum amount amount = 0; amount < AMOUNTS; amount++) {
		if (!has_family(e, &process_families[amount], amount))
			continue;
		exposition_family(e, &process_families[amount]);
		for (size_t i = 0; i < rows->nshown; i++) {
			const struct row *row = &rows->shown[i];

			if (!row->amounts->calls || !is_known(amount, row->event, row->amounts))
				continue;
			process_labels(labels, row->process, row->pid, row->rank);
			exposition_created(e, s->since_realtime_ns + (row->process->since_ns - s->since_ns));
			event_labels(labels + PROCESS_LABELS, row->event);
			write_amount(e, amount, row->amounts, labels, ROW_LABELS, &process_durations, &process_sizes);
		}
		exposition_created(e, s->since_realtime_ns);
		write_overflow(e, amount, rows, s);
	}
}

/* --- the monitor itself ------------------------------------------------- */

static void write_one(struct exposition *e, const struct family *family, uint64_t value)
{
	exposition_family(e, family);
	if (family->kind == KIND_COUNTER)
		exposition_count(e, NULL, 0, value);
	else
		exposition_number(e, NULL, 0, value);
}

static void write_time(struct exposition *e, const struct family *family, uint64_t ns)
{
	exposition_family(e, family);
	exposition_seconds(e, NULL, 0, ns);
}

static void write_self(struct exposition *e, const struct monitor_snapshot *s)
{
	static const struct family info = { "gaspbpf_build", NULL, "The version, and how probes are attached.",
					    KIND_INFO };
	static const struct family start = { "gaspbpf_start_time_seconds", "seconds",
					     "When the monitor began, and its counters with it.", KIND_GAUGE };
	static const struct family cost = { "gaspbpf_probe_seconds", "seconds",
					    "What probes took from all observed threads so far, by the calibration.",
					    KIND_COUNTER };
	static const struct family cpu = { "gaspbpf_cpu_seconds", "seconds", "CPU time of the monitor itself.",
					   KIND_COUNTER };
	static const struct family late = {
		"gaspbpf_blind_seconds", "seconds",
		"For how long that was so, all processes, since the monitor began: calls then are in no figure.",
		KIND_COUNTER
	};
	static const struct family longest = { "gaspbpf_blind_longest_seconds", "seconds",
					       "The longest of those times.", KIND_GAUGE };
	const struct {
		struct family family;
		uint64_t value;
	} * one, numbers[] = {
		{ { "gaspbpf_resident_bytes", "bytes", "Memory of the monitor itself.", KIND_GAUGE }, s->own_bytes },
		{ { "gaspbpf_heap_bytes", "bytes",
		    "Of that, what is in use: blocks that have been allocated and not been freed.", KIND_GAUGE },
		  s->own_heap_bytes },
		{ { "gaspbpf_processes", NULL, "Observed processes that are alive and map a known runtime.",
		    KIND_GAUGE },
		  s->nalive },
		{ { "gaspbpf_noticed_processes", NULL, "Chosen processes so far.", KIND_COUNTER }, s->noticed },
		{ { "gaspbpf_ended_processes", NULL, "Chosen processes that have ended.", KIND_COUNTER }, s->ended },
		{ { "gaspbpf_crowded_processes", NULL,
		    "Processes too many to be kept apart: they are in the events' figures only.", KIND_COUNTER },
		  s->crowded },
		{ { "gaspbpf_unseen_processes", NULL, "Processes that had ended before they could be looked at.",
		    KIND_COUNTER },
		  s->unseen },
		{ { "gaspbpf_late_processes", NULL, "Times that a process could make calls before its probes were in.",
		    KIND_COUNTER },
		  s->late },
		{ { "gaspbpf_privileged", NULL,
		    "1: it has kept the rights that observing needs, as nothing works without them on this machine. "
		    "0: it looks at others' files without any.",
		    KIND_GAUGE },
		  s->privileged },
		{ { "gaspbpf_ready", NULL,
		    "1: whoever starts now is counted from its first call. 0: probes of known libraries are still "
		    "being put in.",
		    KIND_GAUGE },
		  s->ready },
		{ { "gaspbpf_lost_calls", "calls", "Calls that are in no figure, for want of memory.", KIND_COUNTER },
		  s->lost },
		{ { "gaspbpf_lost_spans", NULL, "Calls that are counted, but that the flight recorder has not got.",
		    KIND_COUNTER },
		  s->lost_spans },
		{ { "gaspbpf_lost_news", NULL, "Times that news of processes did not fit; all were looked at then.",
		    KIND_COUNTER },
		  s->news_lost },
		{ { "gaspbpf_renewals", NULL, "Times that all probes were put in anew.", KIND_COUNTER }, s->renewals },
		{ { "gaspbpf_images", NULL, "Files looked into.", KIND_GAUGE }, s->images },
		{ { "gaspbpf_files_refused", NULL, "Files that were too much to look at, as a whole or in part.",
		    KIND_COUNTER },
		  images_refused() },
		{ { "gaspbpf_sites", NULL, "Functions probed.", KIND_GAUGE }, s->sites },
		{ { "gaspbpf_sums", NULL, "Entries in the kernel's map of sums.", KIND_GAUGE }, s->sums },
	};
	const struct label labels[] = { { "version", GASPBPF_VERSION }, { "rung", s->rung } };

	exposition_family(e, &info);
	exposition_count(e, labels, 2, 1);
	write_time(e, &start, s->since_realtime_ns);
	write_time(e, &cost, s->cost_ns);
	write_time(e, &cpu, s->own_cpu_ns);
	write_time(e, &late, s->late_ns);
	write_time(e, &longest, s->late_longest_ns);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		one = &numbers[i];
		write_one(e, &one->family, one->value);
	}
}

/* What users were refused for want of room: each falls on the user who had used up his share. */
static void write_refused_of(struct exposition *e, const struct monitor_user *user)
{
	char uid[16] = "other";
	struct label labels[] = { { "reason", NULL }, { "uid", uid } };

	if (!user->others)
		snprintf(uid, sizeof(uid), "%u", (unsigned)user->uid);
	for (int why = 0; why < REFUSALS; why++) {
		labels[0].value = refusal_name(why);
		if (user->refused[why])
			exposition_count(e, labels, 2, user->refused[why]);
	}
}

static void write_refused(struct exposition *e, const struct monitor_snapshot *s)
{
	static const struct family refused = {
		"gaspbpf_refused", NULL, "What a user was refused who had used up his share of the monitor's room.",
		KIND_COUNTER
	};

	exposition_family(e, &refused);
	for (size_t i = 0; i < s->nusers; i++)
		write_refused_of(e, &s->users[i]);
	if (s->others)
		write_refused_of(e, s->others);
}

static void write_limit(struct exposition *e, const struct rows *rows)
{
	static const struct family limit = { "gaspbpf_series_limit", NULL,
					     "Most series of single processes (--max-series).", KIND_GAUGE };
	static const struct family used = { "gaspbpf_series_reserved", NULL,
					    "Series of single processes now, counted as if each had all it can have.",
					    KIND_GAUGE };
	static const struct family over = { "gaspbpf_series_overflow_rows", NULL,
					    "Events of processes that are in overflow series, not in their own.",
					    KIND_GAUGE };

	write_one(e, &limit, rows->limit);
	write_one(e, &used, rows->used);
	write_one(e, &over, rows->over);
}

/* --- all ---------------------------------------------------------------- */

struct families *families_new(size_t max_series)
{
	struct families *families = calloc(1, sizeof(*families));

	if (families)
		families->rows.limit = max_series;
	return families;
}

void families_free(struct families *families)
{
	if (!families)
		return;
	rows_free(&families->rows);
	free(families);
}

void families_limit(struct families *families, size_t max_series)
{
	families->rows.limit = max_series;
}

int families_write(struct families *families, struct exposition *e, const struct monitor_snapshot *snapshot)
{
	int err = rows_update(&families->rows, snapshot, row_series);

	if (err)
		return err;
	exposition_created(e, snapshot->since_realtime_ns);
	write_self(e, snapshot);
	write_refused(e, snapshot);
	write_limit(e, &families->rows);
	write_events(e, snapshot);
	write_inner(e, snapshot);
	write_following(e, snapshot);
	write_processes(e, &families->rows, snapshot);
	write_lost(e, &families->rows);
	return 0;
}
