/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_words.h - how a capture program (gaspbpf/words.h) is run: the words of one call, step by step.
 *
 * The kernel runs it at the call and at the return (bpf/values.h). User space runs it on calls that began before
 * anybody watched (user/meaning/fetch.c). Both run this very text, so a program means the same to both. What
 * differs is how memory is read: whoever includes this file defines struct gb_memory and the five functions below.
 *
 * A word that could not be read has its bit in `unread`, and is 0: what would be read at it cannot be read, either.
 */
#ifndef GASPBPF_READ_WORDS_H
#define GASPBPF_READ_WORDS_H

#include "gaspbpf/wire.h"

#define GB_PAGE 4096

/* Memory of the process that calls, as this side reads it. */
struct gb_memory;

/* These return less than 0 where anything cannot be read; then they leave zeros. */
static int gb_memory_word(struct gb_memory *memory, gb_u64 address, gb_u32 width, gb_u64 *word);
static long gb_memory_read(struct gb_memory *memory, void *to, gb_u32 size, gb_u64 address);
/* A text and zeros behind it; at most size - 1 bytes of it. All of these must be readable, and the one behind. */
static long gb_memory_text(struct gb_memory *memory, void *to, gb_u32 size, gb_u64 address);
/* gb_gfc_bytes(); the kernel side makes a function of its own of it. */
static int gb_memory_gfc_bytes(struct gb_memory *memory, gb_u64 descriptor, gb_u64 *bytes);
/* gb_folder_id() of the caller's working directory; 0: not known. */
static gb_u64 gb_memory_folder(struct gb_memory *memory);
/* What is known of an announced event; NULL: nothing. */
static const struct gb_texts *gb_memory_texts(struct gb_memory *memory, const struct gb_event_place *place);

/* A call whose words are read. The kernel side has these in several places. */
struct gb_call {
	struct gb_span *span;           /* value, unread, values, pid_tid */
	const gb_u64 *sp;               /* at the function's first instruction */
	const gb_u64 *result, *result2; /* of the return */
	struct gb_memory *memory;
};

/* The payload of a gfortran array descriptor: elem_len x product of the extents (libgfortran.h, GCC 8 and later). */
static GB_INLINE int gb_gfc_bytes(struct gb_memory *memory, gb_u64 descriptor, gb_u64 *result)
{
	struct {
		gb_u64 base, offset, elem_len;
		gb_u32 version;
		signed char rank, type;
		short attribute;
		gb_u64 span;
	} head;
	struct {
		gb_s64 stride, lower, upper;
	} dim;
	gb_u64 bytes;

	if (!result || gb_memory_read(memory, &head, sizeof(head), descriptor))
		return -1;
	if (head.rank < 0 || head.rank > 15)
		return -1;
	bytes = head.elem_len;
	for (int i = 0; i < 15; i++) {
		if (i >= head.rank)
			break;
		if (gb_memory_read(memory, &dim, sizeof(dim), descriptor + 40 + i * 24))
			return -1;
		bytes *= dim.upper >= dim.lower ? (gb_u64)dim.upper - dim.lower + 1 : 0;
	}
	*result = bytes;
	return 0;
}

/* The word at an address. What stands for "ignore" is no address, and to try NULL would cost a page fault. */
static GB_INLINE int gb_read_word(struct gb_memory *memory, gb_u64 address, gb_u32 width, gb_u64 *word)
{
	return address < GB_PAGE ? -1 : gb_memory_word(memory, address, width, word);
}

/* A text into slots; unread where it cannot be read. */
static GB_APART int gb_read_text(struct gb_memory *memory, struct gb_span *span, gb_u64 address, gb_u32 slot)
{
	long err = -1;

	if (slot > GB_SLOTS - GB_TEXT_WORDS)
		return -1;
	GB_CHECKED(slot);
	if (slot > GB_SLOTS - GB_TEXT_WORDS)
		return -1;
	__builtin_memset(&span->value[slot], 0, GB_TEXT_WORDS * 8);
	if (address >= GB_PAGE)
		err = gb_memory_text(memory, &span->value[slot], GB_TEXT_WORDS * 8, address);
	if (err < 0) {
		span->unread |= 1U << slot;
		return -1;
	}
	span->unread &= ~(((1U << GB_TEXT_WORDS) - 1) << slot);
	return 0;
}

