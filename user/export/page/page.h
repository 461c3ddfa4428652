/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.h - what a page holds of a recording: blocks of text in its HTML. Private to user/export. The door of this
 * folder.
 *
 * docs/page.md has the format. Calls of a certain length and longer are drawn: each is there. The shorter ones are in
 * bins, each of a lane and a short time, with how many they were and whose the time was. Memory grows with threads,
 * lanes, events and sites, never with calls.
 */
#ifndef GASPBPF_EXPORT_PAGE_H
#define GASPBPF_EXPORT_PAGE_H

#include <zlib.h>

#include "account/account.h"
#include "analysis/report.h"
#include "analysis/told.h"
#include "export/spool.h"
#include "simulate/relations.h"
#include "util/json.h"

/* --- blocks (block.c) ------------------------------------------------------ */

#define BLOCK_TEXT 48 /* bytes that become one piece of a heap, in base64 */

/* Bytes that are packed as gzip, then as base64, and wait in a heap of the spool. */
struct block {
	struct spool *spool;
	struct heap heap;
	z_stream zip;
	bool open;
	int error;      /* the first; -ENOMEM is not said */
	uint64_t bytes; /* of text in the heap */
	unsigned waiting;
	uint8_t waits[BLOCK_TEXT];
	uint8_t packed[4096];
};

/* Into *block, which is zero or has been freed. What fails is told by block_end(). */
void block_begin(struct block *block, struct spool *spool);
/* A json_write_fn. */
int block_put(void *block, const char *data, size_t size);
/* 0 or the first -errno. */
int block_end(struct block *block);
/* All of a block: what put writes. 0 or -errno; block_free() after either. */
int block_json(struct block *block, struct spool *spool, void (*put)(struct json *j, const void *context),
	       const void *context);
void block_free(struct block *block);

/* --- threads (survey.c) ----------------------------------------------------- */

#define SURVEY_BUCKETS 2048

/* Calls that overlap lie on several lanes of a thread. */
struct page_lane {
	uint32_t thread;
	unsigned lane;
	uint64_t calls;        /* of the thread's lane */
	uint64_t drawn, first; /* of these, once they are packed: how many are drawn, and which of all is the first */
};

/* What there is, by a first reading. */
struct survey {
	const struct definitions *d;
	uint64_t start, end; /* ns: of the report */
	uint32_t *places;    /* by thread: reporter_places() */
	struct page_lane *lanes;
	size_t nlanes;
	uint32_t *first;   /* by thread: its first lane; NO_INDEX: it is not shown */
	uint32_t *count;   /* by thread: how many lanes */
	uint64_t *missing; /* by thread: calls that are not on the timeline */
	uint64_t calls;
	uint64_t buckets[SURVEY_BUCKETS]; /* of them, by their length */
	uint64_t (*by_lane)[64];          /* by thread and lane: calls */
	bool *seen;                       /* by thread: it has any */
};

struct output;
/* 0 or -errno; survey_free() after either. out is told of the progress. */
int survey_read(struct survey *survey, struct recording *recording, const struct reporter *reporter,
		struct output *out);
void survey_free(struct survey *survey);
/* The shortest length, ns, of which there are at most so many calls of it and longer; *count: how many. */
uint64_t survey_threshold(const struct survey *survey, double most, uint64_t *count);

/* --- different texts, each with its number (listed.c) -------------------------- */

/* Zero: none. */
struct listed {
	struct listed_text *by_text; /* uthash */
	struct listed_text **all;    /* by number */
	size_t count, room;
};

/* In the order in which they are met, from 0 on. NO_INDEX: it would be one more than `most`, or *error is -ENOMEM. */
uint32_t listed_number(struct listed *listed, const char *text, size_t length, size_t most, int *error);
void listed_json(const struct listed *listed, struct json *j);
void listed_free(struct listed *listed);

/* --- calls, drawn and in bins (draw.c, bins.c) ------------------------------------ */

#define PAGE_WORDS 65536
#define PAGE_WORDS_OF_EVENT 16384 /* of calls that count their steps, for example, each differs */
#define PAGE_BINS (1u << 18)      /* of all lanes */

/* What calls of a probe are in the page. */
struct page_probe {
	uint32_t event; /* in the list of events; NO_INDEX: not in it so far */
	unsigned group;
};

/* One of the list of events. */
struct page_event {
	uint32_t probe; /* one of its */
	uint32_t words; /* it has so many of the texts */
};

