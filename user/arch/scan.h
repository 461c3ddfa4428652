/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scan.h - all branches and addresses that may be in some code, wherever an instruction begins.
 *
 * Decoding takes long, and in a stripped file nobody can tell where to begin. But a branch, and code that forms an
 * address relative to itself, are told by a byte or two. So every byte is taken as if an instruction began there. That
 * finds all of them, and some that are none: whoever must know which asks whether an instruction begins there.
 */
#ifndef GASPBPF_ARCH_SCAN_H
#define GASPBPF_ARCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scanned {
	SCAN_CALL = 1,       /* of a target that stands in it */
	SCAN_JUMP = 2,       /* to such a target, always, and far */
	SCAN_CONDITION = 4,  /* the same, sometimes */
	SCAN_SHORT = 8,      /* a jump of either kind that reaches SHORT_REACH bytes */
	SCAN_ADDRESS = 16,   /* forms an address */
	SCAN_CALL_SLOT = 32, /* a call of where a word in memory says, whose address stands in it */
	SCAN_INDIRECT = 64,  /* a jump to an address in a register or in memory */
};

#define SHORT_REACH 128 /* bytes to either side */

struct scan_hit {
	enum scanned what;
	uint64_t address, end; /* of what would be the instruction, and of the one behind it */
	uint64_t target;       /* where it leads; of CALL_SLOT the word's address; of INDIRECT 0 */
};

struct code_scan {
	unsigned wanted;                                          /* enum scanned */
	bool (*found)(void *context, const struct scan_hit *hit); /* false: that is enough */
	void *context;
};

/* What may begin in the first `own` of `size` bytes at `address`. False: found() has ended it. */
bool code_scan(const struct code_scan *scan, const uint8_t *code, size_t size, size_t own, uint64_t address);

#endif
