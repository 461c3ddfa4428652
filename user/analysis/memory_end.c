/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_end.c - which heaps grow, which places leak, which give blocks that hardly live.
 *
 * A leak cannot be seen, only that nobody has freed something yet. What a program allocates as it starts is
 * no leak, nor is what lives for a while and is freed then. So a place is suspected where, all of:
 *   - from its first block to the last call of the heap it is a third of the time between the heap's first call and
 *     that, and enough to be divided in tenths; and the place gave blocks in nearly all of these (8 of 10), 20 at
 *     least, and not most of them in the first two;
 *   - in each of these tenths, three of four of its blocks are alive at the end;
 *   - hardly any of its blocks (one of ten) was ever freed, but for those that were freed soon: within an eightieth of
 *     the time, or two; these count nowhere here;
 *   - no other blocks can stand for them: where as many from before the observation were freed, from the first of its
 *     blocks to the last, as a quarter of what it has left, these may just live longer than the observation;
 *   - all calls of the heap were seen. Else nothing is claimed.
 * It is told where it is 64 KiB and 1 % of the most that the heap had.
 */
#include "analysis/gains.h"
#include "analysis/memory.h"
#include "analysis/printer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/format.h"
#include "util/text.h"

#define TENTHS_ACTIVE 8
#define LEAST_BLOCKS 20
#define LEAST_PART 3 /* of the time, one in so many */
#define LEAK_BYTES (64 << 10)
#define LEAK_SHARE 100   /* of the high-water mark, one in so many */
#define CHURN_PERCENT 5  /* of a thread's time */
#define STEADY_AFTER 5   /* the first of so many parts is the start */
#define GROWS_SHARE 0.75 /* of all pairs of samples; a single step makes half of them at most */

/* --- whose heaps there are -------------------------------------------------------- */

static int find_processes(struct memory *m)
{
	const struct definitions *d = m->d;

	m->main = calloc(d->nprocesses + 1, sizeof(*m->main));
	m->of_process = calloc(d->nprocesses + 1, sizeof(*m->of_process));
	if (!m->main || !m->of_process)
		return -ENOMEM;
	for (size_t i = 0; i < d->nprocesses; i++)
		m->main[i] = m->of_process[i] = NO_INDEX;
	for (size_t i = d->nthreads; i-- > 0;) {
		uint32_t process = d->threads[i].process, before = m->main[process];

		if (before == NO_INDEX || d->threads[before].tid != d->processes[process].pid)
			m->main[process] = i;
	}
	for (size_t i = m->nheaps; i-- > 0;) {
		struct heap *heap = &m->heaps[i];

		heap->next = NO_INDEX;
		if (heap->process == NO_INDEX)
			continue;
		heap->next = m->of_process[heap->process];
		m->of_process[heap->process] = i;
	}
	return 0;
}

/* --- what was not seen ---------------------------------------------------------- */

static bool allocates(const struct definitions *d, uint32_t probe)
{
	enum role role = probe < d->nprobes ? d->probes[probe].role : ROLE_FUNCTION;

	return role == ROLE_ALLOC || role == ROLE_REALLOC || role == ROLE_FREE;
}

static const char *model_of(const struct memory *m, const struct heap *heap)
{
	return m->d->probes[heap->probe].model ?: "";
}

/* Calls of a heap that are not on the timeline: the sums say which they were. What gaps have beyond these may have been
 * anything. */
static int count_missing_calls(struct memory *m)
{
	const struct definitions *d = m->d;
	uint64_t all = 0;

	for (size_t i = 0; i < d->nsums; i++) {
		const struct def_sum *sum = &d->sums[i];
		uint32_t process = sum->thread < d->nthreads ? d->threads[sum->thread].process : NO_INDEX;
		const struct memory_probe *probe;
		const struct index_slot *slot;

		if (process >= d->nprocesses)
			continue;
		m->gaps[process] -= sum->lost < m->gaps[process] ? sum->lost : m->gaps[process];
		if (!allocates(d, sum->probe))
			continue;
		probe = memory_probe_of(m, sum->probe);
		if (!probe)
			return -ENOMEM;
		slot = index_known(&m->by_process, index_key(probe->shared ? NO_INDEX : process, probe->model));
		if (slot)
			m->heaps[slot->value].missing += sum->lost + sum->summed + sum->skipped;
	}
	for (size_t i = 0; i < d->nprocesses; i++)
		all += m->gaps[i];
	for (size_t i = 0; i < m->nheaps; i++)
		m->heaps[i].missing += m->heaps[i].process == NO_INDEX ? all : m->gaps[m->heaps[i].process];
	return 0;
}

