/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep_calls.h - calls by which threads of one process wait until another one lets them go on: part of
 * user/recording's door.
 *
 * A condition variable, a semaphore: roles and meanings say it. A `wait` for what is at an address, and for no request,
 * task or message, is let go on by an `event` about the same address that is for nobody in particular. The `wait` may
 * give a lock back meanwhile.
 */
#ifndef GASPBPF_SLEEP_CALLS_H
#define GASPBPF_SLEEP_CALLS_H

#include "recording/recording.h"

/*
 * Whoever spends so much of his time in such waits, in percent, serves others when they ask: a log, a timer, a pool for
 * which there is no work. That he waits for them is no trouble of theirs.
 */
#define SLEEPER_PERCENT 95

bool call_sleeps_at_address(const struct def_probe *probe);
bool call_wakes_at_address(const struct def_probe *probe);
/* The same where it is known who could let it go on: the model has calls that do. */
bool call_sleeps(const struct definitions *d, const struct def_probe *probe);

/* Does it say that it failed? Of any call; of one that says nothing, or of which that is not known: no. */
bool call_failed(const struct def_probe *probe, const struct span *span);

#endif
