/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.c - see arch/steps.h: from libcapstone's operands, which stand in Intel's order, the changed one first.
 */
#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "arch/steps.h"
#include "arch/x86_64/x86_private.h"

#define GENERAL_REGISTERS 16

static uint32_t written(const struct decoder *decoder, const cs_insn *insn)
{
	cs_regs read, write;
	uint8_t nread, nwrite;
	uint32_t all = 0;

	if (cs_regs_access(decoder->handle, insn, read, &nread, write, &nwrite))
		return ~0u;
	for (int i = 0; i < nwrite; i++) {
		int reg = register_number(write[i]);

		if (reg >= 0)
			all |= 1u << reg;
	}
	return all;
}

static uint32_t lost_by_calls(void)
{
	uint32_t lost = 0;

	for (int reg = 0; reg < GENERAL_REGISTERS; reg++)
		lost |= !arch_keeps(reg) << reg;
	return lost;
}

static uint8_t flow_of(const cs_insn *insn)
{
	uint8_t flow = 0;

	for (int i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == X86_GRP_JUMP)
			flow |= STEP_JUMPS;
	switch (insn->id) {
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
		return flow | STEP_JUMPS;
	case X86_INS_RET:
	case X86_INS_JMP:
	case X86_INS_UD2:
	case X86_INS_HLT:
		return flow | STEP_ENDS;
	case X86_INS_CALL:
		return flow | STEP_CALLS;
	case X86_INS_POP:
	case X86_INS_LEAVE:
		return flow | STEP_RESTORES;
	default:
		return flow;
	}
}

static void take_target(struct code_step *step, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0];

	if (x86->op_count != 1)
		return;
	step->aims = to->type == X86_OP_IMM;
	step->target = step->aims ? (uint64_t)to->imm : 0;
	if (step->flow & STEP_CALLS && to->type == X86_OP_MEM && to->mem.base == X86_REG_RIP) {
		step->aims = step->through_word = true;
		step->target = insn->address + insn->size + to->mem.disp;
	}
}

static void take_memory(struct code_step *step, const cs_insn *insn, const cs_x86_op *from)
{
	step->plain = !from->mem.index && !from->mem.segment;
	step->relative = from->mem.base == X86_REG_RIP;
	step->base = register_number(from->mem.base);
	step->value = from->mem.disp + (step->relative ? insn->address + insn->size : 0);
	step->reads = from->size;
}

static void take_move(struct code_step *step, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];

	if (x86->op_count != 2)
		return;
	step->to = to->type == X86_OP_REG ? register_number(to->reg) : -1;
	step->width = to->size;
	switch (insn->id) {
	case X86_INS_XOR: /* with itself: 0 */
		if (to->type == X86_OP_REG && from->type == X86_OP_REG && from->reg == to->reg)
			step->move = MOVE_CONSTANT;
		break;
	case X86_INS_LEA:
		step->move = MOVE_ADDRESS;
		take_memory(step, insn, from);
		break;
	case X86_INS_MOVSXD:
		step->sign_extends = true;
		/* fall through */
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		if (from->type == X86_OP_IMM) {
			step->move = MOVE_CONSTANT;
			step->value = from->imm;
		} else if (from->type == X86_OP_MEM) {
			step->move = MOVE_MEMORY;
			take_memory(step, insn, from);
		} else if (!step->sign_extends) {
			step->move = MOVE_REGISTER;
			step->from = register_number(from->reg);
		}
		break;
	default:
		break;
	}
}

static struct code_step step_of(const struct decoder *decoder, const cs_insn *insn)
{
	struct code_step step = {
		.address = insn->address,
		.size = insn->size,
		.flow = flow_of(insn),
		.to = -1,
		.from = -1,
		.base = -1,
	};

	step.writes = step.flow & STEP_CALLS ? lost_by_calls() : written(decoder, insn);
	if (step.flow & (STEP_CALLS | STEP_JUMPS))
		take_target(&step, insn);
	else
		take_move(&step, insn);
	return step;
}

int code_steps_read(const uint8_t *code, size_t size, uint64_t address, struct code_step **steps, size_t *count)
{
	struct decoder *decoder;
	const cs_insn *insn;
	int err = decoder_new(&decoder);

	*count = 0;
	if (err)
		return err;
	*steps = malloc((size + 1) * sizeof(**steps)); /* as many as there can be */
	err = *steps ? 0 : -ENOMEM;
	while (!err && size && (insn = decode(decoder, code, size, address, true))) {
		(*steps)[(*count)++] = step_of(decoder, insn);
		code += insn->size;
		size -= insn->size;
		address += insn->size;
	}
	decoder_free(decoder);
	return err;
}

/* Whatever aims or is relative counts from the instruction itself: in 64-bit code there is nothing else (take_target(),
 * take_memory()). */
void code_steps_move(struct code_step *steps, size_t count, uint64_t by)
{
	for (size_t i = 0; i < count; i++) {
		steps[i].address += by;
		if (steps[i].aims)
			steps[i].target += by;
		if (steps[i].relative)
			steps[i].value += by;
	}
}
