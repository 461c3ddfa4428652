/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.c - gaspbpf merge: the recordings of several nodes as one.
 *
 * The result is written beside the file that is named, and then takes its name: whatever happens, there is all of it or
 * nothing.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/merging.h"
#include "cli/outputs.h"
#include "merge/merge.h"
#include "util/files.h"
#include "util/log.h"

struct options {
	struct text_list recordings;
	const char *output;
	bool keep_clocks;
};

enum { KEY_KEEP_CLOCKS = 256 };

static const struct argp_option option_list[] = { { "output", 'o', "FILE.gasp", 0, "Where to", 0 },
						  { "keep-clocks", KEY_KEEP_CLOCKS, NULL, 0,
						    "Change no times, whatever machines they are from", 0 },
						  { 0 } };

static const char about[] =
	"Makes one recording of those of several nodes, with their clocks set by each other."
	"\vThe clock of the first recording is the reference. Recordings of one machine keep their times to the ns. "
	"Recordings that have only sums (gaspbpf monitor -o) are merged as well, with each other.\n"
	"\nExamples:\n"
	"  gaspbpf merge n*.gasp -o run.gasp\n"
	"  gaspbpf report run.gasp                   with a section on nodes and clocks\n"
	"  gaspbpf merge a.gasp b.gasp --keep-clocks -o both.gasp\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		output_check_recording(state, argument);
		o->output = argument;
		return 0;
	case KEY_KEEP_CLOCKS:
		o->keep_clocks = true;
		return 0;
	case ARGP_KEY_ARG:
		return cli_append(&o->recordings, argument) ? ENOMEM : 0;
	case ARGP_KEY_END:
		if (!o->recordings.count)
			argp_error(state, "which recordings? name them: gaspbpf merge n*.gasp -o run.gasp");
		if (!o->output)
			argp_error(state, "where to? say -o run.gasp, for example");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One that is named twice would count twice; and with n*.gasp the result of the last time may be among them. */
static int check_files(const struct options *o)
{
	struct stat *all = calloc(o->recordings.count + 1, sizeof(*all)), output = { 0 };
	bool exists = !stat(o->output, &output);
	int error = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < o->recordings.count && !error; i++) {
		const char *path = o->recordings.items[i];

		if (stat(path, &all[i]))
			continue; /* whoever opens it says so */
		if (exists && all[i].st_ino == output.st_ino && all[i].st_dev == output.st_dev) {
			log_error("%s: this is where the result would go: choose another name", log_safe(path));
			error = -EINVAL;
		}
		for (size_t k = 0; k < i && !error; k++) {
			if (all[i].st_ino != all[k].st_ino || all[i].st_dev != all[k].st_dev)
				continue;
			log_error("%s: is there twice, as %s, and would count twice: name it once", log_safe(path),
				  log_safe(o->recordings.items[k]));
			error = -EINVAL;
		}
	}
	free(all);
	return error;
}

/* A file that nobody has finished, of one that was killed, is in the way. */
static int open_beside(const char *beside, const struct caller *caller)
{
	int fd = file_create_new(beside, caller);

	if (fd == -EEXIST) {
		file_drop_new(beside, caller);
		fd = file_create_new(beside, caller);
	}
	if (fd == -EEXIST)
		log_error("%s: cannot be made: %s: remove it, or choose another name", log_safe(beside), strerror(-fd));
	return fd;
}

static int write_result(struct merge *merge, const char *output, const struct caller *caller)
{
	char *beside;
	int fd, error;

	if (asprintf(&beside, "%s%s", output, FILE_NEW) < 0)
		return -ENOMEM;
	fd = open_beside(beside, caller);
	error = fd < 0 ? fd : merge_write(merge, fd);
	if (!error) {
		error = file_take_place(output, caller);
		if (error)
			log_error("%s: cannot be written: %s: choose another name", log_safe(output), strerror(-error));
	}
	if (error && fd >= 0)
		file_drop_new(beside, caller);
	free(beside);
	return error;
}

int merge_into_file(const struct merge_options *options, const struct caller *caller)
{
	struct merge *merge = NULL;
	int error = merge_open(&merge, options);

	if (!error)
		error = write_result(merge, options->name, caller);
	merge_close(merge);
	return error;
}

static int run(const struct options *o, const struct caller *caller)
{
	const struct merge_options options = { .paths = o->recordings.items,
					       .npaths = o->recordings.count,
					       .name = o->output,
					       .keep_clocks = o->keep_clocks,
					       .stop = cli_block_signals(0) };
	int error = options.stop < 0 ? options.stop : merge_into_file(&options, caller);

	if (options.stop >= 0)
		close(options.stop);
	return error;
}

int command_merge(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "REC.gasp... -o FILE.gasp", about, NULL, NULL, NULL };
	struct options o = { 0 };
	struct caller caller;
	int error;

	cli_parse(&argp, argc, argv, &o);
	error = check_files(&o);
	if (!error && caller_find(&caller))
		error = 1;
	else if (!error) {
		error = run(&o, &caller);
		caller_free(&caller);
	}
	free(o.recordings.items);
	if (error == -EINTR) {
		log_error("merge: interrupted: %s was not written", log_safe(o.output));
		return STATUS_INTERRUPTED;
	}
	return cli_status("merge", error);
}
