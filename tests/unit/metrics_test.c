/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics of a machine that the test has made up: what each form says of it, what a scraper is given, and what happens
 * beyond the limit of series.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "metrics/exposition.h"
#include "metrics/families.h"

#define PROCESSES 3

/* Three ranks that send; the first has a name that no format likes. */
struct machine {
	struct monitor_snapshot snapshot;
	struct monitor_event event;
	struct monitor_process processes[PROCESSES];
	struct monitor_process_event events[PROCESSES];
	struct families *families;
	struct exposition e;
};

static void count(struct monitor_amounts *a, unsigned calls, uint64_t ns, uint64_t bytes)
{
	a->calls += calls;
	a->timed += calls;
	a->sized += calls;
	a->ns += calls * ns;
	a->bytes += calls * bytes;
	a->duration[63 - __builtin_clzll(ns)] += calls;
	a->size[63 - __builtin_clzll(bytes)] += calls;
}

static void build(struct machine *m, size_t max_series)
{
	*m = (struct machine){ .families = families_new(max_series) };
	assert_non_null(m->families);
	m->event = (struct monitor_event){
		.name = "GASP_MPI_SEND", .model = "mpi", .role = ROLE_SEND, .moves = true, .every = 1
	};
	for (int i = 0; i < PROCESSES; i++) {
		m->processes[i] = (struct monitor_process){
			.pid = 100 + i,
			.start_time = 7,
			.comm = i ? "solver" : "a\"b\\c\nd\xff",
			.exe = "",
			.cgroup = "",
			.user = "alice",
			.job = i ? "42" : "",
			.rank = i,
			.size = PROCESSES,
			.events = &m->events[i],
			.nevents = 1,
		};
		count(&m->events[i].amounts, 10, 1500, 1024);
		count(&m->event.total, 10, 1500, 1024);
	}
	m->snapshot = (struct monitor_snapshot){ .processes = m->processes,
						 .nprocesses = PROCESSES,
						 .events = &m->event,
						 .nevents = 1,
						 .rung = "session",
						 .since_realtime_ns = 1700000000123456789 };
}

static void end(struct machine *m)
{
	families_free(m->families);
	exposition_free(&m->e);
}

/* What a scrape gets, as a string. */
static const char *scrape(struct machine *m, enum dialect dialect)
{
	exposition_begin(&m->e, dialect);
	assert_int_equal(families_write(m->families, &m->e, &m->snapshot), 0);
	assert_int_equal(exposition_end(&m->e), 0);
	buffer_put(&m->e.out, "", 1);
	assert_false(m->e.out.failed);
	return (const char *)m->e.out.data;
}

/* The figure behind a line that begins with `start`; -1 where there is none. */
static double value(const char *text, const char *start)
{
	const char *at = text - 1;

	while (at) {
		const char *line = at + 1;

		if (!strncmp(line, start, strlen(start)))
			return strtod(line + strlen(start), NULL);
		at = strchr(line, '\n');
	}
	return -1;
}

#define SEND "model=\"mpi\",event=\"GASP_MPI_SEND\",role=\"send\""
#define SECOND "{job=\"42\",rank=\"1\",pid=\"101\",comm=\"solver\",user=\"alice\"," SEND

static void says_what_was_counted(void **state)
{
	struct machine m;
	const char *text;

	build(&m, 10000);
	text = scrape(&m, DIALECT_OPENMETRICS);
	assert_true(value(text, "gaspbpf_event_calls_total{" SEND "} ") == 30);
	assert_true(value(text, "gaspbpf_event_bytes_total{" SEND "} ") == 30720);
	assert_non_null(strstr(text, "\ngaspbpf_event_seconds_total{" SEND "} 0.000045000\n")); /* exact, not rounded */
	assert_non_null(strstr(text, "\ngaspbpf_start_time_seconds 1700000000.123456789\n"));
	assert_true(value(text, "gaspbpf_process_calls_total" SECOND "} ") == 10);
	/* 1500 ns are in (1023, 4095]; 1024 bytes in (511, 4095] */
	assert_true(value(text, "gaspbpf_event_duration_seconds_bucket{" SEND ",le=\"1.023e-06\"} ") == 0);
	assert_true(value(text, "gaspbpf_event_duration_seconds_bucket{" SEND ",le=\"4.095e-06\"} ") == 30);
	assert_true(value(text, "gaspbpf_event_duration_seconds_bucket{" SEND ",le=\"+Inf\"} ") == 30);
	assert_true(value(text, "gaspbpf_event_size_bytes_bucket{" SEND ",le=\"511.0\"} ") == 0);
	assert_true(value(text, "gaspbpf_event_size_bytes_bucket{" SEND ",le=\"4095.0\"} ") == 30);
	assert_true(value(text, "gaspbpf_process_size_bytes_sum" SECOND "} ") == 10240);
	end(&m);
}

