/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * util_test.c - JSON that is valid for any name, numbers for people, bytes that are not trusted,
 * and files that land where the caller may write.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/buffer.h"
#include "util/covered.h"
#include "util/digits.h"
#include "util/files.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"
#include "util/paragraph.h"

/* --- JSON -------------------------------------------------------------- */

static int to_buffer(void *context, const char *data, size_t size)
{
	buffer_put(context, data, size);
	return 0;
}

static int to_full_disk(void *context, const char *data, size_t size)
{
	return -ENOSPC;
}

/* A writer into memory, and what it wrote. */
struct written {
	struct json json;
	struct buffer bytes;
};

static struct written *begin(bool pretty)
{
	struct written *w = calloc(1, sizeof(*w));

	json_init(&w->json, to_buffer, &w->bytes, pretty);
	return w;
}

static void expect(struct written *w, const char *text)
{
	assert_int_equal(json_finish(&w->json), 0);
	buffer_put(&w->bytes, "", 1);
	assert_string_equal((char *)w->bytes.data, text);
	buffer_free(&w->bytes);
	free(w);
}

static void json_types_commas_itself(void **state)
{
	struct written *w = begin(false);
	struct json *j = &w->json;

	json_object(j);
	json_key_string(j, "name", "x");
	json_key(j, "list");
	json_array(j);
	json_int(j, INT64_MIN);
	json_uint(j, UINT64_MAX);
	json_int(j, 0);
	json_micros(j, 1002003);
	json_micros(j, 7);
	json_double(j, 0.1);
	json_double(j, NAN);
	json_bool(j, true);
	json_null(j);
	json_end_array(j);
	json_key_int(j, "n", -5);
	json_key(j, "empty");
	json_object(j);
	json_end_object(j);
	json_key_string(j, "none", NULL);
	expect(w,
	       "{\"name\":\"x\",\"list\":[-9223372036854775808,18446744073709551615,0,1002.003,0.007,0.1,null,true,null],"
	       "\"n\":-5,\"empty\":{},\"none\":null}"); /* and closes what is open */
}

static void json_for_people_and_for_lines(void **state)
{
	struct written *w = begin(true);

	json_object(&w->json);
	json_key_uint(&w->json, "a", 1);
	json_key(&w->json, "b");
	json_array(&w->json);
	json_end_array(&w->json);
	expect(w, "{\n  \"a\": 1,\n  \"b\": []\n}\n");

	w = begin(false);
	json_array(&w->json);
	json_newline(&w->json);
	json_int(&w->json, 1);
	json_newline(&w->json);
	json_int(&w->json, 2);
	json_newline(&w->json);
	json_end_array(&w->json);
	expect(w, "[\n1,\n2\n]");
}

