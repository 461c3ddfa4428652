/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fields.c - an entry of a definition, in memory and in the file.
 *
 * It is written as a list of fields: number, length, bytes. A reader takes the fields it knows and skips the others; a
 * field that is not there has its default: 0, NULL, and NO_INDEX or -1 where the table says so.
 */
#include <stdlib.h>
#include <string.h>

#include "recording/chunk.h"
#include "recording/definitions.h"

#define STRING_MOST 65535 /* bytes of a string; longer ones are cut when written */

static void set_defaults(const struct field *fields, void *entry)
{
	const uint32_t no_index = NO_INDEX;
	const long no_rank = -1;

	for (; fields->type; fields++) {
		if (fields->type == FIELD_INDEX)
			STORE(entry, fields->offset, no_index);
		else if (fields->type == FIELD_RANK)
			STORE(entry, fields->offset, no_rank);
	}
}

void entry_free(const struct field *fields, void *entry)
{
	char *text;

	for (; fields->type; fields++) {
		if (fields->type == FIELD_VALUES)
			values_free(entry);
		if (fields->type == FIELD_ARGUMENTS)
			arguments_free(entry);
		if (fields->type == FIELD_RUNS)
			runs_free(entry);
		if (fields->type != FIELD_STRING)
			continue;
		LOAD(entry, fields->offset, text);
		free(text);
		text = NULL;
		STORE(entry, fields->offset, text);
	}
}

/* --- writing ----------------------------------------------------------- */

/* The bytes of a number are one varint. */
static void put_number(struct buffer *out, uint8_t number, uint64_t value)
{
	uint8_t bytes[10];
	size_t size = 0;

	while (value >= 0x80) {
		bytes[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[size++] = (uint8_t)value;
	field_put(out, number, bytes, size);
}

static uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)((value >> 1) ^ -(value & 1));
}

static void put_buckets(struct buffer *out, uint8_t number, const uint64_t *bucket)
{
	struct buffer bytes = { 0 };
	unsigned first = 0, end = GB_BUCKETS;

	while (first < end && !bucket[first])
		first++;
	while (end > first && !bucket[end - 1])
		end--;
	if (first == end)
		return;
	buffer_put_varint(&bytes, first);
	while (first < end)
		buffer_put_varint(&bytes, bucket[first++]);
	out->failed |= bytes.failed;
	field_put(out, number, bytes.data, bytes.size);
	buffer_free(&bytes);
}

/* A member that is a number, as it stands in the file; false where it has its default. */
static bool get_number(const struct field *field, const void *entry, uint64_t *number)
{
	int32_t s32;
	uint32_t u32;
	bool flag;
	long rank;

	switch (field->type) {
	case FIELD_U64:
		LOAD(entry, field->offset, *number);
		return *number != 0;
	case FIELD_U32:
	case FIELD_UNSIGNED:
	case FIELD_INDEX:
		LOAD(entry, field->offset, u32);
		*number = u32;
		return u32 != (field->type == FIELD_INDEX ? NO_INDEX : 0);
	case FIELD_S32:
		LOAD(entry, field->offset, s32);
		*number = zigzag(s32);
		return s32 != 0;
	case FIELD_RANK:
		LOAD(entry, field->offset, rank);
		*number = zigzag(rank);
		return rank != -1;
	case FIELD_BOOL:
		LOAD(entry, field->offset, flag);
		*number = flag;
		return flag;
	default:
		return false;
	}
}

void entry_encode(struct buffer *out, const struct field *fields, const void *entry)
{
	const char *text;
	uint64_t number;
	enum role role;

	for (; fields->type; fields++) {
		switch (fields->type) {
		case FIELD_STRING:
			LOAD(entry, fields->offset, text);
			if (text)
				field_put(out, fields->number, text, strnlen(text, STRING_MOST));
			break;
		case FIELD_ROLE:
			LOAD(entry, fields->offset, role);
			text = role_name(role);
			if (text)
				field_put(out, fields->number, text, strlen(text));
			break;
		case FIELD_VALUES:
			values_put(out, fields->number, entry);
			break;
		case FIELD_ARGUMENTS:
			arguments_put(out, fields->number, entry);
			break;
		case FIELD_RUNS:
			runs_put(out, fields->number, entry);
			break;
		case FIELD_BUCKETS:
			put_buckets(out, fields->number, ((const struct def_sum *)entry)->bucket);
			break;
		default:
			if (get_number(fields, entry, &number))
				put_number(out, fields->number, number);
		}
	}
}