/* What a target calls itself comes out as what it is, and breaks nothing. */
static void names_are_escaped(void **state)
{
	struct machine m;
	const char *text;

	build(&m, 10000);
	text = scrape(&m, DIALECT_TEXT);
	assert_non_null(strstr(
		text, "{job=\"none\",rank=\"0\",pid=\"100\",comm=\"a\\\"b\\\\c\\\\x0ad\\\\xff\",user=\"alice\","));
	end(&m);
}

/* A payload that nobody knows is not a payload of 0. */
static void what_is_not_known_is_left_out(void **state)
{
	struct machine m;
	const char *text;

	build(&m, 10000);
	m.event.total.sized = m.event.total.bytes = 0;
	memset(m.event.total.size, 0, sizeof(m.event.total.size));
	m.event.total.timed = 0;
	text = scrape(&m, DIALECT_OPENMETRICS);
	assert_true(value(text, "gaspbpf_event_calls_total{" SEND "} ") == 30);
	assert_null(strstr(text, "\ngaspbpf_event_bytes_total{"));
	assert_null(strstr(text, "\ngaspbpf_event_size_bytes_bucket{"));
	assert_null(strstr(text, "\ngaspbpf_event_seconds_total{"));
	assert_true(value(text, "gaspbpf_event_sized_calls_total{" SEND "} ") == 0);
	end(&m);
}

static void forms_differ_where_they_must(void **state)
{
	struct machine m;
	const char *text;

	build(&m, 10000);
	text = scrape(&m, DIALECT_OPENMETRICS);
	assert_non_null(strstr(text, "# TYPE gaspbpf_event_calls counter\n# UNIT gaspbpf_event_calls calls\n"));
	assert_non_null(strstr(text, "# TYPE gaspbpf_build info\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	assert_null(strstr(text, "nanoseconds"));
	text = scrape(&m, DIALECT_TEXT);
	assert_non_null(strstr(text, "# TYPE gaspbpf_event_calls_total counter\n"));
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	/* The first message: its length, then field 1, the family's name. */
	text = scrape(&m, DIALECT_PROTOBUF);
	assert_memory_equal(text + 1, "\x0a\x12gaspbpf_build_info\x12", 21);
	end(&m);
}

/* With room for one row: the others are in one series, which never goes back, whoever ends and whatever room there is
 * later. */
static void too_many_series_become_one(void **state)
{
	static const char own[] = "gaspbpf_process_calls_total{job=",
			  over[] = "gaspbpf_process_calls_total{overflow=\"true\"," SEND "} ";
	struct machine m;
	const char *text;

	build(&m, 23); /* docs/metrics.md: as many series as an event that moves data has */
	text = scrape(&m, DIALECT_OPENMETRICS);
	assert_non_null(strstr(text, "gaspbpf_process_calls_total{job=\"none\",rank=\"0\""));
	assert_null(strstr(text, "gaspbpf_process_calls_total" SECOND));
	assert_true(value(text, over) == 20);
	assert_true(value(text, "gaspbpf_series_overflow_rows ") == 2);
	assert_true(value(text, "gaspbpf_series_limit ") == 23);
	/* The first and the last end; what the last had done stays. */
	count(&m.events[1].amounts, 5, 1500, 1024);
	count(&m.event.total, 5, 1500, 1024);
	m.snapshot.processes = &m.processes[1];
	m.snapshot.nprocesses = 1;
	text = scrape(&m, DIALECT_OPENMETRICS);
	assert_null(strstr(text, own));
	assert_true(value(text, over) == 25);
	/* A new process with the old number gets the room that there is now. */
	m.processes[2].start_time++;
	count(&m.event.total, 10, 1500, 1024);
	m.snapshot.nprocesses = 2;
	text = scrape(&m, DIALECT_OPENMETRICS);
	assert_non_null(strstr(text, "gaspbpf_process_calls_total{job=\"42\",rank=\"2\""));
	assert_true(value(text, over) == 25);
	end(&m);
}

static void scrapers_get_what_they_prefer(void **state)
{
	static const struct {
		const char *accept;
		enum dialect dialect;
	} cases[] = {
		{ NULL, DIALECT_TEXT },
		{ "", DIALECT_TEXT },
		{ "*/*", DIALECT_TEXT },
		{ "text/html,application/xhtml+xml;q=0.9", DIALECT_TEXT },
		/* Prometheus 2.42, without and with native histograms */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  DIALECT_OPENMETRICS },
		{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,"
		  "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  DIALECT_PROTOBUF },
		{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
		  DIALECT_TEXT },
		{ "application/openmetrics-text; version=2.0.0, text/plain;q=0.1", DIALECT_TEXT },
		{ "text/plain;q=0.2 , Application/OpenMetrics-Text;Q=0.3", DIALECT_OPENMETRICS },
		{ "application/openmetrics-text;q=0", DIALECT_TEXT },
		{ ",,;;=,application/openmetrics-text;q=nan;;,", DIALECT_OPENMETRICS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(dialect_accepted(cases[i].accept), cases[i].dialect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_was_counted),         cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(what_is_not_known_is_left_out), cmocka_unit_test(forms_differ_where_they_must),
		cmocka_unit_test(too_many_series_become_one),    cmocka_unit_test(scrapers_get_what_they_prefer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