static void json_strings_of_any_bytes(void **state)
{
	static const struct {
		const char *bytes, *json;
	} cases[] = {
		{ "plain", "\"plain\"" },
		{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
		{ "\b\t\n\f\r\x01\x1f\x7f", "\"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\"" },
		{ "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"" },
		{ "\xc2\x80\xc2\x9b\xc2\xa0", "\"\\u0080\\u009b\xc2\xa0\"" }, /* C1, and what comes after it */
		{ "\xff\xc3", "\"\\u00ff\\u00c3\"" },
		{ "\xc0\x80", "\"\\u00c0\\u0080\"" },                       /* overlong */
		{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" },            /* a surrogate */
		{ "\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\"" }, /* above U+10FFFF */
		{ "\xe0\x9f\xbf", "\"\\u00e0\\u009f\\u00bf\"" },            /* overlong */
		{ "", "\"\"" },
		{ "twelve bytes\" and then \xff some", "\"twelve bytes\\\" and then \\u00ff some\"" },
		{ "cut in a character\xe2\x82", "\"cut in a character\\u00e2\\u0082\"" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct written *w = begin(false);

		json_string(&w->json, cases[i].bytes);
		expect(w, cases[i].json);
	}
}

/* Every number of digits, and what is next to a power of ten. */
static void json_numbers_of_all_lengths(void **state)
{
	uint64_t power = 1, number;
	char text[64];
	unsigned i;
	int step;

	for (i = 0; i < 20; i++, power *= 10) {
		for (step = -1; step <= 1; step++) {
			struct written *w = begin(false);

			number = power + (uint64_t)(int64_t)step;
			json_uint(&w->json, number);
			snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
			expect(w, text);
		}
	}
}

/* Elements that the caller wrote stand among the others as if the writer had written them. */
static void json_takes_elements_of_others(void **state)
{
	struct written *w = begin(false);
	struct buffer quoted = { 0 };

	assert_int_equal(json_quote(&quoted, "a\"\n\xff"), 0);
	buffer_put(&quoted, ",2", 2);
	json_array(&w->json);
	json_int(&w->json, 1);
	json_newline(&w->json);
	json_elements(&w->json, (const char *)quoted.data, quoted.size);
	json_int(&w->json, 3);
	buffer_free(&quoted);
	expect(w, "[1,\n\"a\\\"\\n\\u00ff\",2,3]");
}

static void addresses_of_all_lengths(void **state)
{
	for (unsigned bits = 0; bits <= 64; bits++) {
		for (uint64_t spread = 0; spread < 3; spread++) {
			uint64_t value = (bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX) &
					 ~(spread * 0x5a5a5a5a5a5a5a5a);
			char text[DIGITS_ROOM], expected[DIGITS_ROOM];

			*digits_address(text, value) = '\0';
			snprintf(expected, sizeof(expected), "0x%llx", (unsigned long long)value);
			assert_string_equal(text, expected);
		}
	}
}

static void json_longer_than_its_buffer(void **state)
{
	struct written *w = begin(false);
	size_t size = 300000, i;
	char *text = malloc(size + 1), *quoted = malloc(size + 5);

	for (i = 0; i < size; i++)
		text[i] = (char)('a' + i % 26);
	text[size] = '\0';
	sprintf(quoted, "[\"%s\"]", text);
	json_array(&w->json);
	json_string(&w->json, text);
	expect(w, quoted);
	free(text);
	free(quoted);
}

static void json_misuse_and_full_disks_are_errors(void **state)
{
	struct json *j = calloc(1, sizeof(*j));
	unsigned i;

	json_init(j, to_full_disk, NULL, false);
	json_int(j, 1);
	assert_int_equal(json_finish(j), -ENOSPC);
	json_init(j, to_full_disk, NULL, false);
	json_object(j);
	json_int(j, 1);
	assert_int_equal(json_finish(j), -EINVAL);
	json_init(j, to_full_disk, NULL, false);
	for (i = 0; i < 2 * JSON_DEPTH; i++)
		json_array(j);
	assert_int_equal(json_finish(j), -EINVAL);
	json_init(j, to_full_disk, NULL, false);
	json_array(j);
	json_end_object(j);
	assert_int_equal(json_finish(j), -EINVAL);
	free(j);
}

static int to_nowhere(void *context, const char *data, size_t size)
{
	*(uint64_t *)context += size;
	return 0;
}

/* Prints what an event of a Chrome trace costs; not a test that a busy machine can fail. */
static void what_an_event_costs(void **state)
{
	const unsigned count = 1000000;
	struct json *j = malloc(sizeof(*j));
	struct timespec before, after;
	uint64_t bytes = 0;
	unsigned i;

	json_init(j, to_nowhere, &bytes, false);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	json_array(j);
	for (i = 0; i < count; i++) {
		json_newline(j);
		json_object(j);
		json_key_string(j, "name", "GASP_C_MALLOC");
		json_key_string(j, "ph", "X");
		json_key_uint(j, "pid", 12345);
		json_key_uint(j, "tid", 12346);
		json_key(j, "ts");
		json_micros(j, 123456789012ULL + i * 1000);
		json_key(j, "dur");
		json_micros(j, 345);
		json_key(j, "args");
		json_object(j);
		json_key_uint(j, "size", 64);
		json_key_string(j, "at", "job.c:42");
		json_end_object(j);
		json_end_object(j);
	}
	assert_int_equal(json_finish(j), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	print_message("a trace event: %llu bytes in %.0f ns of CPU\n", (unsigned long long)(bytes / count),
		      ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) /
			      count);
	free(j);
}

/* --- buffers ----------------------------------------------------------- */

static void numbers_and_strings_come_back(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX };
	struct buffer b = { 0 };
	struct cursor c;
	char *text;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		buffer_put_varint(&b, numbers[i]);
		buffer_put_signed(&b, (int64_t)numbers[i]);
	}
	buffer_put_string(&b, NULL);
	buffer_put_string(&b, "");
	buffer_put_string(&b, "text");
	c = (struct cursor){ b.data, b.data + b.size, false };
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_true(cursor_varint(&c) == numbers[i]);
		assert_true(cursor_signed(&c) == (int64_t)numbers[i]);
	}
	assert_null(cursor_string(&c, 10));
	assert_false(c.failed);
	text = cursor_string(&c, 10);
	assert_string_equal(text, "");
	free(text);
	text = cursor_string(&c, 10);
	assert_string_equal(text, "text");
	free(text);
	assert_false(c.failed);
	assert_int_equal(cursor_varint(&c), 0);
	assert_true(c.failed);
	assert_null(cursor_bytes(&c, 0));
	buffer_free(&b);
}

static void bad_bytes_fail(void **state)
{
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
	static const uint8_t too_long[] = { 5, 'a', 'b', 'c', 'd' };
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'x' };
	struct cursor c = { endless, endless + sizeof(endless), false };

	cursor_varint(&c);
	assert_true(c.failed);
	c = (struct cursor){ too_long, too_long + sizeof(too_long), false };
	assert_null(cursor_string(&c, 3));
	assert_true(c.failed);
	c = (struct cursor){ too_long, too_long + 3, false };
	assert_null(cursor_string(&c, 100));
	assert_true(c.failed);
	c = (struct cursor){ huge, huge + sizeof(huge), false };
	assert_null(cursor_bytes(&c, SIZE_MAX));
	c.failed = false;
	assert_null(cursor_string(&c, SIZE_MAX));
	assert_true(c.failed);
}

