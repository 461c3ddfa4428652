/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.c - reads a recording.
 *
 * Opening walks over the heads of all chunks, reads the definitions and the late spans, and notes where the
 * chunks of spans are; those are read when they are asked for, one at a time. Whatever is wrong with
 * the file ends it there: that is said once, and everything before is used.
 *
 * Nothing in the file is trusted. Each chunk has a checksum, but a file may also be made on purpose: sizes are
 * checked before memory is taken, all memory together is bounded, and each index of a span is checked
 * before the span is handed on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/definitions.h"
#include "recording/reader.h"
#include "util/log.h"

#define DEFINITIONS_MOST (1u << 30) /* bytes that all definitions may take in memory */
#define ENTRY_COST 128              /* bytes in memory of an entry that is empty in the file */

void reader_say_damage(struct recording *r, uint64_t at, const char *what)
{
	if (r->of) {
		r->damaged_at = r->damage ? r->damaged_at : at;
		r->damage = r->damage ?: what;
		return;
	}
	if (!r->damage_said)
		log_warn("%s: damaged at byte %llu: %s: what was read up to there is used", log_safe(r->name),
			 (unsigned long long)at, what);
	r->damage_said = true;
}

/* --- definitions ------------------------------------------------------- */

/* Reads one entry of a definition chunk: a new one, or one that replaces an earlier one. */
static const char *read_entry(struct recording *r, const struct kind *kind, struct cursor *in)
{
	union {
		struct def_process process;
		struct def_thread thread;
		struct def_image image;
		struct def_probe probe;
		struct def_site site;
		struct def_sum sum;
		struct def_step step;
		struct def_unseen unseen;
		struct def_control control;
		struct def_comm comm;
		struct def_text text;
		struct def_window window;
		struct def_chain chain;
		struct def_queue queue;
		struct def_node node;
	} entry;
	uint64_t index = cursor_varint(in), length = cursor_varint(in);
	struct cursor fields = cursor_part(in, length);
	const char *wrong;

	if (fields.failed)
		return "a definition does not fit";
	if (index > kind_count(kind, &r->d))
		return "a definition is missing";
	if (kind->type != CHUNK_SUMS)
		r->definition_bytes += ENTRY_COST + length;
	else if (index == kind_count(kind, &r->d))
		r->definition_bytes +=
			kind->size; /* all of it; a later state of it, every two seconds, takes no more */
	if (r->definition_bytes > DEFINITIONS_MOST)
		return "there are too many definitions";
	wrong = entry_decode(&fields, kind->fields, kind->size, &entry);
	if (wrong)
		return wrong;
	if (kind->type == CHUNK_PROBES)
		r->definition_bytes += entry.probe.nvalues * sizeof(struct value);
	if (kind->type == CHUNK_COMMS)
		r->definition_bytes += entry.comm.nruns * sizeof(struct rank_run);
	wrong = entry_check(kind, &r->d, &entry);
	if (!wrong && index == kind_count(kind, &r->d) && definitions_add(&r->d, kind) == NO_INDEX)
		wrong = "there are too many definitions";
	if (wrong) {
		entry_free(kind->fields, &entry);
		return wrong;
	}
	entry_free(kind->fields, kind_entry(kind, &r->d, index));
	memcpy(kind_entry(kind, &r->d, index), &entry, kind->size);
	return NULL;
}

/* Entry 0 is the run, entry 1 the loss; others, padding among them, say nothing to this version. */
static const char *read_run_entry(struct recording *r, struct cursor *in)
{
	uint64_t index = cursor_varint(in), length = cursor_varint(in);
	struct cursor fields = cursor_part(in, length);
	struct def_run run;
	struct def_loss loss;
	const char *wrong = NULL;

	if (fields.failed)
		return "the facts of the run do not fit";
	if (index == 0) {
		wrong = entry_decode(&fields, run_fields, sizeof(run), &run);
		if (wrong)
			return wrong;
		if ((run.end && run.end < run.start) || run.start > RECORDING_TIME_MOST ||
		    run.end > RECORDING_TIME_MOST) {
			entry_free(run_fields, &run);
			return "the run ends before it starts, or beyond all time";
		}
		entry_free(run_fields, &r->d.run);
		r->d.run = run;
	} else if (index == 1) {
		wrong = entry_decode(&fields, loss_fields, sizeof(loss), &loss);
		if (!wrong)
			r->d.loss = loss;
	}
	return wrong;
}

static const char *read_definitions(struct recording *r, const struct kind *kind, const uint8_t *raw, size_t size)
{
	struct cursor in = { raw, raw + size, false };
	const char *wrong = NULL;

	while (!wrong && in.at < in.end)
		wrong = kind ? read_entry(r, kind, &in) : read_run_entry(r, &in);
	return wrong;
}

