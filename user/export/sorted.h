/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sorted.h - small records in the order of time, more of them than memory should hold. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_SORTED_H
#define GASPBPF_EXPORT_SORTED_H

#include <stdint.h>

struct sorted_record {
	uint64_t time;   /* ns */
	uint64_t number; /* of records of one time the lower one comes first */
	uint32_t of, what;
};

struct sorted;

/* The file stays the caller's; what is in it is overwritten. NULL: out of memory. */
struct sorted *sorted_new(int fd);
void sorted_free(struct sorted *sorted);
/* 0 or -errno; said, but for -ENOMEM. */
int sorted_put(struct sorted *sorted, const struct sorted_record *record);
/* Hands all that was put to `take`, in order. 0 or -errno, as above or as take() says. */
int sorted_read(struct sorted *sorted, int (*take)(void *context, const struct sorted_record *record), void *context);

#endif
