/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - the metrics over HTTP.
 *
 * libmicrohttpd runs on the caller's loop (its epoll descriptor), so a look at the counters and the answer that is made
 * of it are one step of one thread, and nothing needs a lock. A client that is slow, or never ends its request, costs a
 * connection until it has been silent for CLIENT_SECONDS, or until more than CLIENTS have come: then the oldest makes
 * room, once it has had GRACE_NS to say what it wants, or when CROWD have come. So nobody can keep others out by
 * holding connections, nor by making them without a pause. What was written for one scrape is given to all that come
 * within FRESH_NS: asking in a loop does not make the monitor work in a loop. While the counters are being read, which
 * takes long where a machine is full, what was written last is given out.
 */
#include "metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics/exposition.h"
#include "metrics/families.h"
#include "util/clock.h"
#include "util/log.h"

#define CLIENTS 32 /* that may stay */
#define CROWD 512  /* that may be there at all */
#define CLIENTS_AT_ONCE \
	(CROWD + 2 * CLIENTS) /* that libmicrohttpd takes: those that must go are still there until its next step */
#define GRACE_NS 200000000ULL
#define CLIENT_SECONDS 10u
#define FRESH_NS 100000000ULL

struct metrics {
	struct MHD_Daemon *daemon;
	struct families *families;
	struct exposition exposition;
	metrics_look_fn look;
	void *context;
	char url[128];
	struct client {
		struct MHD_Connection *connection; /* NULL: a free place */
		uint64_t number;                   /* in the order of their coming */
		uint64_t came;                     /* ns, CLOCK_MONOTONIC */
		bool leaving;
		bool waits; /* for the first answer of its dialect, which cannot be made just now */
	} clients[CLIENTS_AT_ONCE];
	uint64_t came; /* clients, so far */
	struct answer {
		struct MHD_Response *response;
		uint64_t made; /* ns, CLOCK_MONOTONIC */
	} answers[DIALECTS];
};

/* --- answers ------------------------------------------------------------ */

static const char front_page[] =
	"<!doctype html><title>gaspbpf</title><h1>gaspbpf</h1><p>What parallel jobs on this machine do: <a "
	"href=\"/metrics\">/metrics</a></p>\n";

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *type,
				   const char *text)
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

/* The same request is handled again with the next step. False: it is not one of our clients'. */
static bool wait_for_answer(struct metrics *m, struct MHD_Connection *connection)
{
	for (struct client *client = m->clients; client < m->clients + CLIENTS_AT_ONCE; client++) {
		if (client->connection != connection)
			continue;
		client->waits = true;
		MHD_suspend_connection(connection);
		return true;
	}
	return false;
}

static void end_waiting(struct metrics *m)
{
	for (struct client *client = m->clients; client < m->clients + CLIENTS_AT_ONCE; client++) {
		if (!client->waits)
			continue;
		client->waits = false;
		MHD_resume_connection(client->connection);
	}
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
	if (err == -EAGAIN && wait_for_answer(m, connection))
		return MHD_YES;
	if (err) {
		log_error("metrics: %s: this scrape got none: the next one may", strerror(-err));
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
				   "the counters could not be read\n");
	}
	return MHD_queue_response(connection, MHD_HTTP_OK, answer->response);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **state)
{
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
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "only GET and HEAD\n");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(context, connection);
	if (!strcmp(url, "/"))
		return answer_text(connection, MHD_HTTP_OK, "text/html; charset=utf-8", front_page);
	return answer_text(connection, MHD_HTTP_NOT_FOUND, "text/plain", "there is only /metrics\n");
}

/* --- clients ------------------------------------------------------------ */

/* The oldest that is not leaving yet; NULL: nobody. *staying: how many there are. */
static struct client *oldest_client(struct metrics *m, size_t *staying)
{
	struct client *oldest = NULL;

	*staying = 0;
	for (struct client *client = m->clients; client < m->clients + CLIENTS_AT_ONCE; client++) {
		if (!client->connection || client->leaving)
			continue;
		++*staying;
		if (!oldest || client->number < oldest->number)
			oldest = client;
	}
	return oldest;
}

/* Shuts the sockets of the oldest clients, which libmicrohttpd then closes, if there are too many. */
static void make_room(struct metrics *m)
{
	struct client *oldest;
	size_t staying;

	while ((oldest = oldest_client(m, &staying)) && staying > CLIENTS &&
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
	struct metrics *m = context;
	struct client *client = m->clients;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_context)
			*(struct client *)*socket_context = (struct client){ 0 };
		return;
	}
	while (client < m->clients + CLIENTS_AT_ONCE && client->connection)
		client++;
	if (client == m->clients + CLIENTS_AT_ONCE)
		return; /* cannot be: libmicrohttpd takes no more than there are places */
	*client = (struct client){ .connection = connection, .number = m->came++, .came = clock_monotonic() };
	*socket_context = client;
	make_room(m);
}

