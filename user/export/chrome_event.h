/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_event.h - the events of a Chrome trace that are no calls, one function for each kind. Private to user/export.
 *
 * ns: since the run began. pid, tid: those of chrome_tracks.h.
 */
#ifndef GASPBPF_EXPORT_CHROME_EVENT_H
#define GASPBPF_EXPORT_CHROME_EVENT_H

#include "util/json.h"

/* What a process or thread is called, or where it stands: "process_name", "thread_sort_index". */
void chrome_put_name(struct json *j, const char *what, uint64_t pid, uint64_t tid, const char *name);
void chrome_put_order(struct json *j, const char *what, uint64_t pid, uint64_t tid, int64_t index);

/*
 * The event up to its arguments, which the caller puts before chrome_end(). An instant is a moment; scope: 't' of the
 * track, 'g' of all. A slice has a length: ns, of which those of one track must nest.
 */
void chrome_begin_instant(struct json *j, const char *scope, const char *name, const char *category, uint64_t pid,
			  uint64_t tid, uint64_t ns);
void chrome_begin_slice(struct json *j, const char *name, const char *category, uint64_t pid, uint64_t tid, uint64_t ns,
			uint64_t length);
void chrome_end(struct json *j);

/* From this moment on the counter has this value. unit: "bytes". */
void chrome_put_count(struct json *j, uint64_t pid, const char *name, const char *unit, uint64_t ns, uint64_t value);
void chrome_put_share(struct json *j, uint64_t pid, const char *name, const char *unit, uint64_t ns, double value);

#endif
