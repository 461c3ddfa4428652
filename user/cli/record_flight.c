/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/record_flight.h"

#include <stdio.h>
#include <unistd.h>

#include "util/format.h"
#include "util/log.h"

void record_flight_check(struct flight_options *options, const struct text_list *outputs, struct argp_state *state)
{
	const char *path = outputs->count ? outputs->items[0] : NULL,
		   *wrong = path ? flight_set_path(options, path) : NULL;

	if (outputs->count > 1)
		argp_error(state, "-o %s: with --flight there is one: where its dumps go", log_safe(outputs->items[1]));
	if (wrong)
		argp_error(state, "-o %s: %s", log_safe(path), wrong);
}

int record_flight_begin(const struct flight_options *options, struct job *job, const struct caller *caller,
			struct flight **flight)
{
	int err = flight_new(flight, options, caller, &job->definitions, job->capture);
	struct span_sink sink;

	if (err)
		return err;
	sink = flight_sink(*flight);
	capture_add_sink(job->capture, &sink);
	return 0;
}

void record_flight_say(const struct flight_options *options)
{
	char window[FORMAT_SIZE], bytes[FORMAT_SIZE];

	fprintf(stderr,
		"gaspbpf: flight recorder: keeps the last %s, at most %s; 'kill -USR1 %d' or 'gaspbpf control -p PID "
		"dump' writes it\n",
		format_time(window, options->window), format_bytes(bytes, options->bytes), getpid());
}
