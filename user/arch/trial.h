/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial.h - functions of our own that do nothing, to try probes on.
 */
#ifndef GASPBPF_ARCH_TRIAL_H
#define GASPBPF_ARCH_TRIAL_H

#include "arch/instruction.h"

/* By the class of their first instruction. */
extern void (*const arch_trials[SITE_CLASSES])(long);

#endif
