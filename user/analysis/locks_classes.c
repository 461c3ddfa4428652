/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks_classes.c - locks that are taken at one line are a class; and what is worth a finding.
 *
 * A program that has a lock for each of its buckets, or each of whose ranks has the same lock, has one class of them.
 * The line that counts is the one where a lock was taken most often.
 *
 * A finding is made of a class:
 *   - lock_contention: the waits are at least 1 % of the time of all threads, and more than chance: at least 5 calls
 *     were contended;
 *   - lock_convoy instead, where of at least 100 releases 95 % found somebody waiting, and the lock was on its way to
 *     the next one for longer than it was held: then not the work under it costs the time, but handing it on;
 *   - failed_tries: attempts that failed, and the time until the same thread's next, are 1 % of the time likewise,
 *     and there were at least 100 of them.
 * What a simulation without the waits shows to gain less than 1 % of the run is no finding: who waits there would wait
 * for others afterwards. But where it is a twentieth of all threads' time it is told, and that; and
 * where one thread holds it 4 times as long each time as the others.
 * Where calls of locks are not all on the timeline it says nothing.
 */
#include "analysis/gains.h"
#include "analysis/locks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/format.h"

#define WORTH_SHARE 100 /* one in so many of the time of all threads */
#define LARGE_SHARE 20  /* likewise: so much is told though it gains nothing */
#define HOLDS_LONGER 4  /* times as long each time as the others: that one is told, though it gains nothing */
#define LEAST_CONTENDED 5
#define CONVOY_LEAST 100
#define CONVOY_PERCENT 95
#define LEAST_FAILED 100
#define ON_ITS_WAY_SHARE 20 /* one in so many of the wait: less is not told */

/* --- adding up ------------------------------------------------------------- */

static void most(uint64_t *maximum, uint64_t value)
{
	*maximum = value > *maximum ? value : *maximum;
}

void lock_sums_add(struct lock_sums *to, const struct lock_sums *from)
{
	for (int i = 0; i < LOCK_WAIT_MAX; i++)
		to->of[i] += from->of[i];
	for (int i = LOCK_WAIT_MAX; i < LOCK_FIGURES; i++)
		most(&to->of[i], from->of[i]);
}

void lock_part_add(struct lock_part *to, const struct lock_part *from)
{
	to->acquired += from->acquired;
	to->contended += from->contended;
	to->wait += from->wait;
	to->holds += from->holds;
	to->hold += from->hold;
	to->failed += from->failed;
	to->blamed += from->blamed;
	most(&to->wait_max, from->wait_max);
	most(&to->hold_max, from->hold_max);
}

/* --- order -------------------------------------------------------------------- */

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int by_key(const void *a, const void *b)
{
	const struct lock_part_key *x = &((const struct lock_part *)a)->key, *y = &((const struct lock_part *)b)->key;

	COMPARE(x->lock, y->lock);
	COMPARE(x->kind, y->kind);
	COMPARE(x->a, y->a);
	COMPARE(x->b, y->b);
	COMPARE(x->c, y->c);
	COMPARE(x->d, y->d);
	return 0;
}

/* Of a lock and kind those of most time first. */
static int by_time(const void *a, const void *b)
{
	const struct lock_part *x = a, *y = b;

	COMPARE(x->key.lock, y->key.lock);
	COMPARE(x->key.kind, y->key.kind);
	COMPARE(y->wait + y->blamed, x->wait + x->blamed);
	COMPARE(y->hold, x->hold);
	return by_key(a, b);
}

static int order_of(const struct lock *x, const struct lock *y)
{
	const uint64_t *a = x->sums.of, *b = y->sums.of;

	COMPARE(b[LOCK_WAIT] + b[LOCK_SPIN], a[LOCK_WAIT] + a[LOCK_SPIN]);
	COMPARE(b[LOCK_HELD], a[LOCK_HELD]);
	COMPARE(b[LOCK_ACQUIRED], a[LOCK_ACQUIRED]);
	COMPARE(x->key.process, y->key.process);
	COMPARE(x->key.value, y->key.value);
	COMPARE(x->key.peer, y->key.peer);
	COMPARE(x->key.element, y->key.element);
	COMPARE(x->key.event, y->key.event);
	return 0;
}

