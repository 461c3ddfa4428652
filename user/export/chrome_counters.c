/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_counters.c - what changes over time: what is on its way, what was lost, what the probes cost.
 *
 * How a value that changes often has few points: series.h.
 *
 * Messages and holes come in no order of time, so they wait in a file that sorts them. The price of a call is known of
 * its probe (calibration): it goes to the slot in which the call began.
 *
 * With a part of the recording a series begins with the value that it had by then.
 */
#include "export/chrome_counters.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "export/call.h"
#include "export/chrome_event.h"
#include "export/sorted.h"
#include "util/files.h"

#define SLOTS_MOST 1000
#define SLOTS_LEAST 50
#define CELLS_MOST (1u << 20) /* slots of all processes together */

enum change { LOST, RECEIVED, SENT };

/* Of a process. */
struct levels {
	struct chrome_series bytes, messages, lost;
	uint64_t has_bytes, has_messages, has_lost; /* by now */
	uint64_t *cost;                             /* ns, by slot; NULL: none */
};

struct chrome_counters {
	const struct definitions *d;
	struct chrome_tracks *tracks;
	struct json *json;
	struct series_slots slots;
	size_t nslots;
	struct levels *levels; /* by process */
	int spare;
	struct sorted *sorted; /* in that file */
	pthread_mutex_t lock;  /* of it */
};

/* --- series ----------------------------------------------------------------------- */

struct putting {
	struct chrome_counters *counters;
	const struct chrome_series *series;
};

static int put_value(void *of, const struct series_value *value)
{
	const struct putting *p = of;
	const struct chrome_series *s = p->series;

	chrome_put_count(p->counters->json, s->pid, s->name, s->unit, since_start(p->counters->d, value->time),
			 value->value);
	return 0;
}

void chrome_series_set(struct chrome_counters *c, struct chrome_series *s, uint64_t time, uint64_t value)
{
	series_set(&c->slots, &s->values, &(struct putting){ c, s }, time, value);
}

void chrome_series_end(struct chrome_counters *c, struct chrome_series *s)
{
	series_end(&c->slots, &s->values, &(struct putting){ c, s });
}

/* --- what is told of --------------------------------------------------------------- */

/* What the chosen part of the run is, and how long a slot. */
static void choose_slots(struct chrome_counters *c, struct recording *recording)
{
	const struct def_run *run = &c->d->run;
	size_t nslots = CELLS_MOST / (c->d->nprocesses + 1);

	recording_chosen_time(recording, &c->slots.from, &c->slots.to);
	if (c->slots.from < run->start)
		c->slots.from = run->start;
	if (run->end > c->slots.from && c->slots.to > run->end)
		c->slots.to = run->end;
	c->nslots = nslots < SLOTS_LEAST ? SLOTS_LEAST : nslots > SLOTS_MOST ? SLOTS_MOST : nslots;
	c->slots.width = c->slots.to > c->slots.from ? (c->slots.to - c->slots.from) / c->nslots + 1 : 1;
}

struct chrome_counters *chrome_counters_new(struct recording *recording, struct chrome_tracks *tracks,
					    struct json *json)
{
	struct chrome_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->d = recording_definitions(recording);
	c->tracks = tracks;
	c->json = json;
	c->slots.put = put_value;
	choose_slots(c, recording);
	c->levels = calloc(c->d->nprocesses + 1, sizeof(*c->levels));
	c->spare = file_temporary();
	c->sorted = c->spare < 0 ? NULL : sorted_new(c->spare);
	if (c->levels && c->sorted)
		return c;
	chrome_counters_free(c);
	return NULL;
}

void chrome_counters_free(struct chrome_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->levels && i < c->d->nprocesses; i++)
		free(c->levels[i].cost);
	free(c->levels);
	sorted_free(c->sorted);
	if (c->spare >= 0)
		close(c->spare);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

