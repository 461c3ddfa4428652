/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caller.c - the arguments of a call that began before anybody watched.
 *
 * By now the registers that arguments come in have been used for other things. But the instructions before the call are
 * known, and say where the caller took each from: a constant, an address, a register that calls keep (which unwinding
 * gives back), or its stack frame. So this reads the straight piece of code before the call backwards. What it takes
 * from registers that calls keep and from constants is certain. What was in memory is certain only where nothing can
 * have written there since: read-only memory, or a place in the frame of which no address is taken, neither of it nor
 * of anything below it. All else is likely, or unknown.
 *
 * The call must be shown to lead to the function: a jump at the end of another function leaves no trace on the stack.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/instruction.h"
#include "arch/steps.h"
#include "stacks/look_private.h"

#define FUNCTION_MOST (64u << 10)
#define STEPS_MOST 24 /* moves that one value is followed through */
#define PLT_BYTES 16

struct code {
	struct stack_space *space;
	const struct thread_look *look;
	const struct stack_frame *caller; /* whose code it is */
	struct code_step *steps;
	size_t count;   /* up to the call, it included */
	size_t all;     /* of the whole function */
	size_t block;   /* the first of the piece without a branch into it that ends with the call */
	bool jumps;     /* the function jumps to places that are not in its instructions */
	uint64_t start; /* of the function, as the process sees it */
};

static bool writes(const struct code_step *step, int reg)
{
	return step->writes >> reg & 1;
}

/* --- the code before the call ------------------------------------------- */

static size_t step_at(const struct code_step *steps, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].address == address)
			return i;
	return count;
}

/* A jump that leaves the function may be to a part of it that was put elsewhere, and from there others may come back.
 */
static bool leaves_for_part(const struct code *c, const struct code_step *step)
{
	uint64_t offset;
	struct image *image = stack_image(c->space, step->target, &offset);
	const struct symbol *symbol = image ? image_symbol_at(image, offset) : NULL;

	return !(step->flow & STEP_ENDS) || !image ||
	       (symbol && (symbol->offset != offset || strstr(symbol->name, ".cold")));
}

/* Where the piece without a branch into it begins; also whether branches are unknown. All of the function is looked at.
 */
static void find_block(struct code *c)
{
	c->block = 0;
	for (size_t i = 0; i + 1 < c->count; i++)
		if (c->steps[i].flow & STEP_ENDS)
			c->block = i + 1;
	for (size_t i = 0; i < c->all; i++) {
		const struct code_step *step = &c->steps[i];
		size_t target;

		if (!(step->flow & STEP_JUMPS))
			continue;
		if (!step->aims) {
			c->jumps = true;
			continue;
		}
		target = step_at(c->steps, c->all, step->target);
		if (target < c->count && target > c->block)
			c->block = target;
		if (target == c->all && leaves_for_part(c, step))
			c->jumps = true;
	}
}

/* Decodes the function up to the return address, which must be the end of a call, and on to its end. */
static bool decode(struct code *c)
{
	const struct stack_frame *caller = c->caller;
	const struct symbol *symbol = image_symbol_at(caller->image, caller->offset - 1);
	uint64_t offset = symbol ? symbol->offset : 0, size = symbol ? symbol->size : 0;

	if (!symbol || offset >= caller->offset || size > FUNCTION_MOST || caller->offset - offset > size)
		return false;
	c->start = caller->pc - (caller->offset - offset);
	function_steps(c->space, caller->image, symbol, c->start, &c->steps, &c->all);
	for (size_t i = 0; i < c->all; i++) {
		const struct code_step *step = &c->steps[i], *last = &c->steps[c->all - 1];

		if (step->address + step->size != caller->pc)
			continue;
		if (!(step->flow & STEP_CALLS))
			return false;
		c->jumps = last->address + last->size != c->start + size; /* not all of it could be read */
		c->count = i + 1;
		find_block(c);
		return true;
	}
	return false;
}

