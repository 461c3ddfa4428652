/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctf.c - a recording as a trace of CTF 1.8, the format of LTTng, for babeltrace2 and Trace Compass.
 *
 * A call is two events, NAME_entry and NAME_exit, as tools of LTTng's world name what begins and ends, so that each has
 * fields of its own: what is known at the call, and what its return tells. What is a moment, or has no known end, is
 * one event, NAME. Who it is of stands in each event's context.
 *
 * Each thread is a stream, up to STREAMS_MOST of them, for a reader has all files open at once. Of more threads those
 * of a process share one, and processes where there are more of them, too.
 */
#include "export/ctf/ctf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account/account.h"
#include "export/ctf/classes.h"
#include "export/ctf/metadata.h"
#include "export/ctf/packets.h"
#include "export/output.h"
#include "util/files.h"
#include "util/log.h"

#define STREAMS_MOST 512

struct ctf {
	const struct definitions *d;
	const char *name;
	unsigned percent;
	struct trace_facts facts;
	struct packets *packets;
	struct classes *classes;
	struct site_texts sites;
	struct texts *texts;
	struct event_field *fields;
	struct payload_plan **payloads; /* by probe; NULL: it moves nothing */
	uint64_t *lost;                 /* calls by thread, by the gaps */
	struct buffer *people;          /* by thread: the contexts of its events */
	struct buffer event;
};

/* --- whose ----------------------------------------------------------------------------- */

static enum stream_class class_of(const struct definitions *d, uint32_t thread)
{
	const struct def_process *process = thread_process(d, thread);

	return !process ? STREAM_OF_THREAD : process->rank < 0 ? STREAM_OF_PROCESS : STREAM_OF_RANK;
}

static bool threads_are_apart(const struct definitions *d)
{
	return d->nthreads <= STREAMS_MOST;
}

static uint32_t stream_of(const struct definitions *d, uint32_t thread)
{
	uint32_t process = d->threads[thread].process < d->nprocesses ? d->threads[thread].process : d->nprocesses;
	uint64_t unit = threads_are_apart(d) ? thread : process;
	uint64_t units = threads_are_apart(d) ? d->nthreads : d->nprocesses + 1;

	if (units > STREAMS_MOST)
		unit = unit * STREAMS_MOST / units;
	return class_of(d, thread) * STREAMS_MOST + unit;
}

static void put_string(struct buffer *b, const char *text)
{
	buffer_put_utf8(b, text);
	buffer_put(b, "", 1);
}

/* As put_stream() of metadata.c says. */
static void put_person(struct ctf *c, struct buffer *b, uint32_t thread)
{
	const struct def_process *process = thread_process(c->d, thread);
	int64_t rank = process ? process->rank : -1;

	if (c->facts.has_nodes)
		put_string(b, process ? node_text(c->d, process) ?: "unknown" : "unknown");
	if (c->facts.has_jobs)
		put_string(b, process && process->job ? process->job : "unknown");
	if (rank >= 0)
		buffer_put(b, &rank, sizeof(rank));
	if (process)
		buffer_put(b, &process->pid, sizeof(process->pid));
	buffer_put(b, &c->d->threads[thread].tid, sizeof(c->d->threads[thread].tid));
	put_string(b, c->d->threads[thread].name ?: "unknown");
}

/* --- events ---------------------------------------------------------------------------- */

static void set_text(struct event_field *field, const char *name, const char *text)
{
	field->name = name;
	field->kind = text ? FIELD_TEXT : FIELD_UNKNOWN;
	field->text = text;
}

static void set_number(struct event_field *field, const char *name, bool known, uint64_t number)
{
	field->name = name;
	field->kind = known ? FIELD_UNSIGNED : FIELD_UNKNOWN;
	field->word = number;
}

/* What the call moved, when that is certain. */
static void set_bytes(const struct ctf *c, const struct event *event)
{
	const struct payload_plan *plan = event->type == EVENT_START ? NULL : c->payloads[event->span->probe];
	const struct sent_words sent = call_words(event->span);
	int64_t bytes = plan ? payload_read(plan, &sent).bytes : -1;

	set_number(&c->fields[OWN_BYTES], "payload_bytes", bytes >= 0, (uint64_t)bytes);
}

/* -ENOMEM: there is a call site, and no memory to tell it. */
static int set_own(struct ctf *c, const struct event *event)
{
	const struct span *span = event->span;
	const struct def_probe *probe = &c->d->probes[span->probe];
	bool begins = event->type != EVENT_END, ends = event->type != EVENT_START && span->reason != GB_END_ATOMIC;
	const char *site = begins ? site_text(&c->sites, span->site) : NULL;

	if (begins && !site && span->site < c->d->nsites)
		return -ENOMEM;
	set_text(&c->fields[OWN_FUNCTION], "function", begins ? probe->symbol : NULL);
	set_text(&c->fields[OWN_SITE], "site", site);
	set_text(&c->fields[OWN_END], "end", ends ? call_end(span) : NULL);
	set_number(&c->fields[OWN_STACK], "stack", event->lane, event->lane + 1);
	set_number(&c->fields[OWN_INNER], "inner", probe->marks & MARK_INNER, 1);
	set_bytes(c, event);
	return 0;
}

