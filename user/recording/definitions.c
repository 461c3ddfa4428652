/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * definitions.c - what spans refer to: its kinds, as tables, and memory.
 *
 * Which member of which struct is which field in the file (fields.c) stands in the tables below (docs/recording.md has
 * the same numbers); numbers are never used again for something else.
 */
#include "recording/definitions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meaning/value.h"
#include "recording/chunk.h"

#define COUNT_BITS 56 /* of a number of calls: more are none, and sums of them cannot overflow */

#define RUN(n, t, member)                                      \
	{                                                      \
		n, FIELD_##t, offsetof(struct def_run, member) \
	}
#define LOSS(n, member)                                         \
	{                                                       \
		n, FIELD_U64, offsetof(struct def_loss, member) \
	}
#define PROCESS(n, t, member)                                      \
	{                                                          \
		n, FIELD_##t, offsetof(struct def_process, member) \
	}
#define THREAD(n, t, member)                                      \
	{                                                         \
		n, FIELD_##t, offsetof(struct def_thread, member) \
	}
#define IMAGE(n, t, member)                                      \
	{                                                        \
		n, FIELD_##t, offsetof(struct def_image, member) \
	}
#define PROBE(n, t, member)                                      \
	{                                                        \
		n, FIELD_##t, offsetof(struct def_probe, member) \
	}
#define SITE(n, t, member)                                      \
	{                                                       \
		n, FIELD_##t, offsetof(struct def_site, member) \
	}
#define SUM(n, t, member)                                      \
	{                                                      \
		n, FIELD_##t, offsetof(struct def_sum, member) \
	}
#define STEP(n, t, member)                                      \
	{                                                       \
		n, FIELD_##t, offsetof(struct def_step, member) \
	}
#define TEXT(n, t, member)                                      \
	{                                                       \
		n, FIELD_##t, offsetof(struct def_text, member) \
	}
#define END                     \
	{                       \
		0, FIELD_END, 0 \
	}

const struct field run_fields[] = { RUN(1, U64, start),
				    RUN(2, U64, end),
				    RUN(3, U64, start_realtime),
				    RUN(4, U64, end_realtime),
				    RUN(5, STRING, command),
				    RUN(6, STRING, host),
				    RUN(7, STRING, kernel),
				    RUN(8, STRING, version),
				    RUN(9, STRING, rung),
				    RUN(10, BOOL, finished),
				    RUN(11, U32, cost_ns[0]),
				    RUN(12, U32, cost_ns[1]),
				    RUN(13, U32, cost_ns[2]),
				    RUN(14, U32, skipped_ns[0]),
				    RUN(15, U32, skipped_ns[1]),
				    RUN(16, U32, skipped_ns[2]),
				    RUN(17, U32, floor_ns[0]),
				    RUN(18, U32, floor_ns[1]),
				    RUN(19, U32, floor_ns[2]),
				    RUN(20, U32, budget),
				    RUN(21, U64, own_cpu),
				    RUN(22, STRING, reason),
				    RUN(23, U64, queues_until),
				    RUN(24, BOOL, only_sums),
				    RUN(25, STRING, boot),
				    RUN(26, U32, cpus),
				    END };

const struct field loss_fields[] = {
	LOSS(1, calls),     LOSS(2, delivered), LOSS(3, lost),    LOSS(4, no_memory), LOSS(5, no_entry),
	LOSS(6, unwritten), LOSS(7, summed),    LOSS(8, skipped), LOSS(9, near),      END
};

static const struct field process_fields[] = {
	PROCESS(1, U32, pid),        PROCESS(2, U32, parent),     PROCESS(3, STRING, command),
	PROCESS(4, STRING, name),    PROCESS(5, RANK, rank),      PROCESS(6, STRING, unit),
	PROCESS(7, U64, start),      PROCESS(8, U64, end),        PROCESS(9, S32, exit_code),
	PROCESS(10, BOOL, has_exit), PROCESS(11, RANK, ranks),    PROCESS(12, STRING, left_out),
	PROCESS(13, STRING, job),    PROCESS(14, BOOL, others),   PROCESS(15, U32, node),
	PROCESS(16, U32, quiet),     PROCESS(17, U64, quiet_run), END
};

