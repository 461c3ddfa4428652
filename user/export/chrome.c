/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome.c - the trace that ui.perfetto.dev and chrome://tracing show.
 *
 * Trace Event Format, the JSON object form. Each call is one complete event ("ph":"X") with its
 * start and duration. The viewers demand that complete events of one track (pid, tid) nest. The
 * timeline guarantees that for a lane of a thread, so lane 0 is the thread's own track and every
 * other lane becomes a track of its own, under a made-up tid above all real ones. The same is done for a
 * tid that stands twice in the recording (used again by the kernel), since two threads must not share a track.
 *
 * ts and dur are microseconds; they are written from integers of ns with three decimals, so that what
 * nests in ns nests in the file.
 *
 * The events of calls are written by chrome_call.c, into a block that is handed on when it is large, or before
 * something else is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uthash.h>

#include "export/call.h"
#include "export/chrome_arrows.h"
#include "export/chrome_call.h"
#include "export/formats.h"
#include "export/output.h"
#include "recording/labels.h"
#include "timeline/timeline.h"
#include "util/json.h"
#include "util/log.h"

#define PIDS_MOST (1u << 22) /* the kernel has no larger ones */
#define NAME_SIZE 1024       /* bytes of a name of a process or thread */
#define BLOCK_SIZE (64 << 10)

/* One track of the trace: a lane of a thread. */
struct track {
	uint64_t tid; /* real or made up; 0: not used so far */
	struct chrome_place place;
};

struct thread_tracks {
	uint64_t pid;
	struct track *tracks; /* by lane */
	unsigned ntracks;
};

struct used_id {
	UT_hash_handle hh;
	uint64_t key; /* pid << 32 | tid */
};

struct chrome {
	const struct definitions *d;
	struct json json;
	struct output *out;
	struct chrome_calls *calls;
	struct buffer block; /* events of calls, not handed on so far */
	struct thread_tracks *threads;
	struct used_id *used;
	uint64_t next_tid; /* made-up ones */
};

/* --- names of tracks ----------------------------------------------------------- */

static void begin_meta(struct json *j, const char *what, uint64_t pid, uint64_t tid)
{
	json_newline(j);
	json_object(j);
	json_key_string(j, "ph", "M");
	json_key_string(j, "name", what);
	json_key_uint(j, "pid", pid);
	json_key_uint(j, "tid", tid);
	json_key(j, "args");
	json_object(j);
}

static void end_meta(struct json *j)
{
	json_end_object(j);
	json_end_object(j);
}

/* On other nodes of a merged recording processes may have the same number. */
static uint64_t pid_of(const struct definitions *d, uint32_t process)
{
	if (process >= d->nprocesses)
		return 0;
	return d->processes[process].node > 1 ? PIDS_MOST + (uint64_t)process : d->processes[process].pid;
}

static void put_process(struct chrome *c, uint32_t index)
{
	const struct def_process *p = &c->d->processes[index];
	uint64_t pid = pid_of(c->d, index);
	char name[NAME_SIZE];

	process_text(c->d, index, name, sizeof(name));
	begin_meta(&c->json, "process_name", pid, pid);
	json_key_string(&c->json, "name", name);
	end_meta(&c->json);
	begin_meta(&c->json, "process_sort_index", pid, pid);
	json_key_int(&c->json, "sort_index", p->rank >= 0 ? p->rank : (int64_t)index);
	end_meta(&c->json);
}

static void put_track(struct chrome *c, uint32_t thread, unsigned lane)
{
	const struct thread_tracks *tracks = &c->threads[thread];
	struct who who = who_is_thread(c->d, thread);
	uint64_t tid = tracks->tracks[lane].tid;
	char name[NAME_SIZE];

	who.rank = -1; /* the process has it */
	lane_text(&who, lane, name, sizeof(name));
	begin_meta(&c->json, "thread_name", tracks->pid, tid);
	json_key_string(&c->json, "name", name);
	end_meta(&c->json);
	begin_meta(&c->json, "thread_sort_index", tracks->pid, tid);
	json_key_uint(&c->json, "sort_index", (uint64_t)thread * TIMELINE_LANES + lane);
	end_meta(&c->json);
}

/* Writes the events that wait in the block. */
static void hand_on(struct chrome *c)
{
	if (!c->block.size)
		return;
	json_newline(&c->json);
	json_elements(&c->json, (const char *)c->block.data, c->block.size);
	buffer_clear(&c->block);
}

