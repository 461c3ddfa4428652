/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases.c - the job's own iterations: how long they are, which are out of line, and when they changed.
 *
 * A program that computes in steps comes back to the same place in each. Such a place, a *marker*, is something that
 * the program announces (a user event), a function of its own, or the call site of a barrier, of a collective, or of a
 * region of several threads; without any of these, where it waits for messages. Each thread is looked at by itself,
 * while its calls come by: from one call of a marker to the next is an iteration, if there is the same between them as
 * between others. *The same* is the multiset of markers, in any order, that were called: each has a number, made from
 * its event and place, and the sum over the calls tells it. An iteration is alike if its sum is that of the one before,
 * or the one that most have (Boyer and Moore's vote: one number and one counter).
 *
 * Of two markers that come once in each iteration, both are as good. One in an inner loop has iterations that are alike
 * but for those in which the inner loop ends. So the one whose alike iterations take most of the time is the best; that
 * is chosen at the end (phases_found.c).
 *
 * What happens until all settles is no iteration: as long as no two that follow each other are alike, the earlier is
 * dropped. Nor is what follows the last that was like others.
 *
 * Where an iteration begins matters. A barrier's callers leave it at the same time, so an iteration ends where the
 * barrier does: waiting for a late one is in the iteration in which that one was late, on all threads. A function
 * begins an iteration with its call.
 *
 * Nobody's time step takes a few microseconds: a marker whose first iterations do is looked at no more, but that its
 * calls are in the sums of the others. So a function that is called a million times a second costs little here.
 *
 * Memory: a thread has at most MARKER_SETS x MARKER_WAYS markers. When all places are taken, the one goes that was like
 * itself for the shortest time. A marker keeps a fixed number of stretches, of one iteration each at first; when they
 * are all used, each two become one, with the longest iteration of both.
 */
#include "analysis/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "analysis/printer.h"
#include "util/array.h"

#define MANY_THREADS 32 /* from here on fewer stretches */
#define STRETCHES_LEAST 32
#define SHORT_AFTER 4096 /* iterations of a marker; if their mean is below */
#define SHORT_NS 10000   /* this, it is none */
#define WHOLE_SHARE 90   /* percent of the iterations that calls which begin them take: then one is an iteration */

static int begin(void **state, const struct definitions *d)
{
	struct phases *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->most = STRETCHES_MOST;
	for (size_t threads = d->nthreads; threads > MANY_THREADS && s->most > STRETCHES_LEAST; threads /= 2)
		s->most /= 2;
	return 0;
}

/* --- markers --------------------------------------------------------------- */

/* A model, and whether it has anything but functions: then it is of a runtime, not of a program. */
struct phased_model {
	UT_hash_handle hh;
	const char *name;
	bool of_runtime;
};

/* Looks at the probes that are new. NULL: out of memory. */
static const struct phased_model *model_of(struct phases *s, const char *name)
{
	struct phased_model *model;

	for (; s->nmodelled < s->d->nprobes; s->nmodelled++) {
		const struct def_probe *probe = &s->d->probes[s->nmodelled];
		const char *other = probe->model ?: "";

		HASH_FIND_STR(s->models, other, model);
		if (!model) {
			model = calloc(1, sizeof(*model));
			if (!model)
				return NULL;
			model->name = other;
			HASH_ADD_KEYPTR(hh, s->models, other, strlen(other), model);
			if (!model->hh.tbl) {
				free(model);
				return NULL;
			}
		}
		model->of_runtime |= probe->role != ROLE_FUNCTION && probe->role != ROLE_USER;
	}
	HASH_FIND_STR(s->models, name, model);
	return model;
}

static enum marker_kind kind_of_probe(const struct phased_model *model, const struct def_probe *probe)
{
	switch (probe->role) {
	case ROLE_USER:
		return probe->marks & MARK_CONTROLS ? NO_MARKER : MARKER_PROGRAM;
	case ROLE_FUNCTION:
		return probe->marks & MARK_EACH || !model->of_runtime ? MARKER_PROGRAM : NO_MARKER;
	case ROLE_BARRIER:
	case ROLE_COLLECTIVE:
		return MARKER_MEETING;
	case ROLE_TASK:
		return probe->marks & MARK_TEAM ? MARKER_MEETING : NO_MARKER;
	case ROLE_WAIT:
	case ROLE_RECV:
	case ROLE_EXCHANGE:
		return MARKER_MESSAGE;
	default:
		return NO_MARKER;
	}
}

/* False: out of memory. */
static bool find_kind(struct phases *s, const struct accounted_call *call, enum marker_kind *kind)
{
	const struct def_probe *probe = &call->d->probes[call->span->probe];
	const struct phased_model *model;

	if (array_reach(&s->kinds, &s->nkinds, (size_t)call->event + 1, sizeof(*s->kinds)))
		return false;
	if (!s->kinds[call->event]) {
		model = model_of(s, probe->model ?: "");
		if (!model)
			return false;
		s->kinds[call->event] = 1 + kind_of_probe(model, probe);
	}
	*kind = s->kinds[call->event] - 1;
	return true;
}

/* A library that calls itself does so for its own loops (a worker's, that asks for tasks): no step of the program. */
static bool is_librarys_own(const struct accounted_call *call, enum marker_kind kind)
{
	uint32_t image = call->d->probes[call->span->probe].image, site = call->span->site;

	return kind != MARKER_PROGRAM && site < call->d->nsites && image < call->d->nimages &&
	       call->d->sites[site].image == image && call->d->images[image].soname;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* the steps of splitmix64, by Steele, Lea and Flood */
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void marker_free(struct marker *marker)
{
	if (marker)
		free(marker->stretches);
	free(marker);
}

/* Which of the two may go? */
static bool is_worse(const struct marker *a, const struct marker *b)
{
	return a->alike_time != b->alike_time ? a->alike_time < b->alike_time : a->since < b->since;
}

/* NULL: out of memory. */
static struct marker *marker_of(struct phased_thread *t, const struct accounted_call *call, enum marker_kind kind,
				uint64_t address, uint64_t key)
{
	struct marker **set, **place, *marker;

	if (!t->markers)
		t->markers = calloc(MARKER_SETS * MARKER_WAYS, sizeof(struct marker *));
	if (!t->markers)
		return NULL;
	set = place = &t->markers[key % MARKER_SETS * MARKER_WAYS];
	for (size_t i = 0; i < MARKER_WAYS; i++) {
		if (!set[i]) {
			place = &set[i];
			break;
		}
		if (set[i]->event == call->event && set[i]->address == address)
			return set[i];
		if (is_worse(set[i], *place))
			place = &set[i];
	}
	marker = calloc(1, sizeof(*marker));
	if (!marker)
		return NULL;
	t->dropped += *place != NULL;
	marker_free(*place);
	*place = marker;
	*marker = (struct marker){ .event = call->event, .site = call->span->site, .address = address, .kind = kind };
	marker->stride = 1;
	marker->depth = call->span->depth;
	return marker;
}

/* --- iterations ------------------------------------------------------------ */

static void add_stretch(struct stretch *to, const struct stretch *from)
{
	to->iterations += from->iterations;
	to->unlike += from->unlike;
	to->lasted += from->lasted;
	to->end = from->end;
	to->shortest = from->shortest < to->shortest ? from->shortest : to->shortest;
	add_groups(to->group, from->group);
	if (from->longest.lasted > to->longest.lasted) {
		to->longest = from->longest;
		to->number = from->number;
	}
}

void marker_halve(struct marker *marker)
{
	size_t half = (marker->nstretches + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		marker->stretches[i] = marker->stretches[2 * i];
		if (2 * i + 1 < marker->nstretches)
			add_stretch(&marker->stretches[i], &marker->stretches[2 * i + 1]);
	}
	marker->nstretches = half;
	marker->stride *= 2;
}

static int count(struct marker *m, const struct iteration *iteration, size_t most)
{
	struct stretch one = {
		.iterations = 1,
		.unlike = !iteration->alike,
		.end = iteration->end,
		.lasted = iteration->lasted,
		.shortest = iteration->lasted,
		.number = m->iterations,
		.longest = *iteration,
	};

	memcpy(one.group, iteration->group, sizeof(one.group));
	if (!m->iterations || iteration->lasted < m->shortest)
		m->shortest = iteration->lasted;
	if (iteration->lasted > m->longest)
		m->longest = iteration->lasted;
	if (m->iterations < EARLY)
		m->early[m->iterations] = iteration->end;
	m->iterations++;
	m->time += iteration->lasted;
	m->squares += (double)iteration->lasted * iteration->lasted;
	if (iteration->alike) {
		m->alike++;
		m->alike_time += iteration->lasted;
	}
	if (m->nstretches && m->stretches[m->nstretches - 1].iterations < m->stride) {
		add_stretch(&m->stretches[m->nstretches - 1], &one);
		return 0;
	}
	if (m->nstretches == most) {
		marker_halve(m);
		if (m->stretches[m->nstretches - 1].iterations < m->stride) {
			add_stretch(&m->stretches[m->nstretches - 1], &one);
			return 0;
		}
	}
	if (array_one_more(&m->stretches, &m->room, m->nstretches, sizeof(*m->stretches)))
		return -ENOMEM;
	m->stretches[m->nstretches++] = one;
	return 0;
}

static int count_last(struct marker *m, size_t most)
{
	int error = m->waits ? count(m, &m->last, most) : 0;

	m->waits = false;
	return error;
}

/* From here on there are iterations, as far as is known. */
static void begin_here(struct marker *m, uint64_t since, const uint64_t at[GROUPS])
{
	m->from = since;
	memcpy(m->before, at, sizeof(m->before));
	m->waits = false;
}

/* What the time between two moments was for. */
static void between(struct iteration *is, const uint64_t from[GROUPS], const uint64_t to[GROUPS])
{
	uint64_t inside = 0;

	for (int i = 0; i < GROUPS; i++) {
		is->group[i] = i != GROUP_COMPUTE && to[i] > from[i] ? to[i] - from[i] : 0;
		inside += is->group[i];
	}
	is->group[GROUP_COMPUTE] = is->lasted > inside ? is->lasted - inside : 0;
}

static bool is_alike(struct marker *m, struct iteration *next)
{
	bool alike = next->calls == m->usual && m->votes;

	if (m->waits && next->calls == m->last.calls) {
		m->last.alike = true;
		alike = true;
	}
	if (!m->votes)
		m->usual = next->calls;
	if (next->calls == m->usual)
		m->votes++;
	else
		m->votes--;
	return alike;
}

/* An iteration is over. */
static int add(struct marker *m, struct iteration *next, size_t most)
{
	int error = 0;

	next->alike = is_alike(m, next);
	if (m->waits && !m->last.alike && !m->iterations)
		begin_here(m, m->since, m->at);
	else
		error = count_last(m, most);
	m->last = *next;
	m->waits = true;
	return error;
}

/* One ends and the next one begins: `sum` and `at` are the thread's markers and time up to there. */
static int boundary(struct phases *s, struct phased_thread *t, struct marker *m, uint64_t time, uint64_t sum,
		    const uint64_t at[GROUPS])
{
	struct iteration next = { .end = time, .lasted = time - m->since, .calls = sum - m->sum };
	int error = 0;

	m->too_short = m->iterations == SHORT_AFTER && m->time / SHORT_AFTER < SHORT_NS;
	if (!m->begun) {
		begin_here(m, time, at);
	} else if (time < m->since || m->gaps != t->gaps) {
		m->broken += m->gaps != t->gaps;
		error = count_last(m, s->most);
		if (!m->iterations)
			begin_here(m, time, at);
	} else {
		between(&next, m->at, at);
		error = add(m, &next, s->most);
	}
	m->begun = true;
	m->since = time;
	m->sum = sum;
	m->gaps = t->gaps;
	memcpy(m->at, at, sizeof(m->at));
	return error;
}

/* The sum over all markers up to the call's start becomes *before, and the call is added. 0 or -ENOMEM. */
static int add_to_sums(struct phased_thread *t, const struct accounted_call *call, enum marker_kind kind, uint64_t key,
		       uint64_t *before)
{
	size_t known = t->depths, depth = call->span->depth;

	if (array_reach(&t->sums, &t->depths, depth + 1, sizeof(*t->sums)))
		return -ENOMEM;
	for (size_t i = known; i < t->depths; i++)
		t->sums[i] = t->sum;
	*before = t->sums[depth];
	*(kind == MARKER_MESSAGE ? &t->messages : &t->sum) += key;
	for (size_t i = depth; i < t->depths; i++)
		t->sums[i] = t->sum;
	return 0;
}

/* before: the sum over all markers up to its start. */
static int mark(struct phases *s, struct phased_thread *t, struct marker *m, const struct accounted_call *call,
		uint64_t before)
{
	uint64_t at[GROUPS] = { 0 }, own[GROUPS];

	m->times++;
	if (m->too_short)
		return 0;
	if (call->span->depth < m->depth)
		m->depth = call->span->depth;
	nesting_groups(call->nesting, at);
	if (m->kind != MARKER_PROGRAM)
		return boundary(s, t, m, call->span->end, t->sum + (m->kind == MARKER_MESSAGE ? t->messages : 0), at);
	if (!call->timed)
		memset(own, 0, sizeof(own));
	else
		nesting_latest(call->nesting, own);
	for (int i = 0; i < GROUPS; i++)
		at[i] -= own[i] < at[i] ? own[i] : at[i];
	m->call_end = call->span->end;
	memcpy(m->call_time, own, sizeof(m->call_time));
	m->inside += call->duration;
	return boundary(s, t, m, call->span->start, before, at);
}

int marker_finish(struct phases *s, uint32_t thread, struct marker *m)
{
	static const uint64_t nothing[GROUPS];
	struct iteration last = { .end = m->call_end, .lasted = m->call_end - m->since, .alike = true };
	bool whole = !m->too_short && m->kind == MARKER_PROGRAM && m->begun && m->call_end > m->since &&
		     m->gaps == s->threads[thread].gaps && (double)m->inside * 100 >= (double)m->time * WHOLE_SHARE;
	int error = m->last.alike ? count_last(m, s->most) : 0;

	if (error || !m->iterations || !whole || m->waits)
		return error;
	between(&last, nothing, m->call_time);
	return count(m, &last, s->most);
}

static bool is_over(const struct accounted_call *call)
{
	return call->timed ? call->span->reason != GB_END_DETACH : call->span->reason == GB_END_ATOMIC;
}

static void note_ends(struct phased_thread *t, const struct accounted_call *call)
{
	if (call->role == ROLE_INIT && !t->begin_seen) {
		t->begin_seen = true;
		t->begun = call->span->end;
	}
	if (call->role == ROLE_EXIT) {
		t->end_seen = true;
		t->ends = call->span->start;
	}
}

static int span(void *state, const struct accounted_call *call)
{
	struct phases *s = state;
	uint32_t thread = call->span->thread, site = call->span->site;
	struct phased_thread *t;
	enum marker_kind kind;
	struct marker *m;
	uint64_t address, key, before;

	if (array_reach(&s->threads, &s->nthreads, (size_t)thread + 1, sizeof(*s->threads)) ||
	    !find_kind(s, call, &kind))
		return -ENOMEM;
	t = &s->threads[thread];
	note_ends(t, call);
	if (kind == NO_MARKER || call->inner || !is_over(call) || is_librarys_own(call, kind))
		return 0;
	/* A program's own is where it is; anything else is told by where it is called. */
	address = kind == MARKER_PROGRAM || site >= call->d->nsites ? 0 : call->d->sites[site].address;
	key = mix(address ^ (uint64_t)call->event << 48);
	m = add_to_sums(t, call, kind, key, &before) ? NULL : marker_of(t, call, kind, address, key);
	return m ? mark(s, t, m, call, before) : -ENOMEM;
}

static int gap(void *state, const struct definitions *d, const struct gap *gap)
{
	struct phases *s = state;

	if (array_reach(&s->threads, &s->nthreads, (size_t)gap->thread + 1, sizeof(*s->threads)))
		return -ENOMEM;
	s->threads[gap->thread].gaps++;
	return 0;
}

/* For others to ask when they were. */
static int note_phases(const struct phases *s, struct report *r)
{
	const struct iterating *it = s->found;

	if (!s->nfound)
		return 0;
	r->phases = calloc(it->nparts + 1, sizeof(*r->phases));
	if (!r->phases)
		return -ENOMEM;
	for (size_t i = 0; i < it->nparts; i++)
		r->phases[r->nphases++] = (struct report_phase){ .name = it->parts[i].name,
								 .from = it->parts[i].from,
								 .to = it->parts[i].to,
								 .number = it->parts[i].number,
								 .iterations = it->parts[i].count
										       ? it->parts[i].iterations
										       : 0 };
	return 0;
}

static int end(void *state, struct report *r)
{
	return phases_find(state, r) ?: note_phases(state, r) ?: phases_tell(state, r);
}

static void phases_free(void *state)
{
	struct phases *s = state;
	struct phased_model *model, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->models, model, next) {
		HASH_DEL(s->models, model);
		free(model);
	}
	for (size_t i = 0; i < s->nfound; i++)
		iterating_free(&s->found[i]);
	for (size_t i = 0; i < s->nthreads; i++) {
		for (size_t k = 0; s->threads[i].markers && k < MARKER_SETS * MARKER_WAYS; k++)
			marker_free(s->threads[i].markers[k]);
		free(s->threads[i].markers);
		free(s->threads[i].sums);
	}
	free(s->found);
	free(s->threads);
	free(s->kinds);
	free(s);
}

const struct analysis analysis_phases = {
	.name = "phases",
	.title = "Phases",
	.of_calls = true,
	.of_work = true,
	.roles = ROLE_BIT(ROLE_USER) | ROLE_BIT(ROLE_FUNCTION) | ROLE_BIT(ROLE_BARRIER) | ROLE_BIT(ROLE_COLLECTIVE) |
		 ROLE_BIT(ROLE_TASK) | ROLE_BIT(ROLE_WAIT) | ROLE_BIT(ROLE_RECV) | ROLE_BIT(ROLE_EXCHANGE) |
		 ROLE_BIT(ROLE_INIT) | ROLE_BIT(ROLE_EXIT),
	.begin = begin,
	.span = span,
	.gap = gap,
	.end = end,
	.print = phases_print,
	.json = phases_put,
	.tell = phases_tell_ranges,
	.free = phases_free,
};
