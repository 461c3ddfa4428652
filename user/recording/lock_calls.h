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

/* Does the thread have the lock now? For calls that take or try. A try of which that is not known has not. */
bool lock_call_took(const struct def_probe *probe, const struct span *span);

#endif
