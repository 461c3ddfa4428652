/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accept.c - which form a scraper asks for: the Accept header of a request (RFC 9110, 12.5.1), as far as it concerns
 * us.
 *
 * A list of media ranges, each with parameters; q weighs them, 1 where it is left out. The heaviest that we can write
 * wins; of equals, the first.
 */
#include "metrics/exposition.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *dialect_content_type(enum dialect dialect)
{
	static const char *const types[DIALECTS] = {
		[DIALECT_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
		[DIALECT_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
		[DIALECT_PROTOBUF] =
			"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
	};

	return types[dialect];
}

struct words {
	const char *at;
	size_t size;
};

/* What comes up to one of the separators, without blanks around; the rest is in *rest. */
static struct words cut(struct words *rest, char separator)
{
	const char *found = memchr(rest->at, separator, rest->size);
	struct words part = { rest->at, found ? (size_t)(found - rest->at) : rest->size };
	size_t used = part.size + !!found;

	rest->at += used;
	rest->size -= used;
	while (part.size && isspace((unsigned char)*part.at))
		part.at++, part.size--;
	while (part.size && isspace((unsigned char)part.at[part.size - 1]))
		part.size--;
	return part;
}

static bool is(struct words words, const char *text)
{
	return words.size == strlen(text) && !strncasecmp(words.at, text, words.size);
}

/* A weight in thousandths, from "0.75"; 1000 for what is none. */
static int weight(struct words words)
{
	char text[8] = "";
	double value;
	char *end;

	if (!words.size || words.size >= sizeof(text))
		return 1000;
	memcpy(text, words.at, words.size);
	value = strtod(text, &end);
	return *end || !(value >= 0) || value > 1 ? 1000 : (int)(value * 1000 + 0.5);
}

/* One media range. Its dialect, or -1 for what we cannot write; its weight in *q. */
static int understand(struct words range, int *q)
{
	struct words type = cut(&range, ';');
	bool protobuf = is(type, "application/vnd.google.protobuf");
	bool family = false, delimited = false, version = true;

	*q = 1000;
	while (range.size) {
		struct words value = cut(&range, ';'), key = cut(&value, '=');

		if (is(key, "q"))
			*q = weight(value);
		else if (is(key, "proto"))
			family = is(value, "io.prometheus.client.MetricFamily");
		else if (is(key, "encoding"))
			delimited = is(value, "delimited");
		else if (is(key, "version"))
			version = is(value, "1.0.0") || is(value, "0.0.1") || is(value, "0.0.4");
	}
	if (protobuf)
		return family && delimited ? DIALECT_PROTOBUF : -1;
	if (is(type, "application/openmetrics-text"))
		return version ? DIALECT_OPENMETRICS : -1;
	if (is(type, "text/plain") || is(type, "text/*") || is(type, "*/*"))
		return DIALECT_TEXT;
	return -1;
}

enum dialect dialect_accepted(const char *accept)
{
	struct words rest = { accept ? accept : "", accept ? strlen(accept) : 0 };
	enum dialect best = DIALECT_TEXT;
	int most = 0;

	while (rest.size) {
		int q, dialect = understand(cut(&rest, ','), &q);

		if (dialect >= 0 && q > most) {
			best = dialect;
			most = q;
		}
	}
	return best;
}
