/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_sums.h - what gaspbpf monitor has counted, as a recording that has only sums (-o).
 */
#ifndef GASPBPF_MONITOR_SUMS_H
#define GASPBPF_MONITOR_SUMS_H

#include "monitor/monitor.h"

struct monitor_sums;

struct monitor_sums_options {
	const char *path;
	const struct model_set *models;
	double budget; /* monitor_options.budget */
	int argc;
	char **argv;
};

/*
 * Before rights are given up; the options' texts stay the caller's. What is in the file stays until the first writing.
 * 0 or -errno, said.
 */
int monitor_sums_new(struct monitor_sums **sums, const struct monitor_sums_options *options);
/* NULL: nothing. */
void monitor_sums_free(struct monitor_sums *sums);
/*
 * Writes the whole file anew: until that is done, and where it cannot be, what was written before stays. A disk that is
 * full is said, and is no error: the next time there may be room. 0 or -ENOMEM.
 */
int monitor_sums_write(struct monitor_sums *sums, const struct monitor_snapshot *now, struct kernel *kernel);

#endif
