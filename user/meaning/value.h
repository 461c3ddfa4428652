/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * value.h - reading the values of a span: part of user/meaning's door.
 */
#ifndef GASPBPF_VALUE_H
#define GASPBPF_VALUE_H

#include "meaning/meaning.h"
#include "util/buffer.h"

/*
 * The data layouts that are decoded in user space (decoder.c). words: how many of 8 bytes the decoder needs, 1 or 2. 0:
 * no such decoder.
 */
unsigned decoder_words(const char *decoder);

/*
 * What a recording stores of a value: every field, in a form that may grow (the
 * bytes begin with their length; a reader skips what it does not know).
 */
void value_encode(struct buffer *buffer, const struct value *v);
/* The inverse. Nothing is trusted: false where the bytes are bad, and then *v holds nothing to free. */
bool value_decode(struct cursor *cursor, struct value *v);
void value_free(struct value *v); /* what it holds, not v itself */

/* Of a handle: what is the same for it in all processes? The library's layout gives that, by this name. */
bool value_is_id(const struct value *v);

/* Is it to be shown? One without a name only serves the payload. */
static inline bool value_is_shown(const struct value *v)
{
	return v->name && *v->name;
}

/* Is it the number of an open file? */
static inline bool value_is_descriptor(const struct value *v)
{
	return (v->meaning == MEANING_FD || v->meaning == MEANING_CLOSED) && !v->unobservable;
}

/* One fetched value, decoded. */
struct value_reading {
	bool known;                      /* false: unread, invalid by its layout, null, or not returned */
	bool none;                       /* known, and it says "not given" */
	int64_t number;                  /* by form: signed, or the bits of an unsigned or pointer */
	uint64_t raw;                    /* the word as it came, extended */
	bool decoded;                    /* the three below come from a decoder */
	uint64_t thread, phase, address; /* of a pointer-to-shared */
	bool has_high;                   /* it has 16 bytes: `high` is its second word */
	uint64_t high;
};

/* Reads value `v` of a span with these words. `returned`: the span ended by return. */
struct value_reading value_read(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread,
				bool returned);

/* The value as the kernel reads numbers: GB_NUMBER_UNKNOWN where only value_read() can. */
struct gb_number value_number(const struct value *v);

/* Is it read by a decoder of pointers-to-shared? */
bool value_is_shared(const struct value *v);
/* The words of a pointer-to-shared with phase 0, as this decoder would read them. NULL: { address, thread, phase }. */
void value_encode_shared(const char *decoder, uint64_t thread, uint64_t address, uint64_t words[2]);

/* FORM_TEXT: the text in the span's words; NULL: unknown, or it has no end. */
const char *value_text(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread, bool returned);
/* In which of its words (0, 1), and in which bits of that, does a decoded value have the rank (MEANING_PEER)? false: in
 * none alone. */
bool value_rank_bits(const struct value *v, unsigned *word, uint8_t *low, uint8_t *count);

/* The words of one span, as value_read() takes them. */
struct sent_words {
	const uint64_t *words;
	unsigned nwords; /* at most GB_SLOTS */
	uint32_t unread;
	bool returned;
};

/*
 * A value prepared for being read from millions of spans: what all but a few odd values need stands here, in
 * half a cache line, so that reading one is a shift and an addition and calls nothing.
 */
struct prepared_value {
	const struct value *value; /* the whole of it, which must live as long */
	int64_t null;
	uint32_t element; /* as in struct value */
	uint8_t slot;
	uint8_t shift;     /* of the word's 64 bits the lowest 64 - shift count */
	uint8_t null_slot; /* where `null` stands for "nothing to read"; SLOT_NOWHERE: nowhere */
	bool is_signed : 1;
	bool null_whole : 1; /* all 64 bits of the word in null_slot count */
	bool at_return : 1;
	bool plain : 1; /* prepared_read() is all that it takes */
	/* The same, but for what `value` says: a constant, that one number stands for none, that another word must be
	 * large enough. Neither: only value_read() can read it. */
	bool nearly : 1;
};

void value_prepare(struct prepared_value *prepared, const struct value *v);

/* As prepared: the word's own bits, extended to 64. */
static inline int64_t prepared_extend(const struct prepared_value *v, uint64_t word)
{
	return (int64_t)gb_word_cut(word, v->shift, v->shift, v->is_signed);
}

/* Is there such a word, and was it read? */
static inline bool was_sent(const struct sent_words *sent, unsigned slot)
{
	return slot < sent->nwords && !(sent->unread >> slot & 1);
}

/* The number of a plain value; false: unknown. What value_read() says, but faster. */
static inline bool prepared_read(const struct prepared_value *v, const struct sent_words *sent, int64_t *number)
{
	if ((v->at_return && !sent->returned) || !was_sent(sent, v->slot))
		return false;
	if (v->null_slot != SLOT_NOWHERE) {
		if (!was_sent(sent, v->null_slot))
			return false;
		uint64_t word = sent->words[v->null_slot];

		if ((v->null_whole ? (int64_t)word : prepared_extend(v, word)) == v->null)
			return false;
	}
	*number = prepared_extend(v, sent->words[v->slot]);
	return true;
}

/* The number of any value; false: unknown, or not given. */
bool prepared_number(const struct prepared_value *v, const struct sent_words *sent, int64_t *number);

/* Payload of one call (docs/models.md). A field is -1 where it is unknown or does not apply. */
struct payload {
	int64_t bytes, sent, received;
};

/*
 * What a call of this role moved. bytes is @bytes or @count x element; `sent`
 * and `received` by side or role. A call with both sides has bytes = sent +
 * received; where one of the sides is unknown so is the sum.
 */
struct payload value_payload(enum role role, const struct value *values, size_t nvalues, const uint64_t *words,
			     unsigned nwords, uint32_t unread, bool returned);

/* The same for many calls of one probe: which values to look at, found once. The values must live as long. */
struct payload_plan;
struct payload_plan *payload_plan_new(enum role role, const struct value *values, size_t nvalues); /* NULL: no memory */
struct payload payload_read(const struct payload_plan *plan, const struct sent_words *sent);
void payload_plan_free(struct payload_plan *plan);
/* Which side all of a call's bytes are of; SIDE_NONE: of both, or it is not known. */
enum side payload_side(const struct payload_plan *plan);

/*
 * The same as a program for the kernel (gb_amounts in gaspbpf/wire.h), for calls that user space never sees. What only
 * user space could read makes the payload unknown.
 */
void payload_amounts(enum role role, const struct value *values, size_t nvalues, struct gb_amounts *amounts);

#endif
