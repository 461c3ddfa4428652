/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - who has how much memory, which grows, and where it comes from: heaps, block by block.
 *
 * A block begins where the call that gives it returns, and ends where the call that frees it begins: in between the
 * runtime may have given its address to another thread already. What changes a block's size ends the old one at its
 * beginning, for the same reason, and gives a new one at its end, maybe at the same address. If it fails, the old one
 * is still there.
 *
 * A heap is what the functions of one model give out in one process. Calls of a heap within calls of the same heap are
 * the runtime's own affair, and do not count. Where addresses have a thread in them, the space is one of all
 * ranks: several of them give or free the same block together, or one frees what another has allocated.
 *
 * Memory: 32 bytes to 85 for a block that is alive, so there is an end to it (BLOCKS_MOST).
 */
#include "analysis/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/text.h"

#define BLOCKS_MOST (4u << 20)
#define SITES_MOST (1u << 18)
#define HEAPS_MOST (1u << 14)
#define FIRST_WIDTH 1000000 /* ns, where the length of the run is not known */
#define FLOOR_OFF 4         /* a calibration is off by no more than one part in so many ... */
#define FLOOR_OFF_NS 50     /* ... and this */
#define LONGEST_NS 10000
#define NO_SITE 0x80000000u /* index_key() of a probe's calls whose site is not known */

/* --- time ------------------------------------------------------------------ */

unsigned memory_slot_of(const struct memory *m, uint64_t time)
{
	uint64_t slot = time > m->origin ? (time - m->origin) / m->width : 0;

	return slot < SLOTS ? slot : SLOTS - 1;
}

static void fold_counts(uint32_t counts[SLOTS])
{
	for (unsigned k = 0; k < SLOTS; k++)
		counts[k] = k < SLOTS / 2 ? counts[2 * k] + counts[2 * k + 1] : 0;
}

/* Two slots become one. */
static void fold(struct memory *m)
{
	for (size_t i = 0; i < m->nheaps; i++) {
		for (unsigned k = 0; k < SLOTS; k++)
			m->heaps[i].sample[k] = k < SLOTS / 2 ? m->heaps[i].sample[2 * k + 1] : 0;
		m->heaps[i].first /= 2;
		fold_counts(m->heaps[i].before);
	}
	for (size_t i = 0; i < m->nsites; i++)
		fold_counts(m->sites[i].born);
	m->width *= 2;
	m->slot /= 2;
}

void memory_pass_time(struct memory *m, uint64_t time)
{
	unsigned slot;

	if (time < m->slot_end)
		return;
	if (!m->width) {
		uint64_t start = m->d->run.start, end = m->d->run.end;

		m->origin = start && start <= time ? start : time;
		m->width = end > m->origin ? (end - m->origin) / SLOTS + 1 : FIRST_WIDTH;
	}
	while ((time - m->origin) / m->width >= SLOTS) {
		for (size_t i = 0; i < m->nheaps; i++)
			for (unsigned k = m->slot; k < SLOTS; k++)
				m->heaps[i].sample[k] = m->heaps[i].live;
		m->slot = SLOTS - 1;
		fold(m);
	}
	slot = memory_slot_of(m, time);
	for (size_t i = 0; i < m->nheaps; i++)
		for (unsigned k = m->slot; k < slot; k++)
			m->heaps[i].sample[k] = m->heaps[i].live;
	m->slot = slot > m->slot ? slot : m->slot;
	m->slot_end = m->origin + (m->slot + 1) * m->width;
}

/* --- what there is ------------------------------------------------------------ */

static void prepare(struct prepared_value *prepared, const struct def_probe *def, enum meaning meaning, bool at_return)
{
	for (uint32_t i = 0; i < def->nvalues && !prepared->value; i++)
		if (def->values[i].meaning == meaning && def->values[i].at_return == at_return)
			value_prepare(prepared, &def->values[i]);
}

