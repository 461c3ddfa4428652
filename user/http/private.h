/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of this room share. Private to user/http.
 */
#ifndef GASPBPF_HTTP_PRIVATE_H
#define GASPBPF_HTTP_PRIVATE_H

#include "http/http.h"

/* It stays, however many come after it. */
void http_keep(struct http *http, struct MHD_Connection *connection);
/* A socket that listens at what --listen says, with room for so many that wait. Its descriptor or -errno, said. */
int http_listen(const char *text, const char *port, int waiting);
/* "http://127.0.0.1:9464" of a socket. True: nothing but this machine can reach it. */
bool http_describe(int fd, char *url, size_t size);

#endif
