/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - the profile: how often, how long, how much, per event and per thread. Private to user/analysis.
 * Columns as in PPW's profile table: Total (inclusive), Self (exclusive), Calls, Min, Max, Mean.
 */
#ifndef GASPBPF_PROFILE_H
#define GASPBPF_PROFILE_H

#include "recording/recording.h"

struct profile;
struct made_analysis;

struct profile *profile_new(void); /* NULL: out of memory */
void profile_free(struct profile *profile);
/* Calls that it was fed with. */
uint64_t profile_calls(const struct profile *profile);
/* Before it is fed: reporter_subtract_floor(). */
void profile_subtract_floor(struct profile *profile);
/* Before it is fed: which analyses are to be told of its spans. They stay the caller's. */
void profile_tell(struct profile *profile, const struct made_analysis *analyses, size_t count);
/* Feed it from a recording or live. */
struct span_sink profile_sink(struct profile *profile);

#endif
