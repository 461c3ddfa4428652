#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/outputs.h"
#include "util/files.h"
#include "util/log.h"

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && !strcmp(path + n - m, suffix);
}

static int open_recording(struct outputs *outputs, const char *path, const struct caller *caller,
			  const struct definitions *d)
{
	int fd;

	if (outputs->writer) {
		log_error("-o %s: one recording a run: 'cp' makes a second", log_safe(path));
		return -EINVAL;
	}
	fd = path ? file_create(path, caller) : file_temporary();
	if (fd < 0)
		return fd;
	outputs->recording = path;
	outputs->recording_fd = dup(fd);
	if (outputs->recording_fd < 0) {
		close(fd);
		return -errno;
	}
	return recording_create(&outputs->writer, fd, path ?: "temporary recording", d);
}

static int open_export(struct outputs *outputs, const char *path, const struct caller *caller)
{
	const struct exporter *exporter = exporter_for(path);
	struct export_target *grown;
	int fd;

	if (!exporter) {
		log_error("-o %s: unknown kind of file: use .gasp for a recording, or one of:", log_safe(path));
		for (size_t i = 0; exporters[i]; i++)
			log_error("   %-16s %s", exporters[i]->suffixes, exporters[i]->help);
		return -EINVAL;
	}
	fd = file_create(path, caller);
	if (fd < 0)
		return fd;
	grown = realloc(outputs->exports, (outputs->nexports + 1) * sizeof(*grown));
	if (!grown) {
		close(fd);
		return -ENOMEM;
	}
	outputs->exports = grown;
	grown[outputs->nexports++] = (struct export_target){ .exporter = exporter, .path = path, .fd = fd };
	return 0;
}

int outputs_open(struct outputs *outputs, const struct text_list *paths, const struct definitions *d)
{
	struct caller caller;
	int err = caller_find(&caller);

	if (err)
		return err;
	outputs->recording_fd = -1;
	outputs->profile = profile_new();
	if (!outputs->profile)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < paths->count; i++)
		err = has_suffix(paths->items[i], ".gasp") ? open_recording(outputs, paths->items[i], &caller, d)
							   : open_export(outputs, paths->items[i], &caller);
	if (!err && outputs->nexports && !outputs->writer)
		err = open_recording(outputs, NULL, &caller, d);
	caller_free(&caller);
	return err;
}

void outputs_connect(struct outputs *outputs, struct capture_session *capture)
{
	struct span_sink profile = profile_sink(outputs->profile);

	capture_add_sink(capture, &profile);
	if (outputs->writer) {
		struct span_sink recorder = recording_sink(outputs->writer);

		capture_add_sink(capture, &recorder);
	}
}

void outputs_flush(struct outputs *outputs)
{
	if (outputs->writer)
		recording_flush(outputs->writer);
}

static int write_exports(struct outputs *outputs)
{
	struct recording *recording;
	int first = 0, err;

	err = recording_open_fd(&recording, outputs->recording_fd, outputs->recording ?: "temporary recording");
	if (err)
		return err;
	for (size_t i = 0; i < outputs->nexports; i++) {
		struct export_target *target = &outputs->exports[i];

		log_status("writing %s", log_safe(target->path));
		err = target->exporter->write(recording, target->fd, target->path);
		log_status("%s", "");
		first = first ?: err;
	}
	recording_close(recording);
	return first;
}

int outputs_finish(struct outputs *outputs, struct definitions *d)
{
	int err;

	if (!outputs->writer)
		return 0;
	d->loss.unwritten = recording_unwritten(outputs->writer);
	err = recording_finish(outputs->writer);
	outputs->writer = NULL;
	if (outputs->nexports) {
		int second = write_exports(outputs);

		err = err ?: second;
	}
	return err ?: d->loss.unwritten ? -ENOSPC : 0;
}

void outputs_free(struct outputs *outputs)
{
	if (outputs->writer)
		recording_finish(outputs->writer);
	profile_free(outputs->profile);
	for (size_t i = 0; i < outputs->nexports; i++)
		close(outputs->exports[i].fd);
	free(outputs->exports);
	if (outputs->recording_fd >= 0)
		close(outputs->recording_fd);
}
