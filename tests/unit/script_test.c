/* SPDX-License-Identifier: BSD-2-Clause */
/* script_test.c - the table of lines of a script's code: each form of an entry, and tables that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stacks/stacks.h"

#define ENTRY(kind, units) (0x80 | (kind) << 3 | ((units)-1))
#define LINE(offset) script_line(table, sizeof(table), 100, offset)

static void each_form_moves_the_line_as_it_says(void **state)
{
	const uint8_t table[] = {
		ENTRY(0, 1),
		0x11, /* bytes 0 and 1: columns alone */
		ENTRY(9, 2),
		0x7f, /* 2 to 5 */
		ENTRY(10, 1),
		1,
		2, /* 6, 7: the same line */
		ENTRY(11, 1),
		1,
		2, /* 8, 9: the next one */
		ENTRY(12, 8),
		1,
		2, /* 10 to 25: two further on */
		ENTRY(13, 1),
		5 << 1 | 1, /* 26, 27: five back */
		ENTRY(14, 1),
		0x40 | (100 << 1 & 0x3f),
		100 >> 5,
		1,
		2,
		3,            /* 28, 29: a hundred further on */
		ENTRY(15, 1), /* 30, 31: of no line */
		ENTRY(11, 1),
		1,
		2, /* 32, 33 */
	};

	assert_int_equal(LINE(0), 100);
	assert_int_equal(LINE(5), 100);
	assert_int_equal(LINE(6), 100);
	assert_int_equal(LINE(8), 101);
	assert_int_equal(LINE(10), 103);
	assert_int_equal(LINE(25), 103);
	assert_int_equal(LINE(26), 98);
	assert_int_equal(LINE(28), 198);
	assert_int_equal(LINE(30), 0);
	assert_int_equal(LINE(32), 199);
	assert_int_equal(LINE(34), 0);
	assert_int_equal(LINE(UINT64_MAX), 0);
}

static void a_table_that_makes_no_sense_tells_no_line(void **state)
{
	const uint8_t wrong[] = { 0x11, ENTRY(10, 8), 1, 2 }, cut[] = { ENTRY(14, 1), 0x7f, 0x7f };
	const uint8_t before_the_first[] = { ENTRY(13, 1), 5 << 1 | 1 };

	assert_int_equal(script_line(wrong, sizeof(wrong), 1, 0), 0);
	assert_int_equal(script_line(wrong, 0, 1, 0), 0);
	assert_int_equal(script_line(before_the_first, sizeof(before_the_first), 6, 0), 1);
	assert_int_equal(script_line(before_the_first, sizeof(before_the_first), 4, 0), 0);
	script_line(cut, sizeof(cut), 1, 0);
	assert_int_equal(script_line(cut, sizeof(cut), 1, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_moves_the_line_as_it_says),
		cmocka_unit_test(a_table_that_makes_no_sense_tells_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