struct span_bounds reader_bounds(const struct recording *r)
{
	const struct definitions *d = recording_definitions(r);

	return (struct span_bounds){ d->nthreads, d->nprobes, d->nsites };
}

/* --- opening ----------------------------------------------------------- */

static const char *add_place(struct recording *r, const struct chunk *chunk)
{
	size_t first = r->late.settled;

	if (r->nplaces == r->places_room) {
		size_t room = r->places_room ? 2 * r->places_room : 64;
		struct span_place *grown = room < UINT32_MAX ? realloc(r->places, room * sizeof(*grown)) : NULL;

		if (!grown)
			return READER_NO_MEMORY;
		r->places = grown;
		r->places_room = room;
	}
	r->places[r->nplaces++] = (struct span_place){ .chunk = *chunk, .late = first, .nlate = late_settle(&r->late) };
	return NULL;
}

static const char *read_late(struct recording *r, const uint8_t *raw, size_t size)
{
	struct span_bounds bounds = reader_bounds(r);

	if (span_code_fit(&r->code, bounds.threads, bounds.probes))
		return READER_NO_MEMORY;
	return late_read(&r->late, &r->code, &bounds, raw, size, (uint32_t)r->nplaces);
}

static const struct kind *kind_of(uint32_t type)
{
	unsigned k;

	for (k = 0; k < KINDS; k++)
		if (kinds[k].type == type)
			return &kinds[k];
	return NULL;
}

/* Takes in one chunk, except the spans themselves. A chunk of a type that a newer writer knows is passed over. */
static const char *read_chunk(struct recording *r, const struct chunk *chunk)
{
	const uint8_t *raw;
	const char *wrong;

	if (chunk->type == CHUNK_SPANS)
		return add_place(r, chunk);
	wrong = chunk_read_payload(r->packer, r->fd, chunk, &r->stored, &r->decoded, &raw);
	if (wrong)
		return wrong;
	if (chunk->type == CHUNK_LATE)
		return read_late(r, raw, chunk->raw);
	if (chunk->type == CHUNK_RUN || kind_of(chunk->type))
		return read_definitions(r, kind_of(chunk->type), raw, chunk->raw);
	return NULL;
}

static void read_chunks(struct recording *r)
{
	struct chunk chunk = { .at = FILE_HEAD };
	const char *wrong = NULL;

	while (chunk.at < r->size) {
		wrong = chunk_read_head(r->fd, r->size, &chunk);
		if (!wrong)
			wrong = read_chunk(r, &chunk);
		if (wrong) {
			reader_say_damage(r, chunk.at, wrong);
			return;
		}
		chunk.at += CHUNK_HEAD + chunk.stored;
	}
}

const char *reader_load_spans(struct recording *r, size_t index, const uint8_t **raw)
{
	const struct chunk *chunk = &r->places[index].chunk;
	const char *wrong = chunk_read_payload(r->packer, r->fd, chunk, &r->stored, &r->decoded, raw);

	if (!wrong && chunk->raw < SPAN_HEAD)
		wrong = "a chunk of spans is too short";
	return wrong;
}

/* The end of a run whose recorder was killed: that of the last span there is. */
static void guess_end(struct recording *r)
{
	struct def_run *run = &r->d.run;
	uint64_t end = run->start;
	const uint8_t *raw;

	if (run->finished)
		return;
	if (r->nplaces && !reader_load_spans(r, r->nplaces - 1, &raw) && get_u64(raw + 16) > end)
		end = get_u64(raw + 16);
	if (end > run->end)
		run->end = end;
	run->end_realtime = run->start_realtime + (run->end - run->start);
}

