/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * critical_path.c - the chain of work and calls, across threads, that the run is as long as.
 *
 * It is the path (paths.h) of the thread whose last call ends last. Where that thread waited for another the path is
 * the other's. So each ns of it has one thread that did something then, and whatever is not on it may take longer, by
 * some, at no cost. (Scalasca finds the same path from its end, in a replay; its imbalance of the path is that of
 * Böhme and others, Scalable Critical-Path Based Performance Analysis.)
 *
 * A part of the path is one deed (deeds.h), of all threads that do it. If it took a tenth less, the old path would be
 * shorter by a tenth of what is on it, and another path may be the longest then. So that is the most that it gives;
 * what it gives is simulated for the largest parts.
 *
 * A finding is a deed of one thread that has a third of the path, nearly, where no other thread does the same for half
 * as long, or works as long on other things: serial code. Where others wait for it long enough, delays.c has told that,
 * and it is not told again.
 */
#include "analysis/critical_path.h"
#include "analysis/gains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/paths.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"
#include "util/array.h"

#define LESS 0.1                     /* by how much a part is made shorter */
#define SIMULATED_PARTS RELIEFS_MOST /* the largest */
#define SIMULATED_SHARE 20           /* and of one in so many of the path, at least */
#define FINDING_PERCENT 30           /* of the path */
#define OTHERS_FACTOR 2              /* the others do it so many times shorter */
#define AS_MUCH 0.9                  /* of its work, whatever that is */
#define WORTH_SHARE 100              /* what is simulated must be one in so many of the run */
#define BOUND_FACTOR 2               /* and of what it could be at most */

static int begin(void **state, const struct definitions *d)
{
	struct critical_path *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->same_site = report_same_sites(d);
	s->sites = (struct same_sites){ s->same_site, d->nsites };
	s->paths = s->same_site ? paths_new(d->nthreads) : NULL;
	return s->paths ? 0 : -ENOMEM;
}

/* A deed that lasted so long. NO_INDEX: out of memory. */
static uint32_t did(struct critical_path *s, const struct deed *deed, uint64_t ns)
{
	uint32_t number = deeds_number(&s->deeds, deed);

	if (number == NO_INDEX || array_reach(&s->lasted, &s->room, number + 1, sizeof(*s->lasted)))
		return NO_INDEX;
	s->lasted[number] += ns;
	return PATH_OTHERS + number;
}

static int work(void *state, const struct related_work *work)
{
	struct critical_path *s = state;
	struct deed deed = deed_of_work(&s->sites, work);
	uint32_t number;

	if (work->waits)
		return 0; /* its path will be that of the other: go_on() */
	number = did(s, &deed, work->end - work->start);
	return number == NO_INDEX ? -ENOMEM : paths_add(s->paths, work->thread, work->start, work->end, number);
}

static int call(void *state, const struct related_call *call, const struct waited *waited)
{
	struct critical_path *s = state;
	struct deed deed = deed_of_call(&s->sites, call);
	uint64_t start = waited ? waited->until : call->start;
	uint32_t number = did(s, &deed, call->end - start);
	int error = number == NO_INDEX ? -ENOMEM : paths_begin_call(s->paths, call->thread, call->start);

	if (!error && waited)
		error = paths_wait(s->paths, call->thread, waited->of.thread, start);
	if (!error)
		error = paths_add(s->paths, call->thread, start, call->end, number);
	paths_end_call(s->paths, call->thread);
	return error;
}

/* Others may be told to go on from here. */
static int pass(void *state, uint32_t thread, uint64_t time)
{
	struct critical_path *s = state;
	int error = paths_begin_call(s->paths, thread, time);

	paths_end_call(s->paths, thread);
	return error;
}

static int go_on(void *state, const struct gone_on *gone_on)
{
	struct critical_path *s = state;
	const struct related_call *call = &gone_on->call;
	struct deed deed = deed_of_call(&s->sites, call);
	uint32_t number = did(s, &deed, call->end - call->start);

	if (number == NO_INDEX)
		return -ENOMEM;
	return paths_wait(s->paths, call->thread, gone_on->of, call->start)
		       ?: paths_add(s->paths, call->thread, call->start, call->end, number);
}

static void related(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies)
{
	struct critical_path *s = state;

	s->counts = *counts;
}

/* --- the path -------------------------------------------------------------------- */

