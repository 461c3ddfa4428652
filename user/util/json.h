/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - a streaming JSON writer: nobody types commas, nothing can come out invalid.
 *
 * What is left open is closed by json_finish(); misuse (a value without a key in an object, too deep) drops the
 * value and sets the error to -EINVAL.
 *
 * Strings are taken as bytes: valid UTF-8 passes, any other byte b becomes U+00b, so that every
 * name a target can have gives strictly valid JSON.
 */
#ifndef GASPBPF_JSON_H
#define GASPBPF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/buffer.h"

#define JSON_DEPTH 32

/* Where the bytes go; 0 or -errno. */
typedef int (*json_write_fn)(void *context, const char *data, size_t size);

struct json {
	json_write_fn write;
	void *context;
	bool pretty; /* newlines and indentation */
	int error;   /* first -errno of write */
	unsigned depth;
	bool some[JSON_DEPTH];  /* the container at this depth has an element already */
	char close[JSON_DEPTH]; /* what ends it: '}' or ']' */
	bool keyed;             /* a key was just written */
	bool newline;           /* json_newline() was called; it goes after the comma */
	size_t used;
	char buffer[65536];
};

void json_init(struct json *j, json_write_fn write, void *context, bool pretty);
void json_init_file(struct json *j, FILE *out, bool pretty);
int json_finish(struct json *j);                 /* flushes; the first error or 0 */
int json_finish_file(struct json *j, FILE *out); /* flushes that, too */

void json_object(struct json *j);
void json_end_object(struct json *j);
void json_array(struct json *j);
void json_end_array(struct json *j);
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *text); /* NULL: null */
void json_int(struct json *j, int64_t value);
void json_uint(struct json *j, uint64_t value);
void json_micros(struct json *j, uint64_t ns);  /* ns as a number of us with three decimals */
void json_double(struct json *j, double value); /* not finite: null */
void json_bool(struct json *j, bool value);
void json_null(struct json *j);
void json_newline(struct json *j); /* white space, for line-oriented output */
/* Elements of the array that is open, which the caller wrote himself: correct JSON, with commas between them. */
void json_elements(struct json *j, const char *data, size_t size);
/* Appends the text as a JSON string with its quotes. 0 or -ENOMEM. */
int json_quote(struct buffer *to, const char *text);

/* key and value at once */
void json_key_string(struct json *j, const char *key, const char *text);
void json_key_int(struct json *j, const char *key, int64_t value);
void json_key_uint(struct json *j, const char *key, uint64_t value);
void json_key_bool(struct json *j, const char *key, bool value);
/* What is not known is null, never 0. */
void json_key_int_known(struct json *j, const char *key, int64_t value, bool known);
void json_key_uint_known(struct json *j, const char *key, uint64_t value, bool known);

#endif
