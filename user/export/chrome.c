/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome.c - the trace that ui.perfetto.dev and chrome://tracing show.
 *
 * Trace Event Format, the JSON object form. Each call is one complete event ("ph":"X") with its
 * start and duration. The viewers demand that complete events of one track (pid, tid) nest. The
 * timeline guarantees that for a lane of a thread, so each lane has a track (chrome_tracks.h).
 *
 * ts and dur are microseconds; they are written from integers of ns with three decimals, so that what
 * nests in ns nests in the file.
 *
 * The events of calls are written by chrome_call.c, into a block that is handed on when it is large, or before
 * something else is written. What is only there where somebody asks for it has files of its own: arrows, counters,
 * and what a report has found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export/call.h"
#include "export/chrome_arrows.h"
#include "export/chrome_call.h"
#include "export/chrome_counters.h"
#include "export/chrome_event.h"
#include "export/chrome_found.h"
#include "export/chrome_tracks.h"
#include "export/formats.h"
#include "export/output.h"
#include "recording/labels.h"
#include "timeline/timeline.h"
#include "util/json.h"
#include "util/log.h"

#define NAME_SIZE 1024 /* bytes of a name */
#define BLOCK_SIZE (64 << 10)

struct chrome {
	const struct definitions *d;
	unsigned extras; /* enum export_extra */
	struct json json;
	struct output *out;
	struct chrome_calls *calls;
	struct buffer block; /* events of calls, not handed on so far */
	struct chrome_tracks tracks;
	struct chrome_arrows *arrows;     /* NULL: none are wanted */
	struct chrome_counters *counters; /* likewise */
};

/* Writes the events that wait in the block. */
static void hand_on(struct chrome *c)
{
	if (!c->block.size)
		return;
	json_newline(&c->json);
	json_elements(&c->json, (const char *)c->block.data, c->block.size);
	buffer_clear(&c->block);
}

/* The track of a lane; a new one is named first. NULL: out of memory. */
static struct chrome_track *track_of(struct chrome *c, uint32_t thread, unsigned lane)
{
	struct chrome_track *track = chrome_track_known(&c->tracks, thread, lane);

	if (track)
		return track;
	hand_on(c);
	return chrome_track_add(&c->tracks, &c->json, thread, lane);
}

static int put_metadata(struct chrome *c)
{
	int error = chrome_tracks_put_processes(&c->tracks, &c->json);

	for (uint32_t i = 0; i < c->d->nthreads && !error; i++)
		if (!thread_is_left_out(c->d, i) && !track_of(c, i, 0))
			error = -ENOMEM;
	return error ?: c->json.error;
}

/* --- events ----------------------------------------------------------------------- */

/*
 * Calls, one in the other, that did not return end at one moment: when the observation did, or the thread. Viewers add
 * up ts and dur as binary fractions, by whose last bit an inner one would end after the outer one. So the deeper it
 * is, the earlier it ends, by a ns each, and nothing inside ends later.
 */
static void fit(struct chrome_track *track, const struct event *event, uint64_t *start, uint64_t *end)
{
	uint64_t cut = *end, limit = *end - event->level;

	if (*start<track->cut && * end> track->limit) {
		*end = track->limit;
		*start = *start < *end ? *start : *end;
	}
	if (event->span->reason == GB_END_RETURN || cut - *start <= event->level)
		return;
	*end = *end < limit ? *end : limit;
	track->cut = cut;
	track->limit = *end;
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	struct chrome *c = context;
	const struct span *span = event->span;
	uint64_t start = since_start(d, span->start), end = since_start(d, span->end);
	struct chrome_track *track;
	int error;

	if (event->type == EVENT_END)
		return 0;
	track = track_of(c, span->thread, event->lane);
	if (!track)
		return -ENOMEM;
	if (c->block.size)
		buffer_put(&c->block, ",\n", 2);
	if (start < track->cut || span->reason != GB_END_RETURN)
		fit(track, event, &start, &end);
	error = chrome_call_put(c->calls, &c->block, span, &track->place, start, end);
	if (c->block.size >= BLOCK_SIZE)
		hand_on(c);
	if (c->arrows)
		chrome_arrows_meet(c->arrows, span);
	if (c->counters && !error)
		error = chrome_counters_call(c->counters, span);
	return error ? error : c->json.error;
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct chrome *c = context;
	struct json *j = &c->json;
	const struct chrome_track *track = track_of(c, gap->thread, 0);
	char name[64];

	if (!track)
		return -ENOMEM;
	hand_on(c);
	snprintf(name, sizeof(name), "%llu %s lost here", (unsigned long long)gap->count,
		 gap->count == 1 ? "call" : "calls");
	chrome_begin_instant(j, "t", name, "loss", c->tracks.threads[gap->thread].pid, track->tid,
			     since_start(c->d, gap->after));
	json_key_uint(j, "count", gap->count);
	if (gap->before) { /* else up to the end */
		json_key(j, "until");
		json_micros(j, since_start(c->d, gap->before));
	}
	chrome_end(j);
	return c->counters ? chrome_counters_gap(c->counters, gap) : j->error;
}

