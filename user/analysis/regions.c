/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions.c - regions of several threads: whose share is how long, and what the others do until all is done.
 *
 * Calls are told in one order of time (analysis.h). A region that a thread has begun is open until its call returns,
 * and shares that begin meanwhile in its process are of it. Where several regions of a process are open (one within
 * another, or two threads that each have a team), a share is of the one of whose function it is, as far as the
 * beginner's own share has told; where that leaves several, nobody knows, and none of these is judged.
 *
 * A region is judged if all of it was seen: no call of its process was lost, measurement was on, it came to its end,
 * and the share of the one who began it was seen, too. It was not where the function was not known yet, which is so the
 * first time on some runtimes (MARK_POINTED).
 *
 * Memory grows with threads, regions of the source, and regions that are open.
 */
#include "analysis/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define OPEN_MOST 256 /* open regions of a process that a share may be of */
#define UNKNOWN UINT64_MAX

#define WAITING_ROLES                                                                                    \
	(ROLE_BIT(ROLE_BARRIER) | ROLE_BIT(ROLE_NOTIFY) | ROLE_BIT(ROLE_WAIT) | ROLE_BIT(ROLE_ACQUIRE) | \
	 ROLE_BIT(ROLE_COLLECTIVE) | ROLE_BIT(ROLE_SEND) | ROLE_BIT(ROLE_RECV) | ROLE_BIT(ROLE_EXCHANGE))
#define ROLES_TOLD (WAITING_ROLES | ROLE_BIT(ROLE_TASK) | ROLE_BIT(ROLE_SUBMIT))

/* What calls of a probe are, worked out once. */
struct region_facts {
	bool ready, team, share, chunk, chosen, waits, lock, task;
	int32_t name, done; /* indices of values; -1: none */
};

/* A share that is not over. */
struct open_share {
	struct open_share *next; /* of the thread: the one around it; or free */
	struct open_region *in;  /* NULL: not known */
	uint64_t start, waits, locks, single, chunks, asks, asking;
	uint32_t chunk; /* probe */
	uint64_t alone; /* since when the thread runs a block by itself; UNKNOWN: it does not */
	/* Of the thread, around it. */
	unsigned waiting;
	uint64_t wait_start;
	bool wait_lock;
};

struct open_region {
	struct open_region *next, *previous; /* of the process */
	struct open_region *around;          /* of the beginner */
	uint64_t number, start;
	uint32_t region; /* NO_INDEX: one of those that are not told apart */
	uint32_t process, beginner;
	bool flawed, over, outermost, tasks;
	bool own;      /* the beginner's share has begun */
	unsigned open; /* shares that are not over */
	struct done_share *done;
	size_t ndone, room;
};

static int begin(void **state, const struct definitions *d)
{
	struct regions *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->nsites = d->nsites;
	s->same_site = report_same_sites(d);
	return s->same_site ? 0 : -ENOMEM;
}

/* --- what calls are --------------------------------------------------------- */

static const struct region_facts *facts_of(struct regions *s, uint32_t probe)
{
	const struct def_probe *def = &s->d->probes[probe];
	struct region_facts *facts;

	if (array_reach(&s->facts, &s->nfacts, probe + (size_t)1, sizeof(*s->facts)))
		return NULL;
	facts = &s->facts[probe];
	if (facts->ready)
		return facts;
	*facts = (struct region_facts){
		.ready = true,
		.waits = ROLE_BIT(def->role) & WAITING_ROLES && !(def->marks & (MARK_TEAM | MARK_SHARE)),
		.lock = def->role == ROLE_ACQUIRE,
		.name = probe_value(def, MEANING_NAME),
		.done = probe_value(def, MEANING_DONE),
	};
	if (def->marks & MARK_INNER)
		return facts;
	facts->team = def->marks & MARK_TEAM;
	facts->share = def->marks & MARK_SHARE;
	facts->chunk = def->marks & MARK_CHUNK;
	facts->chosen = def->marks & MARK_CHOSEN;
	facts->task = def->role == ROLE_SUBMIT && facts->name >= 0;
	return facts;
}

/* False: it is not there, or not known. */
static bool number_of(const struct regions *s, const struct span *span, int32_t index, uint64_t *number)
{
	struct value_reading reading;

	if (index < 0)
		return false;
	reading = value_read(&s->d->probes[span->probe].values[index], span->words, span->nwords, span->unread,
			     span->reason == GB_END_RETURN);
	*number = reading.number;
	return reading.known;
}