/* Calls of one threshold, all of them. */
struct drawing {
	const struct survey *survey;
	struct spool *spool;
	uint64_t threshold;       /* ns: shorter calls are in bins */
	uint32_t nbins;           /* of each lane */
	uint64_t drawn, wordless; /* the last: of these, for whose words there was no room */
	struct page_event *events;
	size_t nevents;
	struct listed sites, words;
	struct block calls, bins;

	struct event_names *names;
	struct page_probe *probes; /* by probe */
	struct call_line *line;
	uint32_t *site_numbers; /* by site + 1; 0: not in the list so far */
	struct lane_calls *lanes;
	uint64_t *columns; /* bytes of each */
	struct buffer text;
	struct output *out;
};

/* Both blocks, packed. first and drawn of the survey's lanes are set. 0 or -errno; drawing_free() after either. */
int drawing_make(struct drawing *drawing, struct survey *survey, struct spool *spool, struct recording *recording,
		 struct output *out);
void drawing_free(struct drawing *drawing);

/* --- the critical path (path.c) ------------------------------------------------------- */

struct page_path {
	const struct survey *survey;
	const struct definitions *whole;
	struct path_thread *threads;
	struct path_node *nodes;
	size_t nnodes, room;
	bool too_many; /* of them */
	bool known;    /* the block is there */
	struct block block;
};

/* NULL: out of memory. */
struct page_path *page_path_new(const struct survey *survey);
/* As those of relations_ops. 0 or -errno. */
int page_path_call(struct page_path *path, const struct related_call *call, const struct waited *waited);
int page_path_work(struct page_path *path, const struct related_work *work);
/* whole: of which threads the calls were. 0 or -errno. */
int page_path_end(struct page_path *path, const struct definitions *whole, struct spool *spool);
void page_path_free(struct page_path *path);

/* --- what goes up and down (levels.c) ---------------------------------------------------- */

struct page_levels;
/* d: of all of the recording. NULL: out of memory. */
struct page_levels *page_levels_new(const struct definitions *d);
/* A report_level_fn. */
void page_levels_note(void *levels, enum report_level level, uint32_t process, uint32_t probe, uint64_t time,
		      uint64_t value);
/* Into *block, which stays as it is where there was nothing. start: ns, of the report. 0 or -errno; block_free() after
 * either. */
int page_levels_end(struct page_levels *levels, uint64_t start, struct block *block, struct spool *spool);
void page_levels_free(struct page_levels *levels);

/* --- tasks by worker (tasks.c) ------------------------------------------------------------ */

struct page_tasks;
struct page_task_blocks {
	struct block list, calls, bins;
};

/* Of those that were chosen; d: of all of the recording; most: so many are drawn. NULL: out of memory. */
struct page_tasks *page_tasks_new(const struct recording *chosen, const struct definitions *d, size_t most);
void page_tasks_free(struct page_tasks *tasks);
/* As those of report_watch and report_teller. */
void page_tasks_note(void *tasks, const struct told_task *task);
int page_tasks_kind(void *tasks, const struct told_kind *kind);
/* Into the blocks, which stay as they are where there was nothing. places: reporter_places(). 0 or -errno; block_free()
 * of each after either. */
int page_tasks_end(struct page_tasks *tasks, const uint32_t *places, struct page_task_blocks *blocks,
		   struct spool *spool);

/* --- arrows (arrows.c) -------------------------------------------------------------- */

struct page_arrows {
	bool looked; /* for any */
	uint64_t all, drawn, shorter_than;
	struct block block;
};

/* At most so many, those that were waited for the longest. The path is told of all calls. 0 or -errno; block_free()
 * after either. */
int page_arrows_make(struct page_arrows *arrows, const struct survey *survey, struct relations *relations,
		     const struct recording *chosen, size_t most, struct page_path *path, struct spool *spool);

/* --- facts (facts.c) ------------------------------------------------------------------ */

/* Into *block. 0 or -errno; block_free() after either. */
int facts_make(struct block *block, struct spool *spool, const struct drawing *drawing,
	       const struct page_arrows *arrows, const char *recording, uint64_t limit);

/* --- the page without its data (shell.c) ------------------------------------------------ */

/*
 * It is made of page/ and built into the program. Two marks stand in it: data that its script needs at once come in
 * place of the first, all other data in place of the second. So it has three parts.
 */
struct page_shell {
	const char *parts[3];
	size_t sizes[3];
};

/* 0; -EINVAL, said: it does not have both marks. */
int page_shell_find(struct page_shell *shell);

#endif