static void put_field(struct buffer *b, const struct event_field *field)
{
	uint8_t truth = field->word ? 1 : 0;

	if (field->kind == FIELD_TEXT)
		put_string(b, field->text);
	else if (field->kind == FIELD_TRUTH)
		buffer_put(b, &truth, sizeof(truth));
	else if (field->kind != FIELD_UNKNOWN)
		buffer_put(b, &field->word, sizeof(field->word));
}

/* With the first `count` fields. */
static int put_event_of(struct ctf *c, uint32_t thread, enum event_kind kind, uint32_t probe, uint64_t time,
			size_t count)
{
	uint32_t stream = stream_of(c->d, thread), number;
	struct buffer *b = &c->event;
	int error = classes_find(c->classes, class_of(c->d, thread), kind, probe, c->fields, count, &number);

	if (error)
		return error;
	if (time > RECORDING_TIME_MOST)
		time = RECORDING_TIME_MOST;
	if (time < packets_time(c->packets, stream))
		time = packets_time(c->packets, stream);
	buffer_clear(b);
	buffer_put(b, &number, sizeof(number));
	buffer_put(b, &time, sizeof(time));
	buffer_put(b, c->people[thread].data, c->people[thread].size);
	for (size_t i = 0; i < count; i++)
		put_field(b, &c->fields[i]);
	return packets_put(c->packets, stream, class_of(c->d, thread), time, b);
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	static const enum event_kind kinds[] = {
		[EVENT_START] = KIND_ENTRY, [EVENT_END] = KIND_EXIT, [EVENT_ATOMIC] = KIND_MOMENT
	};
	struct ctf *c = context;
	int error = set_own(c, event);

	if (error)
		return error;
	return put_event_of(c, event->span->thread, kinds[event->type], event->span->probe, event->time,
			    OWN_FIELDS + event_fields(d, c->texts, event, c->fields + OWN_FIELDS));
}

static int put_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	struct ctf *c = context;

	if (thread_is_left_out(d, thread))
		return 0;
	set_text(c->fields, "by", control->who);
	return put_event_of(c, thread, control->value ? KIND_ON : KIND_OFF, d->nprobes, control->time, 1);
}

/* A call would have been two events. */
static int lose(struct ctf *c, uint32_t thread, uint64_t time, uint64_t calls)
{
	if (!calls || thread_is_left_out(c->d, thread))
		return 0;
	c->facts.lost += calls;
	return packets_lose(c->packets, stream_of(c->d, thread), class_of(c->d, thread),
			    time < RECORDING_TIME_MOST ? time : RECORDING_TIME_MOST,
			    calls < INT64_MAX / 2 ? 2 * calls : INT64_MAX);
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct ctf *c = context;

	c->lost[gap->thread] += gap->count;
	return lose(c, gap->thread, gap->after, gap->count);
}

/* Lost calls without a place: where the recording was cut, the sums may know of more. They are told at the end. */
static int put_other_losses(struct ctf *c)
{
	uint64_t *sums = calloc(c->d->nthreads + 1, sizeof(*sums));
	int error = sums ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->d->nsums && !error; i++)
		sums[c->d->sums[i].thread] += c->d->sums[i].lost;
	for (uint32_t i = 0; i < c->d->nthreads && !error; i++)
		if (sums[i] > c->lost[i])
			error = lose(c, i, 0, sums[i] - c->lost[i]);
	free(sums);
	return error;
}

static void put_progress(void *context, size_t done, size_t all)
{
	struct ctf *c = context;

	tell_progress(&c->percent, c->name, done, all);
}

/* --- the folder ------------------------------------------------------------------------ */

