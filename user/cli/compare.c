/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.c - gaspbpf compare: what differs between runs.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/compare.h"
#include "cli/cli.h"
#include "util/log.h"

#define DEFAULT_TOP 20
#define BETWEEN "vs"

enum { KEY_SCALING = 256 };

struct input {
	const char *path;
	enum compared_side side;
};

struct options {
	struct input inputs[COMPARED_MOST];
	size_t count;
	bool json, split;
	enum compared_as as;
	struct report_style style;
};

static const struct argp_option option_list[] = {
	{ "scaling", KEY_SCALING, "weak", OPTION_ARG_OPTIONAL,
	  "The recordings are of one job on more and more ranks or threads: speed-up and efficiency; `--scaling=weak': "
	  "the work has grown as they have",
	  0 },
	{ "json", 'j', NULL, 0, "Everything as JSON, times in ns", 0 },
	{ "top", 't', "N", 0, "At most N rows a table (default 20; 0: all)", 0 },
	{ 0 }
};

static const char about[] =
	"Prints what differs between runs: events, where the threads' time goes, findings that are new or gone. "
	"With repeats it tells differences from chance."
	"\vWhere not all runs were observed from start to end, shares and rates are compared, not totals. "
	"No root is needed.\n"
	"\nExamples:\n"
	"  gaspbpf compare before.gasp after.gasp\n"
	"  gaspbpf compare a1.gasp a2.gasp a3.gasp vs b1.gasp b2.gasp b3.gasp\n"
	"  gaspbpf compare --scaling n1.gasp n2.gasp n4.gasp n8.gasp\n"
	"  gaspbpf compare --json before.gasp after.gasp | jq '.events[0]'\n";

static void take(struct options *o, char *argument, struct argp_state *state)
{
	if (!strcmp(argument, BETWEEN)) {
		if (o->split)
			argp_error(state, "'" BETWEEN "' stands once, between both sides");
		o->split = true;
		return;
	}
	if (o->count == COMPARED_MOST)
		argp_error(state, "at most %d recordings at a time", COMPARED_MOST);
	o->inputs[o->count++] = (struct input){ argument, o->split ? SIDE_AFTER : SIDE_BEFORE };
}

static void check(struct options *o, struct argp_state *state)
{
	if (o->as != COMPARED_SIDES) {
		if (o->split)
			argp_error(state, "--scaling is about one series: leave out '" BETWEEN "'");
		if (o->count < 3)
			argp_error(state, "--scaling: give three recordings or more, of several sizes");
		return;
	}
	if (o->count < 2)
		argp_error(state, "which recordings? give two files that 'gaspbpf -o FILE.gasp' wrote");
	if (!o->split && o->count > 2)
		argp_error(state, "which are to be compared with which? say A1 A2 " BETWEEN
				  " B1 B2, or --scaling for a series");
	if (!o->split)
		o->inputs[1].side = SIDE_AFTER;
	if (o->inputs[0].side == SIDE_AFTER || o->inputs[o->count - 1].side == SIDE_BEFORE)
		argp_error(state, "'" BETWEEN "' stands between recordings: A1 A2 " BETWEEN " B1 B2");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;
	unsigned long number;
	char *end;

	switch (key) {
	case KEY_SCALING:
		if (argument && strcmp(argument, "weak") && strcmp(argument, "strong"))
			argp_error(state, "--scaling=%s: say weak or strong", log_safe(argument));
		o->as = argument && !strcmp(argument, "weak") ? COMPARED_WEAK : COMPARED_STRONG;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 't':
		errno = 0;
		number = strtoul(argument, &end, 10);
		if (end == argument || *end || *argument == '-' || errno || number > UINT32_MAX)
			argp_error(state, "--top %s: not a number", log_safe(argument));
		o->style.top = number;
		return 0;
	case ARGP_KEY_ARG:
		take(o, argument, state);
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One file twice is no repeat. */
static int refuse_twice(const struct options *o)
{
	struct stat is[COMPARED_MOST];

	for (size_t i = 0; i < o->count; i++) {
		if (stat(o->inputs[i].path, &is[i]))
			memset(&is[i], 0, sizeof(is[i])); /* opening it says why */
		for (size_t k = 0; k < i; k++) {
			if (!is[i].st_ino || o->inputs[k].side != o->inputs[i].side || is[k].st_dev != is[i].st_dev ||
			    is[k].st_ino != is[i].st_ino)
				continue;
			log_error("%s: given twice: a file is no repeat of itself: record the run once more",
				  log_safe(o->inputs[i].path));
			return -EINVAL;
		}
	}
	return 0;
}

static int add(struct comparison *comparison, const struct input *input)
{
	struct recording *recording;
	int error = recording_open(&recording, input->path);

	if (error)
		return error;
	error = comparison_add(comparison, recording, input->path, input->side);
	recording_close(recording);
	return error;
}

static int compare(const struct options *o)
{
	struct comparison *comparison = comparison_new();
	int error = comparison ? refuse_twice(o) : -ENOMEM;

	for (size_t i = 0; i < o->count && !error; i++)
		error = add(comparison, &o->inputs[i]);
	if (!error)
		error = comparison_judge(comparison, o->as);
	if (!error)
		error = o->json ? comparison_print_json(comparison, stdout)
				: comparison_print(comparison, stdout, &o->style);
	comparison_free(comparison);
	return error;
}

int command_compare(int argc, char **argv)
{
	static const struct argp argp = {
		option_list, parse, "A.gasp B.gasp\nA.gasp... vs B.gasp...\n--scaling A.gasp B.gasp C.gasp...",
		about,       NULL,  NULL,
		NULL
	};
	struct options o = { .style = { .width = cli_width(), .colour = cli_colour(), .top = DEFAULT_TOP } };

	cli_parse(&argp, argc, argv, &o);
	return cli_status("compare", compare(&o));
}
