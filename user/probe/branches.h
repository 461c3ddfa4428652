/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * branches.h - private to user/probe: which parts of an image's code other code jumps into.
 */
#ifndef GASPBPF_PROBE_BRANCHES_H
#define GASPBPF_PROBE_BRANCHES_H

#include "arch/instruction.h"
#include "target/target.h"
#include "util/breath.h"

#define FUNCTION_MOST (256u << 10) /* bytes of a function that is decoded */

/* Bytes first..end of an image, by address, that nothing must jump to. */
struct quiet_range {
	uint64_t first, end; /* end is not part of it */
	bool pointers;       /* nothing must point to it, either */
	bool broken;         /* something does */
};

/*
 * Looks at all code and all symbols of the image: branches with a target of 32 bits anywhere, and functions that begin
 * in a range; where `pointers` is set, also for whatever may be an address in the range, or the entry of a jump table
 * that leads there, anywhere in the file. Sets `broken`, also where the file is too large to be looked at. 0, -ENOMEM
 * or -ECANCELED.
 */
int branches_from_afar(const struct image *image, struct quiet_range *ranges, size_t count, struct breath *breath);

/* A function's own code, and what is near. */
struct function_code {
	const struct image *image;
	struct decoder *decoder;
	uint64_t address, offset, size;
};

/* Jumps to an address that is not in the instruction. */
enum indirect {
	INDIRECT_NONE,
	INDIRECT_POINTER, /* to what a pointer in memory says; or elsewhere, in code that may be a part of the function
			   */
	INDIRECT_TABLE,   /* to what a jump table says */
	INDIRECT_ANY,     /* who knows */
};

/* The last instructions before one, without a branch in between: where a register that it uses may come from. */
#define RECENT 16
struct recent {
	uint64_t at[RECENT];
	unsigned count;
};

/*
 * One instruction on from *at, in `size` bytes that begin at address `start`. *at > size: the bytes are no instruction.
 * Returns where it may go on; *target: of a branch or call; *indirect becomes worse where an indirect jump is worse;
 * *always: it never falls through.
 */
enum transfer branches_step(const struct function_code *code, const uint8_t *bytes, uint64_t size, uint64_t start,
			    uint64_t *at, struct recent *recent, uint64_t *target, enum indirect *indirect,
			    bool *always);
/* Bytes of the image at a code address, malloc'ed; *size is cut to what its segment has. NULL: none. */
uint8_t *branches_code_at(const struct image *image, uint64_t address, uint64_t *size);

/*
 * True where a branch of the function itself leads to first..end. *indirect: the worst that it
 * has. *unknown: it has bytes that are no instruction, or more than FUNCTION_MOST.
 */
bool branches_of_function(const struct function_code *code, uint64_t first, uint64_t end, enum indirect *indirect,
			  bool *unknown);
/*
 * True where a branch of the function, or of its parts elsewhere, leads to its own first byte, by a jump table
 * included. Calls do not count. *decoded: grows by the bytes that were decoded.
 */
bool branches_to_start(const struct function_code *code, uint64_t *decoded);
/* True where a short branch from before or behind the function leads to first..end. */
bool branches_from_near(const struct function_code *code, uint64_t first, uint64_t end);

#endif
