/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - the door of user/analysis: the report of a run or a recording.
 *
 *   reporter_new(), reporter_ask(), reporter_read(), reporter_print(), reporter_free()
 *
 * and live reporter_begin() and reporter_sink() in place of reporter_read().
 */
#ifndef GASPBPF_REPORT_H
#define GASPBPF_REPORT_H

#include <stdio.h>

#include "recording/recording.h"

struct reporter;

enum report_bars { BARS_NONE, BARS_ASCII, BARS_UNICODE };

/* How the text report looks. */
struct report_style {
	unsigned width; /* columns of the terminal; 0: no limit (a pipe) */
	bool colour;
	enum report_bars bars; /* beside shares of time */
	unsigned top;          /* rows per table; 0: all */
	bool sites;            /* every event with its call sites, instead of the ten hottest of all */
};

struct reporter *reporter_new(void); /* NULL: out of memory */
void reporter_free(struct reporter *reporter);

/* Both before it is fed. */
/* An analysis that is made only where somebody asks for it: "histogram", "counters". -ENOENT: there is none of that
 * name. */
int reporter_ask(struct reporter *reporter, const char *name);
/* Only this one, and others that are chosen like it, is told, and it has no limit of lines that is its own. -ENOENT. */
int reporter_choose(struct reporter *reporter, const char *name);
/* Chooses the table of all calls, summed up by these: "rank,event". -EINVAL: no such names. */
int reporter_group(struct reporter *reporter, const char *names);
/* The names of those that can be chosen, in the order of the report, one after the other; NULL: no more. */
const char *reporter_section(const struct reporter *reporter, size_t *at);
/*
 * All durations are to be told without what the probe itself adds to each (def_probe.floor_ns). What the probes of
 * calls inside add stays: it is as much as those calls' cost.
 */
void reporter_subtract_floor(struct reporter *reporter);

/* Feeds it with a whole recording, which must stay open until all is printed. 0 or -errno. */
int reporter_read(struct reporter *reporter, struct recording *recording);
/* To be fed live, with spans of these definitions, which must outlive it. 0 or -errno. */
int reporter_begin(struct reporter *reporter, const struct definitions *d);
struct span_sink reporter_sink(struct reporter *reporter);
/* Calls that it was fed with. */
uint64_t reporter_calls(const struct reporter *reporter);
/* Whether reporter_relate() would find anything: to open a recording costs a reading of it. */
bool reporter_would_relate(const struct reporter *reporter);
/* Could it, by what is known up to now? Then the calls must be kept. */
bool report_wants_order(const struct definitions *d);
/*
 * After all was fed live: a recording of the same run, for the analyses that need one. It must stay open until all is
 * printed. 0 or -errno; -ECANCELED where its reading was ended (recording_watch()): then the report is as without it.
 */
int reporter_relate(struct reporter *reporter, struct recording *recording);
/* What the reader must know of the findings, in a sentence. 0 or -ENOMEM. */
int reporter_note(struct reporter *reporter, const char *text);

/*
 * Report for people, tables sorted by self time; and the JSON that docs/report.md documents. Where the sites are
 * not yet located in the source, the report says where they are in the file. Nothing is fed after either. 0 or -errno
 * (write error).
 */
int reporter_print(struct reporter *reporter, FILE *out, const struct report_style *style);
int reporter_print_json(struct reporter *reporter, FILE *out);
/*
 * A table of the one analysis that was chosen, as RFC 4180 has it: what its JSON has as a list of objects, a column for
 * each key. table: which of several, a path of keys: "pairs"; NULL: the only one. -EINVAL: there is none, or are
 * several, said.
 */
int reporter_print_csv(struct reporter *reporter, const char *table, FILE *out);
/* Sums up, and simulates: what takes long before anything is printed. All that print do it by themselves. 0 or -errno.
 */
int reporter_finish(struct reporter *reporter);
/* The evidence of one finding, by its number from 1. -ENOENT: there is none of that number. */
int reporter_explain(struct reporter *reporter, unsigned number, FILE *out, const struct report_style *style);
/* A figure in percent: "imbalance" and others (docs/report.md). -ENODATA: there is none of that name, or it is not
 * known. */
int reporter_figure(struct reporter *reporter, const char *name, double *value);

/* --- for who shows calls beside the report, after reporter_finish() -------------- */

struct relations;

/* ns, CLOCK_MONOTONIC: what the report's `recording` has as its start and end. */
void reporter_times(const struct reporter *reporter, uint64_t *start, uint64_t *end);
/* places: by thread of the definitions, where it stands in the report's `threads`; NO_INDEX: it does not. */
void reporter_places(const struct reporter *reporter, uint32_t *places);
/* Which calls belong together, in what reporter_read() has read, to be read again; NULL: it was not looked for. */
struct relations *reporter_relations(const struct reporter *reporter);
/* The groups that time is told by in `group_ns`, in their order: "wait"; NULL: no more. */
const char *report_group(unsigned number);
/* Which of them a call of this role is of. */
unsigned report_group_of_role(enum role role);

/* --- for who shows calls beside the report, after reporter_finish() (beside.c) --- */

struct relations;

/* ns, CLOCK_MONOTONIC: what the report's `recording` has as its start and end. */
void reporter_times(const struct reporter *reporter, uint64_t *start, uint64_t *end);
/* places: by thread of the definitions, where it stands in the report's `threads`; NO_INDEX: it does not. */
void reporter_places(const struct reporter *reporter, uint32_t *places);
/* Which calls belong together in what reporter_read() has read; NULL: it has not looked for that. */
struct relations *reporter_relations(const struct reporter *reporter);
/* The groups that the report has the time of (`group_ns`), in their order: "wait"; NULL: no more. */
const char *report_group(unsigned number);
/* Which of them calls of this role are of. */
unsigned report_group_of_role(enum role role);

/* For each site the first one of the same instruction, whatever process has it. To be freed; NULL: out of memory. */
uint32_t *report_same_sites(const struct definitions *d);
/* The same of the same line, where lines are known. */
uint32_t *report_same_lines(const struct definitions *d);

#endif