/* --- numbers for people ------------------------------------------------ */

static void times_and_sizes_are_readable(void **state)
{
	char b[FORMAT_SIZE];

	assert_string_equal(format_time(b, 0), "0 ns");
	assert_string_equal(format_time(b, 999), "999 ns");
	assert_string_equal(format_time(b, 1000), "1.000 us");
	assert_string_equal(format_time(b, 1234567), "1.235 ms");
	assert_string_equal(format_time(b, 12345678), "12.35 ms");
	assert_string_equal(format_time(b, 999940000), "999.9 ms");
	assert_string_equal(format_time(b, 999960000), "1.000 s");
	assert_string_equal(format_time(b, 3600000000000ULL), "3600.0 s");
	assert_true(strlen(format_time(b, UINT64_MAX)) < FORMAT_SIZE);
	assert_string_equal(format_bytes(b, 1023), "1023 B");
	assert_string_equal(format_bytes(b, 512), "512 B");
	assert_string_equal(format_bytes(b, 12 * 1048576 + 524288), "12.5 MiB");
	assert_string_equal(format_bytes(b, UINT64_MAX), "16.0 EiB");
	assert_string_equal(format_count(b, 7), "7");
	assert_string_equal(format_count(b, 1234567), "1,234,567");
	assert_string_equal(format_count(b, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(plural_ending("rank"), "s");
	assert_string_equal(plural_ending("process"), "es");
	assert_string_equal(plural_ending(""), "s");
	assert_string_equal(format_rate(b, 12345), "12.3 k/s");
	assert_string_equal(format_rate(b, 0), "0.0/s");
	assert_string_equal(format_rate(b, 999999), "1.0 M/s");
	assert_string_equal(format_rate(b, NAN), "0.0/s");
}

static void numbers_of_people_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{ "10", 10000000000 },   { "10s", 10000000000 },  { "500ms", 500000000 }, { "2m", 120000000000 },
		{ "1h", 3600000000000 }, { "1.5 s", 1500000000 }, { ".25us", 250 },       { "0", 0 },
	};
	static const char *const bad[] = {
		"", "s", "-1", "1x", "1 s s", "nan", "0x10", "1e3", ".", "99999999999999999999", "20000000000s"
	};
	uint64_t value;
	double percent;
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(parse_time(times[i].text, &value), 0);
		assert_true(value == times[i].ns);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_time(bad[i], &value), -EINVAL);
	assert_int_equal(parse_bytes("16mb", &value), 0);
	assert_true(value == 16 << 20);
	assert_int_equal(parse_bytes("1GiB", &value), 0);
	assert_true(value == 1 << 30);
	assert_int_equal(parse_bytes("64k", &value), 0);
	assert_true(value == 65536);
	assert_int_equal(parse_bytes("64 parsecs", &value), -EINVAL);
	assert_int_equal(parse_percent("2%", &percent), 0);
	assert_true(percent == 2);
	assert_int_equal(parse_percent("0.5", &percent), 0);
	assert_true(percent == 0.5);
	assert_int_equal(parse_percent("101%", &percent), -EINVAL);
}

