/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_callers.c - lines of the program for calls that a library makes for it.
 *
 * A probe tells of a call its return address alone. Where that lies in a library (of I/O, that calls MPI) or in an
 * interpreter, the program's author wants to know which line of his is behind it. So now and then all threads are
 * looked at, without stopping them, and the stacks of those in such a call are followed outwards, as gaspbpf stuck does
 * it. Probes and calls cost nothing more.
 *
 * A call site may be reached from several lines, and a look meets the calls that last. So nothing is said of a call
 * that no look met: for each line it is told in how many looks it was behind a call of this site.
 */
#include "cli/record_callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

#define LOOK_EVERY 50000000ULL /* ns */
#define LOOK_SHARE 20          /* so many times as long as a look takes, until the next one */
#define CHAINS_MOST 4096       /* different ones of a run */

/* What was found out of a stack without a script, by the addresses of its frames. */
struct known_chain {
	uint64_t stack;
	uint32_t index; /* in definitions; NO_INDEX: the program has a line of its own there */
	UT_hash_handle hh;
};

int callers_prepare(struct callers *callers, struct job *job)
{
	if (!callers->most)
		return 0;
	callers->stuck.bare = true;
	callers->stuck.looker = looker_new();
	if (!callers->stuck.looker) {
		log_error("--callers: threads cannot be looked at on this kernel: without it");
		return -EPERM;
	}
	job->sampling = true;
	return 0;
}

static void close_looks(struct callers *callers)
{
	struct looker *looker = callers->stuck.looker;

	callers->stuck.looker = NULL;
	if (callers->open)
		stuck_close(&callers->stuck);
	callers->stuck = (struct stuck){ .looker = looker, .bare = true };
	callers->open = false;
}

static void forget_known(struct callers *callers)
{
	struct known_chain *known, *next;

	HASH_ITER (hh, callers->known, known, next) {
		HASH_DEL(callers->known, known);
		free(known);
	}
}

void callers_close(struct callers *callers)
{
	close_looks(callers);
	looker_free(callers->stuck.looker);
	callers->stuck.looker = NULL;
	forget_known(callers);
	free(callers->ended.list);
	callers->ended = (struct ended_list){ .count = 0 };
}

/* The job as it is now: who has come since, and which of its functions are known. */
static bool open_looks(struct callers *callers, struct job *job)
{
	const struct definitions *d = &job->definitions;
	pid_t *pids;
	size_t count = 0;

	if (callers->open && callers->processes == d->nprocesses && callers->sites == job->plan->nsites)
		return true;
	close_looks(callers);
	forget_known(callers);
	pids = calloc(d->nprocesses + 1, sizeof(*pids));
	for (size_t i = 0; pids && i < d->nprocesses; i++)
		if (!d->processes[i].left_out && !d->processes[i].end)
			pids[count++] = (pid_t)d->processes[i].pid;
	callers->processes = d->nprocesses;
	callers->sites = job->plan->nsites;
	callers->open = true;
	if (!count || stuck_open_lent(&callers->stuck, job->plan, pids, count))
		close_looks(callers);
	free(pids);
	return callers->open;
}

/* --- what was seen -------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL ^ hash >> 29;
}

/* The call and the addresses from its own on outwards, with the files that lie there. */
static uint64_t stack_of(const struct stuck_thread *t, const struct stuck_call *call)
{
	uint64_t hash = mix((uintptr_t)call->function, (uint64_t)t->pid);

	for (size_t i = call->frame; i < t->nframes; i++)
		hash = mix(mix(hash, t->frames[i].pc), (uintptr_t)t->frames[i].image);
	return hash;
}

static bool is_same(const struct def_chain *a, const struct def_chain *b)
{
	return a->offset == b->offset && same_text(a->event, b->event) && same_text(a->file, b->file) &&
	       same_text(a->places, b->places);
}

/* The entry of this chain; takes its places. NO_INDEX: no more are kept. */
static uint32_t entry_of(struct definitions *d, const struct def_chain *chain)
{
	uint32_t index = NO_INDEX;

	for (size_t i = 0; i < d->nchains; i++)
		if (is_same(&d->chains[i], chain)) {
			free(chain->places);
			return i;
		}
	if (d->nchains < CHAINS_MOST)
		index = definitions_add_chain(d);
	if (index == NO_INDEX) {
		free(chain->places);
		return NO_INDEX;
	}
	d->chains[index].offset = chain->offset;
	d->chains[index].places = chain->places;
	d->chains[index].event = strdup(chain->event);
	d->chains[index].file = strdup(chain->file);
	return index;
}

static uint32_t find_chain(struct callers *callers, struct definitions *d, const struct stuck_thread *t,
			   const struct stuck_call *call)
{
	const struct stack_frame *direct;
	struct def_chain chain = { .event = (char *)call->function->event };

	chain.places = stuck_chain(&callers->stuck, t, call, callers->most, &direct);
	if (!direct)
		return NO_INDEX;
	chain.file = direct->image->path;
	chain.offset = direct->offset;
	return entry_of(d, &chain);
}

/* A stack that was met before is not looked up once more. Of a script its addresses do not tell the line. */
static void note_call(struct callers *callers, struct definitions *d, const struct stuck_thread *t,
		      const struct stuck_call *call)
{
	uint64_t stack = call->frame != NO_FRAME ? stack_of(t, call) : 0;
	struct known_chain *known = NULL;
	uint32_t index;

	if (!stack)
		return;
	if (!t->script)
		HASH_FIND(hh, callers->known, &stack, sizeof(stack), known);
	index = known ? known->index : find_chain(callers, d, t, call);
	if (index != NO_INDEX)
		d->chains[index].looks++;
	if (known || t->script || HASH_COUNT(callers->known) >= 16 * CHAINS_MOST)
		return;
	known = malloc(sizeof(*known));
	if (!known)
		return;
	known->stack = stack;
	known->index = index;
	HASH_ADD(hh, callers->known, stack, sizeof(stack), known);
}

void callers_look(struct callers *callers, struct job *job)
{
	struct definitions *d = &job->definitions;
	struct open_list opens = { 0 };
	uint64_t now = clock_monotonic(), took;

	if (!callers->most || now < callers->next)
		return;
	if (!callers->listening)
		capture_add_sink(job->capture, &(struct span_sink){ .span = note_ended, .context = &callers->ended });
	callers->listening = true;
	if (open_looks(callers, job)) {
		stuck_forget(&callers->stuck);
		if (!look_at_calls(job->capture, d, &callers->stuck, &opens, &callers->ended) &&
		    !stuck_resolve(&callers->stuck, opens.list, opens.count))
			for (size_t i = 0; i < callers->stuck.nthreads; i++)
				for (size_t k = 0; k < callers->stuck.threads[i].ncalls; k++)
					note_call(callers, d, &callers->stuck.threads[i],
						  &callers->stuck.threads[i].calls[k]);
		free(opens.list);
	}
	took = clock_monotonic() - now;
	log_debug("callers: a look at %zu threads took %.1f ms", callers->stuck.nthreads, took / 1e6);
	callers->next = clock_monotonic() + (LOOK_SHARE * took > LOOK_EVERY ? LOOK_SHARE * took : LOOK_EVERY);
}
