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

#include "recording/chunk.h"
#include "recording/definitions.h"
#include "recording/late.h"
#include "recording/recording.h"
#include "recording/span_code.h"
#include "util/log.h"

#define DEFINITIONS_MOST (1u << 30) /* bytes that all definitions may take in memory */
#define BATCH 64                    /* spans that are handed on at once: few enough to stay in the cache */
#define ENTRY_COST 128              /* bytes in memory of an entry that is empty in the file */

/* A chunk of spans, and which of the late spans are its. */
struct span_place {
	struct chunk chunk;
	size_t late, nlate; /* in recording.late, file order */
	bool floor_known;   /* it has been read */
	uint64_t floor;     /* ns: recording_chunk_floor() */
};

/* The records of one chunk, one after the other. */
struct records {
	const uint8_t *at, *end;
	uint32_t nspans, ngaps; /* still to come */
	struct span_bounds bounds;
};

struct recording {
	struct recording *of; /* recording_again(): whose definitions and late spans they are; NULL: its own */
	int fd;               /* -1: it rests */
	bool owned;
	char *path; /* of one that is ours */
	dev_t device;
	ino_t inode;
	recording_watch_fn watch; /* NULL: nobody */
	void *watcher;
	char *name;
	uint64_t size;
	bool damage_said;
	const char *damage; /* of one that reads another again: what that one has to say; NULL: nothing */
	uint64_t damaged_at;
	bool some_left_out; /* there are processes that are no part of the job */
	struct definitions d;
	uint64_t definition_bytes;

	struct packer *packer;
	struct buffer stored, decoded;
	struct span_code code;

	struct span_place *places;
	size_t nplaces, places_room;

	struct late_store late;

	struct records next; /* for recording_next() */
	size_t next_place;

	/* Of the chunk last read, for recording_read_chunk(). */
	struct span *packed;       /* the spans without the words that they do not have: most have few of them */
	const struct span **spans; /* where each is */
	bool *is_late;
	struct gap *gaps;
	size_t *gap_before;
};

static const char out_of_memory[] = "there is not enough memory to read it";

static void say_damage(struct recording *r, uint64_t at, const char *what)
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
		if (run.end && run.end < run.start) {
			entry_free(run_fields, &run);
			return "the run ends before it starts";
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

static struct span_bounds bounds_of(const struct recording *r)
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
			return out_of_memory;
		r->places = grown;
		r->places_room = room;
	}
	r->places[r->nplaces++] = (struct span_place){ .chunk = *chunk, .late = first, .nlate = late_settle(&r->late) };
	return NULL;
}

static const char *read_late(struct recording *r, const uint8_t *raw, size_t size)
{
	struct span_bounds bounds = bounds_of(r);

	if (span_code_fit(&r->code, bounds.threads, bounds.probes))
		return out_of_memory;
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
			say_damage(r, chunk.at, wrong);
			return;
		}
		chunk.at += CHUNK_HEAD + chunk.stored;
	}
}

static const char *load_spans(struct recording *r, size_t index, const uint8_t **raw)
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
	if (r->nplaces && !load_spans(r, r->nplaces - 1, &raw) && get_u64(raw + 16) > end)
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
		say_damage(r->of, r->damaged_at, r->damage);
	if (!r->of)
		close_whole(r);
	packer_free(r->packer);
	buffer_free(&r->stored);
	buffer_free(&r->decoded);
	span_code_free(&r->code);
	free(r->places);
	free(r->packed);
	free(r->spans);
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
	return r->of ? &r->of->d : &r->d;
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

/* --- reading spans ----------------------------------------------------- */

size_t recording_chunks(const struct recording *r)
{
	return r->nplaces;
}

void recording_watch(struct recording *r, recording_watch_fn watch, void *context)
{
	r->watch = watch;
	r->watcher = context;
}

