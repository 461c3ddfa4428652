/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * facts.h - numbers and names of x86-64; see arch/arch.h for what they mean.
 */
#ifndef GASPBPF_ARCH_X86_64_FACTS_H
#define GASPBPF_ARCH_X86_64_FACTS_H

#include <elf.h>
#include <linux/audit.h>

#define ARCH_TITLE "x86-64"
#define ARCH_MACHINE "x86_64"
#define ARCH_TRIPLET "x86_64-linux-gnu"
#define ARCH_CACHE_MARK "x86-64"
#define ARCH_EMULATORS                                                                                         \
	"memcheck-amd64-", "cachegrind-amd6", "callgrind-amd64", "helgrind-amd64-", "drd-amd64-linux",         \
		"massif-amd64-li", "dhat-amd64-linu", "lackey-amd64-li", "none-amd64-linu", "exp-bbv-amd64-l", \
		"qemu-x86_64*", "box64"
#define ARCH_ELF_MACHINE EM_X86_64
#define ARCH_AUDIT AUDIT_ARCH_X86_64

/* System V ABI, AMD64 supplement, figure 3.36 */
#define REGISTER_FRAME 6 /* rbp */
#define REGISTER_SP 7    /* rsp */
#define REGISTER_IP 16   /* the return address's column */

/* rbx: elfutils 0.188 has rax in its place (x86_64_abi_cfi()) */
#define ARCH_OVERLOOKED 3

#define ARCH_RETURN_WORD 8 /* a call pushes the return address */
#define ARCH_RED_ZONE 128  /* figure 3.3 */

#define ARCH_LONG_DOUBLE ARGUMENT_MEMORY

#define INSTRUCTION_MOST 15
#define OPTIMIZED_SIZE 5

#endif
