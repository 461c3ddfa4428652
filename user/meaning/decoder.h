/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decoder.h - data layouts that the model language cannot say: their names.
 */
#ifndef GASPBPF_MEANING_DECODER_H
#define GASPBPF_MEANING_DECODER_H

#include "meaning/value.h"

struct layout_decoder {
	const char *name;
	uint8_t kernel; /* enum gb_decoder; 0: in user space */
	uint8_t words;  /* of 8 bytes */
	bool sized;     /* bits of phase and thread may follow */
	bool address_first;
};

/* All that there are. */
const struct layout_decoder *layout_decoders(size_t *count);
/* The decoder with the bits of these parts, in the order in which they stand; false: it has none, or they are not
 * known. */
bool decoder_with_bits(const char *decoder, const uint8_t bits[SHARED_PARTS], char *text, size_t room);
/* What v->decoder makes of the word or words in *r. */
void value_decode_shared(const struct value *v, struct value_reading *r);

#endif
