/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - pages over HTTP, on the caller's loop.
 *
 * libmicrohttpd runs on the caller's loop (its epoll descriptor), so a look at what is told and the answer that is made
 * of it are one step of one thread, and nothing needs a lock. A client that is slow, or never ends its request, costs a
 * connection until it has been silent for CLIENT_SECONDS, or until more than CLIENTS have come: then the oldest makes
 * room, once it has had GRACE_NS to say what it wants, or when CROWD have come. So nobody can keep others out by
 * holding connections, nor by making them without a pause.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/private.h"
#include "util/clock.h"
#include "util/log.h"

#define CLIENTS 32 /* that may stay */
#define CROWD 512  /* that may be there at all */
#define CLIENTS_AT_ONCE \
	(CROWD + 2 * CLIENTS) /* that libmicrohttpd takes: those that must go are still there until its next step */
#define GRACE_NS 200000000ULL
#define CLIENT_SECONDS 10u

struct http {
	struct MHD_Daemon *daemon;
	struct http_ops ops;
	char address[128];
	struct client {
		struct MHD_Connection *connection; /* NULL: a free place */
		uint64_t number;                   /* in the order of their coming */
		uint64_t came;                     /* ns, CLOCK_MONOTONIC */
		bool leaving;
		bool waits; /* for an answer that cannot be made just now */
		bool kept;
	} clients[CLIENTS_AT_ONCE];
	uint64_t came; /* clients, so far */
};

/* --- answers ------------------------------------------------------------ */

enum MHD_Result http_answer_text(struct MHD_Connection *connection, unsigned status, const char *type, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)text,
									MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static struct client *client_of(struct http *http, const struct MHD_Connection *connection)
{
	for (struct client *client = http->clients; client < http->clients + CLIENTS_AT_ONCE; client++)
		if (client->connection == connection)
			return client;
	return NULL;
}

bool http_wait(struct http *http, struct MHD_Connection *connection)
{
	struct client *client = client_of(http, connection);

	if (!client)
		return false;
	client->waits = true;
	MHD_suspend_connection(connection);
	return true;
}

void http_keep(struct http *http, struct MHD_Connection *connection)
{
	struct client *client = client_of(http, connection);

	if (client)
		client->kept = true;
}

static void end_waiting(struct http *http)
{
	for (struct client *client = http->clients; client < http->clients + CLIENTS_AT_ONCE; client++) {
		if (!client->waits)
			continue;
		client->waits = false;
		MHD_resume_connection(client->connection);
	}
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct http *http = context;
	static int seen;

	if (!*state) { /* the headers only; MHD asks again when there is nothing more to come */
		*state = &seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0; /* nobody reads it */
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return http_answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "only GET and HEAD\n");
	return http->ops.get(http->ops.context, connection, url);
}

/* --- clients ------------------------------------------------------------ */

/* The oldest that is not leaving yet and need not stay; NULL: nobody. *staying: how many there are. */
static struct client *oldest_client(struct http *http, size_t *staying)
{
	struct client *oldest = NULL;

	*staying = 0;
	for (struct client *client = http->clients; client < http->clients + CLIENTS_AT_ONCE; client++) {
		if (!client->connection || client->leaving || client->kept)
			continue;
		++*staying;
		if (!oldest || client->number < oldest->number)
			oldest = client;
	}
	return oldest;
}

/* Shuts the sockets of the oldest clients, which libmicrohttpd then closes, if there are too many. */
static void make_room(struct http *http)
{
	struct client *oldest;
	size_t staying;

	while ((oldest = oldest_client(http, &staying)) && staying > CLIENTS &&
	       (staying > CROWD || clock_monotonic() - oldest->came >= GRACE_NS)) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(oldest->connection,
									       MHD_CONNECTION_INFO_CONNECTION_FD);

		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
		oldest->leaving = true;
	}
}

static void come_or_go(void *context, struct MHD_Connection *connection, void **socket_context,
		       enum MHD_ConnectionNotificationCode what)
{
	struct http *http = context;
	struct client *client = http->clients;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_context)
			*(struct client *)*socket_context = (struct client){ 0 };
		return;
	}
	while (client < http->clients + CLIENTS_AT_ONCE && client->connection)
		client++;
	if (client == http->clients + CLIENTS_AT_ONCE)
		return; /* cannot be: libmicrohttpd takes no more than there are places */
	*client = (struct client){ .connection = connection, .number = http->came++, .came = clock_monotonic() };
	*socket_context = client;
	make_room(http);
}

/* --- the door ----------------------------------------------------------- */

int http_open(struct http **http, const char *listen, const struct http_ops *ops)
{
	struct http *h = calloc(1, sizeof(*h));
	int fd, err;

	if (!h)
		return -ENOMEM;
	h->ops = *ops;
	fd = err = http_listen(listen, ops->port, CROWD);
	if (fd < 0)
		goto failed;
	if (!http_describe(fd, h->address, sizeof(h->address)))
		log_warn("%s: not a loopback address: whoever can reach it can read %s: see that a firewall or a proxy "
			 "stands before it",
			 h->address, ops->tells);
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, h,
				     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CLIENTS_AT_ONCE,
				     MHD_OPTION_CONNECTION_TIMEOUT, CLIENT_SECONDS, MHD_OPTION_NOTIFY_CONNECTION,
				     come_or_go, h, MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		log_error("%s: libmicrohttpd does not start: %s: try again", h->address, strerror(errno));
		err = -EIO;
		goto failed;
	}
	*http = h;
	return 0;
failed:
	http_close(h);
	return err;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	end_waiting(http);
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	free(http);
}

const char *http_address(const struct http *http)
{
	return http->address;
}

int http_fd(const struct http *http)
{
	const union MHD_DaemonInfo *info = http ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	return info ? info->epoll_fd : -1;
}

int http_timeout(const struct http *http)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (!http || MHD_get_timeout(http->daemon, &ms) != MHD_YES)
		return -1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void http_step(struct http *http)
{
	if (!http)
		return;
	end_waiting(http);
	MHD_run(http->daemon);
	make_room(http);
}
