/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - the metrics over HTTP.
 *
 * What was written for one scrape is given to all that come within FRESH_NS: asking in a loop does not make the monitor
 * work in a loop. While the counters are being read, which takes long where a machine is full, what was written last is
 * given out.
 */
#include "metrics/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"
#include "metrics/exposition.h"
#include "metrics/families.h"
#include "util/clock.h"
#include "util/log.h"

#define FRESH_NS 100000000ULL

struct metrics {
	struct http *http;
	struct families *families;
	struct exposition exposition;
	metrics_look_fn look;
	void *context;
	char url[160];
	struct answer {
		struct MHD_Response *response;
		uint64_t made; /* ns, CLOCK_MONOTONIC */
	} answers[DIALECTS];
};

/* --- answers ------------------------------------------------------------ */

static const char front_page[] =
	"<!doctype html><title>gaspbpf</title><h1>gaspbpf</h1><p>What parallel jobs on this machine do: <a "
	"href=\"/metrics\">/metrics</a></p>\n";

static void forget(struct answer *answer)
{
	if (answer->response)
		MHD_destroy_response(answer->response);
	answer->response = NULL;
}

/* 0 or -errno. */
static int make_answer(struct metrics *m, enum dialect dialect, uint64_t now)
{
	const struct monitor_snapshot *snapshot = m->look(m->context);
	struct exposition *e = &m->exposition;
	struct MHD_Response *response;
	int err;

	if (!snapshot) /* the last one is the newest that there is */
		return m->answers[dialect].response ? 0 : -EAGAIN;
	exposition_begin(e, dialect);
	err = families_write(m->families, e, snapshot);
	if (!err)
		err = exposition_end(e);
	if (err) { /* out of memory: what there is may be given back */
		exposition_free(e);
		return err;
	}
	response = MHD_create_response_from_buffer(e->out.size, e->out.data, MHD_RESPMEM_MUST_FREE);
	if (!response)
		return -ENOMEM;
	e->out = (struct buffer){ 0 }; /* the response has it */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, dialect_content_type(dialect));
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	forget(&m->answers[dialect]);
	m->answers[dialect] = (struct answer){ response, now };
	return 0;
}

static enum MHD_Result answer_metrics(struct metrics *m, struct MHD_Connection *connection)
{
	enum dialect dialect = dialect_accepted(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct answer *answer = &m->answers[dialect];
	uint64_t now = clock_monotonic();
	int err = 0;

	if (!answer->response || now - answer->made >= FRESH_NS)
		err = make_answer(m, dialect, now);
	if (err == -EAGAIN && http_wait(m->http, connection))
		return MHD_YES;
	if (err) {
		log_error("metrics: %s: this scrape got none: the next one may", strerror(-err));
		return http_answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
					"the counters could not be read\n");
	}
	return MHD_queue_response(connection, MHD_HTTP_OK, answer->response);
}

static enum MHD_Result get(void *context, struct MHD_Connection *connection, const char *path)
{
	if (!strcmp(path, "/metrics"))
		return answer_metrics(context, connection);
	if (!strcmp(path, "/"))
		return http_answer_text(connection, MHD_HTTP_OK, "text/html; charset=utf-8", front_page);
	return http_answer_text(connection, MHD_HTTP_NOT_FOUND, "text/plain", "there is only /metrics\n");
}

/* --- the door ----------------------------------------------------------- */

int metrics_open(struct metrics **metrics, const char *listen, size_t max_series, metrics_look_fn look, void *context)
{
	struct metrics *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->look = look;
	m->context = context;
	m->families = families_new(max_series);
	err = m->families ? http_open(&m->http, listen,
				      &(struct http_ops){ .get = get,
							  .context = m,
							  .port = METRICS_PORT,
							  .tells = "what the jobs here do" })
			  : -ENOMEM;
	if (err) {
		metrics_close(m);
		return err;
	}
	snprintf(m->url, sizeof(m->url), "%s/metrics", http_address(m->http));
	*metrics = m;
	return 0;
}

void metrics_close(struct metrics *m)
{
	if (!m)
		return;
	http_close(m->http);
	for (unsigned i = 0; i < DIALECTS; i++)
		forget(&m->answers[i]);
	exposition_free(&m->exposition);
	families_free(m->families);
	free(m);
}

void metrics_set_series(struct metrics *m, size_t max_series)
{
	if (m)
		families_limit(m->families, max_series);
}

const char *metrics_url(const struct metrics *m)
{
	return m->url;
}

int metrics_fd(const struct metrics *m)
{
	return m ? http_fd(m->http) : -1;
}

int metrics_timeout(const struct metrics *m)
{
	return m ? http_timeout(m->http) : -1;
}

void metrics_step(struct metrics *m)
{
	if (m)
		http_step(m->http);
}
