/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - what is made of such a recording: the report as text and as JSON, counters, and all formats that it is
 * exported to.
 */
#include <fcntl.h>
#include <unistd.h>

#include "analysis/counters.h"
#include "analysis/profile.h"
#include "export/export.h"
#include "recording/recording.h"
#include "shared/fuzz.h"
#include "shared/read.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	return recording_mutate(data, size, most, seed);
}

static void report(struct recording *r, FILE *out, bool floor)
{
	struct profile *profile = profile_new();
	const struct definitions *d = recording_definitions(r);
	struct counters *counters = NULL;
	struct profile_style style = {
		.width = floor ? 80 : 0, .colour = floor, .top = floor ? 5 : 0, .sites = floor, .histogram = true
	};
	struct span_sink sink;

	must(profile);
	if (floor)
		profile_subtract_floor(profile);
	sink = profile_sink(profile);
	if (!recording_read(r, &sink)) {
		counters_read(&counters, r);
		style.counters = counters;
		profile_print(profile, d, out, &style);
		profile_print_json(profile, d, out, &style);
	}
	counters_free(counters);
	profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	static int null = -1;
	struct recording *r;

	if (!out) {
		out = fopen("/dev/null", "w");
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	must(out && null >= 0);
	if (recording_open_fd(&r, fuzz_file_fd(data, size), "input"))
		return 0;
	report(r, out, false);
	report(r, out, true);
	for (const struct exporter *const *e = exporters; *e; e++)
		(*e)->write(r, null, "input");
	recording_close(r);
	return 0;
}
