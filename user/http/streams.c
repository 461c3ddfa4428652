/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streams.c - server-sent events.
 *
 * There is one message at a time, the newest, which all readers share. A reader sends what it has begun to its end, and
 * goes on with the newest there is then: so a slow one misses messages, keeps at most one of them alive, and holds
 * nobody up. A reader that has sent all waits outside of libmicrohttpd's loop until something new is told.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/private.h"

#define READERS 16       /* that may be there at once */
#define BLOCK (64 << 10) /* bytes that are handed over at a time */

struct message {
	unsigned holders;
	size_t size;
	char text[];
};

struct reader {
	struct http_streams *streams; /* NULL: they have ended */
	struct MHD_Connection *connection;
	struct message *message; /* being sent; NULL: none */
	size_t sent;
	unsigned number; /* of the message that was begun last */
	bool waits;
};

struct http_streams {
	struct http *http;
	struct message *newest; /* NULL: nothing was told yet */
	unsigned number;        /* of it; 0: none */
	struct reader *readers[READERS];
};

static void let_go(struct message *message)
{
	if (message && !--message->holders)
		free(message);
}

static void go_on(struct reader *reader)
{
	if (!reader->waits)
		return;
	reader->waits = false;
	MHD_resume_connection(reader->connection);
}

/* False: there is nothing newer. */
static bool take_newest(struct reader *reader)
{
	struct http_streams *streams = reader->streams;

	let_go(reader->message);
	reader->message = NULL;
	if (reader->number == streams->number)
		return false;
	reader->message = streams->newest;
	reader->message->holders++;
	reader->number = streams->number;
	reader->sent = 0;
	return true;
}

static ssize_t read_more(void *context, uint64_t position, char *buffer, size_t room)
{
	struct reader *reader = context;
	size_t rest;

	if (!reader->streams)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if ((!reader->message || reader->sent == reader->message->size) && !take_newest(reader)) {
		reader->waits = true;
		MHD_suspend_connection(reader->connection);
		return 0;
	}
	rest = reader->message->size - reader->sent;
	if (rest > room)
		rest = room;
	memcpy(buffer, reader->message->text + reader->sent, rest);
	reader->sent += rest;
	return rest;
}

static void end_reader(void *context)
{
	struct reader *reader = context;

	for (size_t i = 0; reader->streams && i < READERS; i++)
		if (reader->streams->readers[i] == reader)
			reader->streams->readers[i] = NULL;
	let_go(reader->message);
	free(reader);
}

static struct reader **free_place(struct http_streams *streams)
{
	for (size_t i = 0; i < READERS; i++)
		if (!streams->readers[i])
			return &streams->readers[i];
	return NULL;
}

enum MHD_Result http_stream(struct http_streams *streams, struct MHD_Connection *connection)
{
	struct reader **place = free_place(streams), *reader;
	struct MHD_Response *response;
	enum MHD_Result result;

	if (!place)
		return http_answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
					"as many as may look at once do already\n");
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return MHD_NO;
	reader->streams = streams;
	reader->connection = connection;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_more, reader, end_reader);
	if (!response) {
		free(reader);
		return MHD_NO;
	}
	*place = reader;
	http_keep(streams->http, connection);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

int http_streams_tell(struct http_streams *streams, const char *data, size_t size)
{
	static const char before[] = "data: ", after[] = "\n\n";
	size_t whole = sizeof(before) - 1 + size + sizeof(after) - 1;
	struct message *message = malloc(sizeof(*message) + whole);
	char *to = message ? message->text : NULL;

	if (!message)
		return -ENOMEM;
	message->holders = 1;
	message->size = whole;
	to = mempcpy(to, before, sizeof(before) - 1);
	to = mempcpy(to, data, size);
	memcpy(to, after, sizeof(after) - 1);
	let_go(streams->newest);
	streams->newest = message;
	streams->number = streams->number + 1 ?: 1;
	for (size_t i = 0; i < READERS; i++)
		if (streams->readers[i])
			go_on(streams->readers[i]);
	return 0;
}

bool http_streams_are_told(const struct http_streams *streams)
{
	for (size_t i = 0; i < READERS; i++) {
		const struct reader *reader = streams->readers[i];

		if (reader && !(reader->number == streams->number && reader->waits))
			return false;
	}
	return true;
}

size_t http_streams_readers(const struct http_streams *streams)
{
	size_t count = 0;

	for (size_t i = 0; i < READERS; i++)
		count += streams->readers[i] != NULL;
	return count;
}

struct http_streams *http_streams_new(struct http *http)
{
	struct http_streams *streams = calloc(1, sizeof(*streams));

	if (streams)
		streams->http = http;
	return streams;
}

void http_streams_free(struct http_streams *streams)
{
	if (!streams)
		return;
	for (size_t i = 0; i < READERS; i++) {
		if (!streams->readers[i])
			continue;
		go_on(streams->readers[i]);
		streams->readers[i]->streams = NULL;
	}
	let_go(streams->newest);
	free(streams);
}