static int check_head(struct recording *r)
{
	static const char magic[8] = RECORDING_MAGIC;
	uint8_t head[FILE_HEAD];
	struct stat status;
	ssize_t got;

	if (fstat(r->fd, &status) || !S_ISREG(status.st_mode)) {
		log_error("%s: not a regular file: give a file that 'gaspbpf -o NAME.gasp' wrote", log_safe(r->name));
		return -EINVAL;
	}
	r->size = (uint64_t)status.st_size;
	if (!r->size) {
		log_error("%s: empty: nothing was recorded: record again", log_safe(r->name));
		return -ENODATA;
	}
	got = pread(r->fd, head, sizeof(head), 0);
	if (got < 0) {
		int error = errno;

		log_error("%s: cannot be read: %s", log_safe(r->name), strerror(error));
		return -error;
	}
	if (memcmp(head, magic, (size_t)got < sizeof(magic) ? (size_t)got : sizeof(magic))) {
		log_error("%s: not a gaspbpf recording: give a file that 'gaspbpf -o NAME.gasp' wrote",
			  log_safe(r->name));
		return -ENOEXEC;
	}
	if (got < (ssize_t)sizeof(head)) {
		log_error("%s: cut off in its first bytes: nothing of it is left: record again", log_safe(r->name));
		return -ENODATA;
	}
	if (get_u32(head + 8) != RECORDING_VERSION) {
		log_error("%s: recording format %u: this gaspbpf reads format %u: use the gaspbpf that wrote it, or a "
			  "newer one",
			  log_safe(r->name), get_u32(head + 8), RECORDING_VERSION);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

static int open_checked(struct recording **recording, int fd, bool owned, const char *name)
{
	struct recording *r = calloc(1, sizeof(*r));
	int error = -ENOMEM;

	if (r) {
		r->fd = fd;
		r->owned = owned;
		r->name = strdup(name);
		r->packer = packer_new();
	} else if (owned) {
		close(fd);
	}
	if (!r || !r->name || !r->packer)
		goto no_memory;
	error = check_head(r);
	if (error)
		goto failed;
	read_chunks(r);
	error = -ENOMEM;
	for (size_t i = 0; i < r->d.nprocesses; i++)
		r->some_left_out |= r->d.processes[i].left_out != NULL;
	r->choice = RECORDING_ALL;
	if (!late_sort(&r->late, r->some_left_out ? &r->d : NULL))
		goto no_memory;
	guess_end(r);
	if (!r->d.run.finished && !r->damage_said)
		log_warn("%s: the recorder was stopped before its end: what it had written is used", log_safe(name));
	*recording = r;
	return 0;
no_memory:
	log_error("%s: cannot be read: out of memory: free some memory", log_safe(name));
failed:
	recording_close(r);
	return error;
}

int recording_open(struct recording **recording, const char *path)
{
	/* O_NONBLOCK: a FIFO without a writer must not hold us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0) {
		int error = errno;

		log_error("%s: cannot be opened: %s: check the name and its permissions", log_safe(path),
			  strerror(error));
		return -error;
	}
	return open_checked(recording, fd, true, path);
}

int recording_open_fd(struct recording **recording, int fd, const char *name)
{
	return open_checked(recording, fd, false, name);
}

struct recording *recording_again(struct recording *r)
{
	struct recording *again = calloc(1, sizeof(*again));

	if (!again)
		return NULL;
	*again = (struct recording){ .of = r,
				     .fd = r->fd,
				     .name = r->name,
				     .size = r->size,
				     .some_left_out = r->some_left_out,
				     .choice = r->choice,
				     .packer = packer_new(),
				     .places = malloc((r->nplaces + 1) * sizeof(*again->places)),
				     .nplaces = r->nplaces,
				     .late = r->late };
	if (!again->packer || !again->places) {
		recording_close(again);
		return NULL;
	}
	for (size_t i = 0; i < r->nplaces; i++)
		again->places[i] = r->places[i];
	return again;
}

/* What is shared by those that read it again. */
static void close_whole(struct recording *r)
{
	if (r->owned && r->fd >= 0)
		close(r->fd);
	definitions_free(&r->d);
	late_free(&r->late);
	free(r->name);
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	free(r->path);
	if (r->damage)
		reader_say_damage(r->of, r->damaged_at, r->damage);
	if (!r->of)
		close_whole(r);
	packer_free(r->packer);
	buffer_free(&r->stored);
	buffer_free(&r->decoded);
	span_code_free(&r->code);
	free(r->places);
	free(r->packed);
	free(r->spans);
	free(r->thread_of);
	free(r->is_late);
	free(r->gaps);
	free(r->gap_before);
	free(r);
}

const struct late_start *recording_late(const struct recording *r, size_t *count)
{
	*count = r->late.count;
	return r->late.starts;
}

void recording_late_span(const struct recording *r, size_t index, struct span *span)
{
	late_get(&r->late, index, span);
}

const struct definitions *recording_definitions(const struct recording *r)
{
	return r->own ? r->own : r->of ? recording_definitions(r->of) : &r->d;
}

const char *recording_name(const struct recording *r)
{
	return r->name;
}

bool recording_has_calls(const struct recording *r, const char *name)
{
	if (!recording_definitions(r)->run.only_sums)
		return true;
	log_error("%s: has only sums (gaspbpf monitor -o), no single calls: 'gaspbpf report' and 'gaspbpf compare' say "
		  "what is in it; 'sudo gaspbpf -p PID -o run.gasp' records calls",
		  log_safe(name));
	return false;
}