static const struct field thread_fields[] = { THREAD(1, INDEX, process),
					      THREAD(2, U32, tid),
					      THREAD(3, STRING, name),
					      THREAD(4, U64, calls),
					      THREAD(5, U64, lost),
					      THREAD(6, BOOL, counted),
					      THREAD(7, U64, cost),
					      THREAD(8, U64, system),
					      THREAD(9, U64, observed),
					      THREAD(10, U64, run),
					      THREAD(11, U64, queued),
					      THREAD(12, BOOL, queue_known),
					      THREAD(13, U64, preempted),
					      THREAD(14, U32, cpus),
					      THREAD(15, U32, cpu),
					      THREAD(16, BOOL, all),
					      END };

static const struct field image_fields[] = { IMAGE(1, STRING, path), IMAGE(2, STRING, soname),
					     IMAGE(3, STRING, build_id), END };

static const struct field probe_fields[] = { PROBE(1, STRING, event),
					     PROBE(2, U32, number),
					     PROBE(3, STRING, model),
					     PROBE(4, ROLE, role),
					     PROBE(5, UNSIGNED, marks),
					     PROBE(6, STRING, symbol),
					     PROBE(7, STRING, aliases),
					     PROBE(8, STRING, prototype),
					     PROBE(9, STRING, op),
					     PROBE(10, INDEX, image),
					     PROBE(11, U64, offset),
					     PROBE(12, VALUES, values),
					     PROBE(13, U32, cost_ns),
					     PROBE(14, U32, floor_ns),
					     PROBE(15, U32, skipped_ns),
					     PROBE(16, ARGUMENTS, arguments),
					     PROBE(17, UNSIGNED, lists),
					     PROBE(18, U64, out_ns),
					     END };

static const struct field site_fields[] = { SITE(1, INDEX, process),
					    SITE(2, U64, address),
					    SITE(3, INDEX, image),
					    SITE(4, U64, offset),
					    SITE(5, BOOL, located),
					    SITE(6, STRING, function),
					    SITE(7, U64, function_offset),
					    SITE(8, STRING, file),
					    SITE(9, U32, line),
					    SITE(10, U32, column),
					    END };

static const struct field sum_fields[] = { SUM(1, INDEX, thread),
					   SUM(2, INDEX, probe),
					   SUM(3, U64, lost),
					   SUM(4, U64, summed),
					   SUM(5, U64, skipped),
					   SUM(6, U64, timed),
					   SUM(7, U64, total),
					   SUM(8, U64, min),
					   SUM(9, U64, max),
					   SUM(10, BUCKETS, bucket),
					   SUM(11, U64, sized),
					   SUM(12, U64, bytes),
					   END };

static const struct field step_fields[] = { STEP(1, U64, time),     STEP(2, INDEX, probe),
					    STEP(3, U32, level),    STEP(4, U32, every),
					    STEP(5, INDEX, thread), STEP(6, U32, share),
					    STEP(7, U32, node),     END };

static const struct field text_fields[] = { TEXT(1, INDEX, process), TEXT(2, U64, address), TEXT(3, U64, time),
					    TEXT(4, STRING, text), END };