static uint64_t on_path(const struct critical_path *s, uint32_t deed)
{
	return s->sums[PATH_OTHERS + deed];
}

/* Deeds that are the same stand together, those of the thread that has most of it first. */
static int by_deed(const void *a, const void *b, void *context)
{
	const struct critical_path *s = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = deed_order(&s->deeds.all[x], &s->deeds.all[y]);

	if (order)
		return order;
	if (on_path(s, x) != on_path(s, y))
		return on_path(s, x) > on_path(s, y) ? -1 : 1;
	return s->deeds.all[x].thread < s->deeds.all[y].thread ? -1 : 1;
}

static int by_time(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->on_path != y->on_path)
		return x->on_path > y->on_path ? -1 : 1;
	return deed_order(x->deed, y->deed);
}

static int add_part(struct critical_path *s, size_t first, size_t end)
{
	struct part part = { .deed = &s->deeds.all[s->order[first]], .first = first, .end = end };
	uint64_t even;
	int error = 0;

	for (size_t i = first; i < end && !error; i++) {
		uint32_t deed = s->order[i];

		part.on_path += on_path(s, deed);
		part.lasted += s->lasted[deed];
		if (on_path(s, deed))
			error = people_add(&part.who, s->deeds.all[deed].thread);
	}
	even = s->taking_part ? part.lasted / s->taking_part : 0;
	part.imbalance = part.deed->doing != DOING_UNKNOWN && part.on_path > even ? part.on_path - even : 0;
	if (part.on_path && !error)
		s->parts[s->nparts++] = part;
	else
		people_free(&part.who);
	return error;
}

static int find_parts(struct critical_path *s)
{
	size_t count = s->deeds.count, first = 0;
	int error = 0;

	s->order = malloc((count + 1) * sizeof(*s->order));
	s->parts = calloc(count + 1, sizeof(*s->parts));
	if (!s->order || !s->parts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		s->order[i] = i;
	qsort_r(s->order, count, sizeof(*s->order), by_deed, s);
	for (size_t i = 1; i <= count && !error; i++) {
		if (i < count && deed_is_same(&s->deeds.all[s->order[i]], &s->deeds.all[s->order[first]]))
			continue;
		error = add_part(s, first, i);
		first = i;
	}
	if (!error && s->nparts)
		qsort(s->parts, s->nparts, sizeof(*s->parts), by_time);
	return error;
}

static int by_share(const void *a, const void *b)
{
	const struct path_share *x = a, *y = b;

	if (x->on_path != y->on_path)
		return x->on_path > y->on_path ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

/* By thread; and by event, the program's own work being NO_INDEX. */
static int find_shares(struct critical_path *s, struct report *r)
{
	s->threads = calloc(s->d->nthreads + 1, sizeof(*s->threads));
	if (!s->threads)
		return -ENOMEM;
	for (size_t i = 0; i < s->d->nthreads; i++)
		s->threads[i].of = i;
	for (size_t i = 0; i < s->deeds.count; i++) {
		const struct deed *deed = &s->deeds.all[i];
		uint32_t event = NO_INDEX;

		if (!on_path(s, i))
			continue;
		s->threads[deed->thread].on_path += on_path(s, i);
		if (deed->doing == DOING_UNKNOWN) {
			s->unknown += on_path(s, i);
			continue;
		}
		if (deed->doing == DOING_CALL) {
			event = profile_event(r->profile, s->d, deed->call.probe);
			if (event == NO_INDEX)
				return -ENOMEM;
		}
		/* Work comes first, then the events. */
		if (array_reach(&s->events, &s->events_room, event == NO_INDEX ? 1 : event + 2, sizeof(*s->events)))
			return -ENOMEM;
		s->events[event + 1].on_path += on_path(s, i);
	}
	for (size_t i = 0; i < s->events_room; i++)
		s->events[i].of = i - 1;
	if (s->events_room)
		qsort(s->events, s->events_room, sizeof(*s->events), by_share);
	qsort(s->threads, s->d->nthreads, sizeof(*s->threads), by_share);
	return 0;
}

/* The thread whose last call ended last; NO_INDEX: there is none. */
static uint32_t last_thread(struct critical_path *s)
{
	uint32_t last = NO_INDEX;
	uint64_t latest = 0, end;

	for (uint32_t i = 0; i < s->d->nthreads; i++) {
		if (thread_is_left_out(s->d, i) || !paths_end(s->paths, i, &end))
			continue;
		s->taking_part++;
		if (last == NO_INDEX || end > latest) {
			last = i;
			latest = end;
		}
	}
	return last;
}

static void simulate_parts(struct critical_path *s, struct report *r)
{
	struct relief reliefs[SIMULATED_PARTS];
	struct part *parts[SIMULATED_PARTS];
	uint64_t gains[SIMULATED_PARTS];
	size_t count = 0;

	for (size_t i = 0; i < s->nparts && i < SIMULATED_PARTS; i++) {
		struct part *part = &s->parts[i];

		if (part->on_path < s->length / SIMULATED_SHARE || part->deed->doing == DOING_UNKNOWN)
			continue;
		reliefs[count] = deed_relief(part->deed, NO_INDEX, &s->sites);
		reliefs[count].less = LESS;
		parts[count++] = part;
	}
	if (!count || !report_relieve(r, reliefs, count, gains))
		return;
	for (size_t i = 0; i < count; i++) {
		parts[i]->has_gain = true;
		parts[i]->gain = gains[i];
	}
}

uint64_t part_bound(const struct part *part)
{
	return part->on_path * LESS;
}

/* --- finding ----------------------------------------------------------------------- */

static bool is_in_share(const struct critical_path *s, const struct deed *deed)
{
	return deed->inside != NO_INDEX && s->d->probes[deed->inside].marks & MARK_SHARE;
}

/* Other findings tell what the thread does more of, and what that costs the others. */
static bool is_told(const struct critical_path *s, const struct report *r, const struct deed *deed)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct finding *finding = &r->findings[i];
		bool same = finding->thread == deed->thread;

		if ((!strcmp(finding->kind, "delay") && same) || (!strcmp(finding->kind, "serial_code") && same) ||
		    (!strcmp(finding->kind, "uneven_region") && (same || is_in_share(s, deed))))
			return true;
	}
	return false;
}