/* Is it a path that the working directory is the beginning of? */
static GB_INLINE bool gb_is_in_folder(const struct gb_span *span, const struct gb_op *op, gb_u64 first)
{
	gb_u32 at = (gb_u32)op->offset - 1;

	if ((first & 0xff) == '/')
		return false;
	return !op->offset || (at < GB_SLOTS && (gb_s32)span->value[at] == GB_AT_FDCWD);
}

/* What a path says, into GB_PATH_WORDS words. */
static GB_INLINE long gb_take_path(struct gb_memory *memory, const struct gb_span *span, const struct gb_op *op,
				   gb_u64 address, gb_u64 *words)
{
	long err;

	__builtin_memset(words, 0, GB_PATH_WORDS * 8);
	err = address < GB_PAGE ? -1 : gb_memory_text(memory, words, GB_PATH_TEXT * 8, address);
	if (err >= 0 && gb_is_in_folder(span, op, words[0]))
		words[GB_PATH_TEXT] = gb_memory_folder(memory);
	return err;
}

/* A path into slots; unread where it cannot be read. */
static GB_APART int gb_read_path(struct gb_memory *memory, struct gb_span *span, gb_u64 address, const struct gb_op *op)
{
	gb_u32 slot = op->slot;

	if (slot > GB_SLOTS - GB_PATH_WORDS)
		return -1;
	GB_CHECKED(slot);
	if (slot > GB_SLOTS - GB_PATH_WORDS)
		return -1;
	if (gb_take_path(memory, span, op, address, &span->value[slot]) < 0) {
		span->unread |= 1U << slot;
		return -1;
	}
	span->unread &= ~(((1U << GB_PATH_WORDS) - 1) << slot);
	return 0;
}

/* Whoever changes a path while it is opened, the call may have been given the one or the other. */
static GB_APART int gb_read_path_again(struct gb_memory *memory, struct gb_span *span, gb_u64 address,
				       const struct gb_op *op)
{
	gb_u64 now[GB_PATH_WORDS], changed;
	gb_u32 slot = op->slot;

	if (slot > GB_SLOTS - GB_PATH_WORDS)
		return -1;
	GB_CHECKED(slot);
	if (slot > GB_SLOTS - GB_PATH_WORDS)
		return -1;
	changed = gb_take_path(memory, span, op, address, now) < 0;
	for (int i = 0; i < GB_PATH_TEXT; i++)
		changed |= now[i] ^ span->value[slot + i];
	if (changed)
		span->unread |= 1U << slot;
	if (now[GB_PATH_TEXT] != span->value[slot + GB_PATH_TEXT])
		span->value[slot + GB_PATH_TEXT] = 0; /* it has moved: nobody knows when */
	return 0;
}

/* One of the texts of an announcement, at a place that does not change: the last slots. */
#define GB_TEXT_SLOT(i) (GB_SLOTS - (GB_TEXTS - (i)) * GB_TEXTS_WORDS)

static GB_INLINE void gb_read_announced(struct gb_memory *memory, struct gb_span *span, const struct gb_texts *known,
					int i)
{
	gb_u32 from = known->text[i];
	gb_u64 address;
	long err = -1;

	__builtin_memset(&span->value[GB_TEXT_SLOT(i)], 0, GB_TEXTS_WORDS * 8);
	if (from >= GB_TEXT_SLOT(0))
		return;
	address = span->value[from];
	if (span->unread >> from & 1 || address < GB_PAGE)
		err = -1;
	else if (known->raw >> i & 1)
		err = gb_memory_read(memory, &span->value[GB_TEXT_SLOT(i)], 16, address);
	else
		err = gb_memory_text(memory, &span->value[GB_TEXT_SLOT(i)], GB_TEXTS_WORDS * 8, address);
	if (err < 0)
		span->unread |= 1U << GB_TEXT_SLOT(i);
}

