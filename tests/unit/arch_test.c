/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch_test.c - all branches and addresses of real code are found by their bytes, as the disassembler has them; where
 * arguments travel; kinds of relocations; code that was changed;
 * what instructions do is the same wherever they lie; what goes to another stack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>
#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "arch/scan.h"
#include "arch/steps.h"
#include "arch/x86_64/x86_private.h"
#include "target/target.h"

#define ALL (SCAN_CALL | SCAN_JUMP | SCAN_CONDITION | SCAN_SHORT | SCAN_ADDRESS | SCAN_CALL_SLOT | SCAN_INDIRECT)
#define KINDS 7 /* bits of ALL */
#define PIECE (1u << 20)
#define ADDRESS 0x400000ull

/* --- scanning ---------------------------------------------------------------- */

/* By the place in the code. */
static struct scan_hit hits[PIECE];
static size_t nhits;

static bool note_hit(void *context, const struct scan_hit *hit)
{
	uint64_t at = hit->address - *(const uint64_t *)context;

	assert_true(at < PIECE);
	assert_int_equal(hits[at].what, 0);
	hits[at] = *hit;
	nhits++;
	return true;
}

static void scan(const uint8_t *code, size_t size, size_t own, uint64_t address, unsigned wanted)
{
	const struct code_scan all = { .wanted = wanted, .found = note_hit, .context = &address };

	memset(hits, 0, sizeof(hits));
	nhits = 0;
	assert_true(code_scan(&all, code, size, own, address));
}

/* What is to be found of this instruction, by the disassembler; 0: nothing. */
static unsigned truth_of(const cs_insn *insn, uint64_t *target)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = x86->op_count ? &x86->operands[x86->op_count - 1] : NULL;
	bool relative = op && op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP, jumps = false;

	for (int i = 0; i < insn->detail->groups_count; i++)
		jumps |= insn->detail->groups[i] == X86_GRP_JUMP;
	jumps |= insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE ||
		 insn->id == X86_INS_XBEGIN;
	*target = !op                      ? 0
		  : op->type == X86_OP_IMM ? (uint64_t)op->imm
		  : relative               ? insn->address + insn->size + op->mem.disp
					   : 0;
	if (insn->id == X86_INS_LEA)
		return relative && x86->operands[0].size == 8 ? SCAN_ADDRESS : 0;
	if (insn->id == X86_INS_CALL)
		return op->type == X86_OP_IMM ? SCAN_CALL : relative ? SCAN_CALL_SLOT : 0;
	if (!jumps)
		return 0;
	if (op->type != X86_OP_IMM) {
		*target = 0;
		return SCAN_INDIRECT;
	}
	if (insn->size - x86->encoding.imm_offset == 1)
		return SCAN_SHORT;
	return insn->id == X86_INS_JMP ? SCAN_JUMP : SCAN_CONDITION;
}

static void expect_found(const cs_insn *insn, uint64_t start, unsigned what, uint64_t target)
{
	for (unsigned i = 0; i < insn->size; i++) {
		const struct scan_hit *hit = &hits[insn->address - start + i];

		if (hit->what == what && hit->target == target &&
		    (what == SCAN_INDIRECT || hit->end == insn->address + insn->size))
			return;
	}
	fail_msg("%#lx: %s %s is not found", (long)insn->address, insn->mnemonic, insn->op_str);
}

/* Decodes, and looks for each in what was found. counts: by bit. */
static void compare(const uint8_t *code, size_t size, uint64_t start, unsigned counts[KINDS])
{
	struct decoder *decoder;
	uint64_t target;

	assert_int_equal(decoder_new(&decoder), 0);
	for (size_t at = 0; at < size;) {
		const cs_insn *insn = decode(decoder, code + at, size - at, start + at, true);
		unsigned what = insn ? truth_of(insn, &target) : 0;

		if (what) {
			counts[__builtin_ctz(what)]++;
			expect_found(insn, start, what, target);
		}
		at += insn ? insn->size : 1;
	}
	decoder_free(decoder);
}

