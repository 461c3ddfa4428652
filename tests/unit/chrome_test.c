/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_test.c - the Chrome trace and the list of events of small recordings: valid JSON whatever the names
 * are, one complete event a call, nesting on every track.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "export/export.h"
#include "util/files.h"

#define START_TIME 5000000000ull

/* --- JSON, read as strictly as the standard has it ------------------------------- */

static bool value(const char **at, int depth);

static void blanks(const char **at)
{
	*at += strspn(*at, " \t\r\n");
}

static bool string(const char **at)
{
	if (*(*at)++ != '"')
		return false;
	while (**at != '"') {
		unsigned char c = *(*at)++;

		if (c < 0x20)
			return false;
		if (c == '\\') {
			c = *(*at)++;
			if (c == 'u') {
				if (strspn(*at, "0123456789abcdefABCDEF") < 4)
					return false;
				*at += 4;
			} else if (!c || !strchr("\"\\/bfnrt", c)) {
				return false;
			}
		} else if (c >= 0x80) {
			int more = c >= 0xf0 && c < 0xf5   ? 3
				   : c >= 0xe0 && c < 0xf0 ? 2
				   : c >= 0xc2 && c < 0xe0 ? 1
							   : -1;

			for (; more > 0; more--) {
				if ((*(*at)++ & 0xc0) != 0x80)
					return false;
			}
			if (more < 0)
				return false;
		}
	}
	(*at)++;
	return true;
}

static bool digits(const char **at)
{
	size_t count = strspn(*at, "0123456789");

	*at += count;
	return count;
}

static bool number(const char **at)
{
	*at += **at == '-';
	if ((*at)[0] == '0' && (*at)[1] >= '0' && (*at)[1] <= '9')
		return false;
	if (!digits(at))
		return false;
	if (**at == '.') {
		(*at)++;
		return digits(at);
	}
	return true;
}

static bool container(const char **at, int depth, char close)
{
	(*at)++;
	blanks(at);
	for (bool some = false; **at != close; some = true) {
		if (some && *(*at)++ != ',')
			return false;
		blanks(at);
		if (close == '}') {
			if (!string(at))
				return false;
			blanks(at);
			if (*(*at)++ != ':')
				return false;
		}
		if (!value(at, depth + 1))
			return false;
		blanks(at);
	}
	(*at)++;
	return true;
}

static bool word(const char **at, const char *expected)
{
	size_t length = strlen(expected);

	if (strncmp(*at, expected, length))
		return false;
	*at += length;
	return true;
}

static bool value(const char **at, int depth)
{
	blanks(at);
	if (depth > 20)
		return false;
	switch (**at) {
	case '{':
		return container(at, depth, '}');
	case '[':
		return container(at, depth, ']');
	case '"':
		return string(at);
	case 't':
		return word(at, "true");
	case 'f':
		return word(at, "false");
	case 'n':
		return word(at, "null");
	default:
		return number(at);
	}
}

static void assert_json(const char *text)
{
	const char *at = text;

	if (!value(&at, 0))
		fail_msg("not JSON at: %.100s", at);
	blanks(&at);
	assert_int_equal(*at, 0);
}

/* --- complete events, which stand one on a line ---------------------------------------- */

struct complete {
	unsigned long long pid, tid, start, end; /* ns */
	unsigned line;
};

static unsigned long long nanoseconds(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	unsigned long long us;
	char *point;

	assert_non_null(at);
	us = strtoull(at + strlen(key), &point, 10);
	assert_int_equal(*point, '.');
	assert_int_equal(strspn(point + 1, "0123456789"), 3);
	return us * 1000 + strtoull(point + 1, NULL, 10);
}

static unsigned long long whole(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

/* By track; events of one track stay in the order of the file. */
static int by_track(const void *a, const void *b)
{
	const struct complete *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* How many there are; on each track they follow or enclose each other. */
static size_t assert_nesting(const char *text)
{
	struct complete *all = NULL, *open[100];
	size_t count = 0, depth = 0;

	char *copy = strdup(text), *rest;

	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "{\"ph\":\"X\"", 9))
			continue;
		all = realloc(all, (count + 1) * sizeof(*all));
		all[count] = (struct complete){
			.pid = whole(line, "\"pid\":"),
			.tid = whole(line, "\"tid\":"),
			.start = nanoseconds(line, "\"ts\":"),
			.line = count,
		};
		all[count].end = all[count].start + nanoseconds(line, "\"dur\":");
		count++;
	}
	if (count)
		qsort(all, count, sizeof(*all), by_track);
	for (size_t i = 0; i < count; i++) {
		if (i && (all[i].pid != all[i - 1].pid || all[i].tid != all[i - 1].tid))
			depth = 0;
		else if (i)
			assert_true(all[i].start >= all[i - 1].start);
		while (depth && open[depth - 1]->end <= all[i].start)
			depth--;
		assert_true(!depth || open[depth - 1]->end >= all[i].end);
		assert_true(depth < 100);
		open[depth++] = &all[i];
	}
	free(all);
	free(copy);
	return count;
}