/* The call's own result says yes: it has got a piece of work, it is the one that is to run the block. */
static bool is_yes(const struct regions *s, const struct region_facts *facts, const struct span *span)
{
	uint64_t number;

	return number_of(s, span, facts->done, &number) && number;
}

static void note_wait(struct region_thread *t, const struct region_facts *facts, bool starts, uint64_t time)
{
	uint64_t from = t->wait_start;

	if (starts) {
		if (t->waiting++)
			return;
		t->wait_start = time;
		t->wait_lock = facts->lock;
		return;
	}
	if (!t->waiting || --t->waiting)
		return;
	if (t->share) {
		from = from > t->share->start ? from : t->share->start;
		*(t->wait_lock ? &t->share->locks : &t->share->waits) += time > from ? time - from : 0;
	} else if (!t->begun) {
		from = from > t->since ? from : t->since;
		t->waits += time > from ? time - from : 0;
	}
}

/* --- regions -------------------------------------------------------------------- */

static void free_region(struct regions *s, struct open_region *o)
{
	o->next = s->free_regions;
	s->free_regions = o;
}

static int begin_region(struct regions *s, const struct span *span)
{
	struct region_thread *t = &s->threads[span->thread];
	uint32_t process = s->d->threads[span->thread].process, region;
	struct region_process *p = &s->processes[process];
	struct open_region *o = s->free_regions;
	int error = region_number(s, process, span, &region);

	if (!error && !t->share && !t->begun)
		error = region_serial_end(s, span->thread, region, span->start);
	if (error)
		return error;
	if (o)
		s->free_regions = o->next;
	else
		o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	*o = (struct open_region){
		.next = p->open,
		.around = t->begun,
		.number = ++s->number,
		.start = span->start,
		.region = region,
		.process = process,
		.beginner = span->thread,
		.outermost = !t->share && !t->begun,
		.done = o->done,
		.room = o->room,
	};
	if (p->open)
		p->open->previous = o;
	p->open = t->begun = o;
	return 0;
}

static int account(struct regions *s, const struct open_region *o, const struct span *span)
{
	const struct region_process *p = &s->processes[o->process];
	bool ended = span->reason == GB_END_RETURN || span->reason == GB_END_TAIL;
	const struct region_time time = {
		.done = o->done,
		.ndone = o->ndone,
		.lasted = span->end - o->start,
		.whole = ended && !o->flawed && !o->open && p->off <= o->start && p->lost <= o->start,
		.own = o->own,
	};

	return o->region == NO_INDEX ? 0 : region_account(s, o->region, &time);
}

static int end_region(struct regions *s, const struct span *span)
{
	struct region_thread *t = &s->threads[span->thread];
	struct open_region **at = &t->begun, *o;
	struct region_process *p;
	int error;

	while (*at && (*at)->start != span->start) /* where a thread changes stacks, others may be in between */
		at = &(*at)->around;
	o = *at;
	if (!o || span->end < o->start)
		return 0;
	p = &s->processes[o->process];
	*at = o->around;
	*(o->previous ? &o->previous->next : &p->open) = o->next;
	if (o->next)
		o->next->previous = o->previous;
	error = account(s, o, span);
	if (o->outermost)
		region_serial_begin(s, o->beginner, o->region, o->ndone, span->end);
	o->over = true;
	if (!o->open)
		free_region(s, o);
	return error;
}

/* --- shares ----------------------------------------------------------------------- */

/* Is it of that function, as far as is known? */
static bool is_of(const struct regions *s, const struct open_region *o, uint32_t probe, uint64_t function, bool known)
{
	const struct region *region = o->region == NO_INDEX ? NULL : &s->regions[o->region];

	if (!region || region->share == NO_INDEX)
		return !known;
	return known && region->share == probe && region->function == function;
}

/* The only open region that a worker's share may be of. NULL: none, or there are several, and all of these are flawed.
 */
static struct open_region *region_of_worker(struct regions *s, const struct span *span, uint64_t function)
{
	struct region_process *p = &s->processes[s->d->threads[span->thread].process];
	const struct region_thread *t = &s->threads[span->thread];
	struct open_region *found = NULL;

	if (p->open && !p->open->next)
		return p->open->number != t->joined && p->open->beginner != span->thread ? p->open : NULL;
	for (int known = 1; known >= 0 && !found; known--) {
		unsigned seen = 0;
		bool several = false;

		for (struct open_region *o = p->open; o; o = o->next) {
			if (++seen > OPEN_MOST) {
				raise_to(&p->lost, span->start + 1); /* none of these is judged */
				return NULL;
			}
			if (o->number == t->joined || o->beginner == span->thread ||
			    !is_of(s, o, span->probe, function, known))
				continue;
			several |= found != NULL;
			if (several)
				o->flawed = found->flawed = true;
			found = o;
		}
		if (several)
			return NULL;
	}
	return found;
}