static int put_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	struct chrome *c = context;
	struct json *j = &c->json;
	const struct chrome_track *track = track_of(c, thread, 0);

	if (!track)
		return -ENOMEM;
	hand_on(c);
	chrome_begin_instant(j, "t", control->value ? "measurement on" : "measurement off", "control",
			     c->tracks.threads[thread].pid, track->tid, since_start(c->d, control->time));
	json_key_string(j, "by", control->who);
	chrome_end(j);
	return j->error;
}

/* What was done to keep the cost low: for all threads of all processes. */
static void put_step(struct chrome *c, const struct def_step *step)
{
	const struct def_probe *probe = &c->d->probes[step->probe];
	uint64_t pid = chrome_pid(c->d, 0);
	struct json *j = &c->json;
	char name[NAME_SIZE], text[40];

	snprintf(name, sizeof(name), "%s: %s", probe->symbol ? probe->symbol : "?",
		 step_text(step, text, sizeof(text)));
	chrome_begin_instant(j, "g", name, "governor", pid, pid, since_start(c->d, step->time));
	json_key_string(j, "event", probe->event);
	if (step->thread != NO_INDEX) {
		json_key_uint(j, "tid", c->d->threads[step->thread].tid);
		json_key(j, "share");
		json_double(j, step->share / 10000.0);
	}
	chrome_end(j);
}

/* Calls that overlap lie on several tracks: of one of them alone it is not known on which. */
static bool place_of(void *context, uint32_t thread, uint64_t *pid, uint64_t *tid)
{
	const struct chrome *c = context;
	const struct chrome_thread *of = &c->tracks.threads[thread];

	if (of->nlanes != 1)
		return false;
	*pid = of->pid;
	*tid = of->lanes[0].tid;
	return true;
}

static void put_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct chrome *)context)->out, done, all);
}

