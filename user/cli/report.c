/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - gaspbpf report: the profile of a recording.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "cli/cli.h"
#include "util/log.h"

#define DEFAULT_TOP 40
#define SECTIONS_MOST 32
#define FAILS_MOST 16
#define FAILED_STATUS 3

struct options {
	const char *recording;
	bool json, subtract_floor, counters, histogram;
	const char *sections[SECTIONS_MOST];
	size_t nsections;
	const char *fails[FAILS_MOST];
	size_t nfails;
	unsigned explain;
	struct report_style style;
};

static const struct argp_option option_list[] = {
	{ "json", 'j', NULL, 0, "Everything as JSON, times in ns", 0 },
	{ "top", 't', "N", 0, "At most N rows a table (default 40; 0: all)", 0 },
	{ "sites", 's', NULL, 0, "The call sites of every event, not only the hottest ten", 0 },
	{ "subtract-floor", 'f', NULL, 0,
	  "All durations without what the probe itself adds to each, by the calibration in the recording", 0 },
	{ "histogram", 'H', NULL, 0, "How long the calls of each event took: median, percentiles, and how they spread",
	  0 },
	{ "section", 'S', "NAME", 0, "Only this section, whole; may repeat. `--section list' says which there are", 0 },
	{ "explain", 'x', "N", 0, "The evidence of finding N: the worst instances, and when they were", 0 },
	{ "fail-on", 'F', "NAME>PERCENT", 0,
	  "Exit status 3 where this is so, for scripts: imbalance, waiting, communication, serialisation, transfer, "
	  "inefficiency, gain, lost; may repeat",
	  0 },
	{ "counters", 'c', NULL, 0,
	  "Tasks submitted, waiting, ready and executed, by runtime, worker and codelet: StarPU's performance counters",
	  0 },
	{ 0 }
};

static const char about[] =
	"Prints how often, how long and how much, for every event, thread and call site of a recording, and what "
	"stands out."
	"\vEvents are sorted by self time: the time in a call without the probed calls inside it.\n"
	"\nExamples:\n"
	"  gaspbpf report run.gasp\n"
	"  gaspbpf report --sites --top 5 run.gasp     where the calls come from\n"
	"  gaspbpf report --histogram run.gasp         are a few calls slow, or all?\n"
	"  gaspbpf report --counters run.gasp          what became of the tasks\n"
	"  gaspbpf report --explain 1 run.gasp         the first finding's instances\n"
	"  gaspbpf report --fail-on 'imbalance>20%' run.gasp\n"
	"  gaspbpf report --section threads run.gasp   one section, whole\n"
	"  gaspbpf report --json run.gasp | jq '.events[0]'\n";

static bool wants_list(const struct options *o)
{
	return o->nsections == 1 && !strcmp(o->sections[0], "list");
}

