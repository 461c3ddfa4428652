/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis_test.c - a small run, and what analyses are told of it: each what it wants, in the order that it wants.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analyses.h"
#include "analysis/printer.h"
#include "util/json.h"

#define MS 1000000ull

enum { LOCK, WORK, SEND, PROBES };

static struct value lock_values[] = {
	{ .name = (char *)"lock", .meaning = MEANING_LOCK, .form = FORM_UINT, .slot = 0, .width = GB_U64 },
};
static struct value send_values[] = {
	{ .name = (char *)"n", .meaning = MEANING_BYTES, .form = FORM_UINT, .slot = 0, .width = GB_U64 },
	{ .name = (char *)"to", .meaning = MEANING_PEER, .form = FORM_UINT, .slot = 1, .width = GB_U64 },
};

static const struct {
	const char *event;
	enum role role;
	struct value *values;
	uint32_t nvalues;
} kinds[PROBES] = {
	[LOCK] = { "GASP_TEST_LOCK", ROLE_ACQUIRE, lock_values, 1 },
	[WORK] = { "GASP_TEST_WORK", ROLE_USER, NULL, 0 },
	[SEND] = { "GASP_TEST_SEND", ROLE_SEND, send_values, 2 },
};

/* --- the run: ms from its beginning --------------------------------------- */

