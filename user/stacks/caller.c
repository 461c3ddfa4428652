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
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stacks/look_private.h"
#include "util/disassembler.h"

#define FUNCTION_MOST (64u << 10)
#define STEPS_MOST 24 /* moves that one value is followed through */
#define PLT_BYTES 16

/* DWARF's numbers of rdi rsi rdx rcx r8 r9. */
static const uint8_t passed_in[GB_REGISTERS] = { 5, 4, 1, 2, 8, 9 };

struct code {
	struct stack_space *space;
	const struct thread_look *look;
	const struct stack_frame *caller; /* whose code it is */
	csh capstone;
	cs_insn *instructions;
	size_t count;   /* up to the call, it included */
	size_t all;     /* of the whole function */
	size_t block;   /* the first of the piece without a branch into it that ends with the call */
	bool jumps;     /* the function jumps to places that are not in its instructions */
	uint64_t start; /* of the function, as the process sees it */
};

/* DWARF's number of the whole register that this one is a part of; -1: none of the sixteen. */
static int whole_register(unsigned reg)
{
	static const struct {
		uint16_t parts[5];
	} all[16] = {
		{ { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH } },
		{ { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH } },
		{ { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH } },
		{ { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH } },
		{ { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL } },
		{ { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL } },
		{ { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL } },
		{ { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL } },
		{ { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B } },
		{ { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B } },
		{ { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B } },
		{ { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B } },
		{ { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B } },
		{ { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B } },
		{ { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B } },
		{ { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B } },
	};

	for (int i = 0; reg && i < 16; i++)
		for (int k = 0; k < 5; k++)
			if (all[i].parts[k] == reg)
				return i;
	return -1;
}

/* Does a call give it back as it was? */
static bool is_kept(int reg)
{
	return reg == 3 || reg == 6 || reg == REGISTER_SP || (reg >= 12 && reg <= 15);
}

static bool writes(const struct code *c, const cs_insn *insn, int reg)
{
	cs_regs read, written;
	uint8_t nread, nwritten;

	if (insn->id == X86_INS_CALL)
		return !is_kept(reg);
	if (cs_regs_access(c->capstone, insn, read, &nread, written, &nwritten))
		return true;
	for (int i = 0; i < nwritten; i++)
		if (whole_register(written[i]) == reg)
			return true;
	return false;
}

/* --- the code before the call ------------------------------------------- */

static bool is_jump(const cs_insn *insn)
{
	for (int i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == X86_GRP_JUMP)
			return true;
	return insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE;
}

static bool ends_here(const cs_insn *insn)
{
	return insn->id == X86_INS_RET || insn->id == X86_INS_JMP || insn->id == X86_INS_UD2 || insn->id == X86_INS_HLT;
}

static size_t instruction_at(const cs_insn *instructions, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (instructions[i].address == address)
			return i;
	return count;
}

/* A jump that leaves the function may be to a part of it that was put elsewhere, and from there others may come back.
 */
static bool leaves_for_part(const struct code *c, const cs_insn *insn, uint64_t target)
{
	uint64_t offset;
	struct image *image = stack_image(c->space, target, &offset);
	const struct symbol *symbol = image ? image_symbol_at(image, offset) : NULL;

	return insn->id != X86_INS_JMP || !image ||
	       (symbol && (symbol->offset != offset || strstr(symbol->name, ".cold")));
}

/* Where the piece without a branch into it begins; also whether branches are unknown. All of the function is looked at.
 */
static void find_block(struct code *c)
{
	const cs_insn *all = c->instructions;

	c->block = 0;
	for (size_t i = 0; i + 1 < c->count; i++)
		if (ends_here(&all[i]))
			c->block = i + 1;
	for (size_t i = 0; i < c->all; i++) {
		const cs_x86 *x86 = &all[i].detail->x86;
		size_t target;

		if (!is_jump(&all[i]))
			continue;
		if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM) {
			c->jumps = true;
			continue;
		}
		target = instruction_at(all, c->all, x86->operands[0].imm);
		if (target < c->count && target > c->block)
			c->block = target;
		if (target == c->all && leaves_for_part(c, &all[i], x86->operands[0].imm))
			c->jumps = true;
	}
}

