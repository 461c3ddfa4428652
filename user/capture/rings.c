/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rings.c - the kernel's rings, as they are opened, waited for and closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "capture/session.h"

static int watch(struct capture_session *s, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(s->rings.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int session_open_rings(struct capture_session *s)
{
	size_t bytes;
	int fd, err;

	s->rings.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->rings.epoll < 0)
		return -errno;
	fd = kernel_control_fd(s->kernel, &bytes);
	err = ring_open(&s->rings.control, fd, bytes);
	if (!err)
		err = watch(s, fd);
	s->rings.list = calloc(kernel_rings(s->kernel), sizeof(*s->rings.list));
	if (!s->rings.list)
		return -ENOMEM;
	for (; !err && s->rings.count < kernel_rings(s->kernel); s->rings.count++) {
		fd = kernel_ring_fd(s->kernel, s->rings.count, &bytes);
		err = ring_open(&s->rings.list[s->rings.count], fd, bytes);
		if (!err)
			err = watch(s, fd);
	}
	return err;
}

void capture_wait(struct capture_session *s, int extra, int timeout_ms)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = extra };
	struct epoll_event got[8];

	if (extra >= 0)
		epoll_ctl(s->rings.epoll, EPOLL_CTL_ADD, extra, &event);
	epoll_wait(s->rings.epoll, got, 8, timeout_ms);
	if (extra >= 0)
		epoll_ctl(s->rings.epoll, EPOLL_CTL_DEL, extra, NULL);
}

void session_close_rings(struct capture_session *s)
{
	for (unsigned i = 0; i < s->rings.count; i++)
		ring_close(&s->rings.list[i]);
	ring_close(&s->rings.control);
	if (s->rings.epoll >= 0)
		close(s->rings.epoll);
	free(s->rings.list);
}
