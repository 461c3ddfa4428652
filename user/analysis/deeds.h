/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deeds.h - what a thread does for some time, numbers for it, and what the reader calls it. Private to user/analysis.
 *
 * A deed is work between two calls, or a call without what it waits for others. It is told by the calls' places, so
 * that a loop does the same deed again and again, and so do two threads that run the same code.
 */
#ifndef GASPBPF_ANALYSIS_DEEDS_H
#define GASPBPF_ANALYSIS_DEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/relations.h"

enum doing {
	DOING_WORK,    /* the program's own: struct related_work */
	DOING_CALL,    /* in a call, for itself */
	DOING_WAIT,    /* in a call, for somebody else */
	DOING_UNKNOWN, /* calls are missing, or it was not observed then */
	DOINGS
};

/* Compared as bytes: no padding. */
struct deed {
	uint32_t thread;
	enum doing doing;
	uint32_t inside;      /* DOING_WORK: the probe of the function of the user's or task around it; NO_INDEX */
	struct called call;   /* DOING_CALL, DOING_WAIT */
	struct called after;  /* DOING_WORK: the calls before it and behind it */
	struct called before; /* likewise */
};

/* same: as of struct relief. */
struct same_sites {
	const uint32_t *same;
	size_t count;
};

struct deed deed_unknown(uint32_t thread);
/* What a piece of work, or a call, is: its sites are the first of the same instruction. */
struct deed deed_of_work(const struct same_sites *sites, const struct related_work *work);
struct deed deed_of_call(const struct same_sites *sites, const struct related_call *call);
/* The same, whichever thread does it. */
bool deed_is_same(const struct deed *a, const struct deed *b);
/*
 * How much alike two of them are. Those at a border of the domain, the first and the last of a pipeline, and a root do
 * the same work as the others, and then call something else, or come from something else.
 */
enum likeness { LIKE_ALL, LIKE_AFTER, LIKE_BEFORE, LIKENESSES };
bool deed_is_like(const struct deed *a, const struct deed *b, enum likeness how);
/* An order in which those that are the same stand together. */
int deed_order(const struct deed *a, const struct deed *b);
/* What would be shorter: of this thread, or of all where it is NO_INDEX. */
struct relief deed_relief(const struct deed *deed, uint32_t thread, const struct same_sites *sites);

/*
 * "computes in solve", "is outside of calls", "is in GASP_MPI_SEND". In no call a thread may sleep, too: that it
 * computes is said where it cannot have slept for much of these ns, in all of its life.
 */
void deed_text(const struct definitions *d, const struct deed *deed, uint64_t ns, char *text, size_t room);
/* The same for a table: "computes", "outside", "is in GASP_MPI_SEND". */
void deed_word(const struct definitions *d, const struct deed *deed, uint64_t ns, char *text, size_t room);
/*
 * "after a.c:10, before a.c:20 in main": between which calls; or where the call is. A sentence has the calls' names,
 * too: "from one GASP_MPI_BARRIER at a.c:10 in main to the next". also: other calls after which the same is done.
 */
enum place_in { IN_TABLE, IN_SENTENCE };
void deed_place(const struct definitions *d, const struct deed *deed, const struct called *also, size_t nalso,
		enum place_in in, char *text, size_t room);

struct report;
/* workers.c: between its shares of regions a thread that a runtime has made for them waits for the next one: that it
 * works then is not known. Its place in a table of deeds is not the same afterwards. */
void workers_forget_idle(const struct report *r, struct deed *deed);

struct json;
/* null where there is none. */
void put_called(struct json *j, const struct definitions *d, const struct called *called);
/* Keys of the open object: does, inside, call, after, before. */
void put_deed(struct json *j, const struct definitions *d, const struct deed *deed);

/* Numbers for deeds, from 0 on. Begins as zeros. */
struct deeds {
	struct deed *all;
	size_t count, room;
	uint32_t *slots; /* a hash table of number + 1; 0: free */
	size_t mask;     /* of as many; 0: none */
	bool full;       /* DEEDS_MOST were not enough: the others are unknown */
	uint32_t *then;  /* by number: the one that was asked for next, the last time; in a loop it is again */
	size_t then_room;
	uint32_t last; /* that was asked for */
};

#define DEEDS_MOST (1u << 18)

/* NO_INDEX: out of memory. */
uint32_t deeds_number(struct deeds *deeds, const struct deed *deed);
void deeds_free(struct deeds *deeds);

#endif