/* Decodes the function up to the return address, which must be the end of a call, and on to its end. */
static bool decode(struct code *c)
{
	const struct stack_frame *caller = c->caller;
	const struct symbol *symbol = image_symbol_at(caller->image, caller->offset - 1);
	uint64_t offset = symbol ? symbol->offset : 0, size = symbol ? symbol->size : 0;
	uint8_t *bytes;
	ssize_t got;

	if (!symbol || offset >= caller->offset || size > FUNCTION_MOST || caller->offset - offset > size)
		return false;
	bytes = malloc(size);
	got = bytes ? pread(caller->image->fd, bytes, size, offset) : -1;
	c->start = caller->pc - (caller->offset - offset);
	if (got == (ssize_t)size)
		c->all = cs_disasm(c->capstone, bytes, size, c->start, 0, &c->instructions);
	free(bytes);
	for (size_t i = 0; i < c->all; i++) {
		const cs_insn *insn = &c->instructions[i], *last = &c->instructions[c->all - 1];

		if (insn->address + insn->size != caller->pc)
			continue;
		if (insn->id != X86_INS_CALL)
			return false;
		c->jumps = last->address + last->size != c->start + size; /* not all of it could be read */
		c->count = i + 1;
		find_block(c);
		return true;
	}
	return false;
}

/* The address in the word that an instruction of this address and size refers to relative to itself. */
static bool read_relative(const struct code *c, const cs_insn *insn, int64_t displacement, uint64_t *word)
{
	return stack_read(c->space, c->look, insn->address + insn->size + displacement, word, sizeof(*word));
}

/* Where a call of this address leads: past an entry of a procedure linkage table to what its word says. */
static uint64_t follow_stub(const struct code *c, uint64_t address)
{
	uint64_t offset, target = 0;
	struct image *image = stack_image(c->space, address, &offset);
	uint8_t bytes[PLT_BYTES];
	cs_insn *insn = NULL;
	size_t count;

	if (!image || pread(image->fd, bytes, sizeof(bytes), offset) != sizeof(bytes))
		return 0;
	count = cs_disasm(c->capstone, bytes, sizeof(bytes), address, 2, &insn);
	for (size_t i = 0; i < count; i++) {
		const cs_x86 *x86 = &insn[i].detail->x86;

		if (insn[i].id == X86_INS_JMP && x86->operands[0].type == X86_OP_MEM &&
		    x86->operands[0].mem.base == X86_REG_RIP)
			read_relative(c, &insn[i], x86->operands[0].mem.disp, &target);
		if (insn[i].id != X86_INS_ENDBR64)
			break;
	}
	if (insn)
		cs_free(insn, count);
	return target;
}

/* Where the call leads; 0: not known. A call of this very function through a table of addresses leads past the table.
 */
static uint64_t call_target(const struct code *c)
{
	const cs_insn *call = &c->instructions[c->count - 1];
	const cs_x86_op *to = &call->detail->x86.operands[0];
	uint64_t target = 0;

	if (to->type == X86_OP_IMM)
		return follow_stub(c, to->imm) ?: (uint64_t)to->imm;
	if (to->type == X86_OP_MEM && to->mem.base == X86_REG_RIP)
		read_relative(c, call, to->mem.disp, &target);
	return target;
}

/* --- one value ---------------------------------------------------------- */

struct found {
	uint64_t value;
	bool known, certain;
};

/* The register at the call itself: it is kept, unwinding has it, and nothing from here on to the call changes it. */
static bool kept_since(const struct code *c, size_t from, int reg)
{
	if (!is_kept(reg) || !(c->caller->registers.known >> reg & 1))
		return false;
	for (size_t i = from; i + 1 < c->count; i++)
		if (writes(c, &c->instructions[i], reg))
			return false;
	return true;
}

