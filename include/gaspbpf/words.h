/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * words.h - the words that a call carries: how each gets into its slot, and how a number is read from one.
 *
 * A call has GB_SLOTS slots of 64 bits. Each probe has a capture program (struct gb_probe in gaspbpf/wire.h), whose
 * steps fill them; read_words.h is what runs it, in the kernel as in user space. What a word means is known in user
 * space alone (user/meaning), but for the few numbers that the kernel sums up itself: struct gb_number.
 */
#ifndef GASPBPF_WORDS_H
#define GASPBPF_WORDS_H

#include "gaspbpf/types.h"

#define GB_SLOTS 20 /* words that one call can carry */
#define GB_OPS 32   /* steps of one capture program; a power of two */

/* How one word gets into its slot. */
enum gb_op_kind {
	GB_OP_STACK = 1, /* word at [sp + offset]: an argument that the ABI passes on the stack */
	GB_OP_COPY,      /* slot = slot[source] */
	GB_OP_LOAD,      /* slot = what is at slot[source] + offset in the target's memory */
	GB_OP_RESULT,    /* slot = the returned integer or pointer; at return only */
	GB_OP_RESULT2,   /* slot = the second word of the result; at return only */
	GB_OP_DECODE,    /* slot = decoder number `offset`, applied to the pointer in slot[source] */
	/* These fill several slots each: */
	GB_OP_TEXT,  /* GB_TEXT_WORDS slots from this one = the text that slot[source] points to, cut where it is longer
		      */
	GB_OP_TEXTS, /* slot[source] is the number of an event: what struct gb_texts has of it */
	GB_OP_STACK_WORDS, /* `source` slots from this one = as many words at [sp + offset], as they are; see
			      GB_STACK_WORDS */
	GB_OP_PATH, /* GB_PATH_WORDS slots from this one = the path that slot[source] points to, cut where it is longer,
		       and in the last of them the folder that it is relative to; see gb_folder_id() */
	GB_OP_PATH_AGAIN, /* at return: where GB_OP_PATH would say now what it said at the call, it stays; else it is
			     unread */
};

/* Decoders of a data layout that must be read while the call is in progress. */
enum gb_decoder {
	GB_DECODE_GFC_BYTES = 1, /* gfortran array descriptor: bytes of payload */
};

/* Of GB_OP_STACK_WORDS: at most so many; and its slot is so far from the last one. */
#define GB_STACK_WORDS 8
#define GB_TEXT_WORDS 8 /* of GB_OP_TEXT */

/*
 * Of GB_OP_PATH and GB_OP_PATH_AGAIN: so many words, of which the last one is gb_folder_id() of the caller's working
 * directory. That is 0 where nothing is relative to it: the path begins with '/', or the descriptor in
 * slot[offset - 1] (offset 0: there is none) is another one than GB_AT_FDCWD.
 */
#define GB_PATH_WORDS 16
#define GB_PATH_TEXT (GB_PATH_WORDS - 1) /* those of the text */
#define GB_AT_FDCWD (-100)

/* A folder, by its file system (major << 20 | minor) and inode. Never 0. */
static GB_INLINE gb_u64 gb_folder_id(gb_u64 device, gb_u64 inode)
{
	return (inode * 0x9e3779b97f4a7c15ULL + device) | 1;
}

/*
 * What user space knows of an event that programs announce, by process and number: how many slots its values take, and
 * which of these are pointers to texts. The texts follow in slots from that of GB_OP_TEXTS on, GB_TEXTS_WORDS each, cut
 * where they are longer.
 */
#define GB_TEXTS 2
#define GB_TEXTS_WORDS 4
#define GB_NO_TEXT 255

struct gb_event_place {
	gb_u32 pid;
	gb_u32 id;
};

struct gb_texts {
	gb_u8 slots;
	gb_u8 text[GB_TEXTS]; /* slots; GB_NO_TEXT: none */
	gb_u8 raw;            /* bit i: not text[i], but 16 bytes that it points to */
};

/* Width of the word in the target's memory or register; narrower ones are extended to 64 bits. */
enum gb_width { GB_U8 = 1, GB_S8, GB_U16, GB_S16, GB_U32, GB_S32, GB_U64 };

struct gb_op {
	gb_u8 kind;   /* enum gb_op_kind */
	gb_u8 slot;   /* where the word goes */
	gb_u8 source; /* the slot it starts from */
	gb_u8 width;  /* enum gb_width */
	gb_s32 offset;
};

/* Does the step start from the word in slot[source]? */
static GB_INLINE bool gb_op_has_source(const struct gb_op *op)
{
	return op->kind == GB_OP_COPY || op->kind == GB_OP_LOAD || op->kind == GB_OP_DECODE || op->kind == GB_OP_TEXT ||
	       op->kind == GB_OP_TEXTS || op->kind == GB_OP_PATH || op->kind == GB_OP_PATH_AGAIN;
}

/* The slots that the step fills: bit i for slot i. */
static GB_INLINE gb_u32 gb_op_slots(const struct gb_op *op)
{
	gb_u32 count = op->kind == GB_OP_STACK_WORDS                            ? op->source
		       : op->kind == GB_OP_TEXT                                 ? GB_TEXT_WORDS
		       : op->kind == GB_OP_PATH || op->kind == GB_OP_PATH_AGAIN ? GB_PATH_WORDS
										: 1;

	if (op->kind == GB_OP_TEXTS)
		return ((1U << GB_TEXTS * GB_TEXTS_WORDS) - 1) << (GB_SLOTS - GB_TEXTS * GB_TEXTS_WORDS);
	if (op->slot + count > GB_SLOTS)
		return 0;
	return ((1U << count) - 1) << op->slot;
}

