/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * families.h - which metrics there are.
 *
 * Two kinds of figures: of the whole machine by event, which are complete and never go back while the monitor lives;
 * and of single processes, for as long as they live. The first are bounded by the models. The second are bounded by a
 * number of series: what comes when that is reached is added up in a series by event with the label overflow="true",
 * and stays there as long as it lives, so that this one never goes back either.
 */
#ifndef GASPBPF_FAMILIES_H
#define GASPBPF_FAMILIES_H

#include <stddef.h>

#include "metrics/exposition.h"
#include "monitor/monitor.h"

struct families;

struct families *families_new(size_t max_series); /* NULL: no memory */
void families_free(struct families *families);    /* NULL: nothing */
void families_limit(struct families *families, size_t max_series);
/* Between exposition_begin() and exposition_end(). 0 or -ENOMEM. */
int families_write(struct families *families, struct exposition *e, const struct monitor_snapshot *snapshot);

#endif
