/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - what the files of user/export/otf2 share. Private.
 *
 * The timeline tells of all threads in one order of time. What each call becomes (calls.c, access.c) is put as records
 * into a heap of its location (records.c): a thread, or a lane of it. When all is known, the locations are written one
 * after the other, so that one file is open at a time and one buffer is in use: the library keeps some MiB for each
 * file. Then come the definitions that were found to be needed (definitions.c).
 */
#ifndef GASPBPF_EXPORT_OTF2_PARTS_H
#define GASPBPF_EXPORT_OTF2_PARTS_H

#include "account/account.h"
#include "export/otf2/library.h"
#include "export/spool.h"
#include "meaning/answers.h"
#include "recording/communicators.h"
#include "recording/recording.h"
#include "timeline/timeline.h"

/* --- records (records.c) --------------------------------------------------- */

enum record_kind {
	RECORD_ENTER, /* region, site, end */
	RECORD_LEAVE, /* region */
	RECORD_ON,
	RECORD_OFF,
	RECORD_SEND,          /* receiver, comm, tag, bytes */
	RECORD_ISEND,         /* and request */
	RECORD_ISEND_DONE,    /* request */
	RECORD_IRECV_REQUEST, /* request */
	RECORD_RECV,          /* sender, comm, tag, bytes */
	RECORD_IRECV,         /* and request */
	RECORD_COLLECTIVE_BEGIN,
	RECORD_COLLECTIVE_END,     /* operation, comm, root, sent, received */
	RECORD_COLLECTIVE_REQUEST, /* request */
	RECORD_COLLECTIVE_DONE,    /* operation, comm, root, sent, received, request */
	RECORD_RMA_COLLECTIVE_BEGIN,
	RECORD_RMA_COLLECTIVE_END, /* operation, window, root, sent, received */
	RECORD_PUT,                /* window, remote, bytes, match */
	RECORD_GET,                /* window, remote, bytes, match */
	RECORD_ATOMIC,             /* window, remote, type, sent, received, match */
	RECORD_RMA_DONE,           /* window, match */
	RECORD_RMA_ACQUIRE,        /* window, remote, lock */
	RECORD_RMA_RELEASE,        /* window, remote, lock */
	RECORD_ACQUIRE,            /* paradigm, lock, order */
	RECORD_RELEASE,            /* paradigm, lock, order */
	RECORD_KINDS
};

#define RECORD_NUMBERS 6

struct record {
	enum record_kind kind;
	uint64_t time; /* ns */
	uint64_t numbers[RECORD_NUMBERS];
};

/* A file of events. */
struct location {
	uint32_t thread; /* index; NO_INDEX: of a rank that was not observed */
	uint32_t lane;
	struct heap heap;
	uint64_t time;    /* ns: of the last record put */
	uint64_t records; /* how many */
};

/* --- what calls mean (regions.c) ------------------------------------------- */

struct paradigm {
	const char *model; /* as models have it */
	OTF2_Paradigm paradigm;
	const char *name;
	OTF2_ParadigmClass class;
	const char *unit; /* what its processes are called; NULL: they are threads, or have no numbers */
};

/* Do one-sided accesses name one of several windows, and go on until another call? */
static inline bool has_windows(const struct paradigm *paradigm)
{
	return paradigm->paradigm == OTF2_PARADIGM_MPI;
}

struct region {
	uint32_t number; /* of the region definition: several probes may be one */
	const struct paradigm *paradigm;
	bool inner;     /* calls that the runtime makes to itself are no messages of the program's */
	bool begins;    /* returns at once; a wait ends it */
	bool completes; /* an access of others' memory is complete when it returns */
	bool names_comm;
	OTF2_CollectiveOp operation;
	struct answers answers;
	struct payload_plan *payload;
};

/* --- people (people.c) ------------------------------------------------------ */

/* A rank of a job. */
struct person {
	uint32_t job; /* index in people.jobs */
	int64_t rank;
	uint32_t location; /* index; NO_INDEX: it was not observed */
	bool main;         /* that is the first thread of its process */
};

struct job {
	const char *name;    /* NULL: there is one only */
	const char *unit;    /* what its ranks are called */
	uint32_t number;     /* of job_ranks.h */
	int64_t first, last; /* ranks */
	uint32_t at;         /* where its ranks begin among all */
};

/* A communicator of the archive. */
struct comm {
	const struct def_comm *def; /* NULL: all of a job, or one that is known by its number alone */
	OTF2_Paradigm paradigm;
	const char *of; /* whose: "MPI" */
	uint32_t job;
	uint64_t id;
	bool world; /* all of the job */
};

struct window {
	uint32_t comm;    /* of the archive; OTF2_UNDEFINED_COMM: not known */
	uint32_t ordinal; /* of those of the communicator, from 1; 0: all memory, or it was made before the observation
			   */
	const char *of;   /* whose: "MPI" */
};

#define PIECES 8 /* buffers that the library has at a time, and more */

struct otf2 {
	const struct otf2_library *library;
	const struct definitions *d;
	const char *name; /* of the output, for messages */
	int error;        /* the first */
	unsigned percent; /* told */

	struct spool *spool;
	struct location *locations;
	size_t nlocations, locations_room;
	uint32_t *extra;       /* by thread: its lanes but the first, as a list of locations: index + 1 of the latest */
	uint32_t *lane_before; /* by location: the lane before it in that list */
	size_t lane_room;

