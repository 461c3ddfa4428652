/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - heaps, and the places in the source that fill them. Private to user/analysis: memory.c collects this,
 * memory_end.c makes something of it, memory_print.c tells it.
 */
#ifndef GASPBPF_ANALYSIS_MEMORY_H
#define GASPBPF_ANALYSIS_MEMORY_H

#include "analysis/analysis.h"
#include "analysis/blocks.h"
#include "analysis/people.h"

#define SLOTS 80 /* of time; in use are all, or the first half at least */
#define TENTHS 10
#define OPEN_MOST 8
#define FREED_KEPT 16
#define SMALL_BYTES 256
#define SHORT_NS 1000000

/* What one model's functions give out in one process; of pointers into a space of all ranks: in the whole job. */
struct heap {
	uint32_t process; /* index; NO_INDEX: of all together */
	uint32_t probe;   /* one whose model it is of */
	struct blocks blocks;
	uint64_t live, peak, peak_time; /* bytes; ns */
	uint64_t told;                  /* live, to who watches */
	uint64_t blocks_given, bytes_given, blocks_freed;
	uint64_t from_before;       /* freed now, of unknown size */
	uint32_t before[SLOTS];     /* of these in each slot */
	uint64_t unsized;           /* blocks given whose bytes are not known */
	uint64_t unplaced;          /* calls of which it is not known what they gave, or what they freed */
	uint64_t failed;            /* calls that gave nothing */
	uint64_t again;             /* addresses given that were alive: they have been freed unseen */
	uint64_t beyond;            /* blocks that are not followed: there were too many */
	uint64_t executed;          /* ns: when its process became another program; UINT64_MAX: it did not */
	uint64_t sample[SLOTS];     /* live bytes at the end of each slot */
	uint64_t since, until;      /* ns: its first call, and its last */
	unsigned first;             /* the slot of it */
	uint64_t freed[FREED_KEPT]; /* the addresses of the last ones, where all ranks share the space */
	unsigned next_freed;

	/* Since the end. */
	bool left_out;
	uint32_t next;                   /* another one of the process; NO_INDEX: none */
	unsigned last;                   /* the slot of `until` */
	uint64_t steady_from, steady_to; /* ns */
	uint64_t steady_live;            /* bytes: when the steady state began */
	double trend;                    /* bytes/s, since then */
	bool grows;                      /* it does, steadily */
	uint64_t missing;                /* calls that were lost or only counted */
	bool out;                        /* its calls were not seen for a while, or from some moment on */
	bool exact;                      /* all calls were seen */
};

enum verdict {
	VERDICT_NONE,    /* nothing is suspected */
	VERDICT_SUSPECT, /* of leaking */
	VERDICT_UNKNOWN  /* it would be one, but not all was seen */
};

/* A call site as far as one heap goes. */
struct memory_site {
	uint32_t heap, site, probe; /* site: NO_INDEX: not known */
	uint64_t blocks, bytes, freed, freed_bytes;
	uint64_t took;                   /* ns, in its calls */
	uint64_t churned, churned_bytes; /* blocks that were small and lived shortly */
	int64_t churn;                   /* ns in allocating and freeing them */
	uint32_t born[SLOTS];            /* without those that were freed soon */
	uint64_t soon;                   /* freed in the slot of their birth, or the next */
	/* Since the end. */
	uint64_t oldest, newest; /* ns: births of what is alive */
	enum verdict verdict;
};

struct churning {
	uint64_t blocks;
	int64_t time; /* ns */
	int64_t most; /* ns: of the site below */
	uint32_t site;
};

/* A call of these functions that is in progress on a thread. */
struct open_call {
	unsigned lane, level;
	uint32_t heap;
	bool had; /* it changes the size of this block */
	struct block block;
};

struct memory_thread {
	struct open_call open[OPEN_MOST];
	unsigned nopen;
	struct churning churning;
};

struct memory_probe {
	bool ready, shared;
	bool out; /* since the end: its calls were not all followed */
	uint32_t model;
	uint64_t floor, least; /* ns: that the probe adds, by the calibration; of the calls seen */
	struct payload_plan *payload;
	struct prepared_value given, taken, error; /* .value NULL: there is none */
};

struct memory {
	const struct definitions *d;
	struct heap *heaps;
	size_t nheaps, heaps_room;
	struct index by_process; /* process and model -> heaps */
	struct memory_site *sites;
	size_t nsites, sites_room;
	struct index by_site; /* heap and site -> sites */
	struct memory_thread *threads;
	size_t nthreads;
	struct memory_probe *probes;
	size_t nprobes;
	uint64_t *gaps;         /* calls lost, by process */
	uint64_t origin, width; /* ns: of the slots */
	unsigned slot;
	uint64_t slot_end;
	size_t alive; /* blocks of all heaps */
	struct report_watch watch;
	uint64_t crowded;

	uint64_t end;         /* ns */
	uint32_t *main;       /* a thread that stands for the process; NO_INDEX: it has none */
	uint32_t *of_process; /* the first heap; NO_INDEX: none */
	uint32_t *order;      /* heaps of the job: by rank, process and model */
	size_t norder;
	uint32_t *sorted; /* sites: suspects first, then by live bytes */
	size_t nsorted;
	uint32_t *same; /* report_same_sites() */
};

static inline uint64_t site_churn(const struct memory_site *site)
{
	return site->churn > 0 ? (uint64_t)site->churn : 0;
}

static inline uint64_t site_live(const struct memory_site *site)
{
	return site->bytes - site->freed_bytes;
}

/* False: not even one of its blocks is known, as their addresses cannot be seen. */
static inline bool heap_is_known(const struct heap *heap)
{
	return heap->blocks_given || !heap->unplaced;
}

unsigned memory_slot_of(const struct memory *m, uint64_t time);
/* To be called with a time that is not before that of the last call. */
void memory_pass_time(struct memory *m, uint64_t time);
int memory_end(void *state, struct report *r);
/* Those of the same place and verdict in several processes: the threads that were there; and sums. 0 or -ENOMEM. */
struct memory_group {
	struct people who; /* main threads of the processes */
	uint64_t blocks, bytes;
	double rate; /* bytes/s */
};
int memory_group_of(const struct memory *m, size_t first, struct memory_group *group, bool *done);
double memory_site_rate(const struct memory *m, const struct memory_site *site);
/* A thread that stands for the heap's process; NO_INDEX: there is none. */
static inline uint32_t heap_thread(const struct memory *m, const struct heap *heap)
{
	return heap->process == NO_INDEX ? NO_INDEX : m->main[heap->process];
}

/* NULL: out of memory. */
const struct memory_probe *memory_probe_of(struct memory *m, uint32_t index);
/* "rank 3", "ranks 0-3", "solver (pid 4242)", "3 processes"; "all ranks" where there is nobody, since it is all of
 * them. Into text, which is returned. */
const char *memory_who(const struct definitions *d, const struct people *main_threads, char *text, size_t room);
void memory_print(void *state, const struct printer *p);
void memory_json(void *state, const struct report *r, struct json *j);

#endif
