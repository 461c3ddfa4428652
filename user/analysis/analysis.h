/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.h - what an analysis is: a row of the table in analyses.h. Private to user/analysis.
 *
 * A report is a walk over that table (report.c). Once for each run or recording, an analysis is told in this order:
 *
 *   begin           the definitions are there; live they grow, and what they say of a thread may change
 *   span or event   a call is over; or: a call begins or ends, see below. All roles that it wants, no others
 *   gap             calls of a thread were lost here
 *   end             no more comes, and all is summed up (struct report)
 *   print, json     as often as somebody asks; nothing changes any more
 *   free
 *
 * and says nothing of a member that it leaves out. Many analyses need no state, since struct report has what they tell.
 *
 * There are two ways to see the calls. Not both: their gaps would be told twice.
 *
 * span: each call when it is over, with its self time. Those of one thread come in the order of their ends, so those
 * inside first; threads come in no order. This is cheap, and live too.
 *
 * event: the STARTs and ENDs of all threads in one order of time, for an analysis that asks what happened elsewhere in
 * the meantime. If any wants it, and there were calls of its roles, the recording is read once more. Where there is
 * none (the report at the end of gaspbpf record) such an analysis is not made.
 *
 * Beside these there is what the calls have to do with each other, for an analysis that asks who waited for whom:
 * relations, in the order of simulate/relations.h, and then related. That needs a recording, too. It is told by one
 * thread (handing_on.h) while another tells the calls, so an analysis wants one of the two: where one wants both, they
 * are not told at the same time, and the report takes longer.
 *
 * Calls of processes that are no part of the job come as well: live it may turn out late that they are none. They are
 * to be dropped in end (thread_is_left_out()).
 */
#ifndef GASPBPF_ANALYSIS_H
#define GASPBPF_ANALYSIS_H

#include "analysis/grouping.h"
#include "analysis/profile_data.h"
#include "analysis/report.h"
#include "analysis/told.h"
#include "simulate/relations.h"
#include "timeline/timeline.h"

struct json;
struct printer;

#define EVERY_ROLE UINT64_MAX
#define ROLE_BIT(role) (1ull << (role))

/* One call that is over, what it moved, and whose its time is. Good until span() returns. */
struct accounted_call {
	const struct definitions *d;
	const struct span *span;
	const struct probe_facts *probe; /* for the function below */
	enum role role;
	uint32_t event; /* report_event_label() has its name */
	bool inner;     /* a call that the runtime made to itself */
	bool timed;     /* false: its duration is not known, and the three below are 0 */
	struct payload payload;
	uint64_t duration; /* ns; without the probe's own part, where the user wants that */
	uint64_t self;     /* ns of it that no observed call inside has had */
	uint64_t total;    /* ns of it in no other call of the same event on this thread */
	uint64_t around; /* calls of one thread and depth have the same number only if the same calls are around them */
	const struct nesting *nesting; /* what its thread's time was for, up to its end */
};

/* The first of its values that means this: a peer, a lock, a tag. False: it has none, or it was not known. */
bool call_number(const struct accounted_call *call, enum meaning meaning, int64_t *number);

struct analysis {
	const char *name;  /* its key in the JSON, and what it is asked for by */
	const char *title; /* heads its section of the text (printer_heading()); NULL: it has no section of its own */
	bool asked;        /* it is made only where somebody asks for it by its name */
	bool of_calls;     /* it has nothing to print where no call was observed */
	bool of_waiting;   /* it is about who waits for whom: its section says if threads had no CPU */
	bool of_work;      /* it tells what work takes: its section says if the probes took much of that */
	bool needs_calls;  /* single ones, with what is known of each: as all that have one of the functions below do */
	bool ends_last;    /* its end() makes something of what the others' have found */
	/* Is it made where only this one is asked for, too? NULL: for nobody but the findings. */
	bool (*serves)(const struct analysis *is);
	uint64_t roles; /* bit i: span() or event() are told of calls of role i */
	/* event() is told of calls only where there was one of a probe of which this holds. NULL: of any of its roles.
	 */
	bool (*worth)(const struct definitions *d, uint32_t probe);
	/* Is there anything in these definitions that it could tell of? NULL: always. It is asked where all of a
	 * recording's are known, and only for analyses with event or relations, which cost a reading. */
	bool (*possible)(const struct definitions *d);
	/* Those that can fail return 0 or -errno, not said. state: what begin() has put there; NULL at first. */
	int (*begin)(void **state, const struct definitions *d);
	int (*span)(void *state, const struct accounted_call *call);
	int (*event)(void *state, const struct definitions *d, const struct event *event);
	int (*gap)(void *state, const struct definitions *d, const struct gap *gap);
	const struct relations_ops *relations; /* their context is the state; `roles` says nothing of them */
	void (*related)(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies);
	int (*end)(void *state, struct report *r);
	/* A figure of this name, after end(). False: it is none of this analysis', or not known. */
	bool (*figure)(void *state, const struct report *r, const char *name, double *value);
	void (*print)(void *state, const struct printer *p);
	void (*json)(void *state, const struct report *r, struct json *j); /* the value of its key, one */
	/* What it has to draw (told.h). Likewise as often as somebody asks. */
	int (*tell)(void *state, const struct report *r, const struct report_teller *teller);
	/* Once, after begin(): somebody wants to know what goes up and down. */
	void (*watch)(void *state, const struct report_watch *watch);
	void (*free)(void *state); /* also where begin() failed */
};

/* An analysis that is made, and what is its own. */
struct made_analysis {
	const struct analysis *is;
	void *state;
	bool asked; /* by its name */
	bool made;
	bool chosen; /* as a section: reporter_choose() */
	bool late;   /* begun by reporter_relate() */
};

#define ANALYSES_MOST 64 /* probe_facts.told has a bit for each */

/* What the door calls a reporter (report.h). */
struct reporter {
	struct profile *profile;
	const struct definitions *d; /* NULL: not begun */
	struct recording *recording; /* NULL: live */
	struct relations *relations; /* of it; NULL: there is none */
	char *note;                  /* reporter_note(); NULL: none */
	struct made_analysis *all;   /* in the order of the table */
	size_t count;
	bool some; /* only those that were chosen are told */
	struct grouping grouping;
	struct report_watch watch; /* told.h */
	struct report report;
	bool finished; /* report is made */
};

/* reporter_new() with another table, which ends with a NULL. */
struct reporter *reporter_of(const struct analysis *const *table);

#endif