static int begin_share(struct regions *s, const struct region_facts *facts, const struct span *span)
{
	struct region_thread *t = &s->threads[span->thread];
	struct open_share *share = s->free_shares;
	struct open_region *in = NULL;
	uint64_t function = 0;

	if (!number_of(s, span, facts->name, &function))
		function = 0;
	if (t->begun && !t->begun->own) {
		in = t->begun;
		in->own = true;
		if (in->region != NO_INDEX) {
			s->regions[in->region].share = span->probe;
			s->regions[in->region].function = function;
		}
	} else if (!t->share) {
		in = region_of_worker(s, span, function);
	}
	if (share)
		s->free_shares = share->next;
	else
		share = malloc(sizeof(*share));
	if (!share)
		return -ENOMEM;
	*share = (struct open_share){
		.next = t->share,
		.in = in,
		.start = span->start,
		.alone = UNKNOWN,
		.waiting = t->waiting,
		.wait_start = t->wait_start,
		.wait_lock = t->wait_lock,
	};
	t->share = share;
	t->waiting = 0;
	if (in) {
		in->open++;
		t->joined = in->number;
	} else {
		s->orphans++;
	}
	return 0;
}

/* The block that the thread runs by itself, if it does, is over. */
static void end_block(struct open_share *share, uint64_t time)
{
	if (!share || share->alone == UNKNOWN)
		return;
	share->single += time > share->alone ? time - share->alone : 0;
	share->alone = UNKNOWN;
}

static int end_share(struct regions *s, const struct span *span)
{
	struct region_thread *t = &s->threads[span->thread];
	struct open_share *share = t->share;
	struct open_region *o;

	if (!share)
		return 0;
	end_block(share, span->end);
	t->share = share->next;
	t->waiting = share->waiting;
	t->wait_start = share->wait_start;
	t->wait_lock = share->wait_lock;
	o = share->in;
	share->next = s->free_shares;
	s->free_shares = share;
	if (!o)
		return 0;
	o->open--;
	if (o->over) {
		if (!o->open)
			free_region(s, o);
		return 0;
	}
	if (array_one_more(&o->done, &o->room, o->ndone, sizeof(*o->done)))
		return -ENOMEM;
	o->done[o->ndone++] = (struct done_share){
		.thread = span->thread,
		.start = share->start,
		.end = span->end > share->start ? span->end : share->start,
		.waits = share->waits,
		.locks = share->locks,
		.single = share->single,
		.chunks = share->chunks,
		.asks = share->asks,
		.asking = share->asking,
		.chunk = share->chunk,
	};
	return 0;
}

/* --- what is told ------------------------------------------------------------------- */

static int reach(struct regions *s, uint32_t thread)
{
	size_t before = s->nthreads;

	if (array_reach(&s->processes, &s->nprocesses, s->d->threads[thread].process + (size_t)1,
			sizeof(*s->processes)) ||
	    array_reach(&s->threads, &s->nthreads, thread + (size_t)1, sizeof(*s->threads)))
		return -ENOMEM;
	for (size_t i = before; i < s->nthreads; i++)
		s->threads[i].after = NO_INDEX;
	return 0;
}

static int note_controls(struct regions *s, uint64_t time)
{
	const struct definitions *d = s->d;

	for (; s->next_control < d->ncontrols && d->controls[s->next_control].time <= time; s->next_control++) {
		const struct def_control *control = &d->controls[s->next_control];

		if (control->value)
			continue;
		if (array_reach(&s->processes, &s->nprocesses, control->process + (size_t)1, sizeof(*s->processes)))
			return -ENOMEM;
		raise_to(&s->processes[control->process].off, control->time);
	}
	return 0;
}

/* It may run on any thread of the team, at its end, too: where one waits, and where it works, is not seen. */
static void note_task(struct regions *s, const struct region_thread *t)
{
	struct open_region *o = t->share && t->share->in ? t->share->in : t->begun;

	if (!o || o->tasks)
		return;
	o->tasks = o->flawed = true;
	s->with_tasks++;
}