/* Is it one of "mpi, caf"? */
static bool is_listed(const char *models, const char *model)
{
	size_t size = strlen(model), word;

	for (; *models; models += word + strspn(models + word, ", ")) {
		word = strcspn(models, ", ");
		if (word == size && !strncmp(models, model, size))
			return true;
	}
	return false;
}

/* Nothing is known of the calls of these models (NULL: of all) in the process from `to` on, or up to it. */
static void mark_out(struct memory *m, uint32_t process, const char *models, bool to_end, uint64_t to)
{
	for (uint32_t i = process < m->d->nprocesses ? m->of_process[process] : NO_INDEX; i != NO_INDEX;
	     i = m->heaps[i].next) {
		struct heap *heap = &m->heaps[i];

		if ((to_end || to > heap->since) && (!models || is_listed(models, model_of(m, heap))))
			heap->out = true;
	}
}

static void find_times_without(struct memory *m)
{
	const struct definitions *d = m->d;

	for (size_t i = 0; i < d->nsteps; i++) {
		uint32_t probe = d->steps[i].probe;

		if (d->steps[i].level == STEP_ALL || !allocates(d, probe) ||
		    (probe < m->nprobes && m->probes[probe].out))
			continue;
		if (probe < m->nprobes)
			m->probes[probe].out = true;
		for (size_t k = 0; k < m->nheaps; k++)
			m->heaps[k].out |= same_text(d->probes[probe].model, d->probes[m->heaps[k].probe].model);
	}
	for (size_t i = 0; i < d->ncontrols; i++)
		mark_out(m, d->controls[i].process, NULL, true, 0);
	for (size_t i = 0; i < d->nwindows; i++)
		if (!same_text(d->windows[i].after, "exec"))
			mark_out(m, d->windows[i].process, d->windows[i].models, d->windows[i].runtime,
				 d->windows[i].to);
	for (size_t i = 0; i < m->nheaps; i++)
		m->heaps[i].out |= m->heaps[i].process == NO_INDEX && (d->nwindows || d->ncontrols);
}

static int look_at_what_is_missing(struct memory *m)
{
	int error = count_missing_calls(m);

	find_times_without(m);
	for (size_t i = 0; i < m->nheaps; i++) {
		struct heap *heap = &m->heaps[i];

		heap->exact = !heap->missing && !heap->out && !heap->beyond && !m->crowded &&
			      (heap->again + heap->unplaced) * 100 <= heap->blocks_given;
	}
	return error;
}

/* --- growth ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The median of the slopes between any two of the samples (Theil and Sen), and how many of the pairs rise.
 * The last slot is not whole, and a program may just be cleaning up there. */
static void find_trend(const struct memory *m, struct heap *heap)
{
	double slopes[SLOTS * SLOTS / 2];
	unsigned from = heap->first + (heap->last - heap->first + 1) / STEADY_AFTER, to = heap->last;
	size_t count = 0, up = 0;

	heap->steady_live = heap->sample[from];
	heap->steady_from = m->origin + (from + 1) * m->width;
	heap->steady_to = m->origin + to * m->width;
	if (to < from + 3)
		return;
	for (unsigned i = from; i < to; i++) {
		for (unsigned k = i + 1; k < to; k++) {
			double change = (double)heap->sample[k] - (double)heap->sample[i];

			up += change > 0;
			slopes[count++] = change / ((k - i) * (double)m->width) * 1e9;
		}
	}
	qsort(slopes, count, sizeof(*slopes), by_value);
	heap->trend = count % 2 ? slopes[count / 2] : (slopes[count / 2 - 1] + slopes[count / 2]) / 2;
	heap->grows = up >= GROWS_SHARE * count &&
		      heap->trend * (to - from) * m->width / 1e9 * LEAK_SHARE >= heap->peak;
}

