/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_tracks.c - the tracks of a Chrome trace.
 *
 * A track is a pair of numbers (pid, tid). Lane 0 is the thread's own track; every other lane has one of its own, under
 * a made-up tid above all real ones. The same is done for a tid that stands twice in the recording (used again by the
 * kernel), since two threads must not share a track.
 *
 * Order: processes by rank, those without one after them, in the file, too; of a process the main thread, then by tid.
 */
#include "export/chrome_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "export/call.h"
#include "export/chrome_event.h"
#include "recording/labels.h"
#include "timeline/timeline.h"

#define PIDS_MOST (1u << 22) /* the kernel has no larger ones */
#define NAME_SIZE 1024       /* bytes of a name of a process or thread */

struct used_id {
	UT_hash_handle hh;
	uint64_t key; /* pid << 32 | tid */
};

/* On other nodes of a merged recording processes may have the same number. */
uint64_t chrome_pid(const struct definitions *d, uint32_t process)
{
	if (process >= d->nprocesses)
		return 0;
	return d->processes[process].node > 1 ? PIDS_MOST + (uint64_t)process : d->processes[process].pid;
}

/* --- their order ---------------------------------------------------------------------- */

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static bool is_main(const struct definitions *d, uint32_t thread)
{
	const struct def_process *process = thread_process(d, thread);

	return process && d->threads[thread].tid == process->pid;
}

static int main_first(const void *a, const void *b, void *context)
{
	const struct definitions *d = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	COMPARE(d->threads[x].process, d->threads[y].process);
	COMPARE(is_main(d, y), is_main(d, x));
	COMPARE(d->threads[x].tid, d->threads[y].tid);
	COMPARE(x, y);
	return 0;
}

bool chrome_tracks_open(struct chrome_tracks *tracks, const struct definitions *d)
{
	uint32_t largest = 0, *order = threads_in_order(d);

	*tracks = (struct chrome_tracks){ .d = d, .threads = calloc(d->nthreads + 1, sizeof(*tracks->threads)) };
	if (order)
		qsort_r(order, d->nthreads, sizeof(*order), main_first, (void *)d);
	for (uint32_t i = 0; order && tracks->threads && i < d->nthreads; i++) {
		largest = d->threads[i].tid > largest ? d->threads[i].tid : largest;
		tracks->threads[i].pid = chrome_pid(d, d->threads[i].process);
		tracks->threads[order[i]].order = i;
	}
	tracks->next_tid = (uint64_t)largest + 1;
	free(order);
	return order && tracks->threads;
}

void chrome_tracks_close(struct chrome_tracks *tracks)
{
	struct used_id *id, *next;

	HASH_ITER (hh, tracks->used, id, next) {
		HASH_DEL(tracks->used, id);
		free(id);
	}
	for (size_t i = 0; tracks->threads && i < tracks->d->nthreads; i++)
		free(tracks->threads[i].lanes);
	free(tracks->threads);
}

/* --- processes --------------------------------------------------------------------------- */

int chrome_tracks_put_processes(const struct chrome_tracks *tracks, struct json *j)
{
	const struct definitions *d = tracks->d;
	uint32_t *order = processes_in_order(d);
	char name[NAME_SIZE];

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < d->nprocesses; i++) {
		uint64_t pid = chrome_pid(d, order[i]);

		if (d->processes[order[i]].left_out)
			continue;
		process_text(d, order[i], name, sizeof(name));
		chrome_put_name(j, "process_name", pid, pid, name);
		chrome_put_order(j, "process_sort_index", pid, pid, (int64_t)i);
	}
	free(order);
	return j->error;
}

uint64_t chrome_job(struct chrome_tracks *tracks, struct json *j)
{
	uint64_t pid = PIDS_MOST + (uint64_t)tracks->d->nprocesses;

	if (tracks->has_job)
		return pid;
	tracks->has_job = true;
	chrome_put_name(j, "process_name", pid, pid, "the job");
	chrome_put_order(j, "process_sort_index", pid, pid, -1);
	return pid;
}

uint64_t chrome_job_track(struct chrome_tracks *tracks, struct json *j, const char *name)
{
	uint64_t pid = chrome_job(tracks, j), tid = tracks->next_tid++;

	chrome_put_name(j, "thread_name", pid, tid, name);
	chrome_put_order(j, "thread_sort_index", pid, tid, (int64_t)tid);
	return tid;
}

/* --- threads ----------------------------------------------------------------------------- */

static void put_track(const struct chrome_tracks *tracks, struct json *j, uint32_t thread, unsigned lane)
{
	const struct chrome_thread *of = &tracks->threads[thread];
	struct who who = who_is_thread(tracks->d, thread);
	uint64_t tid = of->lanes[lane].tid;
	char name[NAME_SIZE];

	who.rank = -1; /* the process has it */
	lane_text(&who, lane, name, sizeof(name));
	chrome_put_name(j, "thread_name", of->pid, tid, name);
	chrome_put_order(j, "thread_sort_index", of->pid, tid, (int64_t)of->order * TIMELINE_LANES + lane);
}

/* The thread's own tid, or a made-up one where another thread has it already. 0: out of memory. */
static uint64_t own_tid(struct chrome_tracks *tracks, uint64_t pid, uint32_t tid)
{
	struct used_id *id = malloc(sizeof(*id)), *known;

	if (!id)
		return 0;
	id->key = pid << 32 | tid;
	HASH_FIND(hh, tracks->used, &id->key, sizeof(id->key), known);
	if (known || !tid) {
		free(id);
		return tracks->next_tid++;
	}
	HASH_ADD(hh, tracks->used, key, sizeof(id->key), id);
	if (!id->hh.tbl) {
		free(id);
		return 0;
	}
	return tid;
}

struct chrome_track *chrome_track_add(struct chrome_tracks *tracks, struct json *j, uint32_t thread, unsigned lane)
{
	struct chrome_thread *of = &tracks->threads[thread];
	struct chrome_track *track;

	if (lane >= of->nlanes) {
		struct chrome_track *larger = realloc(of->lanes, (lane + 1) * sizeof(*larger));

		if (!larger)
			return NULL;
		memset(larger + of->nlanes, 0, (lane + 1 - of->nlanes) * sizeof(*larger));
		of->lanes = larger;
		of->nlanes = lane + 1;
	}
	track = &of->lanes[lane];
	track->tid = lane ? tracks->next_tid++ : own_tid(tracks, of->pid, tracks->d->threads[thread].tid);
	if (!track->tid)
		return NULL;
	chrome_place_set(&track->place, of->pid, track->tid);
	put_track(tracks, j, thread, lane);
	return track;
}
