/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.h - the door of user/export: a recording in somebody else's format.
 */
#ifndef GASPBPF_EXPORT_H
#define GASPBPF_EXPORT_H

#include "recording/recording.h"

struct exporter {
	const char *name;     /* "chrome" */
	const char *suffixes; /* ".json .json.gz" */
	const char *help;     /* one line for --help */
	/* Writes the whole recording to fd (the caller's, open for writing, empty). 0 or -errno, said. */
	int (*write)(struct recording *recording, int fd, const char *name);
};

/* All of them, ended by a NULL. */
extern const struct exporter *const exporters[];
/* By the file name's suffix; NULL: none fits. */
const struct exporter *exporter_for(const char *path);

#endif
