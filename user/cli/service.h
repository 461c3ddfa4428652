/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service.h - gaspbpf monitor as a service: metrics over HTTP, systemd's notifications, and options that are read again
 * while it runs.
 */
#ifndef GASPBPF_SERVICE_H
#define GASPBPF_SERVICE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "monitor/monitor.h"

#define SERVICE_CONFIG "/etc/gaspbpf.conf" /* what 'gaspbpf monitor' alone reads */

struct service_options {
	const char *listen; /* NULL: no metrics */
	uint64_t max_series;
};

/* --listen, --max-series, --config. For argp's `children`; its input is a struct service_options. */
extern const struct argp service_parser;

struct service;

/* Opens what the options ask for. *monitor is there before the first service_step(), and lives longer. 0 or -errno,
 * said. */
int service_open(struct service **service, const struct service_options *options, struct monitor *const *monitor);
/* Other options hold from now on; where that fails, what was stays. 0 or -errno, said. */
int service_change(struct service *service, const struct service_options *options);
void service_close(struct service *service); /* NULL: nothing */

/* A descriptor to wait for, -1: none; and in how many ms service_step() has something to do anyway, never more than
 * `most`. */
int service_fd(const struct service *service);
int service_timeout(const struct service *service, int most);
/* Answers scrapes; tells systemd that all is well. Never waits. */
void service_step(struct service *service);

const char *service_url(const struct service *service); /* of the metrics; NULL: none */

/* Tells systemd: it has begun (also after a reload), with a remark for its status or ""; it reads its options again; it
 * ends; it has failed. */
void service_ready(struct service *service, const char *remark);
void service_reloading(void);
void service_stopping(void);
void service_failed(void);

/*
 * Would the parser take these arguments? What it has to say against them it says. A wrong command line ends a program;
 * here it is a child that ends, so a service that reads a wrong configuration goes on with the old one.
 */
bool service_try(const struct argp *parser, int argc, char **argv, void *input);

#endif
