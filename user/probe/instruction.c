/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instruction.c - what placement must know about one instruction.
 *
 * Lengths and operands come from libcapstone. What decides about a branch is read from the bytes themselves: there are
 * few encodings, and a disassembler's idea of an operand's access is not what a job's life should hang on. For the
 * same reason the instructions that may run before a probe are a list of those known to be harmless, not all but
 * those known to be harmful.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "probe/instruction.h"
#include "util/disassembler.h"

#define FRAME_MOST (1u << 20) /* bytes that a function takes for itself in one step */

struct decoder {
	csh handle;
	cs_insn *scratch;
};

int decoder_new(struct decoder **result)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));
	int err;

	*result = NULL;
	if (!decoder)
		return -ENOMEM;
	err = disassembler_open(&decoder->handle);
	if (err) {
		free(decoder);
		return err;
	}
	cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON); /* cs_malloc() makes room for it only now */
	decoder->scratch = cs_malloc(decoder->handle);
	if (!decoder->scratch) {
		decoder_free(decoder);
		return -ENOMEM;
	}
	*result = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->scratch)
		cs_free(decoder->scratch, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

static const cs_insn *decode(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address, bool detail)
{
	cs_option(decoder->handle, CS_OPT_DETAIL, detail ? CS_OPT_ON : CS_OPT_OFF);
	return cs_disasm_iter(decoder->handle, &code, &size, &address, decoder->scratch) ? decoder->scratch : NULL;
}

unsigned instruction_length(struct decoder *decoder, const uint8_t *code, size_t size)
{
	unsigned length = instruction_plain_length(code, size);
	const cs_insn *i = length ? NULL : decode(decoder, code, size, 0, false);

	return length ?: i ? i->size : 0;
}

unsigned instruction_shift(struct decoder *decoder, const uint8_t *code, size_t size)
{
	const cs_insn *i = decode(decoder, code, size, 0, true);
	const cs_x86_op *last = i && i->detail->x86.op_count ? &i->detail->x86.operands[i->detail->x86.op_count - 1]
							     : NULL;

	if (!last || (i->id != X86_INS_SHR && i->id != X86_INS_SAR && i->id != X86_INS_RORX && i->id != X86_INS_SHRX))
		return 0;
	return last->type == X86_OP_IMM ? last->imm & 63 : 0;
}

bool instruction_text(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address, char *text,
		      size_t room)
{
	const cs_insn *i;

	cs_option(decoder->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	i = decode(decoder, code, size, address, false);
	cs_option(decoder->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_INTEL); /* its order of operands counts elsewhere */
	if (!i)
		return false;
	snprintf(text, room, "%s%s%s", i->mnemonic, *i->op_str ? " " : "", i->op_str);
	return true;
}

/* --- from the bytes ---------------------------------------------------- */

static bool is_legacy_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x26 || b == 0x2e || b == 0x36 ||
	       b == 0x3e || b == 0x64 || b == 0x65;
}

/* Index of the first byte of the opcode. */
static unsigned skip_prefixes(const uint8_t *code, unsigned length)
{
	unsigned i = 0;

	while (i < length && is_legacy_prefix(code[i]))
		i++;
	if (i < length && (code[i] & 0xf0) == 0x40) /* REX */
		i++;
	return i;
}

static int64_t read_displacement(const uint8_t *code, unsigned length, unsigned bytes)
{
	int32_t wide;

	if (length < bytes)
		return 0;
	if (bytes == 1)
		return (int8_t)code[length - 1];
	memcpy(&wide, code + length - bytes, sizeof(wide));
	return wide;
}

enum transfer instruction_transfer(const uint8_t *code, unsigned length, int64_t *displacement, bool *always)
{
	unsigned at = skip_prefixes(code, length);
	uint8_t op = at < length ? code[at] : 0, next = at + 1 < length ? code[at + 1] : 0;

	*displacement = 0;
	*always = false;
	if (op == 0xeb || op == 0xe9) { /* jmp */
		*displacement = read_displacement(code, length, op == 0xeb ? 1 : 4);
		*always = true;
		return TRANSFER_BRANCH;
	}
	if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0) { /* jcc; loop, jrcxz */
		*displacement = read_displacement(code, length, 1);
		return TRANSFER_BRANCH;
	}
	if ((op == 0x0f && (next & 0xf0) == 0x80) || (op == 0xc7 && next == 0xf8)) { /* jcc; xbegin */
		*displacement = read_displacement(code, length, 4);
		return TRANSFER_BRANCH;
	}
	if (op == 0xe8) { /* call */
		*displacement = read_displacement(code, length, 4);
		return TRANSFER_CALL;
	}
	if (op == 0xff && ((next >> 3 & 7) == 4 || (next >> 3 & 7) == 5)) { /* jmp through register or memory */
		*always = true;
		return TRANSFER_INDIRECT;
	}
	if ((op & 0xf6) == 0xc2 || op == 0xcf || op == 0xf4 || (op == 0x0f && next == 0x0b)) { /* ret, iret, hlt, ud2 */
		*always = true;
		return TRANSFER_END;
	}
	return TRANSFER_NONE;
}

