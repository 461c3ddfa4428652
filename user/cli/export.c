/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.c - gaspbpf export: a recording in other formats.
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
#include "export/export.h"
#include "util/files.h"
#include "util/log.h"

struct options {
	const char *recording;
	struct text_list outputs;
};

static const struct argp_option option_list[] = {
	{ "output", 'o', "FILE", 0, "Where to; the suffix chooses the format. May repeat", 0 }, { 0 }
};

static const char about[] = "Writes a recording in another format, which the suffix of the file chooses."
			    "\vExamples:\n"
			    "  gaspbpf export run.gasp -o run.json             for ui.perfetto.dev\n"
			    "  gaspbpf export run.gasp -o run.speedscope.json  for speedscope.app\n"
			    "  gaspbpf export run.gasp -o run.parquet          a table, for SQL\n"
			    "  gaspbpf export run.gasp -o run.pb.gz            for go tool pprof\n"
			    "  gaspbpf export run.gasp -o run.json.gz -o run.events\n"
			    "\nFormats:\n";

static void print_formats(FILE *out)
{
	for (size_t i = 0; exporters[i]; i++)
		fprintf(out, "  %-38s %s\n", exporters[i]->suffixes, exporters[i]->help);
}

static char *help_filter(int key, const char *text, void *input)
{
	return cli_help_with(key, text, print_formats);
}

static void refuse_suffix(struct argp_state *state, const char *path)
{
	char known[256] = "";

	for (size_t i = 0; exporters[i]; i++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, "%s%s", i ? " " : "", exporters[i]->suffixes);
	}
	argp_error(state, "-o %s: no format has this suffix; these are known: %s", log_safe(path), known);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		if (!exporter_for(argument))
			refuse_suffix(state, argument);
		return cli_append(&o->outputs, argument) ? ENOMEM : 0;
	case ARGP_KEY_ARG:
		cli_take_recording(&o->recording, argument, state);
		return 0;
	case ARGP_KEY_END:
		cli_need_recording(o->recording, state);
		if (!o->outputs.count)
			argp_error(state, "where to? say -o FILE.json, for example");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* True where the output would overwrite the recording it is made from. */
static bool is_same_file(const char *output, const char *recording)
{
	struct stat a, b;

	return !stat(output, &a) && !stat(recording, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int export_to(struct recording *recording, const char *from, const char *path, const struct caller *caller)
{
	const struct exporter *exporter = exporter_for(path);
	int error, fd, spare = -1;

	if (is_same_file(path, from)) {
		log_error("%s: this is the recording itself: choose another name", log_safe(path));
		return -EINVAL;
	}
	fd = file_create(path, caller);
	if (fd < 0)
		return fd;
	if (exporter->needs_spare)
		spare = file_temporary();
	error = exporter->needs_spare && spare < 0 ? spare : exporter->write(recording, fd, spare, path);
	if (spare >= 0)
		close(spare);
	if (close(fd) && !error) {
		error = -errno;
		log_error("%s: cannot write: %s", log_safe(path), strerror(errno));
	}
	return error;
}

int command_export(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "REC.gasp -o FILE", about, NULL, help_filter, NULL };
	struct recording *recording;
	struct options o = { 0 };
	struct caller caller;
	int error = 1;

	cli_parse(&argp, argc, argv, &o);
	if (recording_open(&recording, o.recording)) {
		free(o.outputs.items);
		return 1;
	}
	if (recording_has_calls(recording, o.recording) && !caller_find(&caller)) {
		error = 0;
		for (size_t i = 0; i < o.outputs.count && !error; i++)
			error = export_to(recording, o.recording, o.outputs.items[i], &caller);
		caller_free(&caller);
	}
	recording_close(recording);
	free(o.outputs.items);
	return cli_status("export", error);
}