/* --- the address -------------------------------------------------------- */

struct address {
	char host[256], port[16];
};

/* 0 or -EINVAL. */
static int split(struct address *address, const char *text)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	const char *host = colon ? text : "127.0.0.1";
	size_t length = colon ? (size_t)(colon - text) : strlen(host);

	if (colon && !length) {
		host = "127.0.0.1";
		length = strlen(host);
	} else if (*host == '[' && length > 2 && host[length - 1] == ']') {
		host++;
		length -= 2;
	} else if (memchr(host, ':', length)) {
		return -EINVAL; /* an IPv6 address without brackets: where would the port begin? */
	}
	if (!*port || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) > 65535 ||
	    length >= sizeof(address->host))
		return -EINVAL;
	memcpy(address->host, host, length);
	address->host[length] = 0;
	strcpy(address->port, port);
	return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static void describe(struct metrics *m, int fd)
{
	struct sockaddr_storage storage;
	struct sockaddr *address = (void *)&storage;
	socklen_t size = sizeof(storage);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	memset(&storage, 0, sizeof(storage));
	if (!getsockname(fd, address, &size))
		getnameinfo(address, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(m->url, sizeof(m->url),
		 address->sa_family == AF_INET6 ? "http://[%.90s]:%.8s/metrics" : "http://%.90s:%.8s/metrics", host,
		 port);
	if (!is_loopback(address))
		log_warn("%s: not a loopback address: whoever can reach it can read what the jobs here do: see that a "
			 "firewall or a proxy stands before it",
			 m->url);
}

/* A socket that listens. Its descriptor or -errno, said. */
static int listen_at(const char *text)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *found = NULL;
	struct address address;
	int fd = -1, err, on = 1;

	if (split(&address, text)) {
		log_error("--listen %s: not an address: use ADDRESS:PORT, [IPV6-ADDRESS]:PORT or PORT, such as "
			  "127.0.0.1:" METRICS_PORT,
			  log_safe(text));
		return -EINVAL;
	}
	err = getaddrinfo(address.host, address.port, &hints, &found);
	if (err) {
		log_error("--listen %s: %s: use an address of this machine", log_safe(text), gai_strerror(err));
		return -EINVAL;
	}
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : 0;
	if (!err) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, CROWD))
			err = -errno;
	}
	freeaddrinfo(found);
	if (!err)
		return fd;
	log_error("--listen %s: %s: %s", log_safe(text), strerror(-err),
		  err == -EADDRINUSE ? "another gaspbpf, or something else, listens there: choose another port"
				     : "use an address of this machine, and a port above 1023");
	if (fd >= 0)
		close(fd);
	return err;
}

/* --- the door ----------------------------------------------------------- */

int metrics_open(struct metrics **metrics, const char *listen, size_t max_series, metrics_look_fn look, void *context)
{
	struct metrics *m = calloc(1, sizeof(*m));
	int fd = -1, err;

	if (!m)
		return -ENOMEM;
	m->look = look;
	m->context = context;
	m->families = families_new(max_series);
	fd = err = m->families ? listen_at(listen) : -ENOMEM;
	if (fd < 0)
		goto failed;
	describe(m, fd);
	m->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, m,
				     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CLIENTS_AT_ONCE,
				     MHD_OPTION_CONNECTION_TIMEOUT, CLIENT_SECONDS, MHD_OPTION_NOTIFY_CONNECTION,
				     come_or_go, m, MHD_OPTION_END);
	if (!m->daemon) {
		close(fd);
		log_error("%s: libmicrohttpd does not start: %s: try again", m->url, strerror(errno));
		err = -EIO;
		goto failed;
	}
	*metrics = m;
	return 0;
failed:
	metrics_close(m);
	return err;
}

void metrics_close(struct metrics *m)
{
	if (!m)
		return;
	end_waiting(m);
	if (m->daemon)
		MHD_stop_daemon(m->daemon);
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
	const union MHD_DaemonInfo *info = m ? MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	return info ? info->epoll_fd : -1;
}

int metrics_timeout(const struct metrics *m)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (!m || MHD_get_timeout(m->daemon, &ms) != MHD_YES)
		return -1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void metrics_step(struct metrics *m)
{
	if (!m)
		return;
	end_waiting(m);
	MHD_run(m->daemon);
	make_room(m);
}
