/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_found.h - what a report finds in the recording, in a Chrome trace: findings as marks, the iterations as a
 * track, memory and tasks as counters. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CHROME_FOUND_H
#define GASPBPF_EXPORT_CHROME_FOUND_H

#include "export/chrome_counters.h"
#include "export/chrome_tracks.h"
#include "export/output.h"
#include "recording/recording.h"

struct chrome_found {
	struct recording *recording; /* what was chosen of it; the report is of all of it */
	unsigned extras;             /* enum export_extra: which of these are wanted */
	struct chrome_tracks *tracks;
	struct chrome_counters *counters; /* NULL: none are wanted */
	struct json *json;
	struct output *out; /* whose progress is shown */
};

/* Makes the report, which takes as long as gaspbpf report does, and adds what it says. 0 or -errno. */
int chrome_found_put(const struct chrome_found *found);

#endif