/* No other thread does it, or what is like it, for half as long. */
static bool is_serial(const struct critical_path *s, uint32_t deed)
{
	const struct deed *mine = &s->deeds.all[deed];

	for (uint32_t i = 0; i < s->deeds.count; i++) {
		const struct deed *other = &s->deeds.all[i];

		if (other->thread == mine->thread || i >= s->room || s->lasted[i] <= s->lasted[deed] / OTHERS_FACTOR)
			continue;
		for (enum likeness how = LIKE_ALL; how < LIKENESSES; how++)
			if (deed_is_like(other, mine, how))
				return false;
	}
	return true;
}

static uint64_t work_of(const struct critical_path *s, uint32_t thread)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < s->deeds.count && i < s->room; i++)
		if (s->deeds.all[i].thread == thread && s->deeds.all[i].doing == DOING_WORK)
			ns += s->lasted[i];
	return ns;
}

/* Does another thread work as long, if between other calls? Then it is chance through whose work the path goes. */
static bool is_even(const struct critical_path *s, const struct deed *deed)
{
	uint64_t mine = deed->doing == DOING_WORK ? work_of(s, deed->thread) : 0;

	for (uint32_t thread = 0; thread < s->d->nthreads && mine; thread++)
		if (thread != deed->thread && work_of(s, thread) >= AS_MUCH * mine)
			return true;
	return false;
}

/* In a call that waits for something, and it is not known for what: that one's work would be the path. */
static bool is_wait(const struct critical_path *s, const struct deed *deed)
{
	const struct def_probe *probe;

	if (deed->doing != DOING_CALL || deed->call.probe == NO_INDEX)
		return false;
	probe = &s->d->probes[deed->call.probe];
	return probe->marks & MARK_TEAM || probe->role == ROLE_BARRIER || probe->role == ROLE_ACQUIRE ||
	       group_of_role(probe->role) == GROUP_WAIT;
}

/* It had no processor: for half as long, as far as is known. */
static bool lacks_processor(const struct critical_path *s, const struct report *r, const struct deed *deed, uint64_t ns)
{
	return scheduling_queue_is_known(&s->d->threads[deed->thread]) && scheduling_lost(r, deed->thread) >= ns / 2;
}