/* Is an address taken of this place in the frame, or of one below, from which it could be reached? */
static bool may_be_reached(const struct code *c, int base, int64_t displacement)
{
	for (size_t i = 0; i < c->all; i++) {
		const cs_insn *insn = &c->instructions[i];
		const cs_x86_op *to = &insn->detail->x86.operands[0], *from = &insn->detail->x86.operands[1];

		if (insn->id == X86_INS_LEA && whole_register(from->mem.base) == base &&
		    (from->mem.index || from->mem.disp <= displacement))
			return true;
		if (insn->id == X86_INS_MOV && from->type == X86_OP_REG && whole_register(from->reg) == base &&
		    (to->type != X86_OP_REG || whole_register(to->reg) != REGISTER_SP))
			return true;
	}
	return false;
}

static bool is_read_only(const struct code *c, uint64_t address)
{
	const struct mapping *mapping = space_mapping(c->space, address);

	return mapping && mapping->inode && !mapping->writable;
}

static struct found from_memory(const struct code *c, size_t at, const cs_x86_op *from, bool sign_extends)
{
	const cs_insn *insn = &c->instructions[at];
	int base = whole_register(from->mem.base);
	uint64_t address, word = 0;
	struct found found = { 0 };

	if (from->mem.index || from->mem.segment || (from->size != 4 && from->size != 8))
		return found;
	if (from->mem.base == X86_REG_RIP)
		address = insn->address + insn->size + from->mem.disp;
	else if (base >= 0 && kept_since(c, at, base))
		address = c->caller->registers.value[base] + from->mem.disp;
	else
		return found;
	if (!stack_read(c->space, c->look, address, &word, from->size))
		return found;
	found.value = sign_extends && from->size == 4 ? (uint64_t)(int64_t)(int32_t)word : word;
	found.known = true;
	if (from->mem.base == X86_REG_RIP)
		found.certain = is_read_only(c, address);
	else
		/* In its own frame, and by the frame pointer, so that all its accesses have the same form. */
		found.certain = base == 6 && from->mem.disp < 0 && !may_be_reached(c, base, from->mem.disp) &&
				!c->jumps;
	return found;
}

static struct found from_address(const struct code *c, size_t at, const cs_x86_op *from)
{
	const cs_insn *insn = &c->instructions[at];
	int base = whole_register(from->mem.base);
	struct found found = { 0 };

	if (from->mem.index || from->mem.segment)
		return found;
	if (from->mem.base == X86_REG_RIP)
		found = (struct found){ insn->address + insn->size + from->mem.disp, true, true };
	else if (base >= 0 && kept_since(c, at, base))
		found = (struct found){ c->caller->registers.value[base] + from->mem.disp, true, true };
	return found;
}

/* What the instruction puts into the register; *next: it is what that register had before. */
static struct found from_instruction(const struct code *c, size_t at, int *next, bool *narrow)
{
	const cs_insn *insn = &c->instructions[at];
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];

	*next = -1;
	if (x86->op_count != 2 || to->type != X86_OP_REG || to->size < 4)
		return (struct found){ 0 };
	*narrow |= to->size == 4;
	if (insn->id == X86_INS_XOR && from->type == X86_OP_REG && from->reg == to->reg)
		return (struct found){ 0, true, true };
	if (insn->id == X86_INS_LEA)
		return from_address(c, at, from);
	if (insn->id != X86_INS_MOV && insn->id != X86_INS_MOVABS && insn->id != X86_INS_MOVSXD)
		return (struct found){ 0 };
	if (from->type == X86_OP_IMM)
		return (struct found){ from->imm, true, true };
	if (from->type == X86_OP_MEM)
		return from_memory(c, at, from, insn->id == X86_INS_MOVSXD);
	if (insn->id != X86_INS_MOVSXD)
		*next = whole_register(from->reg);
	return (struct found){ 0 };
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
		while (at > c->block && !writes(c, &c->instructions[at - 1], reg))
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