/* --- messages ---------------------------------------------------------- */

static void names_are_safe_to_print(void **state)
{
	char text[1000];

	assert_string_equal(log_safe("plain \xc3\xa9"), "plain \xc3\xa9");
	assert_string_equal(log_safe("\x1b[2J\n\x7f\xff"), "\\x1b[2J\\x0a\\x7f\\xff");
	assert_string_equal(log_safe("\xc2\x9b"), "\\xc2\\x9b"); /* C1: a terminal's CSI */
	assert_string_equal(log_safe(NULL), "");
	memset(text, 1, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(strlen(log_safe(text)) <= 255);
}

/* --- files ------------------------------------------------------------- */

static char folder[] = "/tmp/gaspbpf-util-XXXXXX";

static char *in_folder(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	return mkdtemp(folder) && !chmod(folder, 01777) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "file", "link", "fifo", "mine" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_folder(names[i]));
	return rmdir(folder);
}

/* The error of creating it, with what is said thrown away. */
static int refused(const char *path, const struct caller *caller)
{
	int saved = dup(2), null = open("/dev/null", O_WRONLY), result;

	dup2(null, 2);
	result = file_create(path, caller);
	dup2(saved, 2);
	close(saved);
	close(null);
	return result;
}

static void only_regular_files_are_written(void **state)
{
	struct caller caller;
	struct stat status;
	int fd;

	assert_int_equal(caller_find(&caller), 0);
	fd = file_create(in_folder("file"), &caller);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, "old text", 8), 0);
	close(fd);
	fd = file_create(in_folder("file"), &caller);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 0);
	close(fd);
	assert_int_equal(symlink("file", in_folder("link")), 0);
	assert_int_equal(refused(in_folder("link"), &caller), -ELOOP);
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_int_equal(refused(in_folder("fifo"), &caller), -ENODEV);
	assert_int_equal(refused(in_folder("no/file"), &caller), -ENOENT);
	assert_int_equal(refused(in_folder(""), &caller), -EISDIR);
	assert_int_equal(refused("/dev/null", &caller), -ENODEV);
	caller_free(&caller);
}

static void root_writes_as_the_user_who_called(void **state)
{
	struct caller caller;
	struct stat status;
	int fd;

	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "0", 1); /* not a group of nobody's */
	assert_int_equal(caller_find(&caller), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(caller.uid, 65534);
	assert_int_equal(caller.gid, 65534);
	fd = file_create(in_folder("mine"), &caller);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_uid, 65534);
	assert_int_equal(status.st_gid, 65534);
	close(fd);
	assert_int_equal(refused("/root/gaspbpf-must-not-be-here", &caller), -EACCES);
	assert_int_equal(refused("/etc/passwd", &caller), -EACCES);
	fd = open("/root", O_RDONLY | O_DIRECTORY); /* and is root again afterwards */
	assert_true(fd >= 0);
	close(fd);
	caller_free(&caller);
}