static const char *records_begin(struct recording *r, size_t index, struct records *records)
{
	const uint8_t *raw;
	const char *wrong;

	if (r->watch)
		r->watch(r->watcher, r->places[index].chunk.at, r->size);
	wrong = load_spans(r, index, &raw);
	if (wrong)
		return wrong;
	*records = (struct records){
		raw + SPAN_HEAD, raw + r->places[index].chunk.raw, get_u32(raw), get_u32(raw + 4), bounds_of(r),
	};
	if (records->nspans > RECORDING_CHUNK_SPANS || records->ngaps > RECORDING_CHUNK_SPANS)
		return "a chunk has too many spans";
	if (span_code_fit(&r->code, records->bounds.threads, records->bounds.probes))
		return out_of_memory;
	span_code_reset(&r->code, get_u64(raw + 8));
	return NULL;
}

static enum record records_next(struct recording *r, struct records *records, struct span *span, struct gap *gap,
				const char **wrong)
{
	enum record record;

	*wrong = "a chunk has fewer spans than stated";
	if (records->at >= records->end)
		return RECORD_BAD;
	*wrong = NULL;
	record = record_decode(&r->code, &records->at, records->end, &records->bounds, span, gap, wrong);
	if ((record == RECORD_SPAN && !records->nspans--) || (record == RECORD_GAP && !records->ngaps--)) {
		*wrong = "a chunk has more spans than stated";
		return RECORD_BAD;
	}
	return record;
}

/* Everything from this record on is damaged. The chunk still counts where it gave something. */
static void stop_at(struct recording *r, size_t index, bool partly, const char *wrong)
{
	say_damage(r, r->places[index].chunk.at, wrong);
	r->nplaces = index + partly;
}

/* Spans on their way to a sink. */
struct batch {
	size_t count;
	struct span spans[BATCH];
};

static int hand_on(struct recording *r, const struct span_sink *sink, struct batch *batch)
{
	const struct definitions *d = recording_definitions(r);
	size_t count = batch->count, i;
	int error = 0;

	batch->count = 0;
	if (sink->spans)
		return count ? sink->spans(sink->context, d, batch->spans, count) : 0;
	for (i = 0; i < count && !error; i++)
		error = sink->span(sink->context, d, &batch->spans[i]);
	return error;
}

/* What recording_chunk_floor() will be asked for, found while spans are read for something else. */
struct floor {
	uint64_t time;         /* ns */
	size_t position;       /* of the next span, with those that are left out */
	size_t late, late_end; /* the next late span of the chunk, and behind its last one */
	bool sound;            /* all late ones so far are where they should be */
};

static struct floor floor_begin(const struct recording *r, size_t index)
{
	const struct span_place *place = &r->places[index];

	return (struct floor){
		.time = UINT64_MAX, .late = place->late, .late_end = place->late + place->nlate, .sound = true
	};
}

static void floor_pass_span(const struct recording *r, struct floor *floor, const struct span *span, bool left_out)
{
	const struct late_span *late = floor->late < floor->late_end ? &r->late.spans[floor->late] : NULL;

	if (late && late->position == floor->position) {
		floor->sound &= late_is_copy(late, span);
		floor->late++;
	} else if (!left_out && span->start < floor->time) {
		floor->time = span->start;
	}
	floor->position++;
}

/* The whole chunk was read. */
static void floor_end(struct recording *r, size_t index, const struct floor *floor)
{
	if (!floor->sound || floor->late != floor->late_end)
		return; /* recording_read_chunk() will say that */
	r->places[index].floor = floor->time;
	r->places[index].floor_known = true;
}

static bool is_left_out(const struct recording *r, uint32_t thread)
{
	return r->some_left_out && thread_is_left_out(recording_definitions(r), thread);
}

