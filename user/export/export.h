/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.h - the door of user/export: a recording in somebody else's format.
 */
#ifndef GASPBPF_EXPORT_H
#define GASPBPF_EXPORT_H

#include "recording/recording.h"

/* What can be added where somebody asks for it, a bit each. */
enum export_extra {
	EXTRA_ARROWS = 1 << 0,   /* from call to call */
	EXTRA_COUNTERS = 1 << 1, /* what is on its way, memory, tasks, what is lost, what probes cost, over time */
	EXTRA_FINDINGS = 1 << 2, /* of the report, when they were worst */
	EXTRA_PHASES = 1 << 3,   /* iterations, and those out of line */
	EXTRA_COLOURS = 1 << 4,  /* by what a call is for */
	EXTRA_ALL = (1 << 5) - 1
};

struct exporter {
	const char *name;     /* "chrome" */
	const char *suffixes; /* ".json .json.gz" */
	const char *help;     /* one line for --help */
	bool needs_spare;     /* write() needs a second file, for what has to wait */
	unsigned extras;      /* enum export_extra: of write_with() */
	/*
	 * It makes several files, whose names begin with that of the output. Then write() is called by a process that
	 * is the caller, in an empty folder of its own (fd), and what it leaves there takes its place beside the output
	 * (user/cli/archive.h).
	 */
	bool is_archive;
	/* An archive that is a folder with the name of the output: is this open folder an earlier one, which may go? 1
	 * or 0; -errno: not known. NULL: it is no folder. */
	int (*is_earlier)(int folder);
	const char *missing; /* why this build cannot write it, and what to do; NULL: it can */
	int (*ready)(void);  /* 0, or -errno, said: it cannot be written here. NULL: it can */
	/*
	 * Writes the whole recording to fd (the caller's, open for writing, empty). spare: one of file_temporary(),
	 * whatever is in it; the caller's, so that it may be opened while there is the right to. -1: none. 0 or -errno,
	 * said.
	 */
	int (*write)(struct recording *recording, int fd, int spare, const char *name);
	/* The same with these extras, for which it needs the second file, too. NULL: it has none. */
	int (*write_with)(struct recording *recording, int fd, int spare, const char *name, unsigned extras);
	/* The same, with no more bytes than that, as far as something can be left out; NULL: nothing can. */
	int (*write_within)(struct recording *recording, int fd, int spare, const char *name, uint64_t limit);
};

/* All of them, ended by a NULL. */
extern const struct exporter *const exporters[];
/* By the file name's suffix; NULL: none fits. */
const struct exporter *exporter_for(const char *path);

#endif