int chrome_counters_call(struct chrome_counters *c, const struct span *span)
{
	uint32_t process = c->d->threads[span->thread].process, price = c->d->probes[span->probe].cost_ns;
	uint64_t slot = span->start > c->slots.from ? (span->start - c->slots.from) / c->slots.width : 0;

	if (!price || process >= c->d->nprocesses)
		return 0;
	if (!c->levels[process].cost)
		c->levels[process].cost = calloc(c->nslots, sizeof(uint64_t));
	if (!c->levels[process].cost)
		return -ENOMEM;
	c->levels[process].cost[slot < c->nslots ? slot : c->nslots - 1] += price;
	return 0;
}

static int put_change(struct chrome_counters *c, enum change change, uint32_t process, uint64_t time, uint64_t number)
{
	const struct sorted_record record = { .time = time, .number = number, .of = process, .what = change };
	int error;

	pthread_mutex_lock(&c->lock);
	error = sorted_put(c->sorted, &record);
	pthread_mutex_unlock(&c->lock);
	return error;
}

/* False: nobody wants to see it. */
static bool is_shown(const struct chrome_counters *c, uint32_t process)
{
	return process < c->d->nprocesses && !c->d->processes[process].left_out;
}

int chrome_counters_gap(struct chrome_counters *c, const struct gap *gap)
{
	uint32_t process = c->d->threads[gap->thread].process;

	return is_shown(c, process) ? put_change(c, LOST, process, gap->after, gap->count) : 0;
}

int chrome_counters_message(struct chrome_counters *c, uint32_t sender, uint64_t start, uint64_t end, uint64_t bytes)
{
	uint32_t process = c->d->threads[sender].process;

	if (end <= start || !is_shown(c, process)) /* clocks that differ */
		return 0;
	return put_change(c, SENT, process, start, bytes) ?: put_change(c, RECEIVED, process, end, bytes);
}

/* --- what comes of it ----------------------------------------------------------------- */

static struct chrome_series series(uint64_t pid, const char *name, const char *unit)
{
	return (struct chrome_series){ .pid = pid, .name = name, .unit = unit };
}

static int take_change(void *context, const struct sorted_record *record)
{
	struct chrome_counters *c = context;
	struct levels *of = &c->levels[record->of];

	if (record->what == LOST) {
		of->has_lost += record->number;
		chrome_series_set(c, &of->lost, record->time, of->has_lost);
		return c->json->error;
	}
	of->has_messages += record->what == SENT ? 1 : -1;
	of->has_bytes += record->what == SENT ? record->number : -record->number;
	chrome_series_set(c, &of->messages, record->time, of->has_messages);
	if (of->has_bytes || of->bytes.values.some) /* else no size is known */
		chrome_series_set(c, &of->bytes, record->time, of->has_bytes);
	return c->json->error;
}

/* In percent of a processor: what the probes of the calls that began in each slot take. */
static void put_cost(struct chrome_counters *c, uint64_t pid, const uint64_t *cost)
{
	for (size_t i = 0; i <= c->nslots; i++) {
		uint64_t now = i < c->nslots ? cost[i] : 0, before = i ? cost[i - 1] : UINT64_MAX;
		uint64_t time = c->slots.from + i * c->slots.width;

		if (now == before)
			continue;
		chrome_put_share(c->json, pid, "cost of the probes", "percent of a processor",
				 since_start(c->d, time < c->slots.to ? time : c->slots.to),
				 100.0 * now / c->slots.width);
	}
}

int chrome_counters_put(struct chrome_counters *c)
{
	int error;

	for (uint32_t i = 0; i < c->d->nprocesses; i++) {
		uint64_t pid = chrome_pid(c->d, i);

		c->levels[i].bytes = series(pid, "bytes in flight", "bytes");
		c->levels[i].messages = series(pid, "messages in flight", "messages");
		c->levels[i].lost = series(pid, "calls lost", "calls");
	}
	error = sorted_read(c->sorted, take_change, c);
	for (uint32_t i = 0; i < c->d->nprocesses && !error; i++) {
		chrome_series_end(c, &c->levels[i].bytes);
		chrome_series_end(c, &c->levels[i].messages);
		chrome_series_end(c, &c->levels[i].lost);
		if (c->levels[i].cost && is_shown(c, i))
			put_cost(c, chrome_pid(c->d, i), c->levels[i].cost);
	}
	return error ?: c->json->error;
}