#define KIND(type, entries, entry, most, fields)                                                       \
	{                                                                                              \
		type, offsetof(struct definitions, entries), offsetof(struct definitions, n##entries), \
			sizeof(struct entry), most, fields                                             \
	}

const struct kind kinds[KINDS] = {
	KIND(CHUNK_PROCESSES, processes, def_process, 1 << 20, process_fields),
	KIND(CHUNK_IMAGES, images, def_image, 1 << 20, image_fields),
	KIND(CHUNK_THREADS, threads, def_thread, 1 << 22, thread_fields),
	KIND(CHUNK_PROBES, probes, def_probe, 1 << 16, probe_fields),
	KIND(CHUNK_SITES, sites, def_site, 1 << 22, site_fields),
	KIND(CHUNK_SUMS, sums, def_sum, 1 << 22, sum_fields),
	KIND(CHUNK_STEPS, steps, def_step, 1 << 20, step_fields),
	KIND(CHUNK_UNSEEN, unseen, def_unseen, 1 << 12, unseen_fields),
	KIND(CHUNK_CONTROLS, controls, def_control, 1 << 20, control_fields),
	KIND(CHUNK_COMMS, comms, def_comm, 1 << 20, comm_fields),
	KIND(CHUNK_TEXTS, texts, def_text, 1 << 20, text_fields),
	KIND(CHUNK_WINDOWS, windows, def_window, 1 << 20, window_fields),
	KIND(CHUNK_CHAINS, chains, def_chain, 1 << 16, chain_fields),
	KIND(CHUNK_QUEUES, queues, def_queue, 1 << 20, queue_fields),
	KIND(CHUNK_NODES, nodes, def_node, 1 << 20, node_fields),
};

enum {
	KIND_PROCESS,
	KIND_IMAGE,
	KIND_THREAD,
	KIND_PROBE,
	KIND_SITE,
	KIND_SUM,
	KIND_STEP,
	KIND_UNSEEN,
	KIND_CONTROL,
	KIND_COMM,
	KIND_TEXT,
	KIND_WINDOW,
	KIND_CHAIN,
	KIND_QUEUE,
	KIND_NODE
};

#define ENTRIES_SAMPLED 200

/* --- memory ------------------------------------------------------------ */

size_t kind_count(const struct kind *kind, const struct definitions *d)
{
	size_t count;

	LOAD(d, kind->count, count);
	return count;
}

void *kind_entry(const struct kind *kind, const struct definitions *d, size_t index)
{
	char *array;

	LOAD(d, kind->array, array);
	return array ? array + index * kind->size : NULL;
}

/* The array's room is the next power of two, so that it need not be kept. */
uint32_t definitions_add(struct definitions *d, const struct kind *kind)
{
	size_t count = kind_count(kind, d), more;
	char *array;

	LOAD(d, kind->array, array);
	if (count >= kind->most)
		return NO_INDEX;
	if ((count & (count - 1)) == 0) {
		array = realloc(array, (count ? 2 * count : 1) * kind->size);
		if (!array)
			return NO_INDEX;
		STORE(d, kind->array, array);
	}
	memset(array + count * kind->size, 0, kind->size);
	more = count + 1;
	STORE(d, kind->count, more);
	return (uint32_t)count;
}

uint32_t definitions_add_process(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_PROCESS]);
}

uint32_t definitions_add_thread(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_THREAD]);
}

uint32_t definitions_add_image(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_IMAGE]);
}

uint32_t definitions_add_probe(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_PROBE]);
}

uint32_t definitions_add_site(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_SITE]);
}

uint32_t definitions_add_sum(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_SUM]);
}

uint32_t definitions_add_step(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_STEP]);
}

uint32_t definitions_add_control(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_CONTROL]);
}

uint32_t definitions_add_unseen(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_UNSEEN]);
}

uint32_t definitions_add_comm(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_COMM]);
}

uint32_t definitions_add_text(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_TEXT]);
}

uint32_t definitions_add_window(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_WINDOW]);
}

uint32_t definitions_add_chain(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_CHAIN]);
}

uint32_t definitions_add_queue(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_QUEUE]);
}

uint32_t definitions_add_node(struct definitions *d)
{
	return definitions_add(d, &kinds[KIND_NODE]);
}

bool probe_begins_described(const struct def_probe *probe)
{
	bool takes_handle = false, has_bytes = false;

	for (uint32_t i = 0; i < probe->nvalues; i++) {
		takes_handle |= probe->values[i].meaning == MEANING_REQUEST && !probe->values[i].at_return;
		has_bytes |= probe->values[i].meaning == MEANING_BYTES;
	}
	return probe->role == ROLE_FUNCTION && takes_handle && has_bytes;
}

const char *step_text(const struct def_step *step, char *text, size_t room)
{
	static const char *const texts[] = {
		[STEP_ALL] = "every call", [STEP_SUMMED] = "counts only", [STEP_OUT] = "out"
	};

	if (step->level == STEP_SAMPLED)
		snprintf(text, room, "1 call in %u", step->every);
	else
		snprintf(text, room, "%s", step->level <= STEP_OUT ? texts[step->level] : "?");
	return text;
}