/* --- recordings --------------------------------------------------------------------------- */

struct job {
	struct definitions d;
	struct recording_writer *writer;
	int fd;
	uint32_t sequence[8];
};

/* All bytes but NUL: what a target can put in a name. */
static char *ugly(const char *head)
{
	char *text = calloc(1, strlen(head) + 260);

	strcpy(text, head);
	for (int i = 1; i < 256; i++)
		text[strlen(head) + i - 1] = i;
	return text;
}

static struct value *values_of(size_t count, const char *const *names, const enum meaning *meanings,
			       const enum form *forms)
{
	struct value *values = calloc(count, sizeof(*values));

	for (size_t i = 0; i < count; i++) {
		values[i] = (struct value){
			.name = names[i] ? strdup(names[i]) : ugly("v"),
			.meaning = meanings[i],
			.form = forms[i],
			.slot = i,
			.width = GB_U64,
		};
	}
	return values;
}

static void job_open(struct job *job, unsigned threads, long rank)
{
	static const char *const names[] = { "n", "site", "site", "pe", "p", NULL };
	static const enum meaning meanings[] = {
		MEANING_BYTES, MEANING_PLAIN, MEANING_PLAIN, MEANING_PEER, MEANING_PTR, MEANING_PLAIN,
	};
	static const enum form forms[] = { FORM_UINT, FORM_INT, FORM_BOOL, FORM_INT, FORM_POINTER, FORM_UINT };

	memset(job, 0, sizeof(*job));
	job->d.run = (struct def_run){
		.start = START_TIME,
		.end = START_TIME + 1000000000,
		.start_realtime = 1700000000000000000ull,
		.finished = true,
		.command = ugly("gaspbpf"),
		.host = strdup("h"),
	};
	definitions_add_process(&job->d);
	job->d.processes[0] = (struct def_process){
		.pid = 4000,
		.rank = rank,
		.unit = rank >= 0 ? strdup("rank") : NULL,
		.command = rank >= 0 ? strdup("./job 1") : ugly("./"),
		.start = START_TIME,
	};
	for (unsigned i = 0; i < threads; i++) {
		definitions_add_thread(&job->d);
		job->d.threads[i] = (struct def_thread){ .tid = 4000 + i, .name = i ? ugly("w") : strdup("main") };
	}
	definitions_add_image(&job->d);
	job->d.images[0].path = ugly("/lib/");
	definitions_add_probe(&job->d);
	job->d.probes[0] = (struct def_probe){
		.event = strdup("GASP_T_PUT"),
		.model = strdup("t"),
		.role = ROLE_PUT,
		.symbol = strdup("put"),
		.values = values_of(6, names, meanings, forms),
		.nvalues = 6,
	};
	definitions_add_probe(&job->d);
	job->d.probes[1] = (struct def_probe){
		.event = ugly("GASP_"),
		.model = ugly("m"),
		.role = ROLE_FUNCTION,
		.symbol = strdup("f"),
	};
	definitions_add_site(&job->d);
	job->d.sites[0] = (struct def_site){
		.located = true,
		.file = strdup("ring.c"),
		.line = 12,
		.column = 5,
		.function = strdup("main"),
	};
	definitions_add_site(&job->d);
	job->d.sites[1] = (struct def_site){
		.located = true, .image = NO_INDEX, .function = ugly("f"), .function_offset = 0x1c
	};

	int fd = file_temporary();

	assert_true(fd >= 0);
	job->fd = dup(fd);
	assert_int_equal(recording_create(&job->writer, fd, "test.gasp", &job->d), 0);
}

static void job_call(struct job *job, uint32_t thread, uint32_t probe, unsigned depth, uint64_t start, uint64_t end)
{
	struct span span = {
		.start = START_TIME + start,
		.end = START_TIME + end,
		.thread = thread,
		.probe = probe,
		.site = probe,
		.sequence = ++job->sequence[thread],
		.depth = depth,
		.nwords = probe ? 0 : 6,
		.unread = probe ? 0 : 1u << 5,
		.words = { 100, -7, 1, 3, 0x7f00dead },
	};

	assert_int_equal(recording_span(job->writer, &span), 0);
}