/* The values of an announcement: as many words as its event has, and the texts. */
static GB_APART int gb_read_texts(struct gb_memory *memory, struct gb_span *span, const struct gb_op *op)
{
	struct gb_event_place place = { 0 };
	const struct gb_texts *known;
	gb_u32 source = op->source;

	if (source >= GB_SLOTS)
		return 0;
	place.pid = span->pid_tid >> 32;
	place.id = span->value[source];
	known = gb_memory_texts(memory, &place);
	if (!known) {
		span->values = GB_TEXT_SLOT(0);
		return 0;
	}
	span->values = known->slots;
	for (int i = 0; i < GB_TEXTS; i++)
		gb_read_announced(memory, span, known, i);
	return 0;
}

/* Neighbours on the stack in one go; no step before has filled their slots. */
static GB_APART int gb_read_stack(struct gb_memory *memory, struct gb_span *span, gb_u64 sp, const struct gb_op *op)
{
	gb_u32 slot = op->slot, count = op->source;

	if (slot > GB_SLOTS - GB_STACK_WORDS || count > GB_STACK_WORDS)
		return 0;
	GB_CHECKED(slot);
	GB_CHECKED(count);
	if (slot > GB_SLOTS - GB_STACK_WORDS || count > GB_STACK_WORDS)
		return 0;
	if (gb_memory_read(memory, &span->value[slot], count * 8, sp + op->offset))
		span->unread |= ((1U << count) - 1) << slot;
	return 0;
}

/* One that fills several slots. */
static GB_INLINE void gb_run_wide_step(const struct gb_call *call, const struct gb_op *op, gb_u64 from)
{
	switch (op->kind) {
	case GB_OP_TEXT:
		gb_read_text(call->memory, call->span, from, op->slot);
		break;
	case GB_OP_TEXTS:
		gb_read_texts(call->memory, call->span, op);
		break;
	case GB_OP_STACK_WORDS:
		gb_read_stack(call->memory, call->span, *call->sp, op);
		break;
	case GB_OP_PATH:
		gb_read_path(call->memory, call->span, from, op);
		break;
	case GB_OP_PATH_AGAIN:
		gb_read_path_again(call->memory, call->span, from, op);
		break;
	}
}

/* One step. */
static GB_INLINE void gb_run_step(const struct gb_call *call, const struct gb_op *op)
{
	struct gb_span *span = call->span;
	gb_u64 word = 0, from;
	gb_u32 slot = op->slot, source = op->source;
	int err = 0;

	if (slot >= GB_SLOTS || source >= GB_SLOTS)
		return;
	from = span->value[source];
	if (op->kind >= GB_OP_TEXT) {
		gb_run_wide_step(call, op, from);
		return;
	}
	switch (op->kind) {
	case GB_OP_STACK:
		err = gb_read_word(call->memory, *call->sp + op->offset, op->width, &word);
		break;
	case GB_OP_COPY:
		word = gb_word_extend(from, op->width);
		err = span->unread >> source & 1;
		break;
	case GB_OP_LOAD:
		err = span->unread >> source & 1 ? -1 : gb_read_word(call->memory, from + op->offset, op->width, &word);
		break;
	case GB_OP_RESULT:
		word = gb_word_extend(*call->result, op->width);
		break;
	case GB_OP_RESULT2:
		word = gb_word_extend(*call->result2, op->width);
		break;
	case GB_OP_DECODE:
		err = op->offset == GB_DECODE_GFC_BYTES ? gb_memory_gfc_bytes(call->memory, from, &word) : -1;
		break;
	}
	span->value[slot] = word;
	if (err)
		span->unread |= 1U << slot;
	else
		span->unread &= ~(1U << slot);
}

/* Where the steps for the call, or for the return, begin, and how many there are. */
static GB_INLINE gb_u32 gb_first_step(const struct gb_probe *p, bool at_return)
{
	return at_return ? p->entry_ops : 0;
}

static GB_INLINE gb_u32 gb_count_steps(const struct gb_probe *p, bool at_return)
{
	return at_return ? p->return_ops : p->entry_ops;
}

#endif
