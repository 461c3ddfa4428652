/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_flight.h - the flight recorder of 'gaspbpf monitor': the last calls of all processes that it watches.
 */
#ifndef GASPBPF_MONITOR_FLIGHT_H
#define GASPBPF_MONITOR_FLIGHT_H

#include "flight/flight.h"
#include "monitor/monitor.h"

struct monitor_flight;

/* Before the monitor is opened. The options stay the caller's. 0 or -errno, said. */
int monitor_flight_new(struct monitor_flight **flight, const struct flight_options *options);
/* Writes what is still asked for; before the monitor is closed. NULL: nothing, here and below. */
void monitor_flight_free(struct monitor_flight *flight);
/* For monitor_options.watcher. */
struct monitor_watcher monitor_flight_watcher(struct monitor_flight *flight);
/* How long the kernel's rings may be left alone (ms), if not shorter for other reasons. */
int monitor_flight_timeout(const struct monitor_flight *flight, int most);
/* By which 'gaspbpf control' asks; NULL: nobody can. */
const struct control *monitor_flight_control(const struct monitor_flight *flight);
/* After each monitor_step(): takes in the calls. 0 or -errno, said. */
int monitor_flight_step(struct monitor_flight *flight, struct monitor *monitor);
/* Somebody sent SIGUSR1. */
void monitor_flight_asked(struct monitor_flight *flight);

#endif
