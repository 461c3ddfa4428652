/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced_test.c - what a program tells of itself: formats, texts in the words of a span, and the model language for
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "capture/announced/announced_private.h"
#include "meaning/value.h"
#include "util/log.h"

static const struct item *item(const struct items *items, size_t index, const char *name, enum item_kind kind)
{
	assert_true(index < items->count);
	assert_string_equal(items->item[index].name, name);
	assert_int_equal(items->item[index].kind, kind);
	return &items->item[index];
}

static void formats_name_their_values(void **state)
{
	struct items items;

	items_of_format(&items, "step %d of=%s at (%p: 100%% %hhu%ld, ratio:%5.*f %Lf %zx");
	assert_int_equal(items.count, 9);
	assert_false(items.cut);
	assert_int_equal(item(&items, 0, "step", ITEM_WORD)->width, GB_S32);
	item(&items, 1, "of", ITEM_TEXT);
	assert_int_equal(item(&items, 2, "at", ITEM_WORD)->form, FORM_POINTER);
	assert_int_equal(item(&items, 3, "arg4", ITEM_WORD)->width, GB_U8);
	assert_int_equal(item(&items, 4, "arg5", ITEM_WORD)->width, GB_U64);
	assert_true(items.item[5].skipped); /* the '*' */
	item(&items, 6, "ratio", ITEM_REAL);
	item(&items, 7, "arg8", ITEM_LONG_REAL);
	item(&items, 8, "arg9", ITEM_WORD);
}

static void odd_formats_do_no_harm(void **state)
{
	static const char *const formats[] = { "%",   "%%",   "% ", "%l",           "%q",
					       "%d%", "%5$d", "%*", "\xff%d\xff%s", "%-+#0123456789.999lld" };
	char many[1024] = "";
	struct items items;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		items_of_format(&items, formats[i]);
		assert_true(items.count <= ITEMS_MOST);
	}
	items_of_format(&items, NULL);
	assert_int_equal(items.count, 0);
	for (int i = 0; i < 200; i++)
		strcat(many, "%*d");
	items_of_format(&items, many);
	assert_int_equal(items.count, ITEMS_MOST);
	assert_true(items.cut);
	/* A conversion that nobody knows: nothing is known of what follows. */
	items_of_format(&items, "a=%d %y b=%d");
	assert_int_equal(items.count, 1);
	assert_true(items.cut);
}

static void texts_have_an_end(void **state)
{
	uint64_t words[3];
	struct value v = { .form = FORM_TEXT, .slot = 1, .element = 2 };

	memset(words, 'x', sizeof(words));
	assert_null(value_text(&v, words, 3, 0, true));
	memcpy(&words[1], "abc", 4);
	assert_string_equal(value_text(&v, words, 3, 0, true), "abc");
	assert_null(value_text(&v, words, 2, 0, true)); /* not all of it was sent */
	assert_null(value_text(&v, words, 3, 2, true)); /* unread */
	v.element = UINT32_MAX;
	assert_null(value_text(&v, words, 3, 0, true));
	v.element = 2;
	v.at_return = true;
	assert_null(value_text(&v, words, 3, 0, false));
}

static bool reads(const char *lines)
{
	struct model_set *set = models_new();
	char text[1024];
	int length = snprintf(text, sizeof(text), "model test\nlibrary program\n%s", lines);
	bool good = !models_add_text(set, "test", text, length);

	models_free(set);
	return good;
}

static void models_say_all_that_marks_need(void **state)
{
	assert_true(reads("A user starts void f(unsigned tag @id, ...)\n"));
	assert_true(reads(
		"join always\nA user notifies void f(void *c, unsigned tag @id, int kind @kind, va_list varargs)\n"));
	assert_true(reads("A user controls int f(const int *on @on)\ntold A 1100\n"));
	assert_false(reads("A user starts f\n"));
	assert_false(reads("A user starts void f(unsigned tag, ...)\n"));
	assert_false(reads("A user notifies void f(unsigned tag @id)\n"));
	assert_false(reads("A user creates unsigned f(int a, int b, int c, const char *name @name)\n"));
	assert_false(reads("A user controls int f(int a, int b, int c, int d, int e, int f, int on @on)\n"));
	assert_false(reads("join never\nA user f\n"));
	assert_false(reads("A user f\ntold A 1\ntold A 2\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_name_their_values),
		cmocka_unit_test(odd_formats_do_no_harm),
		cmocka_unit_test(texts_have_an_end),
		cmocka_unit_test(models_say_all_that_marks_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
