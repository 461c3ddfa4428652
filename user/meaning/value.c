/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * value.c - from the words of a span to numbers, and to what a call moved. Works
 * from `struct value` alone, so it reads old recordings as well as live spans.
 */
#include <stdlib.h>
#include <string.h>

#include "meaning/decoder.h"
#include "meaning/value.h"

#define NAME_MOST 8192 /* bytes of a name in a recording */
#define FIELDS_MOST 32768

/* How many of these bits a word has. */
static unsigned bits_of_word(unsigned low, unsigned count)
{
	return count < 64 - low ? count : 64 - low;
}

/* The value as a number that the kernel could read, too, where value_number() says so. */
static GB_INLINE struct gb_number number_of(const struct value *v)
{
	unsigned shift = 8 * gb_bytes_above(v->width), bits = bits_of_word(v->bits_low, v->bits_count),
		 valid = bits_of_word(v->valid_low, v->valid_count);
	/* `null` has 64 bits: of a handle that is narrower, and extended another way, it is none. */
	bool whole = v->null_slot != v->slot,
	     has_null = v->has_null && (whole || (int64_t)gb_word_extend(v->null, v->width) == v->null);

	return (struct gb_number){
		.slot = v->slot,
		.left = bits ? 64 - v->bits_low - bits : shift,
		.right = bits ? 64 - bits : shift,
		.flags = (!bits && gb_is_signed(v->width) ? GB_NUMBER_SIGNED : 0) |
			 (v->at_return ? GB_NUMBER_RETURN : 0) | (v->constant ? GB_NUMBER_CONSTANT : 0) |
			 (v->has_none ? GB_NUMBER_NONE : 0) | (has_null ? GB_NUMBER_NULL : 0) |
			 (v->has_least ? GB_NUMBER_LEAST : 0) | (v->valid_count ? GB_NUMBER_VALID : 0),
		.null_slot = v->null_slot,
		.null_left = whole ? 0 : shift,
		.least_slot = v->least_slot,
		.least_left = 8 * gb_bytes_above(v->least_width),
		.least_signed = gb_is_signed(v->least_width),
		.valid_left = 64 - v->valid_low - valid,
		.valid_right = 64 - valid,
		.element = v->element,
		.null = (uint64_t)v->null << (whole ? 0 : shift),
		.least = v->least,
		.valid_equals = v->valid_equals,
		.none = v->none,
		.add = v->number,
	};
}

/* Are all these bits the word's own? */
static bool bits_inside(const struct value *v, unsigned low, unsigned count)
{
	return !count || low + count <= 8 * gb_bytes_of(v->width);
}

struct gb_number value_number(const struct value *v)
{
	struct gb_number n = number_of(v);

	if (v->unobservable)
		n = (struct gb_number){ .slot = SLOT_NOWHERE, .element = v->element };
	else if (v->form == FORM_TEXT || v->decoder || v->has_high || !bits_inside(v, v->bits_low, v->bits_count) ||
		 !bits_inside(v, v->valid_low, v->valid_count))
		n.flags = GB_NUMBER_UNKNOWN;
	return n;
}

struct value_reading value_read(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread,
				bool returned)
{
	const struct gb_sent sent = { words, nwords, unread, returned };
	struct gb_number n;
	struct value_reading r = { .known = false };
	uint64_t word = 0, high = 0;

	if (v->unobservable || (v->at_return && !returned))
		return r;
	if (v->constant) {
		r.known = true;
		r.number = v->number;
		r.raw = (uint64_t)v->number;
		return r;
	}
	n = number_of(v);
	if (!gb_number_word(&n, &sent, &word) || (v->has_high && !gb_word_sent(&sent, v->high_slot, &high)))
		return r;
	word = gb_word_extend(word, v->width);
	if (!gb_number_valid(&n, word))
		return r;
	r.known = true;
	r.raw = word;
	r.number = (int64_t)gb_number_cut(&n, word);
	r.high = high;
	r.has_high = v->has_high;
	if (v->decoder)
		value_decode_shared(v, &r);
	r.none = v->has_none && r.number == v->none;
	return r;
}

