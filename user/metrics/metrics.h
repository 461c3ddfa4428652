/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - the door of user/metrics: what a monitor counts, for Prometheus and whoever else reads its formats over
 * HTTP.
 *
 *   server      HTTP, without threads: the caller's own loop drives it
 *   families    which metrics there are, and how many series at most
 *   exposition  OpenMetrics, Prometheus text, Prometheus protocol buffers (accept.c: which of them a scraper asks for)
 *
 * Whoever can connect can read, and nobody can change anything. Nobody can keep the monitor waiting or make it work
 * more than ten times a second.
 */
#ifndef GASPBPF_METRICS_H
#define GASPBPF_METRICS_H

#include <stddef.h>

#include "monitor/monitor.h"

#define METRICS_SERIES 40000 /* default of --max-series; one user alone gets half */
#define METRICS_PORT "9464"  /* of OpenTelemetry's list of Prometheus exporters */

struct metrics;

/* A look at all that is counted; good until the next one. NULL: there is none, said. */
typedef const struct monitor_snapshot *(*metrics_look_fn)(void *context);

/*
 * Listens at "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT" (on the loopback address then); port 0: any that is free.
 * Series of single processes are at most max_series; what is beyond becomes one series an event, which says so. 0 or
 * -errno, said.
 */
int metrics_open(struct metrics **metrics, const char *listen, size_t max_series, metrics_look_fn look, void *context);
void metrics_close(struct metrics *metrics);                         /* NULL: nothing */
void metrics_set_series(struct metrics *metrics, size_t max_series); /* for those that come from now on */
const char *metrics_url(const struct metrics *metrics);              /* "http://127.0.0.1:9464/metrics" */

/* A descriptor that is readable when metrics_step() has something to do, and in how many ms it has anyway (-1: never).
 * NULL: -1. */
int metrics_fd(const struct metrics *metrics);
int metrics_timeout(const struct metrics *metrics);
/* Answers what has been asked. Never waits. NULL: nothing. */
void metrics_step(struct metrics *metrics);

#endif
