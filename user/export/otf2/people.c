/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * people.c - who is behind a rank: the ranks of all jobs, communicators, windows of one-sided communication.
 *
 * OTF2 has one list of all members of a paradigm, in which communicators say who is theirs. Here it is the ranks of all
 * jobs of the recording, one job after the other, with those that were not observed: they have locations without
 * events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "export/call.h"
#include "export/otf2/parts.h"
#include "recording/job_ranks.h"
#include "util/array.h"

#define PEOPLE_MOST (1u << 20) /* ranks of a job; a recording may tell any number */
#define ABSENT_MOST (1u << 16) /* ranks that were not observed: two files each */

/* --- numbers ------------------------------------------------------------------ */

struct known_number {
	UT_hash_handle hh;
	uint32_t number;
	char key[];
};

uint32_t *otf2_number_kept(struct otf2 *o, enum numbered kind, const void *key, size_t size)
{
	struct known_number *made = malloc(sizeof(*made) + size + 1), *known;

	if (!made) {
		otf2_fail(o, -ENOMEM);
		return NULL;
	}
	made->number = NO_INDEX;
	made->key[0] = (char)kind;
	memcpy(made->key + 1, key, size);
	HASH_FIND(hh, o->known, made->key, size + 1, known);
	if (known) {
		free(made);
		return &known->number;
	}
	HASH_ADD_KEYPTR(hh, o->known, made->key, size + 1, made);
	if (made->hh.tbl)
		return &made->number;
	free(made);
	otf2_fail(o, -ENOMEM);
	return NULL;
}

/* --- ranks -------------------------------------------------------------------- */

static bool has_rank(const struct def_process *p)
{
	return p->rank >= 0 && !p->left_out;
}

/* The thread that stands for a rank: the first one of its process, or any of it. */
static void seat_thread(struct otf2 *o, uint32_t thread)
{
	uint32_t process = o->d->threads[thread].process;
	const struct def_process *p = thread_process(o->d, thread);
	int64_t member = p && has_rank(p) ? member_of_all(o, process, p->rank) : -1;
	struct person *person;

	if (member < 0)
		return;
	person = &o->people[o->jobs[o->job_of[process]].at + member];
	if (person->location == NO_INDEX || (p->pid == o->d->threads[thread].tid && !person->main)) {
		person->location = thread;
		person->main = p->pid == o->d->threads[thread].tid;
	}
}

static void add_job(struct otf2 *o, uint32_t process, uint32_t number)
{
	const struct def_process *p = &o->d->processes[process];
	int64_t last = p->ranks > 0 && p->ranks - 1 > p->rank ? p->ranks - 1 : p->rank;
	struct job *job = o->jobs;

	while (job < o->jobs + o->njobs && job->number != number)
		job++;
	if (job == o->jobs + o->njobs) {
		*job = (struct job){ .name = p->job, .unit = p->unit, .number = number };
		o->njobs++;
	}
	o->job_of[process] = job - o->jobs;
	if (last > job->last)
		job->last = last;
	/* The highest is as high as there are ranks: they count from 1. */
	if (p->ranks > 0 && p->rank == p->ranks)
		job->first = 1;
}

static int find_jobs(struct otf2 *o)
{
	struct job_ranks *ranks = job_ranks_new(o->d);

	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->d->nprocesses; i++) {
		o->job_of[i] = NO_INDEX;
		if (has_rank(&o->d->processes[i]))
			add_job(o, i, job_ranks_job(ranks, i));
	}
	job_ranks_free(ranks);
	return 0;
}

static uint32_t members_of(const struct job *job)
{
	return (uint32_t)(job->last - job->first + 1);
}

static int make_room(struct otf2 *o)
{
	for (size_t i = 0; i < o->njobs; i++) {
		struct job *job = &o->jobs[i];

		if (job->last - job->first >= PEOPLE_MOST)
			job->last = job->first + PEOPLE_MOST - 1;
		job->at = (uint32_t)o->npeople;
		o->npeople += members_of(job);
	}
	o->people = calloc(o->npeople + 1, sizeof(*o->people));
	if (!o->people)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->njobs; i++)
		for (uint32_t k = 0; k < members_of(&o->jobs[i]); k++)
			o->people[o->jobs[i].at + k] = (struct person){ .job = i,
									.rank = o->jobs[i].first + k,
									.location = NO_INDEX };
	return 0;
}