void definitions_free(struct definitions *d)
{
	unsigned k;
	size_t i;

	entry_free(run_fields, &d->run);
	for (k = 0; k < KINDS; k++) {
		size_t count = kind_count(&kinds[k], d);

		for (i = 0; i < count; i++)
			entry_free(kinds[k].fields, kind_entry(&kinds[k], d, i));
		free(kind_entry(&kinds[k], d, 0));
	}
	*d = (struct definitions){ 0 };
}

/* What malloc() takes for a text. */
static uint64_t text_bytes(const char *text)
{
	return text ? (strlen(text) + 1 + sizeof(size_t) + 15) / 16 * 16 : 0;
}

/* Of one kind, from some of its entries. */
static uint64_t texts_bytes(const struct kind *kind, const struct definitions *d)
{
	size_t count = kind_count(kind, d), step = count / ENTRIES_SAMPLED + 1, sampled = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i += step, sampled++) {
		for (const struct field *field = kind->fields; field->type; field++) {
			const char *text;

			if (field->type != FIELD_STRING)
				continue;
			LOAD(kind_entry(kind, d, i), field->offset, text);
			bytes += text_bytes(text);
		}
	}
	return sampled ? bytes * count / sampled : 0;
}

uint64_t definitions_bytes(const struct definitions *d)
{
	uint64_t bytes = 0;

	for (unsigned k = 0; k < KINDS; k++)
		bytes += kind_count(&kinds[k], d) * kinds[k].size + texts_bytes(&kinds[k], d);
	return bytes;
}

/* --- checking ---------------------------------------------------------- */

static const char *check_probe(const struct def_probe *probe, const struct definitions *d)
{
	uint32_t i;

	if (probe->image >= d->nimages)
		return "a probe refers to no image";
	for (i = 0; i < probe->nvalues; i++)
		if (probe->values[i].slot >= GB_SLOTS || probe->values[i].null_slot >= GB_SLOTS)
			return "a value of a probe refers to no word";
	return arguments_check(probe);
}

static const char *check_sum(const struct def_sum *sum, const struct definitions *d)
{
	uint64_t all = sum->lost | sum->summed | sum->skipped | sum->timed | sum->sized;
	unsigned i;

	if (sum->thread >= d->nthreads)
		return "a sum refers to no thread";
	if (sum->probe >= d->nprobes)
		return "a sum refers to no probe";
	for (i = 0; i < GB_BUCKETS; i++)
		all |= sum->bucket[i];
	return all >> COUNT_BITS ? "a sum counts more calls than there can be" : NULL;
}

static const char *check_step(const struct def_step *step, const struct definitions *d)
{
	if (step->probe >= d->nprobes)
		return "a step refers to no probe";
	if (step->thread != NO_INDEX && step->thread >= d->nthreads)
		return "a step refers to no thread";
	return NULL;
}

const char *entry_check(const struct kind *kind, const struct definitions *d, const void *entry)
{
	const struct def_site *site = entry;

	switch (kind - kinds) {
	case KIND_THREAD:
		if (((const struct def_thread *)entry)->process >= d->nprocesses)
			return "a thread refers to no process";
		return NULL;
	case KIND_PROBE:
		return check_probe(entry, d);
	case KIND_SUM:
		return check_sum(entry, d);
	case KIND_STEP:
		return check_step(entry, d);
	case KIND_CONTROL:
		return control_check(entry, d);
	case KIND_UNSEEN:
		return unseen_check(entry);
	case KIND_WINDOW:
		return window_check(entry, d);
	case KIND_CHAIN:
		return chain_check(entry);
	case KIND_NODE:
		return node_check(entry, d);
	case KIND_QUEUE:
		return queue_check(entry, d);
	case KIND_COMM:
		return comm_check(entry, d);
	case KIND_TEXT:
		return ((const struct def_text *)entry)->process >= d->nprocesses ? "a text refers to no process"
										  : NULL;
	case KIND_SITE:
		if (site->process >= d->nprocesses)
			return "a call site refers to no process";
		if (site->image != NO_INDEX && site->image >= d->nimages)
			return "a call site refers to no image";
		return NULL;
	default:
		return NULL;
	}
}
