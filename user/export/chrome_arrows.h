/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_arrows.h - arrows between calls of different threads ("flow events"). Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CHROME_ARROWS_H
#define GASPBPF_EXPORT_CHROME_ARROWS_H

#include "export/chrome_counters.h"
#include "recording/recording.h"
#include "util/json.h"

struct chrome_arrows;

/*
 * Finds the arrows of arrows.h: in a thread of its own, which reads the whole recording twice. What it finds waits
 * in the file, which stays the caller's; -1: no arrows are wanted. counters: are told of each message; NULL: none.
 * NULL: out of memory.
 */
struct chrome_arrows *chrome_arrows_new(struct recording *recording, int spare, struct chrome_counters *counters);
/* A call that is in the file: from the first one on that others may have to do with, they are looked for. */
void chrome_arrows_meet(struct chrome_arrows *arrows, const struct span *span);

/* Where the calls of a thread are shown. False: not on one track, so no arrow finds them. */
typedef bool (*arrow_place_fn)(void *context, uint32_t thread, uint64_t *pid, uint64_t *tid);

/* Waits for the end of it, and adds them to the array of events. 0 or -errno. */
int chrome_arrows_put(struct chrome_arrows *arrows, struct json *json, arrow_place_fn place, void *context);
void chrome_arrows_free(struct chrome_arrows *arrows);

#endif
