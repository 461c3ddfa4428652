/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files_test.c - what descriptors are called: by Linux where it was asked in time, else by the call that opened them,
 * and never by the name of another file. The descriptors are this program's own, the calls are made up.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/session.h"
#include "util/clock.h"

enum { OPEN, CLOSE, READ, PROBES };

#define NOWHERE 900 /* a descriptor that is not open */
#define RESULT GB_PATH_WORDS

static struct {
	struct capture_session s;
	struct definitions d;
	struct captured_process process;
	struct captured_thread thread;
	struct texts *texts;
	uint64_t here; /* gb_folder_id() of the working directory */
	char folder[PATH_MAX];
} is;

static int set_up(void **state)
{
	static char no_name[] = "";
	static struct value open[] = {
		{ .name = no_name,
		  .meaning = MEANING_PATH,
		  .form = FORM_TEXT,
		  .width = GB_U64,
		  .element = GB_PATH_TEXT },
		{ .name = no_name, .meaning = MEANING_FD, .width = GB_S32, .slot = RESULT, .at_return = true },
	};
	static struct value closed = { .name = no_name, .meaning = MEANING_CLOSED, .width = GB_S32 };
	static struct value used = { .name = no_name, .meaning = MEANING_FD, .width = GB_S32 };
	static struct def_probe probes[PROBES] = { { .values = open, .nvalues = 2 },
						   { .values = &closed, .nvalues = 1 },
						   { .values = &used, .nvalues = 1 } };
	static struct def_thread thread;
	struct captured_process *p = &is.process;

	memset(&is, 0, sizeof(is));
	is.d.probes = probes;
	is.d.nprobes = PROBES;
	is.d.threads = &thread;
	is.d.nthreads = 1;
	is.s.d = &is.d;
	is.s.pass.number = 1;
	is.thread.pid = p->pid = (uint32_t)getpid();
	assert_int_equal(process_open(&p->process, getpid()), 0);
	HASH_ADD_INT(is.s.processes.table, pid, p);
	is.texts = texts_new(&is.d);
	assert_true(process_folder(p->process, &is.here, is.folder, sizeof(is.folder)) > 0);
	return 0;
}

static int tear_down(void **state)
{
	struct captured_process *p = &is.process;

	session_free_files(&is.s);
	texts_free(is.texts);
	HASH_DEL(is.s.processes.table, p);
	process_close(p->process);
	for (size_t i = 0; i < is.d.ntexts; i++)
		free(is.d.texts[i].text);
	free(is.d.texts);
	return 0;
}

static void note_at(uint32_t probe, const uint64_t words[GB_SLOTS], uint32_t unread, uint64_t time)
{
	struct span span = { .probe = probe, .start = time, .end = time, .unread = unread, .nwords = GB_SLOTS };

	memcpy(span.words, words, sizeof(span.words));
	session_note_files(&is.s, &is.thread, &span);
}

/* A call that has just been made; when. */
static uint64_t note(uint32_t probe, const uint64_t words[GB_SLOTS], uint32_t unread)
{
	uint64_t now = clock_monotonic();

	note_at(probe, words, unread, now);
	return now;
}

static uint64_t opened(int fd, const char *path, uint64_t folder)
{
	uint64_t words[GB_SLOTS] = { 0 };

	strncpy((char *)words, path, GB_PATH_TEXT * 8 - 1);
	words[GB_PATH_TEXT] = folder;
	words[RESULT] = (uint64_t)fd;
	return note(OPEN, words, 0);
}

static uint64_t called(uint32_t probe, int fd)
{
	uint64_t words[GB_SLOTS] = { (uint64_t)fd };

	return note(probe, words, 0);
}

/* The same, of a call that was made long before it is looked at. */
static void called_at(uint32_t probe, int fd, uint64_t time)
{
	uint64_t words[GB_SLOTS] = { (uint64_t)fd };

	note_at(probe, words, 0, time);
}

