/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope.c - a profile of each thread for speedscope.app.
 *
 * The viewer's own format, of its "evented" kind: a profile is a list of frames that open and close, each close that of
 * the latest open, times never going back. A thread is a profile, ranks in their order; a thread on several stacks is
 * one for each stack (a lane of the timeline). A frame is an event, whatever its arguments: so the viewer's table
 * has one row for each event, as the report has.
 *
 * The timeline guarantees the order, but tells of the threads in turns, while a profile stands in one piece. So what
 * happens is kept by lane in a spool, as two numbers: the time since the lane's last event, and the frame with one bit
 * for what happens to it. All profiles begin with the run and end with it, so that threads stand side by side.
 *
 * The format has no place for calls that are missing. How many they are is said in the thread's name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "export/call.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/spool.h"
#include "recording/labels.h"
#include "timeline/timeline.h"
#include "util/array.h"
#include "util/digits.h"
#include "util/json.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"
#define NAME_SIZE 1024
#define EVENT_ROOM (64 + 2 * DIGITS_ROOM) /* {"type":"O","frame":7,"at":1234}, with its comma */

/* A lane of a thread: one profile. */
struct track {
	struct heap events;
	uint64_t last; /* ns since the run began: when the latest of them happened */
};

struct tracks {
	struct track *lanes;
	size_t nlanes, room;
};

struct frame {
	uint32_t probe; /* one of the event's */
	uint32_t image; /* NO_INDEX: none, or several */
};

struct speedscope {
	const struct definitions *d;
	struct json json;
	struct output *out;
	struct spool *spool;
	struct event_names names; /* their numbers are the frames' */
	struct frame *frames;
	uint32_t *frame_of;     /* by probe */
	struct tracks *threads; /* by thread */
	uint64_t *missing;      /* by thread: calls that are not on the timeline */
	uint32_t *order;        /* the threads that are shown */
	size_t nshown;
	uint64_t end; /* ns since the run began */
};

/* --- what is known beforehand --------------------------------------------------- */

static int find_frames(struct speedscope *s)
{
	for (uint32_t i = 0; i < s->d->nprobes; i++) {
		const struct def_probe *probe = &s->d->probes[i];
		struct event_key key = event_key_of(probe, probe->marks & MARK_INNER);
		uint32_t known = s->names.count, number = event_names_number(&s->names, &key);

		if (number == NO_INDEX)
			return -ENOMEM;
		s->frame_of[i] = number;
		if (number == known)
			s->frames[number] = (struct frame){ .probe = i, .image = probe->image };
		else if (s->frames[number].image != probe->image)
			s->frames[number].image = NO_INDEX;
	}
	return 0;
}

static int in_order(const void *a, const void *b, void *definitions)
{
	return thread_order(definitions, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void find_threads(struct speedscope *s)
{
	for (uint32_t i = 0; i < s->d->nthreads; i++) {
		if (!thread_is_left_out(s->d, i))
			s->order[s->nshown++] = i;
	}
	qsort_r(s->order, s->nshown, sizeof(*s->order), in_order, (void *)s->d);
}

/* --- events ---------------------------------------------------------------------- */

static int keep(struct speedscope *s, struct track *track, uint64_t time, uint32_t frame, bool closes)
{
	struct buffer *piece;
	int error = spool_room(s->spool, &track->events, &piece);

	if (error)
		return error;
	buffer_put_varint(piece, time - track->last);
	buffer_put_varint(piece, (uint64_t)frame << 1 | closes);
	track->last = time;
	if (time > s->end)
		s->end = time;
	return piece->failed ? -ENOMEM : 0;
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	struct speedscope *s = context;
	struct tracks *tracks = &s->threads[event->span->thread];
	uint32_t frame = s->frame_of[event->span->probe];
	uint64_t time = since_start(d, event->time);
	struct track *track;
	int error = 0;

	if (array_reach(&tracks->lanes, &tracks->room, event->lane + 1, sizeof(*tracks->lanes)))
		return -ENOMEM;
	if (event->lane >= tracks->nlanes)
		tracks->nlanes = event->lane + 1;
	track = &tracks->lanes[event->lane];
	if (event->type != EVENT_END)
		error = keep(s, track, time, frame, false);
	if (!error && event->type != EVENT_START)
		error = keep(s, track, time, frame, true);
	return error;
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	((struct speedscope *)context)->missing[gap->thread] += gap->count;
	return 0;
}

/* Reading the recording is half of the work. */
static void put_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct speedscope *)context)->out, done, 2 * all);
}