static const struct {
	uint32_t thread, probe;
	unsigned depth, start, end;
	uint64_t words[2];
} calls[] = {
	{ 0, LOCK, 1, 2, 3, { 0x70 } },  { 0, LOCK, 1, 5, 7, { 0x80 } }, { 0, WORK, 0, 1, 10, { 0 } },
	{ 1, SEND, 1, 6, 9, { 64, 3 } }, { 1, WORK, 0, 4, 11, { 0 } },
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static void define(struct definitions *d)
{
	uint32_t process, image;

	*d = (struct definitions){ .run = { .start = 1000 * MS, .end = 1020 * MS, .finished = true } };
	process = definitions_add_process(d);
	d->processes[process] = (struct def_process){ .pid = 100, .start = 1000 * MS, .rank = -1 };
	image = definitions_add_image(d);
	d->images[image].path = strdup("/job");
	for (unsigned i = 0; i < 2; i++) {
		uint32_t thread = definitions_add_thread(d);

		d->threads[thread] = (struct def_thread){ .process = process, .tid = 100 + i };
	}
	for (int i = 0; i < PROBES; i++) {
		uint32_t probe = definitions_add_probe(d);

		d->probes[probe] = (struct def_probe){
			.event = strdup(kinds[i].event),
			.model = strdup("test"),
			.role = kinds[i].role,
			.image = image,
			.values = kinds[i].values,
			.nvalues = kinds[i].nvalues,
		};
	}
}

static void forget(struct definitions *d)
{
	for (size_t i = 0; i < d->nprobes; i++) {
		d->probes[i].values = NULL;
		d->probes[i].nvalues = 0;
	}
	definitions_free(d);
}

static struct span call_at(size_t index)
{
	uint32_t sequence = 1;

	for (size_t i = 0; i < index; i++)
		sequence += calls[i].thread == calls[index].thread;
	return (struct span){
		.start = 1000 * MS + calls[index].start * MS,
		.end = 1000 * MS + calls[index].end * MS,
		.thread = calls[index].thread,
		.probe = calls[index].probe,
		.site = NO_INDEX,
		.sequence = sequence,
		.depth = calls[index].depth,
		.reason = GB_END_RETURN,
		.nwords = 2,
		.words = { calls[index].words[0], calls[index].words[1] },
	};
}

/* Hands on the whole run, and one call that was lost at the end of thread 1. 0, or what the sink said. */
static int happen(const struct definitions *d, const struct span_sink *sink)
{
	const struct gap gap = { .thread = 1, .count = 1, .after = 1011 * MS };

	for (size_t i = 0; i < CALLS; i++) {
		const struct span span = call_at(i);
		int error = sink->span(sink->context, d, &span);

		if (error)
			return error;
	}
	return sink->gap(sink->context, d, &gap);
}

/* --- analyses that note what they are told --------------------------------- */

struct notes {
	unsigned calls, gaps, ends;
	uint64_t duration, self, total; /* ns */
	int64_t lock, peer, bytes;      /* sums */
	char order[64];                 /* "W0+ L0+ L0- ": starts and ends of works and locks, with their threads */
};

static int begin(void **state, const struct definitions *d)
{
	*state = calloc(1, sizeof(struct notes));
	return *state ? 0 : -ENOMEM;
}

static int note_span(void *state, const struct accounted_call *call)
{
	struct notes *notes = state;
	struct payload payload = call->payload;
	int64_t number;

	assert_true(call->timed && !call->inner);
	assert_int_equal(call->role, call->d->probes[call->span->probe].role);
	notes->calls++;
	notes->duration += call->duration;
	notes->self += call->self;
	notes->total += call->total;
	if (call_number(call, MEANING_LOCK, &number))
		notes->lock += number;
	if (call_number(call, MEANING_PEER, &number))
		notes->peer += number;
	if (payload.bytes >= 0)
		notes->bytes += payload.bytes;
	return 0;
}

static int note_gap(void *state, const struct definitions *d, const struct gap *gap)
{
	((struct notes *)state)->gaps += gap->count;
	return 0;
}

static int note_event(void *state, const struct definitions *d, const struct event *event)
{
	struct notes *notes = state;
	size_t used = strlen(notes->order);

	snprintf(notes->order + used, sizeof(notes->order) - used, "%c%u%c ",
		 d->probes[event->span->probe].event[strlen("GASP_TEST_")], event->span->thread,
		 event->type == EVENT_START ? '+' : '-');
	return 0;
}

static int end(void *state, struct report *r)
{
	((struct notes *)state)->ends += r->calls > 0;
	return 0;
}

static void print(void *state, const struct printer *p)
{
	printer_heading(p, "");
}

static void put(void *state, const struct report *r, struct json *j)
{
	json_uint(j, r->calls);
}

static int refuse(void *state, const struct accounted_call *call)
{
	return -EDOM;
}

static const struct analysis locks = {
	.name = "locks",
	.title = "Locks",
	.roles = ROLE_BIT(ROLE_ACQUIRE) | ROLE_BIT(ROLE_RELEASE),
	.begin = begin,
	.span = note_span,
	.gap = note_gap,
	.end = end,
	.print = print,
	.json = put,
	.free = free,
};
static const struct analysis every_call = {
	.name = "every_call", .roles = EVERY_ROLE, .begin = begin, .span = note_span, .free = free
};
static const struct analysis in_order = {
	.name = "in_order",
	.title = "In order",
	.roles = ROLE_BIT(ROLE_ACQUIRE) | ROLE_BIT(ROLE_USER),
	.begin = begin,
	.event = note_event,
	.gap = note_gap,
	.print = print,
	.json = put,
	.free = free,
};
static const struct analysis rare = { .name = "rare", .title = "Rare", .asked = true, .print = print, .json = put };
static const struct analysis of_calls = { .name = "of_calls", .title = "Of calls", .of_calls = true, .print = print };
static const struct analysis refusing = { .name = "refusing", .roles = EVERY_ROLE, .span = refuse };

/* --- the stories ----------------------------------------------------------- */

static char *text_of(struct reporter *reporter, bool json)
{
	struct report_style style = { 0 };
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(json ? reporter_print_json(reporter, out) : reporter_print(reporter, out, &style), 0);
	fclose(out);
	return text;
}

static struct reporter *live(const struct analysis *const *table, const struct definitions *d)
{
	struct reporter *reporter = reporter_of(table);

	assert_non_null(reporter);
	assert_int_equal(reporter_begin(reporter, d), 0);
	return reporter;
}

/* Where the text has this; it must. */
static size_t place_of(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	assert_non_null(at);
	return at - text;
}

/* Two locks of 3 ms in a work of 9 ms, a send of 3 ms in one of 7 ms. */
static void a_call_goes_to_those_that_want_its_role(void **state)
{
	const struct analysis *const table[] = { &locks, &every_call, NULL };
	struct definitions d;
	struct reporter *reporter;
	struct span_sink sink;
	struct notes *seen;

	define(&d);
	reporter = live(table, &d);
	sink = reporter_sink(reporter);
	assert_int_equal(happen(&d, &sink), 0);
	seen = reporter->all[0].state;
	assert_int_equal(seen->calls, 2);
	assert_int_equal(seen->self, 3 * MS);
	assert_int_equal(seen->lock, 0x70 + 0x80);
	assert_int_equal(seen->bytes, 0);
	assert_int_equal(seen->gaps, 1);
	assert_int_equal(seen->ends, 0);
	seen = reporter->all[1].state;
	assert_int_equal(seen->calls, CALLS);
	assert_int_equal(seen->duration, 22 * MS);
	assert_int_equal(seen->self, 16 * MS);
	assert_int_equal(seen->total, 22 * MS);
	assert_int_equal(seen->peer, 3);
	assert_int_equal(seen->bytes, 64);
	reporter_free(reporter);
	forget(&d);
}

/* Many spans at once go the same way. */
static void calls_in_a_batch_are_told_too(void **state)
{
	const struct analysis *const table[] = { &every_call, NULL };
	struct span spans[CALLS];
	struct definitions d;
	struct reporter *reporter;
	struct span_sink sink;

	define(&d);
	reporter = live(table, &d);
	sink = reporter_sink(reporter);
	for (size_t i = 0; i < CALLS; i++)
		spans[i] = call_at(i);
	assert_int_equal(sink.spans(sink.context, &d, spans, CALLS), 0);
	assert_int_equal(((struct notes *)reporter->all[0].state)->self, 16 * MS);
	reporter_free(reporter);
	forget(&d);
}

static void what_an_analysis_refuses_ends_the_reading(void **state)
{
	const struct analysis *const table[] = { &refusing, NULL };
	struct definitions d;
	struct reporter *reporter;
	struct span_sink sink;

	define(&d);
	reporter = live(table, &d);
	sink = reporter_sink(reporter);
	assert_int_equal(happen(&d, &sink), -EDOM);
	reporter_free(reporter);
	forget(&d);
}

/* The end comes once, however often the report is printed. */
static void the_end_comes_once(void **state)
{
	const struct analysis *const table[] = { &locks, NULL };
	struct definitions d;
	struct reporter *reporter;
	struct span_sink sink;

	define(&d);
	reporter = live(table, &d);
	sink = reporter_sink(reporter);
	assert_int_equal(happen(&d, &sink), 0);
	free(text_of(reporter, false));
	free(text_of(reporter, true));
	assert_int_equal(((struct notes *)reporter->all[0].state)->ends, 1);
	reporter_free(reporter);
	forget(&d);
}

/* Of a recording, also of calls that enclose each other and others' ones; sends are not wanted. */
static void events_come_in_one_order_of_time(void **state)
{
	const struct analysis *const table[] = { &in_order, &locks, NULL };
	int fd = memfd_create("run", 0);
	struct recording_writer *writer;
	struct recording *recording;
	struct reporter *reporter = reporter_of(table);
	struct span_sink sink;
	struct definitions d;
	struct notes *seen;

	assert_true(fd >= 0 && reporter);
	define(&d);
	assert_int_equal(recording_create(&writer, dup(fd), "run", &d), 0);
	sink = recording_sink(writer);
	assert_int_equal(happen(&d, &sink), 0);
	assert_int_equal(recording_finish(writer), 0);
	assert_int_equal(recording_open_fd(&recording, fd, "run"), 0);
	assert_int_equal(reporter_read(reporter, recording), 0);
	seen = reporter->all[0].state;
	assert_string_equal(seen->order, "W0+ L0+ L0- W1+ L0+ L0- W0- W1- ");
	assert_int_equal(seen->gaps, 1);
	seen = reporter->all[1].state;
	assert_int_equal(seen->calls, 2);
	assert_int_equal(seen->gaps, 1);
	reporter_free(reporter);
	recording_close(recording);
	close(fd);
	forget(&d);
}

static void what_needs_an_order_is_not_made_live(void **state)
{
	const struct analysis *const table[] = { &in_order, &locks, NULL };
	struct definitions d;
	struct reporter *reporter;
	struct span_sink sink;
	char *text;

	define(&d);
	reporter = live(table, &d);
	sink = reporter_sink(reporter);
	assert_int_equal(happen(&d, &sink), 0);
	text = text_of(reporter, false);
	assert_string_equal(text, "\nLocks\n");
	free(text);
	text = text_of(reporter, true);
	assert_null(strstr(text, "in_order"));
	free(text);
	assert_null(reporter->all[0].state);
	reporter_free(reporter);
	forget(&d);
}

static void some_are_made_only_where_somebody_asks(void **state)
{
	const struct analysis *const table[] = { &rare, &locks, NULL };
	struct definitions d;

	define(&d);
	for (int asked = 0; asked < 2; asked++) {
		struct reporter *reporter = reporter_of(table);
		char *text, *json;

		if (asked)
			assert_int_equal(reporter_ask(reporter, "rare"), 0);
		assert_int_equal(reporter_ask(reporter, "no such"), -ENOENT);
		assert_int_equal(reporter_begin(reporter, &d), 0);
		text = text_of(reporter, false);
		json = text_of(reporter, true);
		assert_string_equal(text, asked ? "\nRare\n\nLocks\n" : "\nLocks\n");
		assert_int_equal(strstr(json, "\"rare\"") != NULL, asked);
		free(text);
		free(json);
		reporter_free(reporter);
	}
	forget(&d);
}

static void no_text_where_no_call_was_observed(void **state)
{
	const struct analysis *const table[] = { &of_calls, NULL };
	struct definitions d;

	define(&d);
	for (int some = 0; some < 2; some++) {
		struct reporter *reporter = live(table, &d);
		struct span_sink sink = reporter_sink(reporter);
		char *text;

		if (some)
			assert_int_equal(happen(&d, &sink), 0);
		text = text_of(reporter, false);
		assert_string_equal(text, some ? "\nOf calls\n" : "");
		free(text);
		reporter_free(reporter);
	}
	forget(&d);
}

/* The text has the order of the table; new keys of the JSON stand behind those that there always were. */
static void each_order_is_kept(void **state)
{
	const struct analysis *const table[] = { &locks, &analysis_threads, &analysis_findings, &analysis_recording,
						 NULL };
	struct definitions d;
	struct reporter *reporter;
	struct span_sink sink;
	char *text;

	define(&d);
	reporter = live(table, &d);
	sink = reporter_sink(reporter);
	assert_int_equal(happen(&d, &sink), 0);
	text = text_of(reporter, false);
	assert_true(place_of(text, "\nLocks\n") < place_of(text, "\nThreads"));
	assert_true(place_of(text, "\nThreads") < place_of(text, "\nFindings"));
	assert_true(place_of(text, "\nFindings") < place_of(text, "Observed for"));
	free(text);
	text = text_of(reporter, true);
	assert_true(place_of(text, "\"recording\"") < place_of(text, "\"threads\""));
	assert_true(place_of(text, "\"threads\"") < place_of(text, "\"findings\""));
	assert_true(place_of(text, "\"findings\"") < place_of(text, "\"locks\""));
	free(text);
	reporter_free(reporter);
	forget(&d);
}

/* What analysis.h asks of a row, of all rows. */
static void the_table_is_sound(void **state)
{
	for (size_t i = 0; analyses[i]; i++) {
		const struct analysis *a = analyses[i];

		assert_non_null(a->name);
		assert_true(a->print || a->json || a->serves || a->end);
		assert_false(a->span && a->event);
		assert_int_equal(a->roles != 0, a->span || a->event);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(a->name, analyses[k]->name);
	}
	for (size_t i = 0; analyses_first_in_json[i]; i++)
		assert_non_null(analyses_first_in_json[i]->json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_goes_to_those_that_want_its_role),
		cmocka_unit_test(calls_in_a_batch_are_told_too),
		cmocka_unit_test(what_an_analysis_refuses_ends_the_reading),
		cmocka_unit_test(the_end_comes_once),
		cmocka_unit_test(events_come_in_one_order_of_time),
		cmocka_unit_test(what_needs_an_order_is_not_made_live),
		cmocka_unit_test(some_are_made_only_where_somebody_asks),
		cmocka_unit_test(no_text_where_no_call_was_observed),
		cmocka_unit_test(each_order_is_kept),
		cmocka_unit_test(the_table_is_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