/* --- reading ----------------------------------------------------------- */

static const char *take_string(const struct field *field, struct cursor *bytes, void *entry)
{
	size_t size = (size_t)(bytes->end - bytes->at);
	char *text, *old;

	if (size > STRING_MOST)
		return "a text is too long";
	LOAD(entry, field->offset, old);
	if (old)
		return "a field stands twice";
	text = malloc(size + 1);
	if (!text)
		return "there is not enough memory to read it";
	memcpy(text, bytes->at, size);
	text[size] = '\0';
	STORE(entry, field->offset, text);
	return NULL;
}

/* A role that a newer writer knows is no damage: the span is still a call. */
static void take_role(const struct field *field, struct cursor *bytes, void *entry)
{
	char name[32] = "";
	size_t size = (size_t)(bytes->end - bytes->at);
	enum role role;
	int known;

	if (size < sizeof(name))
		memcpy(name, bytes->at, size);
	known = role_from_name(name);
	role = known < 0 ? ROLE_FUNCTION : (enum role)known;
	STORE(entry, field->offset, role);
}

static const char *take_buckets(struct cursor *bytes, uint64_t *bucket)
{
	uint64_t at = cursor_varint(bytes);

	while (!bytes->failed && bytes->at < bytes->end) {
		if (at >= GB_BUCKETS)
			return "a histogram has too many columns";
		bucket[at++] = cursor_varint(bytes);
	}
	return bytes->failed ? "a histogram is bad" : NULL;
}

static const char *take_number(const struct field *field, struct cursor *bytes, void *entry)
{
	uint64_t number = cursor_varint(bytes);
	int64_t with_sign = unzigzag(number);
	int32_t s32 = (int32_t)with_sign;
	uint32_t u32 = (uint32_t)number;
	long rank = (long)with_sign;
	bool flag = number != 0;

	if (bytes->failed)
		return "a number is bad";
	switch (field->type) {
	case FIELD_U64:
		STORE(entry, field->offset, number);
		return NULL;
	case FIELD_U32:
	case FIELD_UNSIGNED:
	case FIELD_INDEX:
		STORE(entry, field->offset, u32);
		return u32 == number ? NULL : "a number is too large";
	case FIELD_S32:
		STORE(entry, field->offset, s32);
		return s32 == with_sign ? NULL : "a number is too large";
	case FIELD_RANK:
		STORE(entry, field->offset, rank);
		return NULL;
	default:
		STORE(entry, field->offset, flag);
		return NULL;
	}
}

static const char *take_field(const struct field *field, struct cursor *bytes, void *entry)
{
	switch (field->type) {
	case FIELD_STRING:
		return take_string(field, bytes, entry);
	case FIELD_ROLE:
		take_role(field, bytes, entry);
		return NULL;
	case FIELD_VALUES:
		return values_take(bytes, entry);
	case FIELD_ARGUMENTS:
		return arguments_take(bytes, entry);
	case FIELD_RUNS:
		return runs_take(bytes, entry);
	case FIELD_BUCKETS:
		return take_buckets(bytes, ((struct def_sum *)entry)->bucket);
	default:
		return take_number(field, bytes, entry);
	}
}

const char *entry_decode(struct cursor *in, const struct field *fields, size_t size, void *entry)
{
	const char *wrong = NULL;

	memset(entry, 0, size);
	set_defaults(fields, entry);
	while (!wrong && in->at < in->end) {
		uint64_t number = cursor_varint(in), length = cursor_varint(in);
		const uint8_t *at = cursor_bytes(in, length);
		const struct field *field = fields;

		if (!at) {
			wrong = "a field does not fit";
			break;
		}
		while (field->type && field->number != number)
			field++;
		if (field->type) {
			struct cursor bytes = { at, at + length, false };

			wrong = take_field(field, &bytes, entry);
		}
	}
	if (wrong)
		entry_free(fields, entry);
	return wrong;
}
