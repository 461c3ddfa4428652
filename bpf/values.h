/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * values.h - runs a probe's capture program (gaspbpf/words.h): the words that a call carries. Here is how the kernel
 * side reads the target's memory; what the steps do is in gaspbpf/read_words.h.
 */
#ifndef GASPBPF_VALUES_H
#define GASPBPF_VALUES_H

#include "frames.h"
#include "gaspbpf/read_words.h"

static long gb_memory_read(struct gb_memory *m, void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (void *)address);
}

static long gb_memory_text(struct gb_memory *m, void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user_str(to, size, (void *)address);
}

static __always_inline int read_one(__u64 address, __u32 width, __u64 *word)
{
	__u64 raw = 0;
	long err = bpf_probe_read_user(&raw, gb_bytes_of(width), (void *)address);

	*word = gb_word_extend(raw, width);
	return err;
}

/*
 * What was read last of the target's memory. A read costs a tenth to a quarter of a microsecond, and for 64 bytes
 * hardly more than for eight; and what a call carries often lies together: arguments on the stack, members of one
 * struct. Never across the end of a page: what lies there may be not mapped, or no memory at all.
 */
static __always_inline int gb_memory_word(struct gb_memory *m, __u64 address, __u32 width, __u64 *word)
{
	__u64 distance = address - m->start;

	if (!m->start || distance > sizeof(m->words) - 8) {
		if (address % GB_PAGE > GB_PAGE - sizeof(m->words))
			return read_one(address, width, word);
		m->start = 0;
		if (bpf_probe_read_user(m->words, sizeof(m->words), (void *)address))
			return -1;
		m->start = address;
		distance = 0;
	}
	barrier_var(distance);
	if (distance > sizeof(m->words) - 8)
		return -1; /* never; but the verifier wants it of this very register */
	*word = gb_word_extend(*(__u64 *)((char *)m->words + distance), width);
	return 0;
}

/* What user space knows of events that programs announce. */
HASH(texts, PROCESSES_MOST, struct gb_event_place, struct gb_texts);

static const struct gb_texts *gb_memory_texts(struct gb_memory *m, const struct gb_event_place *place)
{
	return bpf_map_lookup_elem(&texts, place);
}

static __u64 gb_memory_folder(struct gb_memory *m)
{
	const struct inode *inode = bpf_get_current_task_btf()->fs->pwd.dentry->d_inode;

	return gb_folder_id(inode->i_sb->s_dev, inode->i_ino);
}

/* Not static, so that the verifier looks at it once. */
__noinline int decode_gfc_bytes(__u64 descriptor, __u64 *result)
{
	return gb_gfc_bytes(0, descriptor, result);
}

static int gb_memory_gfc_bytes(struct gb_memory *m, __u64 descriptor, __u64 *bytes)
{
	return decode_gfc_bytes(descriptor, bytes);
}

/*
 * One step of a capture program. Not static, so that the verifier looks at it once and not once for each step that
 * there may be, which took most of the time that loading took; a call costs one to two nanoseconds.
 */
__noinline int run_op(struct thread_state *t, struct frame *f, const struct gb_op *op)
{
	if (!t || !f || !op)
		return 0;

	struct gb_call call = {
		.span = &f->span, .sp = &f->sp, .result = &t->result, .result2 = &t->result2, .memory = &t->window
	};

	gb_run_step(&call, op);
	return 0;
}

/* The steps of a capture program for the call, or for the return: what that gave is in t->result and t->result2. */
__noinline int run_ops(struct thread_state *t, struct frame *f, const struct gb_probe *p, bool at_return)
{
	__u32 first, count;

	if (!t || !f || !p)
		return 0;
	first = gb_first_step(p, at_return);
	count = gb_count_steps(p, at_return);
	t->window.start = 0;
	for (__u32 i = 0; i < GB_OPS && i < count; i++)
		run_op(t, f, &p->ops[(first + i) & (GB_OPS - 1)]);
	return 0;
}

#endif