static const char *name(int fd, uint64_t time)
{
	return texts_find(is.texts, 0, TEXT_OF_FILE + (uint64_t)fd, time) ?: "?";
}

static void linux_is_believed_where_it_was_asked_in_time(void **state)
{
	int fd = open("/dev/null", O_RDONLY);
	uint64_t time = opened(fd, "/some/link", 0);

	assert_string_equal(name(fd, time), "/dev/null");
	assert_string_equal(name(fd, time - 1), "?"); /* it was another one's */
	is.s.pass.number++;
	called(CLOSE, fd);
	assert_string_equal(name(fd, time), "/dev/null");
	close(fd);
}

static void else_the_call_is(void **state)
{
	char joined[PATH_MAX + 32], path[200];
	uint64_t time = opened(NOWHERE, "/some/link", 0);

	assert_string_equal(name(NOWHERE, time), "given: /some/link");
	called_at(CLOSE, NOWHERE, time);
	assert_string_equal(name(NOWHERE, time), "given: /some/link");
	snprintf(joined, sizeof(joined), "given: %s/a/name", strcmp(is.folder, "/") ? is.folder : "");
	assert_string_equal(name(NOWHERE, opened(NOWHERE, "a/name", is.here)), joined);
	assert_string_equal(name(NOWHERE, opened(NOWHERE, ".//./a/name", is.here)), joined);
	assert_string_equal(name(NOWHERE, opened(NOWHERE, "a/name", is.here ^ 2)), "relative: a/name");
	assert_string_equal(name(NOWHERE, opened(NOWHERE, "a/name", 0)), "relative: a/name");
	memset(path, '/', sizeof(path));
	assert_non_null(strstr(name(NOWHERE, opened(NOWHERE, path, 0)), "// (cut)"));
	/* Each open is a time of its own, however many there are. */
	for (int i = 0; i < 10000; i++)
		opened(NOWHERE, "/another", 0);
	assert_string_equal(name(NOWHERE, time), "given: /some/link");
	assert_string_equal(name(NOWHERE, clock_monotonic()), "given: /another");
}

static void a_look_that_came_too_late_is_taken_back(void **state)
{
	int fd = open("/dev/zero", O_RDONLY); /* by now */
	uint64_t closed = clock_monotonic(), time = opened(fd, "/some/file", 0);

	assert_string_equal(name(fd, time), "/dev/zero");
	called_at(CLOSE, fd, closed);
	assert_string_equal(name(fd, time), "given: /some/file");
	close(fd);
}

/* What closes it is seen in this pass or the next one; only what no call tells of is believed after these. */
static void another_file_is_believed_after_two_passes(void **state)
{
	int fd = open("/dev/null", O_RDONLY), other = open("/dev/zero", O_RDONLY);
	uint64_t first = called(READ, fd), changed;

	assert_string_equal(name(fd, first), "/dev/null");
	assert_string_equal(name(fd, 1), "/dev/null"); /* nobody saw it being opened: it has always been that */
	assert_int_equal(dup2(other, fd), fd);
	is.s.pass.number++;
	changed = called(READ, fd);
	assert_string_equal(name(fd, changed), "/dev/null");
	is.s.pass.number++;
	called(READ, fd);
	assert_string_equal(name(fd, changed), "/dev/null");
	is.s.pass.number++;
	called(READ, fd);
	assert_string_equal(name(fd, changed), "/dev/zero");
	assert_string_equal(name(fd, first), "/dev/null");
	close(fd);
	close(other);
}

static void one_that_a_call_has_closed_meanwhile_is_not(void **state)
{
	int fd = open("/dev/full", O_RDONLY), other = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_RDONLY);
	uint64_t first = opened(fd, "/dev/full", 0), late;

	assert_int_equal(dup2(other, fd), fd);
	is.s.pass.number++;
	late = called(READ, fd); /* of the first file: the look is late */
	is.s.pass.number++;
	called(CLOSE, fd);
	is.s.pass.number += 2;
	called(READ, fd);
	assert_string_equal(name(fd, late), "/dev/full");
	assert_string_equal(name(fd, first), "/dev/full");
	assert_string_equal(name(fd, clock_monotonic()), "/dev/zero");
	/* Nor does it count for what comes after it. */
	assert_int_equal(dup2(null, fd), fd);
	is.s.pass.number++;
	called(READ, fd);
	assert_string_equal(name(fd, late), "/dev/full");
	close(fd);
	close(other);
	close(null);
}