static void look_at_heap(struct memory *m, struct heap *heap)
{
	const struct def_process *process = heap->process < m->d->nprocesses ? &m->d->processes[heap->process] : NULL;

	heap->left_out = process && process->left_out;
	heap->last = memory_slot_of(m, heap->until);
	if (heap->last < heap->first)
		heap->last = heap->first;
	find_trend(m, heap);
}

/* --- leaks ---------------------------------------------------------------------------- */

double memory_site_rate(const struct memory *m, const struct memory_site *site)
{
	const struct heap *heap = &m->heaps[site->heap];

	return heap->until > site->oldest && site->oldest ? site_live(site) * 1e9 / (heap->until - site->oldest) : 0;
}

/* alive: of its blocks, by slot. */
static bool leaves_its_blocks(const struct heap *heap, const struct memory_site *site, const uint32_t *alive)
{
	unsigned first = heap->first, slots, active = 0;
	uint64_t early = 0, live = site->blocks - site->freed;

	while (first < heap->last && !site->born[first])
		first++;
	slots = heap->last + 1 - first;
	if (slots < TENTHS || slots * LEAST_PART < heap->last + 1 - heap->first || live < LEAST_BLOCKS ||
	    (site->freed - site->soon) * 10 > site->blocks - site->soon)
		return false;
	for (unsigned i = 0; i < TENTHS; i++) {
		uint64_t born = 0, left = 0;

		for (unsigned k = i * slots / TENTHS; k < (i + 1) * slots / TENTHS; k++) {
			born += site->born[first + k];
			left += alive[first + k];
		}
		if (left * 4 < born * 3)
			return false;
		active += born > 0;
		if (i < 2)
			early += left;
	}
	return active >= TENTHS_ACTIVE && early * 2 <= live;
}

/* Blocks from before that were freed while the place gave its own: not as the runtime began, nor as the program ended.
 */
static uint64_t freed_meanwhile(const struct heap *heap, const struct memory_site *site)
{
	unsigned first = 0, last = SLOTS;
	uint64_t freed = 0;

	while (first < SLOTS && !site->born[first])
		first++;
	while (last > first && !site->born[last - 1])
		last--;
	for (unsigned k = first + 1; k + 1 < last; k++)
		freed += heap->before[k];
	return freed;
}

static int look_at_sites(struct memory *m)
{
	uint32_t *alive = calloc(m->nsites * SLOTS + 1, sizeof(*alive));

	if (!alive)
		return -ENOMEM;
	for (size_t i = 0; i < m->nheaps; i++) {
		const struct blocks *blocks = &m->heaps[i].blocks;

		for (size_t k = 0; blocks->slots && k <= blocks->mask; k++) {
			const struct block *block = &blocks->slots[k];
			struct memory_site *site = block->address ? &m->sites[block->site] : NULL;

			if (!site)
				continue;
			alive[block->site * SLOTS + memory_slot_of(m, block->born)]++;
			if (!site->oldest || block->born < site->oldest)
				site->oldest = block->born;
			if (block->born > site->newest)
				site->newest = block->born;
		}
	}
	for (size_t i = 0; i < m->nsites; i++) {
		struct memory_site *site = &m->sites[i];
		const struct heap *heap = &m->heaps[site->heap];
		uint64_t bytes = site_live(site);

		if (bytes < LEAK_BYTES || bytes * LEAK_SHARE < heap->peak ||
		    !leaves_its_blocks(heap, site, &alive[i * SLOTS]))
			continue;
		site->verdict = heap->exact && freed_meanwhile(heap, site) * 4 < site->blocks - site->freed
					? VERDICT_SUSPECT
					: VERDICT_UNKNOWN;
	}
	free(alive);
	return 0;
}

/* --- the same place in several processes -------------------------------------------------- */

const char *memory_who(const struct definitions *d, const struct people *main_threads, char *text, size_t room)
{
	size_t count = people_count(main_threads);
	bool ranks = true;

	if (!count)
		return "all ranks";
	for (uint32_t i = 0; i < d->nthreads; i++) {
		if (!people_has(main_threads, i))
			continue;
		if (count == 1)
			return process_label(d, d->threads[i].process, text, room);
		ranks &= d->processes[d->threads[i].process].rank >= 0;
	}
	if (ranks)
		return people_label(d, main_threads, text, room);
	snprintf(text, room, "%zu processes", count);
	return text;
}