/* The thread's own tid, or a made-up one where another thread has it already. 0: out of memory. */
static uint64_t own_tid(struct chrome *c, uint64_t pid, uint32_t tid)
{
	struct used_id *id = malloc(sizeof(*id)), *known;

	if (!id)
		return 0;
	id->key = pid << 32 | tid;
	HASH_FIND(hh, c->used, &id->key, sizeof(id->key), known);
	if (known || !tid) {
		free(id);
		return c->next_tid++;
	}
	HASH_ADD(hh, c->used, key, sizeof(id->key), id);
	if (!id->hh.tbl) {
		free(id);
		return 0;
	}
	return tid;
}

/* The track of a lane; a new one is named first. NULL: out of memory. */
static const struct track *track_of(struct chrome *c, uint32_t thread, unsigned lane)
{
	struct thread_tracks *tracks = &c->threads[thread];

	if (lane >= tracks->ntracks) {
		struct track *larger = realloc(tracks->tracks, (lane + 1) * sizeof(*larger));

		if (!larger)
			return NULL;
		memset(larger + tracks->ntracks, 0, (lane + 1 - tracks->ntracks) * sizeof(*larger));
		tracks->tracks = larger;
		tracks->ntracks = lane + 1;
	}
	struct track *track = &tracks->tracks[lane];

	if (!track->tid) {
		track->tid = lane ? c->next_tid++ : own_tid(c, tracks->pid, c->d->threads[thread].tid);
		if (!track->tid)
			return NULL;
		chrome_place_set(&track->place, tracks->pid, track->tid);
		hand_on(c);
		put_track(c, thread, lane);
	}
	return track;
}

static int put_metadata(struct chrome *c)
{
	for (uint32_t i = 0; i < c->d->nprocesses; i++)
		if (!c->d->processes[i].left_out)
			put_process(c, i);
	for (uint32_t i = 0; i < c->d->nthreads; i++) {
		uint32_t process = c->d->threads[i].process;

		c->threads[i].pid = pid_of(c->d, process);
		if (!thread_is_left_out(c->d, i) && !track_of(c, i, 0))
			return -ENOMEM;
	}
	return c->json.error;
}

/* --- events ----------------------------------------------------------------------- */

static void put_place(struct json *j, uint64_t pid, uint64_t tid, uint64_t ns)
{
	json_key_uint(j, "pid", pid);
	json_key_uint(j, "tid", tid);
	json_key(j, "ts");
	json_micros(j, ns);
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	struct chrome *c = context;
	const struct span *span = event->span;
	const struct track *track;
	int error;

	if (event->type == EVENT_END)
		return 0;
	track = track_of(c, span->thread, event->lane);
	if (!track)
		return -ENOMEM;
	if (c->block.size)
		buffer_put(&c->block, ",\n", 2);
	error = chrome_call_put(c->calls, &c->block, span, &track->place, since_start(c->d, span->start),
				since_start(c->d, span->end));
	if (c->block.size >= BLOCK_SIZE)
		hand_on(c);
	return error ? error : c->json.error;
}

/* An event without duration, up to its arguments, which the caller puts and ends. scope: 't' of the track, 'g' of all.
 */
static void begin_instant(struct json *j, const char *scope, const char *name, const char *category, uint64_t pid,
			  uint64_t tid, uint64_t ns)
{
	json_newline(j);
	json_object(j);
	json_key_string(j, "ph", "i");
	json_key_string(j, "s", scope);
	json_key_string(j, "name", name);
	json_key_string(j, "cat", category);
	put_place(j, pid, tid, ns);
	json_key(j, "args");
	json_object(j);
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct chrome *c = context;
	struct json *j = &c->json;
	const struct track *track = track_of(c, gap->thread, 0);
	char name[64];

	if (!track)
		return -ENOMEM;
	hand_on(c);
	snprintf(name, sizeof(name), "%llu %s lost here", (unsigned long long)gap->count,
		 gap->count == 1 ? "call" : "calls");
	begin_instant(j, "t", name, "loss", c->threads[gap->thread].pid, track->tid, since_start(c->d, gap->after));
	json_key_uint(j, "count", gap->count);
	if (gap->before) { /* else up to the end */
		json_key(j, "until");
		json_micros(j, since_start(c->d, gap->before));
	}
	json_end_object(j);
	json_end_object(j);
	return j->error;
}

