/* SPDX-License-Identifier: BSD-2-Clause */
/* part.c - what a node's part is told and tells (part.h). */
#include "nodes/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "util/base64.h"
#include "util/buffer.h"
#include "util/files.h"

#define ORDERS_MOST 65536 /* bytes */
#define MARK "gaspbpf-part"
#define BYTES_MARK "gaspbpf-bytes"
#define WHOLE_MARK "gaspbpf-whole"
#define BYTES_A_LINE 576 /* a means passes lines of less than 1,024 letters on as a whole */
#define PIECE 65536

const char part_name_variable[] = "SLURMD_NODENAME";

static const char *const states[PART_STATES] = { "absent", "ready", "observing", "ended", "done" };

bool part_name_is_fit(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);

	return length && length <= PART_NAME_MOST && strspn(name, letters) == length && *name != '-' && *name != '.';
}

const char *part_managed_name(void)
{
	const char *name = getenv(part_name_variable);

	return name && part_name_is_fit(name) ? name : NULL;
}

char *part_own_name(void)
{
	char host[PART_NAME_MOST + 1] = "";

	if (part_managed_name())
		return strdup(part_managed_name());
	if (gethostname(host, sizeof(host) - 1) || !part_name_is_fit(host))
		return NULL;
	return strdup(host);
}

/* --- orders -------------------------------------------------------------- */

static void take_order(const char *line, struct part_orders *orders)
{
	uint64_t at;
	char word[8];

	if (sscanf(line, "%7s %" SCNu64, word, &at) != 2)
		return;
	if (!strcmp(word, "begin"))
		orders->begin = at;
	else if (!strcmp(word, "end"))
		orders->end = at;
}

size_t part_take_orders(char *text, struct part_orders *orders)
{
	char *rest = text, *end;

	for (; (end = strchr(rest, '\n')); rest = end + 1) { /* a line without its end is still being written */
		*end = 0;
		take_order(rest, orders);
	}
	return rest - text;
}

void part_read_orders(const char *path, struct part_orders *orders)
{
	/* Opened anew each time: a network file system then asks its server. */
	int fd = file_open_to_read(path);
	char *text = fd < 0 ? NULL : read_open_file(fd, ORDERS_MOST, NULL);

	if (text)
		part_take_orders(text, orders);
	free(text);
	if (fd >= 0)
		close(fd);
}

/* --- news ---------------------------------------------------------------- */

bool part_tell(const struct part_news *news)
{
	char line[PART_NAME_MOST + 200];
	int length = snprintf(line, sizeof(line),
			      MARK " %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			      news->node, states[news->state], news->at, news->processes, news->events, news->lost,
			      news->cost, news->status);

	return !write_all(STDOUT_FILENO, line, length);
}

static bool find_state(const char *word, enum part_state *state)
{
	for (int i = 0; i < PART_STATES; i++) {
		if (strcmp(states[i], word))
			continue;
		*state = i;
		return true;
	}
	return false;
}

bool part_read_news(const char *line, struct part_news *news)
{
	char state[16];

	_Static_assert(PART_NAME_MOST == 200, "as in the format");
	line = strstr(line, MARK " "); /* a means may put the host's name in front */
	if (!line)
		return false;
	line += strlen(MARK " ");
	return sscanf(line, "%200s %15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		      news->node, state, &news->at, &news->processes, &news->events, &news->lost, &news->cost,
		      &news->status) == 8 &&
	       part_name_is_fit(news->node) && find_state(state, &news->state);
}

/* --- bytes ---------------------------------------------------------------- */

_Static_assert(PART_NAME_MOST + BASE64_SIZE(BYTES_A_LINE) + sizeof(BYTES_MARK "  \n") <= 1024, "a short line");

bool part_hand_over(const char *node, const void *data, size_t size)
{
	char line[1024];
	const uint8_t *at = data, *end = at + size;

	while (at < end) {
		int length = snprintf(line, sizeof(line), BYTES_MARK " %s ", node);
		size_t some = end - at < BYTES_A_LINE ? end - at : BYTES_A_LINE;

		length += base64_put(line + length, at, some);
		line[length++] = '\n';
		at += some;
		if (write_all(STDOUT_FILENO, line, length))
			return false;
	}
	return true;
}

bool part_hand_over_file(const char *node, int fd)
{
	char *piece = malloc(PIECE), line[PART_NAME_MOST + 100];
	uint64_t size = 0;
	uLong sum = crc32(0, NULL, 0);
	bool read = piece;
	ssize_t n;

	while (read && (n = pread(fd, piece, PIECE, size)) > 0) {
		sum = crc32(sum, (Bytef *)piece, n);
		size += n;
		read = part_hand_over(node, piece, n);
	}
	free(piece);
	if (!read || n < 0)
		return false;
	n = snprintf(line, sizeof(line), WHOLE_MARK " %s %" PRIu64 " %" PRIu32 "\n", node, size, (uint32_t)sum);
	return !write_all(STDOUT_FILENO, line, n);
}

bool part_read_whole(const char *line, struct part_whole *whole)
{
	line = strstr(line, WHOLE_MARK " ");
	return line && sscanf(line + strlen(WHOLE_MARK " "), "%200s %" SCNu64 " %" SCNu32, whole->node, &whole->size,
			      &whole->sum) == 3;
}

bool part_take_bytes(const char *line, const char **node, size_t *length, struct buffer *data)
{
	const char *at = strstr(line, BYTES_MARK " ");
	size_t letters, size = 0;
	uint8_t *bytes;

	if (!at)
		return false;
	*node = at + strlen(BYTES_MARK " ");
	*length = strcspn(*node, " ");
	at = *node + *length;
	at += *at == ' ';
	letters = strcspn(at, "\r");
	bytes = buffer_reserve(data, letters + 1);
	if (bytes && !base64_take(at, letters, bytes, &size))
		return false;
	data->size += size;
	return true;
}
