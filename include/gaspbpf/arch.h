/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch.h - what the kernel side and user space must agree on, and differs from processor to processor.
 */
#ifndef GASPBPF_ARCH_SIZES_H
#define GASPBPF_ARCH_SIZES_H

#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define GB_REGISTERS 6       /* that integer arguments are passed in */
#define GB_LOOK_REGISTERS 17 /* a thread's general ones by DWARF's numbers, the last: where it is */
#else
#error "gaspbpf does not know this processor"
#endif

#endif