static bool is_worth(const struct critical_path *s, const struct report *r, const struct part *part, uint32_t deed)
{
	if (part->deed->doing == DOING_UNKNOWN || is_wait(s, part->deed) ||
	    lacks_processor(s, r, &s->deeds.all[deed], on_path(s, deed)) ||
	    percent(on_path(s, deed), s->length) < FINDING_PERCENT)
		return false;
	if (part->has_gain &&
	    (part->gain < (r->end - r->start) / WORTH_SHARE || part->gain < part_bound(part) / BOUND_FACTOR))
		return false;
	return is_serial(s, deed) && !is_even(s, &s->deeds.all[deed]) && !is_told(s, r, &s->deeds.all[deed]);
}

static int find(const struct critical_path *s, struct report *r)
{
	char who[LABEL_ROOM], what[LABEL_ROOM], where[2 * LABEL_ROOM], time[FORMAT_SIZE], gives[FORMAT_SIZE],
		run[OBSERVED_ROOM];

	for (size_t i = 0; i < s->nparts && critical_path_related(s); i++) {
		const struct part *part = &s->parts[i];
		uint32_t deed = s->order[part->first];
		uint64_t gain = part->has_gain ? part->gain : part_bound(part);
		struct finding finding = { .kind = "critical_path",
					   .event = NO_INDEX,
					   .thread = s->deeds.all[deed].thread,
					   .weight = on_path(s, deed),
					   .has_gain = part->has_gain,
					   .gain = part->gain,
					   .section = "critical_path" };

		if (!is_worth(s, r, part, deed))
			continue;
		if (part->has_gain) {
			struct relief relief = deed_relief(part->deed, NO_INDEX, &s->sites);

			relief.less = LESS;
			report_keep_relief(r, &relief, &finding);
		}
		deed_text(s->d, part->deed, s->lasted[deed], what, sizeof(what));
		deed_place(s->d, part->deed, NULL, 0, IN_SENTENCE, where, sizeof(where));
		return report_add_finding(
			r, &finding,
			"%s %s (%s) for %s, %.0f %% of the critical path, which the run is as long as, and no other "
			"thread does as much of it; were it 10 %% shorter, %s would be %s%s (%.1f %%) shorter",
			thread_label(s->d, finding.thread, who, sizeof(who)), what, where,
			format_time(time, finding.weight), percent(finding.weight, s->length),
			report_observed(r, run, sizeof(run)), part->has_gain ? "" : "at most ",
			format_time(gives, gain), percent(gain, r->end - r->start));
	}
	return 0;
}

static int end(void *state, struct report *r)
{
	struct critical_path *s = state;
	int error;

	s->ends = last_thread(s);
	s->sums = calloc(PATH_OTHERS + s->deeds.count + 1, sizeof(*s->sums));
	if (!s->sums)
		return -ENOMEM;
	if (s->ends != NO_INDEX)
		paths_sum(s->paths, s->ends, s->sums);
	s->forgotten = paths_forgotten(s->paths);
	paths_free(s->paths);
	s->paths = NULL;
	s->changes = s->sums[PATH_CHANGES];
	s->unknown = s->sums[PATH_UNKNOWN];
	for (size_t i = PATH_UNKNOWN; i < PATH_OTHERS + s->deeds.count; i++)
		s->length += s->sums[i];
	for (size_t i = 0; i < s->deeds.count; i++)
		workers_forget_idle(r, &s->deeds.all[i]);
	error = find_parts(s);
	if (!error)
		error = find_shares(s, r);
	if (!error && critical_path_related(s))
		simulate_parts(s, r);
	return error ? error : find(s, r);
}

static void critical_path_free(void *state)
{
	struct critical_path *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->nparts; i++)
		people_free(&s->parts[i].who);
	paths_free(s->paths);
	deeds_free(&s->deeds);
	free(s->same_site);
	free(s->lasted);
	free(s->sums);
	free(s->order);
	free(s->parts);
	free(s->threads);
	free(s->events);
	free(s);
}

static const struct relations_ops relations = { .work = work, .call = call, .pass = pass, .go_on = go_on };

const struct analysis analysis_critical_path = {
	.name = "critical_path",
	.title = "Critical path",
	.of_calls = true,
	.of_work = true,
	.begin = begin,
	.relations = &relations,
	.related = related,
	.end = end,
	.print = critical_path_print,
	.json = critical_path_json,
	.free = critical_path_free,
};
