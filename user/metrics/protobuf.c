/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf.c - families as protocol buffers: io.prometheus.client.MetricFamily of client_model's metrics.proto, each
 * with its length before it.
 *
 * A dozen fields, so they are put together by hand: a field is its number and wire type, then the value; a message in a
 * message has its length first, which is why each level is written into a buffer of its own.
 *
 * Native histogram: schema 0 has the bucket of index i from 2^(i-1), not included, to 2^i, included. Buckets that
 * follow one another are a span; of spans, the first has the index of its first bucket, others the number of empty
 * buckets before them. Counts are differences to the count before.
 */
#include "metrics/exposition_private.h"

#include <string.h>

#include "util/log.h"

/* The fields' numbers, by message. */
enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC };
enum { METRIC_LABEL = 1, METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { NUMBER_VALUE = 1, COUNTER_CREATED = 3 }; /* the first of Gauge, too */
enum {
	HISTOGRAM_COUNT = 1,
	HISTOGRAM_SUM,
	HISTOGRAM_BUCKET,
	HISTOGRAM_SCHEMA = 5,
	HISTOGRAM_ZERO_THRESHOLD,
	HISTOGRAM_POSITIVE_SPAN = 12,
	HISTOGRAM_POSITIVE_DELTA,
	HISTOGRAM_CREATED = 15
};
enum { BUCKET_COUNT = 1, BUCKET_BOUND };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };
enum { TIMESTAMP_SECONDS = 1, TIMESTAMP_NANOS };

enum { WIRE_VARINT, WIRE_64, WIRE_LENGTH };

static void put_tag(struct buffer *b, unsigned field, unsigned wire)
{
	buffer_put_varint(b, field << 3 | wire);
}

static void put_uint(struct buffer *b, unsigned field, uint64_t value)
{
	put_tag(b, field, WIRE_VARINT);
	buffer_put_varint(b, value);
}

static void put_sint(struct buffer *b, unsigned field, int64_t value)
{
	put_tag(b, field, WIRE_VARINT);
	buffer_put_signed(b, value);
}

static void put_double(struct buffer *b, unsigned field, double value)
{
	put_tag(b, field, WIRE_64);
	buffer_put(b, &value, sizeof(value)); /* little-endian, as this machine is */
}

static void put_bytes(struct buffer *b, unsigned field, const void *data, size_t size)
{
	put_tag(b, field, WIRE_LENGTH);
	buffer_put_varint(b, size);
	buffer_put(b, data, size);
}

static void put_string(struct buffer *b, unsigned field, const char *text)
{
	put_bytes(b, field, text, strlen(text));
}

/* The message in `from` as a field of `to`. */
static void put_message(struct buffer *to, unsigned field, struct buffer *from)
{
	put_bytes(to, field, from->data, from->size);
	buffer_clear(from);
}

void protobuf_begin_family(struct exposition *e)
{
	static const unsigned types[] = {
		[KIND_COUNTER] = 0, [KIND_GAUGE] = 1, [KIND_INFO] = 1, [KIND_HISTOGRAM] = 4
	}; /* enum MetricType */
	const char *suffix = kind_suffix(e->family->kind);
	struct buffer *b = &e->body;

	put_tag(b, FAMILY_NAME, WIRE_LENGTH);
	buffer_put_varint(b, strlen(e->family->name) + strlen(suffix));
	buffer_put(b, e->family->name, strlen(e->family->name));
	buffer_put(b, suffix, strlen(suffix));
	put_string(b, FAMILY_HELP, e->family->help);
	put_uint(b, FAMILY_TYPE, types[e->family->kind]);
}

void protobuf_end_family(struct exposition *e)
{
	if (!e->family)
		return;
	buffer_put_varint(&e->out, e->body.size);
	buffer_put(&e->out, e->body.data, e->body.size);
	buffer_clear(&e->body);
}

static void put_labels(struct exposition *e, const struct label *labels, size_t nlabels)
{
	for (size_t i = 0; i < nlabels; i++) {
		if (!labels[i].value || !*labels[i].value)
			continue;
		put_string(&e->part, LABEL_NAME, labels[i].name);
		put_string(&e->part, LABEL_VALUE, log_safe(labels[i].value));
		put_message(&e->metric, METRIC_LABEL, &e->part);
	}
}

