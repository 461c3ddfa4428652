/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outputs.h - where a run's spans go: recording, exports, the report.
 */
#ifndef GASPBPF_OUTPUTS_H
#define GASPBPF_OUTPUTS_H

#include "analysis/report.h"
#include "capture/capture.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/report_progress.h"
#include "export/export.h"
#include "util/files.h"

struct export_target {
	const struct exporter *exporter;
	const char *path;
	int fd;
	bool created;            /* the file is new */
	struct archive *archive; /* NULL: it is a file; else the fd is none */
};

struct outputs {
	struct reporter *reporter;
	struct kept_calls kept;          /* where nothing is recorded */
	bool keeps;                      /* it is to be made */
	struct recording *related;       /* what the reporter has looked into at the end; NULL: nothing */
	struct recording_writer *writer; /* NULL where nothing is recorded */
	const char *recording;           /* path; NULL: unnamed, for exports only */
	int recording_fd;                /* -1: none */
	int spare_fd;                    /* -1: none; for exporters that need one, one after the other */
	bool recording_created;
	struct export_target *exports;
	size_t nexports;
	struct caller caller;
	bool begun;
	int error; /* the recording could not be begun */
};

enum output_kind { OUTPUT_UNKNOWN, OUTPUT_RECORDING, OUTPUT_EXPORT };
/* By the suffix: .gasp records, the exporters' export. */
enum output_kind output_kind(const char *path);
struct argp_state;
/* Of a command that writes a recording and nothing else: ends with a usage error where the name is of something else.
 */
void output_check_recording(const struct argp_state *state, const char *path);

/*
 * Opens all -o files, so that a mistake is told before anything is attached. What is in them stays until
 * outputs_begin(); where the run does not come to that, files that are new are removed again. 0 or -errno, said.
 */
int outputs_open(struct outputs *outputs, const struct text_list *paths);
/* The run has begun: from here on the files are written. A failure is said, and told by outputs_finish(). */
void outputs_begin(struct outputs *outputs, const struct definitions *d);
/* 0 or -ENOMEM. */
int outputs_connect(struct outputs *outputs, const struct definitions *d, struct capture_session *capture);
/* What has come so far goes to disk: it survives a kill of gaspbpf. */
void outputs_flush(struct outputs *outputs);
/* Ends the recording and writes the exports. 0 or the first -errno. */
int outputs_finish(struct outputs *outputs, struct definitions *d);
/*
 * Lets the report look into what was recorded: who waited for whom. Before it is printed. Where progress stops it, the
 * report is without it. 0 or -errno.
 */
int outputs_relate(struct outputs *outputs, struct report_progress *progress);
void outputs_free(struct outputs *outputs);

#endif
