/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * values.h - runs a probe's capture program (struct gb_probe in gaspbpf/wire.h): the words that a call carries.
 */
#ifndef GASPBPF_VALUES_H
#define GASPBPF_VALUES_H

#include "frames.h"

/* The payload of a gfortran array descriptor: elem_len x product of the extents (libgfortran.h, GCC 8 and later). Not
 * static, so that the verifier looks at it once. */
__noinline int decode_gfc_bytes(__u64 descriptor, __u64 *result)
{
	struct {
		__u64 base, offset, elem_len;
		__u32 version;
		__s8 rank, type;
		__s16 attribute;
		__u64 span;
	} head;
	struct {
		__s64 stride, lower, upper;
	} dim;
	__u64 bytes;

	if (!result)
		return -1;
	if (bpf_probe_read_user(&head, sizeof(head), (void *)descriptor))
		return -1;
	if (head.rank < 0 || head.rank > 15)
		return -1;
	bytes = head.elem_len;
	for (int i = 0; i < 15; i++) {
		if (i >= head.rank)
			break;
		if (bpf_probe_read_user(&dim, sizeof(dim), (void *)(descriptor + 40 + i * 24)))
			return -1;
		bytes *= dim.upper >= dim.lower ? dim.upper - dim.lower + 1 : 0;
	}
	*result = bytes;
	return 0;
}

/* The bytes of a word that are not its own, by enum gb_width. */
static __always_inline __u32 bytes_above(__u32 width)
{
	return 0x00040607u >> ((width - 1) >> 1 & 3) * 8 & 7;
}

static __always_inline __u64 extend(__u64 word, __u32 width)
{
	__u32 above = bytes_above(width) * 8;

	word <<= above;
	return width & 1 ? word >> above : (__u64)((__s64)word >> above);
}

static __always_inline int read_one(__u64 address, __u32 width, __u64 *word)
{
	__u64 raw = 0;
	long err = bpf_probe_read_user(&raw, 8 - bytes_above(width), (void *)address);

	*word = extend(raw, width);
	return err;
}

/*
 * What was read last of the target's memory. A read costs a tenth to a quarter of a microsecond, and for 64 bytes
 * hardly more than for eight; and what a call carries often lies together: arguments on the stack, members of one
 * struct. Never across the end of a page: what lies there may be not mapped, or no memory at all.
 */
#define PAGE 4096

static __always_inline int read_word(struct window *w, __u64 address, __u32 width, __u64 *word)
{
	__u64 distance = address - w->start;

	if (address < PAGE)
		return -1; /* NULL, and what stands for "ignore": trying would cost a page fault, a microsecond */
	if (!w->start || distance > sizeof(w->words) - 8) {
		if (address % PAGE > PAGE - sizeof(w->words))
			return read_one(address, width, word);
		w->start = 0;
		if (bpf_probe_read_user(w->words, sizeof(w->words), (void *)address))
			return -1;
		w->start = address;
		distance = 0;
	}
	barrier_var(distance);
	if (distance > sizeof(w->words) - 8)
		return -1; /* never; but the verifier wants it of this very register */
	*word = extend(*(__u64 *)((char *)w->words + distance), width);
	return 0;
}

/* What user space knows of events that programs announce. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gb_event_place);
	__type(value, struct gb_texts);
} texts SEC(".maps");

/* A text into slots; unread where it cannot be read, or does not fit. */
static __noinline int read_text(struct frame *f, __u64 address, __u32 slot)
{
	long err = -1;

	if (!f || slot > GB_SLOTS - GB_TEXT_WORDS)
		return -1;
	barrier_var(slot);
	if (slot > GB_SLOTS - GB_TEXT_WORDS)
		return -1;
	__builtin_memset(&f->span.value[slot], 0, GB_TEXT_WORDS * 8);
	if (address >= PAGE)
		err = bpf_probe_read_user_str(&f->span.value[slot], GB_TEXT_WORDS * 8, (void *)address);
	if (err < 0) {
		f->span.unread |= 1U << slot;
		return -1;
	}
	f->span.unread &= ~(((1U << GB_TEXT_WORDS) - 1) << slot);
	return 0;
}

/* One of the texts of an announcement, at a place that does not change: the last slots. */
#define TEXT_SLOT(i) (GB_SLOTS - (GB_TEXTS - (i)) * GB_TEXTS_WORDS)