/* The whole file that an exporter writes, unpacked where it is gzip. */
static char *job_export(struct job *job, const char *name)
{
	const struct exporter *exporter = exporter_for(name);
	struct recording *recording;
	int fd = file_temporary();
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room);
	ssize_t got;
	gzFile in;

	assert_non_null(exporter);
	assert_int_equal(recording_finish(job->writer), 0);
	assert_int_equal(recording_open_fd(&recording, job->fd, "test.gasp"), 0);
	assert_int_equal(exporter->write(recording, fd, -1, name), 0);
	recording_close(recording);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	in = gzdopen(fd, "rb"); /* reads plain files too */
	while ((got = gzread(in, text + size, room - size - 1)) > 0) {
		size += got;
		if (size + 1 == room)
			text = realloc(text, room *= 2);
	}
	text[size] = '\0';
	gzclose(in);
	close(job->fd);
	definitions_free(&job->d);
	return text;
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part);
}

/* --- stories ---------------------------------------------------------------------------------- */

static void a_suffix_chooses_the_format(void **state)
{
	assert_string_equal(exporter_for("a/run.json")->name, "chrome");
	assert_string_equal(exporter_for("run.json.gz")->name, "chrome");
	assert_string_equal(exporter_for("run.speedscope.json")->name, "speedscope");
	assert_string_equal(exporter_for("run.speedscope.json.gz")->name, "speedscope");
	assert_string_equal(exporter_for("speedscope.json")->name, "chrome");
	assert_string_equal(exporter_for("a/.speedscope.json")->name, "chrome");
	assert_string_equal(exporter_for("run.events")->name, "events");
	assert_null(exporter_for("run.txt"));
	assert_null(exporter_for("run.gasp"));
	assert_null(exporter_for(".json"));
	assert_null(exporter_for("run/.json"));
	assert_null(exporter_for("json"));
}

static void a_call_is_a_complete_event(void **state)
{
	struct job job;
	char *text;

	job_open(&job, 1, 3);
	job_call(&job, 0, 0, 0, 1234567, 2000001);
	text = job_export(&job, "run.json");
	assert_json(text);
	assert_int_equal(assert_nesting(text), 1);
	assert_true(has(text, "\"displayTimeUnit\":\"ns\""));
	assert_true(has(text, "\"metadata\":{\"highres-ticks\":true}"));
	assert_true(has(text, "\"name\":\"rank 3: ./job 1\""));
	assert_true(has(text, "\"name\":\"main (tid 4000)\""));
	assert_true(has(
		text,
		"\"name\":\"GASP_T_PUT\",\"cat\":\"t\",\"pid\":4000,\"tid\":4000,\"ts\":1234.567,\"dur\":765.434,"));
	assert_true(has(text, "\"args\":{\"n\":100,\"site_\":-7,\"site__\":true,\"pe\":3,\"p\":\"0x7f00dead\","));
	assert_true(has(text, ":null,\"bytes\":100,\"peer\":3,\"site\":\"ring.c:12:5\"}"));
	free(text);
}

static void any_byte_in_a_name_is_good(void **state)
{
	struct job job;
	char *text;

	job_open(&job, 3, -1);
	for (int i = 0; i < 3; i++)
		job_call(&job, i, 1, 0, 10, 20);
	text = job_export(&job, "run.json");
	assert_json(text);
	assert_int_equal(assert_nesting(text), 3);
	free(text);
}

static void a_recording_without_calls_names_its_processes(void **state)
{
	struct job job;
	char *text;

	job_open(&job, 2, 0);
	text = job_export(&job, "run.json");
	assert_json(text);
	assert_int_equal(assert_nesting(text), 0);
	assert_true(has(text, "\"process_name\""));
	assert_true(has(text, "\"thread_name\""));
	free(text);
}

static void what_is_lost_is_marked(void **state)
{
	struct gap gap = { .thread = 0, .count = 5, .after = START_TIME + 20, .before = START_TIME + 50 };
	struct job job;
	char *text;

	job_open(&job, 1, -1);
	job_call(&job, 0, 1, 0, 10, 20);
	job.sequence[0] += 5;
	assert_int_equal(recording_gap(job.writer, &gap), 0);
	job_call(&job, 0, 1, 0, 40, 50);
	text = job_export(&job, "run.json");
	assert_json(text);
	assert_true(has(text, "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"5 calls lost "
			      "here\",\"cat\":\"loss\",\"pid\":4000,\"tid\":4000,\"ts\":0.020,"));
	free(text);
}

