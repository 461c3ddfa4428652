/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_progress.h - how far the reading of a long recording is, and what ^C does meanwhile. Private to user/cli.
 */
#ifndef GASPBPF_REPORT_PROGRESS_H
#define GASPBPF_REPORT_PROGRESS_H

#include "recording/recording.h"

struct report_progress {
	uint64_t began, shown; /* ns: the present pass, and when the line was last written */
	uint64_t at;           /* bytes: how far it was last */
	unsigned pass;
	bool quiet, stopped;
	bool (*stop)(void *context); /* NULL: nobody */
	void *context;
};

/*
 * From now on the terminal on standard error, if it is one, says how far the recording has been read, unless quiet.
 * Once stop() has said so, all reading ends with -ECANCELED. progress has quiet, stop and context, and must outlive the
 * reading.
 */
void report_progress_begin(struct report_progress *progress, struct recording *recording);
/* The line goes away, before anything is printed. */
void report_progress_end(struct recording *recording);

/* From now on ^C, or SIGTERM, ends the program at once, and says that nothing was printed. */
void report_interrupts_begin(void);
/* They are again what they were. */
void report_interrupts_end(void);

#endif