const struct memory_probe *memory_probe_of(struct memory *m, uint32_t index)
{
	const struct def_probe *def = &m->d->probes[index];
	struct memory_probe *probe;

	if (array_reach(&m->probes, &m->nprobes, m->d->nprobes, sizeof(*m->probes)))
		return NULL;
	probe = &m->probes[index];
	if (probe->ready)
		return probe;
	probe->payload = payload_plan_new(def->role, def->values, def->nvalues);
	if (!probe->payload)
		return NULL;
	prepare(&probe->given, def, MEANING_PTR, true);
	prepare(&probe->taken, def, MEANING_PTR, false);
	prepare(&probe->error, def, MEANING_ERROR, true);
	probe->shared = (probe->given.value && value_is_shared(probe->given.value)) ||
			(probe->taken.value && value_is_shared(probe->taken.value));
	while (probe->model < index && !same_text(m->d->probes[probe->model].model, def->model))
		probe->model++;
	probe->floor = def->floor_ns;
	probe->least = UINT64_MAX;
	probe->ready = true;
	return probe;
}

/* When the process becomes another program after this. */
static uint64_t next_program(const struct definitions *d, uint32_t process, uint64_t time)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < d->nwindows; i++)
		if (d->windows[i].process == process && same_text(d->windows[i].after, "exec") &&
		    d->windows[i].from > time && d->windows[i].from < next)
			next = d->windows[i].from;
	return next;
}

/* NO_INDEX: out of memory, or there are too many. */
static uint32_t heap_of(struct memory *m, const struct memory_probe *probe, const struct event *event)
{
	uint32_t process = probe->shared ? NO_INDEX : m->d->threads[event->span->thread].process;
	struct index_slot *slot;

	if (m->nheaps == HEAPS_MOST) {
		const struct index_slot *known = index_known(&m->by_process, index_key(process, probe->model));

		return known ? known->value : NO_INDEX;
	}
	slot = index_find(&m->by_process, index_key(process, probe->model));
	if (!slot)
		return NO_INDEX;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&m->heaps, &m->heaps_room, m->nheaps, sizeof(*m->heaps)))
			return NO_INDEX;
		m->heaps[m->nheaps] = (struct heap){ .process = process,
						     .probe = event->span->probe,
						     .since = event->time,
						     .first = m->slot,
						     .peak_time = event->time,
						     .executed = next_program(m->d, process, event->time) };
		slot->value = m->nheaps++;
	}
	return slot->value;
}

/* NO_INDEX: there are too many; or out of memory, which *error says. */
static uint32_t site_of(struct memory *m, uint32_t heap, const struct span *span, int *error)
{
	uint64_t key = index_key(heap, span->site == NO_INDEX ? NO_SITE | span->probe : span->site);
	struct index_slot *slot;

	if (m->nsites == SITES_MOST) {
		const struct index_slot *known = index_known(&m->by_site, key);

		return known ? known->value : NO_INDEX;
	}
	slot = index_find(&m->by_site, key);
	if (!slot) {
		*error = -ENOMEM;
		return NO_INDEX;
	}
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&m->sites, &m->sites_room, m->nsites, sizeof(*m->sites))) {
			*error = -ENOMEM;
			return NO_INDEX;
		}
		m->sites[m->nsites] = (struct memory_site){ .heap = heap, .site = span->site, .probe = span->probe };
		slot->value = m->nsites++;
	}
	return slot->value;
}

/* --- a block begins and ends ------------------------------------------------------ */

/* Its address as a key; 0: it is none. False: not known. */
static bool read_address(const struct prepared_value *v, const struct span *span, uint64_t *address)
{
	const struct sent_words sent = span_words(span);
	struct value_reading reading;
	int64_t number;

	if (!v->value)
		return false;
	if (v->plain) {
		if (!prepared_read(v, &sent, &number))
			return false;
		*address = (uint64_t)number;
		return true;
	}
	reading = value_read(v->value, sent.words, sent.nwords, sent.unread, sent.returned);
	if (!reading.known)
		return false;
	*address = reading.none      ? 0
		   : reading.decoded ? reading.raw ^ (reading.has_high ? reading.high << 1 : 0)
				     : (uint64_t)reading.number;
	return true;
}