static int by_wait(const void *a, const void *b)
{
	return order_of(a, b);
}

static int by_wait_of(const void *a, const void *b, void *locks)
{
	const struct lock *all = locks;

	return order_of(&all[*(const size_t *)a], &all[*(const size_t *)b]);
}

const struct lock_part *lock_rows(const struct lock_part *parts, size_t nparts, uint32_t lock, enum lock_part_kind kind,
				  size_t *count)
{
	size_t low = 0, high = nparts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct lock_part_key *key = &parts[middle].key;

		if (key->lock < lock || (key->lock == lock && key->kind < (uint32_t)kind))
			low = middle + 1;
		else
			high = middle;
	}
	*count = 0;
	while (low + *count < nparts && parts[low + *count].key.lock == lock &&
	       parts[low + *count].key.kind == (uint32_t)kind)
		++*count;
	return parts + low;
}

/* --- classes ---------------------------------------------------------------- */

/* Where it was taken most often. The parts are in order. */
static uint32_t main_site(const struct locks *s, uint32_t lock)
{
	size_t count;
	const struct lock_part *rows = lock_rows(s->parts, s->nparts, lock, PART_SITE, &count), *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (!best || rows[i].acquired > best->acquired ||
		    (rows[i].acquired == best->acquired && rows[i].key.a < best->key.a))
			best = &rows[i];
	return best && best->acquired ? best->key.a : NO_INDEX;
}

/* A lock that nobody was seen to take is no class, and one whose site is not known is its own. */
static int put_into_class(struct locks *s, struct index *classes, uint32_t number)
{
	struct lock *lock = &s->locks[number], *class;
	uint32_t site = main_site(s, number), apart = site != NO_INDEX ? site : number;
	struct index_slot *slot;

	lock->class = NO_INDEX;
	lock->site = site;
	if (lock->probe == NO_INDEX)
		return 0;
	slot = index_find(classes, index_key(apart, lock->key.model << 1 | (site != NO_INDEX)));
	if (!slot)
		return -ENOMEM;
	if (slot->value == INDEX_FREE) {
		slot->value = s->nclasses++;
		class = &s->classes[slot->value];
		*class = *lock;
		class->class = slot->value;
		class->longest_held = lock->sums.of[LOCK_HELD];
		class->longest_busy = lock->sums.of[LOCK_BUSY];
	} else {
		class = &s->classes[slot->value];
		class->locks++;
		lock_sums_add(&class->sums, &lock->sums);
		most(&class->longest_held, lock->sums.of[LOCK_HELD]);
		most(&class->longest_busy, lock->sums.of[LOCK_BUSY]);
	}
	lock->class = slot->value;
	return 0;
}

static size_t join_parts(struct lock_part *parts, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(parts, count, sizeof(*parts), by_key);
	for (size_t i = 0; i < count; i++) {
		if (kept && !by_key(&parts[kept - 1], &parts[i]))
			lock_part_add(&parts[kept - 1], &parts[i]);
		else
			parts[kept++] = parts[i];
	}
	if (kept)
		qsort(parts, kept, sizeof(*parts), by_time);
	return kept;
}

/* Classes by their waits; of the rows those of locks in a class, by class. */
static int sort_classes(struct locks *s)
{
	uint32_t *now = calloc(s->nclasses + 1, sizeof(*now));

	s->class_parts = calloc(s->nparts + 1, sizeof(*s->class_parts));
	if (!now || !s->class_parts) {
		free(now);
		return -ENOMEM;
	}
	if (s->nclasses)
		qsort(s->classes, s->nclasses, sizeof(*s->classes), by_wait);
	for (size_t i = 0; i < s->nclasses; i++)
		now[s->classes[i].class] = i;
	for (size_t i = 0; i < s->nlocks; i++)
		if (s->locks[i].class != NO_INDEX)
			s->locks[i].class = now[s->locks[i].class];
	for (size_t i = 0; i < s->nparts; i++) {
		uint32_t class = s->locks[s->parts[i].key.lock].class;

		if (class == NO_INDEX)
			continue;
		s->class_parts[s->nclass_parts] = s->parts[i];
		s->class_parts[s->nclass_parts++].key.lock = class;
	}
	s->nclass_parts = join_parts(s->class_parts, s->nclass_parts);
	free(now);
	return 0;
}