int recording_read(struct recording *r, const struct span_sink *sink)
{
	struct batch batch = { 0 };
	struct gap gap;
	size_t i;

	for (i = 0; i < r->nplaces; i++) {
		struct records records = { 0 };
		const char *wrong = records_begin(r, i, &records);
		struct floor floor = floor_begin(r, i);
		bool some = false, left_out;
		int error = 0;

		while (!wrong && !error && (records.nspans || records.ngaps)) {
			struct span *span = &batch.spans[batch.count];

			switch (records_next(r, &records, span, &gap, &wrong)) {
			case RECORD_SPAN:
				some = true;
				left_out = is_left_out(r, span->thread);
				floor_pass_span(r, &floor, span, left_out);
				if (!left_out && ++batch.count == BATCH)
					error = hand_on(r, sink, &batch);
				break;
			case RECORD_GAP:
				some = true;
				error = hand_on(r, sink, &batch);
				if (is_left_out(r, gap.thread))
					break;
				if (gap.after < floor.time)
					floor.time = gap.after;
				if (!error && sink->gap)
					error = sink->gap(sink->context, recording_definitions(r), &gap);
				break;
			case RECORD_BAD:
				break; /* wrong is set */
			}
		}
		if (!error)
			error = hand_on(r, sink, &batch);
		if (error)
			return error;
		if (wrong)
			stop_at(r, i, some, wrong);
		else
			floor_end(r, i, &floor);
	}
	return 0;
}

static bool make_room(struct recording *r)
{
	if (r->spans)
		return r->packed && r->is_late && r->gaps && r->gap_before;
	r->packed = malloc((RECORDING_CHUNK_SPANS + 1) * sizeof(*r->packed)); /* and one that is too many */
	r->spans = calloc(RECORDING_CHUNK_SPANS + 1, sizeof(*r->spans));
	r->is_late = calloc(RECORDING_CHUNK_SPANS, sizeof(*r->is_late));
	r->gaps = calloc(RECORDING_CHUNK_SPANS, sizeof(*r->gaps));
	r->gap_before = calloc(RECORDING_CHUNK_SPANS, sizeof(*r->gap_before));
	return r->packed && r->spans && r->is_late && r->gaps && r->gap_before;
}

/* Marks the late spans of a chunk; they must be the same spans as their copies. */
static const char *mark_late(struct recording *r, size_t index, size_t nspans)
{
	const struct span_place *place = &r->places[index];
	const char *wrong = NULL;
	size_t i;

	memset(r->is_late, 0, nspans * sizeof(*r->is_late));
	for (i = place->late; i < place->late + place->nlate; i++) {
		const struct late_span *late = &r->late.spans[i];

		if (late->position < nspans && late_is_copy(late, r->spans[late->position]))
			r->is_late[late->position] = true;
		else
			wrong = "a late span is not among the spans";
	}
	return wrong;
}

/* Takes what belongs to processes that are no part of the job out of a chunk. */
static void leave_out(struct recording *r, size_t *nspans, size_t *ngaps)
{
	size_t spans = 0, gaps = 0, gap = 0;

	for (size_t i = 0; i <= *nspans; i++) {
		for (; gap < *ngaps && r->gap_before[gap] == i; gap++) {
			if (is_left_out(r, r->gaps[gap].thread))
				continue;
			r->gaps[gaps] = r->gaps[gap];
			r->gap_before[gaps++] = spans;
		}
		if (i == *nspans || is_left_out(r, r->spans[i]->thread))
			continue;
		if (spans != i)
			r->spans[spans] = r->spans[i];
		r->is_late[spans++] = r->is_late[i];
	}
	*nspans = spans;
	*ngaps = gaps;
}

static uint64_t find_floor(const struct recording_chunk *chunk)
{
	uint64_t floor = UINT64_MAX;

	for (size_t i = 0; i < chunk->nspans; i++)
		if (!chunk->late[i] && chunk->spans[i]->start < floor)
			floor = chunk->spans[i]->start;
	for (size_t i = 0; i < chunk->ngaps; i++)
		if (chunk->gaps[i].after < floor)
			floor = chunk->gaps[i].after;
	return floor;
}