static uint64_t duration_of(const struct span *span)
{
	return span->end > span->start ? span->end - span->start : 0;
}

static void end_block(struct memory *m, struct heap *heap, const struct block *block)
{
	struct memory_site *site = &m->sites[block->site];

	heap->live -= block->bytes;
	m->alive--;
	site->freed++;
	site->freed_bytes += block->bytes;
}

static int begin_block(struct memory *m, uint32_t heap_index, const struct event *event, uint64_t address)
{
	const struct span *span = event->span;
	const struct memory_probe *probe = &m->probes[span->probe];
	const struct sent_words sent = span_words(span);
	struct heap *heap = &m->heaps[heap_index];
	uint64_t took = duration_of(span);
	int64_t bytes = payload_read(probe->payload, &sent).bytes;
	int error = 0;
	uint32_t site = site_of(m, heap_index, span, &error);
	struct block *block;

	if (error)
		return error;
	if (site == NO_INDEX || m->alive >= BLOCKS_MOST) {
		heap->beyond++;
		return 0;
	}
	block = blocks_put(&heap->blocks, address);
	if (!block)
		return -ENOMEM;
	if (block->site != NO_INDEX) {
		if (probe->shared && block->born >= span->start)
			return 0; /* the same block, which several ranks have allocated together */
		heap->again++;
		end_block(m, heap, block);
	}
	heap->unsized += bytes < 0;
	if (bytes < 0)
		bytes = 0;
	if ((uint64_t)bytes > BLOCK_BYTES_MOST)
		bytes = BLOCK_BYTES_MOST;
	*block = (struct block){ .address = address,
				 .born = event->time,
				 .bytes = bytes,
				 .took = took < BLOCK_TOOK_MOST ? took : BLOCK_TOOK_MOST,
				 .site = site,
				 .thread = span->thread };
	m->alive++;
	heap->blocks_given++;
	heap->bytes_given += bytes;
	heap->live += bytes;
	if (heap->live > heap->peak) {
		heap->peak = heap->live;
		heap->peak_time = event->time;
	}
	m->sites[site].blocks++;
	m->sites[site].bytes += bytes;
	m->sites[site].took += took;
	m->sites[site].born[m->slot]++;
	return 0;
}

static void put_back(struct memory *m, struct heap *heap, const struct block *block)
{
	struct block *slot = blocks_put(&heap->blocks, block->address);

	if (!slot)
		return;
	if (slot->site != NO_INDEX)
		end_block(m, heap, slot);
	*slot = *block;
	m->alive++;
	heap->live += block->bytes;
	m->sites[block->site].freed--;
	m->sites[block->site].freed_bytes -= block->bytes;
	heap->blocks_freed--;
}

/* Another rank has freed it just now: all of them do so together. */
static bool freed_together(const struct heap *heap, uint64_t address)
{
	for (unsigned i = 0; i < FREED_KEPT; i++)
		if (heap->freed[i] == address)
			return true;
	return false;
}

/* True: it was one that is known. */
static bool take_block(struct memory *m, struct heap *heap, const struct memory_probe *probe, uint64_t address,
		       struct block *block)
{
	if (!blocks_take(&heap->blocks, address, block)) {
		if (probe->shared && freed_together(heap, address))
			return false;
		heap->from_before++;
		heap->before[m->slot]++;
		return false;
	}
	end_block(m, heap, block);
	heap->blocks_freed++;
	if (probe->shared) {
		heap->freed[heap->next_freed] = address;
		heap->next_freed = (heap->next_freed + 1) % FREED_KEPT;
	}
	return true;
}

/*
 * What a call took by itself, ns; less than 0 where it was faster than others. Allocators take some 20 ns, the probe
 * many times that, and what it adds differs from what was calibrated. So what the fastest call has taken is taken for
 * the probe's, unless that is far above the calibration. Nor is a call that takes very long the allocator's work: it
 * was descheduled.
 */
