/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harm.c - may an instruction run before the probe on its function?
 *
 * Those that may are a list of what is known to be harmless, not all but those known to be harmful.
 */
#include "arch/instruction.h"
#include "arch/x86_64/x86_private.h"

/* Segment, control, debug and other registers that have effects of their own. */
static bool is_special(x86_reg reg)
{
	/* Probes see no vector registers, so none of them is an argument to lose. */
	return register_number(reg) < 0 && reg != X86_REG_EFLAGS && !(reg >= X86_REG_XMM0 && reg <= X86_REG_XMM15);
}

enum effect { UNKNOWN, READS_ONLY, WRITES_FIRST };

/*
 * The instructions that may run first: those that read their operands only, and those that besides flags write
 * nothing but the operand that stands first in Intel's order.
 */
static enum effect effect_of(const cs_insn *i, unsigned operands)
{
	switch (i->id) {
	case X86_INS_ENDBR64:
	case X86_INS_NOP:
	case X86_INS_CMP:
	case X86_INS_TEST:
	case X86_INS_BT:
	case X86_INS_COMISS:
	case X86_INS_COMISD:
	case X86_INS_UCOMISS:
	case X86_INS_UCOMISD:
		return READS_ONLY;
	case X86_INS_IMUL: /* with one operand it writes rdx, too */
		return operands >= 2 ? WRITES_FIRST : UNKNOWN;
	case X86_INS_CDQE:
	case X86_INS_CWDE: /* rax from itself */
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_LEA:
	case X86_INS_XOR:
	case X86_INS_AND:
	case X86_INS_OR:
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_ADC:
	case X86_INS_SBB:
	case X86_INS_NOT:
	case X86_INS_NEG:
	case X86_INS_INC:
	case X86_INS_DEC:
	case X86_INS_SHL:
	case X86_INS_SAL:
	case X86_INS_SHR:
	case X86_INS_SAR:
	case X86_INS_ROL:
	case X86_INS_ROR:
	case X86_INS_BSWAP:
	case X86_INS_BSF:
	case X86_INS_BSR:
	case X86_INS_TZCNT:
	case X86_INS_LZCNT:
	case X86_INS_POPCNT:
	case X86_INS_CMOVA:
	case X86_INS_CMOVAE:
	case X86_INS_CMOVB:
	case X86_INS_CMOVBE:
	case X86_INS_CMOVE:
	case X86_INS_CMOVNE:
	case X86_INS_CMOVG:
	case X86_INS_CMOVGE:
	case X86_INS_CMOVL:
	case X86_INS_CMOVLE:
	case X86_INS_CMOVS:
	case X86_INS_CMOVNS:
	case X86_INS_SETA:
	case X86_INS_SETAE:
	case X86_INS_SETB:
	case X86_INS_SETBE:
	case X86_INS_SETE:
	case X86_INS_SETNE:
	case X86_INS_SETG:
	case X86_INS_SETGE:
	case X86_INS_SETL:
	case X86_INS_SETLE:
	case X86_INS_SETS:
	case X86_INS_SETNS:
	case X86_INS_MOVD:
	case X86_INS_MOVQ:
	case X86_INS_MOVSS:
	case X86_INS_MOVSD:
	case X86_INS_MOVAPS:
	case X86_INS_MOVAPD:
	case X86_INS_MOVUPS:
	case X86_INS_MOVUPD:
	case X86_INS_MOVDQA:
	case X86_INS_MOVDQU:
	case X86_INS_MOVHPS:
	case X86_INS_PXOR:
	case X86_INS_XORPS:
	case X86_INS_XORPD:
	case X86_INS_POR:
	case X86_INS_PCMPEQD:
	case X86_INS_PUNPCKLQDQ:
	case X86_INS_PUNPCKLDQ:
	case X86_INS_UNPCKLPS:
	case X86_INS_PSHUFD:
	case X86_INS_SHUFPS:
	case X86_INS_CVTSI2SD:
	case X86_INS_CVTSI2SS:
	case X86_INS_CVTSS2SD:
	case X86_INS_CVTSD2SS:
	case X86_INS_CVTTSD2SI:
	case X86_INS_CVTTSS2SI:
		return WRITES_FIRST;
	default:
		return UNKNOWN;
	}
}

static const char unknown[] = "an instruction before the first cheap one is not among those known to be harmless";

/* What is lost by writing a register. */
static const char *writing(x86_reg reg, uint8_t registers)
{
	int number = register_number(reg);

	for (unsigned i = 0; i < GB_REGISTERS; i++)
		if (number == arch_arguments[i] && registers >> i & 1)
			return "an instruction before the first cheap one changes an argument's register";
	if (number == REGISTER_SP)
		return "the stack pointer is moved before the first cheap instruction";
	return is_special(reg) ? unknown : NULL;
}

/* What the disassembler knows of registers that are written, as a second opinion. */
static const char *writes_registers(struct decoder *decoder, const cs_insn *i, uint8_t registers)
{
	cs_regs read, written;
	uint8_t nread, nwritten;

	if (cs_regs_access(decoder->handle, i, read, &nread, written, &nwritten) != CS_ERR_OK)
		return unknown;
	for (unsigned r = 0; r < nwritten; r++) {
		const char *why = writing(written[r], registers);

		if (why)
			return why;
	}
	return NULL;
}

const char *instruction_harm(struct decoder *decoder, const uint8_t *code, size_t size, uint8_t registers)
{
	const cs_insn *i = decode(decoder, code, size, 0, true);
	const cs_x86_op *target;
	const cs_x86 *x;
	int64_t displacement;
	enum effect effect;
	bool always;

	if (!i)
		return "there is code that cannot be decoded";
	if (instruction_transfer(code, i->size, &displacement, &always) != TRANSFER_NONE || i->id == X86_INS_CALL)
		return "it calls, jumps or returns before the first cheap instruction";
	x = &i->detail->x86;
	effect = effect_of(i, x->op_count);
	if (effect == UNKNOWN || x->prefix[0] == X86_PREFIX_LOCK)
		return writes_registers(decoder, i, registers) ?: unknown;
	for (unsigned o = 0; o < x->op_count; o++)
		if (x->operands[o].type == X86_OP_REG && is_special(x->operands[o].reg))
			return unknown;
	target = effect == WRITES_FIRST && x->op_count ? &x->operands[0] : NULL;
	if (target && target->type != X86_OP_REG)
		return "memory is written before the first cheap instruction";
	return (target ? writing(target->reg, registers) : NULL) ?: writes_registers(decoder, i, registers);
}