/* One of each, with every prefix that compilers write. */
static const uint8_t each[] = {
	0xe8, 0x10, 0x20, 0x00, 0x00,                /* call */
	0xe9, 0xf0, 0xff, 0xff, 0xff,                /* jmp */
	0xf2, 0xe9, 0x00, 0x01, 0x00, 0x00,          /* bnd jmp */
	0x0f, 0x84, 0x00, 0x01, 0x00, 0x00,          /* je */
	0x0f, 0x8f, 0x00, 0xff, 0xff, 0xff,          /* jg */
	0xc7, 0xf8, 0x40, 0x00, 0x00, 0x00,          /* xbegin */
	0xeb, 0x05, 0x75, 0xf0, 0x7f, 0x7f,          /* jmp, jne, jg */
	0xe0, 0x01, 0xe1, 0x02, 0xe2, 0x80,          /* loopne, loope, loop */
	0xe3, 0x04,                                  /* jrcxz */
	0x48, 0x8d, 0x05, 0x00, 0x10, 0x00, 0x00,    /* lea ...(%rip),%rax */
	0x4c, 0x8d, 0x3d, 0x00, 0xf0, 0xff, 0xff,    /* lea ...(%rip),%r15 */
	0xff, 0x15, 0x00, 0x20, 0x00, 0x00,          /* call *...(%rip) */
	0xff, 0x25, 0x00, 0x20, 0x00, 0x00,          /* jmp *...(%rip) */
	0xff, 0xe0, 0x41, 0xff, 0xe3,                /* jmp *%rax, jmp *%r11 */
	0x3e, 0xff, 0x24, 0xc5, 0,    0,    0x40, 0, /* notrack jmp *...(,%rax,8) */
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
};

static void test_each_kind_is_found(void **state)
{
	unsigned counts[KINDS] = { 0 };

	scan(each, sizeof(each), sizeof(each), ADDRESS, ALL);
	compare(each, sizeof(each), ADDRESS, counts);
	for (int kind = 0; kind < KINDS; kind++)
		assert_true(counts[kind] > 0);
	for (int kind = 0; kind < KINDS; kind++) {
		scan(each, sizeof(each), sizeof(each), ADDRESS, 1u << kind);
		assert_true(nhits >= counts[kind]);
		for (size_t at = 0; at < sizeof(each); at++)
			assert_true(!hits[at].what || hits[at].what == 1u << kind);
	}
}

/* What begins before `own` may reach beyond it; nothing is read beyond `size`. */
static void test_only_what_is_there_is_read(void **state)
{
	for (size_t size = 0; size <= sizeof(each); size++) {
		uint8_t *code = malloc(size + 1), *copy = code + 1; /* its end is the end of what malloc() gave */

		memcpy(copy, each, size);
		scan(copy, size, size, ADDRESS, ALL);
		for (size_t at = 0; at < size; at++)
			assert_true(hits[at].what == 0 || hits[at].what == SCAN_INDIRECT ||
				    hits[at].end <= ADDRESS + size);
		free(code);
	}
	scan(each, sizeof(each), 1, ADDRESS, ALL);
	assert_int_equal(nhits, 1);
	scan(each, sizeof(each), 0, ADDRESS, ALL);
	assert_int_equal(nhits, 0);
}

static bool stop(void *context, const struct scan_hit *hit)
{
	return --*(int *)context;
}

static void test_who_has_seen_enough_ends_it(void **state)
{
	int left = 3;
	const struct code_scan some = { .wanted = ALL, .found = stop, .context = &left };

	assert_false(code_scan(&some, each, sizeof(each), sizeof(each), ADDRESS));
	assert_int_equal(left, 0);
}

static void compare_file(const char *path)
{
	static uint8_t code[PIECE];
	unsigned counts[KINDS] = { 0 };
	struct image *image;
	const struct code_segment *segment;
	size_t count;
	ssize_t size;

	assert_int_equal(image_open_file(&image, path), 0);
	segment = image_code(image, &count);
	assert_true(count > 0);
	size = pread(image->fd, code, segment->size < PIECE ? segment->size : PIECE, segment->offset);
	assert_true(size > 4096);
	scan(code, size, size, segment->address, ALL);
	compare(code, size - INSTRUCTION_MOST, segment->address, counts);
	assert_true(counts[0] > 100 && counts[1] > 10 && counts[2] > 10 && counts[3] > 100 && counts[4] > 10);
	image_close(image);
}

