/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exposition_private.h - what the forms' writers share.
 */
#ifndef GASPBPF_EXPOSITION_PRIVATE_H
#define GASPBPF_EXPOSITION_PRIVATE_H

#include "metrics/exposition.h"

/* What samples of a kind have after their family's name. */
const char *kind_suffix(enum kind kind);
/* The greatest whole number below 2^exponent. */
uint64_t bound_at(unsigned exponent);

void protobuf_begin_family(struct exposition *e);
void protobuf_end_family(struct exposition *e);
void protobuf_number(struct exposition *e, const struct label *labels, size_t nlabels, double value);
void protobuf_histogram(struct exposition *e, const struct label *labels, size_t nlabels,
			const struct log2_histogram *h, const struct bounds *bounds);
void protobuf_native(struct exposition *e, const struct label *labels, size_t nlabels, const struct log2_histogram *h);

#endif