static void overlapping_calls_have_a_track_each(void **state)
{
	struct job job;
	char *text;

	job_open(&job, 2, -1);
	job_call(&job, 0, 1, 0, 10, 30);
	job_call(&job, 0, 1, 0, 20, 40);
	text = job_export(&job, "run.json.gz");
	assert_json(text);
	assert_int_equal(assert_nesting(text), 2);
	assert_true(has(text, "\"name\":\"main (tid 4000) stack 2\""));
	assert_true(has(text, "\"tid\":4002"));
	free(text);
}

/* The kernel gave the tid again to another thread. */
static void a_tid_that_stands_twice_is_two_tracks(void **state)
{
	struct job job;
	char *text;

	job_open(&job, 2, -1);
	job.d.threads[1].tid = 4000;
	job_call(&job, 0, 1, 0, 10, 30);
	job_call(&job, 1, 1, 0, 20, 40);
	text = job_export(&job, "run.json");
	assert_json(text);
	assert_int_equal(assert_nesting(text), 2);
	assert_true(has(text, "\"tid\":4001"));
	free(text);
}

struct tree {
	struct job *job;
	uint64_t now;
	unsigned left;
};

static void grow(struct tree *tree, unsigned depth)
{
	uint64_t start = tree->now;
	unsigned thread = random() % 2;

	tree->left--;
	tree->now += random() % 3000;
	while (tree->left && depth < 30 && random() % 7 < 4)
		grow(tree, depth + 1);
	tree->now += random() % 2;
	job_call(tree->job, thread, random() % 2, depth, start, tree->now);
	if (random() % 50 == 0)
		recording_flush(tree->job->writer);
}

static void many_calls_nest(void **state)
{
	srandom(3);
	for (int round = 0; round < 10; round++) {
		struct job job;
		struct tree tree = { .job = &job, .left = 3000 };
		char *text;

		job_open(&job, 2, -1);
		while (tree.left)
			grow(&tree, 0);
		text = job_export(&job, round % 2 ? "run.json" : "run.json.gz");
		assert_json(text);
		assert_int_equal(assert_nesting(text), 3000);
		free(text);
	}
}

static void events_are_lines(void **state)
{
	struct job job;
	char *text;

	job_open(&job, 1, 3);
	job.d.probes[0].values[4].at_return = true;
	free(job.d.probes[0].values[5].name);
	job.d.probes[0].values[5].name = strdup("q r");
	job_call(&job, 0, 0, 0, 1234567, 2000001);
	text = job_export(&job, "run.events");
	assert_string_equal(
		text, "0.001234567 rank:3 main:4000 START GASP_T_PUT n=100 site=-7 site=true pe=3 q\\x20r=unknown @ "
		      "ring.c:12:5\n"
		      "0.002000001 rank:3 main:4000 END GASP_T_PUT n=100 site=-7 site=true pe=3 p=0x7f00dead "
		      "q\\x20r=unknown @ ring.c:12:5\n");
	free(text);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct recording *recording;
	struct job job;

	job_open(&job, 1, -1);
	job_call(&job, 0, 1, 0, 10, 20);
	assert_int_equal(recording_finish(job.writer), 0);
	assert_int_equal(recording_open_fd(&recording, job.fd, "test.gasp"), 0);
	if (full) {
		assert_int_not_equal(exporter_for("x.json")->write(recording, fileno(full), -1, "x.json"), 0);
		assert_int_not_equal(exporter_for("x.json.gz")->write(recording, fileno(full), -1, "x.json.gz"), 0);
		assert_int_not_equal(
			exporter_for("x.speedscope.json")->write(recording, fileno(full), -1, "x.speedscope.json"), 0);
		assert_int_not_equal(exporter_for("x.events")->write(recording, fileno(full), -1, "x.events"), 0);
		fclose(full);
	}
	recording_close(recording);
	close(job.fd);
	definitions_free(&job.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suffix_chooses_the_format),
		cmocka_unit_test(a_call_is_a_complete_event),
		cmocka_unit_test(any_byte_in_a_name_is_good),
		cmocka_unit_test(a_recording_without_calls_names_its_processes),
		cmocka_unit_test(what_is_lost_is_marked),
		cmocka_unit_test(overlapping_calls_have_a_track_each),
		cmocka_unit_test(a_tid_that_stands_twice_is_two_tracks),
		cmocka_unit_test(many_calls_nest),
		cmocka_unit_test(events_are_lines),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
