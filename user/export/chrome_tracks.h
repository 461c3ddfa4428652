/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_tracks.h - on which track of a Chrome trace a thread's calls are, what the tracks are called, and in which
 * order they stand. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CHROME_TRACKS_H
#define GASPBPF_EXPORT_CHROME_TRACKS_H

#include "export/chrome_call.h"
#include "util/json.h"

struct chrome_track {
	uint64_t tid;        /* real or made up; 0: not used so far */
	uint64_t cut, limit; /* ns: no call that began before `cut` is to end after `limit` (chrome.c) */
	struct chrome_place place;
};

struct chrome_tracks {
	const struct definitions *d;
	struct chrome_thread {
		uint64_t pid;
		uint32_t order; /* among all */
		struct chrome_track *lanes;
		unsigned nlanes;
	} * threads;
	struct used_id *used;
	uint64_t next_tid; /* made-up ones */
	bool has_job;
};

/* False: out of memory. d must outlive it. */
bool chrome_tracks_open(struct chrome_tracks *tracks, const struct definitions *d);
void chrome_tracks_close(struct chrome_tracks *tracks);

/* The process in the trace. */
uint64_t chrome_pid(const struct definitions *d, uint32_t process);
/* All processes of the job, and where they stand. 0 or -ENOMEM. */
int chrome_tracks_put_processes(const struct chrome_tracks *tracks, struct json *j);

/* NULL: there is none so far. */
static inline struct chrome_track *chrome_track_known(const struct chrome_tracks *tracks, uint32_t thread,
						      unsigned lane)
{
	const struct chrome_thread *of = &tracks->threads[thread];

	return lane < of->nlanes && of->lanes[lane].tid ? &of->lanes[lane] : NULL;
}

/* A new track of a lane, and its name. NULL: out of memory. */
struct chrome_track *chrome_track_add(struct chrome_tracks *tracks, struct json *j, uint32_t thread, unsigned lane);

/* What is of no process alone stands in one of its own, above all others. Its pid: */
uint64_t chrome_job(struct chrome_tracks *tracks, struct json *j);
/* A track of that process; its tid. */
uint64_t chrome_job_track(struct chrome_tracks *tracks, struct json *j, const char *name);

#endif
