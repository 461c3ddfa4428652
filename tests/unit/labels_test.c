/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * labels_test.c - what people call a process, a thread, a place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/people.h"
#include "recording/labels.h"

static char text[LABEL_ROOM];

static void processes_and_threads(void **state)
{
	const struct who rank = { .unit = "PE", .rank = 3, .name = "solver", .pid = 42 },
			 plain = { .rank = -1, .name = "solver", .pid = 42 };
	const struct who main_thread = { .unit = "PE", .rank = 3, .name = "solver", .pid = 42, .tid = 42 };
	const struct who worker = { .rank = 3, .name = "worker-1", .pid = 42, .tid = 43 },
			 alone = { .rank = -1, .name = "worker-1", .pid = 42, .tid = 43 };
	const struct who first = { .rank = -1, .name = "solver", .pid = 42, .tid = 42 }, unknown = { .rank = -1 };

	assert_string_equal(label_of_process(&rank, text, sizeof(text)), "PE 3");
	assert_string_equal(label_with_pid(&rank, text, sizeof(text)), "PE 3 (pid 42)");
	assert_string_equal(label_of_process(&plain, text, sizeof(text)), "solver (pid 42)");
	assert_string_equal(label_with_pid(&plain, text, sizeof(text)), "solver (pid 42)");
	assert_string_equal(label_of_thread(&main_thread, text, sizeof(text)), "PE 3");
	assert_string_equal(label_of_thread(&worker, text, sizeof(text)), "rank 3 worker-1 (tid 43)");
	assert_string_equal(label_without_tid(&worker, text, sizeof(text)), "rank 3 worker-1");
	assert_string_equal(label_of_thread(&alone, text, sizeof(text)), "worker-1 (tid 43)");
	assert_string_equal(label_of_thread(&first, text, sizeof(text)), "solver (tid 42)");
	assert_string_equal(label_without_tid(&first, text, sizeof(text)), "solver");
	assert_string_equal(label_of_process(&unknown, text, sizeof(text)), "?");
	assert_string_equal(label_of_thread(&unknown, text, sizeof(text)), "?");
}

/* What a target calls itself is its own affair, what goes to a terminal is not. */
static void names_of_any_bytes(void **state)
{
	struct who who = { .rank = -1, .name = "a\033[2Jb", .pid = 42, .tid = 43 };

	assert_string_equal(label_of_thread(&who, text, sizeof(text)), "a\\x1b[2Jb (tid 43)");
	who.exact = true;
	assert_string_equal(label_of_thread(&who, text, sizeof(text)), "a\033[2Jb (tid 43)");
}

/* Of a long name the end is left out, and not the number. */
static void little_room(void **state)
{
	struct who who = { .unit = "rank", .rank = 7, .name = "a-very-long-name", .pid = 42, .tid = 4242 };

	assert_string_equal(label_of_thread(&who, text, 24), "rank 7 a-ver (tid 4242)");
	who.rank = -1;
	assert_string_equal(label_with_pid(&who, text, 16), "a-very (pid 42)");
	label_of_thread(&who, text, 4);
	assert_string_equal(text, "a-v");
}

/* A few are told by name; those who share one by their numbers. */
static void several_threads(void **state)
{
	struct def_process process = { .pid = 42, .rank = -1 };
	struct def_thread threads[] = { { .tid = 43, .name = (char *)"pigz" },
					{ .tid = 44, .name = (char *)"pigz" },
					{ .tid = 45, .name = (char *)"sum" },
					{ .tid = 46, .name = (char *)"pigz" } };
	struct definitions d = { .processes = &process, .nprocesses = 1, .threads = threads, .nthreads = 4 };
	static const struct {
		uint64_t who;
		const char *label;
	} cases[] = { { 1, "pigz (tid 43)" },
		      { 3, "pigz (tids 43, 44)" },
		      { 4 | 8, "sum, pigz" },
		      { 1 | 4 | 8, "pigz (tid 43), sum (tid 45), pigz (tid 46)" },
		      { 1 | 2 | 8, "pigz (tids 43, 44, 46)" },
		      { 15, "4 threads" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct people people = { .bits = &(uint64_t){ cases[i].who }, .words = 1 };

		assert_string_equal(people_label(&d, &people, text, sizeof(text)), cases[i].label);
	}
}

static void events(void **state)
{
	struct def_probe probe = { .event = (char *)"GASP_USER_FUNCTION", .symbol = (char *)"step" };

	assert_string_equal(event_label(&probe, false, text, sizeof(text)), "GASP_USER_FUNCTION");
	probe.marks = MARK_EACH;
	assert_string_equal(event_label(&probe, false, text, sizeof(text)), "GASP_USER_FUNCTION step");
	assert_string_equal(event_label(&probe, true, text, sizeof(text)), "GASP_USER_FUNCTION step (inner)");
	assert_string_equal(event_label(&(struct def_probe){ 0 }, false, text, sizeof(text)), "?");
}

static void places(void **state)
{
	struct def_image images[] = { { .path = (char *)"/usr/bin/solver" },
				      { .path = (char *)"/usr/lib/libpetsc_real.so.3.18.5" },
				      { .path = (char *)"/usr/lib/.so.1" } };
	struct def_site sites[] = {
		{ .file = (char *)"/home/u/ring.c",
		  .line = 12,
		  .column = 5,
		  .function = (char *)"exchange",
		  .image = NO_INDEX },
		{ .file = (char *)"/home/u/ring.c", .line = 12, .image = NO_INDEX },
		{ .function = (char *)"main", .function_offset = 0x12, .image = NO_INDEX },
		{ .image = 0, .offset = 0x1200 },
		{ .image = 1, .offset = 0x1200 },
		{ .image = 2, .offset = 0x1200 },
		{ .image = NO_INDEX, .address = 0x7f00 },
	};
	struct definitions d = { .sites = sites, .nsites = 7, .images = images, .nimages = 3 };
	static const char *const labels[] = { "ring.c:12 in exchange",   "ring.c:12",    "main+0x12", "solver+0x1200",
					      "libpetsc_real.so+0x1200", ".so.1+0x1200", "0x7f00",    "?" };
	static const char *const exact[] = { "/home/u/ring.c:12:5",
					     "/home/u/ring.c:12",
					     "main+0x12",
					     "solver+0x1200",
					     "libpetsc_real.so.3.18.5+0x1200",
					     ".so.1+0x1200",
					     "0x7f00" };

	for (uint32_t i = 0; i < 8; i++)
		assert_string_equal(site_label(&d, i, text, sizeof(text)), labels[i]);
	for (uint32_t i = 0; i < 7; i++) {
		char *place = site_place(&d, i);

		assert_string_equal(place, exact[i]);
		free(place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_and_threads),
		cmocka_unit_test(names_of_any_bytes),
		cmocka_unit_test(little_room),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(events),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
