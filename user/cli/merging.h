/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merging.h - what 'merge' and 'job' share: recordings as one file.
 */
#ifndef GASPBPF_CLI_MERGING_H
#define GASPBPF_CLI_MERGING_H

#include "merge/merge.h"
#include "util/files.h"

#define STATUS_INTERRUPTED 130

/* Into the file options->name, which becomes it whole or stays as it was. 0 or -errno, said; -EINTR: stopped. */
int merge_into_file(const struct merge_options *options, const struct caller *caller);

#endif
