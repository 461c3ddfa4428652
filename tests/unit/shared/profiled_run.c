/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiled_run.h"

static const struct {
	const char *event;
	enum role role;
} kinds[PROBES] = {
	[BARRIER] = { "GASP_TEST_BARRIER", ROLE_BARRIER }, [LOCK] = { "GASP_TEST_LOCK", ROLE_ACQUIRE },
	[WORK] = { "GASP_TEST_WORK", ROLE_USER },          [REDUCE] = { "GASP_TEST_REDUCE", ROLE_COLLECTIVE },
	[SEND] = { "GASP_TEST_SEND", ROLE_SEND },
};

static struct value root_value[] = { { .meaning = MEANING_ROOT } };
static struct value send_values[] = {
	{ .name = (char *)"n",
	  .meaning = MEANING_BYTES,
	  .side = SIDE_SEND,
	  .form = FORM_UINT,
	  .slot = 0,
	  .width = GB_U64 },
};

void run_open(struct run *run, unsigned threads, unsigned per_process)
{
	memset(run, 0, sizeof(*run));
	run->d.run = (struct def_run){ .start = 1000 * MS, .end = 2000 * MS, .finished = true };
	for (unsigned i = 0; i < threads; i++) {
		if (i % per_process == 0) {
			uint32_t process = definitions_add_process(&run->d);

			run->d.processes[process] = (struct def_process){
				.pid = 100 + i,
				.command = strdup("./job 1 2"),
				.name = strdup("job"),
				.start = 1000 * MS,
				.rank = threads > per_process ? (long)(i / per_process) : -1,
				.unit = threads > per_process ? strdup("rank") : NULL,
			};
		}
		uint32_t thread = definitions_add_thread(&run->d);
		char name[32];

		snprintf(name, sizeof(name), "worker-%u", i);
		run->d.threads[thread] = (struct def_thread){
			.process = run->d.nprocesses - 1,
			.tid = 100 + i,
			.name = strdup(name),
		};
	}
	for (int i = 0; i < PROBES; i++) {
		uint32_t probe = definitions_add_probe(&run->d);

		run->d.probes[probe] = (struct def_probe){
			.event = strdup(kinds[i].event),
			.model = strdup("test"),
			.role = kinds[i].role,
			.image = NO_INDEX,
		};
	}
	run->d.probes[REDUCE].values = root_value;
	run->d.probes[REDUCE].nvalues = 1;
	run->d.probes[SEND].values = send_values;
	run->d.probes[SEND].nvalues = 1;
	run->reporter = reporter_new();
	run->profile = run->reporter->profile;
	run->sink = reporter_sink(run->reporter);
	assert_int_equal(reporter_ask(run->reporter, "histogram"), 0);
	assert_int_equal(reporter_begin(run->reporter, &run->d), 0);
}

void run_close(struct run *run)
{
	reporter_free(run->reporter);
	for (size_t i = 0; i < run->d.nprobes; i++) {
		run->d.probes[i].values = NULL;
		run->d.probes[i].nvalues = 0;
	}
	definitions_free(&run->d);
}

void span(struct run *run, uint32_t thread, uint32_t probe, unsigned depth, uint64_t start, uint64_t end,
	  uint8_t reason)
{
	struct span s = {
		.start = start,
		.end = end,
		.thread = thread,
		.probe = probe,
		.site = NO_INDEX,
		.sequence = ++run->sequence[thread],
		.depth = depth,
		.reason = reason,
	};

	assert_int_equal(run->sink.span(run->sink.context, &run->d, &s), 0);
}

void lose(struct run *run, uint32_t thread, uint64_t count)
{
	struct gap gap = { .thread = thread, .count = count };

	assert_int_equal(run->sink.gap(run->sink.context, &run->d, &gap), 0);
}

struct tally tally_of(struct run *run, const char *event)
{
	struct report report;
	struct tally tally = { 0 };

	assert_int_equal(report_make(&report, run->profile, &run->d), 0);
	for (size_t i = 0; i < report.nevents; i++) {
		if (!strcmp(report_event_name(&report, report.events[i].event), event))
			tally = report.events[i].tally;
	}
	report_free(&report);
	return tally;
}

char *text_of(struct run *run, bool json, unsigned width)
{
	struct report_style style = { .width = width };
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (json)
		assert_int_equal(reporter_print_json(run->reporter, out), 0);
	else
		assert_int_equal(reporter_print(run->reporter, out, &style), 0);
	fclose(out);
	return text;
}

void sum(struct run *run, uint32_t thread, uint32_t probe, uint64_t lost, uint64_t each, uint64_t skipped)
{
	uint32_t index = definitions_add_sum(&run->d);
	struct def_sum *sum = &run->d.sums[index];

	*sum = (struct def_sum){
		.thread = thread,
		.probe = probe,
		.lost = lost,
		.skipped = skipped,
		.timed = lost,
		.total = lost * each,
		.min = each,
		.max = each,
	};
	sum->bucket[bucket_of(each)] = lost;
}

void team_meets(struct run *run, unsigned threads, int slow, uint32_t probe)
{
	for (unsigned round = 0; round < 10; round++) {
		uint64_t end = 1000 * MS + (round + 1) * 50 * MS;

		for (unsigned i = 0; i < threads; i++) {
			uint64_t wait = slow < 0 ? 2 * MS : (int)i == slow ? MS / 10 : 30 * MS + i * MS;

			span(run, i, probe, 0, end - wait, end, GB_END_RETURN);
		}
	}
}
