/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.c - where a server listens.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/private.h"
#include "util/log.h"

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

bool http_describe(int fd, char *url, size_t room)
{
	struct sockaddr_storage storage;
	struct sockaddr *address = (void *)&storage;
	socklen_t size = sizeof(storage);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	memset(&storage, 0, sizeof(storage));
	if (!getsockname(fd, address, &size))
		getnameinfo(address, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(url, room, address->sa_family == AF_INET6 ? "http://[%.90s]:%.8s" : "http://%.90s:%.8s", host, port);
	return is_loopback(address);
}

int http_listen(const char *text, const char *port, int waiting)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *found = NULL;
	struct address address;
	int fd = -1, err, on = 1;

	if (split(&address, text)) {
		log_error("--listen %s: not an address: use ADDRESS:PORT, [IPV6-ADDRESS]:PORT or PORT, such as "
			  "127.0.0.1:%s",
			  log_safe(text), port);
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
		if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, waiting))
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
