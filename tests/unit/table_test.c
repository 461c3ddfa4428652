/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_test.c - tables that are too wide: which columns go, and what is kept of a cell that has not enough room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/table.h"

#define LINE 200

/* Its last line, in so many columns. */
static const char *printed(struct table *t, unsigned width, char line[LINE])
{
	char *text, *last;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(table_print(t, out, width), 0);
	fclose(out);
	text[size - 1] = '\0';
	last = strrchr(text, '\n');
	snprintf(line, LINE, "%s", last + 1);
	free(text);
	table_free(t);
	return line;
}

/* A table of one cell, which may shrink to so many columns. */
static const char *shortened(const char *cell, unsigned width, char line[LINE])
{
	struct table t = { 0 };

	table_column(&t, &(struct column){ .title = "", .left = true, .shrinks = true });
	table_cell(&t, "%s", cell);
	return printed(&t, width, line);
}

static void what_is_kept_of_a_cell(void **state)
{
	static const struct {
		const char *cell;
		unsigned width;
		const char *kept;
	} cases[] = {
		{ "nothing of it counts most here", 30, "nothing of it counts most here" },
		{ "nothing of it counts most here", 20, "nothing o..most here" },
		{ "nothing of it counts most here", 8, "not..ere" },
		/* a line's number */
		{ "in ring.c:12 of a function somewhere", 30, "in ring.c:12 o..tion somewhere" },
		{ "after exchange.c:1234 in exchange", 30, "after exchange.c:1234 in exc.." },
		{ "after some/where/exchange.c:12 in f", 20, "..here/exchange.c:12" },
		{ "what is said: twelve or more of it", 20, "what is s..ore of it" },
		/* a share */
		{ "ranks 0-4095 of all: 97%, rank 5: 2%", 24, "..nks 0-4095 of all: 97%" },
		{ "some thread or other 97%, rank 5: 2%", 24, "..me thread or other 97%" },
		{ "some thread or other 97 or 5 of them", 24, "some thread..r 5 of them" },
		{ "rank 1234: 97%, rank 5: 2%, others 1%", 24, "rank 1234: 97%, rank 5.." },
		/* addresses */
		{ "after main+0x12, before f+0x3F0", 31, "after main+0x12, before f+0x3F0" },
		{ "exchange_all_of_it+0x74A9df", 20, "exchange_..+0x74A9df" },
		{ "exchange_all_of_that_with_everybody_else_that_is_there+0x12", 40,
		  "exchange_all_of_tha.._that_is_there+0x12" },
		{ "after exchange_all+0x12 in a library", 30, "after exchange_all+0x12.." },
		{ "after exchange_all+0x12 in a library", 24, "after exchange_all+0x12." },
		{ "after exchange_all+0x12 in a library", 23, "after exchange_all+0x12" },
		{ "after exchange_all+0x12, before sum_all+0x3F0", 30, "after exchange_all+0x12.." },
		{ "after exchange_all_that+0x12, before sum_all_that+0x3F0", 20, "after exc..that+0x12" },
		{ "after exchange_all+0x12, before sum_all+0x3F0", 40, "after ex.._all+0x12, before s..all+0x3F0" },
		{ "after f+0x12, before what_comes_after_all_of_that+0x3F0", 40,
		  "after f+0x12, before what_..f_that+0x3F0" },
		{ "after what_comes_before_all_of_that+0x12, before f+0x3F0", 40,
		  "after what_..f_that+0x12, before f+0x3F0" },
		{ "C+0xyz is no address, however it looks like", 30, "C+0xyz is no a.. it looks like" },
	};
	char line[LINE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(shortened(cases[i].cell, cases[i].width, line), cases[i].kept);
}

/* Of 60 and 24 columns, which may shrink, one that may not, and one that may go. */
static const char *of_columns(unsigned width, char line[LINE])
{
	struct table t = { 0 };

	table_column(&t, &(struct column){ .title = "", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "", .left = true });
	table_column(&t, &(struct column){ .title = "", .left = true, .drop = 1 });
	table_cell(&t, "%060d", 0);
	table_cell(&t, "%.24s", "aaaaaaaaaaaaaaaaaaaaaaaa");
	table_cell(&t, "%s", "it stays as it is, as wide as that");
	table_cell(&t, "%s", "it may go");
	return printed(&t, width, line);
}

static void the_widest_shrinks(void **state)
{
	char line[LINE];

	assert_string_equal(
		of_columns(100, line),
		"00000000000000..00000000000000 aaaaaaaaaaaaaaaaaaaaaaaa it stays as it is, as wide as that it may go");
	assert_string_equal(of_columns(90, line), "0000000000..0000000000 aaaaaaaaaa..aaaaaaaaaa "
						  "it stays as it is, as wide as that it may go");
	assert_string_equal(of_columns(80, line),
			    "0000000000..0000000000 aaaaaaaaaa..aaaaaaaaaa it stays as it is, as wide as that");
	assert_string_equal(of_columns(60, line), "00000..00000 aaaaa..aaaaa it stays as it is, as wide as that");
	assert_string_equal(of_columns(50, line), "000..000 aaa..aaa it stays as it is, as wide as that");
}

/* What is behind a cell that is cut stands below the others. */
static void columns_stay_in_line(void **state)
{
	struct table t = { 0 };
	char line[LINE];

	table_column(&t, &(struct column){ .title = "", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "", .left = true });
	table_cell(&t, "%s", "after exchange_all+0x12 in a library");
	table_cell(&t, "%s", "next");
	assert_string_equal(printed(&t, 35, line), "after exchange_all+0x12..      next");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_of_a_cell),
		cmocka_unit_test(the_widest_shrinks),
		cmocka_unit_test(columns_stay_in_line),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