static void test_all_of_real_code_is_found(void **state)
{
	compare_file("/lib/" ARCH_TRIPLET "/libc.so.6");
	compare_file("/proc/self/exe");
}

/* --- where arguments travel ---------------------------------------------------- */

static void expect(struct arguments *arguments, enum argument_class class, unsigned words, bool aligned16,
		   enum argument_place place, unsigned at)
{
	unsigned got;

	assert_int_equal(arguments_next(arguments, class, words, aligned16, &got), place);
	assert_int_equal(got, at);
}

static void test_integers_fill_their_registers_then_the_stack(void **state)
{
	struct arguments a = arguments_begin(false);

	for (unsigned i = 0; i < 5; i++)
		expect(&a, ARGUMENT_INTEGER, 1, false, IN_INTEGER_REGISTER, i);
	expect(&a, ARGUMENT_INTEGER, 2, true, ON_STACK, 8); /* an __int128 is never in both */
	expect(&a, ARGUMENT_INTEGER, 1, false, IN_INTEGER_REGISTER, 5);
	expect(&a, ARGUMENT_INTEGER, 1, false, ON_STACK, 24);
	expect(&a, ARGUMENT_MEMORY, 2, true, ON_STACK, 40); /* a long double begins at 16 bytes */
	expect(&a, ARGUMENT_INTEGER, 1, false, ON_STACK, 56);
	a = arguments_begin(true);
	expect(&a, ARGUMENT_INTEGER, 1, false, IN_INTEGER_REGISTER, 1);
}

static void test_floats_have_registers_of_their_own(void **state)
{
	struct arguments a = arguments_begin(false);

	for (unsigned i = 0; i < 3; i++)
		expect(&a, ARGUMENT_FLOAT, 2, false, IN_FLOAT_REGISTER, 2 * i); /* double complex */
	expect(&a, ARGUMENT_FLOAT, 1, false, IN_FLOAT_REGISTER, 6);
	expect(&a, ARGUMENT_FLOAT, 2, false, ON_STACK, 8);
	expect(&a, ARGUMENT_FLOAT, 1, false, IN_FLOAT_REGISTER, 7);
	expect(&a, ARGUMENT_FLOAT, 1, false, ON_STACK, 24);
	expect(&a, ARGUMENT_INTEGER, 1, false, IN_INTEGER_REGISTER, 0);
}

/* --- files, and what the kernel makes of code ------------------------------------ */

static void test_kinds_of_relocations(void **state)
{
	assert_int_equal(arch_relocation(R_X86_64_RELATIVE), RELOCATION_BASE);
	assert_int_equal(arch_relocation(R_X86_64_GLOB_DAT), RELOCATION_SLOT);
	assert_int_equal(arch_relocation(R_X86_64_JUMP_SLOT), RELOCATION_SLOT);
	assert_int_equal(arch_relocation(R_X86_64_64), RELOCATION_SYMBOL);
	assert_int_equal(arch_relocation(R_X86_64_DTPMOD64), RELOCATION_OTHER);
}

static void test_stubs_name_their_word(void **state)
{
	static const uint8_t plain[] = { 0xff, 0x25, 0x10, 0x00, 0x00, 0x00 },
			     marked[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff },
			     bound[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0x00, 0x00, 0x00 },
			     call[] = { 0xff, 0x15, 0x10, 0x00, 0x00, 0x00 };
	uint64_t word;

	assert_true(instruction_is_stub(plain, sizeof(plain), ADDRESS, &word));
	assert_int_equal(word, ADDRESS + 6 + 0x10);
	assert_true(instruction_is_stub(marked, sizeof(marked), ADDRESS, &word));
	assert_int_equal(word, ADDRESS + 10 - 0x10);
	assert_true(instruction_is_stub(bound, sizeof(bound), ADDRESS, &word));
	assert_int_equal(word, ADDRESS + 11 + 0x10);
	assert_false(instruction_is_stub(call, sizeof(call), ADDRESS, &word));
	for (size_t size = 0; size < sizeof(marked); size++)
		assert_false(instruction_is_stub(marked, size, ADDRESS, &word));
	assert_int_equal(instruction_mark(marked, sizeof(marked)), 4);
	assert_int_equal(instruction_mark(marked, 3), 0);
	assert_int_equal(instruction_mark(plain, sizeof(plain)), 0);
}

