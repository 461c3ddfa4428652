/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - what is made of such a recording: the report as text, as JSON and as CSV, counters, and all formats that
 * it is exported to.
 */
#include <fcntl.h>
#include <unistd.h>

#include "analysis/report.h"
#include "export/export.h"
#include "recording/recording.h"
#include "shared/fuzz.h"
#include "shared/read.h"
#include "util/files.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	return recording_mutate(data, size, most, seed);
}

static void report(struct recording *r, FILE *out, bool floor)
{
	struct report_style style = { .width = floor ? 80 : 0, .colour = floor, .top = floor ? 5 : 0, .sites = floor };
	struct reporter *reporter = reporter_new();

	must(reporter);
	must(!reporter_ask(reporter, "histogram") && !reporter_ask(reporter, "counters"));
	if (floor)
		reporter_subtract_floor(reporter);
	if (!reporter_read(reporter, r)) {
		reporter_print(reporter, out, &style);
		reporter_print_json(reporter, out);
	}
	reporter_free(reporter);
}

static void report_by(struct recording *r, FILE *out, const char *what)
{
	struct report_style style = { .width = 80, .bars = BARS_UNICODE };
	struct reporter *reporter = reporter_new();

	must(reporter && !reporter_group(reporter, what));
	if (!reporter_read(reporter, r)) {
		reporter_print(reporter, out, &style);
		reporter_print_csv(reporter, NULL, out);
	}
	reporter_free(reporter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	static int null = -1, spare = -1;
	struct recording *r;

	if (!out) {
		out = fopen("/dev/null", "w");
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		spare = file_temporary();
	}
	must(out && null >= 0 && spare >= 0);
	if (recording_open_fd(&r, fuzz_file_fd(data, size), "input"))
		return 0;
	report(r, out, false);
	report(r, out, true);
	report_by(r, out, "rank,event,thread,node");
	report_by(r, out, "phase,line,lock,peer");
	for (const struct exporter *const *e = exporters; *e; e++)
		if (!(*e)->is_archive) /* it would have to be a process of its own in a folder of its own */
			(*e)->write(r, null, spare, "input");
	for (const struct exporter *const *e = exporters; *e; e++)
		if ((*e)->extras)
			(*e)->write_with(r, null, spare, "input", (*e)->extras);
	recording_close(r);
	return 0;
}