int lock_classes_make(struct locks *s, const struct report *r)
{
	struct index classes = { 0 };
	int error = 0;

	s->classes = calloc(s->nlocks + 1, sizeof(*s->classes));
	s->order = calloc(s->nlocks + 1, sizeof(*s->order));
	if (!s->classes || !s->order)
		return -ENOMEM;
	if (s->nparts)
		qsort(s->parts, s->nparts, sizeof(*s->parts), by_time);
	for (size_t i = 0; i < s->nlocks && !error; i++) {
		s->order[i] = i;
		error = put_into_class(s, &classes, i);
	}
	free(classes.slots);
	if (s->nlocks)
		qsort_r(s->order, s->nlocks, sizeof(*s->order), by_wait_of, s->locks);
	return error ?: sort_classes(s);
}

/* --- findings ----------------------------------------------------------------- */

char *lock_label(const struct locks *s, const struct lock *lock, char *text, size_t room)
{
	const struct def_probe *probe = &s->d->probes[lock->probe];
	char event[LABEL_ROOM];

	event_label(probe, false, event, sizeof(event));
	if (!lock->key.apart)
		snprintf(text, room, "locks of %s", event);
	else if (lock->locks > 1)
		snprintf(text, room, "%u locks of %s", lock->locks, event);
	else if (lock->key.event != NO_INDEX)
		snprintf(text, room, "the lock of %s", event);
	else if (lock->key.peer >= 0)
		snprintf(text, room, "lock %#llx of %s at %d", (unsigned long long)lock->key.value, event,
			 lock->key.peer);
	else
		snprintf(text, room, "lock %#llx of %s", (unsigned long long)lock->key.value, event);
	return text;
}

/* The worst row of the class; NULL: there is none. */
static const struct lock_part *worst(const struct locks *s, uint32_t class, enum lock_part_kind kind, bool blamed)
{
	size_t count;
	const struct lock_part *rows = lock_rows(s->class_parts, s->nclass_parts, class, kind, &count), *best = NULL;

	for (size_t i = 0; i < count; i++) {
		uint64_t now = blamed ? rows[i].blamed : rows[i].wait;

		if (now && (!best || now > (blamed ? best->blamed : best->wait)))
			best = &rows[i];
	}
	return best;
}

static size_t waiters(const struct locks *s, uint32_t class)
{
	size_t count, some = 0;
	const struct lock_part *rows = lock_rows(s->class_parts, s->nclass_parts, class, PART_THREAD, &count);

	for (size_t i = 0; i < count; i++)
		some += rows[i].contended > 0;
	return some;
}

/* Who holds it for twice its share of what the others wait, of two for three of four parts. NULL: nobody. */
static const struct lock_part *chief_holder(const struct locks *s, uint32_t class)
{
	const struct lock_part *thread = worst(s, class, PART_THREAD, true), *rows;
	uint64_t all = 0;
	size_t count;

	rows = lock_rows(s->class_parts, s->nclass_parts, class, PART_THREAD, &count);
	for (size_t i = 0; i < count; i++)
		all += rows[i].blamed;
	if (!thread || count < 2)
		return thread;
	return thread->blamed >= all * fmin(2.0 / count, (1 + 1.0 / count) / 2) ? thread : NULL;
}

/* How long each hold of these threads is on average, of one or of all but this one; 0: there is none. ns */
static uint64_t mean_hold(const struct locks *s, uint32_t class, uint32_t thread, bool of_others)
{
	uint64_t holds = 0, hold = 0;
	size_t count;
	const struct lock_part *rows = lock_rows(s->class_parts, s->nclass_parts, class, PART_THREAD, &count);

	for (size_t i = 0; i < count; i++) {
		if ((rows[i].key.a == thread) == of_others)
			continue;
		holds += rows[i].holds;
		hold += rows[i].hold;
	}
	return holds ? hold / holds : 0;
}

