/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets.c - events on their way into the stream files of a CTF trace.
 *
 * A packet begins with what metadata.c says: `struct head`. A stream has one packet in memory; when that is full it is
 * put at the end of the stream's file, which is open only meanwhile, for there may be more streams than a process may
 * have files.
 *
 * A packet counts the events that its stream has lost so far. Readers say that what one counts more than the packet
 * before was lost between the ends of both. So that they say when: where some are lost, the packet is closed, and one
 * without events stands for the gap.
 */
#include "export/ctf/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/files.h"
#include "util/log.h"

#define PACKET_SIZE 16384 /* bytes; one event may need more */
#define MAGIC 0xc1fc1fc1

struct head {
	uint32_t magic;
	uint8_t uuid[UUID_SIZE];
	uint32_t class;
	uint64_t stream;
	/* The context. */
	uint64_t begin, end;    /* ns */
	uint64_t content, size; /* bits */
	uint64_t number;        /* of the packet in its stream, from 0 */
	uint64_t discarded;     /* events, so far */
} __attribute__((packed));

struct stream {
	struct buffer packet; /* with room for its head, if there is anything in it */
	uint64_t begin;       /* ns: of its first event */
	uint64_t last;        /* ns: nothing of the stream may be before */
	uint64_t number, discarded;
	uint64_t lost, since; /* events, ns: those that no packet has told */
	uint32_t file;        /* its number + 1; 0: it has none */
	unsigned class;
};

struct packets {
	int folder;
	uint8_t uuid[UUID_SIZE];
	const char *name;
	uint32_t count, files;
	uint64_t start;
	struct stream streams[];
};

struct packets *packets_new(int folder, const uint8_t uuid[UUID_SIZE], uint32_t count, uint64_t start, const char *name)
{
	struct packets *p = calloc(1, sizeof(*p) + count * sizeof(p->streams[0]));

	if (!p)
		return NULL;
	p->folder = folder;
	memcpy(p->uuid, uuid, UUID_SIZE);
	p->name = name;
	p->count = count;
	p->start = start;
	for (uint32_t i = 0; i < count; i++)
		p->streams[i].last = start;
	return p;
}

void packets_free(struct packets *p)
{
	for (uint32_t i = 0; p && i < p->count; i++)
		buffer_free(&p->streams[i].packet);
	free(p);
}

static int append(const struct packets *p, const struct stream *s)
{
	char file[sizeof(STREAM_NAME) + 12];
	int fd, error;

	snprintf(file, sizeof(file), STREAM_NAME "%u", s->file - 1);
	fd = openat(p->folder, file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
	error = fd < 0 ? -errno : write_all(fd, s->packet.data, s->packet.size);
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	if (error)
		log_error("%s: cannot write %s: %s: make room or choose another place", log_safe(p->name), file,
			  strerror(-error));
	return error;
}

/* The packet as it is, or one without events. */
static int write_packet(struct packets *p, struct stream *s, uint64_t begin, uint64_t end)
{
	struct head head = { .magic = MAGIC, .class = s->class, .begin = begin, .end = end };
	int error;

	if (!s->packet.size)
		buffer_put(&s->packet, &head, sizeof(head));
	if (s->packet.failed)
		return -ENOMEM;
	if (!s->file)
		s->file = ++p->files;
	memcpy(head.uuid, p->uuid, UUID_SIZE);
	head.stream = s->file - 1;
	head.content = head.size = s->packet.size * 8;
	head.number = s->number++;
	head.discarded = s->discarded;
	memcpy(s->packet.data, &head, sizeof(head));
	error = append(p, s);
	buffer_clear(&s->packet);
	return error;
}

static int write_events(struct packets *p, struct stream *s)
{
	return s->packet.size ? write_packet(p, s, s->begin, s->last) : 0;
}

/* The gap, up to this time. The first packet of a stream cannot tell one, for there is none before. */
static int write_gap(struct packets *p, struct stream *s, uint64_t until)
{
	int error = s->number ? 0 : write_packet(p, s, p->start, s->since);

	s->discarded += s->lost;
	s->lost = 0;
	return error ?: write_packet(p, s, s->since, until);
}

int packets_put(struct packets *p, uint32_t stream, unsigned class, uint64_t time, const struct buffer *event)
{
	struct stream *s = &p->streams[stream];
	int error = 0;

	s->class = class;
	if (time > s->last)
		s->last = time;
	if (s->lost)
		error = write_gap(p, s, s->last);
	if (error)
		return error;
	if (!s->packet.size) {
		s->begin = s->last;
		buffer_put(&s->packet, &(struct head){ 0 }, sizeof(struct head));
	}
	buffer_put(&s->packet, event->data, event->size);
	if (s->packet.failed || event->failed)
		return -ENOMEM;
	return s->packet.size < PACKET_SIZE ? 0 : write_events(p, s);
}

int packets_lose(struct packets *p, uint32_t stream, unsigned class, uint64_t time, uint64_t count)
{
	struct stream *s = &p->streams[stream];
	int error = 0;

	s->class = class;
	if (!s->lost) {
		error = write_events(p, s);
		if (time > s->last)
			s->last = time;
		s->since = s->last;
	}
	s->lost += count;
	return error;
}

uint64_t packets_time(const struct packets *p, uint32_t stream)
{
	return p->streams[stream].last;
}

int packets_end(struct packets *p, uint64_t end)
{
	int error = 0;

	for (uint32_t i = 0; i < p->count && !error; i++) {
		struct stream *s = &p->streams[i];

		error = write_events(p, s);
		if (!error && s->lost)
			error = write_gap(p, s, end > s->last ? end : s->last);
		buffer_free(&s->packet);
		s->packet = (struct buffer){ 0 };
	}
	return error;
}
