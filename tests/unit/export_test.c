/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_test.c - what all formats are made of: bytes on their way to a file, against the bytes that went in, and a
 * call's values as words, against what the C library reads in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/recorded_job.h"

#include <zlib.h>

#include "export/call.h"
#include "export/ctf/classes.h"
#include "export/output.h"

#define LARGE (3u << 20) /* more than all blocks that are on their way hold */

/* --- bytes -------------------------------------------------------------------- */

/* What cannot be squeezed, or well: a file is written in pieces of its own size then. */
static uint8_t *make_bytes(size_t size, bool dense)
{
	uint8_t *bytes = malloc(size ?: 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = dense ? (uint8_t)random_number() : (uint8_t) "event "[i % 6];
	return bytes;
}

/* In pieces of any size. */
static void write_bytes(struct output *out, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t some = below(4) ? below(100) : below(700000);

		if (some > size - at)
			some = size - at;
		assert_int_equal(output_write(out, (const char *)bytes + at, some), 0);
		at += some;
	}
}

static void check_file(int fd, bool zipped, const uint8_t *bytes, size_t size)
{
	uint8_t *found = malloc(size + 1);
	size_t got = 0;
	ssize_t some = 1;
	gzFile file;

	assert_non_null(found);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (zipped) {
		file = gzdopen(dup(fd), "rb");
		assert_non_null(file);
		got = (size_t)gzread(file, found, (unsigned)size + 1);
		assert_false(gzdirect(file) && size);
		assert_int_equal(gzclose(file), Z_OK);
	} else {
		while (some > 0 && got <= size) {
			some = read(fd, found + got, size + 1 - got);
			got += some > 0 ? (size_t)some : 0;
		}
	}
	assert_int_equal(got, size);
	assert_memory_equal(found, bytes, size);
	free(found);
}

static void test_what_went_in_comes_out(void **state)
{
	static const size_t sizes[] = { 0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3 * (256 << 10), LARGE };

	random_state = 4711;
	for (unsigned i = 0; i < 4 * sizeof(sizes) / sizeof(*sizes); i++) {
		size_t size = sizes[i / 4];
		bool zipped = i % 2, dense = i / 2 % 2;
		uint8_t *bytes = make_bytes(size, dense);
		int fd = new_file();
		struct output *out = output_open(fd, zipped ? "job.json.gz" : "job.json");

		assert_non_null(out);
		write_bytes(out, bytes, size);
		assert_int_equal(output_close(out), 0);
		check_file(fd, zipped, bytes, size);
		close(fd);
		free(bytes);
	}
}

/* The first error counts; it is said once, and nobody waits for ever. */
static void test_a_full_disk_is_said_once(void **state)
{
	for (int zipped = 0; zipped < 2; zipped++) {
		uint8_t *bytes = make_bytes(LARGE, true);
		int fd = open("/dev/full", O_WRONLY), error = 0;
		struct capture_log log = start_listening();
		struct output *out = output_open(fd, zipped ? "job.json.gz" : "job.json");
		const char *said;

		assert_non_null(out);
		for (int i = 0; i < 3; i++)
			error = output_write(out, (const char *)bytes, LARGE) ?: error;
		assert_int_equal(output_close(out), -ENOSPC);
		said = heard(&log);
		assert_int_equal(error, -ENOSPC);
		assert_int_equal(lines(said), 1);
		assert_non_null(strstr(said, "cannot write: No space left on device"));
		close(fd);
		free(bytes);
	}
}

/* What fits into a block is written at the end: only then can it fail. */
static void test_a_small_file_fails_at_its_end(void **state)
{
	struct capture_log log = start_listening();
	int fd = open("/dev/full", O_WRONLY);
	struct output *out = output_open(fd, "x");

	assert_int_equal(output_write(out, "x", 1), 0);
	assert_int_equal(output_close(out), -ENOSPC);
	assert_int_equal(lines(heard(&log)), 1);
	close(fd);
}

/* --- words ---------------------------------------------------------------------- */

static char *word_of(enum form form, uint64_t word, bool returned)
{
	static struct shown_value shown;
	const struct value value = { .name = (char *)"x", .form = form, .width = GB_U64, .at_return = true };
	const struct span span = { .reason = returned ? GB_END_RETURN : GB_END_UNWOUND,
				   .nwords = 1,
				   .words = { word } };

	call_value(&span, &value, &shown);
	return (char *)shown_text(&shown);
}