/* The calls that are not on the timeline, by thread and event: with the others they are all. */
static void put_sums(struct chrome *c)
{
	struct json *j = &c->json;

	json_key(j, "not_on_timeline");
	json_array(j);
	for (size_t i = 0; i < c->d->nsums; i++) {
		const struct def_sum *sum = &c->d->sums[i];
		const struct def_thread *thread = &c->d->threads[sum->thread];

		json_object(j);
		json_key_uint(j, "pid", chrome_pid(c->d, thread->process));
		json_key_uint(j, "tid", thread->tid);
		json_key_string(j, "name", c->d->probes[sum->probe].event);
		json_key_uint(j, "lost", sum->lost);
		json_key_uint(j, "summed", sum->summed);
		json_key_uint(j, "skipped", sum->skipped);
		json_key_uint(j, "timed", sum->timed);
		json_key_uint(j, "total_ns", sum->total);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_other(struct chrome *c)
{
	const struct def_run *run = &c->d->run;
	time_t seconds = run->start_realtime / 1000000000;
	struct json *j = &c->json;
	char when[64] = "";
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(when, sizeof(when), "%FT%TZ", &utc);
	json_key(j, "otherData");
	json_object(j);
	json_key_string(j, "producer", "gaspbpf");
	json_key_string(j, "version", run->version);
	json_key_string(j, "command", run->command);
	json_key_string(j, "host", run->host);
	json_key_string(j, "kernel", run->kernel);
	json_key_string(j, "start", when);
	json_key_uint(j, "start_ns", run->start);
	json_key_uint(j, "end_ns", run->end);
	json_key_uint(j, "calls", c->d->loss.calls);
	json_key_uint(j, "delivered", c->d->loss.delivered);
	json_key_uint(j, "lost", c->d->loss.lost);
	json_key_uint(j, "summed", c->d->loss.summed);
	json_key_uint(j, "skipped", c->d->loss.skipped);
	put_sums(c);
	json_key_bool(j, "finished", run->finished);
	json_end_object(j);
}

/* Catapult's importer takes times for coarse ones, and warns, where they are not said to be fine. */
static void put_clock(struct chrome *c)
{
	json_key(&c->json, "metadata");
	json_object(&c->json);
	json_key_bool(&c->json, "highres-ticks", true);
	json_end_object(&c->json);
}

static void chrome_close(struct chrome *c)
{
	chrome_arrows_free(c->arrows);
	chrome_counters_free(c->counters);
	chrome_tracks_close(&c->tracks);
	chrome_calls_free(c->calls);
	buffer_free(&c->block);
	free(c);
}

/* NULL: out of memory. */
static struct chrome *chrome_open(struct recording *recording, int spare, unsigned extras)
{
	struct chrome *c = calloc(1, sizeof(*c));
	bool ready;

	if (!c)
		return NULL;
	c->d = recording_definitions(recording);
	c->extras = spare < 0 ? 0 : extras;
	c->calls = chrome_calls_new(c->d, c->extras & EXTRA_COLOURS);
	ready = chrome_tracks_open(&c->tracks, c->d) && c->calls;
	if (ready && c->extras & EXTRA_COUNTERS) {
		c->counters = chrome_counters_new(recording, &c->tracks, &c->json);
		ready = c->counters;
	}
	if (ready && c->extras & (EXTRA_ARROWS | EXTRA_COUNTERS)) {
		c->arrows = chrome_arrows_new(recording, c->extras & EXTRA_ARROWS ? spare : -1, c->counters);
		ready = c->arrows;
	}
	if (ready)
		return c;
	chrome_close(c);
	return NULL;
}

/* What is not in the calls themselves. */
static int put_extras(struct chrome *c, struct recording *recording)
{
	int error = c->arrows ? chrome_arrows_put(c->arrows, &c->json, place_of, c) : 0;

	if (!error && c->counters)
		error = chrome_counters_put(c->counters);
	if (!error && c->extras & (EXTRA_COUNTERS | EXTRA_FINDINGS | EXTRA_PHASES))
		error = chrome_found_put(
			&(struct chrome_found){ recording, c->extras, &c->tracks, c->counters, &c->json, c->out });
	return error;
}

static int put_events(struct chrome *c, struct recording *recording)
{
	struct timeline_ops ops = {
		.event = put_event, .gap = put_gap, .control = put_control, .progress = put_progress, .context = c
	};
	int error = put_metadata(c);

	for (size_t i = 0; i < c->d->nsteps && !error; i++)
		put_step(c, &c->d->steps[i]);
	if (!error)
		error = timeline_read(recording, &ops);
	hand_on(c);
	return error ?: put_extras(c, recording);
}

static int chrome_write_with(struct recording *recording, int fd, int spare, const char *name, unsigned extras)
{
	struct chrome *c = chrome_open(recording, spare, extras);
	int error, ended;

	if (!c)
		return -ENOMEM;
	c->out = output_open(fd, name);
	if (!c->out) {
		chrome_close(c);
		return -ENOMEM;
	}
	json_init(&c->json, output_write, c->out, false);
	json_object(&c->json);
	json_key_string(&c->json, "displayTimeUnit", "ns");
	put_other(c);
	put_clock(c);
	json_key(&c->json, "traceEvents");
	json_array(&c->json);
	error = put_events(c, recording);
	json_newline(&c->json);
	json_end_array(&c->json);
	if (recording_left_out(recording))
		json_key_uint(&c->json, "notExported", recording_left_out(recording));
	json_end_object(&c->json);
	ended = json_finish(&c->json);
	if (!error)
		error = ended;
	ended = output_close(c->out);
	chrome_close(c);
	return error ? error : ended;
}

static int chrome_write(struct recording *recording, int fd, int spare, const char *name)
{
	return chrome_write_with(recording, fd, spare, name, 0);
}

const struct exporter exporter_chrome = {
	.name = "chrome",
	.suffixes = ".json .json.gz",
	.help = "Chrome trace, for ui.perfetto.dev",
	.extras = EXTRA_ALL,
	.write = chrome_write,
	.write_with = chrome_write_with,
};
