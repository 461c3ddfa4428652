/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets.h - events on their way into the stream files of a CTF trace, packet by packet. Private to user/export/ctf.
 */
#ifndef GASPBPF_EXPORT_CTF_PACKETS_H
#define GASPBPF_EXPORT_CTF_PACKETS_H

#include "util/buffer.h"

#define STREAM_NAME "stream_" /* and a number */
#define UUID_SIZE 16

struct packets;

/* Of at most `count` streams, as files in the folder, which stays the caller's. start: ns, before all that is put.
 * name: of the output, for messages. NULL: out of memory. */
struct packets *packets_new(int folder, const uint8_t uuid[UUID_SIZE], uint32_t count, uint64_t start,
			    const char *name);
void packets_free(struct packets *packets);
/* One event, all its bytes, in the order of time (ns) of its stream, which is of this class. 0 or -errno, said but for
 * -ENOMEM; so are the others. */
int packets_put(struct packets *packets, uint32_t stream, unsigned class, uint64_t time, const struct buffer *event);
/* So many events of the stream are not there, from this time (ns) on to the next one that is put. */
int packets_lose(struct packets *packets, uint32_t stream, unsigned class, uint64_t time, uint64_t count);
/* When the latest event of the stream was, ns; of none the start. */
uint64_t packets_time(const struct packets *packets, uint32_t stream);
/* Writes what is left. end: ns; what is lost at the end was lost until then. */
int packets_end(struct packets *packets, uint64_t end);

#endif
