/* SPDX-License-Identifier: BSD-2-Clause */
/* on_processor.h - what a part of a thread's time was on a processor, as far as that is known. Private to
 * user/analysis. */
#ifndef GASPBPF_ON_PROCESSOR_H
#define GASPBPF_ON_PROCESSOR_H

#include "recording/recording.h"

#define ON_PROCESSOR_ROOM 160

/*
 * Of what takes a thread so many ns, outside of calls: "on a CPU for at least 62 % of that", and whether it may have
 * waited for one; "waiting for a CPU for at least 62 % of that"; "asleep for at least 62 % of that". "": too little of
 * it is known. Into text.
 */
const char *on_processor(const struct def_thread *thread, uint64_t ns, char *text, size_t room);

#endif