static __always_inline void announced_text(struct frame *f, const struct gb_texts *known, int i)
{
	__u32 from = known->text[i];
	__u64 address;
	long err = -1;

	__builtin_memset(&f->span.value[TEXT_SLOT(i)], 0, GB_TEXTS_WORDS * 8);
	if (from >= TEXT_SLOT(0))
		return;
	address = f->span.value[from];
	if (f->span.unread >> from & 1 || address < PAGE)
		err = -1;
	else if (known->raw >> i & 1)
		err = bpf_probe_read_user(&f->span.value[TEXT_SLOT(i)], 16, (void *)address);
	else
		err = bpf_probe_read_user_str(&f->span.value[TEXT_SLOT(i)], GB_TEXTS_WORDS * 8, (void *)address);
	if (err < 0)
		f->span.unread |= 1U << TEXT_SLOT(i);
}

/* The values of an announcement: as many words as its event has, and the texts. */
static __noinline int read_texts(struct frame *f, const struct gb_op *op)
{
	struct gb_event_place place = { 0 };
	struct gb_texts *known;
	__u32 source;

	if (!f || !op)
		return 0;
	source = op->source;
	if (source >= GB_SLOTS)
		return 0;
	place.pid = f->span.pid_tid >> 32;
	place.id = f->span.value[source];
	known = bpf_map_lookup_elem(&texts, &place);
	if (!known) {
		f->span.values = TEXT_SLOT(0);
		return 0;
	}
	f->span.values = known->slots;
	for (int i = 0; i < GB_TEXTS; i++)
		announced_text(f, known, i);
	return 0;
}

/* Neighbours on the stack in one go. */
static __noinline int read_stack(struct frame *f, const struct gb_op *op)
{
	__u32 slot, count;

	if (!f || !op)
		return 0;
	slot = op->slot;
	count = op->source;
	if (slot > GB_SLOTS - GB_STACK_WORDS || count > GB_STACK_WORDS)
		return 0;
	barrier_var(slot);
	barrier_var(count);
	if (slot > GB_SLOTS - GB_STACK_WORDS || count > GB_STACK_WORDS)
		return 0;
	if (bpf_probe_read_user(&f->span.value[slot], count * 8, (void *)(f->sp + op->offset)))
		f->span.unread |= ((1U << count) - 1) << slot;
	return 0;
}

/*
 * One step of a capture program. A slot that cannot be filled is marked as unread. Not static, so that the verifier
 * looks at it once and not once for each step that there may be, which took most of the time that loading took; a call
 * costs one to two nanoseconds.
 */
__noinline int run_op(struct thread_state *t, struct frame *f, const struct gb_op *op)
{
	__u64 word = 0, from;
	__u32 slot, source;
	int err = 0;

	if (!t || !f || !op)
		return 0;
	slot = op->slot;
	source = op->source;
	if (slot >= GB_SLOTS || source >= GB_SLOTS)
		return 0;
	from = f->span.value[source];
	if (op->kind == GB_OP_TEXT) {
		read_text(f, from, slot);
		return 0;
	}
	if (op->kind == GB_OP_TEXTS) {
		read_texts(f, op);
		return 0;
	}
	if (op->kind == GB_OP_STACK_WORDS) {
		read_stack(f, op);
		return 0;
	}
	switch (op->kind) {
	case GB_OP_STACK:
		err = read_word(&t->window, f->sp + op->offset, op->width, &word);
		break;
	case GB_OP_COPY:
		word = extend(from, op->width);
		err = f->span.unread >> source & 1;
		break;
	case GB_OP_LOAD:
		err = f->span.unread >> source & 1 ? -1 : read_word(&t->window, from + op->offset, op->width, &word);
		break;
	case GB_OP_RESULT:
		word = extend(t->result, op->width);
		break;
	case GB_OP_RESULT2:
		word = extend(t->result2, op->width);
		break;
	case GB_OP_DECODE:
		err = op->offset == GB_DECODE_GFC_BYTES ? decode_gfc_bytes(from, &word) : -1;
		break;
	}
	f->span.value[slot] = word;
	if (err)
		f->span.unread |= 1U << slot;
	else
		f->span.unread &= ~(1U << slot);
	return 0;
}

/* The steps of a capture program for the call, or for the return: what that gave is in t->result and t->result2. */
__noinline int run_ops(struct thread_state *t, struct frame *f, const struct gb_probe *p, bool at_return)
{
	__u32 first, count;

	if (!t || !f || !p)
		return 0;
	first = at_return ? p->entry_ops : 0;
	count = at_return ? p->return_ops : p->entry_ops;
	t->window.start = 0;
	for (__u32 i = 0; i < GB_OPS && i < count; i++)
		run_op(t, f, &p->ops[(first + i) & (GB_OPS - 1)]);
	return 0;
}

#endif