static void small_files_are_read_whole(void **state)
{
	size_t size;
	char *text = read_file_at(AT_FDCWD, "/proc/self/status", 1 << 20, &size);

	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	assert_non_null(strstr(text, "Name:"));
	free(text);
	assert_null(read_file_at(AT_FDCWD, "/proc/self/status", 100, &size));
	assert_int_equal(errno, EFBIG);
	assert_null(read_file_at(AT_FDCWD, "/dev/zero", 100000, NULL));
	assert_int_equal(errno, EFBIG);
	assert_null(read_file_at(AT_FDCWD, "/nonexistent", 100, NULL));
	assert_int_equal(errno, ENOENT);
}

/* The same by marking each moment. */
static void intervals_of_all_kinds_are_covered_once(void **state)
{
	(void)state;
	enum { MOMENTS = 4000, TRIES = 300 };
	static char marked[MOMENTS];
	struct covered covered = { 0 };
	uint64_t seed = 1, fresh, want;

	for (int try = 0; try < TRIES; try++) {
		uint64_t longest = try % 3 ? 20 : 400;

		memset(marked, 0, sizeof(marked));
		for (uint64_t end = 1; end < MOMENTS; end += (seed >> 33) % 5) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint64_t start = end - (seed >> 35) % (end < longest ? end + 1 : longest);

			want = 0;
			for (uint64_t i = start; i < end; i++)
				want += !marked[i];
			memset(marked + start, 1, end - start);
			assert_int_equal(covered_add(&covered, start, end, &fresh), 0);
			assert_int_equal(fresh, want);
		}
		covered_free(&covered);
	}
}

/* Ten million that lie apart take little room, and one around all of them knows what they took. */
static void many_intervals_take_little_room(void **state)
{
	(void)state;
	struct covered covered = { 0 };
	uint64_t fresh, many = 10000000;

	for (uint64_t i = 0; i < many; i++)
		assert_int_equal(covered_add(&covered, 10 * i + 5, 10 * i + 8, &fresh), 0);
	assert_true(covered.room < 2000);
	assert_int_equal(covered_add(&covered, 0, 10 * many, &fresh), 0);
	assert_int_equal(fresh, 7 * many);
	covered_free(&covered);
}

static void paragraphs_end_at_the_right_edge(void **state)
{
	(void)state;
	char *text;
	size_t size;
	struct paragraph p = { .out = open_memstream(&text, &size), .width = 12, .indent = 2, .further = 4 };

	paragraph_words(&p, "one %s", "two  three four");
	paragraph_piece(&p, "f\u00fcnf und", ","); /* no blank in it is an end of line; two bytes are one column */
	paragraph_piece(&p, "longer than the line", "");
	paragraph_end(&p);
	paragraph_end(&p); /* nothing is in it any more */
	fclose(p.out);
	assert_string_equal(text, "  one two\n    three\n    four\n    f\u00fcnf und,\n    longer than the line\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_types_commas_itself),
		cmocka_unit_test(json_for_people_and_for_lines),
		cmocka_unit_test(json_strings_of_any_bytes),
		cmocka_unit_test(json_numbers_of_all_lengths),
		cmocka_unit_test(json_takes_elements_of_others),
		cmocka_unit_test(addresses_of_all_lengths),
		cmocka_unit_test(json_longer_than_its_buffer),
		cmocka_unit_test(json_misuse_and_full_disks_are_errors),
		cmocka_unit_test(what_an_event_costs),
		cmocka_unit_test(numbers_and_strings_come_back),
		cmocka_unit_test(bad_bytes_fail),
		cmocka_unit_test(times_and_sizes_are_readable),
		cmocka_unit_test(numbers_of_people_are_read),
		cmocka_unit_test(names_are_safe_to_print),
		cmocka_unit_test(only_regular_files_are_written),
		cmocka_unit_test(root_writes_as_the_user_who_called),
		cmocka_unit_test(small_files_are_read_whole),
		cmocka_unit_test(intervals_of_all_kinds_are_covered_once),
		cmocka_unit_test(many_intervals_take_little_room),
		cmocka_unit_test(paragraphs_end_at_the_right_edge),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
