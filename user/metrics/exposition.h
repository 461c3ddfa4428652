/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exposition.h - families of metrics, written in one of the three forms that a scraper may ask for.
 *
 * The same calls write OpenMetrics text, the older Prometheus text, and Prometheus protocol buffers (the only form with
 * native histograms, whose buckets are sparse). Label values may be any bytes that a target calls itself by.
 */
#ifndef GASPBPF_EXPOSITION_H
#define GASPBPF_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

enum dialect { DIALECT_TEXT, DIALECT_OPENMETRICS, DIALECT_PROTOBUF, DIALECTS };

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM, KIND_INFO };

struct label {
	const char *name, *value; /* value NULL or "": the label is left out */
};

/* A family: its name without what the form adds (_total, _bucket, ...); with its unit at the end, where it has one. */
struct family {
	const char *name, *unit, *help;
	enum kind kind;
};

#define LOG2_BUCKETS 64

/* What was counted by powers of two: bucket[0] has 0 and 1, bucket[i] the whole numbers of 2^i up to 2^(i+1) - 1. */
struct log2_histogram {
	const uint64_t *bucket; /* LOG2_BUCKETS of them */
	uint64_t sum;
};

struct exposition {
	enum dialect dialect;
	struct buffer out;
	const struct family *family; /* begun; NULL: none */
	uint64_t created;            /* ns, CLOCK_REALTIME; 0: not told */
	struct buffer body, metric,
		part; /* of DIALECT_PROTOBUF: the family, the metric and the message inside it that are being written */
	size_t samples; /* time series written */
};

void exposition_begin(struct exposition *e, enum dialect dialect);
/* What follows belongs to this family, until the next one. The struct is kept by address. A family of histograms is
 * native or not by the calls. */
void exposition_family(struct exposition *e, const struct family *family);
/*
 * Counters and histograms that follow began at 0 at this time (ns, CLOCK_REALTIME; 0: not known). Only protocol buffers
 * tell it: in text each of them would cost one more series.
 */
void exposition_created(struct exposition *e, uint64_t realtime);
void exposition_count(struct exposition *e, const struct label *labels, size_t nlabels, uint64_t value);
void exposition_seconds(struct exposition *e, const struct label *labels, size_t nlabels, uint64_t ns); /* exact */
void exposition_number(struct exposition *e, const struct label *labels, size_t nlabels, double value);
/*
 * A histogram with the bounds 2^first, 2^(first + step), ... up to 2^last, less one: whole numbers up to and with the
 * bound are in it. in_seconds: what was counted are ns, and they are shown in seconds.
 */
struct bounds {
	unsigned first, step, last;
	bool in_seconds;
};
void exposition_histogram(struct exposition *e, const struct label *labels, size_t nlabels,
			  const struct log2_histogram *h, const struct bounds *bounds);
/* DIALECT_PROTOBUF only (elsewhere nothing is written): all buckets, sparse. Schema 0, so what equals a power of two is
 * counted one bucket higher. */
void exposition_native(struct exposition *e, const struct label *labels, size_t nlabels,
		       const struct log2_histogram *h);
/* All that was written is in e->out then. 0 or -ENOMEM. */
int exposition_end(struct exposition *e);
void exposition_free(struct exposition *e);

/* How many time series one histogram with these bounds is, _sum and _count included. */
size_t bounds_series(const struct bounds *bounds);

const char *dialect_content_type(enum dialect dialect);
/* What an Accept header prefers; NULL or nonsense: DIALECT_TEXT. */
enum dialect dialect_accepted(const char *accept);

#endif