static bool same_place(const struct memory *m, const struct memory_site *a, const struct memory_site *b)
{
	if (a->verdict != b->verdict || !same_text(m->d->probes[a->probe].event, m->d->probes[b->probe].event))
		return false;
	if (a->site >= m->d->nsites || b->site >= m->d->nsites)
		return a->site == b->site && a->probe == b->probe;
	return m->same[a->site] == m->same[b->site];
}

int memory_group_of(const struct memory *m, size_t first, struct memory_group *group, bool *done)
{
	const struct memory_site *of = &m->sites[m->sorted[first]];

	*group = (struct memory_group){ 0 };
	for (size_t i = first; i < m->nsorted; i++) {
		const struct memory_site *site = &m->sites[m->sorted[i]];
		uint32_t thread = heap_thread(m, &m->heaps[site->heap]);

		if (done[i] || !same_place(m, of, site))
			continue;
		done[i] = true;
		group->blocks += site->blocks - site->freed;
		group->bytes += site_live(site);
		group->rate += memory_site_rate(m, site);
		if (thread != NO_INDEX && people_add(&group->who, thread)) {
			people_free(&group->who);
			return -ENOMEM;
		}
	}
	return 0;
}

static int by_verdict_and_bytes(const void *left, const void *right, void *context)
{
	const struct memory *m = context;
	const struct memory_site *a = &m->sites[*(const uint32_t *)left], *b = &m->sites[*(const uint32_t *)right];
	bool x = a->verdict == VERDICT_SUSPECT, y = b->verdict == VERDICT_SUSPECT;

	if (x != y)
		return x ? -1 : 1;
	if (site_live(a) != site_live(b))
		return site_live(a) > site_live(b) ? -1 : 1;
	if (a->churn != b->churn)
		return a->churn > b->churn ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int by_process(const void *left, const void *right, void *context)
{
	const struct memory *m = context;
	const struct heap *a = &m->heaps[*(const uint32_t *)left], *b = &m->heaps[*(const uint32_t *)right];
	uint32_t x = heap_thread(m, a), y = heap_thread(m, b);

	if (x != y)
		return x == NO_INDEX ? 1 : y == NO_INDEX ? -1 : thread_order(m->d, x, y);
	return strcmp(model_of(m, a), model_of(m, b));
}

static int sort_heaps(struct memory *m)
{
	m->order = calloc(m->nheaps + 1, sizeof(*m->order));
	if (!m->order)
		return -ENOMEM;
	for (size_t i = 0; i < m->nheaps; i++)
		if (!m->heaps[i].left_out)
			m->order[m->norder++] = i;
	qsort_r(m->order, m->norder, sizeof(*m->order), by_process, m);
	return 0;
}

static int sort_sites(struct memory *m)
{
	m->sorted = calloc(m->nsites + 1, sizeof(*m->sorted));
	m->same = report_same_sites(m->d);
	if (!m->sorted || !m->same)
		return -ENOMEM;
	for (size_t i = 0; i < m->nsites; i++)
		if (!m->heaps[m->sites[i].heap].left_out)
			m->sorted[m->nsorted++] = i;
	qsort_r(m->sorted, m->nsorted, sizeof(*m->sorted), by_verdict_and_bytes, m);
	return 0;
}

/* --- findings ---------------------------------------------------------------------------- */

static int find_leaks(const struct memory *m, struct report *r)
{
	bool *done = calloc(m->nsorted + 1, sizeof(*done));
	char who[LABEL_ROOM], where[LABEL_ROOM], bytes[FORMAT_SIZE], count[FORMAT_SIZE], rate[FORMAT_SIZE];
	int error = done ? 0 : -ENOMEM;

	for (size_t i = 0; i < m->nsorted && !error; i++) {
		const struct memory_site *site = &m->sites[m->sorted[i]];
		struct memory_group group;

		if (site->verdict != VERDICT_SUSPECT)
			break;
		if (done[i])
			continue;
		error = memory_group_of(m, i, &group, done);
		if (error)
			break;
		struct finding finding = {
			.kind = "leak",
			.event = profile_event(r->profile, m->d, site->probe),
			.thread = heap_thread(m, &m->heaps[site->heap]),
			.has_site = site->site < m->d->nsites,
			.site = site->site,
			.weight = site->took,
			.section = "memory",
		};

		error = report_add_finding(
			r, &finding, "%s: blocks of %s pile up, %s in %s that nobody has freed, %s/s (a leak?)",
			memory_who(m->d, &group.who, who, sizeof(who)),
			site_label(m->d, site->site, where, sizeof(where)), format_bytes(bytes, group.bytes),
			format_count(count, group.blocks), format_bytes(rate, (uint64_t)group.rate));
		people_free(&group.who);
	}
	free(done);
	return error;
}

/* ns that the thread would have taken without probes, which take the more, the more it allocates. */
static uint64_t own_time(const struct report *r, uint32_t thread)
{
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *row = &r->threads[i];

		if (row->thread == thread)
			return row->wall > row->cost ? row->wall - row->cost : 0;
	}
	return 0;
}

