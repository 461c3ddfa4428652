/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.h - a call in words: its values, its call site, how it ended. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CALL_H
#define GASPBPF_EXPORT_CALL_H

#include "meaning/value.h"
#include "recording/labels.h"
#include "recording/recording.h"
#include "timeline/arguments.h"

#define VALUE_TEXT 128

/* How a value is written. */
enum value_kind { VALUE_UNKNOWN, VALUE_SIGNED, VALUE_UNSIGNED, VALUE_TRUTH, VALUE_WORD };

struct shown_value {
	enum value_kind kind;
	int64_t number;        /* not for VALUE_UNKNOWN and VALUE_WORD; the bits of an unsigned one */
	char word[VALUE_TEXT]; /* VALUE_WORD: "0x7f00", "none", "thread=1,phase=0,addr=0x10" */
};

/* Value `v` of a call. */
void call_value(const struct span *span, const struct value *v, struct shown_value *shown);
/* The same as a word: a number, "true", "false", "unknown" or shown->word; good as long as *shown is. */
const char *shown_text(struct shown_value *shown);
/* An argument of an event as a word; in `text` or good as long as the recording is. */
const char *argument_text(const struct argument *argument, char *text, size_t room);
/* A real number, of its bits, with as few digits as tell it from every other. */
void real_text(char *text, size_t room, uint64_t word);
/* The words that its values are read from. */
struct sent_words call_words(const struct span *span);
/* NULL: it returned. */
const char *call_end(const struct span *span);

/* site_place() made once for each site. */
struct site_texts {
	const struct definitions *d;
	char **texts;
};

/* False: out of memory. */
bool site_texts_open(struct site_texts *sites, const struct definitions *d);
/* NULL: unknown. */
const char *site_text(struct site_texts *sites, uint32_t site);
void site_texts_close(struct site_texts *sites);

/* "rank 3 worker-1 (tid 4243)", "rank 3 stack 2": a lane of a thread (timeline.h); any bytes. who->exact becomes true.
 */
void lane_text(struct who *who, unsigned lane, char *buffer, size_t size);

/* ns since the run began; what began before it (by a forged recording) begins with it. */
static inline uint64_t since_start(const struct definitions *d, uint64_t time)
{
	return time > d->run.start ? time - d->run.start : 0;
}

/* Adds to each thread's number of lost calls, by the gaps, what else has no place on the timeline. 0 or
 * -ENOMEM. */
int add_missing_calls(const struct definitions *d, uint64_t *by_thread);

/* The host that the process ran on; NULL: not known. */
const char *node_text(const struct definitions *d, const struct def_process *process);
/* "rank 3: ./job 10" or "./job 10" of a process; any bytes. "?" out of bounds. */
void process_text(const struct definitions *d, uint32_t process, char *buffer, size_t size);

#endif
