/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service.c - gaspbpf monitor as a service.
 */
#include "cli/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metrics/metrics.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/notify.h"

#define SERIES_MOST 10000000

enum { OPTION_LISTEN = 500, OPTION_SERIES, OPTION_CONFIG };

static const struct argp_option option_table[] = {
	{ "listen", OPTION_LISTEN, "[ADDRESS:]PORT", 0,
	  "Answer Prometheus and others over HTTP: OpenMetrics at /metrics (ADDRESS: 127.0.0.1; docs/metrics.md)", 4 },
	{ "max-series", OPTION_SERIES, "N", 0,
	  "Series of single processes that they get at most (default 40000); what is beyond becomes one series an "
	  "event",
	  4 },
	{ "config", OPTION_CONFIG, "FILE", 0,
	  "Take options from FILE first: the long ones' names, without dashes, one a line; read again at SIGHUP "
	  "(default, if nothing "
	  "else is given: " SERVICE_CONFIG ")",
	  4 },
	{ 0 }
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct service_options *o = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		*o = (struct service_options){ .max_series = METRICS_SERIES };
		return 0;
	case OPTION_LISTEN:
		o->listen = argument;
		return 0;
	case OPTION_SERIES:
		errno = 0;
		o->max_series = strtoull(argument, &end, 10);
		if (errno || *end || end == argument || *argument == '-' || o->max_series > SERIES_MOST)
			argp_error(state, "--max-series %s: not a number up to %d", log_safe(argument), SERIES_MOST);
		return 0;
	case OPTION_CONFIG:
		return 0; /* it has been read: config.c */
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp service_parser = { option_table, parse, NULL, NULL, NULL, NULL, NULL };

struct service {
	struct monitor *const *monitor;
	struct metrics *metrics; /* NULL: not asked for */
	char *listen;
	uint64_t watchdog,
		told; /* ns: how often systemd wants to be told, 0: never; when it was, 0: not even that all is ready */
};

static const struct monitor_snapshot *look(void *context)
{
	struct service *service = context;

	return monitor_glance(*service->monitor);
}

/* The new one first: if that fails, the old one goes on. Not so where both want the same port, but then nothing
 * changes. */
static int change_address(struct service *service, const char *listen, uint64_t max_series)
{
	struct metrics *metrics = NULL;
	char *copy = NULL;
	int err;

	if (listen && service->listen && !strcmp(listen, service->listen))
		return 0;
	if (listen) {
		copy = strdup(listen);
		err = copy ? metrics_open(&metrics, listen, max_series, look, service) : -ENOMEM;
		if (err) {
			free(copy);
			return err;
		}
	}
	metrics_close(service->metrics);
	free(service->listen);
	service->metrics = metrics;
	service->listen = copy;
	return 0;
}

int service_open(struct service **service, const struct service_options *options, struct monitor *const *monitor)
{
	struct service *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->monitor = monitor;
	s->watchdog = notify_watchdog();
	err = change_address(s, options->listen, options->max_series);
	if (err) {
		service_close(s);
		return err;
	}
	*service = s;
	return 0;
}

int service_change(struct service *service, const struct service_options *options)
{
	int err = change_address(service, options->listen, options->max_series);

	if (!err)
		metrics_set_series(service->metrics, options->max_series);
	return err;
}

void service_close(struct service *service)
{
	if (!service)
		return;
	metrics_close(service->metrics);
	free(service->listen);
	free(service);
}

/* --- the loop ----------------------------------------------------------- */

int service_fd(const struct service *service)
{
	return metrics_fd(service->metrics);
}

int service_timeout(const struct service *service, int most)
{
	int timeout = metrics_timeout(service->metrics);
	uint64_t due = service->told + service->watchdog, now = clock_monotonic();
	int left = due > now ? (int)((due - now) / 1000000 < 60000 ? (due - now) / 1000000 + 1 : 60000) : 0;

	if (timeout >= 0 && timeout < most)
		most = timeout;
	return service->watchdog && service->told && left < most ? left : most;
}

void service_step(struct service *service)
{
	uint64_t now = clock_monotonic();

	metrics_step(service->metrics);
	if (!service->watchdog || !service->told || now - service->told < service->watchdog)
		return;
	service->told = now;
	notify("WATCHDOG=1");
}

void service_ready(struct service *service, const char *remark)
{
	if (service->metrics)
		notify("READY=1\nSTATUS=monitoring; metrics at %s%s", metrics_url(service->metrics), remark);
	else
		notify("READY=1\nSTATUS=monitoring%s", remark);
	service->told = clock_monotonic();
}

const char *service_url(const struct service *service)
{
	return service->metrics ? metrics_url(service->metrics) : NULL;
}

void service_reloading(void)
{
	notify_reloading();
}

void service_stopping(void)
{
	notify("STOPPING=1");
}

void service_failed(void)
{
	notify("STATUS=it could not go on, and has said why: journalctl -u gaspbpf");
}

bool service_try(const struct argp *parser, int argc, char **argv, void *input)
{
	pid_t child;
	int status;

	fflush(NULL); /* or the child would print it again */
	child = fork();
	if (!child)
		_exit(argp_parse(parser, argc, argv, 0, NULL, input) ? 2 : 0);
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}