/* The bytes of 8 that are not the word's own. */
static GB_INLINE gb_u32 gb_bytes_above(gb_u32 width)
{
	return 0x00040607u >> ((width - 1) >> 1 & 3) * 8 & 7;
}

static GB_INLINE gb_u32 gb_bytes_of(gb_u32 width)
{
	return 8 - gb_bytes_above(width);
}

static GB_INLINE bool gb_is_signed(gb_u32 width)
{
	return !(width & 1);
}

/* The width of an integer of so many bytes. */
static GB_INLINE enum gb_width gb_width_of(gb_u64 bytes, bool is_signed)
{
	return bytes == 1   ? (is_signed ? GB_S8 : GB_U8)
	       : bytes == 2 ? (is_signed ? GB_S16 : GB_U16)
	       : bytes == 4 ? (is_signed ? GB_S32 : GB_U32)
			    : GB_U64;
}

/* Some bits of the word as a number: it is shifted to the left and then to the right. */
static GB_INLINE gb_u64 gb_word_cut(gb_u64 word, gb_u32 left, gb_u32 right, bool is_signed)
{
	word <<= left & 63;
	return is_signed ? (gb_u64)((gb_s64)word >> (right & 63)) : word >> (right & 63);
}

/* The word's own bytes as a number of 64 bits. */
static GB_INLINE gb_u64 gb_word_extend(gb_u64 word, gb_u32 width)
{
	gb_u32 above = gb_bytes_above(width) * 8;

	return gb_word_cut(word, above, above, gb_is_signed(width));
}

/* A number among the words of a call. */
struct gb_number {
	gb_u8 slot;
	gb_u8 left,
		right;   /* the word is shifted so far to the left and then to the right: what remains is the number */
	gb_u8 flags;     /* GB_NUMBER_* */
	gb_u8 null_slot; /* GB_NUMBER_NULL: where the word there, shifted to the left by null_left, is `null`, there is
			    nothing to read */
	gb_u8 null_left;
	gb_u8 least_slot; /* GB_NUMBER_LEAST: known only where the word there, shifted by least_left both ways, is at
			     least `least` */
	gb_u8 least_left, least_signed;
	gb_u8 valid_left, valid_right; /* GB_NUMBER_VALID: known only where the word, shifted so, is valid_equals */
	gb_u8 zero;
	gb_u32 element; /* bytes that one of what it counts has; 0: not said */
	gb_u64 null, least, valid_equals;
	gb_u64 none; /* GB_NUMBER_NONE: this number means "not given" */
	gb_u64 add;  /* to the number; GB_NUMBER_CONSTANT: it is the number */
};

#define GB_NUMBER_SIGNED 1
#define GB_NUMBER_RETURN 2 /* known only of a call that has returned */
#define GB_NUMBER_CONSTANT 4
#define GB_NUMBER_NULL 8
#define GB_NUMBER_NONE 16
#define GB_NUMBER_LEAST 32
#define GB_NUMBER_VALID 64
#define GB_NUMBER_UNKNOWN 128 /* only user space could tell: what would be asked after it is not, either */

/* The words of a call as they were sent. */
struct gb_sent {
	const gb_u64 *words; /* GB_SLOTS, of which `count` are sent */
	gb_u32 count, unread;
	bool returned;
};

/* The word in this slot; false: it was not sent, or could not be read. */
static GB_INLINE bool gb_word_sent(const struct gb_sent *sent, gb_u32 slot, gb_u64 *word)
{
	if (slot >= GB_SLOTS || slot >= sent->count || sent->unread >> slot & 1)
		return false;
	GB_CHECKED(slot);
	if (slot >= GB_SLOTS)
		return false;
	*word = sent->words[slot];
	return true;
}

/* The word that the number is in; false: there is nothing to read. */
static GB_INLINE bool gb_number_word(const struct gb_number *n, const struct gb_sent *sent, gb_u64 *word)
{
	gb_u64 other = 0;

	if (!gb_word_sent(sent, n->slot, word))
		return false;
	if (n->flags & GB_NUMBER_NULL &&
	    (!gb_word_sent(sent, n->null_slot, &other) || other << (n->null_left & 63) == n->null))
		return false;
	return !(n->flags & GB_NUMBER_LEAST) ||
	       (gb_word_sent(sent, n->least_slot, &other) &&
		(gb_s64)gb_word_cut(other, n->least_left, n->least_left, n->least_signed) >= (gb_s64)n->least);
}

/* Do the word's bits say that it is one? */
static GB_INLINE bool gb_number_valid(const struct gb_number *n, gb_u64 word)
{
	return !(n->flags & GB_NUMBER_VALID) ||
	       gb_word_cut(word, n->valid_left, n->valid_right, false) == n->valid_equals;
}

static GB_INLINE gb_u64 gb_number_cut(const struct gb_number *n, gb_u64 word)
{
	return gb_word_cut(word, n->left, n->right, n->flags & GB_NUMBER_SIGNED) + n->add;
}

/* 1: known, 0: unknown, -1: unknown, and what comes after it must not be asked. */
static GB_INLINE int gb_number_read(const struct gb_number *n, const struct gb_sent *sent, gb_u64 *number)
{
	gb_u64 word = 0;

	if (n->flags & GB_NUMBER_UNKNOWN)
		return -1;
	if (n->flags & GB_NUMBER_RETURN && !sent->returned)
		return 0;
	if (n->flags & GB_NUMBER_CONSTANT) {
		*number = n->add;
		return 1;
	}
	if (!gb_number_word(n, sent, &word) || !gb_number_valid(n, word))
		return 0;
	*number = gb_number_cut(n, word);
	return !(n->flags & GB_NUMBER_NONE && *number == n->none);
}

#endif