/* Does a ModRM operand, which begins at `at`, stand for memory, with no index register? */
static bool is_plain_memory(const uint8_t *code, unsigned length, unsigned at)
{
	uint8_t rex = at >= 2 && (code[at - 2] & 0xf0) == 0x40 ? code[at - 2] : 0;

	if (at >= length || code[at] >> 6 == 3)
		return false;
	if ((code[at] & 7) != 4)
		return true;
	return at + 1 < length && (code[at + 1] >> 3 & 7) == 4 && !(rex & 2); /* SIB without an index */
}

enum jump_source instruction_jump_source(const uint8_t *code, unsigned length, unsigned *reg)
{
	unsigned at = skip_prefixes(code, length);
	uint8_t rex = at ? code[at - 1] : 0;

	if (at + 1 >= length || code[at] != 0xff || (code[at + 1] >> 3 & 7) != 4)
		return JUMP_COMPUTED;
	if (code[at + 1] >> 6 == 3) {
		*reg = (code[at + 1] & 7) | ((rex & 0xf0) == 0x40 && rex & 1 ? 8 : 0);
		return JUMP_REGISTER;
	}
	return is_plain_memory(code, length, at + 1) ? JUMP_POINTER : JUMP_COMPUTED;
}

bool instruction_is_return(const uint8_t *code, unsigned length)
{
	unsigned at = skip_prefixes(code, length);

	return at < length && (code[at] == 0xc3 || code[at] == 0xc2);
}

int instruction_condition(const uint8_t *code, unsigned length)
{
	unsigned at = skip_prefixes(code, length);

	if (at < length && (code[at] & 0xf0) == 0x70)
		return code[at] & 0x0f;
	if (at + 1 < length && code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80)
		return code[at + 1] & 0x0f;
	return -1;
}

bool instruction_is_stub(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;

	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at < size && code[at] == 0xf2) /* bnd */
		at++;
	return at + 1 < size && code[at] == 0xff && code[at + 1] == 0x25;
}

bool instruction_lea(const uint8_t *code, unsigned length, uint64_t address, uint64_t *target)
{
	if (length != 7 || (code[0] & 0xf8) != 0x48 || code[1] != 0x8d || (code[2] & 0xc7) != 0x05)
		return false;
	*target = address + length + read_displacement(code, length, 4);
	return true;
}

bool instruction_load_word(const uint8_t *code, unsigned length, uint64_t address, uint64_t *word)
{
	if (length != 7 || (code[0] & 0xf8) != 0x48 || code[1] != 0x8b || (code[2] & 0xc7) != 0x05)
		return false;
	*word = address + length + read_displacement(code, length, 4);
	return true;
}

bool instruction_constant(const uint8_t *code, unsigned length, uint32_t *constant)
{
	bool plain = length == 5 && (code[0] & 0xf8) == 0xb8;
	bool extended = length == 6 && code[0] == 0x41 && (code[1] & 0xf8) == 0xb8;
	bool wide = length == 7 && (code[0] & 0xfe) == 0x48 && code[1] == 0xc7 && (code[2] & 0xf8) == 0xc0;

	if (!plain && !extended && !wide)
		return false;
	memcpy(constant, code + length - sizeof(*constant), sizeof(*constant));
	return !wide || !(*constant >> 31);
}

