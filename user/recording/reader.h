/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - a recording that is read. Private to user/recording: reader.c opens it and takes in its definitions,
 * read_spans.c hands on its spans chunk by chunk, read_records.c record by record.
 */
#ifndef GASPBPF_READER_H
#define GASPBPF_READER_H

#include <sys/types.h>

#include "recording/chunk.h"
#include "recording/late.h"
#include "recording/recording.h"
#include "recording/span_code.h"

/* A chunk of spans, and which of the late spans are its. */
struct span_place {
	struct chunk chunk;
	size_t late, nlate; /* in recording.late, file order */
	bool floor_known;   /* it has been read */
	uint64_t floor;     /* ns: recording_chunk_floor() */
	size_t left_out;    /* spans of it that were not handed on, when it was last read */
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
	bool some_left_out; /* there are processes that are no part of the job, or not everything was chosen */
	struct recording_choice choice;
	struct definitions
		*own; /* recording_whole(): those of `of`, as they were before the choice; NULL: they are these */
	struct late_store whole; /* order and starts of all late spans, where those of `late` are of the chosen ones */
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
	uint32_t *thread_of;
	bool *is_late;
	struct gap *gaps;
	size_t *gap_before;
};

#define RECORDING_ALL ((struct recording_choice){ .to = UINT64_MAX })

#define READER_NO_MEMORY "there is not enough memory to read it"

/* Says it, once; what was read up to there is used. */
void reader_say_damage(struct recording *r, uint64_t at, const char *what);
struct span_bounds reader_bounds(const struct recording *r);
/* The bytes of a chunk of spans. NULL, or what is wrong with it; so are the others' results. */
const char *reader_load_spans(struct recording *r, size_t index, const uint8_t **raw);

/* read_spans.c */
/* Is this call not to be handed on? */
bool reader_leaves_out(const struct recording *r, uint32_t thread, uint64_t start, uint64_t end);
/* Whoever watches the reading is told where it is. False: it is to end. */
bool reader_goes_on(struct recording *r, size_t index);
const char *records_begin(struct recording *r, size_t index, struct records *records);
enum record records_next(struct recording *r, struct records *records, struct span *span, struct gap *gap,
			 const char **wrong);
/* Everything from this chunk on is damaged; partly: it still counts, as it gave something. */
void reader_stop_at(struct recording *r, size_t index, bool partly, const char *wrong);

/* choose.c */
void reader_free_choice(struct recording *r);

#endif