/* When what is in e->part began at 0. */
static void put_created(struct exposition *e, unsigned field)
{
	struct buffer timestamp = { 0 };

	if (!e->created)
		return;
	put_uint(&timestamp, TIMESTAMP_SECONDS, e->created / 1000000000);
	put_uint(&timestamp, TIMESTAMP_NANOS, e->created % 1000000000);
	put_message(&e->part, field, &timestamp);
	e->part.failed |= timestamp.failed;
	buffer_free(&timestamp);
}

void protobuf_number(struct exposition *e, const struct label *labels, size_t nlabels, double value)
{
	put_labels(e, labels, nlabels);
	put_double(&e->part, NUMBER_VALUE, value);
	if (e->family->kind == KIND_COUNTER)
		put_created(e, COUNTER_CREATED);
	put_message(&e->metric, e->family->kind == KIND_COUNTER ? METRIC_COUNTER : METRIC_GAUGE, &e->part);
	put_message(&e->body, FAMILY_METRIC, &e->metric);
	e->samples++;
}

static uint64_t count_all(const struct log2_histogram *h)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < LOG2_BUCKETS; i++)
		count += h->bucket[i];
	return count;
}

void protobuf_histogram(struct exposition *e, const struct label *labels, size_t nlabels,
			const struct log2_histogram *h, const struct bounds *bounds)
{
	double unit = bounds->in_seconds ? 1e9 : 1;
	struct buffer bucket = { 0 };
	uint64_t below = 0;
	unsigned i = 0;

	put_labels(e, labels, nlabels);
	put_uint(&e->part, HISTOGRAM_COUNT, count_all(h));
	put_double(&e->part, HISTOGRAM_SUM, h->sum / unit);
	for (unsigned exponent = bounds->first; exponent <= bounds->last; exponent += bounds->step) {
		for (; i < exponent && i < LOG2_BUCKETS; i++)
			below += h->bucket[i];
		put_uint(&bucket, BUCKET_COUNT, below);
		put_double(&bucket, BUCKET_BOUND, bound_at(exponent) / unit);
		put_message(&e->part, HISTOGRAM_BUCKET, &bucket);
	}
	e->part.failed |= bucket.failed;
	buffer_free(&bucket);
	put_created(e, HISTOGRAM_CREATED);
	put_message(&e->metric, METRIC_HISTOGRAM, &e->part);
	put_message(&e->body, FAMILY_METRIC, &e->metric);
	e->samples += bounds_series(bounds);
}

/* The spans of buckets that are not empty, and after them the counts. */
static void put_sparse(struct buffer *to, const uint64_t *count)
{
	struct buffer part = { 0 };
	unsigned next = 0; /* index after the last span */
	bool first = true;

	for (unsigned i = 0, end; i < LOG2_BUCKETS; i = end) {
		end = i + 1;
		if (!count[i])
			continue;
		while (end < LOG2_BUCKETS && count[end])
			end++;
		put_sint(&part, SPAN_OFFSET, first ? (int64_t)i + 1 : (int64_t)i - next);
		put_uint(&part, SPAN_LENGTH, end - i);
		put_message(to, HISTOGRAM_POSITIVE_SPAN, &part);
		first = false;
		next = end;
	}
	for (uint64_t i = 0, before = 0; i < LOG2_BUCKETS; i++) {
		if (!count[i])
			continue;
		put_sint(to, HISTOGRAM_POSITIVE_DELTA, (int64_t)(count[i] - before));
		before = count[i];
	}
	to->failed |= part.failed;
	buffer_free(&part);
}

void protobuf_native(struct exposition *e, const struct label *labels, size_t nlabels, const struct log2_histogram *h)
{
	put_labels(e, labels, nlabels);
	put_uint(&e->part, HISTOGRAM_COUNT, count_all(h));
	put_double(&e->part, HISTOGRAM_SUM, h->sum);
	put_sint(&e->part, HISTOGRAM_SCHEMA, 0);
	put_double(&e->part, HISTOGRAM_ZERO_THRESHOLD,
		   0x1p-128); /* as Prometheus' own libraries have it; it also tells a native one without buckets */
	put_sparse(&e->part, h->bucket);
	put_created(e, HISTOGRAM_CREATED);
	put_message(&e->metric, METRIC_HISTOGRAM, &e->part);
	put_message(&e->body, FAMILY_METRIC, &e->metric);
	e->samples++;
}