/* Where a call of this address leads: past an entry of a procedure linkage table to what its word says. */
static uint64_t follow_stub(const struct code *c, uint64_t address)
{
	uint64_t offset, word, target = 0;
	struct image *image = stack_image(c->space, address, &offset);
	uint8_t bytes[PLT_BYTES];

	if (!image || pread(image->fd, bytes, sizeof(bytes), offset) != sizeof(bytes) ||
	    !instruction_is_stub(bytes, sizeof(bytes), address, &word) ||
	    !stack_read(c->space, c->look, word, &target, sizeof(target)))
		return 0;
	return target;
}

/* Where the call leads; 0: not known. A call of this very function through a table of addresses leads past the table.
 */
static uint64_t call_target(const struct code *c)
{
	const struct code_step *call = &c->steps[c->count - 1];
	uint64_t target = 0;

	if (!call->aims)
		return 0;
	if (!call->through_word)
		return follow_stub(c, call->target) ?: call->target;
	return stack_read(c->space, c->look, call->target, &target, sizeof(target)) ? target : 0;
}

/* --- one value ---------------------------------------------------------- */

struct found {
	uint64_t value;
	bool known, certain;
};

/* The register at the call itself: it is kept, unwinding has it, and nothing from here on to the call changes it. */
static bool kept_since(const struct code *c, size_t from, int reg)
{
	if (!arch_keeps(reg) || !(c->caller->registers.known >> reg & 1))
		return false;
	for (size_t i = from; i + 1 < c->count; i++)
		if (writes(&c->steps[i], reg))
			return false;
	return true;
}

/* Is an address taken of this place in the frame, or of one below, from which it could be reached? */
static bool may_be_reached(const struct code *c, int base, int64_t displacement)
{
	for (size_t i = 0; i < c->all; i++) {
		const struct code_step *step = &c->steps[i];

		if (step->move == MOVE_ADDRESS && step->base == base && (!step->plain || step->value <= displacement))
			return true;
		if (step->move == MOVE_REGISTER && step->from == base && step->to != REGISTER_SP)
			return true;
	}
	return false;
}

static bool is_read_only(const struct code *c, uint64_t address)
{
	const struct mapping *mapping = space_mapping(c->space, address);

	return mapping && mapping->inode && !mapping->writable;
}

/* The address that the instruction takes, or reads from. */
static struct found operand_address(const struct code *c, size_t at)
{
	const struct code_step *step = &c->steps[at];

	if (!step->plain)
		return (struct found){ 0 };
	if (step->relative)
		return (struct found){ step->value, true, true };
	if (step->base >= 0 && kept_since(c, at, step->base))
		return (struct found){ c->caller->registers.value[step->base] + step->value, true, true };
	return (struct found){ 0 };
}

static struct found from_memory(const struct code *c, size_t at)
{
	const struct code_step *step = &c->steps[at];
	struct found address = operand_address(c, at), found = { 0 };
	uint64_t word = 0;

	if (!address.known || (step->reads != 4 && step->reads != 8) ||
	    !stack_read(c->space, c->look, address.value, &word, step->reads))
		return found;
	found.value = step->sign_extends && step->reads == 4 ? (uint64_t)(int64_t)(int32_t)word : word;
	found.known = true;
	if (step->relative)
		found.certain = is_read_only(c, address.value);
	else
		/* In its own frame, and by the frame pointer, so that all its accesses have the same form. */
		found.certain = step->base == REGISTER_FRAME && step->value < 0 &&
				!may_be_reached(c, step->base, step->value) && !c->jumps;
	return found;
}

/* What the instruction puts into the register; *next: it is what that register had before. */
static struct found from_instruction(const struct code *c, size_t at, int *next, bool *narrow)
{
	const struct code_step *step = &c->steps[at];

	*next = -1;
	if (step->to < 0 || step->width < 4)
		return (struct found){ 0 };
	*narrow |= step->width == 4;
	switch (step->move) {
	case MOVE_CONSTANT:
		return (struct found){ step->value, true, true };
	case MOVE_ADDRESS:
		return operand_address(c, at);
	case MOVE_MEMORY:
		return from_memory(c, at);
	case MOVE_REGISTER:
		*next = step->from;
		return (struct found){ 0 };
	default:
		return (struct found){ 0 };
	}
}

static struct found find_value(const struct code *c, int reg)
{
	size_t at = c->count - 1;
	bool narrow = false;
	struct found found = { 0 };

