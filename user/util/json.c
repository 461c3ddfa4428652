/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - a streaming JSON writer.
 *
 * A trace is tens of millions of small objects, so the common case is kept short: every
 * value first makes sure of room in the buffer once, then stores bytes without further checks.
 */
#include "util/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "util/digits.h"
#include "util/utf8.h"

#define NUMBER_MOST 40                   /* bytes of any number, with separators */
#define INDENT_MOST (2 * JSON_DEPTH + 8) /* comma, newline and indentation */

static void flush(struct json *j)
{
	if (j->used && !j->error)
		j->error = j->write(j->context, j->buffer, j->used);
	j->used = 0;
}

/* Makes sure of room for so many bytes; after an error the bytes go nowhere. */
static inline char *room(struct json *j, size_t size)
{
	if (sizeof(j->buffer) - j->used < size)
		flush(j);
	return j->buffer + j->used;
}

static inline void put(struct json *j, char c)
{
	j->buffer[j->used++] = c;
}

/* A line break and indentation; there is room. */
static void put_line(struct json *j)
{
	unsigned i;

	j->newline = false;
	put(j, '\n');
	if (!j->pretty)
		return;
	for (i = 0; i < j->depth; i++) {
		put(j, ' ');
		put(j, ' ');
	}
}

static bool misused(struct json *j)
{
	if (!j->error)
		j->error = -EINVAL;
	return false;
}

/* What stands before an element: comma, white space. Makes room for INDENT_MOST + extra bytes. */
static inline bool separate(struct json *j, bool is_key, size_t extra)
{
	bool in_object = j->depth && j->close[j->depth - 1] == '}';

	room(j, INDENT_MOST + extra);
	if (j->keyed) {
		j->keyed = false;
		return is_key ? misused(j) : true;
	}
	if (in_object != is_key)
		return misused(j);
	if (j->depth) {
		if (j->some[j->depth - 1])
			put(j, ',');
		j->some[j->depth - 1] = true;
	}
	if (j->newline || (j->pretty && j->depth))
		put_line(j);
	return true;
}

static int write_file(void *context, const char *data, size_t size)
{
	errno = 0;
	if (fwrite(data, 1, size, context) == size)
		return 0;
	return errno ? -errno : -EIO;
}

void json_init(struct json *j, json_write_fn write, void *context, bool pretty)
{
	j->write = write;
	j->context = context;
	j->pretty = pretty;
	j->error = 0;
	j->depth = 0;
	j->keyed = j->newline = false;
	j->used = 0;
}

void json_init_file(struct json *j, FILE *out, bool pretty)
{
	json_init(j, write_file, out, pretty);
}

static void open_container(struct json *j, char open, char close)
{
	if (j->depth == JSON_DEPTH) {
		misused(j);
		return;
	}
	if (!separate(j, false, 1))
		return;
	put(j, open);
	j->some[j->depth] = false;
	j->close[j->depth++] = close;
}

static void close_container(struct json *j, char close)
{
	bool some;

	if (!j->depth || j->close[j->depth - 1] != close || j->keyed) {
		misused(j);
		return;
	}
	room(j, INDENT_MOST);
	some = j->some[--j->depth];
	if (j->newline || (j->pretty && some))
		put_line(j);
	put(j, close);
}

int json_finish(struct json *j)
{
	if (j->keyed)
		json_null(j);
	while (j->depth)
		close_container(j, j->close[j->depth - 1]);
	room(j, 1);
	if (j->newline || j->pretty)
		put(j, '\n');
	j->newline = false;
	flush(j);
	return j->error;
}

int json_finish_file(struct json *j, FILE *out)
{
	int error = json_finish(j);

	errno = 0;
	if (!error && fflush(out))
		error = errno ? -errno : -EIO;
	return error;
}

void json_object(struct json *j)
{
	open_container(j, '{', '}');
}

void json_end_object(struct json *j)
{
	close_container(j, '}');
}

void json_array(struct json *j)
{
	open_container(j, '[', ']');
}

void json_end_array(struct json *j)
{
	close_container(j, ']');
}

/* One byte that does not stand for itself; there is room for six bytes. */
static void put_escaped(struct json *j, uint8_t byte)
{
	static const char digits[] = "0123456789abcdef";
	static const char named[32] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
	char name = byte < 32 ? named[byte] : byte == '"' || byte == '\\' ? (char)byte : '\0';

	put(j, '\\');
	if (name) {
		put(j, name);
		return;
	}
	put(j, 'u');
	put(j, '0');
	put(j, '0');
	put(j, digits[byte >> 4]);
	put(j, digits[byte & 15]);
}