/* A location without events for each rank that was not observed. */
static int add_absent(struct otf2 *o)
{
	uint32_t absent = 0;

	for (uint32_t i = 0; i < o->npeople; i++) {
		if (o->people[i].location != NO_INDEX || absent++ >= ABSENT_MOST)
			continue;
		if (array_reach(&o->locations, &o->locations_room, o->nlocations + 1, sizeof(*o->locations)) ||
		    array_reach(&o->lane_before, &o->lane_room, o->nlocations + 1, sizeof(*o->lane_before)))
			return -ENOMEM;
		o->locations[o->nlocations] = (struct location){ .thread = NO_INDEX, .lane = i };
		o->people[i].location = (uint32_t)o->nlocations++;
	}
	return 0;
}

int64_t member_of_all(const struct otf2 *o, uint32_t process, int64_t rank)
{
	const struct job *job;

	if (process >= o->d->nprocesses || o->job_of[process] == NO_INDEX)
		return -1;
	job = &o->jobs[o->job_of[process]];
	return rank >= job->first && rank <= job->last ? rank - job->first : -1;
}

int otf2_people_open(struct otf2 *o)
{
	const struct definitions *d = o->d;
	int error;

	o->jobs = calloc(d->nprocesses + 1, sizeof(*o->jobs));
	o->job_of = calloc(d->nprocesses + 1, sizeof(*o->job_of));
	o->latest = calloc(d->nthreads + 1, sizeof(*o->latest));
	o->oldest = calloc(d->nthreads + 1, sizeof(*o->oldest));
	o->comm_index = comm_index_new(d);
	if (!o->jobs || !o->job_of || !o->comm_index || !o->latest || !o->oldest)
		return -ENOMEM;
	error = find_jobs(o) ?: make_room(o);
	for (uint32_t i = 0; i < d->nthreads && !error; i++)
		seat_thread(o, i);
	return error ?: add_absent(o);
}

void otf2_people_close(struct otf2 *o)
{
	struct known_number *known, *next;

	HASH_ITER (hh, o->known, known, next) {
		HASH_DEL(o->known, known);
		free(known);
	}
	comm_index_free(o->comm_index);
	free(o->people);
	free(o->jobs);
	free(o->job_of);
	free(o->comms);
	free(o->windows);
}

/* --- communicators ------------------------------------------------------------ */

static uint32_t add_comm(struct otf2 *o, uint32_t *kept, const struct comm *comm)
{
	if (!kept)
		return OTF2_UNDEFINED_COMM;
	if (*kept != NO_INDEX)
		return *kept;
	if (array_one_more(&o->comms, &o->comms_room, o->ncomms, sizeof(*o->comms))) {
		otf2_fail(o, -ENOMEM);
		return OTF2_UNDEFINED_COMM;
	}
	o->comms[o->ncomms] = *comm;
	*kept = (uint32_t)o->ncomms++;
	return *kept;
}

uint32_t comm_of_all(struct otf2 *o, const struct paradigm *paradigm, uint32_t process)
{
	uint32_t job = process < o->d->nprocesses ? o->job_of[process] : NO_INDEX;
	struct {
		OTF2_Paradigm paradigm;
		uint32_t job;
	} key;

	if (job == NO_INDEX)
		return OTF2_UNDEFINED_COMM;
	memset(&key, 0, sizeof(key));
	key.paradigm = paradigm->paradigm;
	key.job = job;
	return add_comm(
		o, otf2_number_kept(o, NUMBERED_WORLD, &key, sizeof(key)),
		&(struct comm){ .paradigm = paradigm->paradigm, .of = paradigm->name, .job = job, .world = true });
}

/* The same members under the same number are the same communicator, whoever of them names it. */
static uint32_t comm_of_definition(struct otf2 *o, const struct paradigm *paradigm, uint32_t job,
				   const struct def_comm *def)
{
	struct buffer key = { 0 };
	uint32_t found = OTF2_UNDEFINED_COMM;

	buffer_put_varint(&key, job);
	buffer_put_varint(&key, def->has_id ? def->id + 1ull : 0);
	buffer_put_varint(&key, def->size);
	for (uint32_t i = 0; i < def->nruns; i++) {
		buffer_put_varint(&key, def->runs[i].first);
		buffer_put_signed(&key, def->runs[i].stride);
		buffer_put_varint(&key, def->runs[i].count);
	}
	if (key.failed)
		otf2_fail(o, -ENOMEM);
	else
		found = add_comm(o, otf2_number_kept(o, NUMBERED_COMM, key.data, key.size),
				 &(struct comm){ .def = def,
						 .paradigm = paradigm->paradigm,
						 .of = paradigm->name,
						 .job = job,
						 .id = def->has_id ? def->id : UINT64_MAX });
	buffer_free(&key);
	return found;
}

