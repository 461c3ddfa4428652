/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.h - the door of user/top: what user/live knows, on a screen, as text, or as JSON.
 */
#ifndef GASPBPF_TOP_H
#define GASPBPF_TOP_H

#include <stdio.h>
#include <sys/types.h>

#include "live/live.h"
#include "util/json.h"

/* What the user has chosen to see. */
struct top_view {
	bool threads; /* a row for each thread, else for each process */
	bool all;     /* since the start, else the last interval */
	bool reverse;
	int sort;        /* enum top_sort */
	char filter[64]; /* "": everything */
};

enum top_sort {
	TOP_BY_NAME,
	TOP_BY_GROUP, /* and the next ones, in the order of enum group */
	TOP_BY_CALLS = TOP_BY_GROUP + GROUPS,
	TOP_BY_BYTES,
	TOP_BY_LATE,
	TOP_BY_COST,
	TOP_SORTS
};

/* "name", "compute", ..., "calls": as --sort takes it. */
const char *top_sort_name(int sort);
int top_sort_find(const char *name); /* -1: none */

/* A call of a process of which no probe has told so far: it was in it when the probes came. */
struct top_earlier {
	pid_t pid, tid;
	const char *event, *model;
	char *place;       /* where the program called it; NULL: not known */
	uint64_t at_least; /* ns; it has lasted so long, or longer; 0: not known */
	bool likely;       /* that it is one and the same call all the time is not certain */
};

/* One process or thread. */
struct top_row {
	uint32_t process, thread;           /* definitions; thread NO_INDEX: the process as a whole */
	const struct live_figures *figures; /* NULL: no call of it was seen yet */
	struct live_call in;                /* what it is in; probe NO_INDEX: nothing */
	char name[64];
};

struct top_told; /* told.h */

/* Everything there is to show. All but `live` is the caller's to fill. */
struct top {
	const struct live *live;     /* NULL: it is told by several nodes */
	const struct top_told *told; /* then this is there */
	const struct definitions *d;
	void (*locate)(void *context, uint32_t site); /* looks a call site up in the source; NULL: nobody can */
	void *locate_context;
	uint64_t spans, lost, summed, skipped; /* of all calls */
	char cost[160];                        /* in words */
	double own_cpu;                        /* share of one CPU, in the interval */
	size_t alive;                          /* processes */
	int command;                           /* pid of what was started for this and runs; 0: nothing does */
	bool ended;                            /* no more looks come */
	const struct top_earlier *earlier;     /* one for each process that is in such a call */
	size_t nearlier;
	const char *named; /* "sudo gaspbpf stuck -p 4242", which says more; NULL: nothing to look at by itself */
	struct top_view view;
	struct top_row *rows;
	size_t nrows, rows_room;
};

/* Of what is shown; ns. */
uint64_t top_interval(const struct top *top);
uint64_t top_since(const struct top *top);
uint64_t top_now(const struct top *top);
size_t top_threads(const struct top *top);
/* NULL: nothing was seen of it, or it is not known what it does now. */
const struct live_figures *top_process(const struct top *top, uint32_t process, bool all);
/* Of what nodes have told. */
struct live_call top_told_call(const struct top *top, uint32_t process);
const struct live_event *top_told_events(const struct top *top, uint32_t process, size_t *count);
const struct top_earlier *top_told_earlier(const struct top *top, uint32_t process);

/* Fills the rows, as the view wants them. 0 or -ENOMEM. */
int top_rows(struct top *top);
void top_free(struct top *top);

/* event_label() of it. */
const char *top_event_name(const struct top *top, uint32_t probe, char *text, size_t room);
/* Calls that the runtime made to itself? */
bool top_is_inner(const struct top *top, uint32_t probe);
/* site_label() of it, looked up in the source if it was not yet; "" where there is none. */
const char *top_site_name(const struct top *top, uint32_t site, char *text, size_t room);
/* The events of a row, merged over its threads, sorted by self time. malloc'ed; NULL: none, or no memory. */
struct live_event *top_events(const struct top *top, const struct top_row *row, size_t *count);
/* Likewise of a process (definition): of its threads that have no row any more, since they ended before the interval.
 */
