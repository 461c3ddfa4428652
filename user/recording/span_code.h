/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * span_code.h - private to user/recording: spans as few bytes, and back.
 */
#ifndef GASPBPF_RECORDING_SPAN_CODE_H
#define GASPBPF_RECORDING_SPAN_CODE_H

#include "recording/recording.h"

/* What stands before the records of a SPAN chunk: u32 spans, u32 gaps, u64 base, u64 watermark (the largest end so
 * far). */
#define SPAN_HEAD 24
/* And of a LATE chunk: u32 spans, u32 0, u64 base. */
#define LATE_HEAD 16

#define RECORD_MOST 320 /* bytes that one record takes at most, however hostile */

/* What the coder knows of a thread, good while epoch is the coder's. */
struct coded_thread {
	uint64_t end; /* of its last span */
	uint32_t epoch;
	uint32_t sequence; /* of its last span */
	uint32_t probe;    /* of its last span */
};

/* And of a probe. */
struct probe_state {
	uint32_t epoch;
	uint32_t site; /* of its last span, as are the others */
	uint32_t next; /* the probe that followed it on the same thread the last time */
	uint16_t depth;
	uint8_t nwords;
	uint64_t words[GB_SLOTS];
};

struct span_code {
	struct coded_thread *threads;
	struct probe_state *probes;
	size_t nthreads, nprobes; /* room */
	uint32_t epoch;
	uint32_t thread; /* of the last record */
	uint64_t base;   /* ns: stands for "the end before" of a thread that has none yet */
};

/* What a record may refer to. */
struct span_bounds {
	size_t threads, probes, sites;
};

/* Room for so many threads and probes. 0 or -ENOMEM. */
int span_code_fit(struct span_code *code, size_t threads, size_t probes);
void span_code_free(struct span_code *code);
/* Forgets everything, as at the start of a chunk. */
void span_code_reset(struct span_code *code, uint64_t base);

/* Does the span refer to what is there, and make sense? Else it is a mistake in gaspbpf. */
bool span_is_sound(const struct definitions *d, const struct span *span);
/* Writes one record to `to`, which has RECORD_MOST bytes of room; where it ends. The span's indices fit the room. */
uint8_t *span_encode(struct span_code *code, uint8_t *to, const struct span *span);
uint8_t *gap_encode(struct span_code *code, uint8_t *to, const struct gap *gap);

enum record { RECORD_SPAN, RECORD_GAP, RECORD_BAD };

/*
 * Reads one record; *at moves on. RECORD_MOST bytes after `end` can be read. The bounds fit the room. Words
 * beyond span->nwords are left as they are. RECORD_BAD where anything is wrong; then *wrong says it in words.
 */
enum record record_decode(struct span_code *code, const uint8_t **at, const uint8_t *end,
			  const struct span_bounds *bounds, struct span *span, struct gap *gap, const char **wrong);

#endif
