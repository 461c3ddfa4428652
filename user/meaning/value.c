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

int64_t word_extend(uint64_t word, uint8_t width)
{
	switch (width) {
	case GB_U8:
		return (uint8_t)word;
	case GB_S8:
		return (int8_t)word;
	case GB_U16:
		return (uint16_t)word;
	case GB_S16:
		return (int16_t)word;
	case GB_U32:
		return (uint32_t)word;
	case GB_S32:
		return (int32_t)word;
	default:
		return (int64_t)word;
	}
}

static uint64_t bits(uint64_t word, unsigned low, unsigned count)
{
	word >>= low & 63;
	return count < 64 ? word & ((UINT64_C(1) << count) - 1) : word;
}

/* Is there such a word, and was it read? */
static bool is_sent(unsigned slot, unsigned nwords, uint32_t unread)
{
	return slot < nwords && slot < GB_SLOTS && !(unread >> slot & 1);
}

static bool is_null(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread)
{
	if (!v->has_null)
		return false;
	if (!is_sent(v->null_slot, nwords, unread))
		return true;
	return word_extend(words[v->null_slot], v->null_slot == v->slot ? v->width : GB_U64) == v->null;
}

/* Is there anything, as the word says on which it depends? */
static bool is_there(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread)
{
	return !v->has_least || (is_sent(v->least_slot, nwords, unread) &&
				 word_extend(words[v->least_slot], v->least_width) >= v->least);
}

struct value_reading value_read(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread,
				bool returned)
{
	struct value_reading r = { .known = false };
	uint64_t word;

	if (v->unobservable || (v->at_return && !returned))
		return r;
	if (v->constant) {
		r.known = true;
		r.number = v->number;
		r.raw = (uint64_t)v->number;
		return r;
	}
	if (!is_sent(v->slot, nwords, unread) || is_null(v, words, nwords, unread) ||
	    !is_there(v, words, nwords, unread))
		return r;
	if (v->has_high && !is_sent(v->high_slot, nwords, unread))
		return r;
	r.number = word_extend(words[v->slot], v->width);
	word = (uint64_t)r.number;
	if (v->valid_count && bits(word, v->valid_low, v->valid_count) != v->valid_equals)
		return (struct value_reading){ .known = false };
	r.known = true;
	r.raw = word;
	if (v->bits_count)
		r.number = (int64_t)bits(word, v->bits_low, v->bits_count);
	r.number = (int64_t)((uint64_t)r.number + (uint64_t)v->number);
	if (v->has_high)
		r.high = words[v->high_slot];
	r.has_high = v->has_high;
	if (v->decoder)
		value_decode_shared(v, &r);
	r.none = v->has_none && r.number == v->none;
	return r;
}

const char *value_text(const struct value *v, const uint64_t *words, unsigned nwords, uint32_t unread, bool returned)
{
	const char *text;

	if (v->form != FORM_TEXT || v->unobservable || (v->at_return && !returned) ||
	    !is_sent(v->slot, nwords, unread) || v->element > nwords || v->slot + v->element > nwords)
		return NULL;
	text = (const char *)&words[v->slot];
	return memchr(text, '\0', v->element * sizeof(*words)) ? text : NULL;
}

void value_prepare(struct prepared_value *p, const struct value *v)
{
	static const uint8_t shifts[] = {
		[GB_U8] = 56, [GB_S8] = 56, [GB_U16] = 48, [GB_S16] = 48, [GB_U32] = 32, [GB_S32] = 32, [GB_U64] = 0,
	};

	*p = (struct prepared_value){
		.value = v,
		.element = v->element,
		.slot = v->slot,
		.null_slot = SLOT_NOWHERE,
		.at_return = v->at_return,
		.shift = v->width < sizeof(shifts) ? shifts[v->width] : 0,
		.is_signed = v->width == GB_S8 || v->width == GB_S16 || v->width == GB_S32,
	};
	if (v->has_null) {
		p->null_slot = v->null_slot;
		p->null = v->null;
		p->null_whole = v->null_slot != v->slot;
	}
	p->plain = v->form != FORM_TEXT && v->form != FORM_REAL && !v->unobservable && !v->constant &&
		   !v->valid_count && !v->bits_count && !v->number && !v->decoder && !v->has_none && !v->has_least;
}

bool prepared_number(const struct prepared_value *v, const struct sent_words *sent, int64_t *number)
{
	struct value_reading r;

	if (v->plain)
		return prepared_read(v, sent, number);
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

void value_free(struct value *v)
{
	free(v->name);
	free(v->decoder);
	memset(v, 0, sizeof(*v));
}
