/*
 * outputs.h - where a run's spans go: recording, exports, the profile that becomes the report.
 */
#ifndef GASPBPF_OUTPUTS_H
#define GASPBPF_OUTPUTS_H

#include "analysis/profile.h"
#include "capture/capture.h"
#include "cli/cli.h"
#include "export/export.h"

struct export_target {
	const struct exporter *exporter;
	const char *path;
	int fd;
};

struct outputs {
	struct profile *profile;
	struct recording_writer *writer; /* NULL where nothing is recorded */
	const char *recording;           /* path; NULL: unnamed, for exports only */
	int recording_fd;                /* a second handle on it, for the exports */
	struct export_target *exports;
	size_t nexports;
};

/*
 * Opens all -o files, so that a mistake is told before anything is attached: .gasp records, other suffixes
 * export. 0 or -errno, said; -EINVAL for a suffix nobody knows.
 */
int outputs_open(struct outputs *outputs, const struct text_list *paths, const struct definitions *d);
void outputs_connect(struct outputs *outputs, struct capture_session *capture);
/* What has come so far goes to disk: it survives a kill of gaspbpf. */
void outputs_flush(struct outputs *outputs);
/* Ends the recording and writes the exports. 0 or the first -errno. */
int outputs_finish(struct outputs *outputs, struct definitions *d);
void outputs_free(struct outputs *outputs);

#endif
