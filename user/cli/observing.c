/* SPDX-License-Identifier: BSD-2-Clause */
/* observing.c - options on where probes are, what they may cost, and how much memory there is for what they tell. */
#include <string.h>

#include "cli/observing.h"
#include "util/format.h"
#include "util/log.h"

enum { OPTION_SCOPE = 380, OPTION_RINGS, OPTION_BUDGET, OPTION_ALL_PROCESSES };

static const struct argp_option option_table[] = {
	{ "max-overhead", OPTION_BUDGET, "PERCENT", 0,
	  "Take no more of any thread's time than this: of functions called too often only one call in so many is "
	  "followed, "
	  "then none, then their probes are taken out; all of it is told, and undone when the load falls",
	  2 },
	{ "scope", OPTION_SCOPE, "auto|process|file", 0,
	  "Put breakpoints into the observed processes only, or into every process "
	  "that maps the library (auto: the first for up to 4 processes)",
	  2 },
	{ "ring-size", OPTION_RINGS, "SIZE", 0, "Memory for events on their way, all CPUs together (default 32 MiB)",
	  2 },
	{ "all-processes", OPTION_ALL_PROCESSES, NULL, 0,
	  "Observe launchers, shells and the like, too: what only starts others is left out otherwise, and beside a "
	  "parallel runtime also programs that map none",
	  2 },
	{ 0 }
};

/* -1: there is none of this name. */
static int find_scope(const char *text)
{
	static const char *const names[] = { "auto", "process", "file" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return i;
	return -1;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct observing *o = state->input;

	switch (key) {
	case OPTION_SCOPE:
		if (find_scope(argument) < 0)
			argp_error(state, "--scope=%s: use auto, process or file", log_safe(argument));
		o->scope = find_scope(argument);
		return 0;
	case OPTION_RINGS:
		if (parse_bytes(argument, &o->ring_bytes) || o->ring_bytes < 4096 || o->ring_bytes > 4ULL << 30)
			argp_error(state, "--ring-size %s: not a size between 4k and 4g: use 16m", log_safe(argument));
		return 0;
	case OPTION_BUDGET:
		if (parse_percent(argument, &o->budget) || o->budget < 0.01 || o->budget > 90)
			argp_error(state, "--max-overhead %s: not a share between 0.01%% and 90%%: use 2%%",
				   log_safe(argument));
		o->budget /= 100;
		return 0;
	case OPTION_ALL_PROCESSES:
		o->all_processes = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void observing_prepare(const struct observing *o, struct job *job)
{
	job->all_processes = o->all_processes;
	job->attach.apart = o->budget > 0;
}

int observing_limit(const struct observing *o, struct job *job)
{
	return o->budget > 0 ? capture_limit(job->capture, job->plan, &job->attach, o->budget) : 0;
}

const struct argp observing_parser = { option_table, parse, NULL, NULL, NULL, NULL, NULL };
