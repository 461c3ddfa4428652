/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.h - the door of user/http: pages over HTTP, without threads: the caller's own loop drives it.
 *
 * Who connects can read what the caller answers, and change nothing: there is GET and HEAD. Nobody can keep the caller
 * waiting, nor others out by holding connections.
 */
#ifndef GASPBPF_HTTP_H
#define GASPBPF_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include <microhttpd.h>

struct http;

struct http_ops {
	/* Answers a request for a path ("/metrics"), by http_answer_text(), http_wait() or libmicrohttpd's own calls.
	 */
	enum MHD_Result (*get)(void *context, struct MHD_Connection *connection, const char *path);
	void *context;
	const char *port;  /* what is named where none was given: "9464" */
	const char *tells; /* what others can read who reach it, for the warning: "what the jobs here do" */
};

/*
 * Listens at "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT" (on the loopback address then); port 0: any that is free. A
 * warning is said where others than this machine can reach it. 0 or -errno, said.
 */
int http_open(struct http **http, const char *listen, const struct http_ops *ops);
void http_close(struct http *http);                /* NULL: nothing */
const char *http_address(const struct http *http); /* "http://127.0.0.1:9464" */

/* A descriptor that is readable when http_step() has something to do, and in how many ms it has anyway (-1: never).
 * NULL: -1. */
int http_fd(const struct http *http);
int http_timeout(const struct http *http);
/* Answers what has been asked. Never waits. NULL: nothing. */
void http_step(struct http *http);

/* --- answers ------------------------------------------------------------- */

/* text: is not copied. */
enum MHD_Result http_answer_text(struct MHD_Connection *connection, unsigned status, const char *type,
				 const char *text);
/* The same request is asked again with the next step. False: it is not one of ours. */
bool http_wait(struct http *http, struct MHD_Connection *connection);

/* --- streams ------------------------------------------------------------- */

/* Server-sent events (WHATWG HTML, 9.2): all that read a stream are told the same. */
struct http_streams;

/* NULL: no memory. http: outlives it. */
struct http_streams *http_streams_new(struct http *http);
/* Before http_close(). NULL: nothing. */
void http_streams_free(struct http_streams *streams);
/* Answers a request with what is told from now on, and first with what was told last. */
enum MHD_Result http_stream(struct http_streams *streams, struct MHD_Connection *connection);
/* One message, without line ends. Whoever has not read the one before to its end misses those between. 0 or -ENOMEM. */
int http_streams_tell(struct http_streams *streams, const char *data, size_t size);
/* Has everybody read the newest to its end? */
bool http_streams_are_told(const struct http_streams *streams);
size_t http_streams_readers(const struct http_streams *streams);

#endif