/* Who keeps the others out, for how long each time, and where it has taken the lock. */
static void say_holder(const struct locks *s, uint32_t class, char *text, size_t room)
{
	const struct lock_part *thread = chief_holder(s, class), *site = worst(s, class, PART_SITE, true);
	uint64_t others = thread ? mean_hold(s, class, thread->key.a, true) : 0;
	char who[LABEL_ROOM], where[LABEL_ROOM], ns[FORMAT_SIZE], mean[FORMAT_SIZE], theirs[FORMAT_SIZE], by[60] = "";

	*text = 0;
	if (!site)
		return;
	site_label(s->d, site->key.a, where, sizeof(where));
	if (others)
		snprintf(by, sizeof(by), ", by the others for %s", format_time(theirs, others));
	if (thread)
		snprintf(text, room,
			 "; %s of that while %s held it, taken at %s and held for %s each time on average%s",
			 format_time(ns, thread->blamed), thread_label(s->d, thread->key.a, who, sizeof(who)), where,
			 format_time(mean, mean_hold(s, class, thread->key.a, false)), by);
	else
		snprintf(text, room, "; all hold it alike, taken at %s and held for %s each time on average", where,
			 format_time(mean, mean_hold(s, class, NO_INDEX, true)));
}

/* Of what was waited, in which nobody held it: it was on its way. "": little. */
static const char *on_its_way(const uint64_t of[LOCK_FIGURES], char *text, size_t room)
{
	uint64_t ns = of[LOCK_WAIT] > of[LOCK_BEHIND] ? of[LOCK_WAIT] - of[LOCK_BEHIND] : 0;
	char time[FORMAT_SIZE];

	*text = '\0';
	if (ns >= of[LOCK_WAIT] / ON_ITS_WAY_SHARE)
		snprintf(text, room, "; %s of that nobody held it: it was on its way to who waited",
			 format_time(time, ns));
	return text;
}

static bool is_convoy(const uint64_t of[LOCK_FIGURES])
{
	return of[LOCK_RELEASED] >= CONVOY_LEAST && of[LOCK_HANDED] >= of[LOCK_RELEASED] / 100 * CONVOY_PERCENT &&
	       of[LOCK_BUSY] - of[LOCK_HELD] > of[LOCK_HELD];
}

/* What nobody's waiting for these locks would give, wherever they are taken. */
static int find_gain(struct locks *s, struct report *r, uint32_t class, struct finding *finding)
{
	size_t count;
	const struct lock_part *rows = lock_rows(s->class_parts, s->nclass_parts, class, PART_SITE, &count);
	bool *sites = calloc(2 * (s->d->nsites + 1), sizeof(*sites)), *wanted = sites ? sites + s->d->nsites + 1 : NULL;
	struct relief relief = { .thread = NO_INDEX, .what = RELIEVE_LOCK, .sites = sites, .nsites = s->d->nsites };

	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (rows[i].key.a < s->d->nsites)
			wanted[rows[i].key.a] = true;
	for (uint32_t site = 0; site < s->d->nsites; site++) {
		uint32_t first = lock_site(s, site);

		sites[site] = first < s->d->nsites && wanted[first];
	}
	report_find_gain(r, &relief, finding);
	free(sites);
	/* Whom a lock of another rank's memory is waited for may not be known to a simulation, where the window's ranks
	 * are not. */
	if (finding->has_gain && !finding->gain &&
	    probe_value(&s->d->probes[s->classes[class].probe], MEANING_PEER) >= 0) {
		finding->has_gain = false;
		finding->relief = 0;
	}
	return 0;
}

