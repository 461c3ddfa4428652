/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exposition.c - families of metrics: what is common to the forms, and the text.
 *
 * In OpenMetrics a counter's family has no _total and its sample has; in the older text and in protocol buffers both
 * have. OpenMetrics also wants a line with the unit, and "# EOF" at the end.
 */
#include "metrics/exposition_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"

const char *kind_suffix(enum kind kind)
{
	return kind == KIND_COUNTER ? "_total" : kind == KIND_INFO ? "_info" : "";
}

/* --- text --------------------------------------------------------------- */

static void put_text(struct exposition *e, const char *text)
{
	buffer_put(&e->out, text, strlen(text));
}

static void put_format(struct exposition *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_format(struct exposition *e, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	put_text(e, text);
}

/* Backslashes and quotes are the text's own signs. Control characters are none any more: log_safe() has shown them. */
static void put_escaped(struct exposition *e, const char *text)
{
	for (const char *at = log_safe(text); *at; at++) {
		if (*at == '\\' || *at == '"')
			buffer_put(&e->out, "\\", 1);
		buffer_put(&e->out, at, 1);
	}
}

static void put_head(struct exposition *e, const struct family *family)
{
	static const char *const kinds[] = { "counter", "gauge", "histogram", "info" };
	bool open = e->dialect == DIALECT_OPENMETRICS;
	const char *kind = !open && family->kind == KIND_INFO ? "gauge" : kinds[family->kind];
	const char *suffix = open ? "" : kind_suffix(family->kind);

	put_format(e, "# TYPE %s%s %s\n", family->name, suffix, kind);
	if (open && family->unit)
		put_format(e, "# UNIT %s %s\n", family->name, family->unit);
	put_format(e, "# HELP %s%s %s\n", family->name, suffix, family->help);
}

/* name_suffix{labels,le="..."} and a space */
static void put_name(struct exposition *e, const char *suffix, const struct label *labels, size_t nlabels,
		     const char *le)
{
	char separator = '{';

	put_text(e, e->family->name);
	put_text(e, suffix);
	for (size_t i = 0; i < nlabels; i++) {
		if (!labels[i].value || !*labels[i].value)
			continue;
		put_format(e, "%c%s=\"", separator, labels[i].name);
		put_escaped(e, labels[i].value);
		put_text(e, "\"");
		separator = ',';
	}
	if (le)
		put_format(e, "%cle=\"%s\"", separator, le);
	put_text(e, le || separator == ',' ? "} " : " ");
	e->samples++;
}

static void put_seconds(struct exposition *e, uint64_t ns)
{
	put_format(e, "%llu.%09llu\n", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
}

static void put_count(struct exposition *e, uint64_t value)
{
	put_format(e, "%llu\n", (unsigned long long)value);
}

/* --- all forms ---------------------------------------------------------- */

void exposition_begin(struct exposition *e, enum dialect dialect)
{
	e->dialect = dialect;
	e->family = NULL;
	e->samples = 0;
	e->created = 0;
	buffer_clear(&e->out);
	buffer_clear(&e->body);
}

void exposition_family(struct exposition *e, const struct family *family)
{
	if (e->dialect == DIALECT_PROTOBUF)
		protobuf_end_family(e);
	e->family = family;
	if (e->dialect == DIALECT_PROTOBUF)
		protobuf_begin_family(e);
	else
		put_head(e, family);
}

void exposition_created(struct exposition *e, uint64_t realtime)
{
	e->created = realtime;
}

void exposition_count(struct exposition *e, const struct label *labels, size_t nlabels, uint64_t value)
{
	if (e->dialect == DIALECT_PROTOBUF) {
		protobuf_number(e, labels, nlabels, value);
		return;
	}
	put_name(e, kind_suffix(e->family->kind), labels, nlabels, NULL);
	put_count(e, value);
}

void exposition_seconds(struct exposition *e, const struct label *labels, size_t nlabels, uint64_t ns)
{
	if (e->dialect == DIALECT_PROTOBUF) {
		protobuf_number(e, labels, nlabels, ns / 1e9);
		return;
	}
	put_name(e, kind_suffix(e->family->kind), labels, nlabels, NULL);
	put_seconds(e, ns);
}

void exposition_number(struct exposition *e, const struct label *labels, size_t nlabels, double value)
{
	if (e->dialect == DIALECT_PROTOBUF) {
		protobuf_number(e, labels, nlabels, value);
		return;
	}
	put_name(e, kind_suffix(e->family->kind), labels, nlabels, NULL);
	put_format(e, "%.9g\n", value);
}

uint64_t bound_at(unsigned exponent)
{
	return exponent >= 64 ? UINT64_MAX : (1ULL << exponent) - 1;
}

void exposition_histogram(struct exposition *e, const struct label *labels, size_t nlabels,
			  const struct log2_histogram *h, const struct bounds *bounds)
{
	uint64_t below = 0;
	unsigned bucket = 0;
	char le[32];

	if (e->dialect == DIALECT_PROTOBUF) {
		protobuf_histogram(e, labels, nlabels, h, bounds);
		return;
	}
	for (unsigned exponent = bounds->first; exponent <= bounds->last; exponent += bounds->step) {
		for (; bucket < exponent && bucket < LOG2_BUCKETS; bucket++)
			below += h->bucket[bucket];
		if (bounds->in_seconds)
			snprintf(le, sizeof(le), "%.12g", bound_at(exponent) / 1e9);
		else
			snprintf(le, sizeof(le), "%llu.0",
				 (unsigned long long)bound_at(exponent)); /* OpenMetrics: a number with a point */
		put_name(e, "_bucket", labels, nlabels, le);
		put_count(e, below);
	}
	for (; bucket < LOG2_BUCKETS; bucket++)
		below += h->bucket[bucket];
	put_name(e, "_bucket", labels, nlabels, "+Inf");
	put_count(e, below);
	put_name(e, "_sum", labels, nlabels, NULL);
	if (bounds->in_seconds)
		put_seconds(e, h->sum);
	else
		put_count(e, h->sum);
	put_name(e, "_count", labels, nlabels, NULL);
	put_count(e, below);
}

void exposition_native(struct exposition *e, const struct label *labels, size_t nlabels, const struct log2_histogram *h)
{
	if (e->dialect == DIALECT_PROTOBUF)
		protobuf_native(e, labels, nlabels, h);
}

int exposition_end(struct exposition *e)
{
	if (e->dialect == DIALECT_PROTOBUF)
		protobuf_end_family(e);
	else if (e->dialect == DIALECT_OPENMETRICS)
		put_text(e, "# EOF\n");
	e->family = NULL;
	return e->out.failed || e->body.failed || e->metric.failed || e->part.failed ? -ENOMEM : 0;
}

void exposition_free(struct exposition *e)
{
	buffer_free(&e->out);
	buffer_free(&e->body);
	buffer_free(&e->metric);
	buffer_free(&e->part);
}

size_t bounds_series(const struct bounds *bounds)
{
	return (bounds->last - bounds->first) / bounds->step + 1 + 3; /* +Inf, _sum, _count */
}