/*
 * branch_setup_xol_ops() and push_setup_xol_ops() in arch/x86/kernel/uprobes.c, as of every kernel since 5.15: nop,
 * jmp, jcc and call to a relative target, push of a register. A 66 prefix is fine with nop only. A REX prefix makes
 * another instruction of 90, and is emulated on push only as 41. Prefixed forms that nobody uses are left out here:
 * that costs time at most. The nop of 5 bytes becomes a call since Linux 6.18 where it does not cross a page (that is
 * for the caller to see); before it is stepped, as are the further nops, which 6.18 emulates.
 */
enum site_class instruction_class(const uint8_t *code, unsigned length)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	if (length == sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5)))
		return SITE_NOP5;
	if ((length == 1 && code[0] >= 0x50 && code[0] <= 0x57) ||
	    (length == 2 && code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) ||
	    (length == 1 && code[0] == 0x90) || (length == 2 && code[0] == 0x66 && code[1] == 0x90) ||
	    (length == 5 && (code[0] == 0xe8 || code[0] == 0xe9)) || (length == 2 && code[0] == 0xeb) ||
	    (length == 2 && (code[0] & 0xf0) == 0x70) || (length == 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80))
		return SITE_EMULATED;
	return SITE_STEPPED;
}

static bool is_push(const uint8_t *code, unsigned length)
{
	if (length == 2 && code[0] == 0x41)
		return code[1] >= 0x50 && code[1] <= 0x57;
	return length == 1 && code[0] >= 0x50 && code[0] <= 0x57;
}

unsigned instruction_lowers_stack(const uint8_t *code, unsigned length)
{
	uint32_t bytes;

	if (is_push(code, length))
		return 8;
	if (length == 4 && code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec && code[3] < 0x80)
		return code[3]; /* sub $imm8,%rsp */
	if (length != 7 || code[0] != 0x48 || code[1] != 0x81 || code[2] != 0xec)
		return 0;
	memcpy(&bytes, code + 3, sizeof(bytes)); /* sub $imm32,%rsp */
	return bytes <= FRAME_MOST ? bytes : 0;
}

bool instruction_stack_operand(const uint8_t *code, unsigned length, enum stack_base *base, int64_t *distance)
{
	unsigned at = skip_prefixes(code, length);
	uint8_t rex = at && (code[at - 1] & 0xf0) == 0x40 ? code[at - 1] : 0, op = at < length ? code[at] : 0, mod, rm;

	at += op == 0x0f ? 2 : 1;
	/* Of the opcodes without a ModRM byte none has such an operand. */
	if (at >= length || (op >= 0x50 && op < 0x62) || (op >= 0x70 && op < 0x80) || (op >= 0xb0 && op < 0xc0) ||
	    op == 0xe8 || op == 0xe9 || op == 0xeb || (op < 0x40 && (op & 7) > 3 && op != 0x0f) || op == 0x68 ||
	    op == 0x6a || op == 0xa8 || op == 0xa9 || op == 0xc2 || rex & 1)
		return false;
	mod = code[at] >> 6;
	rm = code[at] & 7;
	if (mod == 3)
		return false;
	if (rm == 4) { /* a SIB byte: rsp, and no index */
		if (++at >= length || code[at] != 0x24)
			return false;
		*base = BASE_RSP;
	} else if (rm == 5 && mod != 0) {
		*base = BASE_RBP;
	} else {
		return false;
	}
	*distance = mod == 0 ? 0
			     : read_displacement(code + at + 1,
						 length > at + 1 && mod == 1 ? 1
						 : length > at + 4           ? 4
									     : 0,
						 mod == 1 ? 1 : 4);
	return true;
}

/*
 * A VEX, EVEX, XOP or REX2 prefix, or REX.B before 90 (xchg with r8). The kernel looks at the byte behind these as if
 * they were not there, and runs some as what it would be alone: vmovdqu (7f) as a jump, vpor (eb) as another one, xchg
 * as a nop (branch_setup_xol_ops() in arch/x86/kernel/uprobes.c, up to Linux 6.18 at least). Which ones those are
 * differs from kernel to kernel, so none is probed.
 */
static bool is_misread(const uint8_t *code, size_t size)
{
	size_t at = 0;

	while (at < size && is_legacy_prefix(code[at]))
		at++;
	if (at + 1 >= size)
		return false;
	if (code[at] == 0x8f)
		return code[at + 1] & 0x38; /* XOP; else pop */
	return code[at] == 0xc4 || code[at] == 0xc5 || code[at] == 0x62 || code[at] == 0xd5 ||
	       ((code[at] & 0xf1) == 0x41 && code[at + 1] == 0x90);
}

