/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_name_test.c - C++ symbols as people read them; and symbols that are made to keep who reads them busy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "util/function_name.h"

static void assert_names(const char *symbol, const char *full, const char *alone)
{
	char name[FUNCTION_NAME_ROOM];

	assert_true(function_name(symbol, NAME_WITH_ARGUMENTS, name));
	assert_string_equal(name, full);
	assert_string_equal(function_name_or(symbol, name), full);
	assert_true(function_name(symbol, NAME_ALONE, name));
	assert_string_equal(name, alone);
}

static void test_names(void **state)
{
	assert_names("_ZN4grid5solveEi", "grid::solve(int)", "grid::solve");
	/* Of a template the symbol says what it returns. */
	assert_names("_ZN4grid5solveIdEEvT_", "grid::solve<double>(double)", "grid::solve<double>");
	assert_names("_ZN4gridplERKS_", "grid::operator+(grid const&)", "grid::operator+");
	assert_names("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
		     "main::{lambda(int)#1}::operator()");
}

static void assert_none(const char *symbol)
{
	char name[FUNCTION_NAME_ROOM] = "?";

	assert_false(function_name(symbol, NAME_WITH_ARGUMENTS, name));
	assert_string_equal(name, "");
	assert_ptr_equal(function_name_or(symbol, name), symbol);
}

static void test_others(void **state)
{
	static const char *const symbols[] = {
		"MPI_Send",        "",         "_Z", "_", "_ZN4grid5solve", "_ZN999999999999999999994grid",
		"__mod_MOD_solve", "_RNvC1a1f"
	};
	char name[FUNCTION_NAME_ROOM];

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		assert_none(symbols[i]);
	assert_false(function_name(NULL, NAME_ALONE, name));
	assert_string_equal(function_label("MPI_Send", 3), "MPI_Send");
	assert_string_equal(function_label("a\nb", 10), "a\\x0ab");
}

/* Appends `piece` so many times. */
static void repeat(char *text, const char *piece, unsigned times)
{
	size_t used = strlen(text);

	while (times--)
		used += (size_t)sprintf(text + used, "%s", piece);
}

/* 30 types, each made of two of the one before: 2 to the 30th names. */
static void test_explosion(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char symbol[SYMBOL_MOST] = "_Z1f1A1BIS_S_E", piece[20];

	for (unsigned i = 1; i < 31; i++) {
		snprintf(piece, sizeof(piece), "S0_IS%c_S%c_E", digits[i], digits[i]);
		repeat(symbol, piece, 1);
	}
	assert_none(symbol);
	symbol[strlen("_Z1f1A1BIS_S_ES0_IS1_S1_E")] = '\0';
	assert_names(symbol, "f(A, B<A, A>, B<B<A, A>, B<A, A> >)", "f");
}

/* The last that is not too long, and one that is. */
static void test_length(void **state)
{
	char symbol[SYMBOL_MOST + 20] = "_Z994", name[FUNCTION_NAME_ROOM];

	repeat(symbol, "x", 994);
	strcat(symbol, "v");
	assert_int_equal(strlen(symbol), SYMBOL_MOST);
	assert_true(function_name(symbol, NAME_WITH_ARGUMENTS, name));
	assert_int_equal(strlen(name), 996);
	strcpy(symbol, "_Z995");
	repeat(symbol, "x", 995);
	strcat(symbol, "v");
	assert_none(symbol);
}

/* Would take libiberty hours. Processor time, so that a busy machine does not matter. */
static void test_choices(void **state)
{
	static const char *const pieces[][2] = {
		{ "_ZN1A", "cvT_I" },
		{ "_ZN1AIiE", "cvT_I" },
		{ "_ZN1AIiEcv", "PT_I" },
		{ "_ZN1AIiEcv", "PT0_I" },
	};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		char symbol[SYMBOL_MOST] = "";
		clock_t before = clock();

		repeat(symbol, pieces[i][0], 1);
		repeat(symbol, pieces[i][1], 35);
		repeat(symbol, "i", 1);
		repeat(symbol, "E", 36);
		repeat(symbol, "v", 1);
		assert_none(symbol);
		assert_true(clock() - before < 20 * CLOCKS_PER_SEC);
	}
}

static void test_nesting(void **state)
{
	static const char *const pieces[] = { "P", "F", "N", "Z", "I", "X", "cl", "L", "DT", "J", "1AI", "N1AI", "K" };
	char name[FUNCTION_NAME_ROOM];

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		char symbol[SYMBOL_MOST + 10] = "_Z1f";

		repeat(symbol, pieces[i], (unsigned)((SYMBOL_MOST - 10) / strlen(pieces[i])));
		function_name(symbol, NAME_WITH_ARGUMENTS, name); /* whatever it says */
		strcat(symbol, "i");
		function_name(symbol, NAME_ALONE, name);
	}
}

static void test_columns(void **state)
{
	const char *symbol = "_ZN9LAMMPS_NS9CommBrick12reverse_commEPNS_3FixEi";

	assert_string_equal(function_label(symbol, 80), "LAMMPS_NS::CommBrick::reverse_comm(LAMMPS_NS::Fix*, int)");
	assert_string_equal(function_label(symbol, 40), "LAMMPS_NS::CommBrick::reverse_comm");
	assert_string_equal(function_label(symbol, 23), "LAMMPS_..::reverse_comm");
	for (unsigned columns = 3; columns < 40; columns++)
		assert_true(strlen(function_label(symbol, columns)) <= columns);
}

/* What is not safe to print in a name is made so, and no character is cut in two. */
static void test_bytes(void **state)
{
	char symbol[100];

	for (unsigned columns = 3; columns < 20; columns++)
		assert_null(
			strstr(function_label("_ZN20\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
					      "\xc3\xa4\xc3\xa4"
					      "4stepEv",
					      columns),
			       "\\x"));
	snprintf(symbol, sizeof(symbol), "_Z4a\x1b[Kv");
	assert_string_equal(function_label(symbol, 40), "a\\x1b[K()");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),   cmocka_unit_test(test_others),  cmocka_unit_test(test_explosion),
		cmocka_unit_test(test_length),  cmocka_unit_test(test_choices), cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_columns), cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
