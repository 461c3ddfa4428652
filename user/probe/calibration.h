/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibration.h - Private to user/probe: what a start has measured of this machine, for later ones.
 */
#ifndef GASPBPF_CALIBRATION_H
#define GASPBPF_CALIBRATION_H

#include "probe/kernel_private.h"

#define CALIBRATION_ROWS 5 /* prices by class: lines of the text */

struct calibration {
	struct probe_costs costs;
	bool filters_kill; /* trial_filter_kills() */
	uint64_t made;     /* s since boot; calibration_write() sets it */
	uint64_t age;      /* s; calibration_read() sets it */
};

/* What an earlier start has written for a kernel side loaded in this way. False: nothing that is to be believed. */
bool calibration_read(const struct kernel *kernel, struct calibration *calibration);
/* For later starts; where that cannot be, they measure. */
void calibration_write(const struct kernel *kernel, const struct calibration *calibration);

/* The text of the file: what it is true of, which must be the same word by word, and the prices. How long it is; 0: no
 * room. */
size_t calibration_write_text(const struct calibration *calibration, const char *head, char *text, size_t size);
/* False where anything in it is not as it was written, or it is too old. now: s since boot. */
bool calibration_read_text(struct calibration *calibration, const char *head, const char *text, uint64_t now);

#endif
