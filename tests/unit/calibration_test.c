/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a start has written about prices, as later ones read it: all of it, or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "probe/calibration.h"

#define HEAD "gaspbpf calibration\nkernel 6.18\nway session\n"
#define MADE 5000 /* s since boot */
#define HOUR 3600

static const struct calibration measured = {
	.costs = { .call = { 1, 2, 3 },
		   .skipped = { 4, 5, 6 },
		   .floor = { 7, 8, 9 },
		   .cold = { 10, 11, 12 },
		   .cold_skipped = { 13, 14, 15 },
		   .word = 16,
		   .link = 17 },
	.filters_kill = true,
	.made = MADE,
};

static size_t write_measured(char text[512])
{
	size_t length = calibration_write_text(&measured, HEAD, text, 512);

	assert_int_equal(length, strlen(text));
	return length;
}

static bool is_read(const char *text, uint64_t now)
{
	struct calibration read;

	return calibration_read_text(&read, HEAD, text, now);
}

static void what_was_written_is_read(void **state)
{
	struct calibration read;
	char text[512];

	write_measured(text);
	assert_true(calibration_read_text(&read, HEAD, text, MADE + 60));
	assert_memory_equal(&read.costs, &measured.costs, sizeof(read.costs));
	assert_true(read.filters_kill);
	assert_int_equal(read.age, 60);
}

static void another_machine_or_kernel_is_not_ours(void **state)
{
	struct calibration read;
	char text[512];

	write_measured(text);
	assert_false(calibration_read_text(&read, "gaspbpf calibration\nkernel 6.19\nway session\n", text, MADE));
	assert_false(calibration_read_text(&read, HEAD "way multi\n", text, MADE));
}

static void an_hour_is_the_end(void **state)
{
	char text[512];

	write_measured(text);
	assert_true(is_read(text, MADE));
	assert_true(is_read(text, MADE + HOUR));
	assert_false(is_read(text, MADE + HOUR + 1));
	assert_false(is_read(text, MADE - 1)); /* of another boot, or of nobody */
}

static void a_part_is_nothing(void **state)
{
	char text[512];

	for (size_t length = write_measured(text); length--;) {
		text[length] = '\0';
		assert_false(is_read(text, MADE));
	}
}

static void what_no_start_writes_is_nothing(void **state)
{
	static const struct {
		const char *instead, *of;
	} changes[] = {
		{ "\n1 2 3x", "\n1 2 3" },          { "\n1  2 3", "\n1 2 3" },
		{ "\n1 2 -3", "\n1 2 3" },          { "\n1 2 100000001", "\n1 2 3" },
		{ "\n1 2 3 4", "\n1 2 3" },         { "filters 2", "filters 1" },
		{ "\n13 14 15\n16", "\n13 14 15" }, { "\n1 2 99999999999999999999", "\n1 2 3" },
	};
	char text[512], other[1024];

	write_measured(text);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *at = strstr(text, changes[i].of);

		assert_non_null(at);
		snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - text), text, changes[i].instead,
			 at + strlen(changes[i].of));
		assert_false(is_read(other, MADE));
	}
}

static void no_room_is_no_text(void **state)
{
	char text[512], less[512];
	size_t length = write_measured(text);

	for (size_t size = 1; size <= length; size++)
		assert_int_equal(calibration_write_text(&measured, HEAD, less, size), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(another_machine_or_kernel_is_not_ours),
		cmocka_unit_test(an_hour_is_the_end),
		cmocka_unit_test(a_part_is_nothing),
		cmocka_unit_test(what_no_start_writes_is_nothing),
		cmocka_unit_test(no_room_is_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
