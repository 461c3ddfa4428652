/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts.c - lists of hosts as people write them: "n[1-16,20],login", and files of them.
 *
 * Names end up in command lines, and behind ssh in a shell's: what is no name is refused here.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodes/private.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

#define HOSTS_MOST 100000
#define DIGITS_MOST 9
#define FILE_MOST (16u << 20) /* bytes */

bool hosts_are_fit(const char *list)
{
	size_t inside = 0;

	for (const char *at = list; *at; at++) {
		inside += *at == '[';
		inside -= inside && *at == ']';
		if (!isalnum((unsigned char)*at) && !strchr("._-,[]", *at))
			return false;
	}
	return *list && !inside;
}

static int refuse(const char *name)
{
	log_error("%s: not a host's name: give letters, digits, '.', '_' and '-', as in n[1-16],login2",
		  log_safe(name));
	return -EINVAL;
}

static int add(struct hosts *hosts, const char *name)
{
	if (!part_name_is_fit(name))
		return refuse(name);
	for (size_t i = 0; i < hosts->count; i++)
		if (!strcmp(hosts->names[i], name))
			return 0;
	if (hosts->count == HOSTS_MOST) {
		log_error("more than %d hosts: observe some of them", HOSTS_MOST);
		return -E2BIG;
	}
	if (array_one_more(&hosts->names, &hosts->room, hosts->count, sizeof(*hosts->names)))
		return -ENOMEM;
	hosts->names[hosts->count] = strdup(name);
	return hosts->names[hosts->count] ? hosts->count++, 0 : -ENOMEM;
}

static int expand(struct hosts *hosts, const char *text);

/* Number `n` in `width` digits in place of the brackets, and whatever brackets come behind. */
static int put_number(struct hosts *hosts, const char *text, size_t before, unsigned long n, int width,
		      const char *behind)
{
	char name[2 * PART_NAME_MOST];

	if (before > PART_NAME_MOST || strlen(behind) > PART_NAME_MOST / 2)
		return refuse(text);
	snprintf(name, sizeof(name), "%.*s%0*lu%s", (int)before, text, width, n, behind);
	return expand(hosts, name);
}

/* "3" or "01-16" up to `end`. */
static int put_range(struct hosts *hosts, const char *text, size_t before, const char *range, const char *end,
		     const char *behind)
{
	unsigned long from, to;
	char *after;
	int width, err = 0;

	from = to = strtoul(range, &after, 10);
	width = (int)(after - range);
	if (isdigit((unsigned char)*range) && *after == '-' && isdigit((unsigned char)after[1]))
		to = strtoul(after + 1, &after, 10);
	if (!isdigit((unsigned char)*range) || after != end || width > DIGITS_MOST || to < from ||
	    to - from >= HOSTS_MOST)
		return refuse(text);
	for (unsigned long n = from; !err && n <= to; n++)
		err = put_number(hosts, text, before, n, width, behind);
	return err;
}

/* One name, with or without brackets. */
static int expand(struct hosts *hosts, const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL, *at = open ? open + 1 : NULL;
	int err = 0;

	if (!open)
		return add(hosts, text);
	if (!close)
		return refuse(text);
	while (!err && at <= close) {
		const char *end = at + strcspn(at, ",]");

		err = put_range(hosts, text, open - text, at, end, close + 1);
		at = end + 1;
	}
	return err;
}

int hosts_add(struct hosts *hosts, const char *list)
{
	char *text = strdup(list), *at = text;
	int err = text ? 0 : -ENOMEM;

	while (!err && *at) {
		size_t n = 0;
		bool last;

		for (bool inside = false; at[n] && (inside || (at[n] != ',' && !isspace((unsigned char)at[n]))); n++)
			inside = at[n] == '[' || (inside && at[n] != ']');
		last = !at[n];
		at[n] = 0;
		if (n)
			err = expand(hosts, at);
		at += n + !last;
	}
	free(text);
	return err;
}

/* A line begins with a host; behind it may be how many ranks are for it ("n1 slots=4", "n1:4"); '#' begins a remark. */
int hosts_read(struct hosts *hosts, const char *path)
{
	int fd = file_open_to_read(path), err = fd < 0 ? fd : 0;
	char *text = fd < 0 ? NULL : read_open_file(fd, FILE_MOST, NULL), *rest = text, *line;

	if (!text)
		log_error("%s: cannot be read: %s: give a file with a host on each line", log_safe(path),
			  strerror(fd < 0 ? -fd : errno));
	err = text ? 0 : err ?: -EIO;
	while (!err && rest && (line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t\r");
		line[strcspn(line, " \t\r#:")] = 0;
		if (*line)
			err = hosts_add(hosts, line);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return err;
}

void hosts_free(struct hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++)
		free(hosts->names[i]);
	free(hosts->names);
}
