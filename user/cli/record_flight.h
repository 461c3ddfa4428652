/*
 * record_flight.h - the flight recorder of 'gaspbpf -p' and 'gaspbpf -- COMMAND': its options, its beginning.
 */
#ifndef GASPBPF_RECORD_FLIGHT_H
#define GASPBPF_RECORD_FLIGHT_H

#include "cli/job.h"
#include "flight/flight.h"

/* Are these places (-o) where dumps can go? Else a wrong command line. */
void record_flight_check(struct flight_options *options, const struct text_list *outputs, struct argp_state *state);
/* Begins, on an attached job: job->flight. 0 or -errno, said. */
int record_flight_begin(const struct flight_options *options, struct job *job, const struct caller *caller);
/* What is kept, and how to get it. */
void record_flight_say(const struct flight_options *options);

#endif