/* Does it begin as our metadata do? -errno: not known. */
static int has_mark(int folder)
{
	int fd = openat(folder, METADATA_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char mark[sizeof(METADATA_MARK) - 1];
	ssize_t size;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	size = read(fd, mark, sizeof(mark));
	if (size < 0)
		size = -errno;
	close(fd);
	return size < 0 ? (int)size : size == sizeof(mark) && !memcmp(mark, METADATA_MARK, sizeof(mark));
}

/* Nothing but what we write? -errno: not known. */
static int has_only_ours(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int is = 1;

	if (!files) {
		is = -errno;
		if (fd >= 0)
			close(fd);
		return is;
	}
	while (is && (entry = readdir(files)))
		is = entry->d_name[0] == '.' || !strcmp(entry->d_name, METADATA_NAME) ||
		     !strncmp(entry->d_name, STREAM_NAME, strlen(STREAM_NAME));
	closedir(files);
	return is;
}

int ctf_is_earlier(int folder)
{
	int is = has_mark(folder);

	return is > 0 ? has_only_ours(folder) : is;
}

static int say_not_written(const struct ctf *c, const char *what, int error)
{
	log_error("%s: cannot write %s: %s: make room or choose another place", log_safe(c->name), what,
		  strerror(error));
	return -error;
}

/* Comes last: it has the classes of all events. */
static int write_metadata(const struct ctf *c, int folder)
{
	struct buffer text = { 0 };
	int error = metadata_put(&text, c->d, &c->facts, c->classes), fd = -1;

	if (!error) {
		fd = openat(folder, METADATA_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		error = fd < 0 ? -errno : write_all(fd, text.data, text.size);
		if (fd >= 0 && close(fd) && !error)
			error = -errno;
		if (error)
			say_not_written(c, METADATA_NAME, -error);
	}
	buffer_free(&text);
	return error;
}

static int read_all(struct ctf *c, struct recording *recording)
{
	struct timeline_ops ops = {
		.event = put_event, .gap = put_gap, .control = put_control, .progress = put_progress, .context = c
	};
	int error = threads_are_apart(c->d) ? timeline_read(recording, &ops) : timeline_read_merged(recording, &ops);

	error = error ?: put_other_losses(c);
	return error
		       ?: packets_end(c->packets,
				      c->d->run.end < RECORDING_TIME_MOST ? c->d->run.end : RECORDING_TIME_MOST);
}

static int open_payloads(struct ctf *c)
{
	const struct definitions *d = c->d;

	c->payloads = calloc(d->nprobes + 1, sizeof(struct payload_plan *));
	for (size_t i = 0; c->payloads && i < d->nprobes; i++) {
		const struct def_probe *probe = &d->probes[i];

		if (probe_value(probe, MEANING_BYTES) < 0 && probe_value(probe, MEANING_COUNT) < 0)
			continue;
		c->payloads[i] = payload_plan_new(probe->role, probe->values, probe->nvalues);
		if (!c->payloads[i])
			return -ENOMEM;
	}
	return c->payloads ? 0 : -ENOMEM;
}

static int open_people(struct ctf *c)
{
	c->people = calloc(c->d->nthreads + 1, sizeof(*c->people));
	for (uint32_t i = 0; c->people && i < c->d->nthreads; i++) {
		put_person(c, &c->people[i], i);
		if (c->people[i].failed)
			return -ENOMEM;
	}
	return c->people ? 0 : -ENOMEM;
}

static int ctf_open(struct ctf *c, int folder)
{
	const struct definitions *d = c->d;

	facts_find(&c->facts, d, c->name);
	c->packets = packets_new(folder, c->facts.uuid, STREAM_CLASSES * STREAMS_MOST,
				 d->run.start < RECORDING_TIME_MOST ? d->run.start : RECORDING_TIME_MOST, c->name);
	c->classes = classes_new(d);
	c->texts = texts_new(d);
	c->fields = calloc(OWN_FIELDS + event_fields_most(d), sizeof(*c->fields));
	c->lost = calloc(d->nthreads + 1, sizeof(*c->lost));
	if (!site_texts_open(&c->sites, d) || !c->packets || !c->classes || !c->texts || !c->fields || !c->lost)
		return -ENOMEM;
	return open_payloads(c) ?: open_people(c);
}

static void ctf_close(struct ctf *c)
{
	for (size_t i = 0; c->people && i < c->d->nthreads; i++)
		buffer_free(&c->people[i]);
	for (size_t i = 0; c->payloads && i < c->d->nprobes; i++)
		payload_plan_free(c->payloads[i]);
	packets_free(c->packets);
	classes_free(c->classes);
	texts_free(c->texts);
	site_texts_close(&c->sites);
	buffer_free(&c->event);
	free(c->fields);
	free(c->lost);
	free(c->people);
	free(c->payloads);
}

/* The folder that is the trace, in the one that this process is in. */
static int make_folder(const struct ctf *c, int in)
{
	const char *name = path_base(c->name);
	int fd = mkdirat(in, name, 0777) ? -1 : openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? say_not_written(c, "the folder", errno) : fd;
}

int ctf_write(struct recording *recording, int fd, int spare, const char *name)
{
	struct ctf c = { .d = recording_definitions(recording), .name = name };
	int folder = make_folder(&c, fd), error = folder < 0 ? folder : ctf_open(&c, folder);

	if (!error)
		error = read_all(&c, recording);
	if (!error)
		error = write_metadata(&c, folder);
	log_status("%s", "");
	ctf_close(&c);
	if (folder >= 0)
		close(folder);
	return error;
}