const char *value_text(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread, bool returned)
{
	const struct gb_sent sent = { words, nwords, unread, returned };
	uint64_t first;
	const char *text;

	if (v->form != FORM_TEXT || v->unobservable || (v->at_return && !returned) ||
	    !gb_word_sent(&sent, v->slot, &first) || v->element > nwords || v->slot + v->element > nwords)
		return NULL;
	text = (const char *)&words[v->slot];
	return memchr(text, '\0', v->element * sizeof(*words)) ? text : NULL;
}

void value_prepare(struct prepared_value *p, const struct value *v)
{
	*p = (struct prepared_value){
		.value = v,
		.element = v->element,
		.slot = v->slot,
		.null_slot = SLOT_NOWHERE,
		.at_return = v->at_return,
		.shift = 8 * gb_bytes_above(v->width),
		.is_signed = gb_is_signed(v->width),
	};
	if (v->has_null) {
		p->null_slot = v->null_slot;
		p->null = v->null;
		p->null_whole = v->null_slot != v->slot;
	}
	p->nearly = v->form != FORM_TEXT && v->form != FORM_REAL && !v->unobservable && !v->has_high &&
		    !v->valid_count && !v->bits_count && (!v->number || v->constant) && !v->decoder;
	p->plain = p->nearly && !v->constant && !v->has_none && !v->has_least;
}

/* Is the other word that it asks for, as often in lists of some length, large enough? */
static bool is_at_least(const struct value *v, const struct sent_words *sent)
{
	unsigned above = 8 * gb_bytes_above(v->least_width);

	return was_sent(sent, v->least_slot) &&
	       (int64_t)gb_word_cut(sent->words[v->least_slot], above, above, gb_is_signed(v->least_width)) >= v->least;
}

/* prepared_number() of one that is nearly plain. */
static bool read_nearly(const struct prepared_value *p, const struct sent_words *sent, int64_t *number)
{
	const struct value *v = p->value;
	bool known;

	if (v->constant) {
		known = !v->at_return || sent->returned;
		*number = known ? v->number : 0;
		return known;
	}
	known = (!v->has_least || is_at_least(v, sent)) && prepared_read(p, sent, number);
	*number = known ? *number : 0;
	return known && !(v->has_none && *number == v->none);
}

bool prepared_number(const struct prepared_value *v, const struct sent_words *sent, int64_t *number)
{
	struct value_reading r;

	if (v->plain)
		return prepared_read(v, sent, number);
	if (v->nearly)
		return read_nearly(v, sent, number);
	r = value_read(v->value, sent->words, sent->nwords, sent->unread, sent->returned);
	*number = r.number;
	return r.known && !r.none;
}

/* Flags of an encoded value. */
enum { AT_RETURN = 1, UNOBSERVABLE = 2, CONSTANT = 4, HAS_NONE = 8, HAS_NULL = 16, HAS_LEAST = 32, HAS_HIGH = 64 };

static void encode_fields(struct buffer *b, const struct value *v)
{
	buffer_put_string(b, v->name);
	/* By name: the numbers of the enum may change between versions. */
	buffer_put_string(b, meaning_name(v->meaning));
	buffer_put_varint(b, v->side);
	buffer_put_varint(b, v->form);
	buffer_put_varint(b, (v->at_return ? AT_RETURN : 0) | (v->unobservable ? UNOBSERVABLE : 0) |
				     (v->constant ? CONSTANT : 0) | (v->has_none ? HAS_NONE : 0) |
				     (v->has_null ? HAS_NULL : 0) | (v->has_least ? HAS_LEAST : 0) |
				     (v->has_high ? HAS_HIGH : 0));
	buffer_put_varint(b, v->slot);
	buffer_put_varint(b, v->width);
	buffer_put_varint(b, v->element);
	buffer_put_signed(b, v->none);
	buffer_put_signed(b, v->number);
	buffer_put_varint(b, v->bits_low);
	buffer_put_varint(b, v->bits_count);
	buffer_put_varint(b, v->valid_low);
	buffer_put_varint(b, v->valid_count);
	buffer_put_varint(b, v->valid_equals);
	buffer_put_varint(b, v->null_slot);
	buffer_put_signed(b, v->null);
	buffer_put_string(b, v->decoder);
	if (v->has_least) {
		buffer_put_varint(b, v->least_slot);
		buffer_put_varint(b, v->least_width);
		buffer_put_signed(b, v->least);
	}
	if (v->has_high)
		buffer_put_varint(b, v->high_slot);
}

