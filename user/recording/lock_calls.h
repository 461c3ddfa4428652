/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_calls.h - what calls do to locks: part of user/recording's door.
 *
 * Roles say it, and the meanings of values: `acquire` and `try` take a lock, `release` gives it back, and a `wait` with
 * a lock among its values gives it back while it waits, and has it again at its end.
 */
#ifndef GASPBPF_LOCK_CALLS_H
#define GASPBPF_LOCK_CALLS_H

#include "recording/recording.h"

enum lock_does { LOCK_NOTHING, LOCK_TAKES, LOCK_TRIES, LOCK_GIVES_BACK, LOCK_LENDS /* while it waits */ };

enum lock_does lock_call_does(const struct def_probe *probe);

/*
 * Calls without a name for their lock are about one that the process has one of: the calls of a family of events, which
 * are called the same up to the last word (CRITICAL_START, CRITICAL_END). A number for the family, mixed into `seed`.
 */
uint64_t lock_call_family(uint64_t seed, const char *event);

/*
 * Does a call reach into the memory of other processes? A runtime that has such calls gives a lock the same name in all
 * of them. What is copied or set without naming a peer is of one process: on its devices, say.
 */
bool lock_call_reaches_others(const struct def_probe *probe);

/* What a call has of this meaning, where a probe can observe it; NULL: nothing. Of any call. */
const struct value *observed_value(const struct def_probe *probe, enum meaning meaning);

/* Does the thread have the lock now? For calls that take or try. A try of which that is not known has not. */
bool lock_call_took(const struct def_probe *probe, const struct span *span);

#endif
