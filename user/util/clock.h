/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - the time, in ns.
 */
#ifndef GASPBPF_CLOCK_H
#define GASPBPF_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic(void); /* ns, CLOCK_MONOTONIC: the time of all spans */
uint64_t clock_realtime(void);  /* ns, CLOCK_REALTIME */
uint64_t clock_asleep(void); /* ns for which the machine was suspended so far: CLOCK_BOOTTIME less CLOCK_MONOTONIC; the
				same until it sleeps again */
/* What tells this boot of this machine, and so its CLOCK_MONOTONIC, from others; the caller frees. NULL: not known, or
 * no memory. */
char *clock_identity(void);

#endif
