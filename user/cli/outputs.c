/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/outputs.h"
#include "util/log.h"

#define RELATED_CALLS 20000000 /* of a recording: half a minute to a minute */

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && !strcmp(path + n - m, suffix);
}

enum output_kind output_kind(const char *path)
{
	if (has_suffix(path, ".gasp"))
		return OUTPUT_RECORDING;
	return exporter_for(path) ? OUTPUT_EXPORT : OUTPUT_UNKNOWN;
}

void output_check_recording(const struct argp_state *state, const char *path)
{
	if (output_kind(path) != OUTPUT_RECORDING)
		argp_error(
			state,
			"-o %s: the result is a recording: its name ends in .gasp ('gaspbpf export' makes others of it)",
			log_safe(path));
}

/* path NULL: an unnamed one, that the exports are made from. */
static int open_recording(struct outputs *outputs, const char *path)
{
	int fd = path ? file_reserve(path, &outputs->caller, &outputs->recording_created) : file_temporary();

	if (fd < 0)
		return fd;
	outputs->recording = path;
	outputs->recording_fd = fd;
	return 0;
}

static int open_export(struct outputs *outputs, const char *path)
{
	struct export_target *grown = realloc(outputs->exports, (outputs->nexports + 1) * sizeof(*grown));
	struct export_target target = { .exporter = exporter_for(path), .path = path, .fd = -1 };

	if (!grown)
		return -ENOMEM;
	outputs->exports = grown;
	if (target.exporter->is_archive) { /* when the recording is open */
		grown[outputs->nexports++] = target;
		return 0;
	}
	target.fd = file_reserve(path, &outputs->caller, &target.created);
	if (target.fd < 0)
		return target.fd;
	grown[outputs->nexports++] = target;
	if (!target.exporter->needs_spare)
		return 0;
	if (outputs->spare_fd < 0)
		outputs->spare_fd = file_temporary();
	return outputs->spare_fd < 0 ? outputs->spare_fd : 0;
}

/* Each by a process of its own, which reads the recording in the end. */
static int open_archives(struct outputs *outputs)
{
	struct archive_source source = { .fd = outputs->recording_fd, .name = outputs->recording ?: RECORDING_UNNAMED };
	int error = 0;

	for (size_t i = 0; i < outputs->nexports && !error; i++) {
		struct export_target *target = &outputs->exports[i];

		if (target->exporter->is_archive)
			error = archive_begin(&target->archive, target->exporter, target->path, &source,
					      &outputs->caller);
	}
	return error;
}

int outputs_open(struct outputs *outputs, const struct text_list *paths)
{
	int err = caller_find(&outputs->caller);

	if (err)
		return err;
	outputs->reporter = reporter_new();
	if (!outputs->reporter)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < paths->count; i++)
		err = output_kind(paths->items[i]) == OUTPUT_RECORDING ? open_recording(outputs, paths->items[i])
								       : open_export(outputs, paths->items[i]);
	if (!err && outputs->nexports && outputs->recording_fd < 0)
		err = open_recording(outputs, NULL);
	return err ?: open_archives(outputs);
}

