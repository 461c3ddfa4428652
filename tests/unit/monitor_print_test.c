/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The monitor's tables of a machine that the test has made up: rates are of the interval, estimates are marked, what is
 * not known is not 0, and all of it fits on a terminal of 80 columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/monitor_print.h"

#define SECOND 1000000000ULL

struct machine {
	struct monitor_snapshot snapshot;
	struct monitor_event events[2];
	struct monitor_process process;
	struct monitor_process_event of_process[2];
	struct monitor_before before;
	char *text;
};

static void build(struct machine *m)
{
	*m = (struct machine){
		.events = { { .name = "GASP_MPI_REDUCE_SCATTER_BLOCK", .model = "mpi", .every = 1, .moves = true },
			    { .name = "GASP_MPI_BARRIER", .model = "mpi", .every = 1 } },
		.process = { .pid = 4194303,
			     .start_time = 7,
			     .comm = "fifteen_letters",
			     .exe = "",
			     .cgroup = "",
			     .user = "somebody-of-many",
			     .job = "123456789012",
			     .rank = 1023,
			     .size = 2048,
			     .nevents = 2 },
		.of_process = { { .event = 0 }, { .event = 1 } },
	};
	m->process.events = m->of_process;
	m->snapshot = (struct monitor_snapshot){ .ready = true,
						 .time_ns = 100 * SECOND,
						 .since_ns = 40 * SECOND,
						 .processes = &m->process,
						 .nprocesses = 1,
						 .nalive = 1,
						 .events = m->events,
						 .nevents = 2,
						 .noticed = 1,
						 .own_bytes = 30 << 20,
						 .rung = "session" };
}

/* Calls of an event: so many that are timed and sized, so many that are only counted. */
static void call(struct machine *m, int event, uint64_t timed, uint64_t ns, uint64_t bytes, uint64_t skipped)
{
	struct monitor_amounts *amounts[] = { &m->events[event].total, &m->of_process[event].amounts };

	for (int i = 0; i < 2; i++) {
		amounts[i]->calls += timed + skipped;
		amounts[i]->timed += timed;
		amounts[i]->skipped += skipped;
		amounts[i]->ns += timed * ns;
		amounts[i]->sized += bytes ? timed : 0;
		amounts[i]->bytes += timed * bytes;
	}
}

static void begin(struct machine *m)
{
	assert_int_equal(monitor_print_begin(&m->snapshot, &m->before), 0);
}

/* The table, so many seconds later. */
static const char *table(struct machine *m, unsigned seconds)
{
	size_t size = 0;
	FILE *out;

	free(m->text);
	out = open_memstream(&m->text, &size);
	m->snapshot.time_ns += seconds * SECOND;
	assert_int_equal(monitor_print_table(&m->snapshot, &m->before, out), 0);
	fclose(out);
	for (const char *line = m->text, *end; (end = strchr(line, '\n')); line = end + 1)
		assert_true(end - line <= 80);
	return m->text;
}

static void end(struct machine *m)
{
	monitor_print_free(&m->before);
	free(m->text);
}

/* What was called before the first look is in the numbers of calls, and in no rate. */
static void rates_are_of_the_interval(void **state)
{
	struct machine m;
	const char *text;

	build(&m);
	call(&m, 0, 1000000, 1000, 1 << 20, 0);
	begin(&m);
	call(&m, 0, 1000, 500000, 1024, 0);
	m.snapshot.cost_ns = SECOND / 10;
	m.snapshot.own_cpu_ns = SECOND / 20;
	text = table(&m, 10);
	assert_non_null(strstr(
		text, "  1 process (1 came, 0 ended)\n  cost: probes 1.00% of a CPU, gaspbpf 0.50%, 30.0 MiB\n"));
	assert_non_null(
		strstr(text, "GASP_MPI_REDUCE_SCATTER_BLOCK   1,001,000     100/s  500.0 us   100 KiB       \n"));
	assert_non_null(strstr(text, "4194303 fifteen_letters somebody 1023 123456789     100/s     5.0%   100 KiB\n"));
	assert_null(strstr(text, "BARRIER"));
	end(&m);
}

/* What is only counted took as long as what is timed in the same interval, whatever the mean was before. */
static void estimates_are_of_the_interval(void **state)
{
	struct machine m;
	const char *text;

	build(&m);
	call(&m, 0, 1000, 9 * SECOND / 1000, 0, 1000000); /* long ones */
	begin(&m);
	m.events[0].every = 1024;
	call(&m, 0, 10, 1000, 2048, 9990);
	text = table(&m, 10);
	assert_non_null(strstr(text, "  1.000 us ~1.95 MiB 1/1024\n"));
	assert_non_null(strstr(text, "   1.0 k/s    ~0.1% ~1.95 MiB\n"));
	/* None of them was timed: as before. */
	call(&m, 0, 0, 0, 0, 10000);
	text = table(&m, 10);
	assert_non_null(strstr(text, "   1.0 k/s         -         - 1/1024\n"));
	assert_non_null(strstr(text, "%"));
	assert_null(strstr(text, "-0."));
	end(&m);
}

/* Probes are out: no calls are known, which is not that there were none. */
static void what_is_out_has_no_rate(void **state)
{
	struct machine m;
	const char *text;

	build(&m);
	call(&m, 1, 500, 1000, 0, 0);
	begin(&m);
	m.events[1].every = 0;
	text = table(&m, 10);
	assert_non_null(
		strstr(text, "GASP_MPI_BARRIER                      500         -         -         -    out\n"));
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_of_the_interval),
		cmocka_unit_test(estimates_are_of_the_interval),
		cmocka_unit_test(what_is_out_has_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