/* is_prefix_bad() in arch/x86/kernel/uprobes.c: lock, and the es, cs, ss and ds overrides. */
bool instruction_refused(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size && is_legacy_prefix(code[i]); i++)
		if (code[i] == 0xf0 || code[i] == 0x26 || code[i] == 0x2e || code[i] == 0x36 || code[i] == 0x3e)
			return true;
	return size == 0 || is_misread(code, size);
}

/* --- from the operands ------------------------------------------------- */

/* The number of a general register, whatever part of it is named; -1: it is none. */
static int register_number(x86_reg reg)
{
	switch (reg) {
	case X86_REG_RAX:
	case X86_REG_EAX:
	case X86_REG_AX:
	case X86_REG_AL:
	case X86_REG_AH:
		return 0;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return 1;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return 2;
	case X86_REG_RBX:
	case X86_REG_EBX:
	case X86_REG_BX:
	case X86_REG_BL:
	case X86_REG_BH:
		return 3;
	case X86_REG_RSP:
	case X86_REG_ESP:
	case X86_REG_SP:
	case X86_REG_SPL:
		return 4;
	case X86_REG_RBP:
	case X86_REG_EBP:
	case X86_REG_BP:
	case X86_REG_BPL:
		return 5;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return 6;
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return 7;
	case X86_REG_R8:
	case X86_REG_R8D:
	case X86_REG_R8W:
	case X86_REG_R8B:
		return 8;
	case X86_REG_R9:
	case X86_REG_R9D:
	case X86_REG_R9W:
	case X86_REG_R9B:
		return 9;
	case X86_REG_R10:
	case X86_REG_R10D:
	case X86_REG_R10W:
	case X86_REG_R10B:
		return 10;
	case X86_REG_R11:
	case X86_REG_R11D:
	case X86_REG_R11W:
	case X86_REG_R11B:
		return 11;
	case X86_REG_R12:
	case X86_REG_R12D:
	case X86_REG_R12W:
	case X86_REG_R12B:
		return 12;
	case X86_REG_R13:
	case X86_REG_R13D:
	case X86_REG_R13W:
	case X86_REG_R13B:
		return 13;
	case X86_REG_R14:
	case X86_REG_R14D:
	case X86_REG_R14W:
	case X86_REG_R14B:
		return 14;
	case X86_REG_R15:
	case X86_REG_R15D:
	case X86_REG_R15W:
	case X86_REG_R15B:
		return 15;
	default:
		return -1;
	}
}

#define STACK_POINTER 4

/* Segment, control, debug and other registers that have effects of their own. */
static bool is_special(x86_reg reg)
{
	/* Probes see no vector registers, so none of them is an argument to lose. */
	return register_number(reg) < 0 && reg != X86_REG_EFLAGS && !(reg >= X86_REG_XMM0 && reg <= X86_REG_XMM15);
}

enum load instruction_load(struct decoder *decoder, const uint8_t *code, unsigned length, unsigned reg)
{
	const cs_insn *i = decode(decoder, code, length, 0, true);
	bool wide = length > 2 && (code[0] & 0xf8) == 0x48; /* REX.W */
	cs_regs read, written;
	uint8_t nread, nwritten;

	if (!i || cs_regs_access(decoder->handle, i, read, &nread, written, &nwritten) != CS_ERR_OK)
		return LOAD_OTHER;
	if (wide && code[1] == 0x8b && (unsigned)((code[2] >> 3 & 7) | (code[0] & 4 ? 8 : 0)) == reg &&
	    code[2] >> 6 != 3)
		return is_plain_memory(code, length, 2) ? LOAD_POINTER : LOAD_ENTRY;
	for (unsigned w = 0; w < nwritten; w++)
		if (register_number(written[w]) == (int)reg)
			return i->id == X86_INS_ADD || i->id == X86_INS_MOVSXD ? LOAD_ENTRY : LOAD_OTHER;
	return LOAD_NOTHING;
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
	static const uint8_t arguments[GB_REGISTERS] = { 7, 6, 2, 1, 8, 9 };
	int number = register_number(reg);

	for (unsigned i = 0; i < GB_REGISTERS; i++)
		if (number == arguments[i] && registers >> i & 1)
			return "an instruction before the first cheap one changes an argument's register";
	if (number == STACK_POINTER)
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
