/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decoder.c - data layouts that the model language cannot say: pointers-to-shared.
 *
 * A pointer-to-shared of UPC is a thread, a phase and an address in that thread's memory. Runtimes pack the three into
 * 64 bits or pass a struct of 16 bytes, each with the address first or last; how many bits each part has was chosen
 * when the runtime was built. So a decoder is named after the layout, and of a packed one the bits of phase and thread
 * may follow its name: "upc_packed 16 16".
 *
 * What comes out is the same for all: thread, phase, address, and a number by which pointers can be told apart.
 */
#include <stdio.h>
#include <string.h>

#include "meaning/decoder.h"

#define PHASE_BITS 20 /* as GNU UPC and Berkeley UPC are configured where nobody says otherwise */
#define THREAD_BITS 10
#define OFFSET_BITS                                                                                       \
	48 /* of the address that goes into the number of a 16-byte pointer: below that, addresses differ \
	    */

static const struct layout_decoder decoders[] = {
	{ "gfc_bytes", GB_DECODE_GFC_BYTES, 1, false, false },
	{ "upc_packed", 0, 1, true, true },
	{ "upc_packed_last", 0, 1, true, false },
	{ "upc_struct", 0, 2, false, true },
	{ "upc_struct_last", 0, 2, false, false },
};
#define DECODERS (sizeof(decoders) / sizeof(*decoders))

const struct layout_decoder *layout_decoders(size_t *count)
{
	*count = DECODERS;
	return decoders;
}

/* *rest: what follows the name. NULL: there is no such layout. */
static const struct layout_decoder *find(const char *text, const char **rest)
{
	size_t length = strcspn(text, " ");

	*rest = text + length;
	for (size_t i = 0; i < DECODERS; i++)
		if (strlen(decoders[i].name) == length && !memcmp(decoders[i].name, text, length))
			return &decoders[i];
	return NULL;
}

unsigned decoder_words(const char *decoder)
{
	const char *rest;
	const struct layout_decoder *d = decoder ? find(decoder, &rest) : NULL;

	return d ? d->words : 0;
}

/* "16 12": the bits of phase and thread. Anything else (a recording is anybody's file) leaves them as they are. */
static void read_sizes(const char *text, unsigned *phase, unsigned *thread)
{
	unsigned sizes[2] = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		while (*text == ' ')
			text++;
		while (*text >= '0' && *text <= '9' && sizes[i] < 64)
			sizes[i] = sizes[i] * 10 + (*text++ - '0');
		if (!sizes[i])
			return;
	}
	if (sizes[0] + sizes[1] >= 64)
		return;
	*phase = sizes[0];
	*thread = sizes[1];
}

static uint64_t low_bits(uint64_t word, unsigned count)
{
	return word & ((UINT64_C(1) << count) - 1);
}

static void decode_packed(const struct layout_decoder *d, const char *sizes, struct value_reading *r)
{
	unsigned phase = PHASE_BITS, thread = THREAD_BITS, address;
	uint64_t word = (uint64_t)r->number;

	read_sizes(sizes, &phase, &thread);
	address = 64 - phase - thread;
	if (d->address_first) {
		r->address = word >> (phase + thread);
		r->thread = low_bits(word >> phase, thread);
		r->phase = low_bits(word, phase);
	} else {
		r->address = low_bits(word, address);
		r->thread = low_bits(word >> address, thread);
		r->phase = word >> (address + thread);
	}
}

/* { address, thread, phase } or { phase, thread, address }: 8, 4 and 4 bytes. */
static void decode_struct(const struct layout_decoder *d, struct value_reading *r)
{
	uint64_t low = (uint64_t)r->number;

	r->address = d->address_first ? low : r->high;
	r->thread = d->address_first ? (uint32_t)r->high : low >> 32;
	r->phase = d->address_first ? r->high >> 32 : (uint32_t)low;
	r->number = (int64_t)(low_bits(r->address, OFFSET_BITS) | r->thread << OFFSET_BITS);
}

void value_decode_shared(const struct value *v, struct value_reading *r)
{
	const char *rest;
	const struct layout_decoder *d = find(v->decoder, &rest);

	if (!d || d->kernel || (d->words > 1) != r->has_high)
		return;
	if (d->words > 1)
		decode_struct(d, r);
	else
		decode_packed(d, rest, r);
	r->decoded = true;
	if (v->meaning == MEANING_PEER || v->meaning == MEANING_ROOT)
		r->number = (int64_t)r->thread;
}

bool value_is_shared(const struct value *v)
{
	const char *rest;
	const struct layout_decoder *d = v->decoder ? find(v->decoder, &rest) : NULL;

	return d && !d->kernel;
}

void value_encode_shared(const char *decoder, uint64_t thread, uint64_t address, uint64_t words[2])
{
	unsigned phase = PHASE_BITS, threads = THREAD_BITS;
	const char *rest = "";
	const struct layout_decoder *d = decoder ? find(decoder, &rest) : NULL;

	words[1] = 0;
	if (!d || d->words > 1) {
		bool first = !d || d->address_first;

		words[!first] = address;
		words[first] = first ? (uint32_t)thread : thread << 32;
		return;
	}
	read_sizes(rest, &phase, &threads);
	if (d->address_first)
		words[0] = address << (phase + threads) | low_bits(thread, threads) << phase;
	else
		words[0] = low_bits(thread, threads) << (64 - phase - threads) |
			   low_bits(address, 64 - phase - threads);
}

bool decoder_with_bits(const char *decoder, const uint8_t bits[SHARED_PARTS], char *text, size_t room)
{
	const char *rest;
	const struct layout_decoder *d = find(decoder, &rest);

	if (!d || !d->sized || *rest || !bits[0])
		return false;
	return snprintf(text, room, "%s %u %u", d->name, bits[d->address_first ? 2 : 0], bits[1]) < (int)room;
}

bool value_rank_bits(const struct value *v, unsigned *word, uint8_t *low, uint8_t *count)
{
	unsigned phase = PHASE_BITS, thread = THREAD_BITS;
	const struct layout_decoder *d;
	const char *rest;

	d = v->decoder ? find(v->decoder, &rest) : NULL;
	if (!d || d->kernel)
		return false;
	*word = d->words > 1 && d->address_first;
	*count = 32;
	*low = d->address_first ? 0 : 32;
	if (d->words == 1) {
		read_sizes(rest, &phase, &thread);
		*count = thread;
		*low = d->address_first ? phase : 64 - phase - thread;
	}
	return true;
}