static int64_t own_part(struct memory_probe *probe, uint64_t duration)
{
	uint64_t most = probe->floor + probe->floor / FLOOR_OFF + FLOOR_OFF_NS, added;

	if (duration < probe->least)
		probe->least = duration;
	added = probe->least < probe->floor ? probe->floor : probe->least < most ? probe->least : most;
	return (int64_t)(duration < LONGEST_NS ? duration : LONGEST_NS) - (int64_t)added;
}

static void note_churn(struct memory *m, const struct block *block, const struct event *event)
{
	struct memory_site *site = &m->sites[block->site];
	struct churning *churning = &m->threads[block->thread].churning;
	int64_t time;

	if (block->bytes > SMALL_BYTES || block->thread != event->span->thread || event->time > block->born + SHORT_NS)
		return;
	time = own_part(&m->probes[site->probe], block->took) +
	       own_part(&m->probes[event->span->probe], duration_of(event->span));
	site->churned++;
	site->churned_bytes += block->bytes;
	site->churn += time;
	churning->blocks++;
	churning->time += time;
	if (site->churn > churning->most) {
		churning->most = site->churn;
		churning->site = block->site;
	}
}

/* What is used for a moment and given back says nothing of the blocks of the same place that are kept. */
static void note_soon(struct memory *m, const struct block *block)
{
	struct memory_site *site = &m->sites[block->site];
	unsigned born = memory_slot_of(m, block->born);

	if (m->slot > born + 1 || !site->born[born])
		return;
	site->born[born]--;
	site->soon++;
}

/* --- calls ------------------------------------------------------------------------- */

/* It has begun: a block may end here. */
static void call_begins(struct memory *m, struct open_call *call, const struct event *event)
{
	const struct memory_probe *probe = &m->probes[event->span->probe];
	enum role role = m->d->probes[event->span->probe].role;
	struct heap *heap = &m->heaps[call->heap];
	uint64_t address;

	if (role == ROLE_ALLOC)
		return;
	if (!probe->taken.value)
		return;
	if (!read_address(&probe->taken, event->span, &address)) {
		heap->unplaced++;
		return;
	}
	if (!address)
		return;
	call->had = take_block(m, heap, probe, address, &call->block);
	if (call->had && role == ROLE_FREE) {
		note_churn(m, &call->block, event);
		note_soon(m, &call->block);
	}
}

/* Does it say that it has failed? */
static bool has_failed(const struct memory_probe *probe, const struct span *span)
{
	const struct sent_words sent = span_words(span);
	int64_t error;

	return probe->error.value && prepared_number(&probe->error, &sent, &error) && error;
}

/* It is over: a block may begin here. */
static int call_ends(struct memory *m, const struct open_call *call, const struct event *event)
{
	const struct memory_probe *probe = &m->probes[event->span->probe];
	const struct span *span = event->span;
	const struct sent_words sent = span_words(span);
	struct heap *heap = &m->heaps[call->heap];
	bool known;
	uint64_t address;

	if (m->d->probes[span->probe].role == ROLE_FREE || !probe->given.value)
		return 0;
	if (has_failed(probe, span)) {
		heap->failed++;
		return 0;
	}
	known = read_address(&probe->given, span, &address);
	if (known && address)
		return begin_block(m, call->heap, event, address);
	if (known)
		heap->failed += payload_read(probe->payload, &sent).bytes != 0;
	else
		heap->unplaced++;
	/* A size of 0 frees it. */
	if (call->had && (known ? payload_read(probe->payload, &sent).bytes != 0
				: span->reason == GB_END_DETACH || span->reason == GB_END_EXIT))
		put_back(m, heap, &call->block);
	return 0;
}

static void change_program(struct memory *m, struct heap *heap, uint64_t time)
{
	for (size_t i = 0; heap->blocks.slots && i <= heap->blocks.mask; i++)
		if (heap->blocks.slots[i].address)
			end_block(m, heap, &heap->blocks.slots[i]);
	blocks_clear(&heap->blocks);
	heap->executed = next_program(m->d, heap->process, time);
}

static void tell_live(const struct memory *m, struct heap *heap, uint64_t time)
{
	if (!m->watch.level || heap->live == heap->told)
		return;
	heap->told = heap->live;
	m->watch.level(m->watch.context, LEVEL_MEMORY, heap->process, heap->probe, time, heap->live);
}