static int put_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	struct chrome *c = context;
	struct json *j = &c->json;
	const struct track *track = track_of(c, thread, 0);

	if (!track)
		return -ENOMEM;
	hand_on(c);
	begin_instant(j, "t", control->value ? "measurement on" : "measurement off", "control", c->threads[thread].pid,
		      track->tid, since_start(c->d, control->time));
	json_key_string(j, "by", control->who);
	json_end_object(j);
	json_end_object(j);
	return j->error;
}

/* What was done to keep the cost low: for all threads of all processes. */
static void put_step(struct chrome *c, const struct def_step *step)
{
	const struct def_probe *probe = &c->d->probes[step->probe];
	uint64_t pid = c->d->nprocesses ? c->d->processes[0].pid : 0;
	struct json *j = &c->json;
	char name[NAME_SIZE], text[40];

	snprintf(name, sizeof(name), "%s: %s", probe->symbol ? probe->symbol : "?",
		 step_text(step, text, sizeof(text)));
	begin_instant(j, "g", name, "governor", pid, pid, since_start(c->d, step->time));
	json_key_string(j, "event", probe->event);
	if (step->thread != NO_INDEX) {
		json_key_uint(j, "tid", c->d->threads[step->thread].tid);
		json_key(j, "share");
		json_double(j, step->share / 10000.0);
	}
	json_end_object(j);
	json_end_object(j);
}

/* Calls that overlap lie on several tracks: of one of them alone it is not known on which. */
static bool place_of(void *context, uint32_t thread, uint64_t *pid, uint64_t *tid)
{
	const struct chrome *c = context;
	const struct thread_tracks *tracks = &c->threads[thread];

	if (tracks->ntracks != 1)
		return false;
	*pid = tracks->pid;
	*tid = tracks->tracks[0].tid;
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
		json_key_uint(j, "pid", pid_of(c->d, thread->process));
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

static struct chrome *chrome_open(const struct definitions *d, int fd, const char *name)
{
	struct chrome *c = calloc(1, sizeof(*c));
	uint32_t largest = 0;

	if (!c)
		return NULL;
	c->d = d;
	c->calls = chrome_calls_new(d);
	c->threads = calloc(d->nthreads + 1, sizeof(*c->threads));
	for (size_t i = 0; i < d->nthreads; i++)
		largest = d->threads[i].tid > largest ? d->threads[i].tid : largest;
	c->next_tid = (uint64_t)largest + 1;
	if (c->calls && c->threads)
		c->out = output_open(fd, name);
	return c;
}

static void chrome_close(struct chrome *c)
{
	struct used_id *id, *next;

	HASH_ITER (hh, c->used, id, next) {
		HASH_DEL(c->used, id);
		free(id);
	}
	for (size_t i = 0; c->threads && i < c->d->nthreads; i++)
		free(c->threads[i].tracks);
	free(c->threads);
	chrome_calls_free(c->calls);
	buffer_free(&c->block);
	free(c);
}

static int chrome_write(struct recording *recording, int fd, int spare, const char *name)
{
	const struct definitions *d = recording_definitions(recording);
	struct chrome *c = chrome_open(d, fd, name);
	struct timeline_ops ops = {
		.event = put_event, .gap = put_gap, .control = put_control, .progress = put_progress, .context = c
	};
	struct chrome_arrows *arrows = c && c->out ? chrome_arrows_find(recording, spare) : NULL;
	int error, ended;

	if (!arrows) {
		if (c && c->out)
			output_close(c->out);
		if (c)
			chrome_close(c);
		return -ENOMEM;
	}
	json_init(&c->json, output_write, c->out, false);
	json_object(&c->json);
	json_key_string(&c->json, "displayTimeUnit", "ns");
	put_other(c);
	json_key(&c->json, "traceEvents");
	json_array(&c->json);
	error = put_metadata(c);
	for (size_t i = 0; i < d->nsteps && !error; i++)
		put_step(c, &d->steps[i]);
	if (!error)
		error = timeline_read(recording, &ops);
	hand_on(c);
	if (!error)
		error = chrome_arrows_put(arrows, &c->json, place_of, c);
	chrome_arrows_free(arrows);
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

const struct exporter exporter_chrome = {
	.name = "chrome",
	.suffixes = ".json .json.gz",
	.help = "Chrome trace, for ui.perfetto.dev",
	.has_arrows = true,
	.write = chrome_write,
};