static void test_breakpoints_are_no_change_of_code(void **state)
{
	static const uint8_t file[] = { 0x55, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3 };
	uint8_t memory[sizeof(file)];

	memcpy(memory, file, sizeof(file));
	assert_false(instructions_are_changed(file, memory, sizeof(file)));
	memory[0] = 0xcc;
	assert_false(instructions_are_changed(file, memory, sizeof(file)));
	memcpy(memory + 1, (uint8_t[]){ 0xe8, 1, 2, 3, 4 }, 5); /* the kernel has made a call of the nop */
	assert_false(instructions_are_changed(file, memory, sizeof(file)));
	memory[6] = 0x90;
	assert_true(instructions_are_changed(file, memory, sizeof(file)));
	memcpy(memory, file, sizeof(file));
	memory[0] = 0xe8; /* somebody else's call */
	assert_true(instructions_are_changed(file, memory, sizeof(file)));
	memory[0] = 0xe9;
	assert_true(instructions_are_changed(file, memory, sizeof(file)));
}

/* --- other stacks ------------------------------------------------------------- */

static void test_what_loads_the_stack_pointer_is_found(void **state)
{
	static const uint8_t found[][6] = {
		{ 0x48, 0x8b, 0x26 },             /* mov (%rsi), %rsp */
		{ 0x48, 0x89, 0xfc },             /* mov %rdi, %rsp */
		{ 0x4c, 0x89, 0xc4 },             /* mov %r8, %rsp */
		{ 0x48, 0x8b, 0xe0 },             /* mov %rax, %rsp, the other way to write it */
		{ 0x49, 0x8b, 0x20 },             /* mov (%r8), %rsp */
		{ 0x48, 0x8d, 0x27 },             /* lea (%rdi), %rsp */
		{ 0x48, 0x01, 0xc4 },             /* add %rax, %rsp */
		{ 0x48, 0x03, 0x27 },             /* add (%rdi), %rsp */
		{ 0x48, 0x09, 0xc4 },             /* or %rax, %rsp */
		{ 0x48, 0x0b, 0xe0 },             /* or %rax, %rsp */
		{ 0x48, 0x31, 0xc4 },             /* xor %rax, %rsp */
		{ 0x48, 0x33, 0xe0 },             /* xor %rax, %rsp */
		{ 0x48, 0x87, 0x27 },             /* xchg %rsp, (%rdi) */
		{ 0x48, 0x87, 0xc4 },             /* xchg %rax, %rsp */
		{ 0x48, 0x0f, 0x44, 0xe7 },       /* cmove %rdi, %rsp */
		{ 0x5c, 0x5d, 0xc3 },             /* pop %rsp, pop %rbp, ret */
		{ 0x5c, 0x41, 0x5f, 0xff, 0xe0 }, /* pop %rsp, pop %r15, jmp *%rax */
	};
	static const uint8_t passed_over[][6] = {
		{ 0x48, 0x89, 0xec },       /* mov %rbp, %rsp */
		{ 0x48, 0x89, 0xe5 },       /* mov %rsp, %rbp */
		{ 0x49, 0x89, 0xc4 },       /* mov %rax, %r12 */
		{ 0x48, 0x8b, 0x65, 0x08 }, /* mov 8(%rbp), %rsp */
		{ 0x4c, 0x8b, 0x27 },       /* mov (%rdi), %r12 */
		{ 0x48, 0x8d, 0x65, 0xd8 }, /* lea -0x28(%rbp), %rsp */
		{ 0x49, 0x8d, 0x62, 0xf0 }, /* lea -0x10(%r10), %rsp */
		{ 0x48, 0x29, 0xc4 },       /* sub %rax, %rsp */
		{ 0x48, 0x83, 0xc4, 0x18 }, /* add $0x18, %rsp */
		{ 0x4c, 0x0f, 0x44, 0xe7 }, /* cmove %rdi, %r12 */
		{ 0x48, 0x0f, 0xb6, 0xe0 }, /* movzbq %al, %rsp: nobody does */
		{ 0x5c, 0x5d, 0x90 },       /* pop %rsp, pop %rbp, and then neither */
	};
	uint8_t code[40 + SWITCH_BYTES];

	for (size_t at = 0; at < 30; at++) {
		for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
			memset(code, 0x90, sizeof(code));
			memcpy(code + at, found[i], sizeof(found[i]));
			assert_int_equal(instruction_find_switch(code, 0, 40), at);
			assert_int_equal(instruction_find_switch(code, at, 40), at);
			assert_int_equal(instruction_find_switch(code, at + 1, 40), 40);
			assert_int_equal(instruction_find_switch(code, 0, at + SWITCH_LEAST - 1),
					 at + SWITCH_LEAST - 1);
		}
		for (size_t i = 0; i < sizeof(passed_over) / sizeof(passed_over[0]); i++) {
			memset(code, 0x90, sizeof(code));
			memcpy(code + at, passed_over[i], sizeof(passed_over[i]));
			assert_int_equal(instruction_find_switch(code, 0, 40), 40);
		}
	}
	assert_int_equal(instruction_find_switch(code, 0, 0), 0);
}

