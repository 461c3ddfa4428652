/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * messages.h - messages between processes, with a descriptor.
 */
#ifndef GASPBPF_MESSAGES_H
#define GASPBPF_MESSAGES_H

#include <sys/types.h>

/* Sends or receives a message and one descriptor (-1: none) with it, by a socket. Bytes, 0: the other side has ended,
 * or -errno. */
ssize_t pass_send(int to, const void *message, size_t size, int descriptor);
ssize_t pass_receive(int from, void *message, size_t size, int *descriptor);

#endif
