/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch.h - what differs from processor to processor on the kernel side: registers, and how calls are made. The same for
 * user space: user/arch.
 */
#ifndef GASPBPF_BPF_ARCH_H
#define GASPBPF_BPF_ARCH_H

#if defined(__TARGET_ARCH_x86)
#include "arch_x86.h"
#else
#error "gaspbpf does not know this processor"
#endif

#endif
