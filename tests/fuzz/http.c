/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.c - what somebody sends to the port of the metrics (libmicrohttpd parses it), and what an Accept header asks
 * for.
 *
 * The first byte says in how large pieces it comes.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics/exposition.h"
#include "metrics/metrics.h"
#include "shared/fuzz.h"

#define STEPS 4 /* of the server, after each piece */

static const struct monitor_snapshot *look(void *context)
{
	static struct monitor_process_event events[2] = {
		{ .amounts = { .calls = 3, .timed = 3, .ns = 4500, .duration = { [10] = 3 } } }, { .event = 1 }
	};
	static const struct monitor_event all[] = {
		{ .name = "GASP_MPI_SEND",
		  .model = "mpi",
		  .role = ROLE_SEND,
		  .moves = true,
		  .every = 1,
		  .total = { .calls = 3, .timed = 3, .ns = 4500 } },
		{ .name = "GASP_C_MALLOC", .model = "c", .role = ROLE_ALLOC, .every = 4 },
	};
	static const struct monitor_process processes[] = {
		{ .pid = 7,
		  .comm = "a\"b\\c\nd\xff",
		  .exe = "/bin/a",
		  .cgroup = "/",
		  .user = "alice",
		  .job = "42",
		  .rank = 1,
		  .size = 2,
		  .events = events,
		  .nevents = 2 },
	};
	static const struct monitor_user others = { .others = true };
	static const struct monitor_snapshot snapshot = {
		.others = &others,
		.processes = processes,
		.nprocesses = 1,
		.nalive = 1,
		.events = all,
		.nevents = 2,
		.rung = "session",
		.since_realtime_ns = 1700000000123456789,
	};

	return &snapshot;
}

static int connect_to(const struct metrics *metrics)
{
	const struct linger at_once = {
		.l_onoff = 1
	}; /* nothing stays of the connection: there are tens of thousands */
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *port = strrchr(metrics_url(metrics), ':');

	must(fd >= 0 && port);
	address.sin_port = htons(atoi(port + 1));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	connect(fd, (struct sockaddr *)&address, sizeof(address)); /* the server has still to take it */
	return fd;
}

static void step(struct metrics *metrics, int fd)
{
	char answer[16384];

	for (int i = 0; i < STEPS; i++)
		metrics_step(metrics);
	while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		continue;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct metrics *metrics;
	struct input in = { data, data + size };
	size_t most = 1 + 8 * input_number(&in, 1), some;
	char *text = input_text(in.at, input_left(&in));
	int fd;

	must(metrics || !metrics_open(&metrics, "127.0.0.1:0", 100, look, NULL));
	dialect_accepted(text);
	free(text);
	fd = connect_to(metrics);
	step(metrics, fd);
	while (input_left(&in)) {
		const uint8_t *piece = input_piece(&in, most, &some);

		if (send(fd, piece, some, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		step(metrics, fd);
	}
	close(fd);
	for (int i = 0; i < STEPS; i++)
		metrics_step(metrics);
	return 0;
}
