/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe/wake.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int wake_add(int wake, int descriptor)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = descriptor };

	return descriptor < 0 || !epoll_ctl(wake, EPOLL_CTL_ADD, descriptor, &event) ? 0 : -errno;
}

int wake_new(const int *descriptors, size_t count)
{
	int wake = epoll_create1(EPOLL_CLOEXEC), err = wake < 0 ? -errno : 0;

	for (size_t i = 0; !err && i < count; i++)
		err = wake_add(wake, descriptors[i]);
	if (err && wake >= 0)
		close(wake);
	return err ?: wake;
}