void value_encode(struct buffer *buffer, const struct value *v)
{
	struct buffer fields = { .data = NULL };

	encode_fields(&fields, v);
	buffer_put_varint(buffer, fields.size);
	if (fields.size)
		buffer_put(buffer, fields.data, fields.size);
	buffer->failed |= fields.failed;
	buffer_free(&fields);
}

/* A number of at most `most`; anything else spoils the cursor. */
static uint64_t bounded(struct cursor *c, uint64_t most)
{
	uint64_t number = cursor_varint(c);

	if (number > most)
		c->failed = true;
	return number <= most ? number : 0;
}

static void decode_fields(struct cursor *c, struct value *v)
{
	char *meaning;
	int known;
	unsigned flags;

	v->name = cursor_string(c, NAME_MOST);
	meaning = cursor_string(c, NAME_MOST);
	known = meaning_from_name(meaning);
	v->meaning = known < 0 ? MEANING_PLAIN : known; /* of a later version */
	free(meaning);
	v->side = bounded(c, SIDE_RECV);
	v->form = bounded(c, FORMS - 1);
	flags = bounded(c, 255);
	v->at_return = flags & AT_RETURN;
	v->unobservable = flags & UNOBSERVABLE;
	v->constant = flags & CONSTANT;
	v->has_none = flags & HAS_NONE;
	v->has_null = flags & HAS_NULL;
	v->has_high = flags & HAS_HIGH;
	v->slot = bounded(c, GB_SLOTS - 1);
	v->width = bounded(c, GB_U64);
	v->element = bounded(c, UINT32_MAX);
	v->none = cursor_signed(c);
	v->number = cursor_signed(c);
	v->bits_low = bounded(c, 63);
	v->bits_count = bounded(c, 64);
	v->valid_low = bounded(c, 63);
	v->valid_count = bounded(c, 64);
	v->valid_equals = cursor_varint(c);
	v->null_slot = bounded(c, GB_SLOTS - 1);
	v->null = cursor_signed(c);
	v->decoder = cursor_string(c, NAME_MOST);
	v->has_least = flags & HAS_LEAST;
	if (v->has_least) {
		v->least_slot = bounded(c, GB_SLOTS - 1);
		v->least_width = bounded(c, GB_U64);
		v->least = cursor_signed(c);
	}
	if (v->has_high)
		v->high_slot = bounded(c, GB_SLOTS - 1);
	if (!v->name)
		c->failed = true;
}

bool value_decode(struct cursor *cursor, struct value *v)
{
	uint64_t size = bounded(cursor, FIELDS_MOST);
	struct cursor fields = { .failed = true };
	const uint8_t *at = cursor->failed ? NULL : cursor_bytes(cursor, size);

	memset(v, 0, sizeof(*v));
	if (at) {
		fields = (struct cursor){ .at = at, .end = at + size };
		decode_fields(&fields, v);
	}
	if (!fields.failed)
		return true;
	cursor->failed = true;
	value_free(v);
	return false;
}

bool value_is_id(const struct value *v)
{
	const char *dot = v->name ? strrchr(v->name, '.') : NULL;

	return dot && !strcmp(dot, ".id");
}

void value_free(struct value *v)
{
	free(v->name);
	free(v->decoder);
	memset(v, 0, sizeof(*v));
}