	struct event_names names; /* numbers of regions */
	struct region *regions;   /* by probe */
	uint32_t *region_probe;   /* by number of a region: its first probe */

	struct person *people;
	size_t npeople;
	struct job *jobs;
	size_t njobs;
	uint32_t *job_of; /* by process */
	struct comm_index *comm_index;
	struct comm *comms;
	size_t ncomms, comms_room;
	struct known_number *known; /* uthash: numbers of what is met while reading */
	struct window *windows;
	size_t nwindows, windows_room;

	struct open_request *requests;          /* uthash */
	struct open_request **oldest, **latest; /* by thread: the ends of its list */
	size_t nrequests;
	uint64_t next_request, next_match;
	uint32_t nlocks;

	struct heap gaps; /* where calls were lost */

	struct piece { /* memory for the library's buffers */
		bool taken, used;
		void *memory;
	} pieces[PIECES];
};

/* Notes the first error. Returns it. */
int otf2_fail(struct otf2 *o, int error);

/* records.c */
int otf2_put(struct otf2 *o, uint32_t location, const struct record *record);
/* Writes all that was put, one location after the other. 0 or -errno, said. */
int otf2_records_write(struct otf2 *o, OTF2_Archive *archive);

/* otf2.c: the location of a lane of a thread; NO_INDEX: out of memory. */
uint32_t location_of(struct otf2 *o, uint32_t thread, uint32_t lane);
/* Is it of a process that is part of the job? Others have no events. */
bool location_is_shown(const struct otf2 *o, uint32_t location);
/* Shows how much of the work is done. */
void otf2_progress(struct otf2 *o, size_t done, size_t all);

/* regions.c */
int otf2_regions_open(struct otf2 *o);
void otf2_regions_close(struct otf2 *o);
const struct paradigm *paradigm_of_unit(const char *unit);
/* All of them, ended by one without a model, which is that of all other models. */
extern const struct paradigm paradigms[];
OTF2_RegionRole otf2_region_role(const struct otf2 *o, uint32_t probe);
/* "MPI_Send": the name that the program calls it by, of those that the function has; *length of it. */
const char *otf2_region_name(const struct def_probe *probe, size_t *length);

/* people.c */
enum numbered {
	NUMBERED_COMM,
	NUMBERED_ID,
	NUMBERED_WORLD,
	NUMBERED_WINDOW,
	NUMBERED_HANDLE,
	NUMBERED_MADE,
	NUMBERED_LOCK,
	NUMBERED_LOCK_NUMBER
};
/* The number kept under a key of its kind; NO_INDEX at first. NULL: out of memory, noted. */
uint32_t *otf2_number_kept(struct otf2 *o, enum numbered kind, const void *key, size_t size);
int otf2_people_open(struct otf2 *o);
void otf2_people_close(struct otf2 *o);
/* Where the call's communicator stands; OTF2_UNDEFINED_COMM: not known, or out of memory, which is noted. */
uint32_t comm_of_call(struct otf2 *o, const struct span *span);
uint32_t comm_of_all(struct otf2 *o, const struct paradigm *paradigm, uint32_t process);
/* The window that a call of one-sided communication works on; OTF2_UNDEFINED_RMA_WIN: out of memory, which is noted. */
uint32_t window_of_call(struct otf2 *o, const struct span *span);
/* A call has made one. */
void window_made(struct otf2 *o, const struct span *span);
/* A rank as calls give it, as a member of all of its job; -1: it is none of it. */
int64_t member_of_all(const struct otf2 *o, uint32_t process, int64_t rank);

/* calls.c */
int otf2_call_begins(struct otf2 *o, uint32_t location, const struct span *span);
/* time: ns; when it ended, or where that is not known, began */
int otf2_call_ends(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time);
bool otf2_number(const struct otf2 *o, const struct span *span, enum want want, int64_t *number);

/* requests.c */
struct request {
	enum { REQUEST_SEND, REQUEST_RECV, REQUEST_COLLECTIVE } what;
	uint64_t id;
	uint64_t numbers[RECORD_NUMBERS]; /* of the record that its end will be */
};
int otf2_request_begin(struct otf2 *o, const struct span *span, const struct request *request);
int otf2_requests_end(struct otf2 *o, uint32_t location, const struct span *span);
void otf2_requests_close(struct otf2 *o);

/* access.c: one-sided accesses and locks */
int otf2_access_begins(struct otf2 *o, uint32_t location, const struct span *span);
int otf2_access_ends(struct otf2 *o, uint32_t location, const struct span *span);

/* markers.c */
int otf2_marker_gap(struct otf2 *o, const struct gap *gap);
int otf2_markers_write(struct otf2 *o, OTF2_Archive *archive);

/* definitions.c */
/* Makes it valid UTF-8, in memory of its own. 0 or -ENOMEM. */
int otf2_clean(char **text);
int otf2_definitions_write(struct otf2 *o, OTF2_Archive *archive);
#define ATTRIBUTE_SITE 0   /* where a call was made: a line of the source */
#define ATTRIBUTE_CALLER 1 /* the function that made it */
#define ATTRIBUTE_END 2    /* how it ended, where it did not return */
#define ATTRIBUTE_PLACE 3  /* where the function is not known: the place in one word */
#define ENDS 16
/* Strings of call sites and ends have the first references. */
static inline OTF2_StringRef site_string(uint32_t site)
{
	return ENDS + site;
}

#endif
