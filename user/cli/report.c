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
#include "cli/report_progress.h"
#include "util/log.h"

#define DEFAULT_TOP 40
#define SECTIONS_MOST 32
#define FAILS_MOST 16
#define FAILED_STATUS 3

struct options {
	const char *recording;
	bool json, csv, quiet, subtract_floor, counters, histogram;
	enum cli_colours colours;
	const char *by;
	const char *sections[SECTIONS_MOST];
	size_t nsections;
	const char *fails[FAILS_MOST];
	size_t nfails;
	unsigned explain;
	struct report_style style;
};

enum { OPTION_CSV = 256, OPTION_COLOUR };

static const struct argp_option option_list[] = {
	{ "json", 'j', NULL, 0, "Everything as JSON, times in ns", 0 },
	{ "csv", OPTION_CSV, NULL, 0,
	  "One table as CSV, times in ns: of --by, of a --section that has one (NAME, or NAME.TABLE where it has several), "
	  "else that of the events",
	  0 },
	{ "by", 'b', "WHAT[,WHAT...]", 0,
	  "One table of all calls, summed up by thread, rank, node, event, line, lock, peer or phase; several: one inside "
	  "the other",
	  0 },
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
	{ "color", OPTION_COLOUR, "WHEN", OPTION_ARG_OPTIONAL,
	  "Colours and bars: auto (the default: on a terminal; no colours where NO_COLOR is set), always or never", 0 },
	{ "colour", OPTION_COLOUR, "WHEN", OPTION_ARG_OPTIONAL | OPTION_ALIAS, NULL, 0 },
	{ "quiet", 'q', NULL, 0, "Do not tell how far the reading is", 0 },
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
	"  gaspbpf report --by rank,event run.gasp     what each rank does\n"
	"  gaspbpf report --by line --csv run.gasp >lines.csv\n"
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

static void check_options(const struct options *o, struct argp_state *state)
{
	if (o->json && o->csv)
		argp_error(state, "give --json or --csv, not both");
	if (o->explain && (o->json || o->csv))
		argp_error(state, "--explain is text: --json has the evidence of all findings");
	if (o->csv && o->nsections + (o->by != NULL) > 1)
		argp_error(state, "--csv: one table at a time");
	if (o->by && wants_list(o))
		argp_error(state, "give --by or --section list, not both");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;
	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case OPTION_CSV:
		o->csv = true;
		return 0;
	case OPTION_COLOUR:
		if (cli_parse_colours(argument ?: "always", &o->colours))
			argp_error(state, "--color=%s: use auto, always or never", log_safe(argument));
		return 0;
	case 'b':
		o->by = argument;
		return 0;
	case 'q':
		o->quiet = true;
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
	case ARGP_KEY_END:
		check_options(o, state);
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
static int choose_section(struct reporter *reporter, const char *name)
{
	if (!reporter_choose(reporter, name))
		return 0;
	log_error("report: --section %s: there is no such section: `gaspbpf report --section list' names them",
		  log_safe(name));
	return -EINVAL;
}

/* Which table: "NAME.TABLE" is one of those of the section NAME. *table: its name; NULL: the only one. */
static int choose_table(struct reporter *reporter, const struct options *o, const char **table)
{
	const char *wanted = o->nsections ? o->sections[0] : "events", *dot = strchr(wanted, '.');
	char *section;
	int error;

	*table = dot ? dot + 1 : NULL;
	if (o->by)
		return 0;
	section = dot ? strndup(wanted, (size_t)(dot - wanted)) : strdup(wanted);
	error = section ? choose_section(reporter, section) : -ENOMEM;
	free(section);
	return error;
}

/* 0, or -errno. */
static int choose(struct reporter *reporter, const struct options *o, const char **table)
{
	int error = 0;

	if (o->by && reporter_group(reporter, o->by)) {
		log_error(
			"report: --by %s: use thread, rank, node, event, line, lock, peer, phase, or up to four of them "
			"with commas between, each once",
			log_safe(o->by));
		return -EINVAL;
	}
	if (o->csv)
		return choose_table(reporter, o, table);
	for (size_t i = 0; i < o->nsections && !error; i++)
		error = choose_section(reporter, o->sections[i]);
	return error;
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
	static const char *const judged[] = { "efficiency", "regions", "wait_states", "delays", "tasks", "findings" };

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

/* All that takes long; nothing is printed yet. */
static int read_all(struct reporter *reporter, struct recording *recording, const struct options *o)
{
	struct report_progress progress = { .quiet = o->quiet };
	int error;

	report_progress_begin(&progress, recording);
	error = reporter_read(reporter, recording);
	if (!error)
		error = reporter_finish(reporter);
	report_progress_end(recording);
	return error;
}

static int print(struct reporter *reporter, const struct options *o, const char *table)
{
	if (o->explain)
		return explain(reporter, o);
	if (o->csv)
		return reporter_print_csv(reporter, table, stdout);
	return o->json ? reporter_print_json(reporter, stdout) : reporter_print(reporter, stdout, &o->style);
}

static int report(struct recording *recording, const struct options *o, bool *failed)
{
	struct reporter *reporter = reporter_new();
	const char *table = NULL;
	int error;

	if (!reporter)
		return -ENOMEM;
	ask(reporter, o);
	error = choose(reporter, o, &table);
	if (!error)
		error = read_all(reporter, recording, o);
	report_interrupts_end();
	if (!error)
		error = print(reporter, o, table);
	if (!error)
		error = check(reporter, o, failed);
	reporter_free(reporter);
	return error;
}

int command_report(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "REC.gasp", about, NULL, NULL, NULL };
	struct options o = { .style = { .top = DEFAULT_TOP } };
	struct recording *recording;
	bool failed = false;
	int error, status;

	cli_parse(&argp, argc, argv, &o);
	cli_style(&o.style, o.colours);
	if (wants_list(&o))
		return print_sections();
	report_interrupts_begin();
	if (recording_open(&recording, o.recording))
		return 1;
	error = report(recording, &o, &failed);
	recording_close(recording);
	status = cli_status("report", error);
	return status || !failed ? status : FAILED_STATUS;
}
