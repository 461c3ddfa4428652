/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looks_back.c - does a function look at its own return address?
 *
 * Under a return probe it finds the kernel's trampoline there. Allocation trackers and lock debuggers ask who has
 * called them (__builtin_return_address), code that was compiled with -pg or -finstrument-functions tells it to
 * somebody else, hand-written code has parameters behind the call; and what is called last, by a jump, has the return
 * address of its caller: dlsym(RTLD_NEXT) then finds no object that has called it. Models know their functions. Of the
 * functions that a user asks for the code is looked at:
 *
 *   an operand on the stack, just above what the function has pushed, is the return address: at the stack pointer at
 * its beginning, at a fixed distance where the frame is set up, and just above where the frame pointer points to.
 *
 * And code that never returns, but jumps on by a pointer, may have been reached in the same way (handlers of
 * interpreters): then what is on top of the stack is no return address at all.
 */
#include <stdlib.h>
#include <string.h>

#include "probe/branches.h"
#include "probe/plan_private.h"

#define LOOKED_AT (1u << 16) /* bytes of a function */
#define STUB 16              /* bytes of a stub */

/* Where the frame stands, as far as it is known. */
struct frame {
	uint64_t depth; /* bytes on the stack above which the return address is */
	bool set_up;    /* the function's work has begun: depth stays what it is */
	bool pointer;   /* the frame pointer points to where the function has pushed it */
};

static bool reads_return_address(const uint8_t *code, unsigned length, const struct frame *frame)
{
	enum stack_base base;
	int64_t distance;

	if (!instruction_stack_operand(code, length, &base, &distance))
		return false;
	return base == BASE_STACK ? distance == (int64_t)frame->depth : frame->pointer && distance == ARCH_RETURN_WORD;
}

static bool code_looks_back(struct decoder *decoder, const uint8_t *code, uint64_t size)
{
	struct frame frame = { 0 };

	for (uint64_t at = 0; at < size;) {
		unsigned length = instruction_length(decoder, code + at, size - at);
		enum transfer transfer;
		int64_t displacement;
		bool always;

		if (!length)
			break; /* instructions newer than the disassembler */
		if (reads_return_address(code + at, length, &frame))
			return true;
		if (!frame.set_up && !frame.depth && instruction_raises_stack(code + at, length))
			return true; /* what is on top of the stack is taken for something else */
		transfer = instruction_transfer(code + at, length, &displacement, &always);
		frame.set_up |= always || transfer == TRANSFER_CALL || instruction_raises_stack(code + at, length);
		if (!frame.set_up) {
			frame.pointer |= frame.depth == ARCH_RETURN_WORD && instruction_sets_frame(code + at, length);
			frame.depth += instruction_lowers_stack(code + at, length);
		}
		at += length;
	}
	return false;
}

/* Code that a compiler has made tell its callers to somebody. */
static bool is_instrumented(const struct image *image)
{
	static const char *const names[] = { "mcount", "_mcount", "__fentry__", "__cyg_profile_func_enter" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (image_imports(image, names[i]) || (image->is_program && image_symbol(image, names[i])))
			return true;
	return false;
}

/* Functions that act on behalf of the object that has called them. */
static bool asks_for_caller(const struct image *image)
{
	static const char *const names[] = { "dlsym", "dlvsym", "dlopen", "dlmopen" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (image_imports(image, names[i]))
			return true;
	return false;
}

/* How a function is left. */
struct ways_out {
	bool returns, jumps_by_pointer;
	bool to_others; /* by a jump to a function of another file */
};

/* Is there a stub of the linkage table at this address? */
static bool is_stub(const struct image *image, uint64_t address)
{
	uint64_t room = STUB, word;
	uint8_t *code = branches_code_at(image, address, &room);
	bool stub = code && instruction_is_stub(code, room, address, &word);

	free(code);
	return stub;
}

static struct ways_out find_ways_out(const struct image *image, uint64_t address, struct decoder *decoder,
				     const uint8_t *code, uint64_t size)
{
	struct ways_out out = { 0 };
	uint64_t word;

	for (uint64_t at = 0, length; at < size; at += length) {
		int64_t displacement;
		bool always;

		length = instruction_length(decoder, code + at, size - at);
		if (!length) {
			out.returns = true; /* for all that is known */
			break;
		}
		switch (instruction_transfer(code + at, length, &displacement, &always)) {
		case TRANSFER_BRANCH:
			out.to_others |= at + length + displacement >= size &&
					 is_stub(image, address + at + length + displacement);
			break;
		case TRANSFER_INDIRECT:
			out.jumps_by_pointer = true;
			out.to_others |= instruction_is_stub(code + at, length, 0,
							     &word); /* the table's entry itself */
			break;
		default:
			out.returns |= instruction_is_return(code + at, length);
		}
	}
	return out;
}

bool site_looks_back(struct site *site)
{
	uint64_t size = site->body.size < LOOKED_AT ? site->body.size : LOOKED_AT;
	uint8_t *code = size ? branches_code_at(site->image, site->body.address, &size) : NULL;
	struct decoder *decoder;
	struct ways_out out;
	bool looks = true;

	if (code && !decoder_new(&decoder)) {
		out = find_ways_out(site->image, site->body.address, decoder, code, size);
		looks = is_instrumented(site->image) || code_looks_back(decoder, code, size) ||
			(!out.returns && out.jumps_by_pointer) || (out.to_others && asks_for_caller(site->image));
		decoder_free(decoder);
	}
	free(code);
	return looks;
}
