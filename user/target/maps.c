/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps.c - what /proc/PID/maps says.
 *
 * A line is "start-end perms offset major:minor inode   path". The path goes on to the end of the line: blanks in
 * it are its own. The kernel writes a newline in it as \012 and nothing else, so a name that really holds the
 * four characters "\012" cannot be told from one with a newline. That harms nobody: files are opened by address
 * (/proc/PID/map_files), not by this path.
 */
#include "target/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "util/array.h"

struct line {
	char *at, *end;
	bool failed;
};

static uint64_t take_number(struct line *line, unsigned base)
{
	uint64_t value = 0;
	char *first = line->at;

	for (; line->at < line->end; line->at++) {
		char c = *line->at;
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base) {
			line->failed = true;
			return 0;
		}
		value = value * base + digit;
	}
	if (line->at == first)
		line->failed = true;
	return value;
}

static void take_character(struct line *line, char wanted)
{
	if (line->at < line->end && *line->at == wanted)
		line->at++;
	else
		line->failed = true;
}

/* "r-xp" */
static void take_permissions(struct line *line, struct mapping *mapping)
{
	if (line->end - line->at < 4) {
		line->failed = true;
		return;
	}
	mapping->writable = line->at[1] == 'w';
	mapping->executable = line->at[2] == 'x';
	line->at += 4;
}

/* \012 -> newline, in place; returns the new length. */
static size_t unescape(char *path, size_t length)
{
	size_t from = 0, to = 0;

	while (from < length) {
		if (length - from >= 4 && !memcmp(path + from, "\\012", 4)) {
			path[to++] = '\n';
			from += 4;
		} else {
			path[to++] = path[from++];
		}
	}
	return to;
}

static int take_path(struct line *line, struct mapping *mapping)
{
	static const char deleted[] = " (deleted)";
	const size_t suffix = sizeof(deleted) - 1;
	size_t length;

	while (line->at < line->end && *line->at == ' ')
		line->at++;
	length = line->end - line->at;
	if (!length)
		return 0;
	if (length > suffix && !memcmp(line->end - suffix, deleted, suffix)) {
		mapping->deleted = true;
		length -= suffix;
	}
	length = unescape(line->at, length);
	mapping->path = strndup(line->at, length);
	return mapping->path ? 0 : -ENOMEM;
}

/* 0, -EINVAL: no mapping, -ENOMEM. */
static int parse_line(char *text, size_t length, struct mapping *mapping)
{
	struct line line = { text, text + length, false };
	uint64_t major_number, minor_number;

	memset(mapping, 0, sizeof(*mapping));
	mapping->start = take_number(&line, 16);
	take_character(&line, '-');
	mapping->end = take_number(&line, 16);
	take_character(&line, ' ');
	take_permissions(&line, mapping);
	take_character(&line, ' ');
	mapping->offset = take_number(&line, 16);
	take_character(&line, ' ');
	major_number = take_number(&line, 16);
	take_character(&line, ':');
	minor_number = take_number(&line, 16);
	take_character(&line, ' ');
	mapping->inode = take_number(&line, 10);
	if (line.failed || mapping->end <= mapping->start)
		return -EINVAL;
	mapping->device = makedev(major_number, minor_number);
	return take_path(&line, mapping);
}

static int grow(struct mapping **mappings, size_t count, size_t *room)
{
	return count >= MAPS_MOST ? -E2BIG : array_one_more(mappings, room, count, sizeof(**mappings));
}

int maps_parse(char *text, size_t size, struct mapping **mappings, size_t *count)
{
	struct mapping *found = NULL;
	size_t used = 0, room = 0;
	char *at = text, *end = text + size;
	int error = 0;

	while (at < end && !error) {
		char *newline = memchr(at, '\n', end - at);
		char *stop = newline ? newline : end;

		error = grow(&found, used, &room);
		if (error)
			break;
		error = parse_line(at, stop - at, &found[used]);
		if (!error)
			used++;
		else if (error == -EINVAL)
			error = 0;
		at = stop + 1;
	}
	if (error) {
		maps_free(found, used);
		return error;
	}
	*mappings = found;
	*count = used;
	return 0;
}

void maps_free(struct mapping *mappings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(mappings[i].path);
	free(mappings);
}
