/*
 * value.h - reading the values of a span: part of user/model's door, usable on
 * a recording, without any model at hand.
 */
#ifndef GASPBPF_VALUE_H
#define GASPBPF_VALUE_H

#include "model/model.h"
#include "util/buffer.h"

/*
 * What a recording stores of a value: every field, in a form that may grow (the
 * bytes begin with their length; a reader skips what it does not know).
 */
void value_encode(struct buffer *buffer, const struct value *v);
/* The inverse. Nothing is trusted: false where the bytes are bad, and then *v holds nothing to free. */
bool value_decode(struct cursor *cursor, struct value *v);
void value_free(struct value *v); /* what it holds, not v itself */

/* One fetched value, decoded. */
struct value_reading {
	bool known;          /* false: unread, invalid by its layout, null, or not returned */
	bool none;           /* known, and it says "not given" */
	int64_t number;      /* by form: signed, or the bits of an unsigned or pointer */
	bool decoded;        /* the three below come from a decoder */
	uint64_t thread, phase, address; /* upc_packed */
};

/* Reads value `v` of a span with these words. `returned`: the span ended by return. */
struct value_reading value_read(const struct value *v, const uint64_t *words, unsigned nwords,
				uint32_t unread, bool returned);

/* Payload of one call (docs/models.md, Payload). A field is -1 where it is unknown or does not apply. */
struct payload {
	int64_t bytes, sent, received;
};

/*
 * What a call of this role moved. bytes is @bytes or @count x element; `sent`
 * and `received` by side or role. A call with both sides has bytes = sent +
 * received; where one of the sides is unknown so is the sum.
 */
struct payload value_payload(enum role role, const struct value *values, size_t nvalues,
			     const uint64_t *words, unsigned nwords, uint32_t unread, bool returned);

#endif
