/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.c - telling systemd how a service is.
 */
#include "util/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"

/* The size of the address; 0: there is none that can be used. */
static socklen_t find_socket(struct sockaddr_un *address)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;

	if (length < 2 || (*path != '/' && *path != '@') || length >= sizeof(address->sun_path))
		return 0;
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, path, length);
	if (*path == '@')
		address->sun_path[0] = 0; /* an abstract name */
	return offsetof(struct sockaddr_un, sun_path) + length + (*path == '/');
}

void notify(const char *format, ...)
{
	struct sockaddr_un address;
	socklen_t size = find_socket(&address);
	char text[1024];
	va_list arguments;
	int fd;

	if (!size)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, size);
	close(fd);
}

void notify_reloading(void)
{
	notify("RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_monotonic() / 1000));
}

uint64_t notify_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long value;
	char *end;

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	value = strtoull(usec, &end, 10);
	return errno || *end || end == usec || value > UINT64_MAX / 1000 ? 0 : value * 1000 / 2;
}