static bool open_code(struct code *c)
{
	if (!c->caller->image || c->caller->exact || c->caller->guessed || disassembler_open(&c->capstone))
		return false;
	cs_option(c->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	return true;
}

static void close_code(struct code *c)
{
	if (c->instructions)
		cs_free(c->instructions, c->all);
	cs_close(&c->capstone);
}

/* --- what the function itself has kept ---------------------------------- */

/* Does anything jump to an instruction of the first `count`? To the very first, too: what they do would be done again.
 */
static bool is_jumped_into(const struct code *c, size_t count)
{
	for (size_t i = 0; i < c->all; i++) {
		const cs_x86 *x86 = &c->instructions[i].detail->x86;

		if (is_jump(&c->instructions[i]) && x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM &&
		    instruction_at(c->instructions, count, x86->operands[0].imm) < count)
			return true;
	}
	return false;
}

/* Is the register given a value by this instruction alone, but for being given back at the end? */
static bool is_set_once(const struct code *c, size_t at, int reg)
{
	for (size_t i = 0; i < c->all; i++)
		if (i != at && c->instructions[i].id != X86_INS_POP && c->instructions[i].id != X86_INS_LEAVE &&
		    writes(c, &c->instructions[i], reg))
			return false;
	return true;
}

/* An argument that the function moved into a register that calls keep, at its very beginning, and never changes there.
 */
static struct found find_kept(const struct code *c, int reg)
{
	struct found found = { 0 };

	for (size_t i = 0; i < c->all; i++) {
		const cs_insn *insn = &c->instructions[i];
		const cs_x86 *x86 = &insn->detail->x86;
		int to;

		if (is_jump(insn) || ends_here(insn) || insn->id == X86_INS_CALL)
			return found;
		to = insn->id == X86_INS_MOV && x86->operands[0].type == X86_OP_REG
			     ? whole_register(x86->operands[0].reg)
			     : -1;
		if (to >= 0 && to != REGISTER_SP && is_kept(to) && x86->operands[1].type == X86_OP_REG &&
		    whole_register(x86->operands[1].reg) == reg && c->caller->registers.known >> to & 1 &&
		    is_set_once(c, i, to) && !is_jumped_into(c, i + 1)) {
			found = (struct found){ c->caller->registers.value[to], true, !c->jumps };
			if (x86->operands[0].size == 4)
				found.value = (uint32_t)found.value;
			return found;
		}
		if (writes(c, insn, reg))
			return found;
	}
	return found;
}

void stack_kept_arguments(struct stack_space *space, const struct thread_look *look, const struct stack_frame *own,
			  struct call_arguments *arguments)
{
	struct code c = { .space = space, .look = look, .caller = own };

	if (!open_code(&c))
		return;
	for (int i = 0; i < GB_REGISTERS && (i || decode(&c)); i++) {
		struct found found = arguments->certain >> i & 1 ? (struct found){ 0 } : find_kept(&c, passed_in[i]);

		if (!found.known || (arguments->known >> i & 1 && !found.certain))
			continue;
		arguments->word[i] = found.value;
		arguments->known |= 1u << i;
		arguments->certain |= found.certain << i;
	}
	close_code(&c);
}

uint64_t stack_called(struct stack_space *space, const struct thread_look *look, const struct stack_frame *caller)
{
	struct code c = { .space = space, .look = look, .caller = caller };
	uint64_t target;

	if (!open_code(&c))
		return 0;
	target = decode(&c) ? call_target(&c) : 0;
	close_code(&c);
	return target;
}

void stack_arguments(struct stack_space *space, const struct thread_look *look, const struct stack_frame *caller,
		     uint64_t callee, struct call_arguments *arguments)
{
	struct code c = { .space = space, .look = look, .caller = caller };

	memset(arguments, 0, sizeof(*arguments));
	if (!open_code(&c))
		return;
	if (decode(&c) && callee && call_target(&c) == callee) {
		for (int i = 0; i < GB_REGISTERS; i++) {
			struct found found = find_value(&c, passed_in[i]);

			arguments->word[i] = found.value;
			arguments->known |= found.known << i;
			arguments->certain |= (found.known && found.certain) << i;
		}
	}
	close_code(&c);
}
