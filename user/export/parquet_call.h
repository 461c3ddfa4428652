/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parquet_call.h - a call as a row of a table: which columns there are, and what stands in them. Private to
 * user/export.
 */
#ifndef GASPBPF_EXPORT_PARQUET_CALL_H
#define GASPBPF_EXPORT_PARQUET_CALL_H

#include "export/parquet/parquet.h"
#include "recording/recording.h"

extern const struct parquet_column call_columns[];
extern const unsigned ncall_columns;

/* What is known of probes, threads and places, made once for each. */
struct call_rows;
/* d must outlive it. NULL: out of memory. */
struct call_rows *call_rows_new(const struct definitions *d);
void call_rows_free(struct call_rows *rows);

/* How long a call took. */
struct call_time {
	bool known;     /* false: only that it was made */
	uint64_t total; /* ns by which the event's total grows: not of what is inside a call of the same event */
	uint64_t self;  /* ns of it that no call inside has had */
};

/* Puts it in the file, but does not end the row. 0 or -ENOMEM. */
int call_row_put(struct call_rows *rows, struct parquet *file, const struct span *span, const struct call_time *time);

#endif