static unsigned parse_number(const char *option, const char *argument, struct argp_state *state)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(argument, &end, 10);
	if (end == argument || *end || *argument == '-' || errno || number > UINT32_MAX)
		argp_error(state, "--%s %s: not a number", option, argument);
	return number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;
	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case 'f':
		o->subtract_floor = true;
		return 0;
	case 's':
		o->style.sites = true;
		return 0;
	case 'x':
		o->explain = parse_number("explain", argument, state);
		if (!o->explain)
			argp_error(state, "--explain: findings are numbered from 1");
		return 0;
	case 'F':
		if (o->nfails == FAILS_MOST)
			argp_error(state, "--fail-on: at most %d of them", FAILS_MOST);
		o->fails[o->nfails++] = argument;
		return 0;
	case 'S':
		if (o->nsections == SECTIONS_MOST)
			argp_error(state, "--section: at most %d of them", SECTIONS_MOST);
		o->sections[o->nsections++] = argument;
		return 0;
	case 'c':
		o->counters = true;
		return 0;
	case 'H':
		o->histogram = true;
		return 0;
	case 't':
		o->style.top = parse_number("top", argument, state);
		return 0;
	case ARGP_KEY_ARG:
		cli_take_recording(&o->recording, argument, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (!wants_list(o))
			cli_need_recording(NULL, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* 0, or -EINVAL, said. */
static int choose(struct reporter *reporter, const struct options *o)
{
	for (size_t i = 0; i < o->nsections; i++) {
		if (!reporter_choose(reporter, o->sections[i]))
			continue;
		log_error("report: --section %s: there is no such section: `gaspbpf report --section list' names them",
			  log_safe(o->sections[i]));
		return -EINVAL;
	}
	return 0;
}

static int print_sections(void)
{
	struct reporter *reporter = reporter_new();
	const char *name;

	for (size_t at = 0; reporter && (name = reporter_section(reporter, &at));)
		puts(name);
	reporter_free(reporter);
	return reporter ? 0 : 1;
}

static void ask(struct reporter *reporter, const struct options *o)
{
	static const char *const judged[] = { "efficiency", "wait_states", "delays", "findings" };

	if (o->counters)
		reporter_ask(reporter, "counters");
	if (o->histogram)
		reporter_ask(reporter, "histogram");
	for (size_t i = 0; i < sizeof(judged) / sizeof(*judged) && o->nfails; i++)
		reporter_ask(reporter, judged[i]);
	if (o->subtract_floor)
		reporter_subtract_floor(reporter);
}

/* Whether "NAME>PERCENT" is so: 1 or 0; -EINVAL or -ENODATA, said. */
static int exceeds(struct reporter *reporter, const char *text)
{
	double limit, value = 0;
	int length = 0, error;
	char name[32];

	if (sscanf(text, " %31[a-z] > %lf%n", name, &limit, &length) != 2 ||
	    text[length + strspn(text + length, "%")]) {
		log_error("report: --fail-on %s: not a condition: write it as 'imbalance>20%%'", log_safe(text));
		return -EINVAL;
	}
	error = reporter_figure(reporter, name, &value);
	if (error == -ENODATA)
		log_error("report: --fail-on %s: not known: there is no such figure, or the recording has nothing that "
			  "it follows from (gaspbpf report --help)",
			  log_safe(text));
	if (error)
		return error;
	if (value > limit)
		log_warn("%s is %.1f %%: above %g %%", name, value, limit);
	return value > limit;
}

/* *failed: one of the conditions holds. */
static int check(struct reporter *reporter, const struct options *o, bool *failed)
{
	for (size_t i = 0; i < o->nfails; i++) {
		int holds = exceeds(reporter, o->fails[i]);

		if (holds < 0)
			return holds;
		*failed |= holds;
	}
	return 0;
}

static int explain(struct reporter *reporter, const struct options *o)
{
	int error = reporter_explain(reporter, o->explain, stdout, &o->style);

	if (error == -ENOENT)
		log_error("report: --explain %u: there is no finding of that number", o->explain);
	return error;
}

static int report(struct recording *recording, const struct options *o, bool *failed)
{
	struct reporter *reporter = reporter_new();
	int error;

	if (!reporter)
		return -ENOMEM;
	ask(reporter, o);
	error = choose(reporter, o);
	if (!error)
		error = reporter_read(reporter, recording);
	if (!error)
		error = o->explain ? explain(reporter, o)
			: o->json  ? reporter_print_json(reporter, stdout)
				   : reporter_print(reporter, stdout, &o->style);
	if (!error)
		error = check(reporter, o, failed);
	reporter_free(reporter);
	return error;
}

int command_report(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "REC.gasp", about, NULL, NULL, NULL };
	struct options o = { .style = { .width = cli_width(), .colour = cli_colour(), .top = DEFAULT_TOP } };
	struct recording *recording;
	bool failed = false;
	int error, status;

	cli_parse(&argp, argc, argv, &o);
	if (wants_list(&o))
		return print_sections();
	if (recording_open(&recording, o.recording))
		return 1;
	error = report(recording, &o, &failed);
	recording_close(recording);
	status = cli_status("report", error);
	return status || !failed ? status : FAILED_STATUS;
}