/* --- steps ------------------------------------------------------------------- */

/* The same, field by field: what lies between these may be anything. */
static void assert_same_steps(const struct code_step *a, const struct code_step *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(a[i].address, b[i].address);
		assert_int_equal(a[i].target, b[i].target);
		assert_int_equal(a[i].value, b[i].value);
		assert_int_equal(a[i].writes, b[i].writes);
		assert_int_equal(a[i].flow, b[i].flow);
		assert_int_equal(a[i].base, b[i].base);
	}
}

static void test_steps_are_the_same_wherever_the_code_lies(void **state)
{
	const uint8_t code[] = {
		0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, /* lea 16(%rip), %rdi */
		0x8b, 0x35, 0x10, 0x00, 0x00, 0x00,       /* mov 16(%rip), %esi */
		0x8b, 0x14, 0x25, 0x00, 0x10, 0x00, 0x00, /* mov 0x1000, %edx: wherever it lies */
		0x48, 0xc7, 0xc1, 0x05, 0x00, 0x00, 0x00, /* mov $5, %rcx */
		0x48, 0x8b, 0x43, 0x08,                   /* mov 8(%rbx), %rax */
		0xff, 0x15, 0x10, 0x00, 0x00, 0x00,       /* call *16(%rip) */
		0xff, 0x14, 0x25, 0x00, 0x10, 0x00, 0x00, /* call *0x1000 */
		0xff, 0x10,                               /* call *(%rax) */
		0xe8, 0xf0, 0xff, 0xff, 0xff,             /* call back */
		0x74, 0xee,                               /* je back */
		0xc3,
	};
	const uint64_t by = 0x7f0000001000;
	struct code_step *here, *there;
	size_t nhere, nthere;

	assert_int_equal(code_steps_read(code, sizeof(code), ADDRESS, &here, &nhere), 0);
	assert_int_equal(code_steps_read(code, sizeof(code), ADDRESS + by, &there, &nthere), 0);
	assert_int_equal(nhere, 11);
	assert_int_equal(nthere, nhere);
	code_steps_move(here, nhere, by);
	assert_same_steps(here, there, nhere);
	free(here);
	free(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_is_found),
		cmocka_unit_test(test_only_what_is_there_is_read),
		cmocka_unit_test(test_who_has_seen_enough_ends_it),
		cmocka_unit_test(test_all_of_real_code_is_found),
		cmocka_unit_test(test_integers_fill_their_registers_then_the_stack),
		cmocka_unit_test(test_floats_have_registers_of_their_own),
		cmocka_unit_test(test_kinds_of_relocations),
		cmocka_unit_test(test_stubs_name_their_word),
		cmocka_unit_test(test_what_loads_the_stack_pointer_is_found),
		cmocka_unit_test(test_breakpoints_are_no_change_of_code),
		cmocka_unit_test(test_steps_are_the_same_wherever_the_code_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