struct live_event *top_ended_events(const struct top *top, uint32_t process, size_t *count);

/* What the process is in since before the probes came, where none of its calls has been seen; NULL: not known. */
const struct top_earlier *top_earlier_of(const struct top *top, const struct top_row *row);

/* Lines of text, as the screen and --once show them. Into text, which is returned. */
const char *top_line_totals(const struct top *top, char *text, size_t room);
const char *top_line_last(const struct top *top, char *text, size_t room); /* "": nobody */
const char *top_line_lock(const struct top *top, char *text, size_t room); /* "": none */
/* Of nodes that do not answer; "": all do, or there are none. */
const char *top_line_nodes(const struct top *top, char *text, size_t room);
/* What to ask next of a job that stands still; "": some of it goes on, or
 * nothing is known to wait. */
const char *top_line_still(const struct top *top, char *text, size_t room);
#define TOP_UNMODELLED "no model, not seen" /* what that line begins with */
#define TOP_INSIDE "inside, not seen"
/* Libraries of runtimes that no model describes; or runtimes inside programs that are not seen. "": there are none. */
const char *top_line_unmodelled(const struct top *top, bool inside, char *text, size_t room);

/* The columns that fit. */
#define TOP_COLUMNS (1 + GROUPS + 6)
enum top_column_kind { TOP_NAME, TOP_GROUP, TOP_CALLS, TOP_BYTES, TOP_LATE, TOP_COST, TOP_IN };
struct top_column {
	enum top_column_kind kind;
	enum group group;
	const char *title;
	unsigned width;
};
/* For a line of this width; 0: as wide as need be. Returns how many. */
size_t top_columns(const struct top *top, unsigned width, struct top_column columns[TOP_COLUMNS]);
const char *top_cell(const struct top *top, const struct top_row *row, const struct top_column *column, char *text,
		     size_t room);

/* The columns of an event table, likewise. */
struct top_event_cells {
	char self[16], time[16], calls[24], mean[16], longest[16], bytes[24];
};
void top_event_text(const struct top *top, const struct top_row *row, const struct live_event *event,
		    struct top_event_cells *cells);

/* One interval, or all, on `out`. 0 or -errno. */
int top_print(struct top *top, FILE *out, unsigned width);
int top_print_json(const struct top *top, FILE *out);
/* The same on one line. */
int top_write_json(const struct top *top, json_write_fn write, void *context);

/* --- the screen (screen.c) ------------------------------------------------ */

struct screen;
enum screen_wish { SCREEN_NOTHING, SCREEN_REDRAW, SCREEN_QUIT, SCREEN_FASTER, SCREEN_SLOWER, SCREEN_END_COMMAND };

/* Can this terminal show it? NULL: yes, else why not and what to do. */
const char *screen_refusal(void);            /* guard.c */
struct screen *screen_open(struct top *top); /* NULL: said */
void screen_close(struct screen *screen);    /* the terminal is as it was */
void screen_draw(struct screen *screen);
/* Keys that were pressed. */
enum screen_wish screen_keys(struct screen *screen);
/* Stops the process if that was asked for (^Z), with the terminal as it was. True: it goes on, and the screen is to be
 * drawn. s: may be NULL. */
bool screen_stop(struct screen *s);
bool screen_paused(const struct screen *screen);

/* --- the guard (guard.c) --------------------------------------------------- */

/*
 * Forks: the caller goes on as the child, which has the screen. The parent does nothing but put the terminal back when
 * the child has ended, however that came; it stops and goes on together with it. True in the child. False in the
 * parent, after the child's end: *status is what to exit with.
 */
struct guard;
bool guard_start(struct guard **guard, int *status);
/* In the child: the screen is on, or off. While it is on, what is said on standard error is kept, and shown when it is
 * off. */
void guard_screen(struct guard *guard, bool on);
/* Where a command's output goes that would be in the way of the screen; shown at the end. -1: nowhere. */
int guard_output(const struct guard *guard);

#endif
