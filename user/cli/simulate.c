/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulate.c - gaspbpf simulate: what would have been if.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "simulate/simulate.h"
#include "util/files.h"
#include "util/format.h"
#include "util/log.h"

#define PATIENCE 60000000000 /* ns */

enum { KEY_PLUGIN = 256, KEY_PATIENCE, KEY_JSON };

struct options {
	const char *recording, *output, *plugin;
	struct text_list parameters;
	uint64_t patience;
	bool json;
};

static const struct argp_option option_list[] = {
	{ "plugin", KEY_PLUGIN, "NAME", 0,
	  "What is different: one of those below, or a shared library, by its path (./my.so)", 0 },
	{ "output", 'o', "FILE.gasp", 0, "Write the recording that would have been", 0 },
	{ "patience", KEY_PATIENCE, "TIME", 0,
	  "End a plug-in that stays in one of its functions for longer (60s; 0: never)", 0 },
	{ "json", KEY_JSON, NULL, 0, "The summary as JSON", 0 },
	{ 0 }
};

static const char about[] =
	"Replays a recording with other times: on another network, without locks, or as a plug-in of your own says. "
	"Prints time and efficiencies before and after, and writes a recording that every other command reads."
	"\vExamples:\n"
	"  gaspbpf simulate run.gasp --plugin ideal\n"
	"  gaspbpf simulate run.gasp --plugin dimemas latency=2us bandwidth=12G\n"
	"  gaspbpf simulate run.gasp --plugin same cpu=2 -o faster.gasp\n"
	"  gaspbpf simulate run.gasp --plugin ./my.so factor=3 -o after.gasp\n"
	"  gaspbpf report after.gasp\n"
	"\nPlug-ins that are always there, with their parameters:\n";

static char *help_filter(int key, const char *text, void *input)
{
	return cli_help_with(key, text, simulation_print_builtins);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_PLUGIN:
		if (o->plugin)
			argp_error(
				state,
				"--plugin %s: one at a time; simulate the first one's result (-o FILE.gasp) with the "
				"second",
				log_safe(argument));
		if (!strchr(argument, '/') && !simulation_is_builtin(argument))
			argp_error(state, "--plugin %s: no such plug-in; a library needs its path: ./%s",
				   log_safe(argument), log_safe(argument));
		o->plugin = argument;
		return 0;
	case 'o':
		output_check_recording(state, argument);
		o->output = argument;
		return 0;
	case KEY_PATIENCE:
		if (parse_time(argument, &o->patience))
			argp_error(state, "--patience %s: not a time: say 60s, for example", log_safe(argument));
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!o->recording && !strchr(argument, '=')) {
			o->recording = argument;
			return 0;
		}
		if (!strchr(argument, '='))
			argp_error(state, "one recording at a time: what is '%s'? parameters are name=value",
				   log_safe(argument));
		return cli_append(&o->parameters, argument) ? ENOMEM : 0;
	case ARGP_KEY_END:
		cli_need_recording(o->recording, state);
		if (!o->plugin)
			argp_error(state, "what is to be different? say --plugin ideal, for example");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int open_input(const char *path)
{
	int fd = open(path,
		      O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO without a writer must not hold us */

	if (fd < 0)
		log_error("%s: cannot be opened: %s: check the name and its permissions", log_safe(path),
			  strerror(errno));
	return fd;
}

static bool is_same_file(int input, const char *output)
{
	struct stat a, b;

	return !fstat(input, &a) && !stat(output, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int run(const struct options *o, const struct caller *caller, int input)
{
	struct simulation simulation = {
		.path = o->recording,
		.input = input,
		.output = -1,
		.output_name = o->output,
		.plugin = o->plugin,
		.parameters = o->parameters.items,
		.nparameters = o->parameters.count,
		.patience = o->patience,
		.json = o->json,
	};
	int error;

	if (o->output) {
		if (is_same_file(input, o->output)) {
			log_error("%s: this is the recording itself: choose another name", log_safe(o->output));
			return -EINVAL;
		}
		simulation.output = file_create(o->output, caller);
		if (simulation.output < 0)
			return simulation.output;
	}
	error = simulate(&simulation, caller);
	if (simulation.output >= 0) {
		if (error)
			file_give_back(o->output, caller, simulation.output);
		else
			close(simulation.output);
	}
	return error;
}

int command_simulate(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "REC.gasp --plugin NAME [PARAMETER=VALUE...]",
					  about,       NULL,  help_filter,
					  NULL };
	struct options o = { .patience = PATIENCE };
	struct caller caller;
	int error = 1, input;

	cli_parse(&argp, argc, argv, &o);
	input = open_input(o.recording);
	if (input >= 0 && !caller_find(&caller)) {
		error = run(&o, &caller, input);
		caller_free(&caller);
	}
	if (input >= 0)
		close(input);
	free(o.parameters.items);
	return cli_status("simulate", error);
}