/* One finding for all threads in which it is worth it, with the place that takes most of it. */
/* What the run would be shorter by without: so much of the time in all such calls of these threads. */
static void find_gain(const struct memory *m, struct report *r, const struct people *who, uint64_t time,
		      struct finding *finding)
{
	struct relief relief = { .thread = people_count(who) == 1 ? finding->thread : NO_INDEX,
				 .what = RELIEVE_MEMORY,
				 .most = UINT64_MAX };
	uint64_t all = 0;

	for (size_t i = 0; i < r->nthreads; i++)
		if (people_has(who, r->threads[i].thread) || relief.thread == NO_INDEX)
			all += r->threads[i].group[GROUP_ALLOC];
	if (!all)
		return;
	relief.less = time < all ? (double)time / all : 1;
	report_find_gain(r, &relief, finding);
}

static int find_churn(const struct memory *m, struct report *r)
{
	char label[LABEL_ROOM], where[LABEL_ROOM], rate[FORMAT_SIZE], gives[200];
	struct people who = { 0 };
	uint64_t blocks = 0, time = 0, wall = 0, most = 0;
	uint32_t site = 0, thread = NO_INDEX;
	int error = 0;

	for (size_t i = 0; i < m->nthreads && !error; i++) {
		const struct churning *churning = &m->threads[i].churning;
		uint64_t spent = churning->time > 0 ? churning->time : 0, own = spent ? own_time(r, i) : 0;

		if (own < spent)
			own = spent;
		if (thread_is_left_out(m->d, i) || !own || spent * 100 < own * CHURN_PERCENT)
			continue;
		error = people_add(&who, i);
		blocks += churning->blocks;
		time += spent;
		wall += own;
		if (spent > most) {
			most = spent;
			site = churning->site;
			thread = i;
		}
	}
	if (!error && thread != NO_INDEX) {
		struct finding finding = { .kind = "churn",
					   .event = profile_event(r->profile, m->d, m->sites[site].probe),
					   .thread = thread,
					   .weight = time,
					   .section = "memory" };

		find_gain(m, r, &who, time, &finding);
		gain_text(r, &finding, "without them", "", gives, sizeof(gives));
		error = error
				?: report_add_finding(
					   r, &finding,
					   "%s: at least %.0f %% of the time goes into allocating and freeing blocks of at most %d bytes that live "
					   "less than 1 ms (%s), most of it at %s%s",
					   people_label(m->d, &who, label, sizeof(label)), percent(time, wall),
					   SMALL_BYTES, format_rate(rate, blocks * 1e9 * people_count(&who) / wall),
					   site_label(m->d, m->sites[site].site, where, sizeof(where)), gives);
	}
	people_free(&who);
	return error;
}

int memory_end(void *state, struct report *r)
{
	struct memory *m = state;
	int error;

	if (!m->nheaps)
		return 0;
	m->end = m->d->run.end > r->end ? m->d->run.end : r->end;
	memory_pass_time(m, m->end);
	for (size_t i = 0; i < m->nheaps; i++)
		for (unsigned k = m->slot; k < SLOTS; k++)
			m->heaps[i].sample[k] = m->heaps[i].live;
	error = find_processes(m);
	if (!error)
		error = look_at_what_is_missing(m);
	for (size_t i = 0; i < m->nheaps && !error; i++)
		look_at_heap(m, &m->heaps[i]);
	if (!error)
		error = look_at_sites(m);
	if (!error)
		error = sort_heaps(m);
	if (!error)
		error = sort_sites(m);
	if (!error)
		error = find_leaks(m, r);
	return error ? error : find_churn(m, r);
}