/* The number that it has for all members, where that is known; a handle means something in its process only. */
static bool comm_number(const struct otf2 *o, const struct span *span, uint64_t *number)
{
	const struct answers *answers = &o->regions[span->probe].answers;
	struct sent_words sent = call_words(span);
	int64_t read;

	for (unsigned i = 0; i < answers->count[WANT_COMM]; i++)
		if (answers->values[WANT_COMM][i].value->form != FORM_POINTER &&
		    prepared_number(&answers->values[WANT_COMM][i], &sent, &read)) {
			*number = (uint64_t)read;
			return true;
		}
	return false;
}

uint32_t comm_of_call(struct otf2 *o, const struct span *span)
{
	const struct region *region = &o->regions[span->probe];
	uint32_t process = o->d->threads[span->thread].process;
	uint32_t job = process < o->d->nprocesses ? o->job_of[process] : NO_INDEX;
	const struct def_comm *def;
	uint64_t key[2] = { job, 0 };

	if (!region->names_comm)
		return comm_of_all(o, region->paradigm, process);
	if (job == NO_INDEX)
		return OTF2_UNDEFINED_COMM;
	def = comm_of_span(o->comm_index, span);
	if (def)
		return comm_of_definition(o, region->paradigm, job, def);
	if (!comm_number(o, span, &key[1]))
		return OTF2_UNDEFINED_COMM;
	return add_comm(o, otf2_number_kept(o, NUMBERED_ID, key, sizeof(key)),
			&(struct comm){ .paradigm = region->paradigm->paradigm,
					.of = region->paradigm->name,
					.job = job,
					.id = key[1] });
}

/* --- windows ------------------------------------------------------------------- */

static uint32_t window_of(struct otf2 *o, const char *of, uint32_t comm, uint32_t ordinal)
{
	uint64_t key[2] = { comm, ordinal };
	uint32_t *kept = otf2_number_kept(o, NUMBERED_WINDOW, key, sizeof(key));

	if (!kept || *kept != NO_INDEX)
		return kept ? *kept : OTF2_UNDEFINED_RMA_WIN;
	if (array_one_more(&o->windows, &o->windows_room, o->nwindows, sizeof(*o->windows))) {
		otf2_fail(o, -ENOMEM);
		return OTF2_UNDEFINED_RMA_WIN;
	}
	o->windows[o->nwindows] = (struct window){ .comm = comm, .ordinal = ordinal, .of = of };
	*kept = (uint32_t)o->nwindows++;
	return *kept;
}

static uint32_t *kept_of_process(struct otf2 *o, enum numbered kind, const struct span *span, uint64_t of)
{
	uint64_t key[2] = { o->d->threads[span->thread].process, of };

	return otf2_number_kept(o, kind, key, sizeof(key));
}

/* All members make a window together: the n-th of a communicator is the same for all of them. */
void window_made(struct otf2 *o, const struct span *span)
{
	uint32_t comm, *made, *handle;
	int64_t of;

	if (!o->regions[span->probe].names_comm || !otf2_number(o, span, WANT_OF, &of))
		return;
	comm = comm_of_call(o, span);
	made = kept_of_process(o, NUMBERED_MADE, span, comm);
	if (!made)
		return;
	*made = *made == NO_INDEX ? 1 : *made + 1;
	uint32_t window = window_of(o, o->regions[span->probe].paradigm->name, comm, *made);

	handle = kept_of_process(o, NUMBERED_HANDLE, span, (uint64_t)of);
	if (handle)
		*handle = window;
}

/* Where handles of windows have been seen to be made, or are named by calls that begin and end accesses. */
uint32_t window_of_call(struct otf2 *o, const struct span *span)
{
	const struct region *region = &o->regions[span->probe];
	uint32_t *handle;
	int64_t of;

	if (!has_windows(region->paradigm))
		return window_of(o, region->paradigm->name,
				 comm_of_all(o, region->paradigm, o->d->threads[span->thread].process), 0);
	if (!otf2_number(o, span, WANT_OF, &of) && !otf2_number(o, span, WANT_LOCK, &of) &&
	    !otf2_number(o, span, WANT_OBJECT, &of))
		return window_of(o, region->paradigm->name, OTF2_UNDEFINED_COMM, 0);
	handle = kept_of_process(o, NUMBERED_HANDLE, span, (uint64_t)of);
	return handle && *handle != NO_INDEX ? *handle : window_of(o, region->paradigm->name, OTF2_UNDEFINED_COMM, 0);
}