static int event(void *state, const struct definitions *d, const struct event *event)
{
	struct regions *s = state;
	const struct span *span = event->span;
	const struct region_facts *facts = facts_of(s, span->probe);
	bool starts = event->type == EVENT_START;
	struct region_thread *t;

	if (!facts)
		return -ENOMEM;
	if (thread_is_left_out(d, span->thread))
		return 0;
	if (reach(s, span->thread) || note_controls(s, event->time))
		return -ENOMEM;
	t = &s->threads[span->thread];
	if (event->type == EVENT_ATOMIC) {
		if (facts->team || facts->share) /* how long it took is not known */
			raise_to(&s->processes[d->threads[span->thread].process].lost, event->time + 1);
		return 0;
	}
	if (facts->team)
		return starts ? begin_region(s, span) : end_region(s, span);
	if (facts->share)
		return starts ? begin_share(s, facts, span) : end_share(s, span);
	if (t->share && starts && (facts->chosen || d->probes[span->probe].role == ROLE_BARRIER))
		end_block(t->share, event->time);
	if (facts->task && starts)
		note_task(s, t);
	if (facts->waits)
		note_wait(t, facts, starts, event->time);
	if (!t->share || starts)
		return 0;
	t->share->chunks += facts->chunk && is_yes(s, facts, span);
	if (facts->chunk) {
		t->share->asks++;
		t->share->asking += span->end - span->start;
		t->share->chunk = span->probe;
	}
	if (facts->chosen && is_yes(s, facts, span))
		t->share->alone = event->time;
	return 0;
}

static int gap(void *state, const struct definitions *d, const struct gap *gap)
{
	struct regions *s = state;
	struct region_process *p;

	if (reach(s, gap->thread))
		return -ENOMEM;
	p = &s->processes[d->threads[gap->thread].process];
	raise_to(&p->lost, gap->before ?: UINT64_MAX);
	for (struct open_region *o = p->open; o; o = o->next)
		o->flawed = true;
	return 0;
}

static void look_for_missing(struct regions *s, const struct report *r)
{
	const struct definitions *d = r->d;

	for (size_t i = 0; i < d->nsums; i++)
		if (d->probes[d->sums[i].probe].marks & (MARK_TEAM | MARK_SHARE) &&
		    !thread_is_left_out(d, d->sums[i].thread))
			s->sampled += d->sums[i].summed + d->sums[i].skipped;
	for (size_t i = 0; i < r->nevents; i++) {
		uint32_t probe = r->profile->events[r->events[i].event].probe;

		if (probe < d->nprobes && d->probes[probe].marks & (MARK_TEAM | MARK_SHARE) && r->events[i].out)
			s->out = true;
	}
}

static int end(void *state, struct report *r)
{
	struct regions *s = state;

	look_for_missing(s, r);
	return regions_make_rows(s) ?: regions_find(s, r);
}

static void free_open(struct open_region *o)
{
	while (o) {
		struct open_region *next = o->next;

		free(o->done);
		free(o);
		o = next;
	}
}

static void regions_free(void *state)
{
	struct regions *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->nthreads; i++) {
		while (s->threads[i].share) {
			struct open_share *share = s->threads[i].share;

			/* Over, and only waiting for this: it is in no list. */
			if (share->in && share->in->over && !--share->in->open)
				free_region(s, share->in);
			s->threads[i].share = share->next;
			free(share);
		}
	}
	while (s->free_shares) {
		struct open_share *share = s->free_shares;

		s->free_shares = share->next;
		free(share);
	}
	for (size_t i = 0; i < s->nprocesses; i++)
		free_open(s->processes[i].open);
	free_open(s->free_regions);
	free(s->same_site);
	free(s->facts);
	free(s->threads);
	free(s->processes);
	free(s->regions);
	free(s->by_place.slots);
	free(s->members);
	free(s->by_member.slots);
	free(s->serials);
	free(s->by_serial.slots);
	free(s->beginners);
	free(s->rows);
	free(s->by_row);
	free(s);
}

static bool possible(const struct definitions *d)
{
	for (size_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].marks & MARK_TEAM)
			return true;
	return false;
}

/* What is missing to even shares, of the longest ones. */
static bool figure(void *state, const struct report *r, const char *name, double *value)
{
	const struct regions *s = state;
	double longest = 0, mean = 0;

	if (strcmp(name, "regions"))
		return false;
	for (size_t i = 0; i < s->nrows; i++) {
		longest += s->rows[i].sums.most;
		mean += s->rows[i].sums.mean_work;
	}
	*value = longest > 0 ? 100 * (1 - mean / longest) : 0;
	return longest > 0;
}

const struct analysis analysis_regions = {
	.name = "regions",
	.title = "Regions of several threads",
	.of_calls = true,
	.roles = ROLES_TOLD,
	.possible = possible,
	.begin = begin,
	.event = event,
	.gap = gap,
	.end = end,
	.figure = figure,
	.print = regions_print,
	.json = regions_json,
	.free = regions_free,
};