/* --- the file -------------------------------------------------------------------- */

static void put_frames(struct speedscope *s)
{
	struct json *j = &s->json;

	json_key(j, "shared");
	json_object(j);
	json_key(j, "frames");
	json_array(j);
	for (uint32_t i = 0; i < s->names.count; i++) {
		const struct frame *frame = &s->frames[i];
		const struct def_probe *probe = &s->d->probes[frame->probe];
		char label[LABEL_ROOM];

		json_newline(j);
		json_object(j);
		json_key_string(j, "name", event_label(probe, probe->marks & MARK_INNER, label, sizeof(label)));
		if (frame->image < s->d->nimages && s->d->images[frame->image].path)
			json_key_string(j, "file", s->d->images[frame->image].path);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

struct reading {
	struct speedscope *s;
	struct buffer texts;
	uint64_t time;
};

/* Pieces of a heap as elements of the array "events". */
static int put_pieces(void *context, struct cursor *pieces)
{
	struct reading *reading = context;
	struct json *j = &reading->s->json;

	buffer_clear(&reading->texts);
	while (pieces->at < pieces->end) {
		uint64_t code;
		uint8_t *room = buffer_reserve(&reading->texts, EVENT_ROOM);
		char *to = (char *)room;

		if (!room)
			return -ENOMEM;
		reading->time += cursor_varint(pieces);
		code = cursor_varint(pieces);
		if (pieces->failed)
			return -EIO;
		if (reading->texts.size)
			to = stpcpy(to, ",\n");
		to = stpcpy(to, code & 1 ? "{\"type\":\"C\",\"frame\":" : "{\"type\":\"O\",\"frame\":");
		to = stpcpy(digits_uint(to, code >> 1), ",\"at\":");
		to = stpcpy(digits_uint(to, reading->time), "}");
		reading->texts.size += to - (char *)room;
	}
	json_newline(j);
	json_elements(j, (const char *)reading->texts.data, reading->texts.size);
	return j->error;
}

static int put_profile(struct speedscope *s, uint32_t thread, size_t lane)
{
	const struct tracks *tracks = &s->threads[thread];
	struct reading reading = { .s = s };
	struct json *j = &s->json;
	char name[NAME_SIZE], missing[64] = "";
	struct who who = who_is_thread(s->d, thread);
	int error = 0;

	if (s->missing[thread])
		snprintf(missing, sizeof(missing), ", without %" PRIu64 " %s", s->missing[thread],
			 s->missing[thread] == 1 ? "call" : "calls");
	lane_text(&who, lane, name, sizeof(name) - sizeof(missing));
	strcat(name, missing);
	json_newline(j);
	json_object(j);
	json_key_string(j, "type", "evented");
	json_key_string(j, "name", name);
	json_key_string(j, "unit", "nanoseconds");
	json_key_uint(j, "startValue", 0);
	json_key_uint(j, "endValue", s->end);
	json_key(j, "events");
	json_array(j);
	if (lane < tracks->nlanes)
		error = spool_read(s->spool, &tracks->lanes[lane].events, put_pieces, &reading);
	json_end_array(j);
	json_end_object(j);
	buffer_free(&reading.texts);
	return error ? error : j->error;
}

static int put_profiles(struct speedscope *s)
{
	int error = 0;

	json_key(&s->json, "profiles");
	json_array(&s->json);
	for (size_t i = 0; i < s->nshown && !error; i++) {
		const struct tracks *tracks = &s->threads[s->order[i]];

		for (size_t lane = 0; (!lane || lane < tracks->nlanes) && !error; lane++)
			error = put_profile(s, s->order[i], lane);
		output_progress(s->out, s->nshown + i + 1, 2 * s->nshown);
	}
	json_end_array(&s->json);
	return error;
}

static bool has_events(const struct track *track)
{
	return track->events.first || track->events.rest.size;
}

/* The first profile that shows anything; else the first one. */
static size_t first_to_show(const struct speedscope *s)
{
	size_t profile = 0;

	for (size_t i = 0; i < s->nshown; i++) {
		const struct tracks *tracks = &s->threads[s->order[i]];

		for (size_t lane = 0; lane < tracks->nlanes; lane++) {
			if (has_events(&tracks->lanes[lane]))
				return profile + lane;
		}
		profile += tracks->nlanes ?: 1;
	}
	return 0;
}

static int put_file(struct speedscope *s)
{
	const struct def_process *job = s->nshown ? thread_process(s->d, s->order[0]) : NULL;
	struct json *j = &s->json;
	int error, ended;

	json_init(j, output_write, s->out, false);
	json_object(j);
	json_key_string(j, "$schema", SCHEMA);
	json_key_string(j, "exporter", "gaspbpf " GASPBPF_VERSION);
	json_key_string(j, "name", job && job->command ? job->command : "gaspbpf");
	if (s->nshown)
		json_key_uint(j, "activeProfileIndex", first_to_show(s));
	put_frames(s);
	json_newline(j);
	error = put_profiles(s);
	json_newline(j);
	json_end_object(j);
	ended = json_finish(j);
	return error ? error : ended;
}

static int speedscope_open(struct speedscope *s, int fd, int spare, const char *name)
{
	const struct def_run *run = &s->d->run;

	s->frames = calloc(s->d->nprobes + 1, sizeof(*s->frames));
	s->frame_of = calloc(s->d->nprobes + 1, sizeof(*s->frame_of));
	s->threads = calloc(s->d->nthreads + 1, sizeof(*s->threads));
	s->missing = calloc(s->d->nthreads + 1, sizeof(*s->missing));
	s->order = calloc(s->d->nthreads + 1, sizeof(*s->order));
	s->spool = spool_new(spare);
	if (!s->frames || !s->frame_of || !s->threads || !s->missing || !s->order || !s->spool || find_frames(s))
		return -ENOMEM;
	find_threads(s);
	s->end = since_start(s->d, run->end);
	s->out = output_open(fd, name);
	return s->out ? 0 : -ENOMEM;
}

static void speedscope_close(struct speedscope *s)
{
	for (size_t i = 0; s->threads && i < s->d->nthreads; i++) {
		for (size_t lane = 0; lane < s->threads[i].nlanes; lane++)
			heap_free(&s->threads[i].lanes[lane].events);
		free(s->threads[i].lanes);
	}
	free(s->threads);
	free(s->missing);
	free(s->order);
	free(s->frames);
	free(s->frame_of);
	event_names_free(&s->names);
	spool_free(s->spool);
	free(s);
}

static int speedscope_write(struct recording *recording, int fd, int spare, const char *name)
{
	struct speedscope *s = calloc(1, sizeof(*s));
	struct timeline_ops ops = { .event = put_event, .gap = put_gap, .progress = put_progress, .context = s };
	int error, ended = 0;

	if (!s)
		return -ENOMEM;
	s->d = recording_definitions(recording);
	error = speedscope_open(s, fd, spare, name);
	if (!error)
		error = timeline_read(recording, &ops);
	if (!error)
		error = add_missing_calls(s->d, s->missing);
	if (!error)
		error = put_file(s);
	if (s->out)
		ended = output_close(s->out);
	speedscope_close(s);
	return error ? error : ended;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.suffixes = ".speedscope.json .speedscope.json.gz",
	.help = "profiles, for speedscope.app",
	.needs_spare = true,
	.write = speedscope_write,
};