static int find_contention(struct locks *s, struct report *r, uint32_t class)
{
	const struct lock *lock = &s->classes[class];
	const uint64_t *of = lock->sums.of;
	const struct lock_part *site = worst(s, class, PART_SITE, false), *thread = chief_holder(s, class);
	char label[LABEL_ROOM + 64], where[LABEL_ROOM], holder[4 * LABEL_ROOM], ns[FORMAT_SIZE], max[FORMAT_SIZE],
		count[FORMAT_SIZE], way[100], gives[200];
	size_t who = waiters(s, class);
	bool idle, longer;
	int error;
	struct finding finding = { .kind = is_convoy(of) ? "lock_convoy" : "lock_contention",
				   .thread = thread ? thread->key.a : NO_INDEX,
				   .has_site = site,
				   .site = site ? site->key.a : NO_INDEX,
				   .weight = of[LOCK_WAIT],
				   .section = "locks",
				   .regularity = {
					   .what = "calls that take it wait",
					   .times = of[LOCK_CONTENDED],
					   .of = of[LOCK_ACQUIRED],
					   .mean = of[LOCK_CONTENDED] ? (double)of[LOCK_WAIT] / of[LOCK_CONTENDED] : 0,
					   .deviation = -1 } };

	finding.event = profile_event(r->profile, r->d, lock->probe);
	error = find_gain(s, r, class, &finding);
	idle = finding.has_gain && finding.gain < (r->end - r->start) / WORTH_SHARE;
	longer = thread &&
		 mean_hold(s, class, thread->key.a, false) >= HOLDS_LONGER * mean_hold(s, class, thread->key.a, true);
	if (error || (idle && !longer && of[LOCK_WAIT] < r->wall / LARGE_SHARE))
		return error;
	gain_text(r, &finding, "if nobody had to wait for it", "; no more than that is to be gained", gives,
		  sizeof(gives));
	say_holder(s, class, holder, sizeof(holder));
	return report_add_finding(
		r, &finding,
		"%zu thread%s waited %s in all (%.1f %% of the threads' time) for %s at %s: %s contended calls, the "
		"longest %s%s%s; %.0f %% of the releases found somebody waiting already%s%s%s.",
		who, plural(who), format_time(ns, of[LOCK_WAIT]), 100.0 * of[LOCK_WAIT] / r->wall,
		lock_label(s, lock, label, sizeof(label)),
		site_label(s->d, site ? site->key.a : NO_INDEX, where, sizeof(where)),
		format_count(count, of[LOCK_CONTENDED]), format_time(max, of[LOCK_WAIT_MAX]), holder,
		on_its_way(of, way, sizeof(way)), of[LOCK_RELEASED] ? 100.0 * of[LOCK_HANDED] / of[LOCK_RELEASED] : 0,
		is_convoy(of) ? ", and handing it on took longer than what was done under it: a convoy" : "", gives,
		idle ? ": who waits for it would else wait for other threads, which are not there any earlier" : "");
}

static int find_failed_tries(struct locks *s, struct report *r, uint32_t class)
{
	const struct lock *lock = &s->classes[class];
	const uint64_t *of = lock->sums.of;
	size_t count;
	const struct lock_part *rows = lock_rows(s->class_parts, s->nclass_parts, class, PART_SITE, &count),
			       *site = NULL;
	struct finding finding = { .kind = "failed_tries", .thread = NO_INDEX, .weight = of[LOCK_SPIN] };
	char label[LABEL_ROOM + 64], where[LABEL_ROOM], holder[4 * LABEL_ROOM], ns[FORMAT_SIZE], text[FORMAT_SIZE];

	for (size_t i = 0; i < count; i++)
		if (!site || rows[i].failed > site->failed)
			site = &rows[i];
	finding.has_site = site;
	finding.site = site ? site->key.a : NO_INDEX;
	finding.event = profile_event(r->profile, r->d, lock->probe);
	say_holder(s, class, holder, sizeof(holder));
	return report_add_finding(
		r, &finding,
		"%s attempts to take %s failed, most at %s; with the time until the next one they took %s (%.1f %% of "
		"the threads' time)%s.",
		format_count(text, of[LOCK_FAILED]), lock_label(s, lock, label, sizeof(label)),
		site_label(s->d, site ? site->key.a : NO_INDEX, where, sizeof(where)), format_time(ns, of[LOCK_SPIN]),
		100.0 * of[LOCK_SPIN] / r->wall, holder);
}

int lock_findings(struct locks *s, struct report *r)
{
	int error = 0;

	for (size_t i = 0; i < s->nclasses && !s->sampled && r->wall && !error; i++) {
		const uint64_t *of = s->classes[i].sums.of;

		if (of[LOCK_WAIT] >= r->wall / WORTH_SHARE && of[LOCK_CONTENDED] >= LEAST_CONTENDED)
			error = find_contention(s, r, i);
		if (!error && of[LOCK_SPIN] >= r->wall / WORTH_SHARE && of[LOCK_FAILED] >= LEAST_FAILED)
			error = find_failed_tries(s, r, i);
	}
	return error;
}