static inline bool is_plain(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* Whether eight bytes are all plain; may say no where they are. */
static inline bool are_plain(const uint8_t *at)
{
	const uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
	uint64_t x, quote, backslash, delete;

	memcpy(&x, at, sizeof(x));
	quote = x ^ ('"' * ones);
	backslash = x ^ ('\\' * ones);
	delete = x ^ (0x7f * ones);
	return !((x | (x - 0x20 * ones) | (quote - ones) | (backslash - ones) | (delete - ones)) & high);
}

/* Copies bytes that stand for themselves, as far as the buffer has room; how many. */
static size_t copy_plain(char *to, const uint8_t *at, size_t left, size_t room)
{
	size_t most = left < room ? left : room, done = 0;

	while (done + 8 <= most && are_plain(at + done)) {
		memcpy(to + done, at + done, 8);
		done += 8;
	}
	while (done < most && is_plain(at[done])) {
		to[done] = (char)at[done];
		done++;
	}
	return done;
}

/* The string with its quotes. */
static void put_string(struct json *j, const char *text)
{
	enum { MARGIN = 8 }; /* more than any escaped character takes */
	const uint8_t *at = (const uint8_t *)text;
	size_t left = strlen(text), length;

	room(j, MARGIN + 1);
	put(j, '"');
	while (left) {
		room(j, MARGIN + 1);
		length = copy_plain(j->buffer + j->used, at, left, sizeof(j->buffer) - MARGIN - j->used);
		j->used += length;
		at += length;
		left -= length;
		room(j, MARGIN + 1);
		if (!left || is_plain(*at))
			continue; /* it was the buffer that ended */
		length = *at < 0x80 ? 1 : utf8_length(at, left);
		if (length == 2 && *at == 0xc2 && at[1] < 0xa0) {
			put_escaped(j, at[1]); /* C1: commands to a terminal */
		} else if (length > 1) {
			memcpy(j->buffer + j->used, at, length);
			j->used += length;
		} else {
			put_escaped(j, *at);
			length = 1;
		}
		at += length;
		left -= length;
	}
	room(j, MARGIN);
	put(j, '"');
}

void json_key(struct json *j, const char *key)
{
	if (!separate(j, true, 0))
		return;
	put_string(j, key);
	put(j, ':');
	if (j->pretty)
		put(j, ' ');
	j->keyed = true;
}

void json_string(struct json *j, const char *text)
{
	if (!text) {
		json_null(j);
		return;
	}
	if (separate(j, false, 0))
		put_string(j, text);
}

/* There is room. */
static inline void put_uint(struct json *j, uint64_t value)
{
	j->used = (size_t)(digits_uint(j->buffer + j->used, value) - j->buffer);
}

void json_uint(struct json *j, uint64_t value)
{
	if (separate(j, false, NUMBER_MOST))
		put_uint(j, value);
}

void json_int(struct json *j, int64_t value)
{
	if (separate(j, false, NUMBER_MOST))
		j->used = (size_t)(digits_int(j->buffer + j->used, value) - j->buffer);
}

void json_micros(struct json *j, uint64_t ns)
{
	if (separate(j, false, NUMBER_MOST))
		j->used = (size_t)(digits_micros(j->buffer + j->used, ns) - j->buffer);
}

/* As short as gives the same number back. */
void json_double(struct json *j, double value)
{
	char text[NUMBER_MOST], *comma;
	int precision;

	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	for (precision = 15; precision <= 17; precision++) {
		double again;

		snprintf(text, sizeof(text), "%.*g", precision, value);
		if (sscanf(text, "%lf", &again) == 1 && again == value)
			break;
	}
	comma = strchr(text, ','); /* some locales' decimal point */
	if (comma)
		*comma = '.';
	if (!separate(j, false, NUMBER_MOST))
		return;
	memcpy(j->buffer + j->used, text, strlen(text));
	j->used += strlen(text);
}

static void put_word(struct json *j, const char *word)
{
	if (!separate(j, false, NUMBER_MOST))
		return;
	memcpy(j->buffer + j->used, word, strlen(word));
	j->used += strlen(word);
}

void json_bool(struct json *j, bool value)
{
	put_word(j, value ? "true" : "false");
}

void json_null(struct json *j)
{
	put_word(j, "null");
}

void json_elements(struct json *j, const char *data, size_t size)
{
	if (!separate(j, false, 0))
		return;
	flush(j);
	if (!j->error)
		j->error = j->write(j->context, data, size);
}

static int write_buffer(void *context, const char *data, size_t size)
{
	struct buffer *buffer = context;

	buffer_put(buffer, data, size);
	return buffer->failed ? -ENOMEM : 0;
}

int json_quote(struct buffer *to, const char *text)
{
	struct json j;

	json_init(&j, write_buffer, to, false);
	json_string(&j, text);
	return json_finish(&j);
}

void json_newline(struct json *j)
{
	j->newline = true;
}

void json_key_string(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_string(j, text);
}

void json_key_int(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_int(j, value);
}

void json_key_uint(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_uint(j, value);
}

void json_key_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

void json_key_int_known(struct json *j, const char *key, int64_t value, bool known)
{
	json_key(j, key);
	if (known)
		json_int(j, value);
	else
		json_null(j);
}

void json_key_uint_known(struct json *j, const char *key, uint64_t value, bool known)
{
	json_key(j, key);
	if (known)
		json_uint(j, value);
	else
		json_null(j);
}