int recording_read_chunk(struct recording *r, size_t index, struct recording_chunk *chunk)
{
	struct records records = { 0 };
	size_t nspans = 0, ngaps = 0;
	const char *wrong, *late_wrong;
	struct span *span;

	if (index >= r->nplaces)
		return -ENODATA;
	if (!make_room(r)) {
		log_error("%s: cannot be read: out of memory: free some memory", log_safe(r->name));
		return -ENOMEM;
	}
	wrong = records_begin(r, index, &records);
	span = r->packed;
	while (!wrong && (records.nspans || records.ngaps)) {
		/* records_next() allows no more of each than there is room for; the last one's place is checked by it
		 * too. */
		struct gap *gap = &r->gaps[ngaps < RECORDING_CHUNK_SPANS ? ngaps : RECORDING_CHUNK_SPANS - 1];
		enum record record = records_next(r, &records, span, gap, &wrong);

		if (record == RECORD_SPAN) {
			r->spans[nspans++] = span;
			span = (struct span *)(span->words + span->nwords);
		} else if (record == RECORD_GAP) {
			r->gap_before[ngaps++] = nspans;
		}
	}
	late_wrong = mark_late(r, index, nspans);
	if (!wrong)
		wrong = late_wrong;
	if (wrong) {
		stop_at(r, index, nspans || ngaps, wrong);
		if (!nspans && !ngaps)
			return -ENODATA;
	}
	if (r->some_left_out)
		leave_out(r, &nspans, &ngaps);
	*chunk = (struct recording_chunk){ r->spans, nspans, r->is_late, r->gaps, r->gap_before, ngaps };
	if (!r->places[index].floor_known)
		r->places[index].floor = find_floor(chunk);
	r->places[index].floor_known = true;
	return 0;
}

int recording_chunk_floor(struct recording *r, size_t index, uint64_t *floor)
{
	struct recording_chunk chunk;
	int error = index < r->nplaces && r->places[index].floor_known ? 0 : recording_read_chunk(r, index, &chunk);

	if (!error)
		*floor = r->places[index].floor;
	return error;
}

/* --- record by record ---------------------------------------------------- */

static const char changed[] = "it is another file by now";

void recording_rest(struct recording *r)
{
	struct stat status;

	if (!r->owned || r->fd < 0 || fstat(r->fd, &status))
		return;
	if (!r->path)
		r->path = strdup(r->name);
	if (!r->path)
		return; /* it stays open */
	r->device = status.st_dev;
	r->inode = status.st_ino;
	close(r->fd);
	r->fd = -1;
	packer_free(r->packer); /* larger than all else */
	r->packer = NULL;
}

static const char *wake(struct recording *r)
{
	struct stat status;

	if (r->fd >= 0)
		return NULL;
	r->packer = packer_new();
	if (!r->packer)
		return out_of_memory;
	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (r->fd < 0)
		return "it cannot be opened again";
	return fstat(r->fd, &status) || status.st_dev != r->device || status.st_ino != r->inode ? changed : NULL;
}

/* The next chunk. False: there is none. */
static bool begin_next(struct recording *r)
{
	bool rests = r->fd < 0;
	const char *wrong;

	if (r->next_place >= r->nplaces)
		return false;
	wrong = wake(r);
	if (!wrong)
		wrong = records_begin(r, r->next_place, &r->next);
	if (rests)
		recording_rest(r);
	if (wrong)
		stop_at(r, r->next_place, false, wrong);
	else
		r->next_place++;
	return !wrong;
}

void recording_rewind(struct recording *r)
{
	r->next = (struct records){ 0 };
	r->next_place = 0;
}

int recording_next(struct recording *r, struct recorded_item *item)
{
	const char *wrong;

	item->what = RECORDED_END;
	while (!r->next.nspans && !r->next.ngaps)
		if (!begin_next(r)) {
			recording_rewind(r);
			r->next_place = r->nplaces;
			buffer_free(&r->stored);
			buffer_free(&r->decoded);
			return 0;
		}
	switch (records_next(r, &r->next, &item->span, &item->gap, &wrong)) {
	case RECORD_SPAN:
		item->what = RECORDED_SPAN;
		return 0;
	case RECORD_GAP:
		item->what = RECORDED_GAP;
		return 0;
	case RECORD_BAD:
		break;
	}
	r->next = (struct records){ 0 };
	stop_at(r, r->next_place - 1, true, wrong);
	return recording_next(r, item);
}
