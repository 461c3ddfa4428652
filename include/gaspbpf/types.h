/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * types.h - the names that bpf/ and user/ share for integers: vmlinux.h and stdint.h cannot be in one file.
 */
#ifndef GASPBPF_TYPES_H
#define GASPBPF_TYPES_H

#ifndef __VMLINUX_H__
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t gb_u8;
typedef uint16_t gb_u16;
typedef uint32_t gb_u32;
typedef uint64_t gb_u64;
typedef int32_t gb_s32;
typedef int64_t gb_s64;
#else
typedef __u8 gb_u8;
typedef __u16 gb_u16;
typedef __u32 gb_u32;
typedef __u64 gb_u64;
typedef __s32 gb_s32;
typedef __s64 gb_s64;
#endif

/* In a header that both sides include: part of each caller, or a function of its own. */
#define GB_INLINE inline __attribute__((always_inline))
#define GB_APART __attribute__((noinline))

/* The kernel's verifier looks at registers: use this one from here on, which was checked or will be, and no copy. */
#ifdef __bpf__
#define GB_CHECKED(variable) asm volatile("" : "+r"(variable))
#else
#define GB_CHECKED(variable) (void)(variable)
#endif

#endif
