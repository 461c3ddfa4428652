/* SPDX-License-Identifier: BSD-2-Clause */
/* csv_columns.h - see csv_columns.c. Private to user/analysis. */
#ifndef GASPBPF_ANALYSIS_CSV_COLUMNS_H
#define GASPBPF_ANALYSIS_CSV_COLUMNS_H

/* "pid,tid,..." of "threads", or of "delays.causes"; "": those of its rows. */
const char *csv_columns(const char *table);

#endif
