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

#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/export_choice.h"
#include "cli/unfinished.h"
#include "export/export.h"
#include "util/files.h"
#include "util/format.h"
#include "util/log.h"

struct options {
	const char *recording;
	struct text_list outputs;
	struct export_choice choice;
	bool arrows;
	uint64_t size; /* bytes of a page; 0: the usual limit */
};

enum { KEY_ARROWS = 0x900, KEY_SIZE };

static const struct argp_option option_list[] = {
	{ "output", 'o', "FILE", 0, "Where to; the suffix chooses the format. May repeat", 0 },
	{ "arrows", KEY_ARROWS, NULL, 0,
	  "Chrome trace: with arrows from call to call, for messages and for whom a call waits; it takes three times the "
	  "CPU time",
	  0 },
	{ "html-size", KEY_SIZE, "SIZE", 0,
	  "Page: at most so large (default 10M); of the calls that do not fit, the shortest, it has only sums", 0 },
	{ 0 }
};

static const char about[] = "Writes a recording in another format, which the suffix of the file chooses."
			    "\vExamples:\n"
			    "  gaspbpf export run.gasp -o run.json             for ui.perfetto.dev\n"
			    "  gaspbpf export run.gasp -o run.speedscope.json  for speedscope.app\n"
			    "  gaspbpf export run.gasp -o run.html             for any browser\n"
			    "  gaspbpf export run.gasp -o run.otf2             for Vampir\n"
			    "  gaspbpf export run.gasp -o run.ctf              for babeltrace2\n"
			    "  gaspbpf export run.gasp -o run.parquet          a table, for SQL\n"
			    "  gaspbpf export run.gasp -o run.pb.gz            for go tool pprof\n"
			    "  gaspbpf export run.gasp -o run.json.gz -o run.events\n"
			    "  gaspbpf export run.gasp -o run.json --ranks 0-3 --from 10s --to 12s\n"
			    "\nFormats:\n";

static void print_formats(FILE *out)
{
	for (size_t i = 0; exporters[i]; i++)
		fprintf(out, "  %-38s %s%s\n", exporters[i]->suffixes, exporters[i]->help,
			exporters[i]->missing ? " (not in this build)" : "");
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

static void check_suffix(struct argp_state *state, const char *path)
{
	const struct exporter *exporter = exporter_for(path);

	if (!exporter)
		refuse_suffix(state, path);
	else if (exporter->missing)
		argp_error(state, "-o %s: %s", log_safe(path), exporter->missing);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		return 0;
	case 'o':
		check_suffix(state, argument);
		return cli_append(&o->outputs, argument) ? ENOMEM : 0;
	case KEY_ARROWS:
		o->arrows = true;
		return 0;
	case KEY_SIZE:
		if (parse_bytes(argument, &o->size) || !o->size)
			argp_error(state, "--html-size %s: no size: say 10M or 500k, for example", log_safe(argument));
		return 0;
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

static int export_archive(struct recording *recording, const char *from, const char *path, const struct caller *caller)
{
	struct archive *archive;
	int error = archive_begin(&archive, exporter_for(path), path,
				  &(struct archive_source){ .recording = recording, .name = from }, caller);

	if (!error)
		error = archive_write(archive);
	archive_end(archive);
	return error;
}

static int write_export(const struct exporter *exporter, struct recording *recording, const struct options *o, int fd,
			int spare, const char *path)
{
	if (o->size && exporter->write_within)
		return exporter->write_within(recording, fd, spare, path, o->size);
	return exporter->write(recording, fd, spare, path);
}

static int export_to(struct recording *recording, const struct options *o, const char *path,
		     const struct caller *caller)
{
	const struct exporter *exporter = exporter_for(path);
	bool with_spare = exporter->needs_spare || (exporter->has_arrows && o->arrows);
	struct unfinished file;
	int error, fd, spare = -1;

	if (is_same_file(path, o->recording)) {
		log_error("%s: this is the recording itself: choose another name", log_safe(path));
		return -EINVAL;
	}
	if (exporter->is_archive)
		return export_archive(recording, o->recording, path, caller);
	fd = file_create(path, caller);
	if (fd < 0)
		return fd;
	unfinished_begin(&file, path, caller, fd);
	if (with_spare)
		spare = file_temporary();
	error = with_spare && spare < 0 ? spare : write_export(exporter, recording, o, fd, spare, path);
	if (spare >= 0)
		close(spare);
	unfinished_end(&file, error);
	if (close(fd) && !error) {
		error = -errno;
		log_error("%s: cannot write: %s", log_safe(path), strerror(errno));
	}
	return error;
}

int command_export(int argc, char **argv)
{
	static const struct argp_child children[] = { { &export_choice_parser, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { option_list, parse, "REC.gasp -o FILE", about, children, help_filter, NULL };
	struct recording *recording;
	struct options o = { 0 };
	struct caller caller;
	int error = 1;

	cli_parse(&argp, argc, argv, &o);
	if (recording_open(&recording, o.recording)) {
		free(o.outputs.items);
		return 1;
	}
	if (recording_has_calls(recording, o.recording) && !export_choose(&o.choice, recording, o.recording) &&
	    !caller_find(&caller)) {
		error = 0;
		for (size_t i = 0; i < o.outputs.count && !error; i++)
			error = export_to(recording, &o, o.outputs.items[i], &caller);
		if (!error)
			export_say_choice(&o.choice, recording);
		caller_free(&caller);
	}
	recording_close(recording);
	free(o.outputs.items);
	return cli_status("export", error);
}
