/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * messages.c - messages between processes, with a descriptor.
 */
#include "util/messages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

ssize_t pass_send(int to, const void *message, size_t size, int descriptor)
{
	struct iovec bytes = { .iov_base = (void *)message, .iov_len = size };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = {
			      .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t sent;

	if (descriptor >= 0) {
		memcpy(CMSG_DATA(&control.head), &descriptor, sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.room);
	}
	do {
		sent = sendmsg(to, &m, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

ssize_t pass_receive(int from, void *message, size_t size, int *descriptor)
{
	struct iovec bytes = { .iov_base = message, .iov_len = size };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room)
	};
	ssize_t got;

	*descriptor = -1;
	do {
		got = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got > 0 && CMSG_FIRSTHDR(&m) && CMSG_FIRSTHDR(&m)->cmsg_type == SCM_RIGHTS)
		memcpy(descriptor, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return got < 0 ? -errno : got;
}
