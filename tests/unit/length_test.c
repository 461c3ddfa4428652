/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * length_test.c - what length.c says of an instruction is what the disassembler says: for all opcodes with all
 * operands, and at each byte of real code.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <capstone/capstone.h>
#include <cmocka.h>

#include "arch/instruction.h"
#include "target/target.h"
#include "arch/x86_64/x86_private.h"

#define PIECE (1 << 20)

static csh handle;
static cs_insn *scratch;
static size_t told, asked;

/* Length by the disassembler; 0: none. */
static unsigned disassembled(const uint8_t *code, size_t size)
{
	uint64_t address = 0;

	return cs_disasm_iter(handle, &code, &size, &address, scratch) ? scratch->size : 0;
}

static void compare(const uint8_t *code, size_t size)
{
	unsigned length = instruction_plain_length(code, size), truth;

	asked++;
	if (!length)
		return;
	told++;
	truth = disassembled(code, size);
	if (length != truth) {
		for (size_t i = 0; i < size && i < INSTRUCTION_MOST; i++)
			printf("%02x ", code[i]);
		fail_msg("%u bytes, the disassembler says %u", length, truth);
	}
}

static int open_disassembler(void **state)
{
	(void)state;
	if (disassembler_open(&handle))
		return -1;
	scratch = cs_malloc(handle);
	return scratch ? 0 : -1;
}

static int close_disassembler(void **state)
{
	(void)state;
	cs_free(scratch, 1);
	return cs_close(&handle);
}

/* --- everything that may stand at the front ----------------------------- */

static void test_all_opcodes(void **state)
{
	static const uint8_t legacy[] = { 0, 0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x64, 0x67 },
			     rex[] = { 0, 0x40, 0x41, 0x44, 0x48, 0x4f };
	static const uint8_t behind[] = { 0x24, 0x05, 0x65, 0x00, 0xff, 0x80, 0x12 };

	(void)state;
	told = asked = 0;
	for (unsigned front = 0; front < sizeof(legacy) * sizeof(rex) * 2; front++) {
		unsigned which = front / 2;

		for (unsigned op = 0; op < 0x10000; op++) {
			uint8_t code[INSTRUCTION_MOST + 5];
			size_t at = 0;

			if (legacy[which % sizeof(legacy)])
				code[at++] = legacy[which % sizeof(legacy)];
			if (rex[which / sizeof(legacy)])
				code[at++] = rex[which / sizeof(legacy)];
			if (front % 2)
				code[at++] = 0x0f;
			code[at++] = op >> 8;
			code[at++] = op;
			for (unsigned i = 0; at < sizeof(code); i++)
				code[at++] = behind[(op + i) % sizeof(behind)];
			compare(code, sizeof(code));
		}
	}
	printf("%zu of %zu are told\n", told, asked);
	assert_true(told > asked / 16);
}

static void test_cut_short(void **state)
{
	(void)state;
	for (unsigned op = 0; op < 0x10000; op++) {
		const uint8_t plain[] = { op >> 8, op, 0x24, 0, 0, 0, 0, 0 },
			      wide[] = { 0x48, op >> 8, op, 0x24, 0, 0, 0, 0 };

		for (size_t size = 0; size <= sizeof(plain); size++) {
			compare(plain, size);
			compare(wide, size);
		}
	}
}

/* --- real code ---------------------------------------------------------- */

/* Each byte of the code, also those in the midst of instructions; and how many of its instructions are told. */
static void compare_file(const char *path)
{
	static uint8_t code[PIECE];
	struct image *image;
	const struct code_segment *segments;
	size_t count, instructions = 0, plain = 0;

	assert_int_equal(image_open_file(&image, path), 0);
	segments = image_code(image, &count);
	for (size_t i = 0; i < count; i++) {
		for (uint64_t at = 0; at < segments[i].size; at += PIECE - INSTRUCTION_MOST) {
			uint64_t left = segments[i].size - at;
			ssize_t size = pread(image->fd, code, left < PIECE ? left : PIECE, segments[i].offset + at);

			for (ssize_t j = 0; j < size; j++)
				compare(code + j, size - j);
			for (ssize_t j = 0, length; j < size; j += length) {
				unsigned quick = instruction_plain_length(code + j, size - j);

				plain += quick > 0;
				instructions++;
				length = quick ?: disassembled(code + j, size - j) ?: 1;
			}
		}
	}
	printf("%s: %zu of %zu instructions are told\n", path, plain, instructions);
	assert_true(instructions && plain > instructions * 8 / 10);
	image_close(image);
}

static void test_own_code(void **state)
{
	(void)state;
	compare_file("/proc/self/exe");
}

static void test_libc(void **state)
{
	(void)state;
	compare_file("/lib/x86_64-linux-gnu/libc.so.6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_opcodes),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_own_code),
		cmocka_unit_test(test_libc),
	};

	return cmocka_run_group_tests(tests, open_disassembler, close_disassembler);
}
