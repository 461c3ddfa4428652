/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_flight.h - the flight recorder of 'gaspbpf -p' and 'gaspbpf -- COMMAND': its options, its beginning.
 */
#ifndef GASPBPF_RECORD_FLIGHT_H
#define GASPBPF_RECORD_FLIGHT_H

#include "flight/flight.h"
#include "observe/observe.h"

/* Are these places (-o) where dumps can go? Else a wrong command line. */
void record_flight_check(struct flight_options *options, const struct text_list *outputs, struct argp_state *state);
/* Begins, on an attached job. 0 or -errno, said; flight_free() after either. */
int record_flight_begin(const struct flight_options *options, struct job *job, const struct caller *caller,
			struct flight **flight);
/* What is kept, and how to get it. */
void record_flight_say(const struct flight_options *options);

#endif