static void test_a_real_number_is_read_as_the_same(void **state)
{
	static const double odd[] = { 0,    -0.0,      0.1,       1.0 / 3, 1e300,    5e-324,   1e22,
				      1e23, 123456789, 0.1 + 0.2, -1e-5,   INFINITY, -INFINITY };

	random_state = 815;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t word = random_number();
		double real, found;

		if (i < sizeof(odd) / sizeof(*odd))
			memcpy(&word, &odd[i], sizeof(word));
		memcpy(&real, &word, sizeof(real));
		if (isnan(real))
			continue;
		found = strtod(word_of(FORM_REAL, word, true), NULL);
		assert_memory_equal(&found, &real, sizeof(real));
	}
	assert_string_equal(word_of(FORM_REAL, 0x3fb999999999999a, true), "0.1"); /* as few digits as will do */
	assert_non_null(strstr(word_of(FORM_REAL, 0x7ff8000000000000, true), "nan"));
}

static void test_numbers_are_as_their_form_says(void **state)
{
	random_state = 816;
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t word = random_number() >> below(64);

		assert_true(strtoull(word_of(FORM_UINT, word, true), NULL, 10) == word);
		assert_true(strtoll(word_of(FORM_INT, word, true), NULL, 10) == (int64_t)word);
		assert_true(strtoull(word_of(FORM_POINTER, word, true), NULL, 16) == word);
	}
	assert_string_equal(word_of(FORM_INT, (uint64_t)INT64_MIN, true), "-9223372036854775808");
	assert_string_equal(word_of(FORM_UINT, UINT64_MAX, true), "18446744073709551615");
	assert_string_equal(word_of(FORM_POINTER, 0, true), "0x0");
	assert_string_equal(word_of(FORM_BOOL, 0, true), "false");
	assert_string_equal(word_of(FORM_BOOL, 1, true), "true");
	/* What the return would have told. */
	for (enum form form = FORM_INT; form <= FORM_BOOL; form++)
		assert_string_equal(word_of(form, 1, false), "unknown");
	assert_string_equal(word_of(FORM_REAL, 1, false), "unknown");
}

/* What is not known has no field; no two fields have one name; names are words of CTF's language. */
static void test_classes_of_ctf(void **state)
{
	static const char expected[] = "\nevent {\n\tname = \"measurement_on\";\n\tid = 0;\n\tstream_id = 2;\n"
				       "\tfields := struct {\n\t\treal _a_b;\n\t\tint64 _a_b_2;\n\t\tstring _value;\n"
				       "\t\taddress64 _end;\n\t};\n};\n";
	const struct definitions d = { 0 };
	struct event_field fields[] = { { .name = "a.b", .kind = FIELD_REAL },
					{ .name = "a_b", .kind = FIELD_SIGNED },
					{ .name = "gone", .kind = FIELD_UNKNOWN },
					{ .name = "", .kind = FIELD_TEXT },
					{ .name = "end", .kind = FIELD_ADDRESS } };
	struct classes *classes = classes_new(&d);
	struct buffer text = { 0 };
	uint32_t number;

	assert_non_null(classes);
	for (unsigned again = 0; again < 2; again++) {
		assert_int_equal(classes_find(classes, STREAM_OF_RANK, KIND_ON, 0, fields, 5, &number), 0);
		assert_int_equal(number, 0);
	}
	assert_int_equal(classes_put(classes, &text), 0);
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.data, expected, text.size);
	fields[2].kind = FIELD_TRUTH;
	assert_int_equal(classes_find(classes, STREAM_OF_RANK, KIND_ON, 0, fields, 5, &number), 0);
	assert_int_equal(number, 1);
	buffer_free(&text);
	classes_free(classes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_went_in_comes_out),
		cmocka_unit_test(test_a_full_disk_is_said_once),
		cmocka_unit_test(test_a_small_file_fails_at_its_end),
		cmocka_unit_test(test_a_real_number_is_read_as_the_same),
		cmocka_unit_test(test_numbers_are_as_their_form_says),
		cmocka_unit_test(test_classes_of_ctf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