	for (int step = 0; step < STEPS_MOST; step++) {
		int next;

		/* Not changed any more up to the call: as unwinding has it. */
		if (kept_since(c, at, reg)) {
			found = (struct found){ c->caller->registers.value[reg], true, true };
			break;
		}
		while (at > c->block && !writes(&c->steps[at - 1], reg))
			at--;
		if (at == c->block)
			return found;
		found = from_instruction(c, --at, &next, &narrow);
		if (next < 0)
			break;
		reg = next;
	}
	if (narrow)
		found.value = (uint32_t)found.value;
	if (c->jumps)
		found.certain = false; /* somebody may come in from elsewhere */
	return found;
}

static bool read_code(struct code *c)
{
	return c->caller->image && !c->caller->exact && !c->caller->guessed && decode(c);
}

/* --- what the function itself has kept ---------------------------------- */

/* Does anything jump to an instruction of the first `count`? To the very first, too: what they do would be done again.
 */
static bool is_jumped_into(const struct code *c, size_t count)
{
	for (size_t i = 0; i < c->all; i++) {
		const struct code_step *step = &c->steps[i];

		if (step->flow & STEP_JUMPS && step->aims && step_at(c->steps, count, step->target) < count)
			return true;
	}
	return false;
}

/* Is the register given a value by this instruction alone, but for being given back at the end? */
static bool is_set_once(const struct code *c, size_t at, int reg)
{
	for (size_t i = 0; i < c->all; i++)
		if (i != at && !(c->steps[i].flow & STEP_RESTORES) && writes(&c->steps[i], reg))
			return false;
	return true;
}

/* An argument that the function moved into a register that calls keep, at its very beginning, and never changes there.
 */
static struct found find_kept(const struct code *c, int reg)
{
	struct found found = { 0 };

	for (size_t i = 0; i < c->all; i++) {
		const struct code_step *step = &c->steps[i];
		int to = step->move == MOVE_REGISTER ? step->to : -1;

		if (step->flow & (STEP_JUMPS | STEP_ENDS | STEP_CALLS))
			return found;
		if (to >= 0 && to != REGISTER_SP && arch_keeps(to) && step->from == reg &&
		    c->caller->registers.known >> to & 1 && is_set_once(c, i, to) && !is_jumped_into(c, i + 1)) {
			found = (struct found){ c->caller->registers.value[to], true, !c->jumps };
			if (step->width == 4)
				found.value = (uint32_t)found.value;
			return found;
		}
		if (writes(step, reg))
			return found;
	}
	return found;
}

void stack_kept_arguments(struct stack_space *space, const struct thread_look *look, const struct stack_frame *own,
			  struct call_arguments *arguments)
{
	struct code c = { .space = space, .look = look, .caller = own };

	for (int i = 0; i < GB_REGISTERS && (i || read_code(&c)); i++) {
		struct found found = arguments->certain >> i & 1 ? (struct found){ 0 }
								 : find_kept(&c, arch_arguments[i]);

		if (!found.known || (arguments->known >> i & 1 && !found.certain))
			continue;
		arguments->word[i] = found.value;
		arguments->known |= 1u << i;
		arguments->certain |= found.certain << i;
	}
	free(c.steps);
}

uint64_t stack_called(struct stack_space *space, const struct thread_look *look, const struct stack_frame *caller)
{
	struct code c = { .space = space, .look = look, .caller = caller };
	uint64_t target;

	target = read_code(&c) ? call_target(&c) : 0;
	free(c.steps);
	return target;
}

void stack_arguments(struct stack_space *space, const struct thread_look *look, const struct stack_frame *caller,
		     uint64_t callee, struct call_arguments *arguments)
{
	struct code c = { .space = space, .look = look, .caller = caller };

	memset(arguments, 0, sizeof(*arguments));
	if (read_code(&c) && callee && call_target(&c) == callee) {
		for (int i = 0; i < GB_REGISTERS; i++) {
			struct found found = find_value(&c, arch_arguments[i]);

			arguments->word[i] = found.value;
			arguments->known |= found.known << i;
			arguments->certain |= (found.known && found.certain) << i;
		}
	}
	free(c.steps);
}
