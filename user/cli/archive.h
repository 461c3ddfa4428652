/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive.h - an export of several files (struct exporter.is_archive), written by a process of its own.
 *
 * A library makes the files, by their names. So it is not root that does it for somebody who called sudo: the process
 * is the caller, for good. It starts while there is the right to, and waits until the recording is whole. It writes
 * into a folder of its own beside the output, and what it has made takes its place at the end: after a failure nothing
 * of it is left, and an earlier archive of that name is what it was.
 */
#ifndef GASPBPF_CLI_ARCHIVE_H
#define GASPBPF_CLI_ARCHIVE_H

#include "export/export.h"
#include "util/files.h"

struct archive;

/* What it is made from: an open recording, or a descriptor of one that is not written yet. */
struct archive_source {
	struct recording *recording; /* NULL: fd */
	int fd;
	const char *name; /* of the recording, for messages */
};

/* Starts the process. exporter and path must live as long. 0 or -errno, said. */
int archive_begin(struct archive **archive, const struct exporter *exporter, const char *path,
		  const struct archive_source *source, const struct caller *caller);
/* Writes it: the recording is whole. 0 or -errno, said. */
int archive_write(struct archive *archive);
/* Ends the process; what was not written leaves nothing. NULL is fine. */
void archive_end(struct archive *archive);

#endif