/* The path was that of the file before. */
static void a_given_name_is_not_that_of_the_next_file(void **state)
{
	int fd = open("/dev/null", O_RDONLY), other = open("/dev/zero", O_RDONLY);
	uint64_t first = opened(fd, "/some/file", 0), changed;

	assert_int_equal(dup2(other, fd), fd);
	is.s.pass.number++;
	changed = called(READ, fd);
	is.s.pass.number += 2;
	called(READ, fd);
	assert_string_equal(name(fd, changed), "/dev/zero");
	called_at(CLOSE, fd, changed); /* so it was not that, but something between the two */
	assert_string_equal(name(fd, changed), "?");
	assert_string_equal(name(fd, first), "/dev/null");
	close(fd);
	close(other);
}

/* The number of a file that was gone at the look, used again by what no call opens: the call's word is of the first. */
static void what_comes_after_a_given_name_is_another_file(void **state)
{
	int other = open("/dev/zero", O_RDONLY);
	uint64_t first = opened(NOWHERE, "/some/file", 0), later;

	assert_int_equal(dup2(other, NOWHERE), NOWHERE);
	is.s.pass.number++;
	called_at(READ, NOWHERE, first);
	assert_string_equal(name(NOWHERE, first), "given: /some/file");
	is.s.pass.number++;
	later = called(READ, NOWHERE);
	assert_string_equal(name(NOWHERE, later), "/dev/zero");
	assert_string_equal(name(NOWHERE, first), "given: /some/file");
	close(NOWHERE);
	is.s.pass.number++;
	opened(NOWHERE, "/some/file", 0);
	is.s.pass.number++;
	assert_string_equal(name(NOWHERE, called(READ, NOWHERE)), "?"); /* open for a moment, and closed again */
	close(other);
}

static void what_failed_or_was_not_read_has_no_name(void **state)
{
	uint64_t words[GB_SLOTS] = { 0 };

	opened(-1, "/some/file", 0);
	assert_int_equal(is.d.ntexts, 0);
	strcpy((char *)words, "/some/file");
	words[RESULT] = NOWHERE;
	assert_string_equal(name(NOWHERE, note(OPEN, words, 1)), "?");
	memset(words, 'x', sizeof(words[0]) * GB_PATH_TEXT); /* no end */
	assert_string_equal(name(NOWHERE, note(OPEN, words, 0)), "?");
}

static void names_have_a_limit(void **state)
{
	int fd = open("/dev/zero", O_RDONLY);
	uint64_t first = opened(fd, "/some/file", 0), last;

	is.s.files.kept = 1 << 18;
	last = opened(fd, "/another", 0);
	assert_string_equal(name(fd, last), "?");
	called_at(CLOSE, fd, last - 1);
	assert_string_equal(name(fd, last), "?");
	assert_string_equal(name(NOWHERE, opened(NOWHERE, "/another", 0)), "?");
	assert_string_equal(name(fd, first), "/dev/zero");
	assert_in_range(is.d.ntexts, 1, 2);
	close(fd);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(linux_is_believed_where_it_was_asked_in_time),
		CASE(else_the_call_is),
		CASE(a_look_that_came_too_late_is_taken_back),
		CASE(another_file_is_believed_after_two_passes),
		CASE(one_that_a_call_has_closed_meanwhile_is_not),
		CASE(a_given_name_is_not_that_of_the_next_file),
		CASE(what_comes_after_a_given_name_is_another_file),
		CASE(what_failed_or_was_not_read_has_no_name),
		CASE(names_have_a_limit),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
