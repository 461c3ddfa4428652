/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instruction.c - what placement must know about one instruction.
 *
 * Lengths and operands come from libcapstone. What decides about a branch is read from the bytes themselves: there are
 * few encodings, and a disassembler's idea of an operand's access is not what a job's life should hang on. For the
 * same reason what may run before a probe is a list of its own (harm.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "arch/instruction.h"
#include "arch/x86_64/x86_private.h"

#define FRAME_MOST (1u << 20) /* bytes that a function takes for itself in one step */

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

const cs_insn *decode(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address, bool detail)
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

/* DWARF's numbers of registers, by those of the processor. */
static const uint8_t encoded[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

/* --- from the bytes ---------------------------------------------------- */

bool is_legacy_prefix(uint8_t b)
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
bool is_plain_memory(const uint8_t *code, unsigned length, unsigned at)
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
		*reg = encoded[(code[at + 1] & 7) | ((rex & 0xf0) == 0x40 && rex & 1 ? 8 : 0)];
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

unsigned instruction_mark(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
}

bool instruction_is_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *word)
{
	size_t at = instruction_mark(code, size);

	if (at < size && code[at] == 0xf2) /* bnd */
		at++;
	if (size - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	*word = address + at + 6 + read_displacement(code + at, 6, 4);
	return true;
}

unsigned instruction_forms_bytes(void)
{
	return 7;
}

bool instruction_forms(const uint8_t *code, unsigned length, uint64_t address, uint64_t *target)
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

/* An opcode, ModRM and SIB without a base, 32 bits: the jump itself, or a mov before it. */
bool instruction_names_table(const uint8_t *code, unsigned length, uint64_t *table)
{
	int32_t address;

	if (length < 7 || (code[length - 7] != 0xff && code[length - 7] != 0x8b) || (code[length - 6] & 0xc7) != 0x04 ||
	    (code[length - 5] & 0xc7) != 0xc5)
		return false;
	memcpy(&address, code + length - sizeof(address), sizeof(address));
	*table = (int64_t)address;
	return true;
}

const char *site_class_name(enum site_class class)
{
	static const char *const names[SITE_CLASSES] = { "nop5", "emulated", "stepped" };

	return class < SITE_CLASSES ? names[class] : "?";
}

bool instruction_is_optimized(const uint8_t *code, size_t size)
{
	static const uint8_t nop5[OPTIMIZED_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	return size >= sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5));
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
	if (length == OPTIMIZED_SIZE && instruction_is_optimized(code, length))
		return SITE_OPTIMIZED;
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

bool instruction_raises_stack(const uint8_t *code, unsigned length)
{
	return (length == 1 && (code[0] & 0xf8) == 0x58) ||
	       (length == 2 && code[0] == 0x41 && (code[1] & 0xf8) == 0x58);
}

/* mov %rsp,%rbp, in both of its forms */
bool instruction_sets_frame(const uint8_t *code, unsigned length)
{
	return length == 3 && code[0] == 0x48 &&
	       ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
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
		*base = BASE_STACK;
	} else if (rm == 5 && mod != 0) {
		*base = BASE_FRAME;
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

#define BREAKPOINT 0xcc
#define CALL 0xe8

bool instructions_are_changed(const uint8_t *file, const uint8_t *memory, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (memory[i] == file[i] || memory[i] == BREAKPOINT)
			continue;
		if (memory[i] != CALL || !instruction_is_optimized(file + i, size - i))
			return true;
		i += OPTIMIZED_SIZE - 1;
	}
	return false;
}

/* --- from the operands ------------------------------------------------- */

#define KNOWN 0x10

int register_number(x86_reg reg)
{
	static const uint8_t numbers[X86_REG_ENDING] = {
		[X86_REG_RAX] = KNOWN | 0,   [X86_REG_EAX] = KNOWN | 0,   [X86_REG_AX] = KNOWN | 0,
		[X86_REG_AL] = KNOWN | 0,    [X86_REG_AH] = KNOWN | 0,    [X86_REG_RDX] = KNOWN | 1,
		[X86_REG_EDX] = KNOWN | 1,   [X86_REG_DX] = KNOWN | 1,    [X86_REG_DL] = KNOWN | 1,
		[X86_REG_DH] = KNOWN | 1,    [X86_REG_RCX] = KNOWN | 2,   [X86_REG_ECX] = KNOWN | 2,
		[X86_REG_CX] = KNOWN | 2,    [X86_REG_CL] = KNOWN | 2,    [X86_REG_CH] = KNOWN | 2,
		[X86_REG_RBX] = KNOWN | 3,   [X86_REG_EBX] = KNOWN | 3,   [X86_REG_BX] = KNOWN | 3,
		[X86_REG_BL] = KNOWN | 3,    [X86_REG_BH] = KNOWN | 3,    [X86_REG_RSI] = KNOWN | 4,
		[X86_REG_ESI] = KNOWN | 4,   [X86_REG_SI] = KNOWN | 4,    [X86_REG_SIL] = KNOWN | 4,
		[X86_REG_RDI] = KNOWN | 5,   [X86_REG_EDI] = KNOWN | 5,   [X86_REG_DI] = KNOWN | 5,
		[X86_REG_DIL] = KNOWN | 5,   [X86_REG_RBP] = KNOWN | 6,   [X86_REG_EBP] = KNOWN | 6,
		[X86_REG_BP] = KNOWN | 6,    [X86_REG_BPL] = KNOWN | 6,   [X86_REG_RSP] = KNOWN | 7,
		[X86_REG_ESP] = KNOWN | 7,   [X86_REG_SP] = KNOWN | 7,    [X86_REG_SPL] = KNOWN | 7,
		[X86_REG_R8] = KNOWN | 8,    [X86_REG_R8D] = KNOWN | 8,   [X86_REG_R8W] = KNOWN | 8,
		[X86_REG_R8B] = KNOWN | 8,   [X86_REG_R9] = KNOWN | 9,    [X86_REG_R9D] = KNOWN | 9,
		[X86_REG_R9W] = KNOWN | 9,   [X86_REG_R9B] = KNOWN | 9,   [X86_REG_R10] = KNOWN | 10,
		[X86_REG_R10D] = KNOWN | 10, [X86_REG_R10W] = KNOWN | 10, [X86_REG_R10B] = KNOWN | 10,
		[X86_REG_R11] = KNOWN | 11,  [X86_REG_R11D] = KNOWN | 11, [X86_REG_R11W] = KNOWN | 11,
		[X86_REG_R11B] = KNOWN | 11, [X86_REG_R12] = KNOWN | 12,  [X86_REG_R12D] = KNOWN | 12,
		[X86_REG_R12W] = KNOWN | 12, [X86_REG_R12B] = KNOWN | 12, [X86_REG_R13] = KNOWN | 13,
		[X86_REG_R13D] = KNOWN | 13, [X86_REG_R13W] = KNOWN | 13, [X86_REG_R13B] = KNOWN | 13,
		[X86_REG_R14] = KNOWN | 14,  [X86_REG_R14D] = KNOWN | 14, [X86_REG_R14W] = KNOWN | 14,
		[X86_REG_R14B] = KNOWN | 14, [X86_REG_R15] = KNOWN | 15,  [X86_REG_R15D] = KNOWN | 15,
		[X86_REG_R15W] = KNOWN | 15, [X86_REG_R15B] = KNOWN | 15,
	};

	return reg < X86_REG_ENDING && numbers[reg] ? numbers[reg] & ~KNOWN : -1;
}

enum register_load instruction_load(struct decoder *decoder, const uint8_t *code, unsigned length, unsigned reg)
{
	const cs_insn *i = decode(decoder, code, length, 0, true);
	bool wide = length > 2 && (code[0] & 0xf8) == 0x48; /* REX.W */
	cs_regs read, written;
	uint8_t nread, nwritten;

	if (!i || cs_regs_access(decoder->handle, i, read, &nread, written, &nwritten) != CS_ERR_OK)
		return LOAD_OTHER;
	if (wide && code[1] == 0x8b && encoded[(code[2] >> 3 & 7) | (code[0] & 4 ? 8 : 0)] == reg && code[2] >> 6 != 3)
		return is_plain_memory(code, length, 2) ? LOAD_POINTER : LOAD_ENTRY;
	for (unsigned w = 0; w < nwritten; w++)
		if (register_number(written[w]) == (int)reg)
			return i->id == X86_INS_ADD || i->id == X86_INS_MOVSXD ? LOAD_ENTRY : LOAD_OTHER;
	return LOAD_NOTHING;
}