void outputs_begin(struct outputs *outputs, const struct definitions *d)
{
	int fd;

	outputs->begun = true;
	for (size_t i = 0; i < outputs->nexports; i++)
		if (!outputs->exports[i].archive && ftruncate(outputs->exports[i].fd, 0))
			log_warn("%s: cannot be emptied: %s", log_safe(outputs->exports[i].path), strerror(errno));
	if (outputs->recording_fd < 0) {
		if (outputs->keeps)
			kept_begin(&outputs->kept, d);
		return;
	}
	fd = fcntl(outputs->recording_fd, F_DUPFD_CLOEXEC,
		   0); /* the exports read what was recorded through the other one */
	if (fd < 0 || ftruncate(fd, 0)) {
		outputs->error = -errno;
		log_error("%s: cannot be written: %s: nothing is recorded", log_safe(outputs->recording),
			  strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	outputs->error = recording_create(&outputs->writer, fd, outputs->recording ?: RECORDING_UNNAMED, d);
}

int outputs_connect(struct outputs *outputs, const struct definitions *d, struct capture_session *capture)
{
	struct span_sink report = reporter_sink(outputs->reporter);
	int error = reporter_begin(outputs->reporter, d);

	if (error)
		return error;
	capture_add_sink(capture, &report);
	if (outputs->writer) {
		struct span_sink recorder = recording_sink(outputs->writer);

		capture_add_sink(capture, &recorder);
	}
	if (outputs->kept.writer) {
		struct span_sink kept = kept_sink(&outputs->kept);

		capture_add_sink(capture, &kept);
	}
	return 0;
}

void outputs_flush(struct outputs *outputs)
{
	if (outputs->writer)
		recording_flush(outputs->writer);
}

static int write_exports(struct outputs *outputs)
{
	struct recording *recording;
	int first = 0, err, spare;

	err = recording_open_fd(&recording, outputs->recording_fd, outputs->recording ?: RECORDING_UNNAMED);
	if (err)
		return err;
	for (size_t i = 0; i < outputs->nexports; i++) {
		struct export_target *target = &outputs->exports[i];

		log_status("writing %s", log_safe(target->path));
		spare = target->exporter->needs_spare ? outputs->spare_fd : -1;
		err = target->archive ? archive_write(target->archive)
				      : target->exporter->write(recording, target->fd, spare, target->path);
		log_status("%s", "");
		if (err && !target->archive)
			file_give_back(target->path, &outputs->caller, target->fd);
		first = first ?: err;
	}
	recording_close(recording);
	return first;
}

int outputs_finish(struct outputs *outputs, struct definitions *d)
{
	int err;

	if (!outputs->writer)
		return outputs->error;
	d->loss.unwritten = recording_unwritten(outputs->writer);
	err = recording_finish(outputs->writer);
	outputs->writer = NULL;
	if (outputs->nexports) {
		int second = write_exports(outputs);

		err = err ?: second;
	}
	return err ?: d->loss.unwritten ? -ENOSPC : 0;
}

/* What there is to look into: a recording that can be read, or why there is none. */
static int find_calls(struct outputs *outputs)
{
	if (outputs->recording_fd < 0)
		return outputs->keeps ? kept_finish(&outputs->kept) : -ENODATA;
	if (outputs->error)
		return outputs->error;
	return reporter_calls(outputs->reporter) > RELATED_CALLS ? -E2BIG : 0;
}

/* Who waits for whom is in no part of the report: why, and what to do. */
static int note_unrelated(struct outputs *outputs, const char *why)
{
	const char *path = outputs->recording;
	char text[PATH_MAX + 200];

	snprintf(text, sizeof(text), "%s: who waits for whom was not looked for. %s: gaspbpf report %s", why,
		 path ? "The recording has it" : "Observe a shorter time, or with -o run.gasp, and then",
		 path ? log_safe(path) : "run.gasp");
	return reporter_note(outputs->reporter, text);
}

int outputs_relate(struct outputs *outputs, struct report_progress *progress)
{
	int fd = outputs->recording_fd >= 0 ? outputs->recording_fd : outputs->kept.fd;
	int error = find_calls(outputs);
	char why[50];

	if (error == -E2BIG) {
		snprintf(why, sizeof(why), "More than %u million calls",
			 (outputs->recording_fd >= 0 ? RELATED_CALLS : KEPT_CALLS) / 1000000);
		return note_unrelated(outputs, why);
	}
	if (error || !reporter_would_relate(outputs->reporter)) /* nobody waits, or it was said */
		return 0;
	error = recording_open_fd(&outputs->related, fd, outputs->recording ?: "calls kept in memory");
	if (error)
		return 0; /* said */
	report_progress_begin(progress, outputs->related);
	error = reporter_relate(outputs->reporter, outputs->related);
	if (!error)
		error = reporter_finish(outputs->reporter);
	report_progress_end(outputs->related);
	return error == -ECANCELED ? note_unrelated(outputs, "Interrupted") : error;
}

static void close_output(const struct outputs *outputs, const char *path, int fd, bool created)
{
	if (created && !outputs->begun)
		file_give_back(path, &outputs->caller, fd);
	close(fd);
}

void outputs_free(struct outputs *outputs)
{
	if (outputs->writer)
		recording_finish(outputs->writer);
	reporter_free(outputs->reporter);
	if (outputs->related)
		recording_close(outputs->related);
	kept_free(&outputs->kept);
	for (size_t i = 0; i < outputs->nexports; i++)
		if (outputs->exports[i].exporter->is_archive)
			archive_end(outputs->exports[i].archive);
		else
			close_output(outputs, outputs->exports[i].path, outputs->exports[i].fd,
				     outputs->exports[i].created);
	free(outputs->exports);
	if (outputs->spare_fd >= 0)
		close(outputs->spare_fd);
	if (outputs->recording_fd >= 0)
		close_output(outputs, outputs->recording, outputs->recording_fd, outputs->recording_created);
	caller_free(&outputs->caller);
}