/* of: its heap; NO_INDEX: it is of none. */
static int take_event(struct memory *m, const struct definitions *d, const struct event *event, uint32_t *of)
{
	const struct memory_probe *probe = memory_probe_of(m, event->span->probe);
	struct memory_thread *thread;
	struct open_call *call = NULL, only;
	uint32_t heap;

	if (!probe || array_reach(&m->threads, &m->nthreads, d->nthreads, sizeof(*m->threads)))
		return -ENOMEM;
	if (!probe->given.value && !probe->taken.value)
		return 0; /* locks and the like: no memory of the program's */
	memory_pass_time(m, event->time);
	heap = heap_of(m, probe, event);
	if (heap == NO_INDEX)
		return m->nheaps == HEAPS_MOST ? 0 : -ENOMEM;
	*of = heap;
	m->heaps[heap].until = event->time;
	thread = &m->threads[event->span->thread];
	if (event->time >= m->heaps[heap].executed)
		change_program(m, &m->heaps[heap], event->time);
	for (unsigned i = 0; i < thread->nopen; i++) {
		if (thread->open[i].lane != event->lane)
			continue;
		if (thread->open[i].level == event->level && event->type == EVENT_END)
			call = &thread->open[i];
		else if (thread->open[i].level < event->level && thread->open[i].heap == heap)
			return 0; /* inside a call of the same heap */
	}
	if (event->type == EVENT_END) {
		if (!call)
			return 0;
		only = *call;
		*call = thread->open[--thread->nopen];
		return call_ends(m, &only, event);
	}
	only = (struct open_call){ .lane = event->lane, .level = event->level, .heap = heap };
	call_begins(m, &only, event);
	if (event->type == EVENT_ATOMIC)
		return call_ends(m, &only, event);
	if (thread->nopen < OPEN_MOST)
		thread->open[thread->nopen++] = only;
	else
		m->crowded++;
	return 0;
}

static int event(void *state, const struct definitions *d, const struct event *event)
{
	uint32_t heap = NO_INDEX;
	struct memory *m = state;
	int error = take_event(m, d, event, &heap);

	if (!error && heap != NO_INDEX)
		tell_live(m, &m->heaps[heap], event->time);
	return error;
}

static void watch(void *state, const struct report_watch *watch)
{
	((struct memory *)state)->watch = *watch;
}

static int gap(void *state, const struct definitions *d, const struct gap *gap)
{
	struct memory *m = state;
	uint32_t process = d->threads[gap->thread].process;

	if (process < d->nprocesses)
		m->gaps[process] += gap->count;
	return 0;
}

static int begin(void **state, const struct definitions *d)
{
	struct memory *m = calloc(1, sizeof(*m));

	*state = m;
	if (!m)
		return -ENOMEM;
	m->d = d;
	m->gaps = calloc(d->nprocesses + 1, sizeof(*m->gaps));
	return m->gaps ? 0 : -ENOMEM;
}

static void memory_free(void *state)
{
	struct memory *m = state;

	if (!m)
		return;
	for (size_t i = 0; i < m->nheaps; i++)
		blocks_clear(&m->heaps[i].blocks);
	for (size_t i = 0; i < m->nprobes; i++)
		payload_plan_free(m->probes[i].payload);
	free(m->heaps);
	free(m->by_process.slots);
	free(m->sites);
	free(m->by_site.slots);
	free(m->threads);
	free(m->probes);
	free(m->gaps);
	free(m->main);
	free(m->of_process);
	free(m->order);
	free(m->sorted);
	free(m->same);
	free(m);
}

const struct analysis analysis_memory = {
	.name = "memory",
	.title = "Memory",
	.of_calls = true,
	.roles = ROLE_BIT(ROLE_ALLOC) | ROLE_BIT(ROLE_REALLOC) | ROLE_BIT(ROLE_FREE),
	.begin = begin,
	.event = event,
	.gap = gap,
	.end = memory_end,
	.print = memory_print,
	.json = memory_json,
	.watch = watch,
	.free = memory_free,
};
